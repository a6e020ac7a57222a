# SPDX-License-Identifier: Apache-2.0
"""Handwritten digits, 8x8: scikit-learn's digits and a CNN of 7,000 weights."""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from train_driver import Data, Example, accuracy, main


def data() -> Data:
    """f32 [n, 1, 8, 8] from 0 to 1; a fifth to test, stratified."""
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    train_x, test_x, train_y, test_y = train_test_split(images, labels, test_size=0.2, stratify=labels, random_state=1)
    return Data(train_x, train_y, test_x, test_y)


def block(in_channels: int, out_channels: int) -> nn.Sequential:
    conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(out_channels), nn.ReLU())


def model() -> nn.Module:
    return nn.Sequential(
        block(1, 8), block(8, 16), nn.MaxPool2d(2), block(16, 32), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.25), nn.Linear(128, 10),
    )  # fmt: skip


EXAMPLE = Example(
    "digits", "Digits of scikit-learn, a small CNN", data, model, accuracy, "accuracy", epochs=25, learning_rate=0.01
)

if __name__ == "__main__":
    sys.exit(main(EXAMPLE))
