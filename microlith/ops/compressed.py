"""Layers whose weights stay small; arithmetic and layout in ``nnacl_kernels/quant/quant.h``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType, Value
from . import REQUIRED, OpDef, Sample, Tolerance, get, register, sampling
from .conv import CLAMP_ATTRS, INTEGER_ATTRS, WINDOW_ATTRS, conv_sample, convolve, finish_float, finish_integer
from .dense import dense_sample
from .shape_rules import require, require_dtype, require_rank, window_dim

Attrs = Mapping[str, Any]

STORED = {1: DType.u8, 2: DType.u8, 4: DType.u8, 8: DType.s8, 16: DType.f16}
"""The element type that holds weights of so many bits."""

PACKED = (1, 2, 4)
"""Bits of weights of which several share a byte."""

BFLOAT_WEIGHTS, BFLOAT_PRODUCTS = 1, 2
"""Attribute ``bfloat``: the weights of 16 bits are bfloat16, in u16; so is x while it is multiplied."""

COMPRESSED_OPS = ("conv2d_compressed", "dense_compressed")


def weight_bits(node: Node) -> int | None:
    """Bits of each weight of a node with constant weights; None for others."""
    weights = _weights_of(node)
    return None if weights is None else int(node.attrs.get("bits", 8 * weights.dtype.size))


def weight_count(node: Node) -> int:
    """How many weights the constant weights of a node are, however they are packed; 0 for others."""
    weights = _weights_of(node)
    if weights is None:
        return 0
    if node.op not in COMPRESSED_OPS or node.attrs["bits"] not in PACKED:
        return weights.type.count
    window = 1 if node.op == "dense_compressed" else node.attrs["kernel_h"] * node.attrs["kernel_w"]
    channels = node.input(0).shape[-1]
    return int(weights.shape[0]) * window * (int(channels) // int(node.attrs.get("groups", 1)))


def _weights_of(node: Node) -> Value | None:
    names = [name.rstrip("?*") for name in get(node.op).inputs]
    value = node.optional_input(names.index("weights")) if "weights" in names else None
    return value if value is not None and value.is_constant else None


def packed_width(bits: int, depth: int) -> int:
    """Elements of a row of ``depth`` weights."""
    return -(-depth * bits // 8) if bits in PACKED else depth


def to_bfloat(values: np.ndarray) -> np.ndarray:
    """float32 as the bits of bfloat16, u16: the nearest, ties to even; subnormal numbers become zero."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    quiet = (bits >> np.uint32(16)).astype(np.uint16) | np.uint16(0x40)
    rounded = np.where(magnitude > 0x7F800000, quiet, rounded)
    return np.where(magnitude < 0x00800000, rounded & np.uint16(0x8000), rounded).astype(np.uint16)


def from_bfloat(bits: np.ndarray) -> np.ndarray:
    """The numbers, float32, that bits of bfloat16 (u16) stand for; subnormal ones are zero."""
    flushed = np.where(bits & np.uint16(0x7F80), bits, bits & np.uint16(0x8000))
    return (flushed.astype(np.uint32) << np.uint32(16)).view(np.float32)


def pack_codes(codes: np.ndarray, bits: int) -> np.ndarray:
    """Codes from 0 to 2^bits - 1, [rows, depth], as bytes u8 [rows, ceil(depth * bits / 8)], the first code lowest."""
    each = 8 // bits
    wide = np.pad(codes.astype(np.uint8), ((0, 0), (0, -codes.shape[1] % each)))
    shifts = (np.arange(each) * bits).astype(np.uint8)
    return np.bitwise_or.reduce(wide.reshape(len(codes), -1, each) << shifts, axis=2).astype(np.uint8)


def unpack_codes(packed: np.ndarray, bits: int, depth: int) -> np.ndarray:
    """The codes, u8 [rows, depth], of rows of bytes."""
    shifts = (np.arange(8 // bits) * bits).astype(np.uint8)
    codes = (packed[:, :, None] >> shifts) & np.uint8((1 << bits) - 1)
    return np.asarray(codes.reshape(len(packed), -1)[:, :depth])


def pack_rows(integers: np.ndarray) -> np.ndarray:
    """Integers from -8 to 7, [rows, depth], as bytes u8 [rows, ceil(depth / 2)]: plus 8, the first in the low half."""
    return pack_codes(integers.astype(np.int64) + 8, 4)


def decode_integers(weights: np.ndarray, attrs: Attrs, depth: int) -> np.ndarray:
    """int32 [rows, depth]."""
    if attrs["bits"] not in PACKED:
        return weights.astype(np.int32)
    offset, step = (attrs["offset"], attrs["step"]) if attrs.get("step") else (-8, 1)
    return offset + step * unpack_codes(weights, attrs["bits"], depth).astype(np.int32)


def decode_rows(weights: np.ndarray, scales: np.ndarray | None, attrs: Attrs, depth: int) -> np.ndarray:
    """float32 [rows, depth]."""
    if attrs["bits"] == 16:
        return from_bfloat(weights) if attrs.get("bfloat") else weights.astype(np.float32)
    assert scales is not None
    integers = decode_integers(weights, attrs, depth).astype(np.float32)
    group = attrs["group"] or depth
    return integers * np.repeat(scales, group, axis=1)[:, :depth]


def _factor(x: np.ndarray, attrs: Attrs) -> np.ndarray:
    """What of x is multiplied, float64."""
    if attrs.get("bfloat") == BFLOAT_PRODUCTS:
        x = from_bfloat(to_bfloat(x))
    return x.astype(np.float64)


def _check(node: Node, channels: int, depth: int) -> DType:
    """The type of the result."""
    bits, offset, step = (node.attrs[name] for name in ("bits", "offset", "step"))
    require(node, bits in STORED, f"weights have {bits} bits; 1, 2, 4, 8 or 16 are known")
    coded = bits in PACKED and 1 <= step <= 256 and abs(offset) <= 256
    require(node, coded or (step == offset == 0 and bits >= 4), f"{bits} bits with offset {offset} and step {step}")
    bfloat = node.attrs["bfloat"]
    require(node, bfloat in (0, 1, 2) and (bits == 16 or not bfloat), f"{bits} bits with bfloat {bfloat}")
    weights, bias, scales = node.input(1), node.optional_input(2), node.optional_input(3)
    dtype = require_dtype(node, node.input(0), DType.f32, DType.s8)
    require_dtype(node, weights, DType.u16 if bfloat else STORED[bits])
    width = packed_width(bits, depth)
    require(node, weights.shape == (channels, width), f"weights are {weights.type}; [{channels},{width}] is needed")
    if bias is not None:
        require_dtype(node, bias, DType.s32 if dtype is DType.s8 else DType.f32)
        require(node, bias.shape == (channels,), f"bias '{bias.name}' is {bias.type}; [{channels}] is needed")
    if dtype is DType.s8:
        _check_integers(node, channels)
    elif bits == 16:
        require(node, scales is None, "weights of 16 bits have no scales")
    else:
        group = node.attrs["group"]
        require(node, group >= 0, "group must not be negative")
        wanted = (channels, -(-depth // (group or depth)))
        fits = scales is not None and scales.dtype is DType.f32 and scales.shape == wanted
        require(node, fits, f"scales must be f32 {list(wanted)}")
    return dtype


def _check_integers(node: Node, channels: int) -> None:
    bits, requant = node.attrs["bits"], node.optional_input(3)
    require(node, bits in PACKED, f"with x of s8 weights have 1, 2 or 4 bits, not {bits}")
    require(node, node.attrs["group"] == 0, "with x of s8 there are no groups")
    require(node, requant is not None, "with x of s8 requant is needed")
    if requant is not None:
        expected = (channels,) if requant.dtype is DType.f32 else (2, channels)
        require(node, requant.shape == expected, f"requant is {requant.type}; {list(expected)} is needed")


def _infer_dense(node: Node) -> list[TensorType]:
    x = node.input(0)
    require(node, len(x.shape) >= 1, "x is a scalar")
    (units, width) = require_rank(node, node.input(1), 2)
    depth = x.shape[-1] if isinstance(x.shape[-1], int) or node.attrs["bits"] != 8 else width
    require(node, isinstance(depth, int), "the last dimension of x must be known")
    return [TensorType(_check(node, int(units), int(depth)), (*x.shape[:-1], units))]


def _infer_conv(node: Node) -> list[TensorType]:
    attrs = node.attrs
    batch, in_h, in_w, in_c = require_rank(node, node.input(0), 4)
    channels, _ = require_rank(node, node.input(1), 2)
    require(node, isinstance(in_c, int), "the number of input channels must be known")
    groups, kernel_h, kernel_w = attrs["groups"], attrs["kernel_h"], attrs["kernel_w"]
    divides = groups >= 1 and int(in_c) % groups == 0 and int(channels) % groups == 0
    require(node, divides, "groups does not divide the input or the output channels")
    dtype = _check(node, int(channels), kernel_h * kernel_w * (int(in_c) // groups))
    sizes: list[Dim] = [
        window_dim(node, in_h, kernel_h, attrs["stride_h"], attrs["pad_top"], attrs["pad_bottom"], attrs["dilation_h"]),
        window_dim(node, in_w, kernel_w, attrs["stride_w"], attrs["pad_left"], attrs["pad_right"], attrs["dilation_w"]),
    ]
    return [TensorType(dtype, (batch, *sizes, channels))]


def _reference_dense(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, scales = (*inputs, None, None)[:4]
    assert x is not None and weights is not None
    if x.dtype == np.int8:
        assert scales is not None
        integers = decode_integers(weights, attrs, x.shape[-1])
        total = (x.astype(np.float64) - attrs["x_zero"]) @ integers.astype(np.float64).T
        return [finish_integer(total, bias, scales, attrs, x.dtype)]
    decoded = decode_rows(weights, scales, attrs, x.shape[-1])
    acc = _factor(x, attrs) @ decoded.astype(np.float64).T
    return [finish_float(acc.astype(x.dtype), bias, attrs, x.dtype)]


def _reference_conv(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, weights, bias, scales = (*inputs, None, None)[:4]
    assert x is not None and weights is not None
    shape = (len(weights), attrs["kernel_h"], attrs["kernel_w"], x.shape[3] // attrs["groups"])
    depth = shape[1] * shape[2] * shape[3]
    if x.dtype == np.int8:
        assert scales is not None
        integers = decode_integers(weights, attrs, depth).astype(np.float64).reshape(shape)
        total = convolve(x.astype(np.float64) - attrs["x_zero"], integers, attrs)
        return [finish_integer(total, bias, scales, attrs, x.dtype)]
    decoded = decode_rows(weights, scales, attrs, depth).reshape(shape)
    acc = convolve(_factor(x, attrs), decoded.astype(np.float64), attrs)
    return [finish_float(acc.astype(x.dtype), bias, attrs, x.dtype)]


def _sample(rng: np.random.Generator, x: np.ndarray, rows: int, depth: int, attrs: dict[str, Any]) -> Sample:
    """Draws weights, bias and scales for x, of real numbers or integers, and the attributes that go with them."""
    bits = int(rng.choice([1, 2, 4, 8, 16]))
    codes = rng.integers(0, 2**bits, (rows, depth)) if bits in PACKED else None
    coding: dict[str, Any] = {"bits": bits}
    if bits < 4 or (bits == 4 and rng.integers(2)):
        coding |= {"offset": int(rng.integers(-128, 128)), "step": int(rng.choice([1, 2, 17, 255]))}
    if codes is not None and rng.integers(2):
        return _integer_sample(rng, x.shape, pack_codes(codes, bits), {**attrs, **coding}, depth)
    coding["group"] = int(rng.choice([0, 1, 3, 8, 32]))
    attrs = {**attrs, **coding, **sampling.clamp(rng)}
    bias = sampling.floats(rng, (rows,)) if rng.integers(2) else None
    if bits == 16:
        weights = rng.standard_normal((rows, depth))
        bfloat = int(rng.integers(3))
        stored = to_bfloat(weights.astype(np.float32)) if bfloat else weights.astype(np.float16)
        return Sample([x, stored, bias], {**attrs, "bfloat": bfloat})
    scales = sampling.floats(rng, (rows, -(-depth // (coding["group"] or depth))), 0.0005, 0.005)
    stored = sampling.integers(rng, (rows, depth)) if codes is None else pack_codes(codes, bits)
    return Sample([x, stored, bias, scales], attrs)


def _integer_sample(
    rng: np.random.Generator, shape: tuple[int, ...], stored: np.ndarray, attrs: dict[str, Any], depth: int
) -> Sample:
    channels, rounding = len(stored), sampling.weighted_rounding(rng)
    typical = np.abs(decode_integers(stored, {"offset": 0, "step": 0, **attrs}, depth)).mean() + 1.0
    spread = 74.0 * float(typical) * math.sqrt(depth)
    limit = int(2 * spread)
    bias = rng.integers(-limit, limit, channels, np.int32) if rng.integers(3) else None
    attrs |= {"x_zero": sampling.zero_point(rng), "y_zero": sampling.zero_point(rng), "rounding": rounding}
    requant = sampling.requant_input(rng, channels, spread, rounding)
    inputs = [sampling.integers(rng, shape, np.int8), stored, bias, requant]
    return Sample(inputs, {**attrs, **sampling.integer_clamp(rng)})


def _sample_dense(rng: np.random.Generator) -> Sample:
    x, weights = dense_sample(rng)
    return _sample(rng, x, weights.shape[0], weights.shape[1], {})


def _sample_conv(rng: np.random.Generator) -> Sample:
    x, weights, attrs = conv_sample(rng, depthwise=False)
    rows, kernel_h, kernel_w, channels = weights.shape
    attrs |= {"kernel_h": kernel_h, "kernel_w": kernel_w}
    return _sample(rng, x, rows, kernel_h * kernel_w * channels, attrs)


_STORAGE = {
    "bits": REQUIRED,
    "group": 0,
    "offset": 0,
    "step": 0,
    "bfloat": 0,
    **{name: default for name, default in INTEGER_ATTRS.items() if name != "w_zero"},
}

register(
    OpDef(
        name="conv2d_compressed",
        inputs=("x", "weights", "bias?", "scales?"),
        infer=_infer_conv,
        reference=_reference_conv,
        samples=_sample_conv,
        attrs={**WINDOW_ATTRS, "groups": 1, "kernel_h": REQUIRED, "kernel_w": REQUIRED, **CLAMP_ATTRS, **_STORAGE},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="conv2d with weights of 1, 2, 4, 8 or 16 bits, which are decoded while it runs.",
    ),
    OpDef(
        name="dense_compressed",
        inputs=("x", "weights", "bias?", "scales?"),
        infer=_infer_dense,
        reference=_reference_dense,
        samples=_sample_dense,
        attrs={**CLAMP_ATTRS, **_STORAGE},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="dense with weights of 1, 2, 4, 8 or 16 bits, which are decoded while it runs.",
    ),
)
