# SPDX-License-Identifier: Apache-2.0
"""A model, its loss and its compressors as the module that Lightning trains."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn
from torch.optim import Optimizer

from microlith.errors import InputError

from .compress.compressor import Compressor
from .objectives import Objective, class_problem
from .train_data import split_batch

MakeOptimizer = Callable[[Iterable[nn.Parameter]], Optimizer]
MakeSchedule = Callable[[Optimizer, int], Any]
"""From an optimizer and the number of steps to a learning rate scheduler that is advanced at each step."""


@runtime_checkable
class ChangesLoss(Protocol):
    """A callback that has a say in the loss, such as ``Distillation``."""

    def change_loss(self, loss: Tensor, inputs: tuple[Tensor, ...], prediction: Any, target: Any) -> Tensor:
        """The loss to go on with, a scalar."""


class TrainTask(LightningModule):
    """Trains a plain model. ``model`` is what the compressors made ready."""

    def __init__(
        self,
        model: nn.Module,
        loss: Objective,
        metrics: Mapping[str, Objective],
        compressor: Compressor,
        optimizer: MakeOptimizer,
        schedule: MakeSchedule | None = None,
        augment: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.loss_function, self.metrics = loss, dict(metrics)
        self.compressor, self.augment = compressor, augment
        self.make_optimizer, self.make_schedule = optimizer, schedule

    def forward(self, *inputs: Tensor) -> Any:
        return self.model(*inputs)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        inputs, target = split_batch(batch)
        if self.augment is not None:
            inputs = tuple(self.augment(value) for value in inputs)
        prediction = self.model(*inputs)
        loss = self._loss(prediction, target, f"batch {batch_idx} of epoch {self.current_epoch}")
        for callback in self.trainer.callbacks:
            if isinstance(callback, ChangesLoss):
                loss = callback.change_loss(loss, inputs, prediction, target)
        if (extra := self.compressor.loss()) is not None:
            loss = loss + extra
        self._note("", loss, prediction, target, len(inputs[0]))
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        inputs, target = split_batch(batch)
        prediction = self.model(*inputs)
        loss = self._loss(prediction, target, f"batch {batch_idx} of validation")
        self._note("val_", loss, prediction, target, len(inputs[0]))

    def _loss(self, prediction: Any, target: Any, where: str) -> Tensor:
        try:
            return self.loss_function(prediction, target)
        except IndexError as error:
            problem = class_problem(prediction, target)
            if not problem:
                raise
            raise InputError(problem, where=where, hint="classes count from 0") from error

    def _note(self, prefix: str, loss: Tensor, prediction: Any, target: Any, size: int) -> None:
        with torch.no_grad():
            values = {name: metric(prediction, target) for name, metric in self.metrics.items()}
        values["loss"] = loss.detach()
        values = {f"{prefix}{name}": value for name, value in values.items()}
        self.log_dict(values, on_step=False, on_epoch=True, batch_size=size, sync_dist=True, prog_bar=True)

    def configure_optimizers(self) -> Any:
        optimizer = self.make_optimizer(parameter for parameter in self.parameters() if parameter.requires_grad)
        if self.make_schedule is None:
            return optimizer
        scheduler = self.make_schedule(optimizer, int(self.trainer.estimated_stepping_batches))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def attach_compressor(module: LightningModule, compressor: Compressor) -> None:
    """Compresses ``module.model`` of a user's LightningModule, and adds the compressor's loss to that of its step.

    Raises InputError when it has no ``model``.
    """
    if not isinstance(getattr(module, "model", None), nn.Module):
        raise InputError(
            f"{type(module).__name__} has no attribute `model` that could be compressed",
            hint="keep the network as self.model, apart from losses and metrics",
        )
    module.model = compressor.apply(module.model)
    step = module.training_step

    @functools.wraps(step)
    def training_step(*args: Any, **kwargs: Any) -> Any:
        result = step(*args, **kwargs)
        extra = compressor.loss()
        if extra is None or result is None:
            return result
        if isinstance(result, Mapping):
            return {**result, "loss": result["loss"] + extra}
        return result + extra

    module.training_step = training_step
