"""Operators of QONNX, which Brevitas, QKeras and FINN write: quantization of any number of bits, on real numbers.

Their definition: github.com/fastmachinelearning/qonnx, docs/qonnx-custom-ops. A Quant takes real numbers to the nearest
ones that a few integers stand for. Where these are at most 16 bits wide and one scale holds for the whole tensor, it
becomes quantize and dequantize, from which the pass ``integer_ops`` makes integer ops; constants are computed, and
remember from which integers. All else stays arithmetic on real numbers, which gives the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...dtypes import DType
from ...ir import Dim, Value
from ...numerics import FLOAT_EVEN
from . import onnx_conv, onnx_norm, onnx_pool
from .onnx_graph import Builder, OnnxNode, Reject, Row
from .onnx_integer import as_operator, only
from .onnx_math import clipped, linear
from .onnx_quant import decoded, parameters_of

DOMAINS = ("onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general")
"""The names under which these operators have been written over the years."""

CHANNELS_LAST = "qonnx.custom_op.channels_last"

MOST_BITS = 32
"""Wider ones cannot be told from real numbers in single precision."""


def quant(g: Builder, node: OnnxNode) -> Value:
    """Quant, called IntQuant in newer versions: round(clip(x / scale + zero point)), then back to real numbers."""
    x, scale, zero = node.value(0), node.value(1), node.value(2)
    bits = _bits(node, 3)
    signed, narrow = node.integer("signed", 1) != 0, node.integer("narrow", 0) != 0
    mode = node.text("rounding_mode", "ROUND").upper()
    low, high = _limits(bits, signed, narrow)
    if mode == "ROUND" and (pair := _integers(g, x, scale, zero, bits, signed, (low, high))) is not None:
        return pair
    y = g.add("add", [g.add("div", [x, scale]), zero])
    y = _rounded(g, clipped(g, y, low, high), mode)
    return g.add("mul", [g.add("sub", [y, zero]), scale])


def _bits(node: OnnxNode, index: int) -> int:
    data = node.array(index, "the number of bits")
    bits = float(data.reshape(-1)[0]) if data.size == 1 else 0.0
    if bits != int(bits) or not 1 <= bits <= MOST_BITS:
        raise Reject(
            f"the number of bits is {data.reshape(-1)[:4].tolist()}, expected one whole number up to {MOST_BITS}"
        )
    return int(bits)


def _limits(bits: int, signed: bool, narrow: bool) -> tuple[int, int]:
    """The least and the largest integer."""
    if signed:
        return -(1 << (bits - 1)) + narrow, (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1 - narrow


def _integers(
    g: Builder, x: Value, scale: Value, zero: Value, bits: int, signed: bool, limits: tuple[int, int]
) -> Value | None:
    """The result by way of integers of 8 or 16 bits; None where it cannot be had so."""
    if scale.data is None or zero.data is None or bits > 16 or not np.all(zero.data == np.round(zero.data)):
        return None
    if not np.all(np.isfinite(scale.data)) or np.any(scale.data <= 0):
        return None
    wide = bits > 8
    dtype = (DType.s16 if wide else DType.s8) if signed else (DType.u16 if wide else DType.u8)
    info = np.iinfo(dtype.numpy)
    if np.any(zero.data < info.min) or np.any(zero.data > info.max):
        return None
    if x.data is not None:
        return None if wide else _constant(g, x.data, scale.data, zero.data, dtype, limits)
    if scale.data.size != 1 or zero.data.size != 1:
        return None
    known = parameters_of(scale.data, zero.data.astype(np.int64), -1)
    if limits != (info.min, info.max):
        point, step = int(known.zero_point[0]), known.scale[0]
        low, high = (float(np.float32(edge - point) * step) for edge in limits)
        x = clipped(g, x, low, high)
    attrs = {"to": dtype.value, "rounding": FLOAT_EVEN}
    return g.add("dequantize", [g.add("quantize", [x], attrs, quant=known)])


def _constant(
    g: Builder, data: np.ndarray, scale: np.ndarray, zero: np.ndarray, dtype: DType, limits: tuple[int, int]
) -> Value | None:
    """Constant numbers, rounded to what integers stand for, which they remember; None for scales of several axes."""
    axes = [axis for axis, size in enumerate(scale.shape) if size != 1]
    shaped = scale.ndim in (0, data.ndim) or scale.size == 1
    if len(axes) > 1 or not shaped or zero.size not in (1, scale.size):
        return None
    exact = data.astype(np.float32) / scale.astype(np.float32) + zero.astype(np.float32)
    whole = np.round(np.clip(exact, *limits)).astype(dtype.numpy)
    points = np.broadcast_to(zero.reshape(-1), scale.size).astype(np.int64)
    return decoded(g, whole.reshape(data.shape), parameters_of(scale, points, axes[0] if axes else -1))


def _rounded(g: Builder, x: Value, mode: str) -> Value:
    """x rounded in one of the ways that QONNX names."""

    def number(of: float) -> Value:
        return g.const(np.float32(of))

    def by_size(rounded: Callable[[Value], Value]) -> Value:
        """Of the absolute value, with the sign of x."""
        return g.add("mul", [rounded(g.add("abs", [x])), g.add("sign", [x])])

    if mode in ("ROUND", "HALF_EVEN"):
        return g.add("round", [x])
    if mode == "CEIL":
        return g.add("ceil", [x])
    if mode == "FLOOR":
        return g.add("floor", [x])
    if mode == "UP":
        return by_size(lambda size: g.add("ceil", [size]))
    if mode == "DOWN":
        return by_size(lambda size: g.add("floor", [size]))
    if mode == "HALF_UP":
        return by_size(lambda size: g.add("floor", [g.add("add", [size, number(0.5)])]))
    if mode == "HALF_DOWN":
        return by_size(lambda size: g.add("ceil", [g.add("sub", [size, number(0.5)])]))
    raise Reject(f"attribute 'rounding_mode' is '{mode}'", certain=True)


def bipolar_quant(g: Builder, node: OnnxNode) -> Value:
    """BipolarQuant: the scale where x is not below zero, else minus the scale."""
    x, scale = node.value(0), node.value(1)
    if x.data is not None and scale.data is not None and scale.data.size == 1 and scale.data.reshape(-1)[0] > 0:
        signs = np.where(x.data >= 0, 1, -1).astype(np.int8)
        return decoded(g, signs, parameters_of(scale.data, None, -1))
    positive = g.add("greater_equal", [x, g.const(np.float32(0))])
    one, minus = g.const(np.float32(1)), g.const(np.float32(-1))
    return g.add("mul", [g.add("where", [positive, one, minus]), scale])


def trunc(g: Builder, node: OnnxNode) -> Value:
    """Trunc of version 1: drops the lowest bits of the integer that x stands for, and keeps the scale."""
    if len(node.entries) != 5:
        raise Reject(
            "this version of Trunc is not supported", "export with version 1, which has no scale of the output"
        )
    x, scale, zero = node.value(0), node.value(1), node.value(2)
    step = g.const(np.float32(2.0 ** (_bits(node, 3) - _bits(node, 4))))
    y = g.add("round", [g.add("add", [g.add("div", [x, scale]), zero])])
    y = _rounded(g, g.add("div", [y, step]), node.text("rounding_mode", "FLOOR").upper())
    return g.add("mul", [g.add("sub", [y, zero]), scale])


def multi_threshold(g: Builder, node: OnnxNode) -> Value:
    """MultiThreshold: how many of the thresholds of its channel x reaches, times a scale, plus a bias."""
    x, thresholds = node.value(0), node.value(1)
    node.ignore("out_dtype")
    if len(thresholds.shape) != 2 or len(x.shape) < 2:
        raise Reject(f"the thresholds have shape {thresholds.shape} for an input of shape {x.shape}")
    last = node.text("data_layout", "NCHW").endswith("C") and len(x.shape) > 2
    axis = len(x.shape) - 1 if last else 1
    channels, count = thresholds.shape
    if channels not in (1, x.shape[axis]):
        raise Reject(f"thresholds of {channels} channels do not fit {x.shape[axis]} channels")
    shape: list[Dim | None] = [1] * (len(x.shape) + 1)
    shape[axis], shape[-1] = channels, count
    spread = g.add("unsqueeze", [x], {"axes": 1 << len(x.shape)})
    reached = g.cast(g.add("greater_equal", [spread, g.reshape(thresholds, shape)]), DType.f32)
    y = g.add("reduce_sum", [reached], {"axes": 1 << len(x.shape), "keep_dims": 0})
    return linear(g, y, node.real("out_scale", 1.0), node.real("out_bias", 0.0))


def float_quant(g: Builder, node: OnnxNode) -> Value:
    """FloatQuant, of real numbers of few bits."""
    raise Reject("real numbers of few bits are not supported", "quantize to integers, with IntQuant", certain=True)


def _channels_last(row: Row, weights: int) -> Row:
    """An operator of ONNX whose input and first ``weights`` weights have their channels behind all else."""

    def wrapped(g: Builder, node: OnnxNode) -> Value:
        x = node.value(0)
        rank = len(x.shape)
        if rank < 3:
            raise Reject(f"input of shape {x.shape} has no spatial dimensions")
        first = (0, rank - 1, *range(1, rank - 1))
        moved = [g.transpose(node.value(index), first) for index in range(1 + weights)]
        inner = as_operator(node, node.op, [*moved, *node.entries[1 + weights :]])
        y = only(row(g, inner))
        inner.check_all_read()
        return g.transpose(y, (0, *range(2, rank), 1))

    wrapped.__doc__ = f"{row.__doc__} Channels come last."
    return wrapped


_OF_ALL_DOMAINS: dict[str, Row] = {
    "BipolarQuant": bipolar_quant,
    "FloatQuant": float_quant,
    "IntQuant": quant,
    "MultiThreshold": multi_threshold,
    "Quant": quant,
    "Trunc": trunc,
}

ROWS: dict[tuple[str, str], Row] = {
    **{(domain, name): row for domain in DOMAINS for name, row in _OF_ALL_DOMAINS.items()},
    (CHANNELS_LAST, "BatchNormalization"): _channels_last(onnx_norm.ROWS["BatchNormalization"], 0),
    (CHANNELS_LAST, "Conv"): _channels_last(onnx_conv.ROWS["Conv"], 1),
    (CHANNELS_LAST, "MaxPool"): _channels_last(onnx_pool.ROWS["MaxPool"], 0),
}
