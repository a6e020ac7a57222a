"""ONNX comparisons, logic and selection."""

from __future__ import annotations

from collections.abc import Mapping

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import Builder, OnnxNode, Reject, Row
from .onnx_math import arithmetic, widened


def _comparison(op: str) -> Row:
    """A comparison or logical operator of two tensors that broadcast."""

    def row(g: Builder, node: OnnxNode) -> Value:
        a, b = node.value(0), node.value(1)
        return g.add(op, [a, b] if a.dtype in (DType.s8, DType.u8) else [widened(g, a), widened(g, b)])

    row.__doc__ = f"{op} of two tensors that broadcast."
    return row


def logical_not(g: Builder, node: OnnxNode) -> Value:
    """Not."""
    return g.add("logical_not", [node.value(0)])


def where(g: Builder, node: OnnxNode) -> Value:
    """Where: broadcasts all three tensors."""
    return g.add("where", [node.value(0), node.value(1), node.value(2)])


def modulo(g: Builder, node: OnnxNode) -> Value:
    """Mod: the remainder with the sign of the divisor, or of the dividend where fmod is 1."""
    return arithmetic(g, "fmod" if node.integer("fmod", 0) else "mod", node.value(0), node.value(1))


def is_nan(g: Builder, node: OnnxNode) -> Value:
    """IsNaN."""
    return g.add("is_nan", [node.value(0)])


def is_inf(g: Builder, node: OnnxNode) -> Value:
    """IsInf of one or both signs."""
    signs = {"alpha": node.integer("detect_negative", 1), "beta": node.integer("detect_positive", 1)}
    return g.add("is_inf", [node.value(0)], {name: float(sign != 0) for name, sign in signs.items()})


def bit_shift(g: Builder, node: OnnxNode) -> Value:
    """BitShift to either side."""
    direction = node.text("direction", "")
    if direction not in ("LEFT", "RIGHT"):
        raise Reject(f"attribute 'direction' is '{direction}'")
    return g.add(f"bit_shift_{direction.lower()}", [node.value(0), node.value(1)])


def _bitwise(op: str) -> Row:
    """Logic of the bits of two tensors that broadcast."""

    def row(g: Builder, node: OnnxNode) -> Value:
        return g.add(op, [node.value(0), node.value(1)])

    row.__doc__ = f"{op} of two tensors that broadcast."
    return row


def bitwise_not(g: Builder, node: OnnxNode) -> Value:
    """BitwiseNot."""
    return g.add("bitwise_not", [node.value(0)])


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
    "BitShift": bit_shift,
    "BitwiseAnd": _bitwise("bitwise_and"),
    "BitwiseNot": bitwise_not,
    "BitwiseOr": _bitwise("bitwise_or"),
    "BitwiseXor": _bitwise("bitwise_xor"),
    "IsInf": is_inf,
    "IsNaN": is_nan,
    "Mod": modulo,
    "Not": logical_not,
    "Where": where,
}
