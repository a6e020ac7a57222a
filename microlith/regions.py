"""Memories of different speed: which of a program's tensors lie where.

A chip often has a little memory beside the core and more behind a bus. What is read and written most for its bytes
should lie in the former. Each region gets an arena of its own, planned like that of a program with one memory; a tensor
lies in one of them with all that are views of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .errors import InputError, TargetError
from .nnacl_kernels import planner
from .nnacl_kernels.catalogue import ALIAS_VIEW

FAST, USUAL, SLOW = 1, 2, 4
"""What an access costs, relative to each other."""
_READ_ONLY = re.compile(r"(?:flash|rom|mram|nor|qspi|xspi|ospi|xip)\d*$", re.IGNORECASE)
_RESERVED = frozenset({"text", "rodata", "data", "bss", "stack", "heap", "vectors", "init", "fini"})
"""Names of sections that linker scripts have already."""
_MOST_PLANS = 40
"""So many single tensors are tried in a region after those that fit together."""


@dataclass(frozen=True)
class MemoryRegion:
    """A memory of a chip that code may use."""

    name: str
    """A C identifier."""
    size: int
    """Bytes."""
    cost: int = USUAL
    read_only: bool = False
    """It holds constants; any other holds activations."""
    weights: bool = False
    """What activations leave of it may hold constants, which the start-up code copies there."""


@dataclass(frozen=True)
class PlacedRegion:
    """A region that holds activations, and the arena in it."""

    region: MemoryRegion
    used: int
    lower_bound: int
    """Of the arena, for what was put there."""


@dataclass(frozen=True)
class Placement:
    """Where the tensors and the workspaces of a program lie. Regions by their number in ``regions``."""

    regions: tuple[PlacedRegion, ...]
    tensors: tuple[int, ...]
    """The region of each tensor, 0 for those outside of all."""
    offsets: tuple[int | None, ...]
    workspaces: tuple[int, ...]
    workspace_offsets: tuple[int, ...]


def parse_region(text: str, parse_size: Callable[[str, str | None], int | None]) -> MemoryRegion:
    """``dtcm:64K:fast``: name, size, and perhaps one or more of ``fast``, ``slow``, ``rom``, ``ram`` and ``weights``.

    Names such as ``flash`` and ``qspi`` are those of read-only memory unless ``ram`` stands there. InputError for
    anything else."""
    name, _, rest = text.partition(":")
    size, _, attributes = rest.partition(":")
    words = [word.strip() for word in re.split(r"[:,]", attributes) if word.strip()]
    known = {"fast", "slow", "rom", "ram", "weights"}
    hint = "NAME:SIZE, and perhaps fast, slow, rom, ram or weights behind it, such as dtcm:64K:fast"
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or name.lower() in _RESERVED:
        raise InputError(f"--region {text}: '{name}' is no name that C and the linker allow", hint=hint)
    nbytes = parse_size(f"--region {name}", size or None)
    if unknown := [word for word in words if word not in known]:
        raise InputError(f"--region {text}: '{unknown[0]}' is not known", hint=hint)
    if not nbytes:
        raise InputError(f"--region {text}: a memory has a size of at least one byte", hint=hint)
    for pair in ({"fast", "slow"}, {"rom", "ram"}):
        if pair <= set(words):
            raise InputError(f"--region {text}: it cannot be both {' and '.join(sorted(pair))}", hint=hint)
    cost = FAST if "fast" in words else SLOW if "slow" in words else USUAL
    read_only = "rom" in words or ("ram" not in words and _READ_ONLY.match(name) is not None)
    if read_only and "weights" in words:
        raise InputError(f"--region {text}: read-only memory holds constants anyway, without a copy", hint=hint)
    return MemoryRegion(name.lower(), nbytes, cost, read_only, "weights" in words)


def check_regions(regions: Sequence[MemoryRegion], addresses: int | None = None) -> None:
    """Raises InputError where names are given twice, nothing can hold activations, or there is more memory than
    ``addresses``."""
    names = [region.name for region in regions]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the region '{name}' is given twice")
    if regions and all(region.read_only for region in regions):
        raise InputError("no region can hold activations", hint="add one that can be written, such as sram:320K")
    total = sum(region.size for region in regions)
    if addresses is not None and total > addresses:
        raise InputError(f"the regions have {total:,} bytes; the target can address no more than {addresses:,}")


@dataclass
class _Item:
    """What has to lie in one region: tensors that share memory, or the workspace of a node."""

    tensors: tuple[int, ...]
    node: int
    size: int
    """Of the largest tensor."""
    most: int
    """Bytes that suffice in any case: what shares memory may still begin in different places, as carried rows do."""
    first: int
    last: int
    accesses: int


class _Placer:
    def __init__(
        self,
        tensors: Sequence[planner.PlanTensor],
        nodes: Sequence[planner.PlanNode],
        inputs: Sequence[int],
        outputs: Sequence[int],
        alignment: int,
        regions: Sequence[MemoryRegion],
    ) -> None:
        self.tensors, self.nodes = tensors, nodes
        self.inputs, self.outputs, self.alignment = inputs, outputs, alignment
        self.regions = regions
        self.plans: dict[tuple[int, frozenset[int]], planner.MemoryPlan] = {}
        self.items: list[_Item] = []

    def plan(self, region: int, chosen: frozenset[int]) -> planner.MemoryPlan:
        """The arena of a region that holds the chosen items."""
        key = (region, chosen)
        if key not in self.plans:
            held = {tensor for index in chosen for tensor in self.items[index].tensors}
            working = {self.items[index].node for index in chosen}
            nothing = planner.PlanTensor(0, planner.MEMORY_CONSTANT)
            tensors = [tensor if index in held else nothing for index, tensor in enumerate(self.tensors)]
            nodes = [
                node if index in working or not node.workspace else _without_workspace(node)
                for index, node in enumerate(self.nodes)
            ]
            self.plans[key] = planner.plan_memory(tensors, nodes, self.inputs, self.outputs, self.alignment)
        return self.plans[key]

    def fits(self, region: int, chosen: frozenset[int]) -> bool:
        if sum(self.items[index].most for index in chosen) <= self.regions[region].size:
            return True
        return self.plan(region, chosen).arena_size <= self.regions[region].size

    def collect(self, reads_and_writes: Sequence[int], workspace_accesses: Sequence[int]) -> None:
        """The items, with their lifetimes and how often they are accessed."""
        root = list(range(len(self.tensors)))

        def find(index: int) -> int:
            while root[index] != index:
                index = root[index]
            return index

        planned = [tensor.memory != planner.MEMORY_CONSTANT for tensor in self.tensors]
        for node in self.nodes:
            first = node.inputs[0] if node.inputs else None
            together: list[int | None] = []
            if (node.alias == ALIAS_VIEW or node.held >= 0) and first is not None and node.outputs:
                together = [first, node.outputs[0]]
            elif node.holds is not None and node.outputs and all(start >= 0 for start in node.holds):
                together = [*node.inputs, node.outputs[0]]
            members = [index for index in together if index is not None and planned[index]]
            for index in members[1:]:
                root[find(index)] = find(members[0])
        last_step = len(self.nodes)
        life: dict[int, list[int]] = {}
        for step, node in enumerate(self.nodes):
            for tensor in (*node.inputs, *node.outputs):
                if tensor is not None and planned[tensor]:
                    life.setdefault(find(tensor), []).append(step)
        for tensor in self.inputs:
            life.setdefault(find(tensor), []).append(0)
        for tensor in self.outputs:
            life.setdefault(find(tensor), []).append(last_step)
        for index, item in enumerate(self.tensors):
            if item.memory == planner.MEMORY_VARIABLE:
                life.setdefault(find(index), []).extend((0, last_step))
        up = self.alignment - 1
        padded = [(item.size + up) // self.alignment * self.alignment for item in self.tensors]
        for group, steps in life.items():
            if not planned[group]:
                continue
            members = [index for index in range(len(self.tensors)) if planned[index] and find(index) == group]
            accesses = sum(reads_and_writes[index] for index in members)
            size = max(self.tensors[index].size for index in members)
            most = sum(padded[index] for index in members)
            self.items.append(_Item(tuple(members), -1, size, most, min(steps), max(steps), accesses))
        for step, node in enumerate(self.nodes):
            if node.workspace:
                most = (node.workspace + up) // self.alignment * self.alignment
                self.items.append(_Item((), step, node.workspace, most, step, step, workspace_accesses[step]))

    def place(self) -> list[frozenset[int]]:
        """The items of each region, regions from fast to slow. Raises TargetError when they do not fit."""
        last = len(self.regions) - 1
        held = [frozenset[int]() for _ in self.regions]
        held[last] = frozenset(range(len(self.items)))
        while not self.fits(last, held[last]):
            self._relieve(held, last)
        for region in range(last):
            self._attract(held, region)
        return held

    def _end(self, region: int, chosen: frozenset[int], index: int) -> int:
        """Where an item of a region ends."""
        plan, item = self.plan(region, chosen), self.items[index]
        if item.node >= 0:
            return plan.workspace_offsets[item.node] + item.size
        return max((plan.offsets[tensor] or 0) + self.tensors[tensor].size for tensor in item.tensors)

    def _relieve(self, held: list[frozenset[int]], last: int) -> None:
        """Moves the largest item that is there when the last region is overfull to the slowest other one that has room
        for it."""
        room = self.regions[last].size
        for step in range(len(self.nodes) + 1):
            live = [index for index in held[last] if self.items[index].first <= step <= self.items[index].last]
            if max((self._end(last, held[last], index) for index in live), default=0) <= room:
                continue
            for index in sorted(live, key=lambda index: (-self.items[index].size, index)):
                for region in reversed(range(last)):
                    more = held[region] | {index}
                    if self.items[index].size <= self.regions[region].size and self.fits(region, more):
                        held[region], held[last] = more, held[last] - {index}
                        return
        need, least = self.plan(last, held[last]).arena_size, self.regions[last]
        where = f"the region '{least.name}'" if not last else "the regions"
        beside = " and ".join(f"'{other.name}' takes" for other in self.regions[:last])
        raise TargetError(
            f"{where} cannot hold the activations: {need:,} bytes are left for '{least.name}', which has "
            f"{least.size:,}" + (f", after what {beside}" if last else ""),
            hint="make a region larger, or run the first layers in stripes, with --ram-limit",
        )

    def _attract(self, held: list[frozenset[int]], region: int) -> None:
        """Moves from slower regions what is accessed most for its bytes: as much of the best as fits together, then
        single items."""
        slower = [index for other in held[region + 1 :] for index in other]
        ranked = sorted(slower, key=lambda index: (-self.items[index].accesses / max(1, self.items[index].size), index))
        low, high = 0, len(ranked)
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits(region, held[region] | frozenset(ranked[:middle])):
                low = middle
            else:
                high = middle - 1
        taken = held[region] | frozenset(ranked[:low])
        for index in ranked[low : low + _MOST_PLANS]:
            if self.items[index].size <= self.regions[region].size and self.fits(region, taken | {index}):
                taken |= {index}
        held[region] = taken
        for other in range(region + 1, len(held)):
            held[other] -= taken


def _without_workspace(node: planner.PlanNode) -> planner.PlanNode:
    return planner.PlanNode(node.inputs, node.outputs, node.alias, 0, node.leads, node.holds, node.held)


def place(
    tensors: Sequence[planner.PlanTensor],
    nodes: Sequence[planner.PlanNode],
    inputs: Sequence[int],
    outputs: Sequence[int],
    alignment: int,
    regions: Sequence[MemoryRegion],
    accesses: Sequence[int],
    workspace_accesses: Sequence[int],
) -> Placement:
    """Divides what ``planner.plan_memory`` would put into one arena among regions that can be written.

    ``accesses``: bytes of each tensor that a run reads and writes; ``workspace_accesses``: the same of the workspace of
    each node. Everything begins in the slowest region; what does not fit there moves on, and then each region, the
    fastest first, draws what is accessed most for its bytes. Raises TargetError when there is not enough memory.
    """
    ranked = sorted((region for region in regions if not region.read_only), key=lambda region: region.cost)
    placer = _Placer(tensors, nodes, inputs, outputs, alignment, ranked)
    placer.collect(accesses, workspace_accesses)
    held = placer.place()
    plans = [placer.plan(number, chosen) for number, chosen in enumerate(held)]
    where = [0] * len(tensors)
    working = [0] * len(nodes)
    for number, chosen in enumerate(held):
        for index in chosen:
            for tensor in placer.items[index].tensors:
                where[tensor] = number
            if placer.items[index].node >= 0:
                working[placer.items[index].node] = number
    return Placement(
        regions=tuple(
            PlacedRegion(region, plan.arena_size, plan.lower_bound) for region, plan in zip(ranked, plans, strict=True)
        ),
        tensors=tuple(where),
        offsets=tuple(plans[number].offsets[index] for index, number in enumerate(where)),
        workspaces=tuple(working),
        workspace_offsets=tuple(plans[number].workspace_offsets[index] for index, number in enumerate(working)),
    )
