"""Ten thousand damaged models of the ONNX suite: no crash, no hang, no more than 1 GiB of memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RUNS, MODELS = 10, 1000
MOST_MEMORY = 1024
"""MiB, the interpreter with NumPy and onnx included."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RUNS))
def test_damaged_models(seed: int, tmp_path: Path) -> None:
    program = Path(__file__).with_name("mutated_suite.py")
    command = [sys.executable, str(program), str(seed), str(MODELS), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=3600, env=dict(os.environ), check=False)
    assert result.returncode == 0, f"{list(tmp_path.iterdir())}\n{result.stdout}\n{result.stderr[-2000:]}"
    failures, memory = re.search(r"(\d+) failures, (\d+) MiB", result.stdout).groups()  # type: ignore[union-attr]
    assert failures == "0", result.stdout
    assert int(memory) <= MOST_MEMORY
