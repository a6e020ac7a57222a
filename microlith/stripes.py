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
from typing import Any

from .ir import Graph, Node, TensorType, Value

_CONVOLUTIONS = frozenset({"conv2d", "depthwise_conv2d", "conv2d_compressed"})
_POOLS = frozenset({"max_pool2d", "avg_pool2d"})
_BY_ELEMENT = frozenset(
    {"add", "sub", "mul", "max", "min", "lut", "relu", "clip", "quantize", "requantize", "fused_elementwise"}
)


@dataclass(frozen=True)
class _Window:
    """How rows of a result depend on rows of an input; for ops by element the first of each depends on the first."""

    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    pad: int = 0

    def begin(self, row: int) -> int:
        """The first input row for output row ``row``."""
        return max(0, row * self.stride - self.pad)

    def end(self, rows: int) -> int:
        """Input rows that the first ``rows`` output rows need, those in the padding counted."""
        return (rows - 1) * self.stride - self.pad + (self.kernel - 1) * self.dilation + 1 if rows > 0 else 0


def prefix_length(graph: Graph) -> int:
    """How many of the first nodes can run in stripes; none in a graph with states, ranges of sizes or subgraphs."""
    if graph.states or graph.ranges or any(node.subgraphs for node in graph.nodes):
        return 0
    for index, node in enumerate(graph.nodes):
        if not _can_run(node):
            return index
    return len(graph.nodes)


def _can_run(node: Node) -> bool:
    if node.op not in _CONVOLUTIONS | _POOLS | _BY_ELEMENT or len(node.outputs) != 1:
        return False
    tensors = [*_sources(node), node.output]
    if any(len(t.shape) != 4 or t.shape[0] != 1 or not t.type.is_static for t in tensors) or len(tensors) < 2:
        return False
    if node.op == "fused_elementwise":
        constants = [value for value in node.inputs if value is not None and value.is_constant]
        same_in_rows = all(len(value.shape) < 3 or value.shape[-3] == 1 for value in constants)
        return same_in_rows and all(source.shape == node.output.shape for source in _sources(node))
    if node.op in _BY_ELEMENT:
        return all(source.shape == node.output.shape for source in _sources(node)) and (
            len(_sources(node)) == 1 or all(value in _sources(node) for value in node.inputs)
        )
    attrs = node.attrs
    whole = node.op in _POOLS and (attrs["kernel_h"] <= 0 or attrs["extra_bottom"] > 0 or attrs["extra_right"] > 0)
    window = _window(node)
    return not whole and len(_sources(node)) == 1 and 0 <= window.pad < (window.kernel - 1) * window.dilation + 1


def _sources(node: Node) -> list[Value]:
    return [value for value in node.inputs if value is not None and not value.is_constant]


def _window(node: Node) -> _Window:
    if node.op in _BY_ELEMENT:
        return _Window()
    attrs = node.attrs
    kernel = attrs["kernel_h"] if "kernel_h" in attrs else node.input(1).type.static_shape[1]
    return _Window(kernel, attrs["stride_h"], attrs["dilation_h"], attrs["pad_top"])


def _height(value: Value) -> int:
    return value.type.static_shape[1]


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


class _Striper:
    """The striped copy of a graph while it is made."""

    def __init__(self, graph: Graph, length: int, count: int, arriving: Value | None = None) -> None:
        self.old, self.count = graph, count
        self.region = graph.nodes[:length]
        self.arriving = arriving
        self.arrivals: list[Arrival] = []
        self.made: list[Value] = [] if arriving is None else [arriving]
        self.made += [node.output for node in self.region]
        self.new = Graph(graph.name, contract=graph.contract, metadata=dict(graph.metadata))
        self.copies: dict[Value, Value] = {}
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
                whole = self.new.add("concat", pieces, {"axis": 1}, name=value.name, quant=value.quant)
                self.copies[value] = whole.output
            self.copies[value].name = value.name
        for node in self.old.nodes[len(self.region) :]:
            self._copy(node)
        self.new.outputs = [self.copies[value] for value in self.old.outputs]
        return self.new

    def _goals(self, stripe: int) -> dict[Value, int]:
        """How many rows of each result there have to be after a stripe."""
        goals: dict[Value, int] = {}
        for value in reversed(self.made):
            height = _height(value)
            wanted = -(-height * (stripe + 1) // self.count) if value in self.pieces else 0
            if value is self.arriving and stripe == self.count - 1:
                wanted = height  # rows that no layer reads come in all the same
            for user in value.users:
                if user in self.region:
                    wanted = max(wanted, min(height, _window(user).end(goals[user.output])))
            goals[value] = max(wanted, self.done[value])
        return goals

    def _first_needed(self, value: Value) -> int:
        """The first row that the users of a result in the region have not done with."""
        users = [user for user in value.users if user in self.region]
        return min((_window(user).begin(self.done[user.output]) for user in users), default=_height(value))

    def _arrive(self, value: Value, end: int, keep: int) -> None:
        """The next rows of the input, as an input of their own."""
        begin = self.done[value]
        batch, _, *rest = value.type.static_shape
        piece = Value(
            f"{value.name} rows {begin}..{end - 1}",
            TensorType(value.dtype, (batch, end - begin, *rest)),
            quant=value.quant,
        )
        self.new.inputs.append(piece)
        self.arrivals.append(Arrival(piece, begin, end))
        self._hold(value, piece, begin, end, keep)

    def _extend(self, node: Node, end: int, keep: int) -> None:
        value, window = node.output, _window(node)
        begin = self.done[value]
        inputs: list[Value | None] = []
        attrs: dict[str, Any] = dict(node.attrs)
        for source in node.inputs:
            if source is None or source.is_constant:
                inputs.append(None if source is None else self._constant(source))
                continue
            height = _height(source)
            inputs.append(self._rows(source, window.begin(begin), min(height, window.end(end))))
            if node.op not in _BY_ELEMENT:
                attrs["pad_top"] = max(0, window.pad - begin * window.stride)
                attrs["pad_bottom"] = max(0, window.end(end) - height)
        label = f"{node.name} rows {begin}..{end - 1}"
        made = self.new.add(node.op, inputs, attrs, name=label, source=node.source, quant=value.quant).output
        assert made.type.static_shape[1] == end - begin
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
        carried = self._slice(held.value, keep - held.begin, begin - held.begin, value)
        label = f"{made.name} and before"
        both = self.new.add("concat", [carried, made], {"axis": 1}, name=label, quant=value.quant)
        self.window[value] = _Rows(both.output, keep, end)

    def _rows(self, value: Value, begin: int, end: int) -> Value:
        """Rows of a value that exists as a whole, or of which the window holds them."""
        if value not in self.made:
            whole = self.copies[value]
            return whole if end - begin == _height(value) else self._slice(whole, begin, end, value)
        held = self.window[value]
        if (held.begin, held.end) == (begin, end):
            return held.value
        return self._slice(held.value, begin - held.begin, end - held.begin, value)

    def _slice(self, value: Value, begin: int, end: int, origin: Value) -> Value:
        _, _, width, channels = value.type.static_shape
        attrs = {"start": (0, begin, 0, 0), "size": (1, end - begin, width, channels), "step": (1, 1, 1, 1)}
        return self.new.add("slice", [value], attrs, name=f"rows of {origin.name}", quant=origin.quant).output

    def _constant(self, value: Value) -> Value:
        if value not in self.copies:
            assert value.data is not None
            self.copies[value] = Value(value.name, value.type, data=value.data, quant=value.quant)
        return self.copies[value]

    def _copy(self, node: Node) -> None:
        inputs = [
            None if value is None else self._constant(value) if value.is_constant else self.copies[value]
            for value in node.inputs
        ]
        names = [value.name for value in node.outputs]
        made = self.new.add(node.op, inputs, node.attrs, name=node.name, source=node.source, output_names=names)
        for old, new in zip(node.outputs, made.outputs, strict=True):
            new.quant = old.quant
            self.copies[old] = new


def stripe(graph: Graph, length: int, count: int) -> Graph:
    """A graph that computes the same with its first ``length`` nodes (see ``prefix_length``) in ``count`` stripes."""
    return _Striper(graph, length, count).run()


def can_arrive(graph: Graph) -> str:
    """Why the input of a graph cannot arrive by rows; empty if it can."""
    if len(graph.inputs) != 1:
        return f"the model has {len(graph.inputs)} inputs"
    if not prefix_length(graph):
        return "its first layer is none that can compute row by row"
    (value,) = graph.inputs
    if not value.users or value in graph.outputs:
        return f"its input '{value.name}' is not used by the layers"
    return ""


def stripe_arriving(graph: Graph, length: int, count: int) -> tuple[Graph, tuple[Arrival, ...]]:
    """As ``stripe``, but the one input arrives by rows (see ``can_arrive``): the graph has an input for each piece, in
    their order."""
    striper = _Striper(graph, length, count, graph.inputs[0])
    return striper.run(), tuple(striper.arrivals)


def counts(graph: Graph, length: int) -> list[int]:
    """Numbers of stripes worth a try: those with the rows of the last result in stripes of 8, 4, 2, 1."""
    height = _height(graph.nodes[length - 1].output)
    return sorted({-(-height // rows) for rows in (8, 4, 2, 1)} - {1})


__all__ = ["Arrival", "can_arrive", "counts", "prefix_length", "stripe", "stripe_arriving"]
