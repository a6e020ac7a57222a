"""The part of ``integer_ops`` for a model that is computed as it is written, which changes no result.

A function of one tensor of 8 bits becomes a table of its 256 results. Operators that ONNX itself defines on integers
(QLinearConv and others) become ops on integers.
"""

from __future__ import annotations

from ...dtypes import DType
from ...ir import Graph
from . import integer_ops
from .integer_tables import replace_by_table, requantized
from .move_quantization import source_of

ON_INTEGERS = "QLinear"
"""How the names of these operators begin."""

BYTES = (DType.s8, DType.u8)


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op != "quantize" or node not in graph.nodes:
            continue
        layer, source, y = node.input(0).producer, source_of(node.input(0)), node.output
        if layer is not None and layer.source.startswith(ON_INTEGERS):
            changed |= integer_ops.convert_one(graph, node)
        elif y.quant is None or not y.quant.is_per_tensor or y.dtype not in BYTES:
            continue
        elif source is None:
            changed |= replace_by_table(graph, node)
        elif source.dtype in BYTES:
            changed |= requantized(graph, node, source)
    return changed | graph.remove_dead()
