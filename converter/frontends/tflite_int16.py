# SPDX-License-Identifier: Apache-2.0
"""TFLite's functions of one int16 tensor, whose zero points are 0."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Quant, Value
from microlith.ops.curves import sigmoid_attrs, sigmoid_points

from .tflite_graph import TfliteNode, require

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


ROWS: Mapping[str, Callable[[TfliteNode], Value]] = {
    "LEAKY_RELU": lambda node: leaky(node, node.options("LeakyReluOptions", required=True).Alpha()),
    "LOGISTIC": _sigmoid(tanh=False),
    "RELU": lambda node: leaky(node, 0.0),
    "RELU6": lambda node: leaky(node, 0.0, 6.0),
    "TANH": _sigmoid(tanh=True),
}
"""Operators that have an int16 form of their own."""
