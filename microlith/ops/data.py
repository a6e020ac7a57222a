"""Ops that move bytes; meaning in ``nnacl_kernels/data/data.h``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import REQUIRED, OpDef, QuantRule, Sample, register, sampling
from .shape_rules import (
    MAX_RANK,
    add_dims,
    broadcast_shapes,
    data_input,
    fresh_dim,
    grouped,
    integers_of,
    length_of,
    multiply_dims,
    normal_axis,
    require,
    require_dtype,
    require_equal,
)
from .traced_sizes import Traced, traced_sizes

Attrs = Mapping[str, Any]
Arrays = Sequence[np.ndarray]
Optionals = Sequence["np.ndarray | None"]

SAME = QuantRule("same")
_SAMPLE_DTYPES = (np.float32, np.int8, np.int16, np.int32, np.int64, np.bool_)


def any_array(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """An array of a random element type."""
    dtype = _SAMPLE_DTYPES[int(rng.integers(len(_SAMPLE_DTYPES)))]
    return rng.integers(-100, 100, shape).astype(dtype)


# reshape


def _infer_reshape(node: Node) -> list[TensorType]:
    x, given = node.input(0), data_input(node, 1)
    wanted = list(node.attrs["shape"])
    if given is not None:
        known = integers_of(given)
        if known is None:
            rank = length_of(node, given)
            require(node, rank <= MAX_RANK, f"rank {rank} is above {MAX_RANK}")
            return [TensorType(x.dtype, _traced_shape(node, traced_sizes(given) or (None,) * rank))]
        wanted = known
    else:
        require(
            node, node.attrs["rank"] == len(wanted), f"rank is {node.attrs['rank']}, shape has {len(wanted)} entries"
        )
    require(node, len(wanted) <= MAX_RANK, f"rank {len(wanted)} is above {MAX_RANK}")
    shape: list[Dim] = []
    for index, dim in enumerate(wanted):
        if dim == 0 and not node.attrs["allow_zero"]:
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


def _traced_shape(node: Node, wanted: Traced) -> tuple[Dim, ...]:
    """The result's shape as far as the wanted sizes, which a run computes, follow from shapes."""
    x = node.input(0)
    copies = not node.attrs["allow_zero"]
    sizes = [
        x.shape[index] if dim == 0 and copies and index < len(x.shape) else dim for index, dim in enumerate(wanted)
    ]
    rest = [dim for dim in sizes if dim is not None and dim != -1]
    hole = _quotient(node, list(x.shape), rest) if sizes.count(-1) == 1 and len(rest) + 1 == len(sizes) else None
    found = [hole if dim == -1 else dim for dim in sizes]
    return tuple(fresh_dim() if dim is None else dim for dim in found)


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
        require(node, below != 0, f"{above} elements do not divide by 0")
        number = int(np.prod([dim for dim in total if isinstance(dim, int)], dtype=np.int64))
        symbols = [dim for dim in total if isinstance(dim, str)]
        if number % below == 0:
            return multiply_dims([*symbols, number // below])
    return above if below == 1 else f"{grouped(above)}//{grouped(below)}"


def _reference_reshape(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, given = input_and_option(inputs)
    wanted = attrs["shape"] if given is None else given.reshape(-1).tolist()
    copies = not attrs["allow_zero"]
    return [x.reshape([x.shape[index] if dim == 0 and copies else dim for index, dim in enumerate(wanted)])]


def input_and_option(inputs: Optionals) -> tuple[np.ndarray, np.ndarray | None]:
    """Input 0, and input 1 if it is there."""
    x, given = (*inputs, None)[:2]
    assert x is not None
    return x, given


def shape_attr(node: Node) -> dict[str, Any] | None:
    """The attribute ``shape`` from input 1."""
    known = integers_of(node.optional_input(1))
    return None if known is None else {"shape": tuple(known)}


def _sample_reshape(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng))
    choices = [(-1,), (0, -1), (1, *x.shape), (x.size,), (*x.shape, 1)]
    shape = choices[int(rng.integers(len(choices)))]
    if rng.integers(3) == 0:
        return Sample([x, sampling.index_vector(rng, shape)], {})
    return Sample([x], {"shape": shape})


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
    x = any_array(rng, sampling.shape(rng, sampling.size(rng, 1, 5), 5))
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
    first = any_array(rng, sampling.shape(rng))
    axis = int(rng.integers(first.ndim))
    inputs = [first]
    for _ in range(sampling.size(rng, 0, 3)):
        shape = list(first.shape)
        shape[axis] = sampling.size(rng, 1, 5)
        inputs.append(rng.integers(-100, 100, shape).astype(first.dtype))
    return Sample(inputs, {"axis": axis})


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
    x = any_array(rng, sampling.shape(rng))
    axis = int(rng.integers(x.ndim))
    size = x.shape[axis]
    shape = sampling.shape(rng, sampling.size(rng, 0, 2), 5)
    indices = np.asarray(rng.integers(-size - 1, size + 2, shape)).astype(np.int32 if rng.integers(2) else np.int64)
    return Sample([x, indices], {"axis": axis})


# expand


def _infer_expand(node: Node) -> list[TensorType]:
    x, given = node.input(0), data_input(node, 1)
    wanted: tuple[Dim, ...] = tuple(node.attrs["shape"])
    if given is not None:
        known, length = integers_of(given), length_of(node, given)
        require(node, length <= MAX_RANK, f"rank {length} is above {MAX_RANK}")
        traced = traced_sizes(given) if known is None else tuple(known)
        wanted = tuple(fresh_dim() if dim is None else dim for dim in traced or (None,) * length)
    else:
        rank = node.attrs["out_rank"]
        require(node, rank == len(wanted), f"out_rank is {rank}, shape has {len(wanted)} entries")
    require(node, max(len(x.shape), len(wanted)) <= MAX_RANK, f"rank {len(wanted)} is above {MAX_RANK}")
    return [TensorType(x.dtype, broadcast_shapes(node, x.shape, wanted))]


def _reference_expand(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, given = input_and_option(inputs)
    wanted = attrs["shape"] if given is None else given.reshape(-1).tolist()
    shape = np.broadcast_shapes(x.shape, tuple(wanted))
    return [np.ascontiguousarray(np.broadcast_to(x, shape)).reshape(shape)]


def _sample_expand(rng: np.random.Generator) -> Sample:
    shape = sampling.shape(rng)
    kept = shape[sampling.size(rng, 0, len(shape)) :]
    x = any_array(rng, tuple(1 if rng.integers(2) else dim for dim in kept))
    if rng.integers(3) == 0:
        return Sample([x, sampling.index_vector(rng, shape)], {})
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
    dtypes = [DType.f32, DType.f16] if rng.integers(4) == 0 else list(DType)
    source, target = (dtypes[int(rng.integers(len(dtypes)))] for _ in range(2))
    span = 300.0 if rng.integers(2) else 3.0
    x = cast_array(sampling.floats(rng, sampling.shape(rng), -span, span), source.numpy)
    return Sample([x], {"to": target.value})


# bitcast


def _infer_bitcast(node: Node) -> list[TensorType]:
    x, target = node.input(0), DType(node.attrs["to"])
    require(node, target.size == x.dtype.size, f"{x.dtype.name} and {target.name} differ in size")
    require(node, target is not DType.b8 or x.dtype is DType.b8, "not all bytes are booleans")
    return [TensorType(target, x.shape)]


def _reference_bitcast(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    return [np.ascontiguousarray(inputs[0]).view(DType(attrs["to"]).numpy).reshape(inputs[0].shape)]


def _sample_bitcast(rng: np.random.Generator) -> Sample:
    groups = [(DType.f32, DType.s32, DType.u32), (DType.s8, DType.u8), (DType.s64, DType.u64), (DType.s16, DType.u16)]
    group = groups[int(rng.integers(len(groups)))]
    source, target = (group[int(rng.integers(len(group)))] for _ in range(2))
    return Sample([sampling.floats(rng, sampling.shape(rng), 0.0, 99.0).astype(source.numpy)], {"to": target.value})


def moving_op(
    name: str,
    infer: Callable[[Node], list[TensorType]],
    reference: Callable[..., list[np.ndarray]],
    samples: Callable[[np.random.Generator], Sample],
    attrs: Mapping[str, Any],
    doc: str,
    inputs: tuple[str, ...] = ("x",),
    quant: QuantRule | None = SAME,
    lengths: Mapping[str, str] = MappingProxyType({}),
    data_inputs: tuple[str, ...] = (),
    absorb: Callable[[Node], Mapping[str, Any] | None] | None = None,
) -> OpDef:
    return OpDef(
        name,
        inputs,
        infer,
        reference,
        samples,
        attrs=attrs,
        lengths=lengths,
        data_inputs=data_inputs,
        absorb=absorb,
        quant=quant,
        doc=doc,
    )


register(
    moving_op(
        "reshape",
        _infer_reshape,
        _reference_reshape,
        _sample_reshape,
        {"shape": (), "rank": 0, "allow_zero": 0},
        "The same bytes under another shape; 0 copies a dimension (unless allow_zero), one -1 is inferred.",
        inputs=("x", "shape?"),
        lengths={"rank": "shape"},
        data_inputs=("shape",),
        absorb=shape_attr,
    ),
    moving_op(
        "transpose",
        _infer_transpose,
        _reference_transpose,
        _sample_transpose,
        {"perm": REQUIRED},
        "Axis i of y is axis perm[i] of x.",
    ),
    moving_op(
        "concat",
        _infer_concat,
        _reference_concat,
        _sample_concat,
        {"axis": REQUIRED},
        "Inputs joined along an axis.",
        inputs=("x*",),
    ),
    moving_op(
        "gather",
        _infer_gather,
        _reference_gather,
        _sample_gather,
        {"axis": 0},
        "Slices of x along axis, by index.",
        inputs=("x", "indices"),
    ),
    moving_op(
        "expand",
        _infer_expand,
        _reference_expand,
        _sample_expand,
        {"shape": (), "out_rank": 0},
        "x repeated to a shape by NumPy's broadcasting.",
        inputs=("x", "shape?"),
        lengths={"out_rank": "shape"},
        data_inputs=("shape",),
        absorb=shape_attr,
    ),
    moving_op(
        "cast",
        _infer_cast,
        _reference_cast,
        _sample_cast,
        {"to": REQUIRED},
        "x as another element type.",
        quant=None,
    ),
    moving_op(
        "bitcast",
        _infer_bitcast,
        _reference_bitcast,
        _sample_bitcast,
        {"to": REQUIRED},
        "The bytes of x as elements of another type of the same size.",
        quant=None,
    ),
)
