"""Forms of attention that exporters use beside the plain one: conditions, three dimensions, repeated heads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...ir import Dim, Graph, Node, Value
from ...rewrite import only_user, producer_of, scalar_of
from .edits import is_float, rebuild, reshape_to, substitute, takes_data

_FAR_BELOW = -1e30
"""Where finite numbers hide as summands do: a score added to one of these is lost in rounding, in doubles too.
Where a whole row is hidden, all keys then count alike, as in the model. (-1e9 leaves something of large scores.)
"""

_SCORE_OPS = frozenset({"add", "mul", "div", "where", "matmul"})


# Conditions: where(condition, a number far below, scores).


@dataclass(frozen=True)
class Guard:
    """Scores some of which are replaced by a number far below all others."""

    scores: Value
    condition: Value
    shows: bool
    """The scores stay where the condition holds; else they go there."""
    filler: float


def guard_of(graph: Graph, value: Value) -> Guard | None:
    """The guard that a value is, when nothing else uses it."""
    node = producer_of(value, "where")
    if node is None or only_user(graph, value) is None or value.quant is not None or not value.dtype.is_float:
        return None
    for place in (1, 2):
        filler, scores = scalar_of(node.input(place)), node.input(3 - place)
        if filler is not None and filler <= _FAR_BELOW and scores.shape == value.shape and scores.data is None:
            return Guard(scores, node.input(0), place == 2, filler)
    return None


def mask_of(graph: Graph, before: Node, guard: Guard) -> Value:
    """The mask that does what a guard does: a condition, or summands where a row may be hidden as a whole."""
    condition, name = guard.condition, before.output.name
    if guard.filler != -math.inf:
        low, zero = (
            graph.constant(f"{name}_hidden", _scalar(guard.filler)),
            graph.constant(f"{name}_shown", _scalar(0.0)),
        )
        order = [zero, low] if guard.shows else [low, zero]
        return graph.add("where", [condition, *order], name=before.name, before=before).output
    if guard.shows:
        return condition
    inverse = producer_of(condition, "logical_not")
    if inverse is not None:
        return inverse.input(0)
    return graph.add("logical_not", [condition], name=before.name, before=before).output


def _scalar(number: float) -> np.ndarray:
    return np.asarray(number, np.float32)


# Three dimensions.


def _as_shape(graph: Graph, node: Node, value: Value, shape: tuple[Dim, ...], op: str) -> Value:
    """A value with or without a first dimension of 1: a reshape, or the op itself where open sizes want it."""
    wanted = reshape_to(value, shape)
    if wanted is None:
        return rebuild(graph, node, op, [value], {"axes": 1})
    return rebuild(graph, node, "reshape", [value], {"shape": wanted})


def with_four_dimensions(graph: Graph, last: Node) -> Node | None:
    """The same attention in four dimensions, where a matmul ends one of three; its new last node."""
    chain = _chain(graph, last)
    if chain is None:
        return None
    made: dict[int, Value] = {}
    for node in chain:
        inputs = []
        for value in node.inputs:
            if value is None or (id(value) not in made and len(value.shape) < 3):
                inputs.append(value)
                continue
            if id(value) not in made:
                made[id(value)] = _as_shape(graph, last, value, (1, *value.shape), "unsqueeze")
            inputs.append(made[id(value)])
        attrs = {**node.attrs, "axis": 3} if node.op == "softmax" else node.attrs
        made[id(node.output)] = rebuild(graph, last, node.op, inputs, attrs)
    result = made[id(last.output)]
    substitute(graph, last.output, _as_shape(graph, last, result, result.shape[1:], "squeeze"))
    graph.remove_dead()
    return result.producer


def _chain(graph: Graph, last: Node) -> list[Node] | None:
    """From the first matmul to the last one, in three dimensions, when that is what attention looks like."""
    if len(last.output.shape) != 3 or last.optional_input(2) is not None or last.output.quant is not None:
        return None
    softmax = producer_of(last.input(0), "softmax")
    if softmax is None or softmax.attrs["axis"] != 2 or only_user(graph, softmax.output) is not last:
        return None
    chain, user = [last, softmax], softmax
    while chain[-1].op != "matmul" or chain[-1] is last:
        candidates = [value.producer for value in user.inputs if value is not None and value.producer is not None]
        fitting = [node for node in candidates if node.op in _SCORE_OPS and node.output.shape == user.output.shape]
        if len(fitting) != 1 or only_user(graph, fitting[0].output) is not user or len(chain) > 5:
            return None
        user = fitting[0]
        chain.append(user)
    for value in user.inputs:
        factor = None if value is None else producer_of(value, "mul")
        if factor is None or value is None or only_user(graph, value) is not user:
            continue
        if any(scalar_of(item) is not None for item in factor.inputs):
            chain.append(factor)
    values = [value for node in chain for value in (*node.inputs, node.output) if value is not None]
    if not all(is_float(node) or node.op == "where" for node in chain) or any(
        value.quant is not None for value in values
    ):
        return None
    if any(len(value.shape) > 3 or reshape_to(value, (1, *value.shape)) is None for value in values):
        return None
    return chain[::-1]


def turned_heads(graph: Graph, value: Value, perm: tuple[int, ...]) -> Value | None:
    """The value of four dimensions whose transpose a value is, by way of others; a batch of 1 may be put in between."""
    total, current, view = tuple(range(4)), value, value.producer
    while (node := current.producer) is not None and len(current.uses) == 1 and not takes_data(node):
        if node.op == "transpose":
            turn = tuple(node.attrs["perm"])
            full = turn if len(turn) == 4 else (0, *(axis + 1 for axis in turn))
            total = tuple(full[axis] for axis in total)
        elif node.op != "reshape" or len(current.shape) != 4 or current.shape != (1, *node.input(0).shape):
            return None
        current = node.input(0)
        if total == perm and node.op == "transpose":
            break
    if total != perm or len(current.shape) not in (3, 4):
        return None
    wanted = reshape_to(current, (1, *current.shape))
    if len(current.shape) == 4 or wanted is None or view is None:
        return current if len(current.shape) == 4 else None
    return rebuild(graph, view, "reshape", [current], {"shape": wanted})


def turned_in_three(graph: Graph, value: Value) -> Value | None:
    """x [..., length, size] for a value [..., size, length] that is turned with its first dimensions merged."""
    split = producer_of(value, "reshape")
    turn = None if split is None else producer_of(split.input(0), "transpose")
    merge = None if turn is None else producer_of(turn.input(0), "reshape")
    if split is None or turn is None or merge is None or tuple(turn.attrs["perm"]) != (0, 2, 1):
        return None
    x, wanted = merge.input(0), (*value.shape[:2], value.shape[3], value.shape[2])
    if merge.output.shape[1:] != wanted[2:] or x.shape[-2:] != wanted[2:]:
        return None
    attribute = reshape_to(x, wanted)
    if x.shape == wanted or attribute is None or takes_data(split) or takes_data(merge):
        return x if x.shape == wanted else None
    made = rebuild(graph, split, "reshape", [x], {"shape": attribute})
    return made if made.shape == wanted else None


# Repeated heads.


def unrepeated(graph: Graph, value: Value | None, layout: int = 0) -> Value | None:
    """[batch, heads, length, size], or with layout 1 [batch, length, heads, size], before each of the heads was
    repeated for several heads of q; None: it was not."""
    merge = producer_of(value, "reshape")
    repeat = None if merge is None else producer_of(merge.input(0), "expand", "tile")
    split = None if repeat is None else producer_of(repeat.input(0), "reshape")
    if value is None or merge is None or repeat is None or split is None:
        return None
    source, wide, place = split.input(0), repeat.output.shape, 2 + layout
    if not 5 <= len(wide) <= 6 or len(value.shape) != 4:
        return None
    ones = (1,) * (len(wide) - 5)
    front, times, back = wide[:place], wide[place], wide[place + 1 + len(ones) :]
    if split.output.shape != (*front, 1, *ones, *back) or wide != (*front, times, *ones, *back):
        return None
    heads, wanted = front[-1], (*front, *back)
    if not isinstance(heads, int) or not isinstance(times, int) or value.shape != (*front[:-1], heads * times, *back):
        return None
    if source.shape == wanted:
        return source
    attribute = None if takes_data(split) else reshape_to(source, wanted)
    return None if attribute is None else rebuild(graph, split, "reshape", [source], {"shape": attribute})
