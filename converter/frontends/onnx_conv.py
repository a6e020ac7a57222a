"""ONNX convolutions, pools and matrix products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row, constant
from .onnx_math import arithmetic


def conv(g: Builder, node: OnnxNode) -> Value:
    """Conv over one or two spatial dimensions; one runs as two, the first of size 1."""
    x, w, bias = node.value(0), node.value(1), node.optional(2)
    spatial = _spatial_rank(x)
    if len(w.shape) != len(x.shape):
        raise Reject(f"weights have rank {len(w.shape)}, the input has rank {len(x.shape)}")
    kernel = [_static(dim, "the kernel") for dim in w.shape[2:]]
    if (given := node.integers("kernel_shape")) is not None and given != kernel:
        raise Reject(f"attribute 'kernel_shape' is {given}, the weights have {kernel}")
    strides, dilations = _per_axis(node, "strides", spatial), _per_axis(node, "dilations", spatial)
    pads = _pads(node, x, kernel, strides, dilations)
    in_c, out_c = _static(x.shape[1], "the channels"), _static(w.shape[0], "the channels")
    groups = node.integer("group", 1)
    if groups < 1 or in_c % groups or out_c % groups or w.shape[1] != in_c // groups:
        raise Reject(f"group {groups} does not fit {in_c} input channels and weights {w.shape}")
    x, w = _two_dimensional(g, x), _two_dimensional(g, w)
    attrs = _window(strides, pads, dilations)
    if groups == in_c and groups > 1:
        w = g.transpose(w, (1, 2, 3, 0))
        y = g.add("depthwise_conv2d", [g.to_nhwc(x), w, bias], {**attrs, "groups": groups})
    else:
        w = g.transpose(w, (0, 2, 3, 1))
        y = g.add("conv2d", [g.to_nhwc(x), w, bias], {**attrs, "groups": groups})
    return _original_rank(g, g.to_nchw(y), spatial)


def max_pool(g: Builder, node: OnnxNode) -> Value:
    """MaxPool; the output Indices is not supported."""
    if node.wants(1):
        raise Reject("output Indices is not supported")
    return _pool(g, node, "max_pool2d", {})


def average_pool(g: Builder, node: OnnxNode) -> Value:
    """AveragePool."""
    include = node.integer("count_include_pad", 0)
    return _pool(g, node, "avg_pool2d", {"count_include_pad": int(bool(include))})


def _pool(g: Builder, node: OnnxNode, op: str, attrs: dict[str, object]) -> Value:
    x = node.value(0)
    spatial = _spatial_rank(x)
    kernel = node.integers("kernel_shape")
    if kernel is None or len(kernel) != spatial or min(kernel) < 1:
        raise Reject(f"attribute 'kernel_shape' is {kernel}, expected {spatial} sizes")
    strides, dilations = _per_axis(node, "strides", spatial), _per_axis(node, "dilations", spatial)
    pads = _pads(node, x, kernel, strides, dilations)
    extra = [0] * spatial
    if node.integer("ceil_mode", 0):
        extra = [
            _ceil_extra(_static(size, "the size"), pads[i], pads[i + spatial], kernel[i], strides[i], dilations[i])
            for i, size in enumerate(x.shape[2:])
        ]
    pads = [*pads[:spatial], *(end + more for end, more in zip(pads[spatial:], extra, strict=True))]
    if spatial == 1:
        kernel, extra = [1, *kernel], [0, *extra]
    window = {"kernel_h": kernel[0], "kernel_w": kernel[1], "extra_bottom": extra[0], "extra_right": extra[1]}
    y = g.add(op, [g.to_nhwc(_two_dimensional(g, x))], {**_window(strides, pads, dilations), **window, **attrs})
    return _original_rank(g, g.to_nchw(y), spatial)


def _ceil_extra(size: int, begin: int, end: int, kernel: int, stride: int, dilation: int) -> int:
    """Positions beyond the padding that a last, partial window needs; a window that starts in them is left out."""
    reach = dilation * (kernel - 1) + 1
    span = size + begin + end - reach
    count = -(-span // stride) + 1
    if (count - 1) * stride >= size + begin:
        count -= 1
    return max((count - 1) * stride - span, 0)


def global_average_pool(g: Builder, node: OnnxNode) -> Value:
    """GlobalAveragePool: the mean over all spatial dimensions."""
    return _global(g, node, "reduce_mean")


def global_max_pool(g: Builder, node: OnnxNode) -> Value:
    """GlobalMaxPool: the maximum over all spatial dimensions."""
    return _global(g, node, "reduce_max")


def _global(g: Builder, node: OnnxNode, op: str) -> Value:
    x = node.value(0)
    axes = sum(1 << axis for axis in range(2, len(x.shape)))
    return g.add(op, [x], {"axes": axes, "keep_dims": 1})


def conv_transpose(g: Builder, node: OnnxNode) -> Value:
    raise Reject("transposed convolution has no kernel yet", "replace it by upsampling and a convolution")


def gemm(g: Builder, node: OnnxNode) -> Value:
    """Gemm: y = alpha a' b' + beta c; a layer of constant weights becomes dense."""
    a, b, c = node.value(0), node.value(1), node.optional(2)
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    transpose_a, transpose_b = bool(node.integer("transA", 0)), bool(node.integer("transB", 0))
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise Reject(f"operands have shapes {a.shape} and {b.shape}, expected two dimensions")
    if c is not None and beta == 0.0:
        c = None
    if c is not None and beta != 1.0:
        c = g.add("mul", [c, g.const(np.asarray(beta, c.dtype.numpy))])
    if b.data is not None and not a.is_constant and a.dtype is DType.f32:
        weights = b.data if transpose_b else b.data.T
        if alpha != 1.0:
            weights = weights * np.float32(alpha)
        units = weights.shape[0]
        bias = _bias(c, units)
        x = g.transpose(a, (1, 0)) if transpose_a else a
        y = g.add("dense", [x, g.const(weights, "weights"), bias])
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
    if b.data is not None and b.data.ndim == 2 and not a.is_constant and a.dtype is DType.f32:
        return g.add("dense", [a, g.const(b.data.T, "weights")])
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


def _spatial_rank(x: Value) -> int:
    spatial = len(x.shape) - 2
    if spatial not in (1, 2):
        raise Reject(f"input has shape {x.shape}; one or two spatial dimensions are supported")
    return spatial


def _static(dim: int | str, what: str) -> int:
    if isinstance(dim, str):
        raise Reject(f"{what} must be known, it is '{dim}'", FIX_SIZES)
    return dim


def _per_axis(node: OnnxNode, name: str, spatial: int) -> list[int]:
    values = node.integers(name) or [1] * spatial
    if len(values) != spatial or min(values) < 1:
        raise Reject(f"attribute '{name}' is {values}, expected {spatial} positive numbers")
    return values


def _pads(
    node: OnnxNode, x: Value, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    """Padding before each spatial dimension, then after each, with auto_pad settled."""
    spatial = len(kernel)
    mode = node.text("auto_pad", "NOTSET")
    if mode != "NOTSET":
        node.ignore("pads")
    if mode == "VALID":
        return [0] * (2 * spatial)
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        before, after = [], []
        for size, k, stride, dilation in zip(x.shape[2:], kernel, strides, dilations, strict=True):
            known = _static(size, "the size that auto_pad needs")
            total = max((-(-known // stride) - 1) * stride + dilation * (k - 1) + 1 - known, 0)
            small = total // 2
            before.append(small if mode == "SAME_UPPER" else total - small)
            after.append(total - before[-1])
        return before + after
    if mode != "NOTSET":
        raise Reject(f"attribute 'auto_pad' is '{mode}'")
    pads = node.integers("pads") or [0] * (2 * spatial)
    if len(pads) != 2 * spatial or min(pads) < 0:
        raise Reject(f"attribute 'pads' is {pads}, expected {2 * spatial} numbers not below 0")
    return pads


def _window(strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]) -> dict[str, object]:
    """Attributes of a window in two dimensions from those of one or two."""
    if len(strides) == 1:
        strides, pads, dilations = [1, *strides], [0, pads[0], 0, pads[1]], [1, *dilations]
    return {
        "stride_h": strides[0],
        "stride_w": strides[1],
        "pad_top": pads[0],
        "pad_left": pads[1],
        "pad_bottom": pads[2],
        "pad_right": pads[3],
        "dilation_h": dilations[0],
        "dilation_w": dilations[1],
    }


def _two_dimensional(g: Builder, x: Value) -> Value:
    """[a, b, l] as [a, b, 1, l]."""
    return x if len(x.shape) == 4 else g.reshape(x, (x.shape[0], x.shape[1], 1, x.shape[2]))


def _original_rank(g: Builder, y: Value, spatial: int) -> Value:
    return y if spatial == 2 else g.reshape(y, (y.shape[0], y.shape[1], y.shape[3]))


ROWS: dict[str, Row] = {
    "AveragePool": average_pool,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Gemm": gemm,
    "GlobalAveragePool": global_average_pool,
    "GlobalMaxPool": global_max_pool,
    "MatMul": matmul,
    "MaxPool": max_pool,
}
