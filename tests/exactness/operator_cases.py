# SPDX-License-Identifier: Apache-2.0
"""Random TFLite models of one integer operator, with scales and zero points at the edges of what is allowed.

A scale is drawn log-uniform, or as a power of two (exact halves), or next to one; a second scale often is a power of
two times the first. Zero points are the ends of the type, zero, or anything. Shapes hold a few hundred to a few
thousand elements, so that vector code and what lies past its last whole vector are both met.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from tflite_builder import TfliteBuilder

Quantization = dict[str, Any]
Draw = Callable[[np.random.Generator, str], TfliteBuilder]

Q15 = 1 / 32768
S8, U8, S16 = "int8", "uint8", "int16"


@dataclass(frozen=True)
class Operator:
    """One operator and the types of activations that LiteRT's built-in kernels take."""

    name: str
    draw: Draw
    dtypes: tuple[str, ...] = (S8, U8)
    avoids_zero: bool = False
    """Whether LiteRT refuses a real zero in its second input."""
    departs: Mapping[str, float] = field(default_factory=dict)
    """Types whose results LiteRT rounds in floating point, with the part of the elements that may differ, by 1."""


def scale(rng: np.random.Generator, low: float, high: float) -> float:
    """A positive float32 from 2^low to 2^high."""
    exponent = rng.uniform(low, high)
    kind = rng.integers(4)
    if kind == 0:
        return float(np.float32(2.0 ** np.round(exponent)))
    if kind == 1:
        towards = np.float32(rng.choice([0.0, 1e9]))
        return float(np.nextafter(np.float32(2.0 ** np.round(exponent)), towards))
    return float(np.float32(2.0**exponent))


def near(rng: np.random.Generator, base: float, low: float, high: float) -> float:
    """A scale that is 2^low to 2^high times another one, often exactly a power of two times."""
    exponent = rng.uniform(low, high)
    return float(np.float32(base * 2.0 ** (np.round(exponent) if rng.integers(3) == 0 else exponent)))


def zero(rng: np.random.Generator, dtype: str) -> int:
    info = np.iinfo(dtype)
    if dtype == S16:
        return 0
    return int(rng.choice([info.min, info.max, (info.min + info.max + 1) // 2, rng.integers(info.min, info.max + 1)]))


def quant(rng: np.random.Generator, dtype: str, low: float = -8, high: float = -2) -> Quantization:
    shift = -8 if dtype == S16 else 0
    return {"scale": scale(rng, low + shift, high + shift), "zero_point": zero(rng, dtype)}


def quant_near(rng: np.random.Generator, dtype: str, base: float, low: float, high: float) -> Quantization:
    return {"scale": near(rng, base, low, high), "zero_point": zero(rng, dtype)}


def sizes(rng: np.random.Generator, *bounds: tuple[int, int]) -> list[int]:
    return [int(rng.integers(low, high + 1)) for low, high in bounds]


def clamp(rng: np.random.Generator) -> int:
    """No fused activation, ReLU or ReLU6."""
    return int(rng.choice([0, 0, 1, 3]))


FEW = ((-1, 1), (-1, 0, 1), (-3, -1, 1, 3), tuple(range(-8, 8)))
"""Weights that take 1, 2, 2 and 4 bits."""


def weights(
    b: TfliteBuilder,
    rng: np.random.Generator,
    shape: Sequence[int],
    axis: int,
    x_scale: float,
    dtype: str,
    few: bool = False,
) -> tuple[list[int], float]:
    """[weights, bias], and what a typical sum is worth. ``few``: weights take one of ``FEW``."""
    channels, depth = shape[axis], int(np.prod(shape)) // shape[axis]
    if dtype == U8:
        scales = np.array([scale(rng, -10, -4)], np.float32)
        zero_point = int(rng.choice([0, 128, 255, rng.integers(256)]))
        filters = b.constant(rng.integers(0, 256, shape).astype(np.uint8), scale=scales, zero_point=zero_point)
    else:
        count = channels if rng.integers(3) else 1
        scales = np.array([scale(rng, -10, -4) for _ in range(count)], np.float32)
        values = FEW[int(rng.integers(len(FEW)))] if few else range(-127, 128)
        filters = b.constant(rng.choice(values, shape).astype(np.int8), scale=scales, axis=axis)
    bias_scale = np.float32(x_scale) * scales
    spread = float(bias_scale.mean()) * 74.0 * (19000.0 if dtype == S16 else 74.0) * depth**0.5
    limit = max(2, int(min(spread / float(bias_scale.min()), 2**29)))
    bias = rng.integers(-limit, limit, channels).astype(np.int64 if dtype == S16 else np.int32)
    return [filters, b.constant(bias, scale=bias_scale, axis=0)], spread


def result(rng: np.random.Generator, dtype: str, spread: float) -> Quantization:
    """Of a sum of products: from a third of the range to several times it."""
    steps = 8192.0 if dtype == S16 else 48.0
    return {"scale": near(rng, spread / steps, -2, 3), "zero_point": zero(rng, dtype)}


def _windows(rng: np.random.Generator, h: int, w: int, largest: int = 4) -> tuple[list[int], dict[str, int], list[int]]:
    """Kernel, options and output sizes."""
    kernel = [int(rng.integers(1, min(largest, size) + 1)) for size in (h, w)]
    stride, padding = [int(v) for v in rng.integers(1, 3, 2)], int(rng.integers(2))
    out = [
        -(-size // s) if padding == 0 else -(-(size - k + 1) // s)
        for size, s, k in zip((h, w), stride, kernel, strict=True)
    ]
    return kernel, {"Padding": padding, "StrideH": stride[0], "StrideW": stride[1]}, out


def conv(rng: np.random.Generator, dtype: str, few: bool = False) -> TfliteBuilder:
    b = TfliteBuilder()
    h, w, c, channels = sizes(rng, (3, 9), (3, 9), (1, 20), (1, 24))
    given = quant(rng, dtype)
    kernel, options, out = _windows(rng, h, w)
    x = b.input((1, h, w, c), dtype, **given)
    operands, spread = weights(b, rng, (channels, *kernel, c), 0, given["scale"], dtype, few)
    y = b.output((1, *out, channels), dtype, **result(rng, dtype, spread))
    b.operator("CONV_2D", [x, *operands], [y], "Conv2DOptions", FusedActivationFunction=clamp(rng), **options)
    return b


def depthwise(rng: np.random.Generator, dtype: str, few: bool = False) -> TfliteBuilder:
    b = TfliteBuilder()
    h, w, c, multiplier = sizes(rng, (3, 9), (3, 9), (1, 24), (1, 2))
    given = quant(rng, dtype)
    kernel, options, out = _windows(rng, h, w)
    x = b.input((1, h, w, c), dtype, **given)
    operands, spread = weights(b, rng, (1, *kernel, c * multiplier), 3, given["scale"], dtype, few)
    y = b.output((1, *out, c * multiplier), dtype, **result(rng, dtype, spread))
    b.operator(
        "DEPTHWISE_CONV_2D",
        [x, *operands],
        [y],
        "DepthwiseConv2DOptions",
        DepthMultiplier=multiplier,
        FusedActivationFunction=clamp(rng),
        **options,
    )
    return b


def transposed(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b = TfliteBuilder()
    h, w, c, channels = sizes(rng, (1, 6), (1, 6), (1, 12), (1, 20))
    given = quant(rng, dtype)
    kernel, stride, padding = sizes(rng, (2, 4), (2, 4)), int(rng.integers(1, 3)), int(rng.integers(2))
    x = b.input((1, h, w, c), dtype, **given)
    operands, spread = weights(b, rng, (channels, *kernel, c), 0, given["scale"], dtype)
    out = [s * stride if padding == 0 else (s - 1) * stride + k for s, k in zip((h, w), kernel, strict=True)]
    y = b.output((1, *out, channels), dtype, **result(rng, dtype, spread))
    shape = b.constant(np.array([1, *out, channels], np.int32))
    options = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    b.operator("TRANSPOSE_CONV", [shape, operands[0], x, operands[1]], [y], "TransposeConvOptions", **options)
    return b


def dense(rng: np.random.Generator, dtype: str, few: bool = False) -> TfliteBuilder:
    b = TfliteBuilder()
    rows, depth, units = sizes(rng, (1, 24), (1, 90), (1, 40))
    given = quant(rng, dtype)
    x = b.input((rows, depth), dtype, **given)
    operands, spread = weights(b, rng, (units, depth), 0, given["scale"], dtype, few)
    y = b.output((rows, units), dtype, **result(rng, dtype, spread))
    b.operator("FULLY_CONNECTED", [x, *operands], [y], "FullyConnectedOptions", FusedActivationFunction=clamp(rng))
    return b


def batch_matmul(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b = TfliteBuilder()
    batch, m, k, n = sizes(rng, (1, 3), (1, 16), (1, 40), (1, 24))
    turned = [bool(v) for v in rng.integers(2, size=2)]
    one, other = quant(rng, dtype), quant(rng, dtype)
    p = b.input((batch, k, m) if turned[0] else (batch, m, k), dtype, **one)
    q = b.input((batch, n, k) if turned[1] else (batch, k, n), dtype, **other)
    unit = 19000.0 if dtype == S16 else 74.0
    spread = one["scale"] * other["scale"] * unit * unit * k**0.5
    y = b.output((batch, m, n), dtype, **result(rng, dtype, spread))
    b.operator("BATCH_MATMUL", [p, q], [y], "BatchMatMulOptions", AdjX=turned[0], AdjY=turned[1])
    return b


def _shapes(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast."""
    n, h, c = sizes(rng, (1, 6), (1, 12), (1, 40))
    return [
        ((n, h, c), (n, h, c)),
        ((n, h, c), (c,)),
        ((n, h, c), (n, 1, c)),
        ((n, h, 1), (1, h, c)),
        ((n, h, c), ()),
        ((1, 1, 1), (n, h, c)),
    ][int(rng.integers(6))]


def arithmetic(name: str) -> Draw:
    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, shapes = TfliteBuilder(), _shapes(rng)
        one = quant(rng, dtype)
        other = quant_near(rng, dtype, one["scale"], -3, 3)
        steps = 2.0**14 if dtype == S16 else 2.0**6
        if name == "MUL":
            base = one["scale"] * other["scale"] * steps
        elif name == "DIV":
            # Below 2^7 (int16: 2^15) LiteRT shifts small quotients by more than 31 places, which is undefined: it gives
            # anything.
            base = one["scale"] / other["scale"] / (2**16 if dtype == S16 else 2**8)
        else:
            base = max(one["scale"], other["scale"])
        # LiteRT wants the scale of a sum to be more than the 2^-20th part (int16: 2^-15th) of twice the larger one.
        low, high = {"MUL": (-1, 3), "DIV": (-2, 1)}.get(name, (0, 3))
        y = quant_near(rng, dtype, base, low, high)
        if dtype == S16 and shapes[0] != shapes[1]:
            y["scale"] = float(np.float32(y["scale"] * 1.37))  # LiteRT aborts on powers of two that broadcast
        p, q = b.input(shapes[0], dtype, **one), b.input(shapes[1], dtype, **other)
        out = b.output(np.broadcast_shapes(*shapes), dtype, **y)
        b.operator(name, [p, q], [out], f"{name.capitalize()}Options", FusedActivationFunction=clamp(rng))
        return b

    return draw


def extreme(name: str) -> Draw:
    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, shapes, given = TfliteBuilder(), _shapes(rng), quant(rng, dtype)
        p, q = (b.input(shape, dtype, **given) for shape in shapes)
        b.operator(name, [p, q], [b.output(np.broadcast_shapes(*shapes), dtype, **given)], "MaximumMinimumOptions")
        return b

    return draw


def concatenation(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, count = TfliteBuilder(), int(rng.integers(2, 5))
    h, w, c = sizes(rng, (1, 8), (1, 8), (1, 24))
    given = quant(rng, dtype)
    different = dtype == U8 and bool(rng.integers(2))
    quants = [quant_near(rng, dtype, given["scale"], -2, 2) if different else given for _ in range(count)]
    inputs = [b.input((h, w, c), dtype, **item) for item in quants]
    axis = int(rng.integers(3))
    shape = [size * count if place == axis else size for place, size in enumerate((h, w, c))]
    b.operator("CONCATENATION", inputs, [b.output(shape, dtype, **given)], "ConcatenationOptions", Axis=axis)
    return b


def pad(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, given = TfliteBuilder(), quant(rng, dtype)
    shape, widths = sizes(rng, (1, 3), (2, 8), (2, 8), (1, 16)), rng.integers(0, 3, (4, 2)).astype(np.int32)
    x = b.input(shape, dtype, **given)
    out = [size + int(pair.sum()) for size, pair in zip(shape, widths, strict=True)]
    value = int(rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1))
    y, table = b.output(out, dtype, **given), b.constant(widths)
    if dtype != S16 and rng.integers(2):
        b.operator("PADV2", [x, table, b.constant(np.array([value], dtype), **given)], [y], "PadV2Options")
    else:
        b.operator("PAD", [x, table], [y], "PadOptions")
    return b


def strided_slice(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, given = TfliteBuilder(), quant(rng, dtype)
    shape = sizes(rng, (6, 20), (6, 20), (6, 60))
    begin = [int(rng.integers(size - 1)) for size in shape]
    end = [int(rng.integers(first + 1, size + 1)) for first, size in zip(begin, shape, strict=True)]
    step = [int(v) for v in rng.integers(1, 3, 3)]
    out = [-(-(last - first) // by) for first, last, by in zip(begin, end, step, strict=True)]
    bounds = [b.constant(np.array(values, np.int32)) for values in (begin, end, step)]
    x = b.input(shape, dtype, **given)
    b.operator("STRIDED_SLICE", [x, *bounds], [b.output(out, dtype, **given)], "StridedSliceOptions")
    return b


def reduction(name: str) -> Draw:
    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, shape = TfliteBuilder(), sizes(rng, (1, 4), (1, 8), (1, 8), (1, 40))
        axes = [(1, 2), (1, 2), (1,), (2,), (3,), (0,), (1, 2, 3), (0, 2)][int(rng.integers(8))]
        keep = bool(rng.integers(2))
        given = quant(rng, dtype)
        count = int(np.prod([shape[axis] for axis in axes]))
        if name in ("MEAN", "SUM") and rng.integers(4):
            base = given["scale"] * (count**0.5 if name == "SUM" else count**-0.5)
            y = quant_near(rng, dtype, base, -1, 2)
        else:
            y = given
        x, places = b.input(shape, dtype, **given), b.constant(np.array(axes, np.int32))
        out = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
        b.operator(name, [x, places], [b.output(out, dtype, **y)], "ReducerOptions", KeepDims=keep)
        return b

    return draw


def product(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    """Of few numbers around 1: LiteRT drops the highest bits of products past 32 bits."""
    b, shape = TfliteBuilder(), sizes(rng, (1, 3), (1, 3), (1, 2), (1, 120))
    axes = [(0,), (1,), (2,), (0, 2), (1, 2)][int(rng.integers(5))]
    shift = -8 if dtype == S16 else 0
    given = {"scale": scale(rng, -8 + shift, -6 + shift), "zero_point": zero(rng, dtype)}
    y = quant_near(rng, dtype, given["scale"], -1, 2)
    x, places = b.input(shape, dtype, **given), b.constant(np.array(axes, np.int32))
    keep = bool(rng.integers(2))
    out = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
    b.operator("REDUCE_PROD", [x, places], [b.output(out, dtype, **y)], "ReducerOptions", KeepDims=keep)
    return b


def pool(name: str) -> Draw:
    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, given = TfliteBuilder(), quant(rng, dtype)
        h, w, c = sizes(rng, (2, 12), (2, 12), (1, 40))
        kernel, options, out = _windows(rng, h, w, 6)
        options |= {"FilterHeight": kernel[0], "FilterWidth": kernel[1], "FusedActivationFunction": clamp(rng)}
        x = b.input((1, h, w, c), dtype, **given)
        b.operator(name, [x], [b.output((1, *out, c), dtype, **given)], "Pool2DOptions", **options)
        return b

    return draw


def softmax(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, shape = TfliteBuilder(), sizes(rng, (1, 24), (1, 80))
    x = b.input(shape, dtype, **quant(rng, dtype, -9, 0))
    y = {"scale": Q15} if dtype == S16 else {"scale": 1 / 256, "zero_point": np.iinfo(dtype).min}
    b.operator("SOFTMAX", [x], [b.output(shape, dtype, **y)], "SoftmaxOptions", Beta=float(rng.choice([1.0, 0.5, 2.0])))
    return b


def log_softmax(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, shape = TfliteBuilder(), sizes(rng, (1, 24), (1, 80))
    x = b.input(shape, dtype, **quant(rng, dtype, -9, 0))
    y = b.output(shape, dtype, scale=16 / 256, zero_point=np.iinfo(dtype).max)
    b.operator("LOG_SOFTMAX", [x], [y], "LogSoftmaxOptions")
    return b


_FIXED: dict[str, Callable[[str], Quantization]] = {
    "LOGISTIC": lambda dtype: {"scale": Q15} if dtype == S16 else {"scale": 1 / 256, "zero_point": np.iinfo(dtype).min},
    "TANH": lambda dtype: (
        {"scale": Q15} if dtype == S16 else {"scale": 1 / 128, "zero_point": np.iinfo(dtype).min + 128}
    ),
}


def function(name: str, table: str | None = None, **options: Callable[[np.random.Generator], Any]) -> Draw:
    """A function of one tensor: all 256 numbers of a byte, or 4000 of 16 bits."""

    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, count = TfliteBuilder(), int(rng.integers(300, 900))
        x = quant(rng, dtype, -8, -1)
        y = _FIXED[name](dtype) if name in _FIXED else quant_near(rng, dtype, x["scale"], -2, 3)
        if name in ("RELU", "RELU6", "RELU_N1_TO_1") and dtype == S16:
            y["scale"] = max(y["scale"], x["scale"])
        chosen = {key: choose(rng) for key, choose in options.items()}
        operands = [b.input((count,), dtype, **x)], [b.output((count,), dtype, **y)]
        b.operator(name, *operands, table, **chosen)
        return b

    return draw


def prelu(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, (h, w, c) = TfliteBuilder(), sizes(rng, (1, 8), (1, 8), (1, 40))
    given, slope = quant(rng, dtype), quant(rng, S8 if dtype == S16 else dtype, -10, -4)
    x = b.input((1, h, w, c), dtype, **given)
    info = np.iinfo(S8 if dtype == S16 else dtype)  # slopes of int16 are int8
    alpha = b.constant(rng.integers(info.min, info.max + 1, (1, 1, c)).astype(info.dtype), **slope)
    b.operator("PRELU", [x, alpha], [b.output((1, h, w, c), dtype, **quant_near(rng, dtype, given["scale"], -1, 3))])
    return b


def resize(name: str) -> Draw:
    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, given = TfliteBuilder(), quant(rng, dtype)
        h, w, c, new_h, new_w = sizes(rng, (1, 8), (1, 8), (1, 24), (1, 14), (1, 14))
        options = [{}, {"AlignCorners": True}, {"HalfPixelCenters": True}][int(rng.integers(3))]
        table = "ResizeBilinearOptions" if name == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
        operands = [b.input((1, h, w, c), dtype, **given), b.constant(np.array([new_h, new_w], np.int32))]
        b.operator(name, operands, [b.output((1, new_h, new_w, c), dtype, **given)], table, **options)
        return b

    return draw


def squared_difference(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, shapes, given = TfliteBuilder(), _shapes(rng), quant(rng, dtype, -6, -1)
    other = quant_near(rng, dtype, given["scale"], -3, 3)
    base = max(given["scale"], other["scale"])
    operands = [b.input(shape, dtype, **item) for shape, item in zip(shapes, (given, other), strict=True)]
    y = b.output(np.broadcast_shapes(*shapes), dtype, **quant_near(rng, dtype, 128 * base * base, -2, 4))
    b.operator("SQUARED_DIFFERENCE", operands, [y])
    return b


def comparison(name: str) -> Draw:
    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, shapes, given = TfliteBuilder(), _shapes(rng), quant(rng, dtype, -8, -1)
        other = given if rng.integers(3) == 0 else quant(rng, dtype, -8, -1)
        operands = [b.input(shape, dtype, **item) for shape, item in zip(shapes, (given, other), strict=True)]
        b.operator(name, operands, [b.output(np.broadcast_shapes(*shapes), "bool")])
        return b

    return draw


def position(name: str) -> Draw:
    """Many of the numbers are equal, since there are few of them."""

    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, shape = TfliteBuilder(), sizes(rng, (1, 16), (1, 12), (1, 60))
        axis = int(rng.integers(3))
        operands = [b.input(shape, dtype, **quant(rng, dtype)), b.constant(np.array([axis], np.int32))]
        y = b.output([size for place, size in enumerate(shape) if place != axis], "int32")
        b.operator(name, operands, [y], "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions", OutputType=2)
        return b

    return draw


def l2_normalization(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, shape = TfliteBuilder(), sizes(rng, (1, 24), (1, 80))
    y = {"scale": 1 / 128, "zero_point": 0 if dtype == S8 else 128}
    b.operator("L2_NORMALIZATION", [b.input(shape, dtype, **quant(rng, dtype))], [b.output(shape, dtype, **y)])
    return b


def root(name: str) -> Draw:
    """Of numbers that are not negative."""

    def draw(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
        b, count = TfliteBuilder(), int(rng.integers(300, 900))
        x = quant(rng, dtype, -8, -1) | {"zero_point": int(np.iinfo(dtype).min)}
        y = quant(rng, dtype, -8, -1)
        b.operator(name, [b.input((count,), dtype, **x)], [b.output((count,), dtype, **y)])
        return b

    return draw


def svdf(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, (batch, units, size, rank, memory) = TfliteBuilder(), sizes(rng, (4, 20), (4, 40), (1, 40), (1, 3), (1, 10))
    x = b.input((batch, size), dtype, scale=scale(rng, -8, -4), zero_point=zero(rng, dtype))
    state, steps = scale(rng, -9, -4), 2.0**-13
    inputs = [
        x,
        b.constant(rng.integers(-127, 128, (units * rank, size)).astype(np.int8), scale=scale(rng, -9, -4)),
        b.constant(rng.integers(-8192, 8192, (units * rank, memory)).astype(np.int16), scale=steps),
        b.constant(rng.integers(-99999, 99999, units).astype(np.int32), scale=state * steps),
        b.variable((batch, units * rank * memory), dtype=S16, scale=state, zero_point=0),
    ]
    y = b.output((batch, units), dtype, scale=near(rng, state, 3, 7), zero_point=zero(rng, dtype))
    b.operator("SVDF", inputs, [y], "SVDFOptions", Rank=rank, FusedActivationFunction=1)
    return b


def requantize(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b, count = TfliteBuilder(), int(rng.integers(1, 1500))
    x = quant(rng, dtype)
    y = quant_near(rng, dtype, x["scale"], -3, 4)
    b.operator("QUANTIZE", [b.input((count,), dtype, **x)], [b.output((count,), dtype, **y)])
    return b


def narrow(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    """16 bits to 8 and back."""
    b, count = TfliteBuilder(), int(rng.integers(1, 1500))
    x, y = quant(rng, S16), quant(rng, S8)
    source, target = (S16, S8) if dtype == S16 else (S8, S16)
    first, second = (x, y) if dtype == S16 else (y, x)
    b.operator("QUANTIZE", [b.input((count,), source, **first)], [b.output((count,), target, **second)])
    return b


def lstm(rng: np.random.Generator, dtype: str) -> TfliteBuilder:
    b = TfliteBuilder()
    batch, time, width, hidden = sizes(rng, (1, 2), (4, 16), (1, 20), (1, 24))
    x = {"scale": scale(rng, -7, -5), "zero_point": zero(rng, S8)}
    tensors = {0: b.input((batch, time, width), S8, **x)}
    for first, columns in ((1, width), (5, hidden)):
        for gate in range(4):
            filters = rng.integers(-127, 128, (hidden, columns)).astype(np.int8)
            tensors[first + gate] = b.constant(filters, scale=scale(rng, -8, -6))
    for gate in range(4):
        bias = rng.integers(-3000, 3000, hidden).astype(np.int32)
        tensors[12 + gate] = b.constant(bias, scale=x["scale"] * float(b.tensors[tensors[1 + gate]].scale[0]))
    state: dict[str, Any] = {"dtype": S8, "scale": scale(rng, -8, -6), "zero_point": zero(rng, S8)}
    cell: dict[str, Any] = {"dtype": S16, "scale": 2.0 ** -int(rng.integers(9, 15))}
    tensors |= {18: b.variable((batch, hidden), **state), 19: b.variable((batch, hidden), **cell)}
    y = b.output((batch, time, hidden), **state)
    options = {"FusedActivationFunction": 4, "CellClip": float(rng.choice([0.0, 6.0]))}
    places = [tensors.get(place, -1) for place in range(24)]
    b.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", places, [y], "UnidirectionalSequenceLSTMOptions", **options)
    b.operators[-1].intermediates = [b.tensor((0,)) for _ in range(4)] + [b.tensor((0,), **state)]
    return b


def _approximately(rng: np.random.Generator) -> bool:
    return bool(rng.integers(2))


def _slope(rng: np.random.Generator) -> float:
    return float(rng.choice([0.0, 0.01, 0.1, 0.25, 0.3, 1.5, rng.uniform(0, 2)]))


EVERY = (S8, U8, S16)

OPERATORS: Mapping[str, Operator] = {
    item.name: item
    for item in (
        Operator("CONV_2D", conv, EVERY),
        Operator("DEPTHWISE_CONV_2D", depthwise, EVERY),
        Operator("CONV_2D (few bits)", partial(conv, few=True), (S8,)),
        Operator("DEPTHWISE_CONV_2D (few bits)", partial(depthwise, few=True), (S8,)),
        Operator("FULLY_CONNECTED (few bits)", partial(dense, few=True), (S8,)),
        Operator("TRANSPOSE_CONV", transposed, (S8, S16)),
        Operator("FULLY_CONNECTED", dense, EVERY, departs={S16: 2e-4}),
        Operator("BATCH_MATMUL", batch_matmul, (S8, S16)),
        Operator("ADD", arithmetic("ADD"), EVERY),
        Operator("SUB", arithmetic("SUB"), EVERY),
        Operator("MUL", arithmetic("MUL"), EVERY),
        Operator("DIV", arithmetic("DIV"), EVERY, avoids_zero=True, departs={S16: 1e-4}),
        Operator("SQUARED_DIFFERENCE", squared_difference, (S8,)),
        Operator("EQUAL", comparison("EQUAL")),
        Operator("LESS", comparison("LESS")),
        Operator("GREATER_EQUAL", comparison("GREATER_EQUAL")),
        Operator("ARG_MAX", position("ARG_MAX")),
        Operator("ARG_MIN", position("ARG_MIN")),
        Operator("MAXIMUM", extreme("MAXIMUM"), EVERY),
        Operator("MINIMUM", extreme("MINIMUM"), EVERY),
        Operator("CONCATENATION", concatenation, EVERY),
        Operator("PAD", pad, EVERY),
        Operator("STRIDED_SLICE", strided_slice, EVERY),
        Operator("MEAN", reduction("MEAN"), EVERY),
        Operator("SUM", reduction("SUM"), EVERY, departs={S8: 1e-4, U8: 1e-4, S16: 3e-4}),
        Operator("REDUCE_PROD", product, (S8, S16)),
        Operator("REDUCE_MAX", reduction("REDUCE_MAX"), EVERY),
        Operator("REDUCE_MIN", reduction("REDUCE_MIN"), EVERY),
        Operator("L2_NORMALIZATION", l2_normalization),
        Operator("AVERAGE_POOL_2D", pool("AVERAGE_POOL_2D"), EVERY),
        Operator("MAX_POOL_2D", pool("MAX_POOL_2D"), EVERY),
        Operator("SOFTMAX", softmax, EVERY),
        Operator("LOG_SOFTMAX", log_softmax),
        Operator("LOGISTIC", function("LOGISTIC"), EVERY),
        Operator("TANH", function("TANH"), EVERY),
        Operator("HARD_SWISH", function("HARD_SWISH")),
        Operator("GELU", function("GELU", "GeluOptions", Approximate=_approximately)),
        Operator("LEAKY_RELU", function("LEAKY_RELU", "LeakyReluOptions", Alpha=_slope), EVERY),
        Operator("PRELU", prelu, EVERY),
        Operator("RELU", function("RELU"), EVERY),
        Operator("RELU6", function("RELU6"), EVERY),
        Operator("RELU_0_TO_1", function("RELU_0_TO_1")),
        Operator("RELU_N1_TO_1", function("RELU_N1_TO_1")),
        Operator("ELU", function("ELU"), (S8,)),
        Operator("EXP", function("EXP"), (S8, S16)),
        Operator("LOG", function("LOG"), (S8, S16)),
        Operator("SQRT", root("SQRT"), (S8,)),
        Operator("RSQRT", root("RSQRT"), (S8,)),
        Operator("ABS", function("ABS"), (S8, S16)),
        Operator("NEG", function("NEG"), (S8, S16)),
        Operator("RESIZE_BILINEAR", resize("RESIZE_BILINEAR"), EVERY),
        Operator("RESIZE_NEAREST_NEIGHBOR", resize("RESIZE_NEAREST_NEIGHBOR"), EVERY),
        Operator("QUANTIZE", requantize, EVERY),
        Operator("QUANTIZE (8 and 16 bits)", narrow, (S8, S16)),
        Operator("SVDF", svdf, (S8,)),
        Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm, (S8,)),
    )
}
