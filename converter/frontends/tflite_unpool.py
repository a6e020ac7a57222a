# SPDX-License-Identifier: Apache-2.0
"""Custom operators that pool and remember where each maximum stood, and those that put it back there.

There are two kinds. TensorFlow's counts positions in a whole image, (row * width + column) * channels + channel, as
int32. MediaPipe's counts them in the window, row * width of the window + column, as float32 and a tenth more.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_conv import window_padding
from .tflite_graph import Row, TfliteNode, fused_clamp, require

_MOST = 1 << 28
"""Elements of an image."""
_TENTH = np.float32(0.1)
"""What MediaPipe adds to positions, so that they survive rounding."""


@dataclass(frozen=True)
class _Pool:
    """The options of a pool, height before width. ``padding`` is 0 for SAME and 1 for VALID."""

    padding: int
    stride: tuple[int, int]
    kernel: tuple[int, int]
    activation: int = 0


def _pool(node: TfliteNode) -> _Pool:
    """The options as six integers: padding (1 SAME, 2 VALID), strides and sizes across and down, activation."""
    data = node.operator.custom_options
    require(len(data) >= 24, f"{len(data)} bytes of options, expected 24")
    padding, across, down, width, height, activation = struct.unpack_from("<6i", data)
    require(padding in (1, 2), f"padding {padding}")
    return _checked(_Pool(padding - 1, (down, across), (height, width), activation))


def _checked(pool: _Pool) -> _Pool:
    require(min(*pool.stride, *pool.kernel) >= 1, f"strides {pool.stride}, window {pool.kernel}")
    return pool


def _named_pool(node: TfliteNode) -> _Pool:
    """The options by their names in TensorFlow."""
    options = node.custom_options()
    require(not options.get("include_batch_in_index"), "include_batch_in_index is not supported")
    padding = options.get("padding")
    require(padding in ("SAME", "VALID"), f"padding {padding!r}")
    return _checked(_Pool(int(padding == "VALID"), _inner(options, "strides"), _inner(options, "ksize")))


def _inner(options: Mapping[str, Any], name: str) -> tuple[int, int]:
    """The two sizes in the middle of four."""
    sizes = options.get(name)
    given = list(sizes) if isinstance(sizes, Sequence) else []
    fits = len(given) == 4 and all(isinstance(size, int) for size in given) and given[0] == given[3] == 1
    require(fits, f"{name} {sizes}")
    return int(given[1]), int(given[2])


def _image(node: TfliteNode, index: int = 0) -> tuple[int, int, int, int]:
    x, shape = node.value(index), node.shape(index)
    require(len(shape) == 4 and x.dtype is DType.f32, f"{x.dtype.name} of shape {list(shape)}")
    require(max(shape) <= _MOST and math.prod(shape) <= _MOST, f"shape {list(shape)} is too large")
    n, h, w, c = shape
    return n, h, w, c


def pool_with_places(node: TfliteNode, pool: _Pool) -> tuple[Value, Value, list[int]]:
    """The maxima, where they stood, counted from the start of a tensor N, C, H, W (s64), and the padding before."""
    sizes = _image(node)[1:3]
    pads = [
        window_padding(node, size, k, stride, 1, pool.padding, axis)
        for size, k, stride, axis in zip(sizes, pool.kernel, pool.stride, ("height", "width"), strict=True)
    ]
    attrs: dict[str, Any] = {
        "kernel": (1, *pool.kernel),
        "stride": (1, *pool.stride),
        "pad_before": (0, *(before for before, _ in pads)),
        "pad_after": (0, *(after for _, after in pads)),
        "with_indices": 1,
    }
    y, places = node.add_all("max_pool_nd", [node.value(0)], attrs)
    return y, places, [before for before, _ in pads]


def _s64(node: TfliteNode, data: np.ndarray | int, suffix: str) -> Value:
    return node.const(np.asarray(data, np.int64), suffix=suffix)


def _grid(count: int, axis: int) -> np.ndarray:
    """0 .. count - 1 along one of four axes."""
    return np.arange(count, dtype=np.int64).reshape([-1 if index == axis else 1 for index in range(4)])


def max_pool_with_argmax(node: TfliteNode) -> list[Value]:
    """TensorFlow's: int32 places in each image."""
    n, h, w, c = _image(node)
    y, places, _ = pool_with_places(node, _named_pool(node))
    require(node.output_type(1).dtype is DType.s32, "the places are not int32")
    plane = _grid(n, 0) * c + _grid(c, 3)
    scaled = node.add("mul", [places, _s64(node, c, "channels")])
    moved = node.add("add", [scaled, _s64(node, _grid(c, 3) - plane * (h * w * c), "plane")])
    return [y, node.add("cast", [moved], {"to": DType.s32.value})]


def max_pooling_with_argmax_2d(node: TfliteNode) -> list[Value]:
    """MediaPipe's: float32 places in each window."""
    pool = _pool(node)
    n, h, w, c = _image(node)
    y, places, pads = pool_with_places(node, pool)
    require(node.output_type(1).dtype is DType.f32, "the places are not float32")
    plane = _grid(n, 0) * c + _grid(c, 3)
    inside = node.add("sub", [places, _s64(node, plane * (h * w), "plane")])
    row = node.add("div", [inside, _s64(node, w, "width")])
    # (row - first) * kernel + column - first, where column is inside - row * w.
    across = node.add("mul", [row, _s64(node, pool.kernel[1] - w, "across")])
    height, width = y.type.static_shape[1:3]
    first = (_grid(height, 1) * pool.stride[0] - pads[0]) * pool.kernel[1] + _grid(width, 2) * pool.stride[1] - pads[1]
    local = node.add("sub", [node.add("add", [inside, across]), _s64(node, first, "first")])
    real = node.add("cast", [local], {"to": DType.f32.value})
    places = node.add("add", [real, node.const(_TENTH, suffix="tenth")])
    limits = fused_clamp(pool.activation)
    if limits != fused_clamp(0):
        y = node.add("clip", [y], {"alpha": limits["clamp_min"], "beta": limits["clamp_max"]})
    return [y, places]


def max_unpooling_2d(node: TfliteNode) -> Value:
    """Zeros, but for the elements of the first input at the places that the second one tells: of either kind."""
    pool, sizes = _pool(node), _image(node)
    require(node.shape(1) == sizes, f"places of shape {list(node.shape(1))} for {list(sizes)}")
    kind = node.value(1).dtype
    require(kind in (DType.s32, DType.f32), f"places of {kind.name}")
    return (_unpooled if kind is DType.s32 else _unpooled_from_windows)(node, pool)


def _unpooled(node: TfliteNode, pool: _Pool) -> Value:
    n, h, w, c = _image(node)
    height, width = (
        size * stride if pool.padding == 0 else (size - 1) * stride + k
        for size, stride, k in zip((h, w), pool.stride, pool.kernel, strict=True)
    )
    wide = node.add("cast", [node.value(1)], {"to": DType.s64.value})
    places = node.add("add", [wide, _s64(node, _grid(n, 0) * (height * width * c), "image")])
    return _put(node, places, (n, height, width, c))


def _unpooled_from_windows(node: TfliteNode, pool: _Pool) -> Value:
    n, h, w, c = _image(node)
    height, width = h * pool.kernel[0], w * pool.kernel[1]
    whole = node.add("cast", [node.value(1)], {"to": DType.s64.value})
    down = node.add("div", [whole, _s64(node, pool.kernel[1], "kernel")])
    across = node.add("sub", [whole, node.add("mul", [down, _s64(node, pool.kernel[1], "kernel")])])
    inside = []
    coordinates = []
    for axis, local, size, after in ((1, down, h, height), (2, across, w, width)):
        stride, k = pool.stride[axis - 1], pool.kernel[axis - 1]
        pad = max((size - 1) * stride + k - after, 0) // 2
        place = node.add("add", [local, _s64(node, _grid(size, axis) * stride - pad, "first")])
        coordinates.append(place)
        inside.append(node.add("greater_equal", [place, _s64(node, 0, "zero")]))
        inside.append(node.add("less", [place, _s64(node, after, "size")]))
    y, x = coordinates
    rows = node.add("add", [node.add("mul", [y, _s64(node, width, "width")]), x])
    flat = node.add("mul", [rows, _s64(node, c, "channels")])
    flat = node.add("add", [flat, _s64(node, _grid(n, 0) * (height * width * c) + _grid(c, 3), "image")])
    kept = inside[0]
    for other in inside[1:]:
        kept = node.add("logical_and", [kept, other])
    places = node.add("where", [kept, flat, _s64(node, -1, "nowhere")])
    return _put(node, places, (n, height, width, c))


def _put(node: TfliteNode, places: Value, shape: tuple[int, ...]) -> Value:
    return node.add("max_unpool", [node.value(0), places], {"indexed": shape, "shape": shape})


CUSTOM_ROWS: Mapping[str, Row] = {
    "LiteRtMaxUnpooling2D": max_unpooling_2d,
    "MaxPoolWithArgmax": max_pool_with_argmax,
    "MaxPoolingWithArgmax2D": max_pooling_with_argmax_2d,
    "MaxUnpooling2D": max_unpooling_2d,
}
