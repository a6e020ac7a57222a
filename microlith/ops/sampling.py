"""Random pieces of samples: small, awkward shapes and extreme numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import numerics
from . import Sample


def size(rng: np.random.Generator, low: int = 1, high: int = 9) -> int:
    """A size in [low, high]."""
    return int(rng.integers(low, high + 1))


def shape(rng: np.random.Generator, rank: int | None = None, high: int = 7) -> tuple[int, ...]:
    """A shape of the rank given, or of a rank from 1 to 4."""
    rank = size(rng, 1, 4) if rank is None else rank
    return tuple(size(rng, 1, high) for _ in range(rank))


def floats(rng: np.random.Generator, shape: tuple[int, ...], low: float = -4.0, high: float = 4.0) -> np.ndarray:
    """float32, evenly spread."""
    return rng.uniform(low, high, shape).astype(np.float32)


def halved(sample: Sample, rng: np.random.Generator, operands: int = 1) -> Sample:
    """Now and then the same sample with its first operands in half precision, if they are float32."""
    arrays = sample.inputs[:operands]
    if rng.integers(4) or any(array is not None and array.dtype != np.float32 for array in arrays):
        return sample
    halves = [None if array is None else array.astype(np.float16) for array in arrays]
    return Sample([*halves, *sample.inputs[operands:]], sample.attrs)


def integers(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: type = np.int8, low: int | None = None
) -> np.ndarray:
    """Integers over the whole range of the type, from ``low`` on if given."""
    info = np.iinfo(dtype)
    return rng.integers(info.min if low is None else low, info.max, shape, dtype=dtype, endpoint=True)


def zero_point(rng: np.random.Generator) -> int:
    """An int8 zero point; often at an end of the range."""
    return int(rng.choice([-128, 127, 0, int(rng.integers(-128, 128))]))


def clamp(rng: np.random.Generator) -> dict[str, Any]:
    """No activation, RELU or RELU6."""
    return [{}, {"clamp_min": 0.0}, {"clamp_min": 0.0, "clamp_max": 6.0}][int(rng.integers(3))]


def integer_clamp(rng: np.random.Generator, dtype: type = np.int8) -> dict[str, Any]:
    """The whole range of a type, or a part of it."""
    info = np.iinfo(dtype)
    if rng.integers(2):
        return {} if dtype is np.int8 else {"q_min": info.min, "q_max": info.max}
    low, high = sorted(int(v) for v in rng.integers(info.min, info.max + 1, 2))
    return {"q_min": low, "q_max": high}


def requant_factor(rng: np.random.Generator, spread: float) -> float:
    """A factor that brings numbers of about ``spread`` into or somewhat beyond the int8 range."""
    return float(100.0 / max(spread, 1.0) * 2.0 ** rng.uniform(-3.0, 2.0))


def weighted_rounding(rng: np.random.Generator) -> int:
    """The rounding of an op with weights: a contract, or one of the two rules that refine ``tflite-double``."""
    return int(rng.integers(5))


def requant_input(rng: np.random.Generator, channels: int, spread: float, rounding: int) -> np.ndarray:
    """The ``requant`` input of conv2d and dense for accumulators of about ``spread``."""
    factors = np.array([requant_factor(rng, spread) for _ in range(channels)], np.float64)
    if rounding == numerics.FLOAT_EVEN:
        return factors.astype(np.float32)
    return numerics.quantize_multipliers(factors)


def rounding(rng: np.random.Generator) -> int:
    """One of the three contracts."""
    return int(rng.integers(3))


def index_vector(rng: np.random.Generator, items: Sequence[int] | np.ndarray) -> np.ndarray:
    """Sizes, axes or positions as an input holds them: int32 or int64."""
    return np.asarray(items, np.int32 if rng.integers(2) else np.int64)
