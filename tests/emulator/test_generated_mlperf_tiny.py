"""The models of MLPerf Tiny as generated C, here and on emulated boards.

Byte for byte what LiteRT's built-in kernels give (floats within 1e-5 of the largest element), for the stored inputs and
for further edges and noise.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated_projects import built
from litert_rung import assert_close
from mlperf_tiny import FLOAT_MODELS, FOLDER, INTEGER_MODELS, MISSING, further, stored

from microlith import convert
from microlith.codegen import execute

TARGETS = ("host", "cortex-m4", "cortex-m55")

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", INTEGER_MODELS + FLOAT_MODELS)
def test_generated_c_equals_litert(model: str, target: str, tmp_path: Path) -> None:
    graph = convert(FOLDER / f"{model}.tflite")
    cases = [*stored(model), *further(model, 24 if model in INTEGER_MODELS else 4)]
    (source,), (sink,) = graph.inputs, graph.outputs
    samples = [{source.name: x.reshape(source.type.static_shape)} for x, _ in cases]
    outputs = execute.run(built(graph, target, tmp_path / "a"), samples).outputs[sink.name]
    for index, (_, expected) in enumerate(cases):
        assert_close(np.asarray(outputs[index]).reshape(expected.shape), expected, f"input {index}")
