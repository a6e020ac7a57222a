"""Convolutions, products and means whose sums are to run in the order of ONNX Runtime (``Builder.as_written``).

Each function returns None where no such order is known; the node is then converted as always.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dtypes import DType
from ...ir import Dim, Value
from .onnx_graph import Builder


def conv2d(g: Builder, x: Value, w: Value, bias: Value | None, attrs: Mapping[str, object]) -> Value | None:
    """x NCHW, w as ONNX has it; the result is NCHW."""
    if not g.as_written or x.dtype is not DType.f32 or w.shape[1] == 0:
        return None
    weights = g.transpose(w, (1, 2, 3, 0))
    return g.to_nchw(g.add("conv2d_ordered", [g.to_nhwc(x), weights, bias], attrs))


def matmul(
    g: Builder, a: Value, b: Value, *, transposed: bool = False, packed: bool = False, bias: Value | None = None
) -> Value | None:
    """a [.., m, k] times b [.., k, n], or [n, k] where it is ``transposed``. ``packed``: b is a constant of the model;
    ``bias`` [n] is what the sums start with."""
    rank, other = len(a.shape), len(b.shape)
    if not g.as_written or a.dtype is not DType.f32 or 0 in (rank, other, *a.shape, *b.shape):
        return None
    if other > 2 and a.shape[:-2] != b.shape[:-2]:
        return None
    vector = other == 1
    form = "vector" if vector else "packed" if packed else "transposed" if transposed else None
    attrs = {} if form is None else {form: 1}
    b = g.reshape(b, (b.shape[0], 1)) if vector else g.transpose(b, (1, 0)) if transposed else b
    y = g.add("matmul_ordered", [g.reshape(a, (1, a.shape[0])) if rank == 1 else a, b, bias], attrs)
    if rank > 1 and not vector:
        return y
    return g.reshape(y, (*(y.shape[:-1] if rank > 1 else ()), *(() if vector else y.shape[-1:])))


def conv_transpose(
    g: Builder, x: Value, w: Value, bias: Value | None, window: Mapping[str, Any], size: Sequence[int]
) -> Value | None:
    """x [1, c, h, w], w as ONNX has it; ``window`` is that of col2im, ``size`` that of the result. A product of the
    filters and all positions, whose columns are added where they lie."""
    known = x.type.is_static and w.type.is_static and x.dtype is DType.f32 and len(x.shape) == 4
    if not g.as_written or not known or x.shape[0] != 1 or id(w) in g.stored or min(window["pad_after"]) < 0:
        return None
    in_c, out_c, *kernel = w.type.static_shape
    filters = g.reshape(g.transpose(w, (1, 2, 3, 0)), (1, out_c * math.prod(kernel), in_c))
    columns = g.reshape(x, (1, in_c, math.prod(x.type.static_shape[2:])))
    products = g.add("matmul_ordered", [filters, columns], {"a_transposed": 1})
    y = g.add("col2im", [products], {**window, "size": (1, *size), "kernel": (1, *kernel), "spatial": 2})
    return y if bias is None else g.add("add", [y, g.reshape(bias, (out_c, 1, 1))])


def mean(g: Builder, x: Value, axes: Sequence[int], keep_dims: bool, *, pool: bool, total: bool) -> Value | None:
    """The mean of x over its last dimensions, or the sum with ``total``; ``pool``: as a pool computes it."""
    count = len(axes)
    if not g.as_written or x.dtype is not DType.f32 or not axes:
        return None
    if sorted(axes) != list(range(len(x.shape) - count, len(x.shape))) or 0 in x.shape[-count:]:
        return None
    return g.add(
        "mean_ordered",
        [x],
        {"trailing": count, "keep_dims": int(keep_dims), "style": int(not pool), "sum": int(total)},
    )


def average_pool(g: Builder, x: Value, attrs: Mapping[str, object], spatial: int, opset: int) -> Value | None:
    """x NCHW; ``attrs`` are those of avg_pool2d. The result is NCHW. From opset 19 on windows are added by rows."""
    names = ("extra_bottom", "extra_right", "dilation_h", "dilation_w")
    if not g.as_written or x.dtype is not DType.f32 or spatial != 2 or [attrs[name] for name in names] != [0, 0, 1, 1]:
        return None
    steps = [attrs[name] for name in ("stride_h", "stride_w")]
    pads = [attrs[f"pad_{side}"] for side in ("top", "left", "bottom", "right")]
    by_rows = opset >= 19
    if not by_rows and (attrs["kernel_h"], attrs["kernel_w"]) == x.shape[2:] and steps == [1, 1] and not any(pads):
        return mean(g, x, (2, 3), True, pool=True, total=False)
    own = {name: value for name, value in attrs.items() if name not in names} | {"style": int(by_rows)}
    return g.to_nchw(g.add("avg_pool2d_ordered", [g.to_nhwc(x)], own))


def hard_sigmoid(g: Builder, x: Value, alpha: float, beta: float) -> Value | None:
    """The smallest and the largest of 0, alpha * x + beta and 1, each step rounded."""
    if not g.as_written or x.dtype is not DType.f32:
        return None
    scaled = g.add("mul", [x, g.const(np.asarray(alpha, np.float32), "alpha")])
    moved = g.add("add", [scaled, g.const(np.asarray(beta, np.float32), "beta")])
    return g.add("clip", [moved], {"alpha": 0.0, "beta": 1.0})


def resize_linear(
    g: Builder, x: Value, transform: str, scales: Sequence[float], sizes: Sequence[object]
) -> Value | None:
    """x NCHW, its last two dimensions scaled by interpolation between four neighbours, whose products with their
    weights are added from the upper left one on. ``transform`` is how ONNX names it; a size of -1 follows from the
    scale."""
    if not g.as_written or x.dtype is not DType.f32 or len(x.shape) != 4 or transform not in _PLACES:
        return None
    if any(
        scale != 1.0 or size not in (-1, dim) for scale, size, dim in zip(scales[:2], sizes[:2], x.shape, strict=False)
    ):
        return None
    rows, columns = (
        _neighbours(transform, dim, scale, size)
        for dim, scale, size in zip(x.shape[2:], scales[2:], sizes[2:], strict=True)
    )
    if rows is None or columns is None:
        return None
    image = g.to_nhwc(x)
    total: Value | None = None
    for upper, row in enumerate(rows):
        line = g.add("gather", [image, g.const(row.places, "rows")], {"axis": 1})
        for left, column in enumerate(columns):
            weights = column.weights[None, :, None] * row.weights[:, None, None]
            taken = g.add("gather", [line, g.const(column.places, "columns")], {"axis": 2})
            part = g.add("mul", [taken, g.const(weights, f"weights_{upper}{left}")])
            total = part if total is None else g.add("add", [total, part])
    assert total is not None
    return g.to_nchw(total)


@dataclass(frozen=True)
class _Neighbour:
    """One of the two elements between which each position of a result lies along an axis."""

    places: np.ndarray
    """int64 [size of the result]"""
    weights: np.ndarray
    """float32, the same"""


def _half_pixel(x: np.ndarray, scale: np.float32, size: int) -> np.ndarray:
    half = np.float32(0.5)
    return (x + half) / scale - half


_MOST_PLACES = 1 << 24
"""Of a longer dimension the places are not computed in advance; there is no model like this."""

_PLACES: Mapping[str, Callable[[np.ndarray, np.float32, int], np.ndarray]] = {
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": lambda x, scale, size: _half_pixel(x, scale, size) if len(x) > 1 else x,
    "asymmetric": lambda x, scale, size: x / scale,
    "align_corners": lambda x, scale, size: x * np.float32(size - 1) / np.float32(len(x) - 1) if len(x) > 1 else x,
}
"""Where positions of a result lie in an input of some size."""


def _neighbours(transform: str, dim: Dim, scale: float, size: object) -> tuple[_Neighbour, _Neighbour] | None:
    if not isinstance(dim, int) or dim == 0 or not isinstance(size, int):
        return None
    factor = np.float32(scale) if size == -1 else np.float32(size) / np.float32(dim)
    count = int(np.floor(np.float32(dim) * factor)) if size == -1 else size
    if not 0 < count <= _MOST_PLACES:
        return None
    x = np.arange(count, dtype=np.float32)
    x = x if factor == 1 else _PLACES[transform](x, factor, dim)
    x = np.clip(x, np.float32(0), np.float32(dim - 1))
    first = x.astype(np.int64)
    second = np.minimum(first + 1, dim - 1)
    to_first, to_second = np.abs(x - first.astype(np.float32)), np.abs(x - second.astype(np.float32))
    to_first[first == second] = to_second[first == second] = np.float32(0.5)
    return _Neighbour(first, to_second), _Neighbour(second, to_first)
