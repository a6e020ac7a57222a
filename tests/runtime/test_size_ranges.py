"""Ranges of sizes in a file: kept, told, enforced."""

from __future__ import annotations

from pathlib import Path

import flatbuffers
import numpy as np
import pytest

import microlith
from microlith import model_generated as fb
from microlith import modelfile
from microlith.dtypes import DType
from microlith.errors import InputError, ModelFormatError, ShapeError
from microlith.ir import Graph, TensorType, Value
from microlith.size_ranges import SizeRange


@pytest.fixture(params=["planned", "node by node"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    graph = Graph("ranged", ranges={"seq": SizeRange(3, 7)})
    x = Value("x", TensorType(DType.f32, ("batch", "seq")))
    graph.inputs.append(x)
    relu = graph.add("relu", [x], output_names=["y"]).output
    graph.outputs = [relu]
    if request.param == "node by node":
        graph.outputs.append(graph.add("non_zero", [relu], output_names=["places"]).output)
    file = tmp_path / "m.lith"
    modelfile.save(graph, file)
    assert modelfile.load(file).ranges == graph.ranges
    return file


def test_enforced(path: Path) -> None:
    with microlith.load(path) as model:
        assert model.size_range("seq") == (3, 7)
        assert model.size_range("batch") == (0, 2**31 - 1)
        for size in (3, 7, 5):
            x = np.full((9, size), -1, np.float32)
            assert not model.run({"x": x})["y"].any()
        for size in (2, 8):
            with pytest.raises(ShapeError, match=rf"dimension 1 of input 'x' is {size}; .* 'seq' from 3 to 7"):
                model.run({"x": np.zeros((9, size), np.float32)})
        assert model.run({"x": np.ones((1, 4), np.float32)})["y"].shape == (1, 4)


@pytest.mark.parametrize("name", [None, 5, b"seq"])
def test_what_is_no_name_of_a_size(name: object, path: Path) -> None:
    with pytest.raises(InputError, match="is no name of a size"):
        microlith.load(path).size_range(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("low", "high", "step"), [(0, 5, 1), (6, 5, 1), (-1, -1, 1), (1, 0, 1), (1, 5, 0), (1, 5, -2), (1, 5, 3)]
)
def test_a_damaged_range_is_refused(path: Path, low: int, high: int, step: int) -> None:
    model = fb.ModelT.InitFromObj(fb.Model.GetRootAs(path.read_bytes(), 0))
    model.ranges[0].low, model.ranges[0].high, model.ranges[0].step = low, high, step
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"LITH")
    data = bytes(builder.Output())
    with pytest.raises(ModelFormatError, match="range"):
        microlith.load(data)
    with pytest.raises(ModelFormatError, match="range"):
        modelfile.loads(data)
