"""The memory planner: for random graphs, nothing that is needed is overwritten, and the sizes are what they must be."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from microlith.nnacl_kernels.catalogue import (
    ALIAS_IN_PLACE,
    ALIAS_NONE,
    ALIAS_VIEW,
    LEAD_AT,
    LEAD_FROM,
    LEAD_NONE,
    Lead,
)
from microlith.nnacl_kernels.planner import (
    MEMORY_ARENA,
    MEMORY_CONSTANT,
    MEMORY_VARIABLE,
    MemoryPlan,
    PlanNode,
    PlanTensor,
    plan_memory,
)

SIZES = st.sampled_from([0, 1, 15, 16, 64, 64, 64, 100, 256])
LEADS = st.builds(Lead, st.sampled_from([0, 0, 16, 17, 40, 64, -32]), st.sampled_from([LEAD_NONE, LEAD_FROM, LEAD_AT]))


@dataclass(frozen=True)
class PlanCase:
    """A graph as the planner sees it."""

    tensors: tuple[PlanTensor, ...]
    nodes: tuple[PlanNode, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    alignment: int

    def plan(self) -> MemoryPlan:
        return plan_memory(self.tensors, self.nodes, self.inputs, self.outputs, self.alignment)


@st.composite
def cases(draw: st.DrawFn) -> PlanCase:
    """A random graph: every node reads tensors that exist and makes new ones."""
    tensors = [PlanTensor(draw(SIZES)) for _ in range(draw(st.integers(1, 3)))]
    inputs = tuple(range(len(tensors)))
    for memory in draw(st.lists(st.sampled_from([MEMORY_CONSTANT, MEMORY_VARIABLE]), max_size=3)):
        tensors.append(PlanTensor(draw(SIZES), memory))
    nodes = []
    for _ in range(draw(st.integers(0, 12))):
        known = st.integers(0, len(tensors) - 1)
        reads = draw(st.lists(known | st.none(), min_size=1, max_size=3))
        alias = draw(st.sampled_from([ALIAS_NONE, ALIAS_IN_PLACE, ALIAS_VIEW]))
        size = draw(SIZES)
        if alias == ALIAS_VIEW or (alias == ALIAS_IN_PLACE and draw(st.booleans())):
            size = tensors[reads[0]].size if reads[0] is not None else size
        writes = (len(tensors),)
        tensors.append(PlanTensor(size))
        if draw(st.integers(0, 4)) == 0:
            writes = (*writes, len(tensors))
            tensors.append(PlanTensor(draw(SIZES)))
        leads = draw(st.none() | st.tuples(*(LEADS for _ in reads)))
        nodes.append(PlanNode(tuple(reads), writes, alias, draw(st.sampled_from([0, 0, 32, 300])), leads))
    outputs = tuple(draw(st.lists(st.integers(0, len(tensors) - 1), max_size=3)))
    return PlanCase(tuple(tensors), tuple(nodes), inputs, outputs, draw(st.sampled_from([1, 16, 64])))


def may_overlap(case: PlanCase, plan: MemoryPlan, node: PlanNode, position: int) -> bool:
    """Whether an input lies over the first output as the node allows it."""
    read = node.inputs[position]
    assert node.leads is not None and read is not None
    start, result = plan.offsets[read], plan.offsets[node.outputs[0]]
    assert start is not None and result is not None
    lead = node.leads[position]
    allowed = {LEAD_NONE: False, LEAD_FROM: start - result >= lead.bytes, LEAD_AT: start - result == lead.bytes}
    return allowed[lead.kind]


def simulate(case: PlanCase, plan: MemoryPlan) -> None:
    """Runs the graph on an arena whose bytes remember which content they hold; fails when a reader finds another.

    The content of a view is that of its input. Nodes write their workspace first, then their outputs; a node may not
    destroy an input before its outputs are written, unless it was planned in place.
    """
    arena: list[object] = [None] * plan.arena_size
    content: dict[int, object] = {}

    def write(start: int, size: int, value: object) -> None:
        assert start + size <= plan.arena_size
        arena[start : start + size] = [value] * size

    def assert_intact(index: int) -> None:
        start, size = plan.offsets[index], case.tensors[index].size
        if start is not None and index in content:
            assert all(byte == content[index] for byte in arena[start : start + size]), f"tensor {index} was lost"

    for index, tensor in enumerate(case.tensors):
        if index in case.inputs or tensor.memory == MEMORY_VARIABLE:
            start = plan.offsets[index]
            if start is not None:
                content[index] = ("start", index)
                write(start, tensor.size, content[index])
    for step, node in enumerate(case.nodes):
        reads = [index for index in node.inputs if index is not None]
        for index in reads:
            assert_intact(index)
        if node.workspace:
            write(plan.workspace_offsets[step], node.workspace, ("workspace", step))
        for index in reads:
            assert_intact(index)
        for position, index in enumerate(node.outputs):
            start = plan.offsets[index]
            assert start is not None
            first = node.inputs[0]
            shares = position == 0 and first is not None and plan.blocks[index] == plan.blocks[first]
            if shares:
                assert node.alias != ALIAS_NONE and case.tensors[index].size == case.tensors[first].size
            if shares and node.alias == ALIAS_VIEW:
                content[index] = content[first]
            else:
                content[index] = ("node", step, position)
                write(start, case.tensors[index].size, content[index])
        for position, read in enumerate(node.inputs):
            if read is None or (node.alias == ALIAS_IN_PLACE and plan.blocks[read] == plan.blocks[node.outputs[0]]):
                continue
            if plan.offsets[read] is None or node.leads is None or not may_overlap(case, plan, node, position):
                assert_intact(read)
        for index in node.outputs:
            assert_intact(index)
    for index, tensor in enumerate(case.tensors):
        if index in case.outputs or tensor.memory == MEMORY_VARIABLE:
            assert_intact(index)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(case=cases())
def test_nothing_needed_is_overwritten(case: PlanCase) -> None:
    simulate(case, case.plan())


@settings(max_examples=300, deadline=None, derandomize=True)
@given(case=cases())
def test_sizes(case: PlanCase) -> None:
    """Never below the lower bound, never above the sum of all blocks; every offset aligned."""
    plan = case.plan()

    def aligned(size: int) -> int:
        return -(-size // case.alignment) * case.alignment

    blocks = {
        block: aligned(tensor.size)
        for tensor, block in zip(case.tensors, plan.blocks, strict=True)
        if block is not None
    }
    total = sum(blocks.values()) + sum(aligned(node.workspace) for node in case.nodes)
    assert plan.lower_bound <= plan.arena_size <= total
    for offset in (*plan.offsets, *plan.workspace_offsets):
        assert offset is None or offset % case.alignment == 0
    for tensor, offset in zip(case.tensors, plan.offsets, strict=True):
        assert offset is None or offset + tensor.size <= plan.arena_size
        assert tensor.memory != MEMORY_CONSTANT or offset is None


@settings(max_examples=50, deadline=None, derandomize=True)
@given(case=cases())
def test_the_same_graph_gives_the_same_plan(case: PlanCase) -> None:
    assert case.plan() == case.plan()


def chain(sizes: list[int], alias: int = ALIAS_NONE) -> PlanCase:
    """A graph without branches: tensor i becomes tensor i + 1."""
    nodes = tuple(PlanNode((index,), (index + 1,), alias) for index in range(len(sizes) - 1))
    return PlanCase(tuple(PlanTensor(size) for size in sizes), nodes, (0,), (len(sizes) - 1,), 16)


def test_a_chain_reaches_its_lower_bound() -> None:
    plan = chain([1024, 4096, 2048, 8192, 64]).plan()
    assert plan.arena_size == plan.lower_bound == 2048 + 8192


def test_in_place_and_views_need_one_block() -> None:
    for alias in (ALIAS_IN_PLACE, ALIAS_VIEW):
        plan = chain([1024] * 5, alias).plan()
        assert plan.arena_size == 1024
        assert set(plan.blocks) == {0}


def test_an_in_place_op_spares_what_is_needed_later() -> None:
    """x -> relu -> y while x is read once more at the end; a view of x counts as x."""
    tensors = tuple(PlanTensor(64) for _ in range(4))
    view = PlanNode((0,), (1,), ALIAS_VIEW)
    relu = PlanNode((0,), (2,), ALIAS_IN_PLACE)
    use = PlanNode((2, 1), (3,))
    plan = PlanCase(tensors, (view, relu, use), (0,), (3,), 16).plan()
    assert plan.blocks[1] == plan.blocks[0] != plan.blocks[2]


def test_a_graph_output_is_not_overwritten() -> None:
    tensors = tuple(PlanTensor(64) for _ in range(3))
    nodes = (PlanNode((0,), (1,)), PlanNode((1,), (2,), ALIAS_IN_PLACE))
    plan = PlanCase(tensors, nodes, (0,), (1, 2), 16).plan()
    assert plan.blocks[1] != plan.blocks[2]


def test_a_view_of_a_constant_or_variable_has_its_own_block() -> None:
    for memory in (MEMORY_CONSTANT, MEMORY_VARIABLE):
        tensors = (PlanTensor(64, memory), PlanTensor(64))
        plan = PlanCase(tensors, (PlanNode((0,), (1,), ALIAS_VIEW),), (), (1,), 16).plan()
        assert plan.offsets[1] is not None and plan.blocks[1] != plan.blocks[0]


def test_a_variable_keeps_its_place_for_ever() -> None:
    """Its bytes are never lent to others, because the next run reads them."""
    tensors = (PlanTensor(64), PlanTensor(64, MEMORY_VARIABLE), *(PlanTensor(64) for _ in range(4)))
    nodes = tuple(PlanNode((0 if index == 2 else index - 1,), (index,)) for index in range(2, 6))
    plan = PlanCase(tensors, nodes, (0,), (5,), 16).plan()
    place = plan.offsets[1]
    assert all(offset != place for index, offset in enumerate(plan.offsets) if index != 1)


def test_an_unused_graph_input_has_memory() -> None:
    plan = PlanCase((PlanTensor(64), PlanTensor(32)), (), (0, 1), (), 16).plan()
    assert plan.arena_size == 96
    assert None not in plan.offsets


def test_memory_arena_is_the_default() -> None:
    assert PlanTensor(1).memory == MEMORY_ARENA


def test_a_window_lets_its_output_run_into_its_input() -> None:
    """Both of 1024 bytes, the input 64 bytes behind the output: 1088 bytes in all, which is the lower bound."""
    tensors = (PlanTensor(16), PlanTensor(1024), PlanTensor(1024), PlanTensor(16))
    lead = Lead(64, LEAD_FROM)
    nodes = (PlanNode((0,), (1,)), PlanNode((1,), (2,), leads=(lead,)), PlanNode((2,), (3,)))
    plan = PlanCase(tensors, nodes, (0,), (3,), 16).plan()
    assert plan.arena_size == plan.lower_bound == 1088
    assert plan.offsets[1] is not None and plan.offsets[2] is not None
    assert plan.offsets[1] - plan.offsets[2] == 64


def test_two_graph_inputs_of_the_first_node_are_apart() -> None:
    """The result lies over one of them; the other one lives at that step only, too, but not less than the first."""
    tensors = tuple(PlanTensor(24) for _ in range(3))
    leads = (Lead(0, LEAD_FROM), Lead(0, LEAD_FROM))
    plan = PlanCase(tensors, (PlanNode((0, 1), (2,), ALIAS_IN_PLACE, 0, leads),), (0, 1), (2,), 16).plan()
    a, b, y = plan.offsets
    assert a is not None and b is not None and abs(a - b) >= 24 and y in (a, b)
    assert plan.arena_size == plan.lower_bound == 64


def test_an_input_that_is_needed_later_is_not_overlapped() -> None:
    tensors = tuple(PlanTensor(64) for _ in range(3))
    free = Lead(0, LEAD_FROM)
    nodes = (PlanNode((0,), (1,), leads=(free,)), PlanNode((0, 1), (2,), leads=(free, Lead())))
    plan = PlanCase(tensors, nodes, (0,), (2,), 16).plan()
    assert plan.arena_size == 128
    assert plan.offsets[2] == plan.offsets[0] != plan.offsets[1]


def test_a_chain_of_growing_and_shrinking_windows_reaches_its_bound() -> None:
    """As in a network of depthwise convolutions in place between pointwise ones that double the channels."""
    sizes = [27648, 18432, 18432, 36864, 9216, 18432, 18432]
    leads = [
        Lead(384, LEAD_FROM),
        Lead(0, LEAD_AT),
        Lead(18448, LEAD_FROM),
        Lead(0, LEAD_AT),
        Lead(9232, LEAD_FROM),
        Lead(0, LEAD_AT),
    ]
    nodes = tuple(PlanNode((index,), (index + 1,), leads=(lead,)) for index, lead in enumerate(leads))
    plan = PlanCase(tuple(PlanTensor(size) for size in sizes), nodes, (0,), (6,), 16).plan()
    assert plan.arena_size == plan.lower_bound == 36880


def test_what_a_node_puts_together_lies_in_its_output_from_the_start() -> None:
    tensors = tuple(PlanTensor(size) for size in (16, 64, 96, 160))
    nodes = (PlanNode((0,), (1,)), PlanNode((0,), (2,)), PlanNode((1, 2), (3,), holds=(0, 64)))
    plan = PlanCase(tensors, nodes, (0,), (3,), 16).plan()
    assert plan.arena_size == 16 + 160
    assert plan.offsets[1] == plan.offsets[3]
    assert plan.offsets[2] is not None and plan.offsets[3] is not None
    assert plan.offsets[2] - plan.offsets[3] == 64


def test_a_piece_lies_in_what_it_was_cut_from() -> None:
    tensors = tuple(PlanTensor(size) for size in (256, 64, 64))
    nodes = (PlanNode((0,), (1,), held=128), PlanNode((1,), (2,)), PlanNode((0, 2), ()))
    plan = PlanCase(tensors, nodes, (0,), (), 16).plan()
    assert plan.arena_size == 256 + 64
    assert plan.offsets[1] is not None and plan.offsets[0] is not None
    assert plan.offsets[1] - plan.offsets[0] == 128


def test_a_piece_that_would_not_be_aligned_is_copied() -> None:
    tensors = tuple(PlanTensor(size) for size in (256, 64, 64))
    nodes = (PlanNode((0,), (1,), held=24), PlanNode((1,), (2,)), PlanNode((0, 2), ()))
    plan = PlanCase(tensors, nodes, (0,), (), 16).plan()
    assert plan.arena_size == 256 + 64 + 64
