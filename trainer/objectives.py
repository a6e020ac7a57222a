# SPDX-License-Identifier: Apache-2.0
"""Losses and metrics by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.nn import functional

from microlith.errors import InputError

Objective = Callable[[Any, Any], Tensor]
"""From what the model gave and the targets to a scalar."""


def accuracy(prediction: Tensor, target: Tensor) -> Tensor:
    """Share of right classes: ``prediction`` [n, classes, …] scores, ``target`` [n, …] numbers of classes."""
    return (prediction.argmax(1) == target).float().mean()


def _like(loss: Callable[..., Tensor]) -> Objective:
    """A loss between numbers, which refuses shapes that would be broadcast."""

    def checked(prediction: Tensor, target: Tensor) -> Tensor:
        if prediction.shape != target.shape:
            raise ValueError(f"prediction {tuple(prediction.shape)} and target {tuple(target.shape)} differ")
        return loss(prediction, target.to(prediction.dtype))

    return checked


LOSSES: Mapping[str, Objective] = {
    "cross_entropy": functional.cross_entropy,
    "mse": _like(functional.mse_loss),
    "mae": _like(functional.l1_loss),
    "huber": _like(functional.huber_loss),
    "bce": _like(functional.binary_cross_entropy_with_logits),
}
METRICS: Mapping[str, Objective] = {
    "accuracy": accuracy,
    "mse": LOSSES["mse"],
    "mae": LOSSES["mae"],
}


def find_loss(loss: str | Objective) -> Objective:
    """A loss by its name, or the callable itself. Raises InputError."""
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise InputError(
            f"there is no loss {loss!r}", hint=f"one of {', '.join(LOSSES)}, or a function of prediction and target"
        )
    return LOSSES[loss]


def find_metrics(metrics: Sequence[str] | Mapping[str, Objective] | str | None) -> dict[str, Objective]:
    """Metrics by name. ``metrics``: names, or a mapping from names to functions of prediction and target."""
    if metrics is None:
        return {}
    if isinstance(metrics, Mapping):
        return dict(metrics)
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    unknown = [name for name in names if name not in METRICS]
    if unknown:
        raise InputError(
            f"there is no metric {unknown[0]!r}",
            hint=f"one of {', '.join(METRICS)}, or a mapping from a name to a function of prediction and target",
        )
    return {name: METRICS[name] for name in names}


def class_problem(prediction: Any, target: Any) -> str:
    """What is wrong with class numbers [n, …] for scores [n, classes, …]; "" when nothing is."""
    if not isinstance(prediction, Tensor) or not isinstance(target, Tensor) or prediction.ndim < 2:
        return ""
    if target.is_floating_point() or target.ndim != prediction.ndim - 1 or not target.numel():
        return ""
    low, high, classes = int(target.min()), int(target.max()), prediction.shape[1]
    if low >= 0 and high < classes:
        return ""
    return f"targets go from {low} to {high}, but the model has scores for {classes} classes"


def describe_tensor(value: Any) -> str:
    """``float32 [2, 10]``, or the type of what is none."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{str(value.dtype).split('.')[-1]} {list(value.shape)}"


def name_of(objective: str | Callable[..., Any] | None) -> str:
    """For the table of runs."""
    if objective is None or isinstance(objective, str):
        return objective or ""
    return getattr(objective, "__name__", type(objective).__name__)
