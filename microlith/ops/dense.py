"""Matrix products; arithmetic in ``nnacl_kernels/dense/dense.h``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import HALF_SUM, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .conv import CLAMP_ATTRS, INTEGER_ATTRS, finish_float, finish_integer, infer_weighted, weighted_sample
from .quant_rules import materialize_dense, materialize_matmul
from .shape_rules import broadcast_shapes, require, require_dtype, require_equal, require_rank, static_shape

Attrs = Mapping[str, Any]

_INTEGERS = (DType.s32, DType.u32, DType.s64, DType.u64)


def dense_output_shape(node: Node) -> tuple[tuple[int | str, ...], int]:
    """The shape of y and its number of units."""
    shape = node.input(0).shape
    require(node, len(shape) >= 1, "x needs at least one dimension")
    require_rank(node, node.input(1), 2)
    units, depth = static_shape(node, node.input(1))
    require_equal(node, shape[-1], depth, "the last dimension of x")
    return (*shape[:-1], units), units


def _infer_dense(node: Node) -> list[TensorType]:
    return infer_weighted(node, *dense_output_shape(node))


def _reference_dense(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, requant, w_zeros = (*inputs, None, None, None)[:5]
    assert x is not None and weights is not None
    if x.dtype.kind == "f":
        wide = np.float64 if x.dtype == np.float16 else x.dtype
        return [finish_float(x.astype(wide) @ weights.astype(wide).T, bias, attrs, x.dtype)]
    assert requant is not None, "an integer matrix product needs its requant input"
    zeros = attrs["w_zero"] if w_zeros is None else w_zeros[:, None]
    acc = (x.astype(np.float64) - attrs["x_zero"]) @ (weights.astype(np.float64) - zeros).T
    return [finish_integer(acc, bias, requant, attrs, x.dtype)]


def dense_sample(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """float x and weights."""
    depth = sampling.size(rng, 1, 70)
    leading = sampling.shape(rng, sampling.size(rng, 0, 2), 5)
    x = sampling.floats(rng, (*leading, depth))
    return x, sampling.floats(rng, (sampling.size(rng, 1, 20), depth), -1.0, 1.0)


def _sample_dense(rng: np.random.Generator) -> Sample:
    x, weights = dense_sample(rng)
    return weighted_sample(rng, x, weights, weights.shape[0], weights.shape[1], {})


def _infer_matmul(node: Node) -> list[TensorType]:
    a, b = node.input(0), node.input(1)
    dtype = require_dtype(node, a, DType.f32, DType.s8, DType.s16, *_INTEGERS)
    require_dtype(node, b, dtype)
    shape, n = _product_shape(node)
    bias = node.optional_input(2)
    if bias is not None:
        require(node, dtype is DType.f32, "a bias is for f32 only")
        require_dtype(node, bias, DType.f32)
        require_equal(node, require_rank(node, bias, 1)[0], n, "the size of the bias")
    return [TensorType(dtype, shape)]


def _product_shape(node: Node) -> tuple[tuple[Dim, ...], Dim]:
    """The shape of a matrix product, and its last dimension."""
    a, b = node.input(0), node.input(1)
    require(node, len(a.shape) >= 2 and len(b.shape) >= 2, "both operands need at least two dimensions")
    m, k_a = (a.shape[-1], a.shape[-2]) if node.attrs["transpose_a"] else a.shape[-2:]
    k_b, n = (b.shape[-1], b.shape[-2]) if node.attrs["transpose_b"] else b.shape[-2:]
    require_equal(node, k_b, k_a, "the inner dimension of b")
    return (*broadcast_shapes(node, a.shape[:-2], b.shape[:-2]), m, n), n


def _operands(a: np.ndarray, b: np.ndarray, attrs: Attrs) -> tuple[np.ndarray, np.ndarray]:
    """Both matrices as they are multiplied."""
    left = np.swapaxes(a, -1, -2) if attrs["transpose_a"] else a
    return left, np.swapaxes(b, -1, -2) if attrs["transpose_b"] else b


def _reference_matmul(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    a, b, bias = (*inputs, None)[:3]
    assert a is not None and b is not None
    left, right = _operands(a, b, attrs)
    if a.dtype == np.int16:
        wide = np.matmul(left.astype(np.int64) - attrs["a_zero"], right.astype(np.int64) - attrs["b_zero"])
        if attrs["rounding"] == numerics.FLOAT_EVEN:
            scaled = numerics.requantize_float(wide, np.float32(attrs["scale"]))
        else:
            scaled = numerics.requantize_wide(wide, attrs["mult"], attrs["shift"], attrs["rounding"])
        return [np.clip(scaled + attrs["y_zero"], attrs["q_min"], attrs["q_max"]).astype(np.int16)]
    if a.dtype == np.int8:
        sums = np.matmul(left.astype(np.float64) - attrs["a_zero"], right.astype(np.float64) - attrs["b_zero"])
        acc = numerics.wrap_int32(sums.astype(np.int64))
        if attrs["rounding"] == numerics.FLOAT_EVEN:
            scaled = numerics.requantize_float(acc, np.float32(attrs["scale"]))
        else:
            scaled = numerics.requantize(acc, attrs["mult"], attrs["shift"], attrs["rounding"])
        return [np.clip(scaled + attrs["y_zero"], attrs["q_min"], attrs["q_max"]).astype(np.int8)]
    if a.dtype.kind != "f":
        return [np.matmul(left, right)]
    return [finish_float(np.matmul(left, right), bias, attrs, a.dtype)]


def _draw_product(rng: np.random.Generator) -> tuple[list[tuple[int, ...]], dict[str, Any], tuple[int, int]]:
    """Shapes of both operands, the flags, and the sizes m and n."""
    m, k, n = sampling.size(rng, 1, 9), sampling.size(rng, 1, 33), sampling.size(rng, 1, 40)
    leading = sampling.shape(rng, sampling.size(rng, 0, 2), 3)
    transpose_a, transpose_b = int(rng.integers(2)), int(rng.integers(2))

    def batch() -> tuple[int, ...]:
        kept = leading[sampling.size(rng, 0, len(leading)) :]
        return tuple(1 if rng.integers(4) == 0 else dim for dim in kept)

    shapes = [
        (*leading, k, m) if transpose_a else (*leading, m, k),
        (*batch(), n, k) if transpose_b else (*batch(), k, n),
    ]
    return shapes, {"transpose_a": transpose_a, "transpose_b": transpose_b}, (m, n)


def _sample_matmul(rng: np.random.Generator) -> Sample:
    shapes, flags, (_, n) = _draw_product(rng)
    kind = int(rng.integers(4))
    if kind == 0:
        dtype = _INTEGERS[int(rng.integers(len(_INTEGERS)))].numpy
        return Sample([sampling.integers(rng, shape, dtype.type) for shape in shapes], flags)
    if kind == 1:
        depth, is_wide = shapes[0][-2 if flags["transpose_a"] else -1], bool(rng.integers(2))
        typical = 19000.0 * 74.0 if is_wide else 74.0
        factor = sampling.requant_factor(rng, typical * typical * math.sqrt(depth))
        multiplier, shift = numerics.quantize_multiplier(factor)
        attrs = {"mult": multiplier, "shift": shift, "scale": float(np.float32(factor))}
        attrs |= {name: sampling.zero_point(rng) for name in ("a_zero", "b_zero", "y_zero")}
        attrs |= {"rounding": sampling.rounding(rng), **sampling.integer_clamp(rng)}
        narrow = np.int16 if is_wide else np.int8
        return Sample([sampling.integers(rng, shape, narrow) for shape in shapes], {**flags, **attrs})
    bias = sampling.floats(rng, (n,)) if rng.integers(2) else None
    return Sample([*(sampling.floats(rng, shape) for shape in shapes), bias], {**flags, **sampling.clamp(rng)})


def _infer_matmul_integer(node: Node) -> list[TensorType]:
    for index in (0, 1):
        require_dtype(node, node.input(index), DType.s8, DType.u8)
    shape, n = _product_shape(node)
    for index, size in ((2, shape[-2]), (3, n)):
        zeros = node.optional_input(index)
        if zeros is not None:
            require_dtype(node, zeros, DType.s32)
            fits = zeros.shape in ((), (1,), (size,))
            require(node, fits, f"'{zeros.name}' has shape {zeros.shape}; one element or [{size}] is needed")
    return [TensorType(DType.s32, shape)]


def _reference_matmul_integer(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    a, b, a_zeros, b_zeros = (*inputs, None, None)[:4]
    assert a is not None and b is not None
    left, right = _operands(a, b, attrs)
    a_zero = np.asarray(attrs["a_zero"] if a_zeros is None else a_zeros).reshape(-1, 1)
    b_zero = np.asarray(attrs["b_zero"] if b_zeros is None else b_zeros).reshape(1, -1)
    sums = np.matmul(left.astype(np.float64) - a_zero, right.astype(np.float64) - b_zero)
    return [numerics.wrap_int32(sums.astype(np.int64)).astype(np.int32)]


def _sample_matmul_integer(rng: np.random.Generator) -> Sample:
    shapes, flags, sizes = _draw_product(rng)
    inputs: list[np.ndarray | None] = [
        sampling.integers(rng, shape, np.uint8 if rng.integers(2) else np.int8) for shape in shapes
    ]
    for size in sizes:
        count = size if rng.integers(2) else 1
        inputs.append(rng.integers(-128, 256, count, dtype=np.int32) if rng.integers(2) else None)
    return Sample(inputs, {**flags, "a_zero": sampling.zero_point(rng), "b_zero": sampling.zero_point(rng)})


def _infer_det(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, DType.f32)
    require(node, len(x.shape) >= 2, "x needs at least two dimensions")
    require_equal(node, x.shape[-2], x.shape[-1], "the number of rows")
    return [TensorType(DType.f32, x.shape[:-2])]


def _reference_det(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    return [np.asarray(np.linalg.det(inputs[0].astype(np.float64)), inputs[0].dtype)]


def _sample_det(rng: np.random.Generator) -> Sample:
    n = sampling.size(rng, 1, 5)
    return Sample([sampling.floats(rng, (*sampling.shape(rng, sampling.size(rng, 0, 2), 4), n, n), -2.0, 2.0)], {})


register(
    OpDef(
        name="dense",
        inputs=("x", "weights", "bias?", "requant?", "w_zeros?"),
        infer=_infer_dense,
        reference=_reference_dense,
        samples=_sample_dense,
        attrs={**CLAMP_ATTRS, **INTEGER_ATTRS},
        quant=QuantRule(weight_axis=0, materialize=materialize_dense),
        tolerance=Tolerance(1e-5, 1e-5),
        half=HALF_SUM,
        doc="A fully connected layer over the last dimension, bias and a fused clamp.",
    ),
    OpDef(
        name="matmul",
        inputs=("a", "b", "bias?"),
        infer=_infer_matmul,
        reference=_reference_matmul,
        samples=_sample_matmul,
        attrs={
            "transpose_a": 0,
            "transpose_b": 0,
            **CLAMP_ATTRS,
            **dict.fromkeys(("a_zero", "b_zero", "y_zero", "mult", "shift"), 0),
            "scale": 1.0,
            "q_min": -128,
            "q_max": 127,
            "rounding": 0,
        },
        quant=QuantRule(materialize=materialize_matmul),
        tolerance=Tolerance(1e-5, 1e-5),
        doc="Matrix product of two tensors over their last two dimensions, bias and a fused clamp.",
    ),
    OpDef(
        name="matmul_integer",
        inputs=("a", "b", "a_zeros?", "b_zeros?"),
        infer=_infer_matmul_integer,
        reference=_reference_matmul_integer,
        samples=_sample_matmul_integer,
        attrs={"transpose_a": 0, "transpose_b": 0, "a_zero": 0, "b_zero": 0},
        doc="The sums of a matrix product of 8-bit integers.",
    ),
    OpDef(
        name="det",
        inputs=("x",),
        infer=_infer_det,
        reference=_reference_det,
        samples=_sample_det,
        tolerance=Tolerance(2e-5, 1e-5),
        doc="The determinants of the matrices in the last two dimensions.",
    ),
)
