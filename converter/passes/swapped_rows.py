"""Leaves rows in their order around a dense layer, which does not mind.

Exporters that want the positions in front of the batch turn rows on the way into a projection and back behind it:
transpose, reshape to a matrix, dense, reshape, transpose. Dense works on each row alone, so all of it is one dense of
the rows as they come.
"""

from __future__ import annotations

from math import prod

from ...ir import Graph, Node, Value
from ...rewrite import only_user, producer_of
from .edits import rebuild, substitute


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op == "transpose" and (made := _in_order(graph, node)) is not None:
            changed |= substitute(graph, node.output, made)
    return changed | graph.remove_dead()


def _in_order(graph: Graph, back: Node) -> Value | None:
    """What the transpose behind the layer gives, without it and without the one in front."""
    split = _inner(graph, back.input(0), "reshape")
    dense = None if split is None else _inner(graph, split.input(0), "dense")
    merge = None if dense is None else _inner(graph, dense.input(0), "reshape")
    turn = None if merge is None else _inner(graph, merge.input(0), "transpose")
    if split is None or dense is None or merge is None or turn is None or not (_swaps(back) and _swaps(turn)):
        return None
    rows, columns = turn.output.shape[:2], turn.output.shape[2:]
    inside = [size for size in columns if isinstance(size, int)]
    if len(dense.output.shape) != 2 or len(back.output.shape) != 3 or split.output.shape[:2] != rows:
        return None
    if len(inside) != len(columns) or merge.output.shape[1] != prod(inside) or dense.output.quant is not None:
        return None
    matrix = rebuild(graph, dense, "reshape", [turn.input(0)], {"shape": (0, 0, prod(inside))})
    return rebuild(graph, dense, "dense", [matrix, *dense.inputs[1:]], dict(dense.attrs))


def _inner(graph: Graph, value: Value, op: str) -> Node | None:
    """The node of an op that makes a value which nothing else uses."""
    return None if only_user(graph, value) is None or value.quant is not None else producer_of(value, op)


def _swaps(node: Node) -> bool:
    """Whether a transpose exchanges the first two dimensions and no others."""
    perm = tuple(node.attrs["perm"])
    return perm == (1, 0, *range(2, len(perm)))
