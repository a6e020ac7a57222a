# SPDX-License-Identifier: Apache-2.0
"""Tables of 256 entries for SQRT and RSQRT of one int8 tensor, in the arithmetic of LiteRT's built-in kernels."""

from __future__ import annotations

import numpy as np

from microlith.ir import Quant
from microlith.numerics import TFLITE_DOUBLE, quantize_multiplier, requantize
from microlith.ops.inverse_root import inverse_root

_EXTRA_BITS = 20
"""Of 1 / sqrt, so that it stays an integer."""


def sqrt_table(x: Quant, y: Quant) -> np.ndarray:
    """float32, cut off behind the point. Numbers below 0 have no root and give 0."""
    integers = np.arange(-128, 128, dtype=np.int64) - int(x.zero_point[0])
    real = np.float32(x.scale[0]) * np.maximum(integers, 0).astype(np.float32)
    steps = np.trunc(np.sqrt(real) / np.float32(y.scale[0]))
    return np.clip(steps + int(y.zero_point[0]), -128, 127).astype(np.int8)


def rsqrt_table(x: Quant, y: Quant) -> np.ndarray:
    """1 / sqrt in 32-bit fixed point. 0 gives the largest number, and so do those below it, which LiteRT refuses."""
    factor = np.float32(1) / (np.sqrt(np.float32(x.scale[0])) * np.float32(y.scale[0]))
    multiplier, shift = quantize_multiplier(float(factor))
    table = np.full(256, 127, np.int64)
    for index in range(256):
        value = index - 128 - int(x.zero_point[0])
        if value > 0:
            mantissa, exponent = inverse_root(value)
            root = requantize(np.array([1], np.int64), mantissa, exponent + _EXTRA_BITS, TFLITE_DOUBLE)
            table[index] = requantize(root, multiplier, shift - _EXTRA_BITS, TFLITE_DOUBLE)[0] + int(y.zero_point[0])
    return np.clip(table, -128, 127).astype(np.int8)
