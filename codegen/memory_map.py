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
    def section_name(self) -> str:
        return self.region.name if self.region else ""

    @property
    def section(self) -> str:
        """``NAME_`` and this puts a variable into the region; empty where there is one memory."""
        return f"SECTION_{self.region.name.upper()}" if self.region else ""


@dataclass(frozen=True)
class ConstantRegionView:
    """A memory that holds constants: read-only, or written once by the start-up code."""

    region: MemoryRegion
    used: int
    image: str = ""
    """Of constants that are copied: the read-only region that keeps them; empty: where the linker likes."""

    @property
    def section_name(self) -> str:
        return self.region.name if self.region.read_only else f"{self.region.name}_constants"

    @property
    def section(self) -> str:
        return f"SECTION_{self.section_name.upper()}"


@dataclass(frozen=True)
class MappedRegion:
    """A region in the memory of the emulated board."""

    name: str
    """Of the section and, in capitals, of the memory in the linker script."""
    origin: int
    length: int
    read_only: bool
    copied: str = ""
    """The section of constants that are copied into it; empty: none."""
    image: str = ""
    """The memory in the linker script that they are copied from."""


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
    sizes: Sequence[tuple[str, int, int]],
    regions: Sequence[MemoryRegion],
    arenas: Sequence[ArenaView],
    alignment: int,
    where: str,
) -> tuple[dict[str, ConstantRegionView], tuple[ConstantRegionView, ...]]:
    """The memory of each constant, given as (symbol, bytes, bytes that a run reads), and what each memory holds.

    Those that are read most for their bytes go to the fastest memory with room: read-only ones, and what ``arenas``
    leave of those that may hold copies. A constant without a place stays where the linker puts it, unless there are
    read-only regions: then that is a TargetError.
    """
    taken = {arena.region.name: -(-arena.size // 16) * 16 for arena in arenas if arena.region}
    room = {item.name: item.size - taken.get(item.name, 0) for item in regions if item.read_only or item.weights}
    ranked = sorted((item for item in regions if item.name in room), key=lambda item: (item.cost, not item.read_only))
    stored = [item for item in reversed(ranked) if item.read_only]
    image = stored[0].name if stored else ""
    chosen: dict[str, MemoryRegion] = {}
    for symbol, nbytes, _ in sorted(sizes, key=lambda item: (-item[2] / max(1, item[1]), item[0])):
        need = -(-nbytes // alignment) * alignment
        for item in ranked:
            kept = item.read_only or not image or room[image] >= need
            if room[item.name] < need or not kept:
                continue
            room[item.name] -= need
            if not item.read_only and image:
                room[image] -= need
            chosen[symbol] = item
            break
        if symbol not in chosen and stored:
            total = sum(-(-nbytes // alignment) * alignment for _, nbytes, _ in sizes)
            have = " and ".join(f"'{item.name}' {item.size:,}" for item in reversed(stored))
            raise TargetError(
                f"the constants take {total:,} bytes; for them there are {have}",
                where=where,
                hint="make a region larger, add one such as qspi:8M:slow, or quantize the model",
            )
    used = {
        item.name: sum(-(-nbytes // alignment) * alignment for symbol, nbytes, _ in sizes if chosen.get(symbol) is item)
        for item in ranked
    }
    views = {item.name: ConstantRegionView(item, used[item.name], "" if item.read_only else image) for item in ranked}
    held = tuple(view for view in views.values() if view.used or view.region.read_only)
    return {symbol: views[item.name] for symbol, item in chosen.items()}, held


def board_map(
    board: Board, arenas: Sequence[ArenaView], constants: Sequence[ConstantRegionView], where: str
) -> BoardMap:
    """Gives regions a place on an emulated board, in memories of their own as far as it has several: arenas by turns in
    its further memories and at the end of its RAM, constants at the end of its flash. TargetError without room."""
    memories = [*board.more, board.ram]
    ends = [memory.origin + memory.length for memory in memories]
    copies = {item.region.name: item for item in constants if not item.region.read_only}
    regions = []
    sizes = {arena.region: arena.size for arena in arenas if arena.region}
    sizes.update({item.region: 0 for item in copies.values() if item.region not in sizes})
    for number, (region, size) in enumerate(sizes.items()):
        copy = copies.get(region.name)
        need = -(-size // 16) * 16 + (copy.used if copy else 0)
        order = [(number + turn) % len(memories) for turn in range(len(memories))]
        chosen = next((index for index in order if ends[index] - need >= memories[index].origin), None)
        if chosen is None:
            raise _no_room(board, region, where)
        length = min(-(-region.size // 8) * 8, ends[chosen] - memories[chosen].origin)
        ends[chosen] -= length
        image = f"MODEL_{copy.image.upper()}" if copy and copy.image else "FLASH"
        section = copy.section_name if copy else ""
        regions.append(MappedRegion(region.name, ends[chosen], length, False, section, image))
    flash_end = board.flash.origin + board.flash.length
    for item in constants:
        images = sum(copy.used for copy in copies.values() if copy.image == item.region.name)
        need = -(-(item.used + images) // 16) * 16
        if not item.region.read_only or not need:
            continue
        if flash_end - need < board.flash.origin:
            raise _no_room(board, item.region, where)
        flash_end -= need
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


def arena_in_use(program: Program) -> list[int]:
    """For each call of a program, up to where the arenas hold something while it runs: bytes, all of them together."""
    end = len(program.calls)
    life: dict[int, list[int]] = {index: [0] for index in program.inputs}
    for step, call in enumerate(program.calls):
        for output in call.outputs if call.arrives else ():
            life[output] = [step]
        for index in (*call.inputs, *call.outputs):
            if index is not None:
                life.setdefault(index, []).append(step)
    for index in program.outputs:
        life.setdefault(index, []).append(end)
    for state in program.states:
        life[state.tensor] = [0, end]
    used = []
    for step, call in enumerate(program.calls):
        tops: dict[int, int] = {}
        for index, steps in life.items():
            tensor = program.tensors[index]
            if tensor.offset is not None and min(steps) <= step <= max(steps):
                tops[tensor.region] = max(tops.get(tensor.region, 0), tensor.offset + tensor.nbytes)
        if call.workspace and not call.elided:
            region = call.workspace_region
            tops[region] = max(tops.get(region, 0), call.workspace_offset + call.workspace)
        used.append(sum(tops.values()))
    return used


def placement_report(
    program: Program, constants: Sequence[tuple[str, int, int]], placed: Mapping[str, ConstantRegionView]
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
        own = _held(constants, placed, item.region)
        more = {"constants": own} if own else {}
        used = item.used + sum(entry["bytes"] for entry in own)
        rows.append({**_region(item.region, used), "tensors": tensors, "workspaces": workspaces, **more})
    for region in {view.region.name: view.region for view in placed.values() if view.region.read_only}.values():
        own = _held(constants, placed, region)
        rows.append({**_region(region, sum(entry["bytes"] for entry in own)), "constants": own})
    return tuple(rows)


def _held(
    constants: Sequence[tuple[str, int, int]], placed: Mapping[str, ConstantRegionView], region: MemoryRegion
) -> list[dict[str, Any]]:
    return [
        {"name": symbol, "bytes": nbytes, "reads": count}
        for symbol, nbytes, count in constants
        if symbol in placed and placed[symbol].region == region
    ]


def _region(region: MemoryRegion, used: int) -> dict[str, Any]:
    speed = {FAST: "fast", SLOW: "slow"}.get(region.cost, "usual")
    return {"name": region.name, "size": region.size, "speed": speed, "used": used}
