"""Splits that only divide memory are no code in generated C, and its results are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated_projects import built

from microlith.codegen import execute
from microlith.codegen.project import draw_sample
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.lower import lower


def divided(shape: tuple[int, ...], axis: int, sizes: tuple[int, ...]) -> Graph:
    """relu, split, each piece doubled, concatenated again; the first piece is a result too."""
    graph = Graph("divided")
    x = Value("x", TensorType(DType.f32, shape))
    graph.inputs.append(x)
    relu = graph.add("relu", [x], name="relu")
    split = graph.add("split", [relu.output], {"axis": axis, "sizes": sizes}, name="split")
    doubled = [graph.add("add", [piece, piece], name=f"double{i}").output for i, piece in enumerate(split.outputs)]
    graph.outputs = [graph.add("concat", doubled, {"axis": axis}, name="all").output, split.outputs[0]]
    return graph


@pytest.mark.parametrize(
    ("shape", "axis", "sizes", "views"),
    [
        ((1, 8, 4, 8), 1, (2, 3, 3), True),
        ((12, 8), 0, (4, 4, 4), True),
        ((1, 8, 4, 8), 3, (4, 4), False),  # in several runs
        ((1, 6, 1, 3), 1, (1, 5), False),  # begins at no multiple of the alignment
    ],
)
def test_splits(shape: tuple[int, ...], axis: int, sizes: tuple[int, ...], views: bool, tmp_path: Path) -> None:
    graph = divided(shape, axis, sizes)
    program = lower(graph, ["c"], alignment=8, overlap=True)
    calls = [call for call in program.calls if call.node.op in ("slice", "split")]
    assert {call.node.op for call in calls} == ({"slice"} if views else {"split"})
    assert all(call.elided for call in calls) == views
    assert {call.node.op for call in lower(graph, ["c"], alignment=8).calls} >= {"split"}  # the runtime has its own way
    project = built(graph, "cortex-m4", tmp_path / "a")
    samples = [draw_sample(graph, {}, seed) for seed in range(2)]
    for sample, outputs in zip(samples, execute.run(project, samples).samples, strict=True):
        for name, wanted in evaluate(graph, sample).items():
            np.testing.assert_array_equal(outputs[name], wanted)


def test_the_graph_is_left_as_it_was() -> None:
    graph = divided((12, 8), 0, (4, 4, 4))
    users = {value: list(value.uses) for value in graph.values()}
    lower(graph, ["c"], alignment=8, overlap=True)
    assert {value: list(value.uses) for value in graph.values()} == users
