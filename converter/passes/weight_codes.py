"""Weights as codes of few bits: which grid they lie on, and layers that read them (``nnacl_kernels/quant/quant.h``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import ops
from ...ir import Graph, Node, Value
from ...ops.compressed import PACKED, pack_codes, packed_width

COMPRESSED = {"conv2d": "conv2d_compressed", "dense": "dense_compressed", "depthwise_conv2d": "conv2d_compressed"}
"""The op with compressed weights for each op."""

LEAST_SAVED = 64
"""Bytes of a layer that have to go away: fewer are not worth another kernel."""

_FURTHEST = 256
"""The largest offset and step that the ops know."""

_MOST_STEPS = 15
"""The largest weight of a grid counts at most so many steps."""

_SAME = 2.0**-21
"""Real numbers lie on a grid when they are off by no more than this part: products with a scale were rounded once, and
once more where a normalization was multiplied into them."""

GROUPS = (0, 256, 128, 64, 32, 16)
"""How many neighbours in a row may share a scale (0: all), the most first."""

_LOOK = 64
"""Groups that are looked at before all of them are."""


@dataclass(frozen=True)
class Coding:
    """weight = offset + step * code, code in ``bits`` bits; 8 bits: the weights themselves."""

    bits: int
    offset: int = 0
    step: int = 0

    def attrs(self) -> dict[str, int]:
        """As attributes of a compressed op."""
        return {"bits": self.bits, "offset": self.offset, "step": self.step}

    def store(self, integers: np.ndarray) -> np.ndarray:
        """Integers [rows, depth] as the op stores them."""
        if self.bits not in PACKED:
            return integers.astype(np.int8)
        return pack_codes((integers.astype(np.int64) - self.offset) // self.step, self.bits)

    def saved(self, rows: np.ndarray, size: int) -> int:
        """Bytes that go away when weights [rows, depth] of ``size`` bytes are stored so."""
        count, depth = rows.shape
        return int(count * (depth * size - packed_width(self.bits, depth)))


def coding_of(integers: np.ndarray) -> Coding | None:
    """The fewest bits that integers need: 1, 2, 4, or 8 where they fit; None where they do not."""
    values = np.unique(integers)
    if values.size == 0:
        return None
    low, high = int(values[0]), int(values[-1])
    step = int(np.gcd.reduce(np.diff(values))) if values.size > 1 else 1
    count = (high - low) // step + 1
    for bits in PACKED:
        if count <= 1 << bits and abs(low) <= _FURTHEST and step <= _FURTHEST:
            return Coding(bits, low, step)
    return Coding(8) if low >= -128 and high <= 127 else None


@dataclass(frozen=True)
class RealCodes:
    """Rows of real numbers as scale * integer."""

    integers: np.ndarray
    """int64 [rows, depth]."""
    scales: np.ndarray
    """float32 [rows, groups]."""
    group: int


def real_codes(rows: np.ndarray) -> RealCodes | None:
    """The small integers and scales that rows of float32 [rows, depth] are products of; None where they are not.

    Nothing else is asked for than that the products are these numbers to rounding, so it does not matter where a model
    came from.
    """
    depth = rows.shape[1]
    for group in GROUPS:
        size = group or depth
        if (group and group >= depth) or depth < 2:
            continue
        count = -(-depth // size)
        padded = np.pad(rows, ((0, 0), (0, count * size - depth))).reshape(-1, size)
        pick = np.linspace(0, len(padded) - 1, _LOOK).astype(np.int64)
        if _on_grid(padded[np.unique(pick)]) is None:
            continue
        whole = _on_grid(padded)
        if whole is not None:
            integers = whole.reshape(len(rows), -1)[:, :depth]
            return RealCodes(integers, _scales(padded, whole).reshape(len(rows), count), group)
    return None


def _on_grid(blocks: np.ndarray) -> np.ndarray | None:
    """int64 like ``blocks`` [blocks, size] with one scale for each block; None when one of them has none."""
    if np.unique(blocks[0]).size > 2 * _MOST_STEPS + 1:
        return None
    wide = blocks.astype(np.float64)
    peaks = np.abs(wide).max(axis=1)
    whole = np.zeros(blocks.shape, np.int64)
    left = np.flatnonzero(peaks > 0)
    for steps in range(1, _MOST_STEPS + 1):
        if left.size == 0:
            break
        numbers, scales = wide[left], peaks[left, None] / steps
        nearest = np.rint(numbers / scales)
        fits = np.all(np.abs(numbers - nearest * scales) <= _SAME * np.abs(numbers), axis=1)
        whole[left[fits]] = nearest[fits].astype(np.int64)
        left = left[~fits]
    return whole if left.size == 0 else None


def _scales(blocks: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """float32 [blocks]: the scales whose products with the integers, rounded, are the numbers, or next to them."""
    squares = np.sum(whole * whole, axis=1)
    exact = np.sum(blocks.astype(np.float64) * whole, axis=1) / np.maximum(squares, 1)
    best = exact.astype(np.float32)
    missed = _misses(blocks, whole, best)
    for towards in (np.float32(np.inf), np.float32(0)):
        other = np.nextafter(exact.astype(np.float32), towards)
        misses = _misses(blocks, whole, other)
        best, missed = np.where(misses < missed, other, best), np.minimum(misses, missed)
    return np.where(squares > 0, best, np.float32(1)).astype(np.float32)


def _misses(blocks: np.ndarray, whole: np.ndarray, scales: np.ndarray) -> np.ndarray:
    return np.count_nonzero(whole.astype(np.float32) * scales[:, None] != blocks, axis=1)


def rows_of(node: Node, weights: np.ndarray) -> np.ndarray:
    """Weights [channels, depth], as compressed ops have them; a depthwise convolution is one in groups of 1 channel."""
    if node.op == "depthwise_conv2d":
        return weights[0].transpose(2, 0, 1).reshape(weights.shape[3], -1)
    return weights.reshape(len(weights), -1)


def window_of(node: Node, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of the compressed op in the place of a node, those of the weights among them."""
    made = {**node.attrs, **attrs}
    if COMPRESSED[node.op] == "conv2d_compressed":
        shape = node.input(1).type.static_shape
        made |= {"kernel_h": shape[1], "kernel_w": shape[2]}
        if node.op == "depthwise_conv2d":
            made["groups"] = node.input(0).type.shape[3]
    return made


def replace_node(graph: Graph, node: Node, op: str, inputs: Sequence[Value | None], attrs: Mapping[str, Any]) -> None:
    """Puts another op in the place of a node; of the attributes it takes those that it knows."""
    known = {key: value for key, value in attrs.items() if key in ops.get(op).attrs}
    quant = node.output.quant
    made = graph.add(op, inputs, known, name=node.name, before=node, source=node.source, quant=quant)
    name = node.output.name
    graph.replace(node.output, made.output)
    made.output.name = name
    graph.remove(node)
