"""Weights that are stored as integers or half precision, and computed with as floats, become floats."""

from __future__ import annotations

import numpy as np

from ...ir import Graph
from ...numerics import dequantize_array
from .edits import substitute


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op != "dequantize":
            continue
        x = node.input(0)
        if x.data is None or x.quant is None or not x.dtype.is_integer:
            continue
        quant = x.quant
        shape = [1] * x.data.ndim
        if quant.axis is not None:
            shape[quant.axis] = -1
        real = dequantize_array(x.data, quant.scale.reshape(shape), quant.zero_point.reshape(shape))
        constant = graph.constant(node.output.name, real.astype(np.float32).reshape(x.data.shape))
        constant.decoded_from = quant
        changed |= substitute(graph, node.output, constant)
    return changed
