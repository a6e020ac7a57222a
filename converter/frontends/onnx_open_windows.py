"""Windows over sizes that are open, where no padding or number of windows serves every size: both follow at run time.

``onnx_window.py`` finds what is the same for all sizes, which needs none of this.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import Builder


def same_padded(
    g: Builder,
    x: Value,
    window: tuple[Sequence[int], Sequence[int], Sequence[int]],
    lower: bool,
    fill: Value,
    crops: bool = False,
) -> tuple[Value, list[Value]]:
    """[batch, channels, spatial..] with the padding of auto_pad SAME; and s64[1] each: what was put in front.

    ``window``: kernel, strides and dilations. One starts every ``stride`` elements, the last one in the last stride;
    what it lacks is padding, of which the odd element is put in front if ``lower``. With ``crops`` what it does not
    reach is taken away in the same way.
    """
    before, after = [], []
    for axis, (k, stride, dilation) in enumerate(zip(*window, strict=True)):
        size = g.sizes_of(x, axis + 2, axis + 3)
        in_last = _plus(g, g.add("mod", [_plus(g, size, -1), _number(g, stride)]), 1)
        total = g.add("sub", [_number(g, dilation * (k - 1) + 1), in_last])
        total = total if crops else g.add("max", [total, _number(g, 0)])
        before.append(g.add("div", [_plus(g, total, 1) if lower else total, _number(g, 2)]))
        after.append(g.add("sub", [total, before[-1]]))
    axes = g.const(np.arange(2, len(x.shape), dtype=np.int64), "axes")
    amounts = g.add("concat", [*before, *after], {"axis": 0})
    return g.add("pad", [x, fill, amounts, axes]), before


def without_padded(
    g: Builder, positions: Value, x: Value, padded: Value, before: Sequence[Value], column_major: bool
) -> Value:
    """Positions of elements of ``padded`` as positions in ``x``, which lies in it behind ``before``."""
    axes = range(len(before)) if column_major else reversed(range(len(before)))
    places: list[tuple[int, Value]] = []
    for axis in axes:
        size = g.sizes_of(padded, axis + 2, axis + 3)
        places.append((axis, g.add("mod", [positions, size])))
        positions = g.add("div", [positions, size])
    for axis, place in reversed(places):
        positions = g.add("mul", [positions, g.sizes_of(x, axis + 2, axis + 3)])
        positions = g.add("add", [positions, g.add("sub", [place, before[axis]])])
    return positions


def counted(g: Builder, y: Value, x: Value, axis: int, begin: int, stride: int) -> Value:
    """A pooled ``y`` without the windows that start behind ``x`` and the padding in front of it, along an axis."""
    last = g.add("div", [_plus(g, g.sizes_of(x, axis, axis + 1), begin - 1), _number(g, stride)])
    bounds = [_number(g, 0), _plus(g, last, 1), _number(g, axis), _number(g, 1)]
    return g.add("slice", [y, *bounds])


def ones_like(g: Builder, x: Value) -> Value:
    """[1, 1, spatial..] of ones."""
    sizes = g.add("concat", [g.const(np.ones(2, np.int64), "ones"), g.sizes_of(x, 2, len(x.shape))], {"axis": 0})
    return g.add("expand", [g.const(np.ones((), x.dtype.numpy), "one"), sizes])


def lowest(g: Builder, dtype: DType) -> Value:
    """The smallest number of an element type."""
    number = -np.inf if dtype.is_float else np.iinfo(dtype.numpy).min
    return g.const(np.asarray(number, dtype.numpy), "lowest")


def zero(g: Builder, dtype: DType) -> Value:
    return g.const(np.zeros((), dtype.numpy), "zero")


def _number(g: Builder, number: int) -> Value:
    return g.const(np.array([number], np.int64), "number")


def _plus(g: Builder, value: Value, number: int) -> Value:
    return value if number == 0 else g.add("add", [value, _number(g, number)])
