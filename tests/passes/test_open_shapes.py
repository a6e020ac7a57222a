"""Passes around what is known late: subgraphs, inputs that decide about shapes, sizes without names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from pass_checks import body, dedent, finish, new_graph, numbers, ops_of, run_pass

from microlith.converter import pipeline
from microlith.converter.passes import absorb_inputs, infer_shapes, name_sizes, simplify_control
from microlith.converter.passes.unique_names import make_names_unique
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value, all_graphs
from microlith.verify import verify

SHAPE = (2, 3)


def constant(graph: Graph, name: str, data: object, dtype: type = np.float32) -> Value:
    return graph.constant(name, np.asarray(data, dtype))


def branch(name: str, op: str, *inputs: str) -> Graph:
    """Applies an op to its first input(s)."""
    graph = Graph(name)
    graph.inputs = [Value(f"{name}_{label}", TensorType(DType.f32, SHAPE)) for label in inputs]
    arity = 2 if op in ("add", "mul") else 1
    graph.outputs = [graph.add(op, graph.inputs[:arity], name=op, output_names=[f"{name}_y"]).output]
    return graph


def choice(flag: bool | None = None, op: str = "add") -> Graph:
    """y = flag ? x + k : -x, with a constant k and an input u that nobody uses."""
    graph = new_graph(x=SHAPE, u=SHAPE)
    k = constant(graph, "k", numbers(*SHAPE))
    condition = constant(graph, "flag", flag, np.bool_) if flag is not None else Value("f", TensorType(DType.b8, ()))
    if flag is None:
        graph.inputs.append(condition)
    x, u = graph.inputs[:2]
    parts = [branch("then", op, "x", "k", "u"), branch("else", "neg", "x", "k", "u")]
    node = graph.add("if", [condition, x, k, u], name="if", output_names=["z"], subgraphs=parts)
    return finish(graph, y=graph.add("relu", [node.output]).output)


def loop(count: int | None, ops: Sequence[str] = ("mul",), keep: int = 0) -> Graph:
    """``count`` times v = op(v, s); collects v. ``keep`` values are carried without being changed."""
    part = Graph("body")
    scalar = (("i", DType.s64), ("go", DType.b8))
    number, go = (Value(name, TensorType(dtype, ())) for name, dtype in scalar)
    inner = [Value(name, TensorType(DType.f32, SHAPE)) for name in ("v", *(f"k{i}" for i in range(keep)), "s_in")]
    part.inputs = [number, go, *inner]
    value = inner[0]
    for index, op in enumerate(ops):
        value = part.add(op, [value, inner[-1]], name=f"{op}{index}", output_names=[f"w{index}"]).output
    part.outputs = [go, value, *inner[1:-1], value]
    graph = new_graph(x=SHAPE, s=SHAPE)
    if count is None:
        graph.inputs.append(Value("n", TensorType(DType.s64, ())))
    n = graph.inputs[2] if count is None else constant(graph, "n", count, np.int64)
    x, s = graph.inputs[:2]
    true = constant(graph, "true", True, np.bool_)
    kept = [graph.add("neg", [x]).output for _ in range(keep)]
    attrs = {"carried": 1 + keep}
    node = graph.add("loop", [n, true, x, *kept, s], attrs, name="loop", subgraphs=[part])
    outputs = {f"y{index}": graph.add("relu", [value]).output for index, value in enumerate(node.outputs)}
    return finish(graph, **outputs)


@pytest.mark.parametrize("flag", [True, False])
def test_a_known_branch_takes_the_place_of_the_if(flag: bool) -> None:
    graph = choice(flag)
    assert run_pass(simplify_control, graph)
    assert ops_of(graph) == ["add" if flag else "neg", "relu"]


def test_constants_move_in_and_what_is_unused_goes() -> None:
    graph = choice()
    feeds = {"x": numbers(*SHAPE, seed=1), "u": numbers(*SHAPE), "f": np.array(True)}
    before = evaluate(graph, feeds)
    assert simplify_control.run(graph)
    verify(graph)
    np.testing.assert_array_equal(evaluate(graph, feeds)["y"], before["y"])
    (node,) = (node for node in graph.nodes if node.op == "if")
    assert [value.name for value in node.inputs if value is not None] == ["f", "x"]
    assert [len(part.inputs) for part in node.subgraphs] == [1, 1]
    assert not simplify_control.run(graph)


@pytest.mark.parametrize("count", [1, 3])
def test_short_loops_are_unrolled(count: int) -> None:
    graph = loop(count)
    feeds = {"x": numbers(*SHAPE), "s": numbers(*SHAPE, seed=2)}
    before = evaluate(graph, feeds)
    assert simplify_control.run(graph)
    infer_shapes.run(graph)
    make_names_unique(graph)
    for part in all_graphs(graph):
        assert "loop" not in ops_of(part)
    verify(graph)
    assert ops_of(graph).count("mul") == count
    for name, array in before.items():
        np.testing.assert_array_equal(evaluate(graph, feeds)[name], array)


def test_long_loops_and_open_ones_stay() -> None:
    for graph in (loop(1000), loop(None), loop(0)):
        simplify_control.run(graph)
        assert "loop" in ops_of(graph)


def test_what_a_loop_does_not_change_is_not_carried() -> None:
    graph = loop(None, keep=2)
    feeds = {"x": numbers(*SHAPE), "s": numbers(*SHAPE, seed=2), "n": np.asarray(4)}
    before = evaluate(graph, feeds)
    assert simplify_control.run(graph)
    verify(graph)
    (node,) = (node for node in graph.nodes if node.op == "loop")
    assert node.attrs["carried"] == 1 and len(node.outputs) == 2
    for name, array in before.items():
        np.testing.assert_array_equal(evaluate(graph, feeds)[name], array)


def test_collected_values_that_nobody_reads_go() -> None:
    graph = loop(None)
    del graph.outputs[1]
    graph.remove_dead()
    assert simplify_control.run(graph)
    verify(graph)
    (node,) = (node for node in graph.nodes if node.op == "loop")
    assert len(node.outputs) == 1 and len(node.subgraphs[0].outputs) == 2


def test_passes_run_inside_of_subgraphs() -> None:
    graph = loop(None, ops=("mul", "mul"))
    (node,) = (node for node in graph.nodes if node.op == "loop")
    part = node.subgraphs[0]
    twice = part.add("neg", [part.add("neg", [part.outputs[1]]).output]).output
    part.outputs[1] = part.add(
        "transpose", [part.add("transpose", [twice], {"perm": (1, 0)}).output], {"perm": (1, 0)}
    ).output
    make_names_unique(part)
    pipeline.optimize(graph, verify=True)
    (node,) = (node for node in graph.nodes if node.op == "loop")
    assert "transpose" not in ops_of(node.subgraphs[0])


def test_constant_inputs_become_attributes() -> None:
    graph = new_graph(x=(2, 3, 4))
    (x,) = graph.inputs
    shape, axes = constant(graph, "shape", [4, -1], np.int64), constant(graph, "axes", [-1], np.int32)
    bounds = [constant(graph, name, [value], np.int64) for name, value in zip("abcd", (-1, -9, 1, -2), strict=True)]
    y = graph.add("reshape", [x, shape]).output
    z = graph.add("reduce_sum", [x, axes], {"keep_dims": 0}).output
    w = graph.add("slice", [x, *bounds]).output
    q = graph.add("unsqueeze", [x, axes]).output
    finish(graph, y=y, z=z, w=w, q=q)
    assert run_pass(absorb_inputs, graph)
    assert body(graph) == dedent(
        """
        %y: f32[4,6] = reshape(%x) {shape=[4, -1]}
        %z: f32[2,3] = reduce_sum(%x) {axes=4, keep_dims=0}
        %w: f32[2,2,4] = slice(%x) {start=[0, 2, 0], size=[2, 2, 4], step=[1, -2, 1]}
        %q: f32[2,3,4,1] = reshape(%x) {shape=[2, 3, 4, 1]}
        """
    )


def test_shapes_that_are_known_are_constants() -> None:
    graph = new_graph(x=("n", 3, 4))
    (x,) = graph.inputs
    known = graph.add("shape", [x], {"start": 1}).output
    mixed = graph.add("shape", [x]).output
    y = graph.add("concat", [known, mixed], {"axis": 0}).output
    finish(graph, y=y)
    assert run_pass(absorb_inputs, graph)
    assert ops_of(graph) == ["shape", "concat"]
    assert np.array_equal(graph.nodes[1].input(0).data, [3, 4])  # type: ignore[arg-type]


def test_sizes_that_become_known() -> None:
    graph = new_graph(x=(2, 6))
    (x,) = graph.inputs
    shape = Value("shape", TensorType(DType.s64, (2,)))
    y = graph.add("reshape", [x, shape]).output
    z = graph.add("relu", [y]).output
    assert not z.type.is_static
    graph.nodes[0].set_input(1, constant(graph, "shape", [3, 4], np.int64))
    graph.outputs = [z]
    assert infer_shapes.run(graph)
    assert z.shape == (3, 4)
    assert not infer_shapes.run(graph)


def test_sizes_that_stay_unknown_get_a_name() -> None:
    graph = new_graph(x=(2, 6))
    (x,) = graph.inputs
    where = graph.add("non_zero", [x]).output
    y = graph.add("concat", [where, where], {"axis": 1}).output
    where.name = "where"
    graph.outputs = [y, graph.add("relu", [x]).output]
    y.name = "y"
    assert name_sizes.run(graph)
    assert where.shape == (2, "where_dim1")
    assert y.shape == (2, "where_dim1+where_dim1")
    assert not name_sizes.run(graph)
