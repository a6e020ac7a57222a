"""Reductions; arithmetic in ``nnacl_kernels/reduce/reduce.h``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import EXACT, HALF, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .quant_rules import materialize_mean
from .shape_rules import data_input, fresh_dim, integers_of, length_of, normal_axis, require, require_dtype

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


_DTYPES = {
    "reduce_mean": (DType.f32, DType.f16, DType.f64, DType.s8, DType.s16),
    "reduce_sum": (DType.f32, DType.f64, DType.s8, DType.s16, DType.s32, DType.s64, DType.u64),
    "reduce_max": (DType.f32, DType.f64, DType.s8, DType.s16, DType.s32, DType.s64, DType.u64),
    "reduce_min": (DType.f32, DType.f64, DType.s8, DType.s16, DType.s32, DType.s64, DType.u64),
    "reduce_prod": (DType.f32, DType.f64, DType.s8, DType.s16, DType.s32, DType.s64, DType.u64),
}
"""Element types that each op is defined for."""


def _infer(node: Node) -> list[TensorType]:
    x = node.input(0)
    require_dtype(node, x, *_DTYPES[node.op])
    rank, mask = len(x.shape), node.attrs["axes"]
    if (given := data_input(node, 1)) is not None:
        absorbed = axes_attr(node)
        if absorbed is None:
            kept = rank if node.attrs["keep_dims"] else rank - _reduced_count(node, length_of(node, given))
            return [TensorType(x.dtype, tuple(fresh_dim() for _ in range(kept)))]
        mask = absorbed["axes"]
    require(node, 0 <= mask < 1 << rank, f"axes {mask:#b} are out of range for rank {rank}")
    shape: list[Dim] = []
    for axis, dim in enumerate(x.shape):
        if not mask >> axis & 1:
            shape.append(dim)
        elif node.attrs["keep_dims"]:
            shape.append(1)
    return [TensorType(x.dtype, tuple(shape))]


def _reduced_count(node: Node, given: int) -> int:
    """How many axes so many entries of the input ``axes`` reduce."""
    rank = len(node.input(0).shape)
    require(node, given <= rank, f"there are {given} axes for rank {rank}")
    return given if given or node.attrs["noop_if_empty"] else rank


def axes_attr(node: Node) -> dict[str, Any] | None:
    """The attribute ``axes`` from input 1."""
    known = integers_of(node.optional_input(1))
    if known is None:
        return None
    rank = len(node.input(0).shape)
    return {"axes": _mask_given(known, rank, bool(node.attrs["noop_if_empty"]), node)}


def _mask_given(axes: Sequence[int], rank: int, noop_if_empty: bool, node: Node | None = None) -> int:
    if not axes:
        return 0 if noop_if_empty else (1 << rank) - 1
    return mask_of(axes if node is None else [normal_axis(node, axis, rank) for axis in axes], rank)


_REDUCERS: dict[str, Callable[..., np.ndarray]] = {
    "reduce_mean": np.mean,
    "reduce_sum": np.sum,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_prod": np.prod,
}

_REQUANTIZED = ("reduce_mean", "reduce_sum")
"""Ops whose s8 result has a scale of its own."""


def _start(name: str, dtype: np.dtype) -> dict[str, Any]:
    """What a maximum or minimum of no elements is."""
    if dtype.kind == "f":
        return {"initial": -np.inf if name == "reduce_max" else np.inf}
    if dtype.kind == "b":
        return {"initial": name != "reduce_max"}
    info = np.iinfo(dtype)
    return {"initial": info.min if name == "reduce_max" else info.max}


def _requantized(total: np.ndarray, attrs: Attrs) -> np.ndarray:
    """Sums in the units of the result, by any rounding."""
    if attrs["rounding"] == numerics.FLOAT_EVEN:
        return numerics.requantize_float(total, np.float32(attrs["scale"]))
    if attrs["rounding"] == numerics.TFLITE_DOWN:
        size = numerics.requantize(np.abs(total), attrs["mult"], attrs["shift"], numerics.SINGLE)
        return np.where(total < 0, -size, size)
    return numerics.requantize(total, attrs["mult"], attrs["shift"], attrs["rounding"])


def _product(x: np.ndarray, axes: tuple[int, ...], attrs: Attrs) -> np.ndarray:
    """The product of narrow integers in the units of the result, requantized after each factor."""
    factors = np.moveaxis(x.astype(np.int64) - attrs["x_zero"], axes, range(len(axes)))
    factors = factors.reshape(-1, *factors.shape[len(axes) :])
    scaled = (attrs["mult"], attrs["shift"], attrs["rounding"])
    total = factors[0]
    for factor in factors[1:]:
        total = numerics.requantize_wide(total * factor, *scaled)
    return numerics.requantize_wide(total, *scaled)


def _reference(name: str) -> Callable[[Sequence[Any], Attrs], list[np.ndarray]]:
    def reference(inputs: Sequence[Any], attrs: Attrs) -> list[np.ndarray]:
        x, given = (*inputs, None)[:2]
        mask = attrs["axes"]
        if given is not None:
            mask = _mask_given(given.reshape(-1).tolist(), x.ndim, bool(attrs["noop_if_empty"]))
        axes, keep = axes_of(mask, x.ndim), bool(attrs["keep_dims"])
        if x.dtype in (np.int8, np.int16) and name in (*_REQUANTIZED, "reduce_prod"):
            if name == "reduce_prod":
                y = _product(x, axes, attrs)
                y = np.expand_dims(y, axes) if keep else y
            else:
                y = _requantized((x.astype(np.int64) - attrs["x_zero"]).sum(axis=axes, keepdims=keep), attrs)
            return [np.asarray(np.clip(y + attrs["y_zero"], attrs["q_min"], attrs["q_max"])).astype(x.dtype)]
        wide = x.astype(np.float64) if x.dtype.kind == "f" else x
        initial = _start(name, x.dtype) if name in ("reduce_max", "reduce_min") else {}
        with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return [np.asarray(_REDUCERS[name](wide, axis=axes, keepdims=keep, **initial)).astype(x.dtype)]

    return reference


def _samples(name: str) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        sample = draw_mask(rng)
        if rng.integers(4):
            return sample
        rank = np.ndim(sample.inputs[0])  # type: ignore[arg-type]
        axes = np.array(axes_of(sample.attrs["axes"], rank))
        axes = sampling.index_vector(rng, np.where(rng.integers(0, 2, axes.size) == 1, axes, axes - rank))
        return Sample([*sample.inputs, axes], {**sample.attrs, "axes": 0, "noop_if_empty": int(rng.integers(2))})

    def draw_mask(rng: np.random.Generator) -> Sample:
        shape = sampling.shape(rng, high=7)
        mask = int(rng.integers(1, 1 << len(shape)))
        attrs: dict[str, Any] = {"axes": mask, "keep_dims": int(rng.integers(2))}
        if name in ("reduce_max", "reduce_min") and rng.integers(3) == 0:
            return Sample([sampling.integers(rng, shape, np.int16 if rng.integers(3) == 0 else np.int8)], attrs)
        if name == "reduce_prod" and rng.integers(3) == 0:
            dtype = np.int16 if rng.integers(3) == 0 else np.int8
            multiplier, shift = numerics.quantize_multiplier(2.0 ** rng.uniform(-7, 0) / np.iinfo(dtype).max * 127)
            attrs |= {"mult": multiplier, "shift": shift, **sampling.integer_clamp(rng, dtype)}
            attrs |= {"x_zero": sampling.zero_point(rng), "y_zero": sampling.zero_point(rng)}
            attrs["rounding"] = int(rng.choice([numerics.TFLITE_DOUBLE, numerics.SINGLE]))
            return Sample([sampling.integers(rng, shape, dtype)], attrs)
        if name != "reduce_mean" and rng.integers(3) == 0:
            dtype = (np.int32, np.int64, np.uint64)[int(rng.integers(3))]
            return Sample([rng.integers(-9, 9, shape).astype(dtype)], attrs)
        if name in _REQUANTIZED and rng.integers(2):
            count = int(np.prod([shape[axis] for axis in axes_of(mask, len(shape))]))
            factor = 2.0 ** rng.uniform(-1, 1) / count
            multiplier, shift = numerics.quantize_multiplier(factor)
            attrs |= {"mult": multiplier, "shift": shift, "scale": float(np.float32(factor))}
            attrs |= {"x_zero": sampling.zero_point(rng), "y_zero": sampling.zero_point(rng)}
            dtype = np.int16 if rng.integers(3) == 0 else np.int8
            attrs |= {
                "rounding": int(rng.choice([sampling.rounding(rng), numerics.TFLITE_DOWN])),
                **sampling.integer_clamp(rng, dtype),
            }
            return Sample([sampling.integers(rng, shape, dtype)], attrs)
        low, high = (0.5, 1.5) if name == "reduce_prod" else (-4.0, 4.0)
        x = sampling.floats(rng, shape, low, high)
        sample = Sample([x.astype(np.float64) if rng.integers(4) == 0 else x], attrs)
        return sampling.halved(sample, rng) if name == "reduce_mean" else sample

    return draw


_ATTRS: dict[str, Any] = {
    "axes": 0,
    "keep_dims": 1,
    **dict.fromkeys(("x_zero", "y_zero", "mult", "shift"), 0),
    "q_min": -128,
    "q_max": 127,
    "rounding": 0,
    "scale": 1.0,
    "noop_if_empty": 0,
}


def _infer_arg(node: Node) -> list[TensorType]:
    x, attrs = node.input(0), node.attrs
    require_dtype(node, x, DType.f32, DType.f64, DType.s8, DType.u8, DType.s32, DType.s64, DType.u64)
    require(node, attrs["to"] in (DType.s32.value, DType.s64.value), "positions are s32 or s64")
    require(node, 0 <= attrs["axis"] < len(x.shape), f"axis {attrs['axis']} is out of range for rank {len(x.shape)}")
    kept: tuple[Dim, ...] = (1,) if attrs["keep_dims"] else ()
    return [TensorType(DType(attrs["to"]), (*x.shape[: attrs["axis"]], *kept, *x.shape[attrs["axis"] + 1 :]))]


def _arg(name: str) -> OpDef:
    function = np.argmax if name == "argmax" else np.argmin

    def reference(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
        (x,) = inputs
        axis = attrs["axis"]
        if attrs["select_last"]:
            y = x.shape[axis] - 1 - function(np.flip(x, axis), axis=axis)
        else:
            y = function(x, axis=axis)
        y = np.asarray(y).astype(DType(attrs["to"]).numpy)
        return [np.expand_dims(y, axis) if attrs["keep_dims"] else y]

    def samples(rng: np.random.Generator) -> Sample:
        shape = sampling.shape(rng)
        dtype = (np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, np.uint64)[int(rng.integers(7))]
        attrs = {"axis": int(rng.integers(len(shape))), "keep_dims": int(rng.integers(2))}
        attrs |= {"select_last": int(rng.integers(2)), "to": DType.s32.value if rng.integers(2) else DType.s64.value}
        return Sample([rng.integers(0, 4, shape).astype(dtype)], attrs)

    return OpDef(
        name=name,
        inputs=("x",),
        infer=_infer_arg,
        reference=reference,
        samples=samples,
        attrs={"axis": 0, "keep_dims": 1, "select_last": 0, "to": DType.s64.value},
        doc=f"Position of the {'largest' if name == 'argmax' else 'smallest'} element along an axis.",
    )


_RULES = {
    "reduce_mean": QuantRule(materialize=materialize_mean),
    "reduce_sum": QuantRule(materialize=materialize_mean),
    "reduce_max": QuantRule("same"),
    "reduce_min": QuantRule("same"),
}

register(
    *(
        OpDef(
            name=name,
            inputs=("x", "axes?"),
            infer=_infer,
            data_inputs=("axes",),
            absorb=axes_attr,
            reference=_reference(name),
            samples=_samples(name),
            attrs=_ATTRS,
            quant=_RULES.get(name),
            tolerance=EXACT if name in ("reduce_max", "reduce_min") else Tolerance(2e-6, 1e-5),
            half=HALF,
            doc=f"{name.removeprefix('reduce_').capitalize()} over the axes whose bit is set.",
        )
        for name in _REDUCERS
    ),
    _arg("argmax"),
    _arg("argmin"),
)
