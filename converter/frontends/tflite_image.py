"""TFLite's operators over images and volumes: resizing, transposed and three-dimensional convolutions."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Quant, Value
from microlith.numerics import TFLITE_UP_BY_8

from .tflite_conv import check_weights, dynamic, window_attrs, window_padding
from .tflite_data import spread
from .tflite_graph import Row, TfliteNode, fused_clamp, is_shifted, require

LINEAR, NEAREST = 1, 0
HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, HALF_PIXEL_FOR_NN = 0, 3, 4, 5
PREFER_CEIL, FLOOR = 1, 2
EVEN, FIXED, UNSIGNED = 0, 1, 2
"""Attributes of resize, see image.h."""


def _size(node: TfliteNode) -> tuple[int, int, int, int]:
    """The size attribute: the new height and width."""
    size, shape = node.ints(1, "the size"), node.shape(0)
    require(len(shape) == 4 and len(size) == 2 and min(size) >= 1, f"size {size} for shape {list(shape)}")
    return (-1, size[0], size[1], -1)


def resize_bilinear(node: TfliteNode) -> Value:
    """In LiteRT's arithmetic: float32; integers in fixed point with 10 fractional bits; uint8 in float32, truncated."""
    options = node.options("ResizeBilinearOptions")
    x, size = node.value(0), _size(node)
    corners, centers = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    require(not (corners and centers), "align_corners with half_pixel_centers", attribute="align_corners")
    require(x.dtype in (DType.f32, DType.s8, DType.s16), f"{x.dtype.name} is not supported")
    arithmetic = EVEN if x.dtype is DType.f32 else FIXED
    if is_shifted(node.input_tensor(0)):
        # As LiteRT's reference kernel; enlarging 8 times its other kernels have code of their own, which rounds apart.
        arithmetic = UNSIGNED
    attrs = {
        "mode": LINEAR,
        "transform": ALIGN_CORNERS if corners else HALF_PIXEL if centers else ASYMMETRIC,
        "arithmetic": arithmetic,
    }
    return _resized(node, x, size, attrs)


def resize_nearest(node: TfliteNode) -> Value:
    """Corners are rounded, anything else is rounded down."""
    options = node.options("ResizeNearestNeighborOptions")
    corners, centers = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    require(not (corners and centers), "align_corners with half_pixel_centers", attribute="align_corners")
    attrs = {
        "mode": NEAREST,
        "transform": ALIGN_CORNERS if corners else HALF_PIXEL_FOR_NN if centers else ASYMMETRIC,
        "nearest_mode": PREFER_CEIL if corners else FLOOR,
    }
    return _resized(node, node.value(0), _size(node), attrs)


def _resized(node: TfliteNode, x: Value, size: tuple[int, ...], attrs: Mapping[str, Any]) -> Value:
    full = {"stepwise": 1, "size": size, "scale": (1.0,) * 4, **attrs}
    return node.add("resize", [x], full, quant=node.output_quant())


def l2_pool_2d(node: TfliteNode) -> Value:
    """The root of the mean of squares under each window."""
    options = node.options("Pool2DOptions", required=True)
    x, shape = node.value(0), node.shape(0)
    require(len(shape) == 4 and x.dtype is DType.f32, f"{x.dtype.name} of shape {list(shape)}")
    kernel = (options.FilterHeight(), options.FilterWidth())
    attrs = {**window_attrs(node, options, shape, kernel, (1, 1)), "kernel_h": kernel[0], "kernel_w": kernel[1]}
    root = node.add("sqrt", [node.add("avg_pool2d", [node.add("mul", [x, x])], attrs)])
    limits = fused_clamp(options.FusedActivationFunction())
    if limits == fused_clamp(0):
        return root
    return node.add("clip", [root], {"alpha": limits["clamp_min"], "beta": limits["clamp_max"]})


def transpose_conv(node: TfliteNode) -> Value:
    """A transposed convolution; its output shape is an input."""
    options = node.options("TransposeConvOptions", required=True)
    weights, x, bias, filters = node.value(1), node.value(2), node.optional(3), node.shape(1)
    sizes = _output_shape(node)
    require(len(sizes) == len(node.shape(2)) == len(filters) == 4, "not two-dimensional")
    require(sizes[3] == filters[0], f"filters {list(filters)} do not make {sizes[3]} channels")
    is_hybrid = check_weights(node, x, weights)
    strides = (1, options.StrideH(), options.StrideW())
    attrs = _transposed_window(
        node, [1, *sizes[1:3]], [1, *node.shape(2)[1:3]], [1, *filters[1:3]], strides, options.Padding()
    )
    attrs |= fused_clamp(options.FusedActivationFunction())
    if is_hybrid:
        return _hybrid_transposed(node, x, bias, attrs)
    if x.dtype is not DType.f32:
        # LiteRT finishes with the code of its depthwise convolution.
        attrs["rounding"] = TFLITE_UP_BY_8
    turned = _turned(node, 1, (1, 2, 3, 0))
    return node.add("conv_transpose", [x, turned, bias], attrs, quant=node.output_quant())


def _hybrid_transposed(node: TfliteNode, x: Value, bias: Value | None, attrs: dict[str, Any]) -> Value:
    """With int8 weights: a convolution by the turned filters over ``x`` with zeros between its elements, which do not
    change how that is quantized at run time."""
    weights, filters = node.value(1), node.shape(1)
    strides, before, after = attrs.pop("stride"), attrs.pop("pad_before"), attrs.pop("pad_after")
    x = spread(node, x, (1, strides[1], strides[2], 1), node.const(np.zeros(1, np.float32), suffix="zero"))
    pads = [(filters[axis] - 1 - before[axis], filters[axis] - 1 - after[axis]) for axis in (1, 2)]
    x = _cropped(node, x, [min(pad, 0) for pair in pads for pad in pair])
    (top, bottom), (left, right) = ((max(first, 0), max(last, 0)) for first, last in pads)
    attrs |= {"pad_top": top, "pad_left": left, "pad_bottom": bottom, "pad_right": right}
    data = np.ascontiguousarray(node.array(1, "weights")[:, ::-1, ::-1])
    turned = node.const(data, weights.quant, suffix="weights")
    return dynamic(node, "conv2d_dynamic", x, turned, bias, {**attrs, "asymmetric": 1}, filters[0])


def _cropped(node: TfliteNode, x: Value, pads: Sequence[int]) -> Value:
    """``x`` without the rows and columns that negative padding takes away: top, bottom, left, right."""
    n, h, w, c = x.type.static_shape
    top, bottom, left, right = pads
    if not any(pads):
        return x
    size = (n, h + top + bottom, w + left + right, c)
    return node.add("slice", [x], {"start": (0, -top, -left, 0), "size": size, "step": (1, 1, 1, 1)})


def _output_shape(node: TfliteNode) -> list[int]:
    """The output's shape: a constant input. Where it is an input of the model, what the file states of the output, as
    TFLite Micro takes it."""
    tensor = node.output_tensor()
    is_stated = len(tensor.shape) == 4 and min(tensor.shape) > 0 and -1 not in tensor.signature
    if is_stated and node.has(0) and node.value(0) in node.builder.graph.inputs:
        return list(tensor.shape)
    return node.ints(0, "the output shape")


def _turned(node: TfliteNode, index: int, perm: Sequence[int]) -> Value:
    """Constant weights with their axes in another order."""
    weights = node.value(index)
    data = np.ascontiguousarray(node.array(index, "weights").transpose(perm))
    quant = weights.quant
    if quant is not None and quant.axis is not None:
        quant = Quant(quant.scale, quant.zero_point, list(perm).index(quant.axis))
    return node.const(data, quant, suffix="weights")


def _transposed_window(
    node: TfliteNode,
    sizes: Sequence[int],
    dims: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: int,
) -> dict[str, Any]:
    """Window attributes of a transposed convolution from ``dims`` to ``sizes``: depth, height, width."""
    before, after = [], []
    for size, dim, k, stride in zip(sizes, dims, kernel, strides, strict=True):
        first, _ = window_padding(node, size, k, stride, 1, padding, "output")
        before.append(first)
        after.append((dim - 1) * stride + k - first - size)
    return {"stride": tuple(strides), "pad_before": tuple(before), "pad_after": tuple(after)}


def conv_3d(node: TfliteNode) -> Value:
    """Conv3D."""
    options = node.options("Conv3DOptions", required=True)
    x, weights, bias = node.value(0), node.value(1), node.optional(2)
    shape, filters = node.shape(0), node.shape(1)
    require(len(shape) == len(filters) == 5, "not three-dimensional")
    require(filters[3] > 0 and shape[4] % filters[3] == 0, f"{shape[4]} input channels, filters of {filters[3]}")
    strides, dilations = _steps(options)
    pads = [
        window_padding(node, size, k, stride, dilation, options.Padding(), "size")
        for size, k, stride, dilation in zip(shape[1:4], filters[:3], strides, dilations, strict=True)
    ]
    attrs = {
        "stride": strides,
        "dilation": dilations,
        "pad_before": tuple(before for before, _ in pads),
        "pad_after": tuple(after for _, after in pads),
        "groups": shape[4] // filters[3],
        **fused_clamp(options.FusedActivationFunction()),
    }
    return node.add("conv3d", [x, weights, bias], attrs)


def _steps(options: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    strides = (options.StrideD(), options.StrideH(), options.StrideW())
    return strides, (options.DilationDFactor(), options.DilationHFactor(), options.DilationWFactor())


def conv_3d_transpose(node: TfliteNode) -> Value:
    """Conv3DTranspose; its output shape is an input."""
    options = node.options("Conv3DOptions", required=True)
    sizes, x, bias = node.ints(0, "the output shape"), node.value(2), node.optional(3)
    filters = node.shape(1)
    require(len(sizes) == len(node.shape(2)) == len(filters) == 5, "not three-dimensional")
    strides, dilations = _steps(options)
    require(dilations == (1, 1, 1), "dilation is not supported")
    attrs = _transposed_window(node, sizes[1:4], node.shape(2)[1:4], filters[:3], strides, options.Padding())
    attrs |= fused_clamp(options.FusedActivationFunction())
    return node.add("conv_transpose", [x, _turned(node, 1, (0, 1, 2, 4, 3)), bias], attrs)


def transpose_conv_with_bias(node: TfliteNode) -> Value:
    """MediaPipe's custom operator. Its options are three integers: padding (1 SAME, 2 VALID), step across and down."""
    options = node.operator.custom_options
    require(len(options) >= 12, f"{len(options)} bytes of options, expected 12")
    padding, across, down = struct.unpack_from("<3i", options)
    require(padding in (1, 2) and min(across, down) >= 1, f"options {padding}, {across}, {down}")
    x, bias, shape, filters = node.value(0), node.value(2), node.shape(0), node.shape(1)
    require(len(shape) == len(filters) == 4, "not two-dimensional")
    require(not check_weights(node, x, node.value(1)), "float32 with int8 weights is not supported")
    strides = (1, down, across)
    sizes = [
        size * step if padding == 1 else size * step + max(k - step, 0)
        for size, step, k in zip(shape[1:3], strides[1:], filters[1:3], strict=True)
    ]
    attrs = _transposed_window(node, [1, *sizes], [1, *shape[1:3]], [1, *filters[1:3]], strides, padding - 1)
    return node.add("conv_transpose", [x, _turned(node, 1, (1, 2, 3, 0)), bias], attrs, quant=node.output_quant())


CUSTOM_ROWS: Mapping[str, Row] = {"Convolution2DTransposeBias": transpose_conv_with_bias}

ROWS: Mapping[str, Row] = {
    "CONV_3D": conv_3d,
    "CONV_3D_TRANSPOSE": conv_3d_transpose,
    "L2_POOL_2D": l2_pool_2d,
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest,
    "TRANSPOSE_CONV": transpose_conv,
}
