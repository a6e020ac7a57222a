# SPDX-License-Identifier: Apache-2.0
"""A table: scikit-learn's diabetes data, 442 patients with 10 measurements, and how far the illness is a year later.

The data is noisy and small: a linear regression explains 53 % of the variance of the test set, and this network no more
than that. What counts here is that the integer model loses nothing of it.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score
from torch import nn
from train_driver import Data, Example, main


def data() -> Data:
    """f32 [n, 10] and f32 [n, 1], scaled to mean 0 and deviation 1; a quarter to test."""
    x, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(x))
    train, test = order[110:], order[:110]
    x = ((x - x[train].mean(0)) / x[train].std(0)).astype(np.float32)
    y = ((y - y[train].mean()) / y[train].std()).astype(np.float32)[:, None]
    return Data(x[train], y[train], x[test], y[test])


def model() -> nn.Module:
    """10 - 16 - 16 - 1."""
    return nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))


def score(outputs: np.ndarray, data: Data) -> float:
    """Share of the variance that is explained (R²)."""
    return float(r2_score(data.test_y, outputs))


EXAMPLE = Example(
    "tabular", "Diabetes data of scikit-learn, an MLP", data, model, score, "R²", epochs=30, loss="mse",
    learning_rate=3e-3, batch_size=32, compress_epochs=10, compress_rate=5e-4,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(EXAMPLE))
