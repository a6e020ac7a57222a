"""SVDF: dense layers whose last results are remembered and weighed. Their memory is a variable."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Quant, Value
from microlith.numerics import quantize_multiplier

from .tflite_data import part
from .tflite_graph import Row, TfliteNode, fused_clamp, require

_FEATURES, _TIMES, _BIAS, _STATE = 1, 2, 3, 4


def svdf(node: TfliteNode) -> Value:
    """In float, with weights of 8 bits (used as real numbers), and in int8 with a memory of int16 or int8."""
    options, x = node.options("SVDFOptions"), node.value(0)
    features, times = node.value(_FEATURES), node.value(_TIMES)
    require(features.is_constant and times.is_constant, "the weights must be constant")
    require(
        len(x.shape) == len(features.shape) == len(times.shape) == 2, "the input and the weights need two dimensions"
    )
    rank, filters = options.Rank(), features.type.static_shape[0]
    require(rank >= 1 and filters % rank == 0, f"{filters} filters of rank {rank}")
    if x.dtype is DType.s8:
        return _integer(node, x, rank)
    require(x.dtype is DType.f32, f"{x.dtype.name} is not supported")
    return _float(node, x, rank, options.FusedActivationFunction())


def _float(node: TfliteNode, x: Value, rank: int, activation: int) -> Value:
    clamp, features, times = fused_clamp(activation), _real(node.value(_FEATURES)), _real(node.value(_TIMES))
    batch, (filters, memory) = x.type.static_shape[0], times.shape
    state = node.variable(_STATE)
    found = node.add("dense", [x, node.const(features, suffix="features"), None])
    old = node.reshape(state, (batch, filters, memory))
    parts = [part(node, old, 2, 1, memory - 1), node.reshape(found, (batch, filters, 1))]
    new = node.add("concat", parts, {"axis": 2}) if memory > 1 else parts[1]
    node.assign(_STATE, node.reshape(new, state.type.static_shape))
    weighed = node.reshape(node.add("mul", [new, node.const(times, suffix="times")]), (batch, filters // rank, -1))
    y = node.add("reduce_sum", [weighed], {"axes": 0b100, "keep_dims": 0})
    bias = node.optional(_BIAS) or node.const(np.zeros(filters // rank, np.float32), suffix="bias")
    return node.add("add", [y, bias], clamp)


def _real(value: Value) -> np.ndarray:
    """The real numbers of a constant."""
    assert value.data is not None
    if value.dtype is DType.f32:
        return value.data
    quant = value.quant
    require(value.dtype is DType.s8 and quant is not None, f"weights of {value.dtype.name} are not supported")
    assert quant is not None
    require(quant.is_per_tensor and not quant.zero_point.any(), "weights need one scale and no zero point")
    return value.data.astype(np.float32) * quant.scale[0]


def _integer(node: TfliteNode, x: Value, rank: int) -> Value:
    features, times, state = node.value(_FEATURES), node.value(_TIMES), node.variable(_STATE)
    types = features.dtype, times.dtype, state.dtype
    if types == (DType.s8, DType.s8, DType.s8):
        return _bytes(node, x, rank)
    known = types == (DType.s8, DType.s16, DType.s16)
    require(known, "weights and memory must be int8, int16 and int16, or all of them int8")
    y_quant = node.output_quant()
    state_mult, state_shift = quantize_multiplier(_scale(x.quant) * _scale(features.quant) / _scale(state.quant))
    y_mult, y_shift = quantize_multiplier(_scale(state.quant) * _scale(times.quant) / _scale(y_quant))
    attrs = {
        "rank": rank,
        "x_zero": _zero(x.quant),
        "y_zero": _zero(y_quant),
        "state_mult": state_mult,
        "state_shift": state_shift,
        "y_mult": y_mult,
        "y_shift": y_shift,
    }
    inputs = [x, features, times, node.optional(_BIAS), state]
    y, memory = node.add_all("svdf", inputs, attrs, quants=[y_quant, state.quant])
    node.assign(_STATE, memory)
    return y


def _bytes(node: TfliteNode, x: Value, rank: int) -> Value:
    """All in int8, as TFLite Micro computes it: the memory has a zero point, which is added without saturation.

    The features of a step are a product of matrices, and the weighing of a memory [units, rank * steps] a convolution
    over one position in as many groups as there are units: the ops that round twice, as TFLite Micro does.
    """
    features, times, state = node.value(_FEATURES), node.value(_TIMES), node.variable(_STATE)
    (filters, steps), batch, zero = times.type.static_shape, x.type.static_shape[0], _zero(state.quant)
    units = filters // rank
    found = node.add("matmul", [x, features], {"transpose_b": 1}, quant=Quant.per_tensor(_scale(state.quant), 0))
    moved = (np.arange(-128, 128) + zero).astype(np.int8)
    found = node.add("lut", [found, node.const(moved, suffix="zero_point")], quant=state.quant)
    new = node.reshape(found, (batch, filters, 1))
    if steps > 1:
        old = part(node, node.reshape(state, (batch, filters, steps)), 2, 1, steps - 1)
        new = node.add("concat", [old, new], {"axis": 2}, quant=state.quant)
    node.assign(_STATE, node.reshape(new, state.type.static_shape))
    data = node.array(_TIMES, "the weights").reshape(units, 1, 1, rank * steps)
    weights = node.const(data, times.quant, suffix="times")
    image = node.reshape(new, (batch, 1, 1, filters * steps))
    y = node.add("conv2d", [image, weights, node.optional(_BIAS)], {"groups": units}, quant=node.output_quant())
    return node.reshape(y, (batch, units))


def _scale(quant: Quant | None) -> float:
    require(quant is not None and quant.is_per_tensor, "a tensor needs one scale")
    assert quant is not None
    return float(quant.scale[0])


def _zero(quant: Quant | None) -> int:
    require(quant is not None and quant.is_per_tensor, "a tensor needs one zero point")
    assert quant is not None
    return int(quant.zero_point[0])


ROWS: Mapping[str, Row] = {"SVDF": svdf}
