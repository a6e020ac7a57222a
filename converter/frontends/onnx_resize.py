"""ONNX Resize and Upsample, one axis after the other: each output element is a weighted sum of a few input elements.

Nearest neighbours are a repetition where the factor is whole and a gather elsewhere; linear and cubic interpolation
are sums of gathers times constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ...ir import Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_math import checked_axis
from .onnx_shapes import broadcast, cut

ROUNDINGS: dict[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}
"""Attribute nearest_mode."""


Taps = list[tuple[int, float]]
"""Input elements and their weights."""

Sampler = Callable[[float, int], Taps]
"""The taps for a place between the elements of an axis of some length."""


def _nearest(rounding: Callable[[float], int]) -> Sampler:
    def sample(place: float, length: int) -> Taps:
        return [(_clamped(rounding(place), length), 1.0)]

    return sample


def _linear(place: float, length: int) -> Taps:
    inside = min(max(place, 0.0), length - 1.0)
    low = math.floor(inside)
    return [(low, 1.0 - (inside - low)), (_clamped(low + 1, length), inside - low)]


def _cubic(a: float, exclude_outside: bool) -> Sampler:
    def weight(distance: float) -> float:
        d = abs(distance)
        if d <= 1:
            return ((a + 2) * d - (a + 3)) * d * d + 1
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    def sample(place: float, length: int) -> Taps:
        low = math.floor(place)
        taps = [(index, weight(place - index)) for index in range(low - 1, low + 3)]
        if exclude_outside:
            taps = [(index, part if 0 <= index < length else 0.0) for index, part in taps]
            total = sum(part for _, part in taps)
            taps = [(index, part / total) for index, part in taps]
        return [(_clamped(index, length), part) for index, part in taps]

    return sample


def _clamped(index: int, length: int) -> int:
    return min(max(index, 0), length - 1)


def resize(g: Builder, node: OnnxNode) -> Value:
    """Resize in the modes nearest, linear and cubic, without antialiasing."""
    x = node.value(0)
    first = 1 if node.opset == 10 else 2
    scales = node.optional_array(first, "input 'scales'")
    given_axes = node.integers("axes")
    axes = range(len(x.shape)) if given_axes is None else [checked_axis(a, len(x.shape), "an axis") for a in given_axes]
    if scales is not None and scales.size:
        factors = [float(scale) for scale in scales.reshape(-1)]
        sizes = None
    elif node.has(3):
        factors, sizes = None, node.vector(3, "input 'sizes'")
    else:
        raise Reject("has neither scales nor sizes")
    if len(factors if factors is not None else sizes or ()) != len(axes):
        raise Reject(f"scales or sizes do not fit {len(axes)} axes")
    transform = "asymmetric" if node.opset == 10 else node.text("coordinate_transformation_mode", "half_pixel")
    node.ignore("extrapolation_value", "keep_aspect_ratio_policy")
    if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise Reject("attribute 'keep_aspect_ratio_policy' is not 'stretch'")
    sampler = _sampler(node)
    for position, axis in enumerate(axes):
        scale = None if factors is None else factors[position]
        size = None if sizes is None else sizes[position]
        x = _resize_axis(g, x, axis, scale, size, transform, sampler)
    return x


def _sampler(node: OnnxNode) -> Sampler:
    mode = node.text("mode", "nearest")
    node.ignore("nearest_mode", "cubic_coeff_a", "exclude_outside", "antialias")
    if mode == "nearest":
        rounding = "floor" if node.opset == 10 else node.text("nearest_mode", "round_prefer_floor")
        if rounding not in ROUNDINGS:
            raise Reject(f"attribute 'nearest_mode' is '{rounding}'")
        return _nearest(ROUNDINGS[rounding])
    if node.integer("antialias", 0):
        raise Reject("attribute 'antialias' is not supported")
    if mode == "linear":
        return _linear
    if mode == "cubic":
        return _cubic(node.real("cubic_coeff_a", -0.75), bool(node.integer("exclude_outside", 0)))
    raise Reject(f"attribute 'mode' is '{mode}'")


def upsample(g: Builder, node: OnnxNode) -> Value:
    """Upsample, the operator that Resize took the place of."""
    x = node.value(0)
    mode = node.text("mode", "nearest")
    if mode not in ("nearest", "linear"):
        raise Reject(f"attribute 'mode' is '{mode}'")
    scales = node.reals("scales") if node.opset < 9 else node.array(1, "input 'scales'").reshape(-1).tolist()
    if scales is None or len(scales) != len(x.shape):
        raise Reject(f"the scales do not fit an input of shape {x.shape}")
    sampler = _nearest(math.floor) if mode == "nearest" else _linear
    for axis, scale in enumerate(scales):
        x = _resize_axis(g, x, axis, float(scale), None, "asymmetric", sampler)
    return x


def _resize_axis(
    g: Builder, x: Value, axis: int, scale: float | None, size: int | None, transform: str, sampler: Sampler
) -> Value:
    """One axis scaled by ``scale``, or to ``size``."""
    length = x.shape[axis]
    if scale == 1.0 or (size is not None and size == length):
        return x
    if isinstance(length, str):
        raise Reject(f"the size '{length}' of dimension {axis} must be known", FIX_SIZES)
    if scale is not None and not 0 < scale < 1e4:
        raise Reject(f"the scale {scale} is not sensible")
    count = math.floor(length * scale) if scale is not None else int(size or 0)
    if not 1 <= count <= 1 << 20:
        raise Reject(f"the new size of dimension {axis} is {count}")
    factor = scale if scale is not None else count / length
    taps = [sampler(_place(i, factor, length, count, transform), length) for i in range(count)]
    if len(taps[0]) == 1:
        return picked(g, x, axis, [index for ((index, _),) in taps])
    return _weighted_sum(g, x, axis, taps)


def _weighted_sum(g: Builder, x: Value, axis: int, taps: Sequence[Taps]) -> Value:
    shape = (-1, *[1] * (len(x.shape) - axis - 1))
    total: Value | None = None
    for column in zip(*taps, strict=True):
        part = g.add("gather", [x, g.const(np.array([index for index, _ in column]), "indices")], {"axis": axis})
        weights = np.array([weight for _, weight in column], np.float32).reshape(shape)
        part = g.add("mul", [part, g.const(weights, "weights")])
        total = part if total is None else g.add("add", [total, part])
    assert total is not None
    return total


def _place(i: int, scale: float, length: int, count: int, transform: str) -> float:
    """Where output element ``i`` lies among the input elements, in the float32 steps of ONNX Runtime."""
    half, step = np.float32(0.5), np.float32(scale)
    pixel = (np.float32(i) + half) / step - half
    if transform == "half_pixel":
        place = pixel
    elif transform == "half_pixel_symmetric":
        adjusted = np.float32(count) / (step * np.float32(length))
        place = np.float32(length) / 2 * (1 - adjusted) + pixel
    elif transform == "asymmetric":
        place = np.float32(i) / step
    elif transform == "align_corners":
        place = np.float32(i * (length - 1)) / np.float32(count - 1) if count > 1 else np.float32(0)
    elif transform == "pytorch_half_pixel":
        place = pixel if count > 1 else np.float32(0)
    elif transform == "tf_half_pixel_for_nn":
        place = (np.float32(i) + half) / step
    else:
        raise Reject(f"attribute 'coordinate_transformation_mode' is '{transform}'")
    return float(place)


def picked(g: Builder, x: Value, axis: int, indices: Sequence[int]) -> Value:
    """The elements of ``x`` at some places along one axis."""
    length = x.shape[axis]
    assert isinstance(length, int)
    repeats = len(indices) // length
    if list(indices) == [place // max(repeats, 1) for place in range(length * repeats)]:
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        if x.type.is_static and len(x.shape) < 8:
            y = g.reshape(x, (*before, length, 1, *after))
            grown = [dim for dim in (*before, length, repeats, *after) if isinstance(dim, int)]
            return g.reshape(broadcast(g, y, grown), (*before, length * repeats, *after))
    steps = {after - before for before, after in pairwise(indices)}
    if len(steps) == 1 and (step := steps.pop()) != 0:
        return cut(g, x, {axis: (indices[0], len(indices), step)})
    return g.add("gather", [x, g.const(np.asarray(indices, np.int64), "indices")], {"axis": axis})


ROWS: dict[str, Row] = {"Resize": resize, "Upsample": upsample}
