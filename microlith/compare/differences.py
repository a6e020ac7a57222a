# SPDX-License-Identifier: Apache-2.0
"""How far one tensor is from another, over many samples and without keeping any."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ..ir import Quant
from ..numerics import dequantize_array

BINS = 64
"""Of a histogram; an even number, because two bins become one when the range grows."""


def to_real(array: np.ndarray, quant: Quant | None) -> np.ndarray:
    """The real numbers that a tensor stands for, float64."""
    if quant is None or array.dtype.kind not in "iu":
        return array.astype(np.float64)
    shape = [1] * array.ndim
    if quant.axis is not None:
        shape[quant.axis] = -1
    scale, zero = (item.reshape(shape if item.size > 1 else -1) for item in (quant.scale, quant.zero_point))
    return dequantize_array(array, scale, zero).astype(np.float64).reshape(array.shape)


def real_range(quant: Quant | None, dtype: np.dtype) -> tuple[float, float] | None:
    """The lowest and highest number that a tensor of integers can hold; None for floats and for several scales."""
    if quant is None or not quant.is_per_tensor or dtype.kind not in "iu":
        return None
    info, scale, zero = np.iinfo(dtype), float(quant.scale[0]), int(quant.zero_point[0])
    return (info.min - zero) * scale, (info.max - zero) * scale


class Histogram:
    """Counts of numbers in equal bins over a range that grows by doubling."""

    def __init__(self) -> None:
        self.low = 0.0
        self.width = 0.0
        self.counts = np.zeros(BINS, np.int64)

    @property
    def high(self) -> float:
        return self.low + BINS * self.width

    def cover(self, low: float, high: float) -> None:
        """Makes the range hold these numbers."""
        if self.width == 0.0:
            span = max(high - low, abs(high) * 1e-6, 1e-12)
            self.low, self.width = low - 0.01 * span, 1.02 * span / BINS
        while low < self.low or high > self.high:
            halves = self.counts.reshape(BINS // 2, 2).sum(axis=1)
            self.counts = np.zeros(BINS, np.int64)
            if low < self.low:
                self.counts[BINS // 2 :] = halves
                self.low -= BINS * self.width
            else:
                self.counts[: BINS // 2] = halves
            self.width *= 2

    def add(self, numbers: np.ndarray) -> None:
        """Counts numbers that lie in the range."""
        index = np.clip(((numbers - self.low) / self.width).astype(np.int64), 0, BINS - 1)
        self.counts += np.bincount(index, minlength=BINS)


@dataclass
class Comparison:
    """Sums over all samples of a reference ``a`` and of ``b``, both real numbers."""

    count: int = 0
    not_finite: int = 0
    """Elements that are no finite number in either; they are left out of all other sums."""
    equal: bool = True
    """Whether all numbers were equal so far."""
    max_error: float = 0.0
    a_range: tuple[float, float] = (math.inf, -math.inf)
    b_range: tuple[float, float] = (math.inf, -math.inf)
    a_sum: float = 0.0
    b_sum: float = 0.0
    a_square: float = 0.0
    b_square: float = 0.0
    product: float = 0.0
    noise: float = 0.0
    """Sum of squared differences."""
    clipped_noise: float = 0.0
    """The part of it that no number within the range of ``b`` could avoid."""
    clipped: int = 0
    """Elements of ``a`` more than half a step outside the range of ``b``."""
    saturated: int = 0
    """Integers of ``b`` at an end of their type that is not zero (which a ReLU gives, exactly)."""
    integers: int = 0
    a_histogram: Histogram = field(default_factory=Histogram)
    b_histogram: Histogram = field(default_factory=Histogram)

    def add(self, a: np.ndarray, b: np.ndarray, stored: np.ndarray, quant: Quant | None) -> None:
        """One sample: real numbers of equal shape, and ``b`` as it is stored."""
        a, b = a.reshape(-1), b.reshape(-1)
        finite = np.isfinite(a) & np.isfinite(b)
        if not finite.all():
            with np.errstate(invalid="ignore"):
                same = (a == b) | (np.isnan(a) & np.isnan(b))
            self.equal &= bool(same[~finite].all())
            self.not_finite += int((~finite).sum())
            if not same[~finite].all():
                self.max_error = math.inf
            a, b = a[finite], b[finite]
        if stored.dtype.kind in "iu" and quant is not None:
            info = np.iinfo(stored.dtype)
            self.integers += stored.size
            ends = [end for end in (info.min, info.max) if not (quant.zero_point == end).any()]
            self.saturated += sum(int((stored == end).sum()) for end in ends)
        if a.size == 0:
            return
        error = a - b
        worst = float(np.abs(error).max())
        self.equal &= worst == 0.0
        self.max_error = max(self.max_error, worst)
        self.count += a.size
        self.a_sum, self.b_sum = self.a_sum + float(a.sum()), self.b_sum + float(b.sum())
        self.a_square, self.b_square = self.a_square + float(a @ a), self.b_square + float(b @ b)
        self.product, self.noise = self.product + float(a @ b), self.noise + float(error @ error)
        low_a, high_a, low_b, high_b = float(a.min()), float(a.max()), float(b.min()), float(b.max())
        self.a_range = min(self.a_range[0], low_a), max(self.a_range[1], high_a)
        self.b_range = min(self.b_range[0], low_b), max(self.b_range[1], high_b)
        limits = real_range(quant, stored.dtype)
        if limits is not None:
            assert quant is not None
            beyond = a - np.clip(a, *limits)
            self.clipped_noise += float(beyond @ beyond)
            self.clipped += int((np.abs(beyond) > 0.5 * float(quant.scale[0])).sum())
        for histogram, numbers in ((self.a_histogram, a), (self.b_histogram, b)):
            histogram.cover(min(low_a, low_b), max(high_a, high_b))
            histogram.add(numbers)

    @property
    def sqnr(self) -> float:
        """Signal to noise in dB: infinite when equal, minus infinite when noise meets a signal of zero, or where NaN or
        infinity is in one of both alone."""
        if self.max_error == math.inf:
            return -math.inf
        if self.noise == 0.0:
            return math.inf
        return 10 * math.log10(self.a_square / self.noise) if self.a_square > 0 else -math.inf

    @property
    def cosine(self) -> float:
        """Cosine of the angle between all of ``a`` and all of ``b``; 1 for two zeros, 0 for one."""
        if self.equal:
            return 1.0
        norm = math.sqrt(self.a_square * self.b_square)
        return max(-1.0, min(1.0, self.product / norm)) if norm > 0 else float(self.a_square == self.b_square)

    @property
    def saturation(self) -> float:
        """The part of the integers of ``b`` that lie at the end of their type; 0 for floats."""
        return self.saturated / self.integers if self.integers else 0.0

    @property
    def clipping(self) -> float:
        """The part of the elements of ``a`` outside the range of ``b``."""
        return self.clipped / self.count if self.count else 0.0

    @property
    def mean_square(self) -> float:
        """Mean squared difference."""
        return self.noise / self.count if self.count else 0.0

    def fitted_noise(self) -> tuple[float, float, float]:
        """Gain, offset and the noise that is left when ``b`` is taken as ``gain * a + offset`` (least squares)."""
        if self.count == 0:
            return 1.0, 0.0, 0.0
        mean_a, mean_b = self.a_sum / self.count, self.b_sum / self.count
        variance = self.a_square - self.count * mean_a * mean_a
        covariance = self.product - self.count * mean_a * mean_b
        spread = self.b_square - self.count * mean_b * mean_b
        if variance <= 1e-12 * max(self.a_square, 1e-300):
            return 1.0, mean_b - mean_a, max(spread, 0.0)
        gain = covariance / variance
        return gain, mean_b - gain * mean_a, max(spread - gain * covariance, 0.0)
