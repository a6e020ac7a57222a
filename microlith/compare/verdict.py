# SPDX-License-Identifier: Apache-2.0
"""What a comparison found, layer by layer, and thresholds on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ..errors import InputError
from .causes import Cause
from .differences import Comparison, real_range
from .matching import Match


@dataclass(frozen=True)
class LayerReport:
    """One tensor of ``b`` against its counterpart in ``a``."""

    number: int
    match: Match
    numbers: Comparison
    alone: Comparison | None
    """The layer on the reference's own numbers, where that could be told."""
    causes: Sequence[Cause]

    @property
    def name(self) -> str:
        return self.match.b.name

    def as_json(self) -> dict[str, Any]:
        """Plain data; numbers that are infinite, or that there are none of, become None."""
        n, b = self.numbers, self.match.b
        return {
            "layer": self.name,
            "reference": self.match.a.name,
            "matched_by": self.match.by,
            "op": b.op,
            "reference_op": self.match.a.op,
            "type": str(b.dtype),
            "output": b.is_output,
            "elements": n.count,
            "equal": n.equal,
            "sqnr_db": finite(n.sqnr),
            "own_sqnr_db": None if self.alone is None else finite(self.alone.sqnr),
            "cosine": n.cosine,
            "max_error": n.max_error,
            "saturation": n.saturation,
            "clipped": n.clipping,
            "not_finite": n.not_finite,
            "range": [finite(limit) for limit in n.b_range],
            "reference_range": [finite(limit) for limit in n.a_range],
            "representable": real_range(b.quant, b.dtype),
            "causes": [{"tag": cause.tag, "text": cause.text} for cause in self.causes],
        }


def finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


@dataclass(frozen=True)
class Threshold:
    """A limit on one figure of some layers, as the option that it came from says."""

    option: str
    pattern: str | None
    """Names of tensors, with ``*`` and ``?``; None: the outputs."""
    limit: float


@dataclass(frozen=True)
class Breach:
    """A layer that does not keep a threshold."""

    layer: str
    option: str
    limit: float
    value: float

    def __str__(self) -> str:
        return f"{self.layer}: {FIGURES[self.option][1]} {self.value:.4g}, {self.option} {self.limit:g}"


FIGURES = {
    "--min-sqnr": (lambda n: n.sqnr, "SQNR in dB", True),
    "--min-cosine": (lambda n: n.cosine, "cosine", True),
    "--max-error": (lambda n: n.max_error, "largest error", False),
    "--max-saturation": (lambda n: n.saturation, "saturation rate", False),
}
"""Of each option: the figure, its name, and whether it must not be smaller (else not larger)."""


LIMITS = {"--min-cosine": (-1.0, 1.0), "--max-error": (0.0, math.inf), "--max-saturation": (0.0, 1.0)}
"""Where a figure lies: a threshold outside would judge nothing."""


def parse_threshold(option: str, text: str) -> Threshold:
    """``"30"`` for the outputs, ``"NAME=30"`` for tensors by name. Raises InputError."""
    pattern, sign, number = text.rpartition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if math.isnan(limit) or (sign and not pattern):
        raise InputError(f"{option} {text}: expected a number or NAME=NUMBER", hint=f"as in {option} 'conv*=25'")
    low, high = LIMITS.get(option, (-math.inf, math.inf))
    if not low <= limit <= high:
        what = f"{low:g} or more" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise InputError(f"{option} {text}: a {FIGURES[option][1]} is {what}", hint="it would hold always, or never")
    return Threshold(option, pattern if sign else None, limit)


@dataclass(frozen=True)
class Report:
    """A whole comparison."""

    a: str
    b: str
    samples: int
    layers: Sequence[LayerReport]
    unmatched: Sequence[str]
    """Tensors of ``b`` without a counterpart that could be compared."""
    edges: Sequence[tuple[str, str]] = field(default_factory=list)
    """(from, to) between the layers of ``b``, over those without a counterpart."""
    data: str = ""
    """Where the samples came from."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why tensors of ``b`` with a counterpart are not compared, by name."""

    @property
    def outputs(self) -> list[LayerReport]:
        return [layer for layer in self.layers if layer.match.b.is_output]

    def check(self, thresholds: Sequence[Threshold]) -> list[Breach]:
        """What does not keep the thresholds. Raises InputError for a name that no layer has."""
        breaches = []
        for threshold in thresholds:
            chosen = self._chosen(threshold)
            figure, _, is_minimum = FIGURES[threshold.option]
            for layer in chosen:
                value = figure(layer.numbers)
                broken = value < threshold.limit if is_minimum else value > threshold.limit
                if broken or (layer.numbers.not_finite and not layer.numbers.equal):
                    breaches.append(Breach(layer.name, threshold.option, threshold.limit, value))
        return breaches

    def _chosen(self, threshold: Threshold) -> list[LayerReport]:
        pattern = threshold.pattern
        if pattern is None:
            return self.outputs
        names = [(layer, (layer.name, layer.match.a.name)) for layer in self.layers]
        chosen = [layer for layer, both in names if pattern in both or any(fnmatchcase(n, pattern) for n in both)]
        if not chosen:
            raise InputError(
                f"{threshold.option} {pattern}=...: no compared layer has that name",
                hint="the names stand in the table and in --json",
            )
        return chosen

    def as_json(self, breaches: Sequence[Breach] = ()) -> dict[str, Any]:
        """Plain data for --json; docs/compare.md says what the fields mean."""
        return {
            "a": self.a,
            "b": self.b,
            "data": self.data,
            "samples": self.samples,
            "passed": not breaches,
            "breaches": [
                {"layer": x.layer, "option": x.option, "limit": x.limit, "value": finite(x.value)} for x in breaches
            ],
            "layers": [layer.as_json() for layer in self.layers],
            "not_compared": list(self.unmatched),
            "left_out": dict(self.left_out),
        }
