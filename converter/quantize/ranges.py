"""From a range of real numbers to scale and zero point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...dtypes import DType
from ...ir import Quant

SMALLEST_SCALE = 2.0**-40
"""Steps are never finer: factors between scales must be finite in float32."""


def activation_quant(low: float, high: float, dtype: DType) -> Quant:
    """int8: asymmetric over 255 steps, real 0 is an integer. int16: symmetric, as its kernels want.

    A range without width (a constant tensor) has its limit as the last integer; one of zero alone has scale 1 until
    ``zero_ranges`` finds a better one.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 0.0:
        return Quant.per_tensor(1.0, 0)
    if dtype is DType.s16:
        return Quant.per_tensor(max(max(-low, high) / 32767.0, SMALLEST_SCALE), 0)
    scale = max((high - low) / 255.0, SMALLEST_SCALE)
    zero = int(np.clip(np.rint(-128.0 - low / scale), -128, 127))
    return Quant.per_tensor(scale, zero)


def weight_scales(weights: np.ndarray, axis: int | None, bits: int = 8) -> np.ndarray:
    """float32, one scale for each slice along ``axis`` (None: one for all): symmetric, the largest weight is the
    largest integer. A slice of zeros has scale 1."""
    others = tuple(index for index in range(weights.ndim) if index != axis)
    largest = np.abs(weights.astype(np.float64)).max(axis=None if axis is None else others, initial=0.0)
    top = 2.0 ** (bits - 1) - 1
    scales = np.atleast_1d(np.where(largest > 0, np.maximum(largest / top, SMALLEST_SCALE), 1.0))
    return scales.astype(np.float32)


def along(values: np.ndarray, axis: int | None, rank: int) -> np.ndarray:
    """Per-channel values in a shape that broadcasts against a tensor of this rank."""
    shape = [1] * rank
    if axis is not None:
        shape[axis] = -1
    return values.reshape(shape)


def round_weights(weights: np.ndarray, scales: np.ndarray, axis: int | None, bits: int = 8) -> np.ndarray:
    """The nearest integers, float64."""
    top = 2.0 ** (bits - 1) - 1
    exact = weights.astype(np.float64) / along(scales.astype(np.float64), axis, weights.ndim)
    return np.clip(np.rint(exact), -top, top)


@dataclass
class Weights:
    """The integers of the weights of a node: real = integers * scales, along an axis."""

    integers: np.ndarray
    scales: np.ndarray
    axis: int
