"""The memories of generated code: arenas, sections for constants, and where a board has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import TargetError
from ..lower import Program
from ..regions import FAST, SLOW, MemoryRegion
from ..targets import Board, Region


@dataclass(frozen=True)
class ArenaView:
    """Working memory that the caller gives."""

    variable: str
    """Its name in C, and the field of an instance that points to it."""
    macro: str
    """``NAME_`` and this is the number of its bytes."""
    size: int
    lower_bound: int
    region: MemoryRegion | None = None

    @property
    def section(self) -> str:
        """``NAME_`` and this puts a variable into the region; empty where there is one memory."""
        return f"SECTION_{self.region.name.upper()}" if self.region else ""


@dataclass(frozen=True)
class ConstantRegionView:
    """A memory for constants."""

    region: MemoryRegion
    used: int

    @property
    def section(self) -> str:
        return f"SECTION_{self.region.name.upper()}"


@dataclass(frozen=True)
class MappedRegion:
    """A region in the memory of the emulated board."""

    name: str
    """Of the section and, in capitals, of the memory in the linker script."""
    origin: int
    length: int
    read_only: bool


@dataclass(frozen=True)
class BoardMap:
    """How the memory of a board is divided."""

    flash: Region
    ram: Region
    """For the program around the model."""
    regions: tuple[MappedRegion, ...] = field(default=())


def arenas_of(program: Program) -> tuple[ArenaView, ...]:
    """The arenas that a program needs, those of fast memories first."""
    if not program.regions:
        size = max(program.arena_size, 1)  # C knows no arrays of size 0
        return (ArenaView("arena", "ARENA_SIZE", size, program.arena_lower_bound),)
    used = [item for item in program.regions if item.used] or [program.regions[-1]]
    return tuple(
        ArenaView(
            f"arena_{item.region.name}",
            f"ARENA_{item.region.name.upper()}_SIZE",
            max(item.used, 1),
            item.lower_bound,
            item.region,
        )
        for item in used
    )


def variable_of(program: Program, region: int) -> str:
    """The C name of the arena of a region of a program."""
    return f"arena_{program.regions[region].region.name}" if program.regions else "arena"


def macro_of(program: Program, region: int) -> str:
    """What behind ``NAME_`` is the size of that arena."""
    return f"ARENA_{program.regions[region].region.name.upper()}_SIZE" if program.regions else "ARENA_SIZE"


def place_constants(
    sizes: Sequence[tuple[str, int, int]], regions: Sequence[MemoryRegion], alignment: int, where: str
) -> tuple[dict[str, MemoryRegion], tuple[ConstantRegionView, ...]]:
    """The region of each constant, given as (symbol, bytes, bytes that a run reads), and what each region holds.

    Those that are read most for their bytes go to the fastest memory with room; TargetError when there is none.
    """
    ranked = sorted((region for region in regions if region.read_only), key=lambda region: region.cost)
    if not ranked:
        return {}, ()
    room = {region.name: region.size for region in ranked}
    placed: dict[str, MemoryRegion] = {}
    for symbol, nbytes, _ in sorted(sizes, key=lambda item: (-item[2] / max(1, item[1]), item[0])):
        need = -(-nbytes // alignment) * alignment
        region = next((region for region in ranked if room[region.name] >= need), None)
        if region is None:
            total = sum(-(-nbytes // alignment) * alignment for _, nbytes, _ in sizes)
            have = " and ".join(f"'{region.name}' {region.size:,}" for region in ranked)
            raise TargetError(
                f"the constants take {total:,} bytes; for them there are {have}",
                where=where,
                hint="make a region larger, add one such as qspi:8M:slow, or quantize the model",
            )
        room[region.name] -= need
        placed[symbol] = region
    return placed, tuple(ConstantRegionView(region, region.size - room[region.name]) for region in ranked)


def board_map(
    board: Board, arenas: Sequence[ArenaView], constants: Sequence[ConstantRegionView], where: str
) -> BoardMap:
    """Gives regions a place on an emulated board, in memories of their own as far as it has several: arenas by turns in
    its further memories and at the end of its RAM, constants at the end of its flash. TargetError without room."""
    memories = [*board.more, board.ram]
    ends = [memory.origin + memory.length for memory in memories]
    regions = []
    for number, arena in enumerate(arena for arena in arenas if arena.region):
        assert arena.region is not None
        order = [(number + turn) % len(memories) for turn in range(len(memories))]
        need = -(-arena.size // 8) * 8
        chosen = next((index for index in order if ends[index] - need >= memories[index].origin), None)
        if chosen is None:
            raise _no_room(board, arena.region, where)
        length = min(-(-arena.region.size // 8) * 8, ends[chosen] - memories[chosen].origin)
        ends[chosen] -= length
        regions.append(MappedRegion(arena.region.name, ends[chosen], length, False))
    flash_end = board.flash.origin + board.flash.length
    for item in constants:
        need = -(-item.used // 16) * 16
        if flash_end - need < board.flash.origin:
            raise _no_room(board, item.region, where)
        flash_end -= need
        if need:
            regions.append(MappedRegion(item.region.name, flash_end, need, True))
    return BoardMap(
        Region(board.flash.origin, flash_end - board.flash.origin),
        Region(board.ram.origin, ends[-1] - board.ram.origin),
        tuple(regions),
    )


def _no_room(board: Board, region: MemoryRegion, where: str) -> TargetError:
    return TargetError(
        f"{board.machine}, on which the self-test runs, has no memory for the region '{region.name}'",
        where=where,
        hint="use smaller regions",
    )


def placement_report(
    program: Program, constants: Sequence[tuple[str, int, int]], placed: Mapping[str, MemoryRegion]
) -> tuple[Mapping[str, Any], ...]:
    """For the report: each region with what lies in it, and how many bytes of it a run reads and writes."""
    reads, writes = [0] * len(program.tensors), [0] * len(program.tensors)
    for call in program.calls:
        if call.elided:
            continue
        for index, count in zip(call.inputs, call.reads, strict=False):
            if index is not None:
                reads[index] += count
        for index in call.outputs:
            writes[index] += program.tensors[index].nbytes
    rows: list[Mapping[str, Any]] = []
    for number, item in enumerate(program.regions):
        tensors = [
            {
                "name": tensor.name,
                "offset": tensor.offset,
                "bytes": tensor.nbytes,
                "reads": reads[index],
                "writes": writes[index],
            }
            for index, tensor in enumerate(program.tensors)
            if tensor.offset is not None and tensor.region == number
        ]
        workspaces = [
            {"layer": position, "offset": call.workspace_offset, "bytes": call.workspace}
            for position, call in enumerate(program.calls)
            if call.workspace and call.workspace_region == number and not call.elided
        ]
        rows.append({**_region(item.region, item.used), "tensors": tensors, "workspaces": workspaces})
    held: dict[str, MemoryRegion] = {region.name: region for region in placed.values()}
    for region in held.values():
        own = [(symbol, nbytes, count) for symbol, nbytes, count in constants if placed[symbol] == region]
        items = [{"name": symbol, "bytes": nbytes, "reads": count} for symbol, nbytes, count in own]
        rows.append({**_region(region, sum(nbytes for _, nbytes, _ in own)), "constants": items})
    return tuple(rows)


def _region(region: MemoryRegion, used: int) -> dict[str, Any]:
    speed = {FAST: "fast", SLOW: "slow"}.get(region.cost, "usual")
    return {"name": region.name, "size": region.size, "speed": speed, "used": used}
