"""TFLite_Detection_PostProcess against LiteRT, and its damaged options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from litert_rung import compare
from tflite_builder import TfliteBuilder

from microlith.converter.frontends.tflite import import_tflite
from microlith.errors import UnsupportedError

COUNT, CLASSES = 40, 5

OPTIONS: dict[str, Any] = {
    "max_detections": 8,
    "max_classes_per_detection": 1,
    "num_classes": CLASSES,
    "nms_score_threshold": 0.3,
    "nms_iou_threshold": 0.4,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}


def model(options: bytes, background: int = 1, quantized: bool = False) -> bytes:
    rng = np.random.default_rng(3)
    b = TfliteBuilder()
    most = OPTIONS["max_detections"]
    anchors = np.concatenate([rng.uniform(0.1, 0.9, (COUNT, 2)), rng.uniform(0.1, 0.4, (COUNT, 2))], axis=1)
    if quantized:
        boxes = b.input((1, COUNT, 4), "uint8", scale=0.05, zero_point=120)
        scores = b.input((1, COUNT, CLASSES + background), "uint8", scale=1 / 256, zero_point=0)
        table = b.constant((anchors * 200).astype(np.uint8), scale=1 / 200, zero_point=0)
    else:
        boxes, scores = b.input((1, COUNT, 4)), b.input((1, COUNT, CLASSES + background))
        table = b.constant(anchors.astype(np.float32))
    outputs = [b.output((1, most, 4)), b.output((1, most)), b.output((1, most)), b.output((1,))]
    b.custom("TFLite_Detection_PostProcess", [boxes, scores, table], outputs, options)
    return b.build()


def arrays(background: int, quantized: bool) -> list[np.ndarray]:
    rng = np.random.default_rng(9)
    if quantized:
        shapes = ((1, COUNT, 4), (1, COUNT, CLASSES + background))
        return [rng.integers(0, 256, shape).astype(np.uint8) for shape in shapes]
    scores = rng.uniform(0, 1, (1, COUNT, CLASSES + background))
    return [rng.standard_normal((1, COUNT, 4)).astype(np.float32), scores.astype(np.float32)]


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("background", [0, 1])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"max_detections": 8, "nms_score_threshold": 0.9},
        {"use_regular_nms": True, "detections_per_class": 6},
        {"use_regular_nms": True, "detections_per_class": 2, "nms_score_threshold": 0.8},
    ],
    ids=str,
)
def test_equals_litert(change: dict[str, Any], background: int, quantized: bool, tmp_path: Path) -> None:
    data = model(bytes(flexbuffers.Dumps({**OPTIONS, **change})), background, quantized)
    compare(data, tmp_path, np.random.default_rng(1), arrays=arrays(background, quantized))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (b"\x07\xff\x01", "damaged"),
        (bytes(flexbuffers.Dumps([1, 2])), "map"),
        (bytes(flexbuffers.Dumps({**OPTIONS, "num_classes": "five"})), "not a number"),
        (bytes(flexbuffers.Dumps({"max_detections": 3})), "missing"),
        (bytes(flexbuffers.Dumps({**OPTIONS, "max_detections": 0})), "options"),
        (bytes(flexbuffers.Dumps({**OPTIONS, "num_classes": 3})), "classes"),
        (bytes(flexbuffers.Dumps({**OPTIONS, "x_scale": 0.0})), "scales"),
    ],
    ids=["damaged", "list", "text", "missing", "no detections", "classes", "scale"],
)
def test_refused(options: bytes, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        import_tflite(model(options))
