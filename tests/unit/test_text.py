"""The printed form of a graph."""

from __future__ import annotations

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.text import to_text


def example() -> Graph:
    graph = Graph("net", contract="tflite-double")
    quant = Quant.per_tensor(0.5, -3)
    x = Value("x", TensorType(DType.s8, ("n", 4, 4, 2)), quant=quant)
    graph.inputs = [x]
    scales = Quant(np.array([0.25, 0.125, 1.0], np.float32), np.zeros(3, np.int64), 0)
    weights = graph.constant("w", np.arange(54, dtype=np.int8).reshape(3, 3, 3, 2), scales)
    bias = graph.constant("b", np.array([1, -2, 3], np.int32))
    conv = graph.add(
        "conv2d",
        [x, weights, bias],
        {"stride_h": 2, "pad_top": 1, "clamp_min": 0.0, "clamp_max": 0.1},
        output_names=["c"],
        quant=Quant.per_tensor(0.1, 0),
    )
    flat = graph.add("reshape", [conv.output], {"shape": (-1, 12)}, output_names=["f"])
    graph.outputs = [flat.output]
    return graph


def test_to_text() -> None:
    lines = to_text(example()).splitlines()
    assert lines[0] == "graph net (tflite-double)"
    assert lines[1] == "input %x: s8[n,4,4,2] q(0.5, -3)"
    assert lines[2].startswith("%c: s8[n,2,2,3] q(0.1, 0) = conv2d(%x, w: s8[3,3,3,2] q(3 scales 0.125..1 along 0) #")
    assert lines[2].endswith(", b: s32[3] [1, -2, 3]) {stride_h=2, pad_top=1, clamp_min=0, clamp_max=0.1}")
    assert lines[3:] == ["%f: s8[n,12] = reshape(%c) {shape=[-1, 12]}", "output %f"]


def test_the_same_graph_has_the_same_text_and_other_data_another() -> None:
    first, second = example(), example()
    assert to_text(first) == to_text(second)
    data = second.nodes[0].input(1).data
    assert data is not None
    data[0, 0, 0, 0] = 99
    assert to_text(first) != to_text(second)


def test_absent_inputs_and_whole_attributes() -> None:
    graph = Graph("net")
    x = Value("x", TensorType(DType.f32, (1, 2)))
    graph.inputs = [x]
    weights = graph.constant("w", np.eye(2, dtype=np.float32))
    graph.outputs = [graph.add("dense", [x, weights, None], output_names=["y"]).output]
    assert to_text(graph).splitlines()[2] == "%y: f32[1,2] = dense(%x, w: f32[2,2] [1, 0, 0, 1], -)"
