# SPDX-License-Identifier: Apache-2.0
"""1 / sqrt of an integer in 32-bit fixed point: the NumPy side of ``common/inverse_root.h``, Newton's method in five
steps as gemmlowp and LiteRT compute it."""

from __future__ import annotations

_ONE = 1 << 28
"""1 with 3 integer bits."""
_MOST = (1 << 31) - 1


def inverse_root(value: int) -> tuple[int, int]:
    """Multiplier and shift of the factor 1 / sqrt(value), of int32; 0 counts as 1."""
    if value <= 1:
        return _MOST, 0
    shift = 11
    while value >= 1 << 29:
        value, shift = value // 4, shift + 1
    pairs = (32 - value.bit_length() - 1) // 2 - 1
    shift -= pairs
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
