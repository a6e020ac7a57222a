"""Elementwise ops of one operand; arithmetic in ``nnacl_kernels/elementwise/elementwise.h``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Node, TensorType
from . import EXACT, HALF, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .curves import POINTS, curve_at
from .shape_rules import require, require_dtype, same_type

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


def _celu(x: Array, attrs: Attrs) -> Array:
    alpha = np.float64(np.float32(attrs["alpha"]))
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0.0) / alpha))


def _shrink(x: Array, attrs: Attrs) -> Array:
    limit, bias = np.float32(attrs["alpha"]), np.float32(attrs["beta"])
    return np.where(x < -limit, x + bias, np.where(x <= limit, 0.0, x - bias))


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
    "tan": lambda x, attrs: np.tan(x),
    "asin": lambda x, attrs: np.arcsin(x),
    "acos": lambda x, attrs: np.arccos(x),
    "atan": lambda x, attrs: np.arctan(x),
    "sinh": lambda x, attrs: np.sinh(x),
    "cosh": lambda x, attrs: np.cosh(x),
    "asinh": lambda x, attrs: np.arcsinh(x),
    "acosh": lambda x, attrs: np.arccosh(x),
    "atanh": lambda x, attrs: np.arctanh(x),
    "celu": _celu,
    "selu": lambda x, attrs: np.float64(np.float32(attrs["beta"])) * _elu(x, attrs),
    "thresholded_relu": lambda x, attrs: np.where(x <= np.float32(attrs["alpha"]), 0.0, x),
    "shrink": _shrink,
    "softsign": lambda x, attrs: x / (1.0 + np.abs(x)),
    "mish": lambda x, attrs: x * np.tanh(np.logaddexp(x, 0.0)),
    "swish": lambda x, attrs: x * _sigmoid(np.float64(np.float32(attrs["alpha"])) * x),
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
    "celu": {"alpha": 1.0},
    "selu": {"alpha": 1.6732631921768188, "beta": 1.0507010221481323},
    "thresholded_relu": {"alpha": 1.0},
    "shrink": {"alpha": 0.5, "beta": 0.0},
    "swish": {"alpha": 1.0},
}
_DOUBLE = frozenset("relu leaky_relu clip neg abs square sign sqrt rsqrt reciprocal floor ceil round".split())
"""What has kernels in double precision too."""
_HALF = frozenset("relu leaky_relu clip hard_sigmoid hard_swish sigmoid silu tanh gelu elu".split())
"""What has kernels in half precision too."""

_EXACT_UNARY = frozenset(
    ("relu", "neg", "abs", "floor", "ceil", "round", "sqrt", "reciprocal", "sign", "square", "leaky_relu", "clip")
)
_RANGE: dict[str, tuple[float, float | None]] = {
    **dict.fromkeys(("log", "sqrt", "rsqrt", "reciprocal"), (1e-3, None)),
    **dict.fromkeys(("asin", "acos"), (-1.0, 1.0)),
    "atanh": (-0.999, 0.999),
    "acosh": (1.0, None),
    "tan": (-1.5, 1.5),
}
"""Where a function is defined, or its values are of one size."""
_UNARY_DOC = {
    "gelu": "x times the normal distribution function; exact when alpha is 0, the tanh form when 1.",
    "clip": "x limited to [alpha, beta].",
    "round": "To the nearest whole number, ties to even.",
    "hard_sigmoid": "alpha * x + beta, limited to [0, 1].",
    "hard_swish": "x * clip(x + 3, 0, 6) / 6.",
    "silu": "x * sigmoid(x).",
    "swish": "x * sigmoid(alpha * x).",
    "mish": "x * tanh(softplus(x)).",
    "softsign": "x / (1 + |x|).",
    "selu": "elu(x, alpha) * beta.",
    "celu": "x where it is positive, else alpha * (exp(x / alpha) - 1).",
    "thresholded_relu": "x where it is greater than alpha, else 0.",
    "shrink": "x + beta below -alpha, x - beta above alpha, 0 between.",
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
        if name in _UNARY_INTEGER and name != "relu" and rng.integers(3) == 0:
            return Sample(
                [rng.integers(-999, 999, sampling.shape(rng), dtype=np.int64 if rng.integers(2) else np.int32)], {}
            )
        low, high = _RANGE.get(name, (-span, None))
        x = sampling.floats(rng, sampling.shape(rng), low, span if high is None else high)
        attrs: dict[str, Any] = {}
        if name == "gelu":
            attrs["alpha"] = float(rng.integers(2))
        elif name in ("hard_sigmoid", "leaky_relu", "elu", "celu", "selu", "thresholded_relu", "shrink", "swish"):
            attrs["alpha"] = float(np.float32(rng.uniform(0.05, 1.5)))
        elif name == "clip":
            attrs = dict(zip(("alpha", "beta"), sorted(float(v) for v in sampling.floats(rng, (2,))), strict=True))
        sample = Sample([x.astype(np.float64) if name in _DOUBLE and rng.integers(4) == 0 else x], attrs)
        return sampling.halved(sample, rng) if name in _HALF else sample

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
        half=HALF if name in _HALF else None,
        doc=_UNARY_DOC.get(name, f"{name} of each element."),
    )


def _infer_not(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.b8)
    return same_type(node)


def _infer_lut(node: Node) -> list[TensorType]:
    x, table = node.input(0), node.input(1)
    require_dtype(node, x, DType.s8, DType.s16)
    wanted = TensorType(x.dtype, (256 if x.dtype is DType.s8 else POINTS,))
    require(node, table.type == wanted, f"the table is {table.type}; {wanted} is needed")
    return same_type(node)


def _reference_lut(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    x, table = inputs
    if x.dtype == np.int16:
        return [np.clip(curve_at(table, x), -32768, 32767).astype(np.int16)]
    return [table[x.astype(np.int64) + 128]]


def _sample_lut(rng: np.random.Generator) -> Sample:
    if rng.integers(3) == 0:
        table = sampling.integers(rng, (POINTS,), np.int16)
        return Sample([sampling.integers(rng, sampling.shape(rng), np.int16), table], {})
    return Sample([sampling.integers(rng, sampling.shape(rng)), sampling.integers(rng, (256,))], {})


def _infer_question(node: Node) -> list[TensorType]:
    require_dtype(node, node.input(0), DType.f32, DType.f64)
    return [TensorType(DType.b8, node.input(0).shape)]


def _reference_is_inf(inputs: Sequence[Array], attrs: Attrs) -> list[Array]:
    (x,) = inputs
    return [(np.isneginf(x) & bool(attrs["alpha"])) | (np.isposinf(x) & bool(attrs["beta"]))]


def _question_input(rng: np.random.Generator) -> Array:
    choices = np.array([0.0, 1.5, -3e38, np.inf, -np.inf, np.nan], np.float32)
    x = np.asarray(rng.choice(choices, sampling.shape(rng)))
    return x.astype(np.float64) if rng.integers(4) == 0 else x


register(
    *(_unary(name) for name in UNARY_FLOAT64),
    OpDef(
        name="is_nan",
        inputs=("x",),
        infer=_infer_question,
        reference=lambda inputs, attrs: [np.isnan(inputs[0])],
        samples=lambda rng: Sample([_question_input(rng)], {}),
        doc="True where x is not a number.",
    ),
    OpDef(
        name="is_inf",
        inputs=("x",),
        infer=_infer_question,
        reference=_reference_is_inf,
        samples=lambda rng: Sample([_question_input(rng)], {key: float(rng.integers(2)) for key in ("alpha", "beta")}),
        attrs={"alpha": 1.0, "beta": 1.0},
        doc="True where x is -inf (when alpha is not 0) or +inf (when beta is not 0).",
    ),
    OpDef(
        name="logical_not",
        inputs=("x",),
        infer=_infer_not,
        reference=lambda inputs, attrs: [np.logical_not(inputs[0])],
        samples=lambda rng: Sample([rng.integers(0, 2, sampling.shape(rng)).astype(np.bool_)], {}),
        doc="True where x is false.",
    ),
    OpDef(
        name="lut",
        inputs=("x", "table"),
        infer=_infer_lut,
        reference=_reference_lut,
        samples=_sample_lut,
        doc="table[x + 128]: any function of one s8; of one s16 between 513 points, one for each 128th place.",
    ),
)
