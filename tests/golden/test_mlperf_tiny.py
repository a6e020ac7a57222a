"""The MLPerf Tiny models, byte for byte as LiteRT's built-in kernels (floats within 1e-5 of the largest element).

The same comparison with models that the tests make themselves is in ``tests/frontends/test_tflite_quantized.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litert_rung import assert_close, interpreter, run_interpreter
from mlperf_tiny import FLOAT_MODELS, FOLDER, HYBRID, INTEGER_MODELS, MISSING, further, further_inputs, stored

import microlith
from microlith import modelfile
from microlith.converter import convert
from microlith.dtypes import DType
from microlith.evaluate import evaluate, evaluate_all
from microlith.ir import Graph

pytestmark = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lith")


def opened(name: str, folder: Path, isa: str | None = None) -> tuple[Graph, Any]:
    """The converted graph and the runtime's model."""
    graph = convert(FOLDER / f"{name}.tflite")
    path = folder / f"{name}.lith"
    if not path.exists():
        modelfile.save(graph, path)
    return graph, microlith.load(path, isa=isa)


@pytest.mark.parametrize("name", INTEGER_MODELS + FLOAT_MODELS)
def test_stored_outputs(name: str, folder: Path) -> None:
    graph, model = opened(name, folder)
    for index, (x, expected) in enumerate(stored(name)):
        feed = {graph.inputs[0].name: x}
        for source, results in (("runtime", model.run(feed)), ("reference", evaluate(graph, feed))):
            assert_close(np.asarray(results[graph.outputs[0].name]), expected, f"{source}, input {index}")


@pytest.mark.parametrize(
    ("name", "isa"),
    [(name, isa) for name in INTEGER_MODELS + FLOAT_MODELS for isa in (None, "c") if (name, isa) != (HYBRID, None)],
)
def test_further_inputs(name: str, isa: str | None, folder: Path) -> None:
    graph, model = opened(name, folder, isa)
    for index, (x, expected) in enumerate(further(name, 24)):
        (actual,) = model.run({graph.inputs[0].name: x}).values()
        assert_close(np.asarray(actual), expected, f"input {index}")


@pytest.mark.parametrize("name", INTEGER_MODELS)
def test_every_tensor(name: str) -> None:
    """All intermediate tensors of the converted graph too, so that a saturated output hides nothing."""
    graph = convert(FOLDER / f"{name}.tflite")
    engine = interpreter((FOLDER / f"{name}.tflite").read_bytes(), all_tensors=True)
    indices = {detail["name"]: detail["index"] for detail in engine.get_tensor_details()}
    for x in further_inputs(name, 12):
        run_interpreter(engine, [x])
        values = evaluate_all(graph, {graph.inputs[0].name: x})
        for node in graph.nodes:
            assert node.output.dtype is DType.s8
            expected = engine.get_tensor(indices[node.output.name])
            kept = channels_in_order(values[node.output], expected)
            np.testing.assert_array_equal(
                values[node.output], expected[..., kept], err_msg=f"{node.source} {node.output.name}"
            )


def channels_in_order(actual: np.ndarray, expected: np.ndarray) -> list[int]:
    """Where the channels of a tensor are among those that LiteRT has, of which a pass may have removed some."""
    if actual.shape == expected.shape:
        return list(range(expected.shape[-1]))
    places, start = [], 0
    for channel in np.moveaxis(actual, -1, 0):
        same = [place for place in range(start, expected.shape[-1]) if np.array_equal(expected[..., place], channel)]
        assert same, f"channel {len(places)} is none of LiteRT's"
        places.append(same[0])
        start = same[0] + 1
    return places


def test_hybrid_weights_stay_integers() -> None:
    """The "float" keyword model has int8 weights, which LiteRT multiplies with inputs quantized at run time."""
    graph = convert(FOLDER / f"{HYBRID}.tflite")
    assert sum(node.op == "conv2d_dynamic" for node in graph.nodes) == 5
