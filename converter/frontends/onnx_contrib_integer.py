"""The integer operators of ONNX Runtime's own domain: QLinearAdd and its kind, and what its optimizer fuses.

As in ``onnx_integer``, an operator becomes what it means: real numbers, an operator on these, and integers.
"""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Value
from . import onnx_conv, onnx_data, onnx_math, onnx_pool, onnx_quant, onnx_reduce
from .onnx_graph import Builder, Entry, OnnxNode, Reject, Row
from .onnx_integer import as_operator, only, product, real, stored


def _output(g: Builder, y: Value, node: OnnxNode, index: int, like: Value) -> Value:
    """``y`` with the scale and zero point in inputs ``index`` and the one behind it."""
    zero = node.optional(index + 1)
    return stored(g, y, node.value(index), zero, like.dtype if zero is None else zero.dtype)


def _operand(g: Builder, node: OnnxNode, index: int) -> Value:
    """The tensor in input ``index``, with its scale and zero point in the two behind it, as real numbers."""
    return real(g, node.value(index), node.value(index + 1), node.optional(index + 2))


def _binary(op: str) -> Row:
    def row(g: Builder, node: OnnxNode) -> Value:
        y = g.add(op, [_operand(g, node, 0), _operand(g, node, 3)])
        return _output(g, y, node, 6, node.value(0))

    row.__doc__ = f"{op} of two tensors with scales."
    return row


def _unary(op: str, base: Row) -> Row:
    """An operator of one tensor with a scale; ``base`` is the row of the same operator on real numbers."""

    def row(g: Builder, node: OnnxNode) -> Value:
        channels_last = node.integer("channels_last", 0) != 0
        x = _operand(g, node, 0)
        rank = len(x.shape)
        if channels_last:
            x = g.transpose(x, (0, rank - 1, *range(1, rank - 1)))
        plain = as_operator(node, op, [x], ("channels_last",))
        plain.opset = min(node.opset, 13)  # axes are attributes
        y = only(base(g, plain))
        plain.check_all_read()
        if channels_last:
            y = g.transpose(y, (0, *range(2, rank), 1))
        return _output(g, y, node, 3, node.value(0))

    row.__doc__ = f"{op} of a tensor with a scale."
    return row


def softmax(g: Builder, node: OnnxNode) -> Value:
    """QLinearSoftmax, which says by which opset of Softmax it goes."""
    plain = as_operator(node, "Softmax", [_operand(g, node, 0)], ("opset",))
    plain.opset = node.integer("opset", node.opset)
    return _output(g, only(onnx_math.ROWS["Softmax"](g, plain)), node, 3, node.value(0))


def concat(g: Builder, node: OnnxNode) -> Value:
    """QLinearConcat: scale and zero point of the result come first."""
    count = (len(node.entries) - 2) // 3
    if count < 1 or len(node.entries) != 3 * count + 2:
        raise Reject(f"{len(node.entries)} inputs; 2 and 3 for each tensor are needed")
    parts: list[Entry] = [_operand(g, node, 2 + 3 * index) for index in range(count)]
    y = onnx_data.concat(g, as_operator(node, "Concat", parts))
    return _output(g, y, node, 0, node.value(2))


def where(g: Builder, node: OnnxNode) -> Value:
    """QLinearWhere."""
    y = g.add("where", [node.value(0), _operand(g, node, 1), _operand(g, node, 4)])
    return _output(g, y, node, 7, node.value(1))


def gemm(g: Builder, node: OnnxNode) -> Value:
    """QGemm; without a scale for the result this stays real numbers."""
    a, b = _operand(g, node, 0), node.value(3)
    axis = 0 if node.integer("transB", 0) else 1
    entries: list[Entry] = [a, real(g, b, node.value(4), node.optional(5), axis=axis)]
    if node.has(6):
        factor = np.float32(node.real("alpha", 1.0)) * node.array(1, "a scale") * node.array(4, "a scale")
        scale = g.const(np.asarray(factor, np.float32).reshape(-1), "bias_scale")
        bias = node.value(6)
        flat = g.reshape(bias, (-1,)) if len(bias.shape) > 1 and bias.shape[0] == 1 else bias
        entries.append(real(g, flat, scale, None, axis=len(flat.shape) - 1))
    y = only(onnx_conv.gemm(g, as_operator(node, "Gemm", entries)))
    return y if not node.has(7) else _output(g, y, node, 7, node.value(0))


def matmul_to_float(g: Builder, node: OnnxNode) -> Value:
    """MatMulIntegerToFloat."""
    zeros = (node.optional(4), node.optional(5))
    return _real_product(g, node.value(0), node.value(1), zeros, (node.value(2), node.value(3)), node.optional(6))


def dynamic_matmul(g: Builder, node: OnnxNode) -> Value:
    """DynamicQuantizeMatMul: the first operand is quantized at run time."""
    levels, scale, zero = g.add_all("quantize_dynamic", [node.value(0)])
    zeros = (zero, node.optional(3))
    return _real_product(g, levels, node.value(1), zeros, (scale, node.value(2)), node.optional(4))


def _real_product(
    g: Builder,
    a: Value,
    b: Value,
    zeros: tuple[Value | None, Value | None],
    scales: tuple[Value, Value],
    bias: Value | None,
) -> Value:
    """The sums of a product of bytes as real numbers."""
    flat = [None if zero is None else g.cast(_vector(g, zero), DType.s32) for zero in zeros]
    left, right = scales
    if len(left.shape) == 1 and left.shape[0] != 1:
        left = g.reshape(left, (left.shape[0], 1))
    sums = g.cast(product(g, a, b, flat), DType.f32)
    y = g.add("mul", [sums, g.add("mul", [left, right])])
    return y if bias is None else g.add("add", [y, bias])


def _vector(g: Builder, zero: Value) -> Value:
    return zero if len(zero.shape) <= 1 else g.reshape(zero, (-1,))


_ACTIVATIONS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}


def fused_conv(g: Builder, node: OnnxNode) -> Value:
    """FusedConv: a convolution, the sum with another tensor, an activation."""
    name, given = node.text("activation", ""), node.reals("activation_params") or []
    entries = node.entries[:3]
    y = only(onnx_conv.conv(g, as_operator(node, "Conv", entries, ("activation", "activation_params"))))
    if node.has(3):
        y = g.add("add", [y, node.value(3)])
    if name in _ACTIVATIONS:
        return g.add(_ACTIVATIONS[name], [y])
    if name == "Clip" and len(given) == 2:
        return onnx_math.clipped(g, y, given[0], given[1])
    if name == "LeakyRelu":
        return g.add("leaky_relu", [y], {"alpha": given[0] if given else 0.01})
    if name == "HardSigmoid":
        return g.add("hard_sigmoid", [y], {"alpha": given[0], "beta": given[1]} if len(given) == 2 else {})
    if name:
        raise Reject(f"activation '{name}' with parameters {given} is not supported")
    return y


ROWS: dict[str, Row] = {
    "DequantizeLinear": onnx_quant.dequantize_linear,
    "DynamicQuantizeMatMul": dynamic_matmul,
    "FusedConv": fused_conv,
    "MatMulIntegerToFloat": matmul_to_float,
    "QGemm": gemm,
    "QLinearAdd": _binary("add"),
    "QLinearAveragePool": _unary("AveragePool", onnx_pool.average_pool),
    "QLinearConcat": concat,
    "QLinearGlobalAveragePool": _unary("GlobalAveragePool", onnx_pool.global_average_pool),
    "QLinearLeakyRelu": _unary("LeakyRelu", onnx_math.ROWS["LeakyRelu"]),
    "QLinearMul": _binary("mul"),
    "QLinearReduceMean": _unary("ReduceMean", onnx_reduce.ROWS["ReduceMean"]),
    "QLinearSigmoid": _unary("Sigmoid", onnx_math.ROWS["Sigmoid"]),
    "QLinearSoftmax": softmax,
    "QLinearWhere": where,
    "QuantizeLinear": onnx_quant.quantize_linear,
}
"""Of the domain com.microsoft."""
