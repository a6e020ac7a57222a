"""TFLite's convolutions, fully connected layers and pools.

Weights are already in the graph's layouts (OHWI, 1HWO, [units, depth]). SAME and VALID become explicit padding and
fused activations a clamp in real units. float32 inputs with int8 weights are TFLite's hybrid kernels, which quantize
the input at run time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Quant, Value

from .tflite_graph import Reject, Row, TfliteNode, fused_clamp, is_shifted, require

_SAME, _VALID = 0, 1


def window_padding(
    node: TfliteNode, size: int, kernel: int, stride: int, dilation: int, padding: int, axis: str
) -> tuple[int, int]:
    """(before, after) along one spatial dimension; with an odd sum the larger share comes after."""
    require(kernel >= 1 and stride >= 1 and dilation >= 1, f"kernel {kernel}, stride {stride}, dilation {dilation}")
    span = (kernel - 1) * dilation + 1
    if padding == _VALID:
        require(size >= span, f"a window of {span} does not fit the input's {axis} {size}")
        return 0, 0
    require(padding == _SAME, f"padding {padding} is neither SAME nor VALID", attribute="padding")
    positions = -(-size // stride)
    total = max((positions - 1) * stride + span - size, 0)
    return total // 2, total - total // 2


def window_attrs(
    node: TfliteNode, options: Any, sizes: tuple[int, ...], kernel: tuple[int, ...], dilation: tuple[int, int]
) -> dict[str, Any]:
    """Stride, padding and dilation attributes of an op over NHWC ``sizes``."""
    stride_h, stride_w = options.StrideH(), options.StrideW()
    top, bottom = window_padding(node, sizes[1], kernel[0], stride_h, dilation[0], options.Padding(), "height")
    left, right = window_padding(node, sizes[2], kernel[1], stride_w, dilation[1], options.Padding(), "width")
    return {
        "stride_h": stride_h,
        "stride_w": stride_w,
        "pad_top": top,
        "pad_left": left,
        "pad_bottom": bottom,
        "pad_right": right,
        "dilation_h": dilation[0],
        "dilation_w": dilation[1],
    }


def _nhwc(node: TfliteNode, index: int = 0) -> tuple[int, ...]:
    sizes = node.shape(index)
    require(len(sizes) == 4, f"input {index} has rank {len(sizes)}, not 4")
    return sizes


def check_weights(node: TfliteNode, x: Value, weights: Value) -> bool:
    """Whether the operator is hybrid (float input, integer weights). Reject for types that do not go together."""
    if x.dtype is DType.f32 and weights.dtype is DType.f32:
        return False
    require(weights.dtype is DType.s8, f"{x.dtype.name} input with {weights.dtype.name} weights")
    require(weights.quant is not None, "int8 weights have no scale")
    if x.dtype is DType.f32:
        return True
    known = x.dtype in (DType.s8, DType.s16)
    require(known, f"{x.dtype.name} input with {weights.dtype.name} weights is not supported")
    require(x.quant is not None and x.quant.is_per_tensor, "the input has no scale")
    quant = node.output_quant()
    require(quant is not None and quant.is_per_tensor, "the output has no scale")
    return False


def dynamic(
    node: TfliteNode, op: str, x: Value, weights: Value, bias: Value | None, attrs: Mapping[str, Any], channels: int
) -> Value:
    """A hybrid op: the scales of the weights become an input."""
    assert weights.quant is not None
    require(weights.is_constant, "int8 weights of a float operator are computed at run time")
    require(not np.any(weights.quant.zero_point), "int8 weights of a float operator have a zero point")
    scales = np.broadcast_to(weights.quant.scale, (channels,))
    return node.add(op, [x, weights, bias, node.const(scales, suffix="weight_scales")], attrs)


def conv_2d(node: TfliteNode) -> Value:
    options = node.options("Conv2DOptions", required=True)
    x, weights, bias = node.value(0), node.value(1), node.optional(2)
    sizes, filters = _nhwc(node), _nhwc(node, 1)
    require(filters[3] > 0 and sizes[3] % filters[3] == 0, f"{sizes[3]} input channels, filters of {filters[3]}")
    dilation = (options.DilationHFactor(), options.DilationWFactor())
    attrs = {
        **window_attrs(node, options, sizes, filters[1:3], dilation),
        **fused_clamp(options.FusedActivationFunction()),
        "groups": sizes[3] // filters[3],
    }
    if not check_weights(node, x, weights):
        return node.add("conv2d", [x, _with_zero_point(node, weights), bias], attrs, quant=node.output_quant())
    # LiteRT quantizes the input symmetrically for weights with one scale, else with a zero point.
    attrs["asymmetric"] = int(is_per_channel(weights) or attrs["groups"] > 1)
    return dynamic(node, "conv2d_dynamic", x, weights, bias, attrs, filters[0])


def is_per_channel(weights: Value) -> bool:
    """Whether weights have more than one scale."""
    return weights.quant is not None and weights.quant.axis is not None


def depthwise_conv_2d(node: TfliteNode) -> Value:
    options = node.options("DepthwiseConv2DOptions", required=True)
    x, weights, bias = node.value(0), node.value(1), node.optional(2)
    sizes, filters = _nhwc(node), _nhwc(node, 1)
    require(filters[0] == 1, f"depthwise filters have shape {list(filters)}")
    require(sizes[3] > 0 and filters[3] % sizes[3] == 0, f"{sizes[3]} input channels, {filters[3]} output channels")
    dilation = (options.DilationHFactor(), options.DilationWFactor())
    attrs = {
        **window_attrs(node, options, sizes, filters[1:3], dilation),
        **fused_clamp(options.FusedActivationFunction()),
        "groups": sizes[3],
    }
    if not check_weights(node, x, weights):
        operands = [x, _with_zero_point(node, weights), bias]
        return node.add("depthwise_conv2d", operands, attrs, quant=node.output_quant())
    # The same sums as a convolution with as many groups as channels, whose filters are O, H, W, 1.
    data = np.ascontiguousarray(node.array(1, "weights").transpose(3, 1, 2, 0))
    assert weights.quant is not None
    axis = None if weights.quant.axis is None else 0
    grouped = node.const(data, Quant(weights.quant.scale, weights.quant.zero_point, axis), suffix="weights")
    attrs["asymmetric"] = 1
    return dynamic(node, "conv2d_dynamic", x, grouped, bias, attrs, filters[3])


def _with_zero_point(node: TfliteNode, weights: Value) -> Value:
    """Weights of a uint8 model with a zero point other than 0, by which their arithmetic is told from that of int8.

    The numbers move by one where that keeps them in range: they never fill it when they were trained in narrow range.
    """
    quant, data = weights.quant, weights.data
    if not is_shifted(node.input_tensor(1)) or quant is None or data is None or np.any(quant.zero_point):
        return weights
    step = 1 if data.max(initial=0) < 127 else -1
    if step == -1 and data.min(initial=0) == -128:
        return weights
    return node.const(data + np.int8(step), Quant(quant.scale, quant.zero_point + step, quant.axis), suffix="weights")


def fully_connected(node: TfliteNode) -> Value:
    options = node.options("FullyConnectedOptions")
    require(options.WeightsFormat() == 0, "shuffled weights are not supported", attribute="weights_format")
    x, weights, bias = node.value(0), node.value(1), node.optional(2)
    filters = node.shape(1)
    require(len(filters) == 2, f"weights have rank {len(filters)}, not 2")
    units, depth = filters
    count = x.type.count
    require(depth > 0 and count % depth == 0, f"{count} input elements do not divide by depth {depth}")
    keep = options.KeepNumDims() and x.shape and x.shape[-1] == depth
    rows = x if keep else node.reshape(x, (count // depth, depth))
    attrs: dict[str, Any] = fused_clamp(options.FusedActivationFunction())
    hybrid = check_weights(node, x, weights)
    if hybrid:
        attrs = {**attrs, "asymmetric": int(bool(options.AsymmetricQuantizeInputs()))}
        return dynamic(node, "dense_dynamic", rows, weights, bias, attrs, units)
    if not weights.is_constant and weights.dtype is DType.f32:
        return node.add("matmul", [rows, weights, bias], {"transpose_b": 1, **attrs})
    return node.add("dense", [rows, weights, bias], attrs, quant=node.output_quant())


def _pool(node: TfliteNode, op: str) -> Value:
    options = node.options("Pool2DOptions", required=True)
    x = node.value(0)
    require(x.dtype in (DType.f32, DType.s8, DType.s16), f"{x.dtype.name} is not supported")
    kernel = (options.FilterHeight(), options.FilterWidth())
    attrs = {
        **window_attrs(node, options, _nhwc(node), kernel, (1, 1)),
        **fused_clamp(options.FusedActivationFunction()),
        "kernel_h": kernel[0],
        "kernel_w": kernel[1],
    }
    if op == "avg_pool2d" and is_shifted(node.input_tensor(0)):
        attrs["halves_up"] = 1
    if x.dtype is not DType.f32 and not _near(x.quant, node.output_quant()):
        raise Reject("input and output have different scales")
    return node.add(op, [x], attrs, quant=node.output_quant())


def _near(x: Quant | None, y: Quant | None) -> bool:
    """Whether two tensors have the same numbers for the same integers, as near as LiteRT wants it of pools."""
    if x is None or y is None or not (x.is_per_tensor and y.is_per_tensor):
        return x == y
    return abs(float(x.scale[0]) - float(y.scale[0])) <= 1e-6 and bool(x.zero_point[0] == y.zero_point[0])


def average_pool_2d(node: TfliteNode) -> Value:
    return _pool(node, "avg_pool2d")


def max_pool_2d(node: TfliteNode) -> Value:
    return _pool(node, "max_pool2d")


ROWS: Mapping[str, Row] = {
    "AVERAGE_POOL_2D": average_pool_2d,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "MAX_POOL_2D": max_pool_2d,
}
