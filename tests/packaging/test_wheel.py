"""The wheel in a clean environment, outside the checkout, without any package of the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
TEST_ONLY = ("torch", "onnxruntime", "ai_edge_litert", "sklearn", "pytest", "hypothesis", "scipy", "PIL")


def call(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command with none of our own variables in its environment; fails the test when it fails."""
    hidden = ("PYTHON", "MICROLITH", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    result = subprocess.run(list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}\n{result.stderr}"
    return result


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what git would track, as from a fresh clone."""
    if not (ROOT / ".git").exists():
        pytest.skip("the wheel is built from a git checkout only")
    folder = tmp_path_factory.mktemp("wheel")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listing.decode().split("\0")):
        if (ROOT / name).is_file():
            copy = folder / "source" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy)
    call(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder / "dist", folder / "source", cwd=folder)
    (path,) = (folder / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment that holds the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("clean")
    call(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return python


def test_wheel_holds_what_codegen_and_crop_copy_and_no_more(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "microlith/nnacl_kernels/libmicrolith.so" in names
    assert "microlith/nnacl_kernels/conv/conv2d_s8_c.c" in names
    assert "microlith/runtime/include/microlith.h" in names
    assert "microlith/trainer/fitting.py" in names and "microlith/trainer/compress/compressor.py" in names
    assert any(name.startswith("microlith/templates/") and name.endswith(".j2") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"microlith"}
    assert {"microlith/runtime/src/bind.c", "microlith/runtime/CMakeLists.txt", "microlith/py.typed"} <= set(names)
    assert "microlith/nnacl_kernels/CMakeLists.txt" in names
    assert not [name for name in names if "tests" in name.split("/")]
    assert wheel.name.endswith(".whl") and "-py3-none-" in wheel.name


def test_clean_environment_has_no_test_package(python: Path, tmp_path: Path) -> None:
    program = f"import importlib.util as u; print([m for m in {TEST_ONLY!r} if u.find_spec(m)])"
    assert call(python, "-c", program, cwd=tmp_path).stdout.strip() == "[]"


def test_convert_run_and_codegen(python: Path, tmp_path: Path) -> None:
    command = python.parent / "microlith"
    call(command, "convert", DIGITS / "digits.onnx", "-o", "digits.lith", cwd=tmp_path)

    program = f"""
import numpy as np, microlith
test = np.load({str(DIGITS / "digits_test.npz")!r})
images = test["images"].astype(np.float32)[:, None, None] / 16
np.savez("image.npz", image=images[0])
model = microlith.load("digits.lith")
correct = sum(model.run({{"image": x}})["probabilities"].argmax() == y for x, y in zip(images, test["labels"]))
print(microlith.__version__, correct)
"""
    version, correct = call(python, "-c", program, cwd=tmp_path).stdout.split()
    assert version in call(command, "--version", cwd=tmp_path).stdout
    # As PyTorch and ONNX Runtime do; the odd image on the edge between two classes may fall either way.
    assert abs(int(correct) - 360) <= 1

    call(command, "run", "digits.lith", "--inputs", "image.npz", "--outputs", "out.npz", cwd=tmp_path)
    call(command, "codegen", "digits.lith", "--target", "host", "-o", "generated", cwd=tmp_path)
    build = tmp_path / "generated"
    assert (build / "Makefile").is_file()
    call("make", "-C", build, cwd=tmp_path)
