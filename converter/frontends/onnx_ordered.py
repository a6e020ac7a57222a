"""Convolutions, products and means whose sums are to run in the order of ONNX Runtime (``Builder.as_written``).

Each function returns None where no such order is known; the node is then converted as always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Value
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
    attrs = {"transposed": int(transposed), "packed": int(packed and not vector), "vector": int(vector)}
    b = g.reshape(b, (b.shape[0], 1)) if vector else g.transpose(b, (1, 0)) if transposed else b
    y = g.add("matmul_ordered", [g.reshape(a, (1, a.shape[0])) if rank == 1 else a, b, bias], attrs)
    if rank > 1 and not vector:
        return y
    return g.reshape(y, (*(y.shape[:-1] if rank > 1 else ()), *(() if vector else y.shape[-1:])))


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


def average_pool(g: Builder, x: Value, attrs: Mapping[str, object], spatial: int) -> Value | None:
    """x NCHW; ``attrs`` are those of avg_pool2d. The result is NCHW."""
    names = ("extra_bottom", "extra_right", "dilation_h", "dilation_w")
    if not g.as_written or x.dtype is not DType.f32 or spatial != 2 or [attrs[name] for name in names] != [0, 0, 1, 1]:
        return None
    steps = [attrs[name] for name in ("stride_h", "stride_w")]
    pads = [attrs[f"pad_{side}"] for side in ("top", "left", "bottom", "right")]
    if (attrs["kernel_h"], attrs["kernel_w"]) == x.shape[2:] and steps == [1, 1] and not any(pads):
        return mean(g, x, (2, 3), True, pool=True, total=False)
    own = {name: value for name, value in attrs.items() if name not in names}
    return g.to_nchw(g.add("avg_pool2d_ordered", [g.to_nhwc(x)], own))


def hard_sigmoid(g: Builder, x: Value, alpha: float, beta: float) -> Value | None:
    """The smallest and the largest of 0, alpha * x + beta and 1, each step rounded."""
    if not g.as_written or x.dtype is not DType.f32:
        return None
    scaled = g.add("mul", [x, g.const(np.asarray(alpha, np.float32), "alpha")])
    moved = g.add("add", [scaled, g.const(np.asarray(beta, np.float32), "beta")])
    return g.add("clip", [moved], {"alpha": 0.0, "beta": 1.0})
