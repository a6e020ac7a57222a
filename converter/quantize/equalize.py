"""Moves scale between neighbouring layers, so that the channels of what lies between them have ranges alike.

What a producer divides, the consumers multiply: the meaning of the graph stays. Between two layers with a ReLU or
nothing this is cross-layer equalization (Nagel et al., ICCV 2019), from a normalization into matrix products it is
SmoothQuant (Xiao et al., ICML 2023); both here by the rule of the latter, with ranges that were measured:
``s = max|x| ** alpha / max|w| ** (1 - alpha)`` for each channel.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable

import numpy as np

from ...ir import SCALES_MOVED, Graph, Node, Value
from ...rewrite import is_output
from ...stepwise import Executor
from .calibration_data import Feed

LARGEST_FACTOR = 1e3
"""Channels are moved by no more than this, and no less than its inverse."""

PRODUCERS = {"conv2d": 0, "depthwise_conv2d": 3, "dense": 0, "layer_norm": None}


def pairs(graph: Graph) -> list[tuple[Node, list[Node]]]:
    """Layers whose result only weighted layers read, and these."""
    found = []
    for node in graph.nodes:
        if node.op not in PRODUCERS or is_output(graph, node.output) or not _is_homogeneous(node):
            continue
        if any(value is not None and value.data is None for value in node.inputs[1:]):
            continue
        if node.op == "layer_norm" and (len(node.inputs) < 2 or node.attrs["axis"] != len(node.output.shape) - 1):
            continue
        uses = node.output.uses
        if uses and all(index == 0 and _can_take(user) for user, index in uses):
            found.append((node, node.output.users))
    return found


def _is_homogeneous(node: Node) -> bool:
    """Whether a scaled input of the fused activation gives a scaled result."""
    if node.op == "layer_norm":
        return True
    low, high = node.attrs["clamp_min"], node.attrs["clamp_max"]
    return bool(high == np.inf and low in (-np.inf, 0.0))


def _can_take(node: Node) -> bool:
    if node.op == "conv2d" and node.attrs["groups"] > 1:
        return False
    return node.op in ("conv2d", "dense", "depthwise_conv2d") and node.input(1).data is not None


def channel_ranges(graph: Graph, values: Iterable[Value], feeds: Iterable[Feed]) -> dict[Value, np.ndarray]:
    """The largest magnitude in each channel (the last axis) of some values."""
    wanted = set(values)
    ranges: dict[Value, np.ndarray] = {}

    def visit(value: Value, array: np.ndarray) -> None:
        if value in wanted:
            largest = np.abs(array.reshape(-1, array.shape[-1])).max(axis=0)
            ranges[value] = np.maximum(ranges[value], largest) if value in ranges else largest

    executor = Executor(graph)
    for feed in feeds:
        executor.run(feed, visit)
    return ranges


def equalized(
    graph: Graph, feeds: Iterable[Feed], alpha: float, kinds: frozenset[str] = frozenset(PRODUCERS)
) -> tuple[Graph, int]:
    """An equal graph with scales moved behind layers of some kinds, and in how many places; see ``SCALES_MOVED``."""
    twin, _ = graph.copied()
    found = [(node, users) for node, users in pairs(twin) if node.op in kinds]
    if not found:
        return twin, 0
    ranges = channel_ranges(twin, [node.output for node, _ in found], feeds)
    changed, moved = 0, twin.scales_moved
    for node, users in found:
        largest = ranges[node.output].astype(np.float64)
        weights = np.max([_input_ranges(user, largest.size) for user in users], axis=0)
        usable = (largest > 0) & (weights > 0) & np.isfinite(largest)
        factor = np.ones(largest.size)
        factor[usable] = largest[usable] ** alpha / weights[usable] ** (1.0 - alpha)
        if not usable.any():
            continue
        factor[usable] /= np.exp(np.mean(np.log(factor[usable])))
        factor = np.clip(factor, 1.0 / LARGEST_FACTOR, LARGEST_FACTOR)
        _divide(twin, node, factor)
        names = node.output.origins or (node.output.name,)
        moved |= dict.fromkeys(names, f"{zlib.crc32(factor.astype('<f4').tobytes()):08x}")
        for user in users:
            _multiply(twin, user, factor)
        changed += 1
    if moved:
        twin.metadata[SCALES_MOVED] = json.dumps(moved, sort_keys=True)
    return twin, changed


def _input_ranges(node: Node, channels: int) -> np.ndarray:
    """The largest weight that each input channel is multiplied with."""
    data = node.input(1).data
    assert data is not None
    if node.op == "depthwise_conv2d":
        return np.abs(data).reshape(-1, channels, data.shape[3] // channels).max(axis=(0, 2)).astype(np.float64)
    return np.abs(data).reshape(-1, data.shape[-1]).max(axis=0).astype(np.float64)


def _divide(graph: Graph, node: Node, factor: np.ndarray) -> None:
    axis = PRODUCERS[node.op]
    for index in (1, 2):
        value = node.optional_input(index)
        if value is None or value.data is None:
            continue
        shape = [1] * value.data.ndim
        shape[0 if index == 2 or axis is None else axis] = -1
        scaled = value.data.astype(np.float64) / factor.reshape(shape)
        node.set_input(index, graph.constant(value.name, scaled.astype(np.float32)))


def _multiply(graph: Graph, node: Node, factor: np.ndarray) -> None:
    value = node.input(1)
    assert value.data is not None
    if node.op == "depthwise_conv2d":
        wide = np.repeat(factor, value.data.shape[3] // factor.size)
    else:
        wide = factor
    scaled = value.data.astype(np.float64) * wide
    node.set_input(1, graph.constant(value.name, scaled.astype(np.float32)))
