"""The ONNX backend suite through ``convert`` and the C runtime, held to ``outcomes.txt``, and the page made from it."""

from __future__ import annotations

import shutil
import unittest
from pathlib import Path

import numpy as np
import onnx
import operators_page
import outcomes
import pytest
from generated_suite import static_graph
from onnx import numpy_helper
from onnx.backend.test import BackendTest
from onnx_suite import (
    KINDS,
    MicrolithBackend,
    arrays_of,
    cases,
    compare,
    input_names,
    run_case,
    with_positions,
    with_texts,
)

from microlith.evaluate import evaluate
from microlith.texts import labels_in

HINT = "after a change that is meant: python tests/backend/operators_page.py"

LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("light_*.onnx"))

GROUPS = sorted({(case.kind, case.op) for kind in KINDS for case in cases(kind)})


@pytest.mark.parametrize(("kind", "op"), GROUPS, ids=["-".join(group) for group in GROUPS])
def test_operator(kind: str, op: str) -> None:
    expected = outcomes.stored()
    wrong = []
    for case in cases(kind):
        if case.op != op:
            continue
        actual = run_case(case)
        wanted = expected.get((case.kind, case.name), outcomes.Outcome(outcomes.PASSES))
        if not outcomes.same(actual, wanted):
            wrong.append(
                f"{case.name}: {actual.status} {actual.reason}\n    instead of {wanted.status} {wanted.reason}"
            )
    assert not wrong, "\n".join([*wrong, HINT])


@pytest.mark.parametrize(("kind", "op"), GROUPS, ids=["-".join(group) for group in GROUPS])
def test_reference(kind: str, op: str) -> None:
    """What passes in the runtime with sizes from inputs, passes in the reference with these sizes in the model."""
    known = outcomes.stored()
    wrong = []
    for case in cases(kind):
        if case.op != op or (kind, case.name) in known:
            continue
        for inputs, outputs in case.data_sets:
            arrays = arrays_of(inputs)
            graph = static_graph(case.model, arrays)
            labels = labels_in(graph.metadata)
            given = zip(input_names(case.model), arrays, strict=False)
            with np.errstate(all="ignore"):
                results = evaluate(graph, {name: with_positions(array, labels.get(name)) for name, array in given})
            actual = [with_texts(results[value.name], labels.get(value.name)) for value in graph.outputs]
            outcome = compare(case, actual, arrays_of(outputs))
            if outcome.status != outcomes.PASSES:
                wrong.append(f"{case.name}: {outcome.status} {outcome.reason}")
    assert not wrong, "\n".join(wrong)


def test_outcomes_are_of_tests_that_exist() -> None:
    known = {(case.kind, case.name) for kind in KINDS for case in cases(kind)}
    assert not outcomes.stored().keys() - known


def test_page_is_up_to_date() -> None:
    """The page says what the code says."""
    assert operators_page.PAGE.read_text("utf-8") == operators_page.page(outcomes.stored()), HINT


@pytest.mark.slow
def test_generated_code() -> None:
    """Every node test that passes in the runtime, as C on this machine."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    expected = outcomes.stored(outcomes.GENERATED_FILE)
    actual = outcomes.measured_as_generated()
    wrong = [
        f"{name}: {item.status} {item.reason}" for (_, name), item in actual.items() if ("node", name) not in expected
    ]
    passes = [f"{name} passes" for _, name in expected.keys() - actual.keys()]
    assert not wrong + passes, "\n".join([*wrong, *passes, HINT])
    passing = sum((case.kind, case.name) not in outcomes.stored() for case in cases("node"))
    assert len(actual) <= 0.05 * passing


@pytest.mark.slow
@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_models(path: Path) -> None:
    """Well-known networks whose weights are all alike."""
    expected = numpy_helper.to_array(
        onnx.TensorProto.FromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes())
    )
    prepared = MicrolithBackend.prepare(onnx.load(path))
    shape = tuple(max(size, 1) for size in prepared.model.inputs[0].shape)
    count = int(np.prod(shape))
    (actual,) = prepared.run([(np.arange(count).reshape(shape) / count).astype(np.float32)])
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-7)


def test_standard_runner() -> None:
    """ONNX's own runner drives the backend."""
    suite = BackendTest(MicrolithBackend, __name__)
    suite.include(r"^test_(relu|matmul_2d|maxpool_2d_default|reduce_sum_default_axes_keepdims_example)_cpu$")
    result = unittest.TestResult()
    suite.test_suite.run(result)
    assert result.testsRun >= 4
    assert result.wasSuccessful(), [*result.failures, *result.errors]
