"""ONNX operators on integers: those with scales beside every tensor (QLinear...), and sums of products of bytes.

An operator whose scales are known is imported as what it means: its operands as real numbers, the operator on these,
and the result as integers. The pass ``integer_ops`` makes one integer op of the three. Scales that are computed at run
time enter as factors of the integer sums instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from ...dtypes import DType
from ...ir import Value
from ...numerics import FLOAT_EVEN
from . import onnx_conv
from .onnx_graph import Builder, Entry, OnnxNode, Reject, Row
from .onnx_quant import decoded, known_quant, parameters_of, quantized
from .onnx_window import known, original_rank, pads_of, per_axis, spatial_rank, two_dimensional, window_2d

BYTES = (DType.s8, DType.u8)


def real(g: Builder, x: Value, scale: Value, zero: Value | None, axis: int = -1) -> Value:
    """The real numbers that integers stand for; ``axis`` counts where there are several scales."""
    if scale.data is not None and scale.data.size == 1:
        axis = -1
    has_zero = zero is None or zero.data is not None
    if x.data is not None and scale.data is not None and has_zero:
        return decoded(g, x.data, parameters_of(scale.data, None if zero is None else zero.data, axis))
    quant = known_quant(scale, zero)
    if quant is None:
        inputs = [x, g.cast(scale, DType.f32), None if zero is None else g.cast(zero, DType.s32)]
        return g.add("dequantize", inputs, {"axis": axis})
    return g.add("dequantize", [quantized(g, x, quant)])


def stored(g: Builder, y: Value, scale: Value, zero: Value | None, dtype: DType) -> Value:
    """Real numbers as integers of a type."""
    attrs = {"to": dtype.value, "rounding": FLOAT_EVEN}
    quant = known_quant(scale, zero)
    if quant is not None:
        return g.add("quantize", [y], attrs, quant=quant)
    return g.add("quantize", [y, g.cast(scale, DType.f32), None if zero is None else g.cast(zero, DType.s32)], attrs)


def as_operator(node: OnnxNode, op: str, entries: Sequence[Entry], leave_out: Sequence[str] = ()) -> OnnxNode:
    """The node as another operator, with its attributes but some."""
    proto = onnx.NodeProto(op_type=op, name=node.name, output=node.output_names[:1])
    proto.attribute.extend(item for item in node.proto.attribute if item.name not in leave_out)
    node.attribute_names()
    return OnnxNode(proto, entries, node.opset, node.name)


def only(result: Value | Sequence[Value]) -> Value:
    """The one output of a row."""
    return result if isinstance(result, Value) else result[0]


# QLinearConv, QLinearMatMul


def qlinear_conv(g: Builder, node: OnnxNode) -> Value:
    """QLinearConv; its bias counts in units of the product of the scales of input and weights."""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.value(index) for index in range(8))
    bias = node.optional(8)
    if any(value.data is None for value in (x_scale, x_zero, w_scale, w_zero, y_scale, y_zero)):
        sums = _conv_sums(g, node, x, w, x_zero, w_zero)
        if bias is not None:
            sums = g.add("add", [sums, g.reshape(bias, (1, -1, *(1 for _ in sums.shape[2:])))])
        return _rescaled(g, sums, (x_scale, w_scale, y_scale), y_zero, channel_axis=1)
    x_real, w_real = real(g, x, x_scale, x_zero), real(g, w, w_scale, w_zero, axis=0)
    entries: list[Entry] = [x_real, w_real]
    if bias is not None:
        assert x_scale.data is not None and w_scale.data is not None
        bias_scale = g.const((x_scale.data.reshape(-1) * w_scale.data.reshape(-1)).astype("float32"), "bias_scale")
        entries.append(real(g, bias, bias_scale, None, axis=0))
    y = only(onnx_conv.conv(g, as_operator(node, "Conv", entries)))
    return stored(g, y, y_scale, y_zero, y_zero.dtype)


def qlinear_matmul(g: Builder, node: OnnxNode) -> Value:
    """QLinearMatMul; the second operand may have a scale per column."""
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.value(index) for index in range(8))
    if any(value.data is None for value in (a_scale, a_zero, b_scale, b_zero, y_scale, y_zero)):
        sums = g.add("matmul_integer", [a, b, g.cast(_flat(g, a_zero), DType.s32), g.cast(_flat(g, b_zero), DType.s32)])
        return _rescaled(g, sums, (a_scale, b_scale, y_scale), y_zero, channel_axis=len(sums.shape) - 1)
    operands = [real(g, a, a_scale, a_zero), real(g, b, b_scale, b_zero, axis=len(b.shape) - 1)]
    y = only(onnx_conv.matmul(g, as_operator(node, "MatMul", operands)))
    return stored(g, y, y_scale, y_zero, y_zero.dtype)


def _rescaled(
    g: Builder, sums: Value, scales: tuple[Value, Value, Value], y_zero: Value, *, channel_axis: int
) -> Value:
    """Integer sums times scale * scale / scale, rounded; the second scale may be one per channel."""
    left, right, below = (g.cast(scale, DType.f32) for scale in scales)
    if right.shape not in ((), (1,)):
        shape = [1] * len(sums.shape)
        shape[channel_axis] = -1
        right = g.reshape(right, shape)
    factor = g.add("div", [g.add("mul", [left, right]), below])
    scaled = g.add("mul", [g.cast(sums, DType.f32), factor])
    attrs = {"to": y_zero.dtype.value, "rounding": FLOAT_EVEN, "scale": 1.0}
    return g.add("quantize", [scaled, None, g.cast(y_zero, DType.s32)], attrs)


# Sums of products


def conv_integer(g: Builder, node: OnnxNode) -> Value:
    """ConvInteger."""
    return _conv_sums(g, node, node.value(0), node.value(1), node.optional(2), node.optional(3))


def matmul_integer(g: Builder, node: OnnxNode) -> Value:
    """MatMulInteger."""
    a, b = node.value(0), node.value(1)
    zeros = [
        None if zero is None else g.cast(_flat(g, zero), DType.s32) for zero in (node.optional(2), node.optional(3))
    ]
    return product(g, a, b, zeros)


def product(g: Builder, a: Value, b: Value, zeros: Sequence[Value | None]) -> Value:
    """The integer sums of a product by NumPy's rules, with zero points of s32."""
    for operand in (a, b):
        if operand.dtype not in BYTES:
            raise Reject(f"an operand is {operand.dtype.name}, not int8 or uint8")
    left = g.reshape(a, (1, a.shape[0])) if len(a.shape) == 1 else a
    right = g.reshape(b, (b.shape[0], 1)) if len(b.shape) == 1 else b
    y = g.add("matmul_integer", [left, right, *zeros])
    shape = [dim for i, dim in enumerate(y.shape) if not _is_added(i - len(y.shape), a, b)]
    return g.reshape(y, shape)


def _is_added(axis: int, a: Value, b: Value) -> bool:
    return (axis == -2 and len(a.shape) == 1) or (axis == -1 and len(b.shape) == 1)


def _flat(g: Builder, zero: Value) -> Value:
    """A zero point, or one for each row or column, as at most one dimension."""
    return zero if len(zero.shape) <= 1 else g.reshape(zero, (-1,))


def _conv_sums(g: Builder, node: OnnxNode, x: Value, w: Value, x_zero: Value | None, w_zero: Value | None) -> Value:
    """The integer sums of a convolution."""
    if x.dtype not in BYTES or w.dtype not in BYTES:
        raise Reject(f"input and weights are {x.dtype.name} and {w.dtype.name}, not int8 or uint8")
    zeros = [None if zero is None else g.cast(zero, DType.s32) for zero in (x_zero, w_zero)]
    spatial = spatial_rank(x)
    if spatial > 2 or len(w.shape) != len(x.shape):
        raise Reject(f"input has shape {x.shape}, weights {w.shape}; one or two spatial dimensions are supported")
    kernel = [known(dim, "the kernel") for dim in w.shape[2:]]
    node.ignore("kernel_shape")
    strides, dilations = per_axis(node, "strides", spatial), per_axis(node, "dilations", spatial)
    window = window_2d(strides, pads_of(node, x, kernel, strides, dilations), dilations)
    inputs = [g.to_nhwc(two_dimensional(g, x)), g.transpose(two_dimensional(g, w), (0, 2, 3, 1)), *zeros]
    y = g.add("conv2d_integer", inputs, {**window, "groups": node.integer("group", 1)})
    return original_rank(g, g.to_nchw(y), spatial)


ROWS: dict[str, Row] = {
    "ConvInteger": conv_integer,
    "MatMulInteger": matmul_integer,
    "QLinearConv": qlinear_conv,
    "QLinearMatMul": qlinear_matmul,
}
