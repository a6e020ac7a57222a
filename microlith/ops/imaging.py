"""Ops that sample images, but for resize; meaning in ``nnacl_kernels/image/image.h``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType, Value
from . import REQUIRED, OpDef, Sample, Tolerance, register, sampling
from .conv import WINDOW_ATTRS
from .positions import INDEX_TYPES
from .shape_rules import (
    data_input,
    fresh_dim,
    integers_of,
    length_of,
    multiply_dims,
    require,
    require_dtype,
    require_equal,
    require_rank,
    static_shape,
    window_dim,
)

Attrs = Mapping[str, Any]
Optionals = Sequence["np.ndarray | None"]

NEAREST, LINEAR, CUBIC = range(3)
"""Values of the attribute ``mode`` of grid_sample."""
ZEROS, BORDER, REFLECTION = range(3)
"""Values of its attribute ``padding``."""

_HALF, _ONE, _TWO = np.float32(0.5), np.float32(1), np.float32(2)


def _f32(node: Node, index: int, rank: int) -> tuple[Dim, ...]:
    """The shape of an input that must be f32 of some rank."""
    require_dtype(node, node.input(index), DType.f32)
    return require_rank(node, node.input(index), rank)


# roi_align, max_roi_pool


def _regions(node: Node, columns: int) -> list[TensorType]:
    shape, rois = _f32(node, 0, 4), _f32(node, 1, 2)
    require_equal(node, rois[1], columns, "the columns of the regions")
    height, width = node.attrs["out_h"], node.attrs["out_w"]
    require(node, height >= 1 and width >= 1, f"the output is {height} x {width}")
    return [TensorType(DType.f32, (rois[0], height, width, shape[3]))]


def _infer_roi_align(node: Node) -> list[TensorType]:
    types = _regions(node, 4)
    require_dtype(node, node.input(2), *INDEX_TYPES)
    require_equal(node, require_rank(node, node.input(2), 1)[0], node.input(1).shape[0], "the batch indices")
    return types


def _corner_sum(image: np.ndarray, y: np.float32, x: np.float32) -> np.ndarray:
    """[4, channels]: the weighted corners around a place of image [height, width, channels], as RoiAlign has them."""
    height, width = image.shape[:2]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros((4, image.shape[2]), np.float32)
    parts = []
    for place, size in ((y, height), (x, width)):
        place = max(place, np.float32(0))
        low = int(place)
        parts.append(
            (size - 1, size - 1, np.float32(0)) if low >= size - 1 else (low, low + 1, place - np.float32(low))
        )
    (top, bottom, down), (left, right, across) = parts
    rows = ((top, _ONE - down), (bottom, down))
    columns = ((left, _ONE - across), (right, across))
    return np.stack([image[r, c] * (wr * wc) for r, wr in rows for c, wc in columns])


def _reference_roi_align(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    x, rois, batches = inputs
    out_h, out_w, scale = attrs["out_h"], attrs["out_w"], np.float32(attrs["spatial_scale"])
    shift = _HALF if attrs["half_pixel"] else np.float32(0)
    y = np.zeros((len(rois), out_h, out_w, x.shape[3]), np.float32)
    for n, roi in enumerate(rois):
        image = x[min(max(int(batches[n]), 0), x.shape[0] - 1)]
        starts = [roi[1] * scale - shift, roi[0] * scale - shift]
        sizes = [roi[3] * scale - shift - starts[0], roi[2] * scale - shift - starts[1]]
        if not attrs["half_pixel"]:
            sizes = [max(size, _ONE) for size in sizes]
        cells = [size / np.float32(count) for size, count in zip(sizes, (out_h, out_w), strict=True)]
        counts = [attrs["sampling"] or max(int(np.ceil(cell)), 0) for cell in cells]
        for place in itertools.product(range(out_h), range(out_w)):
            samples = []
            for sample in itertools.product(*(range(count) for count in counts)):
                at = [
                    start + np.float32(cell_index) * cell + (np.float32(i) + _HALF) * cell / np.float32(count)
                    for start, cell, cell_index, i, count in zip(starts, cells, place, sample, counts, strict=True)
                ]
                corners = _corner_sum(image, np.float32(at[0]), np.float32(at[1]))
                samples.append(corners.max(axis=0) if attrs["maximum"] else corners.sum(axis=0))
            if samples:
                y[n][place] = np.max(samples, axis=0) if attrs["maximum"] else np.mean(samples, axis=0)
    return [y]


def _image(rng: np.random.Generator) -> np.ndarray:
    shape = (sampling.size(rng, 1, 2), sampling.size(rng, 1, 7), sampling.size(rng, 1, 7), sampling.size(rng, 1, 5))
    return sampling.floats(rng, shape)


def _sample_roi_align(rng: np.random.Generator) -> Sample:
    x, count = _image(rng), sampling.size(rng, 0, 4)
    rois = rng.uniform(-2, 9, (count, 4)).astype(np.float32)
    attrs = {
        "out_h": sampling.size(rng, 1, 3),
        "out_w": sampling.size(rng, 1, 3),
        "sampling": int(rng.integers(3)),
        "spatial_scale": float(rng.choice([1.0, 0.5])),
        "half_pixel": int(rng.integers(2)),
        "maximum": int(rng.integers(2)),
    }
    return Sample([x, rois, sampling.index_vector(rng, rng.integers(0, x.shape[0], count))], attrs)


def _infer_max_roi_pool(node: Node) -> list[TensorType]:
    return _regions(node, 5)


def _round_away(value: np.float32) -> int:
    return int(-np.floor(_HALF - value) if value < 0 else np.floor(value + _HALF))


def _reference_max_roi_pool(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    x, rois = inputs
    counts, scale = (attrs["out_h"], attrs["out_w"]), np.float32(attrs["spatial_scale"])
    y = np.zeros((len(rois), *counts, x.shape[3]), np.float32)
    for n, (batch, left, top, right, bottom) in enumerate(rois):
        image = x[min(max(int(batch), 0), x.shape[0] - 1)]
        starts = [_round_away(top * scale), _round_away(left * scale)]
        ends = [_round_away(bottom * scale), _round_away(right * scale)]
        for place in itertools.product(*(range(count) for count in counts)):
            spans = []
            for start, end, i, count, size in zip(starts, ends, place, counts, image.shape[:2], strict=True):
                cell = np.float32(max(end - start + 1, 1)) / np.float32(count)
                bounds = np.floor(np.float32(i) * cell), np.ceil(np.float32(i + 1) * cell)
                spans.append(slice(*(min(max(int(bound) + start, 0), size) for bound in bounds)))
            cell_values = image[spans[0], spans[1]].reshape(-1, x.shape[3])
            if cell_values.size:
                y[n][place] = cell_values.max(axis=0)
    return [y]


def _sample_max_roi_pool(rng: np.random.Generator) -> Sample:
    x, count = _image(rng), sampling.size(rng, 0, 4)
    corners = rng.uniform(-2, 9, (count, 4)).astype(np.float32)
    batches = rng.integers(0, x.shape[0], (count, 1)).astype(np.float32)
    attrs = {"out_h": sampling.size(rng, 1, 3), "out_w": sampling.size(rng, 1, 3), "spatial_scale": 0.5}
    return Sample([x, np.concatenate([batches, corners], axis=1)], attrs)


# grid_sample, affine_grid


def _infer_grid_sample(node: Node) -> list[TensorType]:
    x, grid = node.input(0), node.input(1)
    rank = len(x.shape)
    require(node, rank in (4, 5), f"'{x.name}' needs two or three spatial dimensions")
    require(node, node.attrs["mode"] != CUBIC or rank == 4, "cubic interpolation is for two dimensions")
    _f32(node, 0, rank)
    _f32(node, 1, rank)
    require_equal(node, grid.shape[0], x.shape[0], "the batch of the grid")
    require_equal(node, grid.shape[-1], rank - 2, "the last dimension of the grid")
    return [TensorType(DType.f32, (*grid.shape[:-1], x.shape[-1]))]


def _reflect(place: np.float32, low: np.float32, high: np.float32) -> np.float32:
    span = high - low
    if span <= 0:
        return low
    while not low <= place <= high:
        place = np.float32(low + (low - place)) if place < low else np.float32(high - (place - high))
    return place


def _grid_taps(normal: np.float32, size: int, attrs: Attrs) -> list[tuple[int, np.float32]]:
    """Elements along one axis (-1: zero) and their weights."""
    last, corners, mode = np.float32(size - 1), attrs["align_corners"], attrs["mode"]
    low, high = (np.float32(0), last) if corners else (-_HALF, last + _HALF)
    place = (normal + _ONE) / _TWO * last if corners else ((normal + _ONE) * np.float32(size) - _ONE) / _TWO
    place = np.rint(place) if mode == NEAREST else place
    if attrs["padding"] == REFLECTION:
        place = _reflect(place, low, high)
    elif attrs["padding"] == BORDER and mode != CUBIC and not low <= place <= high:
        place = np.clip(place, np.float32(0), last)
    whole = np.trunc(place) if mode == NEAREST else np.floor(place)
    share = np.float32(place - whole)
    weights = {NEAREST: [_ONE], LINEAR: [_ONE - share, share], CUBIC: _cubic(share)}[mode]
    start = int(whole) - (mode == CUBIC)
    return [(_grid_element(start + t, size, low, high, attrs["padding"]), w) for t, w in enumerate(weights)]


def _grid_element(position: int, size: int, low: np.float32, high: np.float32, padding: int) -> int:
    if padding == ZEROS:
        return position if 0 <= position < size else -1
    place = _reflect(np.float32(position), low, high) if padding == REFLECTION else position
    return min(max(int(place), 0), size - 1)


def _cubic(share: np.float32) -> list[np.float32]:
    a = -0.75

    def weight(d: float) -> np.float32:
        if d <= 1:
            return np.float32(((a + 2) * d - (a + 3)) * d * d + 1)
        return np.float32(((a * d - 5 * a) * d + 8 * a) * d - 4 * a)

    return [weight(float(share) + 1), weight(float(share)), weight(1 - float(share)), weight(2 - float(share))]


def _reference_grid_sample(inputs: Sequence[np.ndarray], attrs: Attrs) -> list[np.ndarray]:
    x, grid = inputs
    y = np.zeros((*grid.shape[:-1], x.shape[-1]), np.float32)
    for place in itertools.product(*(range(dim) for dim in grid.shape[:-1])):
        normals = grid[place][::-1]
        taps = [_grid_taps(normal, size, attrs) for normal, size in zip(normals, x.shape[1:-1], strict=True)]
        for combination in itertools.product(*taps):
            index = tuple(element for element, _ in combination)
            if min(index) >= 0:
                y[place] += x[place[0]][index] * math.prod(float(weight) for _, weight in combination)
    return [y]


def _sample_grid_sample(rng: np.random.Generator) -> Sample:
    spatial = sampling.size(rng, 2, 3)
    sizes = [sampling.size(rng, 1, 6) for _ in range(spatial)]
    batch = sampling.size(rng, 1, 2)
    x = sampling.floats(rng, (batch, *sizes, sampling.size(rng, 1, 4)))
    grid = rng.uniform(-1.6, 1.6, (batch, *(sampling.size(rng, 1, 3) for _ in range(spatial)), spatial))
    attrs = {
        "mode": int(rng.integers(3 if spatial == 2 else 2)),
        "padding": int(rng.integers(3)),
        "align_corners": int(rng.integers(2)),
    }
    return Sample([x, grid.astype(np.float32)], attrs)


def _infer_affine_grid(node: Node) -> list[TensorType]:
    batch, spatial, columns = _f32(node, 0, 3)
    require(node, spatial in (2, 3), f"theta is for {spatial} dimensions, not two or three")
    require_equal(node, columns, int(spatial) + 1, "the last dimension of theta")
    given = data_input(node, 1)
    if given is not None:
        require(node, length_of(node, given) == int(spatial) + 2, f"size needs {int(spatial) + 2} entries")
    size = node.attrs["size"] if given is None else integers_of(given)
    if size is None:
        return [TensorType(DType.f32, (batch, *(fresh_dim() for _ in range(int(spatial))), int(spatial)))]
    size = size[: int(spatial) + 2]
    require(node, len(size) == int(spatial) + 2 and min(size) >= 0, f"size {list(size)} does not fit")
    require_equal(node, batch, size[0], "the batch of theta")
    return [TensorType(DType.f32, (size[0], *size[2:], int(spatial)))]


def _absorb_affine_grid(node: Node) -> dict[str, Any] | None:
    known = integers_of(node.optional_input(1))
    return None if known is None else {"size": tuple(known)}


def _reference_affine_grid(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    theta, given = (*inputs, None)[:2]
    assert theta is not None
    size = (attrs["size"] if given is None else given.reshape(-1).tolist())[: theta.shape[1] + 2]
    lines = []
    for dim in size[2:]:
        i = np.arange(dim, dtype=np.float64)
        corners = -1 + 2 * i / (dim - 1) if dim > 1 else np.zeros(dim)
        lines.append(corners if attrs["align_corners"] else (2 * i + 1) / max(dim, 1) - 1)
    places = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(size[2:])], axis=-1)
    return [np.einsum("nij,...j->n...i", theta.astype(np.float64), places).astype(np.float32)]


def _sample_affine_grid(rng: np.random.Generator) -> Sample:
    spatial, batch = sampling.size(rng, 2, 3), sampling.size(rng, 1, 2)
    theta = sampling.floats(rng, (batch, spatial, spatial + 1))
    size = (batch, sampling.size(rng, 1, 3), *(sampling.size(rng, 1, 5) for _ in range(spatial)))
    attrs = {"align_corners": int(rng.integers(2))}
    if rng.integers(2):
        return Sample([theta, sampling.index_vector(rng, size)], attrs)
    return Sample([theta], {**attrs, "size": size})


# deform_conv


def _infer_deform_conv(node: Node) -> list[TensorType]:
    attrs = node.attrs
    batch, in_h, in_w, in_c = _f32(node, 0, 4)
    _f32(node, 1, 4)
    kernel_h, kernel_w, depth, channels = static_shape(node, node.input(1))
    groups, offset_groups = attrs["groups"], attrs["offset_groups"]
    require(node, groups >= 1 and channels % groups == 0, f"{channels} output channels and {groups} groups")
    require_equal(node, depth * groups, in_c, "input channels by the weights")
    fits = isinstance(in_c, int) and offset_groups >= 1 and in_c % offset_groups == 0
    require(node, fits, f"{in_c} input channels and {offset_groups} offset groups")
    windows = []
    for size, kernel, stride, before, after, dilation in (
        (in_h, kernel_h, "stride_h", "pad_top", "pad_bottom", "dilation_h"),
        (in_w, kernel_w, "stride_w", "pad_left", "pad_right", "dilation_w"),
    ):
        windows.append(window_dim(node, size, kernel, attrs[stride], attrs[before], attrs[after], attrs[dilation]))
    taps = kernel_h * kernel_w * offset_groups
    _require_shape(node, node.input(2), (batch, *windows, 2 * taps))
    for index, shape in ((3, (channels,)), (4, (batch, *windows, taps))):
        value = node.optional_input(index)
        if value is not None:
            _require_shape(node, value, shape)
    return [TensorType(DType.f32, (batch, *windows, channels))]


def _require_shape(node: Node, value: Value, shape: Sequence[Dim]) -> None:
    require_dtype(node, value, DType.f32)
    for axis, (dim, wanted) in enumerate(zip(require_rank(node, value, len(shape)), shape, strict=True)):
        require_equal(node, dim, wanted, f"dimension {axis} of '{value.name}'")


def _bilinear(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """[channels] of image [height, width, channels] at a place; zero outside."""
    top, left = math.floor(y), math.floor(x)
    total = np.zeros(image.shape[2])
    for row, column in itertools.product((top, top + 1), (left, left + 1)):
        if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
            total += image[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def _reference_deform_conv(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, weights, offset, bias, mask = (*inputs, None, None)[:5]
    assert x is not None and weights is not None and offset is not None
    kernel_h, kernel_w, depth, channels = weights.shape
    groups, offset_groups, taps = attrs["groups"], attrs["offset_groups"], kernel_h * kernel_w
    share, width = x.shape[3] // offset_groups, channels // groups
    batch, out_h, out_w = offset.shape[:3]
    moves = offset.astype(np.float64).reshape(batch, out_h, out_w, offset_groups, taps, 2)
    factors = np.ones((batch, out_h, out_w, offset_groups, taps)) if mask is None else mask.reshape(*moves.shape[:5])
    y = np.zeros((batch, out_h, out_w, channels))
    for n, row, column, group, tap in itertools.product(*(range(dim) for dim in moves.shape[:5])):
        kernel_row, kernel_column = divmod(tap, kernel_w)
        down, right = moves[n, row, column, group, tap]
        values = _bilinear(
            x[n, :, :, group * share : (group + 1) * share],
            row * attrs["stride_h"] - attrs["pad_top"] + kernel_row * attrs["dilation_h"] + down,
            column * attrs["stride_w"] - attrs["pad_left"] + kernel_column * attrs["dilation_w"] + right,
        )
        for i, value in enumerate(values * factors[n, row, column, group, tap]):
            ic = group * share + i
            out = slice(ic // depth * width, (ic // depth + 1) * width)
            y[n, row, column, out] += value * weights[kernel_row, kernel_column, ic % depth, out]
    return [(y if bias is None else y + bias).astype(np.float32)]


def _sample_deform_conv(rng: np.random.Generator) -> Sample:
    kernel_h, kernel_w = sampling.size(rng, 1, 3), sampling.size(rng, 1, 3)
    groups, offset_groups = sampling.size(rng, 1, 2), sampling.size(rng, 1, 2)
    attrs: dict[str, Any] = {"stride_h": sampling.size(rng, 1, 2), "dilation_w": sampling.size(rng, 1, 2)}
    attrs |= {name: int(rng.integers(2)) for name in ("pad_top", "pad_left", "pad_bottom", "pad_right")}
    height, width = kernel_h + int(rng.integers(3)), 2 * kernel_w + int(rng.integers(3))
    in_c = groups * offset_groups * sampling.size(rng, 1, 2)
    out_h = (height + attrs["pad_top"] + attrs["pad_bottom"] - kernel_h) // attrs["stride_h"] + 1
    reach = (kernel_w - 1) * attrs["dilation_w"] + 1
    out_w = width + attrs["pad_left"] + attrs["pad_right"] - reach + 1
    batch, channels, taps = sampling.size(rng, 1, 2), groups * sampling.size(rng, 1, 3), kernel_h * kernel_w
    inputs: list[np.ndarray | None] = [
        sampling.floats(rng, (batch, height, width, in_c)),
        sampling.floats(rng, (kernel_h, kernel_w, in_c // groups, channels), -1, 1),
        sampling.floats(rng, (batch, out_h, out_w, offset_groups * taps * 2), -2, 2),
        sampling.floats(rng, (channels,)) if rng.integers(2) else None,
        sampling.floats(rng, (batch, out_h, out_w, offset_groups * taps), 0, 1) if rng.integers(2) else None,
    ]
    return Sample(inputs, {**attrs, "groups": groups, "offset_groups": offset_groups})


# col2im


def _col2im_sizes(node: Node, index: int, name: str) -> list[int] | None:
    """Three sizes, 1 for dimensions that are not there; None when the input is not constant."""
    given = data_input(node, index)
    if given is None:
        return list(node.attrs[name])
    require(node, 1 <= length_of(node, given) <= 3, f"{name} needs one to three entries")
    known = integers_of(given)
    return None if known is None else [1] * (3 - len(known)) + known


def _col2im_spatial(node: Node) -> int:
    for index in (1, 2):
        given = data_input(node, index)
        if given is not None:
            return length_of(node, given)
    return int(node.attrs["spatial"])


def _infer_col2im(node: Node) -> list[TensorType]:
    batch, rows, positions = _f32(node, 0, 3)
    spatial = _col2im_spatial(node)
    require(node, 1 <= spatial <= 3, f"{spatial} spatial dimensions")
    size, kernel = _col2im_sizes(node, 1, "size"), _col2im_sizes(node, 2, "kernel")
    require(node, isinstance(rows, int), "dimension 1 of the input must be known")
    channels: Dim = fresh_dim()
    if kernel is not None:
        taps = math.prod(kernel)
        require(node, taps >= 1 and int(rows) % taps == 0, f"{taps} taps do not divide {rows}")
        channels = int(rows) // taps
    if size is None:
        return [TensorType(DType.f32, (batch, channels, *(fresh_dim() for _ in range(spatial))))]
    if kernel is not None:
        counts = [
            window_dim(node, dim, k, stride, before, after, dilation)
            for dim, k, stride, before, after, dilation in zip(
                size,
                kernel,
                *(node.attrs[name] for name in ("stride", "pad_before", "pad_after", "dilation")),
                strict=True,
            )
        ]
        require_equal(node, positions, multiply_dims(counts), "the number of positions")
    return [TensorType(DType.f32, (batch, channels, *size[3 - spatial :]))]


def _absorb_col2im(node: Node) -> dict[str, Any] | None:
    size, kernel = _col2im_sizes(node, 1, "size"), _col2im_sizes(node, 2, "kernel")
    if size is None or kernel is None:
        return None
    return {"size": tuple(size), "kernel": tuple(kernel), "spatial": _col2im_spatial(node)}


def _reference_col2im(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, size, kernel = (*inputs, None, None)[:3]
    assert x is not None
    spatial = attrs["spatial"] if size is None else size.size
    dims = attrs["size"][3 - spatial :] if size is None else size.tolist()
    window = attrs["kernel"][3 - spatial :] if kernel is None else kernel.tolist()
    strides, befores, afters, dilations = (
        attrs[name][3 - spatial :] for name in ("stride", "pad_before", "pad_after", "dilation")
    )
    counts = [
        (dim + before + after - (k - 1) * dilation - 1) // stride + 1
        for dim, before, after, k, dilation, stride in zip(
            dims, befores, afters, window, dilations, strides, strict=True
        )
    ]
    columns = x.astype(np.float64).reshape(x.shape[0], -1, *window, *counts)
    padded = [dim + before + after for dim, before, after in zip(dims, befores, afters, strict=True)]
    y = np.zeros((x.shape[0], columns.shape[1], *padded))
    for tap in itertools.product(*(range(k) for k in window)):
        places = [
            slice(k * dilation, k * dilation + (count - 1) * stride + 1, stride)
            for k, dilation, count, stride in zip(tap, dilations, counts, strides, strict=True)
        ]
        target: Any = (slice(None), slice(None), *places)
        source: Any = (slice(None), slice(None), *tap)
        y[target] += columns[source]
    kept = (slice(None), slice(None), *(slice(b, b + d) for b, d in zip(befores, dims, strict=True)))
    return [y[kept].astype(np.float32)]


def _sample_col2im(rng: np.random.Generator) -> Sample:
    spatial = sampling.size(rng, 1, 3)
    absent = 3 - spatial
    size, kernel, attrs, positions, taps = [], [], {}, 1, 1
    for name, low, high in (("stride", 1, 2), ("pad_before", 0, 1), ("pad_after", 0, 1), ("dilation", 1, 2)):
        attrs[name] = (min(low, 1),) * absent + tuple(sampling.size(rng, low, high) for _ in range(spatial))
    for i in range(absent, 3):
        k = sampling.size(rng, 1, 3)
        reach = (k - 1) * attrs["dilation"][i] + 1
        dim = reach + int(rng.integers(3))
        positions *= (dim + attrs["pad_before"][i] + attrs["pad_after"][i] - reach) // attrs["stride"][i] + 1
        size.append(dim)
        kernel.append(k)
        taps *= k
    x = sampling.floats(rng, (sampling.size(rng, 1, 2), sampling.size(rng, 1, 2) * taps, positions))
    if rng.integers(2):
        return Sample([x, sampling.index_vector(rng, size), sampling.index_vector(rng, kernel)], attrs)
    full = {"size": (1,) * absent + tuple(size), "kernel": (1,) * absent + tuple(kernel), "spatial": spatial}
    return Sample([x], {**attrs, **full})


_SAMPLED = Tolerance(1e-5, 1e-5)

register(
    OpDef(
        name="roi_align",
        inputs=("x", "rois", "batch"),
        infer=_infer_roi_align,
        reference=_reference_roi_align,
        samples=_sample_roi_align,
        attrs={"out_h": 1, "out_w": 1, "sampling": 0, "spatial_scale": 1.0, "half_pixel": 1, "maximum": 0},
        tolerance=_SAMPLED,
        doc="The mean or maximum of samples in the cells of regions.",
    ),
    OpDef(
        name="max_roi_pool",
        inputs=("x", "rois"),
        infer=_infer_max_roi_pool,
        reference=_reference_max_roi_pool,
        samples=_sample_max_roi_pool,
        attrs={"out_h": REQUIRED, "out_w": REQUIRED, "spatial_scale": 1.0},
        doc="The largest element of the cells of regions.",
    ),
    OpDef(
        name="grid_sample",
        inputs=("x", "grid"),
        infer=_infer_grid_sample,
        reference=_reference_grid_sample,
        samples=_sample_grid_sample,
        attrs={"mode": LINEAR, "padding": ZEROS, "align_corners": 0},
        tolerance=_SAMPLED,
        doc="x at the places of a grid.",
    ),
    OpDef(
        name="affine_grid",
        inputs=("theta", "size?"),
        infer=_infer_affine_grid,
        reference=_reference_affine_grid,
        samples=_sample_affine_grid,
        attrs={"size": (), "align_corners": 0},
        data_inputs=("size",),
        absorb=_absorb_affine_grid,
        tolerance=Tolerance(1e-6, 1e-6),
        doc="The grid of an affine map, for grid_sample.",
    ),
    OpDef(
        name="deform_conv",
        inputs=("x", "weights", "offset", "bias?", "mask?"),
        infer=_infer_deform_conv,
        reference=_reference_deform_conv,
        samples=_sample_deform_conv,
        attrs={**WINDOW_ATTRS, "groups": 1, "offset_groups": 1},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="2-D convolution whose taps are moved by offsets.",
    ),
    OpDef(
        name="col2im",
        inputs=("x", "size?", "kernel?"),
        infer=_infer_col2im,
        reference=_reference_col2im,
        samples=_sample_col2im,
        attrs={
            "size": (1, 1, 1),
            "kernel": (1, 1, 1),
            "stride": (1, 1, 1),
            "pad_before": (0, 0, 0),
            "pad_after": (0, 0, 0),
            "dilation": (1, 1, 1),
            "spatial": 0,
        },
        data_inputs=("size", "kernel"),
        absorb=_absorb_col2im,
        tolerance=Tolerance(1e-6, 1e-6),
        doc="Columns of windows summed up to an image.",
    ),
)
