# SPDX-License-Identifier: Apache-2.0
"""The work of a conversion grows with the model, not with its square: counted in calls, not in time."""

from __future__ import annotations

import cProfile
import pstats

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from microlith.converter import convert


def deep_model(layers: int) -> onnx.ModelProto:
    """Per layer a matrix product with a bias and a factor, a normalization and a GELU in pieces, and a way around."""
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []

    def constant(array: np.ndarray) -> str:
        weights.append(numpy_helper.from_array(array.astype(np.float32), f"c{len(weights)}"))
        return weights[-1].name

    def add(op: str, *inputs: str, **attributes: object) -> str:
        nodes.append(helper.make_node(op, list(inputs), [f"v{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    x = "x"
    for _ in range(layers):
        y = add("Add", add("MatMul", x, constant(rng.standard_normal((8, 8)))), constant(rng.standard_normal(8)))
        y = add("Mul", y, constant(rng.standard_normal(8)))
        centred = add("Sub", y, add("ReduceMean", y, axes=[-1]))
        variance = add("ReduceMean", add("Mul", centred, centred), axes=[-1])
        y = add("Div", centred, add("Sqrt", add("Add", variance, constant(np.array(1e-5)))))
        y = add("Mul", add("Mul", y, constant(rng.standard_normal(8))), constant(np.array(0.5)))
        erf = add("Erf", add("Div", y, constant(np.array(2.0**0.5))))
        y = add("Mul", add("Mul", y, add("Add", erf, constant(np.array(1.0)))), constant(np.array(0.5)))
        x = add("Add", x, y)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8]) for name in ("x", x)]
    graph = helper.make_graph(nodes, "deep", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def calls(layers: int) -> int:
    model = deep_model(layers)
    profile = cProfile.Profile()
    profile.runcall(convert, model)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_a_model_of_four_times_the_layers_takes_about_four_times_the_calls() -> None:
    calls(2)  # loads what the first conversion of a process loads
    assert calls(80) < 5.5 * calls(20)
