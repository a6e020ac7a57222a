# SPDX-License-Identifier: Apache-2.0
"""Sums of many floats hold what float32 can hold, in every kernel: means against NumPy in double precision.

The mean of a large image steers the rest of a network with squeeze and excitation; a sum that drops a little with each
of 4096 summands is off by 1e-6 and more, of a segmentation's mask 2e-4.
"""

from __future__ import annotations

import numpy as np
import pytest

from microlith import ops
from microlith.dtypes import DType
from microlith.nnacl_kernels import catalogue

ISAS = catalogue.detected_isa()


def means(op: str, x: np.ndarray, attrs: dict[str, object]) -> list[tuple[str, np.ndarray]]:
    """What each kernel of an op that runs here makes of x."""
    tensor = catalogue.Tensor(DType.f32.value, x.shape, x)
    params, (type,) = catalogue.make_params(op, ops.get(op).complete_attrs(attrs), [tensor], 1)
    found = {}
    for isa in ISAS:
        kernel = catalogue.find_kernel(op, DType.f32.value, params, [isa], runnable=True)
        if kernel is not None:
            y = np.full(type.shape, np.nan, np.float32)
            catalogue.run(kernel, params, [x], [y])
            found[kernel.symbol] = y
    assert any(symbol.endswith("_c") for symbol in found)
    return list(found.items())


@pytest.mark.parametrize("shape", [(1, 64, 64, 21), (2, 1, 5000, 16), (1, 3000, 1, 5), (1, 33, 97, 40)])
def test_average_of_an_image(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).uniform(0.1, 1.1, shape).astype(np.float32)
    exact = x.astype(np.float64).mean((1, 2), keepdims=True)
    for symbol, y in means("avg_pool2d", x, {"kernel_h": shape[1], "kernel_w": shape[2]}):
        assert np.abs(y - exact).max() <= 2.0**-24, symbol  # half of the last bit of 0.6


@pytest.mark.parametrize("axes", [(1,), (1, 2)])
def test_mean_along_axes(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).uniform(0.1, 1.1, (2, 4096, 24) if axes == (1,) else (2, 64, 64, 24))
    x = x.astype(np.float32)
    exact = x.astype(np.float64).mean(axes, keepdims=True)
    for symbol, y in means("reduce_mean", x, {"axes": sum(1 << axis for axis in axes)}):
        assert np.abs(y - exact).max() <= 4 * 2.0**-24, symbol


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_what_is_not_finite_stays(value: float) -> None:
    x = np.ones((1, 50, 50, 18), np.float32)
    x[0, 3:5, 7] = value
    with np.errstate(over="ignore"):
        wanted = np.float32(value) + np.float32(value)
    for symbol, y in means("avg_pool2d", x, {"kernel_h": 50, "kernel_w": 50}):
        np.testing.assert_array_equal(y, np.full_like(y, wanted), err_msg=symbol)
