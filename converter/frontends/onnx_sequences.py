"""ONNX operators on sequences of tensors: lists that are gone when the model is read. Their lengths and positions have
to be known at conversion, as they are where exporters split, unbind or stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_data import joined
from .onnx_graph import FIX_SIZES, Builder, Entry, OnnxNode, Reject, Row, Tensors
from .onnx_math import axis_of, checked_axis
from .onnx_shapes import EQUAL_PIECES, cut

MOST_TENSORS = 4096
"""Of one sequence."""


def _sequence(node: OnnxNode) -> tuple[Value, ...]:
    """Input 0."""
    entry = node.entries[0] if node.entries else None
    if not isinstance(entry, Tensors):
        raise Reject("input 0 is a sequence whose length is not known at conversion", "export with tensors only")
    return entry.items


def _position(node: OnnxNode, index: int, missing: int, count: int) -> int:
    """The position that input ``index`` names, counted from the start; one of ``count``."""
    if not node.has(index):
        return missing
    position = int(node.array(index, "the position in a sequence").reshape(()))
    if not -count <= position < count:
        raise Reject(f"the position {position} is outside of a sequence of {count} tensors")
    return position % count


def _construct(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    return [Tensors(tuple(node.values()))]


def _empty(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    node.integer("dtype", 1)
    return [Tensors(())]


def _at(g: Builder, node: OnnxNode) -> Value:
    items = _sequence(node)
    return items[_position(node, 1, 0, len(items))]


def _insert(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    items = list(_sequence(node))
    if len(items) >= MOST_TENSORS:
        raise Reject(f"it makes a sequence of more than {MOST_TENSORS} tensors")
    if node.has(2):
        place = int(node.array(2, "the position in a sequence").reshape(()))
        if not -len(items) <= place <= len(items):
            raise Reject(f"the position {place} is outside of a sequence of {len(items)} tensors")
        items.insert(place if place >= 0 else len(items) + place, node.value(1))
    else:
        items.append(node.value(1))
    return [Tensors(tuple(items))]


def _erase(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    items = list(_sequence(node))
    if not items:
        raise Reject("it takes a tensor from an empty sequence")
    del items[_position(node, 1, len(items) - 1, len(items))]
    return [Tensors(tuple(items))]


def _length(g: Builder, node: OnnxNode) -> Value:
    return g.computed(np.asarray(len(_sequence(node)), np.int64))


def _concat(g: Builder, node: OnnxNode) -> Value:
    items = list(_sequence(node))
    if not items:
        raise Reject("it joins an empty sequence")
    is_new = bool(node.integer("new_axis", 0))
    axis = node.integer("axis", 0)
    rank = len(items[0].shape) + is_new
    axis = checked_axis(axis, rank, "attribute 'axis'")
    if is_new:
        items = [g.reshape(item, [*item.shape[:axis], 1, *item.shape[axis:]]) for item in items]
    return joined(g, items, axis)


def _split(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    x = node.value(0)
    axis = axis_of(node, "axis", 0, len(x.shape))
    keeps = bool(node.integer("keepdims", 1)) or node.has(1)
    size = x.shape[axis]
    lengths = node.value(1) if node.has(1) else None
    if lengths is not None and len(lengths.shape) == 1 and (lengths.data is None or not isinstance(size, int)):
        (count,) = lengths.shape
        if not isinstance(count, int) or not 1 <= count <= MOST_TENSORS:
            raise Reject(f"how many tensors it makes is open: the size {count}", FIX_SIZES)
        lengths = g.cast(lengths, DType.s64)
        return [Tensors(tuple(g.add_all("split", [x, lengths], {"axis": axis, "sizes": (EQUAL_PIECES,) * count})))]
    if not isinstance(size, int):
        raise Reject(f"how many tensors it makes is open: the size {size}", FIX_SIZES)
    parts = _parts(node, size)
    starts = np.cumsum([0, *parts])
    items = [cut(g, x, {axis: (int(start), part, 1)}) for start, part in zip(starts, parts, strict=False)]
    if not keeps:
        items = [g.reshape(item, [*item.shape[:axis], *item.shape[axis + 1 :]]) for item in items]
    return [Tensors(tuple(items))]


def _parts(node: OnnxNode, size: int) -> list[int]:
    if not node.has(1):
        parts = [1] * min(size, MOST_TENSORS + 1)
    else:
        array = node.array(1, "how an input is split")
        wanted = [int(item) for item in array.reshape(-1)]
        if array.ndim == 0:
            if wanted[0] < 1:
                raise Reject(f"it splits into parts of {wanted[0]}")
            count = min(-(-size // wanted[0]), MOST_TENSORS + 1)
            wanted = [min(wanted[0], size - index * wanted[0]) for index in range(count)]
        parts = wanted
    if len(parts) > MOST_TENSORS:
        raise Reject(f"it makes a sequence of more than {MOST_TENSORS} tensors")
    if sum(parts) != size or min(parts, default=0) < 0:
        raise Reject(f"the parts {parts} do not make the size {size}")
    return parts


def _optional(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    """Optional, OptionalGetElement: what is there for sure stands for itself."""
    node.ignore("type")
    if not node.has(0):
        raise Reject("it is empty")
    return [node.entries[0]]


def _has_element(g: Builder, node: OnnxNode) -> Value:
    return g.computed(np.asarray(node.has(0)))


_LISTS: dict[str, Callable[[Builder, OnnxNode], Value | Sequence[Entry]]] = {
    "ConcatFromSequence": _concat,
    "Optional": _optional,
    "OptionalGetElement": _optional,
    "OptionalHasElement": _has_element,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}
ROWS: dict[str, Row] = {name: cast(Row, row) for name, row in _LISTS.items()}
"""The results of some are entries that only these rows take."""
