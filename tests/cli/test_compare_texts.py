"""microlith compare with models that take and give texts, for which a converted model has positions in a list."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from microlith.compare import compare
from microlith.compare.engines import open_engine
from microlith.compare.feeds import agreed_ports, load_samples

from .conftest import Cli

COLOURS = ["red", "green", "blue"]


def classifier(colours: list[str], folder: Path, name: str) -> Path:
    """A text and a number in, the text of a class and its probabilities out."""
    ml = "ai.onnx.ml"
    numbers = [float(COLOURS.index(colour)) for colour in colours]
    nodes = [
        helper.make_node("LabelEncoder", ["c"], ["k"], None, None, ml, keys_strings=colours, values_floats=numbers),
        helper.make_node("Concat", ["k", "v"], ["f"], axis=1),
        helper.make_node(
            "LinearClassifier",
            ["f"],
            ["label", "p"],
            domain=ml,
            classlabels_strings=["cat", "dog"],
            coefficients=[0.5, 1.0, -0.5, -1.0],
            intercepts=[0.1, -0.1],
            post_transform="SOFTMAX",
        ),
    ]
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.STRING, ["n", 1]),
        helper.make_tensor_value_info("v", TensorProto.FLOAT, ["n", 1]),
    ]
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.STRING, None),
        helper.make_tensor_value_info("p", TensorProto.FLOAT, None),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ml, 2)]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    path = folder / name
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Four samples; the last colour is none that the model knows."""
    path = tmp_path / "data.npz"
    texts = np.array([["red"], ["blue"], ["green"], ["pink"]])
    np.savez(path, c=texts, v=np.array([[0.3], [-2.0], [1.0], [0.5]], np.float32))
    return path


def test_texts_against_positions(cli: Cli, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime, which runs the original model, is not installed")
    original = classifier(COLOURS, tmp_path, "m.onnx")
    assert cli("convert", original, "-o", tmp_path / "m.lith").code == 0
    result = cli("compare", original, tmp_path / "m.lith", "--data", data, "--min-sqnr", "100")
    assert result.code == 0, result.out + result.err
    assert "label" in result.out
    as_numbers = tmp_path / "numbers.npz"
    np.savez(as_numbers, c=np.array([[0], [2], [1], [-1]]), v=np.load(data)["v"])
    assert cli("compare", original, tmp_path / "m.lith", "--data", as_numbers, "--min-sqnr", "100").code == 0


def test_the_original_gives_what_it_gives_to_texts(data: Path, tmp_path: Path) -> None:
    """Its outputs, as positions in the labels of the converted model, held against ONNX Runtime itself."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime, the reference, is not installed")
    path = classifier(COLOURS, tmp_path, "m.onnx")
    engine = open_engine(str(path))
    assert [port.texts for port in engine.inputs] == [tuple(COLOURS), ()]
    (feed,) = load_samples(data, engine.inputs)
    (results,) = engine.run([feed], ["label", "p"])
    arrays = np.load(data)
    feeds = {"c": arrays["c"].astype(object), "v": arrays["v"]}
    labels, probabilities = onnxruntime.InferenceSession(path.read_bytes()).run(None, feeds)
    assert [("cat", "dog")[position] for position in results["label"]] == labels.tolist()
    np.testing.assert_array_equal(results["p"], probabilities)


def test_lists_in_another_order(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime, which runs the original models, is not installed")
    first = open_engine(str(classifier(COLOURS, tmp_path, "a.onnx")))
    second = open_engine(str(classifier(COLOURS[::-1], tmp_path, "b.onnx")))
    ports = agreed_ports(first.inputs, second.inputs, {}, "both")
    report = compare(first, second, load_samples(data, ports), data="texts")
    assert [item.numbers.equal for item in report.outputs] == [True, True]
