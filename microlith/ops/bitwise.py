"""Bitwise logic and shifts of integers; arithmetic in ``nnacl_kernels/elementwise/elementwise.h``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Node, TensorType
from . import OpDef, Sample, register, sampling
from .elementwise_pairs import broadcast_pair
from .shape_rules import broadcast_shapes, require, require_dtype, same_type

Attrs = Mapping[str, Any]
Array = np.ndarray

INTEGERS = tuple(dtype for dtype in DType if dtype.is_integer)


def _shift_left(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    places = np.where((b < 0) | (b >= bits), 0, b)
    return np.where(places == b, np.left_shift(a, places.astype(a.dtype)), 0)


def _shift_right(a: Array, b: Array) -> Array:
    """Far enough, nothing is left but the sign."""
    bits = a.dtype.itemsize * 8
    inside = (b >= 0) & (b < bits)
    shifted = np.right_shift(a, np.where(inside, b, bits - 1).astype(a.dtype))
    return shifted if a.dtype.kind == "i" else np.where(inside, shifted, 0)


_PAIRS: dict[str, tuple[Callable[[Array, Array], Array], str]] = {
    "bitwise_and": (np.bitwise_and, "The bits that are set in both."),
    "bitwise_or": (np.bitwise_or, "The bits that are set in one of them or both."),
    "bitwise_xor": (np.bitwise_xor, "The bits that are set in one of them only."),
    "bit_shift_left": (_shift_left, "a with its bits b places to the left."),
    "bit_shift_right": (_shift_right, "a with its bits b places to the right; a sign is repeated."),
}


def _infer_pair(node: Node) -> list[TensorType]:
    a, b = node.input(0), node.input(1)
    require_dtype(node, a, *INTEGERS)
    require(node, a.dtype is b.dtype, f"'{a.name}' is {a.dtype.name} and '{b.name}' is {b.dtype.name}")
    return [TensorType(a.dtype, broadcast_shapes(node, a.shape, b.shape))]


def _dtype(rng: np.random.Generator) -> np.dtype:
    return INTEGERS[int(rng.integers(len(INTEGERS)))].numpy


def _pair(name: str) -> OpDef:
    function, doc = _PAIRS[name]

    def reference(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
        a, b = inputs
        return [np.asarray(function(a, b)).astype(a.dtype)]

    def samples(rng: np.random.Generator) -> Sample:
        dtype = _dtype(rng)
        a_shape, b_shape = broadcast_pair(rng)
        a = sampling.integers(rng, a_shape, dtype.type)
        if name.startswith("bit_shift"):
            return Sample([a, rng.integers(0, 70, b_shape).astype(dtype)], {})
        return Sample([a, sampling.integers(rng, b_shape, dtype.type)], {})

    return OpDef(name, ("a", "b"), _infer_pair, reference, samples, doc=doc)


def _infer_not(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), *INTEGERS)
    return same_type(node)


register(
    *(_pair(name) for name in _PAIRS),
    OpDef(
        name="bitwise_not",
        inputs=("x",),
        infer=_infer_not,
        reference=lambda inputs, attrs: [np.invert(inputs[0])],
        samples=lambda rng: Sample([sampling.integers(rng, sampling.shape(rng), _dtype(rng).type)], {}),
        doc="Every bit turned over.",
    ),
)
