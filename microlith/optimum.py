"""How small an arena can be at best: a bound by OR-Tools' CP-SAT, as a proof of what the memory planner found.

The planner searches; where its arena is above the largest set of bytes that live at one time, it does not know whether
less was possible. Here each tensor and workspace is a rectangle over steps and addresses. Two that live together lie
apart, or share memory as the planner may let them: a view where its source is, a result in place of an input or as far
behind it as the kernel allows, a piece inside of what it is a piece of. That is a little more freedom than the planner
has (it keeps the memory of a whole while its pieces come in), so the bound is safe.

Needs the extra ``microlith[plan]``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import ToolError
from .nnacl_kernels import planner
from .nnacl_kernels.catalogue import ALIAS_IN_PLACE, ALIAS_VIEW, LEAD_AT, LEAD_FROM

_MOST_BLOCKS = 600


@dataclass(frozen=True)
class Planned:
    """What the memory planner was given, in the order in which the nodes run."""

    tensors: tuple[planner.PlanTensor, ...]
    nodes: tuple[planner.PlanNode, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    alignment: int


@dataclass(frozen=True)
class Optimum:
    """What is known about the smallest arena. Bytes."""

    bound: int
    """None is smaller."""
    arena_size: int
    """What the planner found."""

    @property
    def proved(self) -> bool:
        """Nothing smaller than the planner's arena is possible."""
        return self.bound >= self.arena_size


@dataclass
class _Block:
    size: int
    first: int
    last: int


@dataclass(frozen=True)
class _Sharing:
    """Block ``inner`` may lie ``distance`` units behind the beginning of ``outer``; or at least so many."""

    inner: int
    outer: int
    distance: int
    exactly: bool


def prove(planned: Planned, arena_size: int, *, seconds: float = 60.0) -> Optimum:
    """A lower bound for the arena of a program, equal to ``arena_size`` where that is the best possible.

    ``seconds``: of search at most, counted as the solver counts them, so that the answer is the same on every machine.
    Raises ToolError when OR-Tools is not installed.
    """
    try:
        cp_model: Any = importlib.import_module("ortools.sat.python.cp_model")
    except ImportError as error:
        raise ToolError("OR-Tools is not installed", hint="pip install 'microlith[plan]'") from error
    blocks, sharings = _blocks(planned)
    if len(blocks) > _MOST_BLOCKS:
        return Optimum(0, arena_size)
    unit = planned.alignment
    model = cp_model.CpModel()
    most = arena_size // unit
    top = model.new_int_var(0, most, "top")
    offsets = [model.new_int_var(0, max(0, most - block.size), "") for block in blocks]
    for block, offset in zip(blocks, offsets, strict=True):
        model.add(offset + block.size <= top)
    allowed: dict[tuple[int, int], list[_Sharing]] = {}
    for sharing in sharings:
        pair = (min(sharing.inner, sharing.outer), max(sharing.inner, sharing.outer))
        allowed.setdefault(pair, []).append(sharing)
    for a, one in enumerate(blocks):
        for b in range(a + 1, len(blocks)):
            other = blocks[b]
            if one.first > other.last or other.first > one.last or not one.size or not other.size:
                continue
            choices = [model.new_bool_var(""), model.new_bool_var("")]
            model.add(offsets[a] + one.size <= offsets[b]).only_enforce_if(choices[0])
            model.add(offsets[b] + other.size <= offsets[a]).only_enforce_if(choices[1])
            for sharing in allowed.get((a, b), ()):
                choice = model.new_bool_var("")
                apart = offsets[sharing.inner] - offsets[sharing.outer]
                rule = apart == sharing.distance if sharing.exactly else apart >= sharing.distance
                model.add(rule).only_enforce_if(choice)
                choices.append(choice)
            model.add_bool_or(choices)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = seconds
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        raise AssertionError("the planner's arena breaks a rule that it keeps")
    return Optimum(int(solver.best_objective_bound) * unit, arena_size)


def _blocks(planned: Planned) -> tuple[list[_Block], list[_Sharing]]:
    """Rectangles in units of the alignment, and which of them may share memory."""
    end = len(planned.nodes)
    up = planned.alignment
    root = list(range(len(planned.tensors)))
    used = [tensor.memory != planner.MEMORY_CONSTANT for tensor in planned.tensors]
    for node in planned.nodes:
        first = node.inputs[0] if node.inputs else None
        if node.alias != ALIAS_VIEW or first is None or not node.outputs:
            continue
        if planned.tensors[first].memory == planner.MEMORY_ARENA == planned.tensors[node.outputs[0]].memory:
            root[node.outputs[0]] = root[first]
    steps: dict[int, list[int]] = {}
    for step, node in enumerate(planned.nodes):
        for tensor in (*node.inputs, *node.outputs):
            if tensor is not None and used[tensor]:
                steps.setdefault(root[tensor], []).append(step)
    for tensor in planned.inputs:
        if used[tensor]:
            steps.setdefault(root[tensor], []).append(0)
    for tensor in planned.outputs:
        if used[tensor]:
            steps.setdefault(root[tensor], []).append(end)
    for index, item in enumerate(planned.tensors):
        if item.memory == planner.MEMORY_VARIABLE:
            steps.setdefault(root[index], []).extend((0, end))
    number = {tensor: index for index, tensor in enumerate(steps)}
    blocks = [_Block(-(-planned.tensors[tensor].size // up), min(at), max(at)) for tensor, at in steps.items()]
    for step, node in enumerate(planned.nodes):
        if node.workspace:
            blocks.append(_Block(-(-node.workspace // up), step, step))
    sharings: list[_Sharing] = []
    within: list[_Sharing] = []
    for step, node in enumerate(planned.nodes):
        sharings.extend(_sharings(planned, node, step, root, number, blocks))
        within.extend(_pieces(planned, node, root, number))
    return blocks, [*sharings, *_closure(within)]


def _closure(within: Sequence[_Sharing]) -> list[_Sharing]:
    """What lies inside of what, through whatever stands between, and pieces of the same whole."""
    edges: dict[int, list[tuple[int, int]]] = {}
    for item in within:
        edges.setdefault(item.outer, []).append((item.inner, item.distance))
        edges.setdefault(item.inner, []).append((item.outer, -item.distance))
    found = []
    for start in edges:
        reached = {start: 0}
        waiting = [start]
        while waiting:
            here = waiting.pop()
            for there, distance in edges[here]:
                if there not in reached:
                    reached[there] = reached[here] + distance
                    waiting.append(there)
        found += [_Sharing(other, start, distance, True) for other, distance in reached.items() if other != start]
    return found


def _pieces(
    planned: Planned, node: planner.PlanNode, root: Sequence[int], number: dict[int, int]
) -> Iterator[_Sharing]:
    """Where a node's inputs may lie in its output, or its output in its first input."""
    out = number.get(root[node.outputs[0]]) if node.outputs else None
    for position, tensor in enumerate(node.inputs):
        block = None if tensor is None else number.get(root[tensor])
        if block is None or out is None or block == out:
            continue
        if node.holds is not None and node.holds[position] >= 0 and node.holds[position] % planned.alignment == 0:
            yield _Sharing(block, out, node.holds[position] // planned.alignment, True)
        if position == 0 and node.held >= 0 and node.held % planned.alignment == 0:
            yield _Sharing(out, block, node.held // planned.alignment, True)


def _sharings(
    planned: Planned,
    node: planner.PlanNode,
    step: int,
    root: Sequence[int],
    number: dict[int, int],
    blocks: Sequence[_Block],
) -> list[_Sharing]:
    """What a node lets its first output and its inputs have in common."""
    out = number.get(root[node.outputs[0]]) if node.outputs else None
    if out is None:
        return []
    up, found = planned.alignment, []
    for position, tensor in enumerate(node.inputs):
        block = None if tensor is None else number.get(root[tensor])
        if block is None or block == out or blocks[block].last != step:
            continue
        if position == 0 and node.alias == ALIAS_IN_PLACE:
            found.append(_Sharing(block, out, 0, True))
        lead = node.leads[position] if node.leads is not None else None
        if lead is not None and lead.kind == LEAD_FROM:
            found.append(_Sharing(block, out, -(-lead.bytes // up), False))
        elif lead is not None and lead.kind == LEAD_AT and lead.bytes % up == 0:
            found.append(_Sharing(block, out, lead.bytes // up, True))
    return found
