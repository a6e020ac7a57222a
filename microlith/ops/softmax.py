"""Softmax over one axis; arithmetic in ``nnacl_kernels/softmax/softmax.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Node, TensorType
from . import OpDef, QuantRule, Sample, Tolerance, register, sampling
from .curves import POINTS, curve_at, softmax_curves, softmax_s16
from .quant_rules import materialize_softmax
from .shape_rules import normal_axis, require, require_dtype, same_type

Attrs = Mapping[str, Any]

SOFTMAX_SCALE, SOFTMAX_ZERO = 1.0 / 256.0, -128
"""The only quantization of an s8 softmax output."""

LOG_SOFTMAX_SCALE, LOG_SOFTMAX_ZERO = 16.0 / 256.0, 127
"""That of an s8 log_softmax output: -16 to 0."""

_ATTRS = {
    "axis": 0,
    "beta": 1.0,
    "mult": 0,
    "shift": 0,
    "rounding": 0,
    "y_scale": SOFTMAX_SCALE,
    "y_zero": SOFTMAX_ZERO,
    "to": DType.s8.value,
    "x_scale": 0.0,
    "x_offset": 0,
}


def _infer(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, DType.f32, DType.s8, DType.s16)
    require(node, len(x.shape) >= 1, "x needs at least one dimension")
    require(node, node.attrs["axis"] >= 0, "axis must count from the start")
    normal_axis(node, node.attrs["axis"], len(x.shape))
    table = node.optional_input(1)
    if table is not None:
        wanted = TensorType(DType.s16, (1026,)) if x.dtype is DType.s16 else TensorType(DType.f32, (256,))
        require(node, table.type == wanted, f"the table is {table.type}, not {wanted}")
    if x.dtype is DType.s8:
        wide = (DType.s16.value,) if node.op == "softmax" else ()
        require(node, node.attrs["to"] in (DType.s8.value, *wide), "y must be s8, or s16 for softmax")
        return [TensorType(DType(node.attrs["to"]), x.shape)]
    return same_type(node)


def _reference_softmax(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, table = (*inputs, None)[:2]
    assert x is not None
    axis = attrs["axis"]
    if x.dtype.kind == "f":
        centred = (x - x.max(axis=axis, keepdims=True, initial=-np.inf)).astype(np.float64)
        exponentials = np.exp(np.float32(attrs["beta"]).astype(np.float64) * centred)
        return [(exponentials / exponentials.sum(axis=axis, keepdims=True)).astype(x.dtype)]
    assert table is not None, "an integer softmax needs its table"
    if x.dtype == np.int16:
        y16 = softmax_s16(np.moveaxis(x, axis, -1), table, attrs["mult"], attrs["shift"])
        return [np.ascontiguousarray(np.moveaxis(y16, -1, axis))]
    _, exponentials32, total = _sums(x, table, axis)
    if attrs["rounding"] == numerics.FLOAT_EVEN:
        real = exponentials32 * (np.float32(1.0) / total)[..., None]
        even = numerics.quantize_array(real, attrs["y_scale"], attrs["y_zero"], np.int8, numerics.FLOAT_EVEN)
        return [np.ascontiguousarray(np.moveaxis(even, -1, axis))]
    inverse = np.float32(1.0) / (total * np.float32(attrs["y_scale"]))
    rounded = numerics.round_half_away(exponentials32 * inverse[..., None]).astype(np.float64)
    dtype = DType(attrs["to"]).numpy
    y = np.clip(rounded + attrs["y_zero"], np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
    return [np.ascontiguousarray(np.moveaxis(y, -1, axis))]


def _sums(x: np.ndarray, table: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """s8: x with its axis behind all others, its exponentials, and their float32 sums in the order of the elements."""
    moved = np.moveaxis(x.astype(np.int64), axis, -1)
    exponentials = table[255 + moved - moved.max(axis=-1, keepdims=True, initial=-128)]
    total = np.zeros(exponentials.shape[:-1], np.float32)
    for index in range(exponentials.shape[-1]):
        total = total + exponentials[..., index]
    return moved, exponentials, total


def _log(x: np.ndarray, less: float = 0.0) -> np.ndarray:
    """The logarithm of float32 numbers from 1 up, divided by 2^less, in the steps of the C kernel
    (``nnacl_log2_double``)."""
    bits = x.view(np.uint32).astype(np.int64) - 0x3F3504F3
    exponent = bits >> 23
    m = ((bits & 0x7FFFFF) + 0x3F3504F3).astype(np.uint32).view(np.float32).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = np.full(x.shape, 1.0 / 17.0)
    for divisor in (15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0):
        p = p * z + 1.0 / divisor
    log2 = exponent + 2.8853900817779268 * (s + s * z * p)
    return np.asarray((log2 - less) * 0.69314718055994531).astype(np.float32)


def _log_softmax_s8(x: np.ndarray, table: np.ndarray, attrs: Attrs) -> np.ndarray:
    axis, x_scale, y_scale = attrs["axis"], np.float32(attrs["x_scale"]), np.float32(attrs["y_scale"])
    moved, _, total = _sums(x, table, axis)
    if not moved.size:
        return x.copy()
    real = (moved + attrs["x_offset"]).astype(np.float32)
    offset = (x_scale * real.max(axis=-1) + _log(total)) / y_scale
    rounded = np.rint((x_scale / y_scale * real - offset[..., None]).astype(np.float64)) + attrs["y_zero"]
    return np.ascontiguousarray(np.moveaxis(np.clip(rounded, -128, 127).astype(np.int8), -1, axis))


def _log_softmax_s16(x: np.ndarray, curves: np.ndarray, attrs: Attrs) -> np.ndarray:
    """In the steps and types that softmax.h states."""
    x_scale, y_scale = np.float32(attrs["x_scale"]), np.float32(attrs["y_scale"])
    moved = np.moveaxis(x.astype(np.int64), attrs["axis"], -1)
    if not moved.size:
        return x.copy()
    below = moved - moved.max(axis=-1, keepdims=True)
    scaled = numerics.requantize(below, attrs["mult"], attrs["shift"], numerics.TFLITE_DOUBLE)
    total = curve_at(curves[:POINTS], np.minimum(scaled + 32767, 2**31 - 1)).sum(axis=-1)
    log_sum = _log(np.maximum(total, 1).astype(np.float32), 15.0)
    real = x_scale / y_scale * below.astype(np.float32) - (log_sum / y_scale)[..., None]
    rounded = np.rint(real.astype(np.float64)) + attrs["y_zero"]
    return np.ascontiguousarray(np.moveaxis(np.clip(rounded, -32768, 32767).astype(np.int16), -1, attrs["axis"]))


def _reference_log_softmax(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, table = (*inputs, None)[:2]
    assert x is not None
    axis = attrs["axis"]
    if x.dtype == np.int8:
        assert table is not None, "an integer log_softmax needs its table"
        return [_log_softmax_s8(x, table, attrs)]
    if x.dtype == np.int16:
        assert table is not None, "an integer log_softmax needs its table"
        return [_log_softmax_s16(x, table, attrs)]
    centred = (x - x.max(axis=axis, keepdims=True, initial=-np.inf)).astype(np.float64)
    return [(centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))).astype(x.dtype)]


def _draw_shape(rng: np.random.Generator) -> tuple[tuple[int, ...], int]:
    shape = list(sampling.shape(rng, high=5))
    axis = int(rng.integers(len(shape)))
    shape[axis] = sampling.size(rng, 1, 37)
    return tuple(shape), axis


def _sample_softmax(rng: np.random.Generator) -> Sample:
    shape, axis = _draw_shape(rng)
    kind = int(rng.integers(4))
    if kind == 0:
        mult, shift = numerics.quantize_multiplier(2.0 ** rng.uniform(-2, 3))
        return Sample(
            [sampling.integers(rng, shape, np.int16), softmax_curves()], {"axis": axis, "mult": mult, "shift": shift}
        )
    if kind == 1:
        scale = np.float32(2.0 ** rng.uniform(-8, 0))
        table = np.exp(-scale * np.arange(255, -1, -1, dtype=np.float64)).astype(np.float32)
        attrs: dict[str, Any] = {"axis": axis, "y_scale": float(np.float32(2.0 ** rng.uniform(-10, -6)))}
        attrs |= {"y_zero": sampling.zero_point(rng), "rounding": sampling.rounding(rng)}
        if attrs["rounding"] != numerics.FLOAT_EVEN and rng.integers(3) == 0:
            attrs |= {"to": DType.s16.value, "y_zero": -32768, "y_scale": 1.0 / 65536.0}
        return Sample([sampling.integers(rng, shape), table], attrs)
    beta = 1.0 if rng.integers(2) else float(np.float32(rng.uniform(0.5, 2.0)))
    return Sample([sampling.floats(rng, shape, -10.0, 10.0)], {"axis": axis, "beta": beta})


def _sample_log_softmax(rng: np.random.Generator) -> Sample:
    shape, axis = _draw_shape(rng)
    if rng.integers(4) == 0:
        scale = float(np.float32(2.0 ** rng.uniform(-14, -8)))
        mult, shift = numerics.quantize_multiplier(scale / (10.0 / 65535.0))
        wide = {"axis": axis, "mult": mult, "shift": shift, "x_scale": scale}
        wide |= {"y_scale": float(np.float32(2.0 ** rng.uniform(-14, -8))), "y_zero": int(rng.choice([0, -32768, 999]))}
        return Sample([sampling.integers(rng, shape, np.int16), softmax_curves()], wide)
    if rng.integers(2):
        scale = np.float32(2.0 ** rng.uniform(-8, 0))
        table = np.exp(-scale * np.arange(255, -1, -1, dtype=np.float64)).astype(np.float32)
        attrs = {"axis": axis, "x_scale": float(scale), "x_offset": int(rng.choice([0, 128]))}
        attrs |= {"y_scale": float(np.float32(2.0 ** rng.uniform(-6, -2))), "y_zero": sampling.zero_point(rng)}
        return Sample([sampling.integers(rng, shape), table], attrs)
    return Sample([sampling.floats(rng, shape, -10.0, 10.0)], {"axis": axis})


register(
    OpDef(
        name="softmax",
        inputs=("x", "table?"),
        infer=_infer,
        reference=_reference_softmax,
        samples=_sample_softmax,
        attrs=_ATTRS,
        quant=QuantRule("fixed", fixed=(SOFTMAX_SCALE, SOFTMAX_ZERO), materialize=materialize_softmax),
        tolerance=Tolerance(2e-6, 1e-7),
        doc="exp(beta * x) divided by its sum along axis.",
    ),
    OpDef(
        name="log_softmax",
        inputs=("x", "table?"),
        infer=_infer,
        reference=_reference_log_softmax,
        samples=_sample_log_softmax,
        attrs=_ATTRS,
        quant=QuantRule("fixed", fixed=(LOG_SOFTMAX_SCALE, LOG_SOFTMAX_ZERO), materialize=materialize_softmax),
        tolerance=Tolerance(2e-6, 2e-6),
        doc="The logarithm of softmax.",
    ),
)
