"""ONNX quantization: QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.

Where scale and zero point are known and hold for the whole tensor they become the quantization of the integers, from
which the pass ``integer_ops`` makes integer ops. Elsewhere they are inputs of quantize and dequantize.
"""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Quant, Value
from ...numerics import FLOAT_EVEN, dequantize_array
from .onnx_data import held_type
from .onnx_graph import NARROW, Builder, OnnxNode, Reject, Row
from .onnx_math import checked_axis, clipped

LEAST_DECODED = 64
"""Fewer elements that a model casts from integers are not worth to be remembered."""

STORED = (DType.s8, DType.u8, DType.s16, DType.u16)
"""Types that quantize writes."""


def quantize_linear(g: Builder, node: OnnxNode) -> Value:
    """QuantizeLinear: for the whole tensor, along an axis, or in blocks."""
    x, scale, zero = node.value(0), node.value(1), node.optional(2)
    node.ignore("precision")
    chosen = node.integer("output_dtype", 0)
    dtype = zero.dtype if zero is not None else held_type(chosen) if chosen else DType.u8
    narrow = g.narrow.get(id(zero), chosen)
    if dtype not in STORED:
        raise Reject(f"integers of type {dtype.name} are not supported", "use int8, uint8, int16 or uint16")
    axis, block = _layout(node, x, scale)
    attrs = {"to": dtype.value, "rounding": FLOAT_EVEN}
    quant = known_quant(scale, zero)
    x = g.cast(x, DType.f32)
    limits = NARROW[narrow][1:] if narrow in NARROW else None
    if quant is not None:
        return g.add("quantize", [x if limits is None else _within(g, x, quant, limits)], attrs, quant=quant)
    y = g.add("quantize", [x, *_along(g, scale, zero)], {**attrs, "axis": axis, "block": block})
    return y if limits is None else clipped(g, y, *limits)


def _within(g: Builder, x: Value, quant: Quant, limits: tuple[int, int]) -> Value:
    """x between the real numbers that integers of 4 or 2 bits stand for, so that those of 8 bits stay among them."""
    low, high = (float(np.float32(edge - int(quant.zero_point[0])) * quant.scale[0]) for edge in limits)
    return clipped(g, x, low, high)


def dequantize_linear(g: Builder, node: OnnxNode) -> Value:
    """DequantizeLinear. What is constant is decoded at once, and remembers from which integers."""
    x, scale, zero = node.value(0), node.value(1), node.optional(2)
    node.ignore("output_dtype")
    if x.dtype not in (*STORED, DType.s32):
        raise Reject(f"integers of type {x.dtype.name} are not supported", "use int8, uint8, int16, uint16 or int32")
    axis, block = _layout(node, x, scale)
    if x.data is not None and scale.data is not None and not block and (zero is None or zero.data is not None):
        return decoded(g, x.data, parameters_of(scale.data, None if zero is None else zero.data, axis))
    quant = known_quant(scale, zero)
    if quant is None or x.dtype is DType.s32:
        return g.add("dequantize", [x, *_along(g, scale, zero)], {"axis": axis, "block": block})
    return g.add("dequantize", [quantized(g, x, quant)])


def dynamic_quantize_linear(g: Builder, node: OnnxNode) -> list[Value]:
    """DynamicQuantizeLinear: uint8 over the range of the tensor at hand."""
    return g.add_all("quantize_dynamic", [node.value(0)])


def _layout(node: OnnxNode, x: Value, scale: Value) -> tuple[int, int]:
    """The axis along which the scales lie, -1 where there is one for all, and the size of blocks (0: none)."""
    block = node.integer("block_size", 0)
    if len(scale.shape) == 0 or (scale.shape == (1,) and not block):
        node.ignore("axis")
        return -1, 0
    return checked_axis(node.integer("axis", 1), len(x.shape), "attribute 'axis'"), block


def _along(g: Builder, scale: Value, zero: Value | None) -> list[Value | None]:
    """Inputs 1 and 2 of quantize and dequantize."""
    return [g.cast(scale, DType.f32), None if zero is None else g.cast(zero, DType.s32)]


_SAME_QUANT = frozenset(
    {"reshape", "transpose", "slice", "concat", "squeeze", "unsqueeze", "expand", "tile", "max_pool2d"}
)
"""Ops whose result has the quantization of their data inputs."""


def quantized(g: Builder, x: Value, quant: Quant) -> Value:
    """``x``, or a copy of it, with a quantization."""
    if _mark(x, quant):
        return x
    copy = g.copy(x)
    copy.quant = quant
    return copy


def _mark(x: Value, quant: Quant) -> bool:
    """Sets the quantization of a value and of those that it was made from; False when that cannot be."""
    if x.quant is not None or x.is_constant:
        return x.quant == quant
    node = x.producer
    if node is not None:
        inputs = node.inputs if node.op == "concat" else node.inputs[:1]
        if node.op not in _SAME_QUANT or not all(value is not None and _mark(value, quant) for value in inputs):
            return False
    x.quant = quant
    return True


def known_quant(scale: Value, zero: Value | None) -> Quant | None:
    """The quantization that two constants of one element say; None where they are not that."""
    if scale.data is None or scale.data.size != 1 or (zero is not None and zero.data is None):
        return None
    return parameters_of(scale.data, None if zero is None else zero.data, -1)


def parameters_of(scale: np.ndarray, zero: np.ndarray | None, axis: int) -> Quant:
    """The quantization that arrays of scales and zero points say, along ``axis`` unless it is -1."""
    points = np.zeros(scale.size, np.int64) if zero is None else zero.reshape(-1).astype(np.int64)
    vector = scale.reshape(-1).astype(np.float32)
    if not np.all(np.isfinite(vector)) or np.any(vector < 0):
        raise Reject("a scale is negative or not finite")
    if points.size != vector.size:
        raise Reject(f"the scale has shape {scale.shape} and the zero point {None if zero is None else zero.shape}")
    return Quant(vector, points, None if axis < 0 else axis)


def decoded(g: Builder, data: np.ndarray, quant: Quant) -> Value:
    """The real numbers that constant integers stand for; the constant remembers its origin."""
    shape = [1] * data.ndim
    if quant.axis is not None:
        if data.shape[quant.axis] != quant.scale.size:
            raise Reject(
                f"{quant.scale.size} scales do not fit dimension {quant.axis} of an input of shape {data.shape}"
            )
        shape[quant.axis] = -1
    real = dequantize_array(data, quant.scale.reshape(shape), quant.zero_point.reshape(shape))
    value = g.const(real.reshape(data.shape).astype(np.float32), "decoded")
    value.decoded_from = quant
    return value


def origin_of_computed(node: OnnxNode, result: np.ndarray) -> Quant | None:
    """The quantization of a constant that a model decodes by Cast, Sub and Mul or Div; None where it does not.

    ``result`` is what the node makes of its constants. Integers of 8 bits that are cast have the scale one.
    """
    entries = [entry for entry in node.entries if isinstance(entry, Value)]
    if len(entries) != len(node.entries) or not entries or result.dtype != np.float32 or result.size < LEAST_DECODED:
        return None
    first, data = entries[0], entries[0].data
    if node.op == "Cast":
        stored = data is not None and data.dtype in (np.int8, np.uint8)
        return Quant(np.ones(1, np.float32), np.zeros(1, np.int64)) if stored else None
    if node.op not in ("Sub", "Mul", "Div") or len(entries) != 2:
        return None
    if node.op == "Mul" and first.decoded_from is None:
        entries.reverse()
    known, factor = entries[0].decoded_from, entries[1].data
    if known is None or factor is None or entries[0].data is None or entries[0].data.shape != result.shape:
        return None
    axes = [axis for axis, dim in enumerate(factor.shape[::-1]) if dim != 1]
    if len(axes) > 1:
        return None
    axis = result.ndim - 1 - axes[0] if axes else None
    by = factor.reshape(-1)
    if axis is not None and known.axis not in (None, axis):
        return None
    return _offset(known, by, axis) if node.op == "Sub" else _scaled(known, 1 / by if node.op == "Div" else by, axis)


def _offset(known: Quant, by: np.ndarray, axis: int | None) -> Quant | None:
    """The quantization when zero points are taken away from integers."""
    if (
        not np.all(known.scale == 1)
        or not np.all(np.isfinite(by))
        or np.any(by != np.rint(by))
        or np.abs(by).max() > 255
    ):
        return None
    points = known.zero_point + by.astype(np.int64)
    return Quant(np.ones(points.size, np.float32), points, axis if known.axis is None else known.axis)


def _scaled(known: Quant, by: np.ndarray, axis: int | None) -> Quant | None:
    """The quantization when numbers are multiplied."""
    scale = (known.scale * by).astype(np.float32)
    if not np.all(np.isfinite(scale)) or np.any(scale <= 0):
        return None
    points = np.broadcast_to(known.zero_point, scale.shape).copy()
    return Quant(scale, points, axis if known.axis is None else known.axis)


ROWS: dict[str, Row] = {
    "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear,
    "QuantizeLinear": quantize_linear,
}
