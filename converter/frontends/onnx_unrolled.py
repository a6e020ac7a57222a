"""ONNX Loop and SequenceMap over sequences of tensors: their bodies are read once for each iteration.

A sequence is a list of tensors that conversion knows (``Tensors``); no such thing exists at run time. So the number of
iterations has to be known, as it is where a model goes through a list of fixed length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import onnx

from ...ir import Value
from .onnx_data import joined
from .onnx_graph import FIX_SIZES, Entry, OnnxNode, Poison, Reject, Tensors

if TYPE_CHECKING:
    from .onnx_level import Level

MOST_ITERATIONS = 1024


def unrolled_loop(
    level: Level, node: OnnxNode, control: Sequence[Value], state: Sequence[Entry], body: onnx.GraphProto
) -> Sequence[Entry]:
    """A loop that carries sequences."""
    iterations, condition = (value.data for value in control)
    if iterations is None or condition is None:
        raise Reject("it carries a sequence of tensors, and how often it runs is not known", FIX_SIZES)
    count = int(iterations.reshape(())) if condition.any() else 0
    collected: list[list[Value]] = [[] for _ in body.output[1 + len(state) :]]
    for index in range(count):
        if index == MOST_ITERATIONS:
            raise Reject(f"it carries a sequence of tensors through more than {MOST_ITERATIONS} iterations")
        number = level.builder.const(np.asarray(index, np.int64), "iteration")
        goes_on = level.builder.const(np.asarray(True), "condition")
        entries = _read(level, body, [number, goes_on, *state])
        if any(isinstance(entry, Poison) for entry in entries):
            return []
        state = entries[1 : 1 + len(state)]
        for items, entry in zip(collected, entries[1 + len(state) :], strict=True):
            if not isinstance(entry, Value):
                raise Reject("it collects what is no tensor")
            items.append(level.builder.add("unsqueeze", [entry], {"axes": 1}))
        level.builder.begin(node.name, node.op)
        flag = entries[0]
        if not isinstance(flag, Value) or flag.data is None:
            raise Reject("it carries a sequence of tensors, and when it ends is not known", FIX_SIZES)
        if not flag.data.any():
            break
    if count == 0 and collected:
        raise Reject("it runs no time and collects tensors of a shape that is not known")
    return [*state, *(joined(level.builder, items, 0) for items in collected)]


def sequence_map(level: Level, node: OnnxNode) -> Sequence[Entry]:
    """SequenceMap: the body for each tensor of a sequence, and of the others that are as long."""
    body, first = node.subgraph("body"), node.entries[0]
    if not isinstance(first, Tensors):
        raise Reject("input 0 is no sequence whose length is known at conversion", "export with tensors only")
    results: list[list[Value]] = [[] for _ in body.output]
    for index, _ in enumerate(first.items):
        given: list[Entry] = []
        for entry in node.entries:
            if isinstance(entry, Tensors) and len(entry.items) != len(first.items):
                raise Reject(f"its sequences have {len(first.items)} and {len(entry.items)} tensors")
            given.append(entry.items[index] if isinstance(entry, Tensors) else entry)
        for items, entry in zip(results, _read(level, body, given), strict=True):
            if isinstance(entry, Poison):
                return []
            if not isinstance(entry, Value):
                raise Reject("its body gives what is no tensor")
            items.append(entry)
        level.builder.begin(node.name, node.op)
    return [Tensors(tuple(items)) for items in results]


def _read(level: Level, body: onnx.GraphProto, given: Sequence[Entry]) -> list[Entry]:
    """The results of a body whose nodes become nodes of the graph around it."""
    if len(body.input) != len(given):
        raise Reject(f"its body takes {len(body.input)} inputs, not {len(given)}")
    inside = level.inside()
    inside.scope.update({info.name: entry for info, entry in zip(body.input, given, strict=True) if info.name})
    return inside.read_in_place(body)
