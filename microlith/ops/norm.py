"""Normalizations; arithmetic in ``nnacl_kernels/norm/norm.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Node, TensorType
from ..numerics import TFLITE_DOUBLE, quantize_array, requantize
from . import EXACT, REQUIRED, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .inverse_root import inverse_root
from .quant_rules import materialize_l2_norm, materialize_layer_norm
from .shape_rules import require, require_dtype, require_equal, require_rank, same_type

Attrs = Mapping[str, Any]
Array = np.ndarray

TOLERANCE = Tolerance(4e-6, 2e-6)


def _infer_rows(node: Node) -> list[TensorType]:
    """layer_norm and rms_norm."""
    x, axis = node.input(0), node.attrs["axis"]
    require_dtype(node, x, DType.f32, *((DType.s8, DType.s16) if node.op == "layer_norm" else ()))
    require(node, x.dtype is DType.f32 or not node.attrs["with_statistics"], "integers have no statistics")
    require(node, 0 <= axis < len(x.shape), f"axis {axis} is out of range for rank {len(x.shape)}")
    for index in range(1, len(node.inputs)):
        weights = node.optional_input(index)
        if weights is not None:
            require_dtype(node, weights, DType.f32)
            require_rank(node, weights, len(x.shape) - axis)
            for actual, expected in zip(weights.shape, x.shape[axis:], strict=True):
                require_equal(node, actual, expected, f"a dimension of '{weights.name}'")
    if not node.attrs["with_statistics"]:
        return [x.type]
    statistics = TensorType(DType.f32, (*x.shape[:axis], *(1 for _ in x.shape[axis:])))
    return [x.type, statistics, statistics]


def _affine(y: Array, scale: Array | None, bias: Array | None) -> Array:
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


def _reference_layer_norm(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    x, scale, bias = (*inputs, None, None)[:3]
    assert x is not None
    if x.dtype.kind == "i":
        return [_layer_norm_integers(x, scale, bias, attrs)]
    wide = x.astype(np.float64)
    axes = tuple(range(attrs["axis"], x.ndim))
    mean = wide.mean(axis=axes, keepdims=True)
    factor = 1.0 / np.sqrt(np.square(wide - mean).mean(axis=axes, keepdims=True) + np.float32(attrs["epsilon"]))
    y = _affine((wide - mean) * factor, scale, bias)
    results = [y, mean, factor] if attrs["with_statistics"] else [y]
    return [result.astype(x.dtype) for result in results]


def _layer_norm_integers(x: Array, scale: Array | None, bias: Array | None, attrs: Attrs) -> Array:
    """In the steps and types that norm.h states."""
    axes = tuple(range(attrs["axis"], x.ndim))
    count = np.float64(np.prod([x.shape[axis] for axis in axes], dtype=np.int64))
    wide = x.astype(np.int64)
    total, squares = (array.sum(axis=axes, keepdims=True) for array in (wide, wide * wide))
    x_scale = np.float64(np.float32(attrs["x_scale"]))
    variance = (np.int64(count) * squares - total * total).astype(np.float64) / (count * count)
    mean = (total / count).astype(np.float32)
    root = np.sqrt(variance * (x_scale * x_scale) + np.float64(np.float32(attrs["epsilon"])))
    factor = (x_scale / root).astype(np.float32)
    real = _affine((x.astype(np.float32) - mean) * factor, scale, bias)
    y = quantize_array(real, attrs["y_scale"], attrs["y_zero"], x.dtype.type, attrs["rounding"])
    return np.asarray(y)


def _reference_rms_norm(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    x, scale = (*inputs, None)[:2]
    assert x is not None
    wide = x.astype(np.float64)
    power = np.square(wide).mean(axis=tuple(range(attrs["axis"], x.ndim)), keepdims=True)
    return [_affine(wide / np.sqrt(power + np.float32(attrs["epsilon"])), scale, None).astype(x.dtype)]


def _rows_sample(rng: np.random.Generator, inputs: int) -> Sample:
    shape = list(sampling.shape(rng, high=5))
    shape[-1] = sampling.size(rng, 2, 40)
    axis = int(rng.integers(len(shape)))
    x = sampling.floats(rng, tuple(shape)) + np.float32(rng.choice([0.0, 3.0]))
    weights = [sampling.floats(rng, tuple(shape[axis:])) if rng.integers(3) else None for _ in range(inputs - 1)]
    return Sample([x, *weights], {"axis": axis, "epsilon": float(rng.choice([1e-5, 1e-3]))})


def _sample_layer_norm(rng: np.random.Generator) -> Sample:
    sample = _rows_sample(rng, 3)
    if rng.integers(2):
        assert sample.inputs[0] is not None
        attrs = {**sample.attrs, "y_zero": sampling.zero_point(rng), "rounding": sampling.rounding(rng)}
        attrs |= {name: float(np.float32(2.0 ** rng.uniform(-7, -2))) for name in ("x_scale", "y_scale")}
        dtype = np.int8 if rng.integers(3) else np.int16
        return Sample([sampling.integers(rng, sample.inputs[0].shape, dtype), *sample.inputs[1:]], attrs)
    return Sample(sample.inputs, {**sample.attrs, "with_statistics": int(rng.integers(2))})


def _infer_group_norm(node: Node) -> list[TensorType]:
    x, groups = node.input(0), node.attrs["groups"]
    require_dtype(node, x, DType.f32)
    require(node, len(x.shape) >= 2, "x needs at least two dimensions")
    channels = x.shape[-1]
    divides = isinstance(channels, str) or (groups >= 1 and channels % groups == 0)
    require(node, groups >= 1 and divides, f"{channels} channels are no {groups} groups")
    for index in range(1, len(node.inputs)):
        weights = node.optional_input(index)
        if weights is not None:
            require_dtype(node, weights, DType.f32)
            require_equal(node, require_rank(node, weights, 1)[0], channels, f"the size of '{weights.name}'")
    return same_type(node)


def _reference_group_norm(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    x, scale, bias = (*inputs, None, None)[:3]
    assert x is not None
    grouped = x.astype(np.float64).reshape(x.shape[0], -1, attrs["groups"], x.shape[-1] // attrs["groups"])
    mean = grouped.mean(axis=(1, 3), keepdims=True)
    variance = np.square(grouped - mean).mean(axis=(1, 3), keepdims=True)
    normal = (grouped - mean) / np.sqrt(variance + np.float32(attrs["epsilon"]))
    return [_affine(normal.reshape(x.shape), scale, bias).astype(x.dtype)]


def _sample_group_norm(rng: np.random.Generator) -> Sample:
    groups, size = sampling.size(rng, 1, 5), sampling.size(rng, 1, 4)
    shape = (*sampling.shape(rng, sampling.size(rng, 1, 3), 6), sampling.size(rng, 2, 15), groups * size)
    x = sampling.floats(rng, shape) + np.float32(rng.choice([0.0, 3.0]))
    weights = [sampling.floats(rng, (groups * size,)) if rng.integers(3) else None for _ in range(2)]
    return Sample([x, *weights], {"groups": groups, "epsilon": float(rng.choice([1e-5, 1e-3]))})


def _infer_lrn(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.f32)
    require(node, len(node.input(0).shape) >= 1, "x needs at least one dimension")
    require(node, node.attrs["before"] >= 0 and node.attrs["after"] >= 0, "before and after must not be negative")
    return same_type(node)


def _reference_lrn(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    (x,) = inputs
    squares = np.square(x.astype(np.float64))
    before, after = attrs["before"], attrs["after"]
    total = np.zeros_like(squares)
    for c in range(x.shape[-1]):
        total[..., c] = squares[..., max(c - before, 0) : c + after + 1].sum(axis=-1)
    base = np.float32(attrs["bias"]) + np.float32(attrs["alpha"]) * total
    return [(x * base ** -np.float64(np.float32(attrs["beta"]))).astype(x.dtype)]


def _sample_lrn(rng: np.random.Generator) -> Sample:
    shape = (*sampling.shape(rng, sampling.size(rng, 0, 3), 5), sampling.size(rng, 1, 12))
    attrs = {
        "before": sampling.size(rng, 0, 4),
        "after": sampling.size(rng, 0, 4),
        "alpha": float(rng.uniform(0.0, 1.0)),
        "beta": float(rng.choice([0.75, 0.5, 1.0])),
        "bias": float(rng.uniform(0.5, 2.0)),
    }
    return Sample([sampling.floats(rng, shape)], attrs)


def _infer_l2_norm(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.s8)
    require(node, len(node.input(0).shape) >= 1, "x must have a dimension")
    return same_type(node)


def _reference_l2_norm(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    x = inputs[0]
    assert x is not None
    centred = x.astype(np.int64) - attrs["x_zero"]
    rows = centred.reshape(-1, x.shape[-1])
    y = np.empty_like(rows)
    for row, values in enumerate(rows):
        multiplier, shift = inverse_root(int((values * values).sum()))
        if attrs["scaled_first"]:
            y[row] = requantize(128 * values, multiplier, shift, TFLITE_DOUBLE)
        else:
            y[row] = requantize(values, multiplier, shift + 7, TFLITE_DOUBLE)
    return [np.clip(y, -128, 127).astype(np.int8).reshape(x.shape)]


register(
    OpDef(
        name="l2_norm",
        inputs=("x",),
        infer=_infer_l2_norm,
        reference=_reference_l2_norm,
        samples=lambda rng: Sample(
            [sampling.integers(rng, (*sampling.shape(rng, sampling.size(rng, 0, 3), 5), sampling.size(rng, 1, 40)))],
            {"x_zero": sampling.zero_point(rng), "scaled_first": int(rng.integers(2))},
        ),
        attrs={"x_zero": 0, "scaled_first": 0},
        quant=QuantRule(materialize=materialize_l2_norm),
        tolerance=EXACT,
        doc="Integers divided by the root of the sum of squares over the last dimension, in 128ths.",
    ),
    OpDef(
        name="layer_norm",
        inputs=("x", "scale?", "bias?"),
        infer=_infer_rows,
        reference=_reference_layer_norm,
        samples=_sample_layer_norm,
        attrs={
            "axis": REQUIRED,
            "epsilon": 1e-5,
            "with_statistics": 0,
            "x_scale": 1.0,
            "y_scale": 1.0,
            "y_zero": 0,
            "rounding": 0,
        },
        quant=QuantRule(materialize=materialize_layer_norm),
        tolerance=TOLERANCE,
        doc="The dimensions from axis on brought to mean 0 and variance 1, scaled and shifted.",
    ),
    OpDef(
        name="rms_norm",
        inputs=("x", "scale?"),
        infer=_infer_rows,
        reference=_reference_rms_norm,
        samples=lambda rng: _rows_sample(rng, 2),
        attrs={"axis": REQUIRED, "epsilon": 1e-5, "with_statistics": 0},
        tolerance=TOLERANCE,
        doc="The dimensions from axis on divided by their root mean square, scaled.",
    ),
    OpDef(
        name="group_norm",
        inputs=("x", "scale?", "bias?"),
        infer=_infer_group_norm,
        reference=_reference_group_norm,
        samples=_sample_group_norm,
        attrs={"groups": REQUIRED, "epsilon": 1e-5},
        tolerance=TOLERANCE,
        doc="Each group of channels (the last dimension) of a sample brought to mean 0 and variance 1.",
    ),
    OpDef(
        name="lrn",
        inputs=("x",),
        infer=_infer_lrn,
        reference=_reference_lrn,
        samples=_sample_lrn,
        attrs={"before": 2, "after": 2, "alpha": 1e-4, "beta": 0.75, "bias": 1.0},
        tolerance=TOLERANCE,
        doc="x * (bias + alpha * sum of squares over neighbouring channels)^-beta.",
    ),
)
