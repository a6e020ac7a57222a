# SPDX-License-Identifier: Apache-2.0
"""From a search to a file: packed weights of the size that their bits promise, and PyTorch's results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
from torch import nn  # noqa: E402

import microlith  # noqa: E402
from microlith import trainer  # noqa: E402

PACKED = {"conv2d_compressed", "dense_compressed"}


def converted(bits: int | None, folder: Path) -> tuple[nn.Module, Path, set[str]]:
    """A network of 37,280 weights, as it is or searched; its file and the ops in it."""
    torch.manual_seed(0)
    model: nn.Module = nn.Sequential(
        nn.Conv2d(4, 40, 3, padding=1, bias=False), nn.BatchNorm2d(40), nn.ReLU(), nn.MaxPool2d(4),
        nn.Conv2d(40, 80, 3, padding=1, bias=False), nn.BatchNorm2d(80), nn.ReLU(), nn.Flatten(), nn.Linear(320, 22),
    )  # fmt: skip
    if bits is not None:
        search = trainer.LowBitSearch(bits, edges="search")
        model = search.apply(model)
        search.calibrate(model, [torch.randn(16, 4, 8, 8)])
        model = search.convert(model)
    path = folder / f"net{bits}.onnx"
    torch.onnx.export(model.eval(), (torch.zeros(1, 4, 8, 8),), path, dynamo=True, verbose=False, external_data=False)
    graph = microlith.convert(path, path.with_suffix(".lith"))
    return model, path.with_suffix(".lith"), {node.op for node in graph.nodes}


def test_files_shrink_with_the_bits_and_compute_the_same(tmp_path: Path) -> None:
    weights = 4 * 40 * 9 + 40 * 80 * 9 + 320 * 22
    _, whole, ops = converted(None, tmp_path)
    assert not ops & PACKED
    overhead = whole.stat().st_size - 4 * weights
    for bits in (1, 2, 4):
        model, path, ops = converted(bits, tmp_path)
        assert ops >= PACKED and not ops & {"conv2d", "dense"}
        # Beside what the float model has: a scale for each output channel, and what names the form of the weights.
        stated = overhead + 4 * (40 + 80 + 22) + 1024
        assert path.stat().st_size <= 1.1 * weights * bits / 8 + stated
        x = torch.randn(1, 4, 8, 8)
        program = microlith.load(path)
        (found,) = program.run({program.inputs[0].name: x.numpy()}).values()
        with torch.no_grad():
            np.testing.assert_allclose(found, model(x).numpy(), rtol=1e-4, atol=1e-5)
