"""The rounding contracts against exact arithmetic in Python integers and fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microlith import numerics

INT32 = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-300, 300))
MULTIPLIERS = st.one_of(st.integers(2**30, 2**31 - 1), st.sampled_from([0, 1, 2**30, 2**31 - 1]))
SHIFTS = st.integers(-62, 30)


def half_up(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def half_away(value: Fraction) -> int:
    return half_up(value) if value >= 0 else -half_up(-value)


def wrap(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def saturate(value: int) -> int:
    return max(-(2**31), min(2**31 - 1, value))


@given(INT32, MULTIPLIERS, SHIFTS)
def test_tflite_double(acc: int, multiplier: int, shift: int) -> None:
    high = half_up(Fraction(wrap(acc << max(shift, 0)) * multiplier, 2**31))
    exact = Fraction(saturate(high), 2 ** max(-shift, 0))
    assert int(numerics.requantize(acc, multiplier, shift, numerics.TFLITE_DOUBLE)) == half_away(exact)
    assert int(numerics.requantize(acc, multiplier, shift, numerics.TFLITE_UP)) == half_up(exact)


@given(INT32, MULTIPLIERS, SHIFTS)
def test_single(acc: int, multiplier: int, shift: int) -> None:
    exact = Fraction(acc * multiplier) * Fraction(2) ** (shift - 31)
    assert int(numerics.requantize(acc, multiplier, shift, numerics.SINGLE)) == saturate(half_up(exact))


@given(st.integers(-(2**31), 2**31 - 1), st.floats(2.0**-20, 4.0, width=32))
def test_float_even(acc: int, scale: float) -> None:
    product = Fraction(float(np.float32(float(np.float32(acc)) * scale)))
    assert int(numerics.requantize_float(acc, scale)) == saturate(round(product))


@given(st.floats(2.0**-31, 2.0**29))
def test_quantize_multiplier_is_the_nearest(real: float) -> None:
    multiplier, shift = numerics.quantize_multiplier(real)
    assert 2**30 <= multiplier < 2**31
    assert -31 <= shift <= 30
    error = abs(Fraction(multiplier) * Fraction(2) ** (shift - 31) - Fraction(real))
    assert error <= Fraction(2) ** (shift - 32)


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        (0.0, (0, 0)),
        (1.0, (2**30, 1)),
        (0.5, (2**30, 0)),
        (1.0 - 2.0**-40, (2**30, 1)),
        (2.0**-32, (2**30, -31)),
        (2.0**-33, (0, 0)),
        (2.0**40, (2**31 - 1, 30)),
    ],
)
def test_quantize_multiplier_at_the_ends(real: float, expected: tuple[int, int]) -> None:
    assert numerics.quantize_multiplier(real) == expected


@pytest.mark.parametrize("real", [-1.0, math.inf, math.nan])
def test_quantize_multiplier_refuses(real: float) -> None:
    with pytest.raises(ValueError, match="factor"):
        numerics.quantize_multiplier(real)


@given(st.floats(-1e6, 1e6, width=32))
def test_round_half_away(value: float) -> None:
    assert int(numerics.round_half_away(np.float32(value))) == half_away(Fraction(value))


@given(st.floats(-300.0, 300.0, width=32), st.sampled_from([0.5, 1.0, 0.1, 3.0]), st.integers(-128, 127))
def test_quantize_array(real: float, scale: float, zero_point: int) -> None:
    quotient = Fraction(float(np.float32(real) / np.float32(scale)))
    for rounding, rounded in ((numerics.SINGLE, half_away(quotient)), (numerics.FLOAT_EVEN, round(quotient))):
        actual = int(numerics.quantize_array(real, scale, zero_point, np.int8, rounding))
        assert actual == max(-128, min(127, rounded + zero_point))


def test_quantize_array_of_what_is_no_number() -> None:
    odd = np.array([np.nan, np.inf, -np.inf], np.float32)
    assert numerics.quantize_array(odd, 1.0, 5, np.int8).tolist() == [5, 127, -128]


def test_clamp_to_integers() -> None:
    relu6 = numerics.clamp_to_integers(0.0, 6.0, 0.1, -20, np.int8, numerics.TFLITE_DOUBLE)
    assert relu6 == (-20, 40)
    assert numerics.clamp_to_integers(-math.inf, math.inf, 0.1, 0, np.int8, numerics.SINGLE) == (-128, 127)


def test_channels_of_depthwise_convolution() -> None:
    """Whole groups of 8 channels take halves up, the rest away from zero."""
    acc = np.full((1, 11), -3, np.int64)
    requant = np.array([[2**30] * 11, [0] * 11], np.int32)
    requant[1] = -1
    scaled = numerics.requantize_channels(acc, requant, numerics.TFLITE_UP_BY_8)
    up, away = (int(numerics.requantize(-3, 2**30, -1, rule)) for rule in (numerics.TFLITE_UP, numerics.TFLITE_DOUBLE))
    assert scaled.tolist() == [[up] * 8 + [away] * 3]
