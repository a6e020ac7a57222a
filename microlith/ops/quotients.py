# SPDX-License-Identifier: Apache-2.0
"""The quotient of two small integers in the arithmetic of ``nnacl_kernels/elementwise/div_quantized.h``."""

from __future__ import annotations

import numpy as np

from .. import numerics

Array = np.ndarray
_MAX = numerics.INT32_MAX


def quantized_quotient(a: Array, b: Array, multiplier: int, shift: int, rounding: int) -> Array:
    """``a / b * multiplier * 2^(shift - 31)`` rounded to int64; where ``b`` is 0 it is anything. Numbers of 17 bits."""
    sign, below = np.where(b < 0, -1, 1), np.maximum(np.abs(b), 1)
    a, below = np.broadcast_arrays(a * sign, below)
    if rounding == numerics.SINGLE:
        right = 31 - shift
        if right > 52:
            return np.zeros(a.shape, np.int64)
        quotient = (2 * a * multiplier // below + (1 << right)) >> (right + 1)
        return np.clip(quotient, numerics.INT32_MIN, _MAX)
    b_bits, a_bits = _free_bits(below), _free_bits(np.where(a < 0, np.maximum(-a - 1, 1), np.maximum(a, 1)))
    inverse = _reciprocal((below << (b_bits + 1)) & _MAX)
    quotient = _mul_high(numerics.wrap_int32(a << a_bits), inverse)
    return numerics.requantize(quotient, multiplier, shift - (30 - b_bits) - a_bits, numerics.TFLITE_DOUBLE)


def _free_bits(value: Array) -> Array:
    """Bits in front of the highest one of a positive number, of 31."""
    return 30 - np.floor(np.log2(value.astype(np.float64))).astype(np.int64)


def _mul_high(a: Array, b: Array | int) -> Array:
    return np.minimum((a * b + (1 << 30)) >> 31, _MAX)


def _saturated(value: Array, factor: int) -> Array:
    limit = (2**31 // factor) - 1
    return np.where(value > limit, _MAX, np.where(value < -limit, numerics.INT32_MIN, value * factor))


def _reciprocal(x: Array) -> Array:
    """1 / (1 + x) for x in 0 .. 1, all in Q31, by three steps of Newton and Raphson on numbers in Q29."""
    half = (x + _MAX + 1) // 2
    y = 1515870810 + _mul_high(half, -1010580540)
    for _ in range(3):
        rest = (1 << 29) - _mul_high(half, y)
        y = y + _saturated(_mul_high(y, rest), 4)
    return _saturated(y, 2)
