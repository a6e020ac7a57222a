"""Heads on request, and integers in place of the floats that a model quantizes itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from litert_rung import interpreter, run_interpreter
from onnx import TensorProto, helper, numpy_helper
from tflite_builder import TfliteBuilder

from microlith import convert, load
from microlith.dtypes import DType
from microlith.errors import InputError
from microlith.evaluate import evaluate

RNG = np.random.default_rng(0)
WEIGHTS = RNG.integers(-100, 100, (6, 5)).astype(np.int8)
X = RNG.standard_normal((3, 6)).astype(np.float32)


def classifier(quantized: bool) -> onnx.ModelProto:
    """x [3, 6] -> MatMul -> Softmax, in QDQ form or in float."""
    constants = {"w": WEIGHTS.astype(np.float32) / 50}
    nodes = []
    if quantized:
        constants = {
            "w8": WEIGHTS,
            "w_scale": np.float32(0.02),
            "zero": np.int8(0),
            "x_scale": np.float32(0.03),
            "y_scale": np.float32(0.05),
            "p_scale": np.float32(1 / 256),
            "p_zero": np.int8(-128),
        }
        nodes += [
            helper.make_node("QuantizeLinear", ["x", "x_scale", "zero"], ["xq"]),
            helper.make_node("DequantizeLinear", ["xq", "x_scale", "zero"], ["xf"]),
            helper.make_node("DequantizeLinear", ["w8", "w_scale", "zero"], ["w"]),
        ]
    nodes.append(helper.make_node("MatMul", ["xf" if quantized else "x", "w"], ["logits"]))
    if quantized:
        nodes += [
            helper.make_node("QuantizeLinear", ["logits", "y_scale", "zero"], ["lq"]),
            helper.make_node("DequantizeLinear", ["lq", "y_scale", "zero"], ["lf"]),
            helper.make_node("Softmax", ["lf"], ["p"], axis=-1),
            helper.make_node("QuantizeLinear", ["p", "p_scale", "p_zero"], ["pq"]),
            helper.make_node("DequantizeLinear", ["pq", "p_scale", "p_zero"], ["y"]),
        ]
    else:
        nodes.append(helper.make_node("Softmax", ["logits"], ["y"], axis=-1))
    graph = helper.make_graph(
        nodes,
        "classifier",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 5])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])


LOGITS = X @ (WEIGHTS.astype(np.float32) / 50)


def test_logits_head() -> None:
    graph = convert(classifier(quantized=False), head="logits")
    assert not any("softmax" in node.op for node in graph.nodes)
    np.testing.assert_allclose(evaluate(graph, {"x": X})["y"], LOGITS, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("quantized", [False, True])
def test_argmax_head(quantized: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.lith"
    graph = convert(classifier(quantized), path, head="argmax")
    assert not any("softmax" in node.op for node in graph.nodes)
    assert [(value.name, value.dtype) for value in graph.outputs] == [("y", DType.s32)]
    assert np.array_equal(load(path).run({"x": X})["y"], LOGITS.argmax(axis=1))


def probabilities(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("last", ["Softmax", "LogSoftmax", None])
def test_softmax_head(last: str | None) -> None:
    """Left as it is, in place of a log_softmax, or added: the same probabilities, by one softmax."""
    model = classifier(quantized=False)
    if last is None:
        model.graph.node.pop()
        model.graph.output[0].name = "logits"
    else:
        model.graph.node[-1].op_type = last
    graph = convert(model, head="softmax")
    assert [node.op for node in graph.nodes if "softmax" in node.op] == ["softmax"]
    (name,) = (value.name for value in graph.outputs)
    assert name == ("logits" if last is None else "y")
    np.testing.assert_allclose(evaluate(graph, {"x": X})[name], probabilities(LOGITS), rtol=1e-5)


@pytest.mark.parametrize(("kind", "scale", "zero"), [("int8", 1 / 256, -128), ("int16", 1 / 32768, 0)])
def test_softmax_head_of_integers(kind: str, scale: float, zero: int, tmp_path: Path) -> None:
    """The bytes that LiteRT's softmax gives behind the same layer."""

    def model(has_softmax: bool) -> bytes:
        b = TfliteBuilder()
        x = b.input((4, 9), kind, scale=0.1)
        logits = (b.tensor if has_softmax else b.output)((4, 9), kind, scale=0.1)
        b.operator("RELU", [x], [logits])
        if has_softmax:
            b.operator(
                "SOFTMAX", [logits], [b.output((4, 9), kind, scale=scale, zero_point=zero)], "SoftmaxOptions", Beta=1.0
            )
        return b.build()

    x = np.random.default_rng(2).integers(-100, 100, (4, 9)).astype(kind)
    (wanted,) = run_interpreter(interpreter(model(has_softmax=True)), [x])
    assert len(np.unique(wanted)) > 5
    (tmp_path / "m.tflite").write_bytes(model(has_softmax=False))
    graph = convert(tmp_path / "m.tflite", tmp_path / "m.lith", head="softmax")
    quant = graph.outputs[0].quant
    assert quant is not None and (quant.scale[0], quant.zero_point[0]) == (scale, zero)
    (y,) = load(tmp_path / "m.lith").run({graph.inputs[0].name: x}).values()
    np.testing.assert_array_equal(y, wanted)


def test_argmax_head_without_softmax() -> None:
    model = classifier(quantized=False)
    model.graph.node.pop()
    model.graph.output[0].name = "logits"
    graph = convert(model, head="argmax")
    assert np.array_equal(evaluate(graph, {"x": X})["logits"], LOGITS.argmax(axis=1))


def test_mistakes() -> None:
    model = classifier(quantized=False)
    with pytest.raises(InputError, match="there is no head 'best'"):
        convert(model, head="best")
    model.graph.node.pop()
    model.graph.output[0].name = "logits"
    with pytest.raises(InputError, match="output 'logits' is not made by a softmax"):
        convert(model, head="logits")
    model.graph.node.append(helper.make_node("ArgMax", ["logits"], ["best"], axis=1))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("best", TensorProto.INT64, None))
    with pytest.raises(InputError, match="a softmax wants real or quantized numbers"):
        convert(model, head="softmax")


def test_integer_borders() -> None:
    """The integers are those that the float model makes of the same input, and gives."""
    floats = evaluate(convert(classifier(quantized=True)), {"x": X})["y"]
    graph = convert(classifier(quantized=True), integer_borders=True)
    assert [value.dtype for value in (*graph.inputs, *graph.outputs)] == [DType.s8, DType.s8]
    assert not any(node.op in ("quantize", "dequantize") for node in graph.nodes)
    integers = np.clip(np.rint(X / np.float32(0.03)), -128, 127).astype(np.int8)
    y = evaluate(graph, {"x": integers})["y"]
    np.testing.assert_array_equal((y.astype(np.float32) + 128) / 256, floats)


def test_integer_borders_leave_floats_that_are_used_otherwise() -> None:
    graph = convert(classifier(quantized=False), integer_borders=True)
    assert [value.dtype for value in (*graph.inputs, *graph.outputs)] == [DType.f32, DType.f32]
