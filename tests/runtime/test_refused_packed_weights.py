"""Files whose packed weights do not fit what their nodes say are refused before a kernel reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_refused_files import changed

from microlith import modelfile, runtime
from microlith.dtypes import DType
from microlith.errors import ModelFormatError
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.nnacl_kernels import catalogue
from microlith.numerics import quantize_multipliers
from microlith.ops.compressed import pack_codes


def model_of(real: bool, folder: Path) -> bytes:
    """dense_compressed with 2 bits and a depth of 13: 4 bytes in a row."""
    rng = np.random.default_rng(0)
    graph = Graph("packed", contract="single")
    quant = None if real else Quant.per_tensor(0.1, 0)
    graph.inputs = [Value("x", TensorType(DType.f32 if real else DType.s8, (3, 13)), quant=quant)]
    last = np.ones((6, 1), np.float32) if real else quantize_multipliers(np.full(6, 0.01))
    constants = [graph.constant("w", pack_codes(rng.integers(0, 3, (6, 13)), 2)), None, graph.constant("r", last)]
    attrs = {"bits": 2, "offset": -1, "step": 1, "rounding": 1}
    node = graph.add("dense_compressed", [graph.inputs[0], *constants], attrs, quant=quant, output_names=["y"])
    graph.outputs = [node.output]
    modelfile.save(graph, folder / "model.lith")
    return (folder / "model.lith").read_bytes()


CHANGES: Mapping[str, tuple[Mapping[str, int], str]] = {
    "more bits": ({"bits": 4}, "weights do not have the depth of x"),
    "fewer bits": ({"bits": 1}, "weights do not have the depth of x"),
    "three bits": ({"bits": 3}, "bits must be 1, 2, 4, 8 or 16"),
    "no bits": ({"bits": 0}, "bits must be 1, 2, 4, 8 or 16"),
    "negative bits": ({"bits": -2}, "bits must be 1, 2, 4, 8 or 16"),
    "no step": ({"step": 0, "offset": 0}, "need a step"),
    "offset without step": ({"step": 0}, "need a step"),
    "huge step": ({"step": 257}, "step must be within"),
    "negative step": ({"step": -1}, "step must be within"),
    "huge offset": ({"offset": 1 << 30}, "offset must be within"),
    "bytes as codes": ({"bits": 8}, "two-dimensional"),
}
REAL: Mapping[str, tuple[Mapping[str, int], str]] = {
    "more groups": ({"group": 4}, "scales must be f32"),
    "negative group": ({"group": -1}, "group must not be negative"),
}
WHOLE: Mapping[str, tuple[Mapping[str, int], str]] = {
    "groups of integers": ({"group": 4}, "no groups"),
    "zero point": ({"x_zero": 128}, "zero point"),
    "range": ({"q_min": 5, "q_max": 4}, "not a range"),
    "contract": ({"rounding": 77}, "rounding contract"),
}


def with_params(values: Mapping[str, int]) -> Any:
    def change(model: Any) -> None:
        node = model.graphs[0].nodes[0]
        words = np.array(node.params, np.uint8).view(np.int32).copy()
        names = list(catalogue.read_params("dense_compressed", words.tobytes()))
        for name, value in values.items():
            words[names.index(name)] = value
        node.params = words.view(np.uint8)

    return change


@pytest.mark.parametrize("real", [False, True], ids=["int8", "float32"])
@pytest.mark.parametrize("name", [*CHANGES, *REAL, *WHOLE])
def test_parameters(name: str, real: bool, tmp_path: Path) -> None:
    table = {**CHANGES, **(REAL if real else WHOLE)}
    if name not in table:
        return
    values, words = table[name]
    with pytest.raises(ModelFormatError, match=words):
        runtime.load(changed(model_of(real, tmp_path), with_params(values)))


@pytest.mark.parametrize("shape", [(6, 3), (6, 5), (5, 4), (24,), (6, 4, 1), (0, 4)])
def test_shapes_of_weights(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Neither a buffer that is too short nor one that is too long is read."""

    def change(model: Any) -> None:
        graph = model.graphs[0]
        tensor = graph.tensors[graph.nodes[0].inputs[1]]
        tensor.shape = list(shape)
        model.buffers[tensor.buffer].size = int(np.prod(shape))

    with pytest.raises(ModelFormatError):
        runtime.load(changed(model_of(False, tmp_path), change))


def test_the_unchanged_file_is_fine(tmp_path: Path) -> None:
    for real in (False, True):
        data = changed(model_of(real, tmp_path), with_params({}))
        x = np.ones((3, 13), np.float32 if real else np.int8)
        assert runtime.load(data).run({"x": x})["y"].shape == (3, 6)
