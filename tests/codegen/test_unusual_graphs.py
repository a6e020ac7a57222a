"""Graphs and options off the beaten track, built and run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import small_models
from generated_projects import built, need

from microlith.codegen import execute
from microlith.codegen.project import draw_sample
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value


def start(name: str, shape: tuple[int, ...] = (3,)) -> tuple[Graph, Value]:
    graph = Graph(name)
    x = Value("x", TensorType(DType.f32, shape))
    graph.inputs.append(x)
    return graph, x


def relu(graph: Graph, x: Value) -> Value:
    return graph.add("relu", [x], output_names=["y"]).output


def identity() -> Graph:
    graph, x = start("identity")
    graph.outputs = [x]
    return graph


def unused_input() -> Graph:
    graph, x = start("unused input")
    graph.inputs.insert(0, Value("unused", TensorType(DType.s8, (5,))))
    graph.outputs = [relu(graph, x)]
    return graph


def constant_output() -> Graph:
    graph, x = start("constant output")
    graph.outputs = [relu(graph, x), graph.constant("c", np.array([1, 2**40], np.int64))]
    return graph


def output_twice() -> Graph:
    graph, x = start("output twice")
    y = relu(graph, x)
    graph.outputs = [y, x, y]
    return graph


def scalar() -> Graph:
    graph, x = start("scalar", ())
    graph.outputs = [relu(graph, x)]
    return graph


def booleans() -> Graph:
    graph, x = start("booleans", (2, 5))
    limit = graph.constant("limit", np.array([0.25], np.float32))
    graph.outputs = [graph.add("less", [x, limit], output_names=["y"]).output]
    return graph


@pytest.mark.parametrize("target", ["host", "cortex-m3"])
@pytest.mark.parametrize("make", [identity, unused_input, constant_output, output_twice, scalar, booleans])
def test_outputs(make: object, target: str, tmp_path: Path) -> None:
    graph: Graph = make()  # type: ignore[operator]
    project = built(graph, target, tmp_path / "a")
    assert execute.selftest(project).endswith("PASS\n")
    samples = [draw_sample(graph, {}, seed=seed) for seed in range(3)]
    outputs = execute.run(project, samples).outputs
    for index, sample in enumerate(samples):
        for name, wanted in evaluate(graph, sample).items():
            assert outputs[name][index].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("target", ["host", "armv7-linux", "cortex-m55"])
def test_binary_weights(target: str, tmp_path: Path) -> None:
    graph = small_models.int8_cnn()
    project = built(graph, target, tmp_path / "a", weights="binary")
    assert not (tmp_path / "a" / "int8_cnn_weights.c").exists()
    assert execute.selftest(project).endswith("PASS\n")


def test_binary_weights_under_cmake(tmp_path: Path) -> None:
    need("cmake", "ctest")
    built(small_models.int8_cnn(), "host", tmp_path / "a", weights="binary")
    subprocess.run(["cmake", "-S", "a", "-B", "b"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "b"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ctest", "--test-dir", "b", "--no-tests=error"], cwd=tmp_path, check=True)


def test_large_weights_become_binary_by_themselves(tmp_path: Path) -> None:
    graph, x = start("large", (1, 1100))
    rng = np.random.default_rng(0)
    weights = graph.constant("w", rng.standard_normal((4000, 1100)).astype(np.float32))
    graph.outputs = [graph.add("dense", [x, weights, None], output_names=["y"]).output]
    project = built(graph, "host", tmp_path / "a")
    assert (tmp_path / "a" / "large_weights.bin").stat().st_size == weights.type.nbytes
    assert execute.selftest(project).endswith("PASS\n")
