"""TFLite's operators that index, place, order and select elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_graph import Row, TfliteNode, axis_of, require

INDEX_TYPES = (DType.s32, DType.s64)


def gather_nd(node: TfliteNode) -> Value:
    x, indices = node.value(0), node.value(1)
    shape, picks = node.shape(0), node.shape(1)
    require(len(picks) >= 1 and 1 <= picks[-1] <= len(shape), f"indices {list(picks)} for shape {list(shape)}")
    if indices.dtype is DType.s16:
        indices = node.add("cast", [indices], {"to": DType.s32.value})
    require(indices.dtype in INDEX_TYPES, f"indices are {indices.dtype.name}")
    return node.add("gather_nd", [x, indices], quant=node.output_quant())


def scatter_nd(node: TfliteNode) -> Value:
    """Updates into zeros; those for the same place add up."""
    indices, updates, shape = node.value(0), node.value(1), node.ints(2, "the shape")
    require(min(shape, default=0) >= 0 and int(np.prod(shape, dtype=np.int64)) <= 1 << 28, f"shape {shape}")
    zeros = node.const(np.zeros(shape, updates.dtype.numpy), suffix="zeros")
    is_number = updates.dtype not in (DType.b8, DType.f16)
    return node.add("scatter_nd", [zeros, indices, updates], {"reduction": int(is_number)}, quant=node.output_quant())


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
    x, k = node.value(0), node.ints(1, "k")
    require(len(k) == 1 and 0 <= k[0] <= node.shape(0)[-1], f"k {k} for shape {list(node.shape(0))}")
    attrs: dict[str, Any] = {"axis": len(x.shape) - 1, "k": k[0], "to": node.output_type(1).dtype.value}
    return node.add_all("top_k", [x], attrs, quants=[node.output_quant()])


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
    "GATHER_ND": gather_nd,
    "NON_MAX_SUPPRESSION_V4": non_max_suppression,
    "NON_MAX_SUPPRESSION_V5": non_max_suppression,
    "ONE_HOT": one_hot,
    "REVERSE_SEQUENCE": reverse_sequence,
    "SCATTER_ND": scatter_nd,
    "TOPK_V2": top_k,
    "UNIQUE": unique,
    "WHERE": where,
}
