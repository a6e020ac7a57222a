"""Ops around sizes: shapes read, dimensions of 1 moved, repeating, dividing; see ``nnacl_kernels/data/data.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType, Value
from . import REQUIRED, OpDef, Sample, register, sampling
from .data import SAME, any_array, input_and_option, moving_op
from .reduce import axes_of, mask_of
from .shape_rules import (
    MAX_RANK,
    data_input,
    fresh_dim,
    integers_of,
    length_of,
    multiply_dims,
    normal_axis,
    require,
    require_dtype,
    require_equal,
    rest_of_sum,
)
from .traced_sizes import traced_sizes

Attrs = Mapping[str, Any]
Optionals = Sequence["np.ndarray | None"]

MAX_OUTPUTS = 64
"""NNACL_MAX_OUTPUTS."""

WIDTHS = (DType.s32, DType.s64)
"""Element types of sizes."""


# squeeze, unsqueeze


def _mask(node: Node, rank: int, more: int) -> int | None:
    """The mask of axes from the attribute or input 1; None when the input is not constant. ``more`` is added to the
    rank for each axis."""
    given = data_input(node, 1)
    if given is None:
        return int(node.attrs["axes"])
    rank += more * length_of(node, given)
    known = integers_of(given)
    if known is None:
        return None
    axes = [normal_axis(node, axis, rank) for axis in known]
    require(node, len(set(axes)) == len(axes), "an axis is there twice")
    return mask_of(axes, rank)


def _infer_squeeze(node: Node) -> list[TensorType]:
    x = node.input(0)
    mask = _mask(node, len(x.shape), 0)
    if mask is None:
        rank = len(x.shape) - length_of(node, node.input(1))
        require(node, rank >= 0, "there are more axes than dimensions")
        return [TensorType(x.dtype, tuple(fresh_dim() for _ in range(rank)))]
    require(node, 0 <= mask < 1 << len(x.shape), f"axes {mask:#b} are out of range for rank {len(x.shape)}")
    for axis in axes_of(mask, len(x.shape)):
        require_equal(node, x.shape[axis], 1, f"dimension {axis}, which is squeezed,")
    return [TensorType(x.dtype, tuple(dim for axis, dim in enumerate(x.shape) if not mask >> axis & 1))]


def _infer_unsqueeze(node: Node) -> list[TensorType]:
    x = node.input(0)
    mask = _mask(node, len(x.shape), 1)
    if mask is None:
        rank = len(x.shape) + length_of(node, node.input(1))
        require(node, rank <= MAX_RANK, f"rank {rank} is above {MAX_RANK}")
        return [TensorType(x.dtype, tuple(fresh_dim() for _ in range(rank)))]
    rank = len(x.shape) + mask.bit_count() if mask >= 0 else 0
    require(node, 0 <= mask < 1 << rank <= 1 << MAX_RANK, f"axes {mask:#b} are out of range")
    rest = iter(x.shape)
    return [TensorType(x.dtype, tuple(1 if mask >> axis & 1 else next(rest) for axis in range(rank)))]


def _absorb_squeeze(node: Node) -> dict[str, Any] | None:
    mask = _mask(node, len(node.input(0).shape), 0)
    return None if mask is None else {"axes": mask}


def _absorb_unsqueeze(node: Node) -> dict[str, Any] | None:
    mask = _mask(node, len(node.input(0).shape), 1)
    return None if mask is None else {"axes": mask}


def _reference_squeeze(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, given = input_and_option(inputs)
    axes = axes_of(attrs["axes"], x.ndim) if given is None else tuple(given.reshape(-1).tolist())
    return [np.squeeze(x, axes)]


def _reference_unsqueeze(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, given = input_and_option(inputs)
    axes = axes_of(attrs["axes"], MAX_RANK) if given is None else tuple(given.reshape(-1).tolist())
    return [np.expand_dims(x, axes)]


def _sample_unsqueeze(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng))
    rank = x.ndim + sampling.size(rng, 1, 2)
    axes = rng.permutation(rank)[: rank - x.ndim]
    if rng.integers(2):
        return Sample([x, sampling.index_vector(rng, axes - rank)], {})
    return Sample([x], {"axes": mask_of(axes.tolist(), rank)})


def _sample_squeeze(rng: np.random.Generator) -> Sample:
    grown = _sample_unsqueeze(rng)
    x = _reference_unsqueeze(grown.inputs, {"axes": 0, **grown.attrs})[0]
    return Sample([x, *grown.inputs[1:]], grown.attrs)


# tile


def _infer_tile(node: Node) -> list[TensorType]:
    x, given = node.input(0), data_input(node, 1)
    repeats: Sequence[int] | None = node.attrs["repeats"]
    if given is not None:
        require(node, length_of(node, given) == len(x.shape), "repeats needs one entry for each dimension")
        repeats = integers_of(given)
    if repeats is None:
        return [TensorType(x.dtype, tuple(fresh_dim() for _ in x.shape))]
    require(node, len(repeats) == len(x.shape), "repeats needs one entry for each dimension")
    require(node, min(repeats, default=0) >= 0, "a repetition is negative")
    return [
        TensorType(x.dtype, tuple(multiply_dims([dim, count]) for dim, count in zip(x.shape, repeats, strict=True)))
    ]


def _absorb_tile(node: Node) -> dict[str, Any] | None:
    known = integers_of(node.optional_input(1))
    return None if known is None else {"repeats": tuple(known)}


def _reference_tile(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, given = input_and_option(inputs)
    return [np.tile(x, tuple(attrs["repeats"] if given is None else given.reshape(-1).tolist()))]


def _sample_tile(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, high=5))
    repeats = tuple(int(rng.choice([0, 1, 1, 1, 2, 2, 3], p=[0.04, *[0.16] * 6])) for _ in x.shape)
    if rng.integers(2):
        return Sample([x, sampling.index_vector(rng, repeats)], {})
    return Sample([x], {"repeats": repeats})


# split

EQUAL = -1
"""In all of ``sizes``: the pieces are equal."""


def _infer_split(node: Node) -> list[TensorType]:
    x, given = node.input(0), data_input(node, 1)
    axis, sizes = node.attrs["axis"], list(node.attrs["sizes"])
    require(node, 0 <= axis < len(x.shape), f"axis {axis} is out of range for rank {len(x.shape)}")
    require(node, 1 <= len(sizes) <= MAX_OUTPUTS, f"{len(sizes)} outputs; 1 to {MAX_OUTPUTS} are possible")
    require(node, given is None or length_of(node, given) == len(sizes), f"there must be {len(sizes)} sizes")
    dim = x.shape[axis]
    known = sizes if given is None else integers_of(given)
    pieces: list[Dim]
    if known is None or (EQUAL in known and isinstance(dim, str)):
        pieces = [fresh_dim() for _ in sizes]
    else:
        exact = _pieces(known, dim) if isinstance(dim, int) else known
        require(node, min(exact) >= 0, "a size is negative")
        require_equal(node, sum(exact), dim, "the sum of the sizes")
        pieces = list(exact)
    return [TensorType(x.dtype, (*x.shape[:axis], piece, *x.shape[axis + 1 :])) for piece in pieces]


def _pieces(sizes: Sequence[int], dim: int) -> list[int]:
    """The sizes of the pieces of a known dimension."""
    if EQUAL not in sizes:
        return list(sizes)
    piece = -(-dim // len(sizes))
    return [max(min(piece, dim - index * piece), 0) for index in range(len(sizes))]


def _absorb_split(node: Node) -> dict[str, Any] | None:
    known = integers_of(node.optional_input(1))
    return None if known is None else {"sizes": tuple(known), "n_sizes": len(known)}


def _reference_split(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, given = input_and_option(inputs)
    sizes = attrs["sizes"] if given is None else given.reshape(-1).tolist()
    stops = np.cumsum(_pieces(sizes, x.shape[attrs["axis"]]))[:-1]
    return [np.ascontiguousarray(piece) for piece in np.split(x, stops, axis=attrs["axis"])]


def _sample_split(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng))
    axis, count = int(rng.integers(x.ndim)), sampling.size(rng, 1, 5)
    cuts = np.sort(rng.integers(0, x.shape[axis] + 1, count - 1))
    sizes = np.diff([0, *cuts, x.shape[axis]])
    choice = rng.integers(3)
    attrs = {"axis": axis, "sizes": tuple(int(size) for size in sizes) if choice == 0 else (EQUAL,) * count}
    return Sample([x, sampling.index_vector(rng, sizes)] if choice == 1 else [x], attrs)


# shape, size


def _positions(attrs: Attrs, rank: int) -> slice:
    start, end = (min(max(p + rank if p < 0 else p, 0), rank) for p in (attrs["start"], attrs["end"]))
    return slice(start, end)


def _target(node: Node) -> DType:
    require(node, node.attrs["to"] in [dtype.value for dtype in WIDTHS], "sizes are s32 or s64")
    return DType(node.attrs["to"])


def _infer_shape(node: Node) -> list[TensorType]:
    shape = node.input(0).shape
    return [TensorType(_target(node), (len(shape[_positions(node.attrs, len(shape))]),))]


def _reference_shape(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    shape = inputs[0].shape
    return [np.asarray(shape[_positions(attrs, len(shape))], DType(attrs["to"]).numpy)]


def _sample_shape(rng: np.random.Generator) -> Sample:
    attrs: dict[str, Any] = {"to": DType.s32.value if rng.integers(2) else DType.s64.value}
    if rng.integers(2):
        attrs |= {"start": int(rng.integers(-5, 4)), "end": int(rng.integers(-4, 6))}
    return Sample([any_array(rng, sampling.shape(rng, sampling.size(rng, 0, 5), 5))], attrs)


def _infer_size(node: Node) -> list[TensorType]:
    return [TensorType(_target(node), ())]


def _reference_size(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    return [np.asarray(inputs[0].size, DType(attrs["to"]).numpy)]


def _sample_size(rng: np.random.Generator) -> Sample:
    sample = _sample_shape(rng)
    return Sample(sample.inputs, {"to": sample.attrs["to"]})


# range


def _infer_range(node: Node) -> list[TensorType]:
    values = [node.input(index) for index in range(3)]
    dtype = require_dtype(node, values[0], DType.f32, *WIDTHS)
    for value in values:
        require_dtype(node, value, dtype)
        require(node, multiply_dims(value.shape) == 1, f"'{value.name}' must be one element")
    data = [value.data for value in values]
    if any(item is None for item in data):
        return [TensorType(dtype, (_traced_steps(values),))]
    start, limit, delta = (item.reshape(-1)[0].item() for item in data if item is not None)
    require(node, delta != 0 and delta == delta, "delta is 0 or not a number")
    return [TensorType(dtype, (_steps(start, limit, delta),))]


def _traced_steps(values: Sequence[Value]) -> Dim:
    """The number of steps of 1 from a size up to one that is a sum with it; else a new symbol."""
    start, limit, delta = (traced_sizes(value) for value in values)
    if start is None or limit is None or delta != (1,) or start[0] is None or limit[0] is None:
        return fresh_dim()
    rest = rest_of_sum(limit[0], start[0])
    return fresh_dim() if rest is None else rest


def _steps(start: float, limit: float, delta: float) -> int:
    """How many steps stay before ``limit``."""
    if isinstance(start, int):
        return max(-((start - limit) // delta), 0)  # type: ignore[return-value]
    return max(int(np.ceil((limit - start) / delta)), 0)


def _reference_range(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    start, limit, delta = (array.reshape(-1)[0] for array in inputs)
    steps = np.arange(_steps(start.item(), limit.item(), delta.item())).astype(start.dtype)
    return [np.asarray(start + steps * delta, start.dtype)]


def _sample_range(rng: np.random.Generator) -> Sample:
    dtype = (np.float32, np.int32, np.int64)[int(rng.integers(3))]
    start, limit = rng.integers(-20, 20, 2)
    delta = int(rng.choice([-3, -1, 1, 2, 7]))
    fraction = 0.25 if dtype is np.float32 else 1
    shape = (1,) if rng.integers(2) else ()
    return Sample([np.full(shape, item * fraction, dtype) for item in (start, limit, delta)], {})


register(
    moving_op(
        "squeeze",
        _infer_squeeze,
        _reference_squeeze,
        _sample_squeeze,
        {"axes": 0},
        "x without the dimensions of size 1 whose bit is set.",
        inputs=("x", "axes?"),
        data_inputs=("axes",),
        absorb=_absorb_squeeze,
    ),
    moving_op(
        "unsqueeze",
        _infer_unsqueeze,
        _reference_unsqueeze,
        _sample_unsqueeze,
        {"axes": 0},
        "x with a dimension of size 1 where a bit is set.",
        inputs=("x", "axes?"),
        data_inputs=("axes",),
        absorb=_absorb_unsqueeze,
    ),
    moving_op(
        "tile",
        _infer_tile,
        _reference_tile,
        _sample_tile,
        {"repeats": ()},
        "x several times along each dimension.",
        inputs=("x", "repeats?"),
        data_inputs=("repeats",),
        absorb=_absorb_tile,
    ),
    OpDef(
        name="split",
        inputs=("x", "sizes?"),
        outputs=("y*",),
        infer=_infer_split,
        reference=_reference_split,
        samples=_sample_split,
        attrs={"axis": REQUIRED, "sizes": REQUIRED, "n_sizes": 0},
        lengths={"n_sizes": "sizes"},
        data_inputs=("sizes",),
        absorb=_absorb_split,
        quant=SAME,
        doc="x divided along an axis; equal pieces where the sizes are -1.",
    ),
    OpDef(
        name="shape",
        inputs=("x",),
        infer=_infer_shape,
        reference=_reference_shape,
        samples=_sample_shape,
        attrs={"start": 0, "end": MAX_RANK, "to": DType.s64.value},
        doc="The sizes of some dimensions of x.",
    ),
    OpDef(
        name="size",
        inputs=("x",),
        infer=_infer_size,
        reference=_reference_size,
        samples=_sample_size,
        attrs={"to": DType.s64.value},
        doc="The number of elements of x.",
    ),
    OpDef(
        name="range",
        inputs=("start", "limit", "delta"),
        infer=_infer_range,
        reference=_reference_range,
        samples=_sample_range,
        data_inputs=("start", "limit", "delta"),
        doc="start, start + delta, ... before limit.",
    ),
)
