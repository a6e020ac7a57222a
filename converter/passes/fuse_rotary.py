"""Recognises rotary positions that are spelled out: x cos + turned(x) sin, pairs in halves or beside each other."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Dim, Graph, Node, Value
from ...ops.shape_rules import integers_of
from ...rewrite import is_output, only_user, producer_of
from .edits import is_float, is_unclamped, reshape_to, substitute, takes_data

SWAP_HEADS = (0, 2, 1, 3)
"""[batch, length, heads, size] <-> [batch, heads, length, size]."""

_MOST_POSITIONS = 1 << 20
"""Whose numbers are stored as a constant."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if node.op in ("add", "sub") and node in graph.nodes:
            changed |= _fuse_halves(graph, node)
        elif node.op == "reshape" and node in graph.nodes:
            changed |= _fuse_neighbours(graph, node)
    return changed


def _fuse_halves(graph: Graph, node: Node) -> bool:
    """x cos + concat(-x[r:], x[:r]) sin, where both halves of cos, and of sin, are equal."""
    if node.op != "add" or not _is_plain(node):
        return False
    for place in (0, 1):
        straight, turned = (_product(graph, node.input(index)) for index in (place, 1 - place))
        if straight is None or turned is None:
            return False
        for x, cos in (straight, straight[::-1]):
            for half_turn, sin in (turned, turned[::-1]):
                if _is_half_turn(graph, half_turn, x):
                    return _replace(graph, node, x, (_half(graph, node, cos, x), _half(graph, node, sin, x)), 0)
    return False


def _fuse_neighbours(graph: Graph, node: Node) -> bool:
    """[a cos - b sin, a sin + b cos] for the elements a with even and b with odd numbers, put together again."""
    stack = producer_of(node.input(0), "concat")
    if stack is None or len(stack.inputs) != 2 or only_user(graph, stack.output) is not node or takes_data(node):
        return False
    shape = stack.input(0).shape
    if len(shape) != 5 or stack.attrs["axis"] != 4 or shape[4] != 1 or node.output.shape[:3] != shape[:3]:
        return False
    parts = []
    for index, op in enumerate(("sub", "add")):
        single = producer_of(stack.input(index), "reshape")
        if single is None or only_user(graph, single.output) is not stack:
            return False
        part = producer_of(single.input(0), op)
        if part is None or only_user(graph, part.output) is not single or not _is_plain(part):
            return False
        parts.append(part)
    products = [[_product(graph, part.input(index)) for index in (0, 1)] for part in parts]
    (a_cos, b_sin), sums = products
    if a_cos is None or b_sin is None or any(pair is None for pair in sums):
        return False
    for a, cos in (a_cos, a_cos[::-1]):
        for b, sin in (b_sin, b_sin[::-1]):
            x = _neighbours(a, b)
            wanted = {frozenset((id(a), id(sin))), frozenset((id(b), id(cos)))}
            if x is None or {frozenset(map(id, pair)) for pair in sums if pair is not None} != wanted:
                continue
            if x.shape != node.output.shape:
                return False
            return _replace(graph, node, x, (_plain_angles(graph, node, cos), _plain_angles(graph, node, sin)), 1)
    return False


def _is_plain(node: Node) -> bool:
    return is_float(node) and is_unclamped(node) and node.output.quant is None and len(node.output.shape) == 4


def _product(graph: Graph, value: Value) -> tuple[Value, Value] | None:
    node = producer_of(value, "mul")
    if node is None or only_user(graph, value) is None or not _is_plain(node):
        return None
    return node.input(0), node.input(1)


def _slice_of(value: Value, step: int) -> tuple[Value, int, int] | None:
    """What a value is a slice of along its last dimension; where it starts, and its size."""
    node = producer_of(value, "slice")
    if node is None or len(value.shape) != 4:
        return None
    x, size = node.input(0), value.shape[3]
    if x.shape[:3] != value.shape[:3] or not isinstance(size, int):
        return None
    if takes_data(node):
        starts, axes, steps = (integers_of(node.optional_input(index)) for index in (1, 3, 4))
        return (x, starts[0], size) if starts and axes == [3] and (steps or [1]) == [step] and starts[0] >= 0 else None
    start, steps = node.attrs["start"], node.attrs["step"]
    return (x, start[3], size) if not any(start[:3]) and tuple(steps) == (1, 1, 1, step) else None


def _is_half_turn(graph: Graph, value: Value, x: Value) -> bool:
    """Whether a value is concat(-x[r:], x[:r])."""
    node = producer_of(value, "concat")
    if node is None or node.attrs["axis"] != 3 or len(node.inputs) != 2 or only_user(graph, value) is None:
        return False
    negated = producer_of(node.input(0), "neg")
    if negated is None or only_user(graph, negated.output) is not node:
        return False
    upper, lower = _slice_of(negated.input(0), 1), _slice_of(node.input(1), 1)
    if len(x.shape) != 4:
        return False
    half = x.shape[3] // 2 if isinstance(x.shape[3], int) and x.shape[3] % 2 == 0 else None
    return half is not None and upper == (x, half, half) and lower == (x, 0, half)


def _neighbours(a: Value, b: Value) -> Value | None:
    """What a value holds the even and another one the odd elements of."""
    even, odd = _slice_of(a, 2), _slice_of(b, 2)
    if even is None or odd is None or even[0] is not odd[0] or (even[1], odd[1]) != (0, 1) or even[2] != odd[2]:
        return None
    return even[0] if even[0].shape[3] == 2 * even[2] else None


# Angles.


def _half(graph: Graph, node: Node, angles: Value, x: Value) -> Value | np.ndarray | None:
    """The first half of cos or sin [batch or 1, 1, length, size], whose second half is the same."""
    size = x.shape[3]
    if angles.data is not None:
        data: np.ndarray = angles.data.reshape(_four(angles.data.shape))
        if data.shape[1] != 1 or data.shape[3] != size:
            return None
        first, second = np.split(data, 2, axis=3)
        return first[:, 0] if np.array_equal(first, second) else None
    return _computed_half(graph, node, angles)


def _four(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with dimensions of 1 in front, up to four."""
    return (*[1] * (4 - len(shape)), *shape)


def _computed_half(graph: Graph, node: Node, angles: Value) -> Value | None:
    """The same for one that is computed: a function of concat(a, a), with dimensions of 1 put in."""
    if len(angles.shape) != 4 or angles.shape[1] != 1:
        return None
    value, functions = angles, []
    while (step := value.producer) is not None and step.op in ("reshape", "cos", "sin", "mul"):
        if step.op == "reshape":
            if takes_data(step) or _without_ones(step.input(0)) != _without_ones(value):
                return None
            value = step.input(0)
            continue
        other = step.optional_input(1)
        is_number = other is not None and other.data is not None and other.data.size == 1
        if step.op == "mul" and not (is_number and is_unclamped(step)):
            return None
        functions.append((step.op, other, step.attrs))
        value = step.input(0)
    double = producer_of(value, "concat")
    if double is None or len(double.inputs) != 2 or double.input(0) is not double.input(1):
        return None
    if double.attrs["axis"] != len(value.shape) - 1:
        return None
    made = double.input(0)
    shape: tuple[Dim, ...] = (angles.shape[0], angles.shape[2], made.shape[-1])
    wanted = reshape_to(made, shape)
    if wanted is None or made.shape[-1] in (0, 1):
        return None
    for op, other, attrs in reversed(functions):
        inputs = [made] if other is None else [made, other]
        made = graph.add(op, inputs, attrs, name=node.name, before=node, source=node.source).output
    if made.shape != shape:
        made = graph.add("reshape", [made], {"shape": wanted}, name=node.name, before=node).output
    return made if made.shape == shape else None


def _without_ones(value: Value) -> list[Dim]:
    return [dim for dim in value.shape if dim != 1]


def _plain_angles(graph: Graph, node: Node, angles: Value) -> Value | np.ndarray | None:
    """cos or sin [batch or 1, 1, length, pairs] without its second dimension."""
    if angles.data is not None:
        data: np.ndarray = angles.data.reshape(_four(angles.data.shape))
        return data[:, 0] if data.shape[1] == 1 else None
    if len(angles.shape) != 4 or angles.shape[1] != 1:
        return None
    shape = (angles.shape[0], *angles.shape[2:])
    wanted = reshape_to(angles, shape)
    if wanted is None:
        return None
    made = graph.add("reshape", [angles], {"shape": wanted}, name=node.name, before=node).output
    return made if made.shape == shape else None


def _replace(
    graph: Graph, node: Node, x: Value, angles: tuple[Value | np.ndarray | None, ...], interleaved: int
) -> bool:
    """Puts the op in the place of ``node``; its source may be the other side of a transpose of heads and positions."""
    tables = _tables(graph, node, x, angles)
    if tables is None:
        graph.remove_dead()
        return False
    turn = x.producer
    layout = int(turn is not None and turn.op == "transpose" and tuple(turn.attrs["perm"]) == SWAP_HEADS)
    source = turn.input(0) if turn is not None and layout else x
    attrs = {"layout": layout, "interleaved": interleaved}
    made = graph.add("rotary_embedding", [source, *tables], attrs, name=node.name, before=node, source=node.source)
    result = made.output
    if layout:
        result = graph.add("transpose", [result], {"perm": SWAP_HEADS}, name=node.name, before=node).output
    result.name = f"{node.output.name}_rotary"
    if is_output(graph, node.output):
        result.name = f"{node.output.name}_turned"
    substitute(graph, node.output, result)
    graph.remove_dead()
    return True


def _tables(graph: Graph, node: Node, x: Value, angles: tuple[Value | np.ndarray | None, ...]) -> list[Value] | None:
    """cos and sin as the op takes them; with the numbers of positions where all of the batch share one table."""
    batch, length = x.shape[0], x.shape[2]
    values: list[Value] = []
    for item, name in zip(angles, ("cos", "sin"), strict=True):
        if item is None:
            return None
        made = (
            graph.constant(f"{node.output.name}_{name}", np.ascontiguousarray(item))
            if isinstance(item, np.ndarray)
            else item
        )
        values.append(made)
    cos, sin = values
    if cos.shape != sin.shape or cos.shape[1] != length:
        return None
    if cos.shape[0] == batch:
        return values
    if cos.shape[0] != 1 or not isinstance(cos.shape[2], int):
        return None
    if not isinstance(batch, int) or not isinstance(length, int):
        return [_for_each(graph, node, value, x) for value in values]
    if batch * length > _MOST_POSITIONS:
        return None
    shared = []
    for value in values:
        if value.data is not None:
            shared.append(graph.constant(f"{value.name}_rows", np.ascontiguousarray(value.data[0])))
        else:
            attrs = {"shape": (length, cos.shape[2])}
            shared.append(graph.add("reshape", [value], attrs, name=node.name, before=node).output)
    numbers = np.tile(np.arange(length, dtype=np.int64), (batch, 1))
    return [*shared, graph.constant(f"{node.output.name}_positions", numbers)]


def _for_each(graph: Graph, node: Node, table: Value, x: Value) -> Value:
    """A table [1, length, pairs] for each of the batch of ``x``, whose sizes are not all known."""
    batch = x.shape[0]
    if isinstance(batch, int):
        attrs = {"shape": (batch, 1, 1)}
        return graph.add("expand", [table], attrs, name=node.name, before=node, source=node.source).output
    size = graph.add("shape", [x], {"start": 0, "end": 1, "to": DType.s64.value}, name=node.name, before=node).output
    ones = graph.constant(f"{node.output.name}_ones", np.array([1, 1], np.int64))
    shape = graph.add("concat", [size, ones], {"axis": 0}, name=node.name, before=node).output
    return graph.add("expand", [table, shape], {}, name=node.name, before=node, source=node.source).output
