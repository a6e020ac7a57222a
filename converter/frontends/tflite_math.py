"""TFLite's elementwise functions, reductions, softmax and changes of type."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import Value
from .tflite_graph import Row, TfliteNode, fused_clamp, require


def softmax(node: TfliteNode) -> Value:
    options = node.options("SoftmaxOptions")
    x = node.value(0)
    rank = len(x.shape)
    require(rank >= 1, "input is a scalar")
    return node.add("softmax", [x], {"axis": rank - 1, "beta": options.Beta()}, quant=node.output_quant())


def _arithmetic(op: str, table: str) -> Row:
    def row(node: TfliteNode) -> Value:
        clamp = fused_clamp(node.options(table).FusedActivationFunction())
        return node.add(op, [node.value(0), node.value(1)], clamp, quant=node.output_quant())

    return row


ROWS: Mapping[str, Row] = {
    "ADD": _arithmetic("add", "AddOptions"),
    "SOFTMAX": softmax,
}
