"""Runs a graph through the NumPy reference of its ops: slow, and the meaning that everything else is held against."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from . import ops
from .errors import InputError
from .ir import Graph, Value


def evaluate(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a graph by name. Raises InputError for a missing or unfit input."""
    values = evaluate_all(graph, inputs)
    return {value.name: values[value] for value in graph.outputs}


def evaluate_all(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[Value, np.ndarray]:
    """Every value of a graph, intermediate ones included. Integer nodes must be materialized."""
    values: dict[Value, np.ndarray] = {}
    for value in graph.inputs:
        values[value] = _checked(value, inputs)
    for value in graph.constants():
        assert value.data is not None
        values[value] = value.data
    for node in graph.nodes:
        arrays = [None if value is None else values[value] for value in node.inputs]
        results = ops.get(node.op).reference(arrays, node.attrs)
        for output, result in zip(node.outputs, results, strict=True):
            array = np.asarray(result, dtype=output.dtype.numpy)
            values[output] = np.ascontiguousarray(array).reshape(array.shape)
    return values


def _checked(value: Value, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
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
