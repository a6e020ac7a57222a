# SPDX-License-Identifier: Apache-2.0
"""A tensor knows which tensors of the original model it stands for, through all passes and in the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import microlith
from microlith import modelfile
from microlith.ir import Graph, Value


def by_origin(graph: Graph) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for node in graph.nodes:
        for value in node.outputs:
            for origin in value.origins:
                found.setdefault(origin, []).append(value)
    return found


def channels_first_model() -> bytes:
    """Conv, BatchNormalization, Relu, Conv, Add, x * sigmoid(x), MaxPool, Flatten, Gemm."""
    rng = np.random.default_rng(0)
    constants = {
        "w0": rng.standard_normal((4, 3, 3, 3)),
        "scale": rng.uniform(0.5, 1, 4),
        "bias": rng.standard_normal(4),
        "mean": rng.standard_normal(4),
        "variance": rng.uniform(0.5, 1, 4),
        "w1": rng.standard_normal((4, 4, 1, 1)),
        "v": rng.standard_normal((5, 64)),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c0", "scale", "bias", "mean", "variance"], ["n0"]),
        helper.make_node("Relu", ["n0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"]),
        helper.make_node("Add", ["c1", "r0"], ["s"]),
        helper.make_node("Sigmoid", ["s"], ["g"]),
        helper.make_node("Mul", ["s", "g"], ["silu"]),
        helper.make_node("MaxPool", ["silu"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "v"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


def test_origins_survive_layout_and_fusion() -> None:
    found = by_origin(microlith.convert(channels_first_model()))
    # Fused into what comes behind them: c0, n0, s, g. All others have a tensor of their own, channels last.
    assert not {"c0", "n0", "s", "g"} & set(found)
    assert {"r0", "c1", "silu", "p", "y"} <= set(found)
    for name in ("r0", "c1", "silu"):
        assert [value.shape for value in found[name]] == [(1, 8, 8, 4)], name
    assert found["r0"][0].producer is not None and found["r0"][0].producer.op == "conv2d"


def test_the_file_keeps_origins(tmp_path: Path) -> None:
    graph = microlith.convert(channels_first_model(), tmp_path / "m.lith")
    before = {value.name: value.origins for node in graph.nodes for value in node.outputs}
    loaded = modelfile.load(tmp_path / "m.lith")
    for node in loaded.nodes:
        for value in node.outputs:
            assert value.origins == (before[value.name] or (value.name,))


def test_a_replaced_value_hands_on_what_it_stands_for() -> None:
    graph = Graph()
    from microlith.dtypes import DType
    from microlith.ir import TensorType

    x = Value("x", TensorType(DType.f32, (2, 3)))
    graph.inputs.append(x)
    relu = graph.add("relu", [x], output_names=["r"])
    turned = graph.add("transpose", [relu.output], {"perm": (1, 0)}, output_names=["t"])
    last = graph.add("exp", [turned.output], output_names=["y"])
    graph.outputs.append(last.output)
    for node in (relu, turned, last):
        node.output.origins = (node.output.name,)
    other = graph.add("relu", [x], output_names=["made"], before=last)
    back = graph.add("transpose", [other.output], {"perm": (1, 0)}, output_names=["made_t"], before=last)
    graph.replace(turned.output, back.output)
    # What stands in front of a transpose has the same numbers: the new value stands for it too, ...
    assert back.output.origins == ("t", "r")
    graph.remove_dead()
    assert last.output.origins == ("y",)
    # ... and when a transpose goes, what it read takes over.
    graph.replace(back.output, graph.add("transpose", [other.output], {"perm": (1, 0)}, before=last).output)
    graph.remove(back)
    assert set(other.output.origins) == {"t", "r"}
