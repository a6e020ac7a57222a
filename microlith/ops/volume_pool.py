"""Pools over one to three dimensions; see ``nnacl_kernels/volume/volume.h``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import EXACT, REQUIRED, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .data import any_array
from .quant_rules import Materialized
from .shape_rules import (
    data_input,
    fresh_dim,
    integers_of,
    length_of,
    require,
    require_dtype,
    require_equal,
    window_dim,
)
from .volume import WINDOW_ATTRS, draw_window, per_axis, spatial_rank, windows

Attrs = Mapping[str, Any]

_ATTRS: dict[str, Any] = {"kernel": (0, 0, 0), **WINDOW_ATTRS, "extra": (0, 0, 0)}


def _is_global(attrs: Attrs) -> bool:
    return not any(attrs["kernel"])


def _pooled_shape(node: Node) -> tuple[Dim, ...]:
    x, attrs, rank = node.input(0), node.attrs, spatial_rank(node)
    if _is_global(attrs):
        require(node, tuple(attrs["stride"]) == (1, 1, 1), "a pool over the whole of x has strides")
        require(node, not any((*attrs["pad_before"], *attrs["pad_after"])), "a pool over the whole of x has padding")
        return (x.shape[0], *(1,) * rank, x.shape[-1])
    require(node, tuple(attrs["kernel"])[: 3 - rank] == (1,) * (3 - rank), "kernel has too many dimensions")
    shape: list[Dim] = [x.shape[0]]
    kernel, extra = attrs["kernel"][3 - rank :], attrs["extra"][3 - rank :]
    for size, k, more, axis in zip(x.shape[1:-1], kernel, extra, per_axis(attrs, rank), strict=True):
        stride, before, after, dilation = axis
        shape.append(window_dim(node, size, k, stride, before, after, dilation, more))
    return (*shape, x.shape[-1])


def _infer_max(node: Node) -> list[TensorType]:
    dtype = require_dtype(node, node.input(0), DType.f32, DType.s8, DType.u8)
    shape = _pooled_shape(node)
    types = [TensorType(dtype, shape), TensorType(DType.s64, shape)]
    return types if node.attrs["with_indices"] else types[:1]


def _infer_float(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.f32)
    return [TensorType(DType.f32, _pooled_shape(node))]


def _pool_windows(x: np.ndarray, attrs: Attrs, filler: float, outside: float) -> np.ndarray:
    """A view [batch, out.., channels, kernel..] of x with ``filler`` in its padding and ``outside`` past that."""
    rank = x.ndim - 2
    kernel = x.shape[1:-1] if _is_global(attrs) else attrs["kernel"][3 - rank :]
    axes = per_axis(attrs, rank)
    padded = np.pad(x, ((0, 0), *((before, after) for _, before, after, _ in axes), (0, 0)), constant_values=filler)
    extra = ((0, 0), *((0, more) for more in attrs["extra"][3 - rank :]), (0, 0))
    return windows(np.pad(padded, extra, constant_values=outside), kernel, axes)


def _reference_max(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    rank = x.ndim - 2
    lowest = -np.inf if x.dtype == np.float32 else np.iinfo(x.dtype).min
    taps = _pool_windows(x, attrs, lowest, lowest)
    taps = taps.reshape(*taps.shape[: rank + 2], -1)
    y = taps.max(axis=-1)
    if not attrs["with_indices"]:
        return [y]
    numbers = np.arange(x.size, dtype=np.int64).reshape(x.shape[0], x.shape[-1], -1)
    order = "F" if attrs["column_major"] else "C"
    planes = [[row.reshape(x.shape[1:-1], order=order) for row in image] for image in numbers]
    places = np.moveaxis(np.array(planes, np.int64).reshape(x.shape[0], x.shape[-1], *x.shape[1:-1]), 1, -1)
    views = _pool_windows(places, attrs, -1, -1)
    views = views.reshape(*views.shape[: rank + 2], -1)
    hits = (taps == y[..., None]) & (views >= 0)
    picked = np.take_along_axis(views, hits.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    return [y, np.where(hits.any(axis=-1), picked, 0)]


def _reference_avg(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    axes = tuple(range(x.ndim, 2 * x.ndim - 2))
    total = _pool_windows(x.astype(np.float64), attrs, 0, 0).sum(axis=axes)
    ones = np.ones((1, *x.shape[1:-1], 1))
    count = _pool_windows(ones, attrs, float(attrs["count_include_pad"]), 0).sum(axis=axes)
    return [(total / np.maximum(count, 1)).astype(x.dtype)]


def _reference_lp(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    power = np.abs(x.astype(np.float64)) ** attrs["p"]
    total = _pool_windows(power, attrs, 0, 0).sum(axis=tuple(range(x.ndim, 2 * x.ndim - 2)))
    return [(total ** (1.0 / attrs["p"])).astype(x.dtype)]


def _draw_pool(rng: np.random.Generator) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The shape of x and window attributes."""
    rank = sampling.size(rng, 1, 3)
    kernel, attrs = draw_window(rng, rank)
    spatial = [(k - 1) * 2 + sampling.size(rng, 1, 4) for k in kernel]
    shape = (sampling.size(rng, 1, 2), *spatial, sampling.size(rng, 1, 9))
    if rng.integers(6) == 0:
        return shape, {}
    extra = [int(rng.integers(stride)) for stride in attrs["stride"][3 - rank :]]
    return shape, {**attrs, "kernel": (1,) * (3 - rank) + tuple(kernel), "extra": (0,) * (3 - rank) + tuple(extra)}


def _sample_max(rng: np.random.Generator) -> Sample:
    shape, attrs = _draw_pool(rng)
    dtype = (np.float32, np.int8, np.uint8)[int(rng.integers(3))]
    x = sampling.integers(rng, shape, dtype) if dtype is not np.float32 else sampling.floats(rng, shape)
    return Sample([x], {**attrs, "with_indices": int(rng.integers(2)), "column_major": int(rng.integers(2))})


def _samples(more: Callable[[np.random.Generator], dict[str, Any]]) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        shape, attrs = _draw_pool(rng)
        return Sample([sampling.floats(rng, shape)], {**attrs, **more(rng)})

    return draw


def _materialize_max(node: Node, contract: str) -> Materialized:
    return {}, {}


# max_unpool


def _infer_unpool(node: Node) -> list[TensorType]:
    x, indices, given = node.input(0), node.input(1), data_input(node, 2)
    require_dtype(node, indices, DType.s64)
    require(node, len(indices.shape) == len(x.shape), "x and the indices have different ranks")
    for axis, (dim, wanted) in enumerate(zip(indices.shape, x.shape, strict=True)):
        require_equal(node, dim, wanted, f"dimension {axis} of the indices")
    require(node, len(node.attrs["indexed"]) == len(x.shape), f"indexed needs {len(x.shape)} entries")
    shape = node.attrs["shape"] if given is None else integers_of(given)
    if given is not None:
        require(node, length_of(node, given) == len(x.shape), f"the shape needs {len(x.shape)} entries")
    if shape is None:
        return [TensorType(x.dtype, tuple(fresh_dim() for _ in x.shape))]
    require(node, len(shape) == len(x.shape) and min(shape, default=0) >= 0, f"the shape {list(shape)} does not fit")
    return [TensorType(x.dtype, tuple(shape))]


def _absorb_unpool(node: Node) -> dict[str, Any] | None:
    known = integers_of(node.optional_input(2))
    return None if known is None else {"shape": tuple(known)}


def _reference_unpool(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, indices, given = (*inputs, None)[:3]
    assert x is not None and indices is not None
    shape = tuple(attrs["shape"] if given is None else given.reshape(-1).tolist())
    y = np.zeros(shape, x.dtype)
    for value, index in zip(x.reshape(-1), indices.reshape(-1).tolist(), strict=True):
        if 0 <= index < math.prod(attrs["indexed"]):
            place = np.unravel_index(index, attrs["indexed"])
            if all(at < size for at, size in zip(place, shape, strict=True)):
                y[place] = value
    return [y]


def _sample_unpool(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, sampling.size(rng, 1, 4), 4))
    indexed = tuple(dim + int(rng.integers(3)) for dim in x.shape)
    indices = rng.integers(-1, math.prod(indexed) + 1, x.shape)
    shape = tuple(max(dim + int(rng.integers(-1, 3)), 0) for dim in indexed)
    if rng.integers(2):
        return Sample([x, indices], {"indexed": indexed, "shape": shape})
    return Sample([x, indices, sampling.index_vector(rng, shape)], {"indexed": indexed})


register(
    OpDef(
        name="max_pool_nd",
        inputs=("x",),
        outputs=("y", "indices"),
        infer=_infer_max,
        reference=_reference_max,
        samples=_sample_max,
        attrs={**_ATTRS, "with_indices": 0, "column_major": 0},
        quant=QuantRule("same", materialize=_materialize_max),
        tolerance=EXACT,
        doc="The largest element under each window over one to three dimensions, and where it is.",
    ),
    OpDef(
        name="avg_pool_nd",
        inputs=("x",),
        infer=_infer_float,
        reference=_reference_avg,
        samples=_samples(lambda rng: {"count_include_pad": int(rng.integers(2))}),
        attrs={**_ATTRS, "count_include_pad": 0, "p": 1},
        tolerance=Tolerance(1e-6, 1e-6),
        doc="The mean under each window over one to three dimensions.",
    ),
    OpDef(
        name="lp_pool",
        inputs=("x",),
        infer=_infer_float,
        reference=_reference_lp,
        samples=_samples(lambda rng: {"p": sampling.size(rng, 1, 4)}),
        attrs={**_ATTRS, "p": 2},
        tolerance=Tolerance(2e-6, 1e-6),
        doc="The p-norm of each window over one to three dimensions.",
    ),
    OpDef(
        name="max_unpool",
        inputs=("x", "indices", "shape?"),
        infer=_infer_unpool,
        reference=_reference_unpool,
        samples=_sample_unpool,
        attrs={"indexed": REQUIRED, "shape": ()},
        data_inputs=("shape",),
        absorb=_absorb_unpool,
        doc="Zeros, but for the elements of x where their indices say.",
    ),
)
