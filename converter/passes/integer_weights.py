"""The integers that constants of real numbers were decoded from."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Quant, Value

SAME_UNIT = 1e-5
"""A bias counts in units of the product of input and weight scale when its scale differs by no more than this part."""

BIAS_STEPS = 2.0**-6
"""A bias of real numbers may move by so much of a step of the result when it is rounded to these units."""


def integers_of(value: Value, axis: int | None) -> tuple[np.ndarray, Quant] | None:
    """s8 data and its quantization, with one scale or one for each slice along ``axis``; None when there is no such."""
    quant, data = value.decoded_from, value.data
    if quant is None or data is None or not np.all(np.isfinite(data)):
        return None
    shape = [1] * data.ndim
    if quant.scale.size > 1:
        if axis is None or quant.axis != axis:
            return None
        shape[axis] = -1
    scale, zero = quant.scale.astype(np.float64).reshape(shape), quant.zero_point.reshape(shape)
    whole = np.rint(np.divide(data, scale, out=np.zeros(data.shape), where=scale > 0)).astype(np.int64) + zero
    low, high = min(whole.min(initial=0), zero.min()), max(whole.max(initial=0), zero.max())
    if low < -128 or high > 255 or (low < 0 and high > 127):
        return None
    step = 128 if high > 127 else 0
    stored = Quant(quant.scale, quant.zero_point - step, axis if quant.scale.size > 1 else None)
    return (whole - step).astype(np.int8), stored


def wide_integers_of(value: Value) -> tuple[np.ndarray, Quant] | None:
    """s16 data and its quantization, one scale and no zero point; None when a model holds other numbers."""
    quant, data = value.decoded_from, value.data
    if quant is None or data is None or quant.scale.size != 1 or np.any(quant.zero_point):
        return None
    whole = np.rint(data.astype(np.float64) / float(quant.scale[0]))
    if not np.all(np.isfinite(whole)) or np.abs(whole).max(initial=0.0) > 32767:
        return None
    return whole.astype(np.int16), quant


def bias_integers(bias: Value, x: Quant, weights: Quant, y: Quant, dtype: DType) -> np.ndarray | None:
    """A bias in units of the product of the scales of input and weights, s32 (s64 for 16-bit results).

    None when it does not fit, or when rounding would be seen in the result.
    """
    if bias.data is None or bias.data.ndim != 1:
        return None
    real = bias.data.astype(np.float64)
    unit = np.broadcast_to(float(x.scale[0]) * weights.scale.astype(np.float64), real.shape)
    if not np.all(np.isfinite(real)) or np.any((unit <= 0) & (real != 0)):
        return None
    exact = np.divide(real, unit, out=np.zeros(real.shape), where=unit > 0)
    whole = np.rint(exact)
    if np.abs(whole).max(initial=0.0) > (2**31 - 1 if dtype is DType.s8 else 2**53):
        return None
    if not _counts_in(bias, unit) and np.any(np.abs(exact - whole) * unit > BIAS_STEPS * float(y.scale[0])):
        return None
    return whole.astype(np.int32 if dtype is DType.s8 else np.int64)


def _counts_in(bias: Value, unit: np.ndarray) -> bool:
    """Whether the model stores a bias in these units."""
    quant = bias.decoded_from
    if quant is None or np.any(quant.zero_point):
        return False
    scale = np.broadcast_to(quant.scale.astype(np.float64), unit.shape)
    return bool(np.all(np.abs(scale - unit) <= SAME_UNIT * unit))
