# SPDX-License-Identifier: Apache-2.0
"""What is looked at before anything is trained, so that a mistake shows in the first second."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import torch
from lightning.pytorch import Callback, LightningDataModule
from torch import Tensor, nn

from microlith.errors import InputError, MicrolithError, ShapeError

from .module_modes import evaluating
from .objectives import Objective
from .train_data import ArrayLoader, Loaders, split_batch
from .train_task import ChangesLoss


def check_fit(model: nn.Module, loss: Objective, batch: Any) -> Any:
    """Runs the model and its loss on two samples before anything is trained; returns what the model gave.

    Raises ShapeError, InputError.
    """
    inputs, target = split_batch(batch)
    inputs = tuple(value[:2] for value in inputs)
    target = target[:2] if isinstance(target, Tensor) else target
    shapes = ", ".join(describe_tensor(value) for value in inputs)
    try:
        with evaluating(model), torch.no_grad(), torch.random.fork_rng():
            prediction = model(*inputs)
            value = _loss_of(loss, prediction, target)
    except MicrolithError:
        raise
    except Exception as error:
        raise ShapeError(
            f"the model cannot take inputs {shapes}: {first_line(error)}",
            where=type(model).__name__,
            hint="the first axis is the sample; images are [n, channels, height, width]",
        ) from error
    if not isinstance(value, Tensor) or value.numel() != 1:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ShapeError(f"the loss gives {shape}; one number is needed", hint="take the mean over the batch")
    return prediction


def _loss_of(loss: Objective, prediction: Any, target: Any) -> Tensor:
    try:
        return loss(prediction, target)
    except Exception as error:
        raise ShapeError(
            f"the loss does not take predictions {describe_tensor(prediction)} and targets {describe_tensor(target)}: "
            f"{first_line(error)}",
            hint="cross_entropy wants scores f32 [n, classes] and class numbers i64 [n]; the others want equal shapes",
        ) from error


def describe_tensor(value: Any) -> str:
    """``float32 [2, 10]``, or the type of what is none."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{str(value.dtype).split('.')[-1]} {list(value.shape)}"


def first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]


def check_classes(loss: str | Objective, prediction: Any, loaders: Loaders) -> None:
    """Class numbers that the model has no output for. Raises InputError."""
    if loss != "cross_entropy" or not isinstance(prediction, Tensor) or prediction.ndim < 2:
        return
    for loader, name in ((loaders.train, "data"), (loaders.validation, "validation")):
        if not isinstance(loader, ArrayLoader):
            continue
        target = loader.dataset.tensors[-1]
        if not target.is_floating_point() and target.ndim == prediction.ndim - 1:
            low, high = int(target.min()), int(target.max())
            if low < 0 or high >= prediction.shape[1]:
                raise InputError(
                    f"targets go from {low} to {high}, but the model has scores for {prediction.shape[1]} classes",
                    where=name,
                    hint="classes count from 0",
                )


def check_monitors(callbacks: Iterable[Callback], loaders: Loaders, measured: Collection[str] | None = None) -> None:
    """Callbacks that watch a value of validation where there is none, or what is not ``measured`` (None: not known,
    as of a LightningModule, which logs what it likes). Raises InputError."""
    for callback in callbacks:
        monitor = getattr(callback, "monitor", None)
        if isinstance(monitor, str) and measured is not None and monitor.removeprefix("val_") not in measured:
            raise InputError(
                f"{type(callback).__name__} watches {monitor!r}, which is not measured",
                hint=f"one of {', '.join(measured)}, with val_ in front for validation; metrics=… adds more",
            )
        if isinstance(monitor, str) and monitor.startswith("val_") and not loaders.has_validation:
            raise InputError(
                f"{type(callback).__name__} watches {monitor!r}, but there is no validation data",
                hint="give validation=(x, y) or a share such as validation=0.1, or watch 'loss'",
            )


def refuse_for_module(callbacks: Iterable[Callback], **given: Any) -> None:
    """What a LightningModule decides itself. Raises InputError."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name} was given, but a LightningModule decides about that itself", hint="give a plain model"
            )
    for callback in callbacks:
        if isinstance(callback, ChangesLoss):
            raise InputError(f"{type(callback).__name__} needs a plain model, not a LightningModule")


def check_resumable(loaders: Loaders) -> None:
    """A loader that cannot be taken up in the middle of an epoch. Raises InputError."""
    data = loaders.train
    loader = data.train_dataloader() if isinstance(data, LightningDataModule) else data
    if not isinstance(loader, ArrayLoader) and not hasattr(loader, "state_dict"):
        raise InputError(
            f"checkpoint_steps: a {type(loader).__name__} cannot be taken up in the middle of an epoch",
            hint="give arrays, or a loader with state_dict and load_state_dict (as torchdata has)",
        )
