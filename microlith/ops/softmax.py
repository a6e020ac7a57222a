"""Softmax over one axis; arithmetic in ``nnacl_kernels/softmax/softmax.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Node, TensorType
from . import OpDef, QuantRule, Sample, Tolerance, register, sampling
from .curves import softmax_curves, softmax_s16
from .quant_rules import materialize_softmax
from .shape_rules import normal_axis, require, require_dtype, same_type

Attrs = Mapping[str, Any]

SOFTMAX_SCALE, SOFTMAX_ZERO = 1.0 / 256.0, -128
"""The only quantization of an s8 softmax output."""

_ATTRS = {
    "axis": 0,
    "beta": 1.0,
    "mult": 0,
    "shift": 0,
    "rounding": 0,
    "y_scale": SOFTMAX_SCALE,
    "y_zero": SOFTMAX_ZERO,
    "to": DType.s8.value,
}


def _infer(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, *((DType.f32, DType.s8, DType.s16) if node.op == "softmax" else (DType.f32,)))
    require(node, len(x.shape) >= 1, "x needs at least one dimension")
    require(node, node.attrs["axis"] >= 0, "axis must count from the start")
    normal_axis(node, node.attrs["axis"], len(x.shape))
    table = node.optional_input(1)
    if table is not None:
        wanted = TensorType(DType.s16, (1026,)) if x.dtype is DType.s16 else TensorType(DType.f32, (256,))
        require(node, table.type == wanted, f"the table is {table.type}, not {wanted}")
    if x.dtype is DType.s8:
        require(node, node.attrs["to"] in (DType.s8.value, DType.s16.value), "y must be s8 or s16")
        return [TensorType(DType(node.attrs["to"]), x.shape)]
    return same_type(node)


def _reference_softmax(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, table = (*inputs, None)[:2]
    assert x is not None
    axis = attrs["axis"]
    if x.dtype == np.float32:
        centred = (x - x.max(axis=axis, keepdims=True, initial=-np.inf)).astype(np.float64)
        exponentials = np.exp(np.float32(attrs["beta"]).astype(np.float64) * centred)
        return [(exponentials / exponentials.sum(axis=axis, keepdims=True)).astype(np.float32)]
    assert table is not None, "an integer softmax needs its table"
    if x.dtype == np.int16:
        y16 = softmax_s16(np.moveaxis(x, axis, -1), table, attrs["mult"], attrs["shift"])
        return [np.ascontiguousarray(np.moveaxis(y16, -1, axis))]
    moved = np.moveaxis(x.astype(np.int64), axis, -1)
    exponentials32 = table[255 + moved - moved.max(axis=-1, keepdims=True)]
    total = np.zeros(exponentials32.shape[:-1], np.float32)
    for index in range(exponentials32.shape[-1]):
        total = total + exponentials32[..., index]
    if attrs["rounding"] == numerics.FLOAT_EVEN:
        real = exponentials32 * (np.float32(1.0) / total)[..., None]
        even = numerics.quantize_array(real, attrs["y_scale"], attrs["y_zero"], np.int8, numerics.FLOAT_EVEN)
        return [np.ascontiguousarray(np.moveaxis(even, -1, axis))]
    inverse = np.float32(1.0) / (total * np.float32(attrs["y_scale"]))
    rounded = numerics.round_half_away(exponentials32 * inverse[..., None]).astype(np.float64)
    dtype = DType(attrs["to"]).numpy
    y = np.clip(rounded + attrs["y_zero"], np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
    return [np.ascontiguousarray(np.moveaxis(y, -1, axis))]


def _reference_log_softmax(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    axis = attrs["axis"]
    centred = (x - x.max(axis=axis, keepdims=True, initial=-np.inf)).astype(np.float64)
    return [(centred - np.log(np.exp(centred).sum(axis=axis, keepdims=True))).astype(np.float32)]


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
        inputs=("x",),
        infer=_infer,
        reference=_reference_log_softmax,
        samples=_sample_log_softmax,
        attrs=_ATTRS,
        tolerance=Tolerance(2e-6, 2e-6),
        doc="The logarithm of softmax.",
    ),
)
