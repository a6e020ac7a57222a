"""Recognises normalizations and softmax that exporters spell out in elementary ops, and takes in their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import Graph, Node, Value
from ...rewrite import Const, Match, Op, Var, only_user, rewrite_all, scalar_of
from .edits import is_float, is_unclamped, nodes_of, substitute, sweep

X = Var("x")
EPSILON = Const("epsilon")

Build = Callable[[Graph, Match], "Value | None"]


def run(graph: Graph) -> bool:
    changed = False
    for pattern, build in PATTERNS:
        changed |= rewrite_all(graph, pattern, build)
    changed |= sweep(lambda: nodes_of(graph, "mul", "add"), lambda node: _absorb(graph, node))
    changed |= sweep(lambda: nodes_of(graph, "group_norm"), lambda node: _regroup(graph, node))
    return changed


def _epsilon(match: Match) -> float | None:
    """A single number that may stand under the root."""
    data = match["epsilon"].data
    if data is None or data.size != 1 or not data.reshape(-1)[0] >= 0:
        return None
    return float(data.reshape(-1)[0])


def _reduced_axes(match: Match, *names: str) -> list[int] | None:
    """The axes that all named reductions have in common, when they keep their dimensions."""
    nodes = [match.named[name] for name in names]
    masks = {node.attrs["axes"] for node in nodes}
    if len(masks) != 1 or not all(node.attrs["keep_dims"] and is_float(node) for node in nodes):
        return None
    (mask,) = masks
    return [axis for axis in range(len(match["x"].shape)) if mask >> axis & 1]


def _is_tail(axes: list[int], rank: int) -> bool:
    return bool(axes) and axes == list(range(rank - len(axes), rank))


def _node(graph: Graph, match: Match, op: str, inputs: list[Value | None], attrs: dict[str, Any]) -> Value:
    root = match.root
    return graph.add(op, inputs, attrs, name=root.name, before=root, source=root.source).output


def _mean_and_variance(graph: Graph, match: Match) -> Value | None:
    """layer_norm over the last axes; group_norm over those between the first and the last."""
    axes, epsilon, x = _reduced_axes(match, "mean", "variance"), _epsilon(match), match["x"]
    if axes is None or epsilon is None or match.root.output.quant is not None:
        return None
    rank = len(x.shape)
    if _is_tail(axes, rank):
        return _node(graph, match, "layer_norm", [x], {"axis": axes[0], "epsilon": epsilon})
    channels = x.shape[-1]
    if rank >= 3 and axes == list(range(1, rank - 1)) and isinstance(channels, int):
        return _node(graph, match, "group_norm", [x], {"groups": channels, "epsilon": epsilon})
    return None


def _weighted(graph: Graph, match: Match) -> Value | None:
    """x a + (bias - mean a), where a = scale / deviation: the form of TensorFlow and, with -mean, of Keras."""
    normal = _mean_and_variance(graph, match)
    if normal is None or normal.producer is None:
        return normal
    node = normal.producer
    for index, name in ((1, "scale"), (2, "bias")):
        if name not in match.values:
            continue
        weights = _weights_for(graph, node, match[name])
        if weights is None:
            graph.remove(node)
            return None
        node.set_input(index, weights)
    return normal


def _root_mean_square(graph: Graph, match: Match) -> Value | None:
    axes, epsilon, x = _reduced_axes(match, "mean"), _epsilon(match), match["x"]
    if axes is None or epsilon is None or not _is_tail(axes, len(x.shape)) or match.root.output.quant is not None:
        return None
    return _node(graph, match, "rms_norm", [x], {"axis": axes[0], "epsilon": epsilon})


def _softmax(graph: Graph, match: Match) -> Value | None:
    names = [name for name in ("top", "sum") if name in match.named]
    axes = _reduced_axes(match, *names)
    if axes is None or len(axes) != 1 or match.root.output.quant is not None:
        return None
    return _node(graph, match, "softmax", [match["x"]], {"axis": axes[0]})


_MEAN = Op("reduce_mean", X, name="mean")
_CENTRED = Op("sub", X, _MEAN)
_VARIANCES = [
    Op("reduce_mean", Op("square", _CENTRED), name="variance"),
    Op("reduce_mean", Op("squared_difference", X, _MEAN), name="variance"),
    Op("reduce_mean", Op("mul", _CENTRED, _CENTRED), name="variance"),
]
_POWER = Op("reduce_mean", Op("square", X), name="mean")
_EXP = Op("exp", Op("sub", X, Op("reduce_max", X, name="top")))


def _over_deviation(value: Op | Var, variance: Op) -> list[Op]:
    """``value`` divided by the root of ``variance`` + epsilon, in the forms in use."""
    shifted = Op("add", variance, EPSILON)
    return [
        Op("div", value, Op("sqrt", shifted)),
        Op("mul", value, Op("rsqrt", shifted)),
        Op("div", value, Op("pow", shifted, Const(value=0.5))),
        Op("mul", value, Op("pow", shifted, Const(value=-0.5))),
    ]


def _tensorflow_forms(variance: Op) -> list[Op]:
    inverse = Op("rsqrt", Op("add", variance, EPSILON))
    forms: list[Op] = []
    for factor in (Op("mul", inverse, Const("scale")), inverse):
        turned = Op("mul", Op("neg", _MEAN), factor)
        ends = (Op("sub", Const("bias"), Op("mul", _MEAN, factor)), Op("add", turned, Const("bias")), turned)
        forms.extend(Op("add", Op("mul", X, factor), end) for end in ends)
    return forms


PATTERNS: list[tuple[Op, Build]] = [
    *((form, _weighted) for variance in _VARIANCES for form in _tensorflow_forms(variance)),
    *((pattern, _mean_and_variance) for variance in _VARIANCES for pattern in _over_deviation(_CENTRED, variance)),
    *((pattern, _root_mean_square) for pattern in _over_deviation(X, _POWER)),
    (Op("div", _EXP, Op("reduce_sum", _EXP, name="sum")), _softmax),
    (Op("div", Op("exp", X), Op("reduce_sum", Op("exp", X), name="sum")), _softmax),
]
"""A pattern and what takes its place, tried in this order."""


def _absorb(graph: Graph, node: Node) -> bool:
    """A multiplication or addition behind a normalization becomes its scale or bias."""
    if not is_float(node) or not is_unclamped(node) or node.output.quant is not None:
        return False
    for index in (0, 1):
        norm, other = node.input(index).producer, node.input(1 - index)
        slot = 1 if node.op == "mul" else 2
        if norm is None or norm.op not in ("layer_norm", "rms_norm", "group_norm") or len(norm.outputs) != 1:
            continue
        if only_user(graph, norm.output) is not node or node.output.shape != norm.output.shape:
            continue
        taken = [not _is_neutral(norm.optional_input(place), place) for place in (slot, 2)]
        if any(taken) or (norm.op == "rms_norm" and slot == 2):
            continue
        weights = _weights_for(graph, norm, other)
        if weights is None:
            continue
        norm.set_input(slot, weights)
        if graph.nodes.index(norm) > graph.nodes.index(node):
            graph.sort()
        name = node.output.name
        if not substitute(graph, node.output, norm.output):
            return False
        norm.output.name = name
        return True
    return False


def _is_neutral(weights: Value | None, place: int) -> bool:
    """Whether a scale (place 1) or bias (place 2) is absent or changes nothing."""
    return weights is None or scalar_of(weights) == (1.0 if place == 1 else 0.0)


def _weights_for(graph: Graph, norm: Node, value: Value) -> Value | None:
    """A value as scale or bias of a normalization, or None when it does not fit."""
    x = norm.input(0)
    shape = x.shape[-1:] if norm.op == "group_norm" else x.shape[norm.attrs["axis"] :]
    if not all(isinstance(dim, int) for dim in shape):
        return None
    if value.data is None:
        return None
    if value.shape == shape:
        return value
    sizes = tuple(int(dim) for dim in shape)
    data = value.data
    while data.ndim > len(sizes) and data.shape[0] == 1:
        data = data.reshape(data.shape[1:])
    if data.ndim > len(sizes) or np.broadcast_shapes(data.shape, sizes) != sizes:
        return None
    return graph.constant(value.name, np.array(np.broadcast_to(data, sizes)))


def _regroup(graph: Graph, norm: Node) -> bool:
    """A normalization of each row of [n, groups, all else] is one of groups of channels.

    That is how exporters write it: x [n, c, ...] is reshaped to [n, groups, -1] and the result back to the old shape.
    """
    into, back = norm.input(0).producer, only_user(graph, norm.output)
    if not (_swaps(into) and _swaps(back)) or into is None or back is None:
        return False
    before, after = into.input(0).producer, only_user(graph, back.output)
    if before is None or before.op != "reshape" or after is None or after.op != "reshape":
        return False
    x, groups = before.input(0), norm.attrs["groups"]
    channels, rank = x.shape[1] if len(x.shape) > 2 else 0, len(x.shape)
    if after.output.shape != x.shape or len(norm.input(0).shape) != 3 or norm.input(0).shape[2] != groups:
        return False
    if not isinstance(channels, int) or not channels or channels % groups or x.shape[0] != norm.input(0).shape[0]:
        return False
    weights = [_repeated(graph, norm.optional_input(index), channels // groups) for index in (1, 2)]
    if any(old is not None and new is None for old, new in zip(norm.inputs[1:], weights, strict=False)):
        return False
    last = graph.add("transpose", [x], {"perm": (0, *range(2, rank), 1)}, name=norm.name, before=after).output
    made = graph.add("group_norm", [last, *weights], norm.attrs, name=norm.name, before=after, source=norm.source)
    made.attrs["groups"] = groups
    first = {"perm": (0, rank - 1, *range(1, rank - 1))}
    turned = graph.add("transpose", [made.output], first, name=norm.name, before=after).output
    turned.name = f"{after.output.name}_grouped"
    substitute(graph, after.output, turned)
    graph.remove_dead()
    return True


def _swaps(node: Node | None) -> bool:
    return node is not None and node.op == "transpose" and tuple(node.attrs["perm"]) == (0, 2, 1)


def _repeated(graph: Graph, weights: Value | None, times: int) -> Value | None:
    """One number per group as one per channel; None when they are absent or not constant."""
    if weights is None or weights.data is None or weights.data.size == 0:
        return None
    return graph.constant(f"{weights.name}_channels", np.repeat(weights.data, times))
