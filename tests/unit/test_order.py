"""The order of nodes against all orders there are, and against the memory planner."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pytest

from microlith.nnacl_kernels import planner
from microlith.nnacl_kernels.catalogue import ALIAS_IN_PLACE, ALIAS_VIEW, LEAD_AT, LEAD_FROM, Lead
from microlith.order import Order, _Costs, choose_order


def node(inputs: Sequence[int], *outputs: int, **more: object) -> planner.PlanNode:
    return planner.PlanNode(tuple(inputs), tuple(outputs), **more)  # type: ignore[arg-type]


def plain_peak(sizes: Sequence[int], nodes: Sequence[planner.PlanNode], outputs: Sequence[int]) -> int:
    """The most bytes alive at one step, by the definition: from the first node that touches a tensor to the last."""
    peak = 0
    for step, here in enumerate(nodes):
        alive = 0
        for tensor, size in enumerate(sizes):
            touched = [at for at, item in enumerate(nodes) if tensor in (*item.inputs, *item.outputs)]
            is_input = all(tensor not in item.outputs for item in nodes)
            first = 0 if is_input else min(touched)
            last = len(nodes) if tensor in outputs else max(touched)
            alive += size if first <= step <= last else 0
        peak = max(peak, alive + here.workspace)
    return peak


def orders(nodes: Sequence[planner.PlanNode]) -> Iterator[tuple[int, ...]]:
    """Every order in which the nodes can run."""
    made = {tensor for item in nodes for tensor in item.outputs}
    for order in itertools.permutations(range(len(nodes))):
        known: set[int] = set()
        for index in order:
            if any(tensor in made and tensor not in known for tensor in nodes[index].inputs):
                break
            known.update(nodes[index].outputs)
        else:
            yield order


def chosen(sizes: Sequence[int], nodes: Sequence[planner.PlanNode], outputs: Sequence[int], **more: int) -> Order:
    tensors = [planner.PlanTensor(size) for size in sizes]
    made = {tensor for item in nodes for tensor in item.outputs}
    inputs = [tensor for tensor in range(len(sizes)) if tensor not in made]
    return choose_order(tensors, nodes, inputs, outputs, 1, **more)


def test_a_chain_stays_as_it_is() -> None:
    found = chosen([10, 30, 20, 5], [node([0], 1), node([1], 2), node([2], 3)], [3])
    assert (found.nodes, found.given_peak, found.peak, found.bound) == ((0, 1, 2), 50, 50, 50)


def test_the_branch_that_shrinks_comes_first() -> None:
    # 0 -> 1 (8) -> 2 (64) -> 3 (1);  1 -> 4 (64) -> 5 (1);  3, 5 -> 6. Given: both wide results first.
    nodes = [node([0], 1), node([1], 2), node([1], 4), node([2], 3), node([4], 5), node([3, 5], 6)]
    found = chosen([4, 8, 64, 1, 64, 1, 1], nodes, [6])
    assert (found.given_peak, found.peak, found.is_optimal) == (8 + 64 + 64, 8 + 64 + 1, True)
    assert found.nodes in ((0, 1, 3, 2, 4, 5), (0, 2, 4, 1, 3, 5))


def test_a_workspace_counts_where_it_is_used() -> None:
    nodes = [node([0], 1), node([0], 2), node([1], 3, workspace=100), node([2, 3], 4)]
    found = chosen([10, 10, 50, 10, 10], nodes, [4])
    assert (found.given_peak, found.peak) == (10 + 50 + 10 + 100, 10 + 10 + 10 + 100)
    assert found.nodes.index(2) < found.nodes.index(1)


def random_graph(seed: int) -> tuple[list[int], list[planner.PlanNode], list[int]]:
    draw = random.Random(seed)
    count = draw.randint(4, 7)
    nodes, free = [], {0}
    for index in range(count):
        inputs = draw.sample(range(index + 1), min(index + 1, draw.choice([1, 1, 2])))
        free = (free - set(inputs)) | {index + 1}
        nodes.append(node(inputs, index + 1, workspace=draw.choice([0, 0, 7])))
    return [draw.randint(1, 60) for _ in range(count + 1)], nodes, sorted(free)


@pytest.mark.parametrize("seed", range(60))
def test_no_order_needs_less(seed: int) -> None:
    sizes, nodes, outputs = random_graph(seed)
    found = chosen(sizes, nodes, outputs)
    best = min(plain_peak(sizes, [nodes[index] for index in order], outputs) for order in orders(nodes))
    assert found.given_peak == plain_peak(sizes, nodes, outputs)
    assert plain_peak(sizes, [nodes[index] for index in found.nodes], outputs) == found.peak == best == found.bound
    narrow = chosen(sizes, nodes, outputs, most_trials=1)
    assert narrow.bound <= best <= narrow.peak <= narrow.given_peak
    assert narrow.peak == plain_peak(sizes, [nodes[index] for index in narrow.nodes], outputs)


@pytest.mark.parametrize("seed", range(60))
def test_the_bound_holds_for_the_planner(seed: int) -> None:
    """With overlaps, views and pieces, no plan of any order is smaller than the bound says."""
    sizes, nodes, outputs = random_graph(seed)
    draw = random.Random(1000 + seed)
    varied = []
    for item in nodes:
        kind = draw.randrange(6)
        first, result = item.inputs[0], item.outputs[0]
        assert first is not None
        more: dict[str, object] = {"workspace": item.workspace}
        if kind == 0:
            more["leads"] = tuple(Lead(draw.randint(-5, 20), LEAD_FROM) for _ in item.inputs)
        elif kind == 1:
            more["leads"] = tuple(Lead(draw.randint(0, 3), LEAD_AT) for _ in item.inputs)
        elif kind in (2, 3):
            sizes[result] = sizes[first]
            more["alias"] = ALIAS_VIEW if kind == 2 else ALIAS_IN_PLACE
        elif kind == 4:
            starts = list(itertools.accumulate((sizes[index] for index in item.inputs if index is not None), initial=0))
            sizes[result], more["holds"] = starts[-1], tuple(starts[:-1])
        else:
            sizes[result] = draw.randint(1, sizes[first])
            more["held"] = draw.randint(0, sizes[first] - sizes[result])
        varied.append(node([index for index in item.inputs if index is not None], result, **more))
    found = chosen(sizes, varied, outputs)
    tensors = [planner.PlanTensor(size) for size in sizes]
    least = min(
        planner.plan_memory(tensors, [varied[index] for index in order], [0], outputs, 1).arena_size
        for order in orders(varied)
    )
    assert found.bound <= found.peak <= found.given_peak
    assert found.bound <= least


def wide_graph(branches: int) -> tuple[list[int], list[planner.PlanNode], list[int]]:
    """Branches from one tensor, each through a wide one to a narrow one, given level by level."""
    first = [node([0], 1 + index) for index in range(branches)]
    second = [node([1 + index], 1 + branches + index) for index in range(branches)]
    last = node(range(1 + branches, 1 + 2 * branches), 1 + 2 * branches)
    return [10, *[100 + i for i in range(branches)], *[1] * branches, 1], [*first, *second, last], [1 + 2 * branches]


def test_a_graph_of_many_branches_is_searched_in_part() -> None:
    sizes, nodes, outputs = wide_graph(40)  # 3^40 sets
    found = chosen(sizes, nodes, outputs, most_trials=500)
    assert found.given_peak > 4000
    assert found.bound <= found.peak <= 10 + 139 + 40 + 1
    assert found == chosen(sizes, nodes, outputs, most_trials=500)


def test_hundreds_of_branches_end_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many nodes are ready at once that even one set of each size takes too many trials: there is an end to them."""
    trials = 0
    run = _Costs.run

    def counted(self: _Costs, *arguments: int) -> tuple[int, int]:
        nonlocal trials
        trials += 1
        return run(self, *arguments)

    monkeypatch.setattr(_Costs, "run", counted)
    sizes, nodes, outputs = wide_graph(200)
    result = chosen(sizes, nodes, outputs, most_trials=500)
    assert trials < 100_000 and sorted(result.nodes) == list(range(len(nodes)))


def test_nothing_to_order() -> None:
    assert choose_order([planner.PlanTensor(5)], [], [0], [0], 4) == Order((), 8, 8, 8)
