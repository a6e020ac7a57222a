"""Channels of integer layers that are constant or of no use are taken out, and no output changes by a bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microlith import numerics
from microlith.converter.passes import remove_constant_channels
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Node, TensorType, Value
from microlith.verify import verify

CHANNELS = 16
SIZE = 5


class Builder:
    """Integer layers with random numbers."""

    def __init__(self, seed: int, rounding: int = numerics.TFLITE_UP) -> None:
        self.rng = np.random.default_rng(seed)
        self.rounding = rounding
        self.graph = Graph("g")
        self.graph.inputs.append(Value("x", TensorType(DType.s8, (1, SIZE, SIZE, 4))))

    def layer(
        self,
        op: str,
        x: Value,
        out: int,
        *,
        kernel: int = 1,
        pad: int = 0,
        zeros: Sequence[int] = (),
        x_zero: int = -128,
        constant: int | None = None,
        bias: bool = True,
    ) -> Value:
        """``zeros``: output channels whose weights are zero; with ``constant`` that is what they come to."""
        depth = x.shape[-1]
        assert isinstance(depth, int)
        x_zero = 0 if x is self.graph.inputs[0] else x_zero
        axis = {"conv2d": 0, "depthwise_conv2d": 3, "dense": 0}[op]
        shape = {
            "conv2d": (out, kernel, kernel, depth),
            "depthwise_conv2d": (1, kernel, kernel, out),
            "dense": (out, depth),
        }
        weights = self.rng.integers(-127, 128, shape[op], np.int8)
        taps = kernel * kernel * (1 if op == "depthwise_conv2d" else depth)
        factors = 1.0 / (80.0 * 100.0 * np.sqrt(taps)) * 100 * self.rng.uniform(0.5, 2.0, out)
        offsets = self.rng.integers(-6000, 6000, out, np.int32)
        index = [slice(None)] * weights.ndim
        index[axis] = list(zeros)
        weights[tuple(index)] = 0
        if constant is not None:
            offsets[list(zeros)] = np.round((constant + 128) / factors[list(zeros)]).astype(np.int32)
        requant = numerics.quantize_multipliers(factors)
        if self.rounding == numerics.FLOAT_EVEN:
            requant = factors.astype(np.float32)
        name = f"{op}_{len(self.graph.nodes)}"
        inputs = [
            x,
            self.graph.constant(f"{name}_w", weights),
            self.graph.constant(f"{name}_b", offsets) if bias else None,
            self.graph.constant(f"{name}_r", requant),
        ]
        rounding = self.rounding
        if op == "depthwise_conv2d" and rounding == numerics.TFLITE_UP:
            rounding = numerics.TFLITE_UP_BY_8
        attrs = {"x_zero": x_zero, "y_zero": -128, "rounding": rounding}
        if op != "dense":
            attrs |= {"pad_top": pad, "pad_left": pad, "pad_bottom": pad, "pad_right": pad}
        if op == "depthwise_conv2d":
            attrs["groups"] = depth
        return self.graph.add(op, inputs, attrs, output_names=[name]).output

    def finish(self, *outputs: Value) -> Graph:
        self.graph.outputs = list(outputs)
        verify(self.graph)
        return self.graph


def feeds(graph: Graph, seed: int) -> Iterator[dict[str, np.ndarray]]:
    """Random inputs, and all the least, the greatest, the zero point, and a mixture of extremes."""
    rng = np.random.default_rng(seed)
    (x,) = graph.inputs
    shape = x.type.static_shape
    for _ in range(3):
        yield {"x": rng.integers(-128, 128, shape, np.int8)}
    for value in (-128, 127, 0):
        yield {"x": np.full(shape, value, np.int8)}
    yield {"x": rng.choice(np.array([-128, 127], np.int8), shape)}


def shrink(graph: Graph, seed: int = 0) -> bool:
    """Runs the pass until nothing changes, and compares every output for every input, bit for bit."""
    samples = list(feeds(graph, seed))
    before = [evaluate(graph, sample) for sample in samples]
    types = [value.type for value in graph.outputs]
    changed = False
    while remove_constant_channels.run(graph):
        changed = True
        verify(graph)
    assert [value.type for value in graph.outputs] == types
    for sample, wanted in zip(samples, before, strict=True):
        result = evaluate(graph, sample)
        for name, array in wanted.items():
            np.testing.assert_array_equal(result[name], array)
    return changed


def widths(graph: Graph) -> list[int]:
    return [int(node.output.shape[-1]) for node in graph.nodes]


def node_of(value: Value) -> Node:
    assert value.producer is not None
    return value.producer


def chain(constant: int, pad: int, x_zero: int = -128, kernel: int = 3) -> Graph:
    """1x1 convolution with constant channels, depthwise, 1x1 convolution."""
    build = Builder(3)
    first = build.layer("conv2d", build.graph.inputs[0], CHANNELS, zeros=(1, 5, 11), constant=constant)
    second = build.layer("depthwise_conv2d", first, CHANNELS, kernel=kernel, pad=pad, x_zero=x_zero)
    return build.finish(build.layer("conv2d", second, 7))


def test_zero_filters_that_come_to_the_zero_point() -> None:
    graph = chain(constant=-128, pad=1)
    assert shrink(graph)
    assert widths(graph) == [CHANNELS - 3, CHANNELS - 3, 7]
    assert graph.nodes[1].attrs["groups"] == CHANNELS - 3


def test_another_constant_without_padding() -> None:
    graph = chain(constant=40, pad=0)
    assert shrink(graph)
    assert widths(graph) == [CHANNELS - 3, CHANNELS - 3, 7]


def test_another_constant_with_padding_stays() -> None:
    """Its border differs from its inside."""
    graph = chain(constant=40, pad=1)
    assert not shrink(graph)
    assert widths(graph) == [CHANNELS, CHANNELS, 7]


def test_a_border_that_saturates_too_can_go() -> None:
    build = Builder(4)
    first = build.layer("conv2d", build.graph.inputs[0], CHANNELS, zeros=(2,), constant=40)
    second = build.layer("depthwise_conv2d", first, CHANNELS, kernel=3, pad=1)
    bias = node_of(second).input(2)
    assert bias.data is not None
    bias.data[2] = -(2**20)  # far below the least value, whatever the window holds
    graph = build.finish(build.layer("conv2d", second, 7))
    assert shrink(graph)
    assert widths(graph) == [CHANNELS - 1, CHANNELS - 1, 7]


def test_constant_behind_padding_of_a_convolution() -> None:
    for constant, pad, goes in ((-128, 1, True), (40, 1, False), (40, 0, True)):
        build = Builder(5)
        first = build.layer("conv2d", build.graph.inputs[0], CHANNELS, zeros=(0, 4), constant=constant)
        graph = build.finish(build.layer("conv2d", first, 6, kernel=3, pad=pad))
        assert shrink(graph) == goes
        assert widths(graph)[0] == (CHANNELS - 2 if goes else CHANNELS)


def test_a_constant_makes_a_bias_where_there_was_none() -> None:
    build = Builder(6)
    first = build.layer("conv2d", build.graph.inputs[0], CHANNELS, zeros=(0, 4), constant=40)
    graph = build.finish(build.layer("conv2d", first, 6, bias=False))
    assert shrink(graph)
    assert graph.nodes[1].optional_input(2) is not None


def test_channels_that_nobody_uses() -> None:
    build = Builder(7)
    first = build.layer("conv2d", build.graph.inputs[0], CHANNELS)
    second = build.layer("depthwise_conv2d", first, CHANNELS, kernel=3, pad=1)
    third = build.layer("conv2d", second, 6)
    weights = node_of(third).input(1)
    assert weights.data is not None
    weights.data[..., [3, 7]] = 0
    graph = build.finish(third)
    assert shrink(graph)
    assert widths(graph) == [CHANNELS - 2, CHANNELS - 2, 6]


def test_two_readers_must_agree() -> None:
    build = Builder(8)
    first = build.layer("conv2d", build.graph.inputs[0], CHANNELS, zeros=(0, 4), constant=40)
    left = build.layer("conv2d", first, 6)
    graph = build.finish(left, build.layer("conv2d", first, 6, kernel=3, pad=1))
    assert not shrink(graph)
    assert widths(graph)[0] == CHANNELS


def test_outputs_and_sums_keep_their_channels() -> None:
    build = Builder(9)
    first = build.layer("conv2d", build.graph.inputs[0], CHANNELS, zeros=(0, 4))
    second = build.layer("conv2d", first, CHANNELS)
    total = build.graph.add("add", [first, second], {"left_shift": 18, "a_mult": 1 << 30, "b_mult": 1 << 30,
                                                     "y_mult": 1 << 30, "y_shift": -17})  # fmt: skip
    assert not shrink(build.finish(total.output))
    other = Builder(9)
    assert not shrink(other.finish(other.layer("conv2d", other.graph.inputs[0], CHANNELS, zeros=(0, 4))))


def test_through_pools_tables_and_reshapes() -> None:
    build = Builder(10)
    graph = build.graph
    value = build.layer("conv2d", graph.inputs[0], CHANNELS, zeros=(0, 4, 5), constant=-20)
    value = graph.add("max_pool2d", [value], {"kernel_h": 2, "kernel_w": 2, "stride_h": 1, "stride_w": 1}).output
    table = graph.constant("table", np.arange(-128, 128).astype(np.int8)[::-1].copy())
    value = graph.add("lut", [value, table]).output
    value = graph.add("avg_pool2d", [value]).output
    value = graph.add("reshape", [value], {"shape": (1, CHANNELS)}).output
    build.finish(build.layer("dense", value, 3, x_zero=11))
    assert shrink(graph)
    assert widths(graph) == [CHANNELS - 3] * 5 + [3]


def test_one_channel_is_left() -> None:
    build = Builder(11)
    first = build.layer("conv2d", build.graph.inputs[0], 4, zeros=(0, 1, 2, 3), constant=40)
    graph = build.finish(build.layer("conv2d", first, 5))
    assert shrink(graph)
    assert widths(graph) == [1, 5]


@pytest.mark.parametrize("kept", [8, 9, 11])
def test_groups_of_eight_keep_their_rounding(kept: int) -> None:
    """LiteRT's depthwise convolution rounds the channels past whole groups of eight in another way."""
    build = Builder(12)
    zeros = tuple(range(kept, 12))
    first = build.layer("conv2d", build.graph.inputs[0], 12, zeros=zeros, constant=-128)
    graph = build.finish(build.layer("conv2d", build.layer("depthwise_conv2d", first, 12, kernel=3, pad=1), 6))
    assert shrink(graph)
    assert widths(graph)[0] == kept
    assert graph.nodes[1].attrs["rounding"] == (numerics.TFLITE_UP if kept == 8 else numerics.TFLITE_UP_BY_8)


def test_rounding_forbids_what_would_mix_the_groups() -> None:
    build = Builder(13)
    first = build.layer("conv2d", build.graph.inputs[0], 12, zeros=(1,), constant=-128)
    graph = build.finish(build.layer("conv2d", build.layer("depthwise_conv2d", first, 12, kernel=3, pad=1), 6))
    assert not shrink(graph)


def test_sums_that_wrap_are_left_alone() -> None:
    build = Builder(14)
    first = build.layer("conv2d", build.graph.inputs[0], CHANNELS)
    bias = node_of(first).input(2)
    assert bias.data is not None
    bias.data[:] = 2**31 - 1
    shrink(build.finish(build.layer("conv2d", first, 6)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_networks(data: st.DataObject) -> None:
    """Chains of layers with zero filters, saturated channels and padding, under every rounding contract."""
    rounding = data.draw(
        st.sampled_from([numerics.TFLITE_DOUBLE, numerics.SINGLE, numerics.FLOAT_EVEN, numerics.TFLITE_UP])
    )
    seed = data.draw(st.integers(0, 2**32 - 1))
    build = Builder(seed, rounding)
    value = build.graph.inputs[0]
    for _ in range(data.draw(st.integers(2, 4))):
        op = data.draw(st.sampled_from(["conv2d", "conv2d", "depthwise_conv2d"]))
        width = int(value.shape[-1])
        out = data.draw(st.integers(2, 17)) if op == "conv2d" else width * data.draw(st.integers(1, 2))
        kernel = data.draw(st.sampled_from([1, 3])) if value.shape[1] == SIZE else 1
        zeros = data.draw(st.lists(st.integers(0, out - 1), unique=True, max_size=out - 1))
        value = build.layer(
            op,
            value,
            out,
            kernel=kernel,
            pad=kernel // 2 if data.draw(st.booleans()) else 0,
            zeros=sorted(zeros),
            x_zero=data.draw(st.sampled_from([-128, -128, 3])),
            constant=data.draw(st.sampled_from([None, -128, 40])),
            bias=data.draw(st.booleans()),
        )
        weights = node_of(value).input(1)
        assert weights.data is not None
        if op == "conv2d" and data.draw(st.booleans()):
            weights.data[..., data.draw(st.integers(0, width - 1))] = 0
    shrink(build.finish(build.layer("conv2d", value, 5)), seed)
