"""TFLite's elementwise functions, reductions, softmax, products of matrices and changes of type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Quant, Value
from microlith.numerics import TFLITE_DOUBLE, TFLITE_DOWN, TFLITE_UP, quantize_multiplier, requantize

from . import tflite_fixed as fixed
from . import tflite_int16 as int16
from . import tflite_lut as lut
from .tflite_data import part
from .tflite_graph import NO_CLAMP, Reject, Row, TfliteNode, axis_of, fused_clamp, is_shifted, require
from .tflite_int16 import is_int16
from .tflite_open import same
from .tflite_roots import rsqrt_table, sqrt_table

_MOST_MATRICES = 64
"""Constant matrices that each become a layer of their own."""
_NARROW = (DType.s8, DType.u8, DType.s16)


def is_quantized(value: Value) -> bool:
    """Whether a value holds narrow integers that stand for real numbers."""
    return value.quant is not None and value.dtype in _NARROW


def _require_signed(value: Value) -> None:
    """Reject of quantized tensors that are not int8 (or uint8, which is held as int8) or int16."""
    known = value.dtype in (DType.s8, DType.s16)
    require(not is_quantized(value) or known, f"quantized {value.dtype.name} is not supported")


# Functions of one tensor.


def _table_quants(node: TfliteNode) -> tuple[Quant, Quant]:
    """Quantization of an int8 input and output."""
    x, y = node.value(0), node.output_quant()
    require(x.dtype is DType.s8, f"quantized {x.dtype.name} is not supported")
    require(x.quant is not None and x.quant.is_per_tensor, "the input has no scale")
    require(y is not None and y.is_per_tensor, "the output has no scale")
    assert x.quant is not None and y is not None
    return x.quant, y


def by_table(node: TfliteNode, table: np.ndarray) -> Value:
    """A function of one int8 tensor as a table look-up."""
    return node.add("lut", [node.value(0), node.const(table, suffix="table")], quant=node.output_quant())


def _unary(op: str, table: Callable[[Quant, Quant], np.ndarray] | None = None) -> Row:
    """A row for a function of real numbers; ``table`` gives its int8 form."""

    def row(node: TfliteNode) -> Value:
        x = node.value(0)
        if not is_quantized(x):
            return node.add(op, [x])
        if is_int16(x) and node.name in int16.ROWS:
            return int16.ROWS[node.name](node)
        if table is None:
            raise Reject(f"quantized {x.dtype.name} is not supported")
        return by_table(node, table(*_table_quants(node)))

    return row


def _float_table(name: str) -> Callable[[Quant, Quant], np.ndarray]:
    return lambda x, y: lut.float_table(lut.FLOAT_FUNCTIONS[name], x, y)


def _clamp(low: float, high: float) -> Row:
    def row(node: TfliteNode) -> Value:
        x = node.value(0)
        if is_int16(x) and node.name in int16.ROWS:
            return int16.ROWS[node.name](node)
        if is_quantized(x):
            return by_table(node, lut.clamp_table(low, high, *_table_quants(node)))
        if math.isinf(high):
            return node.add("relu", [x])
        return node.add("clip", [x], {"alpha": low, "beta": high})

    return row


def leaky_relu(node: TfliteNode) -> Value:
    alpha = node.options("LeakyReluOptions", required=True).Alpha()
    x = node.value(0)
    if is_int16(x):
        return int16.leaky(node, alpha)
    if is_quantized(x):
        return by_table(node, lut.leaky_relu_table(alpha, *_table_quants(node)))
    return node.add("leaky_relu", [x], {"alpha": alpha})


def neg(node: TfliteNode) -> Value:
    """NEG, which takes quantized integers as they are, whatever their scales and zero points; the least one stays."""
    x, y = node.value(0), node.output_quant()
    if not is_quantized(x):
        return node.add("neg", [x])
    _require_signed(x)
    require(not is_shifted(node.input_tensor(0)), "quantized u8 is not supported")
    if x.dtype is DType.s8:
        return by_table(node, np.negative(np.arange(-128, 128).astype(np.int8)))
    wide = node.add("neg", [node.add("cast", [x], {"to": DType.s32.value})])
    return node.add("cast", [wide], {"to": DType.s16.value}, quant=y)


def gelu(node: TfliteNode) -> Value:
    approximate = bool(node.options("GeluOptions").Approximate())
    x = node.value(0)
    if is_quantized(x):
        if is_int16(x):
            return int16.by_curve(node, lut.gelu_tanh_16 if approximate else lut.gelu)
        function = lut.FLOAT_FUNCTIONS["gelu_tanh" if approximate else "gelu"]
        return by_table(node, lut.float_table(function, *_table_quants(node)))
    return node.add("gelu", [x], {"alpha": 1.0 if approximate else 0.0})


def softmax(node: TfliteNode) -> Value:
    x, beta = node.value(0), node.options("SoftmaxOptions").Beta()
    rank = len(x.shape)
    require(rank >= 1, "the input is a scalar")
    attrs: dict[str, object] = {"axis": rank - 1, "beta": beta}
    if is_quantized(x):
        _require_signed(x)
        y, to = node.output_quant(), node.output_type().dtype
        scales = {
            (DType.s8, DType.s8): (np.float32(1 / 256), -128),
            (DType.s8, DType.s16): (np.float32(1 / 65536), -32768),
            (DType.s16, DType.s16): (int16.Q15, 0),
        }
        require((x.dtype, to) in scales, f"from {x.dtype.name} to {to.name} is not supported")
        scale, zero = scales[x.dtype, to]
        near = y is not None and abs(y.scale[0] - scale) <= 0.001 * scale and y.zero_point[0] == zero
        require(near, f"the output's scale is not {scale} with zero point {zero}")
        attrs["to"] = to.value
    return node.add("softmax", [x], attrs, quant=node.output_quant())


def log_softmax(node: TfliteNode) -> Value:
    x = node.value(0)
    require(not is_quantized(x) or x.dtype is DType.s8, f"quantized {x.dtype.name} is not supported")
    require(len(x.shape) >= 1, "the input is a scalar")
    attrs = {"axis": len(x.shape) - 1, "x_offset": 128 if is_shifted(node.input_tensor(0)) else 0}
    return node.add("log_softmax", [x], attrs, quant=node.output_quant() if is_quantized(x) else None)


def l2_normalization(node: TfliteNode) -> Value:
    """x / sqrt(max(sum of squares, 1e-6)) over the last dimension."""
    x = node.value(0)
    require(len(x.shape) >= 1, "the input is a scalar")
    if is_quantized(x):
        require(x.dtype is DType.s8, f"quantized {x.dtype.name} is not supported")
        scale, zero = fixed.single_scale(node.output_quant(), "output")
        require(scale == 1 / 128 and zero == 0, f"the output's scale is not 1/128 around 0 ({scale:g}, {zero})")
        attrs = {"scaled_first": int(is_shifted(node.input_tensor(0)))}
        return node.add("l2_norm", [x], attrs, quant=node.output_quant())
    total = node.add("reduce_sum", [node.add("square", [x])], {"axes": 1 << (len(x.shape) - 1), "keep_dims": 1})
    floor = node.const(np.array([1e-6], np.float32), suffix="epsilon")
    return node.add("mul", [x, node.add("rsqrt", [node.add("max", [total, floor])])])


# Functions of two tensors.


def _arithmetic(op: str, options: str | None, *, quantized: bool = True) -> Row:
    """A row for an op with broadcasting; ``options`` names the table that holds its fused activation."""

    def row(node: TfliteNode) -> Value:
        clamp = fused_clamp(node.options(options).FusedActivationFunction()) if options else NO_CLAMP
        a, b = node.value(0), node.value(1)
        require(quantized or not is_quantized(a), f"quantized {a.dtype.name} is not supported")
        _require_signed(a)
        if op == "div" and is_int16(a) and node.shape(0) == node.shape(1):
            return int16.quotient(node, clamp)
        attrs: dict[str, Any] = dict(clamp)
        if op == "add" and a.dtype is DType.s8 and b.dtype is DType.s8 and _sum_rounds_down(node):
            attrs["rounding"] = TFLITE_DOWN
        return node.add(op, [a, b], attrs, quant=node.output_quant())

    return row


def _sum_rounds_down(node: TfliteNode) -> bool:
    """Whether LiteRT's ADD takes the vector code that cuts its operands off: uint8, or one operand repeated."""
    a, b = node.shape(0), node.shape(1)
    together = repeated = 1
    for left, right in zip_longest(reversed(a), reversed(b), fillvalue=1):
        if left == right and repeated == 1:
            together *= left
        elif together == 1 and 1 in (left, right):
            repeated *= max(left, right)
        else:
            break
    if together > 1:
        return together >= 8 and is_shifted(node.input_tensor(0))
    return repeated >= 8


def _extreme(op: str) -> Row:
    """MAXIMUM and MINIMUM, which compare quantized integers as they are."""

    def row(node: TfliteNode) -> Value:
        a, b = node.value(0), node.value(1)
        if is_quantized(a):
            _require_signed(a)
            require(a.quant == b.quant == node.output_quant(), "operands and output have different scales")
        return node.add(op, [a, b], quant=node.output_quant())

    return row


def _comparison(op: str) -> Row:
    def row(node: TfliteNode) -> Value:
        a, b = node.value(0), node.value(1)
        if is_int16(a) and op not in ("equal", "not_equal"):
            # The order of int16 numbers is that of the integers in LiteRT, whatever their scales.
            a, b = (node.add("cast", [value], {"to": DType.s32.value}) for value in (a, b))
        elif is_quantized(a) and (a.quant != b.quant or is_int16(a)):
            return fixed.compared(node, op)
        elif a.dtype is DType.s16:
            a, b = (node.add("cast", [value], {"to": DType.s32.value}) for value in (a, b))
        return node.add(op, [a, b])

    return row


def squared_difference(node: TfliteNode) -> Value:
    if is_quantized(node.value(0)):
        return fixed.squared_difference(node)
    return node.add("squared_difference", [node.value(0), node.value(1)])


def add_n(node: TfliteNode) -> Value:
    values = node.all_values()
    require(len(values) >= 1 and not is_quantized(values[0]), "quantized tensors are not supported")
    total = values[0]
    for value in values[1:]:
        total = node.add("add", [total, value])
    return total if len(values) > 1 else node.add("reshape", [total], {"shape": total.type.static_shape})


def prelu(node: TfliteNode) -> Value:
    if is_int16(node.value(0)):
        return int16.prelu(node)
    return node.add("prelu", [node.value(0), node.value(1)], quant=node.output_quant())


def select(node: TfliteNode) -> Value:
    """SELECT and SELECT_V2; the older one also takes a condition for whole rows."""
    condition, a, b = node.value(0), node.value(1), node.value(2)
    if is_quantized(a):
        require(a.quant == b.quant == node.output_quant(), "operands and output have different scales")
    if node.name == "SELECT" and len(condition.shape) == 1 and len(a.shape) > 1:
        condition = node.reshape(condition, (condition.type.count, *(1 for _ in a.shape[1:])))
    return node.add("where", [condition, a, b], quant=node.output_quant())


def batch_matmul(node: TfliteNode) -> Value:
    options = node.options("BatchMatMulOptions")
    a, b = node.value(0), node.value(1)
    if a.dtype is DType.f32 and b.dtype is DType.s8 and is_quantized(b):
        return _hybrid_matmul(node, options)
    if a.dtype is DType.s16 and b.dtype is DType.s8 and is_quantized(a) and is_quantized(b):
        return _wide_matmul(node, options)
    known = a.dtype is b.dtype and (a.dtype is DType.f32 or a.dtype in (DType.s8, DType.s16))
    require(known, f"{a.dtype.name} by {b.dtype.name} is not supported")
    require(a.dtype is DType.f32 or (is_quantized(a) and is_quantized(b)), "integers without scales are not supported")
    attrs = {"transpose_a": int(bool(options.AdjX())), "transpose_b": int(bool(options.AdjY()))}
    return node.add("matmul", [a, b], attrs, quant=node.output_quant() if is_quantized(a) else None)


def _wide_matmul(node: TfliteNode, options: Any) -> Value:
    """int16 by int8, which is widened. With several scales, for which LiteRT gives zeros, a constant matrix is the
    weights of a layer."""
    a, b, shape = node.value(0), node.value(1), node.shape(1)
    flags = {"transpose_a": int(bool(options.AdjX())), "transpose_b": int(bool(options.AdjY()))}
    assert b.quant is not None
    if b.quant.is_per_tensor:
        wide = node.add("requantize", [b], {"to": DType.s16.value}, quant=Quant.per_tensor(float(b.quant.scale[0]), 0))
        return node.add("matmul", [a, wide], flags, quant=node.output_quant())
    plain = b.data is not None and math.prod(shape[:-2]) == 1 and not options.AdjX() and len(a.shape) >= len(shape)
    require(plain, "several scales of the second operand are supported for one constant matrix only")
    assert b.data is not None
    matrix = b.data.reshape(shape[-2:])
    return node.add(
        "dense", [a, _columns_first(node, b, matrix, bool(options.AdjY())), None], quant=node.output_quant()
    )


def _columns_first(node: TfliteNode, b: Value, matrix: np.ndarray, turned: bool) -> Value:
    """The weights of a layer, [units, depth], that is the product by ``matrix``; ``turned`` ones lie so in the file."""
    assert b.quant is not None
    axis = b.quant.axis
    if axis is not None:
        axis = axis - (len(b.shape) - 2) if turned else len(b.shape) - 1 - axis
        require(axis == 0, "the scales of the weights are along their depth")
    data = np.ascontiguousarray(matrix if turned else matrix.T)
    return node.const(data, Quant(b.quant.scale, b.quant.zero_point, axis), suffix="weights")


def _hybrid_matmul(node: TfliteNode, options: Any) -> Value:
    """Rows of floats by matrices of constant int8: the rows are quantized at run time, as in FULLY_CONNECTED."""
    a, b = node.value(0), node.value(1)
    *batch, _, _ = shape = node.shape(1)
    count = math.prod(batch)
    plain = b.is_constant and b.quant is not None and len(a.shape) >= max(len(shape), 2)
    require(plain, f"f32 by s8 {list(shape)} is supported for constant matrices only")
    assert b.data is not None and b.quant is not None
    require(not np.any(b.quant.zero_point), "the weights have a zero point")
    if options.AdjX():
        rank = len(a.shape)
        a = node.add("transpose", [a], {"perm": (*range(rank - 2), rank - 1, rank - 2)})
    matrices, turned = b.data.reshape(count, *shape[-2:]), bool(options.AdjY())
    attrs = {"asymmetric": int(bool(options.AsymmetricQuantizeInputs()))}

    def layer(x: Value, matrix: np.ndarray) -> Value:
        weights = _columns_first(node, b, matrix, turned)
        assert weights.quant is not None
        scales = np.broadcast_to(weights.quant.scale, weights.type.static_shape[:1])
        return node.add("dense_dynamic", [x, weights, None, node.const(scales, suffix="scales")], attrs)

    if count == 1:
        return layer(a, matrices[0])
    *leading, rows, depth = a.type.static_shape
    fits = leading == batch and 1 < count <= _MOST_MATRICES
    require(fits, f"{list(batch)} matrices for {leading} inputs: not the same, or many")
    flat = node.reshape(a, (count, rows, depth))
    layers = [layer(part(node, flat, 0, index, 1), matrix) for index, matrix in enumerate(matrices)]
    y = node.add("concat", layers, {"axis": 0})
    return node.reshape(y, (*leading, rows, y.type.static_shape[-1]))


# Reductions.


def _reduction(op: str) -> Callable[[TfliteNode], Value]:
    def row(node: TfliteNode) -> Value:
        keep_dims = int(bool(node.options("ReducerOptions").KeepDims()))
        x = node.value(0)
        if op == "reduce_mean" and x.dtype in (DType.s32, DType.s64):
            return _whole_mean(node, x, keep_dims)
        _require_signed(x)
        axes = {axis_of(axis, len(x.shape)) for axis in node.ints(1, "the axes")}
        attrs: dict[str, Any] = {"axes": sum(1 << axis for axis in axes), "keep_dims": keep_dims}
        if op == "reduce_prod" and is_quantized(x):
            require(bool(axes), "no axes are given")
            attrs |= fixed.product_attrs(node, math.prod(x.type.static_shape[axis] for axis in axes))
        return node.add(op, [x], attrs, quant=node.output_quant())

    return row


def _whole_mean(node: TfliteNode, x: Value, keep_dims: int) -> Value:
    """The mean of whole numbers, rounded towards zero."""
    axes = {axis_of(axis, len(x.shape)) for axis in node.ints(1, "the axes")}
    total = node.add("reduce_sum", [x], {"axes": sum(1 << axis for axis in axes), "keep_dims": keep_dims})
    count = math.prod(x.type.static_shape[axis] for axis in axes)
    return node.add("div", [total, node.const(np.array(count, x.dtype.numpy), suffix="count")])


def mean(node: TfliteNode) -> Value:
    """MEAN. Over height and width of int8 images LiteRT rounds whole groups of 16 channels unlike those past them."""
    x, shape = node.value(0), node.shape(0)
    pools = x.dtype is DType.s8 and len(shape) == 4 and bool(node.options("ReducerOptions").KeepDims())
    if not pools or {axis_of(axis, 4) for axis in node.ints(1, "the axes")} != {1, 2}:
        return _reduction("reduce_mean")(node)
    channels, groups = shape[3], shape[3] // 16 * 16
    bounds = sorted({0, groups, channels})
    parts = [part(node, x, 3, start, stop - start) if len(bounds) > 2 else x for start, stop in pairwise(bounds)]
    quant = node.output_quant()
    means = []
    for piece in parts:
        attrs: dict[str, Any] = {"axes": 0b0110, "keep_dims": 1}
        if is_shifted(node.input_tensor(0)):
            attrs |= _uint8_mean(node, shape[1] * shape[2], piece.type.static_shape[3] % 16 == 0)
        means.append(node.add("reduce_mean", [piece], attrs, quant=quant))
    return means[0] if len(means) == 1 else node.add("concat", means, {"axis": 3}, quant=quant)


def _uint8_mean(node: TfliteNode, count: int, whole_groups: bool) -> dict[str, Any]:
    """The constants of LiteRT's uint8 kernel, which adds unsigned numbers and takes the zero point off the result."""
    x, y = node.input_tensor(0).quant, node.output_tensor().quant
    require(x is not None and y is not None, "input or output has no scale")
    assert x is not None and y is not None
    x_scale, y_scale = np.float32(x.scale[0]), np.float32(y.scale[0])
    offset = np.float32(x.zero_point[0]) * x_scale / y_scale
    multiplier, shift = quantize_multiplier(float(x_scale / (np.float32(count) * y_scale)))
    return {
        "x_zero": -128,
        "y_zero": int(y.zero_point[0]) - math.trunc(float(offset + np.float32(0.5))) - 128,
        "mult": multiplier,
        "shift": shift,
        "rounding": TFLITE_UP if whole_groups else TFLITE_DOUBLE,
    }


# Types.


def quantize(node: TfliteNode) -> Value:
    x, quant = node.value(0), node.output_quant()
    require(quant is not None and quant.is_per_tensor, "the output needs one scale")
    target = node.output_type().dtype
    require(target in (DType.s8, DType.s16, DType.s32), f"to {target.name} is not supported")
    require(target is not DType.s32 or x.dtype is DType.s16, f"from {x.dtype.name} to int32 is not supported")
    if x.dtype is DType.f32:
        return node.add("quantize", [x], {"to": target.value}, quant=quant)
    require(x.quant is not None and x.quant.is_per_tensor, "the input has no scale")
    assert quant is not None and x.quant is not None
    count = x.type.count
    is_vector = x.dtype is DType.s8 and target is DType.s8
    if not is_vector or count < 16 or count % 16 == 0 or not _rounding_matters(x.quant, quant):
        return node.add("requantize", [x], {"to": target.value}, quant=quant)
    # LiteRT rounds whole groups of 16 elements unlike those past them.
    flat = node.reshape(x, (count,))
    pieces = [part(node, flat, 0, 0, count // 16 * 16), part(node, flat, 0, count // 16 * 16, count % 16)]
    parts = [node.add("requantize", [piece], {"to": target.value}, quant=quant) for piece in pieces]
    return node.reshape(node.add("concat", parts, {"axis": 0}, quant=quant), x.type.static_shape)


def _rounding_matters(x: Quant, y: Quant) -> bool:
    """Whether a change of scale has an exact half for some int8 number, so that its direction shows."""
    multiplier, shift = quantize_multiplier(float(x.scale[0]) / float(y.scale[0]))
    centred = np.arange(-128, 128) - int(x.zero_point[0])
    up, away = (requantize(centred, multiplier, shift, rounding) for rounding in (TFLITE_UP, TFLITE_DOUBLE))
    return bool(np.any(up != away))


def dequantize(node: TfliteNode) -> Value:
    """Half-precision weights are decoded at once, because they are constant."""
    x = node.value(0)
    if x.dtype is DType.f16:
        return node.add("cast", [x], {"to": DType.f32.value})
    if x.dtype is DType.f32:
        return node.add("reshape", [x], {"shape": x.type.static_shape})
    require(x.quant is not None, "the input has no scale")
    assert x.quant is not None
    if x.data is not None:
        shape = [1] * x.data.ndim
        if x.quant.axis is not None:
            shape[x.quant.axis] = -1
        centred = x.data.astype(np.int64) - x.quant.zero_point.reshape(shape if x.quant.axis is not None else ())
        scale = x.quant.scale.reshape(shape if x.quant.axis is not None else ())
        return node.const((centred.astype(np.float32) * scale).astype(np.float32))
    return node.add("dequantize", [x])


def densify(node: TfliteNode) -> Value:
    """Sparse constants are decoded when the file is read."""
    x = node.value(0)
    data = node.array(0, "the sparse tensor")
    return node.const(data, x.quant)


def cast(node: TfliteNode) -> Value:
    x = node.value(0)
    target = node.output_tensor()
    require(target.dtype is not None, f"to {target.type_name} is not supported")
    require(not is_shifted(node.input_tensor(0)) and not is_shifted(target), "quantized uint8 is not supported")
    assert target.dtype is not None
    if x.dtype is target.dtype:
        return same(node, x)
    return node.add("cast", [x], {"to": target.dtype.value})


ROWS: Mapping[str, Row] = {
    "ABS": _unary("abs", lut.abs_table),
    "ADD": _arithmetic("add", "AddOptions"),
    "ADD_N": add_n,
    "BATCH_MATMUL": batch_matmul,
    "CAST": cast,
    "CEIL": _unary("ceil"),
    "COS": _unary("cos"),
    "DENSIFY": densify,
    "DEQUANTIZE": dequantize,
    "DIV": _arithmetic("div", "DivOptions"),
    "ELU": _unary("elu", _float_table("elu")),
    "EQUAL": _comparison("equal"),
    "EXP": _unary("exp", _float_table("exp")),
    "FLOOR": _unary("floor"),
    "GELU": gelu,
    "GREATER": _comparison("greater"),
    "GREATER_EQUAL": _comparison("greater_equal"),
    "HARD_SWISH": _unary("hard_swish", lut.hard_swish_table),
    "L2_NORMALIZATION": l2_normalization,
    "LEAKY_RELU": leaky_relu,
    "LESS": _comparison("less"),
    "LESS_EQUAL": _comparison("less_equal"),
    "LOG": _unary("log", lut.log_table),
    "LOGICAL_AND": _comparison("logical_and"),
    "LOGICAL_NOT": _unary("logical_not"),
    "LOGICAL_OR": _comparison("logical_or"),
    "LOGISTIC": _unary("sigmoid", _float_table("sigmoid")),
    "LOG_SOFTMAX": log_softmax,
    "MAXIMUM": _extreme("max"),
    "MEAN": mean,
    "MINIMUM": _extreme("min"),
    "MUL": _arithmetic("mul", "MulOptions"),
    "NEG": neg,
    "NOT_EQUAL": _comparison("not_equal"),
    "POW": _arithmetic("pow", None, quantized=False),
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "REDUCE_MAX": _reduction("reduce_max"),
    "REDUCE_MIN": _reduction("reduce_min"),
    "REDUCE_PROD": _reduction("reduce_prod"),
    "RELU": _clamp(0.0, math.inf),
    "RELU6": _clamp(0.0, 6.0),
    "RELU_0_TO_1": _clamp(0.0, 1.0),
    "RELU_N1_TO_1": _clamp(-1.0, 1.0),
    "ROUND": _unary("round"),
    "RSQRT": _unary("rsqrt", rsqrt_table),
    "SELECT": select,
    "SELECT_V2": select,
    "SIGN": _unary("sign"),
    "SIN": _unary("sin"),
    "SOFTMAX": softmax,
    "SQRT": _unary("sqrt", sqrt_table),
    "SQUARE": _unary("square"),
    "SQUARED_DIFFERENCE": squared_difference,
    "SUB": _arithmetic("sub", "SubOptions"),
    "SUM": _reduction("reduce_sum"),
    "TANH": _unary("tanh", _float_table("tanh")),
}
