"""Windows and blocks over sizes that are known only at run time, for several sizes against ONNX Runtime."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import compare, make_model, numbers, run_reference, save

import microlith
from microlith import modelfile
from microlith.converter import convert
from microlith.evaluate import evaluate

Shape = tuple[int | str, ...]
OPEN: Shape = ("n", 8, "h", "w")

BLOCKS: list[tuple[str, Shape, dict[str, Any]]] = [
    (op, shape, {"blocksize": 2, "mode": mode} if op == "DepthToSpace" else {"blocksize": 2})
    for op, mode in (("DepthToSpace", "DCR"), ("DepthToSpace", "CRD"), ("SpaceToDepth", ""))
    for shape in (OPEN, ("n", 8, "h", "h"), (1, 8, "h", 6), ("n", 8, 4, "w"), ("n", 8, 4, 6))
]

SAME: list[tuple[str, Shape, dict[str, Any], Shape | None]] = [
    (op, OPEN, {"auto_pad": side, **attrs}, weights)
    for side in ("SAME_UPPER", "SAME_LOWER")
    for op, attrs, weights in (
        ("Conv", {}, (3, 8, 4, 3)),
        ("Conv", {"group": 8}, (8, 1, 3, 3)),
        ("Conv", {"strides": [2, 3]}, (3, 8, 1, 1)),
        ("ConvTranspose", {"strides": [2, 3]}, (8, 3, 3, 5)),
        ("MaxPool", {"kernel_shape": [4, 3]}, None),
        ("AveragePool", {"kernel_shape": [3, 4], "count_include_pad": 1}, None),
    )
]
SAME += [
    ("Conv", OPEN, {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, (3, 8, 3, 5)),
    ("Conv", OPEN, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (3, 8, 2, 4)),
    ("AveragePool", OPEN, {"auto_pad": "SAME_UPPER", "strides": [2, 2], "kernel_shape": [2, 2]}, None),
    ("MaxPool", OPEN, {"auto_pad": "SAME_LOWER", "strides": [2, 2], "kernel_shape": [3, 3]}, None),
]
# With a stride of 2 the padding before or after depends on the size, on the left or right by kernel and side.
SAME += [
    (op, shape, {"auto_pad": side, "strides": [2] * (len(shape) - 2), **attrs}, weights)
    for side in ("SAME_UPPER", "SAME_LOWER")
    for op, shape, attrs, weights in (
        ("Conv", OPEN, {}, (3, 8, 3, 2)),
        ("Conv", (1, 8, "h", 5), {"group": 8}, (8, 1, 3, 3)),
        ("Conv", (1, 8, "h"), {}, (3, 8, 5)),
        ("Conv", (1, 2, 4, "h", "w"), {}, (3, 2, 3, 3, 2)),
        ("MaxPool", OPEN, {"kernel_shape": [3, 4]}, None),
        ("AveragePool", OPEN, {"kernel_shape": [3, 4]}, None),
        ("AveragePool", OPEN, {"kernel_shape": [3, 2], "count_include_pad": 1}, None),
        ("AveragePool", (1, 2, 4, "h", "w"), {"kernel_shape": [3, 3, 2]}, None),
        ("LpPool", OPEN, {"kernel_shape": [3, 4]}, None),
    )
]

CEIL: list[tuple[str, Shape, dict[str, Any], Shape | None]] = [
    (op, shape, {"ceil_mode": 1, **attrs}, None)
    for op in ("MaxPool", "AveragePool")
    for shape, attrs in (
        (OPEN, {"kernel_shape": [3, 2], "strides": [2, 2]}),
        (OPEN, {"kernel_shape": [3, 3], "strides": [2, 1], "pads": [1, 1, 1, 1]}),
        (("n", 8, "h"), {"kernel_shape": [4], "strides": [3], "pads": [1, 1]}),
        ((1, 2, "h", "w", 5), {"kernel_shape": [3, 2, 2], "strides": [2, 2, 2]}),
    )
]
CEIL.append(("AveragePool", OPEN, {"ceil_mode": 1, "kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}, None))


def _model(op: str, shape: Shape, attrs: dict[str, Any], weights: Shape | None = None) -> onnx.ModelProto:
    constants = {} if weights is None else {"w": numbers(*weights, seed=1)}
    return make_model([helper.make_node(op, ["x", *constants], ["y"], **attrs)], {"x": shape}, ["y"], constants, 20)


def _inputs(shape: Shape, step: int, sizes: Sequence[int]) -> list[np.ndarray]:
    symbols = sorted({dim for dim in shape if isinstance(dim, str)} - {"n"})
    chosen = [dict(zip(symbols, item, strict=True)) for item in itertools.product(sizes, repeat=len(symbols))]
    return [numbers(*(dim if isinstance(dim, int) else step * named.get(dim, 2) for dim in shape)) for named in chosen]


def _run_all(model: onnx.ModelProto, arrays: Sequence[np.ndarray], folder: Path) -> None:
    graph = convert(save(model, folder))
    modelfile.save(graph, folder / "model.lith")
    with microlith.load(folder / "model.lith") as session:
        for x in arrays:
            (expected,) = run_reference(model, {"x": x})
            for results in (evaluate(graph, {"x": x}), session.run({"x": x})):
                compare(results["y"], expected, 1e-5, f"y for {x.shape}")


@pytest.mark.parametrize("op,shape,attrs", BLOCKS, ids=str)
def test_blocks(op: str, shape: Shape, attrs: dict[str, Any], tmp_path: Path) -> None:
    _run_all(_model(op, shape, attrs), _inputs(shape, 2, (1, 2, 3)), tmp_path)


@pytest.mark.parametrize("op,shape,attrs,weights", SAME + CEIL, ids=str)
def test_windows(op: str, shape: Shape, attrs: dict[str, Any], weights: Shape | None, tmp_path: Path) -> None:
    _run_all(_model(op, shape, attrs, weights), _inputs(shape, 1, (4, 5, 6, 7, 9)), tmp_path)


# No padding and no number of windows serves every size.
BY_SIZE: list[tuple[str, Shape, dict[str, Any], Shape | None]] = [
    (op, shape, {"auto_pad": side, "strides": [3] * (len(shape) - 2), **attrs}, weights)
    for side in ("SAME_UPPER", "SAME_LOWER")
    for op, shape, attrs, weights in (
        ("Conv", OPEN, {}, (3, 8, 4, 3)),
        ("Conv", OPEN, {"group": 8}, (8, 1, 5, 3)),
        ("Conv", (1, 8, "h"), {}, (3, 8, 5)),
        ("Conv", (1, 2, 7, "h", "w"), {}, (3, 2, 3, 4, 5)),
        ("MaxPool", OPEN, {"kernel_shape": [3, 4]}, None),
        ("AveragePool", OPEN, {"kernel_shape": [3, 4]}, None),
        ("AveragePool", OPEN, {"kernel_shape": [5, 3], "count_include_pad": 1}, None),
        ("AveragePool", (1, 2, 4, "h", "w"), {"kernel_shape": [3, 4, 2]}, None),
        ("LpPool", OPEN, {"kernel_shape": [3, 4]}, None),
    )
]
BY_SIZE += [
    (op, OPEN, {"ceil_mode": 1, **attrs}, None)
    for op in ("MaxPool", "AveragePool")
    for attrs in (
        {"kernel_shape": [2, 2], "strides": [3, 3]},
        {"kernel_shape": [3, 2], "strides": [3, 4], "pads": [1, 0, 2, 1]},
        {"kernel_shape": [3, 3], "strides": [4, 2], "pads": [0, 1, 1, 1]},
    )
]


@pytest.mark.parametrize("op,shape,attrs,weights", BY_SIZE, ids=str)
def test_windows_that_follow_from_the_size(
    op: str, shape: Shape, attrs: dict[str, Any], weights: Shape | None, tmp_path: Path
) -> None:
    _run_all(_model(op, shape, attrs, weights), _inputs(shape, 1, (5, 6, 7, 9)), tmp_path)


@pytest.mark.parametrize("storage_order", [0, 1])
@pytest.mark.parametrize("attrs", [{"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}, {"ceil_mode": 1}], ids=str)
@pytest.mark.parametrize("stride", [2, 3])
def test_positions_of_maxima(stride: int, attrs: dict[str, Any], storage_order: int, tmp_path: Path) -> None:
    """They count in the input, whatever was put around it."""
    sizes = {"kernel_shape": [3, 2], "strides": [stride, stride], "storage_order": storage_order}
    model = make_model([helper.make_node("MaxPool", ["x"], ["y", "i"], **sizes, **attrs)], {"x": OPEN}, ["y", "i"])
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
    modelfile.save(convert(save(model, tmp_path)), tmp_path / "model.lith")
    with microlith.load(tmp_path / "model.lith") as session:
        for x in _inputs(OPEN, 1, (5, 6, 7, 9)):
            results = session.run({"x": x})
            for name, expected in zip(("y", "i"), run_reference(model, {"x": x}), strict=True):
                compare(results[name], expected, 1e-6, f"{name} for {x.shape}")


@pytest.mark.parametrize("shape", [(1, 8, 7, 8), (1, 8, 9, 11), OPEN], ids=str)
@pytest.mark.parametrize("side", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("op", ["AveragePool", "LpPool"])
def test_a_stride_that_leaves_elements_out(op: str, side: str, shape: Shape, tmp_path: Path) -> None:
    """The padding that ONNX states is below 0 then, and half of it is at the front."""
    model = _model(op, shape, {"auto_pad": side, "kernel_shape": [1, 2], "strides": [4, 5]})
    _run_all(model, _inputs(shape, 1, (6, 7, 9)) if "h" in shape else [numbers(*map(int, shape))], tmp_path)
