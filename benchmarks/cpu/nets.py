"""Well-known topologies with random weights as ONNX: what their speed is measured on needs no training.

``build(name)`` gives one of ``NETS``: opset 13, batch 1, input ``x`` f32 [1, 3, 224, 224], output ``y`` f32 [1, 1000],
BatchNorm folded into convolutions with bias.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class _Net:
    """An ONNX graph that grows at its end."""

    def __init__(self, seed: int = 7) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: np.ndarray) -> str:
        """Name of a new constant."""
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def node(self, op: str, inputs: list[str], output: str = "", **attributes: object) -> str:
        """Name of the only output of a new node."""
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def conv(
        self,
        x: str,
        channels: tuple[int, int],
        kernel: int = 3,
        stride: int = 1,
        groups: int = 1,
        act: str = "relu",
        gain: float = 2.0,
    ) -> str:
        """Convolution with bias and activation ("relu", "relu6" or ""), "same" padding for stride 1."""
        fan_in = channels[0] // groups * kernel * kernel
        shape = (channels[1], channels[0] // groups, kernel, kernel)
        weights = self.constant(self.random.standard_normal(shape) * np.sqrt(gain / fan_in))
        bias = self.constant(self.random.standard_normal(channels[1]) * 0.05)
        y = self.node(
            "Conv",
            [x, weights, bias],
            kernel_shape=[kernel] * 2,
            strides=[stride] * 2,
            pads=[kernel // 2] * 4,
            group=groups,
        )
        if act == "relu":
            return self.node("Relu", [y])
        if act == "relu6":
            return self.node("Clip", [y, self.constant(np.array(0.0)), self.constant(np.array(6.0))])
        return y

    def classifier(self, x: str, channels: int) -> onnx.ModelProto:
        """Global average, 1000 classes; the model is complete."""
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x])])
        weights = self.constant(self.random.standard_normal((1000, channels)) / np.sqrt(channels))
        self.node("Gemm", [x, weights, self.constant(np.zeros(1000))], "y", transB=1)
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1000])],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model)
        return model


def _mobilenet_v1() -> onnx.ModelProto:
    net = _Net()
    x, channels = net.conv("x", (3, 32), stride=2), 32
    plan = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
    for width, stride in plan:
        x = net.conv(x, (channels, channels), stride=stride, groups=channels)
        x = net.conv(x, (channels, width), 1)
        channels = width
    return net.classifier(x, channels)


def _mobilenet_v2() -> onnx.ModelProto:
    net = _Net()
    x, channels = net.conv("x", (3, 32), stride=2, act="relu6"), 32
    plan = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expand, width, count, first_stride in plan:
        for index in range(count):
            stride, hidden, y = (first_stride if index == 0 else 1), channels * expand, x
            if expand > 1:
                y = net.conv(y, (channels, hidden), 1, act="relu6")
            y = net.conv(y, (hidden, hidden), stride=stride, groups=hidden, act="relu6")
            y = net.conv(y, (hidden, width), 1, act="", gain=1.0)
            x = net.node("Add", [x, y]) if stride == 1 and channels == width else y
            channels = width
    return net.classifier(net.conv(x, (channels, 1280), 1, act="relu6"), 1280)


def _resnet(blocks: tuple[int, ...], bottleneck: bool) -> onnx.ModelProto:
    net = _Net()
    x = net.conv("x", (3, 64), 7, stride=2)
    x, channels = net.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        out = width * 4 if bottleneck else width
        for index in range(count):
            stride = 2 if stage > 0 and index == 0 else 1
            side = x if channels == out and stride == 1 else net.conv(x, (channels, out), 1, stride, act="", gain=0.5)
            if bottleneck:
                y = net.conv(net.conv(x, (channels, width), 1), (width, width), 3, stride)
                y = net.conv(y, (width, out), 1, act="", gain=0.5)
            else:
                y = net.conv(net.conv(x, (channels, width), 3, stride), (width, out), 3, act="", gain=0.5)
            x, channels = net.node("Relu", [net.node("Add", [side, y])]), out
    return net.classifier(x, channels)


NETS: dict[str, Callable[[], onnx.ModelProto]] = {
    "mobilenet_v1": _mobilenet_v1,
    "mobilenet_v2": _mobilenet_v2,
    "resnet18": lambda: _resnet((2, 2, 2, 2), False),
    "resnet50": lambda: _resnet((3, 4, 6, 3), True),
}


def build(name: str) -> onnx.ModelProto:
    """One of ``NETS``; the same bytes every time."""
    return NETS[name]()
