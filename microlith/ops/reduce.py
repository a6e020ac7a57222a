"""Reductions; arithmetic in ``nnacl_kernels/reduce/reduce.h``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import EXACT, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .quant_rules import materialize_mean
from .shape_rules import require, require_dtype

Attrs = Mapping[str, Any]


def axes_of(mask: int, rank: int) -> tuple[int, ...]:
    """The axes of a bit mask."""
    return tuple(axis for axis in range(rank) if mask >> axis & 1)


def mask_of(axes: Sequence[int], rank: int) -> int:
    """The bit mask of axes, which may count from the end."""
    mask = 0
    for axis in axes:
        mask |= 1 << (axis % rank)
    return mask


def _infer(node: Node) -> list[TensorType]:
    x = node.input(0)
    quantized = (DType.s8, DType.s16) if node.op == "reduce_mean" else ()
    require_dtype(node, x, DType.f32, DType.f64, DType.s32, DType.s64, *quantized)
    rank, mask = len(x.shape), node.attrs["axes"]
    require(node, 0 <= mask < 1 << rank, f"axes {mask:#b} are out of range for rank {rank}")
    shape: list[Dim] = []
    for axis, dim in enumerate(x.shape):
        if not mask >> axis & 1:
            shape.append(dim)
        elif node.attrs["keep_dims"]:
            shape.append(1)
    return [TensorType(x.dtype, tuple(shape))]


_REDUCERS: dict[str, Callable[..., np.ndarray]] = {
    "reduce_mean": np.mean,
    "reduce_sum": np.sum,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
}


def _reference(name: str) -> Callable[[Sequence[np.ndarray], Attrs], list[np.ndarray]]:
    def reference(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
        (x,) = inputs
        axes, keep = axes_of(attrs["axes"], x.ndim), bool(attrs["keep_dims"])
        if x.dtype in (np.int8, np.int16):
            total = (x.astype(np.int64) - attrs["x_zero"]).sum(axis=axes, keepdims=keep)
            if attrs["rounding"] == numerics.FLOAT_EVEN:
                y = numerics.requantize_float(total, np.float32(attrs["scale"]))
            else:
                y = numerics.requantize(total, attrs["mult"], attrs["shift"], attrs["rounding"])
            return [np.asarray(np.clip(y + attrs["y_zero"], attrs["q_min"], attrs["q_max"])).astype(x.dtype)]
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        with np.errstate(over="ignore"):
            return [np.asarray(_REDUCERS[name](wide, axis=axes, keepdims=keep)).astype(x.dtype)]

    return reference


def _samples(name: str) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        shape = sampling.shape(rng, high=7)
        mask = int(rng.integers(1, 1 << len(shape)))
        attrs: dict[str, Any] = {"axes": mask, "keep_dims": int(rng.integers(2))}
        if name == "reduce_mean" and rng.integers(2):
            count = int(np.prod([shape[axis] for axis in axes_of(mask, len(shape))]))
            factor = 2.0 ** rng.uniform(-1, 1) / count
            multiplier, shift = numerics.quantize_multiplier(factor)
            attrs |= {"mult": multiplier, "shift": shift, "scale": float(np.float32(factor))}
            attrs |= {"x_zero": sampling.zero_point(rng), "y_zero": sampling.zero_point(rng)}
            attrs |= {"rounding": sampling.rounding(rng), **sampling.integer_clamp(rng)}
            return Sample([sampling.integers(rng, shape)], attrs)
        low, high = (0.5, 1.5) if name == "reduce_prod" else (-4.0, 4.0)
        return Sample([sampling.floats(rng, shape, low, high)], attrs)

    return draw


_ATTRS: dict[str, Any] = {
    "axes": 0,
    "keep_dims": 1,
    **dict.fromkeys(("x_zero", "y_zero", "mult", "shift"), 0),
    "q_min": -128,
    "q_max": 127,
    "rounding": 0,
    "scale": 1.0,
}

register(
    *(
        OpDef(
            name=name,
            inputs=("x",),
            infer=_infer,
            reference=_reference(name),
            samples=_samples(name),
            attrs=_ATTRS,
            quant=QuantRule(materialize=materialize_mean) if name == "reduce_mean" else None,
            tolerance=EXACT if name in ("reduce_max", "reduce_min") else Tolerance(2e-6, 1e-5),
            doc=f"{name.removeprefix('reduce_').capitalize()} over the axes whose bit is set.",
        )
        for name in _REDUCERS
    )
)
