# SPDX-License-Identifier: Apache-2.0
"""Where the boxes of a graph and the points of a histogram stand, in the units of an SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .differences import Histogram, real_range
from .verdict import LayerReport, Report

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 190, 40, 22, 26, 16
GRADES = ((40.0, "good"), (25.0, "fair"), (10.0, "weak"))
"""From how many dB a layer counts as what; the rest is ``bad``."""


def grade(layer: LayerReport) -> str:
    """``equal``, ``good``, ``fair``, ``weak`` or ``bad``: the colour of a layer. It is also told in words."""
    if layer.numbers.equal:
        return "equal"
    return next((name for limit, name in GRADES if layer.numbers.sqnr >= limit), "bad")


@dataclass(frozen=True)
class Box:
    layer: LayerReport
    x: int
    y: int


@dataclass(frozen=True)
class Drawing:
    """A graph from top to bottom: each layer in a row below all that it reads."""

    width: int
    height: int
    boxes: Sequence[Box]
    lines: Sequence[str]
    """Path data."""


def draw_graph(report: Report) -> Drawing:
    """Rows by the longest way from the inputs; in a row each layer as near to what it reads as there is room."""
    sources: dict[str, list[str]] = {layer.name: [] for layer in report.layers}
    for source, target in report.edges:
        sources[target].append(source)
    row: dict[str, int] = {}
    column: dict[str, int] = {}
    taken: set[tuple[int, int]] = set()
    for layer in report.layers:  # they stand in an order in which they run
        before = [name for name in sources[layer.name] if name in row]
        row[layer.name] = 1 + max((row[name] for name in before), default=-1)
        wanted = round(sum(column[name] for name in before) / len(before)) if before else 0
        while (row[layer.name], wanted) in taken:
            wanted += 1
        column[layer.name] = wanted
        taken.add((row[layer.name], wanted))
    boxes = {
        layer.name: Box(
            layer,
            MARGIN + column[layer.name] * (BOX_WIDTH + GAP_X),
            MARGIN + row[layer.name] * (BOX_HEIGHT + GAP_Y),
        )
        for layer in report.layers
    }
    lines = [_line(boxes[source], boxes[target]) for source, target in report.edges if row[source] < row[target]]
    width = 2 * MARGIN + (1 + max(column.values(), default=0)) * (BOX_WIDTH + GAP_X) - GAP_X
    height = 2 * MARGIN + (1 + max(row.values(), default=0)) * (BOX_HEIGHT + GAP_Y) - GAP_Y
    return Drawing(width, height, list(boxes.values()), lines)


def _line(source: Box, target: Box) -> str:
    x1, y1 = source.x + BOX_WIDTH // 2, source.y + BOX_HEIGHT
    x2, y2 = target.x + BOX_WIDTH // 2, target.y
    if x1 == x2 and y2 - y1 <= GAP_Y:
        return f"M{x1} {y1}V{y2}"
    side = x1 + BOX_WIDTH // 2 + GAP_X // 2 if x1 == x2 else x2
    return f"M{x1} {y1}C{side} {y1 + GAP_Y} {side} {y2 - GAP_Y} {x2} {y2}"


@dataclass(frozen=True)
class Curves:
    """Two histograms over one axis, as points of polylines in a box of 260 x 90."""

    a: str
    b: str
    low: str
    high: str
    limits: Sequence[float]
    """Where the range of the integers of ``b`` ends, as far as it lies in the box."""


PLOT_WIDTH, PLOT_HEIGHT = 260, 90


def draw_histograms(layer: LayerReport) -> Curves | None:
    """The numbers of both models; heights are square roots, so that rare ones can be seen. None: there are none."""
    numbers = layer.numbers
    if numbers.count == 0:
        return None
    histogram = numbers.a_histogram
    low, high = histogram.low, histogram.high
    most = max(1, int(numbers.a_histogram.counts.max()), int(numbers.b_histogram.counts.max()))
    representable = real_range(layer.match.b.quant, layer.match.b.dtype) or ()
    return Curves(
        _points(numbers.a_histogram, most),
        _points(numbers.b_histogram, most),
        f"{low:.4g}",
        f"{high:.4g}",
        [round((x - low) / (high - low) * PLOT_WIDTH, 1) for x in representable if low < x < high],
    )


def _points(histogram: Histogram, most: int) -> str:
    step = PLOT_WIDTH / len(histogram.counts)
    parts = ["0,90"]
    for index, count in enumerate(histogram.counts.tolist()):
        y = PLOT_HEIGHT * (1 - math.sqrt(count / most))
        parts += [f"{index * step:.0f},{y:.0f}", f"{(index + 1) * step:.0f},{y:.0f}"]
    return " ".join([*parts, f"{PLOT_WIDTH},90"])
