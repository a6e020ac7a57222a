"""The rules of a valid graph, as a list. ``verify`` runs after every pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from . import ops
from .errors import ShapeError
from .ir import Graph, Node, Quant, Value, all_graphs
from .numerics import CONTRACTS

MAX_RANK = 8
MAX_DEPTH = 16
"""Of subgraphs within subgraphs."""

Problem = tuple[str, str]
"""Where (a node or value in words), and what is wrong."""


class InvalidGraph(ValueError):
    """A graph breaks a rule: a mistake in a frontend or a pass, not of the user."""

    def __init__(self, rule: str, where: str, what: str) -> None:
        self.rule, self.where, self.what = rule, where, what
        super().__init__(f"rule '{rule}' is broken at {where}: {what}")


@dataclass(frozen=True)
class Rule:
    """A rule and the function that finds what breaks it."""

    name: str
    check: Callable[[Graph], Iterator[Problem]]


def verify(graph: Graph) -> None:
    """Raises InvalidGraph for the first rule that the graph breaks."""
    for part in all_graphs(graph):
        for rule in RULES:
            for where, what in rule.check(part):
                raise InvalidGraph(rule.name, where, what)


def problems(graph: Graph) -> list[InvalidGraph]:
    """Everything that is wrong. Stops after the first rule that is broken, since later rules build on earlier ones."""
    for rule in RULES:
        found = [InvalidGraph(rule.name, where, what) for part in all_graphs(graph) for where, what in rule.check(part)]
        if found:
            return found
    return []


def _name(node: Node) -> str:
    return f"{node.op} '{node.name}'"


def _contract_known(graph: Graph) -> Iterator[Problem]:
    if graph.contract not in CONTRACTS:
        yield f"graph '{graph.name}'", f"the rounding contract '{graph.contract}' is unknown"


def _ops_known(graph: Graph) -> Iterator[Problem]:
    known = {opdef.name: opdef for opdef in (*ops.all_ops(), *ops.control_ops())}
    for node in graph.nodes:
        if node.op not in known:
            yield _name(node), "no such op"
        elif len(node.subgraphs) != len(known[node.op].subgraphs):
            yield _name(node), f"{len(node.subgraphs)} subgraphs, {len(known[node.op].subgraphs)} belong to the op"


def _inputs_declared(graph: Graph) -> Iterator[Problem]:
    for node in graph.nodes:
        names = ops.get(node.op).inputs
        repeats = bool(names) and names[-1].endswith("*")
        if len(node.inputs) > len(names) and not repeats:
            yield _name(node), f"{len(node.inputs)} inputs, at most {len(names)} are possible"
        for index, name in enumerate(names):
            if not name.endswith(("?", "*")) and node.optional_input(index) is None:
                yield _name(node), f"input '{name}' is absent"
        if repeats and (not node.inputs or any(value is None for value in node.inputs)):
            yield _name(node), "a repeated input is absent"


def _attributes_complete(graph: Graph) -> Iterator[Problem]:
    for node in graph.nodes:
        expected = set(ops.get(node.op).attrs)
        if set(node.attrs) != expected:
            yield _name(node), f"attributes {sorted(set(node.attrs) ^ expected)} are missing or unknown"


def _links_agree(graph: Graph) -> Iterator[Problem]:
    inside = {id(node) for node in graph.nodes}
    if len(inside) != len(graph.nodes):
        yield f"graph '{graph.name}'", "a node stands in it twice"
    uses = {(id(value), id(node), index) for value in graph.values() for node, index in value.uses}
    for node in graph.nodes:
        for index, value in enumerate(node.inputs):
            if value is not None and (id(value), id(node), index) not in uses:
                yield _name(node), f"'{value.name}' does not know that it is input {index}"
        for value in node.outputs:
            if value.producer is not node:
                yield _name(node), f"'{value.name}' has another producer"
    for value in graph.values():
        for node, index in value.uses:
            if id(node) not in inside:
                yield f"value '{value.name}'", f"{_name(node)} uses it but is not in the graph"
            elif node.optional_input(index) is not value:
                yield f"value '{value.name}'", f"it is not input {index} of {_name(node)}"


def _values_available(graph: Graph) -> Iterator[Problem]:
    available: set[int] = set()
    for value in (*graph.inputs, *(state.input for state in graph.states)):
        if value.producer is not None or value.is_constant:
            yield f"input '{value.name}'", "a graph input has neither producer nor data"
        available.add(id(value))
    for node in graph.nodes:
        for operand in node.inputs:
            if operand is not None and not operand.is_constant and id(operand) not in available:
                yield _name(node), f"'{operand.name}' is not computed before"
        available.update(id(value) for value in node.outputs)
    for value in graph.results:
        if not value.is_constant and id(value) not in available:
            yield f"output '{value.name}'", "nothing computes it"


def _names_unique(graph: Graph) -> Iterator[Problem]:
    seen: dict[str, Value] = {}
    for value in graph.values():
        if not value.name:
            yield f"a value of type {value.type}", "it has no name"
        elif value.name in seen:
            yield f"value '{value.name}'", "another value has the same name"
        seen[value.name] = value


def _constants_fit(graph: Graph) -> Iterator[Problem]:
    for value in graph.constants():
        assert value.data is not None
        if value.producer is not None:
            yield f"constant '{value.name}'", "a node produces it"
        if value.data.dtype != value.dtype.numpy or value.data.shape != value.shape:
            yield (
                f"constant '{value.name}'",
                f"its data is {value.data.dtype}{list(value.data.shape)}, not {value.type}",
            )
        elif not value.data.flags.c_contiguous:
            yield f"constant '{value.name}'", "its data is not contiguous"


def _types_inferred(graph: Graph) -> Iterator[Problem]:
    for node in graph.nodes:
        try:
            types = ops.get(node.op).infer(node)
        except ShapeError as error:
            yield _name(node), error.what
            continue
        if len(types) != len(node.outputs):
            yield _name(node), f"{len(node.outputs)} outputs, {len(types)} follow from its inputs"
            continue
        for value, type in zip(node.outputs, types, strict=True):
            same = value.dtype is type.dtype and len(value.shape) == len(type.shape)
            sizes = zip(value.shape, type.shape, strict=False)
            if not same or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in sizes):
                yield _name(node), f"'{value.name}' is {value.type}, {type} follows from its inputs"


def _shapes_sensible(graph: Graph) -> Iterator[Problem]:
    for value in graph.values():
        if len(value.shape) > MAX_RANK:
            yield f"value '{value.name}'", f"rank {len(value.shape)} is above {MAX_RANK}"
        if any(dim < 0 if isinstance(dim, int) else not dim for dim in value.shape):
            yield f"value '{value.name}'", f"shape {value.shape} has a negative or nameless dimension"


def _depth(graph: Graph) -> int:
    return max((1 + _depth(subgraph) for node in graph.nodes for subgraph in node.subgraphs), default=0)


def _subgraphs_sound(graph: Graph) -> Iterator[Problem]:
    if _depth(graph) > MAX_DEPTH:
        yield f"graph '{graph.name}'", f"subgraphs lie deeper than {MAX_DEPTH} levels"
    for node in graph.nodes:
        for subgraph in node.subgraphs:
            if subgraph.contract != graph.contract:
                yield _name(node), f"the rounding contract of its subgraph is '{subgraph.contract}'"
            if subgraph.states:
                yield _name(node), "its subgraph has states"


def _states_sound(graph: Graph) -> Iterator[Problem]:
    for state in graph.states:
        where, type = f"state '{state.input.name}'", state.input.type
        if not type.is_static or state.output.type != type:
            yield where, f"it is {type} and becomes {state.output.type}"
        elif state.initial is not None and (
            state.initial.dtype != type.dtype.numpy or state.initial.shape != type.shape
        ):
            yield where, f"it starts as {state.initial.dtype}{list(state.initial.shape)}, not {type}"
        if any(state.input is value for value in graph.inputs):
            yield where, "it is an input of the graph too"
        if any(value is state.input for value in graph.results if value is not state.output):
            yield where, "it is an output of the graph, or becomes another state: that needs a copy"


def _quantization_sound(graph: Graph) -> Iterator[Problem]:
    for value in graph.values():
        if value.quant is not None:
            what = _quant_problem(value, value.quant)
            if what:
                yield f"value '{value.name}'", what


def _quant_problem(value: Value, quant: Quant) -> str:
    scale, zero_point = quant.scale, quant.zero_point
    if scale.ndim != 1 or scale.shape != zero_point.shape or scale.size == 0:
        return f"{scale.shape} scales and {zero_point.shape} zero points"
    if not np.all(np.isfinite(scale)) or np.any(scale < 0):
        return "a scale is negative or not finite"
    if quant.axis is None:
        return "" if scale.size == 1 else f"{scale.size} scales but no axis"
    if not 0 <= quant.axis < len(value.shape):
        return f"axis {quant.axis} of its quantization is out of range"
    dim = value.shape[quant.axis]
    return f"{scale.size} scales along an axis of size {dim}" if isinstance(dim, int) and dim != scale.size else ""


RULES: tuple[Rule, ...] = (
    Rule("the rounding contract is known", _contract_known),
    Rule("every op is known", _ops_known),
    Rule("every declared input is there, and no other", _inputs_declared),
    Rule("every attribute is set, and no other", _attributes_complete),
    Rule("nodes and values know each other", _links_agree),
    Rule("every value is there before it is used", _values_available),
    Rule("every value has a name of its own", _names_unique),
    Rule("constants have the type that they claim", _constants_fit),
    Rule("shapes are sensible", _shapes_sensible),
    Rule("the types of outputs follow from the inputs", _types_inferred),
    Rule("quantizations are sound", _quantization_sound),
    Rule("subgraphs belong to their graph", _subgraphs_sound),
    Rule("states keep their type", _states_sound),
)
"""In this order: a rule may rely on those before it."""
