"""The ONNX backend suite through ``convert`` and the C runtime, held to ``outcomes.txt``, and the page made from it."""

from __future__ import annotations

import unittest

import operators_page
import outcomes
import pytest
from onnx.backend.test import BackendTest
from onnx_suite import KINDS, MicrolithBackend, cases, run_case

HINT = "after a change that is meant: python tests/backend/operators_page.py"

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


def test_outcomes_are_of_tests_that_exist() -> None:
    known = {(case.kind, case.name) for kind in KINDS for case in cases(kind)}
    assert not outcomes.stored().keys() - known


def test_page_is_up_to_date() -> None:
    """The page says what the code says."""
    assert operators_page.PAGE.read_text("utf-8") == operators_page.page(outcomes.stored()), HINT


def test_standard_runner() -> None:
    """ONNX's own runner drives the backend."""
    suite = BackendTest(MicrolithBackend, __name__)
    suite.include(r"^test_(relu|matmul_2d|maxpool_2d_default|reduce_sum_default_axes_keepdims_example)_cpu$")
    result = unittest.TestResult()
    suite.test_suite.run(result)
    assert result.testsRun >= 4
    assert result.wasSuccessful(), [*result.failures, *result.errors]
