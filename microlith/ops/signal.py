"""Fourier transforms; arithmetic in ``nnacl_kernels/signal/signal.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import OpDef, Sample, Tolerance, register, sampling
from .shape_rules import data_input, fresh_dim, integers_of, length_of, normal_axis, require, require_dtype

Attrs = Mapping[str, Any]
Array = np.ndarray


def _number(node: Node, index: int, name: str) -> int | None:
    """An attribute, or the one number of the input that replaces it; None when it is known only at run time."""
    given = data_input(node, index)
    if given is None:
        return int(node.attrs[name])
    require(node, length_of(node, given) == 1, f"the {name} must be one number")
    known = integers_of(given)
    return None if known is None else known[0]


def _infer(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, DType.f32)
    rank = len(x.shape)
    require(node, rank >= 2 and x.shape[-1] in (1, 2), f"x is {x.type}; [..., n, ..., 1 or 2] is needed")
    to_real = bool(node.attrs["inverse"] and node.attrs["onesided"])
    axis, length = _number(node, 2, "axis"), _number(node, 1, "length")
    shape = [*x.shape[:-1], 1 if to_real else 2]
    if axis is None:
        return [TensorType(x.dtype, (*(fresh_dim() for _ in shape[:-1]), shape[-1]))]
    axis = normal_axis(node, axis, rank)
    require(node, axis < rank - 1, "the last axis holds real and imaginary parts")
    shape[axis] = fresh_dim() if length is None else _bins(x.shape[axis], length, to_real, node.attrs)
    return [TensorType(x.dtype, tuple(shape))]


def _bins(size: Dim, length: int, to_real: bool, attrs: Attrs) -> Dim:
    """How many numbers a transform gives."""
    if length == 0:
        if isinstance(size, str):
            return fresh_dim() if attrs["onesided"] else size
        length = 2 * (size - 1) if to_real else size
    return length // 2 + 1 if attrs["onesided"] and not to_real else length


def _absorb(node: Node) -> dict[str, Any] | None:
    axis, length = _number(node, 2, "axis"), _number(node, 1, "length")
    if axis is None or length is None:
        return None
    return {"axis": normal_axis(node, axis, len(node.input(0).shape)), "length": length}


def _reference(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    x, length, axis = (*inputs, None, None)[:3]
    assert x is not None
    position = (attrs["axis"] if axis is None else int(axis.reshape(-1)[0])) % x.ndim
    points = (attrs["length"] if length is None else int(length.reshape(-1)[0])) or None
    wide = x.astype(np.float64)
    numbers = wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0]
    if attrs["inverse"] and attrs["onesided"]:
        return [np.fft.irfft(numbers, points, axis=position)[..., None].astype(x.dtype)]
    y = (np.fft.ifft if attrs["inverse"] else np.fft.fft)(numbers, points, axis=position)
    if attrs["onesided"]:
        y = np.take(y, np.arange(y.shape[position] // 2 + 1), axis=position)
    return [np.stack([y.real, y.imag], axis=-1).astype(x.dtype)]


def _sample(rng: np.random.Generator) -> Sample:
    shape = sampling.shape(rng, sampling.size(rng, 1, 3), 9)
    axis = int(rng.integers(len(shape)))
    attrs: dict[str, Any] = {"inverse": int(rng.integers(2)), "onesided": int(rng.integers(2))}
    length = 0 if rng.integers(2) and shape[axis] > 1 else sampling.size(rng, 1, 12)
    x = sampling.floats(rng, (*shape, sampling.size(rng, 1, 2)))
    if length and rng.integers(2):
        inputs = [x, sampling.index_vector(rng, [length]), sampling.index_vector(rng, [axis - x.ndim])]
        return Sample(inputs, attrs)
    return Sample([x], {"axis": axis, "length": length, **attrs})


register(
    OpDef(
        name="dft",
        inputs=("x", "length?", "axis?"),
        infer=_infer,
        reference=_reference,
        samples=_sample,
        attrs={"axis": 0, "length": 0, "inverse": 0, "onesided": 0},
        data_inputs=("length", "axis"),
        absorb=_absorb,
        tolerance=Tolerance(1e-6, 1e-6),
        doc="The discrete Fourier transform along an axis; the last one holds real and imaginary parts.",
    )
)
