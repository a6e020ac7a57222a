# SPDX-License-Identifier: Apache-2.0
"""TFLite's functions of one int16 tensor, whose zero points are 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Quant, Value
from microlith.numerics import TFLITE_DOWN, round_half_away
from microlith.ops.curves import POINTS, sigmoid_attrs, sigmoid_points

from .tflite_fixed import result, single_scale
from .tflite_graph import TfliteNode, is_shifted, require
from .tflite_lut import FLOAT_FUNCTIONS

Q15 = np.float32(1 / 32768)
"""The scale of results in -1 .. 1."""


def is_int16(value: Value) -> bool:
    """Whether a value holds quantized int16."""
    return value.dtype is DType.s16 and value.quant is not None


def symmetric_quant(quant: Quant | None, what: str) -> Quant:
    """A quantization with one scale and zero point 0."""
    require(quant is not None and quant.is_per_tensor, f"the {what} has no scale")
    assert quant is not None
    require(not np.any(quant.zero_point), f"the {what} is int16 with a zero point")
    return quant


def _sigmoid(tanh: bool) -> Callable[[TfliteNode], Value]:
    def row(node: TfliteNode) -> Value:
        x, y = symmetric_quant(node.value(0).quant, "input"), symmetric_quant(node.output_quant(), "output")
        require(y.scale[0] == Q15, "the output's scale is not 1/32768")
        table = node.const(sigmoid_points(), suffix="sigmoid")
        return node.add("sigmoid_table", [node.value(0), table], sigmoid_attrs(float(x.scale[0]), tanh), quant=y)

    return row


def leaky(node: TfliteNode, slope: float, limit: float = math.inf) -> Value:
    """Elements above 0 (at most ``limit``) keep their value, those below 0 are multiplied by ``slope``."""
    symmetric_quant(node.value(0).quant, "input")
    y = symmetric_quant(node.output_quant(), "output")
    sign = np.array(np.sign(slope), np.int16)
    factor = node.const(sign, Quant.per_tensor(abs(slope) or 1.0, 0), suffix="slope")
    attrs = {"clamp_max": limit} if limit < math.inf else {}
    return node.add("prelu", [node.value(0), factor], attrs, quant=y)


def prelu(node: TfliteNode) -> Value:
    """PRELU, whose slopes are int8."""
    slopes = node.value(1)
    symmetric_quant(node.value(0).quant, "input")
    y = symmetric_quant(node.output_quant(), "output")
    require(slopes.dtype is DType.s8 and not is_shifted(node.input_tensor(1)), "int16 with slopes that are not int8")
    scale, zero_point = single_scale(slopes.quant, "slope")
    require(slopes.data is not None, "int16 with slopes that are computed")
    assert slopes.data is not None
    wide = node.const(slopes.data.astype(np.int16) - zero_point, Quant.per_tensor(scale, 0), suffix="slopes")
    return node.add("prelu", [node.value(0), wide], quant=y)


def quotient(node: TfliteNode, clamp: Mapping[str, float]) -> Value:
    """DIV of two tensors of one shape, which LiteRT computes in float32."""
    y = symmetric_quant(node.output_quant(), "output")
    for place in (0, 1):
        symmetric_quant(node.value(place).quant, "input")
    real = node.add("div", [node.add("dequantize", [node.value(place)]) for place in (0, 1)], clamp)
    return node.add("quantize", [real], {"to": DType.s16.value, "rounding": TFLITE_DOWN}, quant=y)


def by_curve(node: TfliteNode, function: Callable[[np.ndarray], np.ndarray]) -> Value:
    """A function of float32 numbers, interpolated between 513 points of the whole range."""
    x, y = symmetric_quant(node.value(0).quant, "input"), symmetric_quant(node.output_quant(), "output")
    points = curve_in_single(function, np.float32(x.scale[0]), np.float32(y.scale[0]))
    return node.add("lut", [node.value(0), node.const(points, suffix="curve")], quant=y)


def curve_in_single(
    function: Callable[[np.ndarray], np.ndarray], x_scale: np.float32, y_scale: np.float32
) -> np.ndarray:
    """int16 [513]: as ``curves.curve``, with all steps in float32."""
    low, high = x_scale * np.float32(-32768), x_scale * np.float32(32767)
    span = y_scale * np.float32(32767) - y_scale * np.float32(-32768)
    step, inverse = (high - low) / np.float32(POINTS - 1), np.float32(65536) / span
    numbers = np.arange(POINTS, dtype=np.float32)

    def rounded(values: np.ndarray) -> np.ndarray:
        return np.asarray(round_half_away(values)).astype(np.float32)

    with np.errstate(all="ignore"):
        points, middles = (function(low + numbers * step + part) * inverse for part in (np.float32(0), step / 2))
        samples = rounded(points[:-1])
        behind = function(low + numbers[1:] * step) * inverse
        errors = rounded((behind + samples) / np.float32(2)) - rounded(middles[:-1])
        last = rounded(function(np.array([high], np.float32)) * inverse)
        return np.clip(np.append(samples - rounded(errors / np.float32(2)), last), -32768, 32767).astype(np.int16)


def _log(node: TfliteNode) -> Value:
    lowest = np.float32(-32768) * np.float32(fixed_scale(node))

    def logarithm(x: np.ndarray) -> np.ndarray:
        return np.where(x <= 0, lowest, np.log(np.maximum(x, 1e-30).astype(np.float64)).astype(np.float32))

    return by_curve(node, logarithm)


def fixed_scale(node: TfliteNode) -> float:
    """The scale of the output."""
    return float(symmetric_quant(node.output_quant(), "output").scale[0])


def _abs(node: TfliteNode) -> Value:
    x, y = symmetric_quant(node.value(0).quant, "input"), symmetric_quant(node.output_quant(), "output")
    size = node.add("abs", [node.add("cast", [node.value(0)], {"to": DType.s32.value})])
    return result(node, size, float(np.float32(x.scale[0]) / np.float32(y.scale[0])))


def _rsqrt(node: TfliteNode) -> Value:
    """Numbers that have no root, which LiteRT refuses, and 0 give the largest result."""
    most = np.float32(32767) * np.float32(fixed_scale(node))

    def inverse_root(x: np.ndarray) -> np.ndarray:
        return np.where(x <= 0, most, np.float32(1) / np.sqrt(np.maximum(x, np.float32(1e-30))))

    return by_curve(node, inverse_root)


def _sqrt(node: TfliteNode) -> Value:
    """Computed in float32 and cut off. Numbers below 0 have no root and give 0."""
    symmetric_quant(node.value(0).quant, "input")
    y = symmetric_quant(node.output_quant(), "output")
    root = node.add("sqrt", [node.add("relu", [node.add("dequantize", [node.value(0)])])])
    steps = node.add("div", [root, node.const(np.float32(y.scale[0]).reshape(()), suffix="scale")])
    return node.add("cast", [node.add("clip", [steps], {"alpha": 0.0, "beta": 32767.0})], {"to": DType.s16.value})


ROWS: Mapping[str, Callable[[TfliteNode], Value]] = {
    "ABS": _abs,
    "EXP": lambda node: by_curve(node, FLOAT_FUNCTIONS["exp"]),
    "LEAKY_RELU": lambda node: leaky(node, node.options("LeakyReluOptions", required=True).Alpha()),
    "LOG": _log,
    "LOGISTIC": _sigmoid(tanh=False),
    "RELU": lambda node: leaky(node, 0.0),
    "RELU6": lambda node: leaky(node, 0.0, 6.0),
    "RSQRT": _rsqrt,
    "SQRT": _sqrt,
    "TANH": _sigmoid(tanh=True),
}
"""Operators that have an int16 form of their own."""
