"""A model of a window that slides over time becomes one of its steps.

A network for sound or sensors is often made for the last second as a whole. Computed anew for each frame, it repeats
nearly all of its work. Its first layers compute rows of their results from rows of their inputs (``row_rules.py``),
and where the borders of the window play no part they give the same rows as a frame ago, moved on by what is new. So
each of them keeps as a state the rows of its input that the next frame needs, and computes only the new rows of its
result; what needs all rows, such as a dense layer, gets a state of them all. (Rybakov et al., "Streaming keyword
spotting on mobile devices", 2020, do the same with layers of Keras.)
"""

from __future__ import annotations

from dataclasses import dataclass

from ..binding import describe
from ..errors import InputError
from ..ir import Graph, Node, State, TensorType, Value
from ..row_copies import RowCopy, with_size
from ..row_rules import RowPrefix, row_prefix, sources_of


def stream(graph: Graph, rows: int) -> Graph:
    """The steps of a model: a graph whose one input has the next ``rows`` rows in place of all.

    The rows lie along the second axis of the input, or along that with which most of the layers run by rows. When as
    many as the window had have come, an output is that of the model for the last window, bit for bit; before, the
    layers find zeros in place of what they would remember. An output that is made row by row has its new rows only.
    Layers that take every second row, and cannot with so few new ones, or that pad the window, are computed anew from
    there on. Raises InputError when the model has several inputs, states, open sizes, or no layer that can run by
    steps.
    """
    if rows < 1:
        raise InputError(f"a step has at least one row, not {rows}")
    if len(graph.inputs) != 1:
        raise InputError(f"a model that slides over time has one input, this has {len(graph.inputs)}")
    if graph.states:
        raise InputError("the model has states: it is a stream already")
    prefix = row_prefix(graph)
    if not prefix.nodes:
        where = "" if prefix.end is None else f" already {describe(prefix.end)} needs all rows, or"
        raise InputError(f"the model cannot run by steps:{where} its sizes are open", hint="fix sizes with --input")
    return _Steps(graph, prefix, rows).run()


@dataclass
class _Part:
    """What of a value there is in a step."""

    height: int
    """Rows of the whole window."""
    new: int
    """Rows that a step adds behind the others."""
    begin: int
    """The first row of the window that anything needs."""


class _Steps(RowCopy):
    def __init__(self, graph: Graph, prefix: RowPrefix, rows: int) -> None:
        super().__init__(graph, prefix)
        self.parts: dict[Value, _Part] = {}
        self.region: list[Node] = []
        self.fresh: dict[Value, Value] = {}
        """New rows, and with those before them as far as they are needed."""
        self.held: dict[Value, Value] = {}
        self._measure(graph.inputs[0], rows)

    def _measure(self, source: Value, rows: int) -> None:
        """Which layers run by steps, and which rows of each result."""
        height = self.prefix.height(source)
        if rows > height:
            raise InputError(f"the input '{source.name}' has {height} rows: a step cannot have {rows}")
        self.parts[source] = _Part(height, rows, height - rows)
        left: dict[Node, str] = {}
        for node in self.prefix.nodes:
            reason = self._refusal(node)
            if reason:
                left[node] = reason
                continue
            self.region.append(node)
            made, given = self.prefix.height(node.output), self.parts[sources_of(node)[0]]
            new = given.new // self.prefix.rules[node].window.stride
            self.parts[node.output] = _Part(made, new, made - new)
        if not self.region:
            node, reason = next(iter(left.items()))
            raise InputError(f"the model cannot run by steps of {rows}: {describe(node)} {reason}")
        for node in self.region:
            for value in sources_of(node):
                part = self.parts[value]
                part.begin = min(part.begin, self._first(node))
        for value, part in self.parts.items():
            is_whole = any(user not in self.region for user in value.users)
            part.begin = 0 if is_whole else part.begin

    def _refusal(self, node: Node) -> str:
        """Why a layer cannot run by steps; empty when it can."""
        sources = sources_of(node)
        if any(value not in self.parts for value in sources):
            return "reads what needs all rows"
        window, given = self.prefix.rules[node].window, self.parts[sources[0]]
        made = self.prefix.height(node.output)
        if window.pad > 0 or window.end(made) > given.height:
            return "pads the window, whose borders then move through the stream"
        if any(self.parts[value].new != given.new for value in sources) or given.new % window.stride:
            return f"takes every {window.stride} rows, and a step brings {given.new}"
        new = given.new // window.stride
        return "makes fewer rows than a step brings" if new > made else ""

    def _first(self, node: Node) -> int:
        """The first row of its inputs that the new rows of a layer need."""
        part = self.parts[node.output]
        return self.prefix.rules[node].window.begin(part.height - part.new)

    def run(self) -> Graph:
        (source,) = self.old.inputs
        shape = with_size(source.type.static_shape, self.prefix.axes[source], self.parts[source].new)
        piece = Value(source.name, TensorType(source.dtype, shape), quant=source.quant)
        self.new.inputs.append(piece)
        self._hold(source, piece)
        for node in self.region:
            self._extend(node)
        for node in self.old.nodes:
            if node not in self.region:
                self.copy_node(node)
        self.new.outputs = [self.fresh.get(value) or self.copies[value] for value in self.old.outputs]
        for old, new in zip(self.old.outputs, self.new.outputs, strict=True):
            new.name = old.name
        return self.new

    def _hold(self, value: Value, fresh: Value) -> None:
        """New rows of a value: those before them that will be needed again become a state."""
        part, axis = self.parts[value], self.prefix.axes[value]
        self.fresh[value] = self.held[value] = fresh
        kept = part.height - part.begin - part.new
        if kept > 0:
            type = TensorType(value.dtype, with_size(value.type.static_shape, axis, kept))
            before = Value(self.old.unique_name(f"{value.name}_before"), type, quant=value.quant)
            both = self.new.add(
                "concat", [before, fresh], {"axis": axis}, name=f"{value.name} so far", quant=value.quant
            )
            self.held[value] = both.output
            after = self.slice_rows(both.output, part.new, part.new + kept, value)
            self.new.states.append(State(before, after))
        if part.begin == 0:
            self.copies[value] = self.held[value]

    def _extend(self, node: Node) -> None:
        rule, part = self.prefix.rules[node], self.parts[node.output]
        first, last = self._first(node), rule.window.end(part.height)
        inputs = [
            None if value is None else self.constant(value) if value.is_constant else self._rows(value, first, last)
            for value in node.inputs
        ]
        height = self.parts[sources_of(node)[0]].height
        attrs = {**node.attrs, **rule.cut(part.height - part.new, part.height, height)}
        made = self.new.add(node.op, inputs, attrs, name=node.name, source=node.source, quant=node.output.quant).output
        assert made.type.static_shape == with_size(node.output.type.static_shape, rule.axis, part.new)
        self._hold(node.output, made)

    def _rows(self, value: Value, first: int, last: int) -> Value:
        part = self.parts[value]
        if (first, last) == (part.begin, part.height):
            return self.held[value]
        return self.slice_rows(self.held[value], first - part.begin, last - part.begin, value)
