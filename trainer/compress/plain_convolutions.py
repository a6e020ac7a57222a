# SPDX-License-Identifier: Apache-2.0
"""Convolutions whose padding is a word become those with numbers, for which the PT2E flow has rules."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

aten = torch.ops.aten
WITH_NUMBERS = {
    aten.conv1d.padding: (aten.conv1d.default, 1),
    aten.conv2d.padding: (aten.conv2d.default, 2),
}


def spell_out_padding(model: GraphModule) -> int:
    """Rewrites ``padding="same"`` and ``"valid"``, in place; returns how many there were.

    As in PyTorch, of an odd number of zeros the last one goes behind.
    """
    found = [node for node in model.graph.nodes if node.target in WITH_NUMBERS]
    for node in found:
        node.target, rank = WITH_NUMBERS[node.target]
        given: list[Any] = list(node.args)
        defaults = [None, None, None, [1] * rank, "valid", [1] * rank, 1]
        x, weight, bias, stride, padding, dilation, groups = given + defaults[len(given) :]
        sizes = weight.meta["val"].shape[2:]
        reach = (
            [step * (int(size) - 1) for step, size in zip(_each(dilation, rank), sizes, strict=True)]
            if padding == "same"
            else [0] * rank
        )
        odd = [extra for total in reversed(reach) for extra in (0, total % 2)]
        if any(odd):
            x = _padded(model, node, x, odd)
        node.args = (x, weight, bias, stride, [total // 2 for total in reach], dilation, groups)
    model.recompile()
    return len(found)


def _padded(model: GraphModule, node: Node, x: Node, pads: list[int]) -> Node:
    with model.graph.inserting_before(node):
        made: Node = model.graph.call_function(aten.pad.default, (x, pads))
    made.meta = {**node.meta, "val": torch.nn.functional.pad(x.meta["val"], pads)}
    return made


def _each(value: Any, rank: int) -> list[int]:
    given = [value] if isinstance(value, int) else list(value)
    return given * rank if len(given) == 1 else given
