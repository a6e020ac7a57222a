# SPDX-License-Identifier: Apache-2.0
"""ONNX models whose data lies in files beside them, up to more than a protobuf can hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import microlith
from microlith.converter import convert
from microlith.errors import ModelFormatError
from microlith.evaluate import evaluate

SIZE = 160  # a matrix of more than the bytes from which on data is mapped


def external(name: str, shape: tuple[int, ...], **where: object) -> TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    for key, value in where.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def write_model(folder: Path, where: Mapping[str, object], data: bytes) -> Path:
    """y = x w; w lies in the file ``weights``."""
    (folder / "weights").write_bytes(data)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, SIZE]) for name in "xy"]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [external("w", (SIZE, SIZE), **where)])
    path = folder / "model.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return path


WEIGHTS = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32)


@pytest.mark.parametrize("offset", [0, 4096, 3])
@pytest.mark.parametrize("has_length", [False, True])
def test_data_in_a_file(has_length: bool, offset: int, tmp_path: Path) -> None:
    where = {"location": "weights", "offset": offset} | ({"length": WEIGHTS.nbytes} if has_length else {})
    graph = convert(write_model(tmp_path, where, bytes(offset) + WEIGHTS.tobytes()))
    x = np.random.default_rng(1).standard_normal((2, SIZE)).astype(np.float32)
    np.testing.assert_allclose(evaluate(graph, {"x": x})["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "where",
    [
        {"location": "elsewhere"},
        {"location": "../weights"},
        {"location": "/etc/passwd"},
        {"location": "link"},
        {"location": "weights", "offset": 8},
        {"location": "weights", "length": 7},
        {"location": "weights", "offset": -4},
        {"location": "weights", "offset": "many"},
        {},
    ],
)
def test_data_that_cannot_be_read(where: Mapping[str, object], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "weights").write_bytes(WEIGHTS.tobytes())
    (folder / "link").symlink_to(tmp_path / "weights")
    with pytest.raises(ModelFormatError, match="external data"):
        convert(write_model(folder, where, WEIGHTS.tobytes()))


def test_a_small_packed_limit_keeps_weights_in_the_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((600, 600)).astype(np.float32)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 600]) for name in "xy"]
    constants = [onnx.numpy_helper.from_array(weights, "w")]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", ends[:1], ends[1:], constants)
    microlith.convert(helper.make_model(graph), tmp_path / "m.lith")
    x = rng.standard_normal((2, 600)).astype(np.float32)
    results = []
    for limit in (0, 1000):
        with microlith.load(tmp_path / "m.lith", packed_limit=limit) as model:
            results.append(model.run({"x": x})["y"])
            if limit:
                assert model.memory.packed < weights.nbytes
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-4)


LIMITED = """
import resource, sys
import numpy as np
resource.setrlimit(resource.RLIMIT_DATA, (700 << 20, 700 << 20))
import microlith
if sys.argv[1] == "convert":
    microlith.convert(sys.argv[2], sys.argv[3])
else:
    with microlith.load(sys.argv[3]) as model:
        print(*model.run({"ids": np.array([0, int(sys.argv[4])])})["y"][:, 0])
"""
"""Under a limit of memory that counts everything but what is mapped for reading."""


@pytest.mark.parametrize("kind", [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.FLOAT8E4M3FN])
def test_a_tensor_of_more_than_two_gibibytes_is_refused_unread(kind: int, tmp_path: Path) -> None:
    """Whether it would be mapped or read; there is no file of data that could be read at all. Halves become float32."""
    rows = {TensorProto.FLOAT: 1 << 19, TensorProto.FLOAT16: 1 << 19, TensorProto.FLOAT8E4M3FN: 1 << 21}[kind]
    table = external("table", (rows, 1024), location="weights")
    table.data_type = kind
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [2])
    result = helper.make_tensor_value_info("y", kind, [2, 1024])
    node = helper.make_node("Gather", ["table", "ids"], ["y"])
    graph = helper.make_graph([node], "large", [ids], [result], [table])
    path = tmp_path / "model.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]).SerializeToString())
    with pytest.raises(ModelFormatError, match=r"'table' .* takes 2,147,483,648 bytes; .* 2,147,483,647"):
        convert(path)


@pytest.mark.slow
def test_more_than_two_gibibytes(tmp_path: Path) -> None:
    """Tables of more than 2 GiB, which no protobuf could hold, and 64 MiB of matrices that change their layout."""
    rows, width, layers = 540_000, 1024, 4  # of two tables
    table = np.memmap(tmp_path / "weights", np.float32, "w+", shape=(rows, width))  # sparse: zeros take no room
    table[0, 0], table[rows // 2 - 1, 0] = 2.0, 3.0
    table.flush()
    size = table.nbytes
    assert size > 2 << 30
    del table
    matrix = np.zeros((2048, 2048), np.float32)
    matrix[0, 0] = 2.0
    with (tmp_path / "weights").open("ab") as file:
        file.write(matrix.data)
    where = {"location": "weights", "offset": size}
    half = size // 2
    tables = [external(f"t{i}", (rows // 2, width), location="weights", offset=i * half, length=half) for i in (0, 1)]
    initializers = tables + [external(f"w{i}", matrix.shape, **where) for i in range(layers)]
    nodes = [
        *(helper.make_node("Gather", [f"t{i}", "ids"], [f"rows{i}"]) for i in (0, 1)),
        helper.make_node("Concat", ["rows0", "rows1"], ["v0"], axis=1),
        *(helper.make_node("MatMul", [f"v{i}", f"w{i}"], [f"v{i + 1}"]) for i in range(layers)),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, [2])
    nodes[-1].output[0] = "y"
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2048])
    graph = helper.make_graph(nodes, "large", [ids], [result], initializers)
    source, target = tmp_path / "model.onnx", tmp_path / "model.lith"
    source.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    try:
        for step in ("convert", "run"):
            command = [sys.executable, "-c", LIMITED, step, source, target, str(rows // 2 - 1)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        assert [float(word) for word in done.stdout.split()] == [2.0 * 2**layers, 3.0 * 2**layers]
    finally:
        target.unlink(missing_ok=True)
        (tmp_path / "weights").unlink()
