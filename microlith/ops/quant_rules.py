"""Materializers: from the ``quant`` of the values around a node to the integer constants that its kernel takes.

The precision of each product follows the source that defines the contract: under ``tflite-double`` the preparation
functions of LiteRT's built-in kernels, some of which multiply scales in float32; under ``float-even`` ONNX Runtime,
which works in float32; under ``single`` everything is float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Node, Value
from .curves import softmax_curves
from .shape_rules import fail

Materialized = tuple[dict[str, Any], dict[int, np.ndarray]]

NO_CLAMP: dict[str, Any] = {"clamp_min": -math.inf, "clamp_max": math.inf}


def tensor_quant(node: Node, value: Value) -> tuple[np.float32, int]:
    """Scale and zero point of a value that must be quantized per tensor."""
    if value.quant is None:
        fail(node, f"'{value.name}' is {value.dtype.name} but has no quantization")
    if value.quant.scale.size != 1:
        fail(node, f"'{value.name}' must have one scale for the whole tensor")
    return np.float32(value.quant.scale.reshape(-1)[0]), int(value.quant.zero_point.reshape(-1)[0])


def output_range(node: Node, contract: str) -> dict[str, Any]:
    """q_min and q_max of output 0, from its type and the clamp attributes; the real clamp becomes unlimited."""
    scale, zero_point = tensor_quant(node, node.outputs[0])
    low, high = numerics.clamp_to_integers(
        node.attrs.get("clamp_min", -math.inf),
        node.attrs.get("clamp_max", math.inf),
        float(scale),
        zero_point,
        node.outputs[0].dtype.numpy,
        numerics.CONTRACTS[contract],
    )
    return {"q_min": low, "q_max": high, **(NO_CLAMP if "clamp_min" in node.attrs else {})}


def channel_scales(node: Node, value: Value, channels: int, axis: int) -> np.ndarray:
    """float32 [channels]: the scales of weights, which must be per tensor or along ``axis``."""
    quant = value.quant
    if quant is None:
        fail(node, f"'{value.name}' is {value.dtype.name} but has no quantization")
    if quant.scale.size not in (1, channels) or (quant.scale.size > 1 and quant.axis != axis):
        fail(node, f"'{value.name}' has {quant.scale.size} scales along axis {quant.axis}; {channels} along {axis} fit")
    return np.broadcast_to(quant.scale.astype(np.float32), (channels,))


def weighted_requant(
    x_scale: np.float32, w_scales: np.ndarray, y_scale: np.float32, contract: str, float32_product: bool = False
) -> np.ndarray:
    """The ``requant`` input of conv2d and dense: s32 [2, c], or f32 [c] under float-even.

    ``float32_product``: x_scale * w_scale is rounded to float32 first, as LiteRT does for a fully connected layer with
    one weight scale and for uint8 models.
    """
    if contract == "float-even":
        return (x_scale * w_scales.astype(np.float32) / y_scale).astype(np.float32)
    if float32_product and contract == "tflite-double":
        products = (x_scale * w_scales.astype(np.float32)).astype(np.float64)
    else:
        products = np.float64(x_scale) * w_scales.astype(np.float64)
    return numerics.quantize_multipliers(products / np.float64(y_scale))


def _weighted(
    node: Node, contract: str, axis: int, float32_product: bool = False, tflite_rounding: int = numerics.TFLITE_UP
) -> Materialized:
    x, weights, y = node.input(0), node.input(1), node.output
    x_scale, x_zero = tensor_quant(node, x)
    y_scale, y_zero = tensor_quant(node, y)
    channels = weights.type.static_shape[axis]
    w_scales = channel_scales(node, weights, channels, axis)
    assert weights.quant is not None
    zeros = weights.quant.zero_point
    several = np.unique(zeros).size > 1
    requant = weighted_requant(x_scale, w_scales, y_scale, contract, float32_product and weights.quant.scale.size == 1)
    if x.dtype is DType.s16 and tflite_rounding != numerics.TFLITE_DOUBLE:
        tflite_rounding = _rounding_s16(node)
    # An importer may have set one of the rules that refine tflite-double; another contract overrides it.
    refined = node.attrs["rounding"] in (numerics.TFLITE_UP, numerics.TFLITE_UP_BY_8)
    tflite_rounding = node.attrs["rounding"] if refined else tflite_rounding
    attrs = {
        "x_zero": x_zero,
        "w_zero": 0 if several else int(zeros[0]),
        "y_zero": y_zero,
        "rounding": tflite_rounding if contract == "tflite-double" else numerics.CONTRACTS[contract],
        **output_range(node, contract),
    }
    return attrs, {3: requant, 4: zeros.astype(np.int32)} if several else {3: requant}


def _rounding_s16(node: Node) -> int:
    """How LiteRT rounds products of 16-bit activations. With a bias of 32 bits as its matrix products of 8 bits; else
    fully connected layers by a product of real numbers, which ``single`` is next to, and convolutions in their own way.
    """
    bias = node.optional_input(2)
    if bias is not None and bias.dtype is DType.s32:
        return numerics.TFLITE_UP
    return numerics.SINGLE if node.op == "dense" else numerics.TFLITE_DOUBLE


def materialize_weighted(axis: int) -> Callable[[Node, str], Materialized]:
    """For a convolution whose output channels are ``axis`` of its weights."""

    def materialize(node: Node, contract: str) -> Materialized:
        # LiteRT gives convolutions in groups to its reference kernel, the others to ruy.
        rounding = numerics.TFLITE_DOUBLE if node.attrs.get("groups", 1) > 1 else numerics.TFLITE_UP
        return _weighted(node, contract, axis, float32_product=_from_uint8(node), tflite_rounding=rounding)

    return materialize


def _from_uint8(node: Node) -> bool:
    """Whether weights have a zero point, as only those of uint8 models do, which LiteRT prepares in another way."""
    quant = node.input(1).quant
    return quant is not None and bool(np.any(quant.zero_point))


def materialize_depthwise(node: Node, contract: str) -> Materialized:
    """For depthwise_conv2d."""
    unsigned = _from_uint8(node)
    rounding = numerics.TFLITE_DOUBLE if unsigned else numerics.TFLITE_UP_BY_8
    return _weighted(node, contract, 3, float32_product=unsigned, tflite_rounding=rounding)


def materialize_dense(node: Node, contract: str) -> Materialized:
    """For dense."""
    return _weighted(node, contract, 0, float32_product=True)


def materialize_matmul(node: Node, contract: str) -> Materialized:
    """For matmul of two quantized operands."""
    (a_scale, a_zero), (b_scale, b_zero) = (tensor_quant(node, node.input(i)) for i in (0, 1))
    y_scale, y_zero = tensor_quant(node, node.output)
    is_tflite = contract == "tflite-double"
    attrs: dict[str, Any] = {
        "a_zero": a_zero,
        "b_zero": b_zero,
        "y_zero": y_zero,
        # LiteRT multiplies the scales in float32.
        **_factor("", (float(a_scale * b_scale) if is_tflite else float(a_scale) * float(b_scale)) / float(y_scale)),
        "scale": float(a_scale * b_scale / y_scale),
        "rounding": numerics.CONTRACTS[contract],
        **output_range(node, contract),
    }
    return attrs, {}


def materialize_pool(node: Node, contract: str) -> Materialized:
    """For pooling, whose result has the quantization of x (scales as near as LiteRT wants them)."""
    x_scale, x_zero = tensor_quant(node, node.input(0))
    y_scale, y_zero = tensor_quant(node, node.output)
    if contract == "float-even" and node.op == "avg_pool2d":
        attrs = {"x_zero": x_zero, "y_zero": y_zero, "scale": float(x_scale / y_scale)}
        return {**attrs, "rounding": numerics.FLOAT_EVEN, **output_range(node, contract)}, {}
    if abs(float(x_scale) - float(y_scale)) > 1e-6 or x_zero != y_zero:
        fail(node, f"'{node.output.name}' must be quantized as '{node.input(0).name}' is")
    return {"x_zero": x_zero, **output_range(node, contract)}, {}


def _factor(prefix: str, real: float) -> dict[str, Any]:
    multiplier, shift = numerics.quantize_multiplier(real)
    return {f"{prefix}mult": multiplier, f"{prefix}shift": shift}


def materialize_sum(node: Node, contract: str) -> Materialized:
    """For add and sub: both operands shifted left and brought to twice the larger scale."""
    (a_scale, a_zero), (b_scale, b_zero) = (tensor_quant(node, node.input(i)) for i in (0, 1))
    y_scale, y_zero = tensor_quant(node, node.output)
    left_shift = 15 if node.output.dtype is DType.s16 else 20
    twice_max = 2.0 * float(max(a_scale, b_scale))
    attrs: dict[str, Any] = {
        "a_zero": a_zero,
        "b_zero": b_zero,
        "y_zero": y_zero,
        "left_shift": left_shift,
        **_factor("a_", float(a_scale) / twice_max),
        **_factor("b_", float(b_scale) / twice_max),
        **_factor("y_", twice_max / ((1 << left_shift) * float(y_scale))),
        "a_scale": float(a_scale),
        "b_scale": float(b_scale),
        "y_scale": float(y_scale),
        "rounding": numerics.CONTRACTS[contract],
        **output_range(node, contract),
    }
    if contract == "tflite-double" and node.attrs["rounding"] == numerics.TFLITE_DOWN:
        attrs["rounding"] = numerics.TFLITE_DOWN
    elif contract == "tflite-double" and node.op == "add" and _is_vector_sum(node):
        # The vector code of LiteRT shifts the operands before it multiplies, so that they are rounded once.
        lowest = min(attrs["a_shift"], attrs["b_shift"])
        if -left_shift <= lowest < 0:
            attrs |= {"left_shift": left_shift + lowest}
            attrs |= {name: attrs[name] - lowest for name in ("a_shift", "b_shift")}
    return attrs, {}


def _is_vector_sum(node: Node) -> bool:
    """Whether LiteRT adds whole vectors of 16 elements: int8 of equal shapes. Those past them round alike here."""
    a, b = node.input(0), node.input(1)
    return node.output.dtype is DType.s8 and a.shape == b.shape and (not a.type.is_static or a.type.count >= 16)


def materialize_mul(node: Node, contract: str) -> Materialized:
    """For mul."""
    (a_scale, a_zero), (b_scale, b_zero) = (tensor_quant(node, node.input(i)) for i in (0, 1))
    y_scale, y_zero = tensor_quant(node, node.output)
    if contract == "tflite-double":
        real = float(a_scale * b_scale / y_scale)
    else:
        real = float(a_scale) * float(b_scale) / float(y_scale)
    attrs: dict[str, Any] = {
        "a_zero": a_zero,
        "b_zero": b_zero,
        "y_zero": y_zero,
        **_factor("y_", real),
        "a_scale": float(a_scale),
        "b_scale": float(b_scale),
        "y_scale": float(y_scale),
        "rounding": numerics.CONTRACTS[contract],
        **output_range(node, contract),
    }
    return attrs, {}


def materialize_div(node: Node, contract: str) -> Materialized:
    """For div."""
    attrs, constants = materialize_mul(node, contract)
    wide = np.float32 if contract == "tflite-double" else np.float64
    a_scale, b_scale, y_scale = (wide(attrs[name]) for name in ("a_scale", "b_scale", "y_scale"))
    return {**attrs, **_factor("y_", float(a_scale / (b_scale * y_scale)))}, constants


def materialize_prelu(node: Node, contract: str) -> Materialized:
    """For prelu: one factor for positive elements, one for products."""
    attrs, constants = materialize_mul(node, contract)
    wide = np.float32 if contract == "tflite-double" else np.float64
    a_scale, b_scale, y_scale = (wide(attrs[name]) for name in ("a_scale", "b_scale", "y_scale"))
    factors = {**_factor("a_", float(a_scale / y_scale)), **_factor("y_", float(a_scale * b_scale / y_scale))}
    return {**attrs, **factors}, constants


def materialize_softmax(node: Node, contract: str) -> Materialized:
    """For softmax and log_softmax: the table of exponentials, or the curves of 16-bit numbers."""
    x_scale, _ = tensor_quant(node, node.input(0))
    if node.input(0).dtype is DType.s16:
        attrs = _factor("", float(x_scale) * float(node.attrs["beta"]) / (10.0 / 65535.0))
        if node.op == "log_softmax":
            y_scale, y_zero = tensor_quant(node, node.output)
            attrs |= {"x_scale": float(x_scale), "y_scale": float(y_scale), "y_zero": y_zero}
        return attrs, {1: softmax_curves()}
    scale = np.float32(-x_scale) * np.float32(node.attrs["beta"])
    distance = np.arange(255, -1, -1, dtype=np.float32)
    table = np.exp((scale * distance).astype(np.float64)).astype(np.float32)
    y_scale, y_zero = tensor_quant(node, node.output)
    bytes_attrs = {"y_scale": float(y_scale), "y_zero": y_zero, "rounding": numerics.CONTRACTS[contract]}
    return bytes_attrs | ({"x_scale": float(x_scale)} if node.op == "log_softmax" else {}), {1: table}


def materialize_layer_norm(node: Node, contract: str) -> Materialized:
    """For layer_norm, whose scale and bias stay in floating point."""
    x_scale, _ = tensor_quant(node, node.input(0))
    y_scale, y_zero = tensor_quant(node, node.output)
    rounding = numerics.CONTRACTS[contract]
    return {"x_scale": float(x_scale), "y_scale": float(y_scale), "y_zero": y_zero, "rounding": rounding}, {}


def materialize_l2_norm(node: Node, contract: str) -> Materialized:
    """For l2_norm, whose results are always in 128ths."""
    return {"x_zero": tensor_quant(node, node.input(0))[1]}, {}


def materialize_mean(node: Node, contract: str) -> Materialized:
    """For reduce_mean, where the divisor becomes part of the multiplier, and reduce_sum.

    A node that has its multiplier already keeps it: importers set it where another kernel did the rounding.
    """
    if node.attrs["mult"]:
        return {}, {}
    x_scale, x_zero = tensor_quant(node, node.input(0))
    y_scale, y_zero = tensor_quant(node, node.output)
    shape = node.input(0).shape
    axes = [axis for axis in range(len(shape)) if node.attrs["axes"] >> axis & 1]
    count = 1
    for axis in axes if node.op == "reduce_mean" else ():
        dim = shape[axis]
        if not isinstance(dim, int):
            fail(node, f"the size '{dim}' that integers are averaged over must be known")
        count *= dim
    attrs: dict[str, Any] = {
        "x_zero": x_zero,
        "y_zero": y_zero,
        "scale": float(x_scale / y_scale / np.float32(count)),
        "rounding": numerics.CONTRACTS[contract],
        **output_range(node, contract),
    }
    is_bytes = node.input(0).dtype is DType.s8
    pools = is_bytes and (
        node.op == "reduce_mean"
        and node.input(0).dtype is DType.s8
        and len(shape) == 4
        and axes == [1, 2]
        and node.attrs["keep_dims"]
    )
    if contract == "tflite-double" and node.op == "reduce_sum":
        # LiteRT rounds the real sum once, halves away from zero.
        attrs |= {"rounding": numerics.TFLITE_DOWN, **_factor("", float(x_scale) / float(y_scale))}
    elif contract == "tflite-double" and pools:
        # The specialized kernel of LiteRT sums without the zero point, which it takes off the result instead. It takes
        # halves up in whole groups of 16 channels; the importer gives it these and the channels past them apart.
        elements = np.float32(count)
        offset = np.float32(x_zero) * x_scale / y_scale
        offset = offset + np.float32(0.5) if offset > 0 else offset - np.float32(0.5)
        attrs |= {"x_zero": 0, "y_zero": y_zero - math.trunc(float(offset))}
        attrs["rounding"] = numerics.TFLITE_UP if shape[3] % 16 == 0 else numerics.TFLITE_DOUBLE
        attrs |= _factor("", float(x_scale / (elements * y_scale)))
    elif contract == "tflite-double":
        multiplier, shift = numerics.quantize_multiplier(float(x_scale) / float(y_scale))
        bits = min(count.bit_length() - 1, 32, 31 + shift)
        attrs |= {"mult": (multiplier << bits) // count, "shift": shift - bits}
    else:
        attrs |= _factor("", float(x_scale) / float(y_scale) / count)
    return attrs, {}


def materialize_quantize(node: Node, contract: str) -> Materialized:
    """For quantize. An importer sets the rounding of an integer operator that LiteRT computes in floating point."""
    scale, zero_point = tensor_quant(node, node.output)
    rounding = numerics.CONTRACTS[contract]
    if contract == "tflite-double":
        rounding = node.attrs["rounding"] or numerics.TFLITE_UP_BY_8
    return {"scale": float(scale), "zero": zero_point, "rounding": rounding}, {}


def materialize_dequantize(node: Node, contract: str) -> Materialized:
    """For dequantize, per tensor or per channel."""
    x = node.input(0)
    if x.quant is not None and x.quant.scale.size > 1:
        assert x.quant.axis is not None
        constants = {1: x.quant.scale.astype(np.float32)}
        if np.any(x.quant.zero_point):
            constants[2] = x.quant.zero_point.astype(np.int32)
        return {"axis": x.quant.axis}, constants
    scale, zero_point = tensor_quant(node, x)
    return {"scale": float(scale), "zero": zero_point, "axis": -1}, {}


def materialize_requantize(node: Node, contract: str) -> Materialized:
    """For requantize. LiteRT takes halves up in whole groups of 16 bytes; a smaller rest follows them here.

    The input may be a sum without a scale, as a step of an operator; then the importer has set the constants.
    """
    if node.input(0).quant is None:
        return {}, {}
    x_scale, x_zero = tensor_quant(node, node.input(0))
    y_scale, y_zero = tensor_quant(node, node.output)
    shape = node.output.shape
    bytes_only = node.input(0).dtype.size == node.output.dtype.size == 1
    count = math.prod(dim if isinstance(dim, int) else 16 for dim in shape)
    is_vector = contract == "tflite-double" and bytes_only and count >= 16
    attrs = {
        "x_zero": x_zero,
        "y_zero": y_zero,
        **_factor("", float(x_scale) / float(y_scale)),
        "scale": float(x_scale / y_scale),
        "rounding": numerics.TFLITE_UP if is_vector else numerics.CONTRACTS[contract],
        **output_range(node, contract),
    }
    return attrs, {}


def materialize_pad(node: Node, contract: str) -> Materialized:
    """For pad: a real zero is the zero point."""
    if node.attrs["mode"] != 0 or node.optional_input(1) is not None:
        return {}, {}
    _, zero_point = tensor_quant(node, node.input(0))
    return {}, {1: np.array([zero_point], node.input(0).dtype.numpy)}
