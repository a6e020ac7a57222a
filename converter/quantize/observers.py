"""What calibration remembers of a tensor, and the range that an observer makes of it.

Two passes over the data: the first finds the limits, the second counts in bins between them. A tensor then takes a few
kilobytes, whatever the number of samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

BINS = 2048
"""Bins of a histogram: about eight for each step of an 8-bit number."""

MOMENTUM = 0.9
"""Share of the past in a moving average of the limits of a sample."""

PERCENTILE = 99.99
"""Per cent of all elements that ``percentile`` keeps inside the range, unless told otherwise."""


@dataclass
class TensorStats:
    """The statistics of one tensor of real numbers, fed sample by sample."""

    low: float = np.inf
    high: float = -np.inf
    average_low: float = 0.0
    average_high: float = 0.0
    samples: int = 0
    count: int = 0
    bad: int = 0
    """Elements that were NaN or infinite; they are in no other figure."""
    histogram: np.ndarray = field(default_factory=lambda: np.zeros(BINS, np.int64))

    def see_limits(self, array: np.ndarray) -> None:
        """First pass."""
        low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
        if not (np.isfinite(low) and np.isfinite(high)):
            finite = array[np.isfinite(array)]
            self.bad += array.size - finite.size
            if not finite.size:
                return
            low, high = float(finite.min()), float(finite.max())
        first = self.samples == 0
        self.average_low = low if first else MOMENTUM * self.average_low + (1 - MOMENTUM) * low
        self.average_high = high if first else MOMENTUM * self.average_high + (1 - MOMENTUM) * high
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.samples += 1

    def see_bins(self, array: np.ndarray) -> None:
        """Second pass; the limits are known."""
        self.count += array.size
        width = self.high - self.low
        if not width > 0:
            return
        flat = array.reshape(-1).astype(np.float32, copy=False)
        if self.bad:
            flat = flat[np.isfinite(flat)]
        places = np.minimum(((flat - np.float32(self.low)) * np.float32(BINS / width)).astype(np.int32), BINS - 1)
        self.histogram += np.bincount(np.maximum(places, 0), minlength=BINS)

    @property
    def centres(self) -> np.ndarray:
        """float64 [BINS]: the middle of each bin."""
        return self.low + (np.arange(BINS) + 0.5) * (self.high - self.low) / BINS


Range = tuple[float, float]


def min_max(stats: TensorStats, levels: int) -> Range:
    """All that was seen."""
    return stats.low, stats.high


def moving_average(stats: TensorStats, levels: int) -> Range:
    """The limits of the samples, averaged with a weight that falls by a tenth for each later sample."""
    return stats.average_low, stats.average_high


def percentile(stats: TensorStats, levels: int, per_cent: float = PERCENTILE) -> Range:
    """What holds so many per cent of the elements; the same share is cut off on both sides."""
    total = stats.histogram.sum()
    if not total:
        return stats.low, stats.high
    cumulated = np.cumsum(stats.histogram)
    outside = total * (100.0 - per_cent) / 200.0
    width = (stats.high - stats.low) / BINS
    first = int(np.searchsorted(cumulated, outside, side="right"))
    last = int(np.searchsorted(cumulated, total - outside, side="left"))
    return stats.low + width * first, stats.low + width * (min(last, BINS - 1) + 1)


def squared_error(stats: TensorStats, levels: int) -> Range:
    """The range with the smallest mean squared error of quantized elements, found on a grid of both limits."""
    if not stats.histogram.any():
        return stats.low, stats.high
    used = np.flatnonzero(stats.histogram)
    x, weight = stats.centres[used], stats.histogram[used].astype(np.float64)
    best, chosen = np.inf, (stats.low, stats.high)
    cuts = np.concatenate([[1.0], np.linspace(0.98, 0.5, 17), np.geomspace(0.45, 0.05, 8)])
    lows = cuts if stats.low < 0 else cuts[:1]
    highs = cuts if stats.high > 0 else cuts[:1]
    for low in min(stats.low, 0.0) * lows:
        for high in max(stats.high, 0.0) * highs:
            step = (high - low) / (levels - 1)
            if step <= 0:
                continue
            clipped = np.clip(x, low, high) - x
            # Inside, the rounding error is spread evenly over a step; outside, the distance to the limit.
            error = float(weight @ np.where(clipped == 0, step * step / 12.0, clipped * clipped))
            if error < best:
                best, chosen = error, (float(low), float(high))
    return chosen


def entropy(stats: TensorStats, levels: int) -> Range:
    """The range whose quantized distribution has the smallest Kullback-Leibler divergence from the one that was seen.

    After S. Migacz, 8-bit Inference with TensorRT (GTC 2017): what lies outside is counted into the last bin inside,
    and the bins of one step share what the step holds among those that are not empty. Here for both limits at once.
    """
    counts = stats.histogram.astype(np.float64)
    if not counts.any():
        return stats.low, stats.high
    bins = min(levels, 256)
    best, chosen = np.inf, (stats.low, stats.high)
    zero = int(np.clip((0.0 - stats.low) / max(stats.high - stats.low, 1e-30) * BINS, 0, BINS))
    for cut in np.linspace(1.0, 0.1, 61):
        first, last = int(zero - zero * cut), int(np.ceil(zero + (BINS - zero) * cut))
        if last - first < bins:
            continue
        inside = counts[first:last].copy()
        if not inside.any():
            continue
        step = np.arange(last - first) * bins // (last - first)
        filled = inside > 0
        held = np.bincount(step, inside, bins)
        among = np.bincount(step, filled, bins)
        spread = np.where(filled, (held / np.maximum(among, 1))[step], 0.0)
        inside[0] += counts[:first].sum()
        inside[-1] += counts[last:].sum()
        p, q = inside / inside.sum(), spread / max(spread.sum(), 1e-30)
        seen = p > 0
        divergence = float(np.sum(p[seen] * np.log(p[seen] / np.maximum(q[seen], 1e-12))))
        if divergence < best:
            width = (stats.high - stats.low) / BINS
            best, chosen = divergence, (stats.low + width * first, stats.low + width * last)
    return chosen


OBSERVERS: dict[str, Callable[[TensorStats, int], Range]] = {
    "min-max": min_max,
    "moving-average": moving_average,
    "percentile": percentile,
    "entropy": entropy,
    "mse": squared_error,
}
"""By the name that options have for them: (statistics, number of integer levels) -> (low, high)."""
