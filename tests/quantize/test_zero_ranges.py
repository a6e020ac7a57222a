# SPDX-License-Identifier: Apache-2.0
"""Inputs and weights that are constant, above all zero: what remains of the results keeps its accuracy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from microlith.converter.quantize.zero_ranges import scales_of_empty
from microlith.evaluate import evaluate

from . import onnx_nets
from .test_static import quantized

RNG = np.random.default_rng(11)
WEIGHTS = {
    name: (RNG.standard_normal(shape) * factor).astype(np.float32)
    for name, shape, factor in (
        ("w", (8, 16), 1.0),
        ("wide", (8, 32), 1.0),
        ("small", (8, 16), 0.02),
        ("square", (8, 8), 1.0),
        ("b", (8,), 0.1),
        ("c", (8,), 0.1),
        ("gain", (16,), 1.0),
        ("shift", (16,), 1.0),
    )
}
WEIGHTS |= {"never": np.float32([-900.0] * 8), "none": np.zeros((8, 16), np.float32), "zeros": np.zeros(16, np.float32)}


def gemm(x: str, w: str, b: str, y: str) -> onnx.NodeProto:
    return helper.make_node("Gemm", [x, w, b], [y], transB=1)


def node(op: str, *names: str, **attrs: object) -> onnx.NodeProto:
    return helper.make_node(op, list(names[:-1]), [names[-1]], **attrs)


NETS: dict[str, Callable[[], list[onnx.NodeProto]]] = {
    "layer of its own": lambda: [gemm("z", "w", "b", "y")],
    "small layer beside another": lambda: [
        gemm("x", "w", "b", "h"),
        gemm("z", "small", "c", "k"),
        node("Add", "h", "k", "y"),
    ],
    "weights of zero": lambda: [gemm("x", "none", "b", "h"), gemm("z", "w", "c", "k"), node("Add", "h", "k", "y")],
    "add": lambda: [node("Add", "x", "z", "h"), gemm("h", "w", "b", "y")],
    "sub": lambda: [node("Sub", "z", "x", "h"), gemm("h", "w", "b", "y")],
    "mul": lambda: [node("Mul", "x", "z", "h"), gemm("h", "w", "b", "y")],
    "chain": lambda: [
        node("Mul", "x", "z", "h"),
        node("Mul", "h", "x", "i"),
        node("Add", "i", "z", "j"),
        gemm("j", "w", "b", "y"),
    ],
    "div": lambda: [node("Exp", "x", "e"), node("Div", "z", "e", "h"), gemm("h", "w", "b", "y")],
    "concat": lambda: [node("Concat", "x", "z", "h", axis=1), gemm("h", "wide", "b", "y")],
    "concat of zeros": lambda: [node("Concat", "z", "z", "h", axis=1), gemm("h", "wide", "b", "y")],
    "dead layer": lambda: [
        gemm("x", "w", "never", "h"),
        node("Relu", "h", "k"),
        gemm("k", "square", "c", "i"),
        gemm("x", "w", "b", "j"),
        node("Add", "i", "j", "y"),
    ],
    "softmax": lambda: [node("Softmax", "z", "p"), node("Mul", "p", "x", "h"), gemm("h", "w", "b", "y")],
    "sigmoid": lambda: [node("Sigmoid", "z", "p"), node("Mul", "p", "x", "h"), gemm("h", "w", "b", "y")],
    "norm": lambda: [
        node("LayerNormalization", "z", "gain", "shift", "p"),
        node("Add", "p", "x", "h"),
        gemm("h", "w", "b", "y"),
    ],
    "constant of zeros": lambda: [
        node("Sub", "zeros", "x", "k"),
        node("Mul", "k", "zeros", "h"),
        node("Add", "h", "x", "i"),
        gemm("i", "w", "b", "y"),
    ],
}


def figure(nodes: list[onnx.NodeProto], fill: float, factor: float, scheme: str) -> float:
    """Decibels against ONNX Runtime; ``fill`` is what the input z holds, ``factor`` of what the outputs are."""
    weights = {name: array for name, array in WEIGHTS.items() if any(name in item.input for item in nodes)}
    for name in ("b", "c"):
        if name in weights:
            weights[name] = weights[name] * np.float32(factor)
    inputs = {name: (1, 16) for name in "xz" if any(name in item.input for item in nodes)}
    model = onnx_nets.model(nodes, inputs, {"y": (1, 8)}, weights)
    rng = np.random.default_rng(5)
    arrays = {"x": lambda: rng.standard_normal((1, 16)), "z": lambda: np.full((1, 16), fill)}
    samples = [{name: arrays[name]().astype(np.float32) for name in inputs} for _ in range(6)]
    graph, _ = quantized(model, samples, scheme=scheme, require_int8=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = np.stack([session.run(None, feed)[0] for feed in samples]).astype(np.float64)
    got = np.stack([evaluate(graph, feed)["y"] for feed in samples])
    return float(10 * np.log10(np.sum(wanted**2) / np.sum((wanted - got) ** 2)))


@pytest.mark.parametrize(("scheme", "least"), [("int8", 36.0), ("16x8", 47.0)])
@pytest.mark.parametrize("fill", [0.0, -3.0])
@pytest.mark.parametrize("name", NETS)
def test_constant_inputs(name: str, fill: float, scheme: str, least: float) -> None:
    if name == "div" and fill and scheme == "int8":
        least = 15.0  # quotients by numbers near zero, of which 8 bits know little
    assert figure(NETS[name](), fill, 1.0, scheme) > least


@pytest.mark.parametrize(("scheme", "least"), [("int8", 40.0), ("16x8", 60.0)])
@pytest.mark.parametrize("factor", [1e-4, 100.0])
@pytest.mark.parametrize("name", ["layer of its own", "mul", "chain", "concat of zeros", "weights of zero"])
def test_what_is_left_is_the_bias(name: str, factor: float, scheme: str, least: float) -> None:
    """Nothing but a bias comes through, however small or large it is; a unit of the zeros' scale has no say."""
    assert figure(NETS[name](), 0.0, factor, scheme) > least


def test_an_empty_channel_counts_finely_in_its_bias() -> None:
    weights = np.float32([[0.0, 0.0], [0.5, -0.25], [0.0, 0.0]])
    bias = np.array([0.1, 0.1, 0.0])
    scales = scales_of_empty(np.float32([1.0, 0.5 / 127, 1.0]), weights, 0, 0.05, bias)
    np.testing.assert_array_equal(scales[1:], np.float32([0.5 / 127, 1.0]))
    unit = 0.05 * float(scales[0])
    assert abs(np.rint(0.1 / unit) * unit - 0.1) < 1e-7
