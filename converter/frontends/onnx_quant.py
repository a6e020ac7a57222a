"""ONNX quantization: QuantizeLinear and DequantizeLinear, which carry the quantization of the integers between them."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Quant, Value
from .onnx_data import dtype_of
from .onnx_graph import Builder, OnnxNode, Reject, Row
from .onnx_math import checked_axis

INTEGERS = (DType.s8, DType.u8, DType.s16)
"""Types that quantize writes."""


def quantize_linear(g: Builder, node: OnnxNode) -> Value:
    """QuantizeLinear with one scale for the whole tensor."""
    x = node.value(0)
    zero = node.optional_array(2, "input 'y_zero_point'")
    node.ignore("precision")
    chosen = node.integer("output_dtype", 0)
    dtype = DType.from_numpy(zero.dtype) if zero is not None else dtype_of(chosen) if chosen else DType.u8
    if dtype not in INTEGERS:
        raise Reject(f"integers of type {dtype.name} are not supported", "use int8, uint8 or int16")
    quant = _quant(node, x, zero)
    if quant.axis is not None:
        raise Reject("a scale per channel is supported for constants only")
    return g.add("quantize", [x], {"to": dtype.value}, quant=quant)


def dequantize_linear(g: Builder, node: OnnxNode) -> Value:
    """DequantizeLinear; integers that are constant may have a scale per channel."""
    x = node.value(0)
    if not x.dtype.is_integer:
        raise Reject(f"the input is {x.dtype.name}")
    node.ignore("output_dtype")
    quant = _quant(node, x, node.optional_array(2, "input 'x_zero_point'"))
    if x.quant is not None and x.quant != quant:
        x = g.copy(x)
    elif x.is_constant and x.data is not None:
        x = g.const(x.data, "integers")
    x.quant = quant
    return g.add("dequantize", [x])


def _quant(node: OnnxNode, x: Value, zero: np.ndarray | None) -> Quant:
    """Scale and zero point of a node; ``axis`` is set where there are several."""
    scale = node.array(1, "the scale")
    if node.integer("block_size", 0):
        raise Reject("quantization in blocks is not supported")
    if scale.ndim > 1 or (zero is not None and zero.size != scale.size):
        raise Reject(f"the scale has shape {scale.shape} and the zero point {None if zero is None else zero.shape}")
    points = np.zeros(scale.size, np.int64) if zero is None else zero.reshape(-1).astype(np.int64)
    vector = scale.reshape(-1).astype(np.float32)
    if not np.all(np.isfinite(vector)) or np.any(vector < 0):
        raise Reject("a scale is negative or not finite")
    if vector.size == 1:
        node.ignore("axis")
        return Quant(vector, points)
    axis = checked_axis(node.integer("axis", 1), len(x.shape), "attribute 'axis'")
    if x.shape[axis] != vector.size:
        raise Reject(f"{vector.size} scales do not fit dimension {axis} of an input of shape {x.shape}")
    return Quant(vector, points, axis)


ROWS: dict[str, Row] = {"DequantizeLinear": dequantize_linear, "QuantizeLinear": quantize_linear}
