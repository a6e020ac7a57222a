# SPDX-License-Identifier: Apache-2.0
"""Anomalies by an autoencoder: it learns benign samples of scikit-learn's breast cancer data, and what it cannot draw
again is suspicious.

569 samples of 30 measurements (UCI, Wolberg, Street, Mangasarian, 1995). 250 of the 357 benign ones are for training;
the test set has the other 107 and all 212 malignant ones.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from train_driver import Data, Example, main

BENIGN = 1


def data() -> Data:
    """f32 [n, 30], scaled by the benign samples; ``test_y`` is 1 for malignant."""
    x, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(x))
    benign, malignant = (order[y[order] == value] for value in (BENIGN, 1 - BENIGN))
    train, test = benign[:250], np.concatenate([benign[250:], malignant])
    scaled = ((x - x[train].mean(0)) / x[train].std(0)).clip(-6, 6).astype(np.float32)
    return Data(scaled[train], scaled[train], scaled[test], (y[test] != BENIGN).astype(np.int64))


def model() -> nn.Module:
    """30 - 16 - 3 - 16 - 30."""
    return nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 3), nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 30))


def noisy(x: Tensor) -> Tensor:
    """So that the way through the middle is smooth."""
    return x + 0.1 * torch.randn_like(x)


def score(outputs: np.ndarray, data: Data) -> float:
    """Area under the ROC curve of the mean squared error."""
    return float(roc_auc_score(data.test_y, np.square(outputs - data.test_x).mean(1)))


EXAMPLE = Example(
    "anomalies", "Anomalies of scikit-learn's breast cancer data, an autoencoder", data, model, score, "ROC AUC",
    epochs=60, loss="mse", learning_rate=0.01, batch_size=32, compress_epochs=10, compress_rate=1e-3,
    options={"augment": noisy},
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(EXAMPLE))
