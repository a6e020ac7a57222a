"""Ops that order and select elements by value; meaning in ``nnacl_kernels/index/index.h``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import REQUIRED, OpDef, Sample, register, sampling
from .data import any_array, input_and_option
from .positions import INDEX_TYPES, clamp_32, integer_input, require_axis
from .shape_rules import fresh_dim, multiply_dims, require, require_dtype, require_equal, require_rank

Attrs = Mapping[str, Any]
Arrays = Sequence[np.ndarray]
Optionals = Sequence["np.ndarray | None"]


def _ranks(x: np.ndarray) -> np.ndarray:
    """int64 that order as the elements do: NaN above all, equal elements alike."""
    return np.unique(x, return_inverse=True)[1].reshape(x.shape).astype(np.int64)


# top_k


def _infer_top_k(node: Node) -> list[TensorType]:
    x = node.input(0)
    axis, k = require_axis(node, "axis", len(x.shape)), integer_input(node, 1, "k")
    require(node, node.attrs["to"] in [dtype.value for dtype in INDEX_TYPES], "positions are s32 or s64")
    dim = x.shape[axis]
    require(node, k is None or 0 <= k <= (dim if isinstance(dim, int) else k), f"k {k} is not in 0 .. {dim}")
    size: Dim = fresh_dim() if k is None else k
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return [TensorType(x.dtype, shape), TensorType(DType(node.attrs["to"]), shape)]


def _absorb_top_k(node: Node) -> dict[str, Any] | None:
    k = integer_input(node, 1, "k")
    return None if k is None else {"k": k}


def _reference_top_k(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    x, given = input_and_option(inputs)
    k = attrs["k"] if given is None else int(given.reshape(-1)[0])
    ranks = _ranks(x)
    order = np.argsort(-ranks if attrs["largest"] else ranks, axis=attrs["axis"], kind="stable")
    places = np.take(order, np.arange(k), axis=attrs["axis"])
    return [np.take_along_axis(x, places, attrs["axis"]), places.astype(DType(attrs["to"]).numpy)]


def _sample_top_k(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, high=9))
    if rng.integers(2):
        x = (x.astype(np.int64) % 3).astype(x.dtype)
    axis = int(rng.integers(x.ndim))
    k = int(rng.integers(0, x.shape[axis] + 1))
    attrs = {"axis": axis, "largest": int(rng.integers(2)), "to": INDEX_TYPES[int(rng.integers(2))].value}
    if rng.integers(2):
        return Sample([x, sampling.index_vector(rng, [k])], attrs)
    return Sample([x], {**attrs, "k": k})


# non_zero, compress


def _infer_non_zero(node: Node) -> list[TensorType]:
    x = node.input(0)
    count: Dim = fresh_dim() if x.data is None else int(np.count_nonzero(x.data))
    return [TensorType(DType.s64, (len(x.shape), count))]


def _reference_non_zero(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    if x.ndim == 0:
        return [np.zeros((0, int(bool(x))), np.int64)]
    return [np.stack(np.nonzero(x)).astype(np.int64)]


def _sample_non_zero(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, sampling.size(rng, 0, 4), 5))
    return Sample([np.asarray(x * rng.integers(0, 2, x.shape).astype(x.dtype), x.dtype)], {})


def _infer_compress(node: Node) -> list[TensorType]:
    x, condition = node.input(0), node.input(1)
    axis = require_axis(node, "axis", len(x.shape))
    require_dtype(node, condition, DType.b8)
    require_rank(node, condition, 1)
    dim = x.shape[axis]
    count: Dim = fresh_dim()
    if condition.data is not None and isinstance(dim, int):
        count = int(np.count_nonzero(condition.data[:dim]))
    return [TensorType(x.dtype, (*x.shape[:axis], count, *x.shape[axis + 1 :]))]


def _reference_compress(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    x, condition = inputs
    return [np.compress(condition[: x.shape[attrs["axis"]]], x, axis=attrs["axis"])]


def _sample_compress(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng))
    axis = int(rng.integers(x.ndim))
    condition = rng.integers(0, 2, sampling.size(rng, 1, x.shape[axis] + 2)).astype(np.bool_)
    return Sample([x, condition], {"axis": axis})


# unique


def _infer_unique(node: Node) -> list[TensorType]:
    x = node.input(0)
    axis = require_axis(node, "axis", len(x.shape))
    vector = TensorType(DType.s64, (x.shape[axis],))
    return [x.type, vector, vector, vector, TensorType(DType.s64, (1,))]


def _reference_unique(inputs: Arrays, attrs: Attrs) -> list[np.ndarray]:
    (x,) = inputs
    axis, size = attrs["axis"], x.shape[attrs["axis"]]
    slices = np.moveaxis(_ranks(x), axis, 0).reshape(size, -1).tolist()
    groups: dict[tuple[int, ...], list[int]] = {}
    for position, item in enumerate(slices):
        groups.setdefault(tuple(item), []).append(position)
    keys = sorted(groups) if attrs["sorted"] else list(groups)
    first, counts, inverse = (np.zeros(size, np.int64) for _ in range(3))
    for number, key in enumerate(keys):
        first[number], counts[number] = groups[key][0], len(groups[key])
        inverse[groups[key]] = number
    found = np.take(x, first[: len(keys)], axis=axis)
    widths = [(0, size - len(keys) if i == axis else 0) for i in range(x.ndim)]
    return [np.pad(found, widths), first, inverse, counts, np.array([len(keys)], np.int64)]


def _sample_unique(rng: np.random.Generator) -> Sample:
    x = any_array(rng, sampling.shape(rng, sampling.size(rng, 1, 3), 7))
    x = (x.astype(np.int64) % 3).astype(x.dtype)
    return Sample([x], {"axis": int(rng.integers(x.ndim)), "sorted": int(rng.integers(2))})


# non_max_suppression


def _infer_non_max_suppression(node: Node) -> list[TensorType]:
    boxes, scores = node.input(0), node.input(1)
    for value in (boxes, scores):
        require_dtype(node, value, DType.f32)
    batch, count, four = require_rank(node, boxes, 3)
    _, classes, score_count = require_rank(node, scores, 3)
    require_equal(node, four, 4, "the last dimension of boxes")
    require_equal(node, scores.shape[0], batch, "the batch of scores")
    require_equal(node, score_count, count, "the number of scores")
    for index in (3, 4):
        threshold = node.optional_input(index)
        if threshold is not None:
            require_dtype(node, threshold, DType.f32)
            require(node, multiply_dims(threshold.shape) == 1, f"'{threshold.name}' must be one element")
    most = integer_input(node, 2, "max_output")
    if most is None or not isinstance(count, int):
        rows: Dim = fresh_dim()
    else:
        rows = multiply_dims([batch, classes, min(max(most, 0), count)])
    return [TensorType(DType.s64, (rows, 3)), TensorType(DType.s64, (1,))]


def _absorb_non_max_suppression(node: Node) -> dict[str, Any] | None:
    most = integer_input(node, 2, "max_output")
    return None if most is None else {"max_output": max(clamp_32(most), 0)}


def _corners(boxes: np.ndarray, center_point_box: int) -> np.ndarray:
    """[n, 4]: the lower and the upper corner."""
    if center_point_box:
        half = boxes[:, 2:] / np.float32(2)
        return np.concatenate([boxes[:, :2] - half, boxes[:, :2] + half], axis=1)
    pairs = boxes.reshape(-1, 2, 2)
    return np.concatenate([pairs.min(axis=1), pairs.max(axis=1)], axis=1)


def _overlap(a: np.ndarray, b: np.ndarray) -> np.float32:
    """The shared part of two boxes over what they cover together; 0 for boxes without an area."""
    shared = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    area_a, area_b = ((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    if min(shared.min(), area_a, area_b) <= 0:
        return np.float32(0)
    both = shared[0] * shared[1]
    return np.float32(both / (area_a + area_b - both))


def _reference_non_max_suppression(inputs: Optionals, attrs: Attrs) -> list[np.ndarray]:
    boxes, scores, most, iou, threshold = (*inputs, None, None, None)[:5]
    assert boxes is not None and scores is not None
    limit = attrs["max_output"] if most is None else max(int(most.reshape(-1)[0]), 0)
    least_score = np.float32(attrs["score_threshold"] if threshold is None else threshold.reshape(-1)[0])
    most_overlap = np.float32(attrs["iou_threshold"] if iou is None else iou.reshape(-1)[0])
    rows: list[tuple[int, int, int]] = []
    for batch in range(boxes.shape[0]):
        corners = _corners(boxes[batch], attrs["center_point_box"])
        for number in range(scores.shape[1]):
            line = scores[batch, number]
            kept: list[int] = []
            for box in np.argsort(-line, kind="stable").tolist():
                free = all(_overlap(corners[box], corners[other]) <= most_overlap for other in kept)
                if len(kept) < limit and line[box] > least_score and free:
                    kept.append(box)
            rows += [(batch, number, box) for box in kept]
    room = boxes.shape[0] * scores.shape[1] * min(limit, boxes.shape[1])
    result = np.zeros((room, 3), np.int64)
    result[: len(rows)] = np.array(rows, np.int64).reshape(-1, 3)
    return [result, np.array([len(rows)], np.int64)]


def _sample_non_max_suppression(rng: np.random.Generator) -> Sample:
    batch, classes, count = sampling.size(rng, 1, 2), sampling.size(rng, 1, 3), sampling.size(rng, 1, 12)
    # Multiples of a quarter: their products are exact, so that no overlap is on the brink of the threshold.
    boxes = (rng.integers(0, 17, (batch, count, 4)) / 4).astype(np.float32)
    scores = (rng.integers(0, 12, (batch, classes, count)) / 8).astype(np.float32)
    attrs: dict[str, Any] = {"center_point_box": int(rng.integers(2))}
    limit, iou, least = sampling.size(rng, 0, 6), np.float32(0.3), np.float32(0.4)
    inputs: list[np.ndarray | None] = [boxes, scores, None, None, None]
    if rng.integers(2):
        inputs[2] = sampling.index_vector(rng, [limit])
    else:
        attrs["max_output"] = limit
    if rng.integers(2):
        inputs[3], inputs[4] = np.array([iou]), np.array(least)
    else:
        attrs |= {"iou_threshold": float(iou), "score_threshold": float(least)}
    return Sample(inputs, attrs)


register(
    OpDef(
        name="top_k",
        inputs=("x", "k?"),
        outputs=("values", "positions"),
        infer=_infer_top_k,
        reference=_reference_top_k,
        samples=_sample_top_k,
        attrs={"axis": REQUIRED, "k": 0, "largest": 1, "to": DType.s64.value},
        data_inputs=("k",),
        absorb=_absorb_top_k,
        doc="The k largest or smallest elements along an axis, in order, and where they are.",
    ),
    OpDef(
        name="non_zero",
        inputs=("x",),
        infer=_infer_non_zero,
        reference=_reference_non_zero,
        samples=_sample_non_zero,
        data_inputs=("x",),
        doc="The coordinates of the elements that are not 0.",
    ),
    OpDef(
        name="compress",
        inputs=("x", "condition"),
        infer=_infer_compress,
        reference=_reference_compress,
        samples=_sample_compress,
        attrs={"axis": REQUIRED},
        data_inputs=("condition",),
        doc="The slices of x whose condition is true.",
    ),
    OpDef(
        name="unique",
        inputs=("x",),
        outputs=("slices", "first", "inverse", "counts", "number"),
        infer=_infer_unique,
        reference=_reference_unique,
        samples=_sample_unique,
        attrs={"axis": REQUIRED, "sorted": 1},
        doc="The distinct slices of x along an axis, in as much room as x takes, and their number.",
    ),
    OpDef(
        name="non_max_suppression",
        inputs=("boxes", "scores", "max_output?", "iou_threshold?", "score_threshold?"),
        outputs=("selected", "number"),
        infer=_infer_non_max_suppression,
        reference=_reference_non_max_suppression,
        samples=_sample_non_max_suppression,
        attrs={"max_output": 0, "iou_threshold": 0.0, "score_threshold": -math.inf, "center_point_box": 0},
        data_inputs=("max_output",),
        absorb=_absorb_non_max_suppression,
        doc="The best boxes of each class that overlap no better one by much, in the most room that they can take.",
    ),
)
