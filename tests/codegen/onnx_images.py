"""ONNX networks for images with their channels first, whose numbers are exact in any order."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class _Maker:
    """Nodes and constants of a model while it is made. ``quantized``: QDQ, with scales that are powers of two."""

    def __init__(self, quantized: bool) -> None:
        self.quantized = quantized
        self.rng = np.random.default_rng(9)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, array: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op: str, inputs: list[str], **attrs: object) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        return name

    def quantize(self, value: str, scale: float, zero: int = 0) -> str:
        if not self.quantized:
            return value
        pair = [
            self.constant(f"{value}_scale", np.float32(scale)),
            self.constant(f"{value}_zero", np.int8(zero)),
        ]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [value, *pair]), *pair])

    def weights(self, name: str, *shape: int) -> str:
        array = self.rng.integers(-2, 3, shape)
        if not self.quantized:
            return self.constant(name, array.astype(np.float32))
        pair = [self.constant(f"{name}_scale", np.float32(0.25)), self.constant(f"{name}_zero", np.int8(0))]
        return self.node("DequantizeLinear", [self.constant(name, (array * 4).astype(np.int8)), *pair])

    def conv(self, x: str, shape: tuple[int, ...], scale: float, *, relu: bool = True, **attrs: object) -> str:
        y = self.node("Conv", [x, self.weights(f"w{len(self.nodes)}", *shape)], **attrs)
        if relu:
            y = self.node("Relu", [y])
        return self.quantize(y, scale, -128 if relu else 0)


def image_network(
    quantized: bool, *, channels: int = 3, height: int = 40, width: int = 12, batch: int | str = "N"
) -> onnx.ModelProto:
    """An inverted residual network of mobile devices: stem, two blocks of which one has a sum, pool, classifier."""
    make = _Maker(quantized)
    x = make.quantize("image", 1.0)
    x = make.conv(x, (8, channels, 3, 3), 0.5, pads=[1, 1, 1, 1])
    y = make.conv(x, (8, 1, 3, 3), 1.0, pads=[1, 1, 1, 1], group=8)
    y = make.conv(y, (8, 8, 1, 1), 4.0, relu=False)
    x = make.quantize(make.node("Add", [x, y]), 4.0)
    y = make.conv(x, (16, 8, 1, 1), 8.0, strides=[2, 2])
    y = make.conv(y, (16, 1, 3, 3), 16.0, strides=[2, 2], pads=[0, 0, 2, 2], group=16)
    y = make.conv(y, (6, 16, 1, 1), 32.0, relu=False)
    y = make.node("ReduceMax", [y, make.constant("axes", np.array([2, 3]))], keepdims=0)
    y = make.node("MatMul", [y, make.weights("classes", 6, 5)])
    make.nodes[-1].output[0] = "scores"
    graph = helper.make_graph(
        make.nodes,
        "image network",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, channels, height, width])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, 5])],
        make.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def images(model: onnx.ModelProto, count: int) -> list[np.ndarray]:
    """Small whole numbers in the shape of the input, with one image in the batch."""
    shape = [dim.dim_value or 1 for dim in model.graph.input[0].type.tensor_type.shape.dim]
    rng = np.random.default_rng(10)
    return [rng.integers(-6, 7, shape).astype(np.float32) for _ in range(count)]


def scores(model: onnx.ModelProto, image: np.ndarray) -> np.ndarray:
    """What ONNX Runtime makes of an image, each node as it is written."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"image": image})[0])
