"""ONNX reductions and normalizations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import Dim, Value
from .onnx_data import axes_of
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_math import axis_of, checked_axis

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


def batch_normalization(g: Builder, node: OnnxNode) -> Value:
    """BatchNormalization in inference: one factor and one summand per channel."""
    if node.integer("training_mode", 0) or any(node.wants(index) for index in range(1, 5)):
        raise Reject("training mode is not supported", "export the model in evaluation mode")
    if node.opset < 9 and node.integer("spatial", 1) != 1:
        raise Reject("attribute 'spatial' is 0")
    x = node.value(0)
    if len(x.shape) < 2:
        raise Reject(f"the input has shape {x.shape}, expected at least two dimensions")
    scale, offset, mean, variance = (
        node.array(index + 1, f"input '{name}'").astype(np.float64)
        for index, name in enumerate(("scale", "B", "mean", "var"))
    )
    if not scale.shape == offset.shape == mean.shape == variance.shape == (x.shape[1],):
        raise Reject(f"scale, B, mean and var do not fit {x.shape[1]} channels")
    factor = scale / np.sqrt(variance + node.real("epsilon", 1e-5))
    summand = offset - mean * factor
    y = g.add("mul", [x, g.const(_per_channel(factor, x), "factor")])
    return g.add("add", [y, g.const(_per_channel(summand, x), "summand")])


def _per_channel(vector: np.ndarray, x: Value) -> np.ndarray:
    """float32 [c, 1, ...], which broadcasts over the channels-first ``x``."""
    return vector.astype(np.float32).reshape(-1, *[1] * (len(x.shape) - 2))


def instance_normalization(g: Builder, node: OnnxNode) -> Value:
    """InstanceNormalization over the spatial dimensions."""
    x = node.value(0)
    if len(x.shape) < 3:
        raise Reject(f"the input has shape {x.shape}, expected spatial dimensions")
    normal, _, _ = normalized(g, x, range(2, len(x.shape)), node.real("epsilon", 1e-5))
    return _channel_affine(g, normal, node.value(1), node.value(2))


def _channel_affine(g: Builder, x: Value, scale: Value, offset: Value) -> Value:
    shape: list[Dim] = [x.shape[1], *[1] * (len(x.shape) - 2)]
    return g.add("add", [g.add("mul", [x, g.reshape(scale, shape)]), g.reshape(offset, shape)])


def normalized(g: Builder, x: Value, axes: Sequence[int], epsilon: float) -> tuple[Value, Value, Value]:
    """``x`` with mean 0 and variance 1 over some axes; the mean; the inverse deviation."""
    mean = reduced(g, "reduce_mean", x, axes)
    centred = g.add("sub", [x, mean])
    variance = reduced(g, "reduce_mean", g.add("square", [centred]), axes)
    inverse = g.add("rsqrt", [g.add("add", [variance, g.const(np.float32(epsilon), "epsilon")])])
    return g.add("mul", [centred, inverse]), mean, inverse


def layer_normalization(g: Builder, node: OnnxNode) -> list[Value]:
    """LayerNormalization over the axes from ``axis``."""
    x = node.value(0)
    axis = axis_of(node, "axis", -1, len(x.shape))
    y, mean, inverse = normalized(g, x, range(axis, len(x.shape)), node.real("epsilon", 1e-5))
    y = g.add("mul", [y, node.value(1)])
    if (bias := node.optional(2)) is not None:
        y = g.add("add", [y, bias])
    return [y, mean, inverse][: max(len(node.output_names), 1)]


def rms_normalization(g: Builder, node: OnnxNode) -> Value:
    """RMSNormalization over the axes from ``axis``."""
    x = node.value(0)
    axes = range(axis_of(node, "axis", -1, len(x.shape)), len(x.shape))
    power = reduced(g, "reduce_mean", g.add("square", [x]), axes)
    inverse = g.add("rsqrt", [g.add("add", [power, g.const(np.float32(node.real("epsilon", 1e-5)), "epsilon")])])
    return g.add("mul", [g.add("mul", [x, inverse]), node.value(1)])


def group_normalization(g: Builder, node: OnnxNode) -> Value:
    """GroupNormalization; scale and bias per group before opset 21, per channel since."""
    x, scale, offset = node.value(0), node.value(1), node.value(2)
    groups = node.integer("num_groups", 0)
    if not x.type.is_static or len(x.shape) < 3:
        raise Reject(f"the input has shape {x.shape}; it must be known and have spatial dimensions", FIX_SIZES)
    batch, channels, *spatial = x.type.static_shape
    if groups < 1 or channels % groups:
        raise Reject(f"attribute 'num_groups' is {groups}, the input has {channels} channels")
    grouped = g.reshape(x, (batch, groups, int(np.prod([channels // groups, *spatial]))))
    normal, _, _ = normalized(g, grouped, [2], node.real("epsilon", 1e-5))
    if node.opset < 21:
        return g.reshape(_channel_affine(g, normal, scale, offset), x.shape)
    return _channel_affine(g, g.reshape(normal, x.shape), scale, offset)


def mean_variance_normalization(g: Builder, node: OnnxNode) -> Value:
    """MeanVarianceNormalization."""
    x = node.value(0)
    axes = [checked_axis(axis, len(x.shape), "an axis") for axis in node.integers("axes") or [0, 2, 3]]
    mean = reduced(g, "reduce_mean", x, axes)
    centred = g.add("sub", [x, mean])
    deviation = g.add("sqrt", [reduced(g, "reduce_mean", g.add("square", [centred]), axes)])
    return g.add("div", [centred, g.add("add", [deviation, g.const(np.float32(1e-9), "epsilon")])])


def lp_normalization(g: Builder, node: OnnxNode) -> Value:
    """LpNormalization with p 1 or 2."""
    x = node.value(0)
    axis, p = axis_of(node, "axis", -1, len(x.shape)), node.integer("p", 2)
    if p not in (1, 2):
        raise Reject(f"attribute 'p' is {p}, expected 1 or 2")
    norm = reduced(g, "reduce_sum", g.add("abs" if p == 1 else "square", [x]), [axis])
    norm = norm if p == 1 else g.add("sqrt", [norm])
    return g.add("div", [x, g.add("max", [norm, g.const(np.float32(1e-38), "tiny")])])


def local_response_normalization(g: Builder, node: OnnxNode) -> Value:
    """LRN: the mean of squares over neighbouring channels is an average pool along the channels."""
    x = node.value(0)
    size = node.integer("size", 0)
    if not x.type.is_static or len(x.shape) < 3 or size < 1:
        raise Reject(f"attribute 'size' is {size} and the input has shape {x.shape}", FIX_SIZES)
    batch, channels, *spatial = x.type.static_shape
    plane = g.reshape(g.add("square", [x]), (batch, channels, int(np.prod(spatial)), 1))
    window = {"kernel_h": size, "kernel_w": 1, "stride_h": 1, "stride_w": 1, "count_include_pad": 1}
    pads = {"pad_top": (size - 1) // 2, "pad_bottom": size // 2}
    mean = g.reshape(g.add("avg_pool2d", [plane], {**window, **pads}), x.shape)
    alpha, beta, bias = node.real("alpha", 1e-4), node.real("beta", 0.75), node.real("bias", 1.0)
    base = g.add("add", [g.add("mul", [mean, g.const(np.float32(alpha))]), g.const(np.float32(bias))])
    return g.add("mul", [x, g.add("pow", [base, g.const(np.float32(-beta))])])


ROWS: dict[str, Row] = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LRN": local_response_normalization,
    "LayerNormalization": layer_normalization,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "RMSNormalization": rms_normalization,
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
