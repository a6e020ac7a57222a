"""The bound of the arena by OR-Tools' CP-SAT, against every placement of small programs tried one by one."""

from __future__ import annotations

import importlib.util
import itertools
import sys

import numpy as np
import pytest

from microlith.errors import ToolError
from microlith.nnacl_kernels import planner
from microlith.nnacl_kernels.catalogue import LEAD_FROM, LEAD_NONE, Lead
from microlith.optimum import Planned, prove

needs_ortools = pytest.mark.skipif(
    importlib.util.find_spec("ortools") is None, reason="OR-Tools is not installed (pip install 'microlith[plan]')"
)


def chain(seed: int) -> Planned:
    """Four nodes, each of which reads one or two earlier tensors and may let its result run into its first input."""
    rng = np.random.default_rng(seed)
    tensors = [planner.PlanTensor(8 * int(rng.integers(1, 5))) for _ in range(5)]
    nodes = []
    for step in range(4):
        inputs = tuple(sorted({step, int(rng.integers(0, step + 1))}, reverse=True))
        leads = tuple(Lead(8 * int(rng.integers(0, 3)), LEAD_FROM if i == 0 else LEAD_NONE) for i in range(len(inputs)))
        nodes.append(planner.PlanNode(inputs, (step + 1,), leads=leads))
    return Planned(tuple(tensors), tuple(nodes), (0,), (4,), 8)


def least_by_trying(planned: Planned) -> int:
    """The smallest arena of all placements, by the rules as words say them."""
    count = len(planned.tensors)
    size = [tensor.size // 8 for tensor in planned.tensors]
    used = [[s for s, node in enumerate(planned.nodes) if t in (*node.inputs, *node.outputs)] for t in range(count)]
    first = [0 if t == 0 else min(used[t]) for t in range(count)]
    last = [4 if t == 4 else max(used[t]) for t in range(count)]
    best = sum(size)
    for places in itertools.product(*(range(best - s + 1) for s in size)):
        if max(p + s for p, s in zip(places, size, strict=True)) >= best:
            continue
        fine = True
        for a, b in itertools.combinations(range(count), 2):
            together = first[a] <= last[b] and first[b] <= last[a]
            apart = places[a] + size[a] <= places[b] or places[b] + size[b] <= places[a]
            node = planned.nodes[b - 1]  # which makes b
            assert node.leads is not None
            runs = node.inputs[0] == a and last[a] == b - 1 and places[a] - places[b] >= node.leads[0].bytes // 8
            if together and not apart and not runs:
                fine = False
                break
        if fine:
            best = max(p + s for p, s in zip(places, size, strict=True))
    return 8 * best


@needs_ortools
@pytest.mark.parametrize("seed", range(6))
def test_bound_is_the_least_of_all_placements(seed: int) -> None:
    planned = chain(seed)
    plan = planner.plan_memory(planned.tensors, planned.nodes, planned.inputs, planned.outputs, 8)
    least = least_by_trying(planned)
    found = prove(planned, plan.arena_size)
    assert found.bound == least <= plan.arena_size
    assert found.proved == (plan.arena_size == least)


@needs_ortools
def test_an_arena_that_is_too_large_is_not_proved() -> None:
    planned = chain(0)
    least = prove(planned, 1000).bound
    assert not prove(planned, least + 8).proved and prove(planned, least).proved


def test_without_ortools_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "ortools"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ortools", None)
    with pytest.raises(ToolError) as error:
        prove(chain(0), 1000)
    assert "microlith[plan]" in str(error.value.hint)
