"""The printed form of a graph: stable, one node a line, for people and for tests of passes.

    graph model (single)
    input %x: f32[1,28,28,1]
    %conv: f32[1,26,26,8] = conv2d(%x, w: f32[8,3,3,1] #5f3a0c11, b: f32[1] [0.5]) {clamp_min=0}
    output %conv

Subgraphs stand indented below their node; a state is what the run before has left.

Attributes appear where they differ from their defaults; small constants with their values, others with a checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from . import ops
from .ir import Graph, Node, Quant, Value

SMALL_CONSTANT = 8
"""Constants with at most so many elements are printed in full."""


def to_text(graph: Graph) -> str:
    """The whole graph; ends in a newline."""
    return "\n".join([f"graph {graph.name} ({graph.contract})", *_lines(graph)]) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    for value in graph.inputs:
        yield f"input %{value.name}: {describe_type(value)}"
    for state in graph.states:
        initial = "" if state.initial is None else f" {_content(state.initial)}"
        yield f"state %{state.input.name}: {describe_type(state.input)}{initial}"
    for node in graph.nodes:
        yield describe_node(node)
        for role, subgraph in zip(ops.get(node.op).subgraphs, node.subgraphs, strict=True):
            yield f"  {role}:"
            yield from (f"    {line}" for line in _lines(subgraph))
    for state in graph.states:
        yield f"next %{state.input.name} = {_operand(state.output)}"
    for value in graph.outputs:
        yield f"output {_operand(value)}"


def describe_node(node: Node) -> str:
    """One node: outputs, op, inputs, attributes that differ from their defaults."""
    outputs = ", ".join(f"%{value.name}: {describe_type(value)}" for value in node.outputs)
    inputs = ", ".join(_operand(value) for value in node.inputs)
    attrs = describe_attrs(node)
    return f"{outputs} = {node.op}({inputs})" + (f" {{{attrs}}}" if attrs else "")


def describe_attrs(node: Node) -> str:
    """``name=value`` of each attribute that differs from its default, in the order of the op."""
    opdef = ops.get(node.op)
    defaults: Mapping[str, Any] = opdef.attrs
    shown = [name for name in defaults if name in node.attrs and name not in opdef.lengths]
    shown = [name for name in shown if not _equal(node.attrs[name], defaults[name])]
    shown += sorted(set(node.attrs) - set(defaults))
    return ", ".join(f"{name}={_plain(node.attrs[name])}" for name in shown)


def describe_type(value: Value) -> str:
    """Type, and quantization if there is one."""
    return f"{value.type}{describe_quant(value.quant)}"


def describe_quant(quant: Quant | None) -> str:
    """Empty, ``" q(scale, zero_point)"``, or for several scales their range."""
    if quant is None:
        return ""
    if quant.scale.size == 1:
        return f" q({_plain(float(quant.scale[0]))}, {int(quant.zero_point[0])})"
    low, high = _plain(float(quant.scale.min())), _plain(float(quant.scale.max()))
    return f" q({quant.scale.size} scales {low}..{high} along {quant.axis})"


def _operand(value: Value | None) -> str:
    if value is None:
        return "-"
    if value.data is None:
        return f"%{value.name}"
    return f"{value.name}: {describe_type(value)} {_content(value.data)}"


def _content(data: np.ndarray) -> str:
    if data.size <= SMALL_CONSTANT:
        return "[" + ", ".join(_plain(element) for element in data.reshape(-1).tolist()) + "]"
    little = np.ascontiguousarray(data, data.dtype.newbyteorder("<"))
    return f"#{zlib.crc32(little.tobytes()):08x}"


def _plain(value: Any) -> str:
    """A number or a list of numbers; floats with as many digits as float32 needs."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    if isinstance(value, (float, np.floating)):
        return str(np.float32(value)).removesuffix(".0")
    return str(value)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return list(left) == list(right)
    return bool(left == right)
