# SPDX-License-Identifier: Apache-2.0
"""Single layers with 16-bit activations among those of 8 bits: all stays on integers, whatever the neighbours are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import microlith
from microlith import modelfile
from microlith.evaluate import evaluate
from microlith.ir import Graph

from . import onnx_nets
from .test_recurrent import decibels, feeds_of
from .test_recurrent import net as recurrent_net
from .test_sixteen_bits import MIDDLES
from .test_sixteen_bits import net as dense_net
from .test_static import images, quantized

Feeds = list[dict[str, np.ndarray]]
QUICK: dict[str, Any] = {"rounding": "nearest", "observer": "min-max", "equalize": False, "smooth": 0.0}


def check(model: onnx.ModelProto, feeds: Feeds, wide: tuple[str, ...], least: float, tmp_path: Path) -> Graph:
    """On integers throughout, near ONNX Runtime in float32, and the C kernels give the bytes of the reference."""
    graph, report = quantized(model, feeds, wide_layers=wide, require_int8=True, **QUICK)
    assert not report.floats
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    name = graph.outputs[0].name
    got = [evaluate(graph, feed)[name] for feed in feeds]
    assert decibels([session.run([name], feed)[0] for feed in feeds], got) > least
    modelfile.save(graph, tmp_path / "net.lith")
    with microlith.load(tmp_path / "net.lith") as compiled:
        np.testing.assert_array_equal(compiled.run(feeds[0])[name], got[0])
    return graph


def wide_nodes(graph: Graph) -> set[str]:
    return {node.name for node in graph.nodes if node.outputs[0].dtype.name == "s16" and node.op != "requantize"}


@pytest.mark.parametrize(
    "names",
    [*((name,) for name in ("first", "swish", "depthwise", "sum", "pool", "last", "softmax")), ("first", "sum")],
)
def test_layers_of_a_cnn(names: tuple[str, ...], tmp_path: Path) -> None:
    cnn = onnx_nets.small_cnn(np.random.default_rng(0))
    graph = check(cnn, [{"image": image} for image in images(6)], names, 35.0, tmp_path)
    assert wide_nodes(graph) and any(node.op == "requantize" for node in graph.nodes)


@pytest.mark.parametrize("name", MIDDLES)
@pytest.mark.parametrize("wide", ["first", "last", "*_[0-9]*"])
def test_beside_other_ops(name: str, wide: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    model = dense_net(MIDDLES[name], rng)
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"m_{number}"
    feeds = [{"x": (rng.standard_normal((3, 12)) * 2).astype(np.float32)} for _ in range(8)]
    check(model, feeds, (wide,), 25.0, tmp_path)


@pytest.mark.parametrize("wide", ["recurrent", "dense"])
@pytest.mark.parametrize("op", ["GRU", "LSTM"])
def test_beside_recurrent_layers(op: str, wide: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    model = recurrent_net(op, "forward", rng)
    check(model, feeds_of(model, rng, 6), (wide,), 30.0, tmp_path)


def test_a_wide_layer_keeps_more() -> None:
    """Its input and its result have the steps of 16 bits."""
    model = onnx_nets.two_convolutions(np.random.default_rng(0))
    feeds = [np.random.default_rng(i).standard_normal((1, 4, 6, 6)).astype(np.float32) for i in range(8)]
    narrow = quantized(model, feeds, **QUICK)[1].sqnr
    wide = quantized(model, feeds, wide_layers=("second",), **QUICK)[1].sqnr
    assert narrow is not None and wide is not None and wide > narrow + 2


def test_real_activations_are_floating_point() -> None:
    """A layer that has integers for weights alone is named among those in floating point; one of 2 bits is not, whose
    activations are integers."""
    model = onnx_nets.small_cnn(np.random.default_rng(0))
    weights = onnx.numpy_helper.to_array(model.graph.initializer[0])
    ternary = np.sign(weights) * (np.abs(weights) > 0.1) * 0.3
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(ternary.astype(np.float32), "w1"))
    feeds = [{"image": image} for image in images(4)]
    _, report = quantized(model, feeds, **QUICK)
    assert "conv2d_compressed" in {layer.op for layer in report.layers} and not report.floats
    _, report = quantized(model, feeds, max_flash=900, **QUICK)
    real = {layer.name for layer in report.layers if layer.reason.startswith(("chosen: int4 w", "chosen: int8 w"))}
    assert real and real <= {layer.name for layer in report.floats}
