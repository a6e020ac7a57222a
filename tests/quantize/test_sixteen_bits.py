# SPDX-License-Identifier: Apache-2.0
"""Ops on 16-bit integers beside ONNX Runtime in float32, and their arithmetic beside exact numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import microlith
from microlith import modelfile, numerics
from microlith.evaluate import evaluate
from microlith.ops.quotients import quantized_quotient

from .test_recurrent import decibels
from .test_static import quantized

Nodes = Callable[[str], list[onnx.NodeProto]]


def net(middle: Nodes, rng: np.random.Generator) -> onnx.ModelProto:
    """A dense layer, something, and a dense layer."""

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((rng.standard_normal(shape) * 0.5).astype(np.float32), name)

    constants = [weights("w1", 12, 16), weights("w2", 16, 4), weights("gain", 16), weights("shift", 16)]
    constants.append(numpy_helper.from_array(np.array(-0.13, np.float32), "floor"))
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["h"], name="first"), *middle("h")]
    nodes.append(helper.make_node("MatMul", ["m", "w2"], ["y"], name="last"))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def one(op: str, **attrs: object) -> Nodes:
    return lambda x: [helper.make_node(op, [x], ["m"], **attrs)]


MIDDLES: dict[str, Nodes] = {
    "gelu": one("Gelu"),
    "hard_swish": one("HardSwish"),
    "leaky_relu": one("LeakyRelu", alpha=0.1),
    "elu": one("Elu"),
    "limits": lambda x: [
        helper.make_node("LeakyRelu", [x], ["l"], alpha=0.2),
        helper.make_node("Max", ["l", "floor"], ["m"]),
    ],
    "log_softmax": one("LogSoftmax", axis=-1),
    "layer_norm": lambda x: [helper.make_node("LayerNormalization", [x, "gain", "shift"], ["m"], axis=-1)],
    "div": lambda x: [
        helper.make_node("Sigmoid", [x], ["s"]),
        helper.make_node("Exp", ["s"], ["e"]),
        helper.make_node("Div", [x, "e"], ["m"]),
    ],
}


@pytest.mark.parametrize("name", MIDDLES)
def test_16x8_stays_on_integers_and_keeps_the_outputs(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    model = net(MIDDLES[name], rng)
    samples = [(rng.standard_normal((3, 12)) * 2).astype(np.float32) for _ in range(16)]
    graph, report = quantized(model, samples, scheme="16x8", require_int8=True)
    assert not report.floats
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = [session.run(None, {"x": sample})[0] for sample in samples]
    assert decibels(wanted, [evaluate(graph, {"x": sample})["y"] for sample in samples]) > 40
    modelfile.save(graph, tmp_path / "net.lith")
    with microlith.load(tmp_path / "net.lith") as compiled:
        for sample in samples[:3]:
            np.testing.assert_array_equal(compiled.run({"x": sample})["y"], evaluate(graph, {"x": sample})["y"])


def test_quotients_are_those_of_fractions() -> None:
    """Under ``single``: the exact quotient, rounded once, halves up."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(-32768, 32768, 4000), rng.integers(-32768, 32768, 4000)
    a[:50], b[:50] = rng.choice([-32768, 32767, 1, -1, 0], 50), rng.choice([-32768, 32767, 1, -1], 50)
    b[b == 0] = 1
    for factor in (1.0, 0.5, 2.0**-14, 2.0**14, 3e-5, 900.0):
        mult, shift = numerics.quantize_multiplier(factor)
        got = quantized_quotient(a, b, mult, shift, numerics.SINGLE)
        exact = [Fraction(int(x) * mult, int(y)) * Fraction(2) ** (shift - 31) for x, y in zip(a, b, strict=True)]
        wanted = [min(max(floor(value + Fraction(1, 2)), -(2**31)), 2**31 - 1) for value in exact]
        np.testing.assert_array_equal(got, wanted)
