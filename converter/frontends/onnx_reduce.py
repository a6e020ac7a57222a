"""ONNX reductions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Value
from . import onnx_ordered
from .onnx_graph import Builder, OnnxNode, Row
from .onnx_math import WIDER, axis_of, checked_axis, widened
from .onnx_shapes import axes_of

FIRST_WITH_AXES_INPUT = {"ReduceSum": 13}
"""Opset since which the axes are an input; 18 for the others."""


WIDER_SUMS = {**WIDER, DType.b8: DType.u64}
"""Element types without kernels of their own, and those that hold their extremes, sums and products."""


def _reduction(op: str, before: str | None = None, after: Sequence[str] = ()) -> Row:
    """A reduction with an elementwise op before it and others behind it."""

    def row(g: Builder, node: OnnxNode) -> Value:
        x = node.value(0)
        dtype = x.dtype
        wide = WIDER_SUMS.get(dtype, dtype)
        x = g.cast(x, DType.f32 if dtype.is_integer and (after or op == "reduce_mean") else wide)
        if before is not None and not (before == "abs" and x.dtype is DType.u64):
            x = g.add(before, [x])
        y = _over_axes(g, node, op, x)
        for name in after:
            y = g.add(name, [y])
        return g.cast(y, dtype)

    row.__doc__ = " of ".join([*reversed(after), op, *([before] if before else [])]) + " over some axes."
    return row


def _over_axes(g: Builder, node: OnnxNode, op: str, x: Value, keep: bool | None = None) -> Value:
    """A reduction of ``x`` over the axes that the node names: an attribute, or an input that may be computed."""
    keep = bool(node.integer("keepdims", 1)) if keep is None else keep
    noop = bool(node.integer("noop_with_empty_axes", 0))
    since = FIRST_WITH_AXES_INPUT.get(node.op, 18)
    if node.opset >= since and node.has(1) and node.value(1).data is None:
        computed = node.value(1)
        if not keep and not noop and node.stated_rank:  # no axes would mean all
            computed = g.of_length(computed, len(x.shape) - node.stated_rank)
        return g.add(op, [x, computed], {"keep_dims": int(keep), "noop_if_empty": int(noop)})
    rank = len(x.shape)
    given = axes_of(node, since)
    axes = sorted({checked_axis(axis, rank, "an axis") for axis in given}) if given else list(range(rank))
    if op in ("reduce_mean", "reduce_sum") and (given or not noop):
        ordered = onnx_ordered.mean(g, x, axes, keep, pool=False, total=op == "reduce_sum")
        if ordered is not None:
            return ordered
    return x if noop and not given else reduced(g, op, x, axes, keep)


def reduced(g: Builder, op: str, x: Value, axes: Sequence[int], keep_dims: bool = True) -> Value:
    """A reduction of ``x`` over some axes."""
    return g.add(op, [x], {"axes": sum(1 << axis for axis in axes), "keep_dims": int(keep_dims)})


def log_sum_exp(g: Builder, node: OnnxNode) -> Value:
    """ReduceLogSumExp, with the largest element taken out first, if it is finite, so that nothing overflows."""
    dtype = node.value(0).dtype
    x = g.cast(node.value(0), DType.f32 if dtype.is_integer else dtype)
    top = _over_axes(g, node, "reduce_max", x, keep=True)
    infinite = g.add("is_inf", [top], {"alpha": 1.0, "beta": 1.0})
    top = g.add("where", [infinite, g.const(np.float32(0.0)), top])
    total = _over_axes(g, node, "reduce_sum", g.add("exp", [g.add("sub", [x, top])]), keep=True)
    y = g.add("add", [g.add("log", [total]), top])
    # What is left of the axes has the size 1, so that any reduction takes it out.
    return g.cast(y if node.integer("keepdims", 1) else _over_axes(g, node, "reduce_max", y, keep=False), dtype)


def _position(op: str) -> Row:
    """The position of an extreme along one axis."""

    def row(g: Builder, node: OnnxNode) -> Value:
        x = widened(g, node.value(0))
        attrs = {
            "axis": axis_of(node, "axis", 0, len(x.shape)),
            "keep_dims": int(node.integer("keepdims", 1) != 0),
            "select_last": int(node.integer("select_last_index", 0) != 0),
            "to": DType.s64.value,
        }
        return g.add(op, [x], attrs)

    row.__doc__ = f"{op} along one axis."
    return row


ROWS: dict[str, Row] = {
    "ArgMax": _position("argmax"),
    "ArgMin": _position("argmin"),
    "ReduceL1": _reduction("reduce_sum", "abs"),
    "ReduceL2": _reduction("reduce_sum", "square", ["sqrt"]),
    "ReduceLogSum": _reduction("reduce_sum", None, ["log"]),
    "ReduceLogSumExp": log_sum_exp,
    "ReduceMax": _reduction("reduce_max"),
    "ReduceMean": _reduction("reduce_mean"),
    "ReduceMin": _reduction("reduce_min"),
    "ReduceProd": _reduction("reduce_prod"),
    "ReduceSum": _reduction("reduce_sum"),
    "ReduceSumSquare": _reduction("reduce_sum", "square"),
}
