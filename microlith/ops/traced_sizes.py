"""What is known of a small tensor of sizes before a run: numbers, and symbols that come from the shape of a tensor.

Exporters compute the target of a Resize, the end of a Slice or the limit of a Range from ``Shape`` of some tensor. The
elements are numbers of a run, but most of them are known sizes, or sizes that have a name already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeGuard

from ..ir import Dim, Node, Value
from .shape_rules import add_dims, integers_of, multiply_dims

Traced = tuple[Dim | None, ...]
"""Each element in order: a number, a symbol, or None for one of which nothing is known."""

_LONGEST_CHAIN = 16
"""Ops between a shape and its use that are looked through."""
_MOST_ELEMENTS = 64
_SAME_ELEMENTS = frozenset({"cast", "reshape", "squeeze", "unsqueeze"})


def traced_sizes(value: Value | None, depth: int = _LONGEST_CHAIN) -> Traced | None:
    """The elements of an integer tensor of rank 0 or 1 as far as they follow from shapes; None when nothing is known.

    A symbol stands for the size of a dimension, so it is never negative.
    """
    if value is None or value.dtype.numpy.kind != "i":
        return None
    if value.data is not None:
        return tuple(integers_of(value) or ()) if value.data.size <= _MOST_ELEMENTS else None
    node = value.producer
    if node is None or depth == 0 or not value.type.is_static or value.type.count > _MOST_ELEMENTS:
        return None
    found = _elements(node, depth - 1)
    return found if found is not None and len(found) == value.type.count else None


def _elements(node: Node, depth: int) -> Traced | None:
    if node.op == "shape":
        shape = node.input(0).shape
        start, end = (
            min(max(p + len(shape) if p < 0 else p, 0), len(shape)) for p in (node.attrs["start"], node.attrs["end"])
        )
        return shape[start:end]
    if node.op in _SAME_ELEMENTS:
        return traced_sizes(node.input(0), depth)
    if node.op == "concat":
        joined: list[Dim | None] = []
        for part in node.inputs:
            if part is None or len(part.shape) != 1 or not part.type.is_static or part.type.count > _MOST_ELEMENTS:
                return None
            joined.extend(traced_sizes(part, depth) or (None,) * part.type.count)
        return tuple(joined)
    if node.op in _ARITHMETIC:
        return _combined(node, depth)
    if node.op not in ("gather", "slice") or len(node.input(0).shape) != 1:
        return None
    source = traced_sizes(node.input(0), depth)
    if source is None:
        return None
    chosen = _gathered(node, len(source)) if node.op == "gather" else _sliced(node, len(source))
    return None if chosen is None or any(not 0 <= i < len(source) for i in chosen) else tuple(source[i] for i in chosen)


def _combined(node: Node, depth: int) -> Traced | None:
    """Products and sums of sizes, element by element."""
    left, right = (traced_sizes(value, depth) for value in node.inputs[:2])
    if left is None or right is None:
        return None
    count, combine = node.output.type.count, _ARITHMETIC[node.op]
    pairs = zip(*(side * count if len(side) == 1 else side for side in (left, right)), strict=True)
    return tuple(combine(a, b) if _is_size(a) and _is_size(b) else None for a, b in pairs)


def _is_size(dim: Dim | None) -> TypeGuard[Dim]:
    return isinstance(dim, str) or (dim is not None and dim >= 0)


_ARITHMETIC: Mapping[str, Callable[[Dim, Dim], Dim]] = {"add": add_dims, "mul": lambda a, b: multiply_dims([a, b])}


def _gathered(node: Node, count: int) -> list[int] | None:
    """The positions that a gather takes from a vector."""
    known = integers_of(node.input(1))
    return None if known is None else [i + count if i < 0 else i for i in known]


def _sliced(node: Node, count: int) -> list[int] | None:
    """The positions that a slice takes from a vector."""
    if node.optional_input(1) is None:
        (start,), (size,), (step,) = (node.attrs[name] for name in ("start", "size", "step"))
        return [start + i * step for i in range(size)]
    starts, ends = (integers_of(node.optional_input(index)) for index in (1, 2))
    steps = [1] if node.optional_input(4) is None else integers_of(node.optional_input(4))
    if starts is None or ends is None or steps is None or not len(starts) == len(ends) == len(steps) == 1:
        return None
    return list(range(count))[starts[0] : ends[0] : steps[0]] if steps[0] else None
