"""ONNX pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dtypes import DType
from ...ir import Value
from . import onnx_ordered
from .onnx_graph import Builder, OnnxNode, Reject, Row
from .onnx_open_windows import counted, lowest, ones_like, same_padded, without_padded, zero
from .onnx_window import (
    channels_first,
    channels_last,
    crops_front,
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


@dataclass(frozen=True)
class _Window:
    """The window of a pool: one number for each spatial dimension, for padding two."""

    kernel: list[int]
    strides: list[int]
    pads: list[int]
    dilations: list[int]
    extra: list[int]
    """Positions past the padding that windows may reach."""
    mirrored: tuple[int, ...]
    """Dimensions along which it runs backwards."""
    counted: tuple[int, ...] = ()
    """Dimensions of open size along which the last window may be one too many."""
    before: tuple[Value, ...] = ()
    """What was put in front of each spatial dimension at run time."""

    def finish(self, g: Builder, y: Value, x: Value) -> Value:
        """The result of the windows over ``x``, mirrored back and without windows that do not count."""
        for axis in self.counted:
            y = counted(g, y, x, axis + 2, self.pads[axis], self.strides[axis])
        return mirror(g, y, self.mirrored)

    def flat_attrs(self) -> dict[str, object]:
        """Attributes of the ops over two dimensions, from one or two."""
        kernel, extra = ([1, *self.kernel], [0, *self.extra]) if len(self.kernel) == 1 else (self.kernel, self.extra)
        attrs = {"kernel_h": kernel[0], "kernel_w": kernel[1], "extra_bottom": extra[0], "extra_right": extra[1]}
        return {**window_2d(self.strides, self.pads, self.dilations), **attrs}

    def attrs(self) -> dict[str, object]:
        """Attributes of the ops over one to three dimensions."""
        absent = 3 - len(self.kernel)
        sizes = {"kernel": (1,) * absent + tuple(self.kernel), "extra": (0,) * absent + tuple(self.extra)}
        return {**window_3d(self.strides, self.pads, self.dilations), **sizes}


def _window(g: Builder, node: OnnxNode, x: Value, fill: Callable[[Builder, DType], Value]) -> tuple[Value, _Window]:
    """The window of a pool, and what it runs over: ``x``, with padding of ``fill`` where that depends on open sizes."""
    spatial = spatial_rank(x)
    kernel = node.integers("kernel_shape")
    if kernel is None or len(kernel) != spatial or min(kernel) < 1:
        raise Reject(f"attribute 'kernel_shape' is {kernel}, expected {spatial} sizes")
    strides, dilations = per_axis(node, "strides", spatial), per_axis(node, "dilations", spatial)
    mirrored = mirrored_axes(node, x, kernel, strides, dilations)
    by_size = needs_sizes(node, x, kernel, strides, dilations) or crops_front(node, x, kernel, strides, dilations)
    if by_size or (mirrored and node.wants(1)):
        node.ignore("pads")
        node.integer("ceil_mode", 0)
        lower = node.text("auto_pad", "NOTSET") == "SAME_LOWER"
        padded, before = same_padded(g, x, (kernel, strides, dilations), lower, fill(g, x.dtype), crops=True)
        none = [0] * spatial
        return padded, _Window(kernel, strides, none * 2, dilations, none, (), before=tuple(before))
    pads, extra, open_ends = pads_of(node, x, kernel, strides, dilations), [0] * spatial, []
    if node.integer("ceil_mode", 0):
        for i, size in enumerate(x.shape[2:]):
            reach = dilations[i] * (kernel[i] - 1) + 1
            if isinstance(size, str) and pads[i + spatial] + strides[i] > reach:
                open_ends.append(i)
            extra[i] = _ceil_extra(size, pads[i], pads[i + spatial], reach, strides[i])
    # Padding that only windows would reach that are left out goes with them.
    ends = [max(end + min(more, 0), 0) for end, more in zip(pads[spatial:], extra, strict=True)]
    beyond = [max(more, 0) for more in extra]
    return mirror(g, x, mirrored), _Window(
        kernel, strides, [*pads[:spatial], *ends], dilations, beyond, mirrored, tuple(open_ends)
    )


def _ceil_extra(size: int | str, begin: int, end: int, reach: int, stride: int) -> int:
    """Positions beyond the padding that a last, partial window needs, or how many less where none starts in the padding
    after the input: such a window is left out. For an open size what every size may need."""
    if isinstance(size, str):
        return stride - 1
    span = size + begin + end - reach
    count = -(-span // stride) + 1
    if (count - 1) * stride >= size + begin:
        count -= 1
    return (count - 1) * stride - span


def max_pool(g: Builder, node: OnnxNode) -> list[Value]:
    """MaxPool. The plain case over one or two dimensions has an op of its own."""
    x = node.value(0)
    data, window = _window(g, node, x, lowest)
    column_major = node.integer("storage_order", 0)
    if column_major not in (0, 1):
        raise Reject(f"attribute 'storage_order' is {column_major}")
    plain = x.dtype is DType.f32 or x.quant is not None
    if plain and not node.wants(1) and len(window.kernel) < 3:
        y = g.add("max_pool2d", [g.to_nhwc(two_dimensional(g, data))], window.flat_attrs())
        return [window.finish(g, original_rank(g, g.to_nchw(y), len(window.kernel)), x)]
    attrs = {**window.attrs(), "with_indices": int(node.wants(1)), "column_major": column_major}
    results = g.add_all("max_pool_nd", [channels_last(g, data)], attrs)
    results = [window.finish(g, channels_first(g, y), x) for y in results]
    if len(results) > 1 and window.before:
        results[1] = without_padded(g, results[1], x, data, window.before, bool(column_major))
    return results


def average_pool(g: Builder, node: OnnxNode) -> Value:
    """AveragePool."""
    x = node.value(0)
    data, window = _window(g, node, x, zero)
    include = bool(node.integer("count_include_pad", 0))
    y = _average(g, data, window, include, node.opset)
    if window.before and not include:
        # The padding is a part of the data here, and counts; the average of ones says how much of each window it is.
        sizes = (window.kernel, window.strides, window.dilations)
        lower = node.text("auto_pad", "NOTSET") == "SAME_LOWER"
        ones, _ = same_padded(g, ones_like(g, x), sizes, lower, zero(g, x.dtype), crops=True)
        y = g.add("div", [y, _average(g, ones, window, include, node.opset)])
    return window.finish(g, y, x)


def _average(g: Builder, data: Value, window: _Window, include: bool, opset: int) -> Value:
    attrs = {"count_include_pad": int(include)}
    if len(window.kernel) == 3:
        return channels_first(g, g.add("avg_pool_nd", [channels_last(g, data)], {**window.attrs(), **attrs}))
    flat = {**window.flat_attrs(), **attrs}
    if (ordered := onnx_ordered.average_pool(g, data, flat, len(window.kernel), opset)) is not None:
        return ordered
    y = g.add("avg_pool2d", [g.to_nhwc(two_dimensional(g, data))], flat)
    return original_rank(g, g.to_nchw(y), len(window.kernel))


def lp_pool(g: Builder, node: OnnxNode) -> Value:
    """LpPool."""
    x = node.value(0)
    data, window = _window(g, node, x, zero)
    y = g.add("lp_pool", [channels_last(g, data)], {**window.attrs(), "p": _p(node)})
    return window.finish(g, channels_first(g, y), x)


def _p(node: OnnxNode) -> int:
    p = node.integer("p", 2)
    if p < 1:
        raise Reject(f"attribute 'p' is {p}")
    return p


def global_average_pool(g: Builder, node: OnnxNode) -> Value:
    """GlobalAveragePool: the mean over all spatial dimensions."""
    x = node.value(0)
    ordered = onnx_ordered.mean(g, x, range(2, len(x.shape)), True, pool=True, total=False)
    if ordered is not None:
        return ordered
    return _global(g, node, "reduce_mean")


def global_max_pool(g: Builder, node: OnnxNode) -> Value:
    """GlobalMaxPool: the maximum over all spatial dimensions."""
    return _global(g, node, "reduce_max")


def _global(g: Builder, node: OnnxNode, op: str) -> Value:
    x = node.value(0)
    axes = sum(1 << axis for axis in range(2, len(x.shape)))
    return g.add(op, [x], {"axes": axes, "keep_dims": 1})


def global_lp_pool(g: Builder, node: OnnxNode) -> Value:
    """GlobalLpPool: the p-norm over all spatial dimensions."""
    x = node.value(0)
    spatial_rank(x)
    return channels_first(g, g.add("lp_pool", [channels_last(g, x)], {"p": _p(node)}))


def max_unpool(g: Builder, node: OnnxNode) -> Value:
    """MaxUnpool: indices count in the shape that the pool is said to have come from, whatever shape is wanted."""
    x, indices, shape = node.value(0), node.value(1), node.optional(2)
    spatial = spatial_rank(x)
    kernel = node.integers("kernel_shape")
    if kernel is None or len(kernel) != spatial:
        raise Reject(f"attribute 'kernel_shape' is {kernel}, expected {spatial} sizes")
    strides = per_axis(node, "strides", spatial)
    pads = pads_of(node, x, kernel, strides, [1] * spatial)
    dims = [known(dim, "the size of each dimension") for dim in x.shape]
    indexed = [*dims[:2], *(_before_pool(dims[i + 2], kernel[i], strides[i], pads[i::spatial]) for i in range(spatial))]
    attrs = {"indexed": tuple(indexed), "shape": tuple(indexed)}
    if shape is None:
        return g.add("max_unpool", [x, indices], attrs)
    return g.add("max_unpool", [x, indices, shape], attrs)


def _before_pool(size: int, kernel: int, stride: int, pads: Sequence[int]) -> int:
    return int((size - 1) * stride - np.sum(pads) + kernel)


ROWS: dict[str, Row] = {
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average_pool,
    "GlobalLpPool": global_lp_pool,
    "GlobalMaxPool": global_max_pool,
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
}
