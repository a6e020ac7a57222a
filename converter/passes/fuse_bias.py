"""An addition of one number per output channel becomes the bias of the float op in front of it."""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Node
from ...rewrite import only_user
from .edits import is_float, is_unclamped, substitute

WITH_BIAS = frozenset(
    {
        "conv2d",
        "conv2d_dynamic",
        "conv3d",
        "conv_transpose",
        "dense",
        "dense_dynamic",
        "depthwise_conv2d",
        "matmul",
    }
)
"""Ops with an optional bias as input 2."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op in ("add", "sub") and is_float(node) and is_unclamped(node):
            changed |= _fuse(graph, node)
    return changed


def _fuse(graph: Graph, node: Node) -> bool:
    for index in (0, 1) if node.op == "add" else (0,):
        layer, other = node.input(index).producer, node.input(1 - index).data
        if layer is None or other is None or layer.op not in WITH_BIAS or not is_unclamped(layer):
            continue
        bias, shape = layer.optional_input(2), layer.output.shape
        if only_user(graph, layer.output) is not node or node.output.shape != shape:
            continue
        if (bias is not None and bias.data is None) or any(dim != 1 for dim in other.shape[:-1]):
            continue
        if not isinstance(shape[-1], int) or (other.ndim and other.shape[-1] not in (1, shape[-1])):
            continue
        summand = np.broadcast_to(other.reshape(-1), (shape[-1],)).astype(np.float64)
        total = summand if node.op == "add" else -summand
        if bias is not None and bias.data is not None:
            total = total + bias.data
        layer.set_input(2, graph.constant(f"{layer.output.name}_bias", total.astype(np.float32)))
        return substitute(graph, node.output, layer.output)
    return False
