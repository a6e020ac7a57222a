"""Convolutions by Winograd in the runtime, against sums in float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lith_models import Build

import microlith
from microlith import modelfile
from microlith.nnacl_kernels import catalogue

SHAPES = [
    # height, width, channels in and out; what is left of a tile differs
    (56, 56, 64, 64),
    (14, 13, 256, 96),
    (9, 30, 24, 80),
    (7, 7, 512, 64),
]


def _save(path: Path, shape: tuple[int, int, int, int]) -> np.ndarray:
    """A convolution with bias and a lower limit; its weights."""
    height, width, channels, out = shape
    b = Build("conv")
    x = b.input("x", (1, height, width, channels))
    weights = b.rng.standard_normal((out, 3, 3, channels)).astype(np.float32)
    bias = b.rng.standard_normal(out).astype(np.float32)
    constants = [b.graph.constant("w", weights), b.graph.constant("b", bias)]
    y = b.op("conv2d", x, *constants, output="y", pad_top=1, pad_left=1, pad_bottom=1, pad_right=1, clamp_min=-5.0)
    modelfile.save(b.outputs(y), path)
    taps = np.concatenate([weights.reshape(out, -1), bias[:, None]], axis=1)
    return taps.astype(np.float64)


def _expected(x: np.ndarray, taps: np.ndarray) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    flat = windows.reshape(*x.shape[:3], -1)
    return np.maximum(flat @ taps[:, :-1].T + taps[:, -1], -5.0)


@pytest.mark.parametrize("isa", ["avx512", "avx2"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_are_those_of_float64(tmp_path: Path, shape: tuple[int, int, int, int], isa: str) -> None:
    if isa not in catalogue.detected_isa():
        pytest.skip(f"this machine has no {isa}")
    taps = _save(tmp_path / "m.lith", shape)
    x = np.random.default_rng(3).standard_normal((1, *shape[:3])).astype(np.float32)
    expected = _expected(x, taps)
    # Products and inputs have a variance of 1: the error is held against that of the sum.
    deviation = np.sqrt(9 * shape[2])
    results = []
    for winograd, threads in ((True, 1), (True, 3), (False, 1)):
        with microlith.load(tmp_path / "m.lith", isa=["c", isa], threads=threads, winograd=winograd) as model:
            results.append(model.run(x)["y"])
            kernels = [layer.kernel for layer in model.profile(x)]
        assert ("winograd" in kernels[0]) == winograd
    np.testing.assert_array_equal(results[0], results[1])
    for result in results:
        assert np.abs(result - expected).max() / deviation < 1.5e-5


def test_other_windows_are_computed_directly(tmp_path: Path) -> None:
    b = Build("conv")
    x = b.input("x", (1, 28, 28, 64))
    y = b.op("conv2d", x, b.noise(64, 3, 3, 64), stride_h=2, stride_w=2)
    modelfile.save(b.outputs(y), tmp_path / "m.lith")
    with microlith.load(tmp_path / "m.lith") as model:
        layers = model.profile(np.zeros((1, 28, 28, 64), np.float32))
    assert "winograd" not in layers[0].kernel
