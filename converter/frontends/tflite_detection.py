"""The custom operator TFLite_Detection_PostProcess: from encoded boxes and scores to the detections that are kept.

Boxes are decoded around anchors; overlapping ones are suppressed, either once for the best class of each box, or (with
``use_regular_nms``) for each class apart. Past the detections that were found the outputs are 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_graph import Row, TfliteNode, require

MOST_DETECTIONS = 1 << 16


@dataclass(frozen=True)
class _Options:
    max_detections: int
    max_classes_per_detection: int
    num_classes: int
    nms_score_threshold: float
    nms_iou_threshold: float
    y_scale: float
    x_scale: float
    h_scale: float
    w_scale: float
    use_regular_nms: bool = False
    detections_per_class: int = 100


def _options(node: TfliteNode) -> _Options:
    given = node.custom_options()
    known = {name: given[name] for name in _Options.__dataclass_fields__ if name in given}
    require(all(isinstance(value, int | float) for value in known.values()), "an option is not a number")
    missing = [name for name in list(_Options.__dataclass_fields__)[:9] if name not in known]
    require(not missing, f"options {', '.join(missing)} are missing")
    options = _Options(**known)
    counts = (options.max_detections, options.max_classes_per_detection, options.num_classes)
    require(all(isinstance(count, int) and 1 <= count <= MOST_DETECTIONS for count in counts), f"options {counts}")
    scales = (options.y_scale, options.x_scale, options.h_scale, options.w_scale)
    require(all(np.isfinite(scale) and scale > 0 for scale in scales), f"scales {scales}")
    return options


def _real(node: TfliteNode, x: Value) -> Value:
    """``x`` as float32; a constant stays one."""
    if x.dtype is DType.f32:
        return x
    require(x.quant is not None and x.quant.is_per_tensor, f"'{x.name}' has no scale")
    assert x.quant is not None
    if x.data is None:
        return node.add("dequantize", [x])
    centred = x.data.astype(np.int64) - x.quant.zero_point[0]
    return node.const(centred.astype(np.float32) * x.quant.scale[0].astype(np.float32))


def detection_postprocess(node: TfliteNode) -> list[Value]:
    """[boxes [1, n, 4], classes [1, n], scores [1, n], number [1]]."""
    options = _options(node)
    encoded, scores = node.shape(0), node.shape(1)
    require(len(encoded) == 3 and encoded[0] == 1 and encoded[2] == 4, f"boxes {list(encoded)}")
    require(len(scores) == 3 and scores[:2] == encoded[:2], f"scores {list(scores)} for boxes {list(encoded)}")
    background = scores[2] - options.num_classes
    require(background in (0, 1), f"{options.num_classes} classes in scores {list(scores)}")
    boxes = _decoded(node, options, encoded[1])
    real = node.reshape(_real(node, node.value(1)), scores[1:])
    classes = _columns(node, real, background, options.num_classes)
    return (_by_class if options.use_regular_nms else _by_best_class)(node, options, boxes, classes)


def _columns(node: TfliteNode, x: Value, start: int, count: int) -> Value:
    rows, columns = x.type.static_shape
    if (start, count) == (0, columns):
        return x
    return node.add("slice", [x], {"start": (0, start), "size": (rows, count), "step": (1, 1)})


def _decoded(node: TfliteNode, options: _Options, count: int) -> Value:
    """[count, 4]: top, left, bottom, right."""
    encoded = node.reshape(_real(node, node.value(0)), (count, 4))
    anchors = _real(node, node.value(2)).data
    require(anchors is not None and anchors.shape == (count, 4), "the anchors are not constant, or of another number")
    assert anchors is not None
    centre, size = anchors[:, :2].astype(np.float64), anchors[:, 2:].astype(np.float64)
    steps = size / [options.y_scale, options.x_scale]
    shifted = node.add("mul", [_columns(node, encoded, 0, 2), _f32(node, steps, "steps")])
    middle = node.add("add", [shifted, _f32(node, centre, "centres")])
    factors = _f32(node, 1 / np.array([options.h_scale, options.w_scale]), "factors")
    grown = node.add("exp", [node.add("mul", [_columns(node, encoded, 2, 2), factors])])
    half = node.add("mul", [grown, _f32(node, size / 2, "halves")])
    return node.add("concat", [node.add("sub", [middle, half]), node.add("add", [middle, half])], {"axis": 1})


def _f32(node: TfliteNode, data: np.ndarray, suffix: str) -> Value:
    return node.const(data.astype(np.float32), suffix=suffix)


def _suppressed(node: TfliteNode, options: _Options, boxes: Value, scores: Value, most: int) -> tuple[Value, Value]:
    """(batch, class, box) of the boxes that are kept in each class of scores [classes, boxes], and their number."""
    count = boxes.type.static_shape[0]
    # LiteRT keeps scores that are equal to the threshold.
    least = np.nextafter(np.float32(options.nms_score_threshold), np.float32(-np.inf))
    attrs = {"max_output": most, "iou_threshold": options.nms_iou_threshold, "score_threshold": float(least)}
    inputs = [node.reshape(boxes, (1, count, 4)), node.reshape(scores, (1, *scores.type.static_shape))]
    rows, number = node.add_all("non_max_suppression", inputs, attrs)
    return rows, node.reshape(number, ())


def _column(node: TfliteNode, rows: Value, index: int) -> Value:
    count = rows.type.static_shape[0]
    return node.reshape(_columns(node, rows, index, 1), (count,))


def _by_best_class(node: TfliteNode, options: _Options, boxes: Value, scores: Value) -> list[Value]:
    count, classes = scores.type.static_shape
    places = options.max_classes_per_detection
    require(places <= classes, f"{places} classes for each detection of {classes}")
    attrs = {"axis": 1, "k": places, "to": DType.s32.value}
    values, numbers = node.add_all("top_k", [scores], attrs)
    best = node.reshape(_columns(node, values, 0, 1), (1, count))
    rows, found = _suppressed(node, options, boxes, best, options.max_detections)
    picked = _column(node, rows, 2)
    kept = picked.type.static_shape[0]
    chosen = node.reshape(node.add("gather", [boxes, picked], {"axis": 0}), (kept, 1, 4))
    if places > 1:
        chosen = node.add("expand", [chosen], {"shape": (kept, places, 4)})
    labels = node.add("cast", [node.add("gather", [numbers, picked], {"axis": 0})], {"to": DType.f32.value})
    parts = [chosen, labels, node.add("gather", [values, picked], {"axis": 0})]
    return _finished(node, parts, found, options.max_detections, places)


def _by_class(node: TfliteNode, options: _Options, boxes: Value, scores: Value) -> list[Value]:
    by_class = node.add("transpose", [scores], {"perm": (1, 0)})
    rows, found = _suppressed(node, options, boxes, by_class, options.detections_per_class)
    label, picked = _column(node, rows, 1), _column(node, rows, 2)
    kept = picked.type.static_shape[0]
    pairs = node.add("concat", [_columns(node, rows, 1, 1), _columns(node, rows, 2, 1)], {"axis": 1})
    values = node.add("gather_nd", [by_class, pairs])
    found_32 = node.add("cast", [found], {"to": DType.s32.value})
    is_found = node.add("less", [node.const(np.arange(kept, dtype=np.int32), suffix="places"), found_32])
    ranked = node.add("where", [is_found, values, _f32(node, np.array(-np.inf), "none")])
    most = min(options.max_detections, kept)
    best, order = node.add_all("top_k", [ranked], {"axis": 0, "k": most, "to": DType.s32.value})
    chosen = node.add("gather", [boxes, node.add("gather", [picked, order], {"axis": 0})], {"axis": 0})
    labels = node.add("cast", [node.add("gather", [label, order], {"axis": 0})], {"to": DType.f32.value})
    limit = node.const(np.array(most, np.int64), suffix="limit")
    parts = [node.reshape(chosen, (most, 1, 4)), node.reshape(labels, (most, 1)), node.reshape(best, (most, 1))]
    return _finished(node, parts, node.add("min", [found, limit]), options.max_detections, 1)


def _finished(node: TfliteNode, parts: list[Value], found: Value, most: int, places: int) -> list[Value]:
    """Zeros where nothing was found; [kept, places, ..] as [1, most * places, ..]."""
    kept = parts[0].type.static_shape[0]
    number = node.add("cast", [found], {"to": DType.s32.value})
    is_found = node.add("less", [node.const(np.arange(kept, dtype=np.int32), suffix="places"), number])
    zero = _f32(node, np.zeros(()), "zero")
    results = []
    for part in parts:
        shape = part.type.static_shape
        mask = node.reshape(is_found, (kept,) + (1,) * (len(shape) - 1))
        y = node.add("where", [mask, part, zero])
        if kept < most:
            rest = (most - kept,) + (0,) * (len(shape) - 1)
            y = node.add("pad", [y], {"before": (0,) * len(shape), "after": rest, "mode": 0})
        results.append(node.reshape(y, (1, most * places, *shape[2:])))
    total = node.add("cast", [node.reshape(found, (1,))], {"to": DType.f32.value})
    return [*results, total]


CUSTOM_ROWS: Mapping[str, Row] = {"TFLite_Detection_PostProcess": detection_postprocess}

__all__ = ["CUSTOM_ROWS", "detection_postprocess"]
