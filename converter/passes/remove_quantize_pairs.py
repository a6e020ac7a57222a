"""A dequantization that is quantized again at once is nothing, or a change from one quantization to another.

A change only under the contract ``single``: LiteRT and ONNX Runtime round the quotient of real numbers there, not the
product with one factor (``integer_ops`` finds what gives the same).
"""

from __future__ import annotations

from ...dtypes import DType
from ...ir import Graph
from ...rewrite import producer_of
from .edits import rebuild, substitute

REQUANTIZED = (DType.s8, DType.u8)
"""Types that requantize reads."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        inner = producer_of(node.input(0), "dequantize") if node.op == "quantize" else None
        if inner is None or inner.input(0).quant is None or node.output.quant is None:
            continue
        x, y = inner.input(0), node.output
        assert x.quant is not None
        if x.dtype is y.dtype and x.quant == y.quant:
            changed |= substitute(graph, y, x)
        elif graph.contract == "single" and x.dtype in REQUANTIZED and x.quant.is_per_tensor:
            attrs = {"to": y.dtype.value}
            changed |= substitute(graph, y, rebuild(graph, node, "requantize", [x], attrs, quant_from=y))
    return changed | graph.remove_dead()
