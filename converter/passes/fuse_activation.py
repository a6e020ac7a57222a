"""A relu or clip becomes the clamp of the op in front of it, through reshapes too, and two in a row become one."""

from __future__ import annotations

import math
from typing import TypeGuard

from ...ir import Graph, Node
from ...rewrite import only_user, producer_of, scalar_of
from .edits import has_clamp, rebuild, substitute

Range = tuple[float, float]


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        limits = clamp_of(node)
        if limits is None or node.input(0).quant != node.output.quant:
            continue
        changed |= _fuse(graph, node, limits) or _join(graph, node, limits)
    return changed


def clamp_of(node: Node) -> Range | None:
    """The range that a node limits its input 0 to, if that is all it does."""
    if node.op == "relu":
        return 0.0, math.inf
    if node.op == "clip":
        return node.attrs["alpha"], node.attrs["beta"]
    if node.op in ("max", "min") and node.input(0).dtype.is_float and node.attrs["clamp_min"] == -math.inf:
        bound = scalar_of(node.input(1))
        plain = node.attrs["clamp_max"] == math.inf and node.output.shape == node.input(0).shape
        if bound is None or not plain or math.isnan(bound) or node.input(0).is_constant:
            return None
        return (bound, math.inf) if node.op == "max" else (-math.inf, bound)
    return None


def clamped(inner: Range, outer: Range) -> Range:
    """The range of one clamp that does what ``inner`` and then ``outer`` do."""
    low, high = outer
    return min(max(inner[0], low), high), min(max(inner[1], low), high)


def _fuse(graph: Graph, node: Node, limits: Range) -> bool:
    layer: Node | None = node.input(0).producer
    reader = node
    while _is_reshape_of_floats(layer) and only_user(graph, layer.output) is reader:
        reader = layer
        layer = reader.input(0).producer
    if layer is None or not has_clamp(layer) or only_user(graph, layer.output) is not reader:
        return False
    if not layer.output.dtype.is_float and layer.output.quant is None:
        return False
    low, high = clamped((layer.attrs["clamp_min"], layer.attrs["clamp_max"]), limits)
    if not substitute(graph, node.output, node.input(0)):
        return False
    layer.attrs["clamp_min"], layer.attrs["clamp_max"] = low, high
    return True


def _is_reshape_of_floats(node: Node | None) -> TypeGuard[Node]:
    """A reshape that a clamp may go before; a convolution over one dimension has one behind it."""
    return node is not None and node.op == "reshape" and node.output.dtype.is_float


def _join(graph: Graph, node: Node, limits: Range) -> bool:
    inner = producer_of(node.input(0), "relu", "clip")
    first = None if inner is None else clamp_of(inner)
    if inner is not None and first is not None and only_user(graph, inner.output) is node:
        return _replace(graph, node, inner, clamped(first, limits))
    return node.op in ("max", "min") and _replace(graph, node, node, limits)


def _replace(graph: Graph, node: Node, reader: Node, limits: Range) -> bool:
    """Puts a relu or clip of what ``reader`` reads in the place of ``node``."""
    x = reader.input(0)
    if limits == (0.0, math.inf):
        made = rebuild(graph, node, "relu", [x], {}, quant_from=node.output)
    else:
        made = rebuild(graph, node, "clip", [x], {"alpha": limits[0], "beta": limits[1]}, quant_from=node.output)
    substitute(graph, node.output, made)
    if reader is not node:
        graph.remove(reader)
    return True
