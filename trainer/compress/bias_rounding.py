# SPDX-License-Identifier: Apache-2.0
"""Biases as integers hold them: whole multiples of the scale of the input times that of the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.fx import GraphModule, Node

aten = torch.ops.aten
BIASED = (
    aten.conv1d.default,
    aten.conv2d.default,
    aten.conv_transpose1d.default,
    aten.conv_transpose2d.input,
    aten.conv_transpose3d.input,
    aten.linear.default,
)


@torch.no_grad()
def round_biases(model: GraphModule) -> int:
    """Rounds the biases of a converted graph, in place; returns how many there were.

    The integer layer adds its bias to the sum of products, which counts in these units. Rounded here, PyTorch computes
    with the same bias as the device.
    """
    rounded = 0
    for node in model.graph.nodes:
        if node.target not in BIASED or len(node.args) < 3 or not isinstance(node.args[2], Node):
            continue
        x, weights = _scales(model, node.args[0]), _scales(model, node.args[1])
        bias = _constant(model, node.args[2])
        if x is None or weights is None or bias is None or x.numel() != 1:
            continue
        unit = (x.double() * weights.double()).reshape(-1)
        if unit.numel() in (1, bias.numel()) and bool((unit > 0).all()):
            bias.copy_(torch.round(bias.double() / unit) * unit)
            rounded += 1
    return rounded


def _scales(model: GraphModule, node: Any) -> Tensor | None:
    """The scales that a value was decoded with; None when it was not."""
    if not isinstance(node, Node) or "dequantize" not in str(node.target):
        return None
    scale = node.args[1]
    return _constant(model, scale) if isinstance(scale, Node) else torch.tensor([float(scale)])


def _constant(model: GraphModule, node: Node) -> Tensor | None:
    if node.op != "get_attr":
        return None
    value: Any = model
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value if isinstance(value, Tensor) else None
