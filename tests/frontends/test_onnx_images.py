"""ONNX Resize, GridSample, RoiAlign and the like against ONNX Runtime, with everything that the operators can say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_models import numbers
from onnx_runs import hold

TRANSFORMS = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def resize(
    shape: tuple[int, ...],
    folder: Path,
    *,
    scales: list[float] | None = None,
    sizes: list[int] | None = None,
    roi: list[float] | None = None,
    at_run_time: tuple[str, ...] = ("x",),
    opset: int = 20,
    **attrs: Any,
) -> Any:
    inputs = {
        "x": numbers(*shape),
        "roi": None if roi is None else np.array(roi, np.float32),
        "scales": None if scales is None else np.array(scales, np.float32),
        "sizes": None if sizes is None else np.array(sizes, np.int64),
    }
    if sizes is None:
        del inputs["sizes"]
    return hold("Resize", inputs, folder, at_run_time=at_run_time, opset=opset, **attrs)


@pytest.mark.parametrize("sizes", [[1, 2, 7, 9], [1, 2, 3, 2], [1, 2, 10, 5]], ids=str)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_resize_to_sizes(transform: str, mode: str, sizes: list[int], tmp_path: Path) -> None:
    opset = 11 if transform == "tf_half_pixel_for_nn" else 20
    graph = resize(
        (1, 2, 5, 5), tmp_path, sizes=sizes, mode=mode, coordinate_transformation_mode=transform, opset=opset,
        roi=[] if opset == 11 else None, scales=[] if opset == 11 else None,
    )  # fmt: skip
    assert [node.op for node in graph.nodes] == ["resize"]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("transform", TRANSFORMS[:5])
def test_nearest_by_scales(transform: str, rounding: str, tmp_path: Path) -> None:
    resize(
        (1, 1, 6, 4), tmp_path, scales=[1, 1, 1.5, 0.5], nearest_mode=rounding, coordinate_transformation_mode=transform
    )


@pytest.mark.parametrize("options", [{}, {"exclude_outside": 1}, {"cubic_coeff_a": -0.5}], ids=str)
@pytest.mark.parametrize("scales", [[1, 1, 2.5, 1.25], [1, 1, 0.6, 0.75]], ids=str)
def test_cubic_by_scales(scales: list[float], options: dict[str, Any], tmp_path: Path) -> None:
    resize((1, 2, 5, 8), tmp_path, scales=scales, mode="cubic", **options)


@pytest.mark.parametrize("outside", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialias(mode: str, outside: int, tmp_path: Path) -> None:
    graph = resize((1, 1, 12, 16), tmp_path, sizes=[1, 1, 5, 4], mode=mode, antialias=1, exclude_outside=outside)
    assert [node.op for node in graph.nodes] == ["resize", "resize"], "one dimension after the other"


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_crop(mode: str, tmp_path: Path) -> None:
    roi = [0, 0, 0.1, -0.3, 1, 1, 0.8, 1.2]
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.5}
    resize((1, 1, 6, 7), tmp_path, sizes=[1, 1, 4, 9], roi=roi, mode=mode, **options)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_aspect(policy: str, tmp_path: Path) -> None:
    resize((1, 1, 4, 6), tmp_path, sizes=[9, 7], axes=[2, 3], mode="linear", keep_aspect_ratio_policy=policy)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_sizes_at_run_time(mode: str, tmp_path: Path) -> None:
    resize((1, 2, 4, 6), tmp_path, sizes=[1, 2, 9, 7], mode=mode, at_run_time=("x", "sizes"))
    resize((1, 2, 4, 6), tmp_path, scales=[1, 1, 1.5, 2], mode=mode, at_run_time=("x", "scales"))


def test_linear_over_one_and_three_dimensions(tmp_path: Path) -> None:
    resize((2, 3, 9), tmp_path, scales=[1, 1, 1.5], mode="linear")
    resize((1, 2, 3, 4, 5), tmp_path, scales=[1, 1, 2, 1.5, 0.8], mode="linear")


def test_nearest_of_integers(tmp_path: Path) -> None:
    for dtype, kind in ((np.int8, 3), (np.uint8, 2), (np.int32, 6)):
        x = np.arange(24).reshape(1, 1, 4, 6).astype(dtype)
        hold("Resize", {"x": x, "": None, "scales": np.array([1, 1, 2, 3], np.float32)}, tmp_path, types={"y": kind})


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample(mode: str, tmp_path: Path) -> None:
    scales = np.array([1, 1, 2, 3], np.float32)
    hold("Upsample", {"x": numbers(1, 2, 3, 4), "scales": scales}, tmp_path, opset=9, mode=mode)
    hold("Upsample", {"x": numbers(1, 2, 3, 4)}, tmp_path, opset=7, mode=mode, scales=[1.0, 1.0, 2.0, 2.0])


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample(mode: str, padding: str, corners: int, tmp_path: Path) -> None:
    inputs = {"x": numbers(2, 3, 4, 5), "grid": numbers(2, 6, 7, 2, seed=2, low=-1.7, high=1.7)}
    options = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    hold("GridSample", inputs, tmp_path, at_run_time=("x", "grid"), **options)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_grid_sample_of_volumes(mode: str, padding: str, tmp_path: Path) -> None:
    inputs = {"x": numbers(1, 2, 3, 4, 5), "grid": numbers(1, 2, 3, 4, 3, seed=2, low=-1.7, high=1.7)}
    hold("GridSample", inputs, tmp_path, at_run_time=("x", "grid"), mode=mode, padding_mode=padding)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [[2, 3, 4, 5], [1, 1, 2, 3, 4]], ids=str)
def test_affine_grid(size: list[int], corners: int, tmp_path: Path) -> None:
    theta = numbers(size[0], len(size) - 2, len(size) - 1)
    for at_run_time in (("x",), ("x", "size")):
        inputs = {"x": theta, "size": np.array(size, np.int64)}
        hold("AffineGrid", inputs, tmp_path, at_run_time=at_run_time, align_corners=corners)


@pytest.mark.parametrize("sampling", [0, 2])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("transform", ["half_pixel", "output_half_pixel"])
def test_roi_align(transform: str, mode: str, sampling: int, tmp_path: Path) -> None:
    rois = np.array([[1, 1, 6, 5], [0, 0, 9, 9], [2.5, 3, 2.6, 3.1]], np.float32)
    inputs = {"x": numbers(2, 3, 8, 9), "rois": rois, "batch": np.array([0, 1, 1], np.int64)}
    options = {"output_height": 3, "output_width": 2, "sampling_ratio": sampling, "spatial_scale": 0.75}
    options |= {"mode": mode, "coordinate_transformation_mode": transform}
    hold("RoiAlign", inputs, tmp_path, at_run_time=("x", "rois", "batch"), opset=16, **options)


def test_max_roi_pool(tmp_path: Path) -> None:
    rois = np.array([[0, 1, 1, 6, 5], [1, 0, 0, 9, 9], [1, 2.5, 3, 2.6, 3.1]], np.float32)
    inputs = {"x": numbers(2, 3, 8, 9), "rois": rois}
    hold("MaxRoiPool", inputs, tmp_path, at_run_time=("x", "rois"), pooled_shape=[3, 2], spatial_scale=0.75)


@pytest.mark.parametrize("options", [{}, {"strides": [2, 1], "pads": [1, 0, 1, 2]}, {"dilations": [2, 1]}], ids=str)
@pytest.mark.parametrize("groups", [(1, 1), (2, 2)], ids=str)
def test_deform_conv(groups: tuple[int, int], options: dict[str, Any], tmp_path: Path) -> None:
    strides, dilations = options.get("strides", [1, 1]), options.get("dilations", [1, 1])
    pads = options.get("pads", [0, 0, 0, 0])
    out = [(size + pads[i] + pads[i + 2] - 2 * dilations[i] - 1) // strides[i] + 1 for i, size in enumerate((6, 7))]
    inputs = {
        "x": numbers(2, 4, 6, 7),
        "w": numbers(6, 4 // groups[0], 3, 3, seed=1),
        "offset": numbers(2, groups[1] * 18, *out, seed=2, low=-2, high=2),
        "b": numbers(6, seed=3),
        "mask": numbers(2, groups[1] * 9, *out, seed=4, low=0, high=1),
    }
    at_run_time = ("x", "offset", "mask")
    hold("DeformConv", inputs, tmp_path, at_run_time=at_run_time, group=groups[0], offset_group=groups[1], **options)


@pytest.mark.parametrize("at_run_time", [("x",), ("x", "size", "window")], ids=str)
def test_col2im(at_run_time: tuple[str, ...], tmp_path: Path) -> None:
    inputs = {
        "x": numbers(2, 3 * 6, 4 * 3),
        "size": np.array([8, 5], np.int64),
        "window": np.array([2, 3], np.int64),
    }
    hold("Col2Im", inputs, tmp_path, at_run_time=at_run_time, strides=[2, 2], pads=[0, 1, 0, 1], dilations=[1, 1])
