"""Small models for the tests of the runtime, made through the front door of the file format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from microlith import modelfile
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Dim, Graph, TensorType, Value
from microlith.ops import OpDef


class Build:
    """Builds a graph line by line: ``y = b.op("relu", x)``."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.graph = Graph(name)
        self.rng = np.random.default_rng(seed)

    def input(self, name: str, shape: Sequence[Dim], dtype: DType = DType.f32) -> Value:
        value = Value(name, TensorType(dtype, tuple(shape)))
        self.graph.inputs.append(value)
        return value

    def noise(self, *shape: int) -> Value:
        return self.graph.constant(f"c{len(list(self.graph.constants()))}", self.rng.normal(size=shape).astype("f4"))

    def integers(self, *shape: int) -> tuple[Value, Value, Value]:
        """Weights, bias and requant of an integer op with ``shape[0]`` outputs."""
        channels = shape[0]
        requant = np.stack([self.rng.integers(2**30, 2**31 - 1, channels), np.full(channels, -7)])
        arrays = (
            self.rng.integers(-127, 128, shape).astype(np.int8),
            self.rng.integers(-500, 500, channels).astype(np.int32),
            requant.astype(np.int32),
        )
        start = len(self.graph.nodes)
        weights, bias, scale = (self.graph.constant(f"i{start}_{i}", array) for i, array in enumerate(arrays))
        return weights, bias, scale

    def op(self, op: str, *inputs: Value | None, output: str = "", **attrs: Any) -> Value:
        name = output or f"{op}_{len(self.graph.nodes)}"
        return self.graph.add(op, inputs, attrs, name=name, output_names=[name]).output

    def outputs(self, *values: Value) -> Graph:
        self.graph.outputs = list(values)
        return self.graph


@dataclass
class Case:
    """A model in a file, with inputs that fit and what the reference makes of them."""

    graph: Graph
    path: Path
    inputs: dict[str, np.ndarray]

    @property
    def expected(self) -> dict[str, np.ndarray]:
        return evaluate(self.graph, self.inputs)


def mlp() -> Graph:
    b = Build("mlp")
    x = b.input("x", (2, 24))
    hidden = b.op("relu", b.op("dense", x, b.noise(16, 24), b.noise(16)))
    return b.outputs(b.op("softmax", b.op("dense", hidden, b.noise(5, 16), b.noise(5)), output="scores", axis=1))


def cnn() -> Graph:
    b = Build("cnn")
    x = b.input("image", (1, 12, 12, 3))
    y = b.op("conv2d", x, b.noise(8, 3, 3, 3), b.noise(8), pad_top=1, pad_left=1, pad_bottom=1, pad_right=1)
    y = b.op("max_pool2d", b.op("relu", y), kernel_h=2, kernel_w=2, stride_h=2, stride_w=2)
    y = b.op("depthwise_conv2d", y, b.noise(1, 3, 3, 8), None, groups=8)
    flat = b.op("reshape", y, shape=[1, -1], output="features")
    return b.outputs(b.op("dense", flat, b.noise(10, 128), b.noise(10), output="scores"), flat)


def branches() -> Graph:
    """Views, in-place results, a tensor with several users, two inputs, and an output that another node reads."""
    b = Build("branches")
    x, y = b.input("x", (4, 6)), b.input("y", (6,))
    total = b.op("add", x, y, output="total")
    view = b.op("reshape", total, shape=[6, 4])
    turned = b.op("transpose", view, perm=[1, 0])
    product = b.op("mul", turned, b.op("relu", total))
    return b.outputs(b.op("sub", product, x, output="last"), total, b.op("reshape", x, shape=[24], output="flat"))


def dynamic() -> Graph:
    b = Build("dynamic")
    x = b.input("x", ("batch", 10))
    return b.outputs(b.op("tanh", b.op("dense", x, b.noise(4, 10), b.noise(4)), output="y"))


def integer() -> Graph:
    """int8 convolution, pooling, dense and a view; the constants are what the end of a conversion leaves."""
    b = Build("integer")
    x = b.input("x", (1, 9, 9, 4), DType.s8)
    y = b.op("conv2d", x, *b.integers(8, 3, 3, 4), stride_h=2, stride_w=2, x_zero=-3, y_zero=5, rounding=1)
    y = b.op("max_pool2d", y, kernel_h=2, kernel_w=2, stride_h=2, stride_w=2)
    y = b.op("reshape", y, shape=[1, 32])
    return b.outputs(b.op("dense", y, *b.integers(6, 32), x_zero=5, y_zero=-7, rounding=1, output="y"))


GRAPHS: dict[str, Callable[[], Graph]] = {
    "mlp": mlp,
    "cnn": cnn,
    "branches": branches,
    "dynamic": dynamic,
    "integer": integer,
}


def inputs_for(graph: Graph, seed: int = 1, **sizes: int) -> dict[str, np.ndarray]:
    """Noise for the inputs of a graph; ``sizes`` gives symbols, 3 otherwise."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for value in graph.inputs:
        shape = [dim if isinstance(dim, int) else sizes.get(dim, 3) for dim in value.shape]
        noise = rng.normal(size=shape) if value.dtype.is_float else rng.integers(-128, 128, shape)
        arrays[value.name] = noise.astype(value.dtype.numpy)
    return arrays


def write(name: str, folder: Path) -> Case:
    """Writes one of ``GRAPHS`` to a file."""
    graph = GRAPHS[name]()
    path = folder / f"{name}.lith"
    modelfile.save(graph, path)
    return Case(graph, path, inputs_for(graph))


CONSTANT_ONLY = frozenset({"tree_ensemble"})
"""Ops whose plan half checks the values of all inputs but the first, which therefore have to be constants."""


def one_node(opdef: OpDef, seed: int, constants: bool) -> tuple[Graph, dict[str, np.ndarray]]:
    """A sample of an op as a graph. Input 0 is a graph input; the others are constants, or inputs too."""
    sample = opdef.samples(np.random.default_rng(seed))
    graph = Graph(opdef.name)
    given: dict[str, np.ndarray] = {}
    values: list[Value | None] = []
    for index, array in enumerate(sample.inputs):
        if array is None:
            values.append(None)
        elif (constants or opdef.name in CONSTANT_ONLY) and index > 0:
            values.append(graph.constant(f"c{index}", np.asarray(array)))
        else:
            given[f"x{index}"] = np.asarray(array)
            type = TensorType(DType.from_numpy(given[f"x{index}"].dtype), given[f"x{index}"].shape)
            values.append(Value(f"x{index}", type))
            graph.inputs.append(values[-1])
    graph.outputs = list(graph.add(opdef.name, values, sample.attrs, name="node").outputs)
    return graph, given
