"""Elementwise ops of two or three operands; arithmetic in ``nnacl_kernels/elementwise/elementwise.h``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Node, TensorType
from . import EXACT, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .conv import CLAMP_ATTRS
from .quant_rules import materialize_div, materialize_mul, materialize_prelu, materialize_sum
from .quotients import quantized_quotient
from .shape_rules import broadcast_shapes, require, require_dtype

Attrs = Mapping[str, Any]
Array = np.ndarray

_POWER_TOLERANCE = Tolerance(2e-6, 1e-6)


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.divide(a, b)
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient = a // safe
    return np.where(b == 0, 0, np.where((a < 0) != (safe < 0), quotient + (quotient * safe != a), quotient))


def _modulo(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.mod(a, b)
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, b.dtype.type(1), b)))


def _remainder(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.power(a.astype(np.float64), b.astype(np.float64))
    # The whole part of a negative power: of 1 and -1 only something remains.
    negative = np.where(a == 1, 1, np.where(a == -1, 1 - 2 * (b & 1), 0))
    return np.where(b < 0, negative, np.power(a, np.maximum(b, 0)))


_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": _power,
    "mod": _modulo,
    "fmod": _remainder,
    "squared_difference": lambda a, b: np.square(a - b),
    "prelu": lambda a, b: np.where(a > 0, a, a * b),
}
_INTEGER_ATTRS: dict[str, Any] = {
    **dict.fromkeys(("a_zero", "b_zero", "y_zero", "left_shift"), 0),
    **dict.fromkeys(("a_mult", "a_shift", "b_mult", "b_shift", "y_mult", "y_shift"), 0),
    **dict.fromkeys(("a_scale", "b_scale", "y_scale"), 1.0),
    "q_min": -128,
    "q_max": 127,
    "rounding": 0,
}
_QUANTIZED_BINARY = ("add", "sub", "mul", "div", "prelu")
_INTEGER_BINARY = ("add", "sub", "mul", "div", "mod", "fmod", "max", "min", "squared_difference", "pow")
_HALF_BINARY = ("add", "sub", "mul", "div", "max", "min")
_SIGNED_BINARY = ("squared_difference", "pow")


def _infer_binary(node: Node) -> list[TensorType]:
    a, b = node.input(0), node.input(1)
    require(node, a.dtype is b.dtype, f"'{a.name}' is {a.dtype.name} and '{b.name}' is {b.dtype.name}")
    return [TensorType(a.dtype, broadcast_shapes(node, a.shape, b.shape))]


def _rescaled(value: Array, multiplier: int, shift: int, rounding: int) -> Array:
    """An operand of add or sub in the common scale."""
    if rounding == numerics.TFLITE_DOWN and shift < 0:
        return numerics.requantize(value, multiplier, 0, numerics.TFLITE_DOUBLE) >> -shift
    return numerics.requantize(value, multiplier, shift, rounding)


def _quantized_binary(name: str, a: Array, b: Array, attrs: Attrs) -> Array:
    """add, sub, mul or prelu of s8 or s16."""
    left = a.astype(np.int64) - attrs["a_zero"]
    right = b.astype(np.int64) - attrs["b_zero"]
    rounding = attrs["rounding"]
    if rounding == numerics.FLOAT_EVEN:
        real_a = np.float32(attrs["a_scale"]) * left.astype(np.float32)
        real_b = np.float32(attrs["b_scale"]) * right.astype(np.float32)
        with np.errstate(all="ignore"):
            quotient = _BINARY[name](real_a, real_b) / np.float32(attrs["y_scale"])
        y = np.clip(np.nan_to_num(np.rint(quotient.astype(np.float64))), -1e9, 1e9).astype(np.int64)
    elif name == "div":
        y = quantized_quotient(left, right, attrs["y_mult"], attrs["y_shift"], rounding)
    elif name == "prelu":
        positive = numerics.requantize(left, attrs["a_mult"], attrs["a_shift"], rounding)
        product = numerics.requantize(left * right, attrs["y_mult"], attrs["y_shift"], rounding)
        y = np.where(left > 0, positive, product)
    elif name == "mul":
        y = numerics.requantize(left * right, attrs["y_mult"], attrs["y_shift"], rounding)
    else:
        shift = attrs["left_shift"]
        scaled_a = _rescaled(left << shift, attrs["a_mult"], attrs["a_shift"], rounding)
        scaled_b = _rescaled(right << shift, attrs["b_mult"], attrs["b_shift"], rounding)
        y = numerics.requantize(_BINARY[name](scaled_a, scaled_b), attrs["y_mult"], attrs["y_shift"], rounding)
    result = np.clip(y + attrs["y_zero"], attrs["q_min"], attrs["q_max"])
    if name == "div":
        ends = np.where(left == 0, attrs["y_zero"], np.where(left > 0, attrs["q_max"], attrs["q_min"]))
        result = np.where(right == 0, ends, result)
    return result.astype(a.dtype)


def _binary_reference(name: str) -> Callable[[Sequence[Array], Attrs], list[Array]]:
    function = _BINARY[name]

    def reference(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
        a, b = inputs
        if a.dtype in (np.int8, np.int16) and name in _QUANTIZED_BINARY:
            return [_quantized_binary(name, a, b, attrs)]
        with np.errstate(all="ignore"):
            y = np.asarray(function(a, b)).astype(a.dtype)
        if a.dtype.kind == "f":
            low, high = a.dtype.type(attrs.get("clamp_min", -math.inf)), a.dtype.type(attrs.get("clamp_max", math.inf))
            y = np.minimum(np.maximum(y, low), high)
        return [y]

    return reference


def broadcast_pair(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast."""
    full = sampling.shape(rng, high=6)
    shapes = [full, full]
    for index in (0, 1):
        if rng.integers(3) == 0:
            kept = full[sampling.size(rng, 0, len(full)) :]
            shapes[index] = tuple(1 if rng.integers(3) == 0 else dim for dim in kept)
    return shapes[0], shapes[1]


def _quantized_attrs(rng: np.random.Generator, name: str, dtype: type) -> dict[str, Any]:
    """The attributes that materialization gives for random scales."""
    a_scale, b_scale = (float(np.float32(2.0 ** rng.uniform(-8, 1))) for _ in range(2))
    spread = a_scale * b_scale * 16.0 if name in ("mul", "prelu") else max(a_scale, b_scale)
    y_scale = float(np.float32(spread * 2.0 ** rng.uniform(-1, 3)))
    attrs: dict[str, Any] = {key: sampling.zero_point(rng) for key in ("a_zero", "b_zero", "y_zero")}
    attrs |= {"a_scale": a_scale, "b_scale": b_scale, "y_scale": y_scale, "rounding": sampling.rounding(rng)}
    if name == "add" and rng.integers(4) == 0:
        attrs["rounding"] = numerics.TFLITE_DOWN
    if name == "div":
        y_scale = attrs["y_scale"] = float(np.float32(a_scale / b_scale * 2.0 ** rng.uniform(-7, 1)))
    factors = {"y": a_scale / (b_scale * y_scale) if name == "div" else a_scale * b_scale / y_scale}
    if name == "prelu":
        factors["a"] = a_scale / y_scale
    elif name not in ("mul", "div"):
        twice_max = 2.0 * max(a_scale, b_scale)
        attrs["left_shift"] = left = 20 if dtype is np.int8 else 15
        factors = {"a": a_scale / twice_max, "b": b_scale / twice_max, "y": twice_max / ((1 << left) * y_scale)}
    for operand, factor in factors.items():
        attrs[f"{operand}_mult"], attrs[f"{operand}_shift"] = numerics.quantize_multiplier(factor)
    if dtype is np.int16 and attrs["rounding"] != numerics.FLOAT_EVEN:
        attrs |= {"a_zero": 0, "b_zero": 0}
    return {**attrs, **sampling.integer_clamp(rng, dtype)}


def _binary_samples(name: str) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        a_shape, b_shape = broadcast_pair(rng)
        kind = int(rng.integers(4))
        if name in _QUANTIZED_BINARY and kind in (0, 1):
            narrow = np.int16 if rng.integers(3) == 0 else np.int8
            operands = [sampling.integers(rng, shape, narrow) for shape in (a_shape, b_shape)]
            return Sample(operands, _quantized_attrs(rng, name, narrow))
        if name in ("max", "min") and kind == 1:
            narrow = np.int16 if rng.integers(3) == 0 else np.int8
            return Sample([sampling.integers(rng, shape, narrow) for shape in (a_shape, b_shape)], {})
        if name in _INTEGER_BINARY and kind == 2:
            dtype = (np.int32, np.int64, np.uint64)[int(rng.integers(2 if name in _SIGNED_BINARY else 3))]
            least = 0 if dtype is np.uint64 else -1000
            return Sample([rng.integers(least, 1000, shape).astype(dtype) for shape in (a_shape, b_shape)], {})
        low = 0.1 if name == "pow" else -4.0
        a, b = sampling.floats(rng, a_shape, low), sampling.floats(rng, b_shape)
        if name in ("div", "mod", "fmod"):
            b = (np.where(b < 0, -0.25, 0.25) + b).astype(np.float32)
        if name != "pow" and rng.integers(4) == 0:
            a, b = a.astype(np.float64), b.astype(np.float64)
        sample = Sample([a, b], sampling.clamp(rng))
        return sampling.halved(sample, rng, operands=2) if name in _HALF_BINARY else sample

    return draw


_BINARY_DOC = {
    "pow": "a to the power of b.",
    "squared_difference": "(a - b)^2.",
    "mod": "The remainder of a / b with the sign of b; integers by 0 give 0.",
    "fmod": "The remainder of a / b with the sign of a; integers by 0 give 0.",
    "prelu": "a where it is positive, else a * b.",
}


def _binary(name: str) -> OpDef:
    rules = {
        "add": materialize_sum,
        "sub": materialize_sum,
        "mul": materialize_mul,
        "div": materialize_div,
        "prelu": materialize_prelu,
    }
    same = QuantRule("same") if name in ("max", "min") else None
    return OpDef(
        name=name,
        inputs=("a", "b"),
        infer=_infer_binary,
        reference=_binary_reference(name),
        samples=_binary_samples(name),
        attrs={**CLAMP_ATTRS, **_INTEGER_ATTRS},
        quant=QuantRule(materialize=rules[name]) if name in rules else same,
        tolerance=_POWER_TOLERANCE if name == "pow" else EXACT,
        doc=_BINARY_DOC.get(name, f"{name} of a and b, with NumPy's broadcasting and a fused clamp."),
    )


_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
_COMPARE_DTYPES = (DType.f32, DType.f64, DType.s8, DType.u8, DType.s32, DType.s64, DType.u64)


def _infer_compare(node: Node) -> list[TensorType]:
    a, b = node.input(0), node.input(1)
    require(node, a.dtype is b.dtype, f"'{a.name}' is {a.dtype.name} and '{b.name}' is {b.dtype.name}")
    if node.op.startswith("logical_"):
        require_dtype(node, a, DType.b8)
    elif node.op in ("equal", "not_equal"):
        require_dtype(node, a, *_COMPARE_DTYPES, DType.b8)
    else:
        require_dtype(node, a, *_COMPARE_DTYPES)
    return [TensorType(DType.b8, broadcast_shapes(node, a.shape, b.shape))]


def _compare(name: str) -> OpDef:
    function = _COMPARE[name]

    def reference(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
        return [np.asarray(function(*inputs))]

    def samples(rng: np.random.Generator) -> Sample:
        a_shape, b_shape = broadcast_pair(rng)
        dtypes = (DType.b8,) if name.startswith("logical_") else _COMPARE_DTYPES
        if name in ("equal", "not_equal"):
            dtypes = (*dtypes, DType.b8)
        dtype = dtypes[int(rng.integers(len(dtypes)))].numpy
        low = 0 if dtype.kind in "bu" else -2
        return Sample([rng.integers(low, 3, shape).astype(dtype) for shape in (a_shape, b_shape)], {})

    return OpDef(name, ("a", "b"), _infer_compare, reference, samples, doc=f"{name} of a and b, broadcast.")


def _infer_where(node: Node) -> list[TensorType]:
    condition, a, b = node.input(0), node.input(1), node.input(2)
    require_dtype(node, condition, DType.b8)
    require(node, a.dtype is b.dtype, f"'{a.name}' is {a.dtype.name} and '{b.name}' is {b.dtype.name}")
    return [TensorType(a.dtype, broadcast_shapes(node, condition.shape, a.shape, b.shape))]


def _reference_where(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    return [np.where(*inputs)]


def _sample_where(rng: np.random.Generator) -> Sample:
    a_shape, b_shape = broadcast_pair(rng)
    full = np.broadcast_shapes(a_shape, b_shape)
    condition = rng.integers(0, 2, full[sampling.size(rng, 0, len(full)) :]).astype(np.bool_)
    dtype = (np.float32, np.int8, np.int64)[int(rng.integers(3))]
    return Sample([np.asarray(condition), *(rng.integers(-99, 99, s).astype(dtype) for s in (a_shape, b_shape))], {})


register(
    *(_binary(name) for name in _BINARY),
    *(_compare(name) for name in _COMPARE),
    OpDef(
        name="where",
        inputs=("condition", "a", "b"),
        infer=_infer_where,
        reference=_reference_where,
        samples=_sample_where,
        doc="a where the condition holds, else b; all three broadcast.",
    ),
)
