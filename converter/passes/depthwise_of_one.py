"""A depthwise convolution of a single channel is a convolution, for which there are faster kernels."""

from __future__ import annotations

import numpy as np

from ...ir import Graph
from .edits import moved_quant, rebuild, substitute

_PERM = (3, 1, 2, 0)
"""From 1HWO to OHWI."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op != "depthwise_conv2d" or node.input(0).shape[-1] != 1:
            continue
        weights = node.input(1)
        if weights.data is None or weights.shape[-1] == 1:
            continue
        turned = graph.constant(
            graph.unique_name(f"{weights.name}_ohwi"),
            np.ascontiguousarray(weights.data.transpose(_PERM)),
            moved_quant(weights.quant, _PERM),
        )
        inputs = [node.input(0), turned, *node.inputs[2:]]
        made = rebuild(graph, node, "conv2d", inputs, node.attrs, quant_from=node.output)
        changed |= substitute(graph, node.output, made)
    return changed
