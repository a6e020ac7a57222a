"""Runs the command line in this process and tells what it did."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    from microlith.cli import main

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["microlith", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(bool(stop.code))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


def small_model() -> onnx.ModelProto:
    """Conv, Relu, global average, Gemm on seeded weights; input x [1, 3, 8, 8], output y [1, 5]."""
    rng = np.random.default_rng(7)
    weights = {
        "w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32),
        "b": rng.standard_normal(4).astype(np.float32),
        "v": rng.standard_normal((5, 4)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["g"], name="pool"),
        helper.make_node("Flatten", ["g"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "v"], ["y"], name="gemm", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.onnx"
    onnx.save(small_model(), path)
    return path


@pytest.fixture
def lith_file(onnx_file: Path, cli: Cli) -> Path:
    path = onnx_file.with_suffix(".lith")
    outcome = cli("convert", onnx_file, "-o", path)
    assert outcome.code == 0, outcome.err
    return path
