"""ONNX Einsum, determinants, and running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Dim, Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row, merged
from .onnx_math import checked_axis
from .onnx_reduce import reduced


def _running(op: str) -> Row:
    def row(g: Builder, node: OnnxNode) -> Value:
        x, axis = node.value(0), node.value(1)
        attrs = {name: int(node.integer(name, 0) != 0) for name in ("exclusive", "reverse")}
        if axis.data is None:
            return g.add(op, [x, axis], attrs)
        if axis.data.size != 1:
            raise Reject(f"input 'axis' has shape {axis.shape}, expected one number")
        position = checked_axis(int(axis.data.reshape(-1)[0]), len(x.shape), "input 'axis'")
        return g.add(op, [x], {"axis": position, **attrs})

    row.__doc__ = f"{op} along an axis."
    return row


def det(g: Builder, node: OnnxNode) -> Value:
    """Det of a stack of matrices."""
    return g.add("det", [node.value(0)])


Labels = tuple[str, ...]
"""The subscript of each dimension: a letter, or ``<n>`` for a dimension that an ellipsis stands for, counted from its
end."""


class _Operand:
    """A tensor and the labels of its dimensions, each label once."""

    def __init__(self, value: Value, labels: Labels) -> None:
        self.value, self.labels = value, labels

    def size(self, label: str) -> Dim:
        return self.value.shape[self.labels.index(label)]


def einsum(g: Builder, node: OnnxNode) -> Value:
    """Einsum, pair by pair from the left: labels that nothing else needs are summed, the others become a matmul."""
    inputs, output = _equation(node)
    operands = [_diagonal(g, value, labels) for value, labels in zip(node.values(), inputs, strict=True)]
    for index, operand in enumerate(operands):
        others = [label for other in operands[:index] + operands[index + 1 :] for label in other.labels]
        operands[index] = _summed(g, operand, [label for label in operand.labels if label not in (*others, *output)])
    while len(operands) > 1:
        needed = {*output, *(label for operand in operands[2:] for label in operand.labels)}
        operands[:2] = [_contracted(g, operands[0], operands[1], needed)]
    (result,) = operands
    return _arranged(g, result, output)


def _equation(node: OnnxNode) -> tuple[list[Labels], Labels]:
    """The labels of each operand and of the result."""
    text = node.text("equation", "").replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(node.entries):
        raise Reject(f"equation '{text}' has {len(terms)} operands, the node has {len(node.entries)}")
    hidden = [len(node.value(i).shape) - len(term.replace("...", "")) for i, term in enumerate(terms)]
    inputs = [_labels(term, count, text) for term, count in zip(terms, hidden, strict=True)]
    longest = max((count for term, count in zip(terms, hidden, strict=True) if "..." in term), default=0)
    if arrow:
        output = _labels(right, longest if "..." in right else 0, text)
    else:
        letters = [label for labels in inputs for label in labels if not label.startswith("<")]
        single = sorted(label for label in set(letters) if letters.count(label) == 1)
        output = (*_ellipsis(longest), *single)
    known = {label for labels in inputs for label in labels}
    if len(set(output)) != len(output) or not set(output) <= known:
        raise Reject(f"equation '{text}' is not valid")
    return inputs, output


def _ellipsis(count: int) -> Labels:
    return tuple(f"<{index}>" for index in range(count, 0, -1))


def _labels(term: str, hidden: int, equation: str) -> Labels:
    before, dots, after = term.partition("...")
    if not all(letter.isalpha() for letter in before + after) or (hidden if dots else abs(hidden)) < 0:
        raise Reject(f"equation '{equation}' is not valid")
    if not dots and hidden:
        raise Reject(f"equation '{equation}': the term '{term}' does not fit its operand")
    return (*before, *(_ellipsis(hidden) if dots else ()), *after)


def _diagonal(g: Builder, value: Value, labels: Labels) -> _Operand:
    """Each label once: a repeated one takes the diagonal."""
    while (twice := next((label for label in labels if labels.count(label) > 1), None)) is not None:
        first = labels.index(twice)
        second = labels.index(twice, first + 1)
        rest = [axis for axis in range(len(labels)) if axis not in (first, second)]
        moved = g.transpose(value, (*rest, first, second))
        size = moved.shape[-1]
        if isinstance(size, int) and isinstance(moved.shape[-2], int) and moved.shape[-2] != size:
            raise Reject(f"the repeated label '{twice}' has sizes {moved.shape[-2]} and {size}")
        if not moved.type.is_static:
            value = _open_diagonal(g, moved)
            labels = (*(labels[axis] for axis in rest), twice)
            continue
        assert isinstance(size, int)
        flat = g.reshape(moved, (*moved.shape[:-2], size * size))
        ends = {
            "start": (0,) * (len(rest) + 1),
            "size": (*flat.shape[:-1], size),
            "step": (*(1 for _ in rest), size + 1),
        }
        value = g.add("slice", [flat], ends)
        labels = (*(labels[axis] for axis in rest), twice)
    return _Operand(value, labels)


def _summed(g: Builder, operand: _Operand, labels: Sequence[str]) -> _Operand:
    """The operand without some of its labels."""
    if not labels:
        return operand
    axes = [operand.labels.index(label) for label in labels]
    value = reduced(g, "reduce_sum", operand.value, axes, keep_dims=False)
    return _Operand(value, tuple(label for label in operand.labels if label not in labels))


def _open_diagonal(g: Builder, value: Value) -> Value:
    """The diagonal of the last two dimensions, whose sizes are open and equal: all else counts as 0 in a sum."""
    last = len(value.shape) - 1
    places = g.counting(value, last)
    on_it = g.add("equal", [g.add("unsqueeze", [places], {"axes": axes}) for axes in (1, 2)])
    kept = g.add("where", [on_it, value, g.const(np.zeros((), value.dtype.numpy), "off")])
    return g.add("reduce_sum", [kept], {"axes": 1 << last - 1, "keep_dims": 0})


def _contracted(g: Builder, a: _Operand, b: _Operand, needed: set[str]) -> _Operand:
    """The product of two operands, summed over the labels that both have and nothing else needs."""
    shared = [label for label in a.labels if label in b.labels]
    inner = [label for label in shared if label not in needed]
    batch = [label for label in shared if label in needed]
    rows = [label for label in a.labels if label not in shared]
    columns = [label for label in b.labels if label not in shared]
    if not inner:
        return _product(g, a, b)
    if any(a.size(label) != b.size(label) and 1 in (a.size(label), b.size(label)) for label in inner):
        a, b = (_stretched(g, operand, inner, other) for operand, other in ((a, b), (b, a)))
    outer = [*(a.size(label) for label in (*batch, *rows)), *(b.size(label) for label in columns)]
    if sum(isinstance(size, str) for size in outer) > 1:
        return _contracted_in_place(g, a, b, (batch, rows, inner, columns))
    left = _matrix(g, a, batch, rows, inner)
    right = _matrix(g, b, batch, inner, columns)
    sizes = [*(_larger(a.size(label), b.size(label)) for label in batch)]
    y = g.add("matmul", [left, right])
    shape = (*sizes, *(a.size(label) for label in rows), *(b.size(label) for label in columns))
    return _Operand(g.reshape(y, shape), (*batch, *rows, *columns))


def _contracted_in_place(g: Builder, a: _Operand, b: _Operand, parts: tuple[list[str], ...]) -> _Operand:
    """The same without dimensions that are merged and divided again, which takes sizes that are known: all rows and
    columns but the last ones stand beside the batch, of size 1 in the other operand."""
    batch, rows, inner, columns = parts
    beside = [*rows[:-1], *columns[:-1]]
    left = _with_inner_last(g, a, batch, rows, inner)
    right = _with_inner_last(g, b, batch, columns, inner)
    front = len(batch)
    left = _with_ones(g, left, [front + len(rows[:-1]) + i for i in range(len(columns[:-1]) + (not rows))])
    right = _with_ones(g, right, [front + i for i in range(len(rows[:-1]))])
    rank = front + len(beside) + 2
    right = _with_ones(g, right, [rank - 2] if not columns else [])
    y = g.add("matmul", [left, g.transpose(right, (*range(rank - 2), rank - 1, rank - 2))])
    gone = [axis for axis, labels in ((rank - 2, rows), (rank - 1, columns)) if not labels]
    if gone:
        y = g.add("squeeze", [y], {"axes": sum(1 << axis for axis in gone)})
    return _Operand(y, (*batch, *beside, *rows[-1:], *columns[-1:]))


def _with_inner_last(g: Builder, x: _Operand, batch: list[str], kept: list[str], inner: list[str]) -> Value:
    """[batch ..., kept ..., product of inner]."""
    value = g.transpose(x.value, [x.labels.index(label) for label in (*batch, *kept, *inner)])
    return g.reshape(value, (*value.shape[: len(batch) + len(kept)], _count(x, inner)))


def _with_ones(g: Builder, value: Value, axes: Sequence[int]) -> Value:
    """The value with dimensions of size 1, which are at ``axes`` of the result."""
    if not axes:
        return value
    rest = iter(value.shape)
    shape = [1 if axis in axes else next(rest) for axis in range(len(value.shape) + len(axes))]
    try:
        return g.reshape(value, shape)
    except Reject:
        return g.add("unsqueeze", [value], {"axes": sum(1 << axis for axis in axes)})


def _larger(a: Dim, b: Dim) -> Dim:
    return b if a == 1 else a


def _stretched(g: Builder, operand: _Operand, labels: Sequence[str], other: _Operand) -> _Operand:
    """Size 1 of a label that is summed repeated as the other operand has it."""
    shape = tuple(other.size(label) if label in labels and operand.size(label) == 1 else 1 for label in operand.labels)
    if any(isinstance(dim, str) for dim in shape):
        raise Reject("a summed dimension is broadcast and its size not known", FIX_SIZES)
    return _Operand(g.add("expand", [operand.value], {"shape": shape}), operand.labels)


def _matrix(g: Builder, operand: _Operand, batch: Sequence[str], rows: Sequence[str], columns: Sequence[str]) -> Value:
    """[batch ..., product of rows, product of columns]."""
    order = [operand.labels.index(label) for label in (*batch, *rows, *columns)]
    value = g.transpose(operand.value, order)
    sizes = [operand.size(label) for label in batch]
    return g.reshape(value, (*sizes, _count(operand, rows), _count(operand, columns)))


def _count(operand: _Operand, labels: Sequence[str]) -> Dim | None:
    return merged([operand.size(label) for label in labels])


def _product(g: Builder, a: _Operand, b: _Operand) -> _Operand:
    """The product without a sum: every label of both, broadcast."""
    labels = (*a.labels, *(label for label in b.labels if label not in a.labels))
    return _Operand(g.add("mul", [_spread(g, a, labels), _spread(g, b, labels)]), labels)


def _spread(g: Builder, operand: _Operand, labels: Labels) -> Value:
    """The operand with the axes of ``labels``, of size 1 where it has none."""
    order = [operand.labels.index(label) for label in labels if label in operand.labels]
    value = g.transpose(operand.value, order)
    return _with_ones(g, value, [axis for axis, label in enumerate(labels) if label not in operand.labels])


def _arranged(g: Builder, operand: _Operand, output: Labels) -> Value:
    operand = _summed(g, operand, [label for label in operand.labels if label not in output])
    return g.transpose(operand.value, [operand.labels.index(label) for label in output])


def _wide(row: Callable[[Builder, OnnxNode], Value]) -> Row:
    """Integers for which there is no product of matrices are computed in s32."""

    def wide(g: Builder, node: OnnxNode) -> Value:
        dtype = node.value(0).dtype
        if dtype not in (DType.s8, DType.u8, DType.s16, DType.u16):
            return row(g, node)
        node.entries = [g.cast(value, DType.s32) for value in node.values()]
        return g.cast(row(g, node), dtype)

    wide.__doc__ = row.__doc__
    return wide


ROWS: dict[str, Row] = {
    "CumProd": _running("cumprod"),
    "CumSum": _running("cumsum"),
    "Det": det,
    "Einsum": _wide(einsum),
}
