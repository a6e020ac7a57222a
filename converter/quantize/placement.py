"""Which nodes compute on integers, and which values therefore need one scale.

The rewriting itself is that of models with quantize and dequantize nodes (``passes/integer_ops.py``); this module says
where such nodes go. Values that an op must have in one quantization (the input and the result of a pool, of a reshape,
the inputs of a concat) form a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ... import ops
from ...dtypes import DType
from ...finite import MASKED
from ...ir import Graph, Node, Value
from ...ops.resizing import CROP
from ...rewrite import is_output
from ..passes.integer_ops import FORMS
from ..passes.integer_tables import FUNCTIONS
from ..passes.layout_rules import ELEMENTWISE
from ..passes.move_quantization import KEEP_ORDER, data_inputs
from ..passes.unsigned_bytes import is_mover
from . import recurrent

WEIGHTED = {"conv2d": 0, "dense": 0, "depthwise_conv2d": 3, "conv_transpose": None}
"""Ops with constant weights as input 1, and the axis of their output channels (None: the last)."""

S16_FORMS = frozenset(
    {"conv2d", "dense", "depthwise_conv2d", "conv_transpose", "avg_pool2d", "max_pool2d"}
    | {"add", "sub", "mul", "div", "layer_norm", "log_softmax", "prelu", "resize", "softmax"}
    | {"reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "sigmoid", "tanh", "matmul", "square"}
)
"""Ops that have a form on 16-bit integers."""

FIXED = {
    ("softmax", DType.s8): (1 / 256, -128),
    **dict.fromkeys([(op, DType.s16) for op in ("softmax", "sigmoid", "tanh")], (1 / 32768, 0)),
}
"""Scale and zero point that a kernel gives its result, whatever was seen."""

SAME_SCALE = KEEP_ORDER | {"avg_pool2d", "pad", "resize", "split", "max", "min"}
"""Beside the movers: ops whose result must have the quantization of input 0."""


ASKED_FOR = "--float-layer names it"
"""Why a layer that the caller named is in floating point."""

INFINITY = "infinity comes in from a constant, such as a mask"
"""Why a layer that no integers can hold is in floating point."""


def weight_axis(node: Node) -> int | None:
    """The axis of output channels of the weights of a node; None when it has no constant weights."""
    if node.op not in WEIGHTED or node.input(1).data is None:
        return None
    axis = WEIGHTED[node.op]
    return len(node.input(1).shape) - 1 if axis is None else axis


@dataclass
class Group:
    """Values that share one quantization."""

    members: list[Value] = field(default_factory=list)
    dtype: DType = DType.s8
    fixed: tuple[float, int] | None = None
    """Scale and zero point that an op prescribes."""
    narrow: Group | None = None
    """Of a group of 16 bits that layers of 8 bits read: what its values are for them."""


@dataclass
class Placement:
    """Where integers are."""

    integer_nodes: dict[Node, DType] = field(default_factory=dict)
    reasons: dict[Node, str] = field(default_factory=dict)
    """Why a node computes in floating point."""
    groups: list[Group] = field(default_factory=list)
    group_of: dict[Value, Group] = field(default_factory=dict)
    infinite: set[Value] = field(default_factory=set)
    """See ``infinite_values``."""


def place(
    graph: Graph, floats: frozenset[str], wide: frozenset[str], dtype: DType = DType.s8, keep_tail: bool = True
) -> Placement:
    """Decides for a graph of real numbers.

    ``floats``: names of nodes that the caller wants in floating point; ``wide``: those whose activations shall have 16
    bits. ``dtype``: of the others. ``keep_tail``: what is joined for the outputs alone stays in scales of its own.
    """
    placement = Placement(infinite=infinite_values(graph))
    for node in graph.nodes:
        kind = DType.s16 if node.name in wide else dtype
        reason = ASKED_FOR if node.name in floats else _why_float(node, kind)
        if reason is None and _is_infinite(node, placement):
            reason = INFINITY
        if reason is None:
            placement.integer_nodes[node] = kind
        elif _is_infinite(node, placement) and any(output.dtype.is_float for output in node.outputs):
            placement.reasons[node] = INFINITY
        elif not _only_moves(node):
            placement.reasons[node] = reason
    _drop_lonely(graph, placement)
    asked = dict(placement.integer_nodes)
    _make_groups(graph, placement, asked, keep_tail)
    while wider := [node for node in placement.integer_nodes if _should_widen(node, placement)]:
        placement.integer_nodes |= dict.fromkeys(wider, DType.s16)
        placement.groups, placement.group_of = [], {}
        _make_groups(graph, placement, asked, keep_tail)
    for group in list(placement.groups):
        if group.dtype is DType.s16 and any(
            placement.integer_nodes.get(user) is DType.s8 for value in group.members for user in value.users
        ):
            group.narrow = Group(list(group.members))
            placement.groups.append(group.narrow)
    return placement


def _should_widen(node: Node, placement: Placement) -> bool:
    """Whether a node computes on 8 bits and its result is wanted with 16: it then computes on 16, also where its inputs
    have 8."""
    group = placement.group_of.get(node.outputs[0])
    is_narrow = placement.integer_nodes[node] is DType.s8 and group is not None and group.dtype is DType.s16
    return is_narrow and _can_widen(node)


def _can_widen(node: Node) -> bool:
    return _why_float(node, DType.s16) is None


BOUNDED = frozenset({"softmax", "sigmoid", "tanh"})
"""Ops that make finite numbers of infinite ones."""


def infinite_values(graph: Graph) -> set[Value]:
    """Constants with infinity (but for bounds of clipping), and what computes
    with them until an op bounds it."""
    found: set[Value] = set()
    for node in graph.nodes:
        for value in node.inputs:
            if value is not None and value.data is not None and value.dtype.is_float and node.op in MASKED:
                is_bound = node.op in ("max", "min") and value.data.size == 1
                if np.isinf(value.data).any() and not is_bound:
                    found.add(value)
        if node.op not in BOUNDED and any(value in found for value in node.inputs if value is not None):
            found |= {value for value in node.outputs if value.dtype.is_float}
    return found


def _is_infinite(node: Node, placement: Placement) -> bool:
    return any(value in placement.infinite for value in (*node.inputs, *node.outputs) if value is not None)


def _only_moves(node: Node) -> bool:
    return is_mover(node) or node.op in ("split", "pad") or not any(output.dtype.is_float for output in node.outputs)


def _why_float(node: Node, dtype: DType) -> str | None:
    """None for a node with a form on integers."""
    if not all(output.dtype is DType.f32 for output in node.outputs):
        return "its result is not float32"
    if _only_moves(node) or ops.get(node.op).takes_data(node):
        return "it moves elements only"
    if node.subgraphs:
        return "it runs a subgraph"
    if node.op in WEIGHTED:
        return _why_float_weighted(node)
    if node.op in recurrent.FIXED_FORMS:
        return recurrent.why_float(node)
    if dtype is DType.s16 and node.op not in S16_FORMS and not is_function(node):
        return f"there is no form of {node.op} on 16-bit integers"
    if is_function(node) or (dtype is DType.s16 and node.op in ("sigmoid", "tanh")):
        return None
    if node.op not in FORMS and node.op not in KEEP_ORDER | {"max", "min"}:
        return f"there is no form of {node.op} on integers"
    if node.op in ("reduce_mean", "reduce_sum", "reduce_max", "reduce_min"):
        if len(node.inputs) > 1:
            return "its axes are known at run time only"
        if not all(isinstance(dim, int) for dim in _reduced(node)):
            return "the size that it reduces is known at run time only"
    if node.op == "resize" and node.attrs["transform"] == CROP:
        return "what is filled in outside of its region is a real number"
    if node.op == "prelu" and node.input(1).data is None:
        return "its slopes are not constant"
    return None


def _reduced(node: Node) -> Iterator[object]:
    shape = node.input(0).shape
    return (dim for axis, dim in enumerate(shape) if node.attrs["axes"] >> axis & 1)


def _why_float_weighted(node: Node) -> str | None:
    weights, bias = node.input(1), node.optional_input(2)
    if weights.data is None:
        return "its weights are not constant"
    if bias is not None and bias.data is None:
        return "its bias is not constant"
    if node.op == "conv_transpose" and node.attrs["groups"] > 1:
        return "a transposed convolution in groups has no form on integers"
    if not np.all(np.isfinite(weights.data)):
        return "its weights hold NaN or infinity"
    return None


def is_function(node: Node) -> bool:
    """Whether a node treats each element of one tensor alike, so that 8 bits make it a table."""
    if node.op not in FUNCTIONS or len(node.outputs) != 1 or node.output.dtype is not DType.f32:
        return False
    if node.op in ELEMENTWISE:
        return len(node.inputs) == 1 and node.input(0).dtype is DType.f32
    tensors = [value for value in node.inputs if value is not None and not _is_scalar(value)]
    return len(tensors) == 1 and tensors[0].shape == node.output.shape and tensors[0].dtype is DType.f32


def _is_scalar(value: Value) -> bool:
    return value.data is not None and value.data.size == 1


def _drop_lonely(graph: Graph, placement: Placement) -> None:
    """A function between floats stays one: quantizing its input only for a table would cost time and accuracy."""
    changed = True
    while changed:
        changed = False
        for node in list(placement.integer_nodes):
            if not (is_function(node) or node.op in ("add", "sub", "mul", *KEEP_ORDER)):
                continue
            sources = [value.producer for value in data_values(node)]
            is_first = all(source is not None and not _integers_before(source, placement) for source in sources)
            users = node.output.users
            is_last = bool(users) and not any(_integers_behind(user, placement) for user in users)
            if sources and is_first and (is_last or not users):
                del placement.integer_nodes[node]
                placement.reasons[node] = "all around it is floating point"
                changed = True


def _integers_before(node: Node, placement: Placement) -> bool:
    if node in placement.integer_nodes:
        return True
    if not _only_moves(node):
        return False
    sources = [value.producer for value in data_values(node)]
    return any(source is None or _integers_before(source, placement) for source in sources)


def _integers_behind(node: Node, placement: Placement) -> bool:
    if node in placement.integer_nodes:
        return True
    return _only_moves(node) and any(_integers_behind(user, placement) for out in node.outputs for user in out.users)


def data_values(node: Node) -> list[Value]:
    """The tensors of real numbers that a node computes with: no weights, bias, sizes or constants."""
    if node.op in WEIGHTED or node.op in recurrent.FIXED_FORMS or node.op == "resize":
        return [node.input(0)]
    if is_mover(node) or node.op in ("split", "pad", "max", "min", "where", *KEEP_ORDER):
        places = data_inputs(node)
    else:
        places = range(len(node.inputs))
    values = (node.optional_input(index) for index in places)
    return [value for value in values if value is not None and value.dtype is DType.f32 and value.data is None]


def _make_groups(graph: Graph, placement: Placement, asked: Mapping[Node, DType], keep_tail: bool) -> None:
    """``asked``: the types that nodes want of their inputs, where their producers can give them."""
    parent: dict[Value, Value] = {}

    def root(value: Value) -> Value:
        while parent.setdefault(value, value) is not value:
            parent[value] = parent[parent[value]]
            value = parent[value]
        return value

    needed: dict[Value, DType] = {}

    def need(value: Value, dtype: DType) -> None:
        if value.dtype is DType.f32 and value.data is None:
            known = needed.get(value)
            needed[value] = DType.s16 if DType.s16 in (known, dtype) else dtype

    for node, dtype in placement.integer_nodes.items():
        for value in data_values(node):
            source = value.producer
            can_give = source is None or source not in placement.integer_nodes or _can_widen(source)
            need(value, asked[node] if can_give else DType.s8)
        if not is_inside_chain(graph, node, placement):
            need(node.outputs[0], dtype)
    for node in placement.integer_nodes:
        for value in [*data_values(node), node.outputs[0]]:
            if value in needed and is_inside_chain(graph, value.producer, placement):
                del needed[value]
    for node in reversed(graph.nodes):  # what is read through movers needs its source quantized
        if _only_moves(node) and any(output in needed for output in node.outputs):
            dtype = next(needed[output] for output in node.outputs if output in needed)
            for value in data_values(node):
                need(value, dtype)
    for node in graph.nodes:
        sources = data_values(node)
        if _is_infinite(node, placement):
            continue
        if _only_moves(node) and sources and all(source in needed for source in sources):
            if node.op == "concat" and keep_tail and _is_tail(graph, node):
                placement.reasons.setdefault(node, "behind it is the output alone: its inputs keep their own scales")
                continue
            for output in node.outputs:
                need(output, needed[sources[0]])
    for node in graph.nodes:
        together = [*data_values(node), *node.outputs]
        joins = _only_moves(node) or (node.op in SAME_SCALE and node in placement.integer_nodes)
        if joins and len(together) > 1 and all(value in needed for value in together):
            for value in together[1:]:
                parent[root(value)] = root(together[0])
    for value in graph.values():
        if value not in needed:
            continue
        head = root(value)
        if head not in placement.group_of:
            placement.groups.append(Group())
            placement.group_of[head] = placement.groups[-1]
        group = placement.group_of[value] = placement.group_of[head]
        group.members.append(value)
        group.dtype = DType.s16 if DType.s16 in (group.dtype, needed[value]) else needed[value]
    for node, dtype in placement.integer_nodes.items():
        fixed = FIXED.get((node.op, dtype))
        if fixed is not None and node.output in placement.group_of:
            placement.group_of[node.output].fixed = fixed


def is_inside_chain(graph: Graph, node: Node | None, placement: Placement) -> bool:
    """Whether the result of a function is read by one other function alone: both become one table."""
    if node is None or placement.integer_nodes.get(node) is not DType.s8 or not is_function(node):
        return False
    users = node.output.uses
    if is_output(graph, node.output) or len(users) != 1:
        return False
    user = users[0][0]
    return placement.integer_nodes.get(user) is DType.s8 and is_function(user)


def _is_tail(graph: Graph, node: Node) -> bool:
    """Whether nothing but moves lies between a node and the outputs."""
    return all(_only_moves(user) and _is_tail(graph, user) for output in node.outputs for user in output.users)
