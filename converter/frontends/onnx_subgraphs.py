"""ONNX If, Loop and Scan. A subgraph becomes a graph of its own, in which what it reads from around it is an input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx

from ...dtypes import DType
from ...ir import Dim, TensorType, Value
from ...ops.shape_rules import fresh_dim
from . import onnx_forks
from .onnx_forks import BRANCHES, tensors
from .onnx_graph import Entry, OnnxNode, Poison, Reject, Tensors, Undecided
from .onnx_unrolled import sequence_map, unrolled_loop

if TYPE_CHECKING:
    from .onnx_level import Level

ENDLESS = np.iinfo(np.int64).max
"""The number of iterations of a loop that ends by its condition alone."""

MOST_ATTEMPTS = 10
"""A body whose types have not settled after so many readings is given up."""


def convert_if(level: Level, node: OnnxNode) -> Sequence[Entry]:
    """If: the nodes of the branch that is taken, when that is known; else a node with two subgraphs."""
    condition, ahead, guesses = node.value(0), level.ahead, level.builder.guesses
    if condition.data is not None:
        taken = "then_branch" if condition.data.any() else "else_branch"
        return onnx_forks.inline(level, node, taken, ahead)
    branches = []
    try:
        for name in BRANCHES:
            child = level.child(f"{node.name}_{name}")
            branches.append((child, child.read(node.subgraph(name))))
    except Undecided:
        return onnx_forks.fork(level, node, ahead)
    if any(isinstance(value, Poison) for _, values in branches for value in values):
        return []
    results = [tensors(values) for _, values in branches]
    if _ranks(results[0]) != _ranks(results[1]):
        guesses.differs = True
        if guesses.forks:
            return onnx_forks.fork(level, node, ahead)
        asked = onnx_forks.sizes_behind(condition)
        both_happen = bool(asked) and asked <= level.ranges.keys()
        for index, name in enumerate(() if both_happen else BRANCHES):
            if _only_squeezes(branches[index][0], results[index], branches[1 - index][0], results[1 - index]):
                guesses.asked = True
                taken = name if guesses.branch_squeezes else BRANCHES[1 - index]
                return level.read_inside(node.subgraph(taken), node)
    outer = {id(value): value for child, _ in branches for value in child.captured}
    graphs = [child.finish(values, [], outer) for (child, _), values in zip(branches, results, strict=True)]
    condition = level.builder.cast(condition, DType.b8)
    return level.builder.add_all("if", [condition, *outer.values()], subgraphs=graphs)


def _ranks(values: Sequence[Value]) -> list[int]:
    return [len(value.shape) for value in values]


def _only_squeezes(child: Level, values: Sequence[Value], other: Level, others: Sequence[Value]) -> bool:
    """Whether a branch does nothing but take out dimensions of size 1, where the other one leaves its inputs alone.

    So exporters write a squeeze of a size that they do not know. The rank after it has to be known here, so it is taken
    for granted that there is something to take out (the op refuses other sizes when it runs), unless only the other
    branch gives what follows, or the declared outputs, the rank they need.
    """
    if len(values) != len(others):
        return False
    for value, kept in zip(values, others, strict=True):
        node = value.producer
        if node is None or node.op not in ("squeeze", "reshape") or len(value.shape) >= len(kept.shape):
            return False
        origin = child.outer_of(node.input(0))
        if origin is None or origin is not other.outer_of(kept):
            return False
    return True


def convert_loop(level: Level, node: OnnxNode) -> Sequence[Entry]:
    """Loop."""
    g, body = level.builder, node.subgraph("body")
    iterations = node.optional(0) or g.const(np.asarray(ENDLESS), "iterations")
    condition = node.optional(1) or g.const(np.asarray(True), "condition")
    if any(isinstance(entry, Tensors) for entry in node.entries):
        return unrolled_loop(level, node, [iterations, condition], node.entries[2:], body)
    state = [node.value(index) for index in range(2, len(node.entries))]
    if len(body.input) != len(state) + 2 or len(body.output) < len(state) + 1:
        raise Reject(f"its body takes {len(body.input)} inputs and gives {len(body.output)} outputs")

    def read(child: Level, number: Value, flag: Value, inner: Sequence[Value]) -> list[Entry]:
        for info, value in zip(body.input, [number, flag, *inner], strict=True):
            child.define(info.name, value)
        return child.read(body)

    ranks = [min(len(info.type.tensor_type.shape.dim), 1) for info in body.input[:2]]
    return loop(level, node, [iterations, condition], state, read, ranks)


Read = Callable[["Level", Value, Value, Sequence[Value]], "list[Entry]"]
"""Reads a body in a level of its own: takes the number of the iteration, the condition, and what is carried; gives the
next condition, what is carried on, and what is collected."""


def loop(
    level: Level, node: OnnxNode, control: Sequence[Value], state: Sequence[Value], read: Read, ranks: Sequence[int]
) -> Sequence[Entry]:
    """A loop node. The body is read again as long as sizes turn out to change from one iteration to the next."""
    g = level.builder
    types = [value.type for value in state]
    free: set[Dim] = set()
    for _ in range(MOST_ATTEMPTS):
        mark = len(level.rejected)
        child = level.child(f"{node.name}_body")
        number = child.input("iteration", TensorType(DType.s64, (1,) * ranks[0]))
        flag = child.input("condition", TensorType(DType.b8, (1,) * ranks[1]))
        inner = [child.input(f"{value.name}_inside", type) for value, type in zip(state, types, strict=True)]
        try:
            results = read(child, number, flag, inner)
        except Undecided as error:
            raise Reject(error.reason, error.hint) from error
        if any(isinstance(result, Poison) for result in results):
            return []
        values = tensors(results)
        settled = [_settled(before, value, free) for before, value in zip(types, values[1:], strict=False)]
        if settled == types:
            break
        types = settled
        del level.rejected[mark:]
    else:
        raise Reject("the shapes in its body do not settle")
    values[0] = child.builder.cast(values[0], DType.b8)
    outer = {id(value): value for value in child.captured}
    body = child.finish(values, [number, flag, *inner], outer)
    inputs = [g.cast(control[0], DType.s64), g.cast(control[1], DType.b8), *state, *outer.values()]
    return g.add_all("loop", inputs, {"carried": len(state)}, subgraphs=[body])


def _settled(before: TensorType, value: Value, free: set[Dim]) -> TensorType:
    """The type of a value that is carried, with new symbols, which are noted, where its sizes change in the body."""
    after = value.type
    if before.dtype is not after.dtype or len(before.shape) != len(after.shape):
        raise Reject(f"what it carries from one iteration to the next is {before} and becomes {after}")
    dims: list[Dim] = []
    for old, new in zip(before.shape, after.shape, strict=True):
        dims.append(old if old == new or old in free else fresh_dim())
        if dims[-1] != old:
            free.add(dims[-1])
    return TensorType(before.dtype, tuple(dims))


def convert_scan(level: Level, node: OnnxNode) -> Sequence[Entry]:
    """Scan, as a loop over the slices of its inputs; before opset 9 it had batches."""
    body, count = node.subgraph("body"), node.integer("num_scan_inputs", 0)
    if node.opset < 9:
        return _scan_batches(level, node, body, count)
    values = node.values()
    states = len(values) - count
    if count < 1 or states < 0 or len(body.input) != len(values) or len(body.output) < states:
        raise Reject(f"its body takes {len(body.input)} inputs and gives {len(body.output)} outputs")
    outputs = len(body.output) - states
    return _scan(level, node, body, values[:states], values[states:], _Directions(node, count, outputs))


class _Directions:
    """The axes of a scan, and which of them run backwards."""

    def __init__(self, node: OnnxNode, inputs: int, outputs: int) -> None:
        old = node.opset < 9
        self.input_axes = (None if old else node.integers("scan_input_axes")) or [0] * inputs
        self.output_axes = (None if old else node.integers("scan_output_axes")) or [0] * outputs
        self.input_back = node.integers("directions" if old else "scan_input_directions") or [0] * inputs
        self.output_back = (None if old else node.integers("scan_output_directions")) or [0] * outputs
        for name, given, wanted in (
            ("scan_input_axes", self.input_axes, inputs),
            ("scan_output_axes", self.output_axes, outputs),
            ("directions of inputs", self.input_back, inputs),
            ("directions of outputs", self.output_back, outputs),
        ):
            if len(given) != wanted:
                raise Reject(f"{name} has {len(given)} entries, not {wanted}")


def _scan(
    level: Level,
    node: OnnxNode,
    body: onnx.GraphProto,
    state: Sequence[Value],
    sequences: Sequence[Value],
    directions: _Directions,
) -> Sequence[Entry]:
    g = level.builder
    turned = []
    for value, axis, back in zip(sequences, directions.input_axes, directions.input_back, strict=True):
        rank = len(value.shape)
        axis = axis + rank if axis < 0 else axis
        if not 0 <= axis < rank:
            raise Reject(f"an axis of an input of rank {rank} is {axis}")
        value = g.transpose(value, [axis, *(index for index in range(rank) if index != axis)])
        turned.append(_reversed(level, value) if back else value)

    def read(child: Level, number: Value, flag: Value, inner: Sequence[Value]) -> list[Entry]:
        child.builder.begin(node.name, node.op)
        slices = [child.builder.add("gather", [child.capture(value), number], {"axis": 0}) for value in turned]
        for info, value in zip(body.input, [*inner, *slices], strict=True):
            child.define(info.name, value)
        return [flag, *child.read(body)]

    length = turned[0].shape[0]
    if isinstance(length, int):
        iterations = g.const(np.asarray(length), "length")
    else:
        first = g.add("shape", [turned[0]], {"start": 0, "end": 1})
        iterations = g.add("squeeze", [first], {"axes": 1})
    true = g.const(np.asarray(True), "condition")
    results = list(loop(level, node, [iterations, true], state, read, (0, 0)))
    for index, (axis, back) in enumerate(zip(directions.output_axes, directions.output_back, strict=True)):
        position = len(state) + index
        result = results[position] if position < len(results) else None
        if isinstance(result, Value):
            results[position] = _turned_back(level, _reversed(level, result) if back else result, axis)
    return results


def _reversed(level: Level, value: Value) -> Value:
    """A value with its first dimension backwards."""
    g = level.builder
    lists = (np.array([item], np.int64) for item in (-1, np.iinfo(np.int64).min + 1, 0, -1))
    return g.add("slice", [value, *(g.const(item, "backwards") for item in lists)])


def _turned_back(level: Level, value: Value, axis: int) -> Value:
    """A value whose first dimension becomes dimension ``axis``."""
    rank = len(value.shape)
    axis = axis + rank if axis < 0 else axis
    if not 0 <= axis < rank:
        raise Reject(f"an axis of an output of rank {rank} is {axis}")
    return level.builder.transpose(value, [*range(1, axis + 1), 0, *range(axis + 1, rank)])


def _scan_batches(level: Level, node: OnnxNode, body: onnx.GraphProto, count: int) -> Sequence[Entry]:
    """Scan of opset 8: a loop over the batch, in which there is one over the sequence."""
    if node.has(0):
        raise Reject("lengths of sequences are not supported", "export the model with opset 9 or newer")
    values = [node.value(index) for index in range(1, len(node.entries))]
    states = len(values) - count
    if count < 1 or states < 0 or len(body.input) != len(values) or len(body.output) < states:
        raise Reject(f"its body takes {len(body.input)} inputs and gives {len(body.output)} outputs")
    directions = _Directions(node, count, len(body.output) - states)

    def read(child: Level, number: Value, flag: Value, inner: Sequence[Value]) -> list[Entry]:
        child.builder.begin(node.name, node.op)
        items = [child.builder.add("gather", [child.capture(value), number], {"axis": 0}) for value in values]
        return [flag, *_scan(child, node, body, items[:states], items[states:], directions)]

    batch = values[0].shape[0]
    if isinstance(batch, str):
        raise Reject("the size of the batch must be known")
    control = [level.builder.const(np.asarray(batch), "batch"), level.builder.const(np.asarray(True), "condition")]
    return loop(level, node, control, [], read, (0, 0))


CONTROL: dict[str, Callable[[Level, OnnxNode], Sequence[Entry]]] = {
    "If": convert_if,
    "Loop": convert_loop,
    "Scan": convert_scan,
    "SequenceMap": sequence_map,
}
"""Operators with subgraphs."""
