"""Two-dimensional pooling; arithmetic in ``nnacl_kernels/pool/pool.h``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Node, TensorType
from . import EXACT, HALF, OpDef, QuantRule, Sample, Tolerance, register, sampling
from .conv import CLAMP_ATTRS, WINDOW_ATTRS
from .quant_rules import materialize_pool
from .shape_rules import require, require_dtype, require_rank, window_dim

Attrs = Mapping[str, Any]

_ATTRS: dict[str, Any] = {
    "kernel_h": 0,
    "kernel_w": 0,
    **WINDOW_ATTRS,
    "extra_bottom": 0,
    "extra_right": 0,
    "count_include_pad": 0,
    **CLAMP_ATTRS,
    "q_min": -128,
    "q_max": 127,
    "x_zero": 0,
    "halves_up": 0,
    "y_zero": 0,
    "scale": 1.0,
    "rounding": 0,
}


def _infer(node: Node) -> list[TensorType]:
    attrs = node.attrs
    unsigned = (DType.u8,) if node.op == "max_pool2d" else ()
    dtype = require_dtype(node, node.input(0), DType.f32, DType.f16, DType.s8, DType.s16, *unsigned)
    batch, in_h, in_w, channels = require_rank(node, node.input(0), 4)
    if attrs["kernel_h"] == 0 or attrs["kernel_w"] == 0:
        require(node, attrs["kernel_h"] == attrs["kernel_w"], "global pooling has both kernel sizes 0")
        return [TensorType(dtype, (batch, 1, 1, channels))]
    out_h = window_dim(
        node,
        in_h,
        attrs["kernel_h"],
        attrs["stride_h"],
        attrs["pad_top"],
        attrs["pad_bottom"],
        attrs["dilation_h"],
        attrs["extra_bottom"],
    )
    out_w = window_dim(
        node,
        in_w,
        attrs["kernel_w"],
        attrs["stride_w"],
        attrs["pad_left"],
        attrs["pad_right"],
        attrs["dilation_w"],
        attrs["extra_right"],
    )
    return [TensorType(dtype, (batch, out_h, out_w, channels))]


def _pool_windows(plane: np.ndarray, outside: float, attrs: Attrs) -> np.ndarray:
    """Windows [n, out_h, out_w, c, kernel_h, kernel_w] over ``plane``, which has its explicit padding already."""
    if attrs["kernel_h"] == 0:
        return plane.transpose(0, 3, 1, 2)[:, None, None]
    extra = ((0, 0), (0, attrs["extra_bottom"]), (0, attrs["extra_right"]), (0, 0))
    span_h = (attrs["kernel_h"] - 1) * attrs["dilation_h"] + 1
    span_w = (attrs["kernel_w"] - 1) * attrs["dilation_w"] + 1
    full = np.pad(plane, extra, constant_values=outside)
    windows = np.lib.stride_tricks.sliding_window_view(full, (span_h, span_w), axis=(1, 2))
    strided = windows[:, :: attrs["stride_h"], :: attrs["stride_w"]]
    return strided[..., :: attrs["dilation_h"], :: attrs["dilation_w"]]


def _explicit_padding(attrs: Attrs) -> tuple[tuple[int, int], ...]:
    if attrs["kernel_h"] == 0:
        return ((0, 0), (0, 0), (0, 0), (0, 0))
    return ((0, 0), (attrs["pad_top"], attrs["pad_bottom"]), (attrs["pad_left"], attrs["pad_right"]), (0, 0))


def _clamp(y: np.ndarray, attrs: Attrs, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "f":
        return np.clip(y, np.float32(attrs["clamp_min"]), np.float32(attrs["clamp_max"])).astype(dtype)
    return np.clip(y, attrs["q_min"], attrs["q_max"]).astype(dtype)


def _reference_max(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    padded = np.pad(x, _explicit_padding(attrs), constant_values=lowest)
    return [_clamp(_pool_windows(padded, lowest, attrs).max(axis=(4, 5)), attrs, x.dtype)]


def _reference_avg(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    padding = _explicit_padding(attrs)
    integer = x.dtype.kind != "f"
    numbers = x.astype(np.int64) if integer else x.astype(np.float64)
    filler = attrs["x_zero"] if integer and attrs["count_include_pad"] else 0
    total = _pool_windows(np.pad(numbers, padding, constant_values=filler), 0, attrs).sum(axis=(4, 5))
    counted = np.pad(
        np.ones((1, *x.shape[1:3], 1), np.int64), padding, constant_values=1 if attrs["count_include_pad"] else 0
    )
    inside = _pool_windows(counted, 0, attrs).sum(axis=(4, 5))
    count = np.maximum(inside, 1)
    if not integer:
        return [_clamp(total / count, attrs, x.dtype)]
    if attrs["rounding"] == numerics.FLOAT_EVEN:
        centred = np.where(inside > 0, total - inside * attrs["x_zero"], 0)
        real = centred.astype(np.float32) * np.float32(attrs["scale"]) / count.astype(np.float32)
        rounded = np.rint(real.astype(np.float64)).astype(np.int64) + attrs["y_zero"]
        return [_clamp(rounded, attrs, x.dtype)]
    half = count // 2
    if attrs["halves_up"]:
        mean = (total + half) // count
    else:
        mean = np.sign(total) * ((np.abs(total) + half) // count)
    return [_clamp(np.where(inside > 0, mean, attrs["x_zero"]), attrs, x.dtype)]


def _samples(average: bool) -> Callable[[np.random.Generator], Sample]:
    def draw(rng: np.random.Generator) -> Sample:
        kernel_h, kernel_w = sampling.size(rng, 1, 4), sampling.size(rng, 1, 4)
        attrs: dict[str, Any] = {"kernel_h": kernel_h, "kernel_w": kernel_w}
        attrs |= {"stride_h": sampling.size(rng, 1, 3), "stride_w": sampling.size(rng, 1, 3)}
        attrs |= {name: int(rng.integers(kernel_h)) for name in ("pad_top", "pad_bottom")}
        attrs |= {name: int(rng.integers(kernel_w)) for name in ("pad_left", "pad_right")}
        attrs["extra_bottom"] = int(rng.integers(attrs["stride_h"])) if rng.integers(3) == 0 else 0
        height, width = kernel_h + sampling.size(rng, 0, 6), kernel_w + sampling.size(rng, 0, 6)
        if rng.integers(6) == 0:
            attrs = {}
        if average:
            attrs["count_include_pad"] = int(rng.integers(2))
        shape = (sampling.size(rng, 1, 2), height, width, sampling.size(rng, 1, 19))
        if attrs.get("extra_bottom", 0) and not _last_window_starts_inside(height, attrs):
            attrs["extra_bottom"] = 0
        if rng.integers(2):
            return sampling.halved(Sample([sampling.floats(rng, shape)], {**attrs, **sampling.clamp(rng)}), rng)
        dtype = (np.int16, np.int8, np.int8 if average else np.uint8)[int(rng.integers(3))]
        if average:
            attrs |= {"x_zero": sampling.zero_point(rng), "y_zero": sampling.zero_point(rng)}
            attrs |= {"halves_up": int(rng.integers(2)), "rounding": sampling.rounding(rng)}
            attrs["scale"] = float(np.float32(2.0 ** rng.uniform(-1, 1))) if rng.integers(2) else 1.0
        return Sample([sampling.integers(rng, shape, dtype)], {**attrs, **sampling.integer_clamp(rng, dtype)})

    return draw


def _last_window_starts_inside(height: int, attrs: Attrs) -> bool:
    covered = height + attrs["pad_top"] + attrs["pad_bottom"] + attrs["extra_bottom"] - attrs["kernel_h"]
    start = covered // attrs["stride_h"] * attrs["stride_h"]
    return bool(start < height + attrs["pad_top"])


register(
    OpDef(
        name="max_pool2d",
        inputs=("x",),
        infer=_infer,
        reference=_reference_max,
        samples=_samples(average=False),
        attrs=_ATTRS,
        quant=QuantRule("same", materialize=materialize_pool),
        tolerance=EXACT,
        doc="The largest element under each window.",
    ),
    OpDef(
        name="avg_pool2d",
        inputs=("x",),
        infer=_infer,
        reference=_reference_avg,
        samples=_samples(average=True),
        attrs=_ATTRS,
        quant=QuantRule("same", materialize=materialize_pool),
        tolerance=Tolerance(1e-6, 1e-6),
        half=HALF,
        doc="The mean under each window.",
    ),
)
