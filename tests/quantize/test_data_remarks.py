# SPDX-License-Identifier: Apache-2.0
"""Data that fits the model and is hardly what it gets later: it is used, and a note says what looks wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from typer.testing import CliRunner

from microlith.cli import app

from . import onnx_nets
from .test_static import quantized

RNG = np.random.default_rng(11)
NET = onnx_nets.dense(np.random.default_rng(1), units=5, batch="n")
GOOD = RNG.standard_normal((40, 16)).astype(np.float32)


def remarks(samples: Any, **options: Any) -> list[str]:
    report = quantized(NET, samples, **options)[1]
    return [text for text in report.remarks if "8 bits for" not in text]


def changed(array: np.ndarray, place: Any, number: float) -> np.ndarray:
    array = array.copy()
    array[place] = number
    return array


@pytest.mark.parametrize("scheme", ["int8", "weights-int4"])
@pytest.mark.parametrize(
    ("samples", "words"),
    [
        (0 * GOOD, "input 'x' is 0 everywhere"),
        (0 * GOOD + 3, "input 'x' is 3 everywhere"),
        (np.repeat(GOOD[:1], 4, axis=0), "input 'x' is the same in all 4 samples"),
        (1e9 * GOOD, r"input 'x' reaches [34]\.\d+e\+09: is the data scaled"),
        (changed(GOOD, (17, 3), -1e8), "input 'x' reaches 1e.08 in sample 17, 1.[0-9]+ in the median one"),
        (GOOD, None),
    ],
)
def test_inputs(scheme: str, samples: np.ndarray, words: str | None) -> None:
    found = remarks(samples, scheme=scheme)
    assert len(found) == (words is not None)
    assert words is None or re.match(words, found[0]), found


def test_half_arithmetic_looks_too() -> None:
    assert remarks(0 * GOOD, scheme="float16", compute="float16") == [
        "input 'x' is 0 everywhere in the data: ranges from it say nothing about real data"
    ]


def test_masks_of_ones_are_none_of_it() -> None:
    """An integer input that never changes is remarked upon where no other one changes."""
    nodes = [
        helper.make_node("Cast", ["mask"], ["m"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "m"], ["k"]),
        helper.make_node("MatMul", ["k", "w"], ["y"]),
    ]
    model = onnx_nets.model(nodes, {"x": (1, 4)}, {"y": (1, 3)}, {"w": RNG.standard_normal((4, 3)).astype(np.float32)})
    model.graph.input.append(helper.make_tensor_value_info("mask", TensorProto.INT64, (1, 4)))
    onnx.checker.check_model(model)
    ones = np.ones(4, np.int64)
    varying = [{"x": row[:4], "mask": ones} for row in GOOD]
    assert quantized(model, varying)[1].remarks == []
    found = quantized(model, [{"x": np.full(4, 2, np.float32), "mask": ones}] * 3)[1].remarks
    assert [text.split(" in the data")[0] for text in found] == [
        "input 'x' is 2 everywhere",
        "input 'mask' is 1 everywhere",
    ]


# Labels


def classes() -> np.ndarray:
    session = onnxruntime.InferenceSession(NET.SerializeToString(), providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, {"x": GOOD})[0].argmax(axis=1)
    return result


@pytest.mark.parametrize("options", [{}, {"max_drop": 0.02}, {"scheme": "weights-int8"}])
def test_labels(options: dict[str, Any]) -> None:
    right = classes()
    data = GOOD[right < 4]
    right = right[right < 4]
    assert remarks(data, labels=right, **options) == []
    [moved] = remarks(data, labels=right + 1, **options)
    assert moved == "the model in floating point finds 0% of the labels, and 100% of them with -1: classes count from 0"
    [wrong] = remarks(data, labels=(right + 2) % 5, **options)
    assert wrong.startswith("the model in floating point finds 0% of the labels, no more than chance")


def test_notes_are_printed(tmp_path: Path) -> None:
    onnx.save(NET, tmp_path / "m.onnx")
    np.savez(tmp_path / "zero.npz", x=0 * GOOD)
    np.save(tmp_path / "labels.npy", (classes() + 1) % 5)
    arguments = ["--calibrate", tmp_path / "zero.npz", "--labels", tmp_path / "labels.npy", "--max-drop", "1%"]
    command = ["convert", tmp_path / "m.onnx", "-q", "int8", "-o", tmp_path / "m.lith", *arguments]
    done = CliRunner().invoke(app, [str(item) for item in command])
    text = " ".join(done.output.split())
    assert done.exit_code == 0, done.output
    assert "note: input 'x' is 0 everywhere in the data" in text
