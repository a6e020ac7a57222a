"""A program that keeps to a limit of RAM, if need be with its first layers in stripes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import TargetError
from ..ir import Graph
from ..lower import Program, lower
from ..stripes import prefix_length, stripe
from ..targets import Target
from .view import stack_bytes

_MOST_CUTS = 6
_MOST_CALLS = 1500


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
    least, best = program, None
    cuts = _cuts(graph)
    for rows in (8, 4, 2, 1):
        for length in cuts:
            height = graph.nodes[length - 1].output.type.static_shape[1]
            count = -(-height // rows)
            if count < 2 or count * length > _MOST_CALLS:
                continue
            striped = lower(
                stripe(graph, length, count),
                target.isa,
                alignment=target.alignment,
                overlap=True,
                reorder=False,  # the stripes stand in theirs
                **options,
            )
            least = striped if striped.arena_size < least.arena_size else least
            found = _costs(striped, program, length, count)
            if ram_bytes(striped) <= limit and (best is None or found.copied_bytes < best[1].copied_bytes):
                best = striped, found
        if best is not None:
            return best
    raise TargetError(
        f"the model needs {ram_bytes(program):,} bytes of arena and stack, and the least that stripes of its first "
        f"layers lead to is {ram_bytes(least):,}; the limit is {limit:,}",
        where=where,
        hint="its inputs and outputs lie in the arena too; use a smaller input or fewer channels",
    )


def _cuts(graph: Graph) -> list[int]:
    """Lengths of the prefix worth a try: those that leave the fewest bytes to the rest of the model."""
    sizes = {}
    for length in range(2, prefix_length(graph) + 1):
        region = set(graph.nodes[:length])
        left = [
            node.output
            for node in region
            if node.output in graph.outputs or any(user not in region for user in node.output.users)
        ]
        sizes[length] = sum(value.type.nbytes for value in left)
    return sorted(sorted(sizes, key=lambda length: (sizes[length], length))[:_MOST_CUTS])


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
