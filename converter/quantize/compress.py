"""Weights of 4, 8 or 16 bits as the compressed ops read them (``nnacl_kernels/quant/quant.h``)."""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Node
from ...ops.compressed import BFLOAT_PRODUCTS, BFLOAT_WEIGHTS, pack_rows, to_bfloat
from ..passes.weight_codes import COMPRESSED, replace_node, rows_of, window_of
from .moments import Moments
from .ranges import SMALLEST_SCALE, Weights
from .reconstruct import reconstructed


def compress(
    node: Node, bits: int, group: int, moments: Moments | None = None
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Weights as compressed ops store them, the scales, f32 [channels, groups] (none with 16 bits), and what has to be
    added to the bias, [channels] (with ``moments``).

    With 4 bits the scale of each group is the one among a few with the least squared error, and its integers are the
    nearest ones; the largest weight may have 7 or -8 steps.
    """
    data = node.input(1).data
    assert data is not None
    rows = rows_of(node, data)
    if bits == 16:
        return rows.astype(np.float16), None, None
    integers, scales, shift = _integers(node, rows, bits, group, moments)
    return (pack_rows(integers) if bits == 4 else integers.astype(np.int8)), scales.astype(np.float32), shift


def decompressed(node: Node, group: int) -> np.ndarray:
    """The weights of a layer as 4 bits give them, in their own shape, float64."""
    data = node.input(1).data
    assert data is not None
    integers, scales, _ = _integers(node, rows_of(node, data), 4, group, None)
    real = integers * _steps(scales, group or integers.shape[1], integers.shape[1])
    if node.op == "depthwise_conv2d":
        return np.ascontiguousarray(real.T).reshape(data.shape)
    return real.reshape(data.shape)


def _steps(scales: np.ndarray, size: int, depth: int) -> np.ndarray:
    """[rows, depth]: the scale of each weight."""
    return np.repeat(scales, size, axis=1)[:, :depth]


def _integers(
    node: Node, rows: np.ndarray, bits: int, group: int, moments: Moments | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Integers [rows, depth], scales [rows, groups], and what has to be added to the bias."""
    depth = rows.shape[1]
    size = group if bits == 4 and group else depth
    count = -(-depth // size)
    padded = np.pad(rows.astype(np.float64), ((0, 0), (0, count * size - depth))).reshape(len(rows), count, size)
    scales = group_scales(padded, bits)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    integers = np.clip(np.rint(padded / scales[:, :, None]), low, high).reshape(len(rows), -1)[:, :depth]
    if moments is None:
        return integers, scales, None
    shape = (len(moments.mean), -1, depth)
    steps = _steps(scales, size, depth).reshape(shape)
    better, shift = reconstructed(rows.astype(np.float64).reshape(shape), steps, moments, low, high)
    return better.reshape(len(rows), depth), scales, shift


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


def bfloat_node(graph: Graph, node: Node, multiplies: bool) -> str | None:
    """Puts a layer with weights of bfloat16 in the place of one, or says why not. ``multiplies``: x is rounded to
    bfloat16, too, when it is multiplied."""
    if node.op not in COMPRESSED or node.op == "depthwise_conv2d" or node.attrs.get("groups", 1) != 1:
        return f"there is no {node.op} of several groups with weights of bfloat16"
    weights = node.input(1)
    if weights.data is None:
        return "its weights are not constant"
    stored = graph.constant(f"{weights.name}_bfloat16", to_bfloat(rows_of(node, weights.data)))
    attrs = {"bits": 16, "group": 0, "bfloat": BFLOAT_PRODUCTS if multiplies else BFLOAT_WEIGHTS}
    inputs = [node.input(0), stored, node.optional_input(2)]
    replace_node(graph, node, COMPRESSED[node.op], inputs, window_of(node, attrs))
    return None


LARGEST_HALF = float(np.finfo(np.float16).max)
LEAST_SQNR = 40.0
"""Signal to noise in dB that weights keep as halves; those of usual size keep 70."""


def half_problem(data: np.ndarray) -> str | None:
    """Why weights cannot be halves: they would become infinite, or are so small that their digits are lost."""
    if data.size and float(np.abs(data).max()) > LARGEST_HALF:
        return f"its weights pass {LARGEST_HALF:.0f}, the largest half"
    real = data.astype(np.float64)
    noise, signal = float(np.square(real - data.astype(np.float16)).sum()), float(np.square(real).sum())
    if noise * 10 ** (LEAST_SQNR / 10) > signal:
        return f"its weights are too small for halves (largest {float(np.abs(data).max()):.2g})"
    return None


def compress_node(
    graph: Graph,
    node: Node,
    bits: int,
    group: int,
    moments: Moments | None = None,
    known: tuple[Weights, np.ndarray | None] | None = None,
) -> str | None:
    """Puts a layer with compressed weights in the place of one, or says why not.

    ``known``: with 8 bits, weights and bias that were rounded already.
    """
    if node.op not in COMPRESSED:
        return f"there is no {node.op} with compressed weights"
    weights = node.input(1)
    if weights.data is None:
        return "its weights are not constant"
    if node.op == "depthwise_conv2d" and not isinstance(node.input(0).shape[3], int):
        return "the number of its channels is known at run time only"
    if bits == 16 and (reason := half_problem(weights.data)):
        return reason
    bias = node.optional_input(2)
    if known is None:
        stored, scales, shift = compress(node, bits, group, moments)
    else:
        stored = rows_of(node, known[0].integers).astype(np.int8)
        scales, shift = known[0].scales.reshape(-1, 1), None
        if known[1] is not None:
            bias = graph.constant(f"{weights.name}_bias", known[1].astype(np.float32))
    if shift is not None and (bias is None or bias.data is not None):
        total = shift if bias is None or bias.data is None else bias.data + shift
        bias = graph.constant(f"{weights.name}_bias", total.astype(np.float32))
    inputs = [node.input(0), graph.constant(f"{weights.name}_{bits}_bits", stored), bias]
    if scales is not None:
        inputs.append(graph.constant(f"{weights.name}_scales", scales))
    is_grouped = bits == 4 and group < rows_of(node, weights.data).shape[1]
    attrs = window_of(node, {"bits": bits, "group": group if is_grouped else 0})
    replace_node(graph, node, COMPRESSED[node.op], inputs, attrs)
    return None
