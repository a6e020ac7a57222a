"""The rounding contracts: how an int32 accumulator becomes a narrow integer (in C: ``common/requant.h``).

Three contracts, each a number in the file format and a name in the graph:

``tflite-double`` (0)
    Q31 multiplier and shift. A saturating rounding doubling high multiplication (ties towards plus infinity), then a
    rounding right shift (ties away from zero; see ``TFLITE_UP`` for where LiteRT takes them up).
``single`` (1)
    Q31 multiplier and shift. One 64-bit product, one rounding shift (ties towards plus infinity).
``float-even`` (2)
    A float32 scale. One float32 product, rounded half to even.

Scale arithmetic follows the precision that the name of each function states, because one unit in the last place of a
multiplier can change a result.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

TFLITE_DOUBLE = 0
SINGLE = 1
FLOAT_EVEN = 2
TFLITE_UP = 3
"""In parameter structs only, under ``tflite-double``: the last shift takes halves up, as LiteRT's matrix products."""
TFLITE_UP_BY_8 = 4
"""The same in whole groups of 8 channels; away from zero in the channels past them: LiteRT's depthwise convolution."""
TFLITE_DOWN = 5
"""In ``add``: the right shifts of the operands round down, the last one as in ``tflite-double``. In ``reduce_sum``: the
exact product, halves away from zero."""

CONTRACTS: dict[str, int] = {"tflite-double": TFLITE_DOUBLE, "single": SINGLE, "float-even": FLOAT_EVEN}
"""Number of each contract, as the ``rounding`` field of parameter structs holds it."""

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def quantize_multiplier(real: float) -> tuple[int, int]:
    """A non-negative real factor as (Q31 multiplier, shift): real = multiplier / 2^31 * 2^shift.

    The multiplier is 0 or in [2^30, 2^31); factors below 2^-32 become 0, factors that need a shift above 30 saturate.
    Raises ``ValueError`` when ``real`` is negative or not finite.
    """
    if not (math.isfinite(real) and real >= 0.0):
        raise ValueError(f"a requantization factor must be finite and not negative, not {real}")
    if real == 0.0:
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = math.floor(fraction * 2.0**31 + 0.5)
    if multiplier == 2**31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    if shift > 30:
        return INT32_MAX, 30
    return multiplier, shift


def quantize_multipliers(reals: ArrayLike) -> np.ndarray:
    """``quantize_multiplier`` of each factor: int32 [2, n], row 0 the multipliers, row 1 the shifts."""
    pairs = [quantize_multiplier(float(real)) for real in np.atleast_1d(np.asarray(reals, np.float64))]
    return np.ascontiguousarray(np.array(pairs, np.int32).reshape(-1, 2).T)


def wrap_int32(value: ArrayLike) -> np.ndarray:
    """The low 32 bits as a signed number, int64 in and out."""
    return np.asarray(value, np.int64).astype(np.int32).astype(np.int64)


def requantize(acc: ArrayLike, multiplier: ArrayLike, shift: ArrayLike, rounding: int) -> np.ndarray:
    """int32 accumulators times Q31 multipliers times 2^shift, rounded by any integer rule (not ``float-even``).

    The arguments broadcast against each other. Returns int64 values within int32. Shifts are in [-62, 30].
    """
    acc, multiplier, shift = np.broadcast_arrays(
        np.asarray(acc, np.int64), np.asarray(multiplier, np.int64), np.asarray(shift, np.int64)
    )
    if rounding in (TFLITE_DOUBLE, TFLITE_UP, TFLITE_UP_BY_8, TFLITE_DOWN):
        left = np.maximum(shift, 0)
        right = np.maximum(-shift, 0)
        high = np.minimum((wrap_int32(acc << left) * multiplier + (1 << 30)) >> 31, INT32_MAX)
        if rounding in (TFLITE_DOUBLE, TFLITE_DOWN):
            return round_shift_away(high, right)
        return (high + ((np.int64(1) << right) >> 1)) >> right
    if rounding == SINGLE:
        total = np.minimum(31 - shift, 62)
        rounded = np.clip((acc * multiplier + (np.int64(1) << (total - 1))) >> total, INT32_MIN, INT32_MAX)
        return np.where(shift < -31, 0, rounded)
    raise ValueError(f"contract {rounding} has no integer multiplier")


def round_shift_away(value: ArrayLike, right: ArrayLike) -> np.ndarray:
    """``value / 2^right`` rounded to nearest, ties away from zero; int64."""
    value, right = np.broadcast_arrays(np.asarray(value, np.int64), np.asarray(right, np.int64))
    mask = (np.int64(1) << right) - 1
    threshold = (mask >> 1) + (value < 0)
    return (value >> right) + ((value & mask) > threshold)


def requantize_float(acc: ArrayLike, scale: ArrayLike) -> np.ndarray:
    """int32 accumulators times float32 scales, in float32, rounded half to even; int64 within int32."""
    product = np.asarray(acc).astype(np.float32) * np.asarray(scale, np.float32)
    return np.clip(np.rint(product.astype(np.float64)), INT32_MIN, INT32_MAX).astype(np.int64)


def requantize_channels(acc: np.ndarray, requant: np.ndarray, rounding: int) -> np.ndarray:
    """Accumulators [..., c] with the ``requant`` input of conv2d and dense: s32 [2, c], or f32 [c] under float-even."""
    if rounding == FLOAT_EVEN:
        return requantize_float(acc, requant)
    scaled = requantize(acc, requant[0], requant[1], rounding)
    if rounding == TFLITE_UP_BY_8:
        rest = slice(requant.shape[1] // 8 * 8, None)
        scaled[..., rest] = requantize(acc[..., rest], requant[0][rest], requant[1][rest], TFLITE_DOUBLE)
    return scaled


def requantize_wide(acc: ArrayLike, multiplier: ArrayLike, shift: ArrayLike, rounding: int) -> np.ndarray:
    """int64 accumulators of 16-bit activations (in C: ``common/requant_wide.h``); int64 within int32.

    Under ``single`` the exact product, halves up. Under the TFLite rules the multiplier is rounded to 15 bits first,
    accumulators are limited to 48 bits, and halves go up.
    """
    values, factors, shifts = (np.asarray(a, np.int64) for a in (acc, multiplier, shift))
    if rounding != SINGLE:
        values = np.clip(values, -(1 << 47), 1 << 47)
        factors = np.where(factors < 0x7FFF0000, (factors + (1 << 15)) >> 16, 0x7FFF)
        product, right = values * factors, 15 - shifts
        beyond = right <= 0
        rounded = np.where(right > 62, 0, _shift_up(product, np.clip(right, 1, 62)))
        return np.clip(np.where(beyond, np.sign(product) * (1 << 40), rounded), INT32_MIN, INT32_MAX)
    tail = (values & 0xFFFFFFFF) * factors  # the product is high * 2^32 + low
    high, low = (values >> 32) * factors + (tail >> 32), tail & 0xFFFFFFFF
    right = 31 - shifts
    far = _shift_up(high, np.clip(right - 32, 1, 62))
    fits = (high >= INT32_MIN) & (high <= INT32_MAX) & (right >= 1)
    near = _shift_up((np.where(fits, high, 0) << 32) + low, np.clip(right, 1, 32))
    beyond = np.where((high > 0) | ((high == 0) & (low > 0)), 1 << 40, -((high < 0).astype(np.int64) << 40))
    near = np.where(fits, near, beyond)
    result = np.where(right > 93, 0, np.where(right > 32, far, near))
    return np.clip(result, INT32_MIN, INT32_MAX)


def _shift_up(value: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``value / 2^right`` rounded to nearest, halves up, right from 1 to 62."""
    return (value >> right) + (value >> (right - 1) & 1)


def requantize_wide_channels(acc: np.ndarray, requant: np.ndarray, rounding: int) -> np.ndarray:
    """``requantize_channels`` for int64 accumulators."""
    if rounding == FLOAT_EVEN:
        return requantize_float(acc, requant)
    return requantize_wide(acc, requant[0], requant[1], rounding)


def round_half_away(value: ArrayLike) -> np.ndarray:
    """To the nearest whole number, ties away from zero, in the float type given."""
    value = np.asarray(value)
    whole = np.trunc(value)
    with np.errstate(invalid="ignore"):
        rest = value - whole
    return np.where(np.abs(rest) >= 0.5, whole + np.sign(value), whole).astype(value.dtype)


def round_to_integer(value: ArrayLike, rounding: int) -> np.ndarray:
    """A float to the nearest whole number: half to even under ``float-even``, else half away from zero."""
    return np.rint(np.asarray(value)) if rounding == FLOAT_EVEN else round_half_away(value)


def quantize_array(
    real: ArrayLike, scale: ArrayLike, zero_point: ArrayLike, dtype: np.dtype | type, rounding: int = TFLITE_DOUBLE
) -> np.ndarray:
    """float32 numbers as integers: clamp(round(real / scale) + zero_point), the division in float32. NaN becomes 0."""
    info = np.iinfo(dtype)
    quotient = np.asarray(real, np.float32) / np.asarray(scale, np.float32)
    rounded = np.nan_to_num(round_to_integer(quotient.astype(np.float64), rounding), nan=0.0, posinf=2e9, neginf=-2e9)
    limited = np.clip(rounded, -2e9, 2e9).astype(np.int64) + np.asarray(zero_point, np.int64)
    return np.clip(limited, info.min, info.max).astype(dtype)


def dequantize_array(integers: np.ndarray, scale: ArrayLike, zero_point: ArrayLike) -> np.ndarray:
    """float32: scale * (integers - zero_point)."""
    centred = integers.astype(np.int64) - np.asarray(zero_point, np.int64)
    return centred.astype(np.float32) * np.asarray(scale, np.float32)


def clamp_to_integers(
    clamp_min: float, clamp_max: float, scale: float, zero_point: int, dtype: np.dtype | type, rounding: int
) -> tuple[int, int]:
    """The real range of a fused activation as integers (q_min, q_max) of a tensor with this quantization."""
    info = np.iinfo(dtype)
    low = int(quantize_array(clamp_min, scale, zero_point, dtype, rounding)) if clamp_min > -math.inf else info.min
    high = int(quantize_array(clamp_max, scale, zero_point, dtype, rounding)) if clamp_max < math.inf else info.max
    return int(low), int(high)
