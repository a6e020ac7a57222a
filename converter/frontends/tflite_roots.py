# SPDX-License-Identifier: Apache-2.0
"""Tables of 256 entries for SQRT and RSQRT of one int8 tensor, in the arithmetic of LiteRT's built-in kernels."""

from __future__ import annotations

import numpy as np

from microlith.ir import Quant
from microlith.numerics import TFLITE_DOUBLE, quantize_multiplier, requantize

_ONE = 1 << 28
"""1 with 3 integer bits."""
_MOST = (1 << 31) - 1
_EXTRA_BITS = 20
"""Of 1 / sqrt, so that it stays an integer."""


def sqrt_table(x: Quant, y: Quant) -> np.ndarray:
    """float32, cut off behind the point. Numbers below 0 have no root and give 0."""
    integers = np.arange(-128, 128, dtype=np.int64) - int(x.zero_point[0])
    real = np.float32(x.scale[0]) * np.maximum(integers, 0).astype(np.float32)
    steps = np.trunc(np.sqrt(real) * (np.float32(1) / np.float32(y.scale[0])))
    return np.clip(steps + int(y.zero_point[0]), -128, 127).astype(np.int8)


def rsqrt_table(x: Quant, y: Quant) -> np.ndarray:
    """1 / sqrt in 32-bit fixed point. 0 gives the largest number, and so do those below it, which LiteRT refuses."""
    factor = np.float32(1) / (np.sqrt(np.float32(x.scale[0])) * np.float32(y.scale[0]))
    multiplier, shift = quantize_multiplier(float(factor))
    table = np.full(256, 127, np.int64)
    for index in range(256):
        value = index - 128 - int(x.zero_point[0])
        if value > 0:
            mantissa, exponent = _inverse_root(value)
            root = requantize(np.array([1], np.int64), mantissa, exponent + _EXTRA_BITS, TFLITE_DOUBLE)
            table[index] = requantize(root, multiplier, shift - _EXTRA_BITS, TFLITE_DOUBLE)[0] + int(y.zero_point[0])
    return np.clip(table, -128, 127).astype(np.int8)


def _inverse_root(value: int) -> tuple[int, int]:
    """Multiplier and shift whose product with 1 is 1 / sqrt(value), by five steps of Newton's method."""
    if value <= 1:
        return _MOST, 0
    pairs = (32 - value.bit_length() - 1) // 2 - 1
    shift = 11 - pairs
    half = _scaled((value << 2 * pairs) >> 1, -1)
    x = _ONE
    for _ in range(5):
        cube = _scaled(_high_product(_high_product(x, x), x), 6)
        x = _scaled(_high_product(_ONE + _ONE // 2, x) - _high_product(half, cube), 3)
    x = _high_product(x, 1518500250)  # sqrt(2) / 2
    return (x << -shift, 0) if shift < 0 else (x, -shift)


def _high_product(a: int, b: int) -> int:
    """Doubled high half of a 32-bit product, rounded, ties away from zero."""
    rounded = a * b + ((1 << 30) if a * b >= 0 else 1 - (1 << 30))
    return rounded >> 31 if rounded >= 0 else -(-rounded >> 31)


def _scaled(value: int, exponent: int) -> int:
    """``value`` times a power of two, saturated or rounded, ties away from zero."""
    if exponent >= 0:
        return max(-_MOST - 1, min(_MOST, value << exponent))
    rest = value & ((1 << -exponent) - 1)
    limit = (1 << -exponent - 1) - 1 + (value < 0)
    return (value >> -exponent) + (rest > limit)
