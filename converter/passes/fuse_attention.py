"""Recognises attention that is spelled out: matmul(softmax(scale * matmul(q, k^T) + mask), v) in four dimensions.

Transposes that bring the heads in front of the positions go along with it, where q, k and v come from them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir import Graph, Node, Value
from ...rewrite import only_user, scalar_of
from .edits import is_float, is_unclamped, substitute

SWAP_HEADS = (0, 2, 1, 3)
"""[batch, length, heads, size] <-> [batch, heads, length, size]."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node in graph.nodes and node.op == "matmul":
            changed |= _fuse(graph, node)
    return changed


@dataclass
class _Found:
    q: Value
    k: Value
    k_is_transposed: bool
    """k holds [..., size, length]."""
    scale: float
    mask: Value | None


def _fuse(graph: Graph, last: Node) -> bool:
    if not _is_plain(last, 0) or last.attrs["transpose_a"] or last.attrs["transpose_b"]:
        return False
    softmax = _inner(graph, last.input(0), "softmax")
    if softmax is None or softmax.attrs["axis"] != 3 or softmax.attrs["beta"] != 1.0:
        return False
    found = _scores(graph, softmax.input(0))
    v = last.input(1)
    if found is None or len(v.shape) != 4:
        return False
    q, q_layout = _with_layout(found.q)
    k, k_layout = _with_layout(found.k, (0, 2, 3, 1) if found.k_is_transposed else SWAP_HEADS)
    v_source, v_layout = _with_layout(v)
    if found.k_is_transposed and k is found.k:
        k, k_layout = _turned(graph, last, found.k), 0
    if k_layout != v_layout or q.shape[:1] != k.shape[:1] or k.shape[:1] != v_source.shape[:1]:
        q, q_layout = (found.q, 0) if found.q.shape[:1] != v.shape[:1] else (q, q_layout)
        k, k_layout = (_turned(graph, last, found.k), 0) if found.k_is_transposed else (found.k, 0)
        v_source, v_layout = v, 0
    heads = (q.shape[2 if q_layout else 1], k.shape[2 if k_layout else 1], v_source.shape[2 if v_layout else 1])
    if len(set(heads)) != 1 or len({value.shape[0] for value in (q, k, v_source)}) != 1:
        graph.remove_dead()
        return False
    attrs = {"q_layout": q_layout, "kv_layout": k_layout, "scale": found.scale}
    inputs = [q, k, v_source, found.mask] if found.mask is not None else [q, k, v_source]
    made = graph.add("attention", inputs, attrs, name=last.name, before=last, source=last.source).output
    if q_layout:
        made = graph.add("transpose", [made], {"perm": SWAP_HEADS}, name=last.name, before=last).output
    made.name = f"{last.output.name}_attention"
    substitute(graph, last.output, made)
    graph.remove_dead()
    return True


def _is_plain(node: Node, bias: int) -> bool:
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


def _scores(graph: Graph, value: Value) -> _Found | None:
    mask, scale = None, 1.0
    node = _inner(graph, value, "add", "mul", "div", "matmul")
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
    if node is None or node.op != "matmul" or not _is_plain(node, 1) or node.attrs["transpose_a"]:
        return None
    return _Found(node.input(0), node.input(1), not node.attrs["transpose_b"], scale, mask)


def _fits_mask(mask: Value, scores: Value) -> bool:
    """Whether a summand broadcasts to the scores in all dimensions but the last, which it has."""
    return (
        1 <= len(mask.shape) <= 4
        and mask.shape[-1] == scores.shape[-1]
        and all(a in (1, b) for a, b in zip(mask.shape[::-1], scores.shape[::-1], strict=False))
    )


def _with_layout(value: Value, perm: tuple[int, ...] = SWAP_HEADS) -> tuple[Value, int]:
    """What a value is a transpose of, and layout 1; or the value itself and 0."""
    node = value.producer
    if node is not None and node.op == "transpose" and tuple(node.attrs["perm"]) == perm and len(value.uses) == 1:
        return node.input(0), 1
    return value, 0


def _turned(graph: Graph, before: Node, k: Value) -> Value:
    """k [..., size, length] as [..., length, size]."""
    node = k.producer
    if node is not None and node.op == "transpose" and tuple(node.attrs["perm"]) == (0, 1, 3, 2):
        return node.input(0)
    return graph.add("transpose", [k], {"perm": (0, 1, 3, 2)}, name=before.name, before=before).output
