"""What the runtime says to well-formed flatbuffers that are not sound models. One thing is wrong with each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from lith_models import Build

import microlith
from microlith import model_generated as fb
from microlith import modelfile, ops
from microlith.dtypes import DType
from microlith.errors import MicrolithError, ModelFormatError
from microlith.nnacl_kernels import catalogue

Change = Callable[[Any], None]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """x [2, 3] -> dense -> relu -> y. Tensors: x 0, weights 1, bias 2, hidden 3, y 4."""
    b = Build("whole")
    x = b.input("x", (2, 3))
    hidden = b.op("dense", x, b.noise(4, 3), b.noise(4), output="hidden")
    path = tmp_path_factory.mktemp("whole") / "whole.lith"
    modelfile.save(b.outputs(b.op("relu", hidden, output="y")), path)
    return path.read_bytes()


def changed(data: bytes, change: Change) -> bytes:
    """The file with its tables changed; constants stay."""
    model = fb.ModelT.InitFromObj(fb.Model.GetRootAs(data, 0))
    constants = data[model.dataOffset :]
    model.dataOffset = 8192
    change(model)
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"LITH")
    table = bytes(builder.Output())
    assert len(table) <= 8192
    return table.ljust(8192, b"\0") + constants


def setter(path: str, value: Any) -> Change:
    """``setter("graphs.0.nodes.1.op", 7)``."""

    def change(model: Any) -> None:
        *steps, last = path.split(".")
        item = model
        for step in steps:
            item = item[int(step)] if step.isdigit() else getattr(item, step)
        if last.isdigit():
            item[int(last)] = value
        else:
            setattr(item, last, value)

    return change


def chain(*changes: Change) -> Change:
    def change(model: Any) -> None:
        for one in changes:
            one(model)

    return change


def quant(scales: int, zero_points: int, axis: int) -> fb.QuantT:
    return fb.QuantT(scale=np.ones(scales, np.float32), zeroPoint=np.zeros(zero_points, np.int32), axis=axis)


TENSORS, NODES = "graphs.0.tensors", "graphs.0.nodes"
BYTES = np.zeros(4000, np.uint8)

REFUSED: dict[str, tuple[Change, str]] = {
    "newer version": (setter("version", 2), "format version 2, this runtime knows up to 1"),
    "no version": (setter("version", 0), "no format version"),
    "contract": (setter("contract", 3), "rounding contract 3"),
    "no graph": (setter("graphs", []), "no graph"),
    "unknown op": (setter("ops", ["frobnicate", "relu"]), "needs the op 'frobnicate'"),
    "op index": (setter(f"{NODES}.1.op", 9), "op 9 of 2"),
    "input index": (setter(f"{NODES}.1.inputs", [5]), "refers to tensor 5"),
    "negative input": (setter(f"{NODES}.1.inputs", [-2]), "refers to tensor -2"),
    "output index": (setter(f"{NODES}.1.outputs", [-1]), "refers to tensor -1"),
    "no output": (setter(f"{NODES}.1.outputs", []), "0 outputs"),
    "many inputs": (setter(f"{NODES}.1.inputs", [0] * 65), "65 inputs"),
    "use before computed": (setter(f"{NODES}.0.inputs", [4, 1, 2]), "uses 'y' before it is computed"),
    "written twice": (setter(f"{NODES}.1.outputs", [3]), "writes 'hidden'"),
    "constant written": (setter(f"{NODES}.1.outputs", [1]), "given or written already"),
    "input written": (setter(f"{NODES}.1.outputs", [0]), "writes 'x'"),
    "long parameters": (setter(f"{NODES}.0.params", BYTES), "4000 bytes of parameters"),
    "graph input index": (setter("graphs.0.inputs", [99]), "input 0 refers to tensor 99"),
    "constant as input": (setter("graphs.0.inputs", [1]), "input 'c0' is a constant"),
    "input twice": (setter("graphs.0.inputs", [0, 0]), "there twice"),
    "graph output index": (setter("graphs.0.outputs", [5]), "output 0 refers to tensor 5"),
    "output never computed": (
        lambda model: setter(f"{NODES}", model.graphs[0].nodes[:1])(model),
        "output 'y' is never computed",
    ),
    "type": (setter(f"{TENSORS}.0.dtype", 12), "unknown type 12"),
    "rank": (setter(f"{TENSORS}.0.shape", [1] * 9), "9 dimensions"),
    "dimension": (setter(f"{TENSORS}.0.shape", [-2, 3]), "dimension of -2"),
    "huge shape": (setter(f"{TENSORS}.0.shape", [2**30, 3]), "impossible shape"),
    "symbols": (setter(f"{TENSORS}.0.symbols", ["a"]), "1 symbols for 2 dimensions"),
    "shape of a constant": (setter(f"{TENSORS}.1.shape", [4, 4]), "48 bytes, its shape needs 64"),
    "open constant": (setter(f"{TENSORS}.1.shape", [-1, 3]), "impossible shape"),
    "buffer index": (setter(f"{TENSORS}.1.buffer", 7), "buffer 7 of 2"),
    "negative buffer": (setter(f"{TENSORS}.1.buffer", -3), "buffer -3"),
    "buffer behind the end": (setter("buffers.0.offset", 1 << 20), "pass the end of the file"),
    "buffer that wraps": (setter("buffers.0.offset", 2**64 - 64), "pass the end of the file"),
    "buffer size": (setter("buffers.0.size", 2**63), "pass the end of the file"),
    "buffer not aligned": (setter("buffers.1.offset", 68), "not aligned"),
    "data not aligned": (setter("dataOffset", 8188), "not aligned"),
    "data behind the end": (setter("dataOffset", 2**63), "pass the end of the file"),
    "scales and zero points": (setter(f"{TENSORS}.3.quant", quant(4, 3, 1)), "4 scales and 3 zero points"),
    "scales of an axis": (setter(f"{TENSORS}.3.quant", quant(3, 3, 1)), "3 scales and 3 zero points, not 4"),
    "no scale": (setter(f"{TENSORS}.3.quant", quant(0, 0, -1)), "0 scales"),
    "axis": (setter(f"{TENSORS}.3.quant", quant(4, 4, 2)), "along axis 2"),
    "variable without a fixed shape": (
        chain(setter(f"{TENSORS}.4.variable", True), setter(f"{TENSORS}.4.shape", [-1, 4])),
        "variable 'y'",
    ),
    "variable whose buffer is too small": (
        chain(setter(f"{TENSORS}.3.variable", True), setter(f"{TENSORS}.3.buffer", 1)),
        "16 bytes, its shape needs 32",
    ),
    "subgraph of an op without": (
        chain(lambda model: model.graphs.append(model.graphs[0]), setter(f"{NODES}.0.subgraphs", [1])),
        "graph 1 of 2",
    ),
    "graph that nobody needs": (lambda model: model.graphs.append(model.graphs[0]), "graph 1 belongs to no node"),
    "state changed by a product": (
        chain(
            setter(f"{TENSORS}.0.variable", True),
            setter("graphs.0.inputs", []),
            setter(f"{NODES}.0.outputs", [0]),
            setter(f"{NODES}.1.inputs", [0]),
        ),
        "reads and writes 'x' at once",
    ),
    "shape of an output": (setter(f"{TENSORS}.3.shape", [2, 5]), "node 0 'hidden' (dense)"),
    "rank of an output": (setter(f"{TENSORS}.4.shape", [8]), "node 1 'y' (relu)"),
    "type of an output": (setter(f"{TENSORS}.4.dtype", 2), "node 1 'y' (relu)"),
    "shape of an input": (setter(f"{TENSORS}.0.shape", [2, 4]), "node 0 'hidden' (dense)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(whole: bytes, name: str) -> None:
    change, words = REFUSED[name]
    with pytest.raises(MicrolithError) as info:
        microlith.load(changed(whole, change))
    assert words in str(info.value)
    if "unknown op" not in name and "contract" not in name:
        assert isinstance(info.value, ModelFormatError)


def test_no_derived_parameter_can_be_changed_unnoticed(whole: bytes) -> None:
    """Attributes may take other legal values; what follows from the shapes may not."""
    node = fb.ModelT.InitFromObj(fb.Model.GetRootAs(whole, 0)).graphs[0].nodes[0]
    params = np.array(node.params, np.uint8)
    before = catalogue.read_params("dense", params.tobytes())
    derived = [name for name in before if name not in ops.get("dense").attrs]
    changes = 0
    for byte in range(len(params)):
        damaged = params.copy()
        damaged[byte] ^= 1
        after = catalogue.read_params("dense", damaged.tobytes())
        if any(before[field] != after[field] for field in derived):
            changes += 1
            with pytest.raises(ModelFormatError, match="node 0 'hidden'"):
                microlith.load(changed(whole, setter(f"{NODES}.0.params", damaged)))
    assert changes == 4 * len(derived) >= 12


def test_the_unchanged_file_is_fine(whole: bytes) -> None:
    assert microlith.load(changed(whole, lambda model: None)).run(np.zeros((2, 3), np.float32))["y"].shape == (2, 4)


def test_shorter_parameters_come_from_an_older_writer(whole: bytes) -> None:
    """What they lack is derived; attributes count as zero."""

    def cut(model: Any) -> None:
        node = model.graphs[0].nodes[0]
        node.params = np.array(node.params, np.uint8)[:-4]

    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    expected = microlith.load(whole).run(x)["y"]
    np.testing.assert_array_equal(microlith.load(changed(whole, cut)).run(x)["y"], expected)


def test_a_message_stays_on_one_line(whole: bytes, tmp_path: Path) -> None:
    def name(model: Any) -> None:
        model.graphs[0].nodes[1].name = "a\nb\x1b[31m" + "c" * 5000
        model.graphs[0].nodes[1].inputs = [77]

    with pytest.raises(ModelFormatError) as info:
        microlith.load(changed(whole, name))
    assert info.value.what.isprintable() and len(info.value.what) < 300


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """flag, x [2] -> if (neg, abs) -> loop (total, collected); graphs: main 0, then 1, else 2, body 3."""

    def branch(op: str) -> Any:
        b = Build(op)
        return b.outputs(b.op(op, b.input("x_inside", (2,)), output=f"{op}_y"))

    body = Build("body")
    number, go = body.input("i", (), DType.s64), body.input("go", (), DType.b8)
    total, x = body.input("total", (2,)), body.input("x_body", (2,))
    body.outputs(go, body.op("add", total, x, output="more"), number)
    b = Build("controlled")
    flag, x = b.input("flag", (), DType.b8), b.input("x", (2,))
    most = b.graph.constant("most", np.asarray(3))
    picked = b.graph.add("if", [flag, x], name="if", output_names=["y"], subgraphs=[branch("neg"), branch("abs")])
    inputs = [most, flag, picked.output, x]
    loop = b.graph.add("loop", inputs, {"carried": 1}, name="loop", output_names=["sum", "all"], subgraphs=[body.graph])
    path = tmp_path_factory.mktemp("controlled") / "controlled.lith"
    modelfile.save(b.outputs(*loop.outputs), path)
    return path.read_bytes()


def params(carried: int) -> Change:
    return setter(f"{NODES}.1.params", np.frombuffer(np.int32(carried).tobytes(), np.uint8))


MISFITS: dict[str, tuple[Change, str]] = {
    "subgraph before its graph": (setter(f"{NODES}.0.subgraphs", [0, 2]), "refers to graph 0 of 4"),
    "subgraph that is not there": (setter(f"{NODES}.0.subgraphs", [1, 9]), "refers to graph 9 of 4"),
    "subgraph twice": (setter(f"{NODES}.0.subgraphs", [1, 1]), "graph 1 of 4, or is not the first"),
    "subgraph of two nodes": (setter(f"{NODES}.1.subgraphs", [2]), "graph 2 of 4, or is not the first"),
    "three subgraphs": (setter(f"{NODES}.0.subgraphs", [1, 2, 3]), "3 subgraphs"),
    "missing branch": (
        setter(f"{NODES}.0.subgraphs", [1]),
        "graph 2 belongs to no node",
    ),
    "no subgraphs": (
        chain(
            lambda model: setter("graphs", model.graphs[:1])(model),
            setter(f"{NODES}.0.subgraphs", None),
            setter(f"{NODES}.1.subgraphs", None),
        ),
        "it lacks a condition or a branch",
    ),
    "branch with other inputs": (setter("graphs.1.inputs", []), "uses 'x_inside'"),
    "branch with other outputs": (setter("graphs.2.outputs", [1, 1]), "a branch does not take its inputs"),
    "branch of another type": (setter("graphs.1.tensors.0.dtype", 5), "a branch does not take its inputs"),
    "branch of another rank": (setter("graphs.1.tensors.1.shape", [2, 1]), "a branch does not take its inputs"),
    "more carried than inputs": (params(3), "the body of the loop does not have its inputs"),
    "negative count": (params(-1), "the body of the loop does not have its inputs"),
    "nothing carried": (params(0), "a value of the loop has another type"),
    "condition of another type": (setter(f"{NODES}.1.inputs", [2, 1, 3, 1]), "another type"),
    "iterations of another type": (setter(f"{NODES}.1.inputs", [0, 0, 3, 1]), "another type"),
    "collected of another rank": (
        chain(setter("graphs.0.tensors.5.shape", [-1, 2]), setter("graphs.0.tensors.5.symbols", None)),
        "another type in its body",
    ),
    "body without a condition": (setter("graphs.3.outputs", [0, 4, 0]), "another type"),
    "variable in a subgraph": (setter("graphs.1.tensors.0.variable", True), "is in a subgraph"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_subgraphs_that_do_not_fit(controlled: bytes, name: str) -> None:
    change, words = MISFITS[name]
    with pytest.raises(ModelFormatError) as info:
        microlith.load(changed(controlled, change))
    assert words in str(info.value)


def test_subgraphs_that_fit(controlled: bytes) -> None:
    x = np.array([1, -2], np.float32)
    results = microlith.load(changed(controlled, lambda model: None)).run({"flag": np.asarray(True), "x": x})
    np.testing.assert_array_equal(results["sum"], 2 * x)
    np.testing.assert_array_equal(results["all"], [0, 1, 2])
