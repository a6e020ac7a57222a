"""The graph: Graph, Node and Value have identity and know each other; everything else is a plain value.

A ``Value`` knows the node that produces it and the nodes that use it. All edits go through methods here, which keep
both sides true; ``verify.verify`` checks that they are.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .dtypes import DType
from .errors import OpenShapeError
from .size_ranges import SizeRange

Dim = int | str
"""A size, or the name of a size that is known only at run time (a symbol such as ``"batch"``)."""

SCALES_MOVED = "scales_moved"
"""Key of the metadata that names, as JSON, the tensors whose channels equalization has scaled: by their name in the
original model a mark that is the same for the same factors."""


@dataclass(frozen=True)
class TensorType:
    """Element type and shape. A dimension may be a symbol."""

    dtype: DType
    shape: tuple[Dim, ...]

    @property
    def is_static(self) -> bool:
        return all(isinstance(dim, int) for dim in self.shape)

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape; OpenShapeError when it has a symbol."""
        if not self.is_static:
            shape = ", ".join(map(str, self.shape))
            raise OpenShapeError(
                f"it needs to know all sizes of a tensor of shape [{shape}], which is known at run time"
            )
        return tuple(int(dim) for dim in self.shape)

    @property
    def count(self) -> int:
        """Number of elements of a static shape."""
        count = 1
        for dim in self.static_shape:
            count *= dim
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of a static shape."""
        return self.count * self.dtype.size

    def __str__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, eq=False)
class Quant:
    """real = scale * (q - zero_point). One scale and zero point, or one for each slice along ``axis``."""

    scale: np.ndarray
    """float32, 1-D."""
    zero_point: np.ndarray
    """int64, 1-D, as long as ``scale``."""
    axis: int | None = None

    @classmethod
    def per_tensor(cls, scale: float, zero_point: int) -> Quant:
        return cls(np.array([scale], np.float32), np.array([zero_point], np.int64))

    @property
    def is_per_tensor(self) -> bool:
        return self.axis is None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Quant)
            and self.axis == other.axis
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )

    __hash__ = None  # type: ignore[assignment]


class Value:
    """A tensor in a graph: a graph input, a constant (``data`` is set), or the output of ``producer``."""

    def __init__(
        self, name: str, type: TensorType, *, data: np.ndarray | None = None, quant: Quant | None = None
    ) -> None:
        self.name = name
        self.type = type
        self.data = data
        self.quant = quant
        self.decoded_from: Quant | None = None
        """For a constant of real numbers that a model stores as integers: the quantization of these."""
        self.origins: tuple[str, ...] = ()
        """The tensors of the original model that it stands for, up to the order of axes and to rounding."""
        self.producer: Node | None = None
        self.uses: list[tuple[Node, int]] = []
        """(node, index of its input) for each use by a node; being a graph output is not in this list."""

    @property
    def is_constant(self) -> bool:
        return self.data is not None

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        return self.type.shape

    @property
    def users(self) -> list[Node]:
        """The nodes that use this value, each once, in order of first use."""
        return list(dict.fromkeys(node for node, _ in self.uses))

    def __repr__(self) -> str:
        return f"<Value {self.name} {self.type}>"


KEEPS_NUMBERS = frozenset({"transpose", "reshape", "squeeze", "unsqueeze", "quantize", "dequantize", "requantize"})
"""Ops whose result stands for the same real numbers as input 0."""


def _inherit_origins(old: Value, new: Value) -> None:
    """``new`` takes the place of ``old``, and of what ``old`` is but another form of."""
    node = old.producer
    changed = node is not None and node.op not in KEEPS_NUMBERS and new in node.inputs
    origins = [] if changed else list(new.origins)  # an op that was fused into what makes ``new`` changed its numbers
    while old is not new and not new.is_constant:
        origins.extend(old.origins)
        node = old.producer
        if node is None or node.op not in KEEPS_NUMBERS or not node.inputs or node.inputs[0] is None:
            break
        old = node.inputs[0]
    new.origins = tuple(dict.fromkeys(origins))


class Node:
    """One op. ``inputs`` may hold None for an optional input that is absent. Make nodes with ``Graph.add``."""

    def __init__(self, op: str, name: str, attrs: Mapping[str, Any], source: str) -> None:
        self.op = op
        self.name = name
        self.attrs: dict[str, Any] = dict(attrs)
        self.source = source
        """The operator of the model that this came from, for messages (``"Conv"``, ``"CONV_2D"``)."""
        self._inputs: list[Value | None] = []
        self.outputs: list[Value] = []
        self.implied: dict[str, int] = {}
        """Open sizes of inputs that can have one value only, as weights tell channels."""
        self.subgraphs: list[Graph] = []
        """What an op of ``ops/control.py`` runs. A subgraph sees nothing of the graph around it but its inputs."""

    @classmethod
    def loose(cls, op: str, name: str, attrs: Mapping[str, Any], source: str, inputs: Sequence[Value | None]) -> Node:
        """A node of no graph: its inputs do not know it. Without outputs."""
        node = cls(op, name, attrs, source)
        node._inputs = list(inputs)
        return node

    @property
    def inputs(self) -> tuple[Value | None, ...]:
        return tuple(self._inputs)

    @property
    def output(self) -> Value:
        """The only output."""
        (value,) = self.outputs
        return value

    def input(self, index: int) -> Value:
        """Input ``index``, which must be present."""
        value = self._inputs[index]
        if value is None:
            raise ValueError(f"{self.op} '{self.name}' has no input {index}")
        return value

    def optional_input(self, index: int) -> Value | None:
        """Input ``index``, or None when it is absent."""
        return self._inputs[index] if index < len(self._inputs) else None

    def set_input(self, index: int, value: Value | None) -> None:
        """Replaces or appends one input; gaps become absent inputs."""
        while len(self._inputs) <= index:
            self._inputs.append(None)
        old = self._inputs[index]
        if old is not None:
            old.uses.remove((self, index))
        self._inputs[index] = value
        if value is not None:
            value.uses.append((self, index))

    def drop_input(self, index: int) -> None:
        """Makes one input absent; absent inputs at the end go."""
        if index < len(self._inputs):
            self.set_input(index, None)
        while self._inputs and self._inputs[-1] is None:
            self._inputs.pop()

    def __repr__(self) -> str:
        return f"<Node {self.op} {self.name}>"


@dataclass(eq=False)
class State:
    """A value that outlives a run: at its end ``input`` becomes ``output``. Both have the same static type."""

    input: Value
    """What a run reads; like a graph input, it has no producer."""
    output: Value
    """Any value of the graph."""
    initial: np.ndarray | None = None
    """At the start and after a reset; None: zero (the zero point of a quantized value)."""

    def start(self) -> np.ndarray:
        """What the state holds before the first run."""
        type, quant = self.input.type, self.input.quant
        if self.initial is not None:
            return self.initial
        zero = int(quant.zero_point[0]) if quant is not None and quant.is_per_tensor and type.dtype.is_integer else 0
        return np.full(type.static_shape, zero, type.dtype.numpy)


@dataclass(eq=False)
class Graph:
    """A model: nodes in an order in which they can run."""

    name: str = "model"
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    contract: str = "single"
    """The rounding contract of its integer ops: ``tflite-double``, ``single`` or ``float-even``."""
    metadata: dict[str, str] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    ranges: dict[str, SizeRange] = field(default_factory=dict)
    """The sizes that symbols of the inputs may have, where they are limited."""

    @property
    def scales_moved(self) -> dict[str, str]:
        """See ``SCALES_MOVED``; empty where nothing is known."""
        try:
            moved = json.loads(self.metadata.get(SCALES_MOVED, "{}"))
        except (ValueError, RecursionError):  # text of a file that others have written
            return {}
        return {str(name): str(mark) for name, mark in moved.items()} if isinstance(moved, dict) else {}

    @property
    def results(self) -> list[Value]:
        """What a run is for: the outputs, and the next values of the states."""
        return [*self.outputs, *(state.output for state in self.states)]

    def values(self) -> Iterator[Value]:
        """Every value once: inputs and states, then constants and outputs of nodes in order of first appearance."""
        seen: set[int] = set()
        candidates: list[Value | None] = [*self.inputs, *(state.input for state in self.states)]
        for node in self.nodes:
            candidates.extend(node.inputs)
            candidates.extend(node.outputs)
        candidates.extend(self.results)
        for value in candidates:
            if value is not None and id(value) not in seen:
                seen.add(id(value))
                yield value

    def constants(self) -> Iterator[Value]:
        return (value for value in self.values() if value.is_constant)

    def unique_name(self, base: str) -> str:
        """``base``, or ``base_2``, ``base_3``, ... if a value already has that name."""
        return unique_name(base, {value.name for value in self.values()})

    def add(
        self,
        op: str,
        inputs: Sequence[Value | None],
        attrs: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        output_names: Sequence[str] = (),
        before: Node | None = None,
        source: str = "",
        quant: Quant | None = None,
        subgraphs: Sequence[Graph] = (),
    ) -> Node:
        """Adds a node at the end, or before another, with outputs as its OpDef infers them.

        Attributes are completed with the op's defaults. ``quant`` is given to the first output. Raises
        ``ShapeError`` when the inputs do not fit.
        """
        from .ops import get

        opdef = get(op)
        node = Node(op, name, opdef.complete_attrs(attrs or {}), source or op)
        node.subgraphs = list(subgraphs)
        for index, value in enumerate(inputs):
            node.set_input(index, value)
        for index, type in enumerate(opdef.infer(node)):
            label = output_names[index] if index < len(output_names) else f"{name or op}_{index}"
            output = Value(label, type, quant=quant if index == 0 else None)
            output.producer = node
            node.outputs.append(output)
        position = len(self.nodes) if before is None else self.nodes.index(before)
        self.nodes.insert(position, node)
        return node

    def constant(self, name: str, data: np.ndarray, quant: Quant | None = None) -> Value:
        """A new constant; it belongs to the graph once a node uses it."""
        array = np.ascontiguousarray(data).reshape(np.shape(data))
        return Value(name, TensorType(DType.from_numpy(array.dtype), tuple(array.shape)), data=array, quant=quant)

    def replace(self, old: Value, new: Value) -> None:
        """Every use of ``old``, graph outputs included, becomes a use of ``new``.

        A graph output keeps its public name: ``new`` takes it over when a node produces ``new``. The origins of
        ``old`` become origins of ``new``.
        """
        _inherit_origins(old, new)
        for node, index in list(old.uses):
            node.set_input(index, new)
        for index, value in enumerate(self.outputs):
            if value is old:
                self.outputs[index] = new
                if new.producer is not None and new not in self.inputs:
                    old.name, new.name = new.name, old.name
        for state in self.states:
            if state.output is old:
                state.output = new

    def remove(self, node: Node) -> None:
        """Takes out a node whose outputs nobody uses."""
        for value in node.outputs:
            if value.uses or any(output is value for output in self.results):
                raise ValueError(f"{node} is still in use")
        if node.op in KEEPS_NUMBERS and node.inputs and node.inputs[0] is not None:
            _inherit_origins(node.output, node.inputs[0])
        for index in range(len(node.inputs)):
            node.set_input(index, None)
        self.nodes.remove(node)

    def remove_dead(self) -> bool:
        """Takes out every node from which no graph output or state can be reached; True when there was one."""
        outputs = {id(value) for value in self.results}
        before = len(self.nodes)
        for node in reversed(list(self.nodes)):
            if not any(value.uses or id(value) in outputs for value in node.outputs):
                self.remove(node)
        return len(self.nodes) != before

    def copy(self) -> Graph:
        """A graph of its own with the same nodes; the arrays of constants are shared."""
        return self.copied()[0]

    def copied(self) -> tuple[Graph, dict[Value, Value]]:
        """``copy``, and the value of the copy for each value."""
        made: dict[Value, Value] = {}
        for value in self.values():
            twin = made[value] = Value(value.name, value.type, data=value.data, quant=value.quant)
            twin.decoded_from, twin.origins = value.decoded_from, value.origins
        graph = Graph(self.name, contract=self.contract, metadata=dict(self.metadata), ranges=dict(self.ranges))
        for node in self.nodes:
            copy = Node(node.op, node.name, node.attrs, node.source)
            copy.subgraphs = [part.copy() for part in node.subgraphs]
            for index, source in enumerate(node.inputs):
                copy.set_input(index, None if source is None else made[source])
            copy.outputs = [made[value] for value in node.outputs]
            for output in copy.outputs:
                output.producer = copy
            graph.nodes.append(copy)
        graph.inputs = [made[value] for value in self.inputs]
        graph.outputs = [made[value] for value in self.outputs]
        graph.states = [State(made[state.input], made[state.output], state.initial) for state in self.states]
        return graph, made

    def sort(self) -> None:
        """Orders the nodes topologically, keeping the given order where it is free. ``ValueError`` on a cycle."""
        placed: set[int] = set()
        ordered: list[Node] = []
        waiting = list(self.nodes)
        while waiting:
            rest: list[Node] = []
            for node in waiting:
                producers = (value.producer for value in node.inputs if value is not None)
                if all(producer is None or id(producer) in placed for producer in producers):
                    placed.add(id(node))
                    ordered.append(node)
                else:
                    rest.append(node)
            if len(rest) == len(waiting):
                raise ValueError(f"the graph has a cycle through {rest[0]}")
            waiting = rest
        self.nodes = ordered


def unique_name(base: str, taken: Container[str]) -> str:
    """``base``, or ``base_2``, ``base_3``, ... if that is taken."""
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}", number + 1
    return name


def values_of(nodes: Iterable[Node]) -> Iterator[Value]:
    """The outputs of some nodes, in order."""
    for node in nodes:
        yield from node.outputs


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """A graph and the subgraphs in it, each behind the one that it belongs to."""
    yield graph
    for node in graph.nodes:
        for subgraph in node.subgraphs:
            yield from all_graphs(subgraph)
