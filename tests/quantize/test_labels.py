# SPDX-License-Identifier: Apache-2.0
"""What counts as a sample: labels are held against the data's samples, not against rows of the outputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from microlith.converter import convert
from microlith.converter.quantize import QuantizeOptions, QuantReport
from microlith.errors import InputError

from . import onnx_nets
from .test_static import quantized

STEPS, SAMPLES, CLASSES = 7, 12, 5
RNG = np.random.default_rng(3)


def recurrent(last_step: bool, batch_first: bool = False) -> onnx.ModelProto:
    """x [STEPS, 1, 6] -> classes of each step, [STEPS, 1, 5], or of the last state, [1, 5]. ``batch_first``:
    x [1, STEPS, 6], y [1, STEPS, 5] or [1, 5]."""
    weights = {
        "w": RNG.standard_normal((1, 24, 6)).astype(np.float32),
        "r": RNG.standard_normal((1, 24, 8)).astype(np.float32),
        "v": RNG.standard_normal((8, CLASSES)).astype(np.float32),
        "flat": np.array([1, 8], np.int64),
        "axis": np.array([1], np.int64),
    }
    nodes = [helper.make_node("GRU", ["t", "w", "r"], ["s", "h"], hidden_size=8)]
    if batch_first:
        nodes.insert(
            0,
            helper.make_node(
                "Transpose",
                [
                    "x",
                ],
                ["t"],
                perm=[1, 0, 2],
            ),
        )
    else:
        nodes[0].input[0] = "x"
    if last_step:
        nodes += [helper.make_node("Reshape", ["h", "flat"], ["f"]), helper.make_node("MatMul", ["f", "v"], ["y"])]
    else:
        nodes += [helper.make_node("Squeeze", ["s", "axis"], ["f"]), helper.make_node("MatMul", ["f", "v"], ["k"])]
        nodes.append(helper.make_node("Transpose", ["k"], ["y"], perm=[1, 0, 2] if batch_first else [0, 1, 2]))
    used = {name: array for name, array in weights.items() if any(name in node.input for node in nodes)}
    shape = (1, STEPS) if batch_first else (STEPS, 1)
    return onnx_nets.model(nodes, {"x": (*shape, 6)}, {"y": (1, CLASSES) if last_step else (*shape, CLASSES)}, used)


def sequences(batch_first: bool = False) -> list[np.ndarray]:
    shape = (1, STEPS, 6) if batch_first else (STEPS, 1, 6)
    return [np.random.default_rng(i).standard_normal(shape).astype(np.float32) for i in range(SAMPLES)]


def classes(model: onnx.ModelProto, samples: list[np.ndarray]) -> list[np.ndarray]:
    """By ONNX Runtime."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [session.run(None, {session.get_inputs()[0].name: x})[0].argmax(axis=-1).reshape(-1) for x in samples]


def as_generator(samples: list[np.ndarray]) -> Any:
    def generate() -> Iterator[np.ndarray]:
        yield from samples

    return generate


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("form", ["list", "stack", "generator", "files"])
def test_a_class_for_each_sequence(batch_first: bool, form: str, tmp_path: Path) -> None:
    model, samples = recurrent(True, batch_first), sequences(batch_first)
    labels = np.concatenate(classes(model, samples))
    labels[0] = (labels[0] + 1) % CLASSES
    data: Any = {"list": samples, "stack": [np.stack(samples)], "generator": as_generator(samples)}.get(form)
    if form == "files":
        for index, sample in enumerate(samples):
            np.save(tmp_path / f"{index:02}.npy", sample)
        data = tmp_path
    _, report = quantized(model, data, labels=labels, scheme="float16")
    assert report.samples == SAMPLES
    assert report.float_accuracy == pytest.approx(1 - 1 / SAMPLES)
    with pytest.raises(InputError, match=f"11 labels for {SAMPLES} samples"):
        quantized(model, data, labels=labels[1:])


@pytest.mark.parametrize("batch_first", [False, True])
def test_a_class_for_each_step(batch_first: bool) -> None:
    """Labels of the shape [samples, steps]; one for a whole sequence is not enough, one wrong step is one of all."""
    model, samples = recurrent(False, batch_first), sequences(batch_first)
    labels = np.stack(classes(model, samples))
    labels[2, 3] = (labels[2, 3] + 1) % CLASSES
    _, report = quantized(model, samples, labels=labels, scheme="float16")
    assert report.float_accuracy == pytest.approx(1 - 1 / (SAMPLES * STEPS))
    if batch_first:
        with pytest.raises(
            InputError, match=rf"several positions of a sample\s+hint: labels of shape \[samples,{STEPS}"
        ):
            quantized(model, samples, labels=labels[:, 0])
    with pytest.raises(InputError, match=rf"labels of shape \[samples,{STEPS - 1}\] do not fit"):
        quantized(model, samples, labels=labels[:, 1:])


def test_pixels(tmp_path: Path) -> None:
    """Classes along axis 1, as convolutions of ONNX give them; and along the last."""
    model = onnx_nets.two_convolutions(np.random.default_rng(0))
    samples = [np.random.default_rng(i).standard_normal((1, 4, 6, 6)).astype(np.float32) for i in range(6)]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    labels = np.concatenate([session.run(None, {"x": x})[0].argmax(axis=1) for x in samples])
    labels[0, 0, 0] = (labels[0, 0, 0] + 1) % 3
    np.save(tmp_path / "labels.npy", labels)
    _, report = quantized(model, samples, labels=tmp_path / "labels.npy")
    assert report.float_accuracy == pytest.approx(1 - 1 / labels.size)


@pytest.mark.parametrize("batch", [4, "n"])
def test_batches_hold_several_samples(batch: int | str) -> None:
    """A fixed batch takes four at a time, an open one what is there; ``samples`` counts samples, not runs."""
    model = onnx_nets.dense(np.random.default_rng(1), batch=batch)
    x = np.random.default_rng(2).standard_normal((40, 16)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    labels = np.concatenate([session.run(None, {"x": part})[0].argmax(axis=1) for part in x.reshape(10, 4, 16)])
    labels[:10] = (labels[:10] + 1) % 8
    quick: dict[str, Any] = {"labels": labels, "scheme": "float16"}
    _, report = quantized(model, [x], **quick)
    assert (report.samples, report.float_accuracy) == (40, 0.75)
    _, report = quantized(model, [x], labels=labels)
    assert (report.samples, report.float_accuracy) == (40, 0.75)
    report = limited(model, [x], 20, **quick)
    assert (report.samples, report.float_accuracy) == (20, 0.5)
    assert limited(model, [x], 7, **quick).samples == (7 if batch == "n" else 4)
    with pytest.raises(InputError, match="39 labels for 40 samples"):
        quantized(model, [x], labels=labels[1:])
    _, report = quantized(model, list(x.reshape(10, 4, 16)), **quick)
    assert report.float_accuracy == 0.75


def limited(model: onnx.ModelProto, data: Any, samples: int, **options: Any) -> QuantReport:
    reports: list[QuantReport] = []
    convert(model, quantization=QuantizeOptions(calibrate=data, samples=samples, **options), report=reports.append)
    return reports[0]
