# SPDX-License-Identifier: Apache-2.0
"""Support vector machines of the domain ai.onnx.ml."""

from __future__ import annotations

from typing import cast

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import Builder, OnnxNode, Reject, Row, Text
from .onnx_trees import chosen_label, labels_of


def _kernel(g: Builder, node: OnnxNode, x: Value, vectors: np.ndarray, kind: str) -> Value:
    """[rows, vectors]: how alike each row is to each vector."""
    gamma, coef0, degree = (node.reals("kernel_params") or [0.0, 0.0, 3.0])[:3]

    def number(value: float) -> Value:
        return g.const(np.float32(value), "kernel")

    if kind == "RBF":
        rows = g.const(vectors[None], "vectors")
        difference = g.add("sub", [g.add("unsqueeze", [x], {"axes": 2}), rows])
        distance = g.add("reduce_sum", [g.add("square", [difference])], {"axes": 4, "keep_dims": 0})
        return g.add("exp", [g.add("mul", [distance, number(-gamma)])])
    product = g.add("matmul", [x, g.const(np.ascontiguousarray(vectors.T), "vectors")])
    if kind == "LINEAR":
        return product
    scaled = g.add("add", [g.add("mul", [product, number(gamma)]), number(coef0)])
    if kind == "SIGMOID":
        return g.add("tanh", [scaled])
    if kind == "POLY":
        return g.add("pow", [scaled, number(degree)])
    raise Reject(f"attribute 'kernel_type' is '{kind}'")


def _features(g: Builder, node: OnnxNode) -> tuple[Value, int]:
    """The input, and how many features its rows have; where that is open the support vectors tell it."""
    x = g.cast(node.value(0), DType.f32)
    if len(x.shape) != 2:
        raise Reject(f"the input has shape {x.shape}, expected rows of features")
    features = x.shape[1]
    if isinstance(features, int):
        return x, features
    count = node.integer("n_supports", 0) or sum(node.integers("vectors_per_class") or [])
    numbers = len(node.reals("support_vectors" if count else "coefficients") or [])
    if numbers == 0 or numbers % max(count, 1):
        raise Reject(f"{numbers} numbers for {count} support vectors")
    features = numbers // max(count, 1)
    g.implies(x, 1, features)
    return x, features


def svm_regressor(g: Builder, node: OnnxNode) -> Value:
    """SVMRegressor: a sum over the support vectors; with ``one_class`` its sign."""
    x, features = _features(g, node)
    count = node.integer("n_supports", 0)
    coefficients = np.asarray(node.reals("coefficients") or [], np.float32)
    vectors = np.asarray(node.reals("support_vectors") or [], np.float32)
    kind = node.text("kernel_type", "LINEAR")
    if node.text("post_transform", "NONE") != "NONE":
        raise Reject("attribute 'post_transform' is not supported")
    if count == 0:
        vectors, coefficients, kind, count = coefficients, np.ones(1, np.float32), "LINEAR", 1
    if vectors.size != count * features or coefficients.size != count:
        raise Reject(f"{coefficients.size} coefficients and {vectors.size} numbers for {count} vectors of {features}")
    alike = _kernel(g, node, x, vectors.reshape(count, features), kind)
    rho = g.const(np.float32((node.reals("rho") or [0.0])[0]), "rho")
    total = g.add("add", [g.add("matmul", [alike, g.const(coefficients.reshape(-1, 1), "coefficients")]), rho])
    if not node.integer("one_class", 0):
        return total
    one, other = (g.const(np.float32(value), "side") for value in (1.0, -1.0))
    return g.add("where", [g.add("greater", [total, g.const(np.float32(0.0), "zero")]), one, other])


LEAST_PROBABILITY = 1e-7
"""Of one class of a pair, as ONNX Runtime has it."""


def svm_classifier(g: Builder, node: OnnxNode) -> list[Value | Text]:
    """SVMClassifier: each pair of classes decides for one of them, the most votes win. The scores are the decisions of
    the pairs (of two classes: for each), or the probabilities of the classes: a sigmoid makes one of each decision, and
    these are coupled."""
    x, features = _features(g, node)
    labels, kind = labels_of(node), node.text("kernel_type", "LINEAR")
    counts = node.integers("vectors_per_class") or []
    slopes, shifts = node.reals("prob_a") or [], node.reals("prob_b") or []
    if node.text("post_transform", "NONE") != "NONE":
        raise Reject("attribute 'post_transform' is not supported")
    if len(counts) != len(labels) or len(labels) < 2:
        raise Reject(f"{len(counts)} groups of support vectors for {len(labels)} classes are not supported")
    total = sum(counts)
    vectors = np.asarray(node.reals("support_vectors") or [], np.float32)
    coefficients = np.asarray(node.reals("coefficients") or [], np.float32)
    if vectors.size != total * features or coefficients.size != (len(labels) - 1) * total:
        raise Reject(f"{coefficients.size} coefficients and {vectors.size} numbers for {total} vectors of {features}")
    weights = coefficients.reshape(len(labels) - 1, total)
    starts = np.cumsum([0, *counts])
    pairs = [(i, j) for i in range(len(labels)) for j in range(i + 1, len(labels))]
    matrix, votes = np.zeros((total, len(pairs)), np.float32), np.zeros((2, len(pairs), len(labels)), np.float32)
    for column, (i, j) in enumerate(pairs):
        first, second = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        matrix[first, column], matrix[second, column] = weights[j - 1, first], weights[i, second]
        votes[0, column, i] = votes[1, column, j] = 1.0
    rho = np.asarray(node.reals("rho") or [], np.float32)
    if rho.size != len(pairs) or not len(slopes) == len(shifts) in (0, len(pairs)):
        sizes = f"{rho.size} offsets, {len(slopes)} slopes and {len(shifts)} shifts"
        raise Reject(f"{sizes} for {len(pairs)} pairs of classes")
    alike = _kernel(g, node, x, vectors.reshape(total, features), kind)
    decisions = g.add("add", [g.add("matmul", [alike, g.const(matrix, "coefficients")]), g.const(rho, "rho")])
    is_first = g.cast(g.add("greater", [decisions, g.const(np.float32(0.0), "zero")]), DType.f32)
    # A vote for the first class of a pair counts as one for it and takes away the one for the second.
    counted = g.add("matmul", [is_first, g.const(votes[0] - votes[1], "votes")])
    counted = g.add("add", [counted, g.const(votes[1].sum(axis=0), "votes")])
    label = chosen_label(g, counted, labels)
    if slopes:
        scaled = g.add("mul", [decisions, g.const(-np.asarray(slopes, np.float32), "slopes")])
        likely = g.add("sigmoid", [g.add("add", [scaled, g.const(-np.asarray(shifts, np.float32), "shifts")])])
        likely = g.add("clip", [likely], {"alpha": LEAST_PROBABILITY, "beta": 1.0 - LEAST_PROBABILITY})
        return [label, g.add("couple_pairs", [likely], {"classes": len(labels)})]
    if len(labels) > 2:
        return [label, decisions]
    return [label, g.add("concat", [g.add("neg", [decisions]), decisions], {"axis": 1})]


ROWS: dict[str, Row] = {"SVMClassifier": cast(Row, svm_classifier), "SVMRegressor": svm_regressor}
