"""Ops that move bytes; meaning in ``nnacl_kernels/data/data.h``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import REQUIRED, OpDef, QuantRule, Sample, register, sampling
from .quant_rules import materialize_pad
from .shape_rules import (
    MAX_RANK,
    add_dims,
    broadcast_dims,
    fail,
    grouped,
    multiply_dims,
    normal_axis,
    require,
    require_dtype,
    require_equal,
)

Attrs = Mapping[str, Any]
Arrays = Sequence[np.ndarray]

MODE_CONSTANT, MODE_REFLECT, MODE_EDGE, MODE_SYMMETRIC = 0, 1, 2, 3
"""Values of the attribute ``mode`` of pad."""
_PAD_MODES = {MODE_CONSTANT: "constant", MODE_REFLECT: "reflect", MODE_EDGE: "edge", MODE_SYMMETRIC: "symmetric"}
"""Their names in NumPy."""

_SAME = QuantRule("same")
_SAMPLE_DTYPES = (np.float32, np.int8, np.int16, np.int32, np.int64, np.bool_)


def _any_array(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """An array of a random element type."""
    dtype = _SAMPLE_DTYPES[int(rng.integers(len(_SAMPLE_DTYPES)))]
    return rng.integers(-100, 100, shape).astype(dtype)


# reshape


def _infer_reshape(node: Node) -> list[TensorType]:
    x, wanted = node.input(0), list(node.attrs["shape"])
    require(node, len(wanted) <= MAX_RANK, f"rank {len(wanted)} is above {MAX_RANK}")
    require(node, node.attrs["rank"] == len(wanted), f"rank is {node.attrs['rank']}, shape has {len(wanted)} entries")
    shape: list[Dim] = []
    for index, dim in enumerate(wanted):
        if dim == 0:
            require(node, index < len(x.shape), f"dimension {index} copies a dimension that x does not have")
            shape.append(x.shape[index])
        else:
            require(node, dim >= -1, f"dimension {dim} is not valid")
            shape.append(dim)
    require(node, wanted.count(-1) <= 1, "only one dimension can be inferred")
    if -1 in wanted:
        hole = wanted.index(-1)
        shape[hole] = _quotient(node, list(x.shape), [dim for index, dim in enumerate(shape) if index != hole])
    elif x.type.is_static and all(isinstance(dim, int) for dim in shape):
        require_equal(node, multiply_dims(shape), multiply_dims(x.shape), "the number of elements")
    return [TensorType(x.dtype, tuple(shape))]


def _quotient(node: Node, total: list[Dim], known: list[Dim]) -> Dim:
    """The size that completes ``known`` to the element count of ``total``; equal symbols cancel."""
    for symbol in [dim for dim in known if isinstance(dim, str)]:
        if symbol in total:
            total.remove(symbol)
            known.remove(symbol)
    above, below = multiply_dims(total), multiply_dims(known)
    if isinstance(above, int) and isinstance(below, int):
        require(node, below != 0 and above % below == 0, f"{above} elements do not divide by {below}")
        return above // below
    if isinstance(below, int):
        number = int(np.prod([dim for dim in total if isinstance(dim, int)], dtype=np.int64))
        symbols = [dim for dim in total if isinstance(dim, str)]
        if number % below == 0:
            return multiply_dims([*symbols, number // below])
    return above if below == 1 else f"{grouped(above)}//{grouped(below)}"


def _reference_reshape(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    shape = [x.shape[index] if dim == 0 else dim for index, dim in enumerate(attrs["shape"])]
    return [x.reshape(shape)]


def _sample_reshape(rng: np.random.Generator) -> Sample:
    x = _any_array(rng, sampling.shape(rng))
    choices = [(-1,), (0, -1), (1, *x.shape), (x.size,), (*x.shape, 1)]
    return Sample([x], {"shape": choices[int(rng.integers(len(choices)))]})


# transpose


def _infer_transpose(node: Node) -> list[TensorType]:
    x, perm = node.input(0), tuple(node.attrs["perm"])
    require(node, sorted(perm) == list(range(len(x.shape))), f"perm {list(perm)} does not fit rank {len(x.shape)}")
    return [TensorType(x.dtype, tuple(x.shape[axis] for axis in perm))]


def _reference_transpose(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    return [
        np.ascontiguousarray(inputs[0].transpose(attrs["perm"])).reshape([inputs[0].shape[a] for a in attrs["perm"]])
    ]


def _sample_transpose(rng: np.random.Generator) -> Sample:
    x = _any_array(rng, sampling.shape(rng, sampling.size(rng, 1, 5), 5))
    return Sample([x], {"perm": tuple(int(axis) for axis in rng.permutation(x.ndim))})


# concat


def _infer_concat(node: Node) -> list[TensorType]:
    values = [node.input(index) for index in range(len(node.inputs))]
    require(node, 1 <= len(values) <= 64, f"{len(values)} inputs; 1 to 64 are possible")
    first = values[0]
    axis = normal_axis(node, node.attrs["axis"], len(first.shape))
    require(node, node.attrs["axis"] >= 0, "axis must count from the start")
    shape = list(first.shape)
    for value in values[1:]:
        require_dtype(node, value, first.dtype)
        require(node, len(value.shape) == len(shape), f"'{value.name}' has rank {len(value.shape)}, not {len(shape)}")
        for index, dim in enumerate(value.shape):
            if index == axis:
                shape[axis] = add_dims(shape[axis], dim)
            else:
                require_equal(node, dim, shape[index], f"dimension {index} of '{value.name}'")
                shape[index] = dim if isinstance(dim, int) else shape[index]
    return [TensorType(first.dtype, tuple(shape))]


def _reference_concat(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    return [np.concatenate(list(inputs), axis=attrs["axis"])]


def _sample_concat(rng: np.random.Generator) -> Sample:
    first = _any_array(rng, sampling.shape(rng))
    axis = int(rng.integers(first.ndim))
    inputs = [first]
    for _ in range(sampling.size(rng, 0, 3)):
        shape = list(first.shape)
        shape[axis] = sampling.size(rng, 1, 5)
        inputs.append(rng.integers(-100, 100, shape).astype(first.dtype))
    return Sample(inputs, {"axis": axis})


# slice


def _infer_slice(node: Node) -> list[TensorType]:
    x, rank = node.input(0), len(node.input(0).shape)
    start, size, step = (tuple(node.attrs[name]) for name in ("start", "size", "step"))
    require(node, len(start) == len(size) == len(step) == rank, f"start, size and step need {rank} entries")
    for index, dim in enumerate(x.shape):
        require(node, size[index] >= 0 and step[index] != 0, f"dimension {index}: size or step is not valid")
        last = start[index] + (size[index] - 1) * step[index]
        inside = size[index] == 0 or (
            min(start[index], last) >= 0 and (isinstance(dim, str) or max(start[index], last) < dim)
        )
        require(node, inside, f"dimension {index}: [{start[index]}..{last}] is outside of {dim}")
    return [TensorType(x.dtype, size)]


def _reference_slice(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    (y,) = inputs
    for axis, (start, size, step) in enumerate(zip(attrs["start"], attrs["size"], attrs["step"], strict=True)):
        y = np.take(y, start + step * np.arange(size), axis=axis)
    return [y]


def _sample_slice(rng: np.random.Generator) -> Sample:
    x = _any_array(rng, sampling.shape(rng))
    start, size, step = [], [], []
    for dim in x.shape:
        stride = int(rng.choice([1, 1, 2, 3, -1, -2]))
        count = sampling.size(rng, 1, (dim - 1) // abs(stride) + 1)
        reach = (count - 1) * abs(stride)
        first = int(rng.integers(dim - reach))
        start.append(first if stride > 0 else first + reach)
        size.append(count)
        step.append(stride)
    return Sample([x], {"start": tuple(start), "size": tuple(size), "step": tuple(step)})


# pad


def _infer_pad(node: Node) -> list[TensorType]:
    x, rank = node.input(0), len(node.input(0).shape)
    before, after, mode = tuple(node.attrs["before"]), tuple(node.attrs["after"]), node.attrs["mode"]
    require(node, len(before) == len(after) == rank, f"before and after need {rank} entries")
    require(node, mode in _PAD_MODES, f"mode {mode} is unknown")
    value = node.optional_input(1)
    if value is not None:
        require_dtype(node, value, x.dtype)
        require(node, multiply_dims(value.shape) == 1, "the value must be one element")
    for index, dim in enumerate(x.shape):
        require(node, before[index] >= 0 and after[index] >= 0, "padding must not be negative; slice does that")
        if mode in (MODE_REFLECT, MODE_SYMMETRIC) and isinstance(dim, int):
            widest, limit = max(before[index], after[index]), dim - (mode == MODE_REFLECT)
            require(node, widest <= max(limit, 0), f"dimension {index}: a reflection of {widest} needs more than {dim}")
        if mode == MODE_EDGE and dim == 0:
            require(node, before[index] == after[index] == 0, f"dimension {index} is empty and has no edge")
    return [TensorType(x.dtype, tuple(add_dims(d, b + a) for d, b, a in zip(x.shape, before, after, strict=True)))]


def _reference_pad(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, value = (*inputs, None)[:2]
    assert x is not None
    widths = list(zip(attrs["before"], attrs["after"], strict=True))
    if attrs["mode"] == MODE_CONSTANT:
        filler = x.dtype.type(0) if value is None else value.reshape(-1)[0]
        return [np.pad(x, widths, constant_values=filler) if x.ndim else x]
    return [np.pad(x, widths, mode=_PAD_MODES[attrs["mode"]])]  # type: ignore[call-overload]


def _sample_pad(rng: np.random.Generator) -> Sample:
    x = _any_array(rng, sampling.shape(rng))
    mode = int(rng.integers(4))
    limits = [{MODE_REFLECT: dim, MODE_SYMMETRIC: dim + 1}.get(mode, 4) for dim in x.shape]
    before, after = (tuple(int(rng.integers(limit)) for limit in limits) for _ in range(2))
    value = _any_array(rng, (1,)).astype(x.dtype) if mode == MODE_CONSTANT and rng.integers(2) else None
    return Sample([x, value], {"before": before, "after": after, "mode": mode})


# gather


def _infer_gather(node: Node) -> list[TensorType]:
    x, indices = node.input(0), node.input(1)
    require_dtype(node, indices, DType.s32, DType.s64)
    axis = node.attrs["axis"]
    require(node, 0 <= axis < len(x.shape), f"axis {axis} is out of range for rank {len(x.shape)}")
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    require(node, len(shape) <= MAX_RANK, f"rank {len(shape)} is above {MAX_RANK}")
    return [TensorType(x.dtype, shape)]


def _reference_gather(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    x, indices = inputs
    size = x.shape[attrs["axis"]]
    wrapped = np.where(indices < 0, indices + size, indices)
    return [np.asarray(np.take(x, np.clip(wrapped, 0, size - 1), axis=attrs["axis"]))]


def _sample_gather(rng: np.random.Generator) -> Sample:
    x = _any_array(rng, sampling.shape(rng))
    axis = int(rng.integers(x.ndim))
    size = x.shape[axis]
    shape = sampling.shape(rng, sampling.size(rng, 0, 2), 5)
    indices = np.asarray(rng.integers(-size - 1, size + 2, shape)).astype(np.int32 if rng.integers(2) else np.int64)
    return Sample([x, indices], {"axis": axis})


# expand


def _infer_expand(node: Node) -> list[TensorType]:
    x, wanted = node.input(0), tuple(node.attrs["shape"])
    require(node, len(x.shape) <= len(wanted) <= MAX_RANK, f"rank {len(x.shape)} does not expand to {len(wanted)}")
    require(
        node,
        node.attrs["out_rank"] == len(wanted),
        f"out_rank is {node.attrs['out_rank']}, shape has {len(wanted)} entries",
    )
    offset = len(wanted) - len(x.shape)
    shape: list[Dim] = list(wanted)
    for index, dim in enumerate(x.shape):
        shape[offset + index] = broadcast_dims(node, dim, wanted[offset + index])
        if isinstance(dim, int) and dim != 1 and wanted[offset + index] != dim:
            fail(node, f"size {dim} does not expand to {wanted[offset + index]}")
    return [TensorType(x.dtype, tuple(shape))]


def _reference_expand(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    return [np.ascontiguousarray(np.broadcast_to(inputs[0], attrs["shape"])).reshape(attrs["shape"])]


def _sample_expand(rng: np.random.Generator) -> Sample:
    shape = sampling.shape(rng)
    kept = shape[sampling.size(rng, 0, len(shape)) :]
    x = _any_array(rng, tuple(1 if rng.integers(2) else dim for dim in kept))
    return Sample([x], {"shape": shape})


# cast


def _infer_cast(node: Node) -> list[TensorType]:
    target = node.attrs["to"]
    require(node, target in {dtype.value for dtype in DType}, f"element type {target} is unknown")
    return [TensorType(DType(target), node.input(0).shape)]


def cast_array(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """x as another element type: float to integer truncates and saturates, NaN becomes 0; to bool: x != 0."""
    if dtype.kind == "b":
        return x != 0
    if x.dtype.kind == "f" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        whole = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        inside = np.clip(whole, float(info.min), float(info.max))
        # The largest 64-bit integers have no float64 of their own, so saturated elements are set afterwards.
        safe = np.where((whole > info.min) & (whole < float(info.max)), inside, 0.0).astype(dtype)
        return np.where(whole >= float(info.max), info.max, np.where(whole <= info.min, info.min, safe)).astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(dtype)


def _reference_cast(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    return [cast_array(inputs[0], DType(attrs["to"]).numpy)]


def _sample_cast(rng: np.random.Generator) -> Sample:
    dtypes = [DType.f32, DType.s8, DType.u8, DType.s32, DType.s64, DType.b8]
    source, target = (dtypes[int(rng.integers(len(dtypes)))] for _ in range(2))
    span = 300.0 if rng.integers(2) else 3.0
    x = cast_array(sampling.floats(rng, sampling.shape(rng), -span, span), source.numpy)
    return Sample([x], {"to": target.value})


def _move(
    name: str,
    infer: Callable[[Node], list[TensorType]],
    reference: Callable[..., list[np.ndarray]],
    samples: Callable[[np.random.Generator], Sample],
    attrs: Mapping[str, Any],
    doc: str,
    inputs: tuple[str, ...] = ("x",),
    quant: QuantRule | None = _SAME,
    lengths: Mapping[str, str] = MappingProxyType({}),
) -> OpDef:
    return OpDef(name, inputs, infer, reference, samples, attrs=attrs, lengths=lengths, quant=quant, doc=doc)


register(
    _move(
        "reshape",
        _infer_reshape,
        _reference_reshape,
        _sample_reshape,
        {"shape": REQUIRED, "rank": 0},
        "The same bytes under another shape; 0 copies a dimension, one -1 is inferred.",
        lengths={"rank": "shape"},
    ),
    _move(
        "transpose",
        _infer_transpose,
        _reference_transpose,
        _sample_transpose,
        {"perm": REQUIRED},
        "Axis i of y is axis perm[i] of x.",
    ),
    _move(
        "concat",
        _infer_concat,
        _reference_concat,
        _sample_concat,
        {"axis": REQUIRED},
        "Inputs joined along an axis.",
        inputs=("x*",),
    ),
    _move(
        "slice",
        _infer_slice,
        _reference_slice,
        _sample_slice,
        {"start": REQUIRED, "size": REQUIRED, "step": REQUIRED},
        "size elements of each dimension from start, step apart.",
    ),
    _move(
        "pad",
        _infer_pad,
        _reference_pad,
        _sample_pad,
        {"before": REQUIRED, "after": REQUIRED, "mode": MODE_CONSTANT},
        "Adds a border: constant (mode 0), reflected without (1) or with (3) the edge, or the edge repeated (2).",
        inputs=("x", "value?"),
        quant=QuantRule("same", materialize=materialize_pad),
    ),
    _move(
        "gather",
        _infer_gather,
        _reference_gather,
        _sample_gather,
        {"axis": 0},
        "Slices of x along axis, by index.",
        inputs=("x", "indices"),
    ),
    _move(
        "expand",
        _infer_expand,
        _reference_expand,
        _sample_expand,
        {"shape": REQUIRED, "out_rank": 0},
        "x repeated to a shape by NumPy's broadcasting.",
        lengths={"out_rank": "shape"},
    ),
    _move(
        "cast",
        _infer_cast,
        _reference_cast,
        _sample_cast,
        {"to": REQUIRED},
        "x as another element type.",
        quant=None,
    ),
)
