"""Image models whose input arrives by rows, on an emulated Cortex-M4: the bytes of LiteRT in a fraction of the RAM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated_projects import built
from litert_rung import interpreter, run_interpreter
from mlperf_tiny import FOLDER, MISSING, SHARED, further, stored

from microlith import convert
from microlith.codegen import execute

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

MOST_RAM = 27_000
MOST_MORE = 1.15
"""Instructions, by which factor at most."""
TFLM_ARENAS = {"classification/mcunet_vww_int8": 224_976, "detection/mcunet_person_det_int8": 386_272}
"""Bytes that ``tflite_micro.runtime.Interpreter`` of PyPI (0.dev20261023182759) reports for the whole arena."""
LIMITS = {"classification/mcunet_vww_int8": 60_000, "detection/mcunet_person_det_int8": 110_000}


def test_visual_wake_words_in_less_memory_than_the_image(tmp_path: Path) -> None:
    graph = convert(FOLDER / "vww_96_int8.tflite")
    cases = [*stored("vww_96_int8"), *further("vww_96_int8", 6)]
    (source,), (sink,) = graph.inputs, graph.outputs
    samples = [{source.name: x.reshape(source.type.static_shape)} for x, _ in cases]
    project = built(graph, "cortex-m4", tmp_path / "rows", ram_limit=MOST_RAM, input_by_rows=True)
    result = execute.run(project, samples)
    for index, (_, expected) in enumerate(cases):
        np.testing.assert_array_equal(result.samples[index][sink.name].ravel(), expected.ravel())
    assert result.stack is not None and result.instructions is not None
    assert project.report["arena_bytes"] + result.stack + 64 <= MOST_RAM < source.type.nbytes
    whole = execute.run(built(graph, "cortex-m4", tmp_path / "whole"), samples[:1])
    assert whole.instructions is not None and result.instructions <= MOST_MORE * whole.instructions


@pytest.mark.slow
@pytest.mark.parametrize("model", TFLM_ARENAS)
def test_mcunet_takes_less_than_half_of_the_arena_of_tflm(model: str, tmp_path: Path) -> None:
    path = SHARED / "models" / f"{model}.tflite"
    graph = convert(path)
    (source,) = graph.inputs
    engine = interpreter(path.read_bytes())
    rng = np.random.default_rng(7)
    images = [(rng.integers(0, 256, source.type.static_shape) / 255).astype(np.float32) for _ in range(2)]
    project = built(graph, "cortex-m4", tmp_path / "a", ram_limit=LIMITS[model], input_by_rows=True)
    result = execute.run(project, [{source.name: image} for image in images])
    assert result.stack is not None
    assert project.report["arena_bytes"] + result.stack < TFLM_ARENAS[model] / 2
    for image, outputs in zip(images, result.samples, strict=True):
        wanted = run_interpreter(engine, [image])
        assert len(wanted) == len(outputs)
        for value, expected in zip(graph.outputs, wanted, strict=True):
            got = outputs[value.name].reshape(expected.shape)
            np.testing.assert_allclose(got, expected, rtol=0, atol=2e-6)  # dequantized: the last bits of a float
