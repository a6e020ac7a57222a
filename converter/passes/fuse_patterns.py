"""Recognises activations and small formulas that exporters spell out in elementary ops."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...ir import Graph, Value
from ...rewrite import Const, Match, Op, Var, rewrite_all

X, Y = Var("x"), Var("y")
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
    (Op("mul", X, Op("sigmoid", X)), _op("silu", "x")),
    *((pattern, _op("hard_swish", "x")) for pattern in _HARD_SWISHES),
    *((pattern, _op("hard_sigmoid", "x", **_HARD_SIGMOID)) for pattern in _HARD_SIGMOIDS),
    *((pattern, _op("gelu", "x", alpha=0.0)) for inner in _ERF for pattern in _halved(inner)),
    *((pattern, _op("gelu", "x", alpha=1.0)) for inner in _TANH for pattern in _halved(inner)),
    (Op("reciprocal", Op("sqrt", X)), _op("rsqrt", "x")),
    (Op("div", Const(value=1.0), Op("sqrt", X)), _op("rsqrt", "x")),
    (Op("log", Op("softmax", X, name="softmax")), _log_softmax),
]
"""A pattern and what takes its place, tried in this order."""
