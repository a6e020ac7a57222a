"""Two-dimensional convolutions; arithmetic and layouts in ``nnacl_kernels/conv/conv.h``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import HALF_SUM, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .quant_rules import materialize_depthwise, materialize_weighted
from .shape_rules import require, require_dtype, require_equal, require_rank, static_shape, window_dim

Attrs = Mapping[str, Any]

_CHUNK_ELEMENTS = 1 << 23
"""Most elements of the unfolded input that are held at a time."""

WINDOW_ATTRS: dict[str, Any] = {
    "stride_h": 1,
    "stride_w": 1,
    "pad_top": 0,
    "pad_left": 0,
    "pad_bottom": 0,
    "pad_right": 0,
    "dilation_h": 1,
    "dilation_w": 1,
}
CLAMP_ATTRS: dict[str, Any] = {"clamp_min": -math.inf, "clamp_max": math.inf}
INTEGER_ATTRS: dict[str, Any] = {"x_zero": 0, "w_zero": 0, "y_zero": 0, "q_min": -128, "q_max": 127, "rounding": 0}
CONV_ATTRS: dict[str, Any] = {**WINDOW_ATTRS, "groups": 1, **CLAMP_ATTRS, **INTEGER_ATTRS}


def infer_weighted(node: Node, shape: tuple[Dim, ...], channels: int) -> list[TensorType]:
    """Checks dtypes, bias and requant of an op with weights; the output has x's dtype."""
    dtype = require_dtype(node, node.input(0), DType.f32, DType.f16, DType.s8, DType.s16)
    require_dtype(node, node.input(1), dtype if dtype.is_float else DType.s8)
    bias = node.optional_input(2)
    if bias is not None:
        integers = (DType.s32,) if dtype is DType.s8 else (DType.s32, DType.s64)
        require_dtype(node, bias, *((DType.f32,) if dtype.is_float else integers))
        require(node, bias.shape == (channels,), f"bias '{bias.name}' is {bias.type}; [{channels}] is needed")
    requant, w_zeros = node.optional_input(3), node.optional_input(4)
    require(node, not dtype.is_float or (requant is w_zeros is None), "requant and w_zeros are for integers only")
    if requant is not None:
        expected = (channels,) if requant.dtype is DType.f32 else (2, channels)
        require(node, requant.shape == expected, f"requant is {requant.type}; {list(expected)} is needed")
    if w_zeros is not None:
        require_dtype(node, w_zeros, DType.s32)
        require(node, w_zeros.shape == (channels,), f"w_zeros is {w_zeros.type}; [{channels}] is needed")
    return [TensorType(dtype, shape)]


def conv_output_shape(node: Node, depthwise: bool) -> tuple[tuple[Dim, ...], int]:
    """The shape of y and its number of channels."""
    attrs = node.attrs
    batch, in_h, in_w, in_c = require_rank(node, node.input(0), 4)
    require_rank(node, node.input(1), 4)
    weights = static_shape(node, node.input(1))
    kernel_h, kernel_w = weights[1], weights[2]
    if depthwise:
        channels = weights[3]
        require(node, weights[0] == 1, f"depthwise weights are 1HWO, not {list(weights)}")
        require(node, isinstance(in_c, int), "the number of input channels must be known")
        require(node, channels % int(in_c) == 0, f"{channels} output channels do not divide by {in_c} input channels")
    else:
        channels, groups = weights[0], attrs["groups"]
        require(node, groups >= 1 and channels % groups == 0, f"{channels} output channels and {groups} groups")
        require_equal(node, weights[3] * groups, in_c, "input channels by the weights")
    out_h = window_dim(
        node, in_h, kernel_h, attrs["stride_h"], attrs["pad_top"], attrs["pad_bottom"], attrs["dilation_h"]
    )
    out_w = window_dim(
        node, in_w, kernel_w, attrs["stride_w"], attrs["pad_left"], attrs["pad_right"], attrs["dilation_w"]
    )
    return (batch, out_h, out_w, channels), channels


def _infer_conv2d(node: Node) -> list[TensorType]:
    return infer_weighted(node, *conv_output_shape(node, depthwise=False))


def _infer_depthwise(node: Node) -> list[TensorType]:
    return infer_weighted(node, *conv_output_shape(node, depthwise=True))


def pad_plane(x: np.ndarray, attrs: Attrs, value: float = 0) -> np.ndarray:
    """x [n, h, w, c] with its explicit padding filled with ``value``."""
    rows = (attrs["pad_top"], attrs["pad_bottom"])
    columns = (attrs["pad_left"], attrs["pad_right"])
    if rows == (0, 0) and columns == (0, 0):
        return x
    return np.pad(x, ((0, 0), rows, columns, (0, 0)), constant_values=value)


def convolve(x: np.ndarray, weights: np.ndarray, attrs: Attrs) -> np.ndarray:
    """The sums of products [n, out_h, out_w, o] of float arrays x [n, h, w, i * groups], weights [o, kh, kw, i]."""
    out_c, kernel_h, kernel_w, group_c = weights.shape
    groups = x.shape[3] // group_c
    padded = pad_plane(x, attrs)
    windows = windows_of(padded, kernel_h, kernel_w, attrs)  # n, oh, ow, c, kh, kw
    batch, out_h, out_w = windows.shape[:3]
    result = np.empty((batch, out_h, out_w, out_c), x.dtype)
    depth = kernel_h * kernel_w * group_c
    matrices = weights.reshape(groups, out_c // groups, depth).transpose(0, 2, 1)
    rows = max(1, _CHUNK_ELEMENTS // max(1, out_w * depth * groups))
    for n in range(batch):
        for top in range(0, out_h, rows):
            block = windows[n, top : top + rows]
            unfolded = block.reshape(*block.shape[:2], groups, group_c, kernel_h, kernel_w).transpose(2, 0, 1, 4, 5, 3)
            product = np.matmul(unfolded.reshape(groups, -1, depth), matrices)
            result[n, top : top + rows] = product.transpose(1, 0, 2).reshape(block.shape[0], out_w, out_c)
    return result


def convolve_depthwise(x: np.ndarray, weights: np.ndarray, attrs: Attrs) -> np.ndarray:
    """The sums of products [n, out_h, out_w, c * m] of float arrays x [n, h, w, c], weights [1, kh, kw, c * m]."""
    _, kernel_h, kernel_w, out_c = weights.shape
    in_c = x.shape[3]
    windows = windows_of(pad_plane(x, attrs), kernel_h, kernel_w, attrs)
    taps = weights.reshape(kernel_h, kernel_w, in_c, out_c // in_c)
    result = np.zeros((*windows.shape[:3], in_c, out_c // in_c), x.dtype)
    for i in range(kernel_h):
        for j in range(kernel_w):
            result += windows[..., i, j, None] * taps[i, j]
    return result.reshape(*windows.shape[:3], out_c)


def windows_of(padded: np.ndarray, kernel_h: int, kernel_w: int, attrs: Attrs) -> np.ndarray:
    """A view [n, out_h, out_w, c, kernel_h, kernel_w]."""
    dilation_h, dilation_w = attrs["dilation_h"], attrs["dilation_w"]
    span = ((kernel_h - 1) * dilation_h + 1, (kernel_w - 1) * dilation_w + 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, span, axis=(1, 2))
    return windows[:, :: attrs["stride_h"], :: attrs["stride_w"], :, ::dilation_h, ::dilation_w]


def finish_float(acc: np.ndarray, bias: np.ndarray | None, attrs: Attrs, dtype: np.dtype) -> np.ndarray:
    """Bias and fused activation of a float op, in the precision of its input, or of its sums if that is greater."""
    y = acc if bias is None else acc + bias
    return np.clip(y, np.float32(attrs["clamp_min"]), np.float32(attrs["clamp_max"])).astype(dtype)


def finish_integer(
    acc: np.ndarray, bias: np.ndarray | None, requant: np.ndarray, attrs: Attrs, dtype: np.dtype
) -> np.ndarray:
    """Bias, requantization and clamp of exact accumulators held in float64."""
    total = acc.astype(np.int64)
    if bias is not None:
        total = total + np.clip(bias.astype(np.int64), -(1 << 60), 1 << 60)
    if dtype == np.int16 and (bias is None or bias.dtype == np.int64):
        scaled = numerics.requantize_wide_channels(total, requant, attrs["rounding"])
    else:
        scaled = numerics.requantize_channels(numerics.wrap_int32(total), requant, attrs["rounding"])
    return np.clip(scaled + attrs["y_zero"], attrs["q_min"], attrs["q_max"]).astype(dtype)


def _reference(depthwise: bool, inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, requant, w_zeros = (*inputs, None, None, None)[:5]
    assert x is not None and weights is not None
    sums = convolve_depthwise if depthwise else convolve
    if x.dtype.kind == "f":
        wide = np.float64 if x.dtype == np.float16 else x.dtype
        return [finish_float(sums(x.astype(wide), weights.astype(wide), attrs), bias, attrs, x.dtype)]
    assert requant is not None, "an integer convolution needs its requant input"
    centred = x.astype(np.float64) - attrs["x_zero"]
    zeros = w_zeros if w_zeros is None or depthwise else w_zeros[:, None, None, None]
    centred_weights = weights.astype(np.float64) - (attrs["w_zero"] if zeros is None else zeros)
    return [finish_integer(sums(centred, centred_weights, attrs), bias, requant, attrs, x.dtype)]


def _reference_conv2d(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    return _reference(False, inputs, attrs)


def _reference_depthwise(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    return _reference(True, inputs, attrs)


def _window_sample(rng: np.random.Generator) -> tuple[int, int, dict[str, Any]]:
    """Kernel sizes and window attributes."""
    kernel_h, kernel_w = sampling.size(rng, 1, 4), sampling.size(rng, 1, 4)
    attrs: dict[str, Any] = {"stride_h": sampling.size(rng, 1, 3), "stride_w": sampling.size(rng, 1, 3)}
    attrs |= {name: sampling.size(rng, 0, 2) for name in ("pad_top", "pad_left", "pad_bottom", "pad_right")}
    if rng.integers(3) == 0:
        attrs |= {"dilation_h": sampling.size(rng, 1, 2), "dilation_w": sampling.size(rng, 1, 3)}
    return kernel_h, kernel_w, attrs


def conv_sample(rng: np.random.Generator, depthwise: bool) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """float x and weights with window attributes."""
    kernel_h, kernel_w, attrs = _window_sample(rng)
    span_h = (kernel_h - 1) * attrs.get("dilation_h", 1) + 1
    span_w = (kernel_w - 1) * attrs.get("dilation_w", 1) + 1
    height = max(1, span_h - attrs["pad_top"] - attrs["pad_bottom"]) + sampling.size(rng, 0, 6)
    width = max(1, span_w - attrs["pad_left"] - attrs["pad_right"]) + sampling.size(rng, 0, 6)
    groups = 1 if rng.integers(3) else sampling.size(rng, 2, 3)
    if depthwise:
        in_c = sampling.size(rng, 1, 19)
        attrs["groups"] = in_c
        weight_shape = (1, kernel_h, kernel_w, in_c * (1 if rng.integers(2) else sampling.size(rng, 2, 3)))
    else:
        group_c = sampling.size(rng, 1, 19 if groups == 1 else 3)
        in_c = group_c * groups
        attrs["groups"] = groups
        weight_shape = (groups * sampling.size(rng, 1, 19 if groups == 1 else 3), kernel_h, kernel_w, group_c)
    x = sampling.floats(rng, (sampling.size(rng, 1, 2), height, width, in_c))
    return x, sampling.floats(rng, weight_shape, -1.0, 1.0), attrs


def weighted_sample(
    rng: np.random.Generator, x: np.ndarray, weights: np.ndarray, channels: int, depth: int, attrs: dict[str, Any]
) -> Sample:
    """Completes a float sample with bias and activation, or turns it into one of 8 or 16-bit integers."""
    has_bias = bool(rng.integers(3))
    kind = int(rng.integers(4))
    if kind < 2:
        bias = sampling.floats(rng, (channels,)) if has_bias else None
        return sampling.halved(Sample([x, weights, bias], {**attrs, **sampling.clamp(rng)}), rng, operands=2)
    rounding = sampling.weighted_rounding(rng)
    dtype: type = np.int8 if kind == 2 else np.int16
    spread = (74.0 if kind == 2 else 19000.0) * 74.0 * math.sqrt(depth)
    bias_type = np.int64 if kind == 3 and rng.integers(2) else np.int32
    limit = int(min(2 * spread, np.iinfo(bias_type).max / 2))
    bias = rng.integers(-limit, limit, channels, bias_type) if has_bias else None
    factor = 1.0 if kind == 2 else 256.0
    inputs = [
        sampling.integers(rng, x.shape, dtype),
        sampling.integers(rng, weights.shape, low=-127),
        bias,
        sampling.requant_input(rng, channels, spread / factor, rounding),
    ]
    if rng.integers(4) == 0:
        inputs.append(rng.integers(-128, 128, channels, dtype=np.int32))
    zeros = sampling.zero_point(rng), sampling.zero_point(rng)
    integer_attrs = {"x_zero": zeros[0], "y_zero": zeros[1], "rounding": rounding}
    return Sample(inputs, {**attrs, **integer_attrs, **sampling.integer_clamp(rng, dtype)})


def _sample_conv2d(rng: np.random.Generator) -> Sample:
    x, weights, attrs = conv_sample(rng, depthwise=False)
    return weighted_sample(rng, x, weights, weights.shape[0], weights[0].size, attrs)


def _infer_integer(node: Node) -> list[TensorType]:
    shape, channels = conv_output_shape(node, depthwise=False)
    for index in (0, 1):
        require_dtype(node, node.input(index), DType.s8, DType.u8)
    x_zero, w_zeros = node.optional_input(2), node.optional_input(3)
    for value, allowed in ((x_zero, ((), (1,))), (w_zeros, ((), (1,), (channels,)))):
        if value is not None:
            require_dtype(node, value, DType.s32)
            require(node, value.shape in allowed, f"'{value.name}' has shape {value.shape}")
    return [TensorType(DType.s32, shape)]


def _reference_integer(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, x_zero, w_zeros = (*inputs, None, None)[:4]
    assert x is not None and weights is not None
    centred = x.astype(np.float64) - (attrs["x_zero"] if x_zero is None else x_zero.reshape(()))
    zeros = np.asarray(attrs["w_zero"] if w_zeros is None else w_zeros).reshape(-1, 1, 1, 1)
    sums = convolve(centred, weights.astype(np.float64) - zeros, attrs)
    return [numerics.wrap_int32(sums.astype(np.int64)).astype(np.int32)]


def _sample_integer(rng: np.random.Generator) -> Sample:
    x, weights, attrs = conv_sample(rng, depthwise=False)
    types = [np.uint8 if rng.integers(2) else np.int8 for _ in range(2)]
    x_zero = np.array(sampling.zero_point(rng), np.int32) if rng.integers(2) else None
    count = weights.shape[0] if rng.integers(2) else 1
    w_zeros = rng.integers(-128, 256, count, dtype=np.int32) if rng.integers(2) else None
    operands = [sampling.integers(rng, x.shape, types[0]), sampling.integers(rng, weights.shape, types[1])]
    attrs |= {"x_zero": sampling.zero_point(rng), "w_zero": sampling.zero_point(rng)}
    return Sample([*operands, x_zero, w_zeros], attrs)


def _sample_depthwise(rng: np.random.Generator) -> Sample:
    x, weights, attrs = conv_sample(rng, depthwise=True)
    return weighted_sample(rng, x, weights, weights.shape[3], weights.shape[1] * weights.shape[2], attrs)


register(
    OpDef(
        name="conv2d",
        inputs=("x", "weights", "bias?", "requant?", "w_zeros?"),
        infer=_infer_conv2d,
        reference=_reference_conv2d,
        samples=_sample_conv2d,
        attrs=CONV_ATTRS,
        quant=QuantRule(weight_axis=0, materialize=materialize_weighted(0)),
        tolerance=Tolerance(1e-5, 1e-5),
        half=HALF_SUM,
        doc="2-D convolution with groups and dilation, bias and a fused clamp.",
    ),
    OpDef(
        name="conv2d_integer",
        inputs=("x", "weights", "x_zero?", "w_zeros?"),
        infer=_infer_integer,
        reference=_reference_integer,
        samples=_sample_integer,
        attrs={**WINDOW_ATTRS, "groups": 1, "x_zero": 0, "w_zero": 0},
        doc="The sums of products of a 2-D convolution of 8-bit integers.",
    ),
    OpDef(
        name="depthwise_conv2d",
        inputs=("x", "weights", "bias?", "requant?", "w_zeros?"),
        infer=_infer_depthwise,
        reference=_reference_depthwise,
        samples=_sample_depthwise,
        attrs=CONV_ATTRS,
        quant=QuantRule(weight_axis=3, materialize=materialize_depthwise),
        tolerance=Tolerance(1e-5, 1e-5),
        half=HALF_SUM,
        doc="Each input channel convolved with its own filters, bias and a fused clamp.",
    ),
)
