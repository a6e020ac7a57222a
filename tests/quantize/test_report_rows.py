# SPDX-License-Identifier: Apache-2.0
"""The rows of the report say what the finished graph holds: numbers, bits, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from microlith.converter.quantize import QuantReport
from microlith.converter.quantize.options import SCHEMES
from microlith.costs import Costs, LayerCosts
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph

from . import onnx_nets
from .test_static import images, quantized

NAMES = {DType.s8: "int8", DType.s16: "int16", DType.f32: "float32", DType.f16: "float16 arithmetic"}


@pytest.fixture(scope="module")
def cnn() -> onnx.ModelProto:
    return onnx_nets.small_cnn(np.random.default_rng(0), channels=32)


def rows(report: QuantReport) -> dict[str, Any]:
    return {layer.name: layer for layer in report.layers if "reshape" not in layer.op}


@pytest.mark.parametrize(("scheme", "budget"), [*((scheme, None) for scheme in SCHEMES), ("int8", 1.2), ("16x8", 0.7)])
def test_bytes_and_bits(cnn: onnx.ModelProto, scheme: str, budget: float | None) -> None:
    """The rows hold all constants of the file, each once, and the bits that the constants have there."""
    options: dict[str, Any] = {"scheme": scheme}
    if budget is not None:
        options["max_flash"] = int(budget * quantized(cnn, images(8))[1].constant_bytes)
    graph, report = quantized(cnn, images(8), **options)
    assert sum(layer.constant_bytes for layer in report.layers) == report.constant_bytes
    weighted = [node for node in graph.nodes if node.op.split("_")[0] in ("conv2d", "depthwise", "dense")]
    assert len(weighted) == 3
    for node in weighted:
        row = rows(report)[node.name]
        weights = node.input(1)
        channels = {"first": 32, "depthwise": 32, "last": 5}[node.name]
        depth = {"first": 27, "depthwise": 9, "last": 32}[node.name]
        width = -(-depth * (row.weight_bits or 0) // 8)
        assert weights.type.nbytes == channels * width, (node.name, row.weight_bits)


def test_numbers_are_those_of_the_values(cnn: onnx.ModelProto) -> None:
    """Of every node that is no layer with weights: the type of its result, or of what it makes real."""
    for options in ({"scheme": "int8"}, {"scheme": "16x8"}, {"scheme": "int8", "float_layers": ("last", "pool")}):
        graph, report = quantized(cnn, images(8), **options)
        assert len(report.layers) == len(graph.nodes)
        for node, row in zip(graph.nodes, report.layers, strict=True):
            source = node.input(0) if node.op == "dequantize" else node.output
            name = NAMES[source.dtype]
            is_weighted = node.op in ("conv2d", "depthwise_conv2d", "dense")
            assert row.numbers == ("16x8" if is_weighted and name == "int16" else name), row
            moves = node.op in ("reshape", "dequantize")
            assert row.is_float == (source.dtype is DType.f32 and not moves), row


def test_weights_of_mixed_precision_have_the_names_of_their_types(cnn: onnx.ModelProto) -> None:
    size = quantized(cnn, images(8))[1].constant_bytes
    found = set()
    for share in (0.5, 1.0, 2.0):
        graph, report = quantized(cnn, images(8), max_flash=int(share * size))
        for node in graph.nodes:
            if node.op.endswith("_compressed"):
                name = {4: "weights-int4", 8: "weights-int8", 16: "float16"}[node.attrs["bits"]]
                assert rows(report)[node.name].numbers == name and rows(report)[node.name].is_float
                found.add(name)
    assert {"weights-int4", "float16"} <= found


def test_packed_weights_beside_integers() -> None:
    rng = np.random.default_rng(4)
    weights = rng.integers(-1, 2, (64, 64)).astype(np.float32)
    weights[:, 0] = 1
    nodes = [onnx.helper.make_node("Gemm", ["x", "w"], ["y"], transB=1, name="g")]
    model = onnx_nets.model(nodes, {"x": (1, 64)}, {"y": (1, 64)}, {"w": weights})
    samples = [rng.standard_normal((1, 64)).astype(np.float32) for _ in range(6)]
    _, report = quantized(model, samples, rounding="nearest")
    row = rows(report)["g"]
    assert (row.op, row.numbers, row.weight_bits, row.is_float) == ("dense_compressed", "8x2", 2, False)


def test_costs_of_a_target_reach_every_row() -> None:
    model = onnx_nets.dense(np.random.default_rng(1))

    def costs(graph: Graph) -> Costs:
        return Costs(1, 2, 3.0, {(node.name, node.op): LayerCosts(4, 5, 6.0) for node in graph.nodes})

    for scheme in SCHEMES:
        samples = [np.ones((1, 16), np.float32), -np.ones((1, 16), np.float32)]
        _, report = quantized(model, samples, scheme=scheme, costs=costs)
        assert all((layer.ram, layer.instructions) == (5, 6.0) for layer in report.layers), scheme


# Groups


def test_groups_that_are_larger_than_a_channel(cnn: onnx.ModelProto) -> None:
    """They are one scale for all of it, as 0 is, except where few weights keep 8 bits; both are told."""
    feed = {"image": images(1)[0]}
    whole, _ = quantized(cnn, None, scheme="weights-int4", group=0)
    large, report = quantized(cnn, None, scheme="weights-int4", group=4096)
    bits = {name: row.weight_bits for name, row in rows(report).items()}
    assert bits == {"first": 8, "depthwise": 8, "last": 4}
    assert [text for text in report.notes if "--group 4096: last" in text]
    assert [
        text for text in report.remarks if text.startswith("8 bits for first, depthwise: channels of fewer than 32")
    ]
    nodes = [{node.name: node for node in graph.nodes}["last"] for graph in (whole, large)]
    assert nodes[0].attrs == nodes[1].attrs
    np.testing.assert_array_equal(nodes[0].input(1).data, nodes[1].input(1).data)
    _, usual = quantized(cnn, None, scheme="weights-int4")
    assert not usual.notes and usual.remarks == report.remarks
    assert np.all(np.isfinite(evaluate(large, feed)["scores"]))
