"""Ensembles of decision trees and other parts of classifiers; arithmetic in ``nnacl_kernels/tree/tree.h``."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Node, TensorType
from . import REQUIRED, OpDef, Sample, Tolerance, register, sampling
from .shape_rules import require, require_dtype, require_rank

Attrs = Mapping[str, Any]
Array = np.ndarray

LESS_EQUAL, LESS, GREATER_EQUAL, GREATER, EQUAL, NOT_EQUAL = range(6)
MISSING = 8
"""Added to a comparison that holds for NaN."""

MEAN, SUM, MIN, MAX = range(4)
"""Values of the attribute ``aggregate``."""

_COMPARE = (operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne)


def _infer(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, DType.f32, DType.f64)
    rows, _ = require_rank(node, x, 2)
    for index in range(1, 7):
        require(node, node.input(index).is_constant, f"'{node.input(index).name}' must be constant")
        dtype = x.dtype if index in (2, 6) else DType.s32
        require_dtype(node, node.input(index), dtype)
    return [TensorType(x.dtype, (rows, node.attrs["targets"]))]


def _leaf(row: Array, root: int, nodes: Array, splits: Array) -> int:
    """The leaf that a row of x falls into."""
    place = int(root)
    while place >= 0:
        feature, comparison, yes, no = nodes[place].tolist()
        value = row[feature]
        missing = bool(comparison & MISSING)
        holds = missing if np.isnan(value) else _COMPARE[comparison & ~MISSING](value, splits[place])
        place = yes if holds else no
    return ~place


def _reference(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    x, nodes, splits, roots, leaves, targets, weights = inputs
    combine = {MIN: min, MAX: max}.get(attrs["aggregate"], operator.add)
    y = np.zeros((len(x), attrs["targets"]))
    for row, result in zip(x, y, strict=True):
        found: dict[int, float] = {}
        for root in roots:
            leaf = _leaf(row, root, nodes, splits)
            for entry in range(leaves[leaf], leaves[leaf + 1]):
                target, weight = int(targets[entry]), float(weights[entry])
                found[target] = combine(found[target], weight) if target in found else weight
        for target, total in found.items():
            result[target] = total
    if attrs["aggregate"] == MEAN and len(roots):
        y /= len(roots)
    return [y.astype(x.dtype)]


def _sample(rng: np.random.Generator) -> Sample:
    rows, features, targets = (sampling.size(rng, 1, 6) for _ in range(3))
    dtype = np.float64 if rng.integers(2) else np.float32
    x = sampling.floats(rng, (rows, features)).astype(dtype)
    x[rng.random(x.shape) < 0.1] = np.nan
    count, leaves = sampling.size(rng, 0, 9), sampling.size(rng, 1, 5)
    nodes = np.zeros((count, 4), np.int32)
    for index in range(count):
        later = list(range(index + 1, count))
        places = [int(rng.choice([*later, *(~leaf for leaf in range(leaves))])) for _ in range(2)]
        nodes[index] = (rng.integers(features), rng.integers(6) + MISSING * rng.integers(2), *places)
    roots = rng.choice([*range(count), ~0, ~(leaves - 1)], sampling.size(rng, 1, 4)).astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 3, leaves))]).astype(np.int32)
    goals = rng.integers(0, targets, starts[-1]).astype(np.int32)
    splits, weights = (sampling.floats(rng, (size,)).astype(dtype) for size in (count, int(starts[-1])))
    attrs = {"targets": targets, "aggregate": int(rng.integers(4))}
    return Sample([x, nodes, splits, roots, starts, goals, weights], attrs)


def _infer_couple_pairs(node: Node) -> list[TensorType]:
    x, classes = node.input(0), node.attrs["classes"]
    require_dtype(node, x, DType.f32)
    rows, pairs = require_rank(node, x, 2)
    require(node, 2 <= classes <= 1024, f"{classes} classes are not 2 .. 1024")
    require(node, pairs == classes * (classes - 1) // 2, f"{pairs} pairs of {classes} classes")
    return [TensorType(x.dtype, (rows, classes))]


def _reference_couple_pairs(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    """Wu, Lin and Weng 2004, algorithm 2, in float32, so that all of its executions end after the same step."""
    (x,), count = inputs, attrs["classes"]
    one, two = np.float32(1), np.float32(2)
    first, second = np.triu_indices(count, 1)
    y = np.full((len(x), count), one / np.float32(count), np.float32)
    for row, p in zip(x, y, strict=True):
        r = np.zeros((count, count), np.float32)
        r[first, second], r[second, first] = row, one - row
        quadratic = -(r.T * r)
        for i in range(count):
            quadratic[i, i] = _sum(r[:, i] * r[:, i])
        for _ in range(100):
            q = np.array([_sum(line * p) for line in quadratic], np.float32)
            total = _sum(p * q)
            if np.max(np.abs(q - total)) < np.float32(0.005) / np.float32(count):
                break
            for i, line in enumerate(quadratic):
                change = (total - q[i]) / line[i]
                p[i] += change
                total = (total + change * (change * line[i] + two * q[i])) / (one + change) / (one + change)
                q[:] = (q + change * line) / (one + change)
                p /= one + change
    return [y]


def _sum(terms: Array) -> np.float32:
    """One after the other."""
    total = np.float32(0)
    for term in terms:
        total += term
    return total


def _sample_couple_pairs(rng: np.random.Generator) -> Sample:
    classes = sampling.size(rng, 2, 6)
    shape = (sampling.size(rng, 1, 6), classes * (classes - 1) // 2)
    return Sample([np.clip(rng.random(shape), 1e-7, 1 - 1e-7).astype(np.float32)], {"classes": classes})


register(
    OpDef(
        name="tree_ensemble",
        inputs=("x", "nodes", "splits", "roots", "leaves", "targets", "weights"),
        infer=_infer,
        reference=_reference,
        samples=_sample,
        attrs={"targets": REQUIRED, "aggregate": SUM},
        tolerance=Tolerance(1e-6, 1e-6),
        doc="What the leaves of all trees say about each row of x: their sum, mean, least or largest weight.",
    ),
    OpDef(
        name="couple_pairs",
        inputs=("x",),
        infer=_infer_couple_pairs,
        reference=_reference_couple_pairs,
        samples=_sample_couple_pairs,
        attrs={"classes": REQUIRED},
        tolerance=Tolerance(1e-6, 1e-6),
        doc="Probabilities of classes from those of the first class of each pair (Wu, Lin and Weng 2004).",
    ),
)
