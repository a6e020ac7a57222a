# SPDX-License-Identifier: Apache-2.0
"""Layers of ONNX Runtime's own domain beside attention: what its optimizer fuses, and what exporters take from it."""

from __future__ import annotations

import numpy as np

from ...ir import Value
from . import onnx_conv
from .onnx_contrib_integer import fused_conv
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_integer import only
from .onnx_math import axis_of

ACTIVATIONS: dict[str, tuple[str, dict[str, float]]] = {
    "Relu": ("relu", {}),
    "Sigmoid": ("sigmoid", {}),
    "Tanh": ("tanh", {}),
    "LeakyRelu": ("leaky_relu", {"alpha": 0.01}),
    "HardSigmoid": ("hard_sigmoid", {"alpha": 0.2, "beta": 0.5}),
    "Softplus": ("softplus", {}),
    "Gelu": ("gelu", {"alpha": 0.0}),
}


def fused_gemm(g: Builder, node: OnnxNode) -> Value:
    """FusedGemm: Gemm and an activation."""
    name = node.text("activation", "")
    if name and name not in ACTIVATIONS:
        raise Reject(f"the activation '{name}' is not supported")
    y = onnx_conv.ROWS["Gemm"](g, node)
    assert isinstance(y, Value)
    if not name:
        return y
    op, attrs = ACTIVATIONS[name]
    given = {attr: node.real(f"activation_{attr}", default) for attr, default in attrs.items() if name != "Gelu"}
    return g.add(op, [y], {**attrs, **given})


def bias_softmax(g: Builder, node: OnnxNode) -> Value:
    """BiasSoftmax: softmax of a sum, over the axes from ``axis``, whose dimensions must be one."""
    x, bias = node.real_value(0), node.real_value(1)
    axis = axis_of(node, "axis", 1, len(x.shape))
    node.ignore("is_inner_broadcast")
    if axis != len(x.shape) - 1:
        raise Reject(f"attribute 'axis' is {axis} for {len(x.shape)} dimensions; the last one is supported")
    return g.add("softmax", [g.add("add", [x, bias])], {"axis": axis})


def bias_add(g: Builder, node: OnnxNode) -> Value:
    """BiasAdd: an input, a vector and a skip connection."""
    return g.add("add", [g.add("add", [node.value(0), node.value(1)]), node.value(2)])


def bias_split_gelu(g: Builder, node: OnnxNode) -> Value:
    """BiasSplitGelu: of a sum with a vector, the left half times the GELU of the right one."""
    x = g.add("add", [node.value(0), node.value(1)])
    size = x.shape[-1]
    if isinstance(size, str) or size % 2:
        raise Reject(f"the last dimension is {size}", FIX_SIZES)
    halves = g.add_all("split", [x], {"axis": len(x.shape) - 1, "sizes": (size // 2, size // 2)})
    return g.add("mul", [halves[0], g.add("gelu", [halves[1]], {"alpha": 0.0})])


def group_norm(g: Builder, node: OnnxNode) -> Value:
    """GroupNorm: with a SiLU behind it where ``activation`` is 1; channels come last unless it says otherwise."""
    x, last = node.value(0), bool(node.integer("channels_last", 1))
    rank = len(x.shape)
    x = x if last else g.transpose(x, (0, *range(2, rank), 1))
    attrs = {"groups": node.integer("groups", 0), "epsilon": node.real("epsilon", 1e-5)}
    y = g.add("group_norm", [x, node.value(1), node.value(2)], attrs)
    y = g.add("silu", [y]) if node.integer("activation", 0) else y
    return y if last else g.transpose(y, (0, rank - 1, *range(1, rank - 1)))


def cdist(g: Builder, node: OnnxNode) -> Value:
    """CDist: distances of all rows of two matrices."""
    a, b, metric = node.value(0), node.value(1), node.text("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        raise Reject(f"attribute 'metric' is '{metric}'")
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise Reject(f"operands have shapes {a.shape} and {b.shape}, expected two dimensions")
    difference = g.add("sub", [g.add("unsqueeze", [a], {"axes": 2}), g.add("unsqueeze", [b], {"axes": 1})])
    total = g.add("reduce_sum", [g.add("square", [difference])], {"axes": 4, "keep_dims": 0})
    return total if metric == "sqeuclidean" else g.add("sqrt", [total])


def complex_mul(conjugate: bool) -> Row:
    """ComplexMul, ComplexMulConj: the last dimension holds real and imaginary parts."""

    def row(g: Builder, node: OnnxNode) -> Value:
        (a, b), (c, d) = (_parts(g, node.value(index)) for index in (0, 1))
        d = g.add("neg", [d]) if conjugate else d
        real = g.add("sub", [g.add("mul", [a, c]), g.add("mul", [b, d])])
        imaginary = g.add("add", [g.add("mul", [a, d]), g.add("mul", [b, c])])
        return g.add("concat", [real, imaginary], {"axis": len(real.shape) - 1})

    return row


def _parts(g: Builder, x: Value) -> list[Value]:
    if x.shape[-1] != 2:
        raise Reject(f"an operand has shape {x.shape}, expected 2 at the end")
    return g.add_all("split", [x], {"axis": len(x.shape) - 1, "sizes": (1, 1)})


def expand_dims(g: Builder, node: OnnxNode) -> Value:
    """ExpandDims: a dimension of 1 at a constant place."""
    x = node.value(0)
    (axis,) = node.vector(1, "the axis")
    rank = len(x.shape) + 1
    if not -rank <= axis < rank:
        raise Reject(f"axis {axis} is out of range for rank {rank - 1}")
    return g.add("unsqueeze", [x], {"axes": 1 << axis % rank})


def gather_block_quantized(g: Builder, node: OnnxNode) -> Value:
    """GatherBlockQuantized: rows of a table of 4 or 8 bits with a scale for each block; it is decoded at conversion."""
    data, scales = node.array(0, "the table"), node.array(2, "the scales").astype(np.float32)
    zeros, bits = node.optional_array(3, "the zero points"), node.integer("bits", 4)
    block, axis = node.integer("block_size", 128), node.integer("gather_axis", 0)
    quantized = node.integer("quantize_axis", data.ndim - 1) % data.ndim
    if data.dtype != np.uint8 or bits not in (4, 8) or quantized != data.ndim - 1:
        raise Reject(f"{data.dtype} of {bits} bits, quantized along axis {quantized}, is not supported")
    numbers = _nibbles(data) if bits == 4 else data
    count = scales.shape[-1]
    if zeros is None:
        offset: np.ndarray = np.full(scales.shape, 1 << (bits - 1), np.float32)
    else:
        offset = (_nibbles(zeros)[..., :count] if bits == 4 else zeros).astype(np.float32)
    spread = [np.repeat(a, block, axis=-1)[..., : numbers.shape[-1]] for a in (offset, scales)]
    table = (numbers.astype(np.float32) - spread[0]) * spread[1]
    return g.add("gather", [g.const(table.astype(np.float32), "table"), node.value(1)], {"axis": axis % data.ndim})


def _nibbles(packed: np.ndarray) -> np.ndarray:
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)


def nhwc_conv(g: Builder, node: OnnxNode) -> Value:
    """NhwcConv, NhwcFusedConv: a convolution of images with channels last, the sum with another one, an activation."""
    node.entries[0] = g.to_nchw(node.value(0))
    if node.has(3):
        node.entries[3] = g.to_nchw(node.value(3))
    return g.to_nhwc(only(fused_conv(g, node)))


ROWS: dict[str, Row] = {
    "BiasAdd": bias_add,
    "BiasSoftmax": bias_softmax,
    "BiasSplitGelu": bias_split_gelu,
    "CDist": cdist,
    "ComplexMul": complex_mul(False),
    "ComplexMulConj": complex_mul(True),
    "ExpandDims": expand_dims,
    "FusedGemm": fused_gemm,
    "GatherBlockQuantized": gather_block_quantized,
    "GroupNorm": group_norm,
    "NhwcConv": nhwc_conv,
    "NhwcFusedConv": nhwc_conv,
}
"""Of the domain com.microsoft."""
