"""A depthwise convolution of a single channel as a convolution."""

from __future__ import annotations

import numpy as np
import pytest
from pass_checks import finish, new_graph, ops_of, run_pass

from microlith.converter.passes import depthwise_of_one
from microlith.evaluate import evaluate
from microlith.ir import Graph

RNG = np.random.default_rng(3)
WINDOW = {"stride_h": 2, "stride_w": 1, "pad_top": 1, "pad_left": 1, "pad_bottom": 0, "pad_right": 1}


def layer(channels: int, outputs: int) -> Graph:
    graph = new_graph(x=(2, 6, 5, channels))
    weights = graph.constant("w", RNG.standard_normal((1, 3, 2, outputs)).astype(np.float32))
    bias = graph.constant("b", RNG.standard_normal(outputs).astype(np.float32))
    node = graph.add("depthwise_conv2d", [graph.inputs[0], weights, bias], {**WINDOW, "groups": channels})
    finish(graph, y=node.output)
    return graph


def test_one_channel_becomes_a_convolution() -> None:
    graph = layer(1, 8)
    x = RNG.standard_normal((2, 6, 5, 1)).astype(np.float32)
    w, b = (value.data for value in graph.nodes[0].inputs[1:])
    padded = np.pad(x[..., 0], ((0, 0), (1, 0), (1, 1)))
    wanted = np.zeros((2, 3, 6, 8)) + b
    for ky in range(3):
        for kx in range(2):
            wanted += padded[:, ky : ky + 5 : 2, kx : kx + 6, None] * w[0, ky, kx].astype(np.float64)
    assert run_pass(depthwise_of_one, graph)
    assert ops_of(graph) == ["conv2d"]
    np.testing.assert_allclose(evaluate(graph, {"x": x})["y"], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("channels", "outputs"), [(2, 4), (1, 1)])
def test_others_stay(channels: int, outputs: int) -> None:
    assert not run_pass(depthwise_of_one, layer(channels, outputs))
