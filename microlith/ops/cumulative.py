"""Running sums and products; arithmetic in ``nnacl_kernels/cumulative/cumulative.h``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Node, TensorType
from . import OpDef, Sample, Tolerance, register, sampling
from .shape_rules import data_input, integers_of, length_of, normal_axis, require, require_dtype, same_type

Attrs = Mapping[str, Any]
Array = np.ndarray

_DTYPES = (DType.f32, DType.s32, DType.s64, DType.u32, DType.u64)
_FUNCTIONS: dict[str, tuple[Callable[..., Array], int, str]] = {
    "cumsum": (np.cumsum, 0, "sum"),
    "cumprod": (np.cumprod, 1, "product"),
}


def _infer(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, *_DTYPES)
    require(node, len(x.shape) >= 1, "x needs at least one dimension")
    if (given := data_input(node, 1)) is None:
        require(node, 0 <= node.attrs["axis"] < len(x.shape), "axis must count from the start and be a dimension of x")
    else:
        require(node, length_of(node, given) == 1, "the axis must be one number")
        _absorb(node)
    return same_type(node)


def _absorb(node: Node) -> dict[str, Any] | None:
    known = integers_of(node.optional_input(1))
    return None if known is None else {"axis": normal_axis(node, known[0], len(node.input(0).shape))}


def _reference(name: str) -> Callable[[Sequence[Array | None], Attrs], list[Array]]:
    function, neutral, _ = _FUNCTIONS[name]

    def reference(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
        x, given = (*inputs, None)[:2]
        assert x is not None
        axis = attrs["axis"] if given is None else int(given.reshape(-1)[0]) % x.ndim
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        moved = np.moveaxis(wide, axis, -1)
        moved = moved[..., ::-1] if attrs["reverse"] else moved
        if attrs["exclusive"]:
            first = np.full((*moved.shape[:-1], 1), neutral, moved.dtype)
            moved = np.concatenate([first, moved], axis=-1)[..., :-1]
        y = function(moved, axis=-1, dtype=moved.dtype)
        y = y[..., ::-1] if attrs["reverse"] else y
        return [np.ascontiguousarray(np.moveaxis(y, -1, axis)).astype(x.dtype)]

    return reference


def _samples(rng: np.random.Generator) -> Sample:
    dtype, shape = _DTYPES[int(rng.integers(len(_DTYPES)))], sampling.shape(rng)
    if dtype is DType.f32:
        x = sampling.floats(rng, shape)
    else:
        x = rng.integers(0, 5, shape).astype(dtype.numpy)
    axis = int(rng.integers(len(shape)))
    attrs = {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}
    if rng.integers(3) == 0:
        return Sample([x, sampling.index_vector(rng, [axis - len(shape)])], attrs)
    return Sample([x], {"axis": axis, **attrs})


register(
    *(
        OpDef(
            name=name,
            inputs=("x", "axis?"),
            infer=_infer,
            reference=_reference(name),
            samples=_samples,
            attrs={"axis": 0, "exclusive": 0, "reverse": 0},
            data_inputs=("axis",),
            absorb=_absorb,
            tolerance=Tolerance(1e-5, 1e-5),
            doc=f"The running {what} along an axis.",
        )
        for name, (_, _, what) in _FUNCTIONS.items()
    )
)
