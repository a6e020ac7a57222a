# SPDX-License-Identifier: Apache-2.0
"""Scales for what was never anything but zero.

Any scale holds zero, and yet the readers count in it: the bias of a layer has units of its input scale times its weight
scale, and sums of 16 bits are formed in steps of the coarser operand. So such a scale comes from the results of the
readers, not from the range.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ...ir import Node, Quant
from .placement import WEIGHTED, Group, Placement, weight_axis
from .ranges import SMALLEST_SCALE, weight_scales

FINER = 256.0
"""So many units of a bias are a step of the layer's result."""

BIAS_UNITS = 2.0**24
"""Units of the bias of a channel whose weights are all zero."""


def settle(placement: Placement, quants: dict[int, Quant], zeros: Collection[int]) -> None:
    """Changes the scales of groups whose range is zero alone. ``quants`` and ``zeros``: by identity of the group. What
    nothing on integers reads keeps its scale."""
    for group in reversed(placement.groups):  # the scales of readers are settled first
        if id(group) not in zeros:
            continue
        known = [
            scale
            for value in group.members
            for node in value.users
            for scale in _wanted(node, placement, quants, group)
        ]
        if known:
            quants[id(group)] = Quant.per_tensor(max(min(known), SMALLEST_SCALE), 0)


def _wanted(node: Node, placement: Placement, quants: Mapping[int, Quant], group: Group) -> list[float]:
    """The scales that a reader can well count with."""
    results = [placement.group_of[value] for value in node.outputs if value in placement.group_of]
    scales = [float(quants[id(other)].scale[0]) for other in results if other is not group]
    if node not in placement.integer_nodes or node.op not in WEIGHTED:
        return scales
    data = node.input(1).data
    assert data is not None
    largest = float(weight_scales(data, weight_axis(node)).max())
    return [scale / largest / FINER for scale in scales]


def scales_of_empty(scales: np.ndarray, weights: np.ndarray, axis: int, x_scale: float, bias: np.ndarray) -> np.ndarray:
    """Weight scales, those of channels of zeros such that the bias is exact to one part in ``BIAS_UNITS``."""
    others = tuple(index for index in range(weights.ndim) if index != axis)
    empty = ~np.any(weights, axis=others) & (bias != 0.0)
    return np.where(empty, np.maximum(np.abs(bias) / (x_scale * BIAS_UNITS), SMALLEST_SCALE), scales).astype(np.float32)
