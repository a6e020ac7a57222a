"""Weights of integer layers that need no 8 bits are stored in 4, 2 or 1. The results are the same bytes."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node
from .weight_codes import COMPRESSED, LEAST_SAVED, coding_of, replace_node, rows_of, window_of


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op in COMPRESSED and node.input(0).dtype is DType.s8:
            changed |= _pack(graph, node)
    return changed


def _pack(graph: Graph, node: Node) -> bool:
    weights, requant, zeros = node.input(1), node.optional_input(3), node.optional_input(4)
    if weights.data is None or requant is None or (zeros is not None and zeros.data is None):
        return False
    if node.op == "depthwise_conv2d" and not isinstance(node.input(0).shape[3], int):
        return False
    zero = node.attrs["w_zero"] if zeros is None or zeros.data is None else zeros.data[:, None]
    rows = rows_of(node, weights.data).astype(np.int64) - zero
    coding = coding_of(rows)
    if coding is None or coding.bits == 8 or coding.saved(rows, 1) < LEAST_SAVED:
        return False
    stored = graph.constant(graph.unique_name(f"{weights.name}_{coding.bits}_bits"), coding.store(rows))
    inputs = [node.input(0), stored, node.optional_input(2), requant]
    replace_node(graph, node, COMPRESSED[node.op], inputs, window_of(node, coding.attrs()))
    return True
