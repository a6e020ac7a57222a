"""Runs a graph through the NumPy reference of its ops: slow, and the meaning that everything else is held against."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence

import numpy as np

from . import ops
from .dtypes import DType
from .errors import InputError
from .ir import Graph, Node, Value

States = MutableMapping[str, np.ndarray]
"""What the states of a graph hold, by the names of their inputs."""

MOST_ITERATIONS = 1_000_000
"""A loop that goes on for longer is taken for one that never ends."""


def evaluate(
    graph: Graph, inputs: Mapping[str, np.ndarray], states: States | None = None, *, double: bool = False
) -> dict[str, np.ndarray]:
    """The outputs of a graph by name. Raises InputError for a missing or unfit input.

    ``states`` holds what the states are before the run, and afterwards what they have become; one that is missing has
    its start value. Without it every run is the first one.

    ``double``: what the graph holds in single precision is kept in double precision between the ops, so that the
    result is nearly free of rounding and two executions in single precision can be held against it.
    """
    values = evaluate_all(graph, inputs, states, double=double)
    return {value.name: values[value] for value in graph.outputs}


def evaluate_all(
    graph: Graph, inputs: Mapping[str, np.ndarray], states: States | None = None, *, double: bool = False
) -> dict[Value, np.ndarray]:
    """Every value of a graph, intermediate ones included. Integer nodes must be materialized."""
    given = {value: check_input(value, inputs) for value in graph.inputs}
    held = {} if states is None else states
    given.update({state.input: held.get(state.input.name, state.start()) for state in graph.states})
    with np.errstate(all="ignore"):  # infinities and NaNs are values like others
        values = _computed(graph, given, double)
    held.update({state.input.name: values[state.output] for state in graph.states})
    return values


def _computed(graph: Graph, given: Mapping[Value, np.ndarray], double: bool) -> dict[Value, np.ndarray]:
    """Every value of a graph from its inputs and states."""
    values = {value: _kept(array, value, double) for value, array in given.items()}
    for value in graph.constants():
        assert value.data is not None
        values[value] = _kept(value.data, value, double)
    for node in graph.nodes:
        arrays = [None if value is None else values[value] for value in node.inputs]
        for output, result in zip(node.outputs, node_results(node, arrays, double), strict=True):
            values[output] = _kept(result, output, double)
    return values


def _kept(array: np.ndarray, value: Value, double: bool) -> np.ndarray:
    """An array in the type of its value, or in double precision instead of single."""
    kept = np.asarray(array, np.float64 if double and value.dtype is DType.f32 else value.dtype.numpy)
    return np.ascontiguousarray(kept).reshape(kept.shape)


def node_results(node: Node, arrays: Sequence[np.ndarray | None], double: bool = False) -> Sequence[np.ndarray]:
    """What one node makes of its inputs (None: absent); ``double`` as in ``evaluate``."""
    opdef = ops.get(node.op)
    if not opdef.subgraphs:
        return opdef.reference(arrays, node.attrs)
    known = [array for array in arrays if array is not None]
    if node.op == "if":
        return _called(node.subgraphs[0 if known[0].any() else 1], known[1:], double)
    return _looped(node, known, double)


def _called(graph: Graph, arrays: Sequence[np.ndarray], double: bool) -> list[np.ndarray]:
    """The outputs of a subgraph."""
    values = _computed(graph, dict(zip(graph.inputs, arrays, strict=True)), double)
    return [values[value] for value in graph.outputs]


def _looped(node: Node, arrays: Sequence[np.ndarray], double: bool) -> list[np.ndarray]:
    (body,) = node.subgraphs
    carried = node.attrs["carried"]
    limit, condition, state = int(arrays[0].reshape(())), bool(arrays[1].any()), list(arrays[2 : 2 + carried])
    collected: list[list[np.ndarray]] = [[] for _ in body.outputs[1 + carried :]]
    count = 0
    while condition and count < limit:
        if count >= MOST_ITERATIONS:
            raise InputError(f"the loop '{node.name}' has run {count} times and does not end")
        number, flag = (value.type for value in body.inputs[:2])
        scalars = (
            np.full((1,) * len(number.shape), count, number.dtype.numpy),
            np.full((1,) * len(flag.shape), condition, flag.dtype.numpy),
        )
        results = _called(body, [*scalars, *state, *arrays[2 + carried :]], double)
        condition, state = bool(results[0].any()), list(results[1 : 1 + carried])
        for items, result in zip(collected, results[1 + carried :], strict=True):
            items.append(result)
        count += 1
    empty = [np.zeros((0, *_sizes(value)), value.dtype.numpy) for value in body.outputs[1 + carried :]]
    return [*state, *(np.stack(items) if items else none for items, none in zip(collected, empty, strict=True))]


def _sizes(value: Value) -> list[int]:
    """The shape of a value that was never computed; what is not known counts as 0."""
    return [dim if isinstance(dim, int) else 0 for dim in value.shape]


def check_input(value: Value, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """The array for a graph input; InputError when there is none, or its type or shape does not fit."""
    if value.name not in inputs:
        raise InputError(f"input '{value.name}' is missing", hint=f"given: {', '.join(inputs) or 'none'}")
    array = np.asarray(inputs[value.name])
    if array.dtype != value.dtype.numpy:
        raise InputError(f"input '{value.name}' is {array.dtype}, the model wants {value.dtype.numpy}")
    fits = len(array.shape) == len(value.shape) and all(
        isinstance(dim, str) or dim == size for dim, size in zip(value.shape, array.shape, strict=True)
    )
    if not fits:
        raise InputError(f"input '{value.name}' has shape {array.shape}, the model wants {value.shape}")
    return array
