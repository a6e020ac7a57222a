"""Operators whose sizes, axes or bounds are an input of open length: the ranks around it say the length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import compare, make_model, numbers, run_reference, save
from onnx_runs import hold_cases

import microlith
from microlith import modelfile
from microlith.converter import convert
from microlith.errors import MicrolithError, UnsupportedError

INT64 = TensorProto.INT64
POSITIONS = [helper.make_node("NonZero", ["m"], ["found"]), helper.make_node("Squeeze", ["found", "first"], ["s"])]
"""A vector s whose length depends on data: where m is not 0."""


def ints(*items: int) -> np.ndarray:
    return np.array(items, np.int64)


def with_rank(model: onnx.ModelProto, rank: int) -> onnx.ModelProto:
    """The model, which now states the rank of its output."""
    info = helper.make_tensor_value_info("y", TensorProto.FLOAT, [f"d{axis}" for axis in range(rank)])
    model.graph.output[0].CopyFrom(info)
    return model


def model_of(op: str, x: tuple[Any, ...] | None, vectors: int = 1, opset: int = 18, **attrs: Any) -> onnx.ModelProto:
    names = ["x"] if x is not None else []
    lengths = {name: (f"n{name}",) for name in "stuv"[:vectors]}
    shapes: dict[str, tuple[Any, ...]] = {**({"x": x} if x is not None else {}), **lengths}
    node = helper.make_node(op, [*names, *lengths], ["y"], **attrs)
    return make_model([node], shapes, ["y"], opset=opset, types=dict.fromkeys(lengths, INT64))


def test_tile(tmp_path: Path) -> None:
    x = numbers(3, 2)
    hold_cases(model_of("Tile", (3, 2)), tmp_path, {"x": x, "s": ints(2, 3)}, {"x": x, "s": ints(1, 0)})


def test_slice(tmp_path: Path) -> None:
    """Fewer bounds than dimensions, and none at all."""
    x = numbers(5, 6)
    cases = [{"x": x, "s": ints(1), "t": ints(4)}, {"x": x, "s": ints(1, -4), "t": ints(-1, 9)}]
    hold_cases(model_of("Slice", (5, 6), 2), tmp_path, *cases, {"x": x, "s": ints(), "t": ints()})


def test_slice_with_axes_and_steps(tmp_path: Path) -> None:
    x = numbers(5, 6)
    model = model_of("Slice", (5, 6), 4)
    names = ("s", "t", "u", "v")
    cases = [(ints(4), ints(0), ints(0), ints(-2)), (ints(1, 0), ints(9, 3), ints(-1, 0), ints(3, 1))]
    hold_cases(model, tmp_path, *({"x": x, **dict(zip(names, items, strict=True))} for items in cases))


def test_bounds_of_different_lengths(tmp_path: Path) -> None:
    modelfile.save(convert(save(model_of("Slice", (5, 6), 2), tmp_path)), tmp_path / "m.lith")
    with pytest.raises(MicrolithError, match="starts and ends differ in length"):
        microlith.load(tmp_path / "m.lith").run({"x": numbers(5, 6), "s": ints(1), "t": ints(2, 2)})


@pytest.mark.parametrize("what", ["sizes", "scales"])
def test_resize(what: str, tmp_path: Path) -> None:
    """As ``sizes`` of two axes, or of all; ONNX Runtime knows no open length, and is given the known one."""
    inputs = ["x", "", "s"] if what == "scales" else ["x", "", "", "s"]
    node = helper.make_node("Resize", inputs, ["y"], mode="linear", axes=[2, 3])
    kind = TensorProto.FLOAT if what == "scales" else INT64
    given = [np.array(item, np.float32 if what == "scales" else np.int64) for item in ([2, 1], [3, 2])]
    models = [
        make_model([node], {"x": (1, 2, 4, 3), "s": (length,)}, ["y"], opset=18, types={"s": kind})
        for length in ("n", 2)
    ]
    modelfile.save(convert(save(models[0], tmp_path)), tmp_path / "m.lith")
    session = microlith.load(tmp_path / "m.lith")
    for array in given:
        feeds = {"x": numbers(1, 2, 4, 3), "s": array}
        compare(session.run(feeds)["y"], run_reference(models[1], feeds)[0], 1e-5, "the C runtime")


@pytest.mark.parametrize(
    ("op", "x", "rank", "vectors", "attrs"),
    [
        ("Reshape", (2, 3, 4), 2, [(6, 4), (-1, 3), (0, 12)], {}),
        ("Expand", (3, 1), 3, [(2, 3, 4), (1, 1, 1)], {}),
        ("Expand", (3, 1), 2, [(3, 4), (5,), ()], {}),
        ("Squeeze", (1, 2, 1), 2, [(0,), (-1,)], {}),
        ("Unsqueeze", (2, 3), 4, [(0, 3), (-1, 1)], {}),
        ("ReduceSum", (3, 2, 4), 1, [(0, 1), (-1, 0)], {"keepdims": 0}),
        ("ConstantOfShape", None, 2, [(1, 2), (0, 3)], {}),
    ],
)
def test_the_stated_rank_of_the_result(
    op: str, x: tuple[int, ...] | None, rank: int, vectors: list[tuple[int, ...]], attrs: dict[str, Any], tmp_path: Path
) -> None:
    model = with_rank(model_of(op, x, **attrs), rank)
    feeds = {} if x is None else {"x": numbers(*x)}
    hold_cases(model, tmp_path, *({**feeds, "s": ints(*items)} for items in vectors))


def test_a_shape_whose_length_depends_on_data(tmp_path: Path) -> None:
    nodes = [*POSITIONS, helper.make_node("Reshape", ["x", "s"], ["y"])]
    model = make_model(nodes, {"x": (2, 3), "m": (8,)}, ["y"], {"first": ints(0)}, 18, {"m": INT64})
    path = save(with_rank(model, 2), tmp_path)
    hold_cases(model, tmp_path, {"x": numbers(2, 3), "m": ints(0, 1, 0, 0, 0, 0, 9, 0)})
    modelfile.save(convert(path), tmp_path / "m.lith")
    with pytest.raises(MicrolithError, match="as many elements"):
        microlith.load(tmp_path / "m.lith").run({"x": numbers(2, 3), "m": ints(0, 1, 0, 1, 0, 0, 9, 0)})


def test_nothing_says_the_rank(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"length of 's', which is not known \(fix it: give the shape"):
        convert(save(model_of("Reshape", (2, 3)), tmp_path))
