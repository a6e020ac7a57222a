"""Convolutions over three and transposed ones over one to three dimensions; see ``nnacl_kernels/volume/volume.h``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import OpDef, QuantRule, Sample, Tolerance, register, sampling
from .conv import CLAMP_ATTRS, INTEGER_ATTRS, finish_float, finish_integer, infer_weighted
from .quant_rules import Materialized, materialize_weighted
from .shape_rules import add_dims, multiply_dims, require, require_equal, static_shape, window_dim

Attrs = Mapping[str, Any]

WINDOW_ATTRS: dict[str, Any] = {
    "stride": (1, 1, 1),
    "pad_before": (0, 0, 0),
    "pad_after": (0, 0, 0),
    "dilation": (1, 1, 1),
}
"""Depth, height, width; the last entries count when there are fewer spatial dimensions."""

CONV_ATTRS: dict[str, Any] = {**WINDOW_ATTRS, "groups": 1, **CLAMP_ATTRS, **INTEGER_ATTRS}


def spatial_rank(node: Node) -> int:
    """The number of spatial dimensions of input 0, which has one to three; attributes of others must not be set."""
    rank = len(node.input(0).shape) - 2
    require(node, 1 <= rank <= 3, f"'{node.input(0).name}' needs one to three spatial dimensions")
    for name, default in WINDOW_ATTRS.items():
        values = tuple(node.attrs[name])
        require(node, len(values) == 3, f"{name} needs three entries")
        require(node, values[: 3 - rank] == default[: 3 - rank], f"{name} is set for a dimension that is not there")
    return rank


def per_axis(attrs: Attrs, rank: int) -> list[tuple[int, int, int, int]]:
    """(stride, pad_before, pad_after, dilation) of each spatial dimension."""
    columns = (attrs[name][3 - rank :] for name in ("stride", "pad_before", "pad_after", "dilation"))
    return list(zip(*columns, strict=True))


def windows(x: np.ndarray, kernel: Sequence[int], axes: Sequence[tuple[int, int, int, int]]) -> np.ndarray:
    """A view [batch, out.., channels, kernel..] of x [batch, spatial.., channels], which has its padding."""
    spans = tuple((k - 1) * dilation + 1 for k, (_, _, _, dilation) in zip(kernel, axes, strict=True))
    spatial = tuple(range(1, len(kernel) + 1))
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=spatial)
    steps = [slice(None, None, stride) for stride, _, _, _ in axes]
    taps = [slice(None, None, dilation) for _, _, _, dilation in axes]
    index = (slice(None), *steps, slice(None), *taps)
    return view[index]


# conv3d


def _infer_conv3d(node: Node) -> list[TensorType]:
    x = node.input(0)
    require(node, len(x.shape) == 5, f"'{x.name}' needs three spatial dimensions")
    require(node, x.dtype is DType.f32, f"'{x.name}' is {x.dtype.name}; f32 is needed")
    *kernel, depth, channels = static_shape(node, node.input(1))
    groups = node.attrs["groups"]
    require(node, len(kernel) == 3 and groups >= 1 and channels % groups == 0, f"{channels} channels, {groups} groups")
    require_equal(node, depth * groups, x.shape[4], "input channels by the weights")
    shape: list[Dim] = [x.shape[0]]
    for size, k, axis in zip(x.shape[1:4], kernel, per_axis(node.attrs, spatial_rank(node)), strict=True):
        stride, before, after, dilation = axis
        shape.append(window_dim(node, size, k, stride, before, after, dilation))
    return infer_weighted(node, (*shape, channels), channels)


def _reference_conv3d(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias = (*inputs, None)[:3]
    assert x is not None and weights is not None
    axes, groups, depth = per_axis(attrs, 3), attrs["groups"], weights.shape[3]
    padded = np.pad(x, ((0, 0), *((before, after) for _, before, after, _ in axes), (0, 0)))
    view = windows(padded, weights.shape[:3], axes)
    width = weights.shape[4] // groups
    parts = [
        np.einsum(
            "bzyxcijk,ijkco->bzyxo",
            view[:, :, :, :, g * depth : (g + 1) * depth],
            weights[..., g * width : (g + 1) * width],
        )
        for g in range(groups)
    ]
    return [finish_float(np.concatenate(parts, axis=-1), bias, attrs, x.dtype)]


def draw_window(rng: np.random.Generator, rank: int) -> tuple[list[int], dict[str, Any]]:
    """Kernel sizes and window attributes."""
    kernel = [sampling.size(rng, 1, 3) for _ in range(rank)]
    absent = 3 - rank
    attrs = {
        "stride": (1,) * absent + tuple(sampling.size(rng, 1, 3) for _ in range(rank)),
        "pad_before": (0,) * absent + tuple(int(rng.integers(k)) for k in kernel),
        "pad_after": (0,) * absent + tuple(int(rng.integers(k)) for k in kernel),
        "dilation": (1,) * absent + tuple(1 if rng.integers(3) else 2 for _ in range(rank)),
    }
    return kernel, attrs


def _sample_conv3d(rng: np.random.Generator) -> Sample:
    kernel, attrs = draw_window(rng, 3)
    groups = 1 if rng.integers(3) else 2
    depth, width = sampling.size(rng, 1, 4), sampling.size(rng, 1, 9)
    spatial = [(k - 1) * 2 + sampling.size(rng, 1, 4) for k in kernel]
    x = sampling.floats(rng, (sampling.size(rng, 1, 2), *spatial, depth * groups))
    weights = sampling.floats(rng, (*kernel, depth, width * groups), -1.0, 1.0)
    bias = sampling.floats(rng, (width * groups,)) if rng.integers(2) else None
    return Sample([x, weights, bias], {**attrs, "groups": groups, **sampling.clamp(rng)})


# conv_transpose


def _infer_conv_transpose(node: Node) -> list[TensorType]:
    x, rank = node.input(0), spatial_rank(node)
    *kernel, in_c, width = static_shape(node, node.input(1))
    groups = node.attrs["groups"]
    require(node, len(kernel) == rank, f"'{node.input(1).name}' has {len(kernel)} spatial dimensions, not {rank}")
    require(node, groups >= 1 and in_c % groups == 0, f"{in_c} input channels and {groups} groups")
    require(node, x.dtype is DType.f32 or groups == 1, "integers have one group")
    require_equal(node, in_c, x.shape[-1], "input channels by the weights")
    shape: list[Dim] = [x.shape[0]]
    for size, k, axis in zip(x.shape[1:-1], kernel, per_axis(node.attrs, rank), strict=True):
        shape.append(_transposed_dim(node, size, k, *axis))
    return infer_weighted(node, (*shape, width * groups), width * groups)


def _transposed_dim(node: Node, size: Dim, k: int, stride: int, before: int, after: int, dilation: int) -> Dim:
    require(node, k >= 1 and stride >= 1 and dilation >= 1, "kernel, stride and dilation must be at least 1")
    require(node, before >= 0, "pad_before must not be negative")
    more = (k - 1) * dilation + 1 - stride - before - after
    if isinstance(size, int):
        require(node, size * stride + more >= 1, f"the output of {size} elements would be empty")
    return add_dims(multiply_dims([size, stride]), more)


def transposed_sums(x: np.ndarray, weights: np.ndarray, attrs: Attrs) -> np.ndarray:
    """The sums of products [batch, out.., channels] of float arrays."""
    rank = x.ndim - 2
    *kernel, in_c, width = weights.shape
    axes, groups = per_axis(attrs, rank), attrs["groups"]
    full = [
        (size - 1) * stride + (k - 1) * dilation + 1 + max(-after, 0)
        for size, k, (stride, _, after, dilation) in zip(x.shape[1:-1], kernel, axes, strict=True)
    ]
    result = np.zeros((x.shape[0], *full, groups, width), x.dtype)
    grouped_x = x.reshape(*x.shape[:-1], groups, in_c // groups)
    for tap in itertools.product(*(range(k) for k in kernel)):
        product = np.einsum("...gi,gio->...go", grouped_x, weights[tap].reshape(groups, in_c // groups, width))
        place = [
            slice(k * dilation, k * dilation + (size - 1) * stride + 1, stride)
            for k, size, (stride, _, _, dilation) in zip(tap, x.shape[1:-1], axes, strict=True)
        ]
        index = (slice(None), *place)
        result[index] += product
    kept = [slice(before, size - max(after, 0)) for size, (_, before, after, _) in zip(full, axes, strict=True)]
    index = (slice(None), *kept)
    return result[index].reshape(x.shape[0], *(s.stop - s.start for s in kept), groups * width)


def _reference_conv_transpose(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, requant, w_zeros = (*inputs, None, None, None)[:5]
    assert x is not None and weights is not None
    if x.dtype.kind == "f":
        return [finish_float(transposed_sums(x, weights, attrs), bias, attrs, x.dtype)]
    assert requant is not None
    centred = x.astype(np.float64) - attrs["x_zero"]
    zeros = attrs["w_zero"] if w_zeros is None else w_zeros
    sums = transposed_sums(centred, weights.astype(np.float64) - zeros, attrs)
    return [finish_integer(sums, bias, requant, attrs, x.dtype)]


def _sample_conv_transpose(rng: np.random.Generator) -> Sample:
    rank = sampling.size(rng, 1, 3)
    kernel, attrs = draw_window(rng, rank)
    after = tuple(value if rng.integers(3) else -int(rng.integers(3)) for value in attrs["pad_after"][3 - rank :])
    attrs["pad_after"] = (0,) * (3 - rank) + after
    depth, width = sampling.size(rng, 1, 5), sampling.size(rng, 1, 9)
    shape = (sampling.size(rng, 1, 2), *(sampling.size(rng, 3, 5) for _ in range(rank)))
    if rng.integers(4) == 0:
        x = sampling.floats(rng, (*shape, depth * 2))
        weights = sampling.floats(rng, (*kernel, depth * 2, width), -1.0, 1.0)
        return Sample([x, weights, sampling.floats(rng, (width * 2,))], {**attrs, "groups": 2, **sampling.clamp(rng)})
    x = sampling.floats(rng, (*shape, depth))
    weights = sampling.floats(rng, (*kernel, depth, width), -1.0, 1.0)
    if rng.integers(2):
        return Sample([x, weights], {**attrs, **sampling.clamp(rng)})
    return _integer_sample(rng, shape, [*kernel, depth, width], attrs)


def _integer_sample(
    rng: np.random.Generator, shape: tuple[int, ...], weight_shape: Sequence[int], attrs: dict[str, Any]
) -> Sample:
    *kernel, depth, width = weight_shape
    rounding = sampling.weighted_rounding(rng)
    dtype: type = np.int8 if rng.integers(2) else np.int16
    factor = 1.0 if dtype is np.int8 else 256.0
    spread = 74.0 * 74.0 * factor * math.sqrt(depth * math.prod(kernel))
    bias_type: type = np.int64 if dtype is np.int16 and rng.integers(2) else np.int32
    inputs = [
        sampling.integers(rng, (*shape, depth), dtype),
        sampling.integers(rng, tuple(weight_shape), low=-127),
        rng.integers(-int(2 * spread), int(2 * spread), width, bias_type) if rng.integers(3) else None,
        sampling.requant_input(rng, width, spread / factor, rounding),
    ]
    if rng.integers(4) == 0:
        inputs.append(rng.integers(-128, 128, width, dtype=np.int32))
    zeros = {name: sampling.zero_point(rng) for name in ("x_zero", "w_zero", "y_zero")}
    return Sample(inputs, {**attrs, **zeros, "rounding": rounding, **sampling.integer_clamp(rng, dtype)})


def _materialize_transposed(node: Node, contract: str) -> Materialized:
    """As for conv2d, with the output channels along the last axis of the weights."""
    return materialize_weighted(len(node.input(1).shape) - 1)(node, contract)


register(
    OpDef(
        name="conv3d",
        inputs=("x", "weights", "bias?"),
        infer=_infer_conv3d,
        reference=_reference_conv3d,
        samples=_sample_conv3d,
        attrs=CONV_ATTRS,
        tolerance=Tolerance(1e-5, 1e-5),
        doc="3-D convolution with groups and dilation, bias and a fused clamp.",
    ),
    OpDef(
        name="conv_transpose",
        inputs=("x", "weights", "bias?", "requant?", "w_zeros?"),
        infer=_infer_conv_transpose,
        reference=_reference_conv_transpose,
        samples=_sample_conv_transpose,
        attrs=CONV_ATTRS,
        quant=QuantRule(weight_axis=-1, materialize=_materialize_transposed),
        tolerance=Tolerance(1e-5, 1e-5),
        doc="Transposed convolution over one to three dimensions, bias and a fused clamp.",
    ),
)
