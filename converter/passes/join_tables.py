"""Integer ops that compute a function of one int8 tensor become a table of its 256 results: x * sigmoid(x), say, or one
table behind another. The results are those of the ops one after the other, byte for byte."""

from __future__ import annotations

import numpy as np

from ... import ops
from ...dtypes import DType
from ...ir import Graph, Node, Value
from .edits import rebuild, substitute

BINARY = frozenset({"add", "sub", "mul", "min", "max", "squared_difference"})


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        source = _source_of(node)
        if source is None:
            continue
        (result,) = ops.get(node.op).reference([_results(value, source) for value in node.inputs], node.attrs)
        table = graph.constant(f"{node.output.name}_table", np.asarray(result, np.int8))
        made = rebuild(graph, node, "lut", [source, table], {}, quant_from=node.output)
        changed |= substitute(graph, node.output, made)
    return changed


def _is_table(node: Node | None) -> bool:
    return node is not None and node.op == "lut" and node.input(0).dtype is DType.s8 and node.input(1).is_constant


def _root(value: Value) -> Value:
    """What a value is a function of."""
    return value.producer.input(0) if value.producer is not None and _is_table(value.producer) else value


def _source_of(node: Node) -> Value | None:
    """The tensor that all inputs are functions of, if the node is worth a table."""
    if node.op in ("lut", "requantize"):
        tables = node.op == "requantize" or _is_table(node)
        varying = [node.input(0)]
        if not tables or not _is_table(varying[0].producer):
            return None
    elif node.op in BINARY and len(node.inputs) == 2:
        given = [node.input(index) for index in range(2)]
        varying = [value for value in given if not value.is_constant]
        if any(value.is_constant and value.type.static_shape not in ((), (1,)) for value in given):
            return None
        if len(varying) == 1 and not _is_table(varying[0].producer):
            return None
    else:
        return None
    roots = {id(_root(value)): _root(value) for value in varying}
    if len(roots) != 1:
        return None
    (source,) = roots.values()
    fits = source.dtype is DType.s8 and node.output.dtype is DType.s8 and source.shape == node.output.shape
    return source if fits else None


def _results(value: Value | None, source: Value) -> np.ndarray | None:
    """What an input is for each value of the source; constants and tables of the node itself as they are."""
    if value is None or value.is_constant:
        return None if value is None else value.data
    every = np.arange(-128, 128, dtype=np.int8)
    if value is source:
        return every
    assert value.producer is not None
    (result,) = ops.get("lut").reference([every, value.producer.input(1).data], {})
    return np.asarray(result)
