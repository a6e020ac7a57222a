"""Recognises one value that is put where a mask holds: ``x[mask] = value``, which exporters write with the positions.

The number of positions is known only at run time; a choice between the value and x has the shape of x.
"""

from __future__ import annotations

from ...dtypes import DType
from ...ir import Graph, Node, Value
from ...ops.positions import REPLACE
from ...rewrite import producer_of
from .edits import rebuild, substitute

_MOST_STEPS = 4
"""Reshapes and repetitions between the value and its positions."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op == "scatter_nd" and (made := _chosen(graph, node)) is not None:
            changed |= substitute(graph, node.output, made)
    return changed | graph.remove_dead()


def _chosen(graph: Graph, node: Node) -> Value | None:
    x, mask, value = node.input(0), _mask(node.input(1)), _single(node.input(2))
    if mask is None or value is None or x.quant is not None or node.attrs["reduction"] != REPLACE:
        return None
    rank = len(mask.shape)
    if mask.dtype is not DType.b8 or not 1 <= rank <= len(x.shape) or mask.shape != x.shape[:rank]:
        return None
    if rank < len(x.shape):
        mask = rebuild(graph, node, "unsqueeze", [mask], {"axes": (1 << len(x.shape)) - (1 << rank)})
    made = rebuild(graph, node, "where", [mask, value, x], {})
    return made if made.shape == x.shape else None


def _mask(positions: Value) -> Value | None:
    """What holds at these positions [count, rank], which are all of them."""
    turn = producer_of(positions, "transpose")
    found = None if turn is None or tuple(turn.attrs["perm"]) != (1, 0) else producer_of(turn.input(0), "non_zero")
    return None if found is None else found.input(0)


def _single(updates: Value) -> Value | None:
    """The one element that all updates are."""
    value = updates
    for _ in range(_MOST_STEPS):
        if value.shape in ((), (1,)):
            return value
        node = producer_of(value, "expand", "tile", "reshape", "squeeze", "unsqueeze")
        if node is None:
            return None
        value = node.input(0)
    return None
