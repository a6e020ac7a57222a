"""Full integer quantization: the graph is one of integers, near the float model, and bad models are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from microlith.converter import convert
from microlith.converter.quantize import QuantizeOptions, QuantReport
from microlith.converter.quantize.calibration_data import CalibrationError
from microlith.errors import InputError, MicrolithError, UnsupportedError
from microlith.evaluate import evaluate
from microlith.ir import Graph

from . import onnx_nets


def quantized(model: onnx.ModelProto, samples: Any, **options: Any) -> tuple[Graph, QuantReport]:
    reports: list[QuantReport] = []
    graph = convert(model, quantization=QuantizeOptions(calibrate=samples, **options), report=reports.append)
    return graph, reports[0]


def sqnr_to_onnxruntime(model: onnx.ModelProto, graph: Graph, samples: list[np.ndarray]) -> float:
    """Decibels, over all samples."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    name, output = graph.inputs[0].name, graph.outputs[0].name
    wanted = np.stack([session.run([output], {name: x})[0] for x in samples]).astype(np.float64)
    got = np.stack([evaluate(graph, {name: x})[output] for x in samples])
    return float(10 * np.log10(np.sum(wanted**2) / np.sum((wanted - got) ** 2)))


def images(count: int = 24, seed: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((1, 3, 12, 12)).astype(np.float32) for _ in range(count)]


@pytest.fixture(scope="module")
def cnn() -> onnx.ModelProto:
    return onnx_nets.small_cnn(np.random.default_rng(0))


def test_everything_becomes_integers(cnn: onnx.ModelProto) -> None:
    graph, report = quantized(cnn, images(), require_int8=True)
    assert not report.floats
    kinds = {node.op: node.outputs[0].dtype.name for node in graph.nodes}
    assert {"conv2d", "depthwise_conv2d", "add", "dense", "softmax", "lut"} <= set(kinds)
    assert {name for op, name in kinds.items() if op != "dequantize"} == {"s8"}
    assert graph.contract == "single"
    assert sqnr_to_onnxruntime(cnn, graph, images(8, seed=5)) > 30


@pytest.mark.parametrize("observer", ["min-max", "moving-average", "percentile", "entropy", "mse"])
def test_each_observer(cnn: onnx.ModelProto, observer: str) -> None:
    graph, report = quantized(cnn, images(), observer=observer, rounding="nearest")
    assert report.choices["observer"] == observer
    assert sqnr_to_onnxruntime(cnn, graph, images(8, seed=5)) > 15


def test_16x8_is_finer(cnn: onnx.ModelProto) -> None:
    narrow, _ = quantized(cnn, images())
    wide, report = quantized(cnn, images(), scheme="16x8")
    assert any(node.op == "conv2d" and node.input(0).dtype.name == "s16" for node in wide.nodes)
    held_out = images(8, seed=5)
    assert sqnr_to_onnxruntime(cnn, wide, held_out) > sqnr_to_onnxruntime(cnn, narrow, held_out) + 1
    assert all(layer.reason for layer in report.floats)


def test_16_bits_have_room_for_new_data() -> None:
    """A linear model: data nearly twice as large as all that calibration saw is not clipped; int8 clips it."""
    rng = np.random.default_rng(7)
    model = onnx_nets.dense(rng, inputs=64, units=16)
    seen = [rng.uniform(-1, 1, (1, 64)).astype(np.float32) for _ in range(50)]
    larger = [np.float32(1.6) * x for x in seen]
    for scheme, least, most in (("16x8", -1, 1), ("int8", -100, -10)):
        graph, _ = quantized(model, seen, scheme=scheme)
        change = sqnr_to_onnxruntime(model, graph, larger) - sqnr_to_onnxruntime(model, graph, seen)
        assert least < change < most, scheme


def test_pools_of_16_bits() -> None:
    rng = np.random.default_rng(2)
    model = onnx_nets.two_convolutions(rng, pool=True)
    samples = [rng.standard_normal((1, 4, 6, 6)).astype(np.float32) for _ in range(8)]
    graph, report = quantized(model, samples, scheme="16x8")
    assert not report.floats
    assert {node.op for node in graph.nodes if node.outputs[0].dtype.name == "s16"} >= {"conv2d", "max_pool2d"}
    assert sqnr_to_onnxruntime(model, graph, samples) > 35


def test_adaptive_rounding_helps_on_other_data() -> None:
    """Inputs that depend on each other: rounding each weight by itself wastes what they have in common."""
    rng = np.random.default_rng(4)
    model = onnx_nets.dense(rng, inputs=64, units=16)
    mixing = rng.standard_normal((6, 64))

    def samples(count: int) -> list[np.ndarray]:
        return [(rng.standard_normal((1, 6)) @ mixing).astype(np.float32) for _ in range(count)]

    data, held_out = samples(200), samples(50)
    figures = {}
    for rounding in ("nearest", "adaptive"):
        wide = ("*",)  # so that the weights alone matter
        graph, _ = quantized(model, data, rounding=rounding, bias_correction=False, wide_layers=wide)
        figures[rounding] = sqnr_to_onnxruntime(model, graph, held_out)
    assert figures["adaptive"] > figures["nearest"] + 3


def test_layers_can_stay_in_floating_point(cnn: onnx.ModelProto) -> None:
    _, report = quantized(cnn, images(), float_layers=("first", "last"))
    reasons = {layer.name: layer.reason for layer in report.floats}
    assert reasons == {"first": "--float-layer names it", "last": "--float-layer names it"}
    with pytest.raises(MicrolithError, match="no layer is named 'nothing'"):
        quantized(cnn, images(), float_layers=("nothing",))


def test_integers_can_be_required() -> None:
    """All that has no form on integers is listed."""
    names = ("one", "two")
    nodes = [
        helper.make_node("CumSum", ["x", "axis"], ["a"], name="one"),
        helper.make_node("MatMul", ["a", "w"], ["b"]),
        helper.make_node("CumSum", ["b", "axis"], ["y"], name="two"),
    ]
    weights = {"axis": np.array(1, np.int64), "w": np.eye(4, dtype=np.float32)}
    model = onnx_nets.model(nodes, {"x": (1, 4)}, {"y": (1, 4)}, weights)
    with pytest.raises(UnsupportedError, match=r"2 unsupported nodes") as caught:
        quantized(model, [np.ones((1, 4), np.float32)], require_int8=True)
    assert tuple(item.node for item in caught.value.items) == names


def test_weights_that_are_no_numbers() -> None:
    model = onnx_nets.dense(np.random.default_rng(0))
    bad = numpy_helper.to_array(model.graph.initializer[0]).copy()
    bad[0, 0] = np.nan
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(bad, "w"))
    with pytest.raises(MicrolithError, match="weights hold NaN or infinity: 'w"):
        quantized(model, [np.zeros((1, 16), np.float32)])


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
@pytest.mark.parametrize("index", [0, 1])
def test_infinite_weights_and_biases(bad: float, index: int) -> None:
    model = onnx_nets.dense(np.random.default_rng(0))
    tensor = model.graph.initializer[index]
    data = numpy_helper.to_array(tensor).copy()
    data.flat[0] = bad
    tensor.CopyFrom(numpy_helper.from_array(data, tensor.name))
    with pytest.raises(MicrolithError, match="weights hold NaN or infinity"):
        quantized(model, [np.zeros((1, 16), np.float32)])


@pytest.mark.parametrize("op", ["Add", "Where"])
def test_masks_of_infinity_stay_in_floating_point(op: str) -> None:
    """Causal attention: what is masked has no weight in the result, in float as in int8."""
    rng = np.random.default_rng(0)
    below = np.tril(np.ones((8, 8), bool))
    mask = np.where(below, np.float32(0 if op == "Add" else -np.inf), np.float32(-np.inf)).astype(np.float32)
    weights = {"w": (rng.standard_normal((16, 16)) / 8).astype(np.float32), "m": mask, "below": below}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["q"]),
        helper.make_node("Transpose", ["x"], ["k"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "k"], ["s"]),
        helper.make_node(op, ["below", "s", "m"] if op == "Where" else ["s", "m"], ["masked"], name="mask"),
        helper.make_node("Softmax", ["masked"], ["p"], name="softmax"),
        helper.make_node("MatMul", ["p", "x"], ["y"]),
    ]
    model = onnx_nets.model(nodes, {"x": (1, 8, 16)}, {"y": (1, 8, 16)}, weights)
    samples = [rng.standard_normal((1, 8, 16)).astype(np.float32) for _ in range(16)]
    graph, report = quantized(model, samples)
    assert {layer.op for layer in report.floats} >= {"softmax"}
    assert all("infinity comes in" in layer.reason for layer in report.floats), report.floats
    assert sum(layer.op in ("dense", "matmul") for layer in report.layers if layer not in report.floats) == 3
    assert sqnr_to_onnxruntime(model, graph, samples) > 25
    first = evaluate(graph, {"x": samples[0]})["y"][0, 0]  # that row sees itself alone
    np.testing.assert_allclose(first, samples[0][0, 0], atol=0.05)
    with pytest.raises(UnsupportedError, match="infinity comes in"):
        quantized(model, samples, require_int8=True)


def test_a_value_that_is_never_finite() -> None:
    nodes = [helper.make_node("Div", ["x", "zero"], ["d"]), helper.make_node("MatMul", ["d", "w"], ["y"])]
    weights = {"zero": np.zeros(1, np.float32), "w": np.ones((4, 4), np.float32)}
    model = onnx_nets.model(nodes, {"x": (1, 4)}, {"y": (1, 4)}, weights)
    with pytest.raises(CalibrationError, match="is never a finite number"):
        quantized(model, [np.zeros((1, 4), np.float32)])


@pytest.mark.parametrize("fill", [0.0, 7.0, 1e-35])
def test_constant_tensors(fill: float) -> None:
    """Data without any spread, weights of zero: results that are near the exact ones."""
    model = onnx_nets.dense(np.random.default_rng(1))
    samples = [np.full((1, 16), fill, np.float32)] * 3
    graph, _ = quantized(model, samples)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {"x": samples[0]})
    np.testing.assert_allclose(evaluate(graph, {"x": samples[0]})["y"], wanted, atol=0.02 * np.abs(wanted).max() + 1e-6)


def test_dead_channels_and_large_biases() -> None:
    """A channel of zeros whose bias is large beside the scale of its input."""
    model = onnx_nets.dense(np.random.default_rng(1))
    weights = {item.name: numpy_helper.to_array(item).copy() for item in model.graph.initializer}
    weights["w"][2] = 0.0
    weights["w"][3] = 1e-30
    weights["b"][2:4] = 3.0
    for item in model.graph.initializer:
        item.CopyFrom(numpy_helper.from_array(weights[item.name], item.name))
    samples = [np.full((1, 16), value, np.float32) for value in (1e-9, -1e-9)]
    graph, _ = quantized(model, samples)
    np.testing.assert_allclose(evaluate(graph, {"x": samples[0]})["y"][0, 2:4], 3.0, rtol=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scheme": "int7"}, "no scheme 'int7'"),
        ({"observer": "guess"}, "no observer 'guess'"),
        ({"percentile": 20.0}, "percentile of 20"),
        ({"smooth": 2.0}, "exponent of 2"),
        ({"samples": 0}, "at least one sample"),
        ({"contract": "tflite-double"}, "no contract 'tflite-double'"),
        ({"calibrate": None}, "needs calibration data"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], words: str) -> None:
    given = {"calibrate": [np.zeros((1, 16), np.float32)], **options}
    with pytest.raises(InputError, match=words):
        convert(onnx_nets.dense(np.random.default_rng(0)), quantization=QuantizeOptions(**given))


def test_a_quantized_model_is_refused() -> None:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    weights = {"s": np.float32(0.1).reshape(()), "z": np.int8(0).reshape(())}
    model = onnx_nets.model(nodes, {"x": (1, 4)}, {"y": (1, 4)}, weights)
    with pytest.raises(MicrolithError, match="quantized already"):
        quantized(model, [np.zeros((1, 4), np.float32)])


def test_dynamic_needs_no_data(cnn: onnx.ModelProto) -> None:
    graph, report = quantized(cnn, None, scheme="dynamic")
    assert {node.op for node in graph.nodes} >= {"conv2d_dynamic", "dense_dynamic"}
    assert [layer.op for layer in report.floats] == ["depthwise_conv2d"]
    assert sqnr_to_onnxruntime(cnn, graph, images(4)) > 30


@pytest.mark.parametrize(("scheme", "least"), [("float16", 55.0), ("weights-int8", 38.0), ("weights-int4", 14.0)])
def test_small_weights_need_no_data(cnn: onnx.ModelProto, scheme: str, least: float) -> None:
    graph, report = quantized(cnn, None, scheme=scheme, group=8 if scheme == "weights-int4" else None)
    assert not report.floats
    assert {node.op for node in graph.nodes} >= {"conv2d_compressed", "dense_compressed"}
    assert sqnr_to_onnxruntime(cnn, graph, images(4)) > least
