# SPDX-License-Identifier: Apache-2.0
"""Sizes without a name have bounds still, and questions about sizes may have one answer within all ranges."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from ...size_ranges import SizeRange
from .onnx_graph import Span

Pair = Callable[[Any, Any], Any]

LEAST_SIZE = 0
"""Of a dimension that nothing is said about."""


def bounds(item: Any, ranges: Mapping[str, SizeRange]) -> Span | None:
    """What a number, a symbol or another element of a tensor of sizes may be."""
    if isinstance(item, Span):
        return item
    if isinstance(item, int | float):
        return Span(item, item)
    if not isinstance(item, str):
        return None
    known = ranges.get(item)
    return Span(LEAST_SIZE, math.inf) if known is None else Span(known.low, known.high)


def _corners(function: Callable[[float, float], float]) -> Callable[[Span, Span], Span | None]:
    """For what grows or shrinks with each of its operands: the extremes lie at those of the operands."""

    def spanned(a: Span, b: Span) -> Span | None:
        found = [function(x, y) for x, y in itertools.product((a.low, a.high), (b.low, b.high))]
        return None if any(math.isnan(item) for item in found) else Span(min(found), max(found))

    return spanned


def _divided(a: Span, b: Span) -> Span | None:
    """Rounded or not."""
    if a.low < 0 or b.low <= 0 or math.isinf(b.low):
        return None
    high = a.high / b.low
    return Span(0.0 if math.isinf(b.high) else float(a.low // b.high), high if math.isinf(high) else math.ceil(high))


SPANS: dict[str, Callable[[Span, Span], Span | None]] = {
    "Add": _corners(operator.add),
    "Div": _divided,
    "Max": _corners(max),
    "Min": _corners(min),
    "Mul": _corners(operator.mul),
    "Sub": _corners(operator.sub),
}


def with_spans(op: str, function: Pair, ranges: Mapping[str, SizeRange]) -> Pair:
    """``function``, with bounds where it has no result."""

    def apply(a: Any, b: Any) -> Any:
        plain = (None if isinstance(item, Span) else item for item in (a, b))
        if (result := function(*plain)) is not None:
            return result
        left, right = bounds(a, ranges), bounds(b, ranges)
        return None if left is None or right is None else SPANS[op](left, right)

    return apply


def _less(a: Span, b: Span) -> bool | None:
    return True if a.high < b.low else False if a.low >= b.high else None


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _equal(a: Span, b: Span) -> bool | None:
    if a.low == a.high == b.low == b.high:
        return True
    return False if a.high < b.low or b.high < a.low else None


_QUESTIONS: dict[str, Callable[[Span, Span], bool | None]] = {
    "Equal": _equal,
    "Greater": lambda a, b: _less(b, a),
    "GreaterOrEqual": lambda a, b: _not(_less(a, b)),
    "Less": _less,
    "LessOrEqual": lambda a, b: _not(_less(b, a)),
}


def _both(a: Any, b: Any) -> Any:
    return False if a is False or b is False else True if a is True and b is True else None


def _either(a: Any, b: Any) -> Any:
    return True if a is True or b is True else False if a is False and b is False else None


def questions(ranges: Mapping[str, SizeRange]) -> dict[str, Pair]:
    """What comparisons and their combinations give for two elements, by operator; None: that depends."""

    def asked(question: Callable[[Span, Span], bool | None]) -> Pair:
        def apply(a: Any, b: Any) -> Any:
            if isinstance(a, str) and a == b:
                return question(Span(0, 0), Span(0, 0))
            left, right = bounds(a, ranges), bounds(b, ranges)
            return None if left is None or right is None else question(left, right)

        return apply

    return {**{name: asked(question) for name, question in _QUESTIONS.items()}, "And": _both, "Or": _either}
