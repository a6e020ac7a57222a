"""Keeps one of several equal constants, and one of several equal nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any

import numpy as np

from ...ir import Graph, Node, Quant, Value
from ...rewrite import is_output
from .edits import substitute


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
    first: dict[Hashable, Value] = {}
    changed = False
    for value in list(graph.constants()):
        twin = first.setdefault(_constant_key(value), value)
        if twin is not value and not is_output(graph, value):
            for node, index in list(value.uses):
                node.set_input(index, twin)
            changed = True
    return changed


def _constant_key(value: Value) -> Hashable:
    assert value.data is not None
    digest = hashlib.blake2b(np.ascontiguousarray(value.data).tobytes(), digest_size=16).digest()
    return value.type.dtype, value.type.shape, _quant_key(value.quant), _quant_key(value.decoded_from), digest


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
