"""Ops that pick and place elements by position; meaning in ``nnacl_kernels/index/index.h``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType, Value
from . import REQUIRED, OpDef, Sample, register, sampling
from .data import SAME, any_array, input_and_option
from .shape_rules import (
    MAX_RANK,
    data_input,
    fresh_dim,
    integers_of,
    length_of,
    multiply_dims,
    require,
    require_dtype,
    require_equal,
)

Attrs = Mapping[str, Any]
Arrays = Sequence[np.ndarray]
Optionals = Sequence["np.ndarray | None"]

INDEX_TYPES = (DType.s32, DType.s64)

REPLACE, ADD, MUL, MAX, MIN = range(5)
"""Values of the attribute ``reduction`` of the scatters."""

_NOT_NUMBERS = (DType.b8, DType.f16)


def integer_input(node: Node, index: int, name: str) -> int | None:
    """The attribute ``name``, or the one integer in optional input ``index``; None when it is not constant."""
    given = data_input(node, index)
    if given is None:
        return int(node.attrs[name])
    require(node, multiply_dims(given.shape) == 1, f"'{given.name}' must be one integer")
    known = integers_of(given)
    return None if known is None else known[0]


def clamp_32(value: int) -> int:
    """As near to ``value`` as a parameter can be."""
    return min(max(value, -(2**31) + 1), 2**31 - 1)


def require_axis(node: Node, name: str, rank: int) -> int:
    """An attribute that is an axis counted from the start."""
    axis = int(node.attrs[name])
    require(node, 0 <= axis < rank, f"{name} {axis} is out of range for rank {rank}")
    return axis


def draw_indices(rng: np.random.Generator, size: int, shape: Sequence[int]) -> np.ndarray:
    """Indices into a dimension, few of them out of range."""
    return sampling.index_vector(rng, rng.integers(-size - 1, size + 1, tuple(shape), endpoint=True))


def _wrapped(indices: np.ndarray, size: int) -> np.ndarray:
    return np.where(indices < 0, indices + size, indices)


# gather_elements, gather_nd


def _require_elements(node: Node, x: Value, indices: Value) -> None:
    require_dtype(node, indices, *INDEX_TYPES)
    axis = require_axis(node, "axis", len(x.shape))
    require(node, len(indices.shape) == len(x.shape), "x and the indices have different ranks")
    for i, (dim, most) in enumerate(zip(indices.shape, x.shape, strict=True)):
        known = isinstance(dim, int) and isinstance(most, int)
        require(node, i == axis or not known or dim <= most, f"dimension {i} of the indices is above {most}")  # type: ignore[operator]


def _infer_gather_elements(node: Node) -> list[TensorType]:
    x, indices = node.input(0), node.input(1)
    _require_elements(node, x, indices)
    return [TensorType(x.dtype, indices.shape)]


def _coordinates(indices: np.ndarray, axis: int) -> list[np.ndarray]:
    """The coordinates of each element of ``indices``, that along axis left out of account."""
    return list(np.indices(indices.shape)) if indices.ndim else []


def _reference_gather_elements(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    x, indices = inputs
    axis, size = attrs["axis"], x.shape[attrs["axis"]]
    places = _coordinates(indices, axis)
    places[axis] = np.clip(_wrapped(indices, size), 0, max(size - 1, 0))
    return [x[tuple(places)]]


def _sample_elements(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    x = any_array(rng, sampling.shape(rng, high=5))
    axis = int(rng.integers(x.ndim))
    shape = [sampling.size(rng, 1, 6 if i == axis else dim) for i, dim in enumerate(x.shape)]
    return x, draw_indices(rng, x.shape[axis], shape), axis


def _sample_gather_elements(rng: np.random.Generator) -> Sample:
    x, indices, axis = _sample_elements(rng)
    return Sample([x, indices], {"axis": axis})


def _infer_gather_nd(node: Node) -> list[TensorType]:
    x, indices, batch = node.input(0), node.input(1), node.attrs["batch_dims"]
    require_dtype(node, indices, *INDEX_TYPES)
    require(node, 0 <= batch < len(indices.shape) and batch <= len(x.shape), f"batch_dims {batch} is out of range")
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        require(node, False, "the number of coordinates must be known")
    require(node, 1 <= int(depth) <= len(x.shape) - batch, f"{depth} coordinates for {len(x.shape) - batch} dimensions")
    for i in range(batch):
        require_equal(node, x.shape[i], indices.shape[i], f"batch dimension {i}")
    shape = (*indices.shape[:-1], *x.shape[batch + int(depth) :])
    require(node, len(shape) <= MAX_RANK, f"rank {len(shape)} is above {MAX_RANK}")
    return [TensorType(x.dtype, shape)]


def _reference_gather_nd(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    x, indices = inputs
    batch, depth = attrs["batch_dims"], indices.shape[-1]
    shape = (*indices.shape[:-1], *x.shape[batch + depth :])
    result = np.empty(shape, x.dtype)
    for place in itertools.product(*(range(dim) for dim in indices.shape[:-1])):
        sizes = x.shape[batch : batch + depth]
        picks = [
            int(np.clip(index + size if index < 0 else index, 0, size - 1))
            for index, size in zip(indices[place].tolist(), sizes, strict=True)
        ]
        position = (*place[:batch], *picks)
        result[place] = x[position]
    return [result]


def _sample_tuples(rng: np.random.Generator, x: np.ndarray, batch: int) -> np.ndarray:
    depth = sampling.size(rng, 1, x.ndim - batch)
    outer = (*x.shape[:batch], *sampling.shape(rng, sampling.size(rng, 0, 2), 4))
    columns = [draw_indices(rng, size, outer).astype(np.int64) for size in x.shape[batch : batch + depth]]
    return np.stack(columns, axis=-1).astype(np.int32 if rng.integers(2) else np.int64)


def _sample_gather_nd(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, high=5))
    batch = int(rng.integers(x.ndim))
    return Sample([x, _sample_tuples(rng, x, batch)], {"batch_dims": batch})


# scatter_elements, scatter_nd


def _require_scatter(node: Node) -> tuple[Value, Value, Value]:
    x, indices, updates = (node.input(i) for i in range(3))
    require_dtype(node, updates, x.dtype)
    require_dtype(node, indices, *INDEX_TYPES)
    reduction = node.attrs["reduction"]
    require(node, REPLACE <= reduction <= MIN, f"reduction {reduction} is unknown")
    require(node, reduction == REPLACE or x.dtype not in _NOT_NUMBERS, f"{x.dtype.name} cannot be reduced")
    return x, indices, updates


def _infer_scatter_elements(node: Node) -> list[TensorType]:
    x, indices, updates = _require_scatter(node)
    _require_elements(node, x, indices)
    _require_same_shape(node, updates, indices.shape)
    return [x.type]


def _require_same_shape(node: Node, value: Value, shape: Sequence[Dim]) -> None:
    require(node, len(value.shape) == len(shape), f"'{value.name}' has rank {len(value.shape)}, not {len(shape)}")
    for i, (actual, expected) in enumerate(zip(value.shape, shape, strict=True)):
        require_equal(node, actual, expected, f"dimension {i} of '{value.name}'")


def _combined(old: np.ndarray, update: np.ndarray, reduction: int) -> np.ndarray:
    functions = {ADD: np.add, MUL: np.multiply, MAX: np.maximum, MIN: np.minimum}
    if reduction == REPLACE:
        return update
    with np.errstate(over="ignore", invalid="ignore"):
        return functions[reduction](old, update)


def _reference_scatter_elements(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    x, indices, updates = inputs
    y, axis = x.copy(), attrs["axis"]
    for place in itertools.product(*(range(dim) for dim in indices.shape)):
        index = int(indices[place])
        index += y.shape[axis] if index < 0 else 0
        if 0 <= index < y.shape[axis]:
            to = (*place[:axis], index, *place[axis + 1 :])
            y[to] = _combined(y[to], updates[place], attrs["reduction"])
    return [y]


def _sample_reduction(rng: np.random.Generator, x: np.ndarray) -> int:
    return int(rng.integers(5)) if x.dtype != np.bool_ else REPLACE


def _sample_scatter_elements(rng: np.random.Generator) -> Sample:
    x, indices, axis = _sample_elements(rng)
    updates = rng.integers(-50, 50, indices.shape).astype(x.dtype)
    return Sample([x, indices, updates], {"axis": axis, "reduction": _sample_reduction(rng, x)})


def _infer_scatter_nd(node: Node) -> list[TensorType]:
    x, indices, updates = _require_scatter(node)
    require(node, len(indices.shape) >= 1, "the indices have no dimension of coordinates")
    depth = indices.shape[-1]
    require(
        node, isinstance(depth, int) and depth <= len(x.shape), f"{depth} coordinates for {len(x.shape)} dimensions"
    )
    _require_same_shape(node, updates, (*indices.shape[:-1], *x.shape[int(depth) :]))
    return [x.type]


def _reference_scatter_nd(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    x, indices, updates = inputs
    y = x.copy()
    for place in itertools.product(*(range(dim) for dim in indices.shape[:-1])):
        picks = [i + size if i < 0 else i for i, size in zip(indices[place].tolist(), y.shape, strict=False)]
        if all(0 <= pick < size for pick, size in zip(picks, y.shape, strict=False)):
            y[tuple(picks)] = _combined(y[tuple(picks)], updates[place], attrs["reduction"])
    return [y]


def _sample_scatter_nd(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, high=5))
    indices = _sample_tuples(rng, x, 0)
    updates = rng.integers(-50, 50, (*indices.shape[:-1], *x.shape[indices.shape[-1] :])).astype(x.dtype)
    return Sample([x, indices, updates], {"reduction": _sample_reduction(rng, x)})


# tensor_scatter


def _infer_tensor_scatter(node: Node) -> list[TensorType]:
    x, update, positions = node.input(0), node.input(1), node.optional_input(2)
    axis = require_axis(node, "axis", len(x.shape))
    require(node, axis >= 1, "axis must lie behind the batch")
    require_dtype(node, update, x.dtype)
    _require_same_shape(node, update, (*x.shape[:axis], update.shape[axis], *x.shape[axis + 1 :]))
    if positions is not None:
        require_dtype(node, positions, *INDEX_TYPES)
        _require_same_shape(node, positions, x.shape[:1])
    return [x.type]


def _reference_tensor_scatter(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, update, positions = (*inputs, None)[:3]
    assert x is not None and update is not None
    y, axis = x.copy(), attrs["axis"]
    for batch in range(x.shape[0]):
        start = 0 if positions is None else int(positions[batch])
        for i in range(update.shape[axis]):
            place = (start + i) % x.shape[axis] if attrs["circular"] else start + i
            if 0 <= place < x.shape[axis]:
                np.moveaxis(y[batch], axis - 1, 0)[place] = np.moveaxis(update[batch], axis - 1, 0)[i]
    return [y]


def _sample_tensor_scatter(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, sampling.size(rng, 2, 4), 5))
    axis = int(rng.integers(1, x.ndim))
    shape = list(x.shape)
    shape[axis] = sampling.size(rng, 1, x.shape[axis])
    positions = draw_indices(rng, x.shape[axis], x.shape[:1]) if rng.integers(3) else None
    update = rng.integers(-50, 50, shape).astype(x.dtype)
    return Sample([x, update, positions], {"axis": axis, "circular": int(rng.integers(2))})


# update_slice


def _infer_update_slice(node: Node) -> list[TensorType]:
    x, update, start = (node.input(index) for index in range(3))
    require_dtype(node, update, x.dtype)
    require_dtype(node, start, *INDEX_TYPES)
    _require_same_shape(node, start, (len(x.shape),))
    require(node, len(update.shape) == len(x.shape), "x and update have different ranks")
    for axis, (dim, most) in enumerate(zip(update.shape, x.shape, strict=True)):
        fits = not (isinstance(dim, int) and isinstance(most, int)) or dim <= most
        require(node, fits, f"dimension {axis} of update is {dim}, more than {most}")
    return [x.type]


def _reference_update_slice(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    x, update, start = inputs
    y = x.copy()
    firsts = [min(max(s, 0), n - m) for s, n, m in zip(start.tolist(), x.shape, update.shape, strict=True)]
    place = tuple(slice(first, first + size) for first, size in zip(firsts, update.shape, strict=True))
    y[place] = update
    return [y]


def _sample_update_slice(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, sampling.size(rng, 0, 4), 5))
    update = rng.integers(-50, 50, tuple(sampling.size(rng, 1, dim) for dim in x.shape)).astype(x.dtype)
    return Sample([x, update, sampling.index_vector(rng, rng.integers(-1, 5, x.ndim))], {})


# one_hot


def _infer_one_hot(node: Node) -> list[TensorType]:
    indices, values = node.input(0), node.input(1)
    require_dtype(node, indices, *INDEX_TYPES)
    require(node, multiply_dims(values.shape) == 2, "values must be two elements: off and on")
    require(node, len(indices.shape) < MAX_RANK, f"rank {len(indices.shape) + 1} is above {MAX_RANK}")
    axis, depth = node.attrs["axis"], integer_input(node, 2, "depth")
    require(node, 0 <= axis <= len(indices.shape), f"axis {axis} is out of range")
    require(node, depth is None or depth >= 0, f"depth {depth} is negative")
    size = fresh_dim() if depth is None else depth
    return [TensorType(values.dtype, (*indices.shape[:axis], size, *indices.shape[axis:]))]


def _absorb_one_hot(node: Node) -> dict[str, Any] | None:
    depth = integer_input(node, 2, "depth")
    return None if depth is None else {"depth": depth}


def _reference_one_hot(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    indices, values, given = (*inputs, None)[:3]
    assert indices is not None and values is not None
    depth = attrs["depth"] if given is None else int(given.reshape(-1)[0])
    places = _wrapped(indices, depth)
    hit = np.expand_dims(places, attrs["axis"]) == np.arange(depth).reshape(
        [-1 if i == attrs["axis"] else 1 for i in range(indices.ndim + 1)]
    )
    off, on = values.reshape(-1)
    return [np.where(hit, on, off).astype(values.dtype)]


def _sample_one_hot(rng: np.random.Generator) -> Sample:
    shape, depth = sampling.shape(rng, sampling.size(rng, 0, 3), 5), sampling.size(rng, 1, 9)
    attrs: dict[str, Any] = {"axis": int(rng.integers(len(shape) + 1))}
    inputs = [draw_indices(rng, depth, shape), any_array(rng, (2,))]
    if rng.integers(2):
        return Sample([*inputs, sampling.index_vector(rng, [depth])], attrs)
    return Sample(inputs, {**attrs, "depth": depth})


# trilu, eye_like


def _infer_trilu(node: Node) -> list[TensorType]:
    x = node.input(0)
    integer_input(node, 1, "k")
    require(node, len(x.shape) >= 2, f"'{x.name}' has fewer than two dimensions")
    return [x.type]


def _absorb_trilu(node: Node) -> dict[str, Any] | None:
    k = integer_input(node, 1, "k")
    return None if k is None else {"k": clamp_32(k)}


def _reference_trilu(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, given = input_and_option(inputs)
    k = clamp_32(attrs["k"] if given is None else int(given.reshape(-1)[0]))
    kept = np.arange(x.shape[-1])[None, :] - np.arange(x.shape[-2])[:, None] - k
    return [np.where(kept >= 0 if attrs["upper"] else kept <= 0, x, np.zeros((), x.dtype))]


def _sample_trilu(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, sampling.size(rng, 2, 4), 5))
    k, upper = int(rng.integers(-7, 8)), int(rng.integers(2))
    if rng.integers(2):
        return Sample([x, np.asarray(k, np.int64)], {"upper": upper})
    return Sample([x], {"k": k, "upper": upper})


def _infer_eye_like(node: Node) -> list[TensorType]:
    x, target = node.input(0), node.attrs["to"]
    require(node, len(x.shape) == 2, f"'{x.name}' must have two dimensions")
    require(node, target in {dtype.value for dtype in DType}, f"element type {target} is unknown")
    return [TensorType(DType(target), x.shape)]


def _reference_eye_like(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    rows, columns = inputs[0].shape
    return [np.eye(rows, columns, k=attrs["k"], dtype=DType(attrs["to"]).numpy)]


def _sample_eye_like(rng: np.random.Generator) -> Sample:
    target = list(DType)[int(rng.integers(len(DType)))]
    return Sample([any_array(rng, sampling.shape(rng, 2))], {"k": int(rng.integers(-6, 7)), "to": target.value})


# reverse_sequence


def _infer_reverse_sequence(node: Node) -> list[TensorType]:
    x, lengths = node.input(0), node.input(1)
    batch, time = (require_axis(node, name, len(x.shape)) for name in ("batch_axis", "time_axis"))
    require(node, batch != time, "batch_axis and time_axis are the same")
    require_dtype(node, lengths, *INDEX_TYPES)
    _require_same_shape(node, lengths, (x.shape[batch],))
    return [x.type]


def _reference_reverse_sequence(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    x, lengths = inputs
    y = x.copy()
    source, target = (np.moveaxis(a, (attrs["batch_axis"], attrs["time_axis"]), (0, 1)) for a in (x, y))
    for batch, length in enumerate(lengths.tolist()):
        count = min(max(length, 0), source.shape[1])
        target[batch, :count] = source[batch, :count][::-1]
    return [y]


def _sample_reverse_sequence(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, sampling.size(rng, 2, 4), 5))
    batch, time = (int(axis) for axis in rng.permutation(x.ndim)[:2])
    lengths = sampling.index_vector(rng, rng.integers(0, x.shape[time] + 1, x.shape[batch]))
    return Sample([x, lengths], {"batch_axis": batch, "time_axis": time})


# center_crop_pad


def _center_sizes(node: Node) -> list[int] | None:
    """The size of each dimension, -1 where it stays; None when the input is not constant."""
    x, given = node.input(0), data_input(node, 1)
    if given is None:
        sizes = list(node.attrs["size"])
        require(node, len(sizes) == len(x.shape) and min(sizes, default=0) >= -1, f"sizes {sizes} do not fit")
        return sizes
    axes = list(node.attrs["axes"]) or list(range(len(x.shape)))
    require(node, length_of(node, given) == len(axes), f"{length_of(node, given)} sizes for {len(axes)} axes")
    require(node, all(0 <= axis < len(x.shape) for axis in axes), f"axes {axes} are out of range")
    known = integers_of(given)
    if known is None:
        return None
    require(node, min(known, default=0) >= 0, "a size is negative")
    sizes = [-1] * len(x.shape)
    for axis, size in zip(axes, known, strict=True):
        sizes[axis] = size
    return sizes


def _infer_center_crop_pad(node: Node) -> list[TensorType]:
    x, sizes = node.input(0), _center_sizes(node)
    if sizes is None:
        axes = list(node.attrs["axes"]) or range(len(x.shape))
        return [TensorType(x.dtype, tuple(fresh_dim() if i in axes else dim for i, dim in enumerate(x.shape)))]
    return [TensorType(x.dtype, tuple(d if size == -1 else size for d, size in zip(x.shape, sizes, strict=True)))]


def _absorb_center_crop_pad(node: Node) -> dict[str, Any] | None:
    sizes = _center_sizes(node)
    return None if sizes is None else {"size": tuple(sizes), "axes": ()}


def _reference_center_crop_pad(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    y, given = input_and_option(inputs)
    sizes = list(attrs["size"])
    if given is not None:
        sizes = [-1] * y.ndim
        for axis, size in zip(attrs["axes"] or range(y.ndim), given.reshape(-1).tolist(), strict=True):
            sizes[axis] = size
    for axis, size in enumerate(sizes):
        dim = y.shape[axis]
        if 0 <= size < dim:
            y = np.take(y, (dim - size) // 2 + np.arange(size), axis=axis)
        elif size > dim:
            before = (size - dim) // 2
            widths = [(before, size - dim - before) if i == axis else (0, 0) for i in range(y.ndim)]
            y = np.pad(y, widths)
    return [y]


def _sample_center_crop_pad(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, high=6))
    sizes = [sampling.size(rng, 1, 9) for _ in x.shape]
    if rng.integers(2):
        return Sample([x], {"size": tuple(-1 if rng.integers(3) == 0 else size for size in sizes)})
    axes = tuple(int(axis) for axis in rng.permutation(x.ndim)[: sampling.size(rng, 1, x.ndim)])
    return Sample([x, sampling.index_vector(rng, [sizes[axis] for axis in axes])], {"axes": axes})


register(
    OpDef(
        name="gather_elements",
        inputs=("x", "indices"),
        infer=_infer_gather_elements,
        reference=_reference_gather_elements,
        samples=_sample_gather_elements,
        attrs={"axis": 0},
        quant=SAME,
        doc="Elements of x, each with its coordinate along axis replaced by an index.",
    ),
    OpDef(
        name="gather_nd",
        inputs=("x", "indices"),
        infer=_infer_gather_nd,
        reference=_reference_gather_nd,
        samples=_sample_gather_nd,
        attrs={"batch_dims": 0},
        quant=SAME,
        doc="Slices of x by tuples of coordinates.",
    ),
    OpDef(
        name="scatter_elements",
        inputs=("x", "indices", "updates"),
        infer=_infer_scatter_elements,
        reference=_reference_scatter_elements,
        samples=_sample_scatter_elements,
        attrs={"axis": 0, "reduction": REPLACE},
        doc="x with updates at, or combined with, elements whose coordinate along axis is an index.",
    ),
    OpDef(
        name="scatter_nd",
        inputs=("x", "indices", "updates"),
        infer=_infer_scatter_nd,
        reference=_reference_scatter_nd,
        samples=_sample_scatter_nd,
        attrs={"reduction": REPLACE},
        doc="x with updates at, or combined with, slices by tuples of coordinates.",
    ),
    OpDef(
        name="tensor_scatter",
        inputs=("x", "update", "positions?"),
        infer=_infer_tensor_scatter,
        reference=_reference_tensor_scatter,
        samples=_sample_tensor_scatter,
        attrs={"axis": REQUIRED, "circular": 0},
        doc="x with a run of slices along axis replaced, from a position of each batch on.",
    ),
    OpDef(
        name="update_slice",
        inputs=("x", "update", "start"),
        infer=_infer_update_slice,
        reference=_reference_update_slice,
        samples=_sample_update_slice,
        doc="x with a block of it replaced, from a position on.",
    ),
    OpDef(
        name="one_hot",
        inputs=("indices", "values", "depth?"),
        infer=_infer_one_hot,
        reference=_reference_one_hot,
        samples=_sample_one_hot,
        attrs={"axis": REQUIRED, "depth": 0},
        data_inputs=("depth",),
        absorb=_absorb_one_hot,
        doc="The second value where a new dimension equals the index, else the first.",
    ),
    OpDef(
        name="trilu",
        inputs=("x", "k?"),
        infer=_infer_trilu,
        reference=_reference_trilu,
        samples=_sample_trilu,
        attrs={"upper": 1, "k": 0},
        data_inputs=("k",),
        absorb=_absorb_trilu,
        doc="The upper or lower triangle of matrices.",
    ),
    OpDef(
        name="eye_like",
        inputs=("x",),
        infer=_infer_eye_like,
        reference=_reference_eye_like,
        samples=_sample_eye_like,
        attrs={"k": 0, "to": DType.f32.value},
        doc="Ones on a diagonal of a matrix of the shape of x.",
    ),
    OpDef(
        name="reverse_sequence",
        inputs=("x", "lengths"),
        infer=_infer_reverse_sequence,
        reference=_reference_reverse_sequence,
        samples=_sample_reverse_sequence,
        attrs={"batch_axis": REQUIRED, "time_axis": REQUIRED},
        quant=SAME,
        doc="The first elements of each sequence in reverse order.",
    ),
    OpDef(
        name="center_crop_pad",
        inputs=("x", "sizes?"),
        infer=_infer_center_crop_pad,
        reference=_reference_center_crop_pad,
        samples=_sample_center_crop_pad,
        attrs={"size": (), "n_axes": 0, "axes": ()},
        lengths={"n_axes": "axes"},
        data_inputs=("sizes",),
        absorb=_absorb_center_crop_pad,
        doc="The middle of x, or x in the middle of zeros.",
    ),
)
