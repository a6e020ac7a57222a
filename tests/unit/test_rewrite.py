"""Passes and local patterns, by the printed form before and after."""

from __future__ import annotations

import numpy as np
import pytest

from microlith.dtypes import DType
from microlith.ir import Graph, TensorType, Value
from microlith.rewrite import (
    Const,
    Match,
    Op,
    Pass,
    PassOrderError,
    PassRecord,
    Var,
    bypass,
    graph_pass,
    match_node,
    only_user,
    repeat,
    replace_node,
    rewrite_all,
    run_passes,
    scalar_of,
)
from microlith.text import to_text
from microlith.verify import InvalidGraph, verify

X = Var("x")
SILU = Op("mul", X, Op("sigmoid", X))


def fuse_silu(graph: Graph) -> bool:
    return rewrite_all(graph, SILU, lambda g, match: g.add("silu", [match["x"]], before=match.root).output)


def start() -> tuple[Graph, Value]:
    graph = Graph("g")
    x = Value("x", TensorType(DType.f32, ("n", 3)))
    graph.inputs = [x]
    return graph, x


def silu_graph() -> Graph:
    graph, x = start()
    gate = graph.add("sigmoid", [x], output_names=["gate"])
    product = graph.add("mul", [gate.output, x], output_names=["product"])
    graph.outputs = [graph.add("neg", [product.output], output_names=["y"]).output]
    return graph


def test_a_pattern_is_found_in_either_order_and_replaced() -> None:
    graph = silu_graph()
    assert fuse_silu(graph)
    verify(graph)
    assert to_text(graph) == (
        "graph g (single)\ninput %x: f32[n,3]\n%product: f32[n,3] = silu(%x)\n%y: f32[n,3] = neg(%product)\noutput %y\n"
    )
    assert not fuse_silu(graph)


def test_an_output_of_the_graph_keeps_its_name() -> None:
    graph = silu_graph()
    graph.outputs = [graph.nodes[1].output]
    graph.remove_dead()
    assert fuse_silu(graph)
    verify(graph)
    assert [value.name for value in graph.outputs] == ["product"]


def test_a_value_that_is_used_elsewhere_stays() -> None:
    graph = silu_graph()
    graph.outputs.append(graph.nodes[0].output)
    before = to_text(graph)
    assert not fuse_silu(graph)
    assert to_text(graph) == before


def test_a_fused_clamp_is_not_overlooked() -> None:
    graph, x = start()
    gate = graph.add("sigmoid", [x])
    graph.outputs = [graph.add("mul", [x, gate.output], {"clamp_min": 0.0}).output]
    assert not fuse_silu(graph)


def test_constants_in_patterns() -> None:
    graph, x = start()
    half = graph.constant("half", np.full((3,), 0.5, np.float32))
    node = graph.add("mul", [x, half])
    assert match_node(node, Op("mul", X, Const(value=0.5))) is not None
    assert match_node(node, Op("mul", X, Const(value=0.6))) is None
    match = match_node(node, Op("mul|add", Const("c"), X, name="product"))
    assert isinstance(match, Match) and match["c"] is half and match.named["product"] is node
    assert scalar_of(half) == 0.5 and scalar_of(x) is None
    assert scalar_of(graph.constant("mixed", np.arange(3.0))) is None


def test_attributes_in_patterns() -> None:
    graph, x = start()
    node = graph.add("reduce_mean", [x], {"axes": 2})
    assert match_node(node, Op("reduce_mean", X, axes=2)) is not None
    assert match_node(node, Op("reduce_mean", X, axes=1)) is None


def test_replace_node_and_bypass() -> None:
    graph = silu_graph()
    new = replace_node(graph, graph.nodes[2], "abs", graph.nodes[2].inputs)
    assert bypass(graph, graph.nodes[0])
    verify(graph)
    assert to_text(graph) == (
        "graph g (single)\n"
        "input %x: f32[n,3]\n"
        "%product: f32[n,3] = mul(%x, %x)\n"
        "%y: f32[n,3] = abs(%product)\n"
        "output %y\n"
    )
    assert only_user(graph, new.input(0)) is new


def test_the_interface_is_not_bypassed() -> None:
    graph, x = start()
    node = graph.add("reshape", [x], {"shape": (0, 3)}, output_names=["y"])
    graph.outputs = [node.output]
    assert not bypass(graph, node)
    assert graph.nodes == [node]


def test_run_passes_reports_and_verifies() -> None:
    records: list[PassRecord] = []

    def broken(graph: Graph) -> bool:
        graph.nodes.reverse()
        return True

    graph = silu_graph()
    passes = [Pass("silu", fuse_silu), Pass("silu again", fuse_silu)]
    assert run_passes(graph, passes, observer=lambda record, _: records.append(record))
    assert [(r.name, r.changed, r.nodes_before, r.nodes_after) for r in records] == [
        ("silu", True, 3, 2),
        ("silu again", False, 2, 2),
    ]
    with pytest.raises(InvalidGraph, match=r"after pass 'broken'.*there before it is used"):
        run_passes(graph, [Pass("broken", broken)])


def test_the_order_of_passes_is_checked_before_anything_runs() -> None:
    @graph_pass(requires=["shapes"])
    def needs_shapes(graph: Graph) -> bool:
        raise AssertionError("must not run")

    @graph_pass(ensures=["shapes"])
    def gives_shapes(graph: Graph) -> bool:
        return False

    graph = silu_graph()
    with pytest.raises(PassOrderError, match=r"'needs_shapes' requires \['shapes'\]"):
        run_passes(graph, [needs_shapes, gives_shapes])
    assert not run_passes(graph, [gives_shapes, Pass("after", lambda g: False, frozenset(["shapes"]))])
    assert not run_passes(graph, [Pass("fact", lambda g: False, frozenset(["shapes"]))], facts=["shapes"])


def test_repeat_runs_until_nothing_changes() -> None:
    graph, x = start()
    value = x
    for _ in range(4):
        value = graph.add("neg", [value]).output
    graph.outputs = [value]
    for index, node in enumerate(graph.nodes):
        node.output.name = f"v{index}"

    def one_pair(graph: Graph) -> bool:
        pattern = Op("neg", Op("neg", X))
        for node in graph.nodes:
            match = match_node(node, pattern)
            if match is not None:
                graph.replace(node.output, match["x"])
                graph.remove_dead()
                return True
        return False

    item = repeat("all pairs", [Pass("one pair", one_pair)])
    assert item.run(graph)
    assert graph.nodes == [] and graph.outputs == [x]
    assert not item.run(graph)
