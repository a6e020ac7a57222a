"""slice and pad; meaning in ``nnacl_kernels/data/data.h``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import Dim, Node, TensorType
from . import QuantRule, Sample, register, sampling
from .data import Attrs, Optionals, any_array, moving_op
from .quant_rules import materialize_pad
from .shape_rules import (
    add_dims,
    data_input,
    fresh_dim,
    integers_of,
    length_of,
    multiply_dims,
    normal_axis,
    require,
    require_dtype,
    smaller_dim,
)
from .traced_sizes import traced_sizes

MODE_CONSTANT, MODE_REFLECT, MODE_EDGE, MODE_SYMMETRIC, MODE_WRAP = 0, 1, 2, 3, 4
"""Values of the attribute ``mode`` of pad."""
_PAD_MODES = {
    MODE_CONSTANT: "constant",
    MODE_REFLECT: "reflect",
    MODE_EDGE: "edge",
    MODE_SYMMETRIC: "symmetric",
    MODE_WRAP: "wrap",
}
"""Their names in NumPy."""


# slice


def _infer_slice(node: Node) -> list[TensorType]:
    x, rank = node.input(0), len(node.input(0).shape)
    if node.optional_input(1) is not None:
        return [TensorType(x.dtype, tuple(_sliced_shape(node)))]
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


def _sliced_shape(node: Node) -> list[Dim]:
    """The shape of a slice whose bounds are inputs."""
    x = node.input(0)
    lists = [data_input(node, index) for index in range(1, 5)]
    require(node, lists[1] is not None, "starts without ends")
    if any(value is not None and not value.type.is_static for value in lists):
        return [fresh_dim() for _ in x.shape]
    count = length_of(node, node.input(1))
    for value in lists[1:]:
        require(node, value is None or length_of(node, value) == count, "starts, ends, axes and steps differ in length")
    starts, ends, axes, steps = (integers_of(value) for value in lists)
    if lists[2] is None:
        axes = list(range(count))
    if axes is None:
        return [fresh_dim() for _ in x.shape]
    steps = [1] * count if lists[3] is None else steps
    shape = list(x.shape)
    traced = traced_sizes(lists[1])
    for index, axis in enumerate(normal_axis(node, axis, len(shape)) for axis in axes):
        if starts is not None and starts[index] == 0 and steps is not None and steps[index] == 1:
            end = None if traced is None else traced[index]
            if isinstance(end, str):
                shape[axis] = smaller_dim(x.shape[axis], end)
                continue
        if starts is None or ends is None or steps is None:
            shape[axis] = fresh_dim()
            continue
        require(node, steps[index] != 0, "a step is 0")
        shape[axis] = _sliced_dim(x.shape[axis], starts[index], ends[index], steps[index])
    return shape


def _sliced_dim(dim: Dim, start: int, end: int, step: int) -> Dim:
    if isinstance(dim, int):
        return slice_bounds(dim, start, end, step)[1]
    if step == 1 and start >= 0 and end >= 1 << 31:
        return add_dims(dim, -start)
    if step == -1 and start in (-1, (1 << 31) - 1, (1 << 63) - 1) and end < -(1 << 31):
        return dim
    return fresh_dim()


def slice_bounds(dim: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """Start, size and step within a dimension, from bounds that count and clamp as ONNX says."""
    start, end = (start + dim if start < 0 else start), (end + dim if end < 0 else end)
    if step > 0:
        start, end = min(max(start, 0), dim), min(max(end, 0), dim)
        return start, max(-((start - end) // step), 0), step
    start, end = min(max(start, 0), dim - 1), min(max(end, -1), dim - 1)
    return start, max(-((end - start) // -step), 0) if dim else 0, step


def _slice_list(shape: Sequence[int], lists: Sequence[Sequence[int] | None]) -> list[tuple[int, int, int]]:
    """(start, size, step) for each dimension of a known shape, from starts, ends, axes and steps."""
    starts, ends, axes, steps = lists
    assert starts is not None and ends is not None
    items = [(0, dim, 1) for dim in shape]
    for index, axis in enumerate(range(len(starts)) if axes is None else axes):
        step = 1 if steps is None else steps[index]
        items[axis] = slice_bounds(shape[axis], starts[index], ends[index], step)
    return items


def slice_attrs(node: Node) -> dict[str, Any] | None:
    """The attributes of a slice whose bounds are constant inputs, when the shape of x is known."""
    values = [node.optional_input(index) for index in range(1, 5)]
    if not node.input(0).type.is_static or any(value is not None and value.data is None for value in values):
        return None
    items = _slice_list(node.input(0).type.static_shape, [integers_of(value) for value in values])
    start, size, step = (tuple(item[index] for item in items) for index in range(3))
    return {"start": start, "size": size, "step": step}


def _reference_slice(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    y, *lists = (*inputs, None, None, None, None)[:5]
    assert y is not None
    items = list(zip(attrs["start"], attrs["size"], attrs["step"], strict=True))
    if lists[0] is not None:
        items = _slice_list(y.shape, [None if item is None else item.reshape(-1).tolist() for item in lists])
    for axis, (start, size, step) in enumerate(items):
        y = np.take(y, start + step * np.arange(size), axis=axis)
    return [y]


def _sample_slice(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng))
    if rng.integers(3) == 0:
        return _sample_slice_inputs(rng, x)
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


def _sample_slice_inputs(rng: np.random.Generator, x: np.ndarray) -> Sample:
    """Bounds as inputs, which may lie outside of x."""
    axes = rng.permutation(x.ndim)[: sampling.size(rng, 1, x.ndim)]
    starts, ends = (rng.integers(-9, 10, axes.size).tolist() for _ in range(2))
    steps = rng.choice([1, 1, 2, -1, -3], axes.size)
    signed = np.where(rng.integers(0, 2, axes.size) == 1, axes, axes - x.ndim)
    lists: list[np.ndarray | None] = [sampling.index_vector(rng, item) for item in (starts, ends, signed, steps)]
    if rng.integers(3) == 0:
        lists = [*lists[:3], None]
    return Sample([x, *lists], {})


# pad


def _infer_pad(node: Node) -> list[TensorType]:
    x, rank = node.input(0), len(node.input(0).shape)
    mode = node.attrs["mode"]
    require(node, mode in _PAD_MODES, f"mode {mode} is unknown")
    value = node.optional_input(1)
    if value is not None:
        require_dtype(node, value, x.dtype)
        require(node, multiply_dims(value.shape) == 1, "the value must be one element")
    amounts = node.attrs if data_input(node, 2) is None else pad_attrs(node)
    if amounts is None:
        axes = range(rank) if data_input(node, 3) is None else integers_of(node.input(3)) or range(rank)
        touched = {normal_axis(node, axis, rank) for axis in axes}
        return [TensorType(x.dtype, tuple(fresh_dim() if i in touched else dim for i, dim in enumerate(x.shape)))]
    before, after = tuple(amounts["before"]), tuple(amounts["after"])
    require(node, len(before) == len(after) == rank, f"before and after need {rank} entries")
    for index, dim in enumerate(x.shape):
        dim = add_dims(dim, min(before[index], 0) + min(after[index], 0))
        require(node, isinstance(dim, str) or dim >= 0, f"dimension {index}: the padding crops more than it has")
        if mode in (MODE_REFLECT, MODE_SYMMETRIC) and isinstance(dim, int):
            widest, limit = max(before[index], after[index], 0), dim - (mode == MODE_REFLECT)
            require(node, widest <= max(limit, 0), f"dimension {index}: a reflection of {widest} needs more than {dim}")
        if mode in (MODE_EDGE, MODE_WRAP) and dim == 0:
            require(node, max(before[index], after[index]) <= 0, f"dimension {index} is empty and has no edge")
    return [TensorType(x.dtype, tuple(add_dims(d, b + a) for d, b, a in zip(x.shape, before, after, strict=True)))]


def pad_attrs(node: Node) -> dict[str, Any] | None:
    """The attributes ``before`` and ``after`` from the inputs pads and axes."""
    rank, axes = len(node.input(0).shape), node.optional_input(3)
    pads = integers_of(node.input(2))
    chosen = list(range(rank)) if axes is None else integers_of(axes)
    if pads is None or chosen is None:
        return None
    require(node, len(pads) == 2 * len(chosen), "pads does not hold two amounts for each axis")
    before, after = _pad_amounts(pads, [normal_axis(node, axis, rank) for axis in chosen], rank)
    return {"before": before, "after": after}


def _pad_amounts(pads: Sequence[int], axes: Sequence[int], rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    before, after = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        before[axis], after[axis] = pads[index], pads[index + len(axes)]
    return tuple(before), tuple(after)


def _reference_pad(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, value, pads, axes = (*inputs, None, None, None)[:4]
    assert x is not None
    before, after = attrs["before"], attrs["after"]
    if pads is not None:
        chosen = range(x.ndim) if axes is None else [int(axis) % x.ndim for axis in axes.reshape(-1)]
        before, after = _pad_amounts(pads.reshape(-1).tolist(), list(chosen), x.ndim)
    x = x[tuple(slice(max(-b, 0), dim + min(a, 0)) for dim, b, a in zip(x.shape, before, after, strict=True))]
    widths = [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
    if attrs["mode"] == MODE_CONSTANT:
        filler = x.dtype.type(0) if value is None else value.reshape(-1)[0]
        return [np.pad(x, widths, constant_values=filler) if x.ndim else x]
    return [np.pad(x, widths, mode=_PAD_MODES[attrs["mode"]])]  # type: ignore[call-overload]


def _sample_pad(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng))
    mode = int(rng.integers(5))
    cuts = [int(rng.integers(dim)) if dim and rng.integers(4) == 0 else 0 for dim in x.shape]
    kept = [dim - cut for dim, cut in zip(x.shape, cuts, strict=True)]
    limits = [{MODE_REFLECT: dim, MODE_SYMMETRIC: dim + 1}.get(mode, 4) for dim in kept]
    before, after = (tuple(int(rng.integers(limit)) for limit in limits) for _ in range(2))
    before = tuple(-cut or added for cut, added in zip(cuts, before, strict=True))
    value = any_array(rng, (1,)).astype(x.dtype) if mode == MODE_CONSTANT and rng.integers(2) else None
    if rng.integers(3) == 0:
        axes = rng.permutation(x.ndim)
        pads = sampling.index_vector(rng, [*(before[axis] for axis in axes), *(after[axis] for axis in axes)])
        return Sample([x, value, pads, sampling.index_vector(rng, axes - x.ndim)], {"mode": mode})
    return Sample([x, value], {"before": before, "after": after, "mode": mode})


register(
    moving_op(
        "slice",
        _infer_slice,
        _reference_slice,
        _sample_slice,
        {"start": (), "size": (), "step": ()},
        "size elements of each dimension from start, step apart; or from starts to ends along some axes.",
        inputs=("x", "starts?", "ends?", "axes?", "steps?"),
        data_inputs=("starts", "ends", "axes", "steps"),
        absorb=slice_attrs,
    ),
    moving_op(
        "pad",
        _infer_pad,
        _reference_pad,
        _sample_pad,
        {"before": (), "after": (), "mode": MODE_CONSTANT},
        "Adds a border: constant (mode 0), reflected without (1) or with (3) the edge, the edge repeated (2), or the "
        "other end (4).",
        inputs=("x", "value?", "pads?", "axes?"),
        data_inputs=("pads", "axes"),
        absorb=pad_attrs,
        quant=QuantRule("same", materialize=materialize_pad),
    ),
)
