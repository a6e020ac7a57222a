"""Functions of 16-bit integers by interpolation, as LiteRT computes them: curves of 513 points, and sigmoid_table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Node, TensorType
from . import OpDef, Sample, fixed_point, register, sampling
from .shape_rules import require, require_dtype, same_type

Attrs = Mapping[str, Any]

POINTS = 513
"""Of a curve: one for each 128th place of 16 bits, and the end."""

_LOW, _HIGH = -32768.0, 32767.0


def curve(function: Callable[[float], float], low: float, high: float, output_span: float) -> np.ndarray:
    """int16 [513]: ``function`` from ``low`` to ``high``, in steps of ``output_span`` / 65536.

    Each point is moved by half of the error that interpolation has in the middle behind it.
    """
    step = (high - low) / (POINTS - 1)
    inverse = 65536.0 / output_span

    def rounded(value: float) -> float:
        return float(numerics.round_half_away(np.float64(value)))

    points: list[float] = []
    for index in range(POINTS - 1):
        here, middle = (function(low + index * step + part) for part in (0.0, step / 2))
        behind = function(low + (index + 1) * step)
        sample = rounded(here * inverse)
        error = rounded((behind * inverse + sample) / 2) - rounded(middle * inverse)
        points.append(sample - rounded(error / 2))
    points.append(rounded(function(high) * inverse))
    return np.clip(points, _LOW, _HIGH).astype(np.int16)


def curve_at(points: np.ndarray, place: np.ndarray) -> np.ndarray:
    """A curve at places of 16 bits, int64."""
    bounded = np.clip(place, -32768, 32767).astype(np.int64)
    index = 256 + (bounded >> 7)
    low = points[index].astype(np.int64)
    slope = (points[index + 1].astype(np.int64) - low).astype(np.int16).astype(np.int64)
    return low + ((slope * (bounded & 0x7F) + 64) >> 7)


def softmax_curves() -> np.ndarray:
    """int16 [1026]: exp over -10 .. 0, then 1 / (1 + x) over 0 .. 1."""
    exponential = curve(lambda x: float(np.exp(x)), -10.0, 0.0, 2.0)
    return np.concatenate([exponential, curve(lambda x: 1.0 / (1.0 + x), 0.0, 1.0, 2.0)])


def softmax_s16(x: np.ndarray, curves: np.ndarray, mult: int, shift: int) -> np.ndarray:
    """Softmax of int16 over the last axis, int16 in Q0.15."""
    wide = x.astype(np.int64)
    scaled = numerics.requantize(wide - wide.max(axis=-1, keepdims=True), mult, shift, numerics.TFLITE_DOUBLE)
    powers = curve_at(curves[:POINTS], np.minimum(scaled + 32767, 2**31 - 1)).astype(np.int16).astype(np.int64)
    total = powers.sum(axis=-1, keepdims=True)
    zeros = np.array([32 - int(value).bit_length() for value in total.reshape(-1)]).reshape(total.shape)
    zeros = np.clip(zeros, 1, 30)
    fraction = ((total << (zeros - 1)) + (1 << 13)) >> 14
    factor = curve_at(curves[POINTS:], fraction - (1 << 15) - (1 << 16))
    right = 31 - zeros
    return np.clip((powers * factor + (1 << right >> 1)) >> right, 0, 32767).astype(np.int16)


def sigmoid_points() -> np.ndarray:
    """uint16 [256]: the logistic function at i / 24 in steps of 2^-16.

    Each point is raised by half of what interpolation between two points falls short in their middle.
    """
    s = 1.0 / (1.0 + np.exp(-np.arange(256) / 24.0))
    curvature = s * (1.0 - s) * (2.0 * s - 1.0)
    points = np.rint(65536.0 * (s + curvature / 24.0**2 / 16.0))
    points[-1] = 65535
    return points.astype(np.uint16)


NEAR_POWER = 1e-3
"""LiteRT takes a scale for a power of two when its binary logarithm is so near to a whole number."""


def sigmoid_attrs(scale: float, tanh: bool) -> dict[str, int]:
    """The attributes of sigmoid_table for an input of this scale."""
    exponent = math.log2(scale) if scale > 0 else math.inf
    nearest = round(exponent) if math.isfinite(exponent) else 0
    left = 12 + nearest
    if abs(exponent - nearest) < NEAR_POWER and left in ((0, 1) if tanh else (0,)):
        return {"tanh": int(tanh), "mult": 0, "shift": left}
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    return {"tanh": int(tanh), "mult": int(multiplier) & 0xFFFF, "shift": shift}


def _infer(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.s16)
    table = node.input(1)
    require(node, table.dtype is DType.u16 and table.shape == (256,), f"the table is {table.type}, not u16[256]")
    return same_type(node)


def _reference(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    x, table = inputs
    shift = attrs["shift"]
    if attrs["mult"] == 0:
        q12 = np.clip(x.astype(np.int64) << min(shift, 1), -32768, 32767)
        return [(fixed_point.tanh(q12, 3) if attrs["tanh"] else fixed_point.logistic(q12)).astype(np.int16)]
    place = (x.astype(np.int64) * attrs["mult"] + (1 << shift >> 1)) >> shift
    bits, end = (8, 0xFFFF) if attrs["tanh"] else (9, 0xFFFE)
    index = np.abs(place) >> bits
    inside = np.minimum(index, 254)
    low, high = table[inside].astype(np.int64), table[inside + 1].astype(np.int64)
    result = np.where(index >= 255, end << bits, (low << bits) + (np.abs(place) & ((1 << bits) - 1)) * (high - low))
    if attrs["tanh"]:
        twice = result - (1 << 23)
        y = np.where(place >= 0, twice + (1 << 7), (1 << 7) - 1 - twice) >> 8
    else:
        y = np.where(place >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1) >> 10
    return [y.astype(np.int16)]


def _sample(rng: np.random.Generator) -> Sample:
    x = sampling.integers(rng, sampling.shape(rng), np.int16)
    scale = float(np.float32(2.0 ** rng.uniform(-16, -8))) if rng.integers(4) else 2.0**-12
    return Sample([x, sigmoid_points()], sigmoid_attrs(scale, bool(rng.integers(2))))


register(
    OpDef(
        name="sigmoid_table",
        inputs=("x", "table"),
        infer=_infer,
        reference=_reference,
        samples=_sample,
        attrs={"tanh": 0, "mult": 0, "shift": 0},
        doc="The logistic function or the hyperbolic tangent of 16-bit integers.",
    ),
)
