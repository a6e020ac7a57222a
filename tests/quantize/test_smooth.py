# SPDX-License-Identifier: Apache-2.0
"""SmoothQuant on a transformer block whose normalizations have outlier channels, as those of trained ones do."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from . import onnx_nets
from .test_static import quantized, sqnr_to_onnxruntime

SIZE = 32


def block(rng: np.random.Generator) -> onnx.ModelProto:
    """x [1, 12, 32] -> y: attention of one head and a GELU layer, each behind a layer norm and around it a sum. Three
    channels of the norms are twenty to thirty times as large as others, and their weights so much smaller."""

    def normal(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    gain = np.ones(SIZE, np.float32)
    gain[[3, 17, 30]] = 30.0, 20.0, 25.0
    weights = {"gain": gain, "none": np.zeros(SIZE, np.float32), "share": np.array(0.2, np.float32)}
    weights |= {f"w{name}": normal(SIZE, SIZE) / gain[:, None] for name in "qkv"} | {"wo": normal(SIZE, SIZE)}
    weights |= {"up": normal(SIZE, 2 * SIZE) / gain[:, None], "down": normal(2 * SIZE, SIZE)}
    nodes = [
        helper.make_node("LayerNormalization", ["x", "gain", "none"], ["n"]),
        *(helper.make_node("MatMul", ["n", f"w{name}"], [name]) for name in "qkv"),
        helper.make_node("Transpose", ["k"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "turned"], ["likeness"]),
        helper.make_node("Mul", ["likeness", "share"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["attention"]),
        helper.make_node("MatMul", ["attention", "v"], ["mixed"]),
        helper.make_node("MatMul", ["mixed", "wo"], ["o"]),
        helper.make_node("Add", ["x", "o"], ["r"]),
        helper.make_node("LayerNormalization", ["r", "gain", "none"], ["m"]),
        helper.make_node("MatMul", ["m", "up"], ["h"]),
        helper.make_node("Gelu", ["h"], ["g"]),
        helper.make_node("MatMul", ["g", "down"], ["d"]),
        helper.make_node("Add", ["r", "d"], ["y"]),
    ]
    model = onnx_nets.model(nodes, {"x": (1, 12, SIZE)}, {"y": (1, 12, SIZE)}, weights)
    model.opset_import[0].version = 20
    return model


def test_outliers_move_into_the_weights() -> None:
    """On other samples than those of calibration; by itself it is found and taken."""
    rng = np.random.default_rng(0)
    model = block(rng)
    samples = [rng.standard_normal((1, 12, SIZE)).astype(np.float32) for _ in range(8)]
    figures = {}
    for smooth in (0.0, 0.5, None):
        graph, report = quantized(
            model, samples[:4], equalize=False, smooth=smooth, rounding="nearest", observer="min-max", require_int8=True
        )
        figures[smooth] = sqnr_to_onnxruntime(model, graph, samples[4:])
        assert report.choices.get("scales moved") == (None if smooth == 0.0 else 2)
    assert figures[None] == figures[0.5] > figures[0.0] + 8.0, figures
