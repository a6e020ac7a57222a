# SPDX-License-Identifier: Apache-2.0
"""Knowledge distillation: a small model learns from the outputs of a large one."""

from __future__ import annotations

from typing import Any, Literal

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.nn import functional

from microlith.errors import InputError, ShapeError


class Distillation(Callback):
    """Adds to the loss how far the model is from a teacher (Hinton, Vinyals, Dean, 2015, arXiv:1503.02531).

    For classes the loss becomes ``(1 - weight) * loss + weight * T² * KL(teacher / T || model / T)`` over scores before
    a softmax [n, classes]; for numbers (``kind="mse"``) the last term is the mean squared difference. The teacher is
    run in eval mode, without gradients, on the inputs that the model sees.

    Args:
        teacher: Takes the inputs of the model, gives outputs of the same shape.
        weight: Share of the teacher, from 0 to 1.
        temperature: Of the softmax; above 1 small scores count more.
        kind: ``classes`` or ``mse``.
    """

    def __init__(
        self,
        teacher: nn.Module,
        *,
        weight: float = 0.5,
        temperature: float = 4.0,
        kind: Literal["classes", "mse"] = "classes",
    ) -> None:
        if not 0 <= weight <= 1:
            raise InputError(f"weight is {weight}; it is a share from 0 to 1", where="Distillation")
        if temperature <= 0:
            raise InputError(f"temperature is {temperature}; it must be above 0", where="Distillation")
        if kind not in ("classes", "mse"):
            raise InputError(f"there is no kind {kind!r}", where="Distillation", hint="classes or mse")
        self.teacher, self.weight, self.temperature, self.kind = teacher, weight, temperature, kind

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.teacher.to(pl_module.device).eval()

    def change_loss(self, loss: Tensor, inputs: tuple[Tensor, ...], prediction: Any, target: Any) -> Tensor:
        """The loss with the share of the teacher."""
        with torch.no_grad():
            wanted = self.teacher(*inputs)
        if wanted.shape != prediction.shape:
            raise ShapeError(
                f"the teacher gives {list(wanted.shape)}, the model {list(prediction.shape)}", where="Distillation"
            )
        if self.kind == "mse":
            return (1 - self.weight) * loss + self.weight * functional.mse_loss(prediction, wanted)
        soft = functional.kl_div(
            functional.log_softmax(prediction / self.temperature, 1),
            functional.log_softmax(wanted / self.temperature, 1),
            reduction="batchmean",
            log_target=True,
        )
        return (1 - self.weight) * loss + self.weight * self.temperature**2 * soft
