"""Weights of real numbers that are a scale times small integers stay integers: in 8 bits where a model stores them so,
in 4, 2 or 1 wherever they are few enough. The kernels multiply when they read them."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, Value
from .weight_codes import (
    COMPRESSED,
    LEAST_SAVED,
    Coding,
    RealCodes,
    coding_of,
    real_codes,
    replace_node,
    rows_of,
    window_of,
)

_CHANNELS = {"conv2d": 0, "dense": 0, "depthwise_conv2d": 3}
"""The axis of the weights that counts the output channels."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op in COMPRESSED and node.input(0).dtype is DType.f32:
            changed |= _pack(graph, node)
    return changed


def _pack(graph: Graph, node: Node) -> bool:
    weights = node.input(1)
    if weights.data is None or weights.data.size < LEAST_SAVED // 4 or not np.all(np.isfinite(weights.data)):
        return False
    if node.op == "depthwise_conv2d" and not isinstance(node.input(0).shape[3], int):
        return False
    rows = rows_of(node, weights.data)
    found = _codes(node, weights, rows)
    if found is None:
        return False
    codes, coding = found
    if node.op == "dense" and coding.bits != 8 and not isinstance(node.input(0).shape[-1], int):
        return False  # how many weights lie in the last byte of a row cannot be seen
    if node.op == "depthwise_conv2d" and coding.bits == 8:
        return False  # few weights, and the kernels that read floats are much faster
    saved = coding.saved(rows, 4) - 4 * codes.scales.size
    if saved < LEAST_SAVED:
        return False
    name = graph.unique_name(f"{weights.name}_{coding.bits}_bits")
    inputs = [
        node.input(0),
        graph.constant(name, coding.store(codes.integers)),
        node.optional_input(2),
        graph.constant(graph.unique_name(f"{weights.name}_scales"), codes.scales),
    ]
    attrs = window_of(node, {**coding.attrs(), "group": codes.group})
    replace_node(graph, node, COMPRESSED[node.op], inputs, attrs)
    return True


def _codes(node: Node, weights: Value, rows: np.ndarray) -> tuple[RealCodes, Coding] | None:
    stored = _stored_codes(node, weights, rows)
    coding = None if stored is None else coding_of(stored.integers)
    if stored is not None and coding is not None and coding.bits < 8:
        return stored, coding
    found = real_codes(rows)
    if found is not None and (better := coding_of(found.integers)) is not None:
        return found, better
    return None if stored is None or coding is None else (stored, coding)


def _stored_codes(node: Node, weights: Value, rows: np.ndarray) -> RealCodes | None:
    """The integers that the model stores, less their zero points, where each channel has one scale."""
    quant = weights.decoded_from
    if quant is None or (quant.scale.size > 1 and quant.axis != _CHANNELS[node.op]):
        return None
    scales = np.broadcast_to(quant.scale.reshape(-1, 1), (len(rows), 1)).astype(np.float32)
    if not np.all(scales > 0):
        return None
    integers = np.rint(rows.astype(np.float64) / scales).astype(np.int64)
    if np.any(np.abs(integers) > 255) or np.any(np.abs(integers * scales - rows) > 1e-6 * np.abs(rows)):
        return None
    return RealCodes(integers, np.ascontiguousarray(scales), 0)
