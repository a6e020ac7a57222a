"""ONNX operators that rearrange or index dimensions, over sizes that are open: the first and all spatial ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_model, numbers, save
from onnx_runs import hold_cases

from microlith.converter import convert

Arrays = Mapping[str, np.ndarray]


def node_model(
    op: str, shapes: Mapping[str, tuple[Any, ...]], constants: Arrays | None = None, opset: int = 17, **attrs: Any
) -> onnx.ModelProto:
    node = helper.make_node(op, [*shapes, *(constants or {})], ["y"], **attrs)
    return make_model([node], shapes, ["y"], constants, opset)


def test_a_part_of_several_open_dimensions(tmp_path: Path) -> None:
    """As attention over sequences takes q, k and v from one tensor [3, length, batch, size]."""
    for name, index in (("scalar", np.array(1)), ("vector", np.array([1]))):
        model = node_model("Gather", {"x": (3, "n", "b", 4)}, {"index": index}, axis=0)
        (tmp_path / name).mkdir()
        hold_cases(model, tmp_path / name, {"x": numbers(3, 2, 5, 4)}, {"x": numbers(3, 1, 1, 4)})


def test_a_dimension_of_one_among_open_ones(tmp_path: Path) -> None:
    """As PyTorch's local response normalization writes it: [b, 1, 4, h, -1] has the width as its last size."""
    nodes = [
        helper.make_node("Shape", ["x"], ["sizes"]),
        helper.make_node("Gather", ["sizes", "first"], ["b"]),
        helper.make_node("Gather", ["sizes", "third"], ["h"]),
        helper.make_node("Concat", ["b", "middle", "h", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = {name: np.array([n]) for name, n in (("first", 0), ("third", 2), ("rest", -1))}
    model = make_model(nodes, {"x": ("b", 4, "h", "w")}, ["y"], {**constants, "middle": np.array([1, 4])})
    assert convert(save(model, tmp_path)).outputs[0].shape == ("b", 1, 4, "h", "w")
    hold_cases(model, tmp_path, {"x": numbers(2, 4, 3, 5)}, {"x": numbers(1, 4, 1, 1)})


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, 4])
def test_flatten(axis: int, tmp_path: Path) -> None:
    model = node_model("Flatten", {"x": ("b", "c", "h", "w")}, axis=axis)
    hold_cases(model, tmp_path, {"x": numbers(2, 3, 4, 5)}, {"x": numbers(1, 1, 2, 1)})


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_hardmax(axis: int, opset: int, tmp_path: Path) -> None:
    model = node_model("Hardmax", {"x": ("b", "c", "h")}, opset=opset, axis=axis)
    hold_cases(model, tmp_path, {"x": numbers(2, 3, 4)}, {"x": numbers(1, 5, 2)})


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("ij,jk->ik", "nm", (4, 5)),
        ("bhqd,bhkd->bhqk", "bhqd", ("b", "h", "k", "d")),
        ("...d,d->...", "bnd", (4,)),
        ("ij,jk->", "nm", (4, 5)),
        ("abc,cd->abd", "xyz", (4, "v")),
    ],
)
def test_einsum_over_an_open_size(equation: str, left: str, right: tuple[Any, ...], tmp_path: Path) -> None:
    """A size that is summed counts as the same in both operands."""
    sizes = {"n": 3, "m": 4, "b": 2, "h": 3, "q": 5, "d": 4, "k": 6, "x": 2, "y": 3, "z": 4, "v": 5}
    model = node_model("Einsum", {"a": tuple(left), "b": right}, equation=equation)
    first = numbers(*(sizes[label] for label in left))
    second = numbers(*(sizes.get(dim, dim) for dim in right), seed=1)
    hold_cases(model, tmp_path, {"a": first, "b": second})


@pytest.mark.parametrize("equation", ["ii->i", "ii", "bii->b", "iij->j", "bij->bji"])
def test_diagonal_of_open_sizes(equation: str, tmp_path: Path) -> None:
    labels = equation.split("->")[0]
    model = node_model("Einsum", {"a": tuple(f"size_{label}" for label in labels)}, equation=equation)
    cases = [{"b": 2, "i": n, "j": n + 1} for n in (1, 4)]
    hold_cases(model, tmp_path, *({"a": numbers(*(case[label] for label in labels))} for case in cases))


@pytest.mark.parametrize("pads", [[0, 0, -1, 0, 0, 0, 0, -2], [0, 0, -1, 2, 0, 0, -1, -1]], ids=str)
def test_pad_that_crops(pads: list[int], tmp_path: Path) -> None:
    model = node_model("Pad", {"x": ("b", 2, "h", "w")}, {"pads": np.array(pads)})
    hold_cases(model, tmp_path, {"x": numbers(1, 2, 4, 5)}, {"x": numbers(2, 2, 7, 4)})


@pytest.mark.parametrize("axis", [0, 1])
def test_scales_along_an_open_dimension(axis: int, tmp_path: Path) -> None:
    """The number of scales says how long it is."""
    scales, zeros = np.array([0.1, 0.2, 0.05], np.float32), np.array([3, 0, 9], np.uint8)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=axis),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=axis),
    ]
    model = make_model(nodes, {"x": ("n", "m")}, ["y"], {"s": scales, "z": zeros})
    hold_cases(model, tmp_path, {"x": numbers(3, 3)})


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("shape", [(1, 2, 7, 5), ("b", 2, "h", "w")], ids=str)
def test_resize_of_pytorch_with_aligned_corners(shape: tuple[Any, ...], mode: str, tmp_path: Path) -> None:
    """7 by 1.5 is 10, and PyTorch as well as ONNX Runtime go by 10, not by 10.5."""
    model = node_model(
        "Resize",
        {"x": shape},
        {"roi": np.zeros(0, np.float32), "scales": np.array([1, 1, 1.5, 1.5], np.float32)},
        mode=mode,
        coordinate_transformation_mode="align_corners",
    )
    model.producer_name = "pytorch"
    hold_cases(model, tmp_path, {"x": numbers(1, 2, 7, 5)})


def test_half_a_turn_of_other_than_four_dimensions(tmp_path: Path) -> None:
    """Looks like a rotary embedding, and is none."""
    halves = [np.array([item], np.int64) for item in (0, 4, -1, 4, 99)]
    constants = dict(zip(("zero", "half", "last", "from", "end"), halves, strict=True))
    nodes = [
        helper.make_node("Slice", ["x", "zero", "half", "last"], ["lower"]),
        helper.make_node("Slice", ["x", "from", "end", "last"], ["upper"]),
        helper.make_node("Neg", ["upper"], ["negated"]),
        helper.make_node("Concat", ["negated", "lower"], ["turned"], axis=3),
        helper.make_node("Mul", ["x", "cos"], ["straight"]),
        helper.make_node("Mul", ["turned", "sin"], ["crossed"]),
        helper.make_node("Add", ["straight", "crossed"], ["y"]),
    ]
    shapes = {"x": ("b", 2, "n", 8), "cos": ("n", 8), "sin": ("n", 8)}
    model = make_model(nodes, shapes, ["y"], constants)
    hold_cases(model, tmp_path, {"x": numbers(1, 2, 3, 8), "cos": numbers(3, 8, seed=1), "sin": numbers(3, 8, seed=2)})


@pytest.mark.parametrize("op", ["ReduceLogSum", "ReduceLogSumExp"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_logarithm_of_integers(op: str, dtype: type[np.signedinteger[Any]], tmp_path: Path) -> None:
    kind = TensorProto.INT32 if dtype is np.int32 else TensorProto.INT64
    node = helper.make_node(op, ["x"], ["y"], axes=[1], keepdims=0)
    model = make_model([node], {"x": (2, 3)}, ["y"], types={"x": kind, "y": kind})
    hold_cases(model, tmp_path, {"x": np.array([[1, 2, 3], [9, 8, 5]], dtype)})
