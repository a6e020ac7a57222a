"""TFLite's running sums, bitwise logic and normalization over channels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_graph import Reject, Row, TfliteNode, axis_of, require


def cumsum(node: TfliteNode) -> Value:
    """CUMSUM along a constant axis."""
    options, x = node.options("CumsumOptions"), node.value(0)
    require(x.quant is None, f"quantized {x.dtype.name} is not supported")
    axes = node.ints(1, "the axis")
    require(len(axes) == 1, f"{len(axes)} numbers for one axis")
    axis = axes[0]
    attrs = {"exclusive": int(options.Exclusive()), "reverse": int(options.Reverse())}
    return node.add("cumsum", [x], {"axis": axis_of(axis, len(x.shape)), **attrs})


def _bits(op: str) -> Row:
    def row(node: TfliteNode) -> Value:
        a, b = node.value(0), node.value(1)
        require(a.quant is None and b.quant is None, "quantized tensors are not supported")
        return node.add(op, [a, b])

    return row


def local_response_normalization(node: TfliteNode) -> Value:
    """LOCAL_RESPONSE_NORMALIZATION."""
    options, x = node.options("LocalResponseNormalizationOptions"), node.value(0)
    require(x.dtype is DType.f32, f"{x.dtype.name} is not supported")
    radius = options.Radius()
    require(radius >= 0, f"radius {radius} is negative")
    attrs = {
        "before": radius,
        "after": radius,
        "alpha": options.Alpha(),
        "beta": options.Beta(),
        "bias": options.Bias(),
    }
    return node.add("lrn", [x], attrs)


def atan2(node: TfliteNode) -> Value:
    """ATAN2: the angle of the point (x, y), from -pi to pi."""
    y, x = node.value(0), node.value(1)
    require(y.dtype is DType.f32, f"{y.dtype.name} is not supported")
    zero, pi = (node.const(np.array(number, np.float32), suffix="angle") for number in (0.0, np.pi))
    angle = node.add("atan", [node.add("div", [y, x])])
    is_below = node.add("less", [y, zero])
    beyond = node.add("where", [is_below, node.add("sub", [angle, pi]), node.add("add", [angle, pi])])
    angle = node.add("where", [node.add("less", [x, zero]), beyond, angle])
    is_origin = node.add("logical_and", [node.add("equal", [x, zero]), node.add("equal", [y, zero])])
    return node.add("where", [is_origin, zero, angle])


def bucketize(node: TfliteNode) -> Value:
    """BUCKETIZE: how many of the boundaries, which ascend, are not greater than an element."""
    options, x = node.options("BucketizeOptions", required=True), node.value(0)
    require(x.dtype in (DType.f32, DType.s32, DType.s64), f"{x.dtype.name} is not supported")
    count = options.BoundariesLength()
    boundaries = np.asarray(options.BoundariesAsNumpy() if count else [], np.float32)
    if x.dtype is not DType.f32:
        boundaries = np.ceil(boundaries).astype(x.dtype.numpy)
    numbers = node.reshape(x, (*x.type.static_shape, 1))
    reached = node.add("greater_equal", [numbers, node.const(boundaries, suffix="boundaries")])
    ones = node.add("cast", [reached], {"to": DType.s32.value})
    return node.add("reduce_sum", [ones], {"axes": 1 << len(x.shape), "keep_dims": 0})


def fake_quant(node: TfliteNode) -> Value:
    """FAKE_QUANT: the real numbers that are left of a tensor after a quantization."""
    options, x = node.options("FakeQuantOptions", required=True), node.value(0)
    low, high = np.float32(options.Min()), np.float32(options.Max())
    first, last = np.float32(int(bool(options.NarrowRange()))), np.float32((1 << options.NumBits()) - 1)
    require(2 <= options.NumBits() <= 16 and low < high, f"{options.NumBits()} bits from {low} to {high}")
    scale = (high - low) / (last - first)
    zero = np.float32(np.clip(np.floor(first - low / scale + np.float32(0.5)), first, last))
    nudged_low, nudged_high = (first - zero) * scale, (last - zero) * scale

    def number(value: np.float32) -> Value:
        return node.const(np.array(value, np.float32), suffix="number")

    steps = node.add("sub", [node.add("clip", [x], {"alpha": nudged_low, "beta": nudged_high}), number(nudged_low)])
    steps = node.add("mul", [steps, number(np.float32(1) / scale)])
    whole = node.add("floor", [node.add("add", [steps, number(np.float32(0.5))])])
    return node.add("add", [node.add("mul", [whole, number(scale)]), number(nudged_low)])


def broadcast_args(node: TfliteNode) -> Value:
    """BROADCAST_ARGS: the shape that two shapes have together."""
    shapes = [tuple(node.ints(index, "a shape")) for index in (0, 1)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise Reject(f"the shapes {list(shapes[0])} and {list(shapes[1])} do not go together") from None
    return node.const(np.array(shape, node.output_type().dtype.numpy))


def bitcast(node: TfliteNode) -> Value:
    """BITCAST to elements of the same size."""
    x, to = node.value(0), node.output_type().dtype
    require(x.dtype.size == to.size, f"from {x.dtype.name} to {to.name} is not supported")
    return node.add("bitcast", [x], {"to": to.value}) if x.dtype is not to else node.reshape(x, x.type.static_shape)


ROWS: Mapping[str, Row] = {
    "ATAN2": atan2,
    "BITCAST": bitcast,
    "BROADCAST_ARGS": broadcast_args,
    "BUCKETIZE": bucketize,
    "FAKE_QUANT": fake_quant,
    "BITWISE_XOR": _bits("bitwise_xor"),
    "CUMSUM": cumsum,
    "LOCAL_RESPONSE_NORMALIZATION": local_response_normalization,
    "RIGHT_SHIFT": _bits("bit_shift_right"),
}
