# SPDX-License-Identifier: Apache-2.0
"""What a finished graph costs on a target: flash, arena, and on a Cortex-M the instructions of a run.

For searches that choose between graphs, such as that of bits for each layer: no project is written.
"""

from __future__ import annotations

from collections.abc import Mapping

from .. import targets
from ..costs import CostFunction, Costs, LayerCosts
from ..ir import Graph
from ..lower import Call, Program
from ..size_ranges import Size
from . import compact_exp, variants
from .fused_layers import lower_for


def costs_on(target: str, sizes: Mapping[str, Size] | None = None) -> CostFunction:
    """A function that gives the costs of a graph on a target, with the kernels that ``generate`` takes there.

    Flash is that of the constants, parameters and, for a Cortex-M, kernels' code; RAM is the arena. Instructions come
    from counts in QEMU (``kernel_costs.py``). Raises TargetError for an unknown name; the function raises
    UnsupportedError and ShapeError as ``generate`` does.
    """
    row = targets.get(target)
    core = variants.core_of(row)

    def costs(graph: Graph) -> Costs:
        foreign = compact_exp.substitute(graph, None, row.isa) if row.is_bare_metal else None

        def lowered(without: frozenset[str] = frozenset()) -> Program:
            return lower_for(graph, row, sizes=sizes, without=without, substitute=foreign)[1]

        program = variants.choose(lowered(), row, "speed", lowered)
        estimate = None if core is None else variants.estimate(program, core)
        params = sum(len(call.params) for call in program.all_calls)
        return Costs(
            params + (program.constant_bytes if estimate is None else estimate.flash),
            program.arena_size,
            None if estimate is None else estimate.time,
            _layers(program, core),
        )

    return costs


def counts_instructions(target: str) -> bool:
    """Whether ``costs_on`` knows the instructions of a target."""
    return variants.core_of(targets.get(target)) is not None


def _layers(program: Program, core: str | None) -> dict[tuple[str, str], LayerCosts]:
    alive = _alive(program)
    return {
        (call.node.name, call.node.op): LayerCosts(
            _constants(program, call),
            alive[place] + call.workspace,
            None if core is None else variants.instructions_of(program, call, core),
        )
        for place, call in enumerate(program.calls)
    }


def _constants(program: Program, call: Call) -> int:
    return sum(
        len(call.packed[place]) if place in call.packed else program.tensors[index].nbytes
        for place, index in enumerate(call.inputs)
        if index is not None and program.tensors[index].data is not None
    )


def _alive(program: Program) -> list[int]:
    """Bytes of the tensors that live while each call runs, views of others counted once."""
    first: dict[int, int] = dict.fromkeys(program.inputs, 0)
    last: dict[int, int] = {}
    for place, call in enumerate(program.calls):
        for index in call.outputs:
            first.setdefault(index, place)
            last[index] = place
        last |= {index: place for index in call.inputs if index is not None}
    last |= dict.fromkeys(program.outputs, len(program.calls) - 1)
    alive: list[dict[int | None, int]] = [{} for _ in program.calls]
    for index, start in first.items():
        tensor = program.tensors[index]
        if tensor.data is not None or tensor.offset is None:
            continue
        for place in range(start, last.get(index, start) + 1):
            alive[place][tensor.offset] = max(alive[place].get(tensor.offset, 0), tensor.nbytes)
    return [sum(sizes.values()) for sizes in alive]
