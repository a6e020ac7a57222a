"""ONNX reductions."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import Value
from .onnx_data import axes_of
from .onnx_graph import Builder, OnnxNode, Row
from .onnx_math import checked_axis

FIRST_WITH_AXES_INPUT = {"ReduceSum": 13}
"""Opset since which the axes are an input; 18 for the others."""


def _reduction(op: str, before: str | None = None, after: Sequence[str] = ()) -> Row:
    """A reduction with an elementwise op before it and others behind it."""

    def row(g: Builder, node: OnnxNode) -> Value:
        x = node.value(0)
        rank = len(x.shape)
        given = axes_of(node, FIRST_WITH_AXES_INPUT.get(node.op, 18))
        node.ignore("keepdims", "noop_with_empty_axes")
        if not given:
            axes = [] if node.integer("noop_with_empty_axes", 0) else list(range(rank))
        else:
            axes = sorted({checked_axis(axis, rank, "an axis") for axis in given})
        if before is not None:
            x = g.add(before, [x])
        y = reduced(g, op, x, axes, bool(node.integer("keepdims", 1))) if axes else x
        for name in after:
            y = g.add(name, [y])
        return y

    row.__doc__ = " of ".join([*reversed(after), op, *([before] if before else [])]) + " over some axes."
    return row


def reduced(g: Builder, op: str, x: Value, axes: Sequence[int], keep_dims: bool = True) -> Value:
    """A reduction of ``x`` over some axes."""
    return g.add(op, [x], {"axes": sum(1 << axis for axis in axes), "keep_dims": int(keep_dims)})


def log_sum_exp(g: Builder, node: OnnxNode) -> Value:
    """ReduceLogSumExp, with the maximum taken out first so that nothing overflows."""
    x = node.value(0)
    rank = len(x.shape)
    given = axes_of(node, 18)
    node.ignore("keepdims", "noop_with_empty_axes")
    if not given and node.integer("noop_with_empty_axes", 0):
        return x
    axes = sorted({checked_axis(axis, rank, "an axis") for axis in given}) if given else list(range(rank))
    top = reduced(g, "reduce_max", x, axes)
    total = reduced(g, "reduce_sum", g.add("exp", [g.add("sub", [x, top])]), axes)
    y = g.add("add", [g.add("log", [total]), top])
    if node.integer("keepdims", 1):
        return y
    return g.reshape(y, [dim for axis, dim in enumerate(x.shape) if axis not in axes])


ROWS: dict[str, Row] = {
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
