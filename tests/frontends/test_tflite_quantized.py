"""Quantized TFLite operators and random networks, int8 and uint8, byte for byte as LiteRT's built-in kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litert_rung import compare, random_input, run_interpreter
from tflite_builder import TfliteBuilder

SEEDS = range(8)
TYPES = ("int8", "uint8")


def quant(rng: np.random.Generator, dtype: str, low: float = -7.0, high: float = -1.0) -> dict[str, Any]:
    """A random scale and zero point of an activation."""
    info = np.iinfo(dtype)
    scale = float(np.float32(2.0 ** rng.uniform(low, high)))
    return {"scale": scale, "zero_point": int(rng.integers(info.min, info.max + 1))}


def random_constant(b: TfliteBuilder, rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> int:
    info = np.iinfo(dtype)
    return b.constant(rng.integers(info.min, info.max + 1, shape).astype(dtype), **quant(rng, dtype))


def weights(
    b: TfliteBuilder, rng: np.random.Generator, shape: tuple[int, ...], axis: int, x: dict[str, Any], dtype: str
) -> tuple[list[int], dict[str, Any]]:
    """[weights, bias] and an output quantization that uses its range; uint8 weights have one scale and a zero point."""
    channels, depth = shape[axis], int(np.prod(shape)) // shape[axis]
    if dtype == "uint8":
        zero = 128 if rng.integers(3) == 0 else int(rng.integers(100, 156))
        scales = np.array([2.0 ** rng.uniform(-9, -5)], np.float32)
        filters = b.constant(rng.integers(1, 256, shape).astype(np.uint8), scale=scales, zero_point=zero)
    else:
        per_channel = bool(rng.integers(3))
        scales = (2.0 ** rng.uniform(-9, -5, channels if per_channel else 1)).astype(np.float32)
        filters = b.constant(rng.integers(-127, 128, shape).astype(np.int8), scale=scales, axis=axis)
    bias_scale = np.float32(x["scale"]) * scales
    bias = b.constant(rng.integers(-3000, 3000, channels).astype(np.int32), scale=bias_scale)
    spread = float(bias_scale.mean()) * 74.0 * 74.0 * depth**0.5
    y = {"scale": spread / float(2.0 ** rng.uniform(3, 6)), "zero_point": quant(rng, dtype)["zero_point"]}
    return [filters, bias], y


def conv_layer(b: TfliteBuilder, rng: np.random.Generator, x: int, dtype: str, last: bool = False) -> int:
    """CONV_2D or DEPTHWISE_CONV_2D on tensor ``x`` with random attributes; the output tensor."""
    n, h, w, c = b.tensors[x].shape
    given = {"scale": b.tensors[x].scale[0]}
    depthwise = bool(rng.integers(2))
    kernel = [min(int(rng.integers(1, 4)), size) for size in (h, w)]
    stride = int(rng.integers(1, 3))
    padding = int(rng.integers(2))
    options: dict[str, Any] = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    options["FusedActivationFunction"] = int(rng.choice([0, 0, 1, 3]))
    sizes = [
        -(-s // stride) if padding == 0 else -(-(s - k + 1) // stride) for s, k in zip((h, w), kernel, strict=True)
    ]
    add = b.output if last else b.tensor
    if depthwise:
        channels = c * int(rng.integers(1, 3))
        operands, y = weights(b, rng, (1, *kernel, channels), 3, given, dtype)
        out = add((n, *sizes, channels), dtype, **y)
        b.operator(
            "DEPTHWISE_CONV_2D",
            [x, *operands],
            [out],
            "DepthwiseConv2DOptions",
            DepthMultiplier=channels // c,
            **options,
        )
    else:
        channels = int(rng.integers(1, 21))
        operands, y = weights(b, rng, (channels, *kernel, c), 0, given, dtype)
        out = add((n, *sizes, channels), dtype, **y)
        b.operator("CONV_2D", [x, *operands], [out], "Conv2DOptions", **options)
    return out


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", range(24))
def test_convolutions(seed: int, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    shape = (int(rng.integers(1, 3)), *(int(v) for v in rng.integers(3, 9, 2)), int(rng.integers(1, 20)))
    conv_layer(b, rng, b.input(shape, dtype, **quant(rng, dtype)), dtype, last=True)
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_fully_connected(seed: int, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    rows, depth, units = int(rng.integers(1, 6)), int(rng.integers(1, 70)), int(rng.integers(1, 40))
    given = quant(rng, dtype)
    x = b.input((rows, depth), dtype, **given)
    operands, y = weights(b, rng, (units, depth), 0, given, dtype)
    out = b.output((rows, units), dtype, **y)
    activation = int(rng.choice([0, 1, 3]))
    b.operator("FULLY_CONNECTED", [x, *operands], [out], "FullyConnectedOptions", FusedActivationFunction=activation)
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("seed", SEEDS)
def test_arithmetic(seed: int, name: str, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    shapes = [((2, 5, 7), (2, 5, 7)), ((2, 5, 7), (7,)), ((2, 5, 1), (1, 5, 7)), ((3, 4, 8), ())][seed % 4]
    p, q = (b.input(shape, dtype, **quant(rng, dtype, -5, -3)) for shape in shapes)
    low, high = (-3, 0) if name == "MUL" else (-5, -2)
    y = b.output(np.broadcast_shapes(*shapes), dtype, **quant(rng, dtype, low, high))
    table = f"{name.capitalize()}Options"
    b.operator(name, [p, q], [y], table, FusedActivationFunction=int(rng.choice([0, 1, 3])))
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("seed", SEEDS)
def test_pools(seed: int, name: str, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    given = quant(rng, dtype)
    h, w, c = (int(v) for v in rng.integers(3, 20, 3))
    kernel = [int(rng.integers(1, size + 1)) for size in (h, w)]
    stride, padding = int(rng.integers(1, 4)), int(rng.integers(2))
    sizes = [
        -(-s // stride) if padding == 0 else -(-(s - k + 1) // stride) for s, k in zip((h, w), kernel, strict=True)
    ]
    options = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    options |= {
        "FilterHeight": kernel[0],
        "FilterWidth": kernel[1],
        "FusedActivationFunction": int(rng.choice([0, 1, 3])),
    }
    y = b.output((1, *sizes, c), dtype, **given)
    b.operator(name, [b.input((1, h, w, c), dtype, **given)], [y], "Pool2DOptions", **options)
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_softmax(seed: int, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    shape = (int(rng.integers(1, 5)), int(rng.integers(1, 60)))
    x = b.input(shape, dtype, **quant(rng, dtype, -8, -1))
    y = b.output(shape, dtype, scale=1 / 256, zero_point=np.iinfo(dtype).min)
    b.operator("SOFTMAX", [x], [y], "SoftmaxOptions", Beta=float(rng.choice([1.0, 0.5, 2.0])))
    compare(b.build(), tmp_path, rng, kinds=range(6))


_FUNCTIONS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "ABS": (None, {}),
    "ELU": (None, {}),
    "EXP": (None, {}),
    "GELU": ("GeluOptions", {"Approximate": True}),
    "HARD_SWISH": (None, {}),
    "LEAKY_RELU": ("LeakyReluOptions", {"Alpha": 0.3}),
    "LOG": (None, {}),
    "LOGISTIC": (None, {}),
    "RELU": (None, {}),
    "RELU6": (None, {}),
    "RELU_N1_TO_1": (None, {}),
    "TANH": (None, {}),
}


_WITHOUT_UINT8 = ("ABS", "ELU", "EXP", "LOG")
"""LiteRT has no uint8 kernel for these."""


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in sorted(_FUNCTIONS) for dtype in TYPES if dtype == "int8" or name not in _WITHOUT_UINT8],
)
def test_functions(name: str, dtype: str, tmp_path: Path) -> None:
    """All 256 inputs under several quantizations."""
    rng = np.random.default_rng(len(name))
    info = np.iinfo(dtype)
    everything = np.arange(info.min, info.max + 1).astype(dtype)
    table, options = _FUNCTIONS[name]
    b = TfliteBuilder()
    for _ in range(6):
        x, y = quant(rng, dtype, -7, -1.5), quant(rng, dtype, -7, -1.5)
        if name == "LOGISTIC":
            y = {"scale": 1 / 256, "zero_point": info.min}
        elif name == "TANH":
            y = {"scale": 1 / 128, "zero_point": info.min + 128}
        elif name == "HARD_SWISH":
            y["scale"] = max(y["scale"], x["scale"] / 100)
        b.operator(name, [b.input((256,), dtype, **x)], [b.output((256,), dtype, **y)], table, **options)
    compare(b.build(), tmp_path, rng, arrays=[everything] * 6)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("channels", [5, 16, 37])
@pytest.mark.parametrize("axes", [(1, 2), (1,), (3,), (0, 1, 2, 3)])
def test_mean(axes: tuple[int, ...], channels: int, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(channels)
    shape = (2, 5, 6, channels)
    for keep in (True, False):
        b = TfliteBuilder()
        x = b.input(shape, dtype, **quant(rng, dtype, -5, -3))
        out = [1 if axis in axes else dim for axis, dim in enumerate(shape) if keep or axis not in axes]
        y = b.output(out, dtype, **quant(rng, dtype, -6, -4))
        b.operator("MEAN", [x, b.constant(np.array(axes, np.int32))], [y], "ReducerOptions", KeepDims=keep)
        compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_between_types(seed: int, dtype: str, tmp_path: Path) -> None:
    """float32 to integers, to integers of another scale (also int8 to uint8 and back), to float32."""
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    shape = (3, 50)
    first = b.output(shape, dtype, **quant(rng, dtype, -6, -4))
    b.operator("QUANTIZE", [b.input(shape)], [first])
    second = b.output(shape, dtype, **quant(rng, dtype, -6, -3))
    b.operator("QUANTIZE", [first], [second])
    other = "uint8" if dtype == "int8" else "int8"
    third = b.output(shape, other, **quant(rng, other, -6, -3))
    b.operator("QUANTIZE", [second], [third])
    b.operator("DEQUANTIZE", [third], [b.output(shape)])
    compare(b.build(), tmp_path, rng, kinds=range(3))


@pytest.mark.parametrize("dtype", TYPES)
def test_data_operators_keep_the_bytes(dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    b = TfliteBuilder()
    same = quant(rng, dtype)
    x = b.input((2, 4, 6, 5), dtype, **same)

    def out(*shape: int) -> int:
        return b.output(shape, dtype, **same)

    widths = b.constant(np.array([[0, 0], [1, 2], [0, 1], [0, 0]], np.int32))
    b.operator("PAD", [x, widths], [out(2, 7, 7, 5)], "PadOptions")
    value = b.constant(np.array([np.iinfo(dtype).max], dtype), **same)
    b.operator("PADV2", [x, widths, value], [out(2, 7, 7, 5)], "PadV2Options")
    b.operator("TRANSPOSE", [x, b.constant(np.array([0, 3, 1, 2], np.int32))], [out(2, 5, 4, 6)])
    b.operator("RESHAPE", [x, b.constant(np.array([2, -1], np.int32))], [out(2, 120)])
    b.operator("CONCATENATION", [x, x], [out(2, 8, 6, 5)], "ConcatenationOptions", Axis=1)
    parts = [out(2, 4, 3, 5) for _ in range(2)]
    b.operator("SPLIT", [b.constant(np.array(2, np.int32)), x], parts, "SplitOptions", NumSplits=2)
    bounds = [b.constant(np.array(values, np.int32)) for values in ([0, 3, 0, 1], [2, 0, 6, 5], [1, -1, 2, 1])]
    b.operator("STRIDED_SLICE", [x, *bounds], [out(2, 3, 3, 4)], "StridedSliceOptions")
    b.operator("GATHER", [x, b.constant(np.array([3, 1], np.int32))], [out(2, 2, 6, 5)], "GatherOptions", Axis=1)
    b.operator("TILE", [x, b.constant(np.array([1, 2, 1, 1], np.int32))], [out(2, 8, 6, 5)])
    size = b.constant(np.array([8, 9], np.int32))
    b.operator("RESIZE_NEAREST_NEIGHBOR", [x, size], [out(2, 8, 9, 5)], "ResizeNearestNeighborOptions")
    b.operator("MAXIMUM", [x, b.input((5,), dtype, **same)], [out(2, 4, 6, 5)], "MaximumMinimumOptions")
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("size", "options"),
    [
        ((8, 10), {}),
        ((3, 2), {}),
        ((7, 9), {"AlignCorners": True}),
        ((8, 10), {"HalfPixelCenters": True}),
        ((6, 11), {"HalfPixelCenters": True}),
    ],
)
def test_resize_bilinear(size: tuple[int, int], options: dict[str, bool], dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    b = TfliteBuilder()
    same = quant(rng, dtype)
    operands = [b.input((2, 4, 5, 9), dtype, **same), b.constant(np.array(size, np.int32))]
    b.operator(
        "RESIZE_BILINEAR", operands, [b.output((2, *size, 9), dtype, **same)], "ResizeBilinearOptions", **options
    )
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("channels", [3, 8, 13])
def test_transpose_conv(channels: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(channels)
    b = TfliteBuilder()
    given = quant(rng, "int8")
    x = b.input((1, 4, 5, 6), "int8", **given)
    operands, y = weights(b, rng, (channels, 3, 3, 6), 0, given, "int8")
    sizes = b.constant(np.array([1, 8, 10, channels], np.int32))
    options = {"StrideH": 2, "StrideW": 2, "Padding": 0}
    out = b.output((1, 8, 10, channels), "int8", **y)
    b.operator("TRANSPOSE_CONV", [sizes, operands[0], x, operands[1]], [out], "TransposeConvOptions", **options)
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("name", ["REDUCE_MAX", "REDUCE_MIN"])
def test_reductions(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    b = TfliteBuilder()
    same = quant(rng, "int8")
    x, axes = b.input((2, 5, 6, 7), "int8", **same), b.constant(np.array([1, 2], np.int32))
    b.operator(name, [x, axes], [b.output((2, 7), "int8", **same)], "ReducerOptions")
    compare(b.build(), tmp_path, rng, kinds=range(6))


def test_uint8_concatenation_changes_scales(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    b = TfliteBuilder()
    operands = [b.input((4, 64), "uint8", **quant(rng, "uint8", -5, -3)) for _ in range(3)]
    y = b.output((4, 192), "uint8", **quant(rng, "uint8", -5, -3))
    b.operator("CONCATENATION", operands, [y], "ConcatenationOptions", Axis=1)
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", TYPES)
def test_prelu(dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    b = TfliteBuilder()
    x = b.input((1, 5, 6, 7), dtype, **quant(rng, dtype, -5, -3))
    alpha = random_constant(b, rng, (1, 1, 7), dtype)
    b.operator("PRELU", [x, alpha], [b.output((1, 5, 6, 7), dtype, **quant(rng, dtype, -5, -3))])
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_networks(seed: int, dtype: str, tmp_path: Path) -> None:
    """Convolutions with a residual connection, a pool, a classifier and a softmax."""
    rng = np.random.default_rng(100 + seed)
    b = TfliteBuilder()
    x = b.input((1, 12, 10, 3), dtype, **quant(rng, dtype, -6, -4))
    for _ in range(int(rng.integers(2, 5))):
        x = conv_layer(b, rng, x, dtype)
    shape = b.tensors[x].shape
    summed = {**quant(rng, dtype), "scale": float(b.tensors[x].scale[0]) * float(rng.uniform(1.0, 2.5))}
    total = b.tensor(shape, dtype, **summed)
    b.operator("ADD", [x, x], [total], "AddOptions", FusedActivationFunction=int(rng.integers(2)))
    same = {"scale": b.tensors[total].scale, "zero_point": b.tensors[total].zero_point}
    pooled = b.tensor((1, 1, 1, shape[3]), dtype, **same)
    window = {"FilterHeight": shape[1], "FilterWidth": shape[2], "StrideH": 1, "StrideW": 1, "Padding": 1}
    b.operator("AVERAGE_POOL_2D", [total], [pooled], "Pool2DOptions", **window)
    flat = b.tensor((1, shape[3]), dtype, **same)
    b.operator("RESHAPE", [pooled, b.constant(np.array([1, -1], np.int32))], [flat], "ReshapeOptions")
    operands, y = weights(b, rng, (6, shape[3]), 0, {"scale": same["scale"][0]}, dtype)
    logits = b.tensor((1, 6), dtype, **y)
    b.operator("FULLY_CONNECTED", [flat, *operands], [logits], "FullyConnectedOptions")
    out = b.output((1, 6), dtype, scale=1 / 256, zero_point=np.iinfo(dtype).min)
    b.operator("SOFTMAX", [logits], [out], "SoftmaxOptions", Beta=1.0)
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("seed", SEEDS)
def test_dynamic_range(seed: int, tmp_path: Path) -> None:
    """float32 activations with int8 weights: LiteRT quantizes the input at run time."""
    rng = np.random.default_rng(seed)
    per_channel, depthwise = bool(seed % 2), seed in (1, 5)
    b = TfliteBuilder()
    c, channels = 8, 8 if depthwise else int(rng.integers(1, 20))
    shape, axis = ((1, 3, 3, channels), 3) if depthwise else ((channels, 3, 3, c), 0)
    scales = (2.0 ** rng.uniform(-8, -5, channels if per_channel else 1)).astype(np.float32)
    filters = b.constant(rng.integers(-127, 128, shape).astype(np.int8), scale=scales, axis=axis)
    bias = b.constant(rng.standard_normal(channels).astype(np.float32))
    y = b.output((1, 6, 7, channels))
    options: dict[str, Any] = {"Padding": 0, "StrideH": 1, "StrideW": 1, "FusedActivationFunction": seed % 4}
    x = b.input((1, 6, 7, c))
    if depthwise:
        b.operator("DEPTHWISE_CONV_2D", [x, filters, bias], [y], "DepthwiseConv2DOptions", DepthMultiplier=1, **options)
    else:
        b.operator("CONV_2D", [x, filters, bias], [y], "Conv2DOptions", **options)
    flat = b.constant(rng.integers(-127, 128, (5, c)).astype(np.int8), scale=float(2.0 ** rng.uniform(-8, -5)))
    rows = b.input((3, c))
    asymmetric = bool(rng.integers(2))
    b.operator(
        "FULLY_CONNECTED",
        [rows, flat, -1],
        [b.output((3, 5))],
        "FullyConnectedOptions",
        AsymmetricQuantizeInputs=asymmetric,
    )
    compare(b.build(), tmp_path, rng, kinds=range(3))


def test_the_comparison_notices_one_step(tmp_path: Path) -> None:
    """A model whose weights differ in one bit from the one that LiteRT runs must not pass."""
    rng = np.random.default_rng(4)
    b = TfliteBuilder()
    given = {"scale": 0.05, "zero_point": 3}
    x = b.input((1, 16), "int8", **given)
    operands, y = weights(b, rng, (12, 16), 0, given, "int8")
    b.operator("FULLY_CONNECTED", [x, *operands], [b.output((1, 12), "int8", **y)], "FullyConnectedOptions")
    from litert_rung import interpreter

    engine = interpreter(b.build())
    feed = [random_input(rng, detail) for detail in engine.get_input_details()]
    before = run_interpreter(engine, feed)[0]
    filters = b.tensors[operands[0]].data
    assert filters is not None
    filters[:, 0] ^= 64
    after = run_interpreter(interpreter(b.build()), feed)[0]
    assert np.any(before != after)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_negation_takes_integers_as_they_are(dtype: str, tmp_path: Path) -> None:
    """The least one is its own negative; scales and zero points play no part."""
    rng = np.random.default_rng(4)
    b = TfliteBuilder()
    x = b.input((4, 9), dtype, scale=0.02, zero_point=3 if dtype == "int8" else 0)
    b.operator("NEG", [x], [b.output((4, 9), dtype, scale=0.05, zero_point=-7 if dtype == "int8" else 0)])
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize(("axes", "keep"), [((1,), True), ((2,), False), ((0, 2), True), ((3,), False), ((0,), False)])
def test_products(dtype: str, axes: tuple[int, ...], keep: bool, tmp_path: Path) -> None:
    """Of one factor (axis 0) the integers are copied."""
    rng = np.random.default_rng(5)
    b = TfliteBuilder()
    shape, unit = (1, 3, 4, 5), 1.0 if dtype == "int8" else 2.0**-8
    x = b.input(shape, dtype, scale=0.011 * unit, zero_point=9 if dtype == "int8" else 0)
    out = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
    y = b.output(out, dtype, scale=0.017 * unit, zero_point=-20 if dtype == "int8" else 0)
    b.operator("REDUCE_PROD", [x, b.constant(np.array(axes, np.int32))], [y], "ReducerOptions", KeepDims=keep)
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("scales", [1, 5])
@pytest.mark.parametrize(("kernel", "stride"), [((3, 3), (2, 2)), ((2, 2), (2, 2)), ((1, 4), (3, 1)), ((3, 2), (1, 1))])
def test_transposed_convolution_of_floats_by_bytes(
    kernel: tuple[int, int], stride: tuple[int, int], scales: int, padding: int, tmp_path: Path
) -> None:
    """Dynamic range: the image is quantized at run time."""
    b, rng = TfliteBuilder(), np.random.default_rng(12)
    filters = b.constant(
        rng.integers(-127, 128, (5, *kernel, 3)).astype(np.int8), scale=rng.uniform(0.01, 0.03, scales), axis=0
    )
    sizes = [
        size * step if padding == 0 else (size - 1) * step + max(k, step)
        for size, step, k in zip((4, 5), stride, kernel, strict=True)
    ]
    inputs = [b.constant(np.array([2, *sizes, 5], np.int32)), filters, b.input((2, 4, 5, 3))]
    inputs.append(b.constant(rng.normal(size=5).astype(np.float32)))
    options = {"StrideH": stride[0], "StrideW": stride[1], "Padding": padding}
    b.operator("TRANSPOSE_CONV", inputs, [b.output((2, *sizes, 5))], "TransposeConvOptions", **options)
    compare(b.build(), tmp_path, rng, kinds=(0, 1, 2))


@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_pools_whose_scales_differ_by_rounding(name: str, tmp_path: Path) -> None:
    b, rng = TfliteBuilder(), np.random.default_rng(13)
    x = b.input((1, 4, 4, 3), "int8", scale=0.0235294, zero_point=-5)
    y = b.output((1, 2, 2, 3), "int8", scale=0.0235295, zero_point=-5)
    window = {"FilterHeight": 2, "FilterWidth": 2, "StrideH": 2, "StrideW": 2}
    b.operator(name, [x], [y], "Pool2DOptions", **window)
    compare(b.build(), tmp_path, rng, kinds=range(6))
