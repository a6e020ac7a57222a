"""Weights with NaN or infinity are converted, with a note; masks of infinity are meant."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from .conftest import Cli


def model_with(weights: np.ndarray, mask: np.ndarray, folder: Path) -> Path:
    nodes = [
        helper.make_node("Add", ["x", "mask"], ["masked"], name="hide"),
        helper.make_node("MatMul", ["masked", "w"], ["y"], name="layer"),
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, size)) for name, size in (("x", 4), ("y", 8))]
    tensors = [numpy_helper.from_array(array, name) for name, array in (("w", weights), ("mask", mask))]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], tensors)
    path = folder / "m.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    onnx.checker.check_model(str(path))
    return path


@pytest.mark.parametrize("command", ["convert", "check"])
def test_a_note_says_where_and_how_many(command: str, cli: Cli, tmp_path: Path) -> None:
    weights = np.ones((4, 8), np.float32)
    weights[0, 1] = weights[2, 2] = np.nan
    weights[1, 5] = -np.inf
    path = model_with(weights, np.zeros((2, 4), np.float32), tmp_path)
    options = ["-o", tmp_path / "m.lith"] if command == "convert" else []
    result = cli(command, path, *options)
    words = " ".join(result.out.split())
    assert result.code == 0
    assert "note: weights hold NaN or infinity" in words
    assert "of MatMul 'layer' (2 NaN and 1 infinite of 32 elements)" in words
    (found,) = json.loads(cli(command, path, *options, "--json").out)["not_finite"]
    assert (found["node"], found["nan"], found["infinite"], found["elements"]) == ("layer", 2, 1, 32)


def test_masks_are_meant(cli: Cli, tmp_path: Path) -> None:
    mask = np.zeros((2, 4), np.float32)
    mask[0, 1:] = -np.inf
    path = model_with(np.ones((4, 8), np.float32), mask, tmp_path)
    result = cli("convert", path, "-o", tmp_path / "m.lith")
    assert result.code == 0
    assert "NaN" not in result.out + result.err
