# SPDX-License-Identifier: Apache-2.0
"""Texts in ONNX models against ONNX Runtime: labels of classifiers, and categories among the inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import run_reference

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.errors import InputError, UnsupportedError
from microlith.texts import labels_in

ML = "ai.onnx.ml"
CLASSES = ["setosa", "versi color", "Ürün", "last"]
FLOAT, STRING, INT64 = TensorProto.FLOAT, TensorProto.STRING, TensorProto.INT64
X = np.random.default_rng(5).normal(size=(7, 3)).astype(np.float32)


def node(op: str, inputs: str, outputs: str, domain: str = ML, **attrs: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), domain=domain, **attrs)


def model_of(
    nodes: list[onnx.NodeProto],
    inputs: dict[str, tuple[int, list[Any]]],
    outputs: dict[str, int],
    constants: dict[str, np.ndarray] | None = None,
    version: int = 3,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "texts",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def hold(model: onnx.ModelProto, feeds: dict[str, np.ndarray], folder: Path) -> runtime.Model:
    """The runtime gives what ONNX Runtime gives, its texts by the labels."""
    graph = convert(model)
    modelfile.save(graph, folder / "model.lith")
    loaded = runtime.load(folder / "model.lith")
    results = loaded.run(feeds)
    assert loaded.labels == labels_in(graph.metadata)
    for info, expected in zip(model.graph.output, run_reference(model, feeds), strict=True):
        result = results[info.name]
        if expected.dtype.kind not in "fiub":
            result = np.asarray(loaded.labels[info.name], object)[result]
            np.testing.assert_array_equal(result, expected.astype(object))
        else:
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    return loaded


def linear(classes: list[str], **attrs: Any) -> onnx.NodeProto:
    rng = np.random.default_rng(1)
    return node(
        "LinearClassifier",
        "x",
        "label scores",
        coefficients=rng.normal(size=3 * len(classes)).tolist(),
        intercepts=rng.normal(size=len(classes)).tolist(),
        classlabels_strings=classes,
        post_transform="SOFTMAX",
        **attrs,
    )


def test_linear_classifier(tmp_path: Path) -> None:
    model = model_of([linear(CLASSES)], {"x": (FLOAT, ["n", 3])}, {"label": STRING, "scores": FLOAT})
    assert hold(model, {"x": X}, tmp_path).labels == {"label": CLASSES}


def test_tree_classifier(tmp_path: Path) -> None:
    leaves = {"class_treeids": [0] * 3, "class_nodeids": [1, 3, 4], "class_ids": [0, 1, 2], "class_weights": [1.0] * 3}
    tree = node(
        "TreeEnsembleClassifier",
        "x",
        "label scores",
        nodes_treeids=[0] * 5,
        nodes_nodeids=[0, 1, 2, 3, 4],
        nodes_featureids=[0, 0, 1, 0, 0],
        nodes_values=[0.1, 0.0, -0.2, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 0, 3, 0, 0],
        nodes_falsenodeids=[2, 0, 4, 0, 0],
        classlabels_strings=CLASSES[:3],
        **leaves,
    )
    model = model_of([tree], {"x": (FLOAT, ["n", 3])}, {"label": STRING, "scores": FLOAT})
    hold(model, {"x": X}, tmp_path)


def test_support_vectors(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    machine = node(
        "SVMClassifier",
        "x",
        "label scores",
        classlabels_strings=CLASSES[:3],
        vectors_per_class=[2, 1, 2],
        support_vectors=rng.normal(size=15).tolist(),
        coefficients=rng.normal(size=10).tolist(),
        rho=[0.1, -0.2, 0.3],
        kernel_type="RBF",
        kernel_params=[0.5, 0.0, 3.0],
    )
    model = model_of([machine], {"x": (FLOAT, ["n", 3])}, {"label": STRING, "scores": FLOAT})
    hold(model, {"x": X}, tmp_path)


def test_names_of_columns(tmp_path: Path) -> None:
    """ZipMap: one map for each row in ONNX Runtime, columns with names here."""
    nodes = [linear(CLASSES), node("ZipMap", "scores", "chances", classlabels_strings=CLASSES)]
    maps = helper.make_map_type_proto(STRING, helper.make_tensor_type_proto(FLOAT, []))
    model = model_of(nodes, {"x": (FLOAT, ["n", 3])}, {"label": STRING})
    model.graph.output.append(helper.make_value_info("chances", helper.make_sequence_type_proto(maps)))
    graph = convert(model)
    modelfile.save(graph, tmp_path / "model.lith")
    loaded = runtime.load(tmp_path / "model.lith")
    expected = run_reference(model, {"x": X})[1]
    result = loaded.run({"x": X})["chances"]
    assert loaded.labels["chances"] == CLASSES
    for row, chances in zip(result, expected, strict=True):
        np.testing.assert_allclose(row, [chances[name] for name in CLASSES], rtol=1e-5)


def test_labels_from_a_table(tmp_path: Path) -> None:
    """As classifiers that work with positions look up their labels: a constant of texts, moved about."""
    classes = np.asarray(CLASSES, object)
    nodes = [
        node("ArgMax", "x", "best", "", axis=1),
        node("ArrayFeatureExtractor", "classes best", "found"),
        node("Cast", "found", "same", "", to=STRING),
        node("Reshape", "same flat", "label", ""),
    ]
    model = model_of(
        nodes, {"x": (FLOAT, ["n", 3])}, {"label": STRING}, {"classes": classes, "flat": np.asarray([-1], np.int64)}
    )
    assert hold(model, {"x": X}, tmp_path).labels == {"label": CLASSES}


def test_numbers_become_texts(tmp_path: Path) -> None:
    encoder = node(
        "LabelEncoder", "x", "y", keys_int64s=[3, 1, 7], values_strings=["c", "a", "c"], default_string="none"
    )
    model = model_of([encoder], {"x": (INT64, ["n"])}, {"y": STRING})
    hold(model, {"x": np.asarray([1, 7, 2, 3], np.int64)}, tmp_path)


COLOURS = np.asarray([["red"], ["blue"], ["no colour"], ["green"], ["red"]], object)


@pytest.mark.parametrize(
    ("encoder", "kind"),
    [
        (node("OneHotEncoder", "t", "y", cats_strings=["green", "red", "blue"], zeros=1), FLOAT),
        (node("LabelEncoder", "t", "y", keys_strings=["red", "green"], values_int64s=[5, 9], default_int64=-7), INT64),
        (node("LabelEncoder", "t", "y", keys_strings=["red", "blue"], values_floats=[0.5, 2.0]), FLOAT),
        (node("LabelEncoder", "t", "y", keys_strings=["red", "blue"], values_strings=["R", "B"]), STRING),
    ],
    ids=["one hot", "integers", "reals", "texts"],
)
def test_categories(encoder: onnx.NodeProto, kind: int, tmp_path: Path) -> None:
    model = model_of([encoder], {"t": (STRING, ["n", 1])}, {"y": kind})
    hold(model, {"t": COLOURS}, tmp_path)


def test_category_mapper(tmp_path: Path) -> None:
    mapper = node("CategoryMapper", "t", "y", cats_strings=["red", "blue"], cats_int64s=[4, 6], default_int64=-2)
    model = model_of([mapper], {"t": (STRING, ["n", 1])}, {"y": INT64}, version=1)
    hold(model, {"t": COLOURS}, tmp_path)


def test_columns_of_text(tmp_path: Path) -> None:
    """Two inputs side by side, as a table of columns comes: they share a list, and integers do what texts do."""
    nodes = [
        node("Concat", "colour size", "table", "", axis=1),
        node("ArrayFeatureExtractor", "table first", "colours"),
        node("OneHotEncoder", "colours", "hot", cats_strings=["red", "blue"], zeros=1),
        node("ArrayFeatureExtractor", "table second", "sizes"),
        node("LabelEncoder", "sizes", "number", keys_strings=["S", "M"], values_int64s=[1, 2]),
        node("Equal", "sizes small", "is_small", ""),
        node("Where", "is_small small sizes", "again", ""),
    ]
    model = model_of(
        nodes,
        {"colour": (STRING, ["n", 1]), "size": (STRING, ["n", 1])},
        {"hot": FLOAT, "number": INT64, "is_small": TensorProto.BOOL, "again": STRING},
        {
            "first": np.asarray([0], np.int64),
            "second": np.asarray([1], np.int64),
            "small": np.asarray(["S"], object),
        },
    )
    sizes = np.asarray([["S"], ["M"], ["S"], ["M"], ["S"]], object)
    loaded = hold(model, {"colour": COLOURS, "size": sizes}, tmp_path)
    labels = loaded.labels["colour"]
    assert labels == loaded.labels["size"]
    positions = np.asarray([[labels.index(t) if t in labels else -1] for t in COLOURS[:, 0]], np.int64)
    numbers = loaded.run({"colour": positions, "size": sizes})["hot"]
    np.testing.assert_array_equal(numbers, loaded.run({"colour": COLOURS, "size": sizes})["hot"])


def test_digits_become_numbers(tmp_path: Path) -> None:
    nodes = [
        node("LabelEncoder", "t", "digits", keys_strings=["low", "high"], values_strings=["1.5", "40"]),
        node("Cast", "digits", "y", "", to=FLOAT),
    ]
    model = model_of(nodes, {"t": (STRING, ["n"])}, {"y": FLOAT})
    model.graph.node[0].attribute.append(helper.make_attribute("default_string", "0"))
    graph = convert(model)
    modelfile.save(graph, tmp_path / "model.lith")
    result = runtime.load(tmp_path / "model.lith").run({"t": np.asarray(["high", "low"], object)})["y"]
    np.testing.assert_array_equal(result, np.asarray([40.0, 1.5], np.float32))


def test_what_cannot_be_done(tmp_path: Path) -> None:
    """Texts that are made or taken apart, and inputs of which nothing is known."""
    nodes = [
        node("StringConcat", "t t", "twice", ""),
        node("OneHotEncoder", "t", "hot", cats_strings=["a"]),
        node("Add", "u u", "sum", ""),
    ]
    model = model_of(nodes, {"t": (STRING, ["n"]), "u": (STRING, ["n"])}, {"hot": FLOAT, "twice": STRING, "sum": FLOAT})
    model.opset_import[0].version = 20
    with pytest.raises(UnsupportedError) as caught:
        convert(model)
    message = str(caught.value)
    assert "StringConcat" in message and "text" in message
    assert "'u'" in message and "STRING" in message


def test_a_wrong_array(tmp_path: Path) -> None:
    model = model_of([node("OneHotEncoder", "t", "y", cats_strings=["a", "b"])], {"t": (STRING, ["n"])}, {"y": FLOAT})
    modelfile.save(convert(model), tmp_path / "model.lith")
    with pytest.raises(InputError, match="float32"):
        runtime.load(tmp_path / "model.lith").run({"t": np.zeros(3, np.float32)})
