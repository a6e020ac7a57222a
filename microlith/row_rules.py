"""Which ops compute some rows of their result from some rows of their inputs, and how.

Rows are the slices of a tensor along one axis, that of the height of an image: the second one in the layout of the
graph, another one in front of a ``transpose`` or ``reshape`` that brings an input into it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from .ir import Graph, Node, Value

_CONVOLUTIONS = frozenset({"conv2d", "depthwise_conv2d", "conv2d_compressed"})
_POOLS = frozenset({"max_pool2d", "avg_pool2d"})
_OPERANDS: dict[str, int] = {
    **dict.fromkeys(
        "relu clip neg abs exp log sqrt rsqrt sigmoid tanh floor ceil round sin cos erf gelu softplus hard_sigmoid "
        "hard_swish silu reciprocal sign square leaky_relu elu celu selu thresholded_relu shrink softsign mish swish "
        "logical_not lut quantize dequantize requantize cast".split(),
        1,
    ),
    **dict.fromkeys("add sub mul div max min pow squared_difference prelu".split(), 2),
    **dict.fromkeys("equal not_equal less less_equal greater greater_equal logical_and logical_or".split(), 2),
    "where": 3,
    "fused_elementwise": 8,
}
"""Ops that compute each element from those in the same place, and how many of their inputs are operands. The others
are tables and factors."""
_LAYOUT_AXES = (1, 2, 0)
"""Where the rows of the inputs may lie: behind the batch, behind batch and channels, first."""


@dataclass(frozen=True)
class Window:
    """How rows of a result depend on rows of an input; by default the first of each on the first."""

    kernel: int = 1
    stride: int = 1
    dilation: int = 1
    pad: int = 0
    """Rows of padding in front of the input; less than 0: rows that are left out."""

    def begin(self, row: int) -> int:
        """The first input row for output row ``row``."""
        return max(0, row * self.stride - self.pad)

    def end(self, rows: int) -> int:
        """Input rows that the first ``rows`` output rows need, those in the padding counted."""
        return (rows - 1) * self.stride - self.pad + (self.kernel - 1) * self.dilation + 1 if rows > 0 else 0


def _nothing(begin: int, end: int, height: int) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class RowRule:
    """How a node computes some rows of its one result."""

    axis: int
    """Of the result: along which its rows lie."""
    window: Window = Window()
    """The same for all inputs that are no constants."""
    cut: Callable[[int, int, int], Mapping[str, Any]] = _nothing
    """The attributes for rows ``begin`` .. ``end`` - 1 in place of those for all; the inputs have ``height`` rows as a
    whole."""


@dataclass(frozen=True)
class RowPrefix:
    """What of a graph can run row by row: nodes that need nothing but inputs and each other."""

    nodes: tuple[Node, ...]
    rules: Mapping[Node, RowRule]
    axes: Mapping[Value, int]
    """Along which axis the rows of the inputs and of the results lie."""
    end: Node | None
    """The first node that cannot; None: all can."""

    def height(self, value: Value) -> int:
        """How many rows a value has."""
        return value.type.static_shape[self.axes[value]]


def sources_of(node: Node) -> list[Value]:
    """The inputs of a node that are no constants."""
    return [value for value in node.inputs if value is not None and not value.is_constant]


def row_prefix(graph: Graph) -> RowPrefix:
    """The longest prefix that there is, whatever the axis of the inputs' rows; empty in a graph with states, ranges of
    sizes or subgraphs."""
    if graph.states or graph.ranges or any(node.subgraphs for node in graph.nodes):
        return RowPrefix((), {}, {}, graph.nodes[0] if graph.nodes else None)
    return max((_prefix(graph, axis) for axis in _LAYOUT_AXES), key=lambda found: len(found.nodes))


def _prefix(graph: Graph, axis: int) -> RowPrefix:
    axes = {value: axis for value in graph.inputs if value.type.is_static and len(value.shape) > axis}
    rules: dict[Node, RowRule] = {}
    end = None
    for node in graph.nodes:
        rule = _rule(node, axes)
        if rule is None:
            end = end or node
            continue
        rules[node] = rule
        axes[node.output] = rule.axis
    return RowPrefix(tuple(rules), rules, axes, end)


def _rule(node: Node, axes: Mapping[Value, int]) -> RowRule | None:
    """None where a node needs all rows at once, or something that does not come by rows."""
    sources = sources_of(node)
    known = all(value in axes and value.type.is_static for value in sources)
    if not sources or not known or len(node.outputs) != 1 or not node.output.type.is_static:
        return None
    axis = axes[sources[0]]
    height = sources[0].type.static_shape[axis]
    if any((axes[value], value.type.static_shape[axis]) != (axis, height) for value in sources):
        return None
    if node.op in _OPERANDS:
        return RowRule(axis) if _is_by_element(node, axis) else None
    if node.op == "concat":
        every = all(value in sources for value in node.inputs)
        return RowRule(axis) if every and _positive(node.attrs["axis"], node.output) != axis else None
    if node.op in ("softmax", "log_softmax"):
        return RowRule(axis) if _positive(node.attrs["axis"], node.output) != axis else None
    rule = _RULES.get(node.op)
    return rule(node, axis) if rule is not None and len(sources) == 1 and sources[0] is node.inputs[0] else None


def _positive(axis: int, value: Value) -> int:
    return axis % len(value.shape)


def _is_by_element(node: Node, axis: int) -> bool:
    shape = node.output.type.static_shape
    for position, value in enumerate(node.inputs):
        if value is None or (value.is_constant and position >= _OPERANDS[node.op]):
            continue
        own = value.type.static_shape
        if value.is_constant:  # the same for each row, or else it would have to be cut too
            behind = axis - len(shape) + len(own)
            if behind >= 0 and own[behind] != 1:
                return False
        elif own != shape:
            return False
    own = node.attrs.get("axis", -1)  # of a quantization with several scales
    return own < 0 or (own != axis and node.attrs.get("block", 0) <= 0)


def _convolution(node: Node, axis: int) -> RowRule | None:
    attrs, shape = node.attrs, node.input(0).type.static_shape
    if axis != 1 or len(shape) != 4 or shape[0] != 1:
        return None
    if node.op in _POOLS and (attrs["kernel_h"] <= 0 or attrs["extra_bottom"] > 0 or attrs["extra_right"] > 0):
        return None
    kernel = attrs["kernel_h"] if "kernel_h" in attrs else node.input(1).type.static_shape[1]
    window = Window(kernel, attrs["stride_h"], attrs["dilation_h"], attrs["pad_top"])
    last = node.output.type.static_shape[1] - 1
    if not 0 <= window.pad < (kernel - 1) * window.dilation + 1 or window.begin(last) >= shape[1]:
        return None

    def cut(begin: int, end: int, height: int) -> Mapping[str, Any]:
        return {
            "pad_top": max(0, window.pad - begin * window.stride),
            "pad_bottom": max(0, window.end(end) - height),
        }

    return RowRule(1, window, cut)


def _transpose(node: Node, axis: int) -> RowRule:
    return RowRule(tuple(node.attrs["perm"]).index(axis))


def _reshape(node: Node, axis: int) -> RowRule | None:
    """Only what leaves the rows as they are: sizes in front of them and behind them may change."""
    before, after = node.input(0).type.static_shape, node.output.type.static_shape
    front = prod(before[:axis])
    found = [
        place for place, size in enumerate(after) if size == before[axis] and prod(after[:place]) == front and size > 1
    ]
    if not found or node.optional_input(1) is not None:
        return None
    (place, *_) = found

    def cut(begin: int, end: int, height: int) -> Mapping[str, Any]:
        return {"shape": _with(after, place, end - begin)}

    return RowRule(place, cut=cut)


def _slice(node: Node, axis: int) -> RowRule | None:
    start, size, step = (tuple(node.attrs[name]) for name in ("start", "size", "step"))
    if node.optional_input(1) is not None or step[axis] < 1 or 0 in size:
        return None

    def cut(begin: int, end: int, height: int) -> Mapping[str, Any]:
        return {"start": _with(start, axis, 0), "size": _with(size, axis, end - begin)}

    return RowRule(axis, Window(stride=step[axis], pad=-start[axis]), cut)


def _pad(node: Node, axis: int) -> RowRule | None:
    kept = node.attrs["before"][axis] == node.attrs["after"][axis] == 0
    return RowRule(axis) if kept and node.optional_input(2) is None else None


def _with(sizes: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


_RULES: dict[str, Callable[[Node, int], RowRule | None]] = {
    **dict.fromkeys((*_CONVOLUTIONS, *_POOLS), _convolution),
    "transpose": _transpose,
    "reshape": _reshape,
    "slice": _slice,
    "pad": _pad,
}

__all__ = ["RowPrefix", "RowRule", "Window", "row_prefix", "sources_of"]
