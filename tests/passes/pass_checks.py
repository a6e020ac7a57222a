"""What every test of a pass checks: the text before and after, the meaning, and that a second run changes nothing."""

from __future__ import annotations

import textwrap
from types import ModuleType

import numpy as np

from microlith.converter.passes.unique_names import make_names_unique
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.text import to_text
from microlith.verify import verify


def new_graph(**inputs: tuple[int | str, ...]) -> Graph:
    """A graph with float32 inputs of these shapes."""
    graph = Graph("g")
    graph.inputs = [Value(name, TensorType(DType.f32, shape)) for name, shape in inputs.items()]
    return graph


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """float32 from -1 to 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def finish(graph: Graph, **outputs: Value) -> Graph:
    """Names the outputs, and checks that the graph is valid."""
    for name, value in outputs.items():
        value.name = name
        graph.outputs.append(value)
    make_names_unique(graph)
    verify(graph)
    return graph


def body(graph: Graph) -> str:
    """The printed nodes of a graph."""
    lines = to_text(graph).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("graph ", "input ", "output ")))


def dedent(text: str) -> str:
    return textwrap.dedent(text).strip()


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def random_inputs(graph: Graph, seed: int = 1, symbol: int = 2) -> dict[str, np.ndarray]:
    """Inputs for every graph input; symbols get the size ``symbol``."""
    rng = np.random.default_rng(seed)
    feeds = {}
    for value in graph.inputs:
        shape = [dim if isinstance(dim, int) else symbol for dim in value.shape]
        if value.dtype.is_float:
            feeds[value.name] = rng.uniform(-3, 3, shape).astype(value.dtype.numpy)
        else:
            feeds[value.name] = rng.integers(-100, 100, shape).astype(value.dtype.numpy)
    return feeds


def run_pass(module: ModuleType, graph: Graph, tolerance: float = 1e-5) -> bool:
    """Runs a pass and checks that the graph stays valid, its interface and meaning stay, and a second run is idle."""
    feeds = random_inputs(graph)
    interface = [(value.name, value.type) for value in (*graph.inputs, *graph.outputs)]
    before = evaluate(graph, feeds)
    changed: bool = module.run(graph)
    make_names_unique(graph)
    verify(graph)
    assert [(value.name, value.type) for value in (*graph.inputs, *graph.outputs)] == interface
    after = evaluate(graph, feeds)
    for name, expected in before.items():
        limit = tolerance * max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)))
        np.testing.assert_allclose(after[name], expected, rtol=0, atol=limit, err_msg=name)
    settled = to_text(graph)
    again = module.run(graph)
    make_names_unique(graph)
    assert not again, f"a second run still changes the graph:\n{settled}\n{to_text(graph)}"
    assert to_text(graph) == settled
    return changed
