"""Transposes: they sink, meet, and go; what is left is counted."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pass_checks import body, dedent, finish, new_graph, numbers, ops_of, random_inputs, run_pass

from microlith.converter.passes import layout, transposes_of_ones
from microlith.converter.passes.layout_rules import compose, inverse, swap_reshape
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, Value

TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


def _transpose(graph: Graph, x: Value, perm: tuple[int, ...]) -> Value:
    return graph.add("transpose", [x], {"perm": perm}).output


def _conv(graph: Graph, x: Value, out_c: int = 4) -> Value:
    """A convolution as the importer of a channels-first model writes it."""
    channels = x.shape[1]
    assert isinstance(channels, int)
    weights = graph.constant("w", numbers(out_c, 1, 1, channels))
    y = graph.add("conv2d", [_transpose(graph, x, TO_NHWC), weights]).output
    return _transpose(graph, y, TO_NCHW)


CROP = {"roi_begin": (0.0, 0.0, 0.1, 0.2), "roi_end": (1.0, 1.0, 0.8, 1.1)}


def _between(build: Callable[[Graph, Value], Value], shape: tuple[int, ...] = (2, 3, 5, 6)) -> Graph:
    """Two convolutions with something between them."""
    graph = new_graph(x=shape)
    return finish(graph, y=_conv(graph, build(graph, _conv(graph, graph.inputs[0], 4)), 2))


def _constant(graph: Graph, *shape: int) -> Value:
    return graph.constant("c", numbers(*shape))


def _add(op: str, attrs: dict[str, Any] | None = None, *constants: tuple[int, ...]) -> Callable[[Graph, Value], Value]:
    return lambda g, x: g.add(op, [x, *(_constant(g, *shape) for shape in constants)], attrs).output


@pytest.mark.parametrize(
    "build",
    [
        _add("relu"),
        _add("leaky_relu", {"alpha": 0.3}),
        _add("mul", None, (4, 1, 1)),
        _add("add", None, ()),
        _add("add", None, (1, 4, 1, 1)),
        _add("sub", None, (5, 6)),
        _add("prelu", None, (4, 1, 1)),
        _add("softmax", {"axis": 1}),
        _add("pad", {"before": (0, 0, 1, 2), "after": (0, 0, 3, 0), "mode": 1}),
        _add("pad", {"before": (0, 1, 1, 2), "after": (0, 0, 3, 0), "mode": 2}),
        _add("slice", {"start": (0, 3, 1, 0), "size": (2, 2, 3, 3), "step": (1, -2, 1, 2)}),
        _add("resize", {"mode": 1, "scale": (1.0, 1.0, 2.0, 1.5), "size": (-1, -1, -1, -1)}),
        _add("resize", {"transform": 6, "scale": (1.0,) * 4, "size": (-1, -1, 7, 9), **CROP}),
        _add("reduce_mean", {"axes": 0b1100, "keep_dims": 1}),
        lambda g, x: g.add("cast", [g.add("argmax", [x], {"axis": 1}).output], {"to": DType.f32.value}).output,
        _add("reduce_max", {"axes": 0b0010, "keep_dims": 1}),
        lambda g, x: g.add("concat", [x, x, _constant(g, 2, 1, 5, 6)], {"axis": 1}).output,
        lambda g, x: g.add("mul", [x, g.add("reduce_mean", [x], {"axes": 12, "keep_dims": 1}).output]).output,
        lambda g, x: g.add("gather", [x, g.constant("i", np.array([3, 0]))], {"axis": 1}).output,
        lambda g, x: g.add("add", [_conv(g, x), _conv(g, x)]).output,
        lambda g, x: g.add("add", [x, _conv(g, g.add("relu", [x]).output)]).output,
        lambda g, x: g.add("reshape", [x], {"shape": (2, 4, 30, 1)}).output,
        lambda g, x: g.add("reshape", [x], {"shape": (2, 4, 5, 6)}).output,
    ],
)
def test_nothing_is_left_between_convolutions(build: Callable[[Graph, Value], Value]) -> None:
    graph = _between(build)
    assert run_pass(layout, graph)
    assert ops_of(graph).count("transpose") == 2
    assert ops_of(graph)[0] == ops_of(graph)[-1] == "transpose"


def test_text_before_and_after() -> None:
    graph = new_graph(x=(1, 2, 3, 3))
    weights = graph.constant("w", np.arange(4, dtype=np.float32).reshape(2, 1, 1, 2))
    conv = graph.add("conv2d", [_transpose(graph, graph.inputs[0], TO_NHWC), weights], output_names=["conv"])
    picture = graph.add("transpose", [conv.output], {"perm": TO_NCHW}, output_names=["picture"])
    bias = graph.constant("b", np.float32([5, 6]).reshape(2, 1, 1))
    total = graph.add("add", [picture.output, bias], output_names=["total"])
    again = graph.add("conv2d", [_transpose(graph, total.output, TO_NHWC), weights], output_names=["again"])
    finish(graph, y=again.output)
    assert body(graph) == dedent(
        """
        %transpose_0: f32[1,3,3,2] = transpose(%x) {perm=[0, 2, 3, 1]}
        %conv: f32[1,3,3,2] = conv2d(%transpose_0, w: f32[2,1,1,2] [0, 1, 2, 3])
        %picture: f32[1,2,3,3] = transpose(%conv) {perm=[0, 3, 1, 2]}
        %total: f32[1,2,3,3] = add(%picture, b: f32[2,1,1] [5, 6])
        %transpose_0_2: f32[1,3,3,2] = transpose(%total) {perm=[0, 2, 3, 1]}
        %y: f32[1,3,3,2] = conv2d(%transpose_0_2, w: f32[2,1,1,2] [0, 1, 2, 3])
        """
    )
    assert run_pass(layout, graph)
    assert body(graph) == dedent(
        """
        %transpose_0: f32[1,3,3,2] = transpose(%x) {perm=[0, 2, 3, 1]}
        %conv: f32[1,3,3,2] = conv2d(%transpose_0, w: f32[2,1,1,2] [0, 1, 2, 3])
        %total_add: f32[1,3,3,2] = add(%conv, b: f32[2] [5, 6])
        %y: f32[1,3,3,2] = conv2d(%total_add, w: f32[2,1,1,2] [0, 1, 2, 3])
        """
    )


def test_squeeze_and_excitation() -> None:
    """A branch over the means of the channels, through matrix products, back into the picture."""

    def gate(g: Graph, x: Value) -> Value:
        mean = g.add("reduce_mean", [x], {"axes": 12, "keep_dims": 0}).output
        gate = g.add("sigmoid", [g.add("dense", [mean, _constant(g, 4, 4)]).output]).output
        return g.add("mul", [x, g.add("reshape", [gate], {"shape": (2, 4, 1, 1)}).output]).output

    graph = _between(gate)
    assert run_pass(layout, graph)
    transposes_of_ones.run(graph)
    assert ops_of(graph).count("transpose") == 2


def test_flattened_picture_goes_into_the_weights() -> None:
    graph = new_graph(x=(2, 3, 4, 5))
    flat = graph.add("reshape", [_conv(graph, graph.inputs[0])], {"shape": (0, -1)}).output
    finish(graph, y=graph.add("dense", [flat, _constant(graph, 7, 80)]).output)
    assert run_pass(layout, graph)
    assert ops_of(graph) == ["transpose", "conv2d", "reshape", "dense"]


def test_channel_shuffle() -> None:
    def shuffle(g: Graph, x: Value) -> Value:
        split = g.add("reshape", [x], {"shape": (2, 2, 2, 5, 6)}).output
        return g.add("reshape", [_transpose(g, split, (0, 2, 1, 3, 4))], {"shape": (2, 4, 5, 6)}).output

    graph = _between(shuffle)
    assert run_pass(layout, graph)
    assert ops_of(graph).count("transpose") == 3, "one at each end, and the shuffle itself"


def test_depth_to_space() -> None:
    def upscale(g: Graph, x: Value) -> Value:
        blocks = g.add("reshape", [x], {"shape": (2, 2, 2, 1, 5, 6)}).output
        return g.add("reshape", [_transpose(g, blocks, (0, 3, 4, 1, 5, 2))], {"shape": (2, 1, 10, 12)}).output

    graph = _between(upscale)
    assert run_pass(layout, graph)
    transposes_of_ones.run(graph)
    assert ops_of(graph).count("transpose") == 3


@pytest.mark.parametrize("op", ["layer_norm", "rms_norm"])
def test_normalization_over_the_last_axis(op: str) -> None:
    graph = new_graph(x=(2, 3, 4, 5))
    turned = _transpose(graph, graph.inputs[0], (1, 0, 2, 3))
    normal = graph.add(op, [turned, _constant(graph, 5)], {"axis": 3}).output
    finish(graph, y=_transpose(graph, normal, (1, 0, 2, 3)))
    assert run_pass(layout, graph)
    assert ops_of(graph) == [op]


def test_normalization_over_moved_axes_stays() -> None:
    graph = new_graph(x=(2, 3, 4, 5))
    normal = graph.add("layer_norm", [_transpose(graph, graph.inputs[0], TO_NHWC)], {"axis": 2}).output
    finish(graph, y=_transpose(graph, normal, TO_NCHW))
    assert not run_pass(layout, graph)


@pytest.mark.parametrize(("op", "attrs"), [("group_norm", {"groups": 2}), ("lrn", {})])
def test_normalization_of_channels(op: str, attrs: dict[str, Any]) -> None:
    graph = new_graph(x=(2, 3, 5, 4))
    turned = _transpose(graph, graph.inputs[0], (0, 2, 1, 3))
    finish(graph, y=_transpose(graph, graph.add(op, [turned], attrs).output, (0, 2, 1, 3)))
    assert run_pass(layout, graph)
    assert ops_of(graph) == [op]


def test_attention_heads_use_the_flags() -> None:
    graph = new_graph(q=(2, 3, 4, 5), k=(2, 3, 6, 5))
    keys = _transpose(graph, graph.inputs[1], (0, 1, 3, 2))
    finish(graph, y=graph.add("matmul", [graph.inputs[0], keys]).output)
    assert run_pass(layout, graph)
    assert ops_of(graph) == ["matmul"]
    assert graph.nodes[0].attrs["transpose_b"] == 1


def test_one_branch_alone_stays() -> None:
    """Nothing is gained when the other operand would have to be transposed instead."""
    graph = new_graph(x=(2, 3, 5, 6), z=(2, 4, 5, 6))
    finish(graph, y=graph.add("add", [_conv(graph, graph.inputs[0]), graph.inputs[1]]).output)
    assert not run_pass(layout, graph)


def test_an_output_inside_keeps_its_layout() -> None:
    graph = new_graph(x=(2, 3, 5, 6))
    inner = graph.add("relu", [_conv(graph, graph.inputs[0])]).output
    finish(graph, inner=inner, y=_conv(graph, inner))
    assert run_pass(layout, graph)
    assert [value.shape for value in graph.outputs] == [(2, 4, 5, 6), (2, 4, 5, 6)]
    assert ops_of(graph).count("transpose") == 3


def test_unknown_batch() -> None:
    graph = new_graph(x=("n", 3, 4, 5))
    x = graph.add("relu", [_conv(graph, graph.inputs[0])]).output
    flat = graph.add("reshape", [_conv(graph, x, 2)], {"shape": (0, 40)}).output
    finish(graph, y=graph.add("dense", [flat, _constant(graph, 3, 40)]).output)
    assert run_pass(layout, graph)
    assert ops_of(graph).count("transpose") == 1


def test_scales_per_channel_follow_their_axis() -> None:
    quant = Quant(np.float32([0.1, 0.2, 0.3]), np.zeros(3, np.int64), axis=0)
    graph = new_graph(x=(2, 3))
    weights = graph.constant("w", np.ones((3, 5), np.int8), quant)
    turned = graph.add("transpose", [weights], {"perm": (1, 0)})
    turned.output.quant = Quant(quant.scale, quant.zero_point, 1)
    real = graph.add("dequantize", [turned.output], {"axis": 1})
    finish(graph, y=graph.add("matmul", [graph.inputs[0], real.output], {"transpose_b": 1}).output)
    assert layout.run(graph)
    assert ops_of(graph) == ["dequantize", "matmul"] or "transpose" not in ops_of(graph)
    assert graph.nodes[0].attrs["axis"] == 0


def _shapes(total: int, rank: int) -> list[tuple[int, ...]]:
    sizes = [size for size in range(1, total + 1) if total % size == 0]
    return [shape for shape in itertools.product(sizes, repeat=rank) if np.prod(shape) == total]


def test_reshape_rule_against_numpy() -> None:
    """Every reshape of every transpose of 12 elements, up to rank 3: the rule either declines or is right."""
    accepted = 0
    for shape in _shapes(12, 3):
        x = np.arange(12).reshape(shape)
        for perm in itertools.permutations(range(3)):
            y = x.transpose(perm)
            for rank in (1, 2, 3):
                for target in _shapes(12, rank):
                    swapped = swap_reshape(y.shape, target, perm)
                    if swapped is not None:
                        accepted += 1
                        new, order = swapped
                        assert np.array_equal(x.reshape(new).transpose(order), y.reshape(target)), (shape, perm, target)
                    elif perm == (0, 1, 2):
                        pytest.fail(f"declined where nothing is transposed: {shape} to {target}")
    assert accepted > 1000


def test_permutations() -> None:
    x = numbers(2, 3, 4, 5)
    for first in itertools.permutations(range(4)):
        assert np.array_equal(x.transpose(first).transpose(inverse(first)), x)
        second = (2, 0, 3, 1)
        assert np.array_equal(x.transpose(first).transpose(second), x.transpose(compose(first, second)))


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_keep_their_meaning(seed: int) -> None:
    """Random chains and branches with transposes anywhere."""
    rng = np.random.default_rng(seed)
    graph = new_graph(x=(2, 3, 4, 5), z=(2, 3, 4, 5))
    values = list(graph.inputs)
    for _ in range(14):
        values.append(_random_step(graph, rng, values))
    outputs = {f"y{index}": value for index, value in enumerate(values[-3:])}
    finish(graph, **outputs)
    feeds = random_inputs(graph)
    before = evaluate(graph, feeds)
    run_pass(layout, graph)
    for name, expected in evaluate(graph, feeds).items():
        np.testing.assert_allclose(expected, before[name], rtol=1e-5, atol=1e-5)


def _random_step(graph: Graph, rng: np.random.Generator, values: list[Value]) -> Value:
    x = values[int(rng.integers(len(values)))]
    rank = len(x.shape)
    choice = int(rng.integers(8))
    if choice <= 2 and rank:
        return _transpose(graph, x, tuple(int(axis) for axis in rng.permutation(rank)))
    if choice == 3:
        alike = [value for value in values if value.shape == x.shape]
        return graph.add("max", [x, alike[int(rng.integers(len(alike)))]]).output
    if choice == 4:
        shape = [dim if rng.integers(2) else 1 for dim in x.type.static_shape][int(rng.integers(rank + 1)) :]
        return graph.add("mul", [x, graph.constant("c", numbers(*shape))]).output
    if choice == 5 and rank > 1:
        shapes = _shapes(x.type.count, int(rng.integers(2, 5)))
        return graph.add("reshape", [x], {"shape": shapes[int(rng.integers(len(shapes)))]}).output
    if choice == 6 and rank > 2:
        keep = int(rng.integers(2))
        return graph.add("reduce_max", [x], {"axes": 1 << int(rng.integers(rank)), "keep_dims": keep}).output
    if choice == 7 and rank:
        alike = [value for value in values if value.shape == x.shape]
        other = alike[int(rng.integers(len(alike)))]
        joined = graph.add("concat", [x, other], {"axis": int(rng.integers(rank))}).output
        return joined if joined.type.count < 2000 else x if x.producer else graph.add("neg", [x]).output
    return graph.add("tanh", [x]).output


def test_reshapes_behind_transposes_of_unknown_sizes() -> None:
    """Whatever the rule answers is the same in NumPy, for every size of the symbols."""
    assert sum(_agrees_with_numpy(seed) for seed in range(2000)) > 500


def _agrees_with_numpy(seed: int) -> bool:
    """Checks one reshape behind a transpose; False when the rule does not answer."""
    rng = np.random.default_rng(seed)
    x: list[int | str] = [int(size) for size in rng.choice([1, 2, 3, 4], int(rng.integers(2, 5)))]
    for symbol in ("n", "m")[: int(rng.integers(0, 3))]:
        x.insert(int(rng.integers(len(x) + 1)), symbol)
    perm = tuple(int(axis) for axis in rng.permutation(len(x)))
    shape = [x[axis] for axis in perm]
    target: list[int | str] = []
    for dim in shape:
        if dim == 1 and rng.integers(2):
            continue
        if isinstance(dim, int) and target and isinstance(target[-1], int) and rng.integers(3) == 0:
            target[-1] *= dim
        elif dim == 4 and rng.integers(2):
            target += [2, 2]
        else:
            target.append(dim)
        if rng.integers(4) == 0:
            target.append(1)
    swapped = swap_reshape(shape, target, perm)
    if swapped is None:
        return False
    new, order = swapped
    for sizes in ({"n": 5, "m": 7}, {"n": 1, "m": 2}):
        array = np.arange(np.prod([sizes.get(dim, dim) for dim in x])).reshape([sizes.get(dim, dim) for dim in x])
        expected = array.transpose(perm).reshape([sizes.get(dim, dim) for dim in target])
        kept = [array.shape[axis] if size == 0 else size for axis, size in enumerate(new)]
        np.testing.assert_array_equal(array.reshape(kept).transpose(order), expected)
    return True


def test_reshapes_of_symbols() -> None:
    assert swap_reshape(("n", 2, 3), ("n*2", 3), (1, 0, 2)) is None
    assert swap_reshape(("n", "n", 3), (3, "n", "n"), (2, 0, 1)) is None
    assert swap_reshape((1, 48, "n"), (1, 48, 1, "n"), (0, 2, 1)) == ((1, 1, -1, 48), (0, 3, 1, 2))


def test_a_transpose_is_not_handed_to_and_fro() -> None:
    """Numbers with a size of 1 where the transpose moves go along at no cost: that is no reason to move back."""
    graph = new_graph(x=(1, 5, 4, 8), angles=(1, 1, 5, 8))
    x, angles = graph.inputs
    turned = _transpose(graph, x, (0, 2, 1, 3))
    product = graph.add("mul", [turned, angles]).output
    finish(graph, y=graph.add("add", [product, turned]).output, z=graph.add("neg", [turned]).output)
    layout.run(graph)
    assert not layout.run(graph), "all is settled after the first time"


def test_shuffled_channels_that_part() -> None:
    """The unit of ShuffleNet: one half of the shuffled channels goes on to layers, the other one past them."""

    def unit(g: Graph, x: Value) -> Value:
        split = g.add("reshape", [x], {"shape": (2, 2, 2, 5, 6)}).output
        mixed = g.add("reshape", [_transpose(g, split, (0, 2, 1, 3, 4))], {"shape": (2, 4, 5, 6)}).output
        halves = [
            g.add("slice", [mixed], {"start": (0, start, 0, 0), "size": (2, 2, 5, 6), "step": (1, 1, 1, 1)}).output
            for start in (0, 2)
        ]
        layer = g.add("softmax", [_transpose(g, halves[1], (0, 2, 3, 1))], {"axis": 3}).output
        return g.add("concat", [halves[0], _transpose(g, layer, (0, 3, 1, 2))], {"axis": 1}).output

    graph = _between(lambda g, x: unit(g, unit(g, x)))
    assert run_pass(layout, graph)
    assert ops_of(graph).count("transpose") == 4, "one at each end, and the shuffles themselves"
