"""Logistic function and hyperbolic tangent of 16-bit fixed-point numbers: the NumPy side of ``common/fixed_point.h``.

All arrays are int64 and hold numbers of 16 bits.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray

ONE = 32767
"""Stands for 1 in Q0.15."""


def wrap(value: Array) -> Array:
    """Modulo 2^16, -32768 .. 32767."""
    return np.asarray((value + 32768) % 65536 - 32768)


def saturate(value: Array) -> Array:
    return np.clip(value, -32768, 32767)


def round_shift(value: Array, shift: int) -> Array:
    """value / 2^shift, halves away from zero."""
    half = (1 << shift) >> 1
    return np.asarray((value + half - ((value < 0) & (shift > 0))) >> shift)


def _multiply(a: Array, b: Array | int) -> Array:
    return saturate((a * b + 16384) >> 15)


def _left(value: Array, shift: int) -> Array:
    most = (1 << (15 - shift)) - 1
    return np.where(value > most, 32767, np.where(value < -most, -32768, value << shift))


def _exp_quarter(a: Array) -> Array:
    x = wrap(a + 4096)
    x2 = _multiply(x, x)
    x3, x4 = _multiply(x2, x), _multiply(x2, x2)
    tail = round_shift(wrap(_multiply(wrap(round_shift(x4, 2) + x3), 10923) + x2), 1)
    return saturate(28918 + _multiply(wrap(x + tail), 28918))


def _exp(a: Array, integer_bits: int) -> Array:
    quarter = 1 << (13 - integer_bits)
    rest = wrap((a & (quarter - 1)) - quarter)
    above = wrap(rest - a)
    result = _exp_quarter(_left(rest, integer_bits) if integer_bits else rest)
    for index, factor in enumerate((25520, 19875, 12055, 4435, 600, 11, 0)[: integer_bits + 2]):
        result = np.where(above & (quarter << index), _multiply(result, factor), result)
    if integer_bits > 5:
        result = np.where(a < -(1 << (20 - integer_bits)), 0, result)
    return np.where(a == 0, ONE, result)


def _reciprocal(a: Array) -> Array:
    half = (a + ONE + 1) >> 1
    x = wrap(23130 + _multiply(half, -15420))
    for _ in range(3):
        missing = wrap(8192 - _multiply(half, x))
        x = wrap(x + _left(_multiply(x, missing), 2))
    return x


def logistic(a: Array) -> Array:
    """Q0.15 of Q3.12."""
    positive = _left(_reciprocal(_exp(-np.abs(a), 3)), 1)
    return np.where(a == 0, 16384, np.where(a > 0, positive, ONE - positive))


def tanh(a: Array, integer_bits: int) -> Array:
    """Q0.15 of a number with 0 .. 6 integer bits."""
    result = _left(wrap(_reciprocal(_exp(-np.abs(a), integer_bits + 1)) - 8192), 2)
    return np.where(a == 0, 0, np.where(a < 0, wrap(-result), result))
