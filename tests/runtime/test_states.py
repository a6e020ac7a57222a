"""States: values that outlive a run, in the reference, the file, the runtime and generated code."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from lith_models import Build

import microlith
from microlith import modelfile
from microlith.codegen import execute
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, State, TensorType, Value
from microlith.text import to_text
from microlith.verify import verify

START = np.arange(12, dtype=np.float32).reshape(4, 3)


def streaming(dynamic: bool = False) -> Graph:
    """The last four inputs in a buffer that starts full, how many there were, and an int8 state at its zero point.
    ``dynamic`` adds a node whose shape depends on data."""
    b = Build("streaming")
    x = b.input("x", (1, 3))
    buffer = Value("buffer", TensorType(DType.f32, (4, 3)))
    rest = b.op("slice", buffer, start=(1, 0), size=(3, 3), step=(1, 1))
    newer = b.op("concat", rest, x, axis=0)
    count = Value("count", TensorType(DType.s64, ()))
    more = b.op("add", count, b.graph.constant("one", np.asarray(1)))
    level = Value("level", TensorType(DType.s8, (2,)), quant=Quant.per_tensor(0.5, -7))
    kept = b.op("max", level, b.graph.constant("low", np.array([-7, 3], np.int8)), output="kept")
    b.graph.states = [State(buffer, newer, START), State(count, more), State(level, kept)]
    outputs = [b.op("reduce_sum", newer, axes=3, keep_dims=0, output="sum"), b.op("reshape", count, output="before")]
    outputs.append(b.op("reshape", level, shape=(2,), output="level_before"))
    if dynamic:
        outputs.append(b.op("non_zero", newer, output="where"))
    return b.outputs(*outputs)


@pytest.mark.parametrize("dynamic", [False, True])
def test_runs_see_what_those_before_have_left(dynamic: bool, tmp_path: Path) -> None:
    graph = streaming(dynamic)
    verify(graph)
    modelfile.save(graph, tmp_path / "m.lith")
    model = microlith.load(tmp_path / "m.lith")
    assert model.is_dynamic == dynamic and [spec.name for spec in model.inputs] == ["x"]
    rng = np.random.default_rng(3)
    for _ in range(2):
        states: dict[str, np.ndarray] = {}
        for step in range(6):
            x = rng.normal(size=(1, 3)).astype(np.float32)
            results, expected = model.run(x), evaluate(graph, {"x": x}, states)
            for name, array in expected.items():
                np.testing.assert_allclose(results[name], array, rtol=1e-5, atol=1e-5, err_msg=f"{name}, step {step}")
            assert results["before"] == step
        np.testing.assert_array_equal(states["level"], [-7, 3])
        model.reset()


def test_the_first_run_by_hand() -> None:
    results = evaluate(streaming(), {"x": np.zeros((1, 3), np.float32)})
    assert results["sum"] == START[1:].sum() and results["before"] == 0
    np.testing.assert_array_equal(results["level_before"], [-7, -7])


def test_files_keep_states(tmp_path: Path) -> None:
    graph = streaming()
    modelfile.save(graph, tmp_path / "m.lith")
    again = modelfile.load(tmp_path / "m.lith")
    verify(again)
    assert sorted(to_text(again).splitlines()) == sorted(to_text(graph).splitlines())
    modelfile.save(again, tmp_path / "n.lith")
    assert (tmp_path / "m.lith").read_bytes() == (tmp_path / "n.lith").read_bytes()


@pytest.mark.parametrize("weights", ["source", "binary"])
def test_generated_code(weights: str, tmp_path: Path) -> None:
    if shutil.which("make") is None or shutil.which("gcc") is None:
        pytest.skip("make or gcc is not installed")
    graph = streaming()
    microlith.generate(graph, "host", tmp_path / "c", weights=weights)
    project = execute.Project.open(tmp_path / "c")
    execute.build(project, variables={"WARNINGS": "-Wall -Wextra -Wpedantic -Werror"})
    assert "PASS" in execute.selftest(project)
    feeds = [{"x": np.full((1, 3), value, np.float32)} for value in (1, 5, -2)]
    states: dict[str, np.ndarray] = {}
    expected = [evaluate(graph, feed, states) for feed in feeds]
    results = execute.run(project, feeds).outputs
    for name in expected[0]:
        np.testing.assert_allclose(results[name], np.stack([run[name] for run in expected]), rtol=1e-6)
    header = (tmp_path / "c" / "streaming.h").read_text()
    assert "void streaming_reset(const streaming_instance *instance);" in header
