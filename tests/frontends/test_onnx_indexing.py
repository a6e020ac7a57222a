"""ONNX operators that pick, place, order and select elements, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_models import make_model, numbers, run_reference
from onnx_runs import ELEMENT_TYPES, hold

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.evaluate import evaluate

INT64 = 7
TYPES = (np.float32, np.int8, np.uint8, np.int32, np.int64)


def elements(dtype: type, *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 7, shape).astype(dtype)


def positions(size: int, *shape: int, seed: int = 1) -> np.ndarray:
    """Indices into a dimension, negative ones too."""
    return np.random.default_rng(seed).integers(-size, size, shape)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements(axis: int, dtype: type, tmp_path: Path) -> None:
    x = elements(dtype, 3, 4, 5)
    inputs = {"x": x, "at": positions(3, 2, 4, 5)}
    kind = ELEMENT_TYPES[np.dtype(dtype)]
    hold("GatherElements", inputs, tmp_path, at_run_time=("x", "at"), types={"y": kind}, axis=axis)


@pytest.mark.parametrize("batch,shape", [(0, (2, 3, 2)), (0, (4, 3)), (1, (3, 2, 1)), (2, (3, 4, 1))], ids=str)
def test_gather_nd(batch: int, shape: tuple[int, ...], tmp_path: Path) -> None:
    hold("GatherND", {"x": numbers(3, 4, 5), "at": positions(3, *shape)}, tmp_path, batch_dims=batch)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64, np.uint8])
def test_scatters(dtype: type, reduction: str, tmp_path: Path) -> None:
    kind = {"types": {"y": ELEMENT_TYPES[np.dtype(dtype)]}, "at_run_time": ("x", "at", "u"), "reduction": reduction}
    at = np.array([[0, -1, 2, 1], [1, 1, 0, -3]], np.int64)
    inputs = {"x": elements(dtype, 3, 4), "at": at, "u": elements(dtype, 2, 4, seed=2)}
    if reduction == "none":
        inputs["at"] = np.array([[0, -1, 2, 1], [1, 0, 0, -3]], np.int64)
    hold("ScatterElements", inputs, tmp_path, axis=0, **kind)
    tuples = np.array([[0], [-1]] if reduction == "none" else [[1], [1]], np.int64)
    hold("ScatterND", {"x": elements(dtype, 3, 4), "at": tuples, "u": elements(dtype, 2, 4, seed=2)}, tmp_path, **kind)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize("at_run_time", [("x",), ("x", "k")], ids=str)
def test_top_k(at_run_time: tuple[str, ...], dtype: type, largest: int, tmp_path: Path) -> None:
    inputs = {"x": elements(dtype, 3, 9, 2), "k": np.array([4], np.int64)}
    types = {"y": ELEMENT_TYPES[np.dtype(dtype)], "at": INT64}
    outputs = ("y", "at")
    hold("TopK", inputs, tmp_path, at_run_time=at_run_time, types=types, outputs=outputs, axis=1, largest=largest)


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.int64])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)], ids=str)
def test_non_zero(shape: tuple[int, ...], dtype: type, tmp_path: Path) -> None:
    hold("NonZero", {"x": (elements(np.int32, *shape) % 2).astype(dtype)}, tmp_path, types={"y": INT64})


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_compress(axis: int | None, tmp_path: Path) -> None:
    inputs = {"x": numbers(3, 4), "c": np.array([True, False, True])}
    attrs = {} if axis is None else {"axis": axis}
    for at_run_time in (("x",), ("x", "c")):
        hold("Compress", inputs, tmp_path, at_run_time=at_run_time, **attrs)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_unique(dtype: type, axis: int | None, order: int, tmp_path: Path) -> None:
    attrs = {} if axis is None else {"axis": axis}
    outputs = ("y", "first", "inverse", "counts")
    types = {"y": ELEMENT_TYPES[np.dtype(dtype)], "first": INT64, "inverse": INT64, "counts": INT64}
    x = elements(dtype, 5, 2) % 2
    hold("Unique", {"x": x}, tmp_path, outputs=outputs, types=types, sorted=order, **attrs)


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("thresholds", ["none", "constant", "run time"])
def test_non_max_suppression(thresholds: str, center: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    corner = rng.uniform(0, 4, (2, 20, 2))
    boxes = np.concatenate([corner, corner * center * 0 + rng.uniform(1, 3, corner.shape) + (1 - center) * corner], -1)
    inputs: dict[str, np.ndarray | None] = {
        "x": boxes.astype(np.float32),
        "scores": rng.uniform(0, 1, (2, 3, 20)).astype(np.float32),
        "most": np.array([4], np.int64),
    }
    at_run_time: tuple[str, ...] = ("x", "scores")
    if thresholds != "none":
        inputs |= {"iou": np.array([0.3], np.float32), "least": np.array([0.4], np.float32)}
        at_run_time = at_run_time if thresholds == "constant" else tuple(inputs)
    options = {"types": {"y": INT64}, "at_run_time": at_run_time}
    hold("NonMaxSuppression", inputs, tmp_path, center_point_box=center, **options)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("at_run_time", [("x",), ("x", "depth")], ids=str)
def test_one_hot(at_run_time: tuple[str, ...], axis: int, tmp_path: Path) -> None:
    inputs = {"x": np.array([[0, 3, -1], [2, 9, -5]]), "depth": np.array(5), "v": np.array([0.5, 2], np.float32)}
    hold("OneHot", inputs, tmp_path, at_run_time=at_run_time, axis=axis)


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-9, -1, 0, 2, 9])
def test_trilu(k: int, upper: int, tmp_path: Path) -> None:
    for at_run_time in (("x",), ("x", "k")):
        hold("Trilu", {"x": numbers(2, 4, 5), "k": np.array(k)}, tmp_path, at_run_time=at_run_time, upper=upper)


def test_eye_like(tmp_path: Path) -> None:
    hold("EyeLike", {"x": numbers(4, 5)}, tmp_path, k=-1)
    hold("EyeLike", {"x": numbers(4, 5)}, tmp_path, k=1, dtype=INT64, types={"y": INT64})


@pytest.mark.parametrize("batch,time", [(1, 0), (0, 1)])
def test_reverse_sequence(batch: int, time: int, tmp_path: Path) -> None:
    lengths = np.array([1, 4, 2, 3], np.int64)
    inputs = {"x": numbers(4, 4, 3), "n": lengths}
    hold("ReverseSequence", inputs, tmp_path, at_run_time=("x", "n"), batch_axis=batch, time_axis=time)


@pytest.mark.parametrize("axes", [None, [2, 0]], ids=str)
def test_center_crop_pad(axes: list[int] | None, tmp_path: Path) -> None:
    sizes = [7, 2, 5] if axes is None else [3, 8]
    attrs: dict[str, Any] = {} if axes is None else {"axes": axes}
    for at_run_time in (("x",), ("x", "sizes")):
        inputs = {"x": numbers(4, 5, 6), "sizes": np.array(sizes)}
        hold("CenterCropPad", inputs, tmp_path, at_run_time=at_run_time, **attrs)


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [-2, 1])
def test_tensor_scatter(axis: int, mode: str, tmp_path: Path) -> None:
    at = np.array([2, 5] if mode == "circular" else [0, 3])
    update = numbers(2, 2, 6, 3, seed=1) if axis == 1 else numbers(2, 6, 2, 3, seed=1)
    inputs = {"x": numbers(2, 6, 6, 3), "u": update, "at": at}
    options = {"at_run_time": ("x", "u", "at"), "opset": 24, "mode": mode, "axis": axis}
    hold("TensorScatter", inputs, tmp_path, **options)


@pytest.mark.parametrize(
    ("a", "b", "axis", "expected"),
    [
        ((2, 0), (2, 0), 0, (4, 0)),
        ((2, 0), (3, 0), 0, (5, 0)),
        ((2, 0), (2, 3), 1, (2, 3)),
        ((0, 3), (0, 2), 1, (0, 5)),
        ((0, 3), (0, 3), 0, (0, 3)),
    ],
)
@pytest.mark.parametrize("at_run_time", [("a",), ("a", "b")])
def test_concat_of_nothing(
    a: tuple[int, ...],
    b: tuple[int, ...],
    axis: int,
    expected: tuple[int, ...],
    at_run_time: tuple[str, ...],
    tmp_path: Path,
) -> None:
    inputs = {"a": numbers(*a), "b": numbers(*b)}
    assert hold("Concat", inputs, tmp_path, at_run_time=at_run_time, axis=axis).outputs[0].shape == expected


def cropped_and_padded(x: np.ndarray, pads: list[int], mode: str) -> np.ndarray:
    """As ONNX Runtime does it: negative amounts crop first."""
    amounts = list(zip(pads[: x.ndim], pads[x.ndim :], strict=True))
    for axis, (before, after) in enumerate(amounts):
        x = np.take(x, range(max(-before, 0), x.shape[axis] + min(after, 0)), axis)
    return np.pad(x, [(max(before, 0), max(after, 0)) for before, after in amounts], mode=mode)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize(
    "pads", [[0, -1, 1, -1], [-1, 2, 0, -2], [1, -2, -2, 2], [-2, -3, -2, -2], [-1, 1, 1, -1]], ids=str
)
def test_pads_that_crop(mode: str, pads: list[int], tmp_path: Path) -> None:
    x, amounts = numbers(5, 6), np.array(pads, np.int64)
    node = helper.make_node("Pad", ["x", "pads"], ["y"], mode=mode)
    model = make_model([node], {"x": x.shape, "pads": amounts.shape}, ["y"], opset=20, types={"pads": INT64})
    expected = cropped_and_padded(x, pads, mode)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    modelfile.save(convert(path), tmp_path / "model.lith")
    given = {"x": x, "pads": amounts}
    np.testing.assert_array_equal(runtime.load(tmp_path / "model.lith").run(given)["y"], expected)
    graph = convert(path, constants={"pads": amounts})
    np.testing.assert_array_equal(evaluate(graph, {"x": x})["y"], expected)
    np.testing.assert_array_equal(run_reference(model, given)[0], expected)
