"""Around subgraphs: a decision that is known is taken, constants move in, and what nobody uses goes."""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Node, Value
from ...ops.control import known_iterations
from ...rewrite import is_output
from .edits import can_substitute
from .subgraphs import first_argument, inline, inner_inputs, remove_input

MOST_UNROLLED = 256
"""A loop that makes more nodes than this stays a loop."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if not node.subgraphs:
            continue
        replacements = _taken_branch(graph, node) or _unrolled(graph, node)
        if replacements is not None:
            _replace_outputs(graph, node, replacements)
            changed = True
            continue
        changed |= _move_constants(node)
        changed |= node.op == "loop" and _move_unchanged(graph, node)
        changed |= _drop_unused(graph, node)
    return changed


def _taken_branch(graph: Graph, node: Node) -> list[Value] | None:
    condition = node.input(0).data
    if node.op != "if" or condition is None:
        return None
    branch = node.subgraphs[0 if condition.any() else 1]
    return inline(graph, branch, [value for value in node.inputs[1:] if value is not None], node)


def _unrolled(graph: Graph, node: Node) -> list[Value] | None:
    """A loop whose number of iterations is known, as a sequence of its bodies."""
    if node.op != "loop":
        return None
    count = known_iterations(node)
    (body,) = node.subgraphs
    if count is None or not 1 <= count <= MOST_UNROLLED // max(1, len(body.nodes)):
        return None
    carried = node.attrs["carried"]
    values = [value for value in node.inputs[2:] if value is not None]
    state, others = values[:carried], values[carried:]
    collected: list[list[Value]] = [[] for _ in body.outputs[1 + carried :]]
    for index in range(count):
        number = graph.constant(f"{node.name}_{index}", np.full(_ones(body.inputs[0]), index, np.int64))
        flag = graph.constant(f"{node.name}_on", np.full(_ones(body.inputs[1]), True))
        _, *results = inline(graph, body, [number, flag, *state, *others], node)
        state = results[:carried]
        for items, value in zip(collected, results[carried:], strict=True):
            items.append(_add(graph, node, "unsqueeze", [value], {"axes": 1}))
    return [*state, *(_joined(graph, node, items) for items in collected)]


def _ones(value: Value) -> tuple[int, ...]:
    return (1,) * len(value.shape)


MOST_JOINED = 64
"""NNACL_MAX_INPUTS."""


def _joined(graph: Graph, node: Node, items: list[Value]) -> Value:
    while len(items) > 1:
        groups = [items[start : start + MOST_JOINED] for start in range(0, len(items), MOST_JOINED)]
        items = [group[0] if len(group) == 1 else _add(graph, node, "concat", group, {"axis": 0}) for group in groups]
    return items[0]


def _add(graph: Graph, node: Node, op: str, inputs: list[Value], attrs: dict[str, int]) -> Value:
    return graph.add(op, inputs, attrs, name=node.name, source=node.source, before=node, quant=inputs[0].quant).output


def _replace_outputs(graph: Graph, node: Node, values: list[Value]) -> None:
    for old, new in zip(node.outputs, values, strict=True):
        if not can_substitute(graph, old, new):
            shape = (0,) * len(new.shape)
            new = graph.add("reshape", [new], {"shape": shape}, name=node.name, before=node, source=node.source).output
            new.quant = old.quant
        graph.replace(old, new)
    graph.remove(node)


def _move_constants(node: Node) -> bool:
    changed = False
    for index in reversed(range(first_argument(node), len(node.inputs))):
        value = node.input(index)
        if value.data is None:
            continue
        for number, inner in inner_inputs(node, index).items():
            part = node.subgraphs[number]
            part.replace(inner, Value(inner.name, value.type, data=value.data, quant=value.quant or inner.quant))
        remove_input(node, index)
        changed = True
    return changed


def _move_unchanged(graph: Graph, node: Node) -> bool:
    """What a loop carries without changing it is only read."""
    (body,) = node.subgraphs
    changed = False
    for position in reversed(range(node.attrs["carried"])):
        value, inner, old = node.input(2 + position), body.inputs[2 + position], node.outputs[position]
        if body.outputs[1 + position] is not inner or not can_substitute(graph, old, value):
            continue
        graph.replace(old, value)
        del node.outputs[position], body.outputs[1 + position], body.inputs[2 + position]
        body.inputs.append(inner)
        order = [item for index, item in enumerate(node.inputs) if index != 2 + position]
        for index, item in enumerate([*order, value]):
            node.set_input(index, item)
        node.attrs["carried"] -= 1
        changed = True
    return changed


def _drop_unused(graph: Graph, node: Node) -> bool:
    changed = False
    first = 0 if node.op == "if" else node.attrs["carried"]
    for index in reversed(range(first, len(node.outputs))):
        if len(node.outputs) > 1 and not node.outputs[index].uses and not is_output(graph, node.outputs[index]):
            del node.outputs[index]
            for part in node.subgraphs:
                del part.outputs[index + (node.op == "loop")]
                part.remove_dead()
            changed = True
    for index in reversed(range(first_argument(node), len(node.inputs))):
        inner = inner_inputs(node, index)
        if not any(value.uses or is_output(node.subgraphs[number], value) for number, value in inner.items()):
            remove_input(node, index)
            changed = True
    return changed
