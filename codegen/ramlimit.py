"""A program that keeps to a limit of RAM, if need be with its first layers in stripes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..binding import describe
from ..errors import TargetError
from ..ir import Graph, Value
from ..lower import Program, lower
from ..row_rules import row_prefix
from ..stripes import Arrival, can_arrive, has_channels_first, stripe, stripe_arriving
from ..targets import Target
from .by_rows import Arrivals
from .view import stack_bytes

_MOST_CUTS = 6
_MOST_CALLS = 1500
_MOST_STRIPES = 64
"""A concatenation puts no more than so many together."""


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


def fit(
    graph: Graph, target: Target, program: Program, limit: int, where: str, **options: Any
) -> tuple[Program, Stripes | None]:
    """``program`` if it keeps to ``limit`` bytes of arena and stack, else one in stripes that does, with as few bytes
    copied as can be found. ``options`` are those of ``lower``.
    Raises TargetError with the least that was found when none does."""
    if ram_bytes(program) <= limit:
        return program, None
    search = _Search(graph, target, program, options)
    found = search.within(limit, by_rows=False)
    if found is not None:
        return found.program, found.costs
    error = _too_small(program, search, limit, where)
    if not can_arrive(graph) and (other := search.within(limit, by_rows=True) or search.least) is not None:
        rows = f"with --input-by-rows, so that the input never lies there as a whole, {ram_bytes(other.program):,} "
        error.hint = f"{rows}{'suffice' if ram_bytes(other.program) <= limit else 'would be needed'}; or {error.hint}"
    elif len(graph.inputs) == 1 and has_channels_first(graph):
        error.hint = f"with --input-layout nhwc at conversion and --input-by-rows it may fit; or {error.hint}"
    raise error


def fit_by_rows(
    graph: Graph, target: Target, program: Program, limit: int | None, where: str, **options: Any
) -> tuple[Program, Stripes, Arrivals]:
    """As ``fit``, a program in stripes whose input arrives by rows; without a limit, that with the fewest bytes.
    Raises TargetError also when the input cannot."""
    if program.ranges:
        raise _cannot_arrive("its sizes have a range", where)
    if reason := can_arrive(graph):
        raise _cannot_arrive(reason, where, has_channels_first(graph))
    search = _Search(graph, target, program, options)
    found = search.within(limit or 0, by_rows=True)
    if limit is None:
        found = search.least
    if found is None and search.least is None:
        raise _cannot_arrive("its first layers need all rows at once", where)
    if found is None:
        assert limit is not None
        raise _too_small(program, search, limit, where)
    source = graph.inputs[0]
    return found.program, found.costs, Arrivals(source, found.arrivals, search.prefix.axes[source])


def _cannot_arrive(reason: str, where: str, channels_first: bool = False) -> TargetError:
    hint = "leave out --input-by-rows; it is for models with one input, read by convolutions, pools or by element"
    if channels_first:
        hint = "convert the model with --input-layout nhwc: its input then has the channels last, as cameras have them"
    return TargetError(f"the input cannot arrive by rows: {reason}", where=where, hint=hint)


def _too_small(program: Program, search: _Search, limit: int, where: str) -> TargetError:
    """``search``: what was tried last."""
    need = f"the model needs {ram_bytes(program):,} bytes of arena and stack, and "
    least = f"stripes cannot help: {search.end}"
    if search.least is not None:
        fewest = min(ram_bytes(search.least.program), ram_bytes(program))
        least = f"the least that stripes of its first layers lead to is {fewest:,} ({search.end})"
    hint = "use a smaller input or fewer channels (inputs and outputs lie in the arena too)"
    if any(value.dtype.is_float and _is_quantized(value) for value in search.graph.inputs):
        hint = f"convert the model with --integer-io, so that its input takes a quarter; {hint}"
    return TargetError(f"{need}{least}; the limit is {limit:,}", where=where, hint=hint)


def _is_quantized(value: Value) -> bool:
    """Whether the model reads an input as integers only."""
    readers = [node if node.op != "transpose" else next(iter(node.output.users), node) for node in value.users]
    return bool(readers) and all(node.op == "quantize" for node in readers)


@dataclass(frozen=True)
class _Found:
    program: Program
    costs: Stripes
    arrivals: tuple[Arrival, ...]


class _Search:
    """Programs in stripes that were tried."""

    def __init__(self, graph: Graph, target: Target, program: Program, options: Mapping[str, Any]) -> None:
        self.graph, self.target, self.program, self.options = graph, target, program, options
        self.prefix = row_prefix(graph)
        self.least: _Found | None = None
        """With the fewest bytes of the last search."""

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

    def within(self, limit: int, *, by_rows: bool) -> _Found | None:
        """Of the coarsest stripes that keep to the limit, those that copy the fewest bytes."""
        best: _Found | None = None
        self.least = None
        for rows in (8, 4, 2, 1):
            for length in self._cuts(limit):
                height = self.prefix.height(self.prefix.nodes[length - 1].output)
                count = min(-(-height // rows), _MOST_STRIPES)
                if count < 2 or count * length > _MOST_CALLS:
                    continue
                found = self._try(length, count, by_rows)
                size = ram_bytes(found.program)
                if self.least is None or size < ram_bytes(self.least.program):
                    self.least = found
                if size <= limit and (best is None or found.costs.copied_bytes < best.costs.copied_bytes):
                    best = found
            if best is not None:
                break
        return best

    def _try(self, length: int, count: int, by_rows: bool) -> _Found:
        if by_rows:
            graph, arrivals = stripe_arriving(self.graph, length, count)
        else:
            graph, arrivals = stripe(self.graph, length, count), ()
        striped = lower(
            graph,
            self.target.isa,
            alignment=self.target.alignment,
            overlap=True,
            reorder=False,  # the stripes stand in theirs
            arriving=[arrival.piece for arrival in arrivals],
            **self.options,
        )
        return _Found(striped, _costs(striped, self.program, length, count), arrivals)

    def _cuts(self, limit: int) -> list[int]:
        """Lengths of the prefix worth a try: those that leave the fewest bytes to the rest of the model, and those
        behind layers whose results are smaller than what came before, if nothing in the rest is larger than the
        limit."""
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
        rest = {
            length: max(
                (
                    value.type.nbytes
                    for node in self.graph.nodes
                    if node not in nodes[:length]
                    for value in node.outputs
                ),
                default=0,
            )
            for length in smaller
        }
        fitting = [length for length in smaller if not limit or rest[length] <= limit]
        return sorted({*fewest, *fitting[:_MOST_CUTS]})


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
