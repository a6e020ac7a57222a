"""Recognises activations and small formulas that exporters spell out in elementary ops."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...ir import Graph, Value
from ...rewrite import Const, Match, Op, Var, rewrite_all, scalar_of

X, Y = Var("x"), Var("y")
NUMBER = Const("number")
Build = Callable[[Graph, Match], "Value | None"]


def run(graph: Graph) -> bool:
    changed = False
    for pattern, build in PATTERNS:
        changed |= rewrite_all(graph, pattern, build)
    return changed


def _op(op: str, *names: str, **attrs: float) -> Build:
    """Builds one op from values of the match, unless they are quantized: each integer op rounds in a way of its own."""

    def build(graph: Graph, match: Match) -> Value | None:
        inputs = [match[name] for name in names]
        root = match.root
        if root.output.quant is not None:
            return None
        return graph.add(op, inputs, attrs, name=root.name, before=root, source=root.source).output

    return build


def _with_number(op: str, attribute: str, fits: Callable[[float], bool]) -> Build:
    """As ``_op``, with the constant ``number`` of the match as an attribute, if it fits."""

    def build(graph: Graph, match: Match) -> Value | None:
        number = scalar_of(match["number"])
        if number is None or not fits(number) or match["number"].shape not in ((), (1,)):
            return None
        return _op(op, "x", **{attribute: number})(graph, match)

    return build


def _wide_enough(graph: Graph, match: Match) -> Value | None:
    """softplus(x), where x itself takes its place above a threshold beyond which they are the same float."""
    threshold = scalar_of(match["number"])
    if threshold is None or threshold < 17.0 or match["number"].shape not in ((), (1,)):
        return None
    return _op("softplus", "x")(graph, match)


def _log_softmax(graph: Graph, match: Match) -> Value:
    attrs = match.named["softmax"].attrs
    root = match.root
    return graph.add("log_softmax", [match["x"]], attrs, name=root.name, before=root, source=root.source).output


_RELU6_SHIFTED = [
    Op("clip", Op("add", X, Const(value=3.0)), alpha=0.0, beta=6.0),
    Op("add", X, Const(value=3.0), clamp_min=0.0, clamp_max=6.0),
]
_HARD_SIGMOIDS = [
    *(Op("mul", shifted, Const(value=1 / 6)) for shifted in _RELU6_SHIFTED),
    *(Op("div", shifted, Const(value=6.0)) for shifted in _RELU6_SHIFTED),
]
_HARD_SIGMOID = {"alpha": 1 / 6, "beta": 0.5}
_HARD_SWISHES = [
    *(Op("mul", Op("mul", X, shifted), Const(value=1 / 6)) for shifted in _RELU6_SHIFTED),
    *(Op("div", Op("mul", X, shifted), Const(value=6.0)) for shifted in _RELU6_SHIFTED),
    *(Op("mul", X, sigmoid) for sigmoid in _HARD_SIGMOIDS),
]
_ERF = [
    Op("add", Op("erf", Op("div", X, Const(value=math.sqrt(2)))), Const(value=1.0)),
    Op("add", Op("erf", Op("mul", X, Const(value=math.sqrt(0.5)))), Const(value=1.0)),
]
_ONE = Const(value=1.0)
_SIGMOIDS = [
    Op("reciprocal", Op("add", Op("exp", Op("neg", X)), _ONE)),
    Op("div", _ONE, Op("add", Op("exp", Op("neg", X)), _ONE)),
]
_SOFTPLUSES = [
    Op("log", Op("add", Op("exp", X), _ONE)),
]
_CUBE = [
    Op("mul", X, Op("square", X)),
    Op("pow", X, Const(value=3.0)),
]
_TANH = [
    Op(
        "add",
        Op(
            "tanh",
            Op("mul", Op("add", X, Op("mul", cube, Const(value=0.044715))), Const(value=math.sqrt(2 / math.pi))),
        ),
        Const(value=1.0),
    )
    for cube in _CUBE
] + [
    # sqrt(2 / pi) x (1 + 0.044715 x^2), in the orders in use.
    Op("add", Op("tanh", Op("mul", linear, Op("add", square, _ONE))), _ONE)
    for linear in (Op("mul", X, Const(value=math.sqrt(2 / math.pi))),)
    for square in (
        Op("mul", Op("mul", X, Const(value=0.044715)), X),
        Op("mul", Op("square", X), Const(value=0.044715)),
    )
]


def _halved(inner: Op) -> list[Op]:
    """x * inner / 2 in the orders in use."""
    half = Const(value=0.5)
    return [
        Op("mul", Op("mul", X, inner), half),
        Op("mul", X, Op("mul", inner, half)),
        Op("mul", Op("mul", X, half), inner),
    ]


PATTERNS: list[tuple[Op, Build]] = [
    (Op("mul", X, X), _op("square", "x")),
    (Op("square", Op("sub", X, Y)), _op("squared_difference", "x", "y")),
    *((pattern, _op("sigmoid", "x")) for pattern in _SIGMOIDS),
    *((pattern, _op("softplus", "x")) for pattern in _SOFTPLUSES),
    (Op("where", Op("greater", X, NUMBER), X, Op("softplus", X)), _wide_enough),
    (Op("mul", X, Op("sigmoid", X)), _op("silu", "x")),
    (Op("mul", X, Op("sigmoid", Op("mul", X, NUMBER))), _with_number("swish", "alpha", math.isfinite)),
    (Op("mul", X, Op("tanh", Op("softplus", X))), _op("mish", "x")),
    (Op("max", X, Op("mul", X, NUMBER)), _with_number("leaky_relu", "alpha", lambda number: 0.0 <= number <= 1.0)),
    *((pattern, _op("hard_swish", "x")) for pattern in _HARD_SWISHES),
    *((pattern, _op("hard_sigmoid", "x", **_HARD_SIGMOID)) for pattern in _HARD_SIGMOIDS),
    *((pattern, _op("gelu", "x", alpha=0.0)) for inner in _ERF for pattern in _halved(inner)),
    *((pattern, _op("gelu", "x", alpha=1.0)) for inner in _TANH for pattern in _halved(inner)),
    (Op("reciprocal", Op("sqrt", X)), _op("rsqrt", "x")),
    (Op("div", Const(value=1.0), Op("sqrt", X)), _op("rsqrt", "x")),
    (Op("log", Op("softmax", X, name="softmax")), _log_softmax),
]
"""A pattern and what takes its place, tried in this order."""
