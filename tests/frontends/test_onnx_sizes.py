"""Shapes, axes and bounds that an ONNX model computes at run time, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import compare, feeds_for, make_model, numbers, run_reference, save
from onnx_runs import hold

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.evaluate import evaluate

INT64 = TensorProto.INT64


def vector(*items: int) -> np.ndarray:
    return np.array(items, np.int64)


def run_all(model: onnx.ModelProto, folder: Path, sizes: tuple[int, ...]) -> None:
    """One conversion, and for several sizes of its symbols the results of ONNX Runtime."""
    graph = convert(save(model, folder))
    modelfile.save(graph, folder / "model.lith")
    ready = runtime.load(folder / "model.lith")
    for size in sizes:
        feeds = feeds_for(model, symbol=size)
        expected = run_reference(model, feeds)
        for results in (evaluate(graph, feeds), ready.run(feeds)):
            for info, array in zip(model.graph.output, expected, strict=True):
                compare(results[info.name], array, 1e-5, f"{info.name} for {size}")


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "reshape": ("Reshape", {"x": numbers(3, 4), "shape": vector(2, -1)}, {}),
    "reshape copies": ("Reshape", {"x": numbers(3, 4), "shape": vector(0, 2, 2)}, {}),
    "expand": ("Expand", {"x": numbers(3, 1), "shape": vector(2, 3, 4)}, {}),
    "tile": ("Tile", {"x": numbers(2, 3), "repeats": vector(2, 2)}, {}),
    "slice": (
        "Slice",
        {"x": numbers(5, 6), "a": vector(4, 1), "b": vector(-9, 99), "axes": vector(0, -1), "steps": vector(-2, 3)},
        {},
    ),
    "pad": ("Pad", {"x": numbers(3, 4), "pads": vector(1, 0, 2, 3), "value": np.array(1.5, np.float32)}, {}),
    "pad axes": ("Pad", {"x": numbers(3, 4), "pads": vector(1, 2), "value": None, "axes": vector(-1)}, {}),
    "pad wrap": ("Pad", {"x": numbers(3, 4), "pads": vector(1, 2, 2, 3)}, {"mode": "wrap"}),
    "squeeze": ("Squeeze", {"x": numbers(1, 3, 1), "axes": vector(0, -1)}, {}),
    "unsqueeze": ("Unsqueeze", {"x": numbers(3, 2), "axes": vector(-1, 0)}, {}),
    "sum": ("ReduceSum", {"x": numbers(3, 4, 2), "axes": vector(-1, 0)}, {"keepdims": 0}),
    "sum of all": ("ReduceSum", {"x": numbers(3, 4), "axes": vector()}, {}),
    "sum of none": ("ReduceSum", {"x": numbers(3, 4), "axes": vector()}, {"noop_with_empty_axes": 1}),
    "log sum exp": ("ReduceLogSumExp", {"x": 40 * numbers(3, 4), "axes": vector(1)}, {"keepdims": 0}),
    "clip": ("Clip", {"x": numbers(3, 4), "low": np.array(-0.2, np.float32), "high": np.array(0.3, np.float32)}, {}),
    "split": ("Split", {"x": numbers(2, 7), "split": vector(3, 4)}, {"axis": 1}),
}


@pytest.mark.parametrize("case", CASES)
def test_inputs_that_decide(case: str, tmp_path: Path) -> None:
    """The same node with its second input computed at run time, and stored in the model."""
    op, inputs, attrs = CASES[case]
    outputs = ("y", "z") if op == "Split" else ("y",)
    for at_run_time in (tuple(inputs), ("x",)):
        given = tuple(name for name in at_run_time if inputs[name] is not None)
        hold(op, inputs, tmp_path, at_run_time=given, outputs=outputs, opset=19, **attrs)


def test_constant_of_shape(tmp_path: Path) -> None:
    value = helper.make_tensor("v", TensorProto.INT32, [1], [7])
    model = make_model(
        [helper.make_node("ConstantOfShape", ["shape"], ["y"], value=value)],
        {"shape": (3,)},
        ["y"],
        types={"shape": INT64, "y": TensorProto.INT32},
    )
    run_all(model, tmp_path, (2,))


def test_several_open_sizes_at_once(tmp_path: Path) -> None:
    """A new shape of which two sizes are known only at run time: attributes cannot say it."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Split", ["shape"], ["rows", "columns", "depth"], axis=0),
        helper.make_node("Mul", ["columns", "two"], ["wide"]),
        helper.make_node("Div", ["depth", "two"], ["half"]),
        helper.make_node("Concat", ["rows", "wide", "half"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
        helper.make_node("Cast", ["wide"], ["width"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["y", "width"], ["z"]),
    ]
    model = make_model(nodes, {"x": ("n", "m", 6)}, ["z", "target"], {"two": vector(2)}, types={"target": INT64})
    run_all(model, tmp_path, (1, 2, 5))


@pytest.mark.parametrize(
    "shape,axis", [(("n", "t", 3), 1), (("n", 2, "h", "w"), 1), (("n", "m", "k"), 0), (("n", "t", 2, 3), 2)], ids=str
)
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_over_several_open_sizes(op: str, shape: tuple[int | str, ...], axis: int, tmp_path: Path) -> None:
    """Before opset 13 it runs over everything from the axis on."""
    model = make_model([helper.make_node(op, ["x"], ["y"], axis=axis)], {"x": shape}, ["y"], opset=11)
    run_all(model, tmp_path, (1, 2, 5))


def test_sizes_as_outputs(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Gather", ["shape", "first"], ["rows"]),
        helper.make_node("Range", ["zero", "rows", "one"], ["numbers"]),
    ]
    constants = {"first": np.array(0), "zero": np.array(0), "one": np.array(1)}
    types = dict.fromkeys(("shape", "size", "rows", "numbers"), INT64)
    model = make_model(nodes, {"x": ("n", 3)}, ["shape", "size", "numbers"], constants, types=types)
    run_all(model, tmp_path, (1, 4))


def test_slices_of_open_sizes(tmp_path: Path) -> None:
    """All but the last row, every other column from behind."""
    nodes = [
        helper.make_node("Slice", ["x", "start", "end", "axes", "steps"], ["y"]),
        helper.make_node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2),
    ]
    constants = {
        "start": vector(0, -1),
        "end": vector(-1, np.iinfo(np.int64).min),
        "axes": vector(0, 1),
        "steps": vector(1, -2),
    }
    model = make_model(nodes, {"x": ("n", "m")}, ["y", "a", "b"], constants, opset=18)
    run_all(model, tmp_path, (2, 5))


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceL2", "ReduceLogSumExp"])
def test_nothing_to_reduce(op: str, tmp_path: Path) -> None:
    hold(op, {"x": np.zeros((2, 0, 3), np.float32), "axes": vector(1)}, tmp_path, opset=20)


@pytest.mark.parametrize("op", ["Add", "Relu", "Softmax", "Transpose"])
def test_no_elements(op: str, tmp_path: Path) -> None:
    x = np.zeros((2, 0), np.float32)
    hold(op, {"x": x, "b": np.ones((2, 1), np.float32)} if op == "Add" else {"x": x}, tmp_path)


def test_wrap_around_nothing(tmp_path: Path) -> None:
    """Pad in a mode that looks into x, where y has no elements (ONNX Runtime refuses it, the standard does not)."""
    node = helper.make_node("Pad", ["x", "pads"], ["y"], mode="wrap")
    model = make_model([node], {"x": (2, 0)}, ["y"], {"pads": vector(1, 0, 3, 0)}, opset=19)
    modelfile.save(convert(save(model, tmp_path)), tmp_path / "model.lith")
    x = np.zeros((2, 0), np.float32)
    results = runtime.load(tmp_path / "model.lith").run([x])
    assert results["y"].shape == np.pad(x, ((1, 3), (0, 0)), mode="wrap").shape == (6, 0)
