"""Turns a transpose that only moves sizes of 1 into a reshape, which costs nothing.

Runs once the layout is settled: before that, a transpose is what the layout pass can move and cancel.
"""

from __future__ import annotations

from ...ir import Graph, Node, Value
from .edits import rebuild, reshape_to, substitute


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op == "transpose" and _moves_ones_only(node):
            changed |= substitute(graph, node.output, _as_reshape(graph, node))
    return changed | graph.remove_dead()


def _moves_ones_only(node: Node) -> bool:
    x = node.input(0)
    moved = [axis for axis in node.attrs["perm"] if x.shape[axis] != 1]
    return moved == sorted(moved) and reshape_to(x, node.output.shape) is not None


def _as_reshape(graph: Graph, node: Node) -> Value:
    x = node.input(0)
    shape = reshape_to(x, node.output.shape)
    return rebuild(graph, node, "reshape", [x], {"shape": shape}, quant_from=node.output)
