"""A graph bound for every combination of sizes within given ranges.

What a kernel has to know of a size stands in its parameter struct, as its plan half derives it. A sweep asks the plan
halves for every combination that may occur, so that whatever is made of it (code that computes a field from the sizes,
an arena that is large enough) can be held against the truth, with nothing left over.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .binding import Binding, bind_graph
from .errors import ShapeError
from .ir import Graph, Value
from .size_ranges import SizeRange

MOST_COMBINATIONS = 16384
"""Of sizes; more are not tried out one by one."""

_MOST_STEPS = 64
"""Distances between sizes that are tried for a hint."""

MOST_WORK = 2_000_000
"""Combinations times nodes: about a minute."""


@dataclass
class Sweep:
    """The rows of every array are the combinations of sizes, the last symbol running fastest; the last row has the
    largest sizes."""

    symbols: tuple[str, ...]
    ranges: tuple[SizeRange, ...]
    binding: Binding
    """For the largest sizes."""
    params: list[np.ndarray] = field(default_factory=list)
    """For each bound node the words of its parameter struct: int32[combinations, words]."""
    shapes: dict[Value, np.ndarray] = field(default_factory=dict)
    """int64[combinations, rank]."""
    early: dict[Value, list[np.ndarray]] = field(default_factory=dict)
    """Values that are computed from sizes, for each combination."""

    @property
    def grid(self) -> tuple[int, ...]:
        """How many sizes each symbol has."""
        return tuple(item.count for item in self.ranges)

    def nbytes(self, value: Value) -> np.ndarray:
        """Bytes of a value for each combination."""
        return np.asarray(self.shapes[value].prod(axis=1) * value.dtype.size)

    def distinct(self, node: int) -> list[bytes]:
        """The parameter structs of a node, each once."""
        rows = self.params[node]
        return [row.tobytes() for row in (np.unique(rows, axis=0) if rows.shape[1] else rows[:1])]


def sweep(graph: Graph, fixed: Mapping[str, int], ranges: Mapping[str, SizeRange]) -> Sweep:
    """Binds a graph for every combination of sizes.

    Raises ShapeError that names a combination for which the graph cannot run, and with it the sizes for which it can;
    UnsupportedError as ``bind_graph`` does.
    """
    symbols = tuple(ranges)
    combinations = _combinations(graph, ranges)
    total = len(combinations)
    result = Sweep(symbols, tuple(ranges.values()), Binding())
    for row, sizes in enumerate(combinations):
        try:
            binding = bind_graph(graph, {**fixed, **dict(zip(symbols, sizes, strict=True))})
        except ShapeError as error:
            raise explained(graph, fixed, ranges, sizes, error) from error
        if row == 0:
            result.params = [np.zeros((total, len(item.params) // 4), np.int32) for item in binding.nodes]
            result.shapes = {
                value: np.zeros((total, len(type.shape)), np.int64) for value, type in binding.types.items()
            }
        for rows, item in zip(result.params, binding.nodes, strict=True):
            rows[row] = np.frombuffer(item.params, np.int32)
        for value, type in binding.types.items():
            result.shapes[value][row] = type.static_shape
        for value, data in binding.data.items():
            if not value.is_constant:
                result.early.setdefault(value, []).append(data)
        result.binding = binding
    return result


def _combinations(graph: Graph, ranges: Mapping[str, SizeRange]) -> Sequence[tuple[int, ...]]:
    count = 1
    for item in ranges.values():
        count *= item.count
    if count > MOST_COMBINATIONS or count * len(graph.nodes) > MOST_WORK:
        spelled = ", ".join(f"{name}:{item}" for name, item in ranges.items())
        most = min(MOST_COMBINATIONS, MOST_WORK // max(1, len(graph.nodes)))
        raise ShapeError(
            f"the ranges {spelled} allow {count:,} combinations of sizes; at most {most:,} are tried out one by one",
            hint="narrow the ranges, or fix one of the sizes",
        )
    return list(itertools.product(*(item.sizes for item in ranges.values())))


def explained(
    graph: Graph, fixed: Mapping[str, int], ranges: Mapping[str, SizeRange], sizes: Sequence[int], error: ShapeError
) -> ShapeError:
    """The error that a combination of sizes met, with the sizes that would do."""
    spelled = ", ".join(f"{name} = {size}" for name, size in zip(ranges, sizes, strict=True))
    what, hint = f"with {spelled} the model cannot run: {error.what}", _hint(graph, fixed, ranges)
    return ShapeError(what, where=error.where, hint=hint)


def _hint(graph: Graph, fixed: Mapping[str, int], ranges: Mapping[str, SizeRange]) -> str:
    """Ranges with which the model runs, each found with the largest of the other sizes."""
    if sum(item.count for item in ranges.values()) * len(graph.nodes) > MOST_WORK // 10:
        return "narrow the range"
    largest = {name: item.high for name, item in ranges.items()}
    found = {}
    for name, wanted in ranges.items():
        good = [size for size in wanted.sizes if _runs(graph, {**fixed, **largest, name: size})]
        if not good:
            return "no size in the range does; choose another range" if len(ranges) == 1 else "narrow the ranges"
        found[name] = _longest(good)
    smallest = {name: item.low for name, item in found.items()}
    seconds = {name: item.sizes[min(1, item.count - 1)] for name, item in found.items()}
    if not _runs(graph, {**fixed, **smallest}) or not _runs(graph, {**fixed, **seconds}):
        return "narrow the ranges"
    return " with ".join(f"{name}:{_spelled(item)}" for name, item in found.items()) + " would do"


def _spelled(sizes: SizeRange) -> str:
    return str(sizes) if sizes.count > 1 else str(sizes.low)


def _longest(sizes: Sequence[int]) -> SizeRange:
    """The most of some sizes, three at least, that end at the largest and lie at equal distances; failing these those
    in a row."""
    known, last = set(sizes), sizes[-1]
    found = None
    for step in sorted({1, *(last - size for size in sizes[-1 - _MOST_STEPS : -1])}):
        start = last
        while start - step in known:
            start -= step
        item = SizeRange(start, last, step)
        if found is None or item.count > max(found.count, 2):
            found = item
    assert found is not None
    return found


def _runs(graph: Graph, sizes: Mapping[str, int]) -> bool:
    try:
        bind_graph(graph, sizes)
    except ShapeError:
        return False
    return True
