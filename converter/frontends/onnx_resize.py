"""ONNX Resize, and Upsample, which it took the place of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import DType
from ...ir import Value
from . import onnx_ordered
from .onnx_graph import Builder, OnnxNode, Reject, Row, Sizes
from .onnx_math import checked_axis

MODES = {"nearest": 0, "linear": 1, "cubic": 2}

TRANSFORMS = {
    "half_pixel": 0,
    "half_pixel_symmetric": 1,
    "pytorch_half_pixel": 2,
    "align_corners": 3,
    "asymmetric": 4,
    "tf_half_pixel_for_nn": 5,
    "tf_crop_and_resize": 6,
}
"""Attribute coordinate_transformation_mode."""

ROUNDINGS = {"round_prefer_floor": 0, "round_prefer_ceil": 1, "floor": 2, "ceil": 3}
"""Attribute nearest_mode."""

POLICIES = {"stretch": 0, "not_larger": 1, "not_smaller": 2}
"""Attribute keep_aspect_ratio_policy."""

INTERPOLATED = (DType.f32, DType.s8, DType.u8, DType.s16)

LARGEST_SCALE = 1e4


def _choice(node: OnnxNode, name: str, default: str, choices: dict[str, int]) -> int:
    text = node.text(name, default)
    if text not in choices:
        raise Reject(f"attribute '{name}' is '{text}'", f"supported: {', '.join(choices)}")
    return choices[text]


def resize(g: Builder, node: OnnxNode) -> Value:
    """Resize. Sizes and scales may come at run time; where they do not they become attributes."""
    x = node.value(0)
    rank = len(x.shape)
    mode = _choice(node, "mode", "nearest", MODES)
    attrs: dict[str, Any] = {
        "mode": mode,
        "transform": TRANSFORMS["asymmetric"],
        "nearest_mode": ROUNDINGS["floor"],
    }
    given = node.integers("axes")
    axes = list(range(rank)) if given is None else [checked_axis(axis, rank, "an axis") for axis in given]
    if len(set(axes)) != len(axes):
        raise Reject(f"attribute 'axes' is {given}, it names a dimension twice")
    roi, scales, sizes = None, node.optional(1), None
    if node.opset >= 11:
        attrs["transform"] = _choice(node, "coordinate_transformation_mode", "half_pixel", TRANSFORMS)
        attrs["nearest_mode"] = _choice(node, "nearest_mode", "round_prefer_floor", ROUNDINGS)
        attrs["aspect"] = _choice(node, "keep_aspect_ratio_policy", "stretch", POLICIES)
        attrs["exclude_outside"] = int(bool(node.integer("exclude_outside", 0)))
        attrs["antialias"] = int(bool(node.integer("antialias", 0)) and mode != MODES["nearest"])
        attrs["cubic_a"] = node.real("cubic_coeff_a", -0.75)
        attrs["extrapolation"] = node.real("extrapolation_value", 0.0)
        scales = _present(node, 2)
        sizes = _present(node, 3) if scales is None else None
        roi = _present(node, 1) if attrs["transform"] == TRANSFORMS["tf_crop_and_resize"] else None
        if scales is None and sizes is None:
            raise Reject("has neither scales nor sizes")
        if not (node.has(2) and node.has(3)):  # of two one is empty, and an open length may be 0
            scales, sizes = (None if v is None else g.of_length(v, len(axes)) for v in (scales, sizes))
        roi = None if roi is None else g.of_length(roi, 2 * len(axes))
    whole = g.guesses.whole_lengths or g.as_written  # ONNX Runtime aligns the last elements that there are
    if attrs["transform"] == TRANSFORMS["align_corners"] and scales is not None and whole:
        sizes = _whole_lengths(g, x, axes, scales)
        scales = None
    fixed = None if roi is not None else _fixed(node, x, axes, scales, sizes)
    if fixed is None:
        return _resized(g, x, [roi, scales, sizes], {**attrs, "axes": tuple(axes)})
    if not attrs.get("antialias") or attrs.get("aspect"):
        return _resized(g, x, [], {**attrs, **fixed})
    # A window of many elements: one dimension after the other takes the sum of their numbers, not the product.
    for axis in axes:
        one = {
            "scale": tuple(scale if i == axis else 1.0 for i, scale in enumerate(fixed["scale"])),
            "size": tuple(size if i == axis else -1 for i, size in enumerate(fixed["size"])),
        }
        if one["size"][axis] not in (-1, x.shape[axis]) or one["scale"][axis] != 1.0:
            x = _resized(g, x, [], {**attrs, **one})
    return x


def _present(node: OnnxNode, index: int) -> Value | None:
    """An input that is there and not empty."""
    if not node.has(index):
        return None
    value = node.value(index)
    return None if value.shape == (0,) else value


def _whole_lengths(g: Builder, x: Value, axes: Sequence[int], scales: Value) -> Value:
    """s64[axes]: the sizes of the result, from the scales."""
    if x.type.is_static and scales.data is not None:
        known = np.array([x.type.static_shape[axis] for axis in axes], np.float32)
        return g.const(np.floor(known * scales.data.reshape(-1)).astype(np.int64), "lengths")
    parts = [g.cast(g.sizes_of(x, axis, axis + 1), DType.f32) for axis in axes]
    lengths = g.add("mul", [g.add("concat", parts, {"axis": 0}) if len(parts) > 1 else parts[0], scales])
    return g.cast(g.add("floor", [lengths]), DType.s64)


def _fixed(
    node: OnnxNode, x: Value, axes: Sequence[int], scales: Value | None, sizes: Value | None
) -> dict[str, Any] | None:
    """Scale and size of each dimension where these are known, else None."""
    rank = len(x.shape)
    by_scale, by_size = [1.0] * rank, [-1] * rank
    if scales is not None:
        if scales.data is None:
            return None
        entries: Sequence[Any] = scales.data.reshape(-1).tolist()
    elif sizes is not None and sizes.data is not None:
        entries = sizes.data.reshape(-1).tolist()
    elif node.has(3) and isinstance(node.entries[3], Sizes):
        entries = node.sizes(3, "input 'sizes'")
    else:
        return None
    if len(entries) != len(axes):
        raise Reject(f"scales or sizes have {len(entries)} entries for {len(axes)} axes")
    for axis, entry in zip(axes, entries, strict=True):
        if scales is not None:
            by_scale[axis] = _checked_scale(float(entry))
        elif entry == x.shape[axis] and isinstance(entry, str):
            continue
        elif not isinstance(entry, int):
            return None
        else:
            by_size[axis] = _checked_size(entry)
    return {"scale": tuple(by_scale), "size": tuple(by_size)}


def _checked_scale(scale: float) -> float:
    if not (math.isfinite(scale) and 0 < scale < LARGEST_SCALE):
        raise Reject(f"the scale {scale} is not sensible")
    return scale


def _checked_size(size: int) -> int:
    if not 0 <= size <= 1 << 20:
        raise Reject(f"the new size {size} is not sensible")
    return size


def _resized(g: Builder, x: Value, options: Sequence[Value | None], attrs: dict[str, Any]) -> Value:
    """The op; other element types than it interpolates go through float32."""
    if attrs["mode"] == MODES["linear"] and "size" in attrs and not (attrs.get("antialias") or attrs.get("aspect")):
        transform = next(name for name, number in TRANSFORMS.items() if number == attrs["transform"])
        ordered = onnx_ordered.resize_linear(g, x, transform, attrs["scale"], attrs["size"])
        if ordered is not None:
            return ordered
    if attrs["mode"] == MODES["nearest"] or x.dtype in INTERPOLATED:
        return g.add("resize", [x, *options], attrs)
    return g.cast(g.add("resize", [g.cast(x, DType.f32), *options], attrs), x.dtype)


def upsample(g: Builder, node: OnnxNode) -> Value:
    """Upsample."""
    x = node.value(0)
    mode = _choice(node, "mode", "nearest", {name: MODES[name] for name in ("nearest", "linear")})
    attrs = {"mode": mode, "transform": TRANSFORMS["asymmetric"], "nearest_mode": ROUNDINGS["floor"]}
    scales = g.const(np.array(node.reals("scales") or [], np.float32), "scales") if node.opset < 9 else node.value(1)
    if scales.data is None:
        return _resized(g, x, [None, g.of_length(scales, len(x.shape))], attrs)
    factors = [_checked_scale(float(scale)) for scale in scales.data.reshape(-1)]
    if len(factors) != len(x.shape):
        raise Reject(f"the scales {factors} do not fit an input of shape {x.shape}")
    return _resized(g, x, [], {**attrs, "scale": tuple(factors), "size": (-1,) * len(factors)})


ROWS: dict[str, Row] = {"Resize": resize, "Upsample": upsample}
