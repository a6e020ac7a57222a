# SPDX-License-Identifier: Apache-2.0
"""What happens around the steps of training: seeds, stopping, learning rates, histograms, the table of runs."""

from __future__ import annotations

import time
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping as LightningEarlyStopping
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor
from torch.optim import lr_scheduler

from microlith.errors import InputError, MicrolithError

from .compress.compressor import Compressor
from .runs import Run, RunTable
from .seeds import seed_all
from .train_data import ArrayLoader, Loaders


class NotFiniteError(MicrolithError):
    """The loss became NaN or infinite."""


class EarlyStopping(LightningEarlyStopping):
    """Stops when ``monitor`` has not improved for ``patience`` epochs. Options: Lightning's."""

    def __init__(self, monitor: str = "val_loss", patience: int = 5, **options: Any) -> None:
        super().__init__(monitor, patience=patience, **options)


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by ``factor`` when ``monitor`` has not improved for ``patience`` epochs.

    ``options``: further ones of ``torch.optim.lr_scheduler.ReduceLROnPlateau``.
    """

    def __init__(self, monitor: str = "val_loss", factor: float = 0.1, patience: int = 3, **options: Any) -> None:
        self.monitor, self.options = monitor, {"factor": factor, "patience": patience, **options}
        self.schedulers: list[Any] = []
        self._state: list[Any] = []

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.schedulers = [lr_scheduler.ReduceLROnPlateau(one, **self.options) for one in trainer.optimizers]
        for scheduler, state in zip(self.schedulers, self._state, strict=False):
            scheduler.load_state_dict(state)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            raise InputError(
                f"ReduceLROnPlateau watches {self.monitor!r}, which is not measured",
                hint=f"one of {', '.join(sorted(trainer.callback_metrics))}",
            )
        for scheduler in self.schedulers:
            scheduler.step(float(value))

    def state_dict(self) -> dict[str, Any]:
        return {"schedulers": [scheduler.state_dict() for scheduler in self.schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._state = state_dict["schedulers"]
        for scheduler, state in zip(self.schedulers, self._state, strict=False):
            scheduler.load_state_dict(state)


class ProgressBar(RichProgressBar):
    """Lightning's, without the version of the logger (``v_num``), which is the same in every run."""

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        shown: dict[str, Any] = super().get_metrics(trainer, pl_module)
        shown.pop("v_num", None)
        return shown


class StepSeeds(Callback):
    """Seeds all generators before each epoch (which is when a loader draws its order) and before each batch.

    What dropout and augmentation draw is then a function of the seed, the epoch, the batch and the process. Loaders of
    arrays learn from here at which batch they begin.
    """

    def __init__(self, seed: int, loaders: Loaders) -> None:
        self.seed, self.loaders = seed, loaders
        self._first = True

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        seed_all(self.seed, 0)
        loader = self.loaders.train
        if isinstance(loader, ArrayLoader):
            loop = trainer.fit_loop
            loader.order.clock = lambda: loop.epoch_progress.current.processed
            loader.start = lambda: loop.epoch_loop.batch_progress.current.ready if loop.restarting else 0

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        progress = checkpoint["loops"]["fit_loop"]["epoch_progress"]["current"]
        seed_all(self.seed, progress["processed"])

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # The loader of the first epoch was begun before this hook, and drew from the seeds of the two above.
        if not self._first:
            seed_all(self.seed, trainer.current_epoch)
        self._first = False

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        seed_all(self.seed, trainer.current_epoch, batch_idx + 1, trainer.global_rank)


class CompressorSteps(Callback):
    """Tells a compressor where training stands, and keeps its state in checkpoints."""

    def __init__(self, compressor: Compressor) -> None:
        self.compressor = compressor
        self._epoch = -1

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if trainer.current_epoch != self._epoch:
            self._epoch = trainer.current_epoch
            self.compressor.on_epoch(self._epoch, int(trainer.max_epochs))
        total = max(int(trainer.estimated_stepping_batches), trainer.global_step + 1)
        self.compressor.on_step(trainer.global_step, total)

    def state_dict(self) -> dict[str, Any]:
        return self.compressor.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.compressor.load_state_dict(state_dict)


class StopAtNaN(Callback):
    """Raises NotFiniteError before a loss that is no number reaches the weights."""

    def __init__(self) -> None:
        self._inputs: list[Tensor] = []

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        self._inputs = [leaf for leaf in torch.utils._pytree.tree_leaves(batch) if isinstance(leaf, Tensor)]

    def on_before_backward(self, trainer: Trainer, pl_module: LightningModule, loss: Tensor) -> None:
        if bool(torch.isfinite(loss).all()):
            return
        rates = ", ".join(f"{group['lr']:g}" for optimizer in trainer.optimizers for group in optimizer.param_groups)
        bad = [name for name, value in pl_module.named_parameters() if not bool(torch.isfinite(value).all())]
        if any(not bool(torch.isfinite(value).all()) for value in self._inputs if value.is_floating_point()):
            cause, hint = (
                "; the batch holds NaN or infinity",
                "look for broken samples, and for divisions by zero in a scaling",
            )
        elif bad:
            cause = f"; the weights of {bad[0]} are no longer finite since the step before"
            hint = f"use a smaller learning rate (now {rates}) or clip gradients (gradient_clip=1.0)"
        else:
            cause = ""
            hint = (
                f"use a smaller learning rate (now {rates}), clip gradients (gradient_clip=1.0), "
                "or look in the loss for logarithms of 0"
            )
        raise NotFiniteError(
            f"the loss is {float(loss.detach().mean()):g}{cause}",
            where=f"step {trainer.global_step} (epoch {trainer.current_epoch}, batch {trainer.fit_loop.batch_idx})",
            hint=hint + "; the last checkpoint is from before this step",
        )

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        # The last step has no loss behind it that would show what it did.
        for name, value in pl_module.named_parameters():
            if not bool(torch.isfinite(value).all()):
                raise NotFiniteError(
                    f"the weights of {name} are no longer finite",
                    where=f"after epoch {trainer.current_epoch}",
                    hint="use a smaller learning rate or clip gradients (gradient_clip=1.0)",
                )


class WeightHistograms(Callback):
    """Writes the distribution of each weight to TensorBoard, after every epoch."""

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardLogger) and trainer.is_global_zero:
                for name, value in pl_module.named_parameters():
                    # Beyond this its sums of squares overflow, and TensorBoard asks for a bug report.
                    if value.numel() and float(value.detach().abs().max()) < 1e18:
                        logger.experiment.add_histogram(name, value.detach().cpu(), trainer.current_epoch)


class Ledger(Callback):
    """Keeps the history of metrics, and the row of this run in the table up to date."""

    def __init__(self, table: RunTable, run: Run | None) -> None:
        self.table, self.run = table, run
        self.history: list[dict[str, float]] = []
        self._started = time.monotonic()
        self._before = run.seconds if run else 0.0

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items()}
        self.history.append({"epoch": trainer.current_epoch, **metrics})
        self.note(metrics=metrics)

    def note(self, **changes: Any) -> None:
        """Changes columns of the row, and the time spent. Other processes than the first write nothing."""
        if self.run is not None:
            seconds = self._before + time.monotonic() - self._started
            self.table.update(self.run, seconds=round(seconds, 3), **changes)

    def state_dict(self) -> dict[str, Any]:
        return {"history": self.history}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.history = list(state_dict["history"])
