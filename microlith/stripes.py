"""The first layers of a graph run stripe by stripe, so that their large results never exist as a whole.

Each layer of such a prefix computes a few rows at a time and keeps of its result only the rows that the next layers
still need: after a stripe the last of them are carried over to the next one. So nothing is computed twice (unlike in
patch-based inference with overlapping patches, MCUNetV2, arXiv:2110.15352, whose stripes start anew); the price is the
copies of the rows that are carried, and one call for each layer and stripe. The result is an ordinary graph of slices,
the same ops on fewer rows, and concatenations, which the memory planner mostly turns into no code.

An input may arrive by rows too: the graph has then one input for each stripe, the rows that this stripe is the first to
need, and nobody has to hold the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from .ir import Graph, Node, TensorType, Value
from .row_copies import RowCopy, with_size
from .row_rules import Window, row_prefix, sources_of


def prefix_length(graph: Graph) -> int:
    """How many nodes can run in stripes; none in a graph with states, ranges of sizes or subgraphs."""
    return len(row_prefix(graph).nodes)


@dataclass(frozen=True)
class Arrival:
    """Rows ``begin`` .. ``end`` - 1 of an input that arrives by rows, as an input of the striped graph."""

    piece: Value
    begin: int
    end: int


@dataclass
class _Rows:
    """Rows ``begin`` .. ``end`` - 1 of a result."""

    value: Value
    begin: int
    end: int


class _Striper(RowCopy):
    """The striped copy of a graph while it is made."""

    def __init__(self, graph: Graph, length: int, count: int, arriving: Value | None = None) -> None:
        super().__init__(graph, row_prefix(graph))
        self.count = count
        self.region = self.prefix.nodes[:length]
        self.arriving = arriving
        self.arrivals: list[Arrival] = []
        self.made: list[Value] = [] if arriving is None else [arriving]
        self.made += [node.output for node in self.region]
        self.done = dict.fromkeys(self.made, 0)
        self.window: dict[Value, _Rows] = {}
        self.pieces: dict[Value, list[Value]] = {
            value: [] for value in self.made if value in graph.outputs or any(n not in self.region for n in value.users)
        }
        for value in graph.inputs:
            if value is not arriving:
                self.copies[value] = Value(value.name, value.type, quant=value.quant)
                self.new.inputs.append(self.copies[value])

    def run(self) -> Graph:
        for stripe in range(self.count):
            goals = self._goals(stripe)
            keep = {value: self._first_needed(value) for value in self.made}
            if self.arriving is not None and goals[self.arriving] > self.done[self.arriving]:
                self._arrive(self.arriving, goals[self.arriving], keep[self.arriving])
            for node in self.region:
                if goals[node.output] > self.done[node.output]:
                    self._extend(node, goals[node.output], keep[node.output])
        for value, pieces in self.pieces.items():
            if len(pieces) == 1:
                self.copies[value] = pieces[0]
            else:
                attrs = {"axis": self.prefix.axes[value]}
                whole = self.new.add("concat", pieces, attrs, name=value.name, quant=value.quant)
                self.copies[value] = whole.output
            self.copies[value].name = value.name
        for node in self.old.nodes:
            if node not in self.region:
                self.copy_node(node)
        self.new.outputs = [self.copies[value] for value in self.old.outputs]
        return self.new

    def _goals(self, stripe: int) -> dict[Value, int]:
        """How many rows of each result there have to be after a stripe."""
        goals: dict[Value, int] = {}
        for value in reversed(self.made):
            height = self.prefix.height(value)
            wanted = -(-height * (stripe + 1) // self.count) if value in self.pieces else 0
            if value is self.arriving and stripe == self.count - 1:
                wanted = height  # rows that no layer reads come in all the same
            for user in value.users:
                if user in self.region:
                    wanted = max(wanted, min(height, self._window(user).end(goals[user.output])))
            goals[value] = max(wanted, self.done[value])
        return goals

    def _window(self, node: Node) -> Window:
        return self.prefix.rules[node].window

    def _first_needed(self, value: Value) -> int:
        """The first row that the users of a result in the region have not done with."""
        users = [user for user in value.users if user in self.region]
        firsts = [self._window(user).begin(self.done[user.output]) for user in users]
        return min(firsts, default=self.prefix.height(value))

    def _arrive(self, value: Value, end: int, keep: int) -> None:
        """The next rows of the input, as an input of their own."""
        begin = self.done[value]
        shape = with_size(value.type.static_shape, self.prefix.axes[value], end - begin)
        piece = Value(f"{value.name} rows {begin}..{end - 1}", TensorType(value.dtype, shape), quant=value.quant)
        self.new.inputs.append(piece)
        self.arrivals.append(Arrival(piece, begin, end))
        self._hold(value, piece, begin, end, keep)

    def _extend(self, node: Node, end: int, keep: int) -> None:
        value, rule = node.output, self.prefix.rules[node]
        begin = self.done[value]
        height = self.prefix.height(sources_of(node)[0])
        first, last = rule.window.begin(begin), min(height, rule.window.end(end))
        inputs = [
            None if source is None else self.constant(source) if source.is_constant else self._rows(source, first, last)
            for source in node.inputs
        ]
        attrs = {**node.attrs, **rule.cut(begin, end, height)}
        label = f"{node.name} rows {begin}..{end - 1}"
        made = self.new.add(node.op, inputs, attrs, name=label, source=node.source, quant=value.quant).output
        assert made.type.static_shape == with_size(value.type.static_shape, rule.axis, end - begin)
        self._hold(value, made, begin, end, keep)

    def _hold(self, value: Value, made: Value, begin: int, end: int, keep: int) -> None:
        """Notes new rows of a value, which lie behind those from ``keep`` on that are still needed."""
        self.done[value] = end
        if value in self.pieces:
            self.pieces[value].append(made)
        if not any(user in self.region for user in value.users):
            return
        held = self.window.get(value)
        if held is None or keep >= begin:
            self.window[value] = _Rows(made, begin, end)
            return
        carried = self.slice_rows(held.value, keep - held.begin, begin - held.begin, value)
        label = f"{made.name} and before"
        attrs = {"axis": self.prefix.axes[value]}
        both = self.new.add("concat", [carried, made], attrs, name=label, quant=value.quant)
        self.window[value] = _Rows(both.output, keep, end)

    def _rows(self, value: Value, begin: int, end: int) -> Value:
        """Rows of a value that exists as a whole, or of which the window holds them."""
        if value not in self.made:
            whole = self.copies[value]
            return whole if end - begin == self.prefix.height(value) else self.slice_rows(whole, begin, end, value)
        held = self.window[value]
        if (held.begin, held.end) == (begin, end):
            return held.value
        return self.slice_rows(held.value, begin - held.begin, end - held.begin, value)


def stripe(graph: Graph, length: int, count: int) -> Graph:
    """A graph that computes the same with the first ``length`` nodes of its prefix (``row_rules.py``) in ``count``
    stripes; the others follow in their order."""
    return _Striper(graph, length, count).run()


def can_arrive(graph: Graph) -> str:
    """Why the input of a graph cannot arrive by rows; empty if it can."""
    if len(graph.inputs) != 1:
        return f"the model has {len(graph.inputs)} inputs"
    (value,) = graph.inputs
    prefix = row_prefix(graph)
    if not any(value in node.inputs for node in prefix.nodes):
        if value.users and value not in graph.outputs:
            return "its first layer is none that can compute row by row"
        return f"its input '{value.name}' is not used by the layers"
    if value in graph.outputs:
        return f"its input '{value.name}' is an output too"
    if has_channels_first(graph):
        return f"its input '{value.name}' has its channels first, so that no row lies in one piece"
    return ""


def has_channels_first(graph: Graph) -> bool:
    """Whether the rows of some input are no runs of bytes, because something lies in front of them."""
    axes = row_prefix(graph).axes
    return any(value in axes and prod(value.type.static_shape[: axes[value]]) != 1 for value in graph.inputs)


def stripe_arriving(graph: Graph, length: int, count: int) -> tuple[Graph, tuple[Arrival, ...]]:
    """As ``stripe``, but the one input arrives by rows (see ``can_arrive``): the graph has an input for each piece, in
    their order."""
    striper = _Striper(graph, length, count, graph.inputs[0])
    return striper.run(), tuple(striper.arrivals)


def counts(graph: Graph, length: int) -> list[int]:
    """Numbers of stripes worth a try: those with the rows of the last result in stripes of 8, 4, 2, 1."""
    prefix = row_prefix(graph)
    height = prefix.height(prefix.nodes[length - 1].output)
    return sorted({-(-height // rows) for rows in (8, 4, 2, 1)} - {1})


__all__ = ["Arrival", "can_arrive", "counts", "has_channels_first", "prefix_length", "stripe", "stripe_arriving"]
