"""The domain ai.onnx.ml: linear models and preparation of features; the trees are in ``onnx_trees.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import Builder, Entry, OnnxNode, Reject, Row, Text
from .onnx_svm import ROWS as SVM
from .onnx_text import ROWS as TEXT
from .onnx_text import label_default, label_numbers, label_texts, numbers_to_text
from .onnx_trees import ROWS as TREES
from .onnx_trees import chosen_label, labels_of, transformed

DOMAIN = "ai.onnx.ml"


def _linear(g: Builder, node: OnnxNode, rows: int) -> Value:
    """x times the coefficients of some rows, plus the intercepts."""
    x = g.cast(node.value(0), DType.f32)
    coefficients = np.asarray(node.reals("coefficients") or [], np.float32)
    intercepts = np.asarray(node.reals("intercepts") or [0.0] * rows, np.float32)
    x = g.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x
    if rows < 1 or len(intercepts) != rows or len(x.shape) != 2:
        raise Reject(f"{coefficients.size} coefficients and {len(intercepts)} intercepts do not make {rows} rows")
    # As ONNX Runtime: a model may have more coefficients than its features need.
    features = x.shape[1] if isinstance(x.shape[1], int) else coefficients.size // rows
    if coefficients.size < rows * features:
        raise Reject(f"{coefficients.size} coefficients are too few for {rows} rows of {features} features")
    used = coefficients[: rows * features].reshape(rows, features)
    matrix = g.const(np.ascontiguousarray(used.T), "coefficients")
    return g.add("add", [g.add("matmul", [x, matrix]), g.const(intercepts, "intercepts")])


def linear_regressor(g: Builder, node: OnnxNode) -> Value:
    """LinearRegressor."""
    return transformed(g, _linear(g, node, node.integer("targets", 1)), node.text("post_transform", "NONE"))


def linear_classifier(g: Builder, node: OnnxNode) -> list[Value | Text]:
    """LinearClassifier with a row of coefficients for each class."""
    labels = labels_of(node)
    node.ignore("multi_class")
    scores = _linear(g, node, len(node.reals("intercepts") or labels))
    if scores.shape[1] != len(labels):
        raise Reject(f"{scores.shape[1]} rows of coefficients for {len(labels)} classes are not supported")
    return [chosen_label(g, scores, labels), transformed(g, scores, node.text("post_transform", "NONE"))]


def normalizer(g: Builder, node: OnnxNode) -> Value:
    """Normalizer: rows divided by their norm; rows of norm 0 stay."""
    x = g.cast(node.value(0), DType.f32)
    last = {"axes": 1 << (len(x.shape) - 1), "keep_dims": 1}
    norm = node.text("norm", "MAX")
    if norm == "MAX":
        size = g.add("reduce_max", [x], last)
    elif norm == "L1":
        size = g.add("reduce_sum", [g.add("abs", [x])], last)
    elif norm == "L2":
        size = g.add("sqrt", [g.add("reduce_sum", [g.add("square", [x])], last)])
    else:
        raise Reject(f"attribute 'norm' is '{norm}'")
    is_zero = g.add("equal", [size, g.const(np.float32(0.0), "zero")])
    return g.add("div", [x, g.add("where", [is_zero, g.const(np.float32(1.0), "one"), size])])


def scaler(g: Builder, node: OnnxNode) -> Value:
    """Scaler: (x - offset) * scale."""
    x = g.cast(node.value(0), DType.f32)
    offset, scale = (g.const(np.asarray(node.reals(name) or [default], np.float32), name)
                     for name, default in (("offset", 0.0), ("scale", 1.0)))  # fmt: skip
    return g.add("mul", [g.add("sub", [x, offset]), scale])


def binarizer(g: Builder, node: OnnxNode) -> Value:
    """Binarizer: 1 above a threshold, else 0."""
    x = node.value(0)
    threshold = g.const(np.asarray(node.real("threshold", 0.0), x.dtype.numpy), "threshold")
    return g.cast(g.add("greater", [x, threshold]), x.dtype)


def imputer(g: Builder, node: OnnxNode) -> Value:
    """Imputer: one value, often NaN, replaced by others."""
    x = node.value(0)
    whole = x.dtype.is_integer
    values = node.integers("imputed_value_int64s") if whole else node.reals("imputed_value_floats")
    replaced = node.integer("replaced_value_int64", 0) if whole else node.real("replaced_value_float", 0.0)
    if not values:
        raise Reject("it has no values to put in")
    is_missing = (
        g.add("is_nan", [x])
        if replaced != replaced
        else g.add("equal", [x, g.const(np.asarray(replaced, x.dtype.numpy), "replaced")])
    )
    return g.add("where", [is_missing, g.const(np.asarray(values, x.dtype.numpy), "values"), x])


def feature_extractor(g: Builder, node: OnnxNode) -> Value:
    """ArrayFeatureExtractor: some elements of the last dimension."""
    x = node.value(0)
    positions = node.value(1)
    positions = g.reshape(positions, (positions.type.count if positions.type.is_static else None,))
    x = g.reshape(x, (1, *x.shape)) if len(x.shape) == 1 else x
    return g.add("gather", [x, g.cast(positions, DType.s64)], {"axis": len(x.shape) - 1})


def feature_vectorizer(g: Builder, node: OnnxNode) -> Value:
    """FeatureVectorizer: columns side by side."""
    node.ignore("inputdimensions")
    values = [g.cast(value, DType.f32) for value in node.values()]
    return values[0] if len(values) == 1 else g.add("concat", values, {"axis": 1})


def one_hot_encoder(g: Builder, node: OnnxNode) -> Value:
    """OneHotEncoder of integers: a new last dimension with 1 at the category."""
    categories = node.integers("cats_int64s")
    node.ignore("zeros")
    if categories is None:
        raise Reject("the categories are text")
    x = g.cast(node.value(0), DType.s64)
    column = g.add("unsqueeze", [x], {"axes": 1 << len(x.shape)})
    return g.cast(g.add("equal", [column, g.const(np.asarray(categories, np.int64), "categories")]), DType.f32)


def label_encoder(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    """LabelEncoder of numbers."""
    if (classes := node.texts("classes_strings")) is not None:
        node.ignore("default_int64")
        default = node.text("default_string", "_Unused")
        return [numbers_to_text(g, node.value(0), np.arange(len(classes)), classes, default)]
    keys = _table(node, "keys")
    if keys is None:
        raise Reject("its table is of texts, its input is not")
    if (texts := label_texts(node, "values")) is not None:
        if keys.size != len(texts):
            raise Reject(f"its table has {keys.size} keys and {len(texts)} values")
        node.ignore("default_int64", "default_float")
        return [numbers_to_text(g, node.value(0), keys, texts, label_default(node))]
    values, default_number = label_numbers(node)
    if keys.size != values.size or not keys.size:
        raise Reject(f"its table has {keys.size} keys and {values.size} values")
    x = node.value(0)
    y = g.const(np.asarray(default_number, values.dtype))
    for key, value in zip(keys, values, strict=True):
        is_key = g.add("is_nan", [x]) if key != key else g.add("equal", [x, g.const(np.asarray(key, x.dtype.numpy))])
        y = g.add("where", [is_key, g.const(value), y])
    return [y]


def _table(node: OnnxNode, name: str) -> np.ndarray | None:
    if (array := node.tensor(f"{name}_tensor")) is not None:
        return array.reshape(-1)
    if (ints := node.integers(f"{name}_int64s")) is not None:
        return np.asarray(ints, np.int64)
    floats = node.reals(f"{name}_floats")
    return None if floats is None else np.asarray(floats, np.float32)


def zip_map(g: Builder, node: OnnxNode) -> Value:
    """ZipMap: the scores as they are; a tensor stands for the list of maps, whose keys name its columns."""
    g.columns[node.output_names[0]] = [
        *(node.texts("classlabels_strings") or map(str, node.integers("classlabels_int64s") or []))
    ]
    return node.value(0)


ROWS: dict[tuple[str, str], Row] = {
    (DOMAIN, name): row
    for name, row in {
        **SVM,
        **TEXT,
        **TREES,
        "ArrayFeatureExtractor": feature_extractor,
        "Binarizer": binarizer,
        "FeatureVectorizer": feature_vectorizer,
        "Imputer": imputer,
        "LabelEncoder": cast(Row, label_encoder),
        "LinearClassifier": cast(Row, linear_classifier),
        "LinearRegressor": linear_regressor,
        "Normalizer": normalizer,
        "OneHotEncoder": one_hot_encoder,
        "Scaler": scaler,
        "ZipMap": zip_map,
    }.items()
}
