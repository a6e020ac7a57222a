"""Damaged ONNX and TFLite models: no crash, no hang, no more than 1 GiB of memory (see ``mutated_models.py``)."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutated_models import KINDS, run

QUICK = {"onnx": 300, "tflite": 500}


@pytest.mark.parametrize("kind", KINDS)
def test_some_damaged_models(kind: str, tmp_path: Path) -> None:
    result = run(kind, 1, QUICK[kind], tmp_path)
    assert not result.failures, result.failures
    assert result.outcomes["ran"] > 30 and result.outcomes["refused"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_damaged_models(kind: str, tmp_path: Path) -> None:
    result = run(kind, 0, 10_000, tmp_path)
    assert not result.failures, f"{result}\n{result.failures}"
    assert sum(result.outcomes.values()) == 10_000
