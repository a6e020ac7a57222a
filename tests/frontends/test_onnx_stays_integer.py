# SPDX-License-Identifier: Apache-2.0
"""QDQ models stay integer: what computes in floating point is told with a reason, results are those of ONNX Runtime."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import microlith
from microlith.evaluate import evaluate
from microlith.float_layers import float_layers

SHAPE = (2, 6, 8)


class Qdq:
    """A model with quantize and dequantize around every layer."""

    def __init__(self, dtype: type = np.int8) -> None:
        self.dtype = dtype
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, name: str, array: np.ndarray) -> str:
        self.constants[name] = np.asarray(array)
        return name

    def quantized(self, name: str, scale: float, zero: int, dtype: type = np.int8) -> str:
        """Behind the tensor ``name``; the name of the dequantized tensor."""
        s = self.constant(f"{name}_s", np.float32(scale))
        z = self.constant(f"{name}_z", np.asarray(zero, dtype))
        self.nodes.append(helper.make_node("QuantizeLinear", [name, s, z], [f"{name}_q"]))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", s, z], [f"{name}_dq"]))
        return f"{name}_dq"

    def weights(self, name: str, array: np.ndarray, scale: Any, zero: Any, axis: int | None = None) -> str:
        s, z = self.constant(f"{name}_s", np.float32(scale)), self.constant(f"{name}_z", np.asarray(zero, array.dtype))
        attrs = {} if axis is None else {"axis": axis}
        self.nodes.append(
            helper.make_node("DequantizeLinear", [self.constant(name, array), s, z], [f"{name}_dq"], **attrs)
        )
        return f"{name}_dq"

    def layer(self, op: str, inputs: list[str], name: str, **attrs: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"the_{name}", **attrs))
        return name

    def model(self, output: str, shape: tuple[int, ...] = SHAPE) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "qdq",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def with_16_bits(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same in an opset that has int16, where a reduction's axes are an input."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    changed.ir_version = 10
    changed.opset_import[0].version = 21
    for node in changed.graph.node:
        for attribute in [item for item in node.attribute if item.name == "axes"]:
            changed.graph.initializer.append(numpy_helper.from_array(np.array(attribute.ints, np.int64), "axes"))
            node.input.append("axes")
            node.attribute.remove(attribute)
    return changed


def run_onnx(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return np.asarray(onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": x})[0])


def log_softmax(b: Qdq, x: str) -> tuple[str, float]:
    return b.layer("LogSoftmax", [x], "y", axis=-1), 16 / 256


def layer_norm(b: Qdq, x: str) -> tuple[str, float]:
    rng = np.random.default_rng(2)
    scale = b.constant("g", rng.uniform(0.5, 1.5, SHAPE[-1]).astype(np.float32))
    bias = b.constant("h", rng.standard_normal(SHAPE[-1]).astype(np.float32))
    return b.layer("LayerNormalization", [x, scale, bias], "y", axis=-1), 0.03


def quotient(b: Qdq, x: str) -> tuple[str, float]:
    rng = np.random.default_rng(3)
    divisor = b.weights("d", rng.integers(20, 120, (SHAPE[-1],)).astype(np.int8), 0.02, -3)
    return b.layer("Div", [x, divisor], "y"), 0.02


def asymmetric_dense(b: Qdq, x: str) -> tuple[str, float]:
    rng = np.random.default_rng(4)
    w = b.weights("w", rng.integers(0, 256, (SHAPE[-1], 5)).astype(np.uint8), 0.01, 131)
    return b.layer("MatMul", [x, w], "y"), 0.05


def per_channel_dense(b: Qdq, x: str) -> tuple[str, float]:
    rng = np.random.default_rng(5)
    scales, zeros = rng.uniform(0.005, 0.02, 5), np.zeros(5, np.int8)
    w = b.weights("w", rng.integers(-127, 128, (SHAPE[-1], 5)).astype(np.int8), scales, zeros, axis=1)
    return b.layer("MatMul", [x, w], "y"), 0.05


def turned_weights_dense(b: Qdq, x: str) -> tuple[str, float]:
    """As PyTorch exports a linear layer: the weights are transposed behind their DequantizeLinear."""
    rng = np.random.default_rng(5)
    scales, zeros = rng.uniform(0.005, 0.02, 5), np.zeros(5, np.int8)
    w = b.weights("w", rng.integers(-127, 128, (5, SHAPE[-1])).astype(np.int8), scales, zeros, axis=0)
    return b.layer("MatMul", [x, b.layer("Transpose", [w], "t", perm=[1, 0])], "y"), 0.05


def product(b: Qdq, x: str) -> tuple[str, float]:
    turned = b.layer("Transpose", [x], "t", perm=[0, 2, 1])
    return b.layer("MatMul", [x, turned], "y"), 0.2


def gelu_chain(b: Qdq, x: str) -> tuple[str, float]:
    half = b.layer("Mul", [x, b.constant("half", np.float32(0.5))], "half_x")
    erf = b.layer("Erf", [b.layer("Mul", [x, b.constant("r", np.float32(0.70710678))], "e")], "erf_x")
    return b.layer("Mul", [half, b.layer("Add", [erf, b.constant("one", np.float32(1))], "one_plus")], "y"), 0.02


def total(b: Qdq, x: str) -> tuple[str, float]:
    return b.layer(
        "Add", [x, b.quantized(b.layer("Transpose", ["x"], "u", perm=[0, 1, 2]), 0.05, 0, b.dtype)], "y"
    ), 0.06


def square(b: Qdq, x: str) -> tuple[str, float]:
    return b.layer("Mul", [x, x], "y"), 0.1


def mean(b: Qdq, x: str) -> tuple[str, float]:
    return b.layer("ReduceMean", [x], "y", axes=[1], keepdims=1), 0.013


def convolution(b: Qdq, x: str) -> tuple[str, float]:
    rng = np.random.default_rng(6)
    scales, zeros = rng.uniform(0.005, 0.02, 5), np.zeros(5, np.int8)
    w = b.weights("w", rng.integers(-127, 128, (5, SHAPE[1], 3)).astype(np.int8), scales, zeros, axis=0)
    return b.layer("Conv", [x, w], "y", pads=[1, 1]), 0.11


LAYERS = (
    log_softmax,
    layer_norm,
    quotient,
    asymmetric_dense,
    per_channel_dense,
    turned_weights_dense,
    product,
    gelu_chain,
    total,
    square,
    mean,
    convolution,
)
LAYERS_16 = (per_channel_dense, product, total, square, mean, convolution)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8], ids=["int8", "uint8"])
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
def test_layers_become_integers(layer: Callable[[Qdq, str], tuple[str, float]], dtype: type) -> None:
    b = Qdq(dtype)
    zero = 7 if dtype is np.int8 else 120
    y, scale = layer(b, b.quantized("x", 0.03, zero, dtype))
    y_zero = (100 if layer is log_softmax else -9) + (128 if dtype is np.uint8 else 0)
    check(b.model(b.quantized(y, scale, min(y_zero, np.iinfo(dtype).max), dtype)), scale)


@pytest.mark.parametrize("layer", LAYERS_16, ids=lambda layer: layer.__name__)
def test_layers_of_16_bits_become_integers(layer: Callable[[Qdq, str], tuple[str, float]]) -> None:
    b = Qdq(np.int16)
    y, scale = layer(b, b.quantized("x", 0.0003, 0, np.int16))
    check(with_16_bits(b.model(b.quantized(y, scale / 100, 0, np.int16))), scale / 100)


def check(model: onnx.ModelProto, scale: float, shape: tuple[int, ...] = SHAPE) -> None:
    """Everything is integers, and near what ONNX Runtime gives."""
    graph = microlith.convert(model)
    assert float_layers(graph) == []
    wrong = total = 0
    for seed in range(20):
        x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32) * 1.5
        expected = run_onnx(model, x)
        (actual,) = evaluate(graph, {"x": x}).values()
        steps = np.abs(actual - expected) / np.float32(scale)
        assert steps.max() < 1.001
        wrong, total = wrong + int((steps > 0.5).sum()), total + steps.size
    # ONNX Runtime's own float32 rounding decides a tie now and then.
    assert wrong <= 0.002 * total


def test_what_stays_in_floating_point_is_told_with_its_reason(tmp_path: Path) -> None:
    b = Qdq()
    x = b.quantized("x", 0.03, 0)
    b.layer("CumSum", [x, b.constant("axis", np.array(1, np.int64))], "c")  # has no integer form
    c = b.quantized("c", 0.1, 0)
    b.layer("Cos", [c], "m")  # not quantized behind it
    b.layer("Add", ["m", x], "s")  # reads m
    b.layer("Sigmoid", [b.quantized("s", 0.05, 0)], "y")  # an output
    model = b.model("y")
    graph = microlith.convert(model, skip_passes=["fuse_elementwise"])
    found = {layer.node.op: layer.reason for layer in float_layers(graph)}
    assert set(found) == {"cumsum", "cos", "add", "sigmoid"}
    assert "no integer form" in found["cumsum"]
    assert "not quantized for" in found["cos"] and "the_s" in found["cos"]
    assert "'m'" in found["add"] or "not quantized" in found["add"]
    assert "output of the model" in found["sigmoid"]


def test_a_float_model_has_no_such_layers() -> None:
    b = Qdq()
    b.layer("Relu", ["x"], "y")
    assert float_layers(microlith.convert(b.model("y"))) == []


def test_integers_that_a_loop_carries() -> None:
    """What is quantized inside only keeps its scale when the loop is unrolled."""
    b = Qdq()
    x = b.quantized("x", 0.02, 3)
    s, z = b.constant("c_s", np.float32(0.03)), b.constant("c_z", np.asarray(-2, np.int8))
    body = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["c", "c_s", "c_z"], ["c_real"]),
            helper.make_node("Mul", ["c_real", x], ["product"]),
            helper.make_node("QuantizeLinear", ["product", s, z], ["c_next"]),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("number", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("c", TensorProto.INT8, [1, 6, 8]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("c_next", TensorProto.INT8, [1, 6, 8]),
        ],
    )
    start = np.random.default_rng(8).integers(-128, 128, (1, 6, 8)).astype(np.int8)
    inputs = [b.constant("count", np.array(3, np.int64)), "", b.constant("c_start", start)]
    b.nodes.append(helper.make_node("Loop", inputs, ["c_end"], body=body))
    b.nodes.append(helper.make_node("DequantizeLinear", ["c_end", s, z], ["y"]))
    check(b.model("y", (1, 6, 8)), 0.03, (1, 6, 8))


def _shared(name: str) -> Path:
    root = Path(os.environ.get("MICROLITH_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    path = root / "models" / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "floats", "db"),
    [
        ("detection/yunet_n_320_qdq_int8.onnx", {"sigmoid"}, 25.0),
        ("detection/ultraface_rfb_320_qoperator_u8.onnx", {"div", "sub"}, 60.0),
    ],
)
def test_real_models(name: str, floats: set[str], db: float, tmp_path: Path) -> None:
    """All layers but those in front of outputs in floating point compute in integers, near ONNX Runtime's results."""
    path = _shared(name)
    graph = microlith.convert(path, skip_passes=["fuse_elementwise"])
    assert {layer.node.op for layer in float_layers(graph)} <= floats
    from microlith.compare import compare, open_engine

    a, b = open_engine(str(path)), open_engine(f"{path}@runtime")
    stored = np.load(path.with_name(path.name + ".ref.npz"))
    keys = {key.split("/")[-1]: key for key in stored.files if stored[key].shape == tuple(a.inputs[0].shape)}
    feeds = [{a.inputs[0].name: stored[key].astype(a.inputs[0].dtype)} for key in list(keys.values())[:2]]
    if not feeds:
        pytest.skip("no stored input has the shape of the model's")
    report = compare(a, b, feeds, isolate=0)
    # The logistic function of large negative numbers is next to zero, so that one step is much of it.
    outputs = [layer for layer in report.outputs if layer.match.b.op != "sigmoid"]
    assert outputs and min(layer.numbers.sqnr for layer in outputs) > db, json.dumps(report.as_json()["layers"][-1])
