"""The table of a quantized softmax as products: the same floats in three eighths of the bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from generated_projects import built

from microlith.codegen import execute
from microlith.codegen.compact_exp import exp_powers, pack_exp
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, TensorType, Value


def exponentials(scale: float) -> np.ndarray:
    """exp of -255 .. 0 steps, of arguments that are rounded to float32, as importers make it."""
    arguments = (np.arange(-255, 1) * np.float32(scale)).astype(np.float32)
    return np.exp(arguments.astype(np.float64)).astype(np.float32)


def unpacked(data: bytes) -> np.ndarray:
    """What the header of the kernel says, in other words."""
    floats = np.frombuffer(data[:128], np.float32)
    table = np.empty(256, np.float32)
    for below in range(256):
        product = np.float32(floats[below // 16] * floats[16 + below % 16])
        step = np.frombuffer(data[128:], np.int8)[below]
        table[255 - below] = (np.array([product]).view(np.int32) + np.int32(step)).view(np.float32)[0]
    return table


@pytest.mark.parametrize("scale", [1e-6, 0.003, 0.0213, 0.1, 0.19, 1 / 3])
def test_the_same_floats(scale: float) -> None:
    table = exponentials(scale)
    data = pack_exp(table)
    assert data is not None and len(data) == 384
    assert unpacked(data).tobytes() == table.tobytes()


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, 0.0])
def test_other_tables_stay_whole(value: float) -> None:
    table = exponentials(0.1)
    table[100] = value
    assert pack_exp(table) is None


@pytest.mark.parametrize("scale", [1e-6, 2**-9, 0.003, 0.0213, 0.1, 0.19, 1 / 3])
def test_powers_give_the_same_floats(scale: float) -> None:
    data = exp_powers(exponentials(scale), scale)
    assert data is not None and len(data) == 20


@pytest.mark.parametrize(("scale", "stated"), [(0.5, 0.5), (0.1, 0.1001), (0.1, 0.0), (0.1, 1e9), (0.1, float("nan"))])
def test_powers_are_not_taken_for_another_table(scale: float, stated: float) -> None:
    """exp of 255 times 0.5 is no normal number."""
    assert exp_powers(exponentials(scale), stated) is None


def softmax_model(scale: float, table: np.ndarray, rows: int = 16) -> Graph:
    graph = Graph("softmax")
    x = Value("x", TensorType(DType.s8, (rows, 10)), quant=Quant.per_tensor(scale, 0))
    graph.inputs.append(x)
    attrs = {"axis": 1, "y_scale": 1 / 256, "y_zero": -128}
    graph.outputs = [graph.add("softmax", [x, graph.constant("exp", table)], attrs, name="y").output]
    return graph


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "cortex-m55", "riscv32"])
def test_generated_code_gives_the_bytes_of_the_whole_table(target: str, tmp_path: Path) -> None:
    graph = softmax_model(0.1, exponentials(0.1))
    project = built(graph, target, tmp_path / "a")
    assert project.report["weight_bytes"] == 384
    rng = np.random.default_rng(5)
    samples = [{"x": rng.integers(low, 128, (16, 10)).astype(np.int8)} for low in (-128, 60)]
    for sample, outputs in zip(samples, execute.run(project, samples).samples, strict=True):
        np.testing.assert_array_equal(*(found[graph.outputs[0].name] for found in (outputs, evaluate(graph, sample))))


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "cortex-m55", "riscv32"])
@pytest.mark.parametrize("scale", [0.0213, 0.19])
def test_generated_code_computes_the_table_of_few_elements(target: str, scale: float, tmp_path: Path) -> None:
    graph = softmax_model(scale, exponentials(scale), 6)
    project = built(graph, target, tmp_path / "a")
    assert project.report["weight_bytes"] == (384 if target == "cortex-m55" else 20)
    steps = np.arange(300).reshape(5, 6, 10) % 256 - 128  # each of the 256 entries, below a row's maximum
    steps[..., 0] = 127
    samples = [{"x": sample.astype(np.int8)} for sample in steps]
    for sample, outputs in zip(samples, execute.run(project, samples).samples, strict=True):
        np.testing.assert_array_equal(*(found[graph.outputs[0].name] for found in (outputs, evaluate(graph, sample))))


def test_a_table_that_is_no_product_stays_in_generated_code(tmp_path: Path) -> None:
    table = exponentials(0.1)
    table[100] = 0.5
    graph = softmax_model(0.1, table)
    project = built(graph, "cortex-m4", tmp_path / "a")
    assert project.report["weight_bytes"] == 1024
    sample = {"x": np.random.default_rng(6).integers(-128, 128, (16, 10)).astype(np.int8)}
    (outputs,) = execute.run(project, [sample]).samples
    np.testing.assert_array_equal(*(found[graph.outputs[0].name] for found in (outputs, evaluate(graph, sample))))
