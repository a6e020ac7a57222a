"""Turns constant inputs that decide about shapes into attributes, and reads shapes that are known."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...dtypes import DType
from ...ir import Graph, Node, Value
from ...ops.reduce import axes_of
from .edits import rebuild, reshape_to, substitute


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        changed |= absorb(node)
        if node.op in ("squeeze", "unsqueeze"):
            changed |= _reshape_instead(graph, node)
        elif (data := known_sizes(node)) is not None and not any(node.output is output for output in graph.outputs):
            graph.replace(node.output, graph.constant(node.output.name, data))
            graph.remove(node)
            changed = True
    return changed


def absorb(node: Node) -> bool:
    """Replaces the data inputs of one node by attributes, when all of them are constant."""
    opdef = ops.get(node.op)
    if opdef.absorb is None or not opdef.takes_data(node) or opdef.data_of(node):
        return False
    attrs = opdef.absorb(node)
    if attrs is None:
        return False
    node.attrs = opdef.complete_attrs({**node.attrs, **attrs})
    for index in opdef.data_positions:
        node.drop_input(index)
    return True


def known_sizes(node: Node) -> np.ndarray | None:
    """The result of reading a shape or size that is known, else None."""
    if node.op == "size" and node.input(0).type.is_static:
        return np.asarray(node.input(0).type.count, DType(node.attrs["to"]).numpy)
    if node.op != "shape":
        return None
    shape = node.input(0).shape
    start, end = (min(max(p + len(shape) if p < 0 else p, 0), len(shape)) for p in _bounds(node))
    chosen = shape[start:end]
    return None if any(isinstance(d, str) for d in chosen) else np.asarray(chosen, DType(node.attrs["to"]).numpy)


def _bounds(node: Node) -> tuple[int, int]:
    return node.attrs["start"], node.attrs["end"]


def _reshape_instead(graph: Graph, node: Node) -> bool:
    """squeeze and unsqueeze are reshapes, where one can say so. Not where squeeze takes out a size that is open: that
    it is 1 has to be seen at run time."""
    x: Value = node.input(0)
    if ops.get(node.op).takes_data(node):
        return False
    dropped = axes_of(node.attrs["axes"], len(x.shape)) if node.op == "squeeze" else ()
    if any(isinstance(x.shape[axis], str) for axis in dropped):
        return False
    shape = reshape_to(x, node.output.shape)
    if shape is None:
        return False
    return substitute(
        graph, node.output, rebuild(graph, node, "reshape", [x], {"shape": shape}, quant_from=node.output)
    )
