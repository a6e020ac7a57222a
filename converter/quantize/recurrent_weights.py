# SPDX-License-Identifier: Apache-2.0
"""The weights of recurrent layers as integers of 8 bits, nearest ones or those that keep the gates.

A gate is a weighted sum of x and of h (of the reset h, in the candidate of a gru); with the moments of both, measured
step by step, rounding by layer reconstruction is that of any other layer (``reconstruct``). x and h are taken together,
so that one makes up for errors of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...ir import Node
from .moments import MOST_DEPTH, Moments
from .ranges import along, round_weights, weight_scales
from .reconstruct import reconstructed
from .recurrent_steps import BIAS, R, W, visit_layers, walk

if TYPE_CHECKING:
    from .simulate import Rounded

LARGEST_SUM = 2.0**31

MOST_STEPS = 16384
"""Steps (of each sequence) that count for the moments of a layer, about."""

LARGEST_STATE = 32768.0
"""Of h in Q0.15."""


@dataclass(frozen=True)
class Direction:
    """The weights of one direction of a layer: real = integers * scales."""

    w: np.ndarray
    """int8 [gates * hidden, size]"""
    w_scales: np.ndarray
    """float64 [gates * hidden]"""
    r: np.ndarray
    """int8 [gates * hidden, hidden]"""
    r_scales: np.ndarray
    biases: np.ndarray
    """float64 [2, gates * hidden]: of w x and of r h."""
    largest: float
    """The integers of x may be as large as this: sums of products fit into 32 bits."""


def nearest_directions(node: Node, largest: float) -> list[Direction]:
    """The nearest integers, for each direction."""
    return [_nearest(*_reals(node, direction), largest) for direction in range(node.input(W).type.static_shape[0])]


def _reals(node: Node, direction: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """float64 w, r and biases of a direction."""
    w, r = node.input(W).data, node.input(R).data
    assert w is not None and r is not None
    bias = node.optional_input(BIAS)
    biases = np.zeros((2, w.shape[1])) if bias is None or bias.data is None else bias.data[direction].reshape(2, -1)
    return w[direction].astype(np.float64), r[direction].astype(np.float64), biases.astype(np.float64)


def _nearest(w: np.ndarray, r: np.ndarray, biases: np.ndarray, largest: float) -> Direction:
    return Direction(*_rounded(w, largest), *_rounded(r, LARGEST_STATE), biases, largest)


def _rounded(weights: np.ndarray, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """int8 [rows, depth] and a scale for each row, such that sums of products with ``largest`` fit into 32 bits."""
    scales = weight_scales(weights, 0).astype(np.float64)
    sums = np.abs(weights).sum(axis=1, dtype=np.float64) / scales * largest
    scales = scales * np.maximum(1.0, 1.01 * sums / LARGEST_SUM)
    return round_weights(weights, scales, 0).astype(np.int8), scales


@dataclass
class _Sums:
    """Of what some rows of the weights are multiplied with, [x, h]."""

    rows: slice
    square: np.ndarray
    total: np.ndarray
    count: int = 0

    def see(self, x: np.ndarray, h: np.ndarray) -> None:
        both = np.concatenate([x, h], axis=1)
        self.square += both.T @ both
        self.total += both.sum(axis=0)
        self.count += len(both)

    def moments(self) -> Moments:
        mean = self.total / max(self.count, 1)
        covariance = self.square / max(self.count, 1) - np.outer(mean, mean)
        return Moments(mean[None], covariance[None], self.count)


def can_measure(node: Node) -> bool:
    w, r = node.input(W), node.input(R)
    return w.data is not None and r.data is not None and w.data.shape[2] + r.data.shape[2] <= MOST_DEPTH


def measure_steps(nodes: Sequence[Node], rounded: Rounded) -> dict[Node, list[list[tuple[slice, Moments]]]]:
    """For each layer and direction the moments of [x, h], by rows of the weights that are multiplied with them. Inputs
    carry the rounding errors of ``rounded``."""
    found = {node: [_empty(node) for _ in range(node.input(W).type.static_shape[0])] for node in nodes}

    def use(node: Node, arrays: list[np.ndarray | None]) -> None:
        if found[node][0][0].count >= MOST_STEPS:
            return
        for direction, sums in enumerate(found[node]):
            for step in walk(node, arrays, direction):
                for part, h in zip(sums, (step.h, step.fresh), strict=False):
                    part.see(step.x, h)

    if found:
        visit_layers(rounded.graph, found, rounded.feeds, use, rounded.visit)
    return {
        node: [[(part.rows, part.moments()) for part in sums] for sums in directions]
        for node, directions in found.items()
    }


def _empty(node: Node) -> list[_Sums]:
    """For a gru the rows of both gates, and those of the candidate."""
    _, rows, size = node.input(W).type.static_shape
    depth = size + node.input(R).type.static_shape[2]
    parts = [slice(0, rows)] if node.op == "lstm" else [slice(0, rows * 2 // 3), slice(rows * 2 // 3, rows)]
    return [_Sums(part, np.zeros((depth, depth)), np.zeros(depth)) for part in parts]


def rounded_directions(node: Node, measured: list[list[tuple[slice, Moments]]], largest: float) -> list[Direction]:
    """Better integers than the nearest ones; the mean error of the gates goes into the biases."""
    results = []
    for direction, parts in enumerate(measured):
        w, r, biases = _reals(node, direction)
        start = _nearest(w, r, biases, largest)
        size, shifts = w.shape[1], biases.copy()
        integers = np.concatenate([start.w, start.r], axis=1).astype(np.float64)
        real = np.concatenate([w, r], axis=1)
        scales = [np.broadcast_to(along(s, 0, 2), m.shape) for s, m in ((start.w_scales, w), (start.r_scales, r))]
        steps = np.concatenate(scales, axis=1)
        for rows, moments in parts:
            better, _ = reconstructed(real[None, rows], steps[None, rows], moments, -127, 127)
            fits = _fit(better[0], size, largest)
            integers[rows] = np.where(fits[:, None], better[0], integers[rows])
            shifts[0, rows] += (real[rows] - integers[rows] * steps[rows]) @ moments.mean[0]
        whole = integers.astype(np.int8)
        results.append(
            Direction(
                whole[:, :size], start.w_scales, np.ascontiguousarray(whole[:, size:]), start.r_scales, shifts, largest
            )
        )
    return results


def _fit(integers: np.ndarray, size: int, largest: float) -> np.ndarray:
    """bool [rows]: whether sums of products fit into 32 bits."""
    sums = np.abs(integers)
    return (sums[:, :size].sum(axis=1) * largest < LARGEST_SUM) & (
        sums[:, size:].sum(axis=1) * LARGEST_STATE < LARGEST_SUM
    )
