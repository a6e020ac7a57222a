# SPDX-License-Identifier: Apache-2.0
"""Attention of several heads, spelled out as exporters do, stays in parts that have forms on integers."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from microlith.converter import convert

from . import onnx_nets
from .test_static import quantized, sqnr_to_onnxruntime

TOKENS, SIZE, HEADS = 8, 16, 2


@pytest.mark.parametrize(("scheme", "least"), [("int8", 20.0), ("16x8", 35.0)])
def test_heads_in_four_dimensions_become_integers(scheme: str, least: float) -> None:
    """x [1, 8, 16] -> y: the transposes of the heads are those that an early pass takes into attention."""
    rng = np.random.default_rng(0)
    weights = {name: (rng.standard_normal((SIZE, SIZE)) / 4).astype(np.float32) for name in ("wq", "wk", "wv", "wo")}
    weights |= {"share": np.array(0.35, np.float32)}
    weights |= {"split": np.array([1, TOKENS, HEADS, -1]), "join": np.array([1, TOKENS, SIZE])}
    nodes = []
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            helper.make_node("MatMul", ["x", f"w{name}"], [f"{name}1"]),
            helper.make_node("Reshape", [f"{name}1", "split"], [f"{name}2"]),
            helper.make_node("Transpose", [f"{name}2"], [name], perm=perm),
        ]
    nodes += [
        helper.make_node("MatMul", ["q", "k"], ["likeness"]),
        helper.make_node("Mul", ["likeness", "share"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["attention"]),
        helper.make_node("MatMul", ["attention", "v"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["turned"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["turned", "join"], ["joined"]),
        helper.make_node("MatMul", ["joined", "wo"], ["y"]),
    ]
    model = onnx_nets.model(nodes, {"x": (1, TOKENS, SIZE)}, {"y": (1, TOKENS, SIZE)}, weights)
    assert any(node.op == "attention" for node in convert(model).nodes)
    samples = [rng.standard_normal((1, TOKENS, SIZE)).astype(np.float32) for _ in range(12)]
    graph, _ = quantized(model, samples[:8], scheme=scheme, require_int8=True)
    assert not any(node.op == "attention" for node in graph.nodes)
    assert sqnr_to_onnxruntime(model, graph, samples[8:]) > least
