"""Runs a graph over calibration data and keeps what observers, bias correction and layer reconstruction need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from ...errors import MicrolithError
from ...finite import not_finite
from ...ir import Graph, Value
from ...stepwise import Executor
from .calibration_data import CalibrationError, CalibrationSet, samples_of
from .observers import TensorStats

Progress = Callable[[str, int, int | None], None]
"""(what is done, samples so far, all samples if known)."""


def collect(
    graph: Graph, values: Iterable[Value], data: CalibrationSet, progress: Progress | None = None
) -> tuple[dict[Value, TensorStats], int]:
    """Statistics of some values over all samples, and the number of samples.

    Raises CalibrationError when a sample makes a value that is nowhere finite, and for bad data.
    """
    stats = {value: TensorStats() for value in values}
    executor = Executor(graph)
    count = 0

    def limits(value: Value, array: np.ndarray) -> None:
        if value in stats:
            stats[value].see_limits(array)

    def bins(value: Value, array: np.ndarray) -> None:
        if value in stats:
            stats[value].see_bins(array)

    states: dict[str, np.ndarray] = {}
    for feed in data:
        executor.run(feed, limits, states)
        count += samples_of(feed)
        if progress is not None:
            progress("ranges", count, None)
    for value, seen in stats.items():
        if not seen.samples:
            raise CalibrationError(
                f"'{value.name}' is never a finite number",
                where=data.where,
                hint="look for NaN or infinity in the weights, or data far from what the model was trained on",
            )
    states = {}
    done = 0
    for feed in data:
        executor.run(feed, bins, states)
        done += samples_of(feed)
        if progress is not None:
            progress("histograms", done, count)
    return stats, count


def record(graph: Graph, feeds: Iterable[Mapping[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    """The outputs of a graph for each feed."""
    executor = Executor(graph)
    states: dict[str, np.ndarray] = {}
    return [executor.run(feed, None, states) for feed in feeds]


CEILING = 120.0
"""Decibels at which two results count as equal."""


def sqnr(wanted: list[dict[str, np.ndarray]], got: list[dict[str, np.ndarray]]) -> float:
    """Signal to quantization noise in decibels: for each output over all feeds, then the mean of the outputs.

    Outputs that are no real numbers do not count; where there are no others, the share of equal elements decides.
    """
    return float(np.mean(figures_of(wanted, got)))


def figures_of(wanted: list[dict[str, np.ndarray]], got: list[dict[str, np.ndarray]]) -> list[float]:
    """What ``sqnr`` is the mean of: decibels for each output that counts."""
    figures = []
    for name in wanted[0]:
        signal = noise = 0.0
        for a, b in zip(wanted, got, strict=True):
            x = a[name].astype(np.float64)
            y = b[name].astype(np.float64)
            ok = np.isfinite(x)
            signal += float(np.sum(x[ok] ** 2))
            noise += float(np.sum(np.nan_to_num(x[ok] - y[ok], nan=1e30) ** 2))
        if wanted[0][name].dtype.kind == "f":
            figures.append(ratio(signal, noise))
    if figures:
        return figures
    same = [np.mean(a[name] == b[name]) for a, b in zip(wanted, got, strict=True) for name in a]
    return [ratio(1.0, 1.0 - float(np.mean(same)))]


def ratio(signal: float, noise: float) -> float:
    """Decibels, at most ``CEILING``."""
    if noise <= 0.0:
        return CEILING
    if signal <= 0.0:
        return -CEILING
    return float(np.clip(10.0 * np.log10(signal / noise), -CEILING, CEILING))


def require_finite_weights(graph: Graph, scheme: str) -> None:
    """Raises MicrolithError that names every constant of real numbers with NaN or infinity in it (``not_finite``)."""
    bad = [item.name for item in not_finite(graph)]
    if bad:
        more = f" and {len(bad) - 5} more" if len(bad) > 5 else ""
        raise MicrolithError(
            f"weights hold NaN or infinity: {', '.join(repr(name) for name in bad[:5])}{more}",
            hint=f"'{scheme}' would keep them or lose them, and the results with them; train or export it again",
        )
