"""ONNX If whose branches differ in rank: all that depends on it is read twice, as a part of each branch.

A tensor has one rank in our graphs. Exporters ask for a size at run time and squeeze it or do not; what follows is then
another computation in each case, and the results have the same rank again, at the latest those of the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import onnx

from ...dtypes import DType
from ...errors import Unsupported
from ...ir import Value
from ...ops.traced_sizes import traced_sizes
from .onnx_graph import Entry, OnnxNode, Poison, Reject, Tensors, Undecided
from .onnx_load import all_nodes

if TYPE_CHECKING:
    from .onnx_level import After, Level

_SIZES = re.compile(r"(?!min\b|max\b)[^\W\d]\w*")
"""The names of sizes in an expression."""

BRANCHES = ("then_branch", "else_branch")

Ahead = tuple[Sequence[onnx.NodeProto], "After"]
"""The nodes behind the one in question, and what is done then."""


def inline(level: Level, node: OnnxNode, branch: str, ahead: Ahead) -> Sequence[Entry]:
    """The results of a branch that is taken for sure, read as a part of the graph around it."""
    proto = node.subgraph(branch)
    asks = level.builder.guesses.forks and any(item.op_type == "If" for item in all_nodes(proto))
    if not asks:
        return level.read_inside(proto, node)
    level.taken_over = level.read_inside(proto, node, _then(node, proto, ahead))
    return []


def _then(node: OnnxNode, branch: onnx.GraphProto, ahead: Ahead) -> After:
    """What comes behind a branch: its results get the names of those of the node, then the nodes behind that follow."""
    nodes, after = ahead

    def then(level: Level) -> list[Entry]:
        level.scope.update(zip(node.output_names, level.entries([info.name for info in branch.output]), strict=False))
        return level.walk(nodes, after)

    return then


def fork(level: Level, node: OnnxNode, ahead: Ahead) -> Sequence[Entry]:
    """An If that takes over all nodes that depend on it. A branch with which they cannot be converted is left out."""
    apart, dependent = _apart(node, ahead[0])
    if apart:
        level.taken_over = level.walk([*apart, node.proto, *dependent], ahead[1])
        return []
    sides: list[tuple[Level, list[Entry]]] = []
    problems: list[list[Unsupported]] = []
    for name in BRANCHES:
        mark = len(level.rejected)
        child = level.child(f"{node.name}_{name}")
        proto = node.subgraph(name)
        sides.append((child, child.read(proto, _then(node, proto, ahead))))
        problems.append(level.rejected[mark:])
        del level.rejected[mark:]
    sound = [
        not rejected and not any(isinstance(value, Poison) for value in values)
        for rejected, (_, values) in zip(problems, sides, strict=True)
    ]
    if not any(sound):
        level.rejected += problems[0]
        return []
    if not all(sound):
        proto = node.subgraph(BRANCHES[sound.index(True)])
        level.taken_over = level.read_inside(proto, node, _then(node, proto, ahead))
        return []
    (then, left), (other, right) = ((child, tensors(values)) for child, values in sides)
    for a, b in zip(left, right, strict=True):
        if len(a.shape) != len(b.shape):
            reason = f"a result that depends on it is {a.type} with the then branch, with the else branch {b.type}"
            hint = _choose(node.value(0), level)
            raise Reject(reason, hint) if level.parent is None else Undecided(reason, hint)
    outer = {id(value): value for child in (then, other) for value in child.captured}
    graphs = [then.finish(left, [], outer), other.finish(right, [], outer)]
    g = level.builder
    g.begin(node.name, node.op)
    level.taken_over = [*g.add_all("if", [g.cast(node.value(0), DType.b8), *outer.values()], subgraphs=graphs)]
    return []


def sizes_behind(value: Value, depth: int = 16) -> set[str]:
    """The open sizes that decide about a tensor, as far as they can be told."""
    if (traced := traced_sizes(value)) is not None:
        return {size for item in traced if isinstance(item, str) for size in _SIZES.findall(item)}
    node = value.producer
    if node is None or depth == 0:
        return set()
    return set().union(*(sizes_behind(item, depth - 1) for item in node.inputs if item is not None))


def _choose(condition: Value, level: Level) -> str:
    """What to do about a rank that depends on a size."""
    sizes = sorted(sizes_behind(condition))
    if not sizes:
        return "make the input that decides a constant of the model"
    known = level.ranges.get(sizes[0])
    example = f"--input {sizes[0]}:{1 if known is None else known.low}"
    return f"the branch depends on {' and '.join(sizes)}: give a size, {example}, or a range within which one is taken"


def _apart(node: OnnxNode, nodes: Sequence[onnx.NodeProto]) -> tuple[list[onnx.NodeProto], list[onnx.NodeProto]]:
    """The nodes that do not depend on a node, and those that do."""
    reached = {name for name in node.output_names if name}
    apart, dependent = [], []
    for item in nodes:
        read = set(item.input)
        for attribute in item.attribute:
            if attribute.HasField("g"):
                read.update(name for inner in all_nodes(attribute.g) for name in inner.input)
                read.update(info.name for info in attribute.g.output)
        if read & reached:
            reached.update(item.output)
            dependent.append(item)
        else:
            apart.append(item)
    return apart, dependent


def tensors(entries: Sequence[Entry]) -> list[Value]:
    """Results of a subgraph, all of which must be tensors."""
    values = [entry for entry in entries if isinstance(entry, Value)]
    if any(isinstance(entry, Tensors) for entry in entries):
        raise Reject("a result of its subgraph is a sequence of tensors", "export with tensors only")
    if len(values) != len(entries):
        raise Reject("a result of its subgraph is a size that is known only at run time")
    return values
