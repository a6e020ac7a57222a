"""Small float models for the tests of quantization, made with ONNX's helpers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Sequence[int | str]],
    outputs: dict[str, Sequence[int | str]],
    weights: dict[str, np.ndarray],
) -> onnx.ModelProto:
    """A model of float32 inputs and outputs."""
    graph = helper.make_graph(
        list(nodes),
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def dense(rng: np.random.Generator, inputs: int = 16, units: int = 8, batch: int | str = 1) -> onnx.ModelProto:
    """x [batch, inputs] -> y [batch, units]: Gemm with a bias, then Relu."""
    weights = {
        "w": rng.standard_normal((units, inputs)).astype(np.float32),
        "b": rng.standard_normal(units).astype(np.float32),
    }
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1), helper.make_node("Relu", ["h"], ["y"])]
    return model(nodes, {"x": (batch, inputs)}, {"y": (batch, units)}, weights)


def small_cnn(rng: np.random.Generator, channels: int = 8) -> onnx.ModelProto:
    """image [1, 3, 12, 12] -> scores [1, 5]: convolution, depthwise convolution, residual sum, pool, dense, softmax."""

    def normal(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    c = channels
    weights = {"w1": normal(c, 3, 3, 3), "b1": normal(c, 1).reshape(c), "w2": normal(c, 1, 3, 3), "w3": normal(5, c)}
    nodes = [
        helper.make_node("Conv", ["image", "w1", "b1"], ["a"], pads=[1] * 4, strides=[2, 2], name="first"),
        helper.make_node("HardSwish", ["a"], ["b"], name="swish"),
        helper.make_node("Conv", ["b", "w2"], ["c"], pads=[1] * 4, group=c, name="depthwise"),
        helper.make_node("Add", ["b", "c"], ["d"], name="sum"),
        helper.make_node("GlobalAveragePool", ["d"], ["e"], name="pool"),
        helper.make_node("Flatten", ["e"], ["f"]),
        helper.make_node("Gemm", ["f", "w3"], ["g"], transB=1, name="last"),
        helper.make_node("Softmax", ["g"], ["scores"], name="softmax"),
    ]
    return model(nodes, {"image": (1, 3, 12, 12)}, {"scores": (1, 5)}, weights)


def two_convolutions(rng: np.random.Generator, pool: bool = False) -> onnx.ModelProto:
    """x [1, 4, 6, 6] -> y [1, 3, 6, 6]: convolutions with a ReLU between them, whose channels have unequal ranges.
    With ``pool`` a max pool is between them, the ranges are alike and y is [1, 3, 3, 3]."""
    spread = np.geomspace(0.01, 10.0, 8).astype(np.float32) ** np.float32(not pool)
    weights = {
        "w1": rng.standard_normal((8, 4, 1, 1)).astype(np.float32) * spread[:, None, None, None],
        "w2": rng.standard_normal((3, 8, 1, 1)).astype(np.float32) / spread[:, None, None],
    }
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["p" if pool else "b", "w2"], ["y"], name="second"),
    ]
    if pool:
        nodes.insert(2, helper.make_node("MaxPool", ["b"], ["p"], kernel_shape=[2, 2], strides=[2, 2], name="pool"))
    side = 3 if pool else 6
    return model(nodes, {"x": (1, 4, 6, 6)}, {"y": (1, 3, side, side)}, weights)
