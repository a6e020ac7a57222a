"""Operators of ONNX Runtime's own domain that its optimizer and quantizer write."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Value
from . import onnx_contrib_attention, onnx_contrib_integer, onnx_contrib_layers, onnx_group_query
from .onnx_graph import Builder, OnnxNode, Reject, Row, constant
from .onnx_math import linear
from .onnx_rnn import ROWS as RECURRENT

MICROSOFT = "com.microsoft"


def gelu(g: Builder, node: OnnxNode) -> Value:
    """Gelu, exact."""
    return g.add("gelu", [node.value(0)], {"alpha": 0.0})


def fast_gelu(g: Builder, node: OnnxNode) -> Value:
    """FastGelu: the tanh form, of the sum with a bias where there is one."""
    return g.add("gelu", [_with_bias(g, node)], {"alpha": 1.0})


def bias_gelu(g: Builder, node: OnnxNode) -> Value:
    """BiasGelu: exact, of the sum with a bias."""
    return g.add("gelu", [_with_bias(g, node)], {"alpha": 0.0})


def _with_bias(g: Builder, node: OnnxNode) -> Value:
    x, bias = node.value(0), node.optional(1)
    return x if bias is None else g.add("add", [x, bias])


def quick_gelu(g: Builder, node: OnnxNode) -> Value:
    """QuickGelu: x * sigmoid(alpha * x)."""
    return g.add("swish", [node.value(0)], {"alpha": node.real("alpha", 1.702)})


def fused_matmul(g: Builder, node: OnnxNode) -> Value:
    """FusedMatMul: operands transposed in their last two dimensions, a factor."""
    if node.integer("transBatchA", 0) or node.integer("transBatchB", 0):
        raise Reject("transposed batches are not supported")
    a, b = node.value(0), node.value(1)
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise Reject(f"operands have shapes {a.shape} and {b.shape}, expected at least two dimensions")
    flags = {"transpose_a": int(node.integer("transA", 0) != 0), "transpose_b": int(node.integer("transB", 0) != 0)}
    y = g.add("matmul", [a, b], flags)
    return linear(g, y, node.real("alpha", 1.0))


def _skip_norm(op: str) -> Row:
    """A normalization of the sum of an input, a skip connection and a bias."""

    def row(g: Builder, node: OnnxNode) -> list[Value]:
        places = (2, 3, 4) if op == "layer_norm" else (2, None, 3)
        total = g.add("add", [node.value(0), node.value(1)])
        bias = node.optional(places[2])
        total = total if bias is None else g.add("add", [total, bias])
        inputs: list[Value | None] = [total, node.value(2)]
        if op == "layer_norm":
            inputs.append(node.optional(3))
        attrs = {"axis": len(total.shape) - 1, "epsilon": node.real("epsilon", 1e-12 if op == "layer_norm" else 1e-5)}
        if node.wants(1) or node.wants(2):
            raise Reject("outputs with the mean and deviation are not supported")
        y = g.add(op, inputs, attrs)
        return [y, y, y, total]

    row.__doc__ = f"{op} of the sum of an input, a skip connection and a bias."
    return row


def dynamic_lstm(g: Builder, node: OnnxNode) -> list[Value]:
    """DynamicQuantizeLSTM: products of weights of 8 bits with x and h in 256 levels over their range at the time.

    The weights are kept as real numbers; what the quantization of x and h loses is lost here too.
    """
    w, r = (_weights(node, index, scale) for index, scale in ((1, 8), (2, 10)))
    x = node.value(0)
    levels, scale, zero = g.add_all("quantize_dynamic", [x])
    rounded = g.add("dequantize", [levels, scale, g.cast(zero, DType.s32)], {"axis": -1})
    node.entries = [rounded, constant(w, f"{node.name}_w"), constant(r, f"{node.name}_r"), *node.entries[3:8]]
    outputs = RECURRENT["LSTM"](g, node)
    assert not isinstance(outputs, Value)
    layer = outputs[0].producer
    assert layer is not None
    layer.attrs["rounded_h"] = 1
    return list(outputs)


def _weights(node: OnnxNode, index: int, scale_index: int) -> np.ndarray:
    """[directions, gates * hidden, columns] as real numbers; the operator holds them the other way round."""
    data = node.array(index, "a weight")
    scale = node.array(scale_index, "the scale of a weight")
    zero = node.optional_array(scale_index + 1, "the zero point of a weight")
    if data.ndim != 3 or data.dtype not in (np.int8, np.uint8):
        raise Reject(f"weights of type {data.dtype} and shape {data.shape} are not supported")
    if scale.shape not in ((), (1,), (data.shape[0],), (data.shape[0], data.shape[2])):
        raise Reject(f"scales of shape {scale.shape} do not fit weights of shape {data.shape}")

    def along(array: np.ndarray) -> np.ndarray:
        return array.reshape(-1, 1, array.shape[1]) if array.ndim == 2 else array.reshape(-1, 1, 1)

    centred = data.astype(np.float32) - (0.0 if zero is None else along(zero.astype(np.float32)))
    return np.ascontiguousarray(np.swapaxes(centred * along(scale), 1, 2)).astype(np.float32)


_ROWS: dict[str, Row] = {
    "BiasGelu": bias_gelu,
    "DynamicQuantizeLSTM": dynamic_lstm,
    "FastGelu": fast_gelu,
    "FusedMatMul": fused_matmul,
    "TransposeMatMul": fused_matmul,
    "Gelu": gelu,
    "QuickGelu": quick_gelu,
    "SkipLayerNormalization": _skip_norm("layer_norm"),
    "SkipSimplifiedLayerNormalization": _skip_norm("rms_norm"),
}

ROWS: dict[tuple[str, str], Row] = {
    (MICROSOFT, name): row
    for rows in (
        _ROWS,
        onnx_contrib_attention.ROWS,
        onnx_contrib_integer.ROWS,
        onnx_contrib_layers.ROWS,
        onnx_group_query.ROWS,
    )
    for name, row in rows.items()
}
"""By domain and operator."""
