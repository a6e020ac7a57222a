"""Recognises attention that is spelled out: matmul(softmax(scale * matmul(q, k^T) + mask), v).

It has four dimensions, or three, which are taken for the heads of one batch. Transposes that bring the heads in front
of the positions go along with it, where q, k and v come from them, and so do repetitions of the heads of k and v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...ir import Graph, Node, Value
from ...rewrite import is_output, only_user, scalar_of
from . import attention_forms
from .edits import is_float, is_unclamped, substitute

SWAP_HEADS = (0, 2, 1, 3)
"""[batch, length, heads, size] <-> [batch, heads, length, size]."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op == "matmul" and node in graph.nodes:
            lifted = attention_forms.with_four_dimensions(graph, node)
            changed |= lifted is not None
            changed |= _fuse(graph, lifted or node)
    for node in list(graph.nodes):
        changed |= node.op == "attention" and _take_in(graph, node)
    return changed


def run_early(graph: Graph) -> bool:
    """The same before the layout pass moves transposes and repetitions, and only where all of them can be taken in."""
    changed = False
    for node in list(graph.nodes):
        if node.op == "matmul" and node in graph.nodes:
            changed |= _fuse(graph, node, early=True)
    return changed


@dataclass
class _Found:
    q: Value
    k: Value
    k_is_transposed: bool
    """k holds [..., size, length]."""
    scale: float
    mask: Value | None
    guard: attention_forms.Guard | None


def _fuse(graph: Graph, last: Node, early: bool = False) -> bool:
    if not _is_plain(last) or last.attrs["transpose_a"] or last.attrs["transpose_b"]:
        return False
    softmax = _softmax(graph, last.input(0))
    if softmax is None or softmax.attrs["axis"] != 3 or softmax.attrs["beta"] != 1.0:
        return False
    found = _scores(graph, softmax.input(0))
    v = last.input(1)
    if found is None or len(v.shape) != 4:
        return False
    if found.k_is_transposed and (turned := attention_forms.turned_in_three(graph, found.k)) is not None:
        found.k, found.k_is_transposed = turned, False
    q, q_layout, q_scale = _source(graph, found.q, SWAP_HEADS, early)
    k, k_layout, k_scale = _source(graph, found.k, (0, 2, 3, 1) if found.k_is_transposed else SWAP_HEADS, early)
    v_source, v_layout, v_scale = _source(graph, v, SWAP_HEADS, early)
    if v_scale != 1.0:
        v_source, v_layout = v, 0
    if k_layout != v_layout or not _same_heads(q, q_layout, k, k_layout, v_source, v_layout):
        k, k_layout, k_scale, v_source, v_layout = found.k, 0, 1.0, v, 0
    if k_layout == 0 and found.k_is_transposed:
        k, k_scale = _turned(graph, last, found.k), 1.0
    if not _same_heads(q, q_layout, k, k_layout, v_source, v_layout):
        graph.remove_dead()
        return False
    is_repeated = False
    if k_layout == 0:
        k, v_source, k_layout, is_repeated = _without_repetitions(graph, k, v_source)
    if early and not is_repeated and not (q_layout and k_layout):
        graph.remove_dead()
        return False
    attrs = {"q_layout": q_layout, "kv_layout": k_layout, "scale": found.scale * q_scale * k_scale}
    mask = found.mask if found.guard is None else attention_forms.mask_of(graph, last, found.guard)
    inputs = [q, k, v_source, mask] if mask is not None else [q, k, v_source]
    made = graph.add("attention", inputs, attrs, name=last.name, before=last, source=last.source).output
    if q_layout:
        made = graph.add("transpose", [made], {"perm": SWAP_HEADS}, name=last.name, before=last).output
    made.name = f"{last.output.name}_attention"
    substitute(graph, last.output, made)
    graph.remove_dead()
    return True


def _take_in(graph: Graph, node: Node) -> bool:
    """Transposes and repetitions of heads in front of attention that is an operator in the model, too."""
    if len(node.outputs) != 1 or node.outputs[0].quant is not None:
        return False
    attrs, inputs = dict(node.attrs), list(node.inputs)
    if attrs["q_layout"] == 0:
        inputs[0], attrs["q_layout"], factor = _source(graph, node.input(0), SWAP_HEADS, early=False)
        attrs["scale"] *= factor
    if attrs["kv_layout"] == 1:
        shared = [attention_forms.unrepeated(graph, value, layout=1) for value in inputs[1:3]]
        inputs[1:3] = inputs[1:3] if None in shared else shared
    else:
        k, k_layout, factor = _source(graph, node.input(1), SWAP_HEADS, early=False)
        v, v_layout, v_factor = _source(graph, node.input(2), SWAP_HEADS, early=False)
        if k_layout and v_layout and v_factor == 1.0:
            inputs[1:3], attrs["kv_layout"] = [k, v], 1
            attrs["scale"] *= factor
        else:
            *inputs[1:3], attrs["kv_layout"], _ = _without_repetitions(graph, node.input(1), node.input(2))
    if attrs == node.attrs and all(new is old for new, old in zip(inputs, node.inputs, strict=True)):
        graph.remove_dead()
        return False
    made = graph.add("attention", inputs, attrs, name=node.name, before=node, source=node.source).output
    if attrs["q_layout"] != node.attrs["q_layout"]:
        made = graph.add("transpose", [made], {"perm": SWAP_HEADS}, name=node.name, before=node).output
    made.name = f"{node.output.name}_attention"
    substitute(graph, node.output, made)
    graph.remove_dead()
    return True


def _softmax(graph: Graph, value: Value) -> Node | None:
    """The softmax behind the weights; exporters may put 0 where it is not a number, as attention has it anyway."""
    node = value.producer
    if node is not None and node.op == "where" and only_user(graph, value) is not None:
        question, inner = node.input(0).producer, node.input(2)
        softmax = inner.producer
        guarded = question is not None and question.op == "is_nan" and question.input(0) is inner
        if guarded and softmax is not None and scalar_of(node.input(1)) == 0.0:
            users = {id(user) for user in inner.users}
            if softmax.op == "softmax" and users == {id(node), id(question)} and not is_output(graph, inner):
                return softmax
        return None
    return _inner(graph, value, "softmax")


def _is_plain(node: Node) -> bool:
    """A float matmul of four dimensions with nothing fused."""
    return (
        is_float(node)
        and is_unclamped(node)
        and node.optional_input(2) is None
        and node.output.quant is None
        and len(node.output.shape) == 4
        and all(len(node.input(index).shape) == 4 for index in (0, 1))
    )


def _inner(graph: Graph, value: Value, *names: str) -> Node | None:
    """The node that makes a value which nothing else uses, when it is one of these ops without anything fused."""
    node = value.producer
    if node is None or node.op not in names or only_user(graph, value) is None or value.quant is not None:
        return None
    return node if is_float(node) and ("clamp_min" not in node.attrs or is_unclamped(node)) else None


def _without_repetitions(graph: Graph, k: Value, v: Value) -> tuple[Value, Value, int, bool]:
    """k and v with as many heads as they really have, their layout, and whether that was less than before."""
    sources = [attention_forms.unrepeated(graph, value) for value in (k, v)]
    if sources[0] is None or sources[1] is None or sources[0].shape[1] != sources[1].shape[1]:
        return k, v, 0, False
    (k_source, k_layout), (v_source, v_layout) = _with_layout(graph, sources[0]), _with_layout(graph, sources[1])
    return (k_source, v_source, 1, True) if k_layout and v_layout else (sources[0], sources[1], 0, True)


def _scores(graph: Graph, value: Value) -> _Found | None:
    mask, scale = None, 1.0
    guard = attention_forms.guard_of(graph, value)
    if guard is not None and not _fits_mask(guard.condition, value):
        return None
    names = ("mul", "div", "matmul") if guard is not None else ("add", "mul", "div", "matmul")
    node = _inner(graph, value if guard is None else guard.scores, *names)
    if node is not None and node.op == "add":
        sides = [_inner(graph, node.input(index), "mul", "div", "matmul") for index in (0, 1)]
        index = 0 if sides[0] is not None and node.input(0).shape == node.output.shape else 1
        mask, node = node.input(1 - index), sides[index]
        if not _fits_mask(mask, value):
            return None
    if node is not None and node.op in ("mul", "div"):
        place = 1 if scalar_of(node.input(1)) is not None else 0
        factor = scalar_of(node.input(place))
        if factor is None or factor == 0.0 or (node.op == "div" and place == 0):
            return None
        if node.output.shape != node.input(1 - place).shape:
            return None
        scale = factor if node.op == "mul" else 1.0 / factor
        node = _inner(graph, node.input(1 - place), "matmul")
    if node is None or node.op != "matmul" or not _is_plain(node) or node.attrs["transpose_a"]:
        return None
    q, q_scale = _unscaled(graph, node.input(0))
    k, k_scale = _unscaled(graph, node.input(1))
    return _Found(q, k, not node.attrs["transpose_b"], scale * q_scale * k_scale, _as_condition(mask), guard)


def _unscaled(graph: Graph, value: Value) -> tuple[Value, float]:
    """What a value is a multiple of, and the factor."""
    node = _inner(graph, value, "mul")
    if node is not None:
        for index in (0, 1):
            factor = scalar_of(node.input(1 - index))
            if factor is not None and node.input(index).shape == value.shape and not node.input(index).is_constant:
                return node.input(index), factor
    return value, 1.0


def _as_condition(mask: Value | None) -> Value | None:
    """The condition of a mask that is 0 where it holds and -inf elsewhere; else the mask."""
    node = None if mask is None else mask.producer
    if node is None or node.op != "where" or node.input(0).shape != node.output.shape:
        return mask
    shown, hidden = scalar_of(node.input(1)), scalar_of(node.input(2))
    return node.input(0) if shown == 0.0 and hidden == -math.inf else mask


def _fits_mask(mask: Value, scores: Value) -> bool:
    """Whether a summand broadcasts to the scores in all dimensions but the last, which it has."""
    return (
        1 <= len(mask.shape) <= 4
        and mask.shape[-1] == scores.shape[-1]
        and all(a in (1, b) for a, b in zip(mask.shape[::-1], scores.shape[::-1], strict=False))
    )


def _with_layout(graph: Graph, value: Value, perm: tuple[int, ...] = SWAP_HEADS) -> tuple[Value, int]:
    """What a value is a transpose of, and layout 1; or the value itself and 0."""
    source = attention_forms.turned_heads(graph, value, perm)
    return (value, 0) if source is None else (source, 1)


def _source(graph: Graph, value: Value, perm: tuple[int, ...], early: bool) -> tuple[Value, int, float]:
    """What a value is a transpose or a multiple of, or both; the layout; the factor.

    Heads that come from positions in front of the batch are brought behind it, but not ``early``.
    """
    inner, layout = _with_layout(graph, value, perm)
    if layout:
        source, factor = _unscaled(graph, inner)
        return source, layout, factor
    turn = None if early else _inner(graph, value, "transpose")
    if turn is None or len(value.shape) != 4:
        return value, 0, 1.0
    rest = [0] * 4
    for axis, place in zip(turn.attrs["perm"], perm, strict=True):
        rest[place] = axis
    if rest[3] != 3:
        return value, 0, 1.0
    source, factor = _unscaled(graph, turn.input(0))
    turned = graph.add("transpose", [source], {"perm": tuple(rest)}, name=turn.name, before=turn).output
    return turned, 1, factor


def _same_heads(q: Value, q_layout: int, k: Value, k_layout: int, v: Value, v_layout: int) -> bool:
    """Whether batch and heads of all three are known to be equal."""
    pairs = ((q, q_layout), (k, k_layout), (v, v_layout))
    return len({(value.shape[0], value.shape[2 if layout else 1]) for value, layout in pairs}) == 1


def _turned(graph: Graph, before: Node, k: Value) -> Value:
    """k [..., size, length] as [..., length, size]."""
    node = k.producer
    if node is not None and node.op == "transpose" and tuple(node.attrs["perm"]) == (0, 1, 3, 2):
        return node.input(0)
    return graph.add("transpose", [k], {"perm": (0, 1, 3, 2)}, name=before.name, before=before).output
