"""Weights as small numbers, activations real: int8 with activations quantized at run time, compressed weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir import Graph, Node, Value
from ...ops.compressed import pack_rows
from ..pipeline import finish
from .options import QuantizeOptions
from .ranges import SMALLEST_SCALE, round_weights, weight_scales
from .report import LayerReport, QuantReport
from .statistics import require_finite_weights

Rewrite = Callable[[Graph, Node, QuantizeOptions], str | None]
"""Puts another op in the place of a node, or says why not."""

COMPRESSED = {"conv2d": "conv2d_compressed", "dense": "dense_compressed", "depthwise_conv2d": "conv2d_compressed"}
DYNAMIC = {"conv2d": "conv2d_dynamic", "dense": "dense_dynamic"}


def quantize_weights(graph: Graph, options: QuantizeOptions) -> tuple[Graph, QuantReport]:
    """The finished graph and a report. No data is needed. Layers that ``float_layers`` names stay as they are."""
    from .static import layers_named

    require_finite_weights(graph)
    report = QuantReport(options.scheme, options.contract)
    report.float_bytes = sum(value.type.nbytes for value in graph.constants())
    kept = layers_named(graph, options.float_layers, "float_layers")
    rewrite = REWRITES[options.scheme]
    for node in list(graph.nodes):
        if node.op not in ("conv2d", "dense", "depthwise_conv2d", "conv_transpose"):
            continue
        reason = "asked for" if node.name in kept else rewrite(graph, node, options)
        numbers = options.scheme if reason is None else "float32"
        report.layers.append(LayerReport(node.name, node.op, numbers, reason or ""))
    finished = finish(graph)
    report.constant_bytes = sum(value.type.nbytes for value in finished.constants())
    return finished, report


def _replace(graph: Graph, node: Node, op: str, inputs: list[Value | None], attrs: dict[str, Any]) -> None:
    made = graph.add(op, inputs, attrs, name=node.name, before=node, source=node.source)
    graph.replace(node.output, made.output)
    if made.output.name.startswith(node.name):
        made.output.name = node.output.name
    graph.remove(node)


def _dynamic(graph: Graph, node: Node, options: QuantizeOptions) -> str | None:
    """int8 weights; the activations of each sample are quantized when they are known."""
    if node.op not in DYNAMIC:
        return f"there is no {node.op} with activations quantized at run time"
    data = node.input(1).data
    if data is None:
        return "its weights are not constant"
    scales = weight_scales(data, 0)
    integers = round_weights(data, scales, 0).astype(np.int8)
    name = node.input(1).name
    inputs = [
        node.input(0),
        graph.constant(f"{name}_integers", integers),
        node.optional_input(2),
        graph.constant(f"{name}_scales", scales),
    ]
    known = {key: value for key, value in node.attrs.items() if key in _attributes(DYNAMIC[node.op])}
    _replace(graph, node, DYNAMIC[node.op], inputs, {**known, "asymmetric": 1})
    return None


def _attributes(op: str) -> frozenset[str]:
    from ... import ops

    return frozenset(ops.get(op).attrs)


def compress(node: Node, bits: int, group: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Weights as compressed ops store them, and the scales, f32 [channels, groups] (none with 16 bits).

    With 4 bits the scale of each group is the one among a few with the least squared error, and its integers are the
    nearest ones; the largest weight may have 7 or -8 steps.
    """
    data = node.input(1).data
    assert data is not None
    rows = rows_of(node, data)
    if bits == 16:
        return rows.astype(np.float16), None
    depth = rows.shape[1]
    size = group if bits == 4 and group else depth
    count = -(-depth // size)
    padded = np.pad(rows.astype(np.float64), ((0, 0), (0, count * size - depth))).reshape(len(rows), count, size)
    scales = group_scales(padded, bits)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    integers = np.clip(np.rint(padded / scales[:, :, None]), low, high).reshape(len(rows), -1)[:, :depth]
    stored = pack_rows(integers) if bits == 4 else integers.astype(np.int8)
    return stored, scales.astype(np.float32)


def group_scales(groups: np.ndarray, bits: int) -> np.ndarray:
    """float64 [rows, groups] for weights [rows, groups, size]."""
    top = 2 ** (bits - 1) - 1
    signed = np.take_along_axis(groups, np.abs(groups).argmax(axis=2)[:, :, None], axis=2)[:, :, 0]
    candidates = [np.abs(signed) / top * part for part in ((1.0,) if bits == 8 else (1.0, 0.95, 0.9, 0.85, 0.8, 0.75))]
    if bits == 4:
        candidates += [-signed / (top + 1), -signed / (top + 1) * 0.9]  # the largest weight is -8 steps
    best = np.full(signed.shape, np.inf)
    chosen = np.ones(signed.shape)
    for candidate in candidates:
        scales = np.where(np.abs(candidate) > SMALLEST_SCALE, candidate, 1.0).astype(np.float32).astype(np.float64)
        whole = np.clip(np.rint(groups / scales[:, :, None]), -top - 1, top)
        error = np.sum((groups - whole * scales[:, :, None]) ** 2, axis=2)
        better = error < best
        best, chosen = np.where(better, error, best), np.where(better, scales, chosen)
    return chosen


def rows_of(node: Node, weights: np.ndarray) -> np.ndarray:
    """Weights [channels, depth], as compressed ops have them; a depthwise convolution is one in groups of 1 channel."""
    if node.op == "depthwise_conv2d":
        return weights[0].transpose(2, 0, 1).reshape(weights.shape[3], -1)
    return weights.reshape(len(weights), -1)


def _compressed(bits: int) -> Rewrite:
    def rewrite(graph: Graph, node: Node, options: QuantizeOptions) -> str | None:
        return compress_node(graph, node, bits, options.group)

    return rewrite


def compress_node(graph: Graph, node: Node, bits: int, group: int) -> str | None:
    """Puts a layer with compressed weights in the place of one, or says why not."""
    if node.op not in COMPRESSED:
        return f"there is no {node.op} with compressed weights"
    weights = node.input(1)
    if weights.data is None:
        return "its weights are not constant"
    if node.op == "depthwise_conv2d" and not isinstance(node.input(0).shape[3], int):
        return "the number of its channels is known at run time only"
    stored, scales = compress(node, bits, group)
    inputs = [node.input(0), graph.constant(f"{weights.name}_{bits}_bits", stored), node.optional_input(2)]
    if scales is not None:
        inputs.append(graph.constant(f"{weights.name}_scales", scales))
    op = COMPRESSED[node.op]
    attrs = {key: value for key, value in node.attrs.items() if key in _attributes(op)}
    attrs |= {"bits": bits, "group": group if bits == 4 else 0}
    if op == "conv2d_compressed":
        shape = weights.type.static_shape
        attrs |= {"kernel_h": shape[1], "kernel_w": shape[2]}
        if node.op == "depthwise_conv2d":
            attrs["groups"] = node.input(0).type.shape[3]
    _replace(graph, node, op, inputs, attrs)
    return None


REWRITES: dict[str, Rewrite] = {
    "dynamic": _dynamic,
    "float16": _compressed(16),
    "weights-int4": _compressed(4),
    "weights-int8": _compressed(8),
}
