"""Layers that run in another order than in the model take less memory and compute the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from generated_projects import need

from microlith.codegen import execute, generate
from microlith.codegen.project import draw_sample
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, State, TensorType, Value
from microlith.lower import lower

WIDE, NARROW, BRANCHES = 256, 2, 3


def branches(with_state: bool = False) -> Graph:
    """Dense layers to some wide results, then one from each to a narrow result, then the sum of those."""
    rng = np.random.default_rng(5)
    graph = Graph("branches")
    x = Value("x", TensorType(DType.f32, (1, 8)))
    graph.inputs.append(x)

    def dense(value: Value, size: int, name: str) -> Value:
        weights = rng.standard_normal((size, value.shape[-1])).astype(np.float32)
        return graph.add("dense", [value, graph.constant(f"{name}/w", weights), None], name=name).output

    start = graph.add("relu", [x], name="start").output
    if with_state:
        held = Value("held", TensorType(DType.f32, (1, 8)))
        start = graph.add("add", [start, held], name="with_state").output
        graph.states = [State(held, start)]
    wide = [dense(start, WIDE, f"wide{index}") for index in range(BRANCHES)]
    narrow = [dense(value, NARROW, f"narrow{index}") for index, value in enumerate(wide)]
    total = narrow[0]
    for index, value in enumerate(narrow[1:]):
        total = graph.add("add", [total, value], name=f"sum{index}").output
    total.name = "y"
    graph.outputs = [total]
    return graph


def test_one_wide_result_at_a_time() -> None:
    graph = branches()
    given = lower(graph, ("c",), alignment=4, overlap=True, reorder=False)
    program = lower(graph, ("c",), alignment=4, overlap=True)
    assert given.ordering is None and program.ordering is not None
    assert program.ordering.given_arena_size == given.arena_size >= 4 * BRANCHES * WIDE
    assert program.ordering.optimal and program.ordering.bound <= program.arena_size
    # start and the wide result, the narrow ones that are there already, and the one that is made
    assert program.arena_size <= 4 * (8 + WIDE + BRANCHES * NARROW)
    assert sorted(call.node.name for call in program.calls) == sorted(call.node.name for call in given.calls)
    assert [call.node for call in lower(graph, ("c",), alignment=4).calls] == list(graph.nodes)  # the runtime's order


@pytest.mark.parametrize("with_state", [False, True])
def test_the_generated_code_runs_and_reports(with_state: bool, tmp_path: Path) -> None:
    need("make", "gcc")
    graph = branches(with_state)
    samples = [draw_sample(graph, {}, seed) for seed in range(3)]
    report = generate(graph, "host", tmp_path / "a", samples=samples)
    assert report.ordering is not None and report.arena_bytes < report.ordering.given_arena_size / 2
    stored = json.loads((tmp_path / "a" / "report.json").read_text())["ordering"]
    assert stored == {
        "given_arena_size": report.ordering.given_arena_size,
        "bound": report.ordering.bound,
        "optimal": True,
    }
    project = execute.Project.open(tmp_path / "a")
    execute.build(project)
    assert execute.selftest(project).endswith("PASS\n")
    outputs = execute.run(project, samples).outputs["y"]
    states: dict[str, np.ndarray] = {}
    for sample, found in zip(samples, outputs, strict=True):
        np.testing.assert_allclose(found, evaluate(graph, sample, states)["y"], rtol=1e-5, atol=1e-5)
