"""Elementwise ops; arithmetic in ``nnacl_kernels/elementwise/elementwise.h``."""

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
from .quant_rules import materialize_mul, materialize_sum
from .shape_rules import broadcast_shapes, require, require_dtype, same_type

Attrs = Mapping[str, Any]
Array = np.ndarray

_TRANSCENDENTAL = Tolerance(2e-6, 1e-6)
_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    exponential = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, exponential) / (1.0 + exponential)


def _gelu(x: Array, attrs: Attrs) -> Array:
    if attrs["alpha"]:
        return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + _erf(x / math.sqrt(2.0)))


def _elu(x: Array, attrs: Attrs) -> Array:
    return np.where(x > 0, x, attrs["alpha"] * np.expm1(np.minimum(x, 0.0)))


UNARY_FLOAT64: dict[str, Callable[[Array, Attrs], Array]] = {
    "relu": lambda x, attrs: np.maximum(x, 0.0),
    "sigmoid": lambda x, attrs: _sigmoid(x),
    "tanh": lambda x, attrs: np.tanh(x),
    "exp": lambda x, attrs: np.exp(x),
    "log": lambda x, attrs: np.log(x),
    "sqrt": lambda x, attrs: np.sqrt(x),
    "rsqrt": lambda x, attrs: 1.0 / np.sqrt(x),
    "neg": lambda x, attrs: -x,
    "abs": lambda x, attrs: np.abs(x),
    "floor": lambda x, attrs: np.floor(x),
    "ceil": lambda x, attrs: np.ceil(x),
    "round": lambda x, attrs: np.rint(x),
    "sin": lambda x, attrs: np.sin(x),
    "cos": lambda x, attrs: np.cos(x),
    "erf": lambda x, attrs: _erf(x),
    "gelu": _gelu,
    "softplus": lambda x, attrs: np.logaddexp(x, 0.0),
    "hard_sigmoid": lambda x, attrs: np.clip(attrs["alpha"] * x + attrs["beta"], 0.0, 1.0),
    "hard_swish": lambda x, attrs: x * np.clip(x + 3.0, 0.0, 6.0) / 6.0,
    "silu": lambda x, attrs: x * _sigmoid(x),
    "reciprocal": lambda x, attrs: 1.0 / x,
    "sign": lambda x, attrs: np.sign(x),
    "square": lambda x, attrs: x * x,
    "leaky_relu": lambda x, attrs: np.where(x < 0, np.float32(attrs["alpha"]) * x, x),
    "elu": _elu,
    "clip": lambda x, attrs: np.clip(x, np.float32(attrs["alpha"]), np.float32(attrs["beta"])),
}
"""The real functions: float64 in and out, with the attributes of the op."""

_UNARY_INTEGER: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "relu": lambda x: np.maximum(x, 0),
}
_UNARY_ATTRS: dict[str, dict[str, Any]] = {
    "gelu": {"alpha": 0.0},
    "hard_sigmoid": {"alpha": 0.2, "beta": 0.5},
    "leaky_relu": {"alpha": 0.01},
    "elu": {"alpha": 1.0},
    "clip": {"alpha": -math.inf, "beta": math.inf},
}
_EXACT_UNARY = frozenset(
    ("relu", "neg", "abs", "floor", "ceil", "round", "sqrt", "reciprocal", "sign", "square", "leaky_relu", "clip")
)
_POSITIVE = {"log", "sqrt", "rsqrt", "reciprocal"}
_UNARY_DOC = {
    "gelu": "x times the normal distribution function; exact when alpha is 0, the tanh form when 1.",
    "clip": "x limited to [alpha, beta].",
    "round": "To the nearest whole number, ties to even.",
    "hard_sigmoid": "alpha * x + beta, limited to [0, 1].",
    "hard_swish": "x * clip(x + 3, 0, 6) / 6.",
    "silu": "x * sigmoid(x).",
}


def _unary_reference(name: str) -> Callable[[Sequence[Array], Attrs], list[Array]]:
    function = UNARY_FLOAT64[name]

    def reference(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
        (x,) = inputs
        if x.dtype.kind == "f":
            with np.errstate(all="ignore"):
                return [np.asarray(function(x.astype(np.float64), attrs)).astype(x.dtype)]
        return [np.asarray(_UNARY_INTEGER[name](x)).astype(x.dtype)]

    return reference


def _infer_unary(node: Node) -> list[TensorType]:
    integer = (DType.s32, DType.s64) if node.op in _UNARY_INTEGER else ()
    quantized = (DType.s8, DType.s16) if node.input(0).quant is not None else ()
    require_dtype(node, node.input(0), DType.f32, DType.f16, DType.f64, *integer, *quantized)
    return same_type(node)


def _unary_samples(name: str) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        span = float(rng.choice([1.0, 6.0, 30.0]))
        x = sampling.floats(rng, sampling.shape(rng), 1e-3 if name in _POSITIVE else -span, span)
        attrs: dict[str, Any] = {}
        if name == "gelu":
            attrs["alpha"] = float(rng.integers(2))
        elif name in ("hard_sigmoid", "leaky_relu", "elu"):
            attrs["alpha"] = float(np.float32(rng.uniform(0.05, 1.5)))
        elif name == "clip":
            attrs = dict(zip(("alpha", "beta"), sorted(float(v) for v in sampling.floats(rng, (2,))), strict=True))
        return Sample([x], attrs)

    return draw


def _unary(name: str) -> OpDef:
    output = {"sigmoid": (1.0 / 256.0, -128), "tanh": (1.0 / 128.0, 0)}.get(name)
    return OpDef(
        name=name,
        inputs=("x",),
        infer=_infer_unary,
        reference=_unary_reference(name),
        samples=_unary_samples(name),
        attrs=_UNARY_ATTRS.get(name, {}),
        quant=QuantRule("fixed", fixed=output) if output else QuantRule("free"),
        tolerance=EXACT if name in _EXACT_UNARY else _TRANSCENDENTAL,
        doc=_UNARY_DOC.get(name, f"{name} of each element."),
    )


def _infer_lut(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.s8)
    table = node.input(1)
    require_dtype(node, table, DType.s8)
    require(node, table.shape == (256,), f"the table is {table.type}; s8[256] is needed")
    return same_type(node)


def _reference_lut(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    x, table = inputs
    return [table[x.astype(np.int64) + 128]]


def _sample_lut(rng: np.random.Generator) -> Sample:
    return Sample([sampling.integers(rng, sampling.shape(rng)), sampling.integers(rng, (256,))], {})


def _divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.divide(a, b)
    safe = np.where(b == 0, 1, b)
    quotient = np.abs(a) // np.abs(safe)
    return np.where((a < 0) != (safe < 0), -quotient, quotient)


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.power(a.astype(np.float64), b.astype(np.float64))
    return np.trunc(np.power(a.astype(np.float64), b.astype(np.float64)))


_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": _power,
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
_QUANTIZED_BINARY = ("add", "sub", "mul")


def _infer_binary(node: Node) -> list[TensorType]:
    a, b = node.input(0), node.input(1)
    require(node, a.dtype is b.dtype, f"'{a.name}' is {a.dtype.name} and '{b.name}' is {b.dtype.name}")
    return [TensorType(a.dtype, broadcast_shapes(node, a.shape, b.shape))]


def _quantized_binary(name: str, a: Array, b: Array, attrs: Attrs) -> Array:
    """s8 add, sub or mul."""
    left = a.astype(np.int64) - attrs["a_zero"]
    right = b.astype(np.int64) - attrs["b_zero"]
    rounding = attrs["rounding"]
    if rounding == numerics.FLOAT_EVEN:
        real_a = np.float32(attrs["a_scale"]) * left.astype(np.float32)
        real_b = np.float32(attrs["b_scale"]) * right.astype(np.float32)
        quotient = _BINARY[name](real_a, real_b) / np.float32(attrs["y_scale"])
        y = np.clip(np.rint(quotient.astype(np.float64)), -1e9, 1e9).astype(np.int64)
    elif name == "mul":
        y = numerics.requantize(left * right, attrs["y_mult"], attrs["y_shift"], rounding)
    else:
        shift = attrs["left_shift"]
        scaled_a = numerics.requantize(left << shift, attrs["a_mult"], attrs["a_shift"], rounding)
        scaled_b = numerics.requantize(right << shift, attrs["b_mult"], attrs["b_shift"], rounding)
        y = numerics.requantize(_BINARY[name](scaled_a, scaled_b), attrs["y_mult"], attrs["y_shift"], rounding)
    return np.clip(y + attrs["y_zero"], attrs["q_min"], attrs["q_max"]).astype(a.dtype)


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


def _broadcast_pair(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast."""
    full = sampling.shape(rng, high=6)
    shapes = [full, full]
    for index in (0, 1):
        if rng.integers(3) == 0:
            kept = full[sampling.size(rng, 0, len(full)) :]
            shapes[index] = tuple(1 if rng.integers(3) == 0 else dim for dim in kept)
    return shapes[0], shapes[1]


def _quantized_attrs(rng: np.random.Generator, name: str) -> dict[str, Any]:
    """The attributes that materialization gives for random scales."""
    a_scale, b_scale = (float(np.float32(2.0 ** rng.uniform(-8, 1))) for _ in range(2))
    spread = a_scale * b_scale * 16.0 if name == "mul" else max(a_scale, b_scale)
    y_scale = float(np.float32(spread * 2.0 ** rng.uniform(-1, 3)))
    attrs: dict[str, Any] = {key: sampling.zero_point(rng) for key in ("a_zero", "b_zero", "y_zero")}
    attrs |= {"a_scale": a_scale, "b_scale": b_scale, "y_scale": y_scale, "rounding": sampling.rounding(rng)}
    factors = {"y": a_scale * b_scale / y_scale}
    if name != "mul":
        twice_max = 2.0 * max(a_scale, b_scale)
        attrs["left_shift"] = 20
        factors = {"a": a_scale / twice_max, "b": b_scale / twice_max, "y": twice_max / ((1 << 20) * y_scale)}
    for operand, factor in factors.items():
        attrs[f"{operand}_mult"], attrs[f"{operand}_shift"] = numerics.quantize_multiplier(factor)
    return {**attrs, **sampling.integer_clamp(rng)}


def _binary_samples(name: str) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        a_shape, b_shape = _broadcast_pair(rng)
        kind = int(rng.integers(4))
        if name in _QUANTIZED_BINARY and kind in (0, 1):
            operands = [sampling.integers(rng, shape) for shape in (a_shape, b_shape)]
            return Sample(operands, _quantized_attrs(rng, name))
        if name in ("add", "sub", "mul", "max", "min") and kind == 2:
            dtype = np.int32 if rng.integers(2) else np.int64
            return Sample([rng.integers(-1000, 1000, shape, dtype=dtype) for shape in (a_shape, b_shape)], {})
        low = 0.1 if name == "pow" else -4.0
        a, b = sampling.floats(rng, a_shape, low), sampling.floats(rng, b_shape)
        if name == "div":
            b = (np.where(b < 0, -0.25, 0.25) + b).astype(np.float32)
        return Sample([a, b], {} if name == "prelu" else sampling.clamp(rng))

    return draw


_BINARY_DOC = {
    "pow": "a to the power of b.",
    "squared_difference": "(a - b)^2.",
    "prelu": "a where it is positive, else a * b.",
}


def _binary(name: str) -> OpDef:
    rules = {"add": materialize_sum, "sub": materialize_sum, "mul": materialize_mul}
    rule = rules.get(name)
    return OpDef(
        name=name,
        inputs=("a", "b"),
        infer=_infer_binary,
        reference=_binary_reference(name),
        samples=_binary_samples(name),
        attrs={**CLAMP_ATTRS, **_INTEGER_ATTRS},
        quant=QuantRule(materialize=rule) if rule else None,
        tolerance=_TRANSCENDENTAL if name == "pow" else EXACT,
        doc=_BINARY_DOC.get(name, f"{name} of a and b, with NumPy's broadcasting and a fused clamp."),
    )


register(
    *(_unary(name) for name in UNARY_FLOAT64),
    *(_binary(name) for name in _BINARY),
    OpDef(
        name="lut",
        inputs=("x", "table"),
        infer=_infer_lut,
        reference=_reference_lut,
        samples=_sample_lut,
        doc="table[x + 128]: any function of one s8.",
    ),
)
