# SPDX-License-Identifier: Apache-2.0
"""What candidates are compared with: some feeds, and the outputs of the model in floating point."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from ...ir import Graph
from .calibration_data import CalibrationSet, Feed
from .labels import Labelled, labels_for, load_labels
from .options import QuantizeOptions
from .placement import WEIGHTED
from .recurrent import FIXED_FORMS
from .report import QuantReport, add_figures
from .statistics import record, sqnr

MOST_PRODUCTS = 2e9
"""Of one run over the search samples, about."""

MOST_LABELLED = 2000
"""Feeds on which accuracy is measured: one sample in 2,000 is a twentieth of a point."""

MOST_FEEDS = 256
"""On fewer, where more would cost little, a candidate wins by chance that is worse on other data."""


@dataclass(frozen=True)
class Aim:
    """Feeds and what the model makes of them."""

    feeds: list[Feed]
    wanted: list[dict[str, np.ndarray]]
    """The outputs in floating point."""
    labels: Labelled | None
    """Of the feeds, if they are known."""


def aim_of(graph: Graph, options: QuantizeOptions, data: CalibrationSet) -> Aim:
    """Labels are held against the samples here, before anything that takes long."""
    labels = None if options.labels is None else load_labels(options.labels)
    most = options.search_samples or (search_size(graph) if labels is None else MOST_LABELLED)
    feeds = list(islice(iter(data), most))
    wanted = record(graph, feeds)
    if labels is None:
        return Aim(feeds, wanted, None)
    return Aim(feeds, wanted, labels_for(labels, wanted, feeds, len(feeds) < most and options.samples is None))


def remarks_on(aim: Aim, data: CalibrationSet) -> list[str]:
    """What looks wrong about data that was read to its end, and about its labels."""
    text = None if aim.labels is None else aim.labels.remark(aim.wanted)
    return [*data.look.remarks(), *([text] if text else [])]


def tell_outcome(
    finished: Graph, aim: Aim | None, data: CalibrationSet | None, options: QuantizeOptions, report: QuantReport
) -> None:
    """Tells what became of the outputs, as far as there is data (read to its end), and what the graph costs."""
    if aim is not None and data is not None:
        report.remarks += remarks_on(aim, data)
        got = record(finished, aim.feeds)
        report.sqnr = sqnr(aim.wanted, got)
        if aim.labels is not None:
            report.float_accuracy, report.accuracy = aim.labels.accuracy(aim.wanted), aim.labels.accuracy(got)
    costs = None if options.costs is None else options.costs(finished)
    add_figures(report.layers, finished, costs)
    if costs is not None:
        report.flash, report.ram, report.instructions = costs.flash, costs.ram, costs.instructions
    report.constant_bytes = sum(value.type.nbytes for value in finished.constants())


def search_size(graph: Graph) -> int:
    """How many feeds candidates are compared on: 4 to ``MOST_FEEDS``, by the multiplications that a feed takes."""
    products = 1.0
    for node in graph.nodes:
        if node.op in WEIGHTED:
            places = [dim for dim in node.output.shape[1:-1] if isinstance(dim, int)]
            products += float(np.prod(node.input(1).type.static_shape)) * float(np.prod(places or [1]))
        elif node.op in FIXED_FORMS:
            steps = [dim for dim in node.input(0).shape[:2] if isinstance(dim, int)]
            weights = sum(float(np.prod(node.input(index).type.static_shape)) for index in (1, 2))
            products += weights * float(np.prod(steps or [1]))
    return int(np.clip(MOST_PRODUCTS / products, 4, MOST_FEEDS))
