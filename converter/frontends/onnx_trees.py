"""Decision trees of the domain ai.onnx.ml: the two ways in which ONNX writes them, as the tables of tree_ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from ...dtypes import DType
from ...ir import Value
from ...ops.tree import EQUAL, MISSING, SUM
from .onnx_graph import Builder, OnnxNode, Reject, Row, Text

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
"""Comparisons by their number; 6 is membership."""

MEMBER = 6
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass
class Forest:
    """Trees as the model has them: ``children`` holds nodes, or leaves as ``~leaf``."""

    features: list[int]
    comparisons: list[int]
    splits: np.ndarray
    children: list[tuple[int, int]]
    roots: list[int]
    weights: list[list[tuple[int, float]]] = field(default_factory=list)
    """For each leaf its (target, weight)."""

    def tables(self, dtype: DType) -> list[np.ndarray]:
        """The constant inputs of tree_ensemble."""
        order = self._sorted()
        place = {node: index for index, node in enumerate(order)}

        def moved(next: int) -> int:
            return place[next] if next >= 0 else next

        nodes = [
            (self.features[node], self.comparisons[node], *(moved(child) for child in self.children[node]))
            for node in order
        ]
        starts = np.cumsum([0, *(len(entries) for entries in self.weights)])
        entries = [entry for leaf in self.weights for entry in leaf]
        return [
            np.asarray(nodes, np.int32).reshape(-1, 4),
            np.asarray(self.splits, np.float64)[order].astype(dtype.numpy),
            np.asarray([moved(root) for root in self.roots], np.int32),
            starts.astype(np.int32),
            np.asarray([target for target, _ in entries], np.int32),
            np.asarray([weight for _, weight in entries]).astype(dtype.numpy),
        ]

    def _sorted(self) -> list[int]:
        """The nodes that the roots lead to, each before its children."""
        finished: list[int] = []
        state: dict[int, int] = {}
        waiting = [(root, False) for root in self.roots if root >= 0]
        while waiting:
            node, is_done = waiting.pop()
            if is_done:
                finished.append(node)
                state[node] = 2
                continue
            if not 0 <= node < len(self.children):
                raise Reject(f"a node leads to node {node}, and there are {len(self.children)}")
            if state.get(node):
                if state[node] == 1:
                    raise Reject("the nodes of a tree lead in a circle")
                continue
            state[node] = 1
            waiting.append((node, True))
            for child in self.children[node]:
                if child < 0 and ~child >= len(self.weights):
                    raise Reject(f"a node leads to leaf {~child}, and there are {len(self.weights)}")
                if child >= 0 and state.get(child) == 1:
                    raise Reject("the nodes of a tree lead in a circle")
                if child >= 0 and not state.get(child):
                    waiting.append((child, False))
        return finished[::-1]

    def split_memberships(self, memberships: Mapping[int, Sequence[float]]) -> None:
        """Replaces each node that asks for membership by a chain of nodes that ask for equality."""
        for node, values in memberships.items():
            yes, no = self.children[node]
            splits = list(self.splits)
            current = node
            for number, value in enumerate(values or [float("nan")]):
                if number:
                    self.children[current] = (yes, len(self.children))
                    current = len(self.children)
                    self.features.append(self.features[node])
                    self.comparisons.append(EQUAL | (self.comparisons[node] & MISSING))
                    self.children.append((yes, no))
                    splits.append(value)
                else:
                    splits[node] = value
            self.splits = np.asarray(splits)


def ensemble(g: Builder, x: Value, forest: Forest, targets: int, aggregate: int) -> Value:
    """What all trees say about x [N, features]."""
    if len(x.shape) != 2 or targets < 1:
        raise Reject(f"an input of shape {x.shape} and {targets} targets do not fit")
    if x.dtype is not DType.f64:
        x = g.cast(x, DType.f32)
    tables = [g.const(table, "trees") for table in forest.tables(x.dtype)]
    return g.add("tree_ensemble", [x, *tables], {"targets": targets, "aggregate": aggregate})


def tree_ensemble(g: Builder, node: OnnxNode) -> Value:
    """TreeEnsemble of ai.onnx.ml 5."""
    forest = _modern_forest(node)
    aggregate, transform = node.integer("aggregate_function", SUM), node.integer("post_transform", 0)
    if not 0 <= aggregate < len(AGGREGATES) or not 0 <= transform < len(TRANSFORMS):
        raise Reject(f"attributes 'aggregate_function' and 'post_transform' are {aggregate} and {transform}")
    y = ensemble(g, node.value(0), forest, node.integer("n_targets", 1), aggregate)
    return transformed(g, y, TRANSFORMS[transform])


def _modern_forest(node: OnnxNode) -> Forest:
    def ints(name: str) -> list[int]:
        return node.integers(name) or []

    features = ints("nodes_featureids")
    modes, splits = node.tensor("nodes_modes"), node.tensor("nodes_splits")
    weights = node.tensor("leaf_weights")
    if modes is None or splits is None or weights is None:
        raise Reject("attribute 'nodes_modes', 'nodes_splits' or 'leaf_weights' is missing")
    missing = ints("nodes_missing_value_tracks_true") or [0] * len(features)
    yes = _places(ints("nodes_truenodeids"), ints("nodes_trueleafs"))
    no = _places(ints("nodes_falsenodeids"), ints("nodes_falseleafs"))
    kinds = [int(mode) for mode in modes.reshape(-1)]
    if not len(features) == len(kinds) == splits.size == len(missing) == len(yes) == len(no):
        raise Reject("the attributes of the nodes differ in length")
    if any(not 0 <= kind <= MEMBER for kind in kinds):
        raise Reject("a value of attribute 'nodes_modes' is unknown")
    forest = Forest(
        features=features,
        comparisons=[
            (EQUAL if kind == MEMBER else kind) + (MISSING if track else 0)
            for kind, track in zip(kinds, missing, strict=True)
        ],
        splits=splits.reshape(-1).astype(np.float64),
        children=list(zip(yes, no, strict=True)),
        roots=ints("tree_roots"),
        weights=[
            [(target, float(weight))]
            for target, weight in zip(ints("leaf_targetids"), weights.reshape(-1), strict=True)
        ],
    )
    members = [index for index, kind in enumerate(kinds) if kind == MEMBER]
    forest.split_memberships(dict(zip(members, _sets(node.tensor("membership_values"), len(members)), strict=True)))
    return forest


def _places(nodes: list[int], are_leaves: list[int]) -> list[int]:
    return [~node if is_leaf else node for node, is_leaf in zip(nodes, are_leaves, strict=True)]


def _sets(values: np.ndarray | None, count: int) -> list[list[float]]:
    """The sets of membership, which NaN ends."""
    sets: list[list[float]] = [[]]
    for value in [] if values is None else values.reshape(-1).tolist():
        if value != value:
            sets.append([])
        else:
            sets[-1].append(value)
    sets = sets[:-1] if not sets[-1] else sets
    if len(sets) != count:
        raise Reject(f"attribute 'membership_values' holds {len(sets)} sets for {count} nodes")
    return sets


def older_forest(node: OnnxNode, kind: str) -> Forest:
    """The trees of TreeEnsembleClassifier (``class``) or TreeEnsembleRegressor (``target``)."""

    def ints(name: str) -> list[int]:
        return node.integers(name) or []

    trees, ids = ints("nodes_treeids"), ints("nodes_nodeids")
    modes = node.texts("nodes_modes") or []
    splits = _reals(node, "nodes_values")
    features, missing = ints("nodes_featureids"), ints("nodes_missing_value_tracks_true") or [0] * len(ids)
    targets = zip(ints("nodes_truenodeids"), ints("nodes_falsenodeids"), strict=True)
    keys = list(zip(trees, ids, strict=True))
    if not len(keys) == len(modes) == len(splits) == len(features) == len(missing):
        raise Reject("the attributes of the nodes differ in length")
    inner = {
        key: index for index, key in enumerate(key for key, mode in zip(keys, modes, strict=True) if mode != "LEAF")
    }
    leaves = {
        key: index for index, key in enumerate(key for key, mode in zip(keys, modes, strict=True) if mode == "LEAF")
    }
    if len(inner) + len(leaves) != len(keys):
        raise Reject("a node is there twice")

    def place(key: tuple[int, int]) -> int:
        if key not in inner and key not in leaves:
            raise Reject(f"node {key[1]} of tree {key[0]} does not exist")
        return inner[key] if key in inner else ~leaves[key]

    forest = Forest([], [], np.zeros(0), [], [], [[] for _ in leaves])
    kept = []
    for index, (key, mode, (yes, no)) in enumerate(zip(keys, modes, targets, strict=True)):
        if mode == "LEAF":
            continue
        if mode not in MODES:
            raise Reject(f"attribute 'nodes_modes' has '{mode}'")
        kept.append(splits[index])
        forest.features.append(features[index])
        forest.comparisons.append(MODES.index(mode) + (MISSING if missing[index] else 0))
        forest.children.append((place((key[0], yes)), place((key[0], no))))
    forest.splits = np.asarray(kept)
    led_to = {child for pair in forest.children for child in pair}
    firsts = {tree: (tree, id) for tree, id in reversed(keys) if place((tree, id)) not in led_to}
    forest.roots = [place(firsts[tree]) for tree in dict.fromkeys(trees) if tree in firsts]
    found = (ints(f"{kind}_treeids"), ints(f"{kind}_nodeids"), ints(f"{kind}_ids"), _reals(node, f"{kind}_weights"))
    for tree, id, target, weight in zip(*found, strict=True):
        if (tree, id) not in leaves:
            raise Reject(f"node {id} of tree {tree} has a weight and is no leaf")
        forest.weights[leaves[tree, id]].append((target, float(weight)))
    return forest


def _reals(node: OnnxNode, name: str) -> list[float]:
    """A list of floats, or the tensor that stands for it in double precision."""
    array = node.tensor(f"{name}_as_tensor")
    return (node.reals(name) or []) if array is None else array.reshape(-1).astype(np.float64).tolist()


def regressor(g: Builder, node: OnnxNode) -> Value:
    """TreeEnsembleRegressor."""
    aggregate = node.text("aggregate_function", "SUM")
    if aggregate not in AGGREGATES:
        raise Reject(f"attribute 'aggregate_function' is '{aggregate}'")
    targets = node.integer("n_targets", 1)
    y = ensemble(g, node.value(0), older_forest(node, "target"), targets, AGGREGATES.index(aggregate))
    base = _reals(node, "base_values")
    if base:
        y = g.add("add", [y, g.const(np.asarray(base).astype(y.dtype.numpy), "base")])
    return transformed(g, g.cast(y, DType.f32), node.text("post_transform", "NONE"))


def classifier(g: Builder, node: OnnxNode) -> list[Value | Text]:
    """TreeEnsembleClassifier: labels, and scores of all classes."""
    labels = labels_of(node)
    forest = older_forest(node, "class")
    scored = {target for leaf in forest.weights for target, _ in leaf}
    y = ensemble(g, node.value(0), forest, max(len(labels), 2), SUM)
    base, transform = _reals(node, "base_values"), node.text("post_transform", "NONE")
    is_single = len(labels) == 2 and len(scored) == 1
    if base and len(base) != (1 if is_single and 0 in scored else len(labels)):
        raise Reject(f"{len(base)} base values for {len(labels)} classes are not supported")
    if base:
        padded = np.zeros(max(len(labels), 2))
        padded[: len(base)] = base
        y = g.add("add", [y, g.const(padded.astype(y.dtype.numpy), "base")])
    if is_single:
        return _two_classes(g, node, g.cast(y, DType.f32), forest, labels, scored.pop(), transform)
    if len(labels) < 2:
        raise Reject("a classifier of one class is not supported")
    return [chosen_label(g, y, labels), transformed(g, g.cast(y, DType.f32), transform)]


def _two_classes(
    g: Builder, node: OnnxNode, y: Value, forest: Forest, labels: Labels, column: int, transform: str
) -> list[Value | Text]:
    """Two classes of which the trees score one: the other one gets what is missing."""
    score = g.add("gather", [y, g.const(np.asarray([column], np.int64))], {"axis": 1})
    positive = all(weight >= 0 for leaf in forest.weights for _, weight in leaf)
    is_second = g.add("greater", [score, g.const(np.float32(0.5 if positive else 0.0), "threshold")])
    number = g.add("where", [is_second, g.const(labels.numbers[1]), g.const(labels.numbers[0])])
    label = labels.of(g.reshape(number, number.shape[:1]))
    if column == 1:
        return [label, transformed(g, y, transform)]
    other = g.add("neg", [score])
    if transform != "LOGISTIC" and positive:
        other = g.add("sub", [g.const(np.float32(1.0)), score])
    both = g.add("concat", [other, score], {"axis": 1})
    return [label, g.add("sigmoid", [both]) if transform == "LOGISTIC" else both]


@dataclass(frozen=True)
class Labels:
    """What the classes of a classifier are called: numbers, or texts, of which there are the positions."""

    numbers: np.ndarray
    words: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.numbers)

    def of(self, label: Value) -> Value | Text:
        """The labels that some numbers stand for."""
        return label if self.words is None else Text(label, self.words)


def labels_of(node: OnnxNode) -> Labels:
    """The labels of the classes."""
    texts = node.texts("classlabels_strings")
    numbers = node.integers("classlabels_int64s") or node.integers("classlabels_ints")
    if numbers:
        return Labels(np.asarray(numbers, np.int64), None)
    if not texts:
        raise Reject("it has no labels")
    return Labels(np.arange(len(texts)), tuple(texts))


def chosen_label(g: Builder, scores: Value, labels: Labels) -> Value | Text:
    """[N]: the label of the largest score."""
    position = g.add("argmax", [scores], {"axis": 1, "keep_dims": 0, "to": DType.s64.value})
    if labels.words is not None:
        return labels.of(position)
    return g.add("gather", [g.const(labels.numbers, "labels"), position], {"axis": 0})


def transformed(g: Builder, y: Value, transform: str) -> Value:
    """Scores [N, classes] behind the transform that the model asks for."""
    if transform == "NONE":
        return y
    if transform == "LOGISTIC":
        return g.add("sigmoid", [y])
    if transform == "SOFTMAX":
        return g.add("softmax", [y], {"axis": 1})
    if transform != "SOFTMAX_ZERO":
        raise Reject(f"attribute 'post_transform' is '{transform}'")
    zero = g.const(np.float32(0.0), "zero")
    top = g.add("reduce_max", [y], {"axes": 2, "keep_dims": 1})
    powers = g.add("exp", [g.add("sub", [y, top])])
    powers = g.add("where", [g.add("equal", [y, zero]), zero, powers])
    return g.add("div", [powers, g.add("reduce_sum", [powers], {"axes": 2, "keep_dims": 1})])


ROWS: dict[str, Row] = {
    "TreeEnsemble": tree_ensemble,
    "TreeEnsembleClassifier": cast(Row, classifier),
    "TreeEnsembleRegressor": regressor,
}
