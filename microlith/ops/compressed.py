"""Layers of real numbers whose weights stay small; arithmetic and layout in ``nnacl_kernels/quant/quant.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import REQUIRED, OpDef, Sample, Tolerance, register, sampling
from .conv import CLAMP_ATTRS, WINDOW_ATTRS, conv_sample, convolve, finish_float
from .dense import dense_sample
from .shape_rules import require, require_dtype, require_rank, window_dim

Attrs = Mapping[str, Any]

STORED = {4: DType.u8, 8: DType.s8, 16: DType.f16}
"""The element type that holds weights of so many bits."""


def pack_rows(integers: np.ndarray) -> np.ndarray:
    """Integers from -8 to 7, [rows, depth], as bytes u8 [rows, ceil(depth / 2)]: plus 8, the first in the low half."""
    shifted = (integers.astype(np.int64) + 8).astype(np.uint8)
    if shifted.shape[1] % 2:
        shifted = np.pad(shifted, ((0, 0), (0, 1)))
    low, high = shifted[:, ::2], shifted[:, 1::2]
    return np.ascontiguousarray(low | high << 4)


def decode_rows(weights: np.ndarray, scales: np.ndarray | None, attrs: Attrs, depth: int) -> np.ndarray:
    """float32 [rows, depth]."""
    if attrs["bits"] == 16:
        return weights.astype(np.float32)
    assert scales is not None
    integers = weights.astype(np.float32)
    if attrs["bits"] == 4:
        halves = np.stack([weights & 15, weights >> 4], axis=-1).reshape(len(weights), -1)[:, :depth]
        integers = halves.astype(np.float32) - np.float32(8)
    group = attrs["group"] or depth
    return integers * np.repeat(scales, group, axis=1)[:, :depth]


def _check(node: Node, channels: int, depth: int) -> None:
    bits, group = node.attrs["bits"], node.attrs["group"]
    require(node, bits in STORED, f"weights have {bits} bits; 4, 8 or 16 are known")
    weights, bias, scales = node.input(1), node.optional_input(2), node.optional_input(3)
    require_dtype(node, node.input(0), DType.f32)
    require_dtype(node, weights, STORED[bits])
    width = (depth + 1) // 2 if bits == 4 else depth
    require(node, weights.shape == (channels, width), f"weights are {weights.type}; [{channels},{width}] is needed")
    if bias is not None:
        require(node, bias.shape == (channels,), f"bias '{bias.name}' is {bias.type}; [{channels}] is needed")
    if bits == 16:
        require(node, scales is None, "weights of 16 bits have no scales")
        return
    require(node, group >= 0, "group must not be negative")
    wanted = (channels, -(-depth // (group or depth)))
    fits = scales is not None and scales.dtype is DType.f32 and scales.shape == wanted
    require(node, fits, f"scales must be f32 {list(wanted)}")


def _infer_dense(node: Node) -> list[TensorType]:
    x = node.input(0)
    require(node, len(x.shape) >= 1 and isinstance(x.shape[-1], int), "the last dimension of x must be known")
    (units, _) = require_rank(node, node.input(1), 2)
    _check(node, int(units), int(x.shape[-1]))
    return [TensorType(DType.f32, (*x.shape[:-1], units))]


def _infer_conv(node: Node) -> list[TensorType]:
    attrs = node.attrs
    batch, in_h, in_w, in_c = require_rank(node, node.input(0), 4)
    channels, _ = require_rank(node, node.input(1), 2)
    require(node, isinstance(in_c, int), "the number of input channels must be known")
    groups, kernel_h, kernel_w = attrs["groups"], attrs["kernel_h"], attrs["kernel_w"]
    divides = groups >= 1 and int(in_c) % groups == 0 and int(channels) % groups == 0
    require(node, divides, "groups does not divide the input or the output channels")
    _check(node, int(channels), kernel_h * kernel_w * (int(in_c) // groups))
    sizes: list[Dim] = [
        window_dim(node, in_h, kernel_h, attrs["stride_h"], attrs["pad_top"], attrs["pad_bottom"], attrs["dilation_h"]),
        window_dim(node, in_w, kernel_w, attrs["stride_w"], attrs["pad_left"], attrs["pad_right"], attrs["dilation_w"]),
    ]
    return [TensorType(DType.f32, (batch, *sizes, channels))]


def _reference_dense(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, scales = (*inputs, None, None)[:4]
    assert x is not None and weights is not None
    decoded = decode_rows(weights, scales, attrs, x.shape[-1])
    acc = x.astype(np.float64) @ decoded.astype(np.float64).T
    return [finish_float(acc.astype(x.dtype), bias, attrs, x.dtype)]


def _reference_conv(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, scales = (*inputs, None, None)[:4]
    assert x is not None and weights is not None
    shape = (len(weights), attrs["kernel_h"], attrs["kernel_w"], x.shape[3] // attrs["groups"])
    decoded = decode_rows(weights, scales, attrs, shape[1] * shape[2] * shape[3]).reshape(shape)
    acc = convolve(x.astype(np.float64), decoded.astype(np.float64), attrs)
    return [finish_float(acc.astype(x.dtype), bias, attrs, x.dtype)]


def _draw(rng: np.random.Generator, rows: int, depth: int) -> tuple[list[np.ndarray | None], dict[str, Any]]:
    """Weights, bias and scales, and the attributes that say how they are stored."""
    bits, group = int(rng.choice([4, 8, 16])), int(rng.choice([0, 1, 3, 8, 32]))
    bias = sampling.floats(rng, (rows,)) if rng.integers(2) else None
    if bits == 16:
        return [rng.standard_normal((rows, depth)).astype(np.float16), bias], {"bits": bits, "group": group}
    scales = sampling.floats(rng, (rows, -(-depth // (group or depth))), 0.001, 0.02)
    limit = 2 ** (bits - 1)
    integers = rng.integers(-limit, limit, (rows, depth)).astype(np.int8)
    return [pack_rows(integers) if bits == 4 else integers, bias, scales], {"bits": bits, "group": group}


def _sample_dense(rng: np.random.Generator) -> Sample:
    x, weights = dense_sample(rng)
    constants, attrs = _draw(rng, *weights.shape)
    return Sample([x, *constants], {**attrs, **sampling.clamp(rng)})


def _sample_conv(rng: np.random.Generator) -> Sample:
    x, weights, attrs = conv_sample(rng, depthwise=False)
    rows, kernel_h, kernel_w, channels = weights.shape
    constants, stored = _draw(rng, rows, kernel_h * kernel_w * channels)
    return Sample(
        [x, *constants], {**attrs, **stored, "kernel_h": kernel_h, "kernel_w": kernel_w, **sampling.clamp(rng)}
    )


_STORAGE = {"bits": REQUIRED, "group": 0}

register(
    OpDef(
        name="conv2d_compressed",
        inputs=("x", "weights", "bias?", "scales?"),
        infer=_infer_conv,
        reference=_reference_conv,
        samples=_sample_conv,
        attrs={**WINDOW_ATTRS, "groups": 1, "kernel_h": REQUIRED, "kernel_w": REQUIRED, **CLAMP_ATTRS, **_STORAGE},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="conv2d of real numbers with weights of 4, 8 or 16 bits, which are decoded while it runs.",
    ),
    OpDef(
        name="dense_compressed",
        inputs=("x", "weights", "bias?", "scales?"),
        infer=_infer_dense,
        reference=_reference_dense,
        samples=_sample_dense,
        attrs={**CLAMP_ATTRS, **_STORAGE},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="dense of real numbers with weights of 4, 8 or 16 bits, which are decoded while it runs.",
    ),
)
