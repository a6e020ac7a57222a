"""ONNX comparisons, logic and selection."""

from __future__ import annotations

from collections.abc import Mapping

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import Builder, OnnxNode, Reject, Row


def _comparison(op: str) -> Row:
    """A comparison or logical operator of two tensors that broadcast."""

    def row(g: Builder, node: OnnxNode) -> Value:
        return g.add(op, [node.value(0), node.value(1)])

    row.__doc__ = f"{op} of two tensors that broadcast."
    return row


def logical_not(g: Builder, node: OnnxNode) -> Value:
    """Not."""
    return g.add("logical_not", [node.value(0)])


def where(g: Builder, node: OnnxNode) -> Value:
    """Where: broadcasts all three tensors."""
    return g.add("where", [node.value(0), node.value(1), node.value(2)])


def modulo(g: Builder, node: OnnxNode) -> Value:
    """Mod with the sign of the divisor, which for unsigned numbers is also fmod."""
    x = node.value(0)
    if node.integer("fmod", 0):
        raise Reject("attribute 'fmod' is 1: the remainder with the sign of the dividend has no kernel yet")
    if x.dtype is DType.f32:
        raise Reject("floating point needs attribute 'fmod' 1")
    return g.add("mod", [x, node.value(1)])


def is_nan(g: Builder, node: OnnxNode) -> Value:
    """IsNaN."""
    return g.add("is_nan", [node.value(0)])


def is_inf(g: Builder, node: OnnxNode) -> Value:
    """IsInf of one or both signs."""
    signs = {"alpha": node.integer("detect_negative", 1), "beta": node.integer("detect_positive", 1)}
    return g.add("is_inf", [node.value(0)], {name: float(sign != 0) for name, sign in signs.items()})


_PAIRS: Mapping[str, str] = {
    "And": "logical_and",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Or": "logical_or",
    "Xor": "logical_xor",
}

ROWS: dict[str, Row] = {
    **{name: _comparison(op) for name, op in _PAIRS.items()},
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "Mod": modulo,
    "Not": logical_not,
    "Where": where,
}
