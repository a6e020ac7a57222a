"""Products of bfloat16 in generated C: the portable kernel, and BFDOT emulated, against float64."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import small_models
from generated_projects import built

from microlith.codegen import execute
from microlith.converter.quantize import QuantizeOptions, quantize
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value

TARGETS = ("host", "arm64-linux-bf16")


def bfloats(graph: Graph) -> Graph:
    return quantize(graph, QuantizeOptions("bfloat16", compute="bfloat16"))[0]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("depth", "units", "rows"), [(1001, 21, 8), (7, 3, 1), (64, 40, 5)])
def test_dense(depth: int, units: int, rows: int, target: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(depth)
    graph = Graph("dense")
    x = Value("x", TensorType(DType.f32, (rows, depth)))
    graph.inputs.append(x)
    weights, bias = rng.uniform(-1, 1, (units, depth)).astype(np.float32), rng.uniform(-1, 1, units).astype(np.float32)
    node = graph.add("dense", [x, graph.constant("w", weights), graph.constant("b", bias)], name="dense")
    node.output.name = "y"
    graph.outputs = [node.output]
    given = rng.uniform(-4, 4, (rows, depth)).astype(np.float32)
    project = built(bfloats(graph), target, tmp_path / "a")
    if target != "host":
        assert "nnacl_dense_compressed_f32_bf16" in (project.folder / "dense.c").read_text("utf-8")
    (result,) = execute.run(project, [{"x": given}]).samples
    left, right = (values.astype(ml_dtypes.bfloat16).astype(np.float64) for values in (given, weights))
    wanted = left @ right.T + bias
    np.testing.assert_allclose(result["y"], wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize("target", TARGETS)
def test_a_small_net(target: str, tmp_path: Path) -> None:
    graph = bfloats(small_models.float_cnn())
    assert "conv2d_compressed" in {node.op for node in graph.nodes}
    project = built(graph, target, tmp_path / "a")
    assert execute.selftest(project).endswith("PASS\n")
    image = np.random.default_rng(4).standard_normal((1, 8, 7, 3)).astype(np.float32)
    (result,) = execute.run(project, [{"image": image}]).samples
    for name, wanted in evaluate(graph, {"image": image}).items():
        np.testing.assert_allclose(result[name], wanted, atol=1e-2 * np.abs(wanted).max())
