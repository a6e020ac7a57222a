"""resize; meaning in ``nnacl_kernels/image/image.h``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType, Value
from . import OpDef, QuantRule, Sample, Tolerance, register, sampling
from .data import any_array
from .quant_rules import Materialized
from .shape_rules import MAX_RANK, data_input, fresh_dim, integers_of, length_of, require, require_dtype
from .traced_sizes import Traced, traced_sizes

Attrs = Mapping[str, Any]

NEAREST, LINEAR, CUBIC = range(3)
"""Values of the attribute ``mode``."""
(
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    HALF_PIXEL_FOR_NN,
    CROP,
) = range(7)
"""Values of the attribute ``transform``."""
PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL = range(4)
"""Values of the attribute ``nearest_mode``."""
EVEN, FIXED, UNSIGNED = range(3)
"""Values of the attribute ``arithmetic``."""
STRETCH, NOT_LARGER, NOT_SMALLER = range(3)
"""Values of the attribute ``aspect``."""

_INTERPOLATED = (DType.f32, DType.s8, DType.u8, DType.s16)
_HALF = np.float32(0.5)
_ZERO, _ONE = np.float32(0), np.float32(1)


@dataclass(frozen=True)
class _Axis:
    """How one dimension is sampled."""

    size: int
    """Of x."""
    count: int
    """Of y."""
    factor: np.float32
    length: np.float32
    """The size of y before it is rounded down."""
    begin: np.float32 = _ZERO
    end: np.float32 = _ONE

    @property
    def stays(self) -> bool:
        return self.count == self.size and self.factor == 1 and self.begin == 0 and self.end == 1


# Sizes.


def _spread(values: Sequence[Any], axes: Sequence[int], rank: int, default: Any) -> list[Any]:
    """One value for each dimension."""
    spread = [default] * rank
    for axis, value in zip(axes, values, strict=True):
        spread[axis] = value
    return spread


def _axes(attrs: Attrs, rank: int) -> list[int]:
    return list(attrs["axes"]) or list(range(rank))


def _scaled(dim: int, scale: np.float32) -> int:
    return int(np.floor(np.float32(dim) * scale))


def _common(sizes: Sequence[int], dims: Sequence[int], aspect: int) -> np.float32:
    """The scale of all dimensions that have a size."""
    ratios = [np.float32(size) / np.float32(dim) for size, dim in zip(sizes, dims, strict=True) if size >= 0 and dim]
    return np.float32((min if aspect == NOT_LARGER else max)(ratios, default=1.0))


def _sampled(dims: Sequence[int], scales: Sequence[Any], sizes: Sequence[int], aspect: int) -> list[_Axis]:
    common = _common(sizes, dims, aspect)
    result = []
    for dim, scale, size in zip(dims, scales, sizes, strict=True):
        if size < 0:
            factor = np.float32(scale)
            result.append(_Axis(dim, _scaled(dim, factor), factor, np.float32(np.float32(dim) * factor)))
        elif aspect == STRETCH:
            result.append(_Axis(dim, size, np.float32(size) / np.float32(max(dim, 1)), np.float32(size)))
        else:
            length = np.float32(common * np.float32(dim))
            result.append(_Axis(dim, int(np.floor(length + _HALF)), common, length))
    return result


def _floats(node: Node, index: int) -> Value | None:
    """roi or scales: f32 of one dimension; an empty one counts as absent."""
    value = node.optional_input(index)
    if value is None or value.shape == (0,):
        return None
    require_dtype(node, value, DType.f32)
    require(node, len(value.shape) == 1, f"'{value.name}' has rank {len(value.shape)}, not 1")
    return value


def _sizes_input(node: Node) -> Value | None:
    value = data_input(node, 3)
    return None if value is None or value.shape == (0,) else value


def _infer(node: Node) -> list[TensorType]:
    x, attrs = node.input(0), node.attrs
    rank = len(x.shape)
    axes = _axes(attrs, rank)
    require(node, all(0 <= axis < rank for axis in axes), f"axes {axes} are out of range for rank {rank}")
    require(node, NEAREST <= attrs["mode"] <= CUBIC and HALF_PIXEL <= attrs["transform"] <= CROP, "unknown mode")
    require(node, attrs["mode"] == NEAREST or x.dtype in _INTERPOLATED, f"{x.dtype.name} cannot be interpolated")
    has_roi = len(attrs["roi_begin"]) == len(attrs["roi_end"]) == rank or _floats(node, 1) is not None
    require(node, attrs["transform"] != CROP or has_roi, "there is no roi")
    scales, sizes = _floats(node, 2), _sizes_input(node)
    for value, entries in ((_floats(node, 1), 2 * len(axes)), (scales, len(axes)), (sizes, len(axes))):
        require(node, value is None or length_of(node, value) == entries, f"an input does not have {entries} entries")
    if scales is None and sizes is not None and sizes.data is None and attrs["aspect"] == STRETCH:
        return [TensorType(x.dtype, _traced_shape(x.shape, axes, traced_sizes(sizes)))]
    if (scales is not None and scales.data is None) or (sizes is not None and sizes.data is None):
        return [TensorType(x.dtype, tuple(fresh_dim() if i in axes else dim for i, dim in enumerate(x.shape)))]
    by_scale, by_size = _resolved(node)
    require(node, len(by_scale) == len(by_size) == rank, f"scale and size need {rank} entries")
    if attrs["aspect"] != STRETCH and not x.type.is_static:
        return [TensorType(x.dtype, tuple(fresh_dim() if size >= 0 else dim for dim, size in zip(x.shape, by_size)))]  # noqa: B905
    shape: list[Dim] = []
    for index, (dim, scale, size) in enumerate(zip(x.shape, by_scale, by_size, strict=True)):
        require(node, size >= 0 or scale > 0, f"the scale {scale} of dimension {index} is not positive")
        if isinstance(dim, int):
            shape.append(0)
        else:
            shape.append(dim if size < 0 and scale == 1 else size if size >= 0 else fresh_dim())
    if x.type.is_static:
        return [
            TensorType(
                x.dtype, tuple(a.count for a in _sampled(x.type.static_shape, by_scale, by_size, attrs["aspect"]))
            )
        ]
    known = [dim if isinstance(dim, int) else 1 for dim in x.shape]
    counts = [axis.count for axis in _sampled(known, by_scale, by_size, STRETCH)]
    return [
        TensorType(x.dtype, tuple(counts[i] if isinstance(x.shape[i], int) else dim for i, dim in enumerate(shape)))
    ]


def _traced_shape(shape: Sequence[Dim], axes: Sequence[int], sizes: Traced | None) -> tuple[Dim, ...]:
    """The shape with the sizes that come at run time along ``axes``, as far as they are known before."""
    result = list(shape)
    for axis, size in zip(axes, sizes or (None,) * len(axes), strict=True):
        result[axis] = fresh_dim() if size is None or (isinstance(size, int) and size < 0) else size
    return tuple(result)


def _resolved(node: Node) -> tuple[Sequence[Any], Sequence[int]]:
    """Scale and size of each dimension, from constant inputs or attributes."""
    rank, attrs = len(node.input(0).shape), node.attrs
    scales, sizes = _floats(node, 2), _sizes_input(node)
    axes = _axes(attrs, rank)
    if scales is None and sizes is None:
        return attrs["scale"], attrs["size"]
    by_scale = [np.float32(1)] * rank if scales is None else _spread(_values(scales), axes, rank, np.float32(1))
    return by_scale, [-1] * rank if sizes is None else _spread(integers_of(sizes) or [], axes, rank, -1)


def _values(value: Value) -> list[np.float32]:
    assert value.data is not None
    return list(value.data.astype(np.float32).reshape(-1))


def _absorb(node: Node) -> dict[str, Any] | None:
    values = [node.optional_input(index) for index in (1, 2, 3)]
    if any(value is not None and value.data is None for value in values):
        return None
    rank = len(node.input(0).shape)
    scales, sizes = _resolved(node)
    attrs: dict[str, Any] = {"scale": tuple(float(scale) for scale in scales), "size": tuple(sizes)}
    roi = _floats(node, 1)
    if roi is not None:
        axes, entries = _axes(node.attrs, rank), _values(roi)
        for name, part, default in (
            ("roi_begin", entries[: len(axes)], 0.0),
            ("roi_end", entries[len(axes) :], 1.0),
        ):
            attrs[name] = tuple(float(value) for value in _spread(part, axes, rank, default))
    return attrs


# The reference, in the steps of the kernel.


def _place(attrs: Attrs, axis: _Axis) -> np.ndarray:
    """float32 [count]: the place in x of each position of y."""
    o, n, transform = np.arange(axis.count).astype(np.float32), np.float32(axis.size), attrs["transform"]
    last = np.float32(axis.size - 1)
    if attrs["stepwise"]:
        corners = transform == ALIGN_CORNERS and axis.count > 1
        step = last / np.float32(axis.count - 1) if corners else n / np.float32(axis.count)
        if transform == HALF_PIXEL:
            return (o + _HALF) * step - _HALF
        return (o + _HALF) * step if transform == HALF_PIXEL_FOR_NN else o * step
    pixel = (o + _HALF) / axis.factor - _HALF
    if transform == HALF_PIXEL_SYMMETRIC:
        adjustment = np.float32(axis.count) / axis.length
        return n / np.float32(2) * (_ONE - adjustment) + pixel
    if transform == PYTORCH_HALF_PIXEL:
        return pixel if axis.length > 1 else np.zeros_like(o)
    if transform == ALIGN_CORNERS:
        return o * last / (axis.length - _ONE) if axis.length > 1 else np.zeros_like(o)
    if transform == ASYMMETRIC:
        return o / axis.factor
    if transform == HALF_PIXEL_FOR_NN:
        return (o + _HALF) / axis.factor
    if transform == CROP:
        if axis.length > 1:
            return axis.begin * last + o * (axis.end - axis.begin) * last / (axis.length - _ONE)
        return np.full_like(o, _HALF * (axis.begin + axis.end) * last)
    return pixel


def _cubic_weight(distance: np.ndarray, attrs: Attrs) -> np.ndarray:
    d, a = np.abs(distance), np.float32(attrs["cubic_a"])
    two, three, four, five, eight = (np.float32(number) for number in (2, 3, 4, 5, 8))
    if attrs["mode"] == LINEAR:
        return np.where(d < 1, _ONE - d, np.float32(0)).astype(np.float32)
    near = ((a + two) * d - (a + three)) * d * d + _ONE
    far = ((a * d - five * a) * d + eight * a) * d - four * a
    return np.where(d <= 1, near, np.where(d < 2, far, np.float32(0))).astype(np.float32)


def _window(attrs: Attrs, axis: _Axis, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    reach = np.float32(2 if attrs["mode"] == CUBIC else 1)
    narrow = min(axis.factor, _ONE) if attrs["antialias"] else _ONE
    taps = 2 - 2 * (int(np.floor(-reach / narrow)) + 1)
    elements = (np.ceil(place) - _ONE)[:, None] + (np.arange(taps) + 1 - taps // 2).astype(np.float32)
    weights = _cubic_weight((elements - place[:, None]) * narrow, attrs)
    if attrs["exclude_outside"]:
        weights = np.where((elements < 0) | (elements > axis.size - 1), np.float32(0), weights)
    if attrs["exclude_outside"] or attrs["antialias"]:
        total = np.zeros(axis.count, np.float32)
        for t in range(taps):
            total += weights[:, t]
        weights = weights / total[:, None]
    return np.clip(elements, 0, axis.size - 1).astype(np.int64), weights.astype(np.float32)


_ROUNDINGS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    PREFER_FLOOR: lambda place: np.ceil(place - _HALF),
    PREFER_CEIL: lambda place: np.floor(place + _HALF),
    FLOOR: np.floor,
    CEIL: np.ceil,
}


def _taps(attrs: Attrs, axis: _Axis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices and weights [count, taps] of one dimension, and which positions lie outside of roi."""
    inside = np.zeros(axis.count, np.bool_)
    if axis.stays:
        return np.arange(axis.count)[:, None], np.ones((axis.count, 1), np.float32), inside
    place, last = _place(attrs, axis), np.float32(axis.size - 1)
    outside = (place < 0) | (place > last) if attrs["transform"] == CROP else inside
    if attrs["mode"] == NEAREST:
        index = np.clip(_ROUNDINGS[attrs["nearest_mode"]](place), 0, last).astype(np.int64)
        return index[:, None], np.ones((axis.count, 1), np.float32), outside
    if attrs["mode"] == CUBIC or attrs["antialias"]:
        return (*_window(attrs, axis, place), outside)
    if not attrs["stepwise"]:
        place = np.clip(place, np.float32(0), last)
    low = np.clip(np.floor(place), 0, last)
    high = np.clip(np.ceil(place) if attrs["stepwise"] else np.floor(place) + _ONE, 0, last)
    far = place - low
    return np.stack([low, high], 1).astype(np.int64), np.stack([_ONE - far, far], 1).astype(np.float32), outside


def _fixed_taps(attrs: Attrs, axis: _Axis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with weights in 1/1024."""
    inside = np.zeros(axis.count, np.bool_)
    if axis.stays:
        return np.arange(axis.count)[:, None], np.full((axis.count, 1), 1024, np.int64), inside
    corners = attrs["transform"] == ALIGN_CORNERS and axis.count > 1
    above, below = (axis.size - 1, axis.count - 1) if corners else (axis.size, axis.count)
    step = (1024 * above + below // 2) // below
    place = np.arange(axis.count, dtype=np.int64) * step + (step // 2 - 512 if attrs["transform"] == HALF_PIXEL else 0)
    # C divides towards zero, so that positions before the first element have it as both neighbours.
    low = np.maximum(np.sign(place) * (np.abs(place) // 1024), 0)
    high = np.sign(place + 1023) * (np.abs(place + 1023) // 1024)
    far = place - 1024 * low
    index = np.minimum(np.stack([low, high], 1), axis.size - 1)
    return index, np.stack([1024 - far, far], 1), inside


def _reference(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, roi, scales, sizes = (*inputs, None, None, None)[:4]
    assert x is not None
    axes = _reference_axes(x, roi, scales, sizes, attrs)
    fixed = attrs["mode"] != NEAREST and attrs["arithmetic"] == FIXED
    tables = [_fixed_taps(attrs, axis) if fixed else _taps(attrs, axis) for axis in axes]
    shape = tuple(axis.count for axis in axes)
    if attrs["mode"] == NEAREST:
        y = x[np.ix_(*(index[:, 0] for index, _, _ in tables))] if x.ndim else x
    else:
        y = _finished(_sums(x, tables, attrs, fixed), x.dtype, attrs, axes, fixed)
    outside = np.zeros(shape, np.bool_)
    for i, (_, _, flags) in enumerate(tables):
        outside |= flags.reshape([-1 if k == i else 1 for k in range(x.ndim)])
    return [np.where(outside, np.asarray(attrs["extrapolation"]).astype(x.dtype), y).astype(x.dtype)]


def _reference_axes(
    x: np.ndarray, roi: np.ndarray | None, scales: np.ndarray | None, sizes: np.ndarray | None, attrs: Attrs
) -> list[_Axis]:
    rank, axes = x.ndim, _axes(attrs, x.ndim)
    by_scale, by_size = attrs["scale"], attrs["size"]
    if (scales is not None and scales.size) or (sizes is not None and sizes.size):
        has_scales, has_sizes = scales is not None and scales.size, sizes is not None and sizes.size
        by_scale = _spread(scales.tolist(), axes, rank, 1.0) if has_scales else [1.0] * rank  # type: ignore[union-attr]
        by_size = _spread(sizes.tolist(), axes, rank, -1) if has_sizes else [-1] * rank  # type: ignore[union-attr]
    begins, ends = attrs["roi_begin"] or [0.0] * rank, attrs["roi_end"] or [1.0] * rank
    if roi is not None and roi.size:
        begins = _spread(roi[: len(axes)].tolist(), axes, rank, 0.0)
        ends = _spread(roi[len(axes) :].tolist(), axes, rank, 1.0)
    if attrs["transform"] != CROP:
        begins, ends = [0.0] * rank, [1.0] * rank
    return [
        _Axis(axis.size, axis.count, axis.factor, axis.length, np.float32(begin), np.float32(end))
        for axis, begin, end in zip(_sampled(x.shape, by_scale, by_size, attrs["aspect"]), begins, ends, strict=True)
    ]


def _sums(x: np.ndarray, tables: Sequence[tuple[Any, ...]], attrs: Attrs, fixed: bool) -> np.ndarray:
    """Weighted sums, added up in the order of the kernel."""
    kind = np.int64 if fixed else np.float64 if x.dtype == np.float64 else np.float32
    number = x.astype(np.int64) + 128 if attrs["arithmetic"] == UNSIGNED and not fixed else x
    number = number.astype(kind)
    total = np.zeros(tuple(index.shape[0] for index, _, _ in tables), kind)
    for combination in itertools.product(*(range(index.shape[1]) for index, _, _ in tables)):
        factor: Any = np.ones((1,) * x.ndim, kind)
        for i, ((_, weight, _), tap) in enumerate(zip(tables, combination, strict=True)):
            factor = factor * weight[:, tap].reshape([-1 if k == i else 1 for k in range(x.ndim)])
        picked = number[np.ix_(*(index[:, tap] for (index, _, _), tap in zip(tables, combination, strict=True)))]
        total += (factor * picked).astype(kind)
    return total


def _finished(total: np.ndarray, dtype: np.dtype, attrs: Attrs, axes: Sequence[_Axis], fixed: bool) -> np.ndarray:
    """Sums as elements."""
    if dtype.kind == "f":
        return total
    info = np.iinfo(dtype)
    if fixed:
        half = 1 << (10 * len(axes) - 1)
        rounded = np.where(total > 0, total + half, total - half)
        return np.sign(rounded) * (np.abs(rounded) >> (10 * len(axes)))
    if attrs["arithmetic"] == UNSIGNED:
        return np.clip(np.trunc(total + _HALF).astype(np.int64) - 128, info.min, info.max)
    return np.clip(np.rint(total), info.min, info.max)


# Samples.


def _sample(rng: np.random.Generator) -> Sample:
    kind = int(rng.integers(5))
    shape = sampling.shape(rng, sampling.size(rng, 1, 4), 6)
    mode = NEAREST if kind == 4 else LINEAR if rng.integers(3) else CUBIC
    if mode == NEAREST:
        x = any_array(rng, shape)
    else:
        dtype = (np.float32, np.int8, np.uint8, np.int16)[kind]
        x = sampling.floats(rng, shape) if dtype is np.float32 else sampling.integers(rng, shape, dtype)
    attrs: dict[str, Any] = {
        "mode": mode,
        "transform": int(rng.integers(7)),
        "nearest_mode": int(rng.integers(4)),
        "exclude_outside": int(rng.integers(2)),
        "antialias": int(rng.integers(2)),
        "cubic_a": -0.5 if rng.integers(2) else -0.75,
    }
    if mode == LINEAR and x.dtype != np.uint8 and rng.integers(3) == 0:
        return _stepwise_sample(rng, x)
    if attrs["transform"] == CROP:
        attrs["extrapolation"] = float(rng.integers(2) if x.dtype == np.bool_ else rng.integers(100))
    return _sized_sample(rng, x, attrs)


def _sized_sample(rng: np.random.Generator, x: np.ndarray, attrs: dict[str, Any]) -> Sample:
    """With scales or sizes, as attributes or inputs."""
    rank = x.ndim
    axes = [int(axis) for axis in rng.permutation(rank)[: sampling.size(rng, 1, min(rank, 2))]]
    scales = [np.float32(rng.choice([1.0, 2.0, 0.6, 1.5, 2.5])) for _ in axes]
    scales = [scale if x.shape[axis] * scale >= 1 else np.float32(2) for axis, scale in zip(axes, scales, strict=True)]
    sizes = [sampling.size(rng, 1, 9) for _ in axes]
    roi = rng.uniform(-0.2, 1.2, 2 * len(axes)).astype(np.float32)
    by_size = bool(rng.integers(2))
    if by_size:
        attrs["aspect"] = int(rng.integers(3)) if rng.integers(3) == 0 else STRETCH
        if min(sizes) / max(x.shape) * min(x.shape) < 1:
            attrs["aspect"] = STRETCH
    if rng.integers(2):
        attrs["axes"] = tuple(axes)
        given = roi if attrs["transform"] == CROP else None
        if by_size:
            return Sample([x, given, None, sampling.index_vector(rng, sizes)], attrs)
        return Sample([x, given, np.array(scales, np.float32)], attrs)
    attrs["scale"] = tuple(float(v) for v in _spread([1.0] * len(axes) if by_size else scales, axes, rank, 1.0))
    attrs["size"] = tuple(_spread(sizes if by_size else [-1] * len(axes), axes, rank, -1))
    if attrs["transform"] == CROP:
        attrs["roi_begin"] = tuple(float(v) for v in _spread(list(roi[: len(axes)]), axes, rank, 0.0))
        attrs["roi_end"] = tuple(float(v) for v in _spread(list(roi[len(axes) :]), axes, rank, 1.0))
    return Sample([x], attrs)


def _stepwise_sample(rng: np.random.Generator, x: np.ndarray) -> Sample:
    """As TFLite resizes height and width."""
    x = np.resize(x, (1, *sampling.shape(rng, 3, 6)))
    transform = (HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC)[int(rng.integers(3))]
    choices = {np.dtype(np.int8): (FIXED, UNSIGNED), np.dtype(np.int16): (FIXED,)}.get(x.dtype, (EVEN,))
    size = (-1, sampling.size(rng, 1, 9), sampling.size(rng, 1, 9), -1)
    attrs = {"mode": LINEAR, "transform": transform, "stepwise": 1, "size": size, "scale": (1.0,) * 4}
    return Sample([x], {**attrs, "arithmetic": int(rng.choice(choices))})


def _materialize(node: Node, contract: str) -> Materialized:
    return {}, {}


_FULL = (1.0,) * MAX_RANK

register(
    OpDef(
        name="resize",
        inputs=("x", "roi?", "scales?", "sizes?"),
        infer=_infer,
        reference=_reference,
        samples=_sample,
        attrs={
            "mode": NEAREST,
            "transform": HALF_PIXEL,
            "nearest_mode": PREFER_FLOOR,
            "aspect": STRETCH,
            "antialias": 0,
            "exclude_outside": 0,
            "cubic_a": -0.75,
            "extrapolation": 0.0,
            "stepwise": 0,
            "arithmetic": EVEN,
            "scale": (),
            "size": (),
            "roi_begin": (),
            "roi_end": (),
            "n_axes": 0,
            "axes": (),
        },
        lengths={"n_axes": "axes"},
        data_inputs=("roi", "scales", "sizes"),
        absorb=_absorb,
        quant=QuantRule("same", materialize=_materialize),
        tolerance=Tolerance(1e-5, 1e-5),
        doc="x sampled at other places along its dimensions: nearest, linear or cubic.",
    ),
)
