# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file that needs nothing else: no network, no framework, and no script to be read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import jinja2

from ..version import __version__
from .differences import real_range
from .drawing import BOX_HEIGHT, BOX_WIDTH, draw_graph, draw_histograms, grade
from .verdict import Breach, Report


def render(report: Report, breaches: Sequence[Breach] = ()) -> bytes:
    """The page, UTF-8. The same report gives the same bytes."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"decibels": decibels, "percent": percent, "number": number, "order": order, "short": short}
    template = environment.get_template("page.html.j2")
    text = template.render(
        report=report,
        breaches=breaches,
        drawing=draw_graph(report),
        box_width=BOX_WIDTH,
        box_height=BOX_HEIGHT,
        grade=grade,
        histograms=draw_histograms,
        representable=lambda layer: real_range(layer.match.b.quant, layer.match.b.dtype),
        version=__version__,
    )
    return text.encode("utf-8")


def decibels(value: float | None) -> str:
    """``31.5``; ``equal`` where there is no noise."""
    if value is None:
        return ""
    return f"{value:.1f}" if math.isfinite(value) else ("equal" if value > 0 else "no signal")


def percent(part: float) -> str:
    return "0" if part == 0 else f"{100 * part:.2g} %"


def number(value: float) -> str:
    return f"{value:.4g}"


def order(value: float | None) -> str:
    """What a column is sorted by."""
    if value is None or math.isnan(value):
        return ""
    return "1e999" if value == math.inf else "-1e999" if value == -math.inf else repr(float(value))


def short(name: str, most: int = 24) -> str:
    """The end of a long name."""
    return name if len(name) <= most else "…" + name[-most + 1 :]
