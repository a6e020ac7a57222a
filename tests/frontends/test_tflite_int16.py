"""TFLite operators on 16-bit activations (with 8-bit weights), byte for byte as LiteRT's built-in kernels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite
from litert_rung import compare, converted
from tflite_builder import TfliteBuilder

import microlith
from microlith import modelfile
from microlith.errors import UnsupportedError
from microlith.evaluate import evaluate

SEEDS = range(8)
Q15 = 1 / 32768
BIAS_TYPES = {"int32": tflite.TensorType.INT32, "int64": tflite.TensorType.INT64}


def scale_of(rng: np.random.Generator, low: float = -14.0, high: float = -9.0) -> dict[str, Any]:
    """A random scale; the zero point is 0."""
    return {"scale": float(np.float32(2.0 ** rng.uniform(low, high)))}


def ends(rng: np.random.Generator, shape: Sequence[int], count: int) -> list[list[np.ndarray]]:
    """Inputs: anything, small numbers, the ends of the range, zeros."""
    return [
        [rng.integers(-32768, 32768, shape).astype(np.int16) for _ in range(count)],
        [rng.integers(-40, 41, shape).astype(np.int16) for _ in range(count)],
        [np.full(shape, -32768, np.int16) for _ in range(count)],
        [np.full(shape, 32767, np.int16) for _ in range(count)],
        [np.zeros(shape, np.int16) for _ in range(count)],
    ]


def check(b: TfliteBuilder, folder: Path, rng: np.random.Generator) -> None:
    data = b.build()
    for index in range(5):
        arrays = [ends(rng, b.tensors[i].shape, 1)[index][0] for i in b.inputs]
        compare(data, folder, rng, arrays=arrays)


def weights(
    b: TfliteBuilder, rng: np.random.Generator, shape: tuple[int, ...], axis: int, x_scale: float, bias_type: str
) -> tuple[list[int], float]:
    """[weights, bias] and an output scale that uses its range."""
    channels, depth = shape[axis], int(np.prod(shape)) // shape[axis]
    scales = (2.0 ** rng.uniform(-9, -5, channels if rng.integers(3) else 1)).astype(np.float32)
    filters = b.constant(rng.integers(-127, 128, shape).astype(np.int8), scale=scales, axis=axis)
    bias_scale = np.float32(x_scale) * scales
    limit = 1 << (30 if bias_type == "int32" else 34)
    bias = b.constant(rng.integers(-limit // 256, limit // 256, channels).astype(bias_type), scale=bias_scale)
    spread = float(bias_scale.mean()) * 19000.0 * 74.0 * depth**0.5
    return [filters, bias], spread / 8192.0 * float(2.0 ** rng.uniform(-1, 2))


@pytest.mark.parametrize("bias_type", ["int32", "int64"])
@pytest.mark.parametrize("seed", range(12))
def test_convolution(seed: int, bias_type: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    n, h, w, c = int(rng.integers(1, 3)), *(int(v) for v in rng.integers(3, 9, 2)), int(rng.integers(1, 12))
    kernel = [int(v) for v in rng.integers(1, 4, 2)]
    stride, padding = int(rng.integers(1, 3)), int(rng.integers(2))
    options: dict[str, Any] = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    options["FusedActivationFunction"] = int(rng.choice([0, 1, 3]))
    sizes = [
        -(-s // stride) if padding == 0 else -(-(s - k + 1) // stride) for s, k in zip((h, w), kernel, strict=True)
    ]
    given = scale_of(rng)
    x = b.input((n, h, w, c), "int16", **given)
    if bias_type == "int64" and rng.integers(2):
        channels = c * int(rng.integers(1, 3))
        operands, scale = weights(b, rng, (1, *kernel, channels), 3, given["scale"], bias_type)
        y = b.output((n, *sizes, channels), "int16", scale=scale)
        table = "DepthwiseConv2DOptions"
        b.operator("DEPTHWISE_CONV_2D", [x, *operands], [y], table, DepthMultiplier=channels // c, **options)
    else:
        channels = int(rng.integers(1, 21))
        operands, scale = weights(b, rng, (channels, *kernel, c), 0, given["scale"], bias_type)
        y = b.output((n, *sizes, channels), "int16", scale=scale)
        b.operator("CONV_2D", [x, *operands], [y], "Conv2DOptions", QuantizedBiasType=BIAS_TYPES[bias_type], **options)
    check(b, tmp_path, rng)


@pytest.mark.parametrize("bias_type", ["", "int64"])
@pytest.mark.parametrize("seed", SEEDS)
def test_transpose_conv(seed: int, bias_type: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    height, width, depth, channels = (int(v) for v in rng.integers(1, 9, 4))
    kernel, stride, padding = [int(v) for v in rng.integers(2, 5, 2)], int(rng.integers(1, 3)), int(rng.integers(2))
    given = scale_of(rng)
    x = b.input((1, height, width, depth), "int16", **given)
    operands, scale = weights(b, rng, (channels, *kernel, depth), 0, given["scale"], bias_type or "int64")
    sizes = [s * stride if padding == 0 else (s - 1) * stride + k for s, k in zip((height, width), kernel, strict=True)]
    y = b.output((1, *sizes, channels), "int16", scale=scale)
    options = {"Padding": padding, "StrideH": stride, "StrideW": stride}
    shape = b.constant(np.array([1, *sizes, channels], np.int32))
    inputs = [shape, operands[0], x, *(operands[1:] if bias_type else [])]
    b.operator("TRANSPOSE_CONV", inputs, [y], "TransposeConvOptions", **options)
    check(b, tmp_path, rng)


@pytest.mark.parametrize("options", [{}, {"AlignCorners": True}, {"HalfPixelCenters": True}], ids=str)
@pytest.mark.parametrize("size", [(8, 10), (3, 2), (7, 9)], ids=str)
def test_resizes(size: tuple[int, int], options: dict[str, bool], tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    b = TfliteBuilder()
    given = scale_of(rng)
    x, sizes = b.input((2, 4, 5, 3), "int16", **given), b.constant(np.array(size, np.int32))
    for name in ("ResizeBilinear", "ResizeNearestNeighbor"):
        y = b.output((2, *size, 3), "int16", **given)
        operator = "RESIZE_BILINEAR" if name == "ResizeBilinear" else "RESIZE_NEAREST_NEIGHBOR"
        b.operator(operator, [x, sizes], [y], f"{name}Options", **options)
    check(b, tmp_path, rng)


@pytest.mark.parametrize("bias_type", ["int32", "int64"])
@pytest.mark.parametrize("seed", SEEDS)
def test_fully_connected(seed: int, bias_type: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    rows, depth, units = int(rng.integers(1, 6)), int(rng.integers(1, 70)), int(rng.integers(1, 40))
    given = scale_of(rng)
    x = b.input((rows, depth), "int16", **given)
    operands, scale = weights(b, rng, (units, depth), 0, given["scale"], bias_type)
    y = b.output((rows, units), "int16", scale=scale)
    activation = int(rng.choice([0, 1, 3]))
    options = {"FusedActivationFunction": activation, "QuantizedBiasType": BIAS_TYPES[bias_type]}
    b.operator("FULLY_CONNECTED", [x, *operands], [y], "FullyConnectedOptions", **options)
    check(b, tmp_path, rng)


@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL"])
@pytest.mark.parametrize("seed", SEEDS)
def test_arithmetic(seed: int, name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    shapes = [((2, 5, 7), (2, 5, 7)), ((2, 5, 7), (7,)), ((2, 5, 1), (1, 5, 7)), ((3, 4, 8), ())][seed % 4]
    p, q = (b.input(shape, "int16", **scale_of(rng)) for shape in shapes)
    y = b.output(np.broadcast_shapes(*shapes), "int16", **scale_of(rng, *((-9, -6) if name == "MUL" else (-13, -9))))
    activation = int(rng.choice([0, 1, 3]))
    b.operator(name, [p, q], [y], f"{name.capitalize()}Options", FusedActivationFunction=activation)
    check(b, tmp_path, rng)


@pytest.mark.parametrize("name", ["MAXIMUM", "MINIMUM"])
def test_extremes(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    b = TfliteBuilder()
    given = scale_of(rng)
    p, q = b.input((3, 4, 5), "int16", **given), b.input((4, 1), "int16", **given)
    b.operator(name, [p, q], [b.output((3, 4, 5), "int16", **given)], "MaximumMinimumOptions")
    check(b, tmp_path, rng)


@pytest.mark.parametrize("name", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
@pytest.mark.parametrize("seed", SEEDS)
def test_pools(seed: int, name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    given = scale_of(rng)
    x = b.input((2, 7, 9, 5), "int16", **given)
    padding, stride = int(rng.integers(2)), int(rng.integers(1, 3))
    kernel = [int(v) for v in rng.integers(1, 4, 2)]
    sizes = [
        -(-s // stride) if padding == 0 else -(-(s - k + 1) // stride) for s, k in zip((7, 9), kernel, strict=True)
    ]
    y = b.output((2, *sizes, 5), "int16", **given)
    options = {"Padding": padding, "StrideH": stride, "StrideW": stride, "FilterHeight": kernel[0]}
    activation = int(rng.choice([0, 1, 3]))
    b.operator(name, [x], [y], "Pool2DOptions", FilterWidth=kernel[1], FusedActivationFunction=activation, **options)
    check(b, tmp_path, rng)


@pytest.mark.parametrize("name", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("seed", range(12))
def test_sigmoids(seed: int, name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    x = b.input((4000,), "int16", **scale_of(rng, -17, -7))
    b.operator(name, [x], [b.output((4000,), "int16", scale=Q15)])
    check(b, tmp_path, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_softmax(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    x = b.input((5, int(rng.integers(1, 60))), "int16", **scale_of(rng, -14, -8))
    y = b.output(b.tensors[x].shape, "int16", scale=Q15)
    b.operator("SOFTMAX", [x], [y], "SoftmaxOptions", Beta=float(rng.choice([1.0, 0.5])))
    check(b, tmp_path, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_leaky_relu(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    x, y = b.input((900,), "int16", **scale_of(rng)), b.output((900,), "int16", **scale_of(rng))
    b.operator("LEAKY_RELU", [x], [y], "LeakyReluOptions", Alpha=float(rng.choice([0.1, 0.3, 0.01])))
    check(b, tmp_path, rng)


@pytest.mark.parametrize("name", ["MEAN", "SUM"])
@pytest.mark.parametrize("axes", [(1, 2), (1,), (3,), (0, 1, 2, 3)])
@pytest.mark.parametrize("keep", [False, True])
def test_reductions(name: str, axes: tuple[int, ...], keep: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(len(axes) + keep)
    b = TfliteBuilder()
    shape = (2, 5, 6, 19)
    x = b.input(shape, "int16", **scale_of(rng))
    result = tuple(1 if i in axes else dim for i, dim in enumerate(shape) if keep or i not in axes)
    y = b.output(result, "int16", **scale_of(rng, *((-14, -10) if name == "MEAN" else (-9, -7))))
    b.operator(name, [x, b.constant(np.array(axes, np.int32))], [y], "ReducerOptions", KeepDims=keep)
    check(b, tmp_path, rng)


@pytest.mark.parametrize(("source", "target"), [("int16", "int16"), ("int16", "int8"), ("int8", "int16")])
@pytest.mark.parametrize("count", [7, 40])
@pytest.mark.parametrize("seed", range(4))
def test_quantize(seed: int, count: int, source: str, target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)

    def quant(dtype: str) -> dict[str, Any]:
        return (
            scale_of(rng) if dtype == "int16" else {**scale_of(rng, -6, -2), "zero_point": int(rng.integers(-128, 128))}
        )

    b = TfliteBuilder()
    x, y = b.input((count,), source, **quant(source)), b.output((count,), target, **quant(target))
    b.operator("QUANTIZE", [x], [y])
    compare(b.build(), tmp_path, rng, kinds=range(6))


@pytest.mark.parametrize("count", [5, 8, 300])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_real_numbers(dtype: str, count: int, tmp_path: Path) -> None:
    """Ties among them, which LiteRT rounds in one way in whole groups of 8 elements, in another way past them."""
    rng = np.random.default_rng(count)
    info = np.iinfo(dtype)
    for scale in (1e-4, 0.0078125, 0.3):
        b = TfliteBuilder()
        zero = 0 if dtype == "int16" else int(rng.integers(info.min, info.max))
        x, y = b.input((count,)), b.output((count,), dtype, scale=scale, zero_point=zero)
        b.operator("QUANTIZE", [x], [y])
        steps = rng.integers(info.min - zero - 3, info.max - zero + 3, count) + rng.choice([0.5, 0.0, 0.3], count)
        compare(b.build(), tmp_path, rng, arrays=[(steps * np.float32(scale)).astype(np.float32)])


@pytest.mark.parametrize("scale", [1 / 65536, 1 / 65535])
@pytest.mark.parametrize("depth", [2, 7, 100])
def test_softmax_of_bytes(depth: int, scale: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(depth)
    b = TfliteBuilder()
    x = b.input((40, depth), "int8", scale=0.07, zero_point=3)
    y = b.output((40, depth), "int16", scale=scale, zero_point=-32768)
    b.operator("SOFTMAX", [x], [y], "SoftmaxOptions", Beta=1.0)
    data = b.build()
    compare(data, tmp_path, rng, arrays=[rng.integers(-128, 128, (40, depth)).astype(np.int8)])


@pytest.mark.parametrize("seed", SEEDS)
def test_quantize_to_int32(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    x = b.input((50,), "int16", **scale_of(rng))
    y = b.output((50,), "int32", zero_point=0, **scale_of(rng, -20))
    b.operator("QUANTIZE", [x], [y])
    check(b, tmp_path, rng)


@pytest.mark.parametrize("same", [True, False])
def test_quotients(same: bool, tmp_path: Path) -> None:
    """Of one shape LiteRT computes them in floating point, else in integers; by zero it refuses both."""
    rng = np.random.default_rng(8)
    b = TfliteBuilder()
    p = b.input((3, 4, 5), "int16", scale=0.001, zero_point=0)
    q = b.input((3, 4, 5) if same else (5,), "int16", scale=0.003, zero_point=0)
    y = b.output((3, 4, 5), "int16", scale=0.37 / 2**15, zero_point=0)
    b.operator("DIV", [p, q], [y], "DivOptions", FusedActivationFunction=int(same))
    for _ in range(4):
        divisor = rng.integers(200, 32768, (3, 4, 5) if same else (5,)) * rng.choice([-1, 1])
        arrays = [rng.integers(-32768, 32768, (3, 4, 5)).astype(np.int16), divisor.astype(np.int16)]
        compare(b.build(), tmp_path, rng, arrays=arrays)


def test_prelu_with_slopes_of_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    b = TfliteBuilder()
    x = b.input((1, 5, 6, 7), "int16", scale=0.001, zero_point=0)
    slopes = b.constant(rng.integers(-128, 128, (1, 1, 7)).astype(np.int8), scale=0.01, zero_point=-3)
    b.operator("PRELU", [x, slopes], [b.output((1, 5, 6, 7), "int16", scale=0.0013, zero_point=0)])
    compare(b.build(), tmp_path, rng, kinds=range(6))


def test_prelu_with_wide_slopes_is_refused() -> None:
    """LiteRT reads their bytes as int8."""
    b = TfliteBuilder()
    x = b.input((1, 5), "int16", scale=0.001, zero_point=0)
    slopes = b.constant(np.arange(5).astype(np.int16), scale=0.01, zero_point=0)
    b.operator("PRELU", [x, slopes], [b.output((1, 5), "int16", scale=0.0013, zero_point=0)])
    with pytest.raises(UnsupportedError, match="slopes that are not int8"):
        converted(b.build())


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("scales", [1, 7])
@pytest.mark.parametrize("constant", [True, False])
def test_products_by_bytes(constant: bool, scales: int, adjoint: bool, tmp_path: Path) -> None:
    """int16 by int8. With several scales LiteRT gives zeros: within one step of the products in double precision."""
    rng = np.random.default_rng(10)
    b = TfliteBuilder()
    matrix = rng.integers(-127, 128, (9, 7)).astype(np.int8)
    given = np.ascontiguousarray(matrix.T) if adjoint else matrix
    b_scale = np.linspace(0.01, 0.03, scales, dtype=np.float32)
    quant = {"scale": b_scale, "zero_point": 0, "axis": 0 if adjoint else 1}
    x = b.input((2, 5, 9), "int16", scale=0.001, zero_point=0)
    w = b.constant(given, **quant) if constant else b.input(given.shape, "int8", **quant)
    y = b.output((2, 5, 7), "int16", scale=0.004, zero_point=0)
    b.operator("BATCH_MATMUL", [x, w], [y], "BatchMatMulOptions", AdjY=adjoint)
    if not constant and scales > 1:
        with pytest.raises(UnsupportedError, match="several scales"):
            converted(b.build())
        return
    a = rng.integers(-32768, 32768, (2, 5, 9)).astype(np.int16)
    arrays = [a] if constant else [a, given]
    if scales == 1:
        compare(b.build(), tmp_path, rng, arrays=arrays)
    graph = converted(b.build())
    modelfile.save(graph, tmp_path / "test.lith")
    feed = {value.name: array for value, array in zip(graph.inputs, arrays, strict=True)}
    wanted = a.astype(np.float64) @ (matrix * b_scale.astype(np.float64)) * 0.001 / 0.004
    for results in (evaluate(graph, feed), microlith.load(tmp_path / "test.lith").run(feed)):
        (result,) = results.values()
        assert result.dtype == np.int16
        np.testing.assert_allclose(result, np.clip(wanted, -32768, 32767), rtol=0, atol=1)


@pytest.mark.parametrize("name", ["SQRT", "RSQRT"])
@pytest.mark.parametrize("seed", range(4))
def test_roots(seed: int, name: str, tmp_path: Path) -> None:
    """Of every number that has one."""
    b, rng = TfliteBuilder(), np.random.default_rng(seed)
    x = b.input((1 << 15,), "int16", **scale_of(rng))
    y = b.output((1 << 15,), "int16", **scale_of(rng, -12, -4))
    b.operator(name, [x], [y])
    compare(b.build(), tmp_path, rng, arrays=[np.arange(1 << 15).astype(np.int16)])


def test_shape_of_a_transposed_convolution_that_is_an_input(tmp_path: Path) -> None:
    """The file states the output's: as with that shape for a constant, as TFLite Micro does it."""
    rng, results = np.random.default_rng(11), []
    x = rng.integers(-32768, 32768, (1, 3, 4, 2)).astype(np.int16)
    filters, sizes = rng.integers(-127, 128, (5, 3, 2, 2)).astype(np.int8), np.array([1, 7, 8, 5], np.int32)
    for constant in (True, False):
        b = TfliteBuilder()
        shape = b.constant(sizes) if constant else b.input((4,), "int32")
        image = b.input(x.shape, "int16", scale=0.001, zero_point=0)
        y = b.output(sizes.tolist(), "int16", scale=0.01, zero_point=0)
        weights = b.constant(filters, scale=0.02, zero_point=0)
        options = {"StrideH": 2, "StrideW": 2, "Padding": 1}
        b.operator("TRANSPOSE_CONV", [shape, weights, image], [y], "TransposeConvOptions", **options)
        graph = converted(b.build())
        arrays = [x] if constant else [np.zeros(4, np.int32), x]
        feed = {value.name: array for value, array in zip(graph.inputs, arrays, strict=True)}
        results.append(evaluate(graph, feed))
        if constant:
            compare(b.build(), tmp_path, rng, arrays=[x])
    for one, other in zip(results[0].values(), results[1].values(), strict=True):
        np.testing.assert_array_equal(one, other)
