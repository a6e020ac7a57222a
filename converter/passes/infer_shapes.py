"""Infers the types of values again where something that was not known has become known."""

from __future__ import annotations

from ... import ops
from ...ir import Dim, Graph, TensorType, Value
from ...ops.shape_rules import FRESH


def run(graph: Graph) -> bool:
    if not any(_is_fresh(dim) for value in graph.values() for dim in value.shape):
        return False
    changed = False
    for node in graph.nodes:
        if all(value is None or value.type.is_static for value in node.outputs):
            continue
        for value, type in zip(node.outputs, ops.get(node.op).infer(node), strict=True):
            changed |= _refine(value, type)
    return changed


def _refine(value: Value, type: TensorType) -> bool:
    """Takes over the sizes that say more."""
    shape = tuple(new if _says_more(new, old) else old for old, new in zip(value.shape, type.shape, strict=True))
    if shape == value.shape:
        return False
    value.type = TensorType(value.dtype, shape)
    return True


def _says_more(new: Dim, old: Dim) -> bool:
    if isinstance(old, int) or new == old:
        return False
    return isinstance(new, int) or (_is_fresh(old) and not _is_fresh(new))


def _is_fresh(dim: Dim) -> bool:
    """Whether a size is, or follows from, one that is known only at run time."""
    return isinstance(dim, str) and FRESH in dim
