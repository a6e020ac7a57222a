"""uint8 tensors run as int8: data and zero point move by 128, which changes no arithmetic on ``q - zero_point``.

The move is a ``requantize`` between two quantizations of one scale. Here it goes as far towards inputs and outputs of
the graph as it can: unsigned bytes are left where the model itself shows them.
"""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, Quant, Value
from ...ops.resizing import CROP, NEAREST
from ...rewrite import only_user
from .edits import rebuild, substitute

_OTHER = {DType.u8: DType.s8, DType.s8: DType.u8}

PICKERS = frozenset({"slice", "gather", "gather_elements", "gather_nd"})
"""Ops that pick some elements of input 0."""

MOVERS = PICKERS | {"reshape", "transpose", "squeeze", "unsqueeze", "tile", "expand", "concat", "reverse_sequence"}
"""Ops with one output that only move elements of their data inputs."""


def is_mover(node: Node) -> bool:
    """Whether a node only moves elements of its data inputs: of input 0, all inputs of concat."""
    return node.op in MOVERS or (
        node.op == "resize" and node.attrs["mode"] == NEAREST and node.attrs["transform"] != CROP
    )


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op == "quantize":
            changed |= _keep_signed(graph, node)
        elif node.op == "dequantize":
            changed |= _dequantize_shifted(node)
        elif is_shift(node):
            changed |= _cancel(graph, node) or _quantize_directly(graph, node)
        elif is_mover(node) or node.op == "max_pool2d":
            changed |= _sink(graph, node)
    return changed | graph.remove_dead()


def shifted_quant(quant: Quant, to: DType) -> Quant:
    """The quantization of the same real numbers in the other type of bytes."""
    step = 128 if to is DType.u8 else -128
    return Quant(quant.scale, quant.zero_point + step, quant.axis)


def is_shift(node: Node) -> bool:
    """Whether a node only moves bytes by 128."""
    if node.op != "requantize" or {node.input(0).dtype, node.output.dtype} != {DType.u8, DType.s8}:
        return False
    x, y = node.input(0).quant, node.output.quant
    return x is not None and y is not None and y == shifted_quant(x, node.output.dtype)


def shift(graph: Graph, x: Value, before: Node) -> Value:
    """A node that turns s8 into u8, or the other way round."""
    assert x.quant is not None
    to = _OTHER[x.dtype]
    name = f"{x.name}_{'int8' if to is DType.s8 else 'uint8'}"
    attrs = {"to": to.value}
    quant = shifted_quant(x.quant, to)
    made = graph.add(
        "requantize", [x], attrs, name=name, output_names=[name], before=before, source=before.source, quant=quant
    )
    return made.output


def as_signed(graph: Graph, x: Value, before: Node) -> Value:
    """The s8 form of quantized bytes, for a reader that stands at ``before``."""
    if x.dtype is DType.s8:
        return x
    assert x.quant is not None
    node = x.producer
    if x.data is not None:
        return graph.constant(
            f"{x.name}_int8", (x.data ^ np.uint8(0x80)).view(np.int8), shifted_quant(x.quant, DType.s8)
        )
    if node is not None and is_shift(node):
        return node.input(0)
    if node is not None and node.op == "quantize":
        return _quantized_again(graph, node)
    return shift(graph, x, before)


def _quantized_again(graph: Graph, node: Node) -> Value:
    """A twin of a quantize that writes the other type of bytes; the one that there is, if there is one."""
    y = node.output
    assert y.quant is not None
    to, quant = _OTHER[y.dtype], shifted_quant(y.quant, _OTHER[y.dtype])
    for twin in node.input(0).users:
        if twin.op == "quantize" and twin.output.dtype is to and twin.output.quant == quant:
            if graph.nodes.index(twin) > graph.nodes.index(node):
                graph.nodes.remove(twin)
                graph.nodes.insert(graph.nodes.index(node), twin)
            return twin.output
    made = rebuild(graph, node, "quantize", node.inputs, {**node.attrs, "to": to.value})
    made.quant, made.name = quant, y.name
    return made


def _keep_signed(graph: Graph, node: Node) -> bool:
    """What is dequantized again later is s8 in between: a move stands behind the quantize for other readers."""
    y = node.output
    if y.dtype is not DType.u8 or y.quant is None or not any(user.op == "dequantize" for user in y.users):
        return False
    return substitute(graph, y, shift(graph, as_signed(graph, y, node), node))


def _dequantize_shifted(node: Node) -> bool:
    producer = node.input(0).producer
    if producer is None or not is_shift(producer):
        return False
    node.set_input(0, producer.input(0))
    return True


def _cancel(graph: Graph, node: Node) -> bool:
    """A move back is nothing."""
    inner = node.input(0).producer
    return inner is not None and is_shift(inner) and substitute(graph, node.output, inner.input(0))


def _quantize_directly(graph: Graph, node: Node) -> bool:
    """A move behind the quantize that nobody else reads: that one writes the other type."""
    inner = node.input(0).producer
    if inner is None or inner.op != "quantize" or only_user(graph, inner.output) is not node:
        return False
    made = rebuild(graph, node, "quantize", inner.inputs, {**inner.attrs, "to": node.output.dtype.value})
    made.quant = node.output.quant
    return substitute(graph, node.output, made)


def _sink(graph: Graph, node: Node) -> bool:
    """Moves in front of an op that only moves or compares elements go behind it."""
    if node.output.dtype is not DType.u8 or len(node.outputs) != 1:
        return False
    data = range(len(node.inputs)) if node.op == "concat" else (0,)
    values = [node.input(index) for index in data]
    quant = values[0].quant
    if quant is None or any(value.dtype is not DType.u8 or value.quant != quant for value in values):
        return False
    if not any(value.producer is not None and is_shift(value.producer) for value in values):
        return False
    inputs = list(node.inputs)
    for index, value in zip(data, values, strict=True):
        inputs[index] = as_signed(graph, value, node)
    made = rebuild(graph, node, node.op, inputs, node.attrs)
    made.quant = shifted_quant(quant, DType.s8)
    return substitute(graph, node.output, shift(graph, made, node))
