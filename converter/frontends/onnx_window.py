"""What ONNX convolutions and pools have in common: padding, strides, and the way to channels last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject


def spatial_rank(x: Value) -> int:
    """The number of spatial dimensions of [batch, channels, spatial..]."""
    spatial = len(x.shape) - 2
    if spatial not in (1, 2, 3):
        raise Reject(f"input has shape {x.shape}; one to three spatial dimensions are supported")
    return spatial


def known(dim: int | str, what: str) -> int:
    """A size that must be a number."""
    if isinstance(dim, str):
        raise Reject(f"{what} must be known, it is '{dim}'", FIX_SIZES)
    return dim


def per_axis(node: OnnxNode, name: str, spatial: int) -> list[int]:
    """An attribute with a positive number for each spatial dimension, 1 when it is not given."""
    values = node.integers(name) or [1] * spatial
    if len(values) != spatial or min(values) < 1:
        raise Reject(f"attribute '{name}' is {values}, expected {spatial} positive numbers")
    return values


def pads_of(
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
        mirrored = mirrored_axes(node, x, kernel, strides, dilations)
        pairs = [
            _same_pads(x.shape[i + 2], k, strides[i], dilations[i], (mode == "SAME_LOWER") != (i in mirrored))
            for i, k in enumerate(kernel)
        ]
        return [before for before, _ in pairs] + [after for _, after in pairs]
    if mode != "NOTSET":
        raise Reject(f"attribute 'auto_pad' is '{mode}'")
    pads = node.integers("pads") or [0] * (2 * spatial)
    if len(pads) != 2 * spatial or min(pads) < 0:
        raise Reject(f"attribute 'pads' is {pads}, expected {2 * spatial} numbers not below 0")
    return pads


def needs_sizes(
    node: OnnxNode, x: Value, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> bool:
    """Whether the padding of auto_pad SAME depends on open sizes in a way that is the same for none of them."""
    mode = node.text("auto_pad", "NOTSET")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return False
    mirrored = mirrored_axes(node, x, kernel, strides, dilations)
    for axis, size in enumerate(x.shape[2:]):
        totals = _same_totals(size, kernel[axis], strides[axis], dilations[axis])
        if len({(total + ((mode == "SAME_LOWER") != (axis in mirrored))) // 2 for total in totals}) > 1:
            return True
    return False


def crops_front(
    node: OnnxNode, x: Value, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> bool:
    """Whether a pool under auto_pad SAME leaves elements out at the front, as where its stride is larger than its
    window by 2 and more: ONNX states the padding as a difference, which then is below 0."""
    if node.text("auto_pad", "NOTSET") not in ("SAME_UPPER", "SAME_LOWER"):
        return False
    return any(
        (stride if isinstance(size, str) else (size - 1) % stride + 1) - (dilation * (k - 1) + 1) > 1
        for size, k, stride, dilation in zip(x.shape[2:], kernel, strides, dilations, strict=True)
    )


def _same_pads(size: int | str, kernel: int, stride: int, dilation: int, lower: bool) -> tuple[int, int]:
    """The padding before and after one dimension under auto_pad SAME: a window starts every ``stride`` elements.

    Of an open size only the remainder by the stride counts. Where all remainders have the same padding before, the
    largest padding after serves every size: windows that would need less do not reach the rest of it.
    """
    totals = _same_totals(size, kernel, stride, dilation)
    befores = {(total + lower) // 2 for total in totals}
    if len(befores) > 1:
        raise Reject(f"the padding of auto_pad with stride {stride} depends on the size '{size}'", FIX_SIZES)
    (before,) = befores
    return before, max(totals) - before


def _same_totals(size: int | str, kernel: int, stride: int, dilation: int) -> list[int]:
    """Padding before and after together under auto_pad SAME, for every remainder that the size may have."""
    span = dilation * (kernel - 1) + 1
    remainders = range(1, stride + 1) if isinstance(size, str) else [(size - 1) % stride + 1]
    return [max(span - remainder, 0) for remainder in remainders]


def mirrored_axes(
    node: OnnxNode, x: Value, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[int, ...]:
    """Spatial dimensions along which a window has to run backwards, over reversed data.

    Under auto_pad SAME with a stride of 2 the padding before an open size depends on it, or that after it, never both.
    In the first case the windows keep their places as seen from the end, which reversed is the beginning.
    """
    mode = node.text("auto_pad", "NOTSET")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return ()
    axes = []
    for axis, size in enumerate(x.shape[2:]):
        totals = _same_totals(size, kernel[axis], strides[axis], dilations[axis])
        sides = [{(total + upper) // 2 for total in totals} for upper in (False, True)]
        before, after = sides if mode == "SAME_UPPER" else reversed(sides)
        if len(before) > 1 and len(after) == 1:
            axes.append(axis)
    return tuple(axes)


def mirror(g: Builder, x: Value, axes: Sequence[int]) -> Value:
    """[.., .., spatial..] with some of its spatial dimensions reversed."""
    if not axes:
        return x
    count = len(axes)
    bounds = ([-1] * count, [-(1 << 31)] * count, [axis + 2 for axis in axes], [-1] * count)
    return g.add("slice", [x, *(g.const(np.asarray(item, np.int64)) for item in bounds)])


def window_2d(strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]) -> dict[str, object]:
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


def two_dimensional(g: Builder, x: Value) -> Value:
    """[a, b, l] as [a, b, 1, l]."""
    return x if len(x.shape) == 4 else g.reshape(x, (x.shape[0], x.shape[1], 1, x.shape[2]))


def original_rank(g: Builder, y: Value, spatial: int) -> Value:
    """The inverse of ``two_dimensional`` for a result."""
    return y if spatial == 2 else g.reshape(y, (y.shape[0], y.shape[1], y.shape[3]))


def window_3d(strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]) -> dict[str, object]:
    """Attributes of the ops over one to three dimensions."""
    spatial = len(strides)
    absent = 3 - spatial
    return {
        "stride": (1,) * absent + tuple(strides),
        "pad_before": (0,) * absent + tuple(pads[:spatial]),
        "pad_after": (0,) * absent + tuple(pads[spatial:]),
        "dilation": (1,) * absent + tuple(dilations),
    }


def channels_last(g: Builder, x: Value) -> Value:
    """[batch, channels, spatial..] as [batch, spatial.., channels]."""
    return g.transpose(x, (0, *range(2, len(x.shape)), 1))


def channels_first(g: Builder, x: Value) -> Value:
    """[batch, spatial.., channels] as [batch, channels, spatial..]."""
    rank = len(x.shape)
    return g.transpose(x, (0, rank - 1, *range(1, rank - 1)))
