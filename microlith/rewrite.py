"""Passes over a graph: what a pass is, how a list of them runs, and helpers to find and replace small patterns.

A pass is a name, the facts that it requires and ensures, and ``run(graph) -> changed``. Facts are plain words
(``"static shapes"``, ``"materialized"``); ``run_passes`` refuses an order in which a required fact is not ensured by a
pass before.

Local patterns are written as expressions over ``Op``, ``Const`` and ``Var`` and replaced by ``rewrite_all``::

    x = Var("x")
    SILU = Op("mul", x, Op("sigmoid", x))

    def run(graph):
        return rewrite_all(graph, SILU, lambda g, m: g.add("silu", [m["x"]], before=m.root).output)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .ir import Graph, Node, Value
from .verify import verify as verify_graph

COMMUTATIVE = frozenset({"add", "mul", "max", "min", "equal", "not_equal", "logical_and", "logical_or", "logical_xor"})
"""Ops whose two operands a pattern may find in either order."""

NO_CLAMP = {"clamp_min": -math.inf, "clamp_max": math.inf}
"""The attributes of a node that has no fused activation."""


@dataclass(frozen=True)
class Pass:
    """One rewrite of a graph. ``run`` returns whether it changed anything; calling the pass calls it."""

    name: str
    run: Callable[[Graph], bool]
    requires: frozenset[str] = frozenset()
    """Facts that must hold before."""
    ensures: frozenset[str] = frozenset()
    """Facts that hold after, and for the rest of the list."""

    def __call__(self, graph: Graph) -> bool:
        return self.run(graph)


def graph_pass(
    *, requires: Iterable[str] = (), ensures: Iterable[str] = ()
) -> Callable[[Callable[[Graph], bool]], Pass]:
    """Decorator: makes a function a Pass of the same name."""

    def make(function: Callable[[Graph], bool]) -> Pass:
        return Pass(function.__name__, function, frozenset(requires), frozenset(ensures))

    return make


@dataclass(frozen=True)
class PassRecord:
    """What one run of a pass did."""

    name: str
    changed: bool
    nodes_before: int
    nodes_after: int
    seconds: float


class PassOrderError(ValueError):
    """A pass requires a fact that no pass before it ensures."""


def run_passes(
    graph: Graph,
    passes: Sequence[Pass],
    verify: bool = True,
    observer: Callable[[PassRecord, Graph], None] | None = None,
    facts: Iterable[str] = (),
) -> bool:
    """Runs the passes in order; True when one of them changed the graph.

    ``facts`` hold from the start. ``observer`` is called after each pass. With ``verify`` the graph is verified before
    the first and after each pass that changed it; the text of an InvalidGraph then names the pass.
    """
    established = set(facts)
    for item in passes:
        missing = item.requires - established
        if missing:
            raise PassOrderError(f"pass '{item.name}' requires {sorted(missing)}, which no pass before it ensures")
        established |= item.ensures
    if verify:
        verify_graph(graph)
    changed_any = False
    for item in passes:
        before, start = len(graph.nodes), time.perf_counter()
        changed = item.run(graph)
        record = PassRecord(item.name, changed, before, len(graph.nodes), time.perf_counter() - start)
        if verify and changed:
            try:
                verify_graph(graph)
            except ValueError as error:
                error.args = (f"after pass '{item.name}': {error}",)
                raise
        if observer is not None:
            observer(record, graph)
        changed_any |= changed
    return changed_any


def repeat(name: str, passes: Sequence[Pass], limit: int = 10) -> Pass:
    """One pass that runs others in turn until none changes the graph, or ``limit`` times."""

    def run(graph: Graph) -> bool:
        changed_any = False
        for _ in range(limit):
            changed = False
            for item in passes:
                changed |= item.run(graph)
            if not changed:
                break
            changed_any = True
        return changed_any

    requires = frozenset[str]().union(*(item.requires for item in passes))
    ensures = frozenset[str]().union(*(item.ensures for item in passes))
    return Pass(name, run, requires - ensures, ensures)


# Looking around


def is_output(graph: Graph, value: Value) -> bool:
    """Whether a value is an output of the graph, or the next value of a state."""
    return any(output is value for output in graph.results)


def only_user(graph: Graph, value: Value) -> Node | None:
    """The node that uses a value, when it is used exactly once and is no graph output."""
    return value.uses[0][0] if len(value.uses) == 1 and not is_output(graph, value) else None


def producer_of(value: Value | None, *op_names: str) -> Node | None:
    """The node that produces a value, when its op is one of these."""
    node = None if value is None else value.producer
    return node if node is not None and node.op in op_names else None


def scalar_of(value: Value | None) -> float | None:
    """The number that a constant holds in all its elements, else None."""
    if value is None or value.data is None or value.data.size == 0:
        return None
    flat = value.data.reshape(-1)
    return float(flat[0]) if flat.size == 1 or bool(np.all(flat == flat[0])) else None


# Replacing


def replace_node(
    graph: Graph, node: Node, op: str, inputs: Sequence[Value | None], attrs: Mapping[str, Any] | None = None
) -> Node:
    """Puts another op in the place of a node with one output; it keeps name, source and quantization."""
    old = node.output
    name, quant = old.name, old.quant
    new = graph.add(op, inputs, attrs, name=node.name, before=node, source=node.source, quant=quant)
    graph.replace(old, new.output)
    graph.remove(node)
    new.output.name = name
    return new


def bypass(graph: Graph, node: Node) -> bool:
    """Removes a node that only passes on input 0; False when the interface of the graph does not allow it."""
    value, old = node.input(0), node.output
    if is_output(graph, old) and (value.producer is None or is_output(graph, value)):
        return False
    graph.replace(old, value)
    graph.remove(node)
    return True


# Patterns


@dataclass(frozen=True)
class Var:
    """Any value; the same one wherever the name stands."""

    name: str


@dataclass(frozen=True)
class Const:
    """A constant. With ``value``: all its elements are this number, within ``tolerance`` relative to it."""

    name: str = ""
    value: float | None = None
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Op:
    """The output of a node with this op (one of several names: ``"add|sub"``).

    Inputs beyond those listed must be absent. ``attrs`` must be equal, and a fused clamp must be absent where it is not
    among them; ``name`` makes the node available.
    """

    op: str
    inputs: tuple[Var | Const | Op, ...]
    attrs: Mapping[str, Any]
    name: str

    def __init__(self, op: str, *inputs: Var | Const | Op, name: str = "", **attrs: Any) -> None:
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "inputs", inputs)
        object.__setattr__(self, "attrs", attrs)
        object.__setattr__(self, "name", name)


@dataclass
class Match:
    """Where a pattern was found: values by name (``match["x"]``), nodes by name, and every node, root first."""

    root: Node
    values: dict[str, Value] = field(default_factory=dict)
    named: dict[str, Node] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def is_closed(self, graph: Graph) -> bool:
        """Whether nothing outside of the match uses a value inside of it, the root's output excepted."""
        inside = {id(node) for node in self.nodes}
        inner = [value for node in self.nodes[1:] for value in node.outputs]
        return not any(is_output(graph, v) or any(id(user) not in inside for user in v.users) for v in inner)


def match_node(node: Node, pattern: Op) -> Match | None:
    """The match whose root is this node, or None."""
    match = Match(node)
    return match if _match_node(node, pattern, match) else None


def _match_node(node: Node, pattern: Op, match: Match) -> bool:
    if node.op not in pattern.op.split("|") or len(node.outputs) != 1:
        return False
    wanted = {**{name: value for name, value in NO_CLAMP.items() if name in node.attrs}, **pattern.attrs}
    if any(node.attrs.get(name) != value for name, value in wanted.items()):
        return False
    orders = [pattern.inputs]
    if node.op in COMMUTATIVE and len(pattern.inputs) == 2:
        orders.append(pattern.inputs[::-1])
    for operands in orders:
        saved = dict(match.values), dict(match.named), list(match.nodes)
        if node not in match.nodes:
            match.nodes.append(node)
        if pattern.name:
            match.named[pattern.name] = node
        surplus = node.inputs[len(operands) :]
        if all(value is None for value in surplus) and all(
            _match_value(node.optional_input(index), operand, match) for index, operand in enumerate(operands)
        ):
            return True
        match.values, match.named, match.nodes = saved
    return False


def _match_value(value: Value | None, pattern: Var | Const | Op, match: Match) -> bool:
    if value is None:
        return False
    if isinstance(pattern, Op):
        return value.producer is not None and _match_node(value.producer, pattern, match)
    if isinstance(pattern, Const):
        if value.data is None:
            return False
        if pattern.value is not None:
            scalar = scalar_of(value)
            if scalar is None or abs(scalar - pattern.value) > pattern.tolerance * max(1e-30, abs(pattern.value)):
                return False
        if not pattern.name:
            return True
    return match.values.setdefault(pattern.name, value) is value


def rewrite_all(graph: Graph, pattern: Op, build: Callable[[Graph, Match], Value | None]) -> bool:
    """Replaces every closed match of a pattern by the value that ``build`` returns; None leaves it alone.

    ``build`` adds its nodes before ``match.root``. The new value takes over name and quantization of the old one.
    """
    changed = False
    before = list(graph.nodes)
    known = {id(node) for node in before}
    for node in list(before):
        if len(node.outputs) != 1 or node.output.producer is not node:
            continue
        match = match_node(node, pattern)
        if match is None or not match.is_closed(graph):
            continue
        new, old = build(graph, match), node.output
        if new is None or new is old:
            continue
        is_new = new.producer is not None and id(new.producer) not in known
        if is_new and new.producer is not None:
            before.append(new.producer)  # kept alive, so that no other node gets its identity
            known.add(id(new.producer))
        if is_output(graph, old) and not is_new and (new.producer is None or is_output(graph, new)):
            continue
        name = old.name
        graph.replace(old, new)
        _remove_matched(graph, match)
        if is_new:
            new.name = name
            new.quant = new.quant or old.quant
        changed = True
    return changed


def _remove_matched(graph: Graph, match: Match) -> None:
    """Takes out the nodes of a match that nothing uses any more, the last one first."""
    for node in sorted(match.nodes, key=graph.nodes.index, reverse=True):
        if not any(value.uses or is_output(graph, value) for value in node.outputs):
            graph.remove(node)
            for value in node.outputs:
                value.producer = None
