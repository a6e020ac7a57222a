"""Chains and trees of elementwise float ops become one op, which reads and writes memory once.

A region grows from the op whose result leaves it, against the direction of the data: an op joins when all that use its
result are in the region already, and its result has the shape of the region's. So nothing is computed more often than
before, and nothing at a smaller shape is computed at a larger one. Inputs may be broadcast. What a region computes is,
to the bit, what its ops compute one after the other.

A region runs as soon as its inputs are there. An op that ends the lives of more large values than it begins is left out
when other ops lie between: they would run while its inputs still take the memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...dtypes import DType
from ...errors import ShapeError
from ...ir import Graph, Node, Value, all_graphs
from ...ops.fused import (
    BY_OP,
    MOST_CONSTANTS,
    MOST_INPUTS,
    MOST_STEPS,
    NAME,
    Function,
    Operand,
    encode,
)
from ...ops.shape_rules import broadcast_shapes
from .unique_names import make_names_unique


class _Program:
    """The program of a region, and what it reads."""

    def __init__(self, nodes: Iterable[Node], inputs: Iterable[Value] = ()) -> None:
        self.steps: list[int] = []
        self.inputs: list[Value] = list(inputs)
        self.constants: list[bytes] = []
        """float32 each; compared by their bits, since zeros have signs."""
        results: dict[Value, Operand] = {}
        for node in nodes:
            function = BY_OP[node.op]
            operands = [self._operand(node.input(index), results) for index in range(function.operands)]
            attrs = [node.attrs.get(name, 0.0) for name in ("alpha", "beta")] if function.has_attrs else []
            made = self._step(function, operands, attrs)
            low, high = node.attrs.get("clamp_min", -math.inf), node.attrs.get("clamp_max", math.inf)
            if (low, high) != (-math.inf, math.inf):
                made = self._step(BY_OP["clip"], [made], [low, high])
            results[node.output] = made

    def _operand(self, value: Value, results: dict[Value, Operand]) -> Operand:
        if value in results:
            return results[value]
        if value.data is not None and value.data.size == 1 and value.dtype is DType.f32:
            return Operand("constant", self._constant(float(value.data.reshape(()))))
        if value not in self.inputs:
            self.inputs.append(value)
        return Operand("input", self.inputs.index(value))

    def _constant(self, value: float) -> int:
        bits = np.float32(value).tobytes()
        if bits not in self.constants:
            self.constants.append(bits)
        return self.constants.index(bits)

    def _step(self, function: Function, operands: list[Operand], attrs: list[float]) -> Operand:
        self.steps.append(encode(function, operands, [self._constant(value) for value in attrs]))
        return Operand("step", len(self.steps) - 1)

    @property
    def constant_values(self) -> tuple[float, ...]:
        return tuple(float(np.frombuffer(bits, np.float32)[0]) for bits in self.constants)

    @property
    def fits(self) -> bool:
        return (
            len(self.steps) <= MOST_STEPS
            and 1 <= len(self.inputs) <= MOST_INPUTS
            and len(self.constants) <= MOST_CONSTANTS
        )

    def in_order(self, result: Value) -> list[Value]:
        """The inputs as the op takes them: first one whose memory the result can have, else any of floats."""
        return sorted(self.inputs, key=lambda value: (value.dtype is not DType.f32, value.shape != result.shape))


def run(graph: Graph) -> bool:
    """Fuses every region of two or more ops, in subgraphs too."""
    changed = [_fuse(part) for part in all_graphs(graph)]
    return any(changed)


def _fuse(graph: Graph) -> bool:
    results = {id(value) for value in graph.results}
    position = {node: index for index, node in enumerate(graph.nodes)}
    taken: set[Node] = set()
    regions: list[list[Node]] = []
    for root in reversed(graph.nodes):
        if root not in taken and _can_join(root) and root.output.dtype is DType.f32:
            region = _without_holders(_grown(root, results, position), results, position)
            taken.update(region)
            if len(region) > 1:
                regions.append(region)
    for region in regions:
        _replace(graph, region, _place(region, position))
    make_names_unique(graph)
    return bool(regions)


def _can_join(node: Node) -> bool:
    function = BY_OP.get(node.op)
    if function is None or len(node.outputs) != 1 or len(node.inputs) != function.operands:
        return False
    values = [*node.inputs, node.output]
    wanted = [*function.takes_b8, function.gives_b8]
    return all(
        value is not None and value.quant is None and value.dtype is (DType.b8 if b8 else DType.f32)
        for value, b8 in zip(values, wanted, strict=True)
    )


def _grown(root: Node, results: set[int], position: dict[Node, int]) -> list[Node]:
    """The region that ends with a node, in the order of the graph."""
    region = [root]
    waiting = [value.producer for value in root.inputs if value is not None]
    while waiting:
        node = waiting.pop(0)
        if (
            node is None
            or node in region
            or not _can_join(node)
            or node.output.shape != root.output.shape
            or id(node.output) in results
            or any(user not in region for user in node.output.users)
        ):
            continue
        larger = sorted([*region, node], key=lambda item: position[item])
        if _fits(larger, root):
            region = larger
            waiting.extend(value.producer for value in node.inputs if value is not None)
    return region


def _without_holders(region: list[Node], results: set[int], position: dict[Node, int]) -> list[Node]:
    """What is left of a region without the ops that would keep memory longer than before, and without what would then
    be used outside."""
    kept = set(region)
    place = position[_place(region, position)]
    for node in region[:-1]:
        between = place - position[node] - sum(position[node] < position[item] < place for item in kept) - 1
        if between > 0 and _ended(node, results, position) > 1:
            kept.discard(node)
    if len(kept) == len(region):
        return region
    again = True
    while again:
        outside = [node for node in kept - {region[-1]} if any(user not in kept for user in node.output.users)]
        kept.difference_update(outside)
        again = bool(outside)
    return _without_holders([node for node in region if node in kept], results, position)


def _place(region: list[Node], position: dict[Node, int]) -> Node:
    """The first op of a region behind all that makes its inputs: where it can run."""
    inside = set(region)
    sources = {value.producer for node in region for value in node.inputs if value is not None} - inside
    last = max((position[node] for node in sources if node is not None), default=-1)
    return next(node for node in region if position[node] > last)


def _ended(node: Node, results: set[int], position: dict[Node, int]) -> int:
    """How many values as large as its result nobody needs after a node."""
    values = {value for value in node.inputs if value is not None and not value.is_constant}
    return sum(
        value.shape == node.output.shape
        and id(value) not in results
        and all(position[user] <= position[node] for user in value.users)
        for value in values
    )


def _fits(region: list[Node], root: Node) -> bool:
    program = _Program(region)
    if not program.fits:
        return False
    inputs = program.in_order(root.output)
    try:
        shape = broadcast_shapes(root, *(value.shape for value in inputs))
    except ShapeError:
        return False
    return inputs[0].dtype is DType.f32 and shape == root.output.shape


def _replace(graph: Graph, region: list[Node], before: Node) -> None:
    root = region[-1]
    program = _Program(region, _Program(region).in_order(root.output))
    attrs = {"steps": tuple(program.steps), "constants": program.constant_values}
    names = [f"{root.output.name}_{NAME}"]
    made = graph.add(NAME, program.inputs, attrs, name=root.name, output_names=names, before=before, source=root.source)
    graph.replace(root.output, made.output)
    for node in reversed(region):
        graph.remove(node)
