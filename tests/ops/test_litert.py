"""Rung 1 of the ladder for integers: materialized s8 nodes against LiteRT's built-in kernels, byte for byte.

Each test builds a TFLite model of one operator in memory, runs it in LiteRT without delegates, and holds the NumPy
reference of the materialized node against it, under the contract ``tflite-double``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from litert_rung import interpreter, run_interpreter
from tflite_builder import TfliteBuilder

from microlith import ops
from microlith.dtypes import DType
from microlith.ir import Graph, Quant, TensorType, Value

SEEDS = range(12)
_SAME, _VALID = 0, 1
_NONE, _RELU, _RELU6 = 0, 1, 3
_CLAMPS: dict[int, dict[str, float]] = {
    _NONE: {},
    _RELU: {"clamp_min": 0.0},
    _RELU6: {"clamp_min": 0.0, "clamp_max": 6.0},
}


@dataclass
class Tensor:
    """A tensor of a TFLite model. ``data`` None: an activation."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    quant: Quant | None = None
    data: np.ndarray | None = None


def constant(name: str, data: np.ndarray, quant: Quant | None = None) -> Tensor:
    return Tensor(name, data.shape, data.dtype, quant, data)


def build_model(
    operator: str, table: str | None, options: Mapping[str, Any], inputs: Sequence[Tensor], output: Tensor
) -> bytes:
    """A model of one operator; activations among ``inputs`` are its inputs."""
    builder = TfliteBuilder()

    def add(tensor: Tensor) -> int:
        quant: dict[str, Any] = {"name": tensor.name}
        if tensor.quant is not None:
            quant |= {
                "scale": tensor.quant.scale,
                "zero_point": tensor.quant.zero_point,
                "axis": tensor.quant.axis or 0,
            }
        if tensor.data is not None:
            return builder.constant(tensor.data, **quant)
        make = builder.output if tensor is output else builder.input
        return make(tensor.shape, str(np.dtype(tensor.dtype)), **quant)

    indices = [add(tensor) for tensor in inputs]
    builder.operator(operator, indices, [add(output)], table, **options)
    return builder.build()


def run_reference(
    op: str, attrs: Mapping[str, Any], inputs: Sequence[Tensor], output: Tensor, arrays: Sequence[np.ndarray]
) -> np.ndarray:
    """The node materialized under tflite-double, through its reference."""
    graph, feed = Graph(contract="tflite-double"), iter(arrays)
    data = [next(feed) if tensor.data is None else tensor.data for tensor in inputs]
    values = [Value(t.name, TensorType(DType.from_numpy(t.dtype), t.shape), data=t.data, quant=t.quant) for t in inputs]
    node = graph.add(op, values, attrs, quant=output.quant)
    opdef = ops.get(op)
    assert opdef.quant is not None and opdef.quant.materialize is not None
    set_attrs, constants = opdef.quant.materialize(node, graph.contract)
    operands: list[np.ndarray | None] = list(data)
    for index, array in constants.items():
        operands += [None] * (index + 1 - len(operands))
        operands[index] = array
    (result,) = opdef.reference(operands, opdef.complete_attrs({**node.attrs, **set_attrs}))
    return result


def compare(
    op: str,
    attrs: Mapping[str, Any],
    inputs: Sequence[Tensor],
    output: Tensor,
    operator: str,
    table: str | None,
    options: Mapping[str, Any],
    rng: np.random.Generator,
    swap: Sequence[Tensor] | None = None,
) -> None:
    """``swap``: the inputs as TFLite wants them, where they differ from ours."""
    arrays = []
    for tensor in inputs:
        if tensor.data is None:
            if np.dtype(tensor.dtype).kind == "f":
                assert output.quant is not None
                span = 200.0 * float(output.quant.scale[0])
                arrays.append(rng.uniform(-span, span, tensor.shape).astype(np.float32))
            else:
                info = np.iinfo(tensor.dtype)
                arrays.append(rng.integers(info.min, info.max + 1, tensor.shape).astype(tensor.dtype))
    actual = run_reference(op, attrs, inputs, output, arrays)
    model = build_model(operator, table, options, swap or inputs, output)
    (expected,) = run_interpreter(interpreter(model), arrays)
    if expected.dtype == np.float32:
        # LiteRT multiplies before it subtracts the zero point, which costs it some bits.
        np.testing.assert_allclose(actual.reshape(expected.shape), expected, rtol=0, atol=4e-7 * np.abs(expected).max())
    else:
        np.testing.assert_array_equal(actual.reshape(expected.shape), expected)


def random_quant(rng: np.random.Generator, low: float = -7.0, high: float = 0.0) -> Quant:
    return Quant.per_tensor(float(2.0 ** rng.uniform(low, high)), int(rng.integers(-128, 128)))


def activation(rng: np.random.Generator) -> int:
    return int(rng.choice([_NONE, _RELU, _RELU6]))


def weights_of(
    rng: np.random.Generator, shape: tuple[int, ...], axis: int, per_channel: bool
) -> tuple[np.ndarray, Quant]:
    count = shape[axis] if per_channel else 1
    scale = (2.0 ** rng.uniform(-9, -4, count)).astype(np.float32)
    quant = Quant(scale, np.zeros(count, np.int64), axis if per_channel else None)
    return rng.integers(-127, 128, shape).astype(np.int8), quant


def bias_of(rng: np.random.Generator, channels: int, x: Quant, w: Quant) -> Tensor:
    quant = Quant(x.scale[0] * w.scale, np.zeros(w.scale.size, np.int64), None if w.axis is None else 0)
    return constant("bias", rng.integers(-3000, 3000, channels).astype(np.int32), quant)


def weighted_output(rng: np.random.Generator, x: Quant, w: Quant, depth: int) -> Quant:
    spread = float(x.scale[0] * w.scale.mean()) * 74.0 * 74.0 * depth**0.5
    return Quant.per_tensor(spread / 60.0 * float(2.0 ** rng.uniform(-1, 1)), int(rng.integers(-128, 128)))


@pytest.mark.parametrize("seed", SEEDS)
def test_conv2d(seed: int) -> None:
    rng = np.random.default_rng(seed)
    in_c, out_c, kernel = int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 4))
    x = random_quant(rng)
    data, w = weights_of(rng, (out_c, kernel, kernel, in_c), 0, per_channel=bool(seed % 3))
    stride, fused = 1 + seed % 2, activation(rng)
    options = {"Padding": _VALID, "StrideH": stride, "StrideW": 1, "FusedActivationFunction": fused}
    height, width = kernel + 4, kernel + 5
    y_shape = (1, 4 // stride + 1, 6, out_c)
    inputs = [Tensor("x", (1, height, width, in_c), np.int8, x), constant("w", data, w), bias_of(rng, out_c, x, w)]
    output = Tensor("y", y_shape, np.int8, weighted_output(rng, x, w, in_c * kernel * kernel))
    attrs = {"stride_h": stride, **_CLAMPS[fused]}
    compare("conv2d", attrs, inputs, output, "CONV_2D", "Conv2DOptions", options, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_depthwise_conv2d(seed: int) -> None:
    rng = np.random.default_rng(seed)
    in_c, multiplier = int(rng.integers(1, 19)), int(rng.integers(1, 3))
    x, out_c = random_quant(rng), in_c * multiplier
    data, w = weights_of(rng, (1, 3, 3, out_c), 3, per_channel=True)
    fused = activation(rng)
    options = {"Padding": _SAME, "StrideH": 1, "StrideW": 1, "FusedActivationFunction": fused}
    options["DepthMultiplier"] = multiplier
    inputs = [Tensor("x", (1, 5, 6, in_c), np.int8, x), constant("w", data, w), bias_of(rng, out_c, x, w)]
    output = Tensor("y", (1, 5, 6, out_c), np.int8, weighted_output(rng, x, w, 9))
    pads = dict.fromkeys(("pad_top", "pad_left", "pad_bottom", "pad_right"), 1)
    attrs = {**pads, "groups": in_c, **_CLAMPS[fused]}
    compare("depthwise_conv2d", attrs, inputs, output, "DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions", options, rng)


@pytest.mark.parametrize("seed", range(40))
def test_dense(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, depth, units = int(rng.integers(1, 4)), int(rng.integers(1, 80)), int(rng.integers(1, 30))
    x = random_quant(rng)
    per_channel = seed % 4 == 0
    data, w = weights_of(rng, (units, depth), 0, per_channel)
    fused = activation(rng)
    inputs = [Tensor("x", (rows, depth), np.int8, x), constant("w", data, w), bias_of(rng, units, x, w)]
    output = Tensor("y", (rows, units), np.int8, weighted_output(rng, x, w, depth))
    compare(
        "dense",
        _CLAMPS[fused],
        inputs,
        output,
        "FULLY_CONNECTED",
        "FullyConnectedOptions",
        {"FusedActivationFunction": fused},
        rng,
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op", ["add", "sub", "mul"])
def test_binary(op: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_quant(rng), random_quant(rng)
    spread = float(a.scale[0] * b.scale[0] * 40) if op == "mul" else float(max(a.scale[0], b.scale[0]))
    y = Quant.per_tensor(spread * float(2.0 ** rng.uniform(0, 2)), int(rng.integers(-128, 128)))
    fused = activation(rng)
    b_shape = [(1, 4, 5, 6), (1, 1, 1, 6), (1, 1, 1, 1)][seed % 3]
    inputs = [Tensor("a", (1, 4, 5, 6), np.int8, a), Tensor("b", b_shape, np.int8, b)]
    output = Tensor("y", (1, 4, 5, 6), np.int8, y)
    compare(
        op, _CLAMPS[fused], inputs, output, op.upper(), f"{op.title()}Options", {"FusedActivationFunction": fused}, rng
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_prelu(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, alpha = random_quant(rng), random_quant(rng, -10, -6)
    y = Quant.per_tensor(float(x.scale[0]) * float(2.0 ** rng.uniform(-1, 1)), int(rng.integers(-128, 128)))
    slopes = constant("slope", rng.integers(-128, 128, (1, 1, 6)).astype(np.int8), alpha)
    inputs = [Tensor("x", (1, 4, 5, 6), np.int8, x), slopes]
    compare("prelu", {}, inputs, Tensor("y", (1, 4, 5, 6), np.int8, y), "PRELU", None, {}, rng)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("op", "operator"), [("avg_pool2d", "AVERAGE_POOL_2D"), ("max_pool2d", "MAX_POOL_2D")])
def test_pool(op: str, operator: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    quant, channels = random_quant(rng), int(rng.integers(1, 20))
    fused = activation(rng)
    options = {"Padding": _SAME, "StrideH": 1, "StrideW": 1, "FusedActivationFunction": fused}
    options |= {"FilterHeight": 3, "FilterWidth": 3}
    inputs = [Tensor("x", (2, 5, 6, channels), np.int8, quant)]
    output = Tensor("y", (2, 5, 6, channels), np.int8, quant)
    pads = dict.fromkeys(("pad_top", "pad_left", "pad_bottom", "pad_right"), 1)
    attrs = {"kernel_h": 3, "kernel_w": 3, **pads, **_CLAMPS[fused]}
    compare(op, attrs, inputs, output, operator, "Pool2DOptions", options, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_softmax(seed: int) -> None:
    rng = np.random.default_rng(seed)
    beta = [1.0, 0.5][seed % 2]
    shape = (3, int(rng.integers(1, 40)))
    inputs = [Tensor("x", shape, np.int8, random_quant(rng, -7, 0))]
    output = Tensor("y", shape, np.int8, Quant.per_tensor(1.0 / 256.0, -128))
    compare("softmax", {"axis": 1, "beta": beta}, inputs, output, "SOFTMAX", "SoftmaxOptions", {"Beta": beta}, rng)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("op", "operator"), [("reduce_mean", "MEAN"), ("reduce_sum", "SUM")])
def test_reduce(op: str, operator: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (2, int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 9)))
    axes = [(1, 2), (1,), (3,), (1, 2, 3), (0, 2), (2, 1)][seed % 6]
    keep = bool(seed % 2)
    x = random_quant(rng)
    count = int(np.prod([shape[axis] for axis in axes])) if op == "reduce_sum" else 1
    y = x
    if seed % 3:
        y = Quant.per_tensor(
            float(x.scale[0]) * count**0.5 * float(2.0 ** rng.uniform(-1, 1)), int(rng.integers(-128, 128))
        )
    y_shape = tuple(1 if axis in axes else dim for axis, dim in enumerate(shape) if keep or axis not in axes)
    inputs = [Tensor("x", shape, np.int8, x)]
    swap = [*inputs, constant("axes", np.array(axes, np.int32))]
    attrs = {"axes": sum(1 << axis for axis in axes), "keep_dims": int(keep)}
    output = Tensor("y", y_shape, np.int8, y)
    compare(op, attrs, inputs, output, operator, "ReducerOptions", {"KeepDims": keep}, rng, swap)


@pytest.mark.parametrize("seed", SEEDS)
def test_quantize(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [Tensor("x", (3, 50), np.float32)]
    output = Tensor("y", (3, 50), np.int8, random_quant(rng))
    compare("quantize", {}, inputs, output, "QUANTIZE", None, {}, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_dequantize(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [Tensor("x", (3, 50), np.int8, random_quant(rng))]
    output = Tensor("y", (3, 50), np.float32)
    compare("dequantize", {}, inputs, output, "DEQUANTIZE", None, {}, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_requantize(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = random_quant(rng)
    y = Quant.per_tensor(float(x.scale[0]) * float(2.0 ** rng.uniform(-3, 3)), int(rng.integers(-128, 128)))
    inputs = [Tensor("x", (3, 48), np.int8, x)]
    output = Tensor("y", (3, 48), np.int8, y)
    compare("requantize", {}, inputs, output, "QUANTIZE", None, {}, rng)
