"""From a graph to a program for one machine: kernels chosen, parameters bound, weights packed, memory planned.

The converter asks for the report, codegen prints the result. (The runtime does the same in C, with the same plan
halves and the same planner.) Nothing here computes a size itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .accesses import accesses_of_tensors, accesses_of_workspace, bytes_read
from .binding import Binding, BoundNode, bind_graph
from .errors import ShapeError, Unsupported, UnsupportedError
from .ir import Graph, Node, Quant, State, TensorType, Value
from .nnacl_kernels import catalogue, needs, planner
from .optimum import Planned
from .order import choose_order
from .regions import MemoryRegion, PlacedRegion, place
from .size_ranges import Size, SizeRange, split
from .split_views import with_slices
from .sweep import Sweep, sweep

Printed = Callable[[BoundNode, catalogue.Kernel, Sequence[bytes]], bool]


@dataclass(frozen=True)
class ProgramTensor:
    """A tensor of a program. ``offset``: bytes from the start of the arena; None for a constant."""

    name: str
    type: TensorType
    """For the largest sizes, where sizes have a range."""
    quant: Quant | None
    data: np.ndarray | None
    offset: int | None
    room: int = 0
    """Bytes that it needs for any size."""
    shapes: np.ndarray | None = None
    """int64[combinations of sizes, rank], where it does not always have the same shape."""
    variants: tuple[np.ndarray, ...] | None = None
    """What it holds for each combination of sizes, where ``data`` is not always the same."""
    region: int = 0
    """In which of the program's regions ``offset`` counts."""

    @property
    def nbytes(self) -> int:
        return max(self.room, self.type.nbytes)


@dataclass(frozen=True)
class Call:
    """One kernel call. Inputs and outputs are indices of tensors; ``packed`` replaces constant inputs by position. An
    input that the kernel does not read is None.

    ``elided``: the output is a view of memory that already holds it, so no code runs.
    """

    node: Node
    kernel: catalogue.Kernel | None
    """None for an op with subgraphs, which ``parts`` are, and where an input arrives."""
    params: bytes
    fields: Mapping[str, Any]
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    workspace: int
    workspace_offset: int
    macs: int
    packed: Mapping[int, bytes] = field(default_factory=dict)
    elided: bool = False
    variation: np.ndarray | None = None
    """int32[combinations of sizes, words of the parameter struct], where they differ."""
    parts: tuple[Program, ...] = ()
    """The subgraphs. The workspace is their arena, one at a time."""
    arrives: bool = False
    """The caller writes the output, an input of the program, at this time and not before the run."""
    workspace_region: int = 0
    reads: tuple[int, ...] = ()
    """Bytes that a run reads of each input, by ``accesses.py``."""


@dataclass(frozen=True)
class Substitute:
    """A call of another library in place of our kernel. ``kernel`` names it; ``packed`` replaces constant inputs."""

    kernel: catalogue.Kernel
    workspace: int
    packed: Mapping[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class ProgramState:
    """A tensor of a program that outlives a run. The last calls of a run write it."""

    tensor: int
    start: np.ndarray
    """What it holds before the first run."""


@dataclass(frozen=True)
class Ordering:
    """What the order of the calls is worth. Sizes in bytes."""

    given_arena_size: int
    """Of the arena in the order of the model."""
    bound: int
    """What any order needs at least at one time, with all that kernels and views may save."""
    optimal: bool
    """No order has less to keep at one time."""


@dataclass(frozen=True)
class Program:
    """A graph bound to a machine."""

    name: str
    tensors: tuple[ProgramTensor, ...]
    calls: tuple[Call, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    arena_size: int
    """Bytes of the arena: activations, inputs, outputs and workspaces."""
    arena_lower_bound: int
    """The largest set of bytes that live at one time: no plan can be smaller."""
    alignment: int
    states: tuple[ProgramState, ...] = ()
    ranges: Mapping[str, SizeRange] = field(default_factory=dict)
    """The symbols whose sizes are chosen at run time. Combinations are in the order of ``itertools.product``."""
    ordering: Ordering | None = None
    """None: the order of the model was kept without a look at others."""
    planned: Planned | None = None
    """What the memory planner was given."""
    regions: tuple[PlacedRegion, ...] = ()
    """The memories among which the arena is divided, from fast to slow; empty: there is one. ``arena_size`` is what all
    of them take."""

    @property
    def macs(self) -> int:
        return sum(call.macs for call in self.calls)

    @property
    def all_calls(self) -> Iterator[Call]:
        """Every call that runs code, those of subgraphs included."""
        for call in self.calls:
            if not call.elided:
                yield call
            for part in call.parts:
                yield from part.all_calls

    @property
    def constant_bytes(self) -> int:
        """Bytes of all constants as the kernels want them."""
        sizes: dict[object, int] = {}
        for call in self.calls:
            if call.elided:
                continue
            for position, index in enumerate(call.inputs):
                if index is None or self.tensors[index].data is None:
                    continue
                packed = call.packed.get(position)
                symbol = "" if call.kernel is None else call.kernel.symbol
                sizes[(symbol, packed) if packed is not None else index] = (
                    self.tensors[index].nbytes if packed is None else len(packed)
                )
        return sum(sizes.values()) + sum(part.constant_bytes for call in self.calls for part in call.parts)


def lower(
    graph: Graph,
    isa: Sequence[str],
    *,
    sizes: Mapping[str, Size] | None = None,
    alignment: int = 16,
    runnable: bool = False,
    overlap: bool = False,
    reorder: bool = True,
    substitute: Callable[[BoundNode, Binding], Substitute | None] | None = None,
    arriving: Sequence[Value] = (),
    regions: Sequence[MemoryRegion] = (),
    printed: Printed | None = None,
    without: Collection[str] = (),
    sizes_only: bool = False,
) -> Program:
    """Binds a finished graph to the instruction sets ``isa`` (names as in ``nnacl_isa.h``).

    ``sizes`` gives the sizes of symbols, or ranges in place of those of the graph; the arena then suffices for every
    size. With ``runnable`` only kernels that this build can run are taken. With ``overlap`` results may be written
    over inputs that nothing else needs, as far as the kernels allow when each is run as one part, and unless
    ``reorder`` is false the calls stand in another order than the nodes if that makes the arena smaller; generated
    code does so, the runtime with its threads does not. ``substitute`` says for each node, where sizes are fixed and
    outside of subgraphs, whether another library computes it; its results and workspaces then lie on nothing that is
    needed. ``arriving`` are inputs that need not be there, nor have memory, before the first node that reads them; for
    each there is a call of its own. It needs ``reorder`` false. ``regions`` divides the arena among memories; a graph
    with ranges or subgraphs cannot be divided. ``printed`` says of a node, its kernel and its parameter structs whether
    generated code has a function of its own in place of the kernel: one that goes over its tensors as that does, and
    needs no workspace. ``without`` are symbols of kernels that are not taken. ``sizes_only``: constants are not packed.
    Raises UnsupportedError with ALL nodes for which there is no kernel, or whose result has a shape that depends on
    data, and ShapeError when shapes do not fit or are not known.
    """
    used = {dim for value in graph.inputs for dim in value.shape if isinstance(dim, str)}
    fixed, ranges = split({**graph.ranges, **(sizes or {})})
    for name, size in fixed.items():
        if name in graph.ranges and size not in graph.ranges[name]:
            raise ShapeError(f"the size {size} of '{name}' is outside of its range {graph.ranges[name]}")
    ranges = {name: item for name, item in ranges.items() if name in used}
    swept = sweep(graph, fixed, ranges) if ranges else None
    binding = bind_graph(graph, fixed) if swept is None else swept.binding
    rest = (tuple(arriving), tuple(regions), printed, frozenset(without), sizes_only)
    return _lowered(
        graph,
        binding,
        _Machine(tuple(isa), alignment, runnable, overlap, overlap and reorder, substitute, *rest),
        swept,
    )


@dataclass(frozen=True)
class _Machine:
    """What a graph is bound to."""

    isa: tuple[str, ...]
    alignment: int
    runnable: bool
    overlap: bool
    reorder: bool
    substitute: Callable[[BoundNode, Binding], Substitute | None] | None = None
    arriving: tuple[Value, ...] = ()
    regions: tuple[MemoryRegion, ...] = ()
    printed: Printed | None = None
    without: frozenset[str] = frozenset()
    sizes_only: bool = False


def _lowered(graph: Graph, binding: Binding, machine: _Machine, swept: Sweep | None) -> Program:
    if machine.overlap and swept is None:
        binding = with_slices(binding, machine.alignment)
    bound, types, alignment = binding.nodes, binding.types, machine.alignment
    others = [machine.substitute(item, binding) if machine.substitute and swept is None else None for item in bound]
    chosen = [
        kernel if other is None else other.kernel
        for kernel, other in zip(_choose_kernels(binding, machine, swept), others, strict=True)
    ]
    parts = [_parts(item, machine) for item in bound]
    pieces = machine.overlap and swept is None  # where they lie does not depend on sizes

    touched = {value for item in bound for value in (*item.node.inputs, *item.node.outputs)}
    touched.update(graph.inputs, graph.results, (state.input for state in graph.states))
    states = [state for state in graph.states if state.output is not state.input]
    values = [value for value in graph.values() if value in touched]
    index_of = {value: index for index, value in enumerate(values)}
    kept = {state.input for state in graph.states}
    constants = {**binding.data, **{value: value.data for value in values if value.data is not None}}
    nbytes = {value: types.get(value, value.type).nbytes for value in values}
    if swept is not None:
        nbytes.update({value: int(swept.nbytes(value).max()) for value in values if value in swept.shapes})
    structs = [[item.params] if swept is None else swept.distinct(index) for index, item in enumerate(bound)]
    workspaces = [
        max((part.arena_size for part in inner), default=0)
        if kernel is None
        else other.workspace
        if other is not None
        else 0
        if machine.printed is not None and machine.printed(item, kernel, rows)
        else max(catalogue.workspace(kernel, params) for params in rows)
        for item, kernel, rows, inner, other in zip(bound, chosen, structs, parts, others, strict=True)
    ]
    plan_tensors = [planner.PlanTensor(nbytes[value], _memory(value, constants, kept)) for value in values]
    plan_nodes = [
        planner.PlanNode(
            tuple(None if value is None else index_of[value] for value in item.node.inputs),
            tuple(index_of[value] for value in item.node.outputs),
            _alias(item, swept),
            workspace,
            _leads(item, kernel, rows) if machine.overlap and other is None else None,
            catalogue.holds(item.node.op, item.params, len(item.node.inputs)) if pieces and kernel else None,
            catalogue.held(item.node.op, item.params) if pieces and kernel else -1,
        )
        for item, kernel, workspace, rows, other in zip(bound, chosen, workspaces, structs, others, strict=True)
    ]
    writes = [planner.PlanNode((index_of[state.output],), (index_of[state.input],)) for state in states]
    inputs = [index_of[v] for v in graph.inputs if v not in binding.data and v not in machine.arriving]
    outputs = [index_of[value] for value in graph.outputs]
    order = _schedule(bound, machine.arriving)
    steps = [planner.PlanNode((), (index_of[s],)) if isinstance(s, Value) else plan_nodes[s] for s in order]
    plan = planner.plan_memory(plan_tensors, [*steps, *writes], inputs, outputs, alignment)
    ordering = None
    if machine.reorder:
        needed = [*outputs, *(index_of[state.output] for state in states)]
        best = choose_order(plan_tensors, plan_nodes, inputs, needed, alignment)
        ordering = Ordering(plan.arena_size, best.bound, best.is_optimal)
        if best.peak < best.given_peak:
            nodes = [*(plan_nodes[position] for position in best.nodes), *writes]
            other_plan = planner.plan_memory(plan_tensors, nodes, inputs, outputs, alignment)
            if other_plan.arena_size < plan.arena_size:
                plan, order = other_plan, list(best.nodes)
            else:
                ordering = dataclasses.replace(ordering, optimal=False)
    reads = [bytes_read(item, nbytes) for item in bound]
    run = [planner.PlanNode((), (index_of[s],)) if isinstance(s, Value) else plan_nodes[s] for s in order]
    planned = Planned(tuple(plan_tensors), (*run, *writes), tuple(inputs), tuple(outputs), alignment)
    placement = None
    if machine.regions:
        working = [
            0 if isinstance(s, Value) else accesses_of_workspace(bound[s], reads[s], workspaces[s]) for s in order
        ]
        placement = place(
            plan_tensors,
            [*run, *writes],
            inputs,
            outputs,
            alignment,
            machine.regions,
            accesses_of_tensors(bound, reads, index_of, nbytes),
            [*working, *(0 for _ in writes)],
        )
    offsets = plan.offsets if placement is None else placement.offsets
    workspace_offsets = plan.workspace_offsets if placement is None else placement.workspace_offsets
    tensors = tuple(
        ProgramTensor(
            value.name,
            types.get(value, value.type),
            value.quant,
            constants.get(value),
            offsets[index],
            nbytes[value],
            *_variants(value, swept),
            0 if placement is None else placement.tensors[index],
        )
        for index, value in enumerate(values)
    )
    calls = tuple(
        _arrival(position, index_of)
        if isinstance(position, Value)
        else _call(
            bound[position],
            chosen[position],
            workspaces[position],
            workspace_offsets[step],
            index_of,
            tensors,
            parts[position],
            None if swept is None else swept.params[position],
            others[position],
            (0 if placement is None else placement.workspaces[step], tuple(reads[position])),
            machine.sizes_only,
        )
        for step, position in enumerate(order)
    ) + tuple(_assignment(state, types, index_of, machine.isa, machine.runnable) for state in states)
    return Program(
        name=graph.name,
        tensors=tensors,
        calls=calls,
        inputs=tuple(index_of[value] for value in graph.inputs),
        outputs=tuple(index_of[value] for value in graph.outputs),
        arena_size=plan.arena_size if placement is None else sum(item.used for item in placement.regions),
        arena_lower_bound=plan.lower_bound,
        alignment=alignment,
        states=tuple(ProgramState(index_of[state.input], state.start()) for state in graph.states),
        ranges={} if swept is None else dict(zip(swept.symbols, swept.ranges, strict=True)),
        ordering=ordering,
        planned=planned,
        regions=() if placement is None else placement.regions,
    )


def _schedule(bound: Sequence[BoundNode], arriving: Sequence[Value]) -> list[int | Value]:
    """The nodes by position in their order, each behind the inputs that arrive for it."""
    waiting = dict.fromkeys(arriving)
    steps: list[int | Value] = []
    for position, item in enumerate(bound):
        for value in item.node.inputs:
            if value in waiting:
                del waiting[value]
                steps.append(value)
        steps.append(position)
    return [*steps, *waiting]


def _arrival(value: Value, index_of: Mapping[Value, int]) -> Call:
    """The time at which the caller writes an input."""
    return Call(
        node=Node("input", value.name, {}, "input"),
        kernel=None,
        params=b"",
        fields={},
        inputs=(),
        outputs=(index_of[value],),
        workspace=0,
        workspace_offset=0,
        macs=0,
        arrives=True,
    )


def _leads(item: BoundNode, kernel: catalogue.Kernel | None, structs: Sequence[bytes]) -> tuple[catalogue.Lead, ...]:
    """How the inputs of a node may overlap its result, whichever of some parameter structs it has."""
    if kernel is None:
        return (catalogue.Lead(),) * len(item.node.inputs)
    leads = []
    for index in range(len(item.node.inputs)):
        found = {catalogue.lead(kernel, params, index) for params in structs}
        all_from = all(lead.kind == catalogue.LEAD_FROM for lead in found)
        common = (
            catalogue.Lead(max(lead.bytes for lead in found), catalogue.LEAD_FROM) if all_from else catalogue.Lead()
        )
        leads.append(next(iter(found)) if len(found) == 1 else common)
    return tuple(leads)


def _parts(item: BoundNode, machine: _Machine) -> tuple[Program, ...]:
    inner = dataclasses.replace(machine, substitute=None, arriving=(), regions=())
    return tuple(
        _lowered(graph, part, inner, None) for graph, part in zip(item.node.subgraphs, item.parts, strict=True)
    )


def _alias(item: BoundNode, swept: Sweep | None) -> int:
    """How a node may share memory. In place needs equal sizes, and not for the largest ones only."""
    if item.node.subgraphs:
        return catalogue.ALIAS_NONE
    alias = catalogue.ops()[item.node.op].alias
    if swept is None or alias != catalogue.ALIAS_IN_PLACE:
        return alias
    before, after = item.node.inputs[0], item.node.outputs[0]
    same = before is not None and np.array_equal(swept.nbytes(before), swept.nbytes(after))
    return alias if same else catalogue.ALIAS_NONE


def _variants(value: Value, swept: Sweep | None) -> tuple[np.ndarray | None, tuple[np.ndarray, ...] | None]:
    """The shapes and the contents of a value for each combination of sizes, where they differ."""
    if swept is None or value not in swept.shapes:
        return None, None
    shapes = swept.shapes[value]
    arrays = swept.early.get(value, [])
    differs = any(array.tobytes() != arrays[0].tobytes() for array in arrays)
    return (shapes if (shapes != shapes[0]).any() else None), (tuple(arrays) if differs else None)


def _memory(value: Value, constants: Mapping[Value, np.ndarray], kept: set[Value]) -> int:
    if value in kept:
        return planner.MEMORY_VARIABLE
    return planner.MEMORY_CONSTANT if value in constants else planner.MEMORY_ARENA


def _assignment(
    state: State, types: Mapping[Value, TensorType], index_of: Mapping[Value, int], isa: Sequence[str], runnable: bool
) -> Call:
    """The call that writes a state at the end of a run."""
    type = types[state.input]
    attrs = {"shape": type.static_shape, "rank": len(type.shape), "allow_zero": 1}
    params, _ = catalogue.make_params("reshape", attrs, [catalogue.Tensor(type.dtype.value, type.static_shape)])
    kernel = catalogue.find_kernel("reshape", type.dtype.value, params, [*isa, "c"], runnable=runnable)
    assert kernel is not None
    return Call(
        node=Node("reshape", state.input.name, attrs, "state"),
        kernel=kernel,
        params=params,
        fields=catalogue.read_params("reshape", params),
        inputs=(index_of[state.output],),
        outputs=(index_of[state.input],),
        workspace=0,
        workspace_offset=0,
        macs=0,
    )


def _serves(kernel: catalogue.Kernel, item: BoundNode, binding: Binding) -> bool:
    """Whether every input that the kernel wants in its own layout is a constant, which can be brought into it."""
    return not any(
        value is not None and value not in binding.data and catalogue.packed_size(kernel, item.params, index)
        for index, value in enumerate(item.node.inputs)
    ) and needs.suits(kernel, item.params, [None if v is None else binding.data.get(v) for v in item.node.inputs])


def _choose_kernels(binding: Binding, machine: _Machine, swept: Sweep | None) -> list[catalogue.Kernel | None]:
    chosen: list[catalogue.Kernel | None] = []
    missing: list[Unsupported] = []
    for position, item in enumerate(binding.nodes):
        if item.node.subgraphs:
            chosen.append(None)
            if swept is not None:
                reason = "it runs a subgraph, in a model whose sizes have a range"
                missing.append(Unsupported(item.node.name, item.node.source, reason, "fix the sizes"))
            continue
        kernel = _choose_kernel(item, binding, machine, [item.params] if swept is None else swept.distinct(position))
        chosen.append(kernel)
        if kernel is None:
            dtype = binding.types[item.node.input(0)].dtype
            reason = f"no {item.node.op} kernel for {dtype.name} among {', '.join(machine.isa)}"
            hint = "convert the model with another element type; 'microlith ops' lists the kernels"
            missing.append(Unsupported(item.node.name, item.node.source, reason, hint))
    if missing:
        raise UnsupportedError(missing)
    return chosen


def _choose_kernel(
    item: BoundNode, binding: Binding, machine: _Machine, structs: Sequence[bytes]
) -> catalogue.Kernel | None:
    """The best kernel that accepts all of some parameter structs of a node."""
    dtype = binding.types[item.node.input(0)].dtype.value
    for kernel in catalogue.candidates(item.node.op, dtype, machine.isa, runnable=machine.runnable):
        wanted = kernel.symbol not in machine.without and _serves(kernel, item, binding)
        if wanted and all(catalogue.accepts(kernel, params) for params in structs):
            return kernel
    return None


def _is_elsewhere(kernel: catalogue.Kernel, params: bytes, index: int) -> bool:
    """Whether a kernel does not read an input because another holds what it says."""
    return catalogue.packed_size(kernel, params, index) == catalogue.PACKED_ELSEWHERE


def _is_elided(item: BoundNode, starts: Sequence[int | None], result: int | None, *, fixed: bool) -> bool:
    """Whether the output lies where its content is already. ``starts``: where the inputs lie; ``fixed``: all sizes are
    known."""
    op = item.node.op
    first = starts[0] if starts else None
    if first is None or result is None:
        return False
    if catalogue.ops()[op].alias == catalogue.ALIAS_VIEW:
        return first == result
    if not fixed:
        return False
    if (held := catalogue.held(op, item.params)) >= 0:
        return result == first + held
    offsets = catalogue.holds(op, item.params, len(starts))
    return offsets is not None and all(start == result + offset for start, offset in zip(starts, offsets, strict=True))


def _start(tensor: ProgramTensor) -> int | None:
    """Where a tensor lies, as one number for all regions."""
    return None if tensor.offset is None else (tensor.region << 48) + tensor.offset


def _call(
    item: BoundNode,
    kernel: catalogue.Kernel | None,
    workspace: int,
    workspace_offset: int,
    index_of: Mapping[Value, int],
    tensors: Sequence[ProgramTensor],
    parts: tuple[Program, ...],
    words: np.ndarray | None,
    other: Substitute | None,
    placed: tuple[int, tuple[int, ...]],
    sizes_only: bool,
) -> Call:
    node = item.node
    outputs = tuple(index_of[value] for value in node.outputs)
    if kernel is None:
        inner = [part.macs for part in parts]
        return Call(
            node=node,
            kernel=None,
            params=b"",
            fields=node.attrs if item.iterations is None else {**node.attrs, "iterations": item.iterations},
            inputs=tuple(None if value is None else index_of[value] for value in node.inputs),
            outputs=outputs,
            workspace=workspace,
            workspace_offset=workspace_offset,
            macs=max(inner) * (1 if item.iterations is None else item.iterations),
            parts=parts,
        )
    arrays = [None if value is None else tensors[index_of[value]].data for value in node.inputs]
    packed = {} if other is None else dict(other.packed)
    for index, array in enumerate(arrays if other is None and not sizes_only else ()):
        if array is not None and (data := catalogue.pack(kernel, item.params, index, arrays)) is not None:
            packed[index] = data[: needs.used_bytes(kernel, data)] if index == 1 else data
    inputs = tuple(
        None if value is None or (other is None and _is_elsewhere(kernel, item.params, index)) else index_of[value]
        for index, value in enumerate(node.inputs)
    )
    starts = [None if index is None else _start(tensors[index]) for index in inputs]
    return Call(
        node=node,
        kernel=kernel,
        params=item.params,
        fields=catalogue.read_params(node.op, item.params),
        inputs=inputs,
        outputs=outputs,
        workspace=workspace,
        workspace_offset=workspace_offset,
        macs=catalogue.macs(node.op, item.params),
        packed=packed,
        elided=_is_elided(item, starts, _start(tensors[outputs[0]]), fixed=words is None),
        variation=words if words is not None and (words != words[-1]).any() else None,
        workspace_region=placed[0],
        reads=placed[1],
    )
