"""ONNX elementwise operators, activations and softmax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Value
from . import onnx_ordered
from .onnx_graph import Builder, OnnxNode, Reject, Row, merged


def _unary(op: str) -> Row:
    """An operator that is one of ours, without attributes; integers without a kernel of their own become wider."""

    def row(g: Builder, node: OnnxNode) -> Value:
        x = node.value(0)
        if x.dtype is DType.u64 and op == "abs":
            return x
        name = f"{op}_ordered" if g.as_written and op in _ORDERED and x.dtype is DType.f32 else op
        return g.cast(g.add(name, [widened(g, x)]), x.dtype)

    row.__doc__ = f"{op}, elementwise."
    return row


def _binary(op: str) -> Row:
    """An operator of two tensors that broadcast."""

    def row(g: Builder, node: OnnxNode) -> Value:
        return arithmetic(g, op, node.value(0), node.value(1))

    row.__doc__ = f"{op} of two tensors that broadcast."
    return row


def _variadic(op: str) -> Row:
    """An operator of one or more tensors that broadcast, from left to right."""

    def row(g: Builder, node: OnnxNode) -> Value:
        return _chain(g, op, node.values())

    row.__doc__ = f"{op} of one or more tensors that broadcast."
    return row


def _chain(g: Builder, op: str, values: Sequence[Value]) -> Value:
    if not values:
        raise Reject("has no inputs")
    result = values[0]
    for value in values[1:]:
        result = arithmetic(g, op, result, value)
    return result


WIDER = {DType.s8: DType.s32, DType.s16: DType.s32, DType.u8: DType.s32, DType.u16: DType.s32, DType.u32: DType.s64}
"""Integers without kernels of their own, and those that hold them."""


def arithmetic(g: Builder, op: str, a: Value, b: Value) -> Value:
    """A binary op; narrow integers are computed in wider ones and cut off, as they wrap around in ONNX."""
    wide = WIDER.get(a.dtype)
    if wide is None or a.dtype is not b.dtype:
        return g.add(op, [a, b])
    return g.cast(g.add(op, [g.cast(a, wide), g.cast(b, wide)]), a.dtype)


def widened(g: Builder, x: Value) -> Value:
    """``x`` in an element type that holds all of its values and that comparisons have kernels for."""
    return g.cast(x, WIDER.get(x.dtype, x.dtype))


def _scaled(op: str, defaults: Mapping[str, float]) -> Row:
    """An activation with float attributes, which are ours under the names alpha and beta."""

    def row(g: Builder, node: OnnxNode) -> Value:
        values = [node.real(name, default) for name, default in defaults.items()]
        return g.add(op, [node.value(0)], dict(zip(("alpha", "beta"), values, strict=False)))

    row.__doc__ = f"{op} with {', '.join(defaults)}."
    return row


def hard_sigmoid(g: Builder, node: OnnxNode) -> Value:
    """HardSigmoid."""
    alpha, beta = node.real("alpha", 0.2), node.real("beta", 0.5)
    ordered = onnx_ordered.hard_sigmoid(g, node.value(0), alpha, beta)
    return g.add("hard_sigmoid", [node.value(0)], {"alpha": alpha, "beta": beta}) if ordered is None else ordered


def hard_swish(g: Builder, node: OnnxNode) -> Value:
    """HardSwish."""
    x = node.value(0)
    gate = onnx_ordered.hard_sigmoid(g, x, 1 / 6, 0.5)
    return g.cast(g.add("hard_swish", [widened(g, x)]), x.dtype) if gate is None else g.add("mul", [x, gate])


def mean(g: Builder, node: OnnxNode) -> Value:
    """Mean of one or more tensors."""
    values = node.values()
    total = _chain(g, "add", values)
    return g.add("mul", [total, g.const(np.float32(1.0 / len(values)))]) if len(values) > 1 else total


def implied_by_broadcast(g: Builder, x: Value, weights: Value | None) -> None:
    """What broadcasts to the shape of ``x`` tells its sizes, where it is not repeated."""
    for axis, size in enumerate(reversed(weights.shape if weights is not None else ()), start=1):
        if axis <= len(x.shape) and size != 1:
            g.implies(x, -axis, size)


def prelu(g: Builder, node: OnnxNode) -> Value:
    """PRelu; models that came from opset 6 have a slope for each channel without dimensions behind it."""
    x, slope = node.value(0), node.value(1)
    old = len(slope.shape) == 1 and len(x.shape) > 2 and slope.shape[0] not in (1, x.shape[-1])
    if old and slope.shape[0] == x.shape[1]:
        slope = g.reshape(slope, (*slope.shape, *[1] * (len(x.shape) - 2)))
    implied_by_broadcast(g, x, slope)
    return arithmetic(g, "prelu", x, slope)


def power(g: Builder, node: OnnxNode) -> Value:
    """Pow; the exponents 1, 2, 0.5, -1 and -0.5 have ops of their own."""
    x, exponent = node.value(0), node.value(1)
    if x.dtype.is_integer:
        wide = DType.f32 if exponent.dtype.is_float else WIDER.get(x.dtype, x.dtype)
        return g.cast(g.add("pow", [g.cast(x, wide), g.cast(exponent, wide)]), x.dtype)
    if exponent.data is not None and exponent.data.size == 1 and x.dtype is DType.f32:
        known = {2.0: "square"} | ({} if g.as_written else {0.5: "sqrt", -1.0: "reciprocal", -0.5: "rsqrt"})
        special = known.get(float(exponent.data.reshape(())))
        if special is not None and exponent.data.ndim <= len(x.shape):
            return g.add(special, [x])
    return g.add("pow", [x, g.cast(exponent, x.dtype)])


def clip(g: Builder, node: OnnxNode) -> Value:
    """Clip: the bounds are inputs since opset 11, attributes before."""
    x = node.value(0)
    if node.opset >= 11:
        bounds = [node.optional(index) for index in (1, 2)]
        if any(bound is not None and bound.data is None for bound in bounds):
            return _limited(g, x, bounds[0], bounds[1])
        low, high = (_bound(node, index, name) for index, name in ((1, "min"), (2, "max")))
    else:
        low, high = node.real("min", -np.inf), node.real("max", np.inf)
    return clipped(g, x, -np.inf if low is None else low, np.inf if high is None else high)


def _limited(g: Builder, x: Value, low: Value | None, high: Value | None) -> Value:
    """x between two numbers of which one is known only at run time."""
    x = x if low is None else arithmetic(g, "max", x, low)
    return x if high is None else arithmetic(g, "min", x, high)


def _bound(node: OnnxNode, index: int, name: str) -> float | None:
    array = node.optional_array(index, f"input '{name}'")
    if array is None:
        return None
    if array.size != 1:
        raise Reject(f"input '{name}' has shape {array.shape}, expected a scalar")
    return float(array.reshape(()))


def clipped(g: Builder, x: Value, low: float, high: float) -> Value:
    """x between two numbers; when they cross, everything becomes the upper one."""
    if x.dtype.is_integer:
        if np.isfinite(low):
            x = arithmetic(g, "max", x, g.const(np.asarray(low, x.dtype.numpy)))
        return arithmetic(g, "min", x, g.const(np.asarray(high, x.dtype.numpy))) if np.isfinite(high) else x
    return g.add("clip", [x], {"alpha": min(low, high), "beta": high})


def relu(g: Builder, node: OnnxNode) -> Value:
    """Relu, of integers as well."""
    x = node.value(0)
    return clipped(g, x, 0.0, np.inf) if x.dtype.is_integer else g.add("relu", [x])


def gelu(g: Builder, node: OnnxNode) -> Value:
    """Gelu, exact or by tanh."""
    approximate = node.text("approximate", "none")
    if approximate not in ("none", "tanh"):
        raise Reject(f"attribute 'approximate' is '{approximate}'")
    return g.add("gelu", [node.value(0)], {"alpha": 1.0 if approximate == "tanh" else 0.0})


def celu(g: Builder, node: OnnxNode) -> Value:
    """Celu."""
    alpha = node.real("alpha", 1.0)
    if alpha == 0.0:
        raise Reject("attribute 'alpha' is 0")
    return g.add("celu", [node.value(0)], {"alpha": alpha}) if alpha != 1.0 else g.add("elu", [node.value(0)])


def swish(g: Builder, node: OnnxNode) -> Value:
    """Swish: x * sigmoid(alpha * x)."""
    return swished(g, node.value(0), node.real("alpha", 1.0))


def linear(g: Builder, x: Value, factor: float, summand: float = 0.0) -> Value:
    """factor * x + summand, without the steps that change nothing."""
    y = x if factor == 1 else g.add("mul", [x, g.const(np.float32(factor))])
    return y if summand == 0 else g.add("add", [y, g.const(np.float32(summand))])


def swished(g: Builder, x: Value, alpha: float) -> Value:
    """x * sigmoid(alpha * x)."""
    return g.add("silu", [x]) if alpha == 1.0 else g.add("swish", [x], {"alpha": alpha})


def swiglu(g: Builder, node: OnnxNode) -> Value:
    """SwiGLU: the first operand through swish, times the second."""
    gate = swished(g, node.value(0), node.real("alpha", 1.0))
    return g.add("mul", [gate, node.value(1)])


def shrink(g: Builder, node: OnnxNode) -> Value:
    """Shrink; integers are computed as floats."""
    x = node.value(0)
    y = g.add("shrink", [g.cast(x, DType.f32)], {"alpha": node.real("lambd", 0.5), "beta": node.real("bias", 0.0)})
    return g.cast(y, x.dtype)


def hardmax(g: Builder, node: OnnxNode) -> Value:
    """Hardmax: 1 at the first of the largest elements, 0 elsewhere; before opset 13 over everything behind the axis."""
    x = node.value(0)
    axis = axis_of(node, "axis", -1 if node.opset >= 13 else 1, len(x.shape))
    shape = x.shape
    if node.opset < 13 and axis != len(shape) - 1:
        x, axis = g.flattened(x, axis), 1
    rank = len(x.shape)
    best = g.add("argmax", [x], {"axis": axis, "keep_dims": 1, "to": DType.s64.value})
    numbers = g.counting(x, axis)
    around = sum(1 << index for index in range(rank) if index != axis)
    places = g.add("unsqueeze", [numbers], {"axes": around}) if around else numbers
    y = g.cast(g.add("equal", [best, places]), x.dtype)
    return y if y.shape == shape else g.add("reshape", [y, g.sizes_of(node.value(0), 0, len(shape))])


def _softmax(op: str) -> Row:
    def row(g: Builder, node: OnnxNode) -> Value:
        x = node.real_value(0)
        rank = len(x.shape)
        axis = axis_of(node, "axis", -1 if node.opset >= 13 else 1, rank)
        if node.opset >= 13 or axis == rank - 1:
            return g.add(op, [x], {"axis": axis})
        rows, depth = x.shape[:axis], x.shape[axis:]
        if any(isinstance(dim, str) for dim in depth) or sum(isinstance(dim, str) for dim in rows) > 1:
            return _softmax_over(g, op, x, axis)
        size = int(np.prod([int(dim) for dim in depth]))
        flat = g.reshape(x, (merged(rows), size))
        return g.reshape(g.add(op, [flat], {"axis": 1}), x.shape)

    row.__doc__ = f"{op}; before opset 13 over everything behind the axis."
    return row


def _softmax_over(g: Builder, op: str, x: Value, first: int) -> Value:
    """softmax or log_softmax over all dimensions from ``first`` on, some of them open."""
    whole = {"axes": sum(1 << axis for axis in range(first, len(x.shape))), "keep_dims": 1}
    below = g.add("sub", [x, g.add("reduce_max", [x], whole)])
    powers = g.add("exp", [below])
    total = g.add("reduce_sum", [powers], whole)
    return g.add("div", [powers, total]) if op == "softmax" else g.add("sub", [below, g.add("log", [total])])


def axis_of(node: OnnxNode, name: str, default: int, rank: int) -> int:
    """An axis attribute counted from the front; ``Reject`` when it is outside."""
    axis = node.integer(name, default)
    return checked_axis(axis, rank, f"attribute '{name}'")


def checked_axis(axis: int, rank: int, what: str) -> int:
    """An axis counted from the front; ``Reject`` when it is outside."""
    if not -rank <= axis < rank:
        raise Reject(f"{what} is {axis}, outside of the {rank} dimensions")
    return axis % rank


_UNARY: Mapping[str, str] = {
    "Abs": "abs",
    **{name.capitalize(): name for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan")},
    "Ceil": "ceil",
    "Cos": "cos",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "log",
    "Mish": "mish",
    "Neg": "neg",
    "Reciprocal": "reciprocal",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Sqrt": "sqrt",
    "Tanh": "tanh",
}

_ORDERED = frozenset({"sigmoid", "tanh"})
"""Functions whose steps in ONNX Runtime are known."""

_BINARY: Mapping[str, str] = {"Add": "add", "Div": "div", "Mul": "mul", "Sub": "sub"}

_VARIADIC: Mapping[str, str] = {"Max": "max", "Min": "min", "Sum": "add"}

ROWS: dict[str, Row] = {
    **{name: _unary(op) for name, op in _UNARY.items()},
    **{name: _binary(op) for name, op in _BINARY.items()},
    **{name: _variadic(op) for name, op in _VARIADIC.items()},
    "Celu": celu,
    "Clip": clip,
    "Elu": _scaled("elu", {"alpha": 1.0}),
    "Gelu": gelu,
    "Hardmax": hardmax,
    "HardSigmoid": hard_sigmoid,
    "HardSwish": hard_swish,
    "LeakyRelu": _scaled("leaky_relu", {"alpha": 0.01}),
    "LogSoftmax": _softmax("log_softmax"),
    "Mean": mean,
    "PRelu": prelu,
    "Pow": power,
    "Relu": relu,
    "Selu": _scaled("selu", {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}),
    "Shrink": shrink,
    "Softmax": _softmax("softmax"),
    "SwiGLU": swiglu,
    "Swish": swish,
    "ThresholdedRelu": _scaled("thresholded_relu", {"alpha": 1.0}),
}
