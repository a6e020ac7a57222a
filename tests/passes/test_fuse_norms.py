"""Normalizations, softmax and attention as exporters spell them out become one op each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pass_checks import finish, new_graph, numbers, ops_of, random_inputs, run_pass

from microlith.converter.passes import fuse_attention, fuse_norms
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.ops.reduce import mask_of


def mean(graph: Graph, x: Value, *axes: int, op: str = "reduce_mean") -> Value:
    return graph.add(op, [x], {"axes": mask_of(axes or (-1,), len(x.shape)), "keep_dims": 1}).output


def number(graph: Graph, value: float) -> Value:
    return graph.constant("c", np.array(value, np.float32))


def add(graph: Graph, op: str, *inputs: Value) -> Value:
    return graph.add(op, list(inputs)).output


def over_root(graph: Graph, x: Value, power: Value, form: str) -> Value:
    """x / sqrt(power + epsilon) in one of the forms in use."""
    shifted = add(graph, "add", power, number(graph, 1e-5))
    if form == "div":
        return add(graph, "div", x, add(graph, "sqrt", shifted))
    if form == "rsqrt":
        return add(graph, "mul", add(graph, "rsqrt", shifted), x)
    return add(graph, "div", x, add(graph, "pow", shifted, number(graph, 0.5)))


def normalized(graph: Graph, x: Value, *axes: int, form: str = "div") -> Value:
    centred = add(graph, "sub", x, mean(graph, x, *axes))
    return over_root(graph, centred, mean(graph, add(graph, "square", centred), *axes), form)


@pytest.mark.parametrize("form", ["div", "rsqrt", "pow"])
@pytest.mark.parametrize("weights", [(), (6,), (1, 1, 6)])
def test_layer_norm(form: str, weights: tuple[int, ...]) -> None:
    graph = new_graph(x=(2, 3, 6))
    y = normalized(graph, graph.inputs[0], form=form)
    if weights:
        y = add(graph, "mul", y, graph.constant("scale", numbers(*weights)))
        y = add(graph, "add", graph.constant("bias", numbers(*weights, seed=2)), y)
    finish(graph, y=y)
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["layer_norm"]
    assert len(graph.nodes[0].inputs) == (3 if weights else 1)


def test_layer_norm_over_two_axes_of_unknown_batch() -> None:
    graph = new_graph(x=("n", 3, 6))
    y = add(graph, "mul", normalized(graph, graph.inputs[0], 1, 2), graph.constant("scale", numbers(3, 6)))
    finish(graph, y=y)
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["layer_norm"]


def test_layer_norm_as_tensorflow_writes_it() -> None:
    graph = new_graph(x=(4, 8))
    x = graph.inputs[0]
    middle = mean(graph, x)
    variance = mean(graph, add(graph, "squared_difference", x, middle))
    factor = add(graph, "rsqrt", add(graph, "add", variance, number(graph, 1e-3)))
    factor = add(graph, "mul", factor, graph.constant("scale", numbers(8)))
    shift = add(graph, "sub", graph.constant("bias", numbers(8, seed=3)), add(graph, "mul", middle, factor))
    finish(graph, y=add(graph, "add", add(graph, "mul", x, factor), shift))
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["layer_norm"]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_layer_norm_as_keras_writes_it(scale: bool, bias: bool) -> None:
    graph = new_graph(x=(4, 8))
    x = graph.inputs[0]
    middle = mean(graph, x)
    turned = add(graph, "neg", middle)
    variance = mean(graph, add(graph, "squared_difference", x, middle))
    factor = add(graph, "rsqrt", add(graph, "add", variance, number(graph, 1e-3)))
    factor = add(graph, "mul", factor, graph.constant("scale", numbers(8))) if scale else factor
    shift = add(graph, "mul", turned, factor)
    shift = add(graph, "add", shift, graph.constant("bias", numbers(8, seed=3))) if bias else shift
    finish(graph, y=add(graph, "add", add(graph, "mul", x, factor), shift))
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["layer_norm"]


def test_instance_norm() -> None:
    graph = new_graph(x=(2, 5, 5, 4))
    y = add(graph, "mul", normalized(graph, graph.inputs[0], 1, 2), graph.constant("scale", numbers(4)))
    finish(graph, y=y)
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["group_norm"]


@pytest.mark.parametrize("form", ["div", "rsqrt"])
def test_rms_norm(form: str) -> None:
    graph = new_graph(x=(2, 3, 6))
    x = graph.inputs[0]
    y = over_root(graph, x, mean(graph, add(graph, "square", x)), form)
    finish(graph, y=add(graph, "mul", graph.constant("scale", numbers(6)), y))
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["rms_norm"]


def test_what_a_scale_is_absorbed_into_has_the_name_of_the_product() -> None:
    """A value by the name of an inner tensor of the model, but with other numbers, would mislead comparisons."""
    graph = new_graph(x=(2, 3, 6))
    x = graph.inputs[0]
    plain = over_root(graph, x, mean(graph, add(graph, "square", x)), "div")
    scaled = add(graph, "mul", plain, graph.constant("scale", numbers(6)))
    name = scaled.name
    finish(graph, y=add(graph, "square", scaled))
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["rms_norm", "square"]
    assert graph.nodes[0].output.name == name


def test_mean_that_something_else_uses() -> None:
    graph = new_graph(x=(2, 6))
    x = graph.inputs[0]
    middle = mean(graph, x)
    centred = add(graph, "sub", x, middle)
    y = over_root(graph, centred, mean(graph, add(graph, "square", centred)), "div")
    finish(graph, y=y, mean=middle)
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["reduce_mean", "sub", "rms_norm"]


@pytest.mark.parametrize("axes", [(0,), (0, 2)])
def test_axes_that_are_not_the_last_stay(axes: tuple[int, ...]) -> None:
    graph = new_graph(x=(2, 3, 6))
    finish(graph, y=normalized(graph, graph.inputs[0], *axes))
    assert not run_pass(fuse_norms, graph)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("shifted", [True, False])
def test_softmax(axis: int, shifted: bool) -> None:
    graph = new_graph(x=(2, 3, 6))
    x = graph.inputs[0]
    centred = add(graph, "sub", x, mean(graph, x, axis, op="reduce_max")) if shifted else x
    exponentials = add(graph, "exp", centred)
    finish(graph, y=add(graph, "div", exponentials, mean(graph, exponentials, axis, op="reduce_sum")))
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["softmax"]


@pytest.mark.parametrize("weighted", [True, False])
def test_groups_of_channels_as_rows(weighted: bool) -> None:
    graph = new_graph(x=(2, 6, 5, 4))
    rows = graph.add("reshape", [graph.inputs[0]], {"shape": (2, 3, -1)}).output
    weights = [graph.constant(name, numbers(3, seed=seed)) for seed, name in enumerate("sb")] if weighted else []
    turned = graph.add("transpose", [rows], {"perm": (0, 2, 1)}).output
    normal = graph.add("group_norm", [turned, *weights], {"groups": 3}).output
    back = graph.add("transpose", [normal], {"perm": (0, 2, 1)}).output
    finish(graph, y=graph.add("reshape", [back], {"shape": (2, 6, 5, 4)}).output)
    assert run_pass(fuse_norms, graph)
    assert ops_of(graph) == ["transpose", "group_norm", "transpose"]


# Attention


def heads(graph: Graph, x: Value, perm: tuple[int, ...] | None) -> Value:
    return x if perm is None else graph.add("transpose", [x], {"perm": perm}).output


def spelled_out(graph: Graph, q: Value, k: Value, v: Value, *, scale: str, mask: Value | None, turned: bool) -> Value:
    scores = graph.add("matmul", [q, k], {"transpose_b": int(not turned)}).output
    if scale == "mul":
        scores = add(graph, "mul", scores, number(graph, 0.25))
    elif scale == "div":
        scores = add(graph, "div", scores, number(graph, 4.0))
    if mask is not None:
        scores = add(graph, "add", scores, mask)
    weights = graph.add("softmax", [scores], {"axis": 3}).output
    return graph.add("matmul", [weights, v]).output


@pytest.mark.parametrize("scale", ["", "mul", "div"])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("layout", ["heads first", "heads last", "mixed"])
def test_attention(scale: str, masked: bool, layout: str) -> None:
    first = layout == "heads first"
    shapes = {name: (2, 4, length, 8) if first else (2, length, 4, 8) for name, length in (("q", 5), ("k", 7))}
    shapes["v"] = (2, 7, 4, 8) if layout == "heads last" else (2, 4, 7, 8)
    inputs = {**shapes, "mask": (2, 1, 1, 7)} if masked else shapes
    graph = new_graph(**inputs)
    values = {value.name: value for value in graph.inputs}
    swap = None if first else (0, 2, 1, 3)
    q = heads(graph, values["q"], swap)
    k = heads(graph, values["k"], (0, 1, 3, 2) if first else (0, 2, 3, 1))
    v = heads(graph, values["v"], swap if layout == "heads last" else None)
    y = spelled_out(graph, q, k, v, scale=scale, mask=values.get("mask"), turned=True)
    finish(graph, y=heads(graph, y, swap))
    assert run_pass(fuse_attention, graph)
    assert ops_of(graph).count("attention") == 1
    assert "matmul" not in ops_of(graph) and "softmax" not in ops_of(graph)
    if first:
        assert ops_of(graph) == ["attention"]


@pytest.mark.parametrize("guarded", [True, False])
def test_attention_with_a_condition_and_scaled_operands(guarded: bool) -> None:
    graph = new_graph(q=(2, 5, 4, 8), k=(2, 7, 4, 8), v=(2, 7, 4, 8), mask=(2, 1, 5, 7))
    q, k, v, mask = graph.inputs
    mask.type = TensorType(DType.b8, mask.shape)
    q = heads(graph, add(graph, "mul", q, number(graph, 0.5)), (0, 2, 1, 3))
    k = add(graph, "mul", number(graph, 0.25), heads(graph, k, (0, 2, 3, 1)))
    bias = add(graph, "where", mask, number(graph, 0.0), number(graph, -np.inf))
    scores = add(graph, "add", graph.add("matmul", [q, k]).output, bias)
    weights = graph.add("softmax", [scores], {"axis": 3}).output
    if guarded:
        weights = add(graph, "where", add(graph, "is_nan", weights), number(graph, 0.0), weights)
    y = graph.add("matmul", [weights, heads(graph, v, (0, 2, 1, 3))]).output
    finish(graph, y=heads(graph, y, (0, 2, 1, 3)))
    feeds = random_inputs(graph)
    feeds["mask"] = feeds["mask"].astype(bool) | (np.arange(7) == 3)
    before = evaluate(graph, feeds)["y"]
    assert fuse_attention.run(graph)
    assert ops_of(graph) == ["attention", "transpose", "transpose"]
    np.testing.assert_allclose(evaluate(graph, feeds)["y"], before, atol=1e-5)


def test_attention_of_unknown_length() -> None:
    graph = new_graph(q=(1, 2, "t", 4), k=(1, 2, "t", 4), v=(1, 2, "t", 4), mask=(1, 1, "t", "t"))
    q, k, v, mask = graph.inputs
    finish(graph, y=spelled_out(graph, q, k, v, scale="mul", mask=mask, turned=False))
    assert run_pass(fuse_attention, graph)
    assert ops_of(graph) == ["attention"]


def _broadcast_mask(graph: Graph) -> Value:
    q, k, v, mask = graph.inputs
    return spelled_out(graph, q, k, v, scale="mul", mask=mask, turned=False)


def _shared_scores(graph: Graph) -> Value:
    q, k, v, mask = graph.inputs
    y = spelled_out(graph, q, k, v, scale="", mask=None, turned=False)
    scores = graph.nodes[0].output
    return add(graph, "add", add(graph, "add", y, mean(graph, scores)), mask)


@pytest.mark.parametrize("make", [_broadcast_mask, _shared_scores])
def test_attention_that_has_to_stay(make: Callable[[Graph], Value]) -> None:
    graph = new_graph(q=(1, 2, 3, 4), k=(1, 2, 5, 4), v=(1, 2, 5, 4), mask=(1, 1, 3, 1))
    finish(graph, y=make(graph))
    assert not run_pass(fuse_attention, graph)
