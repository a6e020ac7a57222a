"""The model and data of the demo are what their README says, and the demo runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    with np.load(DIGITS / "digits_test.npz") as file:
        return file["images"], file["labels"]


def test_images_are_those_of_scikit_learn(data: tuple[np.ndarray, np.ndarray]) -> None:
    load_digits = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed").load_digits
    images, labels = data
    known = {
        (image.astype(np.uint8).tobytes(), label) for image, label in zip(*load_digits(return_X_y=True), strict=True)
    }
    assert images.shape == (364, 8, 8) and images.dtype == np.uint8
    assert all((image.tobytes(), label) in known for image, label in zip(images, labels, strict=True))


def test_model_recognises_what_the_readme_says(data: tuple[np.ndarray, np.ndarray]) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    images, labels = data
    session = onnxruntime.InferenceSession(str(DIGITS / "digits.onnx"), providers=["CPUExecutionProvider"])
    batch = images.astype(np.float32)[:, None, None] / 16
    predicted = [session.run(None, {"image": image})[0].argmax() for image in batch]
    assert int((np.array(predicted) == labels).sum()) == 360


def test_model_is_small_and_has_the_stated_number_of_parameters() -> None:
    assert (DIGITS / "digits.onnx").stat().st_size < 100_000
    floats = [
        item for item in onnx.load(DIGITS / "digits.onnx").graph.initializer if item.data_type == onnx.TensorProto.FLOAT
    ]
    assert sum(int(np.prod(item.dims)) for item in floats) == 7178


@pytest.mark.slow
def test_demo_runs(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, DIGITS / "demo.py", "--output", tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
