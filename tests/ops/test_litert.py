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

from microlith import ops
from microlith.dtypes import DType
from microlith.ir import Graph, Quant, TensorType, Value

flatbuffers = pytest.importorskip("flatbuffers")
schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
interpreter = pytest.importorskip("ai_edge_litert.interpreter")

SEEDS = range(12)
_TYPES = {np.dtype(np.float32): 0, np.dtype(np.int32): 2, np.dtype(np.uint8): 3, np.dtype(np.int8): 9}
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
    code: int, options: tuple[str, Any] | None, inputs: Sequence[Tensor], output: Tensor, version: int
) -> bytes:
    """A model of one operator; activations among ``inputs`` are its inputs."""
    model = schema.ModelT()
    model.version, model.buffers = 3, [schema.BufferT()]
    graph = schema.SubGraphT()
    graph.tensors = []
    for tensor in (*inputs, output):
        entry = schema.TensorT()
        entry.name, entry.shape, entry.type = tensor.name.encode(), list(tensor.shape), _TYPES[np.dtype(tensor.dtype)]
        entry.buffer = 0
        if tensor.data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(tensor.data).tobytes(), np.uint8)
            model.buffers.append(buffer)
            entry.buffer = len(model.buffers) - 1
        if tensor.quant is not None:
            quant = schema.QuantizationParametersT()
            quant.scale, quant.zeroPoint = tensor.quant.scale.tolist(), tensor.quant.zero_point.tolist()
            quant.quantizedDimension = tensor.quant.axis or 0
            entry.quantization = quant
        graph.tensors.append(entry)
    operator = schema.OperatorT()
    operator.opcodeIndex = 0
    operator.inputs, operator.outputs = list(range(len(inputs))), [len(inputs)]
    if options is not None:
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, options[0])
        operator.builtinOptions = options[1]
    graph.operators = [operator]
    graph.inputs = [index for index, tensor in enumerate(inputs) if tensor.data is None]
    graph.outputs = [len(inputs)]
    opcode = schema.OperatorCodeT()
    opcode.builtinCode, opcode.deprecatedBuiltinCode, opcode.version = code, min(code, 127), version
    model.operatorCodes, model.subgraphs = [opcode], [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def run_litert(model: bytes, arrays: Sequence[np.ndarray]) -> np.ndarray:
    engine = interpreter.Interpreter(
        model_content=model,
        experimental_op_resolver_type=interpreter.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    engine.allocate_tensors()
    for detail, array in zip(engine.get_input_details(), arrays, strict=True):
        engine.set_tensor(detail["index"], array)
    engine.invoke()
    return np.array(engine.get_tensor(engine.get_output_details()[0]["index"]))


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
    code: int,
    options: tuple[str, Any] | None,
    version: int,
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
    expected = run_litert(build_model(code, options, swap or inputs, output, version), arrays)
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
    options = schema.Conv2DOptionsT()
    options.padding, options.strideH, options.strideW = 1, 1 + seed % 2, 1
    options.fusedActivationFunction = fused = activation(rng)
    options.dilationHFactor = options.dilationWFactor = 1
    height, width = kernel + 4, kernel + 5
    y_shape = (1, 4 // options.strideH + 1, 6, out_c)
    inputs = [Tensor("x", (1, height, width, in_c), np.int8, x), constant("w", data, w), bias_of(rng, out_c, x, w)]
    output = Tensor("y", y_shape, np.int8, weighted_output(rng, x, w, in_c * kernel * kernel))
    attrs = {"stride_h": options.strideH, **_CLAMPS[fused]}
    compare("conv2d", attrs, inputs, output, 3, ("Conv2DOptions", options), 3, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_depthwise_conv2d(seed: int) -> None:
    rng = np.random.default_rng(seed)
    in_c, multiplier = int(rng.integers(1, 19)), int(rng.integers(1, 3))
    x, out_c = random_quant(rng), in_c * multiplier
    data, w = weights_of(rng, (1, 3, 3, out_c), 3, per_channel=True)
    options = schema.DepthwiseConv2DOptionsT()
    options.padding, options.strideH, options.strideW, options.depthMultiplier = 0, 1, 1, multiplier
    options.fusedActivationFunction = fused = activation(rng)
    options.dilationHFactor = options.dilationWFactor = 1
    inputs = [Tensor("x", (1, 5, 6, in_c), np.int8, x), constant("w", data, w), bias_of(rng, out_c, x, w)]
    output = Tensor("y", (1, 5, 6, out_c), np.int8, weighted_output(rng, x, w, 9))
    pads = dict.fromkeys(("pad_top", "pad_left", "pad_bottom", "pad_right"), 1)
    attrs = {**pads, "groups": in_c, **_CLAMPS[fused]}
    compare("depthwise_conv2d", attrs, inputs, output, 4, ("DepthwiseConv2DOptions", options), 3, rng)


@pytest.mark.parametrize("seed", range(40))
def test_dense(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, depth, units = int(rng.integers(1, 4)), int(rng.integers(1, 80)), int(rng.integers(1, 30))
    x = random_quant(rng)
    per_channel = seed % 4 == 0
    data, w = weights_of(rng, (units, depth), 0, per_channel)
    options = schema.FullyConnectedOptionsT()
    options.fusedActivationFunction = fused = activation(rng)
    inputs = [Tensor("x", (rows, depth), np.int8, x), constant("w", data, w), bias_of(rng, units, x, w)]
    output = Tensor("y", (rows, units), np.int8, weighted_output(rng, x, w, depth))
    version = 12 if per_channel else 4
    compare("dense", _CLAMPS[fused], inputs, output, 9, ("FullyConnectedOptions", options), version, rng)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("op", "code", "options_type"), [("add", 0, "AddOptions"), ("sub", 41, "SubOptions"), ("mul", 18, "MulOptions")]
)
def test_binary(op: str, code: int, options_type: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = random_quant(rng), random_quant(rng)
    spread = float(a.scale[0] * b.scale[0] * 40) if op == "mul" else float(max(a.scale[0], b.scale[0]))
    y = Quant.per_tensor(spread * float(2.0 ** rng.uniform(0, 2)), int(rng.integers(-128, 128)))
    options = getattr(schema, options_type + "T")()
    options.fusedActivationFunction = fused = activation(rng)
    b_shape = [(1, 4, 5, 6), (1, 1, 1, 6), (1, 1, 1, 1)][seed % 3]
    inputs = [Tensor("a", (1, 4, 5, 6), np.int8, a), Tensor("b", b_shape, np.int8, b)]
    output = Tensor("y", (1, 4, 5, 6), np.int8, y)
    compare(op, _CLAMPS[fused], inputs, output, code, (options_type, options), 2, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_prelu(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, alpha = random_quant(rng), random_quant(rng, -10, -6)
    y = Quant.per_tensor(float(x.scale[0]) * float(2.0 ** rng.uniform(-1, 1)), int(rng.integers(-128, 128)))
    slopes = constant("slope", rng.integers(-128, 128, (1, 1, 6)).astype(np.int8), alpha)
    inputs = [Tensor("x", (1, 4, 5, 6), np.int8, x), slopes]
    compare("prelu", {}, inputs, Tensor("y", (1, 4, 5, 6), np.int8, y), 54, None, 1, rng)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("op", "code"), [("avg_pool2d", 1), ("max_pool2d", 17)])
def test_pool(op: str, code: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    quant, channels = random_quant(rng), int(rng.integers(1, 20))
    options = schema.Pool2DOptionsT()
    options.padding, options.strideH, options.strideW = 0, 1, 1
    options.filterHeight = options.filterWidth = 3
    options.fusedActivationFunction = fused = activation(rng)
    inputs = [Tensor("x", (2, 5, 6, channels), np.int8, quant)]
    output = Tensor("y", (2, 5, 6, channels), np.int8, quant)
    pads = dict.fromkeys(("pad_top", "pad_left", "pad_bottom", "pad_right"), 1)
    attrs = {"kernel_h": 3, "kernel_w": 3, **pads, **_CLAMPS[fused]}
    compare(op, attrs, inputs, output, code, ("Pool2DOptions", options), 2, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_softmax(seed: int) -> None:
    rng = np.random.default_rng(seed)
    options = schema.SoftmaxOptionsT()
    options.beta = beta = [1.0, 0.5][seed % 2]
    shape = (3, int(rng.integers(1, 40)))
    inputs = [Tensor("x", shape, np.int8, random_quant(rng, -7, 0))]
    output = Tensor("y", shape, np.int8, Quant.per_tensor(1.0 / 256.0, -128))
    compare("softmax", {"axis": 1, "beta": beta}, inputs, output, 25, ("SoftmaxOptions", options), 2, rng)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize(("op", "code"), [("reduce_mean", 40), ("reduce_sum", 74)])
def test_reduce(op: str, code: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (2, int(rng.integers(1, 9)), int(rng.integers(1, 9)), int(rng.integers(1, 9)))
    axes = [(1, 2), (1,), (3,), (1, 2, 3), (0, 2), (2, 1)][seed % 6]
    options = schema.ReducerOptionsT()
    options.keepDims = keep = bool(seed % 2)
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
    compare(op, attrs, inputs, output, code, ("ReducerOptions", options), 2, rng, swap)


@pytest.mark.parametrize("seed", SEEDS)
def test_quantize(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [Tensor("x", (3, 50), np.float32)]
    output = Tensor("y", (3, 50), np.int8, random_quant(rng))
    compare("quantize", {}, inputs, output, 114, ("QuantizeOptions", schema.QuantizeOptionsT()), 1, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_dequantize(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [Tensor("x", (3, 50), np.int8, random_quant(rng))]
    output = Tensor("y", (3, 50), np.float32)
    compare("dequantize", {}, inputs, output, 6, ("DequantizeOptions", schema.DequantizeOptionsT()), 2, rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_requantize(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = random_quant(rng)
    y = Quant.per_tensor(float(x.scale[0]) * float(2.0 ** rng.uniform(-3, 3)), int(rng.integers(-128, 128)))
    inputs = [Tensor("x", (3, 48), np.int8, x)]
    output = Tensor("y", (3, 48), np.int8, y)
    compare("requantize", {}, inputs, output, 114, ("QuantizeOptions", schema.QuantizeOptionsT()), 2, rng)
