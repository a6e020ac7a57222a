# SPDX-License-Identifier: Apache-2.0
"""TFLite operators behind results whose sizes only a run tells, or whose sizes and positions are computed, against
LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litert_rung import compare, converted
from tflite_builder import TfliteBuilder

from microlith.binding import needs_sizes
from microlith.errors import UnsupportedError


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def behind(
    name: str, more: Sequence[np.ndarray] = (), table: str | None = None, dtype: str = "int64", **options: Any
) -> Callable[[TfliteBuilder], list[np.ndarray]]:
    """The operator over the places where a mask holds, [number, 2]."""

    def build(b: TfliteBuilder) -> list[np.ndarray]:
        found, y = b.tensor((0, 2), "int64"), b.output((0, 2), dtype)
        b.operator("WHERE", [b.input((4, 3), "bool")], [found])
        count = {"PACK": 2, "CONCATENATION": 2, "ADD": 2}.get(name, 1)
        b.operator(name, [*[found] * count, *(b.constant(array) for array in more)], [y], table, **options)
        return [np.random.default_rng(1).integers(0, 2, (4, 3)).astype(bool)]

    return build


BEHIND = {
    "reshape": behind("RESHAPE", [ints(2, -1)], "ReshapeOptions"),
    "reshape by options": behind("RESHAPE", [], "ReshapeOptions", NewShape=[-1]),
    "cast": behind("CAST", [], "CastOptions"),
    "cast to int32": behind("CAST", [], "CastOptions", dtype="int32"),
    "column": behind(
        "STRIDED_SLICE",
        [ints(0, 1), ints(0, 2), ints(1, 1)],
        "StridedSliceOptions",
        BeginMask=1,
        EndMask=1,
        ShrinkAxisMask=2,
    ),
    "all but the first": behind(
        "STRIDED_SLICE", [ints(1, 0), ints(0, 0), ints(1, 1)], "StridedSliceOptions", BeginMask=2, EndMask=3
    ),
    "backwards": behind(
        "STRIDED_SLICE", [ints(0, 0), ints(0, 0), ints(-1, -1)], "StridedSliceOptions", BeginMask=3, EndMask=3
    ),
    "last": behind(
        "STRIDED_SLICE", [ints(-1, 0), ints(0, 0), ints(1, 1)], "StridedSliceOptions", EndMask=2, ShrinkAxisMask=1
    ),
    "whole": behind(
        "STRIDED_SLICE", [ints(0, 0), ints(0, 0), ints(1, 1)], "StridedSliceOptions", BeginMask=3, EndMask=3
    ),
    "transpose": behind("TRANSPOSE", [ints(1, 0)], "TransposeOptions"),
    "expand_dims": behind("EXPAND_DIMS", [np.array(-1, np.int32)]),
    "tile": behind("TILE", [ints(2, 3)], "TileOptions"),
    "shape": behind("SHAPE", [], "ShapeOptions", dtype="int32", OutType=2),
    "rank": behind("RANK", [], "RankOptions", dtype="int32"),
    "pack": behind("PACK", [], "PackOptions", ValuesCount=2, Axis=1),
    "concat": behind("CONCATENATION", [], "ConcatenationOptions", Axis=0),
    "pad": behind("PAD", [np.array([[1, 0], [2, 1]], np.int32)]),
}


@pytest.mark.parametrize("name", sorted(BEHIND))
def test_behind_open_sizes(name: str, tmp_path: Path) -> None:
    b = TfliteBuilder()
    arrays = BEHIND[name](b)
    compare(b.build(), tmp_path, np.random.default_rng(2), arrays=arrays)


def test_rows_where_a_mask_holds(tmp_path: Path) -> None:
    """As exporters write boolean_mask: places, without their dimension of size 1, gathered."""
    b, rng = TfliteBuilder(), np.random.default_rng(3)
    places, flat = b.tensor((0, 1), "int64"), b.tensor((0,), "int64")
    mask, rows = b.input((9,), "bool"), b.input((9, 4))
    b.operator("WHERE", [mask], [places])
    b.operator("SQUEEZE", [places], [flat], "SqueezeOptions", SqueezeDims=[1])
    b.operator("GATHER", [rows, flat], [b.output((0, 4))], "GatherOptions")
    b.operator("GATHER_ND", [rows, places], [b.output((0, 4))], "GatherNdOptions")
    for density in (0.0, 0.4, 1.0):
        arrays = [rng.uniform(size=9) < density, rng.normal(size=(9, 4)).astype(np.float32)]
        compare(b.build(), tmp_path, rng, arrays=arrays)


def test_parts_of_open_sizes(tmp_path: Path) -> None:
    b, rng = TfliteBuilder(), np.random.default_rng(4)
    found, narrow = b.tensor((0, 2), "int64"), b.tensor((0, 2), "int32")
    b.operator("WHERE", [b.input((4, 3), "bool")], [found])
    b.operator("CAST", [found], [narrow], "CastOptions")
    b.operator("UNPACK", [narrow], [b.output((0,), "int32") for _ in range(2)], "UnpackOptions", Num=2, Axis=1)
    axis = b.constant(np.array(1, np.int32))
    b.operator("SPLIT", [axis, found], [b.output((0, 1), "int64") for _ in range(2)], "SplitOptions", NumSplits=2)
    compare(b.build(), tmp_path, rng, arrays=[rng.integers(0, 2, (4, 3)).astype(bool)])


COMPUTED: dict[str, tuple[str, Sequence[np.ndarray | tuple[int, ...]], str | None, dict[str, Any], tuple[int, ...]]] = {
    "reshape": ("RESHAPE", [(4, 3), ints(2, -1)], "ReshapeOptions", {}, (0, 0)),
    "broadcast": ("BROADCAST_TO", [(1, 3), ints(4, 3)], "BroadcastToOptions", {}, (0, 0)),
    "tile": ("TILE", [(4, 3), ints(2, 3)], "TileOptions", {}, (0, 0)),
    "pad": ("PAD", [(4, 3), np.array([[1, 2], [0, 3]], np.int32)], None, {}, (0, 0)),
    "padv2": ("PADV2", [(4, 3), np.array([[1, 2], [0, 3]], np.int32), ()], None, {}, (0, 0)),
    "row": (
        "STRIDED_SLICE",
        [(4, 3), ints(2, 0), ints(3, 3), np.ones(2, np.int32)],
        "StridedSliceOptions",
        {"ShrinkAxisMask": 1},
        (3,),
    ),
    "up to": (
        "STRIDED_SLICE",
        [(4, 3), ints(0, 1), ints(-1, 3), np.ones(2, np.int32)],
        "StridedSliceOptions",
        {"BeginMask": 1},
        (0, 0),
    ),
}


@pytest.mark.parametrize("name", sorted(COMPUTED))
def test_computed_sizes_and_positions(name: str, tmp_path: Path) -> None:
    operator, operands, table, options, result = COMPUTED[name]
    b, rng, arrays, inputs = TfliteBuilder(), np.random.default_rng(5), [], []
    for place, operand in enumerate(operands):
        if operator == "STRIDED_SLICE" and place == 3:
            inputs.append(b.constant(np.asarray(operand)))
            continue
        array = operand if isinstance(operand, np.ndarray) else np.float32(rng.normal(size=operand))
        arrays.append(np.asarray(array))
        inputs.append(b.input(arrays[-1].shape, str(arrays[-1].dtype)))
    b.operator(operator, inputs, [b.output(result)], table, **options)
    compare(b.build(), tmp_path, rng, arrays=arrays)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_computed_ranges_and_fills(dtype: str, tmp_path: Path) -> None:
    b, rng = TfliteBuilder(), np.random.default_rng(6)
    bounds = [b.input((), dtype) for _ in range(3)]
    b.operator("RANGE", bounds, [b.output((0,), dtype)], "RangeOptions")
    for limit, step in ((9, 2), (-7, -3)):
        compare(b.build(), tmp_path, rng, arrays=[np.array(number, dtype) for number in (1, limit, step)])
    b = TfliteBuilder()
    b.operator("FILL", [b.input((2,), "int32"), b.input((), dtype)], [b.output((0, 0), dtype)], "FillOptions")
    compare(b.build(), tmp_path, rng, arrays=[ints(2, 3), np.array(7, dtype)])


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_a_window_at_a_computed_place_has_known_sizes(index: str, tmp_path: Path) -> None:
    """So that C can be generated."""
    b, rng = TfliteBuilder(), np.random.default_rng(7)
    size = b.constant(np.array([2, 3, 1], index))
    b.operator("SLICE", [b.input((5, 3, 4)), b.input((3,), index), size], [b.output((2, 3, 1))], "SliceOptions")
    assert not needs_sizes(converted(b.build()))
    for start in ((0, 0, 0), (3, 0, 2)):
        arrays = [rng.normal(size=(5, 3, 4)).astype(np.float32), np.array(start, index)]
        compare(b.build(), tmp_path, rng, arrays=arrays)


def test_a_window_larger_than_what_it_lies_in() -> None:
    """Damaged files ask for 2,147,483,647 elements of three: refused before any memory is taken for them."""
    b = TfliteBuilder()
    size = b.constant(np.array([2, 2**31 - 1, 1], np.int32))
    b.operator("SLICE", [b.input((5, 3, 4)), b.input((3,), "int32"), size], [b.output((2, 3, 1))], "SliceOptions")
    with pytest.raises(UnsupportedError, match="size 2147483647 of dimension 1, which has 3"):
        converted(b.build())


def test_what_open_sizes_leave_undecided() -> None:
    b = TfliteBuilder()
    places = b.tensor((0, 1), "int64")
    b.operator("WHERE", [b.input((9,), "bool")], [places])
    b.operator("SQUEEZE", [places], [b.output((0,), "int64")], "SqueezeOptions")
    axis = b.constant(np.array(0, np.int32))
    b.operator("SPLIT", [axis, places], [b.output((0, 1), "int64") for _ in range(2)], "SplitOptions", NumSplits=2)
    with pytest.raises(UnsupportedError) as caught:
        converted(b.build())
    reasons = " ".join(item.reason for item in caught.value.items)
    assert "no axes are given" in reasons and "size of dimension 0 is known at run time only" in reasons


@pytest.mark.parametrize("shape", [ints(0, -1), ints(-1, -1), ints(-2, 1)])
def test_shapes_that_open_sizes_cannot_have(shape: np.ndarray) -> None:
    b = TfliteBuilder()
    behind("RESHAPE", [shape], "ReshapeOptions")(b)
    with pytest.raises(UnsupportedError, match="RESHAPE"):
        converted(b.build())
