"""The elementary float functions of ``common/float_math*.h`` against double precision, over all of float32."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from microlith.nnacl_kernels import catalogue

F32 = 0
STEP = 4099
"""Every 4099th of the 2^32 bit patterns, a million numbers; prime, so that no exponent and no low bit is favoured."""

Exact = Callable[[np.ndarray], np.ndarray]

FUNCTIONS: dict[str, tuple[Exact, float]] = {
    "exp": (np.exp, 1.5),
    "log": (np.log, 1.0),
    "tanh": (np.tanh, 2.0),
    "erf": (np.vectorize(math.erf, otypes=[np.float64]), 2.0),
    "sin": (np.sin, 2.0),
    "cos": (np.cos, 2.0),
    "tan": (np.tan, 4.0),
    "asin": (np.arcsin, 3.0),
    "acos": (np.arccos, 2.0),
    "atan": (np.arctan, 3.0),
    "sinh": (np.sinh, 3.0),
    "cosh": (np.cosh, 3.0),
    "asinh": (np.arcsinh, 3.0),
    "acosh": (np.arccosh, 3.0),
    "atanh": (np.arctanh, 3.0),
}
"""Op, the function in double precision, and the largest error in units in the last place."""


def run_unary(op: str, x: np.ndarray) -> np.ndarray:
    params, _ = catalogue.make_params(op, {}, [catalogue.Tensor(F32, x.shape)])
    kernel = catalogue.find_kernel(op, F32, params, ["c"], runnable=True)
    assert kernel is not None
    y = np.empty_like(x)
    catalogue.run(kernel, params, [x], [y])
    return y


def every_kind_of_float() -> np.ndarray:
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.0, -1.0, 3.4028235e38], np.float32)
    return np.concatenate([np.arange(0, 2**32, STEP, dtype=np.uint64).astype(np.uint32).view(np.float32), special])


def units_in_the_last_place(actual: np.ndarray, exact: np.ndarray) -> np.ndarray:
    _, exponent = np.frexp(exact)
    unit = np.maximum(np.exp2(exponent.astype(np.float64) - 24), 2.0**-149)
    return np.abs(actual.astype(np.float64) - exact) / unit


@pytest.mark.parametrize("op", FUNCTIONS)
def test_error_over_all_floats(op: str) -> None:
    function, limit = FUNCTIONS[op]
    x = every_kind_of_float()
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64))
        expected = exact.astype(np.float32)
    actual = run_unary(op, x)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    worst = units_in_the_last_place(actual[finite], exact[finite]).max()
    assert worst <= limit, f"{op}: {worst:.2f} units in the last place"


def test_pow() -> None:
    rng = np.random.default_rng(1)
    a = np.exp2(rng.uniform(-120, 120, 200_000)).astype(np.float32)
    b = (rng.uniform(-100, 100, a.size) / np.maximum(1.0, np.abs(np.log2(a)))).astype(np.float32)
    edges = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, -0.5, np.inf, -np.inf, np.nan], np.float32)
    a = np.concatenate([a, np.repeat(edges, edges.size)])
    b = np.concatenate([b, np.tile(edges, edges.size)])
    inputs = [catalogue.Tensor(F32, a.shape), catalogue.Tensor(F32, b.shape)]
    params, _ = catalogue.make_params("pow", {"clamp_min": -math.inf, "clamp_max": math.inf}, inputs)
    kernel = catalogue.find_kernel("pow", F32, params, ["c"], runnable=True)
    assert kernel is not None
    y = np.empty_like(a)
    catalogue.run(kernel, params, [a, b], [y])
    with np.errstate(all="ignore"):
        exact = np.power(a.astype(np.float64), b.astype(np.float64))
        expected = exact.astype(np.float32)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(y[~finite], expected[~finite])
    assert units_in_the_last_place(y[finite], exact[finite]).max() <= 1.0
