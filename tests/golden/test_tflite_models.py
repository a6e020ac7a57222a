"""Real TFLite models of many kinds: what converts equals LiteRT's built-in kernels, what does not says why.

The models are not part of this repository: the tests look for ``models`` below the folder that the environment
variable MICROLITH_SHARED names, else below ``../shared``. Integer outputs must be equal, floats within 1e-4 of the
largest element.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from litert_rung import assert_close, interpreter, run_interpreter

import microlith
from microlith import modelfile
from microlith.converter import convert

_ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("MICROLITH_SHARED", _ROOT.parent / "shared")) / "models"
MODELS = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in FOLDER.glob("*/*.tflite")
    if path.with_name(f"{path.name}.ref.npz").exists()
)
"""Those with stored inputs; the MLPerf Tiny models have tests of their own."""

CHAOTIC = {"detection/yolox_nano_dynrange.tflite": 1.7}
"""Activations quantized at run time make steps of last bits: LiteRT's own kernels differ by up to 1.6 here."""

STORED = {"segmentation/selfie_segmentation.tflite": 1.5e-4}
"""LiteRT has no kernel of its own for a custom operator; the stored results are those of XNNPACK. Where the input is
noise the last bits of its sums grow to 1e-4 on the way."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MODELS, reason="the model collection is not there (MICROLITH_SHARED)"),
]


@pytest.mark.parametrize("name", [name for name in MODELS if name in STORED])
def test_equals_stored_results(name: str, tmp_path: Path) -> None:
    graph = convert(FOLDER / name)
    modelfile.save(graph, tmp_path / "model.lith")
    model = microlith.load(tmp_path / "model.lith")
    with np.load(f"{FOLDER / name}.ref.npz") as arrays:
        for k in range(3):
            results = model.run({value.name: arrays[f"c{k}_in{j}"] for j, value in enumerate(graph.inputs)})
            for j, value in enumerate(graph.outputs):
                assert_close(np.asarray(results[value.name]), arrays[f"c{k}_out{j}"], value.name, STORED[name])


@pytest.mark.parametrize("name", [name for name in MODELS if name not in STORED])
def test_equals_litert(name: str, tmp_path: Path) -> None:
    path = FOLDER / name
    with np.load(f"{path}.ref.npz") as arrays:
        stored = {key: arrays[key] for key in arrays.files if key.startswith("c")}
    engine = interpreter(path.read_bytes(), allocate=False)
    details = engine.get_input_details()
    cases = [[stored[f"c{k}_in{j}"] for j in range(len(details))] for k in range(4) if f"c{k}_in0" in stored]
    cases = [case for case in cases if [x.shape for x in case] == [x.shape for x in cases[0]]]
    sizes = {}
    for detail, array in zip(details, cases[0], strict=True):
        if tuple(detail["shape"]) != array.shape:
            sizes[detail["name"]] = array.shape
            engine.resize_tensor_input(detail["index"], array.shape)
    engine.allocate_tensors()
    graph = convert(path, inputs=sizes)
    modelfile.save(graph, tmp_path / "model.lith")
    model = microlith.load(tmp_path / "model.lith")
    for arrays_in in cases:
        expected = run_interpreter(engine, arrays_in)
        feed = {value.name: array for value, array in zip(graph.inputs, arrays_in, strict=True)}
        actual = model.run(feed)
        for value, wanted in zip(graph.outputs, expected, strict=True):
            result = np.asarray(actual[value.name])
            if name in CHAOTIC:
                assert float(np.abs(result - wanted).max()) < CHAOTIC[name]
            else:
                assert_close(result, wanted, value.name, 1e-4)
