# SPDX-License-Identifier: Apache-2.0
"""TFLite's operators that move data where sizes or positions are known at run time only: behind WHERE, UNIQUE and other
operators whose results decide about shapes, or where they are computed by the model.

Where all that is known at conversion, tflite_data settles it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_graph import TfliteNode, axis_of, require

_END = np.iinfo(np.int64).max


def is_open(value: Value) -> bool:
    """Whether a tensor has sizes that only a run tells."""
    return not value.type.is_static


def is_computed(node: TfliteNode, *places: int) -> bool:
    """Whether one of these inputs is computed at run time."""
    return any(node.has(place) and node.value(place).data is None for place in places)


def own_shape(x: Value) -> tuple[int, ...]:
    """What a reshape to the shape that ``x`` has is given, whatever its sizes."""
    return tuple(dim if isinstance(dim, int) else 0 for dim in x.shape)


def same(node: TfliteNode, x: Value) -> Value:
    """A copy of ``x`` with the quantization of the operator's output."""
    return node.add("reshape", [x], {"shape": own_shape(x)}, quant=node.output_quant())


def reshape(node: TfliteNode) -> Value:
    """RESHAPE of a tensor of open sizes, or to a shape that is computed."""
    x, quant = node.value(0), node.output_quant()
    if is_computed(node, 1):
        return node.add("reshape", [x, node.value(1)], {"allow_zero": 1}, quant=quant)
    return node.add("reshape", [x], {"shape": tuple(new_shape(node)), "allow_zero": 1}, quant=quant)


def new_shape(node: TfliteNode) -> list[int]:
    """The shape that RESHAPE is given, by an input or in its options."""
    if node.has(1):
        return node.ints(1, "the new shape")
    options = node.options("ReshapeOptions")
    return [int(dim) for dim in options.NewShapeAsNumpy()] if options.NewShapeLength() else []


def squeeze(node: TfliteNode) -> Value:
    """SQUEEZE with its axes; without them it is not known which sizes are 1."""
    x, given = node.value(0), squeezed_axes(node)
    require(bool(given), "no axes are given, and sizes of the input are known at run time only")
    return node.add("squeeze", [x], {"axes": _mask(given, len(x.shape))}, quant=node.output_quant())


def squeezed_axes(node: TfliteNode) -> list[int]:
    """The axes that SQUEEZE is given; none stands for all of size 1."""
    options = node.options("SqueezeOptions")
    return [int(axis) for axis in options.SqueezeDimsAsNumpy()] if options.SqueezeDimsLength() else []


def expand_dims(node: TfliteNode) -> Value:
    """EXPAND_DIMS."""
    x, axes = node.value(0), node.ints(1, "the axis")
    require(len(axes) == 1, f"{len(axes)} axes")
    return node.add("unsqueeze", [x], {"axes": _mask(axes, len(x.shape) + 1)}, quant=node.output_quant())


def _mask(axes: Sequence[int], rank: int) -> int:
    return sum(1 << axis for axis in {axis_of(axis, rank) for axis in axes})


def shape_of(node: TfliteNode) -> Value:
    """SHAPE, read at run time."""
    x = node.value(0)
    return node.add("shape", [x], {"start": 0, "end": len(x.shape), "to": node.output_type().dtype.value})


def expand(node: TfliteNode, x: Value, place: int) -> Value:
    """FILL and BROADCAST_TO with a shape that is computed."""
    return node.add("expand", [x, node.value(place)], quant=node.output_quant())


def tile(node: TfliteNode) -> Value:
    """TILE, of open sizes or with multiples that are computed."""
    return node.add("tile", [node.value(0), node.value(1)], quant=node.output_quant())


def pads(node: TfliteNode) -> Value:
    """The padding of PAD, [rank, 2], as that of the op: all before, then all after."""
    rank = len(node.value(0).shape)
    require(node.value(1).shape == (rank, 2), f"padding has shape {list(node.value(1).shape)}")
    return node.reshape(node.add("transpose", [node.value(1)], {"perm": (1, 0)}), (2 * rank,))


def numbers(node: TfliteNode) -> Value:
    """RANGE whose bounds are computed."""
    return node.add("range", [node.value(place) for place in range(3)])


def pack(node: TfliteNode, values: Sequence[Value], axis: int) -> Value:
    """PACK of tensors of open sizes, along an axis counted in the result."""
    axis = axis_of(axis, len(values[0].shape) + 1)
    parts = [node.add("unsqueeze", [value], {"axes": 1 << axis}, quant=value.quant) for value in values]
    return node.add("concat", parts, {"axis": axis}, quant=node.output_quant())


def cut(node: TfliteNode, x: Value, bounds: Sequence[tuple[int, int, int, int]]) -> Value:
    """``x`` cut along some axes, each (axis, start, end, step) as ONNX counts: from the end below 0, clamped."""
    if not bounds:
        return x
    axes, starts, ends, steps = (_s64(node, column) for column in zip(*bounds, strict=True))
    return node.add("slice", [x, starts, ends, axes, steps], quant=x.quant)


def _s64(node: TfliteNode, data: Sequence[int] | int) -> Value:
    return node.const(np.asarray(data, np.int64), suffix="bounds")


def slice_(node: TfliteNode) -> Value:
    """SLICE. Where only the start is computed the result has known sizes, and is gathered along each axis."""
    x, begin, size = node.value(0), node.value(1), node.value(2)
    if size.data is not None and x.type.is_static:
        return _window(node, x, begin, node.ints(2, "the size"))
    start, count = (
        node.add("cast", [v], {"to": DType.s64.value}) if v.dtype is DType.s32 else v for v in (begin, size)
    )
    whole = node.add("equal", [count, _s64(node, -1)])
    end = node.add("where", [whole, _s64(node, _END), node.add("add", [start, count])])
    return node.add("slice", [x, start, end], quant=node.output_quant())


def _window(node: TfliteNode, x: Value, begin: Value, sizes: Sequence[int]) -> Value:
    shape = x.type.static_shape
    require(len(sizes) == len(shape) and max(sizes, default=0) >= -1, f"size {list(sizes)} for shape {list(shape)}")
    for axis, (size, dim) in enumerate(zip(sizes, shape, strict=True)):
        if size == dim:
            continue
        require(size >= 0, f"the start of dimension {axis} is computed, and its size is not given")
        require(size < dim, f"size {size} of dimension {axis}, which has {dim}")
        first = node.add("gather", [begin, node.const(np.array([axis], np.int32), suffix="axis")], {"axis": 0})
        steps = node.const(np.arange(size).astype(begin.dtype.numpy), suffix="steps")
        x = node.add("gather", [x, node.add("add", [steps, first])], {"axis": axis}, quant=x.quant)
    return same(node, x) if x is node.value(0) else x


def strided_slice(node: TfliteNode) -> Value:
    """STRIDED_SLICE of open sizes, or from and to positions that are computed; without ellipsis and new axes."""
    options = node.options("StridedSliceOptions", required=True)
    require(not options.EllipsisMask() and not options.NewAxisMask(), "an ellipsis or a new axis, and open sizes")
    require(not options.Offset(), "an end relative to the start is not supported", attribute="offset")
    x, strides = node.value(0), node.ints(3, "the stride")
    require(len(strides) <= len(x.shape) and 0 not in strides, f"strides {strides} for {len(x.shape)} dimensions")
    removed = 0
    for index, step in enumerate(strides):
        axis, bit = index - removed, 1 << index
        if options.ShrinkAxisMask() & bit:
            position = _entry(node, 1, index)
            x = node.add("gather", [x, node.reshape(position, ())], {"axis": axis}, quant=x.quant)
            removed += 1
            continue
        begin_open, end_open = bool(options.BeginMask() & bit), bool(options.EndMask() & bit)
        if begin_open and end_open and step == 1:
            continue
        start = _s64(node, [0 if step > 0 else _END]) if begin_open else _entry(node, 1, index)
        end = _s64(node, [_END if step > 0 else -_END]) if end_open else _entry(node, 2, index)
        x = node.add("slice", [x, start, end, _s64(node, [axis]), _s64(node, [step])], quant=x.quant)
    return same(node, x) if x is node.value(0) else x


def _entry(node: TfliteNode, place: int, index: int) -> Value:
    """Element ``index`` of an input of positions: [1], s64."""
    positions = node.value(place)
    picked = node.add("gather", [positions, node.const(np.array([index], np.int32), suffix="entry")], {"axis": 0})
    return picked if picked.dtype is DType.s64 else node.add("cast", [picked], {"to": DType.s64.value})
