"""ONNX convolutions and pools over one to three dimensions against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_models import numbers
from onnx_runs import hold

INT64 = 7

TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 4, 9), (4, 3, 3), {}),
    ((1, 4, 5, 6), (4, 3, 3, 2), {"strides": [2, 3], "pads": [1, 0, 1, 1], "output_padding": [1, 2]}),
    ((1, 4, 5, 6), (4, 2, 3, 3), {"group": 2, "dilations": [2, 1], "strides": [1, 2]}),
    ((1, 4, 5, 6), (4, 1, 2, 2), {"group": 4, "strides": [2, 2]}),
    ((1, 4, 5, 6), (4, 3, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ((1, 4, 5, 6), (4, 3, 4, 3), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ((1, 4, 5, 6), (4, 3, 3, 3), {"output_shape": [11, 13], "strides": [2, 2]}),
    ((1, 4, 5, 6), (4, 3, 3, 3), {"output_shape": [9, 10], "strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ((1, 2, 3, 4, 5), (2, 3, 2, 2, 3), {"strides": [2, 1, 2], "pads": [0, 1, 0, 1, 0, 1]}),
]

CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 4, 9), (6, 4, 3), {"strides": [2], "pads": [1, 2]}),
    ((2, 4, 9), (4, 1, 3), {"group": 4, "dilations": [2]}),
    ((1, 3, 5, 6, 7), (4, 3, 3, 2, 3), {}),
    ((1, 4, 5, 6, 7), (6, 2, 3, 2, 3), {"group": 2, "strides": [2, 1, 2], "pads": [1, 0, 1, 1, 2, 0]}),
    ((1, 4, 5, 6, 7), (4, 1, 2, 2, 2), {"group": 4, "dilations": [2, 1, 3]}),
    ((1, 3, 5, 6, 7), (4, 3, 3, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2, 2]}),
]

POOLS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 11), {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
    ((2, 3, 10), {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}),
    ((1, 3, 7, 8), {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 2, 1], "ceil_mode": 1}),
    ((1, 3, 7, 8), {"kernel_shape": [3, 2], "dilations": [2, 3]}),
    ((1, 3, 7, 8), {"kernel_shape": [3, 3], "auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ((1, 2, 5, 6, 7), {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [1, 1, 0, 0, 1, 1]}),
    ((1, 2, 6, 7, 8), {"kernel_shape": [3, 3, 3], "strides": [2, 2, 2], "ceil_mode": 1}),
    ((1, 2, 9, 8, 7), {"kernel_shape": [2, 2, 2], "dilations": [2, 3, 1], "strides": [2, 2, 2]}),
]


@pytest.mark.parametrize("at_run_time", [("x",), ("x", "w", "b")], ids=str)
@pytest.mark.parametrize("shape,weights,attrs", TRANSPOSED, ids=str)
def test_conv_transpose(
    shape: tuple[int, ...],
    weights: tuple[int, ...],
    attrs: dict[str, Any],
    at_run_time: tuple[str, ...],
    tmp_path: Path,
) -> None:
    bias = numbers(weights[1] * attrs.get("group", 1), seed=2)
    inputs = {"x": numbers(*shape), "w": numbers(*weights, seed=1), "b": bias}
    hold("ConvTranspose", inputs, tmp_path, at_run_time=at_run_time, **attrs)


@pytest.mark.parametrize("shape,weights,attrs", CONVOLUTIONS, ids=str)
def test_conv(shape: tuple[int, ...], weights: tuple[int, ...], attrs: dict[str, Any], tmp_path: Path) -> None:
    inputs = {"x": numbers(*shape), "w": numbers(*weights, seed=1), "b": numbers(weights[0], seed=2)}
    hold("Conv", inputs, tmp_path, **attrs)


@pytest.mark.parametrize("shape,attrs", POOLS, ids=str)
def test_max_pool(shape: tuple[int, ...], attrs: dict[str, Any], tmp_path: Path) -> None:
    hold("MaxPool", {"x": numbers(*shape)}, tmp_path, **attrs)


@pytest.mark.parametrize("column_major", [0, 1])
@pytest.mark.parametrize("shape,attrs", POOLS, ids=str)
def test_positions_of_maxima(shape: tuple[int, ...], attrs: dict[str, Any], column_major: int, tmp_path: Path) -> None:
    options = {"outputs": ("y", "places"), "types": {"places": INT64}, "storage_order": column_major}
    hold("MaxPool", {"x": numbers(*shape)}, tmp_path, **options, **attrs)


@pytest.mark.parametrize("dtype,kind", [(np.int8, 3), (np.uint8, 2)])
def test_max_pool_of_bytes(dtype: type, kind: int, tmp_path: Path) -> None:
    info = np.iinfo(dtype)
    x = np.random.default_rng(3).integers(info.min, info.max, (1, 3, 7, 8), endpoint=True).astype(dtype)
    hold("MaxPool", {"x": x}, tmp_path, types={"y": kind}, kernel_shape=[3, 2], pads=[1, 1, 1, 0])


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize("shape,attrs", POOLS, ids=str)
def test_average_pool(shape: tuple[int, ...], attrs: dict[str, Any], include: int, tmp_path: Path) -> None:
    hold("AveragePool", {"x": numbers(*shape)}, tmp_path, count_include_pad=include, **attrs)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("shape,attrs", POOLS, ids=str)
def test_lp_pool(shape: tuple[int, ...], attrs: dict[str, Any], p: int, tmp_path: Path) -> None:
    hold("LpPool", {"x": numbers(*shape)}, tmp_path, p=p, **attrs)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 5), (2, 3, 4, 5, 2)], ids=str)
def test_global_pool(shape: tuple[int, ...], op: str, tmp_path: Path) -> None:
    hold(op, {"x": numbers(*shape)}, tmp_path)


@pytest.mark.parametrize("shape", [None, [1, 2, 8, 10]], ids=str)
def test_max_unpool(shape: list[int] | None, tmp_path: Path) -> None:
    """Behind the pool whose maxima it puts back."""
    places = np.array([5, 3, 11, 14, 24, 31, 40, 55, 70, 61, 72, 79], np.int64).reshape(1, 2, 2, 3) % 48
    inputs: dict[str, np.ndarray | None] = {"x": numbers(1, 2, 2, 3), "places": places}
    if shape is None:
        hold("MaxUnpool", inputs, tmp_path, at_run_time=("x", "places"), kernel_shape=[2, 2], strides=[2, 2])
