"""Models with a state in generated C: step by step, reset, step by step again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from generated_projects import built
from litert_rung import interpreter, run_interpreter
from mlperf_tiny import SHARED

from microlith.codegen import execute
from microlith.converter import convert
from microlith.dtypes import DType
from microlith.ir import Graph, State, TensorType, Value

STREAM = SHARED / "models" / "audio-keyword" / "mww_okay_nabu_v2.tflite"

MAIN = r"""
#include "stream.h"
#include <stdio.h>

static _Alignas(STREAM_ARENA_ALIGN) unsigned char arena[STREAM_ARENA_SIZE];

/* stream INPUTS OUTPUTS: all steps, a reset, all steps again, and half a stream after an init. */
int main(int argc, char **argv)
{
    stream_instance model;
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *out = in ? fopen(argv[2], "wb") : NULL;
    const size_t size = STREAM_INPUT_X_COUNT * ELEMENT, wanted = STREAM_OUTPUT_Y_COUNT * RESULT;

    if (out == NULL || stream_init(&model, arena, sizeof arena) != STREAM_OK) return 1;
    for (int round = 0; round < 3; round++) {
        rewind(in);
        while (fread(stream_input(&model, STREAM_INPUT_X), 1, size, in) == size) {
            stream_step(&model);
            fwrite(stream_output(&model, STREAM_OUTPUT_Y), 1, wanted, out);
        }
        if (round == 0) {
            stream_reset(&model);
        } else if (stream_init(&model, arena, sizeof arena) != STREAM_OK) {
            return 1;
        }
    }
    return fclose(out) != 0;
}
"""


def streamed(graph: Graph, steps: Sequence[np.ndarray], folder: Path) -> np.ndarray:
    """The outputs of three rounds of all steps: shape [3, steps, ...]."""
    (x,), (y,) = graph.inputs, graph.outputs
    x.name, y.name = "x", "y"
    result = built(graph, "host", folder, name="stream", samples=[{"x": step} for step in steps[:2]])
    execute.selftest(result)
    sizes = f"#define ELEMENT {x.dtype.size}\n#define RESULT {y.dtype.size}\n"
    (result.folder / "main" / "selftest.c").write_text(sizes + MAIN)
    execute.build(result)
    (folder / "in.bin").write_bytes(b"".join(np.ascontiguousarray(step).tobytes() for step in steps))
    execute._run(
        [str(result.program("selftest")), str(folder / "in.bin"), str(folder / "out.bin")], "stream", timeout=60
    )
    outputs = np.fromfile(folder / "out.bin", y.dtype.numpy)
    return outputs.reshape(3, len(steps), *y.type.static_shape)


def test_moving_average(tmp_path: Path) -> None:
    """memory = 0.75 memory + 0.25 x, which starts at 8."""
    graph = Graph("average")
    x = Value("x", TensorType(DType.f32, (4,)))
    memory = Value("memory", TensorType(DType.f32, (4,)))
    graph.inputs.append(x)
    old = graph.add("mul", [memory, graph.constant("keep", np.float32([0.75]))])
    new = graph.add("mul", [x, graph.constant("take", np.float32([0.25]))])
    graph.outputs = [graph.add("add", [old.output, new.output]).output]
    graph.states = [State(memory, graph.outputs[0], np.full(4, 8, np.float32))]
    steps = [np.arange(4, dtype=np.float32) * 4 * k for k in range(6)]
    expected, held = [], np.full(4, 8, np.float64)
    for step in steps:
        held = 0.75 * held + 0.25 * step
        expected.append(held)
    for outputs in streamed(graph, steps, tmp_path / "a"):
        np.testing.assert_allclose(outputs, expected, rtol=1e-6)


@pytest.mark.skipif(not STREAM.exists(), reason="the streaming models are not there (MICROLITH_SHARED)")
def test_tflite_variables_equal_litert(tmp_path: Path) -> None:
    engine = interpreter(STREAM.read_bytes())
    (detail,) = engine.get_input_details()
    rng = np.random.default_rng(3)
    info = np.iinfo(detail["dtype"])
    steps = [rng.integers(info.min, info.max + 1, detail["shape"]).astype(detail["dtype"]) for _ in range(12)]
    expected = [run_interpreter(engine, [step])[0] for step in steps]
    graph = convert(STREAM)
    assert graph.states
    for outputs in streamed(graph, steps, tmp_path / "a"):
        assert outputs.tobytes() == np.stack(expected).tobytes()


WAKE_WORD = SHARED / "models" / "mlperf-tiny" / "str_ww_ref_model.tflite"


@pytest.mark.skipif(not WAKE_WORD.exists(), reason="MLPerf Tiny's models are not there (MICROLITH_SHARED)")
def test_a_window_as_a_stream_equals_litert(tmp_path: Path) -> None:
    """Once 30 frames are there, a step in C gives what LiteRT gives for the last 30; after a reset the same again."""
    engine = interpreter(WAKE_WORD.read_bytes())
    rng = np.random.default_rng(5)
    frames = rng.integers(-128, 128, (1, 36, 1, 40)).astype(np.int8)
    steps = [frames[:, i : i + 1] for i in range(36)]
    expected = [run_interpreter(engine, [frames[:, i : i + 30]])[0] for i in range(7)]
    rounds = streamed(convert(WAKE_WORD, stream_rows=1), steps, tmp_path / "a")
    for outputs in rounds:
        assert outputs[29:].tobytes() == np.stack(expected).tobytes()
        assert outputs.tobytes() == rounds[0].tobytes()
