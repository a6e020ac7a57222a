"""Python's view of the memory planner (``plan/arena.h``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from microlith.nnacl_kernels.catalogue import ALIAS_NONE, Lead, c_library

MEMORY_ARENA, MEMORY_CONSTANT, MEMORY_VARIABLE = 0, 1, 2


@dataclass(frozen=True)
class PlanTensor:
    """A tensor as the memory planner sees it: bytes, and one of the MEMORY_ values."""

    size: int
    memory: int = MEMORY_ARENA


@dataclass(frozen=True)
class PlanNode:
    """A node as the memory planner sees it; tensors by index, None for an absent input."""

    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    alias: int = ALIAS_NONE
    workspace: int = 0
    leads: tuple[Lead, ...] | None = None
    """For each input how it may overlap the first output; None: not at all, but for ``alias``."""
    holds: tuple[int, ...] | None = None
    """For each input where in the first output it lies as one run of bytes, -1: in several."""
    held: int = -1
    """Where in the first input the first output lies as one run of bytes, -1: in several."""


@dataclass(frozen=True)
class MemoryPlan:
    """Where everything lies in the arena. ``offsets`` and ``blocks`` are None for tensors outside of it."""

    offsets: tuple[int | None, ...]
    blocks: tuple[int | None, ...]
    workspace_offsets: tuple[int, ...]
    arena_size: int
    lower_bound: int


def plan_memory(
    tensors: Sequence[PlanTensor],
    nodes: Sequence[PlanNode],
    inputs: Sequence[int],
    outputs: Sequence[int],
    alignment: int = 16,
) -> MemoryPlan:
    """Plans the arena of a graph (see ``plan/arena.h``)."""
    ffi, lib = c_library()
    c_tensors = ffi.new("nnacl_plan_tensor[]", max(1, len(tensors)))
    for index, tensor in enumerate(tensors):
        c_tensors[index].size, c_tensors[index].memory = tensor.size, tensor.memory
    c_nodes = ffi.new("nnacl_plan_node[]", max(1, len(nodes)))
    keep: list[object] = []
    for index, node in enumerate(nodes):
        lists = (
            ffi.new("int32_t[]", [-1 if tensor is None else tensor for tensor in node.inputs] or [0]),
            ffi.new("int32_t[]", list(node.outputs) or [0]),
        )
        keep.append(lists)
        row = c_nodes[index]
        row.inputs, row.outputs = lists
        row.n_inputs, row.n_outputs = len(node.inputs), len(node.outputs)
        row.alias, row.workspace = node.alias, node.workspace
        if node.leads is not None:
            leads = ffi.new("nnacl_lead[]", [(lead.bytes, lead.kind) for lead in node.leads] or 1)
            row.leads = leads
            keep.append(leads)
        row.held = node.held
        if node.holds is not None:
            holds = ffi.new("int64_t[]", list(node.holds) or 1)
            row.holds = holds
            keep.append(holds)
    c_graph_inputs, c_graph_outputs = ffi.new("int32_t[]", list(inputs)), ffi.new("int32_t[]", list(outputs))
    request = ffi.new(
        "nnacl_memory_request *",
        {
            "tensors": c_tensors,
            "n_tensors": len(tensors),
            "nodes": c_nodes,
            "n_nodes": len(nodes),
            "inputs": c_graph_inputs,
            "n_inputs": len(inputs),
            "outputs": c_graph_outputs,
            "n_outputs": len(outputs),
            "alignment": alignment,
        },
    )
    size = lib.nnacl_memory_plan_scratch(len(tensors), len(nodes))
    lib.nnacl_memory_plan(request, ffi.new("uint64_t[]", size // 8 + 1))
    planned = [c_tensors[index].block >= 0 for index in range(len(tensors))]
    return MemoryPlan(
        offsets=tuple(c_tensors[index].offset if planned[index] else None for index in range(len(tensors))),
        blocks=tuple(c_tensors[index].block if planned[index] else None for index in range(len(tensors))),
        workspace_offsets=tuple(c_nodes[index].workspace_offset for index in range(len(nodes))),
        arena_size=request.arena_size,
        lower_bound=request.lower_bound,
    )
