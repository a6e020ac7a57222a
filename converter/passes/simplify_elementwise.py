"""Fewer elementwise ops: constants of neighbours become one, and what only repeats or reshapes for them goes."""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Node, Value
from ...rewrite import is_output, only_user
from .edits import is_float, is_unclamped, substitute, takes_data

_FACTORS, _SUMMANDS = ("mul", "div"), ("add", "sub")
_SIMPLIFIED = (*_FACTORS, *_SUMMANDS, "expand", "reshape")
_BROADCASTING = frozenset({"add", "sub", "mul", "div", "max", "min", "pow", "squared_difference"})
_MOST_BYTES = 4 << 20
"""Of a constant that is larger than the two it is made of."""

_REDUCTIONS = frozenset({"reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod"})


def run(graph: Graph) -> bool:
    changed = False
    while _once(graph):
        changed = True
    return changed


def _once(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op not in _SIMPLIFIED or node not in graph.nodes:
            continue
        if node.op in (*_FACTORS, *_SUMMANDS):
            changed |= _merge_constants(graph, node)
        elif node.op == "expand":
            changed |= _skip_expand(graph, node)
        elif node.op == "reshape":
            changed |= _keep_dimensions(graph, node) or _leave_shape(graph, node)
    return changed


def _merge_constants(graph: Graph, node: Node) -> bool:
    """(x a) b = x (a b) and (x + a) + b = x + (a + b), with division and subtraction alike."""
    outer = _with_constant(node)
    if outer is None:
        return False
    inner_node = outer[0].producer
    group = _FACTORS if node.op in _FACTORS else _SUMMANDS
    if inner_node is None or inner_node.op not in group or only_user(graph, outer[0]) is not node:
        return False
    inner = _with_constant(inner_node)
    if inner is None or not is_unclamped(inner_node):
        return False
    x, first = inner
    with np.errstate(all="ignore"):
        a, b = (_plain(item, data) for item, data in ((inner_node, first), (node, outer[1])))
        merged = (a * b if group is _FACTORS else a + b).astype(np.float32)
    if (
        merged.nbytes > max(_MOST_BYTES, first.nbytes + outer[1].nbytes)
        or not np.all(np.isfinite(merged))
        or (group is _FACTORS and np.any(np.abs(merged) < np.finfo(np.float32).tiny))
    ):
        return False
    if np.broadcast_shapes(merged.shape, (1,) * len(x.shape)) != (1,) * (len(x.shape) - merged.ndim) + merged.shape:
        return False
    constant = graph.constant(f"{node.output.name}_constant", merged)
    op = "mul" if group is _FACTORS else "add"
    clamp = {name: node.attrs[name] for name in ("clamp_min", "clamp_max")}
    made = graph.add(op, [x, constant], clamp, name=node.name, before=node, source=node.source)
    made.output.name = f"{node.output.name}_merged"
    if not substitute(graph, node.output, made.output):
        graph.remove(made)
        return False
    graph.remove(inner_node)
    return True


def _with_constant(node: Node) -> tuple[Value, np.ndarray] | None:
    """The operand that varies and the other one, of a float node whose result has the shape of the first."""
    if not is_float(node) or node.output.quant is not None or node.optional_input(2) is not None:
        return None
    places = (0,) if node.op in ("div", "sub") else (0, 1)
    for place in places:
        x, constant = node.input(place), node.input(1 - place)
        if x.data is None and constant.data is not None and constant.data.dtype == np.float32:
            return (x, constant.data) if node.output.shape == x.shape and x.quant is None else None
    return None


def _plain(node: Node, data: np.ndarray) -> np.ndarray:
    """The constant of a node as a factor or summand, in double precision."""
    wide = data.astype(np.float64)
    return 1.0 / wide if node.op == "div" else -wide if node.op == "sub" else wide


def _skip_expand(graph: Graph, node: Node) -> bool:
    """An operand need not be repeated where the other one has the shape of the result."""
    changed = False
    if node.output.quant is not None or node.input(0).quant is not None:
        return False
    for user, place in list(node.output.uses):
        if user.op not in _BROADCASTING or user.optional_input(2) is not None:
            continue
        other = user.input(1 - place)
        if other is not node.output and other.shape == user.output.shape == node.output.shape:
            user.set_input(place, node.input(0))
            changed = True
    if changed and not node.output.uses and not is_output(graph, node.output):
        graph.remove(node)
    return changed


def _keep_dimensions(graph: Graph, node: Node) -> bool:
    """A reduction that drops dimensions which a reshape brings back keeps them instead."""
    reduction = node.input(0).producer
    if reduction is None or reduction.op not in _REDUCTIONS or reduction.attrs["keep_dims"] or takes_data(reduction):
        return False
    if only_user(graph, reduction.output) is not node or reduction.output.quant is not None:
        return False
    mask, shape = reduction.attrs["axes"], reduction.input(0).shape
    kept = tuple(1 if mask >> axis & 1 else dim for axis, dim in enumerate(shape))
    if node.output.shape != kept:
        return False
    attrs = {**reduction.attrs, "keep_dims": 1}
    made = graph.add(reduction.op, reduction.inputs, attrs, name=reduction.name, before=node, source=reduction.source)
    made.output.name = f"{node.output.name}_kept"
    if made.output.shape != kept or not substitute(graph, node.output, made.output):
        graph.remove(made)
        return False
    graph.remove(reduction)
    return True


def _leave_shape(graph: Graph, node: Node) -> bool:
    """A constant that is added with the first dimension split in two, and merged again, is added without that."""
    add = node.input(0).producer
    found = _with_constant(add) if add is not None and add.op == "add" and not takes_data(node) else None
    view = None if found is None else found[0].producer
    if add is None or found is None or view is None or view.op != "reshape" or takes_data(view):
        return False
    x, constant, split = view.input(0), found[1], found[0].type
    if x.shape != node.output.shape or not x.type.is_static or split.shape[2:] != x.shape[1:] or not is_unclamped(add):
        return False
    if only_user(graph, add.output) is not node or only_user(graph, found[0]) is not add or x.quant is not None:
        return False
    wide = constant.reshape((1,) * (len(split.shape) - constant.ndim) + constant.shape)
    wide = np.broadcast_to(wide, (*split.static_shape[:2], *wide.shape[2:]))
    summand = graph.constant(f"{add.output.name}_merged", wide.reshape(-1, *wide.shape[2:]))
    made = graph.add("add", [x, summand], name=add.name, before=node, source=add.source)
    made.output.name = f"{node.output.name}_flat"
    if not substitute(graph, node.output, made.output):
        graph.remove(made)
        return False
    graph.remove(add)
    graph.remove(view)
    return True
