"""Passes that put neighbours together: batch normalization, bias, activation, padding, spelled-out formulas."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from pass_checks import body, finish, new_graph, numbers, ops_of, run_pass

from microlith.converter.passes import (
    fold_pad,
    fuse_activation,
    fuse_batchnorm,
    fuse_bias,
    fuse_patterns,
    remove_identities,
)
from microlith.dtypes import DType
from microlith.ir import Graph, Node, Quant, TensorType, Value


def _conv(graph: Graph, x: Value, out_c: int = 4, bias: bool = True, **attrs: int | float) -> Node:
    groups = int(attrs.get("groups", 1))
    in_c = x.shape[-1]
    assert isinstance(in_c, int)
    weights = graph.constant("w", numbers(out_c, 3, 3, in_c // groups))
    return graph.add("conv2d", [x, weights, graph.constant("b", numbers(out_c, seed=3)) if bias else None], attrs)


def _depthwise(graph: Graph, x: Value, multiplier: int = 2) -> Node:
    in_c = x.shape[-1]
    assert isinstance(in_c, int)
    return graph.add("depthwise_conv2d", [x, graph.constant("w", numbers(1, 3, 3, in_c * multiplier))])


def _constant(graph: Graph, *shape: int, seed: int = 7) -> Value:
    return graph.constant("c", numbers(*shape, seed=seed) + np.float32(1.5))


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 1, 1, 4)])
@pytest.mark.parametrize("op", ["mul", "add", "sub", "div"])
@pytest.mark.parametrize("first", [True, False])
def test_affine_behind_a_convolution(op: str, shape: tuple[int, ...], first: bool) -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    conv = _conv(graph, graph.inputs[0])
    operands = [conv.output, _constant(graph, *shape)]
    finish(graph, y=graph.add(op, operands if first else operands[::-1]).output)
    possible = op != "div" or first
    assert run_pass(fuse_batchnorm, graph) == possible
    assert ops_of(graph) == ["conv2d"] if possible else ["conv2d", "div"]


@pytest.mark.parametrize("make", [lambda g: _depthwise(g, g.inputs[0]), lambda g: _conv(g, g.inputs[0], 6, groups=3)])
def test_batch_normalization_of_grouped_layers(make: Callable[[Graph], Node]) -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    layer = make(graph)
    scaled = graph.add("mul", [layer.output, _constant(graph, 6)])
    finish(graph, y=graph.add("add", [scaled.output, _constant(graph, 6, seed=8)]).output)
    assert run_pass(fuse_batchnorm, graph)
    assert len(graph.nodes) == 1


def test_normalized_input_goes_into_the_first_layer() -> None:
    graph = new_graph(x=(1, 6, 6, 3))
    centred = graph.add("sub", [graph.inputs[0], _constant(graph, 3)])
    scaled = graph.add("div", [centred.output, _constant(graph, 3, seed=9)])
    finish(graph, y=_conv(graph, scaled.output).output)
    assert run_pass(fuse_batchnorm, graph)
    assert ops_of(graph) == ["conv2d"]


@pytest.mark.parametrize("make", [lambda g, x: _depthwise(g, x), lambda g, x: _conv(g, x, 6, groups=3)])
def test_scaled_input_of_grouped_layers(make: Callable[[Graph, Value], Node]) -> None:
    graph = new_graph(x=(1, 5, 5, 6))
    scaled = graph.add("mul", [graph.inputs[0], _constant(graph, 6)])
    shifted = graph.add("add", [scaled.output, _constant(graph, 6, seed=2)])
    finish(graph, y=make(graph, shifted.output).output)
    assert run_pass(fuse_batchnorm, graph)
    assert len(graph.nodes) == 1


def test_a_shift_stays_in_front_of_padding() -> None:
    graph = new_graph(x=(1, 6, 6, 3))
    shifted = graph.add("add", [graph.inputs[0], _constant(graph, 3)])
    finish(graph, y=_conv(graph, shifted.output, pad_top=1).output)
    assert not run_pass(fuse_batchnorm, graph)


def test_batch_normalization_stays_behind_an_activation_and_a_fork() -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    clamped = _conv(graph, graph.inputs[0], clamp_min=0.0)
    scaled = graph.add("mul", [clamped.output, _constant(graph, 4)])
    fork = _conv(graph, graph.inputs[0])
    half = graph.add("mul", [fork.output, _constant(graph, 4, seed=5)])
    finish(graph, y=scaled.output, z=half.output, w=graph.add("neg", [fork.output]).output)
    assert not run_pass(fuse_batchnorm, graph)


def test_broadcasting_that_grows_stays() -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    conv = _conv(graph, graph.inputs[0], out_c=1)
    finish(graph, y=graph.add("mul", [conv.output, _constant(graph, 4)]).output)
    assert not run_pass(fuse_batchnorm, graph)


@pytest.mark.parametrize("op", ["add", "sub"])
def test_bias_of_a_matrix_product(op: str) -> None:
    graph = new_graph(a=(2, 3, 4), b=(2, 4, 5))
    product = graph.add("matmul", graph.inputs)
    finish(graph, y=graph.add(op, [product.output, _constant(graph, 5)]).output)
    assert run_pass(fuse_bias, graph)
    assert ops_of(graph) == ["matmul"]
    assert graph.nodes[0].optional_input(2) is not None


def test_bias_per_row_stays() -> None:
    graph = new_graph(a=(3, 4), b=(4, 5))
    product = graph.add("matmul", graph.inputs)
    finish(graph, y=graph.add("add", [product.output, _constant(graph, 3, 1)]).output)
    assert not run_pass(fuse_bias, graph)


def test_activations_become_clamps() -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    relu = graph.add("relu", [_conv(graph, graph.inputs[0]).output])
    pool = graph.add("max_pool2d", [relu.output], {"kernel_h": 2, "kernel_w": 2})
    six = graph.add("clip", [pool.output], {"alpha": 0.0, "beta": 6.0})
    total = graph.add("add", [six.output, graph.constant("one", np.float32(1))])
    finish(graph, y=graph.add("clip", [total.output], {"alpha": -2.0, "beta": 1.5}).output)
    assert run_pass(fuse_activation, graph)
    assert ops_of(graph) == ["conv2d", "max_pool2d", "add"]
    clamps = [(node.attrs["clamp_min"], node.attrs["clamp_max"]) for node in graph.nodes]
    assert clamps == [(0.0, math.inf), (0.0, 6.0), (-2.0, 1.5)]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [((0, 6), (-1, 3), (0, 3)), ((0, 1), (2, 3), (2, 2)), ((2, 3), (0, 1), (1, 1)), ((-1, 1), (-2, 2), (-1, 1))],
)
def test_two_clips_become_one(
    first: tuple[float, float], second: tuple[float, float], expected: tuple[float, float]
) -> None:
    graph = new_graph(x=(20,))
    value = graph.inputs[0]
    for low, high in (first, second):
        value = graph.add("clip", [value], {"alpha": float(low), "beta": float(high)}).output
    finish(graph, y=value)
    assert run_pass(fuse_activation, graph)
    assert body(graph).endswith(f"alpha={expected[0]}, beta={expected[1]}}}")


def test_maximum_and_minimum_with_numbers_are_activations() -> None:
    graph = new_graph(x=(4,))
    zero, six = graph.constant("zero", np.float32(0)), graph.constant("six", np.float32(6))
    upper = graph.add("max", [graph.inputs[0], zero])
    relu = graph.add("max", [graph.add("neg", [graph.inputs[0]]).output, zero])
    finish(graph, y=graph.add("min", [upper.output, six]).output, z=relu.output)
    assert run_pass(fuse_activation, graph)
    assert sorted(ops_of(graph)) == ["clip", "neg", "relu"]


def test_a_relu_that_others_need_unfused_stays() -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    conv = _conv(graph, graph.inputs[0])
    finish(graph, y=graph.add("relu", [conv.output]).output, z=graph.add("neg", [conv.output]).output)
    assert not run_pass(fuse_activation, graph)


def test_integer_relu_with_another_scale_stays() -> None:
    quant = Quant.per_tensor(0.1, 0)
    graph = Graph("g", inputs=[Value("x", TensorType(DType.s8, (1, 4, 4, 2)), quant=quant)])
    pool = graph.add("max_pool2d", [graph.inputs[0]], {"kernel_h": 2, "kernel_w": 2}, quant=quant)
    same = graph.add("relu", [pool.output], quant=quant)
    other = graph.add("relu", [same.output], quant=Quant.per_tensor(0.05, -128))
    finish(graph, y=other.output)
    assert fuse_activation.run(graph)
    assert ops_of(graph) == ["max_pool2d", "relu"]
    assert graph.nodes[0].attrs["clamp_min"] == 0.0


def _padded(graph: Graph, filler: float | None = None, channels: int = 0) -> Node:
    value = None if filler is None else graph.constant("filler", np.float32(filler))
    return graph.add(
        "pad", [graph.inputs[0], value], {"before": (0, 1, 2, channels), "after": (0, 3, 0, 0)}, output_names=["padded"]
    )


def test_pad_goes_into_a_convolution() -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    finish(graph, y=_conv(graph, _padded(graph).output, bias=False, pad_top=1).output)
    assert run_pass(fold_pad, graph)
    assert body(graph).startswith("%y: f32[1,8,5,4] = conv2d(%x, w: f32[4,3,3,3] #")
    assert body(graph).endswith(", -) {pad_top=2, pad_left=2, pad_bottom=3}")


@pytest.mark.parametrize(("filler", "possible"), [(None, True), (-3, True), (0, False)])
def test_a_border_of_the_zero_point_goes_into_a_quantized_convolution(filler: int | None, possible: bool) -> None:
    graph = Graph("g")
    quant = Quant.per_tensor(0.5, -3)
    x = Value("x", TensorType(DType.s8, (1, 5, 5, 3)), quant=quant)
    graph.inputs.append(x)
    border = {"before": (0, 1, 1, 0), "after": (0, 1, 1, 0)}
    value = None if filler is None else graph.constant("filler", np.array([filler], np.int8))
    padded = graph.add("pad", [x, value], border, quant=quant)
    weights = graph.constant("w", np.ones((4, 3, 3, 3), np.int8))
    weights.quant = Quant.per_tensor(0.25, 0)
    graph.outputs = [graph.add("conv2d", [padded.output, weights, None], quant=quant).output]
    assert fold_pad.run(graph) == possible
    assert ops_of(graph) == (["conv2d"] if possible else ["pad", "conv2d"])
    if possible:
        assert {graph.nodes[0].attrs[f"pad_{side}"] for side in ("top", "left", "bottom", "right")} == {1}


def test_a_pad_that_crops_stays() -> None:
    graph = new_graph(x=(1, 5, 5, 2))
    padded = graph.add("pad", [graph.inputs[0]], {"before": (0, -1, 1, 0), "after": (0, 1, -1, 0)})
    assert padded.output.shape == (1, 5, 5, 2)
    finish(graph, y=_conv(graph, padded.output, pad_top=1).output)
    assert not fold_pad.run(graph)
    assert not remove_identities.run(graph)


def test_pad_goes_past_a_transpose() -> None:
    graph = new_graph(x=(1, 3, 5, 6))
    border = {"before": (0, 0, 1, 2), "after": (0, 0, 3, 0)}
    padded = graph.add("pad", [graph.inputs[0]], border, output_names=["padded"])
    turned = graph.add("transpose", [padded.output], {"perm": (0, 2, 3, 1)})
    finish(graph, y=_conv(graph, turned.output).output)
    assert run_pass(fold_pad, graph)
    assert ops_of(graph) == ["transpose", "conv2d"]


def test_pads_and_pools() -> None:
    window = {"kernel_h": 4, "kernel_w": 3}
    for op, filler, possible in (
        ("max_pool2d", -math.inf, True),
        ("max_pool2d", 0.0, False),
        ("avg_pool2d", 0.0, True),
        ("avg_pool2d", 1.0, False),
    ):
        graph = new_graph(x=(1, 5, 5, 3))
        finish(graph, y=graph.add(op, [_padded(graph, filler).output], window).output)
        assert run_pass(fold_pad, graph) == possible, (op, filler)


def test_a_border_wider_than_the_window_of_a_pool_stays() -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    finish(graph, y=graph.add("max_pool2d", [_padded(graph, -math.inf).output], {"kernel_h": 2, "kernel_w": 2}).output)
    assert not run_pass(fold_pad, graph, tolerance=0.0)


def test_pads_that_stay() -> None:
    graph = new_graph(x=(1, 5, 5, 3))
    finish(
        graph,
        y=_conv(graph, _padded(graph, 1.0).output).output,
        z=_conv(graph, _padded(graph, channels=1).output).output,
    )
    assert not run_pass(fold_pad, graph)


def _number(graph: Graph, value: float) -> Value:
    return graph.constant("n", np.float32(value))


def _hard_swish(graph: Graph, x: Value) -> Value:
    shifted = graph.add("add", [x, _number(graph, 3)]).output
    six = graph.add("clip", [shifted], {"alpha": 0.0, "beta": 6.0}).output
    return graph.add("div", [graph.add("mul", [x, six]).output, _number(graph, 6)]).output


def _hard_sigmoid(graph: Graph, x: Value) -> Value:
    shifted = graph.add("add", [_number(graph, 3), x], {"clamp_min": 0.0, "clamp_max": 6.0}).output
    return graph.add("mul", [shifted, _number(graph, 1 / 6)]).output


def _silu(graph: Graph, x: Value) -> Value:
    return graph.add("mul", [graph.add("sigmoid", [x]).output, x]).output


def _gelu_erf(graph: Graph, x: Value) -> Value:
    inner = graph.add("erf", [graph.add("div", [x, _number(graph, math.sqrt(2))]).output]).output
    one = graph.add("add", [inner, _number(graph, 1)]).output
    return graph.add("mul", [graph.add("mul", [x, one]).output, _number(graph, 0.5)]).output


def _gelu_tanh(graph: Graph, x: Value) -> Value:
    cube = graph.add("pow", [x, _number(graph, 3)]).output
    inner = graph.add("add", [x, graph.add("mul", [cube, _number(graph, 0.044715)]).output]).output
    tanh = graph.add("tanh", [graph.add("mul", [inner, _number(graph, math.sqrt(2 / math.pi))]).output]).output
    one = graph.add("add", [tanh, _number(graph, 1)]).output
    return graph.add("mul", [graph.add("mul", [x, _number(graph, 0.5)]).output, one]).output


def _log_softmax(graph: Graph, x: Value) -> Value:
    return graph.add("log", [graph.add("softmax", [x], {"axis": 1}).output]).output


def _square(graph: Graph, x: Value) -> Value:
    return graph.add("mul", [x, x]).output


@pytest.mark.parametrize(
    ("build", "op"),
    [
        (_hard_swish, "hard_swish"),
        (_hard_sigmoid, "hard_sigmoid"),
        (_silu, "silu"),
        (_gelu_erf, "gelu"),
        (_gelu_tanh, "gelu"),
        (_log_softmax, "log_softmax"),
        (_square, "square"),
    ],
)
def test_spelled_out_activations(build: Callable[[Graph, Value], Value], op: str) -> None:
    graph = new_graph(x=(3, 5))
    finish(graph, y=build(graph, graph.inputs[0]))
    assert run_pass(fuse_patterns, graph)
    assert ops_of(graph) == [op]


def test_a_formula_with_another_number_stays() -> None:
    graph = new_graph(x=(3, 5))
    x = graph.inputs[0]
    shifted = graph.add("add", [x, _number(graph, 2.5)]).output
    six = graph.add("clip", [shifted], {"alpha": 0.0, "beta": 6.0}).output
    finish(graph, y=graph.add("div", [graph.add("mul", [x, six]).output, _number(graph, 6)]).output)
    assert not run_pass(fuse_patterns, graph)


def test_a_quantized_formula_stays() -> None:
    quant = Quant.per_tensor(0.1, 0)
    graph = Graph("g", inputs=[Value("x", TensorType(DType.s8, (4,)), quant=quant)])
    finish(graph, y=graph.add("mul", [graph.inputs[0], graph.inputs[0]], quant=quant).output)
    assert not fuse_patterns.run(graph)
