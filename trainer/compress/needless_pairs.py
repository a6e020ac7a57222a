# SPDX-License-Identifier: Apache-2.0
"""Pairs of quantize and dequantize that change nothing: behind what only moves numbers that are quantized already."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from torch.fx import GraphModule, Node


def remove_needless_pairs(model: GraphModule, movers: Collection[Any], layers: Collection[Any]) -> int:
    """Takes them out of a converted graph, in place; returns how many there were.

    The PT2E flow puts a pair behind each view and permutation of a value. Numbers that a dequantize gave are whole in
    their scale, so that rounding them in that scale again leaves them as they are.

    Args:
        model: As ``convert_pt2e`` gives it.
        movers: The operations whose results are elements of their first input.
        layers: In front of these a pair stays, where other engines look for it.
    """
    removed = 0
    for quantize in list(model.graph.nodes):
        if not _is(quantize, "quantize_per_tensor"):
            continue
        source: Any = quantize.args[0]
        while isinstance(source, Node) and source.target in movers:
            source = source.args[0]
        if (
            source is quantize.args[0]
            or not _is(source, "dequantize_per_tensor")
            or source.args[1:] != quantize.args[1:]
        ):
            continue
        for dequantize in list(quantize.users):
            alike = _is(dequantize, "dequantize_per_tensor") and dequantize.args[1:] == quantize.args[1:]
            if alike and not any(user.target in layers for user in dequantize.users):
                dequantize.replace_all_uses_with(quantize.args[0])
                removed += 1
    model.graph.eliminate_dead_code()
    model.recompile()
    return removed


def _is(node: Any, name: str) -> bool:
    return isinstance(node, Node) and str(node.target).startswith(f"quantized_decomposed.{name}.")
