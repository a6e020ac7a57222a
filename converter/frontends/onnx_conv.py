"""ONNX convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Dim, Value
from . import onnx_ordered
from .onnx_graph import Builder, OnnxNode, Reject, Row, constant
from .onnx_math import arithmetic
from .onnx_open_windows import same_padded, zero
from .onnx_window import (
    channels_first,
    channels_last,
    known,
    mirror,
    mirrored_axes,
    needs_sizes,
    original_rank,
    pads_of,
    per_axis,
    spatial_rank,
    two_dimensional,
    window_2d,
    window_3d,
)


def conv(g: Builder, node: OnnxNode) -> Value:
    """Conv over one to three spatial dimensions; one runs as two, the first of size 1."""
    x, w, bias = node.value(0), node.value(1), node.optional(2)
    spatial = spatial_rank(x)
    kernel = _kernel(node, x, w)
    strides, dilations = per_axis(node, "strides", spatial), per_axis(node, "dilations", spatial)
    mirrored: tuple[int, ...] = ()
    if needs_sizes(node, x, kernel, strides, dilations):
        lower = node.text("auto_pad", "NOTSET") == "SAME_LOWER"
        x, _ = same_padded(g, x, (kernel, strides, dilations), lower, zero(g, x.dtype))
        node.ignore("pads")
        pads = [0] * (2 * spatial)
    else:
        pads = pads_of(node, x, kernel, strides, dilations)
        mirrored = mirrored_axes(node, x, kernel, strides, dilations)
    x, w = mirror(g, x, mirrored), mirror(g, w, mirrored)
    groups, out_c = node.integer("group", 1), known(w.shape[0], "the channels")
    in_c = _channels(x, w.shape[1], groups)
    if groups < 1 or in_c % groups or out_c % groups or w.shape[1] != in_c // groups:
        raise Reject(f"group {groups} does not fit {in_c} input channels and weights {w.shape}")
    if spatial == 3:
        attrs = {**window_3d(strides, pads, dilations), "groups": groups}
        w = g.transpose(w, (2, 3, 4, 1, 0))
        return mirror(g, channels_first(g, g.add("conv3d", [channels_last(g, x), w, bias], attrs)), mirrored)
    x, w = two_dimensional(g, x), two_dimensional(g, w)
    flat = window_2d(strides, pads, dilations)
    if (ordered := onnx_ordered.conv2d(g, x, w, bias, {**flat, "groups": groups})) is not None:
        return mirror(g, original_rank(g, ordered, spatial), mirrored)
    if groups == x.shape[1] and groups > 1:  # with open channels: conv2d, whose weights tell them
        w = g.transpose(w, (1, 2, 3, 0))
        y = g.add("depthwise_conv2d", [g.to_nhwc(x), w, bias], {**flat, "groups": groups})
    else:
        w = g.transpose(w, (0, 2, 3, 1))
        y = g.add("conv2d", [g.to_nhwc(x), w, bias], {**flat, "groups": groups})
    return mirror(g, original_rank(g, g.to_nchw(y), spatial), mirrored)


def _kernel(node: OnnxNode, x: Value, w: Value) -> list[int]:
    """The sizes of the kernel, which are those of the weights."""
    if len(w.shape) != len(x.shape):
        raise Reject(f"weights have rank {len(w.shape)}, the input has rank {len(x.shape)}")
    kernel = [known(dim, "the kernel") for dim in w.shape[2:]]
    if (given := node.integers("kernel_shape")) is not None and given != kernel:
        raise Reject(f"attribute 'kernel_shape' is {given}, the weights have {kernel}")
    return kernel


def _channels(x: Value, of_group: Dim, groups: int) -> int:
    """The channels of the input; where they are a symbol, those that the weights are for."""
    return known(of_group, "the channels") * groups if isinstance(x.shape[1], str) else x.shape[1]


def conv_transpose(g: Builder, node: OnnxNode) -> Value:
    """ConvTranspose over one to three spatial dimensions."""
    x, w, bias = node.value(0), node.value(1), node.optional(2)
    spatial = spatial_rank(x)
    kernel = _kernel(node, x, w)
    strides, dilations = per_axis(node, "strides", spatial), per_axis(node, "dilations", spatial)
    groups = node.integer("group", 1)
    in_c = _channels(x, w.shape[0], 1)
    if groups < 1 or in_c % groups or w.shape[0] != in_c:
        raise Reject(f"group {groups} does not fit {in_c} input channels and weights {w.shape}")
    pads = _transposed_pads(node, x, kernel, strides, dilations)
    window = window_3d(strides, pads, dilations)
    if groups == 1 and spatial == 2 and x.type.is_static:
        sizes = [
            (int(dim) - 1) * stride + (k - 1) * dilation + 1 - before - after
            for dim, stride, k, dilation, before, after in zip(
                x.shape[2:], strides, kernel, dilations, pads[:2], pads[2:], strict=True
            )
        ]
        if (ordered := onnx_ordered.conv_transpose(g, x, w, bias, window, sizes)) is not None:
            return ordered
    attrs = {**window, "groups": groups}
    w = g.transpose(w, (*range(2, spatial + 2), 0, 1))
    return channels_first(g, g.add("conv_transpose", [channels_last(g, x), w, bias], attrs))


def _transposed_pads(
    node: OnnxNode, x: Value, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    """What is cut off before each spatial dimension, then after each; there it may be negative, which adds."""
    spatial = len(kernel)
    mode, sizes = node.text("auto_pad", "NOTSET"), node.integers("output_shape")
    more = node.integers("output_padding") or [0] * spatial
    if len(more) != spatial or min(more) < 0:
        raise Reject(f"attribute 'output_padding' is {more}, expected {spatial} numbers not below 0")
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise Reject(f"attribute 'auto_pad' is '{mode}'")
    if sizes is None and mode in ("NOTSET", "VALID"):
        pads = pads_of(node, x, kernel, strides, dilations)
        return [*pads[:spatial], *(after - extra for after, extra in zip(pads[spatial:], more, strict=True))]
    node.ignore("pads")
    if sizes is None:
        # Of a result of size * stride the size cancels out.
        dims, sizes = [1] * spatial, list(strides)
    else:
        dims, sizes = [known(dim, "the size that the padding follows from") for dim in x.shape[2:]], sizes[-spatial:]
    before, after = [], []
    for dim, size, k, stride, dilation, extra in zip(dims, sizes, kernel, strides, dilations, more, strict=True):
        reach = (dim - 1) * stride + (k - 1) * dilation + 1
        total = max(reach + extra - size, 0)
        before.append(total // 2 if mode == "SAME_UPPER" else total - total // 2)
        after.append(reach - size - before[-1])
    return before + after


def gemm(g: Builder, node: OnnxNode) -> Value:
    """Gemm: y = alpha a' b' + beta c; a layer of constant weights becomes dense."""
    a, b, c = node.value(0), node.value(1), node.optional(2)
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    transpose_a, transpose_b = bool(node.integer("transA", 0)), bool(node.integer("transB", 0))
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise Reject(f"operands have shapes {a.shape} and {b.shape}, expected two dimensions")
    if c is not None and beta == 0.0:
        c = None
    if alpha == beta == 1.0 and not transpose_a:
        units = b.shape[0 if transpose_b else 1]
        bias = c if c is None or c.shape == (units,) or not g.as_written else _bias(c, known(units, "the units"))
        packed = id(b) in g.stored
        if bias is not None or c is None:
            y = onnx_ordered.matmul(g, a, b, transposed=transpose_b, packed=packed, bias=bias)
            if y is not None:
                return y
    if c is not None and beta != 1.0:
        c = g.add("mul", [c, g.const(np.asarray(beta, c.dtype.numpy))])
    if b.data is not None and b.data.size and not a.is_constant and a.dtype is DType.f32:
        weights = b if transpose_b else g.transpose(b, (1, 0))
        if alpha != 1.0:
            weights = g.add("mul", [weights, g.const(np.asarray(alpha, np.float32))])
        bias = _bias(c, known(weights.shape[0], "the units"))
        x = g.transpose(a, (1, 0)) if transpose_a else a
        y = g.add("dense", [x, weights, bias])
        return y if c is None or bias is not None else g.add("add", [y, c])
    y = g.add("matmul", [a, b], {"transpose_a": int(transpose_a), "transpose_b": int(transpose_b)})
    if alpha != 1.0:
        y = g.add("mul", [y, g.const(np.asarray(alpha, y.dtype.numpy))])
    return y if c is None else arithmetic(g, "add", y, c)


def _bias(c: Value | None, units: int) -> Value | None:
    """``c`` as a vector of one element per unit, when it is constant and the same for all rows."""
    if c is None or c.data is None or c.data.ndim > 2 or (c.data.ndim == 2 and c.data.shape[0] != 1):
        return None
    if c.data.size not in (1, units):
        return None
    return c if c.data.shape == (units,) else constant(np.broadcast_to(c.data.reshape(-1), (units,)), c.name)


def matmul(g: Builder, node: OnnxNode) -> Value:
    """MatMul with NumPy's rules; a constant right operand of two dimensions becomes the weights of dense."""
    a, b = node.value(0), node.value(1)
    if (ordered := onnx_ordered.matmul(g, a, b, packed=id(b) in g.stored)) is not None:
        return ordered
    if b.data is not None and b.data.ndim == 2 and b.data.size and not a.is_constant and a.dtype is DType.f32:
        return g.add("dense", [a, g.transpose(b, (1, 0))])
    rank_a, rank_b = len(a.shape), len(b.shape)
    if rank_a == 0 or rank_b == 0:
        raise Reject("an operand is a scalar")
    if rank_a == 1:
        a = g.reshape(a, (1, a.shape[0]))
    if rank_b == 1:
        b = g.reshape(b, (b.shape[0], 1))
    y = g.add("matmul", [a, b])
    shape = list(y.shape)
    if rank_b == 1:
        shape.pop()
    if rank_a == 1:
        shape.pop(len(shape) - (1 if rank_b == 1 else 2))
    return g.reshape(y, shape)


ROWS: dict[str, Row] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Gemm": gemm,
    "MatMul": matmul,
}
