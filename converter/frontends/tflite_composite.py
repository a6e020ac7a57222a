"""TFLite operators that become several ops: resizing, transposed convolution, indexing by tuples and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value
from microlith.numerics import TFLITE_UP_BY_8

from .tflite_conv import check_weights, window_padding
from .tflite_data import part
from .tflite_graph import Row, TfliteNode, axis_of, fused_clamp, is_shifted, require

# Positions.


def _arg(op: str) -> Row:
    def row(node: TfliteNode) -> Value:
        x, axes = node.value(0), node.ints(1, "the axis")
        require(len(axes) == 1, f"{len(axes)} axes")
        target = node.output_type().dtype
        require(target in (DType.s32, DType.s64), f"positions as {target.name}")
        attrs = {"axis": axis_of(axes[0], len(x.shape)), "keep_dims": 0, "to": target.value}
        return node.add(op, [x], attrs)

    return row


def gather_nd(node: TfliteNode) -> Value:
    """Tuples of indices become positions in the flattened leading dimensions."""
    x, indices = node.value(0), node.value(1)
    shape, picks = node.shape(0), node.shape(1)
    require(len(picks) >= 1 and 1 <= picks[-1] <= len(shape), f"indices {list(picks)} for shape {list(shape)}")
    require(indices.dtype in (DType.s32, DType.s64), f"indices are {indices.dtype.name}")
    depth = picks[-1]
    strides = np.cumprod([1, *reversed(shape[1:depth])])[::-1]
    weights = node.const(np.ascontiguousarray(strides).astype(indices.dtype.numpy), suffix="strides")
    places = node.add(
        "reduce_sum", [node.add("mul", [indices, weights])], {"axes": 1 << (len(picks) - 1), "keep_dims": 0}
    )
    flat = node.reshape(x, (int(np.prod(shape[:depth])), *shape[depth:]))
    return node.add("gather", [flat, places], {"axis": 0}, quant=node.output_quant())


def one_hot(node: TfliteNode) -> Value:
    options = node.options("OneHotOptions")
    indices, depth = node.value(0), node.ints(1, "the depth")
    on, off = node.value(2), node.value(3)
    require(len(depth) == 1 and depth[0] >= 0, f"depth {depth}")
    rank = len(indices.shape) + 1
    axis = rank - 1 if options.Axis() == -1 else axis_of(options.Axis(), rank)
    spread = list(indices.type.static_shape)
    spread.insert(axis, 1)
    places = np.arange(depth[0]).astype(indices.dtype.numpy).reshape([-1 if i == axis else 1 for i in range(rank)])
    hit = node.add("equal", [node.reshape(indices, spread), node.const(places, suffix="places")])
    return node.add("where", [hit, node.reshape(on, ()), node.reshape(off, ())], quant=node.output_quant())


def range_(node: TfliteNode) -> Value:
    start, limit, delta = (node.array(index, what) for index, what in ((0, "start"), (1, "limit"), (2, "delta")))
    require(start.size == limit.size == delta.size == 1, "start, limit and delta are not scalars")
    first, last, step = (array.reshape(-1)[0] for array in (start, limit, delta))
    require(bool(step != 0), "delta is 0")
    count = max(int(np.ceil((float(last) - float(first)) / float(step))), 0)
    require(count <= 1 << 24, f"{count} numbers")
    return node.const((first + np.arange(count).astype(start.dtype) * step).astype(start.dtype))


# Integer division.


def floor_div(node: TfliteNode) -> Value:
    """Rounded down, which for integers is what remains after the remainder of the divisor's sign is taken off."""
    a, b = node.value(0), node.value(1)
    if a.dtype is DType.f32:
        return node.add("floor", [node.add("div", [a, b])])
    require(a.dtype in (DType.s32, DType.s64), f"{a.dtype.name} is not supported")
    return node.add("div", [node.add("sub", [a, node.add("mod", [a, b])]), b])


def floor_mod(node: TfliteNode) -> Value:
    a, b = node.value(0), node.value(1)
    require(a.dtype in (DType.f32, DType.s32, DType.s64), f"{a.dtype.name} is not supported")
    return node.add("mod", [a, b])


# Logical reductions.


def _logical(op: str) -> Row:
    def row(node: TfliteNode) -> Value:
        x = node.add("cast", [node.value(0)], {"to": DType.s32.value})
        axes = {axis_of(axis, len(x.shape)) for axis in node.ints(1, "the axes")}
        keep_dims = int(bool(node.options("ReducerOptions").KeepDims()))
        total = node.add(op, [x], {"axes": sum(1 << axis for axis in axes), "keep_dims": keep_dims})
        return node.add("cast", [total], {"to": DType.b8.value})

    return row


# Bilinear resizing.


def resize_bilinear(node: TfliteNode) -> Value:
    """In LiteRT's arithmetic: float32; int8 in fixed point with 10 fractional bits; uint8 in float32, truncated."""
    options = node.options("ResizeBilinearOptions")
    x, shape = node.value(0), node.shape(0)
    size = node.ints(1, "the size")
    require(len(shape) == 4 and len(size) == 2 and min(size) >= 1, f"size {size} for shape {list(shape)}")
    corners, centers = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    require(not (corners and centers), "align_corners with half_pixel_centers")
    if x.dtype is DType.f32:
        return _resize_float(node, x, size, corners, centers)
    require(x.dtype is DType.s8, f"{x.dtype.name} is not supported")
    if not is_shifted(node.input_tensor(0)):
        return _resize_integer(node, x, size, corners, centers)
    by_eight = size[0] == 8 * shape[1] and size[1] == 8 * shape[2]
    require(
        not (centers and shape[3] % 8 == 0 and by_eight), "uint8 enlarged 8 times has a kernel of its own in LiteRT"
    )
    real = _cast(node, x, DType.f32)
    unsigned = node.add("add", [real, node.const(np.array([128.0], np.float32), suffix="128")])
    resized = _resize_float(node, unsigned, size, corners, centers)
    rounded = node.add("add", [resized, node.const(np.array([0.5], np.float32), suffix="half")])
    whole = _cast(node, rounded, DType.s32)
    return _cast(
        node, node.add("sub", [whole, node.const(np.array([128], np.int32), suffix="128")]), DType.s8, final=True
    )


def _cast(node: TfliteNode, x: Value, dtype: DType, *, final: bool = False) -> Value:
    return node.add("cast", [x], {"to": dtype.value}, quant=node.output_quant() if final else None)


def _picked(node: TfliteNode, x: Value, axis: int, places: np.ndarray) -> Value:
    """Slices of ``x`` along ``axis``."""
    if np.array_equal(places, np.arange(x.type.static_shape[axis])):
        return x
    return node.add("gather", [x, node.const(places.astype(np.int32), suffix="places")], {"axis": axis})


def _neighbours(dim: int, size: int, corners: bool, centers: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper neighbour of each output and the float32 distance from the lower one."""
    one = np.float32(1)
    scale = np.float32(dim - 1) / np.float32(size - 1) if corners and size > 1 else np.float32(dim) / np.float32(size)
    place = np.arange(size).astype(np.float32)
    place = (place + np.float32(0.5)) * scale - np.float32(0.5) if centers else place * (scale * one)
    low = np.maximum(np.floor(place), 0).astype(np.int64)
    high = np.minimum(np.ceil(place), dim - 1).astype(np.int64)
    return low, high, place - low.astype(np.float32)


def _resize_float(node: TfliteNode, x: Value, size: list[int], corners: bool, centers: bool) -> Value:
    """The weighted sum of the four neighbours, in LiteRT's order."""
    shape = x.type.static_shape
    top, bottom, down = _neighbours(shape[1], size[0], corners, centers)
    left, right, across = _neighbours(shape[2], size[1], corners, centers)
    one = np.float32(1)
    total: Value | None = None
    for rows, vertical in ((top, one - down), (bottom, down)):
        band = _picked(node, x, 1, rows)
        for columns, horizontal in ((left, one - across), (right, across)):
            weights = node.const((vertical[:, None] * horizontal[None, :])[:, :, None], suffix="weights")
            product = node.add("mul", [_picked(node, band, 2, columns), weights])
            total = product if total is None else node.add("add", [total, product])
    assert total is not None
    return total


def _fixed_neighbours(dim: int, size: int, corners: bool, centers: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper neighbour of each output and the distance from the lower one in 1/1024."""
    if corners and size > 1:
        scale = (1024 * (dim - 1) + (size - 1) // 2) // (size - 1)
    else:
        scale = (1024 * dim + size // 2) // size
    place = np.arange(size, dtype=np.int64) * scale + (scale // 2 - 512 if centers else 0)
    # C divides towards zero, so that positions before the first element have the first as both neighbours.
    low = np.maximum(np.sign(place) * (np.abs(place) // 1024), 0)
    above = place + 1023
    high = np.minimum(np.sign(above) * (np.abs(above) // 1024), dim - 1)
    return low, high, place - 1024 * low


def _resize_integer(node: TfliteNode, x: Value, size: list[int], corners: bool, centers: bool) -> Value:
    wide = _cast(node, x, DType.s32)
    for axis in (1, 2):
        low, high, distance = _fixed_neighbours(x.type.static_shape[axis], size[axis - 1], corners, centers)
        form = [-1 if i == axis - 1 else 1 for i in range(3)]
        near, far = (
            node.const(weight.astype(np.int32).reshape(form), suffix="weights")
            for weight in (1024 - distance, distance)
        )
        parts = [_picked(node, wide, axis, low), _picked(node, wide, axis, high)]
        wide = node.add("add", [node.add("mul", [parts[0], near]), node.add("mul", [parts[1], far])])
    half = node.const(np.array([1 << 19], np.int32), suffix="half")
    rounded = node.add("add", [wide, node.add("mul", [node.add("sign", [wide]), half])])
    scaled = node.add("div", [rounded, node.const(np.array([1 << 20], np.int32), suffix="scale")])
    return _cast(node, scaled, DType.s8, final=True)


# Transposed convolution.


def transpose_conv(node: TfliteNode) -> Value:
    """A convolution of the input with zeros between its elements, by the filters turned around."""
    options = node.options("TransposeConvOptions", required=True)
    sizes, weights, x = node.ints(0, "the output shape"), node.value(1), node.value(2)
    bias = node.optional(3)
    shape, filters = node.shape(2), node.shape(1)
    require(len(sizes) == len(shape) == len(filters) == 4, "not two-dimensional")
    require(filters[3] == shape[3] and sizes[3] == filters[0], f"filters {list(filters)} do not fit")
    hybrid = check_weights(node, x, weights)
    require(not hybrid, "float32 with int8 weights is not supported")
    data = np.ascontiguousarray(node.array(1, "weights")[:, ::-1, ::-1])
    turned = node.const(data, weights.quant, suffix="weights")
    attrs: dict[str, Any] = fused_clamp(options.FusedActivationFunction())
    if x.dtype is not DType.f32:
        # LiteRT finishes with the code of its depthwise convolution.
        attrs["rounding"] = TFLITE_UP_BY_8
    for axis, stride, names in (
        (1, options.StrideH(), ("pad_top", "pad_bottom")),
        (2, options.StrideW(), ("pad_left", "pad_right")),
    ):
        kernel, size = filters[axis], sizes[axis]
        before, _ = window_padding(node, size, kernel, stride, 1, options.Padding(), "output")
        x = _with_zeros_between(node, x, axis, stride)
        pads = (kernel - 1 - before, size - x.type.static_shape[axis] + before)
        require(min(pads) >= 0, f"output size {size} is smaller than what the input reaches")
        attrs[names[0]], attrs[names[1]] = pads
    return node.add("conv2d", [x, turned, bias], attrs, quant=node.output_quant())


def _with_zeros_between(node: TfliteNode, x: Value, axis: int, stride: int) -> Value:
    """``stride - 1`` zeros (integers: zero points) between neighbours along one axis."""
    require(stride >= 1, f"stride {stride}")
    if stride == 1:
        return x
    shape = list(x.type.static_shape)
    zero = int(x.quant.zero_point[0]) if x.quant is not None else 0
    value = node.const(np.array([zero], x.dtype.numpy), x.quant, suffix="zero")
    apart = node.reshape(x, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
    after = tuple(stride - 1 if i == axis + 1 else 0 for i in range(5))
    padded = node.add("pad", [apart, value], {"before": (0,) * 5, "after": after, "mode": 0}, quant=x.quant)
    shape[axis] *= stride
    joined = node.reshape(padded, shape)
    return part(node, joined, axis, 0, shape[axis] - stride + 1)


ROWS: Mapping[str, Row] = {
    "ARG_MAX": _arg("argmax"),
    "ARG_MIN": _arg("argmin"),
    "FLOOR_DIV": floor_div,
    "FLOOR_MOD": floor_mod,
    "GATHER_ND": gather_nd,
    "ONE_HOT": one_hot,
    "RANGE": range_,
    "REDUCE_ALL": _logical("reduce_min"),
    "REDUCE_ANY": _logical("reduce_max"),
    "RESIZE_BILINEAR": resize_bilinear,
    "TRANSPOSE_CONV": transpose_conv,
}
