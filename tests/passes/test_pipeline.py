"""The list of passes as a whole, and the two that prepare integers for the kernels."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from pass_checks import finish, new_graph, numbers, ops_of, random_inputs

from microlith.converter import pipeline
from microlith.converter.passes import lower_lut, materialize_quantization
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.rewrite import PassRecord
from microlith.text import to_text
from microlith.verify import verify

PASSES_FOLDER = Path(pipeline.__file__).parent / "passes"
HELPERS = {
    "attention_forms",
    "__init__",
    "edits",
    "integer_tables",
    "integer_weights",
    "layout_rules",
    "unique_names",
    "subgraphs",
    "weight_codes",
}


def _network() -> Graph:
    graph = new_graph(x=(1, 3, 8, 8))
    x = graph.add("transpose", [graph.inputs[0]], {"perm": (0, 2, 3, 1)}).output
    x = graph.add("pad", [x], {"before": (0, 1, 1, 0), "after": (0, 1, 1, 0)}).output
    x = graph.add("conv2d", [x, graph.constant("w", numbers(4, 3, 3, 3))]).output
    x = graph.add("transpose", [x], {"perm": (0, 3, 1, 2)}).output
    x = graph.add("mul", [x, graph.constant("s", numbers(4, 1, 1))]).output
    x = graph.add("add", [x, graph.constant("o", numbers(4, 1, 1, seed=5))]).output
    x = graph.add("relu", [x]).output
    x = graph.add("reduce_mean", [x], {"axes": 12, "keep_dims": 0}).output
    x = graph.add("dense", [x, graph.constant("m", numbers(5, 4))]).output
    x = graph.add("add", [x, graph.constant("b", numbers(5))]).output
    return finish(graph, y=x)


def test_everything_works_together() -> None:
    graph = _network()
    feeds = random_inputs(graph)
    before = evaluate(graph, feeds)["y"]
    pipeline.optimize(graph, verify=True)
    assert ops_of(graph) == ["transpose", "conv2d", "reduce_mean", "dense"]
    np.testing.assert_allclose(evaluate(graph, feeds)["y"], before, rtol=1e-5, atol=1e-5)


def test_layers_of_one_pixel_fuse_as_others() -> None:
    """Where height and width are 1 a transpose moves nothing, and still has to go out of the way of the fusions."""
    graph = new_graph(x=(1, 3, 1, 1))
    x = graph.inputs[0]
    for index, channels in enumerate((3, 4)):
        x = graph.add("transpose", [x], {"perm": (0, 2, 3, 1)}).output
        x = graph.add("conv2d", [x, graph.constant(f"w{index}", numbers(4, 1, 1, channels))]).output
        x = graph.add("transpose", [x], {"perm": (0, 3, 1, 2)}).output
        x = graph.add("clip", [x], {"alpha": 0.0, "beta": 6.0}).output
    finish(graph, y=x)
    feeds = random_inputs(graph)
    before = evaluate(graph, feeds)["y"]
    pipeline.optimize(graph, verify=True)
    assert ops_of(graph) == ["reshape", "conv2d", "conv2d", "reshape"]
    np.testing.assert_allclose(evaluate(graph, feeds)["y"], before, rtol=1e-5, atol=1e-5)


def test_a_second_run_changes_nothing() -> None:
    graph = pipeline.optimize(_network())
    text = to_text(graph)
    pipeline.optimize(graph, verify=True)
    assert to_text(graph) == text


def test_every_pass_is_in_the_list() -> None:
    text = Path(pipeline.__file__).read_text("utf-8")
    for module in PASSES_FOLDER.glob("*.py"):
        if module.stem not in HELPERS:
            assert f"_pass({module.stem}" in text, module.stem


def test_observer_and_progress() -> None:
    records: list[PassRecord] = []
    steps: list[tuple[int, int, str]] = []
    pipeline.optimize(
        _network(),
        observer=lambda record, graph: records.append(record),
        progress=lambda done, total, text: steps.append((done, total, text)),
    )
    assert [record.name for record in records] == [item.name for item in pipeline.PASSES]
    assert [step[0] for step in steps] == list(range(1, len(pipeline.PASSES) + 1))
    assert Counter(record.name for record in records if record.changed)["layout"] >= 1
    assert records[-1].nodes_after == 4


def _int8_unary(op: str, x: Quant, y: Quant, **attrs: float) -> Graph:
    graph = Graph("g", inputs=[Value("x", TensorType(DType.s8, (256,)), quant=x)], contract="single")
    node = graph.add(op, [graph.inputs[0]], attrs, quant=y)
    return finish(graph, y=node.output)


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("sigmoid", lambda real: 1 / (1 + math.exp(-real))),
        ("tanh", math.tanh),
        ("hard_swish", lambda real: real * min(max(real + 3, 0), 6) / 6),
    ],
)
def test_int8_functions_are_tables(op: str, function: object) -> None:
    x, y = Quant.per_tensor(0.05, 10), Quant.per_tensor(1 / 128, -20)
    graph = _int8_unary(op, x, y)
    assert lower_lut.run(graph)
    verify(graph)
    assert ops_of(graph) == ["lut"]
    assert graph.outputs[0].quant == y
    integers = np.arange(-128, 128, dtype=np.int8)
    result = evaluate(graph, {"x": integers})["y"]
    for integer, actual in zip(integers.tolist(), result.tolist(), strict=True):
        real = np.float32(0.05) * np.float32(integer - 10)
        exact = function(float(real)) * 128 - 20  # type: ignore[operator]
        assert abs(min(max(exact, -128), 127) - actual) <= 0.5001, integer
    assert not lower_lut.run(graph)


def test_float_functions_are_no_tables() -> None:
    graph = new_graph(x=(4,))
    finish(graph, y=graph.add("sigmoid", [graph.inputs[0]]).output)
    assert not lower_lut.run(graph)


@pytest.mark.parametrize("contract", ["tflite-double", "single", "float-even"])
def test_integer_layers_get_their_constants(contract: str) -> None:
    """An int8 matrix product against the same product in real numbers."""
    x_quant, y_quant = Quant.per_tensor(0.02, 3), Quant.per_tensor(0.05, -7)
    w_quant = Quant(np.float32([0.01, 0.002, 0.03]), np.zeros(3, np.int64), axis=0)
    rng = np.random.default_rng(0)
    weights = rng.integers(-127, 128, (3, 16)).astype(np.int8)
    bias = rng.integers(-500, 500, 3).astype(np.int32)
    graph = Graph("g", inputs=[Value("x", TensorType(DType.s8, (9, 16)), quant=x_quant)], contract=contract)
    inputs = [graph.inputs[0], graph.constant("w", weights, w_quant), graph.constant("b", bias)]
    node = graph.add("dense", inputs, {"clamp_min": 0.0}, quant=y_quant)
    finish(graph, y=node.output)
    assert materialize_quantization.run(graph)
    verify(graph)
    x = rng.integers(-128, 128, (9, 16)).astype(np.int8)
    actual = evaluate(graph, {"x": x})["y"].astype(np.float64)
    real = 0.02 * (x.astype(np.float64) - 3) @ (weights.T * w_quant.scale.astype(np.float64))
    real = np.maximum(real + bias * 0.02 * w_quant.scale.astype(np.float64), 0)
    expected = np.clip(real / 0.05 - 7, -128, 127)
    assert np.abs(actual - expected).max() <= 0.51
