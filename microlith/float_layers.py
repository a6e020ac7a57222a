# SPDX-License-Identifier: Apache-2.0
"""What computes in floating point in a model of integers, and why."""

from __future__ import annotations

from dataclasses import dataclass

from . import ops
from .ir import Graph, Node, Value, all_graphs

MOVES = frozenset(
    "reshape transpose squeeze unsqueeze slice gather concat split tile expand pad shape quantize dequantize".split()
)
"""Ops that do no arithmetic of their own."""

REQUANTIZED_TOLERANCE = 5e-2
"""Of a float output of a graph that quantizes floats which it has computed, relative to its largest element."""

_QUANTIZE_INSIDE = frozenset({"conv2d_dynamic", "dense_dynamic"})


@dataclass(frozen=True)
class FloatLayer:
    """One layer in floating point."""

    node: Node
    reason: str

    @property
    def name(self) -> str:
        return self.node.name or self.node.outputs[0].name


def computes_floats(node: Node) -> bool:
    """Whether a node does arithmetic on floats: it reads some that are no constants, and gives some."""
    reads = any(value is not None and value.dtype.is_float and not value.is_constant for value in node.inputs)
    return node.op not in MOVES and reads and any(value.dtype.is_float for value in node.outputs)


def requantizes(graph: Graph) -> bool:
    """Whether a graph makes integers of 8 or 16 bits of floats that it has computed, so that the least difference of
    such a float can become a whole step."""
    return any(
        _quantizes(node) and node.inputs[0] not in graph.inputs for part in all_graphs(graph) for node in part.nodes
    )


def _quantizes(node: Node) -> bool:
    x = node.inputs[0] if node.inputs else None
    if x is None or not x.dtype.is_float or x.is_constant:
        return False
    narrow = any(value.dtype.is_integer and value.dtype.size <= 2 for value in node.outputs)
    return narrow or node.op in _QUANTIZE_INSIDE


def has_integers(graph: Graph) -> bool:
    """Whether a graph computes with quantized integers at all."""
    return any(value.quant is not None and value.dtype.is_integer for node in graph.nodes for value in node.outputs)


def float_layers(graph: Graph) -> list[FloatLayer]:
    """The layers of a quantized graph that stayed in floating point, in order; none for a graph without integers."""
    if not has_integers(graph):
        return []
    return [FloatLayer(node, _reason(graph, node)) for node in graph.nodes if computes_floats(node)]


def _reason(graph: Graph, node: Node) -> str:
    data = [value for value in node.inputs if value is not None and not value.is_constant and value.dtype.is_float]
    floats = [value for value in data if not _is_decoded(value)]
    if floats:
        return f"it reads '{floats[0].name}', which is not quantized"
    if any(value in graph.outputs for value in node.outputs):
        return "its result is an output of the model in floating point"
    open_ends = [user for value in node.outputs for user in value.users if user.op != "quantize"]
    if open_ends:
        return (
            f"its result is not quantized for {open_ends[0].op} '{open_ends[0].name or open_ends[0].outputs[0].name}'"
        )
    if graph.contract == "tflite-double":
        return "the model itself has it in floating point, as LiteRT computes it"
    rule = ops.get(node.op).quant
    if rule is None:
        return f"{node.op} has no integer form"
    return "the scales or types of its inputs, weights or result do not fit its integer form"


def _is_decoded(value: Value) -> bool:
    """Whether a float stands for integers, through ops that only move elements."""
    while value.producer is not None and value.producer.op in MOVES - {"dequantize"} and value.producer.inputs:
        first = value.producer.inputs[0]
        if first is None:
            return False
        value = first
    return value.producer is not None and value.producer.op == "dequantize"
