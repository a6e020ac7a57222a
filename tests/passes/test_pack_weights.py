"""Weights of few values are stored in as few bits, whatever they were stored in, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from pass_checks import finish, new_graph, random_inputs

from microlith.converter.passes import pack_integer_weights, pack_real_weights
from microlith.converter.passes.fuse_batchnorm import run as fuse_batchnorm
from microlith.converter.passes.weight_codes import Coding, coding_of, real_codes
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.numerics import quantize_multipliers
from microlith.ops.compressed import PACKED, decode_integers, pack_codes, unpack_codes

VALUES = {
    "sign": ([-1, 1], Coding(1, -1, 2)),
    "one": ([5], Coding(1, 5, 1)),
    "zero or one": ([0, 1], Coding(1, 0, 1)),
    "ternary": ([-1, 0, 1], Coding(2, -1, 1)),
    "four": ([-3, -1, 1, 3], Coding(2, -3, 2)),
    "int2": ([-2, -1, 0, 1], Coding(2, -2, 1)),
    "full range of int8": ([-127, 127], Coding(1, -127, 254)),
    "uneven": ([-5, 1, 2], Coding(4, -5, 1)),
    "int4": (list(range(-8, 8)), Coding(4, -8, 1)),
    "sixteen": (list(range(-120, 121, 16)), Coding(4, -120, 16)),
    "seventeen": (list(range(-8, 9)), Coding(8)),
    "too far": ([-300, 0], None),
}


@pytest.mark.parametrize("name", VALUES)
def test_grids(name: str) -> None:
    values, expected = VALUES[name]
    rng = np.random.default_rng(0)
    integers = np.concatenate([values, rng.choice(values, 200)]).reshape(1, -1)
    coding = coding_of(integers)
    assert coding == expected
    if coding is not None and coding.bits in PACKED:
        decoded = decode_integers(coding.store(integers), coding.attrs(), integers.shape[1])
        np.testing.assert_array_equal(decoded, integers)


@pytest.mark.parametrize("bits", PACKED)
def test_codes_are_packed_as_onnx_packs_them(bits: int) -> None:
    """The layout of 4 and 2 bits is that of TensorProto.raw_data; that of one bit continues it."""
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (3, 21))
    packed = pack_codes(codes, bits)
    as_bits = np.unpackbits(packed, axis=1, bitorder="little")[:, : 21 * bits].reshape(3, 21, bits)
    np.testing.assert_array_equal(as_bits @ (1 << np.arange(bits)), codes)
    np.testing.assert_array_equal(unpack_codes(packed, bits, 21), codes)


# Real numbers


def dense_graph(weights: np.ndarray, origin: Quant | None = None) -> Graph:
    graph = new_graph(x=(3, weights.shape[1]))
    constant = graph.constant("w", weights.astype(np.float32))
    constant.decoded_from = origin
    return finish(graph, y=graph.add("dense", [graph.inputs[0], constant]).output)


def test_products_of_small_integers_are_found() -> None:
    rng = np.random.default_rng(1)
    for values, _ in VALUES.values():
        if max(abs(value) for value in values) > 15:
            continue
        scales = rng.uniform(0.001, 0.1, (7, 1)).astype(np.float32)
        rows = scales * rng.choice(values, (7, 90)).astype(np.float32)
        found = real_codes(rows)
        assert found is not None and found.group == 0
        np.testing.assert_array_equal(found.integers.astype(np.float32) * found.scales, rows)


@pytest.mark.parametrize("group", [16, 32, 64])
def test_groups_are_found(group: int) -> None:
    rng = np.random.default_rng(group)
    scales = rng.uniform(0.001, 0.1, (5, 3)).astype(np.float32)
    rows = np.repeat(scales, group, 1)[:, : 3 * group - 7] * rng.integers(-8, 8, (5, 3 * group - 7)).astype(np.float32)
    found = real_codes(rows)
    assert found is not None and found.group == group
    steps = np.repeat(found.scales, group, 1)[:, : rows.shape[1]]
    np.testing.assert_allclose(found.integers * steps, rows, rtol=2e-7)


def test_random_numbers_are_left_alone() -> None:
    rng = np.random.default_rng(3)
    for depth in (4, 9, 32, 500):
        graph = dense_graph(rng.standard_normal((64, depth)))
        assert not pack_real_weights.run(graph)
    almost = np.where(rng.integers(0, 2, (16, 64)) > 0, 1.0, -1.0)
    almost[3, 5] = 1.0001
    assert not pack_real_weights.run(dense_graph(almost))


def test_few_bytes_are_left_alone() -> None:
    assert not pack_real_weights.run(dense_graph(np.ones((2, 8))))
    assert pack_real_weights.run(dense_graph(np.ones((2, 64))))


def test_numbers_that_are_not_finite_are_left_alone() -> None:
    weights = np.ones((8, 64))
    weights[2, 3] = np.nan
    assert not pack_real_weights.run(dense_graph(weights))


def test_eight_bits_stay_where_the_model_stores_them() -> None:
    rng = np.random.default_rng(4)
    scales = rng.uniform(0.01, 0.1, 6).astype(np.float32)
    weights = rng.integers(-127, 128, (6, 100)).astype(np.float32) * scales[:, None]
    assert not pack_real_weights.run(dense_graph(weights))
    graph = dense_graph(weights, Quant(scales, np.zeros(6, np.int64), 0))
    feeds = random_inputs(graph)
    before = evaluate(graph, feeds)["y"]
    assert pack_real_weights.run(graph)
    assert graph.nodes[0].attrs["bits"] == 8
    np.testing.assert_allclose(evaluate(graph, feeds)["y"], before, rtol=1e-5)


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "dense"])
@pytest.mark.parametrize("values", [[-1, 1], [-1, 0, 1], list(range(-8, 8))], ids=["1", "2", "4"])
def test_real_layers_keep_their_meaning(op: str, values: list[int]) -> None:
    rng = np.random.default_rng(5)
    shape = {"conv2d": (9, 3, 3, 24), "depthwise_conv2d": (1, 3, 3, 24), "dense": (9, 48)}[op]
    axis = 3 if op == "depthwise_conv2d" else 0
    scales = rng.uniform(0.01, 0.1, shape[axis]).astype(np.float32)
    along = [1] * len(shape)
    along[axis] = -1
    weights = rng.choice(values, shape).astype(np.float32) * scales.reshape(along)
    graph = new_graph(x=(2, 48) if op == "dense" else (1, 6, 5, 24))
    attrs = {} if op == "dense" else {"pad_top": 1, "pad_left": 1, "groups": 24 if axis else 1}
    inputs = [graph.inputs[0], graph.constant("w", weights), graph.constant("b", np.ones(shape[axis], np.float32))]
    finish(graph, y=graph.add(op, inputs, {**attrs, "clamp_min": -0.5}).output)
    feeds = random_inputs(graph)
    before = evaluate(graph, feeds)["y"]
    assert pack_real_weights.run(graph)
    (node,) = graph.nodes
    assert node.op == ("dense_compressed" if op == "dense" else "conv2d_compressed")
    assert node.attrs["bits"] == {2: 1, 3: 2, 16: 4}[len(values)]
    np.testing.assert_allclose(evaluate(graph, feeds)["y"], before, rtol=1e-5, atol=1e-6)
    assert not pack_real_weights.run(graph)


def test_a_normalization_behind_scales_the_channels() -> None:
    rng = np.random.default_rng(6)
    graph = new_graph(x=(1, 6, 6, 16))
    scales = rng.uniform(0.01, 0.1, 10).astype(np.float32)
    weights = rng.integers(-127, 128, (10, 3, 3, 16)).astype(np.float32) * scales[:, None, None, None]
    constant = graph.constant("w", weights)
    constant.decoded_from = Quant(scales, np.zeros(10, np.int64), 0)
    conv = graph.add("conv2d", [graph.inputs[0], constant]).output
    factors = rng.uniform(-2, 2, 10).astype(np.float32)
    factors[4] = 0
    finish(graph, y=graph.add("mul", [conv, graph.constant("f", factors)]).output)
    feeds = random_inputs(graph)
    before = evaluate(graph, feeds)["y"]
    assert fuse_batchnorm(graph) and pack_real_weights.run(graph)
    assert [node.op for node in graph.nodes] == ["conv2d_compressed"]
    np.testing.assert_allclose(evaluate(graph, feeds)["y"], before, rtol=1e-4, atol=1e-5)


def test_a_normalization_in_front_stays_where_weights_are_stored_as_integers() -> None:
    weights = np.random.default_rng(7).integers(-1, 2, (10, 32)).astype(np.float32)
    for factors, stays in ((np.linspace(0.5, 2, 32), True), (np.full(32, 0.25), False)):
        graph = new_graph(x=(3, 32))
        scaled = graph.add("mul", [graph.inputs[0], graph.constant("f", factors.astype(np.float32))]).output
        constant = graph.constant("w", weights)
        constant.decoded_from = Quant(np.ones(1, np.float32), np.zeros(1, np.int64))
        finish(graph, y=graph.add("dense", [scaled, constant]).output)
        assert fuse_batchnorm(graph) is not stays
        assert pack_real_weights.run(graph)


# Integers


def integer_layer(op: str, values: list[int], zero: int = 0, zeros: bool = False, seed: int = 8) -> Graph:
    rng = np.random.default_rng(seed)
    shape = {"conv2d": (9, 3, 3, 24), "depthwise_conv2d": (1, 3, 3, 24), "dense": (9, 48)}[op]
    channels = shape[3] if op == "depthwise_conv2d" else shape[0]
    graph = Graph("g", contract="single")
    x = Value("x", TensorType(DType.s8, (2, 48) if op == "dense" else (1, 6, 5, 24)), quant=Quant.per_tensor(0.1, 3))
    graph.inputs = [x]
    stored = rng.choice(values, shape)
    inputs: list[Value | None] = [
        x,
        graph.constant("w", (stored + zero).astype(np.int8)),
        graph.constant("b", rng.integers(-500, 500, channels, np.int32)),
        graph.constant("r", quantize_multipliers(rng.uniform(0.001, 0.01, channels))),
    ]
    if zeros:
        inputs.append(graph.constant("z", np.full(channels, zero, np.int32)))
    attrs = {"x_zero": 3, "y_zero": -5, "rounding": 1, "w_zero": 0 if zeros else zero}
    if op != "dense":
        attrs |= {"pad_top": 1, "pad_left": 1, "groups": 24 if op == "depthwise_conv2d" else 1}
    return finish(graph, y=graph.add(op, inputs, attrs, quant=Quant.per_tensor(0.1, -5)).output)


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "dense"])
@pytest.mark.parametrize("name", [name for name, (_, coding) in VALUES.items() if coding and coding.bits in PACKED])
def test_integer_layers_keep_every_byte(op: str, name: str) -> None:
    values, _ = VALUES[name]
    graph = integer_layer(op, values)
    feeds = random_inputs(graph)
    before = evaluate(graph, feeds)["y"]
    assert pack_integer_weights.run(graph)
    assert graph.nodes[0].op.endswith("_compressed") and graph.nodes[0].attrs["bits"] < 8
    np.testing.assert_array_equal(evaluate(graph, feeds)["y"], before)
    assert graph.nodes[0].output.quant == Quant.per_tensor(0.1, -5)
    assert not pack_integer_weights.run(graph)


@pytest.mark.parametrize("zeros", [False, True], ids=["one", "for each channel"])
def test_zero_points_of_weights_become_part_of_the_codes(zeros: bool) -> None:
    graph = integer_layer("conv2d", [-1, 0, 1], zero=7, zeros=zeros)
    feeds = random_inputs(graph)
    before = evaluate(graph, feeds)["y"]
    assert pack_integer_weights.run(graph)
    assert [graph.nodes[0].attrs[name] for name in ("bits", "offset", "step")] == [2, -1, 1]
    np.testing.assert_array_equal(evaluate(graph, feeds)["y"], before)


def test_integers_of_8_bits_are_left_alone() -> None:
    graph = integer_layer("dense", list(range(-127, 128)))
    assert not pack_integer_weights.run(graph)
