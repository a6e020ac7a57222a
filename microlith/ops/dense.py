"""Matrix products; arithmetic in ``nnacl_kernels/dense/dense.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Node, TensorType
from . import OpDef, QuantRule, Sample, Tolerance, register, sampling
from .conv import CLAMP_ATTRS, INTEGER_ATTRS, finish_float, finish_integer, infer_weighted, weighted_sample
from .quant_rules import materialize_dense
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
    x, weights, bias, requant = (*inputs, None, None)[:4]
    assert x is not None and weights is not None
    if x.dtype == np.float32:
        return [finish_float(x @ weights.T, bias, attrs)]
    assert requant is not None, "an integer matrix product needs its requant input"
    acc = (x.astype(np.float64) - attrs["x_zero"]) @ (weights.astype(np.float64) - attrs["w_zero"]).T
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
    dtype = require_dtype(node, a, DType.f32, *_INTEGERS)
    require_dtype(node, b, dtype)
    require(node, len(a.shape) >= 2 and len(b.shape) >= 2, "both operands need at least two dimensions")
    m, k_a = (a.shape[-1], a.shape[-2]) if node.attrs["transpose_a"] else a.shape[-2:]
    k_b, n = (b.shape[-1], b.shape[-2]) if node.attrs["transpose_b"] else b.shape[-2:]
    require_equal(node, k_b, k_a, "the inner dimension of b")
    bias = node.optional_input(2)
    if bias is not None:
        require(node, dtype is DType.f32, "a bias is for f32 only")
        require_dtype(node, bias, DType.f32)
        require_equal(node, require_rank(node, bias, 1)[0], n, "the size of the bias")
    leading = broadcast_shapes(node, a.shape[:-2], b.shape[:-2])
    return [TensorType(dtype, (*leading, m, n))]


def _reference_matmul(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    a, b, bias = (*inputs, None)[:3]
    assert a is not None and b is not None
    left = np.swapaxes(a, -1, -2) if attrs["transpose_a"] else a
    right = np.swapaxes(b, -1, -2) if attrs["transpose_b"] else b
    if a.dtype != np.float32:
        return [np.matmul(left, right)]
    return [finish_float(np.matmul(left, right), bias, attrs)]


def _sample_matmul(rng: np.random.Generator) -> Sample:
    m, k, n = sampling.size(rng, 1, 9), sampling.size(rng, 1, 33), sampling.size(rng, 1, 19)
    leading = sampling.shape(rng, sampling.size(rng, 0, 2), 3)
    transpose_a, transpose_b = int(rng.integers(2)), int(rng.integers(2))

    def batch() -> tuple[int, ...]:
        kept = leading[sampling.size(rng, 0, len(leading)) :]
        return tuple(1 if rng.integers(4) == 0 else dim for dim in kept)

    shapes = (
        (*leading, k, m) if transpose_a else (*leading, m, k),
        (*batch(), n, k) if transpose_b else (*batch(), k, n),
    )
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    if rng.integers(2):
        dtype = _INTEGERS[int(rng.integers(len(_INTEGERS)))].numpy
        return Sample([sampling.integers(rng, shape, dtype.type) for shape in shapes], flags)
    bias = sampling.floats(rng, (n,)) if rng.integers(2) else None
    return Sample([*(sampling.floats(rng, shape) for shape in shapes), bias], {**flags, **sampling.clamp(rng)})


def _infer_det(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, DType.f32)
    require(node, len(x.shape) >= 2, "x needs at least two dimensions")
    require_equal(node, x.shape[-2], x.shape[-1], "the number of rows")
    return [TensorType(DType.f32, x.shape[:-2])]


def _reference_det(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    return [np.asarray(np.linalg.det(inputs[0].astype(np.float64)), np.float32)]


def _sample_det(rng: np.random.Generator) -> Sample:
    n = sampling.size(rng, 1, 5)
    return Sample([sampling.floats(rng, (*sampling.shape(rng, sampling.size(rng, 0, 2), 4), n, n), -2.0, 2.0)], {})


register(
    OpDef(
        name="dense",
        inputs=("x", "weights", "bias?", "requant?"),
        infer=_infer_dense,
        reference=_reference_dense,
        samples=_sample_dense,
        attrs={**CLAMP_ATTRS, **INTEGER_ATTRS},
        quant=QuantRule(weight_axis=0, materialize=materialize_dense),
        tolerance=Tolerance(1e-5, 1e-5),
        doc="A fully connected layer over the last dimension, bias and a fused clamp.",
    ),
    OpDef(
        name="matmul",
        inputs=("a", "b", "bias?"),
        infer=_infer_matmul,
        reference=_reference_matmul,
        samples=_sample_matmul,
        attrs={"transpose_a": 0, "transpose_b": 0, **CLAMP_ATTRS},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="Matrix product of two tensors over their last two dimensions, bias and a fused clamp.",
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
