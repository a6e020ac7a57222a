"""Quantized ONNX models in QDQ form and of integer operators, against ONNX Runtime without its optimizations.

ONNX Runtime computes a QDQ model in float32 as it is written. Its sums are rounded, so that at a tie the quantized
result may be the next integer; all other elements are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import feeds_for, make_model, numbers, run_reference, save

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.ir import Graph

TYPES = ["uint8", "int8", "int16"]


class Qdq:
    """Collects the nodes and constants of a model whose tensors are quantized and decoded again."""

    def __init__(self, dtype: str, seed: int = 0) -> None:
        self.dtype = np.dtype(dtype)
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}

    def node(self, op: str, inputs: Sequence[str], output: str, **attrs: Any) -> str:
        self.nodes.append(helper.make_node(op, list(inputs), [output], **attrs))
        return output

    def constant(self, name: str, array: np.ndarray) -> str:
        self.constants[name] = array
        return name

    def pair(self, name: str, low: float = -3.0, high: float = 3.0) -> str:
        """A quantized activation of that range, decoded."""
        info = np.iinfo(self.dtype)
        steps = int(info.max) - int(info.min)
        scale = np.float32((high - low) / steps)
        zero = np.zeros((), self.dtype) if steps > 255 else np.round(info.min - low / scale).astype(self.dtype)
        parameters = [self.constant(f"{name}/scale", scale), self.constant(f"{name}/zero", np.array(zero))]
        self.node("QuantizeLinear", [name, *parameters], f"{name}/q")
        return self.node("DequantizeLinear", [f"{name}/q", *parameters], f"{name}/dq")

    def weights(self, name: str, shape: Sequence[int], dtype: str, axis: int | None, *, asymmetric: bool) -> str:
        info = np.iinfo(dtype)
        channels = () if axis is None else (shape[axis],)
        self.constant(name, self.rng.integers(info.min, info.max + 1, shape).astype(dtype))
        self.constant(f"{name}/scale", self.rng.uniform(0.002, 0.01, channels).astype(np.float32))
        middle = (int(info.min) + int(info.max) + 1) // 2
        zero = self.rng.integers(middle - 20, middle + 20, channels) if asymmetric else np.full(channels, middle)
        self.constant(f"{name}/zero", np.asarray(zero, dtype))
        attrs = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear", [name, f"{name}/scale", f"{name}/zero"], f"{name}/dq", **attrs)

    def model(self, inputs: Mapping[str, tuple[int, ...]], output: str) -> onnx.ModelProto:
        return make_model(self.nodes, inputs, [output], self.constants, 21)


def run(graph: Graph, folder: Path, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    path = folder / "model.lith"
    modelfile.save(graph, path)
    results = runtime.load(path.read_bytes()).run(list(feeds.values()))
    return [np.asarray(results[value.name]) for value in graph.outputs]


def hold(
    model: onnx.ModelProto,
    folder: Path,
    *,
    step: float = 0.0,
    ties: float = 0.0,
    feeds: Mapping[str, Any] | None = None,
) -> Graph:
    """Converts and runs; up to a share ``ties`` of the results may be one ``step`` away. Returns the graph."""
    graph = convert(save(model, folder))
    feeds = feeds or feeds_for(model)
    for result, expected in zip(run(graph, folder, feeds), run_reference(model, feeds), strict=True):
        assert result.dtype == expected.dtype and result.shape == expected.shape
        distance = np.abs(result.astype(np.float64) - expected.astype(np.float64))
        assert float(distance.max(initial=0.0)) <= step * 1.001
        assert np.count_nonzero(distance > step * 0.5) <= ties * distance.size
    return graph


def step_of(b: Qdq, name: str = "y") -> float:
    return float(b.constants[f"{name}/scale"])


def hold_integer(b: Qdq, model: onnx.ModelProto, folder: Path, op: str, name: str = "y") -> None:
    """As ``hold``; the model has become ``op`` on integers."""
    graph = hold(model, folder, step=step_of(b, name), ties=0.02 if b.dtype == np.int16 else 0.002)
    found = [node for node in graph.nodes if node.op == op]
    assert found, [node.op for node in graph.nodes]
    assert all(node.input(0).dtype.numpy.kind == "i" for node in found)


# QDQ.


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("weights", ["int8", "uint8"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ["Conv", "depthwise", "MatMul", "Gemm"])
def test_weighted(op: str, dtype: str, weights: str, asymmetric: bool, tmp_path: Path) -> None:
    b = Qdq(dtype)
    axis = {"Conv": 0, "depthwise": 0, "MatMul": 1, "Gemm": 0}[op]
    shape = {"Conv": (5, 4, 3, 3), "depthwise": (4, 1, 3, 3), "MatMul": (7, 6), "Gemm": (6, 7)}[op]
    x = (2, 4, 8, 9) if len(shape) == 4 else (5, 7)
    operands = [b.pair("x", -2.0, 2.5), b.weights("w", shape, weights, axis, asymmetric=asymmetric)]
    if op in ("Conv", "depthwise"):
        b.node("Conv", operands, "y", group=4 if op == "depthwise" else 1, pads=[1, 1, 0, 0], strides=[2, 1])
    else:
        b.node(op, operands, "y", **({"transB": 1} if op == "Gemm" else {}))
    model = b.model({"x": x}, b.pair("y", -6.0, 8.0))
    ops = {"Conv": "conv2d", "depthwise": "depthwise_conv2d", "MatMul": "dense", "Gemm": "dense"}
    hold_integer(b, model, tmp_path, ops[op])


@pytest.mark.parametrize("activation", ["Relu", "Clip"])
@pytest.mark.parametrize("dtype", TYPES)
def test_convolution_with_bias_and_activation(dtype: str, activation: str, tmp_path: Path) -> None:
    b = Qdq(dtype)
    operands = [b.pair("x"), b.weights("w", (5, 4, 3, 3), "int8", 0, asymmetric=False)]
    bias = b.rng.integers(-2000, 2000, 5).astype(np.int32)
    scale = b.constants["x/scale"] * b.constants["w/scale"]
    b.constant("bias", bias), b.constant("bias/scale", scale), b.constant("bias/zero", np.zeros(5, np.int32))
    b.node("DequantizeLinear", ["bias", "bias/scale", "bias/zero"], "bias/dq", axis=0)
    b.node("Conv", [*operands, "bias/dq"], "sum")
    limits = [b.constant("low", np.float32(0.0)), b.constant("high", np.float32(6.0))] if activation == "Clip" else []
    b.node(activation, ["sum", *limits], "y")
    low = 0.0 if dtype == "uint8" else -6.0
    hold_integer(b, b.model({"x": (1, 4, 7, 7)}, b.pair("y", low, 6.0)), tmp_path, "conv2d")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ["Add", "Mul"])
def test_pairs(op: str, dtype: str, tmp_path: Path) -> None:
    b = Qdq(dtype)
    b.node(op, [b.pair("a"), b.pair("c", -1.0, 4.0)], "y")
    model = b.model({"a": (2, 3, 5), "c": (3, 5)}, b.pair("y", -5.0, 7.0))
    if dtype == "int16":
        hold(model, tmp_path)
    else:
        hold_integer(b, model, tmp_path, op.lower())


SHAPED: dict[str, dict[str, Any]] = {
    "MaxPool": {"kernel_shape": [2, 3], "strides": [2, 1]},
    "AveragePool": {"kernel_shape": [2, 3]},
    "GlobalAveragePool": {},
    "Transpose": {"perm": [0, 2, 3, 1]},
    "Flatten": {},
    "Sigmoid": {},
    "Tanh": {},
    "HardSwish": {},
    "LeakyRelu": {"alpha": 0.2},
    "Softmax": {"axis": -1},
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("op", SHAPED)
def test_one_input(op: str, dtype: str, tmp_path: Path) -> None:
    b = Qdq(dtype)
    b.node(op, [b.pair("x", -2.0, 2.5)], "y", **SHAPED[op])
    model = b.model({"x": (2, 3, 6, 7)}, b.pair("y", -2.0, 2.5) if op != "Softmax" else b.pair("y", 0.0, 1.0))
    # Means of the same scale have many exact ties, which the last bits of ONNX Runtime's float sums decide.
    graph = hold(model, tmp_path, step=step_of(b), ties=0.1 if op == "AveragePool" else 0.002)
    inner = [node for node in graph.nodes if node.op not in ("quantize", "dequantize")]
    assert all(value is None or value.dtype.numpy.kind == "i" for node in inner for value in node.inputs[:1])


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_concatenation(dtype: str, tmp_path: Path) -> None:
    b = Qdq(dtype)
    b.node("Concat", [b.pair("a"), b.pair("c", -1.0, 4.0)], "y", axis=1)
    hold_integer(b, b.model({"a": (2, 3, 4), "c": (2, 5, 4)}, b.pair("y", -3.0, 4.0)), tmp_path, "concat")


def test_what_cannot_be_integer_stays_float(tmp_path: Path) -> None:
    b = Qdq("uint8")
    b.node("Pow", [b.pair("a", 1.0, 3.0), b.pair("c", 0.0, 2.0)], "y")
    feeds = {"a": numbers(4, 5, low=1.0, high=3.0), "c": numbers(4, 5, seed=1, low=0.0, high=2.0)}
    graph = hold(b.model({"a": (4, 5), "c": (4, 5)}, b.pair("y")), tmp_path, feeds=feeds)
    assert any(node.op == "pow" and node.input(0).dtype.numpy.kind == "f" for node in graph.nodes)


# Operators of integers.


def quantized(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def parameters(rng: np.random.Generator, dtype: str, low: float = 0.01, high: float = 0.05) -> list[np.ndarray]:
    info = np.iinfo(dtype)
    scale = np.array(rng.uniform(low, high), np.float32)
    return [scale, np.array(rng.integers(info.min // 2 + 32, info.max // 2 + 32), dtype)]


@pytest.mark.parametrize(("dtype", "weights"), [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
@pytest.mark.parametrize("op", ["QLinearConv", "QLinearMatMul"])
def test_qlinear(op: str, dtype: str, weights: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    shape, x = ((5, 4, 3, 3), (2, 4, 6, 7)) if op == "QLinearConv" else ((7, 6), (5, 7))
    scales = parameters(rng, dtype), parameters(rng, weights, 0.005, 0.01), parameters(rng, dtype, 0.1, 0.3)
    constants = {"w": quantized(rng, shape, weights)}
    for name, pair in zip("xwy", scales, strict=True):
        constants |= {f"{name}_scale": pair[0], f"{name}_zero": pair[1]}
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"]
    if op == "QLinearConv":
        names.append("bias")
        constants["bias"] = rng.integers(-2000, 2000, 5).astype(np.int32)
    types = dict.fromkeys("xy", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    model = make_model([helper.make_node(op, names, ["y"])], {"x": x}, ["y"], constants, 21, types)
    hold(model, tmp_path, feeds={"x": quantized(rng, x, dtype)})


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("op", ["ConvInteger", "MatMulInteger"])
def test_sums(op: str, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    shape, x = ((5, 4, 3, 3), (2, 4, 6, 7)) if op == "ConvInteger" else ((7, 6), (5, 7))
    constants = {"w": quantized(rng, shape, "uint8" if dtype == "uint8" else "int8")}
    constants |= {"x_zero": np.array(3, dtype), "w_zero": np.array(9, constants["w"].dtype)}
    types = {"x": helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), "y": onnx.TensorProto.INT32}
    node = helper.make_node(op, ["x", "w", "x_zero", "w_zero"], ["y"])
    model = make_model([node], {"x": x}, ["y"], constants, 21, types)
    hold(model, tmp_path, feeds={"x": quantized(rng, x, dtype)})


def test_dynamic_quantization(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node("MatMulInteger", ["q", "w", "zero", "w_zero"], ["sums"]),
        helper.make_node("Cast", ["sums"], ["real"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", ["scale", "w_scale"], ["factor"]),
        helper.make_node("Mul", ["real", "factor"], ["y"]),
    ]
    constants = {"w": quantized(rng, (7, 6), "int8"), "w_zero": np.array(0, np.int8), "w_scale": np.float32([0.01])}
    model = make_model(nodes, {"x": (5, 7)}, ["y"], constants)
    hold(model, tmp_path)


LINEAR: dict[str, dict[str, Any]] = {
    "QLinearSigmoid": {},
    "QLinearLeakyRelu": {"alpha": 0.2},
    "QLinearGlobalAveragePool": {},
    "QLinearAveragePool": {"kernel_shape": [2, 3]},
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("op", [*LINEAR, "QLinearAdd", "QLinearMul"])
def test_contributed(op: str, dtype: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    is_pair = op in ("QLinearAdd", "QLinearMul")
    shape, operands = (2, 3, 6, 7), ["x", "z"] if is_pair else ["x"]
    constants: dict[str, np.ndarray] = {}
    names: list[str] = []
    for name in operands:
        constants[f"{name}_scale"], constants[f"{name}_zero"] = parameters(rng, dtype)
        names += [name, f"{name}_scale", f"{name}_zero"]
    constants["y_scale"], constants["y_zero"] = parameters(rng, dtype, 0.005 if op == "QLinearSigmoid" else 0.03, 0.06)
    names += ["y_scale", "y_zero"]
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **LINEAR.get(op, {}))
    types = dict.fromkeys([*operands, "y"], helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    shapes = dict.fromkeys(operands, shape)
    model = make_model([node], shapes, ["y"], constants, 17, types, domains=["com.microsoft"])
    # ONNX Runtime's vector code multiplies by reciprocals here, which moves ties.
    hold(model, tmp_path, step=1.0, ties=0.01, feeds={name: quantized(rng, shape, dtype) for name in operands})


# Quantization itself.


@pytest.mark.parametrize("axis", [None, 1])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_quantize_and_dequantize(dtype: str, axis: int | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    channels = () if axis is None else (4,)
    zero = np.asarray(rng.integers(3, 90, channels), dtype)
    constants = {"scale": rng.uniform(0.001, 0.02, channels).astype(np.float32), "zero": zero}
    attrs = {} if axis is None else {"axis": axis}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], **attrs),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"], **attrs),
    ]
    types = {"q": helper.np_dtype_to_tensor_dtype(np.dtype(dtype))}
    hold(make_model(nodes, {"x": (3, 4, 5)}, ["q", "y"], constants, 21, types), tmp_path)
