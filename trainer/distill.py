# SPDX-License-Identifier: Apache-2.0
"""Knowledge distillation: a small model learns from the outputs of a large one."""

from __future__ import annotations

from typing import Any, Literal

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.nn import functional

from microlith.errors import InputError, MicrolithError, ShapeError

from .argument_checks import require_number
from .objectives import describe_tensor


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
        if not isinstance(teacher, nn.Module):
            raise InputError(
                f"the teacher is {teacher!r}, no module of PyTorch", where="Distillation", hint="fit(…).model"
            )
        if not 0 <= require_number(weight, "weight", where="Distillation") <= 1:
            raise InputError(f"weight is {weight}; it is a share from 0 to 1", where="Distillation")
        require_number(temperature, "temperature", above=0, where="Distillation")
        if kind not in ("classes", "mse"):
            raise InputError(f"there is no kind {kind!r}", where="Distillation", hint="classes or mse")
        self.teacher, self.weight, self.temperature, self.kind = teacher, weight, temperature, kind

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.teacher.to(pl_module.device).eval()

    def change_loss(self, loss: Tensor, inputs: tuple[Tensor, ...], prediction: Any, target: Any) -> Tensor:
        """The loss with the share of the teacher."""
        with torch.no_grad():
            wanted = self._ask(inputs)
        if not isinstance(wanted, Tensor) or not isinstance(prediction, Tensor):
            raise ShapeError(
                f"the teacher gives {type(wanted).__name__}, the model {type(prediction).__name__}; "
                "one tensor each is needed",
                where="Distillation",
            )
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

    def _ask(self, inputs: tuple[Tensor, ...]) -> Any:
        try:
            return self.teacher(*inputs)
        except MicrolithError:
            raise
        except Exception as error:
            shapes = ", ".join(describe_tensor(value) for value in inputs)
            reason = (str(error) or type(error).__name__).strip().splitlines()[0]
            raise ShapeError(
                f"the teacher cannot take inputs {shapes}: {reason}",
                where="Distillation",
                hint="it sees the inputs of the model",
            ) from error
