# SPDX-License-Identifier: Apache-2.0
"""Operators on quantized integers that become several ops on sums of 32 bits, step by step as LiteRT computes them."""

from __future__ import annotations

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Quant, Value
from microlith.numerics import TFLITE_DOUBLE, quantize_multiplier

from .tflite_graph import TfliteNode, is_shifted, require

_ALL = {"q_min": -(1 << 31), "q_max": (1 << 31) - 1}


def single_scale(quant: Quant | None, what: str) -> tuple[float, int]:
    """Scale and zero point. Reject when there is not one of each."""
    require(quant is not None and quant.is_per_tensor, f"the {what} has no scale")
    assert quant is not None
    return float(quant.scale[0]), int(quant.zero_point[0])


def centred(node: TfliteNode, x: Value, left_shift: int) -> Value:
    """(x - its zero point) * 2 ** left_shift in 32 bits."""
    zero = single_scale(x.quant, "input")[1]
    wide = node.add("cast", [x], {"to": DType.s32.value})
    if zero:
        wide = node.add("sub", [wide, node.const(np.array(zero, np.int32), suffix="zero_point")])
    return node.add("mul", [wide, node.const(np.array(1 << left_shift, np.int32), suffix="left_shift")])


def times(node: TfliteNode, x: Value, factor: float) -> Value:
    """Sums times a real number, as LiteRT's reference kernels round it."""
    multiplier, shift = quantize_multiplier(factor)
    attrs = {"to": DType.s32.value, "mult": multiplier, "shift": shift, "rounding": TFLITE_DOUBLE, **_ALL}
    return node.add("requantize", [x], attrs)


def result(node: TfliteNode, x: Value, factor: float) -> Value:
    """Sums times a real number as the output of the operator."""
    multiplier, shift = quantize_multiplier(factor)
    to = node.output_type().dtype
    info = np.iinfo(to.numpy)
    attrs = {"to": to.value, "mult": multiplier, "shift": shift, "rounding": TFLITE_DOUBLE}
    attrs |= {"y_zero": single_scale(node.output_quant(), "output")[1], "q_min": int(info.min), "q_max": int(info.max)}
    return node.add("requantize", [x], attrs)


def squared_difference(node: TfliteNode) -> Value:
    """SQUARED_DIFFERENCE of int8."""
    a, b = node.value(0), node.value(1)
    require(a.dtype is DType.s8, f"quantized {a.dtype.name} is not supported")
    scales = [np.float64(single_scale(value.quant, "input")[0]) for value in (a, b)]
    widest = 2.0 * max(scales)
    left, right = (
        times(node, centred(node, value, 7), float(scale / widest)) for value, scale in zip((a, b), scales, strict=True)
    )
    difference = node.add("sub", [left, right])
    y_scale = single_scale(node.output_quant(), "output")[0]
    return result(node, node.add("mul", [difference, difference]), float(widest * widest / ((1 << 14) * y_scale)))


def product_attrs(node: TfliteNode, count: int) -> dict[str, int]:
    """The attributes of REDUCE_PROD of ``count`` int8 or int16: each step is scaled by the count-th root of the whole.

    One element is copied, whatever the scales.
    """
    require(not is_shifted(node.input_tensor(0)), "quantized u8 is not supported")
    x_scale, x_zero = single_scale(node.value(0).quant, "input")
    y_scale, y_zero = single_scale(node.output_quant(), "output")
    require(count > 0, "a dimension of the input is empty")
    factor = x_scale / y_scale ** (1.0 / count)
    if count == 1:
        x_zero, y_zero, factor = 0, 0, 1.0
    multiplier, shift = quantize_multiplier(factor)
    require(shift < 8, f"the factor of each step, {factor:g}, is 128 or more")
    info = np.iinfo(node.output_type().dtype.numpy)
    attrs = {"x_zero": x_zero, "y_zero": y_zero, "mult": multiplier, "shift": shift, "rounding": TFLITE_DOUBLE}
    return {**attrs, "q_min": int(info.min), "q_max": int(info.max)}


def compared(node: TfliteNode, op: str) -> Value:
    """A comparison of quantized integers with different scales, as multiples of 2 ** -8."""
    sums = []
    for value in (node.value(0), node.value(1)):
        scale = single_scale(value.quant, "input")[0]
        require(scale < 1.0, f"the comparison of integers with scale {scale:g} is not supported")
        sums.append(times(node, centred(node, value, 8), scale))
    return node.add(op, sums)
