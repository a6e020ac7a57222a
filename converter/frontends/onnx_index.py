"""ONNX operators that pick, place, order and select elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_data import dtype_of
from .onnx_graph import Builder, OnnxNode, Reject, Row
from .onnx_math import axis_of, checked_axis

REDUCTIONS = {"none": 0, "add": 1, "mul": 2, "max": 3, "min": 4}
"""Attribute reduction of the scatters."""

INT32_MAX = 2**31 - 1


def gather_elements(g: Builder, node: OnnxNode) -> Value:
    """GatherElements."""
    x, indices = node.value(0), node.value(1)
    return g.add("gather_elements", [x, indices], {"axis": axis_of(node, "axis", 0, len(x.shape))})


def gather_nd(g: Builder, node: OnnxNode) -> Value:
    """GatherND."""
    return g.add("gather_nd", [node.value(0), node.value(1)], {"batch_dims": node.integer("batch_dims", 0)})


def _reduction(node: OnnxNode) -> int:
    name = node.text("reduction", "none")
    if name not in REDUCTIONS:
        raise Reject(f"attribute 'reduction' is '{name}'", f"supported: {', '.join(REDUCTIONS)}")
    return REDUCTIONS[name]


def scatter_elements(g: Builder, node: OnnxNode) -> Value:
    """ScatterElements, and Scatter, which is its old name."""
    x, indices, updates = (node.value(index) for index in range(3))
    attrs = {"axis": axis_of(node, "axis", 0, len(x.shape)), "reduction": _reduction(node)}
    return g.add("scatter_elements", [x, indices, updates], attrs)


def scatter_nd(g: Builder, node: OnnxNode) -> Value:
    """ScatterND."""
    return g.add("scatter_nd", [node.value(index) for index in range(3)], {"reduction": _reduction(node)})


def tensor_scatter(g: Builder, node: OnnxNode) -> Value:
    """TensorScatter: writes into a cache, at a position for each sequence of the batch."""
    x, mode = node.value(0), node.text("mode", "linear")
    if mode not in ("linear", "circular"):
        raise Reject(f"attribute 'mode' is '{mode}'")
    attrs = {"axis": axis_of(node, "axis", -2, len(x.shape)), "circular": int(mode == "circular")}
    return g.add("tensor_scatter", [x, node.value(1), node.optional(2)], attrs)


def top_k(g: Builder, node: OnnxNode) -> list[Value]:
    """TopK; k is an attribute before opset 10. Elements are always sorted."""
    x = node.value(0)
    attrs = {"axis": axis_of(node, "axis", -1, len(x.shape)), "largest": int(bool(node.integer("largest", 1)))}
    node.ignore("sorted")
    if node.opset < 10:
        return g.add_all("top_k", [x], {**attrs, "k": node.integer("k", 0)})
    return g.add_all("top_k", [x, node.value(1)], attrs)


def non_zero(g: Builder, node: OnnxNode) -> Value:
    """NonZero."""
    return g.add("non_zero", [node.value(0)])


def compress(g: Builder, node: OnnxNode) -> Value:
    """Compress; without an axis the input is flat."""
    x, condition = node.value(0), node.value(1)
    if "axis" not in node.attribute_names():
        return g.add("compress", [flat(g, x), condition], {"axis": 0})
    return g.add("compress", [x, condition], {"axis": axis_of(node, "axis", 0, len(x.shape))})


def flat(g: Builder, x: Value) -> Value:
    """``x`` with one dimension."""
    return x if len(x.shape) == 1 else g.add("reshape", [x], {"shape": (-1,)})


def first(g: Builder, x: Value, number: Value, axis: int) -> Value:
    """The first ``number`` (an s64 of one element) slices of ``x`` along an axis."""
    start, axes = g.const(np.zeros(1, np.int64), "start"), g.const(np.array([axis], np.int64), "axis")
    return g.add("slice", [x, start, number, axes])


def unique(g: Builder, node: OnnxNode) -> list[Value]:
    """Unique: the op leaves room for all elements, of which the distinct ones are taken."""
    x = node.value(0)
    has_axis = "axis" in node.attribute_names()
    axis = axis_of(node, "axis", 0, len(x.shape)) if has_axis else 0
    attrs = {"axis": axis, "sorted": int(bool(node.integer("sorted", 1)))}
    slices, position, inverse, counts, number = g.add_all("unique", [x if has_axis else flat(g, x)], attrs)
    results = [first(g, slices, number, axis)]
    for index, value in enumerate((position, inverse, counts), start=1):
        whole = index == 2 or not node.wants(index)
        results.append(value if whole else first(g, value, number, 0))
    return results


def non_max_suppression(g: Builder, node: OnnxNode) -> Value:
    """NonMaxSuppression: the op leaves room for as many boxes as there can be."""
    attrs: dict[str, object] = {"center_point_box": node.integer("center_point_box", 0)}
    inputs: list[Value | None] = [node.value(0), node.value(1), node.optional(2), None, None]
    for index, name in ((3, "iou_threshold"), (4, "score_threshold")):
        threshold = node.optional(index)
        if threshold is not None and threshold.data is not None:
            attrs[name] = float(threshold.data.reshape(-1)[0])
        else:
            inputs[index] = threshold
    selected, number = g.add_all("non_max_suppression", inputs, attrs)
    return first(g, selected, number, 0)


def one_hot(g: Builder, node: OnnxNode) -> Value:
    """OneHot; indices and depth of any type count as int64."""
    indices, depth, values = g.cast(node.value(0), DType.s64), g.cast(node.value(1), DType.s64), node.value(2)
    return g.add("one_hot", [indices, values, depth], {"axis": axis_of(node, "axis", -1, len(indices.shape) + 1)})


def trilu(g: Builder, node: OnnxNode) -> Value:
    """Trilu."""
    return g.add("trilu", [node.value(0), node.optional(1)], {"upper": int(bool(node.integer("upper", 1)))})


def eye_like(g: Builder, node: OnnxNode) -> Value:
    """EyeLike; of the type of the input unless another is given."""
    x = node.value(0)
    target = dtype_of(node.integer("dtype", 0)) if "dtype" in node.attribute_names() else x.dtype
    k = min(max(node.integer("k", 0), -INT32_MAX), INT32_MAX)
    return g.add("eye_like", [x], {"k": k, "to": target.value})


def reverse_sequence(g: Builder, node: OnnxNode) -> Value:
    """ReverseSequence."""
    x = node.value(0)
    rank = len(x.shape)
    attrs = {"batch_axis": axis_of(node, "batch_axis", 1, rank), "time_axis": axis_of(node, "time_axis", 0, rank)}
    return g.add("reverse_sequence", [x, node.value(1)], attrs)


def center_crop_pad(g: Builder, node: OnnxNode) -> Value:
    """CenterCropPad."""
    x = node.value(0)
    given: Sequence[int] = node.integers("axes") or range(len(x.shape))
    axes = [checked_axis(axis, len(x.shape), "an axis") for axis in given]
    if len(set(axes)) != len(axes):
        raise Reject(f"attribute 'axes' is {list(given)}, it names a dimension twice")
    return g.add("center_crop_pad", [x, node.value(1)], {"axes": tuple(axes)})


ROWS: dict[str, Row] = {
    "CenterCropPad": center_crop_pad,
    "Compress": compress,
    "EyeLike": eye_like,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "NonMaxSuppression": non_max_suppression,
    "NonZero": non_zero,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "TensorScatter": tensor_scatter,
    "TopK": top_k,
    "Trilu": trilu,
    "Unique": unique,
}
