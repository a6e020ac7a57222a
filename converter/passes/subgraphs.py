"""Edits around subgraphs: copies of their nodes in another graph, and changes of what goes in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir import Graph, Node, State, Value


def inline(graph: Graph, subgraph: Graph, arguments: Sequence[Value], before: Node) -> list[Value]:
    """Copies the nodes of a subgraph in front of a node, with its inputs replaced; what its outputs are there."""
    pairs = zip(subgraph.inputs, arguments, strict=True)
    places: dict[Value, Value] = {inner: _quantized_alike(inner, outer) for inner, outer in pairs}
    for node in subgraph.nodes:
        _copy_node(graph, node, places, before)
    return [places.get(value, value) if value.data is None else _constant(value, places) for value in subgraph.outputs]


def _quantized_alike(inner: Value, outer: Value) -> Value:
    """What stands for an input of a subgraph, with the quantization that is known inside only."""
    if inner.quant is None or outer.quant is not None:
        return outer
    if outer.is_constant:
        return Value(outer.name, outer.type, data=outer.data, quant=inner.quant)
    outer.quant = inner.quant
    return outer


def copy_graph(graph: Graph) -> Graph:
    """A graph of its own; constants share their data."""
    places = {value: Value(value.name, value.type, quant=value.quant) for value in graph.inputs}
    places |= {s.input: Value(s.input.name, s.input.type, quant=s.input.quant) for s in graph.states}
    copied = Graph(graph.name, [places[value] for value in graph.inputs], contract=graph.contract)
    copied.metadata = dict(graph.metadata)
    for node in graph.nodes:
        _copy_node(copied, node, places, None)
    copied.outputs = [_constant(value, places) if value.is_constant else places[value] for value in graph.outputs]
    copied.states = [State(places[state.input], places[state.output], state.initial) for state in graph.states]
    return copied


def _copy_node(graph: Graph, node: Node, places: dict[Value, Value], before: Node | None) -> None:
    inputs = [
        None if value is None else _constant(value, places) if value.is_constant else places[value]
        for value in node.inputs
    ]
    made = graph.add(
        node.op,
        inputs,
        node.attrs,
        name=node.name,
        output_names=[value.name for value in node.outputs],
        before=before,
        source=node.source,
        subgraphs=[copy_graph(part) for part in node.subgraphs],
    )
    for old, new in zip(node.outputs, made.outputs, strict=True):
        new.quant = old.quant
        places[old] = new


def _constant(value: Value, places: dict[Value, Value]) -> Value:
    if value not in places:
        places[value] = Value(value.name, value.type, data=value.data, quant=value.quant)
        places[value].decoded_from = value.decoded_from
    return places[value]


def set_inputs(node: Node, values: Sequence[Value | None]) -> None:
    """Replaces all inputs of a node."""
    for index in range(len(node.inputs)):
        node.set_input(index, None)
    while node.inputs:
        node.drop_input(len(node.inputs) - 1)
    for index, value in enumerate(values):
        node.set_input(index, value)


def first_argument(node: Node) -> int:
    """The input of a node from which on all go to its subgraphs unchanged."""
    return 1 if node.op == "if" else 2 + node.attrs["carried"]


def inner_inputs(node: Node, index: int) -> Mapping[int, Value]:
    """For input ``index`` of a node: the input of each subgraph that it goes to."""
    offset = 1 if node.op == "if" else 0
    return {number: part.inputs[index - offset] for number, part in enumerate(node.subgraphs)}


def remove_input(node: Node, index: int) -> None:
    """Takes out an input that no subgraph uses."""
    for number, inner in inner_inputs(node, index).items():
        part = node.subgraphs[number]
        part.inputs = [value for value in part.inputs if value is not inner]
    set_inputs(node, [value for position, value in enumerate(node.inputs) if position != index])
