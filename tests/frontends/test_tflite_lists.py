# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors whose rows a loop writes, as TensorFlow's converter has them, against LiteRT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from litert_rung import compare, converted
from tflite_builder import TfliteBuilder

from microlith.codegen import generate
from microlith.converter.frontends.tflite import import_tflite
from microlith.errors import UnsupportedError
from microlith.ir import Graph, all_graphs

STEPS = 5


def loop_over_rows(
    dtype: str = "float32", steps: int = STEPS, packed: bool = False, swapped: bool = False, behind: int = 1
) -> bytes:
    """Row i of a list becomes twice row i of x; carries i, the list and x."""
    scale = {"scale": 0.5, "zero_point": 3} if dtype == "int8" else {}
    rows, one_row = (STEPS, 2, 3), (2, 3)
    b = TfliteBuilder()
    x = b.input(rows, dtype, **scale)
    data = np.zeros(rows, np.float32) if dtype == "float32" else np.full(rows, 3, np.int8)
    start, filled = b.constant(np.zeros((), np.int32)), b.constant(data, **scale)
    count, result, kept = b.tensor((), "int32"), b.output(rows, dtype, **scale), b.tensor(rows, dtype, **scale)
    _, condition = b.subgraph()
    i = condition.input((), "int32")
    condition.input(rows, dtype, **scale)
    condition.input(rows, dtype, **scale)
    bound = condition.constant(np.full((), steps, np.int32))
    condition.operator("LESS", [i, bound], [condition.output((), "bool")], "LessOptions")

    _, body = b.subgraph()
    i = body.input((), "int32")
    rows_so_far, given = body.input(rows, dtype, **scale), body.input(rows, dtype, **scale)
    step = body.constant(np.ones((), np.int32))
    next_i = body.output((), "int32")
    body.operator("ADD", [step, i] if swapped else [i, step], [next_i], "AddOptions")
    after = next_i
    if behind != 1:
        after = body.tensor((), "int32")
        body.operator("ADD", [i, body.constant(np.full((), behind, np.int32))], [after], "AddOptions")
    row = body.tensor(one_row, dtype, **scale)
    body.operator("GATHER", [given, i], [row], "GatherOptions", Axis=0)
    changed = body.tensor(one_row, dtype, **scale)
    body.operator("ADD", [row, row], [changed], "AddOptions")

    def vector(first: int, rest: int) -> int:
        whole = body.tensor((3,), "int32")
        if packed:
            number = body.constant(np.full((), rest, np.int32))
            body.operator("PACK", [first, number, number], [whole], "PackOptions", ValuesCount=3)
            return whole
        alone = body.tensor((1,), "int32")
        body.operator("RESHAPE", [first, body.constant(np.ones(1, np.int32))], [alone], "ReshapeOptions")
        others = body.constant(np.full(2, rest, np.int32))
        body.operator("CONCATENATION", [alone, others], [whole], "ConcatenationOptions", Axis=0)
        return whole

    front, back = body.tensor((1, 2, 3), dtype, **scale), body.tensor((1, 2, 3), dtype, **scale)
    for index in (front, back):
        body.tensors[index].signature = (-1, -1, -1)
    zeros, all_rest = body.constant(np.zeros(3, np.int32)), body.constant(np.full(3, -1, np.int32))
    body.operator("SLICE", [rows_so_far, zeros, vector(i, -1)], [front], "SliceOptions")
    body.operator("SLICE", [rows_so_far, vector(after, 0), all_rest], [back], "SliceOptions")
    item = body.tensor((1, 2, 3), dtype, **scale)
    shape = body.constant(np.asarray((1, 2, 3), np.int32))
    body.operator("RESHAPE", [changed, shape], [item], "ReshapeOptions")
    joined = body.output(rows, dtype, **scale)
    body.operator("CONCATENATION", [front, item, back], [joined], "ConcatenationOptions", Axis=0)
    body.outputs.append(given)
    inputs, outputs = [start, filled, x], [count, result, kept]
    b.operator("WHILE", inputs, outputs, "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    return b.build()


def ops_of(graph: Graph) -> set[str]:
    return {node.op for part in all_graphs(graph) for node in part.nodes}


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("steps", [3, STEPS])
@pytest.mark.parametrize(("packed", "swapped"), [(False, False), (True, True)])
def test_rows_that_a_loop_writes(dtype: str, steps: int, packed: bool, swapped: bool, tmp_path: Path) -> None:
    data = loop_over_rows(dtype, steps, packed, swapped)
    compare(data, tmp_path, np.random.default_rng(steps))
    assert "slice" not in ops_of(converted(data))


def test_generated_code_has_the_loop(tmp_path: Path) -> None:
    graph = converted(loop_over_rows())
    generate(graph, "cortex-m4", tmp_path / "net", name="net")
    assert "scatter_nd" in ops_of(graph)


def test_other_slices_stay(tmp_path: Path) -> None:
    """What is behind begins one row later: no row is replaced, so that this is no list."""
    with pytest.raises(UnsupportedError, match="start of dimension 0 is computed"):
        import_tflite(loop_over_rows(behind=2))
