"""Real models whose sizes are open: converted once, run at several sizes, against ONNX Runtime at each of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microlith
from microlith import modelfile

SHARED = Path(os.environ.get("MICROLITH_SHARED", Path(__file__).parents[3] / "shared")) / "models"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there")

MODELS = {
    "detection/yunet_n_dynamic.onnx": 2e-2,  # outputs near zero, whose noise is large beside them
    "landmark/openseeface_lm0.onnx": 1e-4,
    "ocr/ppocr_v4_det.onnx": 2e-2,
    "ocr/ppocr_v6_rec_tiny.onnx": 1e-4,
    "text/attacut_c.onnx": 1e-4,
    "text/minilm_l3_vocab3k_dynint8.onnx": 1e-4,
    "text/romanizer_greedy_loop.onnx": 1e-4,
    "timeseries/atspm_funcnet_head.onnx": 1e-4,
    "audio-vad/silero_vad_v6.onnx": 1e-4,
    "audio-music/swift_f0.onnx": 1e-4,
    "audio-quality/aecmos_gru.onnx": 1e-4,
}
"""How far outputs may be off, relative to the largest."""

DYNAMIC = {"text/romanizer_greedy_loop.onnx", "audio-vad/silero_vad_v6.onnx"}
"""Models with loops and branches; the memory of the others is planned when the sizes are known."""


def changed(size: int | str | None, old: int, step: int) -> int:
    """Another size where it is open: a batch of 1 stays."""
    return old if isinstance(size, int) or old == 1 else max(1, old + step)


@pytest.mark.parametrize("name", MODELS)
def test_at_several_sizes(name: str, tmp_path: Path) -> None:
    ort: Any = pytest.importorskip("onnxruntime", reason="onnxruntime, which gives the expected results, is missing")
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    modelfile.save(microlith.convert(path), tmp_path / "m.lith")
    model = microlith.load(tmp_path / "m.lith")
    assert model.is_dynamic == (name in DYNAMIC)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    stored = np.load(f"{path}.ref.npz")
    assert json.loads(str(stored["meta"]))["inputs"] == [item.name for item in session.get_inputs()]
    given = [stored[f"c0_in{index}"] for index in range(len(session.get_inputs()))]
    for step in (0, 32, -32, 0):
        feeds = {
            item.name: np.resize(
                array, [changed(size, old, step) for size, old in zip(item.shape, array.shape, strict=True)]
            )
            for item, array in zip(session.get_inputs(), given, strict=True)
        }
        results = model.run(feeds)
        for output, expected in zip(session.get_outputs(), session.run(None, feeds), strict=True):
            actual = results[output.name]
            assert actual.shape == expected.shape, (output.name, step)
            limit = MODELS[name] * float(np.abs(expected).max(initial=0)) + 1e-9
            np.testing.assert_allclose(actual, expected, rtol=0, atol=limit, err_msg=f"{output.name}, {step:+}")
