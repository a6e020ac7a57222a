# SPDX-License-Identifier: Apache-2.0
"""Integer kernels against NumPy and LiteRT over random models of every operator; exactness.py does the same in full."""

from __future__ import annotations

import pytest
from operator_cases import OPERATORS

CASES = [(item.name, dtype) for item in OPERATORS.values() for dtype in item.dtypes]


def check(name: str, dtype: str, cases: int, models: int, seed: int) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    from exactness import measure

    operator = OPERATORS[name]
    count = measure(operator, dtype, cases, seed, models)
    assert not count.failures, count.failures
    assert count.models >= models and count.cases >= cases
    assert not any(count.numpy.values()), (count.numpy, "C kernels differ from the NumPy reference")
    assert count.others == 0, "kernels for an instruction set differ from the C ones"
    if dtype not in operator.departs:
        assert count.litert == 0, count.examples
    else:
        assert count.litert <= operator.departs[dtype] * count.cases and count.litert_most <= 1, count.examples


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_a_few_models(name: str, dtype: str) -> None:
    check(name, dtype, 500, 4, seed=7)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_a_hundred_thousand_cases(name: str, dtype: str) -> None:
    check(name, dtype, 100_000, 200, seed=0)
