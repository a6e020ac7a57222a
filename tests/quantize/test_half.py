"""Half precision: which layers compute on it, what is said about the others, and what the results are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from typer.testing import CliRunner

from microlith import load, modelfile
from microlith.cli import app
from microlith.converter import convert
from microlith.converter.quantize import QuantizeOptions, QuantReport
from microlith.converter.quantize.weights_only import quantize_weights
from microlith.dtypes import DType
from microlith.errors import InputError, MicrolithError
from microlith.evaluate import evaluate
from microlith.ir import Graph

from . import onnx_nets
from .test_static import images, sqnr_to_onnxruntime


def halved(model: onnx.ModelProto, **options: Any) -> tuple[Graph, QuantReport]:
    reports: list[QuantReport] = []
    choices = QuantizeOptions("float16", compute="float16", **options)
    return convert(model, quantization=choices, report=reports.append), reports[0]


@pytest.fixture(scope="module")
def cnn() -> onnx.ModelProto:
    return onnx_nets.small_cnn(np.random.default_rng(0))


def test_all_but_the_softmax_is_of_halves(cnn: onnx.ModelProto) -> None:
    graph, report = halved(cnn)
    numbers = {node.op: node.output.dtype for node in graph.nodes if node.op not in ("cast", "transpose")}
    assert numbers.pop("softmax") is DType.f32
    assert set(numbers.values()) == {DType.f16} and {"conv2d", "depthwise_conv2d", "dense", "add"} <= set(numbers)
    assert [(layer.op, layer.reason) for layer in report.floats] == [
        ("softmax", "there is no softmax in half precision")
    ]
    assert sum(node.op == "cast" for node in graph.nodes) == 2
    assert [value.dtype for value in (*graph.inputs, *graph.outputs)] == [DType.f32, DType.f32]
    assert [value.name for value in graph.outputs] == ["scores"]


def test_results_are_those_of_float32_to_a_thousandth(cnn: onnx.ModelProto) -> None:
    graph, _ = halved(cnn)
    assert sqnr_to_onnxruntime(cnn, graph, images(8, seed=5)) > 60.0


def test_the_runtime_computes_what_the_reference_does(cnn: onnx.ModelProto, tmp_path: Path) -> None:
    graph, _ = halved(cnn)
    modelfile.save(graph, tmp_path / "a.lith")
    with load(tmp_path / "a.lith") as model:
        for image in images(4, seed=6):
            (wanted,), (got,) = evaluate(graph, {"image": image}).values(), model.run({"image": image}).values()
            np.testing.assert_allclose(got, wanted, atol=2e-3)


def test_a_layer_can_stay_in_float32(cnn: onnx.ModelProto) -> None:
    graph, report = halved(cnn, float_layers=("depthwise",))
    (layer,) = (node for node in graph.nodes if node.op == "depthwise_conv2d")
    assert layer.output.dtype is DType.f32
    assert ("depthwise_conv2d", "asked for") in [(layer.op, layer.reason) for layer in report.floats]


def test_weights_beyond_the_largest_half(cnn: onnx.ModelProto) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(cnn)
    weights = next(item for item in model.graph.initializer if item.name == "w1")
    large = onnx.numpy_helper.to_array(weights) * np.float32(1e6)
    weights.CopyFrom(onnx.numpy_helper.from_array(large, "w1"))
    graph, report = halved(model)
    assert next(node for node in graph.nodes if node.op == "conv2d").output.dtype is DType.f32
    assert "its weights pass 65504, the largest half" in [layer.reason for layer in report.floats]


def test_results_beyond_the_largest_half(cnn: onnx.ModelProto) -> None:
    loud = [image * np.float32(3e5) for image in images(2)]
    _, blind = halved(cnn)
    graph, report = halved(cnn, calibrate=loud)
    assert len(blind.floats) == 1 and report.samples == 2
    assert "its results pass 65504, the largest half" in [layer.reason for layer in report.floats]
    (result,) = evaluate(graph, {"image": loud[0]}).values()
    assert np.isfinite(result).all()


@pytest.mark.parametrize(
    ("scheme", "compute", "words"),
    [
        ("int8", "float16", "contradicts"),
        ("weights-int8", "float16", "contradicts"),
        ("float16", "float8", "no compute"),
    ],
)
def test_what_does_not_go_together(scheme: str, compute: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        QuantizeOptions(scheme, compute=compute, calibrate=[]).check()


def test_the_command_line_says_what_stays_in_float32(cnn: onnx.ModelProto, tmp_path: Path) -> None:
    onnx.save(cnn, tmp_path / "a.onnx")
    arguments = ["convert", str(tmp_path / "a.onnx"), "-q", "float16", "--compute", "float16"]
    result = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "a.lith")])
    assert result.exit_code == 0, result.output
    assert "compute float16" in result.output and "1 layer in single precision" in result.output
    refused = CliRunner().invoke(app, [*arguments[:3], "dynamic", *arguments[4:], "-o", str(tmp_path / "b.lith")])
    assert refused.exit_code != 0 and not (tmp_path / "b.lith").exists()


@pytest.mark.parametrize(("factor", "reason"), [(1e6, "pass 65504"), (1e-30, "too small for halves")])
def test_weights_that_halves_cannot_hold_stay(cnn: onnx.ModelProto, factor: float, reason: str) -> None:
    """Stored as halves they would be infinite, or zero; nothing else of the model is concerned."""
    model = onnx.ModelProto.FromString(cnn.SerializeToString())
    name = next(node.input[1] for node in model.graph.node if node.op_type == "Conv")
    weights = next(item for item in model.graph.initializer if item.name == name)
    weights.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weights) * np.float32(factor), name))
    reports: list[QuantReport] = []
    graph = convert(model, quantization=QuantizeOptions("float16"), report=reports.append)
    (floating,) = reports[0].floats
    assert floating.op == "conv2d" and reason in floating.reason
    feed = {"image": images(1, seed=3)[0]}
    (got,), (wanted,) = evaluate(graph, feed).values(), evaluate(convert(model), feed).values()
    np.testing.assert_allclose(got, wanted, rtol=1e-2, atol=1e-3 * float(np.abs(wanted).max()))


@pytest.mark.parametrize("scheme", ["float16", "weights-int8", "weights-int4", "dynamic"])
def test_integer_models_are_left_alone(cnn: onnx.ModelProto, scheme: str) -> None:
    integers = convert(cnn, quantization=QuantizeOptions("int8", calibrate=images(4)))
    with pytest.raises(MicrolithError, match="quantized already"):
        quantize_weights(integers, QuantizeOptions(scheme))
