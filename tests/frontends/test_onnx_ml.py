"""The domain ai.onnx.ml against ONNX Runtime, with the reference and with the C runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import check, compare, numbers, run_reference, save

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.errors import UnsupportedError
from microlith.evaluate import evaluate

DOMAIN = "ai.onnx.ml"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
FEATURES = 4


def model_of(
    op: str, inputs: dict[str, np.ndarray], outputs: dict[str, int], version: int = 3, **attrs: Any
) -> onnx.ModelProto:
    """One node; the first dimension of its inputs is open."""
    node = helper.make_node(op, list(inputs), list(outputs), domain=DOMAIN, **attrs)
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), ["rows", *array.shape[1:]] if array.ndim > 1 else None
        )
        for name, array in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(helper.make_graph([node], "ml", infos, results), opset_imports=opsets, ir_version=10)


def hold(model: onnx.ModelProto, feeds: dict[str, np.ndarray], folder: Path) -> None:
    """ONNX Runtime, reference and C runtime agree."""
    graph = check(model, folder, feeds)
    modelfile.save(graph, folder / "model.lith")
    results = runtime.load(folder / "model.lith").run(list(feeds.values()))
    for info, expected in zip(model.graph.output, run_reference(model, feeds), strict=True):
        compare(results[info.name], expected, 1e-5, info.name)


def rows_of(count: int = 9, missing: bool = True) -> np.ndarray:
    x = numbers(count, FEATURES, seed=count)
    if missing:
        x[1, 2] = x[2, 0] = np.nan
    return np.round(x, 1)


def older_trees(kind: str, targets: list[int], trees: int = 3, depth: int = 3, low: float = -1.0) -> dict[str, Any]:
    """Attributes of random complete trees; each leaf has a weight for some of the targets."""
    rng = np.random.default_rng(trees)
    nodes: dict[str, list[Any]] = {
        name: []
        for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing")
    }
    leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    inner, total = 2**depth - 1, 2 ** (depth + 1) - 1
    for tree in range(trees):
        for node in range(total):
            is_leaf = node >= inner
            nodes["treeids"].append(tree)
            nodes["nodeids"].append(node)
            nodes["featureids"].append(0 if is_leaf else int(rng.integers(FEATURES)))
            nodes["values"].append(0.0 if is_leaf else round(float(rng.uniform(-1, 1)), 1))
            nodes["modes"].append("LEAF" if is_leaf else MODES[int(rng.integers(len(MODES)))])
            nodes["truenodeids"].append(0 if is_leaf else 2 * node + 1)
            nodes["falsenodeids"].append(0 if is_leaf else 2 * node + 2)
            nodes["missing"].append(0 if is_leaf else int(rng.integers(2)))
            for target in targets if is_leaf else ():
                leaves["treeids"].append(tree)
                leaves["nodeids"].append(node)
                leaves["ids"].append(target)
                leaves["weights"].append(float(rng.uniform(low, 1)))
    attrs = {f"nodes_{name}": values for name, values in nodes.items() if name != "missing"}
    attrs["nodes_missing_value_tracks_true"] = nodes["missing"]
    return {**attrs, **{f"{kind}_{name}": values for name, values in leaves.items()}}


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 3])
def test_regressor(targets: int, aggregate: str, tmp_path: Path) -> None:
    attrs = older_trees("target", list(range(targets)))
    base = {"base_values": [0.25] * targets} if aggregate == "SUM" else {}
    model = model_of(
        "TreeEnsembleRegressor",
        {"x": rows_of()},
        {"y": TensorProto.FLOAT},
        n_targets=targets,
        aggregate_function=aggregate,
        **attrs,
        **base,
    )
    hold(model, {"x": rows_of()}, tmp_path)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_classifier(transform: str, tmp_path: Path) -> None:
    attrs = older_trees("class", [0, 1, 2])
    outputs = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    labels = [4, 7, 9]
    x = rows_of()
    model = model_of(
        "TreeEnsembleClassifier", {"x": x}, outputs, classlabels_int64s=labels, post_transform=transform, **attrs
    )
    hold(model, {"x": x}, tmp_path)


@pytest.mark.parametrize("low", [-1.0, 0.1], ids=["signed", "positive"])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("column", [0, 1])
def test_classifier_with_one_score(column: int, transform: str, low: float, tmp_path: Path) -> None:
    attrs = older_trees("class", [column], low=low)
    outputs = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    x = rows_of()
    model = model_of(
        "TreeEnsembleClassifier", {"x": x}, outputs, classlabels_int64s=[3, 5], post_transform=transform, **attrs
    )
    hold(model, {"x": x}, tmp_path)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tree_ensemble(dtype: type, tmp_path: Path) -> None:
    """Two trees, one of them with a set, another one that is a node with two leaves."""
    x = rows_of().astype(dtype)
    x[3:5, 1] = (2.0, 4.0)
    attrs = {
        "n_targets": 2,
        "aggregate_function": 1,
        "nodes_featureids": [0, 1, 2, 3],
        "nodes_modes": np.array([0, 6, 3, 1], np.uint8),
        "nodes_splits": np.array([0.1, 0.0, -0.2, 0.3], dtype),
        "nodes_truenodeids": [1, 0, 2, 3],
        "nodes_trueleafs": [0, 1, 1, 1],
        "nodes_falsenodeids": [2, 1, 3, 4],
        "nodes_falseleafs": [0, 1, 1, 1],
        "nodes_missing_value_tracks_true": [1, 0, 0, 1],
        "leaf_targetids": [0, 1, 1, 0, 1],
        "leaf_weights": np.array([0.5, -0.25, 1.5, 2.0, 0.125], dtype),
        "membership_values": np.array([2.0, 4.0, np.nan], dtype),
        "tree_roots": [0, 3],
    }
    tensors = {
        name: numpy_helper.from_array(item, name) if isinstance(item, np.ndarray) else item
        for name, item in attrs.items()
    }
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    hold(model_of("TreeEnsemble", {"x": x}, {"y": kind}, version=5, **tensors), {"x": x}, tmp_path)


def test_an_old_opset_of_a_domain_that_is_not_used(tmp_path: Path) -> None:
    """Nothing is to be brought up to date; the converter of the package onnx crashes on some of these models."""
    x = numbers(5, FEATURES)
    model = model_of("Normalizer", {"x": x}, {"y": TensorProto.FLOAT}, norm="L2")
    next(item for item in model.opset_import if not item.domain).version = 1
    result = evaluate(convert(save(model, tmp_path)), {"x": x})["y"]
    np.testing.assert_allclose(result, x / np.linalg.norm(x, axis=1, keepdims=True), rtol=1e-5)


def test_how_often_nodes_were_hit_says_nothing(tmp_path: Path) -> None:
    """Every tree of scikit-learn's converter has it."""
    attrs = older_trees("target", [0], trees=1)
    attrs["nodes_hitrates"] = [1.0] * len(attrs["nodes_truenodeids"])
    model = model_of("TreeEnsembleRegressor", {"x": rows_of()}, {"y": TensorProto.FLOAT}, n_targets=1, **attrs)
    hold(model, {"x": rows_of()}, tmp_path)


def test_trees_that_lead_in_a_circle(tmp_path: Path) -> None:
    attrs = older_trees("target", [0], trees=1)
    attrs["nodes_truenodeids"][4] = 1
    model = model_of("TreeEnsembleRegressor", {"x": rows_of()}, {"y": TensorProto.FLOAT}, n_targets=1, **attrs)
    with pytest.raises(UnsupportedError):
        convert(save(model, tmp_path))


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_linear_models(transform: str, tmp_path: Path) -> None:
    x = rows_of(missing=False)
    weights, bias = numbers(3 * FEATURES, seed=3).tolist(), numbers(3, seed=4).tolist()
    shared = {"coefficients": weights, "intercepts": bias, "post_transform": transform}
    outputs = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}
    hold(model_of("LinearClassifier", {"x": x}, outputs, 1, classlabels_ints=[2, 5, 6], **shared), {"x": x}, tmp_path)
    if transform == "NONE":
        hold(
            model_of("LinearRegressor", {"x": x}, {"y": TensorProto.FLOAT}, 1, targets=3, **shared), {"x": x}, tmp_path
        )


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("Normalizer", {"norm": "L1"}),
        ("Normalizer", {"norm": "L2"}),
        ("Normalizer", {"norm": "MAX"}),
        ("Scaler", {"offset": [0.1, 0.2, 0.3, 0.4], "scale": [2.0, 0.5, 1.0, 4.0]}),
        ("Scaler", {"offset": [0.1], "scale": [2.0]}),
        ("Binarizer", {"threshold": 0.2}),
        ("Imputer", {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")}),
        ("Imputer", {"imputed_value_floats": [9.0], "replaced_value_float": 0.5}),
        ("LabelEncoder", {"keys_floats": [0.5, -0.5], "values_floats": [7.0, 8.0], "default_float": 1.0}),
    ],
    ids=str,
)
def test_preparation(op: str, attrs: dict[str, Any], tmp_path: Path) -> None:
    x = rows_of(missing=op == "Imputer")
    x[0] = 0.0 if op == "Normalizer" else 0.5
    hold(model_of(op, {"x": x}, {"y": TensorProto.FLOAT}, 1 + (op == "LabelEncoder"), **attrs), {"x": x}, tmp_path)


def test_categories(tmp_path: Path) -> None:
    x = np.array([[1, 5], [7, 3]], np.int64)
    model = model_of("OneHotEncoder", {"x": x}, {"y": TensorProto.FLOAT}, 1, cats_int64s=[1, 3, 7], zeros=1)
    hold(model, {"x": x}, tmp_path)
    encoder = {"keys_int64s": [1, 7], "values_int64s": [10, 70], "default_int64": -1}
    hold(model_of("LabelEncoder", {"x": x}, {"y": TensorProto.INT64}, 2, **encoder), {"x": x}, tmp_path)
