"""A program that keeps to a limit of RAM, if need be with its first layers in stripes."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..binding import describe
from ..errors import TargetError
from ..ir import Graph, Value
from ..lower import Program, lower
from ..regions import MemoryRegion
from ..row_rules import row_prefix
from ..stripes import Arrival, can_arrive, has_channels_first, stripe, stripe_arriving
from ..targets import Target
from . import stripe_bounds, variants
from .by_rows import Arrivals
from .stack_depth import can_measure
from .view import STACK_BASE, stack_bytes

_MOST_CUTS = 6
_ROWS = (8, 4, 2, 1)
"""Of the last result, in a stripe."""
_MOST_CALLS = 1500
_MOST_STRIPES = 64
"""A concatenation puts no more than so many together."""
_MOST_EFFORT = 20_000
"""Kernel calls of all programs together that are lowered in search of the fewest bytes."""


class RamLimitError(TargetError):
    """No program keeps to the limit. ``need`` are the bytes of arena and stack of the smallest, ``stack`` those among
    them that are an estimate."""

    def __init__(self, what: str, *, where: str, hint: str, need: int, stack: int) -> None:
        super().__init__(what, where=where, hint=hint)
        self.need, self.stack = need, stack


@dataclass(frozen=True)
class Stripes:
    """What it costs that the first layers run in stripes."""

    layers: int
    """Of the model, from the first one on."""
    stripes: int
    calls: int
    """Kernel calls of the program, and as many bytes of code more as each takes."""
    more_calls: int
    copied_bytes: int
    """Rows that a run carries from stripe to stripe, or moves where a kernel wants them."""
    recomputed_macs: int
    """None: what is needed again is kept."""


def ram_bytes(program: Program) -> int:
    """Arena and stack."""
    return program.arena_size + stack_bytes(program)


@dataclass(frozen=True)
class Machine:
    """What a graph is lowered for."""

    target: Target
    regions: Sequence[MemoryRegion]
    options: Mapping[str, Any]
    """Further ones of ``lower``."""

    without: Collection[str] = ()
    """Symbols of kernels that are not taken."""
    progress: Callable[[int, int | None, str], None] | None = None
    """Told while programs in stripes are tried: how many were, of how many at most, and how few bytes they take."""

    def lowered(self, graph: Graph, *, divided: bool, without: Collection[str] = (), **more: Any) -> Program:
        """``divided``: among the regions, if there are any; else as if there were one memory. Raises TargetError when
        they cannot hold it."""
        return lower(
            graph,
            self.target.isa,
            alignment=self.target.alignment,
            overlap=True,
            regions=self.regions if divided else (),
            without={*self.without, *without},
            **self.options,
            **more,
        )


@dataclass(frozen=True)
class Fitted:
    """A program that keeps to a limit."""

    program: Program
    lowered: Callable[[Collection[str]], Program]
    """The same without some kernels."""
    stripes: Stripes | None = None
    arrivals: Arrivals | None = None


def fit(graph: Graph, machine: Machine, program: Program, limit: int, where: str) -> Fitted:
    """``program``, which is for one memory, if it keeps to ``limit`` bytes of arenas and stack and the regions hold it;
    else one in stripes that does, with as few bytes copied as can be found.
    Raises TargetError with the least that was found when none does."""
    if ram_bytes(program) <= limit:
        whole = Fitted(program, lambda without: machine.lowered(graph, divided=True, without=without))
        try:
            whole = dataclasses.replace(whole, program=whole.lowered(())) if machine.regions else whole
        except TargetError:
            pass
        else:
            if ram_bytes(whole.program) <= limit:
                return whole
    search = _Search(graph, machine, program)
    found = search.within(limit, by_rows=False)
    if found is not None:
        return search.fitted(found)
    error = search.too_small(limit, where)
    if not can_arrive(graph):
        other = search.within(limit, by_rows=True) or search.least
        least = None if other is None else ram_bytes(other.program)
        if least is not None and not (isinstance(error, RamLimitError) and least >= error.need):
            rows = f"with --input-by-rows, so that the input never lies there as a whole, {least:,} "
            needed = "would be needed" if search.within_reach is None else "would suffice"
            error.hint = f"{rows}{'suffice' if least <= limit else needed}; or {error.hint}"
    elif len(graph.inputs) == 1 and has_channels_first(graph):
        error.hint = f"with --input-layout nhwc at conversion and --input-by-rows it may fit; or {error.hint}"
    raise error


def fit_by_rows(graph: Graph, machine: Machine, program: Program, limit: int | None, where: str) -> Fitted:
    """As ``fit``, a program in stripes whose input arrives by rows; without a limit, that with the fewest bytes.
    Raises TargetError also when the input cannot."""
    if program.ranges:
        raise _cannot_arrive("its sizes have a range", where)
    if reason := can_arrive(graph):
        raise _cannot_arrive(reason, where, has_channels_first(graph))
    search = _Search(graph, machine, program)
    found = search.fewest() if limit is None else search.within(limit, by_rows=True)
    if found is None and search.least is None:
        raise _cannot_arrive("its first layers need all rows at once", where)
    if found is None:
        raise search.too_small(limit, where)
    return search.fitted(found)


def chosen(fitted: Fitted, target: Target, optimize: str, limit: int | None) -> Program:
    """The program with the kernels for ``optimize`` (``variants.py``), as far as it still fits."""

    def lowered(without: frozenset[str]) -> Program:
        try:
            other = fitted.lowered(without)
        except TargetError:  # other workspaces, for which the regions have no room
            return fitted.program
        return other if limit is None or ram_bytes(other) <= limit else fitted.program

    return variants.choose(fitted.program, target, optimize, lowered)


def _cannot_arrive(reason: str, where: str, channels_first: bool = False) -> TargetError:
    hint = "leave out --input-by-rows; it is for models with one input, read by convolutions, pools or by element"
    if channels_first:
        hint = "convert the model with --input-layout nhwc: its input then has the channels last, as cameras have them"
    return TargetError(f"the input cannot arrive by rows: {reason}", where=where, hint=hint)


def _is_quantized(value: Value) -> bool:
    """Whether the model reads an input as integers only."""
    readers = [node if node.op != "transpose" else next(iter(node.output.users), node) for node in value.users]
    return bool(readers) and all(node.op == "quantize" for node in readers)


@dataclass(frozen=True)
class _Division:
    """How a graph is put into stripes."""

    length: int
    """Layers of the prefix."""
    count: int
    """Stripes."""
    by_rows: bool
    """Whether the input arrives so."""


@dataclass(frozen=True)
class _Found:
    program: Program
    graph: Graph
    costs: Stripes
    arrivals: tuple[Arrival, ...]


class _Search:
    """Programs in stripes that were tried."""

    def __init__(self, graph: Graph, machine: Machine, program: Program) -> None:
        self.graph, self.machine, self.program = graph, machine, program
        self.prefix = row_prefix(graph)
        self.least: _Found | None = None
        """With the fewest bytes of the last search, in one memory."""
        self.within_reach: int | None = None
        """Bytes below which nothing goes that the last search has not tried; None: none of it can be the least."""
        self.tried: dict[_Division, _Found] = {}
        self.bounds: dict[_Division, int] = {}
        self.overfull: TargetError | None = None
        """What the regions said to one that would keep to the limit."""
        self.outside = {item.name for item in program.tensors if item.offset is None}
        sizes = (len(call.inputs) + len(call.outputs) for call in program.calls if call.macs)
        self.stack = STACK_BASE + 8 * max(sizes, default=0)
        """No program in stripes needs less: each layer that computes is in it."""

    @property
    def end(self) -> str:
        """Why no more of the layers can run in stripes."""
        graph, node = self.graph, self.prefix.end
        if graph.states:
            return "it keeps a state from run to run"
        if graph.ranges or any(not value.type.is_static for value in graph.inputs):
            return "its sizes have a range"
        if any(item.subgraphs for item in graph.nodes):
            return "it has branches or loops"
        return "all of its layers can run so" if node is None else f"they end at {describe(node)}, which needs all rows"

    def too_small(self, limit: int | None, where: str) -> TargetError:
        """The error when the last search has found nothing."""
        hint = "use a smaller input or fewer channels (inputs and outputs lie in the arena too)"
        if any(value.dtype.is_float and _is_quantized(value) for value in self.graph.inputs):
            hint = f"convert the model with --integer-io, so that its input takes a quarter; {hint}"
        if self.overfull is not None:
            text = "" if limit is None else f"; the limit is {limit:,}"
            return TargetError(f"even in stripes, {self.overfull.what}{text}", where=where, hint=hint)
        least, smallest = f"stripes cannot help: {self.end}", self.program
        if self.least is not None:
            smallest = min(self.least.program, self.program, key=ram_bytes)
            fewest = ram_bytes(smallest)
            least = f"the least that stripes of its first layers lead to is {fewest:,} ({self.end})"
            if self.within_reach is not None and self.within_reach < fewest:
                untried = f"those that were not tried, for there are too many, lead to {self.within_reach:,} at best"
                least = f"stripes of its first layers lead to {fewest:,}; {untried} ({self.end})"
        what = f"the model needs {ram_bytes(self.program):,} bytes of arena and stack, and {least}"
        what = what if limit is None else f"{what}; the limit is {limit:,}"
        need, stack = ram_bytes(smallest), stack_bytes(smallest)
        if limit is not None and need - stack < limit and can_measure(self.machine.target):
            hint = f"{stack:,} of them are an estimate of the stack: --measure counts what it really takes; or {hint}"
        return RamLimitError(what, where=where, hint=hint, need=need, stack=stack)

    def within(self, limit: int, *, by_rows: bool) -> _Found | None:
        """Of the coarsest stripes that keep to the limit, those that copy the fewest bytes."""
        self.least = None
        every: list[_Division] = []
        for rows in _ROWS:
            fitting = []
            divisions = self._divisions(rows, limit, by_rows)
            every += divisions
            for number, division in enumerate(divisions):
                if self._rough(division) > limit or self._bound(division) > limit:
                    continue
                self._tell(number, len(divisions))
                found = self._try(division)
                if ram_bytes(found.program) <= limit:
                    fitting.append(found)
            for found in sorted(fitting, key=lambda found: found.costs.copied_bytes):
                divided = self._divided(found)
                if divided is None:
                    continue
                if (need := ram_bytes(divided.program)) <= limit:
                    return divided
                self.overfull = TargetError(f"the arenas of the regions and the stack need {need:,} bytes")
        every += [division for rows in _ROWS for division in self._divisions(rows, 0, by_rows)]
        self.least = next(self._ascending(every), None)
        return None

    def fewest(self) -> _Found | None:
        """Of all whose input arrives by rows, the one with the fewest bytes that the regions hold."""
        every = [division for rows in _ROWS for division in self._divisions(rows, 0, by_rows=True)]
        self.least = None
        for found in self._ascending(every):
            self.least = self.least or found
            if divided := self._divided(found):
                return divided
        return None

    def _ascending(self, divisions: Sequence[_Division]) -> Iterator[_Found]:
        """The programs from few to many bytes. None is lowered before all with lower bounds below its own have been,
        and after ``_MOST_EFFORT`` none at all: then there may be better ones among those that are left out."""
        self.within_reach = None
        every = list(dict.fromkeys(divisions))
        queue = [(self._rough(division), 0, number) for number, division in enumerate(every)]
        heapq.heapify(queue)
        effort = 0
        while queue:
            need, step, number = heapq.heappop(queue)
            division = every[number]
            if step == 2:
                yield self.tried[division]
            elif step == 1 and division not in self.tried and effort > _MOST_EFFORT:
                self.within_reach = need if self.within_reach is None else self.within_reach
            elif step == 0 and division not in self.tried:
                self._tell(0, None)
                heapq.heappush(queue, (max(need, self._bound(division)), 1, number))
            else:
                self._tell(len(every) - len(queue), len(every))
                effort += 0 if division in self.tried else len(self._try(division).program.calls)
                heapq.heappush(queue, (ram_bytes(self._try(division).program), 2, number))

    def _tell(self, done: int, total: int | None) -> None:
        if self.machine.progress is not None:
            programs = [self.program, *(found.program for found in self.tried.values())]
            fewest = min(map(ram_bytes, programs))
            self.machine.progress(done, total, f"{fewest:,} bytes so far")

    def _divisions(self, rows: int, limit: int, by_rows: bool) -> list[_Division]:
        """Those whose stripes have so many rows of the last result in them."""
        divisions = []
        for length in self._cuts(limit):
            height = self.prefix.height(self.prefix.nodes[length - 1].output)
            count = min(-(-height // rows), _MOST_STRIPES)
            if count >= 2 and count * length <= _MOST_CALLS:
                divisions.append(_Division(length, count, by_rows))
        return divisions

    def _rough(self, division: _Division) -> int:
        """Bytes of arena and stack that a division needs at least, from what lies there as a whole."""
        region = set(self.prefix.nodes[: division.length])
        whole = stripe_bounds.whole_bytes(self.graph, region, by_rows=division.by_rows, outside=self.outside)
        return self.stack + whole

    def _bound(self, division: _Division) -> int:
        """The same, from the graph in stripes."""
        if division not in self.bounds:
            graph, arrivals = self._striped(division)
            pieces = {arrival.piece for arrival in arrivals}
            alignment = self.machine.target.alignment
            arena = stripe_bounds.arena_bytes(graph, alignment, arriving=pieces, outside=self.outside)
            self.bounds[division] = self.stack + arena
        return self.bounds[division]

    def _striped(self, division: _Division) -> tuple[Graph, tuple[Arrival, ...]]:
        if division.by_rows:
            return stripe_arriving(self.graph, division.length, division.count)
        return stripe(self.graph, division.length, division.count), ()

    def _try(self, division: _Division) -> _Found:
        if division not in self.tried:
            graph, arrivals = self._striped(division)
            program = self._lowered(graph, arrivals, divided=False, sizes_only=True)
            costs = _costs(program, self.program, division.length, division.count)
            self.tried[division] = _Found(program, graph, costs, arrivals)
        return self.tried[division]

    def _lowered(
        self,
        graph: Graph,
        arrivals: Sequence[Arrival],
        *,
        divided: bool,
        without: Collection[str] = (),
        sizes_only: bool = False,
    ) -> Program:
        arriving = [arrival.piece for arrival in arrivals]  # stripes stand in their order
        more: dict[str, Any] = {"reorder": False, "arriving": arriving, "sizes_only": sizes_only}
        return self.machine.lowered(graph, divided=divided, without=without, **more)

    def fitted(self, found: _Found) -> Fitted:
        """What was found, as the caller wants it."""
        arrivals = None
        if found.arrivals:
            (source,) = self.graph.inputs
            arrivals = Arrivals(source, found.arrivals, self.prefix.axes[source])

        def lowered(without: Collection[str]) -> Program:
            return self._lowered(found.graph, found.arrivals, divided=True, without=without)

        return Fitted(found.program, lowered, found.costs, arrivals)

    def _divided(self, found: _Found) -> _Found | None:
        """The same with its arena divided among the regions, if they hold it."""
        if not self.machine.regions:
            return dataclasses.replace(found, program=self._lowered(found.graph, found.arrivals, divided=True))
        room = sum(region.size for region in self.machine.regions if not region.read_only)
        need = found.program.arena_size
        try:
            if need > room:
                what = f"the regions cannot hold the activations: they have {room:,} bytes, {need:,} are needed"
                raise TargetError(what)
            program = self._lowered(found.graph, found.arrivals, divided=True)
        except TargetError as error:
            self.overfull = error
            return None
        return dataclasses.replace(found, program=program)

    def _cuts(self, limit: int) -> list[int]:
        """Lengths of the prefix worth a try: those that leave the fewest bytes to the rest of the model, and those
        behind layers whose results are smaller than what came before, if nothing in the rest is larger than the
        limit. A limit of 0: as if there were none, for the fewest bytes; then those too behind which the largest result
        of the rest is smaller."""
        nodes, longest = self.prefix.nodes, len(self.prefix.nodes)
        sizes = {}
        for length in range(min(2, max(1, longest)), longest + 1):
            region = set(nodes[:length])
            left = [
                node.output
                for node in region
                if node.output in self.graph.outputs or any(user not in region for user in node.output.users)
            ]
            sizes[length] = sum(value.type.nbytes for value in left)
        fewest = sorted(sizes, key=lambda length: (sizes[length], length))[:_MOST_CUTS]
        smaller = [length for length in sizes if sizes[length] < sizes.get(length - 1, 0)]
        rest = {}
        for length in smaller:
            region = set(nodes[:length])
            behind = (value for node in self.graph.nodes if node not in region for value in node.outputs)
            rest[length] = max((value.type.nbytes for value in behind), default=0)
        if limit:
            fitting = [length for length in smaller if rest[length] <= limit]
            return sorted({*fewest, *fitting[:_MOST_CUTS]})
        shortest: dict[int, int] = {}
        for length in smaller:
            shortest.setdefault(rest[length], length)
        return sorted({*fewest, *smaller[:_MOST_CUTS], *list(shortest.values())[:_MOST_CUTS]})


def _costs(striped: Program, program: Program, length: int, count: int) -> Stripes:
    calls = [call for call in striped.calls if not call.elided]
    return Stripes(
        layers=length,
        stripes=count,
        calls=len(calls),
        more_calls=len(calls) - sum(not call.elided for call in program.calls),
        copied_bytes=sum(
            striped.tensors[call.outputs[0]].nbytes for call in calls if call.node.op in ("slice", "concat")
        ),
        recomputed_macs=max(0, striped.macs - program.macs),
    )
