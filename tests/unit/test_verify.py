"""Each rule of a valid graph, broken on purpose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from microlith.dtypes import DType
from microlith.ir import Graph, Node, Quant, State, TensorType, Value
from microlith.verify import MAX_DEPTH, RULES, InvalidGraph, problems, verify


def good_graph() -> Graph:
    graph = Graph("g")
    x = Value("x", TensorType(DType.f32, (2, 3)))
    graph.inputs = [x]
    total = graph.add("add", [x, graph.constant("c", np.ones(3, np.float32))], name="first", output_names=["t"])
    graph.outputs = [graph.add("relu", [total.output], name="second", output_names=["y"]).output]
    return graph


def unknown_contract(graph: Graph) -> None:
    graph.contract = "exact"


def unknown_op(graph: Graph) -> None:
    graph.nodes[0].op = "frobnicate"


def absent_input(graph: Graph) -> None:
    graph.nodes[0].set_input(1, None)


def surplus_input(graph: Graph) -> None:
    graph.nodes[1].set_input(1, graph.inputs[0])


def missing_attribute(graph: Graph) -> None:
    del graph.nodes[0].attrs["clamp_min"]


def unknown_attribute(graph: Graph) -> None:
    graph.nodes[1].attrs["slope"] = 1


def forgotten_use(graph: Graph) -> None:
    graph.inputs[0].uses.clear()


def stale_use(graph: Graph) -> None:
    graph.inputs[0].uses.append((graph.nodes[1], 0))


def wrong_producer(graph: Graph) -> None:
    graph.nodes[0].output.producer = graph.nodes[1]


def node_outside(graph: Graph) -> None:
    stray = Node("relu", "stray", {}, "")
    stray.set_input(0, graph.inputs[0])


def wrong_order(graph: Graph) -> None:
    graph.nodes.reverse()


def computed_by_nobody(graph: Graph) -> None:
    graph.outputs.append(Value("ghost", TensorType(DType.f32, ())))


def same_name(graph: Graph) -> None:
    graph.outputs[0].name = "x"


def no_name(graph: Graph) -> None:
    graph.outputs[0].name = ""


def constant_of_another_type(graph: Graph) -> None:
    graph.nodes[0].input(1).data = np.ones(4, np.float32)


def constant_with_strides(graph: Graph) -> None:
    graph.nodes[0].input(1).data = np.ones(6, np.float32)[::2]


def negative_dimension(graph: Graph) -> None:
    graph.inputs[0].type = TensorType(DType.f32, (-1, 3))


def wrong_output_type(graph: Graph) -> None:
    graph.outputs[0].type = TensorType(DType.f32, (2, 4))


def shapes_that_do_not_fit(graph: Graph) -> None:
    graph.inputs[0].type = TensorType(DType.f32, (2, 5))


def negative_scale(graph: Graph) -> None:
    graph.inputs[0].quant = Quant.per_tensor(-1.0, 0)


def scales_without_axis(graph: Graph) -> None:
    graph.inputs[0].quant = Quant(np.ones(3, np.float32), np.zeros(3, np.int64))


def scales_that_do_not_fit(graph: Graph) -> None:
    graph.inputs[0].quant = Quant(np.ones(2, np.float32), np.zeros(2, np.int64), 1)


def branches(graph: Graph, contract: str = "single", states: bool = False) -> Node:
    """Adds an if whose branches negate their input or keep it."""
    flag = graph.constant("flag", np.ones((), np.bool_))
    parts = []
    for op in ("neg", "relu"):
        part = Graph(op, contract=contract)
        part.inputs = [Value("inner", TensorType(DType.f32, (2, 3)))]
        part.outputs = [part.add(op, part.inputs, name=op, output_names=[op]).output]
        if states:
            part.states = [State(Value("s", TensorType(DType.f32, (2, 3))), part.outputs[0])]
        parts.append(part)
    node = graph.add("if", [flag, graph.outputs[0]], name="if", output_names=["z"], subgraphs=parts)
    graph.outputs = [node.output]
    return node


def subgraph_of_another_contract(graph: Graph) -> None:
    branches(graph, contract="float-even")


def subgraph_with_states(graph: Graph) -> None:
    branches(graph, states=True)


def missing_subgraph(graph: Graph) -> None:
    branches(graph).subgraphs.pop()


def broken_subgraph(graph: Graph) -> None:
    branches(graph).subgraphs[0].nodes[0].op = "frobnicate"


def add_state(graph: Graph, shape: tuple[int | str, ...] = (2, 3), initial: np.ndarray | None = None) -> State:
    state = State(Value("s", TensorType(DType.f32, shape)), graph.outputs[0], initial)
    graph.states = [state]
    return state


def state_of_another_type(graph: Graph) -> None:
    add_state(graph, (3, 3))


def state_of_no_size(graph: Graph) -> None:
    add_state(graph, ("n", 3))


def state_with_a_wrong_start(graph: Graph) -> None:
    add_state(graph, initial=np.zeros((2, 3), np.int32))


def state_that_is_an_output(graph: Graph) -> None:
    graph.outputs.append(add_state(graph).input)


def state_that_is_an_input(graph: Graph) -> None:
    graph.inputs.append(add_state(graph).input)


BREAKS: dict[str, list[Callable[[Graph], None]]] = {
    "the rounding contract is known": [unknown_contract],
    "every op is known": [unknown_op, missing_subgraph, broken_subgraph],
    "every declared input is there, and no other": [absent_input, surplus_input],
    "every attribute is set, and no other": [missing_attribute, unknown_attribute],
    "nodes and values know each other": [forgotten_use, stale_use, wrong_producer, node_outside],
    "every value is there before it is used": [wrong_order, computed_by_nobody],
    "every value has a name of its own": [same_name, no_name],
    "constants have the type that they claim": [constant_of_another_type, constant_with_strides],
    "shapes are sensible": [negative_dimension],
    "the types of outputs follow from the inputs": [wrong_output_type, shapes_that_do_not_fit],
    "quantizations are sound": [negative_scale, scales_without_axis, scales_that_do_not_fit],
    "subgraphs belong to their graph": [subgraph_of_another_contract, subgraph_with_states],
    "states keep their type": [
        state_of_another_type,
        state_of_no_size,
        state_with_a_wrong_start,
        state_that_is_an_output,
        state_that_is_an_input,
    ],
}


def test_a_valid_graph_passes() -> None:
    verify(good_graph())
    assert problems(good_graph()) == []
    graph = good_graph()
    branches(graph)
    add_state(graph)
    verify(graph)


def test_subgraphs_do_not_lie_too_deep() -> None:
    graph = good_graph()
    for _ in range(MAX_DEPTH + 1):
        outer = good_graph()
        node = branches(outer)
        node.subgraphs[0] = graph
        graph = outer
    with pytest.raises(InvalidGraph, match="deeper than 16"):
        verify(graph)


@pytest.mark.parametrize(
    ("rule", "spoil"),
    [pytest.param(rule, spoil, id=spoil.__name__) for rule, spoils in BREAKS.items() for spoil in spoils],
)
def test_a_broken_rule_is_named(rule: str, spoil: Callable[[Graph], None]) -> None:
    graph = good_graph()
    spoil(graph)
    with pytest.raises(InvalidGraph) as caught:
        verify(graph)
    assert caught.value.rule == rule
    assert caught.value.where in str(caught.value)


def test_every_rule_is_tested() -> None:
    assert list(BREAKS) == [rule.name for rule in RULES]


def test_symbols_may_stand_for_sizes() -> None:
    graph = good_graph()
    for value in (graph.inputs[0], graph.nodes[0].output, graph.outputs[0]):
        value.type = TensorType(DType.f32, ("batch", 3))
    verify(graph)
