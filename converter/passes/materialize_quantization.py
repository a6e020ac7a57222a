"""Turns the quantization of values into the zero points, multipliers and tables that the integer kernels read."""

from __future__ import annotations

from ... import ops
from ...ir import Graph, Node


def run(graph: Graph) -> bool:
    changed = False
    for node in graph.nodes:
        rule = ops.get(node.op).quant
        if rule is None or rule.materialize is None or not _is_quantized(node):
            continue
        attrs, constants = rule.materialize(node, graph.contract)
        node.attrs.update(attrs)
        for index, array in constants.items():
            node.set_input(index, graph.constant(f"{node.outputs[0].name}_{_input_name(node, index)}", array))
        changed = True
    for value in graph.constants():
        value.decoded_from = None
    return changed


def _is_quantized(node: Node) -> bool:
    return any(value is not None and value.quant is not None for value in (*node.inputs, *node.outputs))


def _input_name(node: Node, index: int) -> str:
    return ops.get(node.op).inputs[index].rstrip("?*")
