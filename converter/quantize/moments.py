"""Means and covariances of what the weights of a layer are multiplied with: the patches of its input.

The mean squared error of a layer whose weights are off by ``e`` is ``e' H e``, H the second moments of its patches;
with the mean error taken off the bias, H is their covariance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...ir import Node, Value
from ...ops.conv import pad_plane, windows_of

if TYPE_CHECKING:
    from .simulate import Rounded
from ...stepwise import Executor

MOST_DEPTH = 4608
"""Layers with longer sums of products keep the nearest integers."""

MOST_BYTES = 256 << 20
"""Of matrices that are gathered in one run over the data."""

MOST_ROWS = 4096
"""Patches of a feed that count; of more, evenly spread ones."""


@dataclass
class Moments:
    """Of one layer; the first axis are the groups of a convolution, or the channels of a depthwise one."""

    mean: np.ndarray
    """[g, k]"""
    covariance: np.ndarray
    """[g, k, k]"""
    rows: int

    def about_zero(self) -> Moments:
        """For weights whose mean error no bias takes off: means of 0, second moments in the place of covariances."""
        square = self.covariance + self.mean[:, :, None] * self.mean[:, None, :]
        return Moments(np.zeros_like(self.mean), square, self.rows)


def depth_of(node: Node) -> tuple[int, int]:
    """(groups, length of a sum of products) of a layer with weights; depthwise: a group for each input channel."""
    shape = node.input(1).type.static_shape
    if node.op == "dense":
        return 1, shape[1]
    if node.op == "depthwise_conv2d":
        return int(node.input(0).shape[3]), shape[1] * shape[2]
    return node.attrs["groups"], shape[1] * shape[2] * shape[3]


def can_measure(node: Node) -> bool:
    return node.op in ("conv2d", "dense", "depthwise_conv2d") and depth_of(node)[1] <= MOST_DEPTH


def patches(node: Node, x: np.ndarray) -> np.ndarray:
    """[g, rows, k] in the order of the weights: what each output of the layer is a weighted sum of."""
    groups, depth = depth_of(node)
    if node.op == "dense":
        rows = x.reshape(1, -1, depth)
        return rows[:, :: max(1, rows.shape[1] // MOST_ROWS)]
    shape = node.input(1).type.static_shape
    windows = windows_of(pad_plane(x, node.attrs), shape[1], shape[2], node.attrs)  # n, oh, ow, c, kh, kw
    count = windows.shape[0] * windows.shape[1] * windows.shape[2]
    places = np.unravel_index(np.arange(0, count, max(1, count // MOST_ROWS)), windows.shape[:3])
    taken = windows[places]  # rows, c, kh, kw
    if node.op == "depthwise_conv2d":
        return taken.reshape(-1, groups, depth).transpose(1, 0, 2)
    split = taken.reshape(-1, groups, shape[3], shape[1], shape[2])
    return split.transpose(1, 0, 3, 4, 2).reshape(groups, -1, depth)


def measure(nodes: Sequence[Node], rounded: Rounded) -> Iterator[dict[Node, Moments]]:
    """The moments of some layers, a few layers at a time. Inputs carry the rounding errors of ``rounded``."""
    for part in _parts(nodes):
        sums: dict[Node, list[np.ndarray]] = {}
        rows: dict[Node, int] = dict.fromkeys(part, 0)
        readers: dict[Value, list[Node]] = {}
        for node in part:
            readers.setdefault(node.input(0), []).append(node)

        def visit(
            value: Value,
            array: np.ndarray,
            readers: dict[Value, list[Node]] = readers,
            sums: dict[Node, list[np.ndarray]] = sums,
            rows: dict[Node, int] = rows,
        ) -> np.ndarray | None:
            replaced = rounded.visit(value, array)
            for node in readers.get(value, ()):
                taken = patches(node, array if replaced is None else replaced).astype(np.float32)
                square, total = np.matmul(taken.transpose(0, 2, 1), taken), taken.sum(axis=1)
                if node in sums:
                    sums[node][0] += square
                    sums[node][1] += total
                else:
                    sums[node] = [square, total]
                rows[node] += taken.shape[1]
            return replaced

        executor = Executor(rounded.graph)
        states: dict[str, np.ndarray] = {}
        for feed in rounded.feeds:
            executor.run(feed, visit, states)
        result = {}
        for node, (square, total) in sums.items():
            mean = total.astype(np.float64) / rows[node]
            covariance = square.astype(np.float64) / rows[node] - mean[:, :, None] * mean[:, None, :]
            result[node] = Moments(mean, covariance, rows[node])
        sums.clear()
        yield result


def _parts(nodes: Sequence[Node]) -> Iterator[list[Node]]:
    part: list[Node] = []
    size = 0
    for node in nodes:
        groups, depth = depth_of(node)
        needed = 4 * groups * depth * depth
        if part and size + needed > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(node)
        size += needed
    if part:
        yield part
