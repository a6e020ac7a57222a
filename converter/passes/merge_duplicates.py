"""Keeps one of several equal constants, and one of several equal nodes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from ...ir import Graph, Node, Quant, Value
from ...rewrite import is_output
from .edits import substitute

_SAMPLED = 64
_BLOCK = 1 << 22


def run(graph: Graph) -> bool:
    changed = _merge_constants(graph)
    first: dict[Hashable, Node] = {}
    for node in list(graph.nodes):
        key = _node_key(node)
        twin = first.setdefault(key, node)
        if twin is node or len(node.outputs) != 1:
            continue
        if is_output(graph, node.output) and not is_output(graph, twin.output):
            continue
        changed |= substitute(graph, node.output, twin.output)
    return changed


def _merge_constants(graph: Graph) -> bool:
    first: dict[Hashable, list[Value]] = {}
    changed = False
    for value in list(graph.constants()):
        alike = first.setdefault(_constant_key(value), [])
        twin = next((other for other in alike if _same_bytes(value, other)), None)
        if twin is None:
            alike.append(value)
        elif not is_output(graph, value):
            for node, index in list(value.uses):
                node.set_input(index, twin)
            changed = True
    return changed


def _constant_key(value: Value) -> Hashable:
    """What equal constants have in common, without a look at every element of them: this runs often."""
    assert value.data is not None
    flat = value.data.reshape(-1)
    sample = flat[:: max(1, flat.size // _SAMPLED)][:_SAMPLED].tobytes()
    return value.type.dtype, value.type.shape, _quant_key(value.quant), _quant_key(value.decoded_from), sample


def _same_bytes(one: Value, other: Value) -> bool:
    assert one.data is not None and other.data is not None
    if one.data is other.data:
        return True
    a, b = (array.reshape(-1).view(np.uint8) for array in (one.data, other.data))
    return all(np.array_equal(a[i : i + _BLOCK], b[i : i + _BLOCK]) for i in range(0, a.size, _BLOCK))


def _quant_key(quant: Quant | None) -> Hashable:
    return None if quant is None else (quant.axis, quant.scale.tobytes(), quant.zero_point.tobytes())


def _node_key(node: Node) -> Hashable:
    inputs = tuple(None if value is None else id(value) for value in node.inputs)
    attrs = tuple(sorted((name, _frozen(value)) for name, value in node.attrs.items()))
    subgraphs = tuple(id(part) for part in node.subgraphs)
    return node.op, inputs, attrs, subgraphs, tuple((o.dtype, _quant_key(o.quant)) for o in node.outputs)


def _frozen(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    return tuple(value) if isinstance(value, list) else value
