"""Half precision in generated C: kernels for half-precision arithmetic against an emulation in NumPy and float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import small_models
from generated_projects import built

from microlith.codegen import execute
from microlith.converter.quantize import QuantizeOptions, quantize
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value

TARGETS = ("arm64-linux-fp16", "cortex-m55")
"""Those whose kernels compute on halves."""
BLOCK = 32
"""Products that these add in half precision."""


def halved(graph: Graph) -> Graph:
    finished, _ = quantize(graph, QuantizeOptions("float16", compute="float16"))
    return finished


def dense_graph(depth: int, units: int, rows: int, rng: np.random.Generator) -> Graph:
    """y = x . weights + bias, x [rows, depth]."""
    graph = Graph("dense")
    x = Value("x", TensorType(DType.f32, (rows, depth)))
    graph.inputs.append(x)
    weights = rng.uniform(-1, 1, (units, depth)).astype(np.float16).astype(np.float32)
    bias = rng.uniform(-1, 1, units).astype(np.float32)
    node = graph.add("dense", [x, graph.constant("w", weights), graph.constant("b", bias)], name="dense")
    node.output.name = "y"
    graph.outputs = [node.output]
    return graph


def emulated(x: np.ndarray, weights: np.ndarray, bias: np.ndarray, block: int) -> np.ndarray:
    """Fused multiply-adds of halves over blocks, whose sums join the bias in float32; rounded to halves at the end."""
    wide_x, wide_w = x.astype(np.float64), weights.astype(np.float64)
    total = np.broadcast_to(bias, (len(x), len(bias))).astype(np.float32)
    for first in range(0, x.shape[1], block):
        part = np.zeros(total.shape, np.float16)
        for i in range(first, min(first + block, x.shape[1])):
            part = (part.astype(np.float64) + wide_x[:, None, i] * wide_w[None, :, i]).astype(np.float16)
        total = total + part.astype(np.float32)
    return np.asarray(total.astype(np.float16))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("depth", "units", "rows"), [(1000, 21, 6), (7, 3, 1), (33, 16, 4)])
def test_sums_are_formed_in_blocks(depth: int, units: int, rows: int, target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(depth)
    graph = dense_graph(depth, units, rows, rng)
    weights, bias = (graph.nodes[0].input(index).data for index in (1, 2))
    assert weights is not None and bias is not None
    x = rng.uniform(-4, 4, (rows, depth)).astype(np.float16)
    project = built(halved(graph), target, tmp_path / "a")
    (result,) = execute.run(project, [{"x": x.astype(np.float32)}]).samples
    np.testing.assert_array_equal(result["y"], emulated(x, weights, bias, BLOCK).astype(np.float32))
    exact = x.astype(np.float64) @ weights.astype(np.float64).T + bias
    error = np.abs(result["y"] - exact).max()
    assert error < 4e-3 * np.abs(exact).max()
    if depth > 10 * BLOCK:
        assert error < 0.5 * np.abs(emulated(x, weights, bias, depth) - exact).max()


@pytest.mark.parametrize("target", ["host", *TARGETS])
def test_a_small_net(target: str, tmp_path: Path) -> None:
    plain = small_models.float_cnn()
    graph = halved(small_models.float_cnn())
    assert {node.op for node in graph.nodes if node.output.dtype is DType.f16} >= {"conv2d", "depthwise_conv2d", "add"}
    project = built(graph, target, tmp_path / "a")
    assert execute.selftest(project).endswith("PASS\n")
    image = np.random.default_rng(4).standard_normal((1, 8, 7, 3)).astype(np.float32)
    (result,) = execute.run(project, [{"image": image}]).samples
    for name, wanted in evaluate(plain, {"image": image}).items():
        np.testing.assert_allclose(result[name], wanted, atol=5e-3 * np.abs(wanted).max())
