"""Observers against plain NumPy on the same numbers, and ranges that have no width."""

from __future__ import annotations

import numpy as np
import pytest

from microlith.converter.quantize.observers import OBSERVERS, TensorStats, percentile
from microlith.converter.quantize.ranges import activation_quant, round_weights, weight_scales
from microlith.dtypes import DType


def seen(*samples: np.ndarray) -> TensorStats:
    stats = TensorStats()
    for sample in samples:
        stats.see_limits(sample)
    for sample in samples:
        stats.see_bins(sample)
    return stats


def rounding_error(x: np.ndarray, low: float, high: float) -> float:
    """Mean squared error of 8-bit numbers, written out."""
    quant = activation_quant(low, high, DType.s8)
    scale, zero = float(quant.scale[0]), int(quant.zero_point[0])
    return float(np.mean((x - (np.clip(np.rint(x / scale) + zero, -128, 127) - zero) * scale) ** 2))


def test_percentile_is_that_of_numpy() -> None:
    x = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    stats = seen(x[:50_000], x[50_000:])
    low, high = percentile(stats, 256, 99.0)
    wanted = np.percentile(x, [0.5, 99.5])
    width = (x.max() - x.min()) / 2048
    assert abs(low - wanted[0]) <= 2 * width and abs(high - wanted[1]) <= 2 * width


def test_min_max_and_moving_average() -> None:
    stats = seen(np.array([-1.0, 2.0], np.float32), np.array([-3.0, 1.0], np.float32))
    assert OBSERVERS["min-max"](stats, 256) == (-3.0, 2.0)
    low, high = OBSERVERS["moving-average"](stats, 256)
    assert low == pytest.approx(0.9 * -1 + 0.1 * -3) and high == pytest.approx(0.9 * 2 + 0.1 * 1)


@pytest.mark.parametrize("name", ["entropy", "percentile"])
def test_outliers_are_cut_off(name: str) -> None:
    """One number in 100,000 is a hundred times larger: a good range leaves it out and rounds the rest finer."""
    x = np.random.default_rng(1).standard_normal(100_000).astype(np.float32)
    x[7] = 400.0
    low, high = OBSERVERS[name](seen(x), 256)
    assert high < 250
    rest = np.delete(x, 7)
    assert rounding_error(rest, low, high) < 0.5 * rounding_error(rest, float(x.min()), float(x.max()))


def test_mse_finds_what_a_search_finds() -> None:
    x = np.random.default_rng(2).laplace(size=20_000).astype(np.float32)
    low, high = OBSERVERS["mse"](seen(x), 256)
    best = min(
        rounding_error(x, float(x.min()) * a, float(x.max()) * b)
        for a in np.linspace(0.1, 1, 19)
        for b in np.linspace(0.1, 1, 19)
    )
    assert rounding_error(x, low, high) <= 1.1 * best


@pytest.mark.parametrize("name", sorted(OBSERVERS))
@pytest.mark.parametrize("x", [np.zeros(9), np.full(9, 5.0), np.full(9, -1e-30), np.array([]), np.array([1e30, -1e30])])
def test_odd_tensors_have_a_scale(name: str, x: np.ndarray) -> None:
    low, high = OBSERVERS[name](seen(x.astype(np.float32)), 256)
    quant = activation_quant(low, high, DType.s8)
    assert np.isfinite(quant.scale[0]) and quant.scale[0] > 0 and -128 <= quant.zero_point[0] <= 127


def test_zero_is_an_integer() -> None:
    for low, high in ((0.5, 3.0), (-3.0, -0.5), (-1.0, 2.0), (0.0, 0.0)):
        for dtype in (DType.s8, DType.s16):
            quant = activation_quant(low, high, dtype)
            info = np.iinfo(dtype.numpy)
            assert info.min <= quant.zero_point[0] <= info.max


def test_numbers_that_are_none_are_counted() -> None:
    stats = seen(np.array([1.0, np.nan, 2.0, np.inf], np.float32))
    assert (stats.low, stats.high, stats.bad) == (1.0, 2.0, 2) and stats.histogram.sum() == 2


def test_weights_are_symmetric_per_channel() -> None:
    weights = np.array([[1.0, -2.0], [0.0, 0.0], [3.0, 1.5]], np.float32)
    scales = weight_scales(weights, 0)
    np.testing.assert_allclose(scales, [2 / 127, 1.0, 3 / 127], rtol=1e-6)
    np.testing.assert_array_equal(round_weights(weights, scales, 0), [[64, -127], [0, 0], [127, 64]])
