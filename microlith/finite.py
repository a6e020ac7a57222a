# SPDX-License-Identifier: Apache-2.0
"""Constants that hold NaN or infinity, which a training that diverged leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .ir import Graph

MASKED = frozenset({"add", "sub", "where", "max", "min", "fused_elementwise"})
"""Ops that masks go into: an infinite constant there is meant."""

BLOCK = 1 << 20
"""Elements that are looked at together."""


@dataclass(frozen=True)
class NotFinite:
    """A constant, one node that reads it, and how many of its elements are what."""

    name: str
    node: str
    op: str
    """The operator of the node in the original model."""
    nan: int
    infinite: int
    elements: int

    def __str__(self) -> str:
        parts = [f"{count} {what}" for count, what in ((self.nan, "NaN"), (self.infinite, "infinite")) if count]
        return f"'{self.name}' of {self.op} '{self.node}' ({' and '.join(parts)} of {self.elements} elements)"


def not_finite(graph: Graph) -> list[NotFinite]:
    """Every constant of several real numbers with NaN in it, or with infinity unless it is a mask, which ``MASKED``
    alone read."""
    found = []
    for value in graph.constants():
        data = value.data
        if data is None or data.dtype.kind != "f" or data.size <= 1:
            continue
        nan, infinite = _counts(data)
        if not nan and not infinite:
            continue
        readers = [user for user in value.users if user.op not in MASKED]
        if nan or readers:
            reader = (readers or list(value.users))[0]
            found.append(NotFinite(value.name, reader.name, reader.source, nan, infinite, data.size))
    return found


def _counts(data: np.ndarray) -> tuple[int, int]:
    """How many NaN and infinities: block by block, since weights may be larger than memory."""
    flat, nan, infinite = data.reshape(-1), 0, 0
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        if not np.isfinite(block).all():
            nan += int(np.isnan(block).sum())
            infinite += int(np.isinf(block).sum())
    return nan, infinite
