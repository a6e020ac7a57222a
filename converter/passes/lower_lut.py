"""An int8 function of one tensor becomes a table of its 256 results."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...dtypes import DType
from ...ir import Graph, Node
from ...numerics import CONTRACTS, dequantize_array, quantize_array
from .edits import rebuild, substitute
from .layout_rules import ELEMENTWISE

NOT_FUNCTIONS = frozenset({"lut", "cast", "quantize", "requantize", "logical_not"})


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if _is_int8_function(node):
            table = graph.constant(f"{node.output.name}_table", table_of(node, graph.contract))
            made = rebuild(graph, node, "lut", [node.input(0), table], {}, quant_from=node.output)
            changed |= substitute(graph, node.output, made)
    return changed


def _is_int8_function(node: Node) -> bool:
    if node.op not in ELEMENTWISE - NOT_FUNCTIONS or len(node.inputs) != 1:
        return False
    x, y = node.input(0), node.output
    return all(value.dtype is DType.s8 and value.quant is not None and value.quant.is_per_tensor for value in (x, y))


def table_of(node: Node, contract: str) -> np.ndarray:
    """int8 [256]: the result for each input from -128 to 127, by way of the real numbers."""
    x_quant, y_quant = node.input(0).quant, node.output.quant
    assert x_quant is not None and y_quant is not None
    real = dequantize_array(np.arange(-128, 128, dtype=np.int8), x_quant.scale, x_quant.zero_point)
    (result,) = ops.get(node.op).reference([real], node.attrs)
    return quantize_array(result, y_quant.scale, y_quant.zero_point, np.int8, CONTRACTS[contract])
