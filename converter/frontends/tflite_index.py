"""TFLite's operators that index, place, order and select elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_graph import Row, TfliteNode, axis_of, is_shifted, require

INDEX_TYPES = (DType.s32, DType.s64)

MOST = 1 << 24
"""Elements that a tensor made here may have."""


def gather_nd(node: TfliteNode) -> Value:
    x, indices = node.value(0), node.value(1)
    shape, picks = x.shape, indices.shape
    known = len(picks) >= 1 and isinstance(picks[-1], int) and 1 <= picks[-1] <= len(shape)
    require(known, f"indices {list(picks)} for shape {list(shape)}")
    if indices.dtype is DType.s16:
        indices = node.add("cast", [indices], {"to": DType.s32.value})
    require(indices.dtype in INDEX_TYPES, f"indices are {indices.dtype.name}")
    return node.add("gather_nd", [x, indices], quant=node.output_quant())


def _zero(node: TfliteNode) -> int:
    """The number 0 of the output's type, whatever its zero point; uint8 is held as int8, 128 less."""
    return -128 if is_shifted(node.output_tensor()) else 0


def scatter_nd(node: TfliteNode) -> Value:
    """Updates into zeros; those for the same place add up."""
    indices, updates, shape = node.value(0), node.value(1), node.ints(2, "the shape")
    require(min(shape, default=0) >= 0 and int(np.prod(shape, dtype=np.int64)) <= MOST, f"shape {shape}")
    zeros = node.const(np.full(shape, _zero(node), updates.dtype.numpy), suffix="zeros")
    adds = updates.dtype not in (DType.b8, DType.f16)
    if is_shifted(node.output_tensor()):
        places = node.array(0, "the places of uint8 elements").reshape(-1, node.shape(0)[-1])
        require(len(np.unique(places, axis=0)) == len(places), "sums of uint8 elements are not supported")
        adds = False
    return node.add("scatter_nd", [zeros, indices, updates], {"reduction": int(adds)}, quant=node.output_quant())


def one_hot(node: TfliteNode) -> Value:
    options = node.options("OneHotOptions")
    indices, depth = node.value(0), node.ints(1, "the depth")
    on, off = node.value(2), node.value(3)
    require(len(depth) == 1 and 0 <= depth[0] < 1 << 31, f"depth {depth}")
    if indices.dtype not in INDEX_TYPES:
        indices = node.add("cast", [indices], {"to": DType.s32.value})
    axis = len(indices.shape) if options.Axis() == -1 else axis_of(options.Axis(), len(indices.shape) + 1)
    values = node.add("concat", [node.reshape(off, (1,)), node.reshape(on, (1,))], {"axis": 0})
    return node.add("one_hot", [indices, values], {"axis": axis, "depth": depth[0]}, quant=node.output_quant())


def top_k(node: TfliteNode) -> list[Value]:
    x, number = node.value(0), node.value(1)
    attrs: dict[str, Any] = {"axis": len(x.shape) - 1, "to": node.output_type(1).dtype.value}
    if number.data is None:
        return node.add_all("top_k", [x, number], attrs, quants=[node.output_quant()])
    k = node.ints(1, "k")
    require(len(k) == 1 and 0 <= k[0] <= node.shape(0)[-1], f"k {k} for shape {list(node.shape(0))}")
    return node.add_all("top_k", [x], {**attrs, "k": k[0]}, quants=[node.output_quant()])


def reverse_sequence(node: TfliteNode) -> Value:
    options = node.options("ReverseSequenceOptions", required=True)
    x, rank = node.value(0), len(node.shape(0))
    attrs = {"batch_axis": axis_of(options.BatchDim(), rank), "time_axis": axis_of(options.SeqDim(), rank)}
    return node.add("reverse_sequence", [x, node.value(1)], attrs, quant=node.output_quant())


def where(node: TfliteNode) -> Value:
    """The coordinates of what is not 0, one row for each."""
    return node.add("transpose", [node.add("non_zero", [node.value(0)])], {"perm": (1, 0)})


def unique(node: TfliteNode) -> list[Value]:
    """The distinct elements in order of first occurrence, and which of them each element is."""
    slices, _, inverse, _, number = node.add_all("unique", [node.value(0)], {"axis": 0, "sorted": 0})
    start, axis = node.const(np.zeros(1, np.int64), suffix="start"), node.const(np.zeros(1, np.int64), suffix="axis")
    target = node.output_type(1).dtype
    places = node.add("cast", [inverse], {"to": target.value}) if target is not DType.s64 else inverse
    return [node.add("slice", [slices, start, number, axis]), places]


def dynamic_update_slice(node: TfliteNode) -> Value:
    """A block of the input is replaced; where it starts comes at run time."""
    x, update, start = node.value(0), node.value(1), node.value(2)
    require(start.dtype in INDEX_TYPES, f"start is {start.dtype.name}")
    return node.add("update_slice", [x, update, start], quant=node.output_quant())


def sparse_to_dense(node: TfliteNode) -> Value:
    """Values at some places of a tensor that holds a default everywhere else."""
    indices, shape, values = node.value(0), node.ints(1, "the shape"), node.value(2)
    default = node.array(3, "the default")
    require(1 <= len(shape) <= 8 and min(shape) >= 0 and int(np.prod(shape, dtype=np.int64)) <= MOST, f"shape {shape}")
    picks = indices.type.static_shape
    rows, depth = (picks[0], picks[1]) if len(picks) == 2 else (int(np.prod(picks)), 1)
    require(depth == len(shape) and default.size == 1, f"indices {list(picks)} for shape {shape}")
    full = node.const(np.full(shape, default.reshape(()), default.dtype), suffix="default")
    if values.type.count == 1 and rows != 1:
        values = node.add("expand", [node.reshape(values, (1,))], {"shape": (rows,)})
    places = node.reshape(indices, (rows, depth))
    return node.add("scatter_nd", [full, places, node.reshape(values, (rows,))], quant=node.output_quant())


def _segments(reduction: int, start: str) -> Row:
    """Rows of the input combined by the number of the segment that each belongs to; negative ones are left out."""

    def row(node: TfliteNode) -> Value:
        data, ids, counts = node.value(0), node.value(1), node.ints(2, "the number of segments")
        require(len(counts) == 1 and 0 <= counts[0] <= MOST, f"{counts} segments")
        require(data.dtype in (DType.f32, DType.s32), f"{data.dtype.name} is not supported")
        shape, rank = node.shape(0), len(node.shape(1))
        require(shape[:rank] == node.shape(1), f"segments {list(node.shape(1))} for shape {list(shape)}")
        limits = np.finfo(np.float32) if data.dtype is DType.f32 else np.iinfo(np.int32)
        value = {"zero": 0, "one": 1, "lowest": limits.min, "highest": limits.max}[start]
        empty = node.const(np.full((counts[0], *shape[rank:]), value, data.dtype.numpy), suffix="empty")
        outside = node.const(np.array(counts[0], ids.dtype.numpy), suffix="outside")
        is_negative = node.add("less", [ids, node.const(np.array(0, ids.dtype.numpy), suffix="zero")])
        places = node.reshape(node.add("where", [is_negative, outside, ids]), (*node.shape(1), 1))
        return node.add("scatter_nd", [empty, places, data], {"reduction": reduction})

    return row


def segment_sum(node: TfliteNode) -> Value:
    """SEGMENT_SUM: rows added up by the numbers of their segments, which ascend and are constant."""
    data, ids = node.value(0), node.array(1, "the numbers of the segments").reshape(-1)
    shape = node.shape(0)
    require(data.dtype in (DType.f32, DType.s32), f"{data.dtype.name} is not supported")
    require(len(ids) > 0 and shape[:1] == (len(ids),), f"{len(ids)} segments for shape {list(shape)}")
    require(ids.min() >= 0 and ids.max() < MOST, "the numbers of the segments are out of range")
    empty = node.const(np.zeros((int(ids.max()) + 1, *shape[1:]), data.dtype.numpy), suffix="empty")
    places = node.const(ids.reshape(-1, 1), suffix="places")
    return node.add("scatter_nd", [empty, places, data], {"reduction": 1})


def matrix_diag(node: TfliteNode) -> Value:
    """Matrices of zeros but for their diagonals."""
    x, shape = node.value(0), node.shape(0)
    require(len(shape) >= 1, "the input is a scalar")
    size = shape[-1]
    zero = node.const(np.array(_zero(node), x.dtype.numpy), suffix="zero")
    mask = node.const(np.eye(size, dtype=np.bool_), suffix="mask")
    return node.add("where", [mask, node.reshape(x, (*shape[:-1], 1, size)), zero], quant=node.output_quant())


def matrix_set_diag(node: TfliteNode) -> Value:
    """Matrices with their diagonals replaced."""
    x, diagonal, shape = node.value(0), node.value(1), node.shape(0)
    require(len(shape) >= 2 and node.shape(1) == (*shape[:-2], min(shape[-2:])), "the diagonal does not fit")
    columns = np.minimum(np.arange(shape[-1]), min(shape[-2:]) - 1)
    spread = node.add(
        "gather", [diagonal, node.const(columns.astype(np.int32), suffix="columns")], {"axis": len(shape) - 2}
    )
    mask = node.const(np.eye(*shape[-2:], dtype=np.bool_), suffix="mask")
    rows = node.reshape(spread, (*shape[:-2], 1, shape[-1]))
    return node.add("where", [mask, rows, x], quant=node.output_quant())


def non_max_suppression(node: TfliteNode) -> list[Value]:
    """The boxes that are kept, best first, filled up with zeros; their scores (V5), and their number."""
    boxes, scores = node.value(0), node.value(1)
    most = node.ints(2, "the number of boxes")
    count = node.shape(1)[0] if len(node.shape(1)) == 1 else 0
    require(len(node.shape(0)) == 2 and node.shape(0) == (count, 4), f"boxes {list(node.shape(0))}")
    require(len(most) == 1 and 0 <= most[0] < 1 << 31, f"the number of boxes is {most}")
    with_scores = node.name == "NON_MAX_SUPPRESSION_V5"
    if with_scores:
        require(not node.array(5, "sigma").any(), "soft suppression is not supported")
    inputs: list[Value | None] = [node.reshape(boxes, (1, count, 4)), node.reshape(scores, (1, 1, count)), None]
    attrs: dict[str, Any] = {"max_output": most[0]}
    for index, name in ((3, "iou_threshold"), (4, "score_threshold")):
        threshold = node.value(index)
        if threshold.data is not None:
            attrs[name] = float(threshold.data.reshape(-1)[0])
        inputs.append(threshold if threshold.data is None else None)
    rows, number = node.add_all("non_max_suppression", inputs, attrs)
    kept = min(most[0], count)
    column = node.add("slice", [rows], {"start": (0, 2), "size": (kept, 1), "step": (1, 1)})
    selected = node.add("cast", [node.reshape(column, (kept,))], {"to": DType.s32.value})
    total = node.add("cast", [node.reshape(number, ())], {"to": DType.s32.value})
    results = [_filled_up(node, selected, most[0])]
    if with_scores:
        picked = node.add("gather", [scores, selected], {"axis": 0})
        is_kept = node.add("less", [node.const(np.arange(kept, dtype=np.int32), suffix="places"), total])
        zero = node.const(np.zeros((), np.float32), suffix="zero")
        results.append(_filled_up(node, node.add("where", [is_kept, picked, zero]), most[0]))
    return [*results, total]


def _filled_up(node: TfliteNode, x: Value, count: int) -> Value:
    """A vector with zeros at its end up to ``count`` elements."""
    missing = count - x.type.static_shape[0]
    return x if missing == 0 else node.add("pad", [x], {"before": (0,), "after": (missing,), "mode": 0})


ROWS: Mapping[str, Row] = {
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice,
    "GATHER_ND": gather_nd,
    "MATRIX_DIAG": matrix_diag,
    "MATRIX_SET_DIAG": matrix_set_diag,
    "NON_MAX_SUPPRESSION_V4": non_max_suppression,
    "NON_MAX_SUPPRESSION_V5": non_max_suppression,
    "ONE_HOT": one_hot,
    "REVERSE_SEQUENCE": reverse_sequence,
    "SCATTER_ND": scatter_nd,
    "SEGMENT_SUM": segment_sum,
    "SPARSE_TO_DENSE": sparse_to_dense,
    "TOPK_V2": top_k,
    "UNIQUE": unique,
    "UNSORTED_SEGMENT_MAX": _segments(3, "lowest"),
    "UNSORTED_SEGMENT_MIN": _segments(4, "highest"),
    "UNSORTED_SEGMENT_PROD": _segments(2, "one"),
    "UNSORTED_SEGMENT_SUM": _segments(1, "zero"),
    "WHERE": where,
}
