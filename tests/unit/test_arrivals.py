"""A project whose input arrives by rows, as far as it can be looked at without a compiler."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from microlith.codegen import generate
from microlith.dtypes import DType
from microlith.ir import Graph, TensorType, Value


def test_rows_arrive_in_order_and_the_run_stops_for_each(tmp_path: Path) -> None:
    graph = Graph("rows")
    x = Value("x", TensorType(DType.f32, (1, 24, 4, 2)))
    graph.inputs.append(x)
    weights = graph.constant("w", np.ones((3, 3, 3, 2), np.float32))
    conv = graph.add("conv2d", [x, weights], {"stride_h": 2, "pad_top": 1}, name="conv")
    graph.outputs = [graph.add("relu", [conv.output], name="y").output]
    report = generate(graph, "cortex-m4", tmp_path / "a", name="rows", input_by_rows=True)
    assert report.input_rows is not None
    pieces = report.input_rows["pieces"]
    assert [first for first, _ in pieces] == [sum(rows for _, rows in pieces[:i]) for i in range(len(pieces))]
    assert sum(rows for _, rows in pieces) == 24
    source = (tmp_path / "a" / "rows.c").read_text()
    assert all(f"    case {number}: /* x rows" in source for number in range(len(pieces)))
    header = (tmp_path / "a" / "rows.h").read_text()
    assert "rows_push_row(" in header and "rows_input(" not in header
