# SPDX-License-Identifier: Apache-2.0
"""The program at the top of docs/training.md runs as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "training.md"


@pytest.mark.slow
def test_first_program_of_the_page(tmp_path: Path) -> None:
    match = re.search(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert match is not None
    result = subprocess.run([sys.executable, "-c", match.group(1)], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "Microlith against PyTorch: largest error" in result.stdout and "in floating point" not in result.stdout
    assert (tmp_path / "digits.lith").is_file() and (tmp_path / "runs" / "runs.db").is_file()
