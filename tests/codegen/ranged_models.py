"""ONNX models with open sizes, seeded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Weights:
    """Initializers of a model that is being written."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.items: list[onnx.TensorProto] = []

    def floats(self, name: str, *shape: int) -> str:
        self.items.append(numpy_helper.from_array((self.rng.standard_normal(shape) * 0.3).astype(np.float32), name))
        return name

    def ints(self, name: str, *values: int) -> str:
        self.items.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name


def _model(
    nodes: Sequence[onnx.NodeProto],
    name: str,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str],
    w: Weights,
) -> onnx.ModelProto:
    results = [helper.make_tensor_value_info(output, TensorProto.FLOAT, None) for output in outputs]
    graph = helper.make_graph(list(nodes), name, list(inputs), results, w.items)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


def audio() -> onnx.ModelProto:
    """A 1-D convolutional net over any number of frames: strides, a transposed convolution, a mean over time."""
    w = Weights(1)
    node = helper.make_node
    nodes = [
        node("Conv", ["x", w.floats("w1", 8, 3, 5), w.floats("b1", 8)], ["c1"], strides=[2], pads=[2, 2]),
        node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", w.floats("w2", 8, 8, 3)], ["c2"], strides=[2], pads=[1, 1]),
        node("LeakyRelu", ["c2"], ["r2"]),
        node("ConvTranspose", ["r2", w.floats("w3", 8, 4, 4)], ["c3"], strides=[2], pads=[1, 1]),
        node("Softmax", ["c3"], ["scores"], axis=-1),
        node("ReduceMean", ["c3"], ["mean"], axes=[2], keepdims=0),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "frames"])
    return _model(nodes, "audio", [x], ["scores", "mean"], w)


def image() -> onnx.ModelProto:
    """A small convolutional net over images of any height and width, with an upsampled map and a vector."""
    w = Weights(2)
    node = helper.make_node
    w.items.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "twice"))
    nodes = [
        node("Conv", ["x", w.floats("w1", 8, 3, 3, 3), w.floats("b1", 8)], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", w.floats("w2", 8, 1, 3, 3)], ["c2"], pads=[1, 1, 1, 1], group=8),
        node("Add", ["c2", "r1"], ["sum"]),
        node("MaxPool", ["sum"], ["pool"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", ["pool", "", "twice"], ["map"], mode="linear"),
        node("GlobalAveragePool", ["pool"], ["mean"]),
        node("Flatten", ["mean"], ["flat"]),
        node("Gemm", ["flat", w.floats("w3", 8, 5), w.floats("b3", 5)], ["vector"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])
    return _model(nodes, "image", [x], ["map", "vector"], w)


def pyramid() -> onnx.ModelProto:
    """A net that halves images three times and adds what it enlarges again: it wants multiples of 8."""
    w = Weights(4)
    node = helper.make_node
    w.items.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "twice"))
    halves = {"strides": [2, 2], "pads": [1, 1, 1, 1]}
    nodes = [
        node("Conv", ["x", w.floats("w1", 6, 3, 3, 3), w.floats("b1", 6)], ["c1"], **halves),
        node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", w.floats("w2", 6, 6, 3, 3)], ["c2"], **halves),
        node("Relu", ["c2"], ["r2"]),
        node("Conv", ["r2", w.floats("w3", 6, 6, 3, 3)], ["c3"], **halves),
        node("Resize", ["c3", "", "twice"], ["u3"], mode="nearest", coordinate_transformation_mode="asymmetric"),
        node("Add", ["u3", "r2"], ["s2"]),
        node("ConvTranspose", ["s2", w.floats("w4", 6, 6, 2, 2)], ["u2"], strides=[2, 2]),
        node("Concat", ["u2", "r1"], ["s1"], axis=1),
        node("Conv", ["s1", w.floats("w5", 2, 12, 1, 1)], ["map"]),
        node("Transpose", ["map"], ["last"], perm=[0, 2, 3, 1]),
        node("Reshape", ["last", w.ints("rows", 1, -1, 2)], ["rows_of_map"]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "h", "w"])
    return _model(nodes, "pyramid", [x], ["map", "rows_of_map"], w)


def transformer(width: int = 16, heads: int = 2) -> onnx.ModelProto:
    """One encoder layer over token numbers, as exporters print it: positions, sizes that are computed, a mask."""
    w = Weights(3)
    node = helper.make_node
    nodes = [
        node("Shape", ["ids"], ["shape"]),
        node("Gather", ["shape", w.ints("one", 1)], ["length"]),
        node("Slice", [w.floats("positions", 1, 40, width), w.ints("zero", 0), "length", "one"], ["position"]),
        node("Gather", [w.floats("words", 50, width), "ids"], ["word"]),
        node("Add", ["word", "position"], ["e"]),
        node("LayerNormalization", ["e", w.floats("g", width), w.floats("b", width)], ["x"]),
    ]
    batch = node("Gather", ["shape", "zero"], ["batch"])
    split = node(
        "Concat", ["batch", "length", w.ints("heads", heads), w.ints("depth", width // heads)], ["split"], axis=0
    )
    merge = node("Concat", ["batch", "length", w.ints("width", width)], ["merge"], axis=0)
    nodes += [batch, split, merge]
    for name in "qkv":
        nodes += [
            node("MatMul", ["x", w.floats(f"w{name}", width, width)], [f"{name}1"]),
            node("Reshape", [f"{name}1", "split"], [f"{name}2"]),
            node("Transpose", [f"{name}2"], [name], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]),
        ]
    w.items.append(numpy_helper.from_array(np.array((width // heads) ** -0.5, np.float32), "scale"))
    w.items.append(numpy_helper.from_array(np.array(-10000, np.float32), "far"))
    w.items.append(numpy_helper.from_array(np.array(1, np.float32), "unit"))
    nodes += [
        node("Cast", ["mask"], ["m1"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["m1", w.ints("axes", 1, 2)], ["m2"]),
        node("Sub", ["unit", "m2"], ["m3"]),
        node("Mul", ["m3", "far"], ["m4"]),
        node("MatMul", ["q", "k"], ["s1"]),
        node("Mul", ["s1", "scale"], ["s2"]),
        node("Add", ["s2", "m4"], ["s3"]),
        node("Softmax", ["s3"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["a1"]),
        node("Transpose", ["a1"], ["a2"], perm=[0, 2, 1, 3]),
        node("Reshape", ["a2", "merge"], ["a3"]),
        node("MatMul", ["a3", w.floats("wo", width, width)], ["a4"]),
        node("Add", ["a4", "x"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"]) for name in ("ids", "mask")]
    return _model(nodes, "transformer", inputs, ["y"], w)
