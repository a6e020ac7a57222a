"""Computes every node whose inputs are all constant, once and for all, through the reference of its op."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...files import out_of_memory
from ...ir import Graph, Node
from .edits import carry_decoded

MAX_FOLDED_BYTES = 1 << 28
"""A result larger than this, and than the constants that it comes from, is left to the run time."""


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        array = folded_output(node)
        if array is None or any(node.output is output for output in graph.outputs):
            continue
        value = graph.constant(node.output.name, array, node.output.quant)
        carry_decoded(node, value)
        graph.replace(node.output, value)
        graph.remove(node)
        changed = True
    return changed


def folded_output(node: Node) -> np.ndarray | None:
    """The data of a node's only output when all inputs are constant, else None."""
    if len(node.outputs) != 1 or not node.output.type.is_static:
        return None
    found = folded_outputs(node)
    return None if found is None else found[0]


def folded_outputs(node: Node) -> list[np.ndarray] | None:
    """The data of all outputs of a node when all inputs are constant, else None."""
    if node.subgraphs or any(value is not None and not value.is_constant for value in node.inputs):
        return None
    opdef = ops.get(node.op)
    if opdef.quant is not None and opdef.quant.materialize is not None and _is_quantized(node):
        return None
    given = sum(value.type.nbytes for value in node.inputs if value is not None)
    most = max(MAX_FOLDED_BYTES, given)
    if any(output.type.is_static and output.type.nbytes > most for output in node.outputs):
        return None
    arrays = [None if value is None else value.data for value in node.inputs]
    results = [
        np.asarray(result, dtype=output.dtype.numpy)
        for result, output in zip(opdef.reference(arrays, node.attrs), node.outputs, strict=True)
    ]
    return [out_of_memory(np.ascontiguousarray(array).reshape(array.shape)) for array in results]


def _is_quantized(node: Node) -> bool:
    """Whether the meaning of a node still hides in the quantization of its values."""
    return any(value is not None and value.quant is not None for value in (*node.inputs, *node.outputs))
