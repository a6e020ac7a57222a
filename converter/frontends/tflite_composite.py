"""TFLite operators that become several ops: integer division, logical reductions and the like."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_graph import Row, TfliteNode, axis_of, require
from .tflite_open import is_computed, numbers

# Positions.


def _arg(op: str) -> Row:
    def row(node: TfliteNode) -> Value:
        x, axes = node.value(0), node.ints(1, "the axis")
        require(len(axes) == 1, f"{len(axes)} axes")
        target = node.output_type().dtype
        require(target in (DType.s32, DType.s64), f"positions as {target.name}")
        attrs = {"axis": axis_of(axes[0], len(x.shape)), "keep_dims": 0, "to": target.value}
        return node.add(op, [x], attrs)

    return row


def range_(node: TfliteNode) -> Value:
    if is_computed(node, 0, 1, 2):
        return numbers(node)
    start, limit, delta = (node.array(index, what) for index, what in ((0, "start"), (1, "limit"), (2, "delta")))
    require(start.size == limit.size == delta.size == 1, "start, limit and delta are not scalars")
    first, last, step = (array.reshape(-1)[0] for array in (start, limit, delta))
    require(bool(step != 0), "delta is 0")
    count = max(int(np.ceil((float(last) - float(first)) / float(step))), 0)
    require(count <= 1 << 24, f"{count} numbers")
    return node.const((first + np.arange(count).astype(start.dtype) * step).astype(start.dtype))


# Integer division.


def floor_div(node: TfliteNode) -> Value:
    """Rounded down, which for integers is what remains after the remainder of the divisor's sign is taken off."""
    a, b = node.value(0), node.value(1)
    if a.dtype is DType.f32:
        return node.add("floor", [node.add("div", [a, b])])
    narrow, (a, b) = a.dtype, _wide(node, a, b)
    y = node.add("div", [node.add("sub", [a, node.add("mod", [a, b])]), b])
    return y if y.dtype is narrow else node.add("cast", [y], {"to": narrow.value})


def floor_mod(node: TfliteNode) -> Value:
    a, b = node.value(0), node.value(1)
    if a.dtype is DType.f32:
        return node.add("mod", [a, b])
    narrow, (a, b) = a.dtype, _wide(node, a, b)
    y = node.add("mod", [a, b])
    return y if y.dtype is narrow else node.add("cast", [y], {"to": narrow.value})


def _wide(node: TfliteNode, *operands: Value) -> list[Value]:
    """Whole numbers in at least 32 bits; narrow ones have no scale here."""
    dtype = operands[0].dtype
    require(dtype in (DType.s8, DType.s16, DType.s32, DType.s64), f"{dtype.name} is not supported")
    if dtype in (DType.s32, DType.s64):
        return list(operands)
    return [node.add("cast", [value], {"to": DType.s32.value}) for value in operands]


# Logical reductions.


def _logical(op: str) -> Row:
    def row(node: TfliteNode) -> Value:
        x = node.add("cast", [node.value(0)], {"to": DType.s32.value})
        axes = {axis_of(axis, len(x.shape)) for axis in node.ints(1, "the axes")}
        keep_dims = int(bool(node.options("ReducerOptions").KeepDims()))
        total = node.add(op, [x], {"axes": sum(1 << axis for axis in axes), "keep_dims": keep_dims})
        return node.add("cast", [total], {"to": DType.b8.value})

    return row


ROWS: Mapping[str, Row] = {
    "ARG_MAX": _arg("argmax"),
    "ARG_MIN": _arg("argmin"),
    "FLOOR_DIV": floor_div,
    "FLOOR_MOD": floor_mod,
    "RANGE": range_,
    "REDUCE_ALL": _logical("reduce_min"),
    "REDUCE_ANY": _logical("reduce_max"),
}
