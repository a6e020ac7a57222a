# SPDX-License-Identifier: Apache-2.0
"""What the tests of the training side train: the digits of scikit-learn with a model that takes a second."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from microlith import trainer


@functools.cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """f32 [600, 1, 8, 8] from 0 to 1, and their classes."""
    data = load_digits()
    return (data.images[:600, None] / 16).astype(np.float32), data.target[:600]


def small_model() -> nn.Module:
    """Batch normalization and dropout: what has a state, and what draws random numbers."""
    torch.manual_seed(7)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(64, 10),
    )


def noisy(images: torch.Tensor) -> torch.Tensor:
    """An augmentation that draws random numbers."""
    return images + 0.1 * torch.randn_like(images)


def train(run_dir: Any, model: nn.Module | None = None, data: Any = None, **options: Any) -> trainer.Fitted:
    """A short run without what takes time."""
    values: dict[str, Any] = {
        "epochs": 2,
        "loss": "cross_entropy",
        "metrics": "accuracy",
        "batch_size": 50,
        "learning_rate": 0.01,
        "logs": False,
        "progress": False,
        "run_dir": run_dir,
        **options,
    }
    return trainer.fit(small_model() if model is None else model, digits() if data is None else data, **values)


def weights(model: nn.Module) -> dict[str, bytes]:
    """The bits of everything that training changes."""
    return {name: value.numpy().tobytes() for name, value in model.state_dict().items()}
