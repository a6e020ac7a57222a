# SPDX-License-Identifier: Apache-2.0
"""How long conversion takes: a residual network of 25 million parameters and a transformer of 6 layers.

    python benchmarks/models/conversion.py [--profile]

Both are built here, with random weights, in the form in which PyTorch's exporter writes them: the transformer with
symbolic batch and length, its normalizations, GELUs and attentions in pieces, and the shapes computed in the graph.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """Nodes and weights of an ONNX model that is being written."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.rng = np.random.default_rng(0)

    def weight(self, *shape: int, scale: float = 1.0) -> str:
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        return self.constant((self.rng.standard_normal(shape) * scale / np.sqrt(fan_in)).astype(np.float32))

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def real(self, value: float) -> str:
        return self.constant(np.float32(value).reshape(()))

    def add(self, op: str, *inputs: str, **attributes: object) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=name, **attributes))
        return name

    def model(self, inputs: Sequence[onnx.ValueInfoProto], output: str, shape: Sequence[int | str]) -> onnx.ModelProto:
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, list(shape))
        graph = helper.make_graph(self.nodes, "network", list(inputs), [result], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def residual_network() -> onnx.ModelProto:
    """ResNet-50: 53 convolutions, 25.5 million parameters, normalizations already folded as exporters do."""
    net = Network()

    def conv(x: str, channels: int, to: int, kernel: int, stride: int = 1, relu: bool = True) -> str:
        weights, bias = net.weight(to, channels, kernel, kernel), net.weight(to)
        pads = [kernel // 2] * 4
        y = net.add("Conv", x, weights, bias, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)
        return net.add("Relu", y) if relu else y

    x = conv("image", 3, 64, 7, 2)
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and block == 0 else 1
            y = conv(x, channels, width, 1)
            y = conv(y, width, width, 3, stride)
            y = conv(y, width, 4 * width, 1, relu=False)
            shortcut = conv(x, channels, 4 * width, 1, stride, relu=False) if block == 0 else x
            x, channels = net.add("Relu", net.add("Add", y, shortcut)), 4 * width
    x = net.add("Flatten", net.add("GlobalAveragePool", x), axis=1)
    x = net.add("Gemm", x, net.weight(1000, 2048), net.weight(1000), transB=1)
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])
    return net.model([image], x, [1, 1000])


def transformer(layers: int = 6, hidden: int = 384, heads: int = 12, vocabulary: int = 30522) -> onnx.ModelProto:
    """MiniLM-L6: an encoder of token ids with a mask, batch and length symbolic."""
    net = Network()

    def norm(x: str) -> str:
        centred = net.add("Sub", x, net.add("ReduceMean", x, axes=[-1]))
        variance = net.add("ReduceMean", net.add("Pow", centred, net.real(2.0)), axes=[-1])
        deviation = net.add("Sqrt", net.add("Add", variance, net.real(1e-12)))
        scaled = net.add("Mul", net.add("Div", centred, deviation), net.weight(hidden))
        return net.add("Add", scaled, net.weight(hidden))

    def linear(x: str, size: int, to: int) -> str:
        return net.add("Add", net.weight(to), net.add("MatMul", x, net.weight(size, to)))

    def size_of(x: str, axis: int) -> str:
        return net.add("Gather", net.add("Shape", x), net.constant(np.array(axis, np.int64)), axis=0)

    def shape_like(x: str, *tail: int) -> str:
        parts = [net.add("Unsqueeze", size_of(x, axis), net.ints(0)) for axis in (0, 1)]
        return net.add("Concat", *parts, *(net.ints(size) for size in tail), axis=0)

    def split(x: str) -> str:
        return net.add("Reshape", x, shape_like(x, heads, hidden // heads))

    def attention(x: str, mask: str) -> str:
        q, k, v = (linear(x, hidden, hidden) for _ in range(3))
        query = net.add("Transpose", split(q), perm=[0, 2, 1, 3])
        key = net.add("Transpose", split(k), perm=[0, 2, 3, 1])
        value = net.add("Transpose", split(v), perm=[0, 2, 1, 3])
        scores = net.add("Div", net.add("MatMul", query, key), net.real((hidden / heads) ** 0.5))
        weights = net.add("Softmax", net.add("Add", scores, mask), axis=-1)
        mixed = net.add("Transpose", net.add("MatMul", weights, value), perm=[0, 2, 1, 3])
        return net.add("Reshape", mixed, shape_like(mixed, hidden))

    def gelu(x: str) -> str:
        erf = net.add("Erf", net.add("Div", x, net.real(2.0**0.5)))
        return net.add("Mul", net.add("Mul", x, net.add("Add", erf, net.real(1.0))), net.real(0.5))

    extended = net.add("Unsqueeze", net.add("Unsqueeze", "attention_mask", net.ints(1)), net.ints(2))
    absent = net.add("Sub", net.real(1.0), net.add("Cast", extended, to=TensorProto.FLOAT))
    mask = net.add("Mul", absent, net.real(float(np.finfo(np.float32).min)))
    words = net.add("Gather", net.weight(vocabulary, hidden), "input_ids", axis=0)
    length = net.add("Unsqueeze", size_of("input_ids", 1), net.ints(0))
    positions = net.add("Slice", net.constant(np.arange(512).reshape(1, 512)), net.ints(0), length, net.ints(1))
    x = norm(net.add("Add", words, net.add("Gather", net.weight(512, hidden), positions, axis=0)))
    for _ in range(layers):
        x = norm(net.add("Add", linear(attention(x, mask), hidden, hidden), x))
        x = norm(net.add("Add", linear(gelu(linear(x, hidden, 4 * hidden)), 4 * hidden, hidden), x))
    names = ("input_ids", "attention_mask")
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names]
    return net.model(inputs, x, ["batch", "length", hidden])


MODELS = {"ResNet-50": residual_network, "MiniLM-L6": transformer}


def main() -> None:
    import microlith

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    options = parser.parse_args()
    for name, build in MODELS.items():
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "model.onnx"
            model = build()
            count = sum(int(np.prod(weight.dims)) for weight in model.graph.initializer)
            onnx.save(model, source)
            del model
            profile = cProfile.Profile()
            if options.profile:
                profile.enable()
            begin, cpu = time.perf_counter(), time.process_time()
            graph = microlith.convert(source, Path(folder) / "model.lith")
            wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
            profile.disable()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        nodes = f", {len(graph.nodes)} nodes" if graph is not None else ""
        print(
            f"{name}: {count / 1e6:.1f} M parameters, {wall:.2f} s ({cpu:.2f} s of CPU){nodes}, peak {peak} MiB so far"
        )
        if options.profile:
            pstats.Stats(profile).sort_stats("cumulative").print_stats(40)


if __name__ == "__main__":
    main()
