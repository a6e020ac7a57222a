"""The int8 models of MLPerf Tiny as generated C: byte for byte what LiteRT's built-in kernels gave.

The models are not part of the project. MICROLITH_SHARED names the folder that holds ``models/mlperf-tiny``; without it
``../shared`` beside the checkout is looked at.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from generated_projects import built

from microlith import convert
from microlith.codegen import execute

SHARED = Path(os.environ.get("MICROLITH_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
FOLDER = SHARED / "models" / "mlperf-tiny"
INT8 = ["kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "ad01_int8", "str_ww_ref_model"]
FLOAT = ["vww_96_float", "pretrainedResnet", "ad01_fp32"]
TARGETS = ["host", "cortex-m4", "cortex-m55"]


def run(model: str, target: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The outputs of generated C and of LiteRT's built-in kernels for the stored inputs."""
    if not FOLDER.is_dir():
        pytest.skip(f"no {FOLDER}: set MICROLITH_SHARED")
    graph = convert(FOLDER / f"{model}.tflite")
    stored = np.load(FOLDER / f"{model}.npz")
    (source,), (sink,) = graph.inputs, graph.outputs
    samples = [{source.name: array.reshape(source.type.static_shape)} for array in stored["inputs"]]
    result = execute.run(built(graph, target, folder), samples)
    return result.outputs[sink.name].reshape(stored["outputs_builtin"].shape), stored["outputs_builtin"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", INT8)
def test_int8(model: str, target: str, tmp_path: Path) -> None:
    outputs, wanted = run(model, target, tmp_path / "a")
    np.testing.assert_array_equal(outputs, wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", FLOAT)
def test_float(model: str, target: str, tmp_path: Path) -> None:
    outputs, wanted = run(model, target, tmp_path / "a")
    assert np.abs(outputs - wanted).max() <= 1e-5 * np.abs(wanted).max()
