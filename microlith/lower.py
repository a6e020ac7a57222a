"""From a graph to a program for one machine: kernels chosen, parameters bound, weights packed, memory planned.

The converter asks for the report, codegen prints the result. (The runtime does the same in C, with the same plan
halves and the same planner.) Nothing here computes a size itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .binding import Binding, BoundNode, bind_graph
from .errors import Unsupported, UnsupportedError
from .ir import Graph, Node, Quant, State, TensorType, Value
from .nnacl_kernels import catalogue, planner


@dataclass(frozen=True)
class ProgramTensor:
    """A tensor of a program. ``offset``: bytes from the start of the arena; None for a constant."""

    name: str
    type: TensorType
    quant: Quant | None
    data: np.ndarray | None
    offset: int | None

    @property
    def nbytes(self) -> int:
        return self.type.nbytes


@dataclass(frozen=True)
class Call:
    """One kernel call. Inputs and outputs are indices of tensors; ``packed`` replaces constant inputs by position. An
    input that the kernel does not read is None.

    ``elided``: the output is a view of memory that already holds it, so no code runs.
    """

    node: Node
    kernel: catalogue.Kernel
    params: bytes
    fields: Mapping[str, Any]
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    workspace: int
    workspace_offset: int
    macs: int
    packed: Mapping[int, bytes] = field(default_factory=dict)
    elided: bool = False


@dataclass(frozen=True)
class ProgramState:
    """A tensor of a program that outlives a run. The last calls of a run write it."""

    tensor: int
    start: np.ndarray
    """What it holds before the first run."""


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

    @property
    def macs(self) -> int:
        return sum(call.macs for call in self.calls)

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
                sizes[(call.kernel.symbol, packed) if packed is not None else index] = (
                    self.tensors[index].nbytes if packed is None else len(packed)
                )
        return sum(sizes.values())


def lower(
    graph: Graph,
    isa: Sequence[str],
    *,
    sizes: Mapping[str, int] | None = None,
    alignment: int = 16,
    runnable: bool = False,
    overlap: bool = False,
) -> Program:
    """Binds a finished graph to the instruction sets ``isa`` (names as in ``nnacl_isa.h``).

    ``sizes`` gives the sizes of symbols. With ``runnable`` only kernels that this build can run are taken. With
    ``overlap`` results may be written over inputs that nothing else needs, as far as the kernels allow when each is run
    as one part; generated code does so, the runtime with its threads does not. Raises
    UnsupportedError with ALL nodes for which there is no kernel, or whose result has a shape that depends on data, and
    ShapeError when shapes do not fit or are not known.
    """
    binding = bind_graph(graph, sizes)
    bound, types = binding.nodes, binding.types
    chosen = _choose_kernels(binding, isa, runnable)

    touched = {value for item in bound for value in (*item.node.inputs, *item.node.outputs)}
    touched.update(graph.inputs, graph.results, (state.input for state in graph.states))
    states = [state for state in graph.states if state.output is not state.input]
    values = [value for value in graph.values() if value in touched]
    index_of = {value: index for index, value in enumerate(values)}
    kept = {state.input for state in graph.states}
    constants = {**binding.data, **{value: value.data for value in values if value.data is not None}}
    workspaces = [catalogue.workspace(kernel, item.params) for item, kernel in zip(bound, chosen, strict=True)]
    plan = planner.plan_memory(
        [
            planner.PlanTensor(
                types[value].nbytes if value in types else value.type.nbytes,
                _memory(value, constants, kept),
            )
            for value in values
        ],
        [
            planner.PlanNode(
                tuple(None if value is None else index_of[value] for value in item.node.inputs),
                tuple(index_of[value] for value in item.node.outputs),
                catalogue.ops()[item.node.op].alias,
                workspace,
                _leads(item, kernel) if overlap else None,
            )
            for item, kernel, workspace in zip(bound, chosen, workspaces, strict=True)
        ]
        + [planner.PlanNode((index_of[state.output],), (index_of[state.input],)) for state in states],
        [index_of[value] for value in graph.inputs],
        [index_of[value] for value in graph.outputs],
        alignment,
    )
    tensors = tuple(
        ProgramTensor(value.name, types.get(value, value.type), value.quant, constants.get(value), plan.offsets[index])
        for index, value in enumerate(values)
    )
    calls = tuple(
        _call(item, kernel, workspaces[position], plan, position, index_of, tensors)
        for position, (item, kernel) in enumerate(zip(bound, chosen, strict=True))
    ) + tuple(_assignment(state, types, index_of, isa, runnable) for state in states)
    return Program(
        name=graph.name,
        tensors=tensors,
        calls=calls,
        inputs=tuple(index_of[value] for value in graph.inputs),
        outputs=tuple(index_of[value] for value in graph.outputs),
        arena_size=plan.arena_size,
        arena_lower_bound=plan.lower_bound,
        alignment=alignment,
        states=tuple(ProgramState(index_of[state.input], state.start()) for state in graph.states),
    )


def _leads(item: BoundNode, kernel: catalogue.Kernel) -> tuple[catalogue.Lead, ...]:
    return tuple(catalogue.lead(kernel, item.params, index) for index in range(len(item.node.inputs)))


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
    )


def _choose_kernels(binding: Binding, isa: Sequence[str], runnable: bool) -> list[catalogue.Kernel]:
    chosen: list[catalogue.Kernel] = []
    missing: list[Unsupported] = []
    for item in binding.nodes:
        dtype = binding.types[item.node.input(0)].dtype
        allowed = list(isa)
        kernel = catalogue.find_kernel(item.node.op, dtype.value, item.params, allowed, runnable=runnable)
        while kernel is not None and not _serves(kernel, item, binding):
            allowed.remove(kernel.isa)
            kernel = catalogue.find_kernel(item.node.op, dtype.value, item.params, allowed, runnable=runnable)
        if kernel is None:
            reason = f"no {item.node.op} kernel for {dtype.name} among {', '.join(isa)}"
            hint = "convert the model with another element type; 'microlith ops' lists the kernels"
            missing.append(Unsupported(item.node.name, item.node.source, reason, hint))
        else:
            chosen.append(kernel)
    if missing:
        raise UnsupportedError(missing)
    return chosen


def _is_elsewhere(kernel: catalogue.Kernel, params: bytes, index: int) -> bool:
    """Whether a kernel does not read an input because another holds what it says."""
    return catalogue.packed_size(kernel, params, index) == catalogue.PACKED_ELSEWHERE


def _call(
    item: BoundNode,
    kernel: catalogue.Kernel,
    workspace: int,
    plan: planner.MemoryPlan,
    position: int,
    index_of: Mapping[Value, int],
    tensors: Sequence[ProgramTensor],
) -> Call:
    node = item.node
    arrays = [None if value is None else tensors[index_of[value]].data for value in node.inputs]
    packed = {}
    for index, array in enumerate(arrays):
        if array is not None and (data := catalogue.pack(kernel, item.params, index, arrays)) is not None:
            packed[index] = data
    inputs = tuple(
        None if value is None or _is_elsewhere(kernel, item.params, index) else index_of[value]
        for index, value in enumerate(node.inputs)
    )
    outputs = tuple(index_of[value] for value in node.outputs)
    first = None if not inputs or inputs[0] is None else tensors[inputs[0]].offset
    is_view = catalogue.ops()[node.op].alias == catalogue.ALIAS_VIEW
    return Call(
        node=node,
        kernel=kernel,
        params=item.params,
        fields=catalogue.read_params(node.op, item.params),
        inputs=inputs,
        outputs=outputs,
        workspace=workspace,
        workspace_offset=plan.workspace_offsets[position],
        macs=catalogue.macs(node.op, item.params),
        packed=packed,
        elided=is_view and first is not None and first == tensors[outputs[0]].offset,
    )
