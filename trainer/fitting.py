# SPDX-License-Identifier: Apache-2.0
"""``fit``: trains a model with Lightning, keeps checkpoints, logs and a row in the table of runs."""

from __future__ import annotations

import copy
import importlib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.callbacks import ProgressBar as AnyProgressBar
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor, nn

from microlith.errors import InputError

from .argument_checks import require_callable, require_count, require_module, require_number, require_seed
from .compress.compressor import Compressor
from .extras import explain_missing
from .fit_callbacks import CompressorSteps, Ledger, ProgressBar, StepSeeds, StopAtNaN, WeightHistograms
from .fit_checks import (
    as_callbacks,
    as_compressor,
    check_classes,
    check_fit,
    check_monitors,
    check_options,
    check_resumable,
    explain_options,
    refuse_for_module,
)
from .fit_surroundings import deterministic, is_first_process, join_run, leave_run, log_graph, quiet, ray_options
from .objectives import Objective, find_loss, find_metrics, name_of
from .runs import FAILED, FINISHED, KILLED, Run, RunTable
from .seeds import seed_all
from .train_data import describe, make_loaders, split_batch
from .train_task import MakeOptimizer, MakeSchedule, TrainTask, attach_compressor


@dataclass
class Fitted:
    """What ``fit`` gives back."""

    model: nn.Module
    """Ready for ``export``: converted by the compressors, in eval mode, on the CPU. A LightningModule stays one."""
    metrics: dict[str, float]
    """After the epoch whose weights were kept."""
    history: list[dict[str, float]]
    """The metrics of each epoch, and its number as ``epoch``."""
    run: Run
    folder: Path
    """With ``last.ckpt``, ``best.ckpt`` and the logs for TensorBoard."""


def fit(
    model: nn.Module | LightningModule,
    data: Any,
    *,
    epochs: int,
    loss: str | Objective | None = None,
    metrics: Sequence[str] | Mapping[str, Objective] | str | None = None,
    validation: Any = None,
    batch_size: int = 64,
    optimizer: MakeOptimizer | None = None,
    learning_rate: float = 1e-3,
    schedule: MakeSchedule | None = None,
    gradient_clip: float | None = None,
    augment: Callable[[Tensor], Tensor] | None = None,
    compressors: Compressor | Sequence[Compressor] = (),
    callbacks: Callback | Iterable[Callback] = (),
    keep: Literal["last", "best"] = "last",
    monitor: str = "val_loss",
    monitor_mode: Literal["min", "max"] = "min",
    seed: int | None = 0,
    run_dir: str | os.PathLike[str] = "runs",
    name: str | None = None,
    notes: Mapping[str, Any] | None = None,
    resume: bool | str = False,
    checkpoint_steps: int | None = None,
    logs: bool = True,
    progress: bool = True,
    strategy: Any = "auto",
    devices: int | str | Sequence[int] = 1,
    accelerator: str = "cpu",
    **options: Any,
) -> Fitted:
    """Trains a model.

    Args:
        model: A plain module, with ``loss``; or a LightningModule, which brings its own loss, metrics and optimizer.
            With compressors a plain module stays as it is, and a copy is trained; without, it is trained itself.
        data: ``(x, y)`` arrays or tensors, first axis the sample, x a tuple for several inputs; or a DataLoader of such
            pairs; or a LightningDataModule.
        epochs: How many passes over the data; a resumed run goes on to this number.
        loss: ``cross_entropy``, ``mse``, ``mae``, ``huber``, ``bce`` (with logits), or a function of prediction and
            target that gives a scalar.
        metrics: Names (``accuracy``, ``mse``, ``mae``) or a mapping from names to functions like a loss. Reported as
            ``accuracy`` and ``val_accuracy``, beside ``loss`` and ``val_loss``.
        validation: Like ``data``, or for arrays the share of ``data`` to hold back, such as 0.1.
        batch_size: For arrays.
        optimizer: From the parameters to an optimizer; default ``AdamW`` with ``learning_rate``.
        schedule: From the optimizer and the number of steps to a scheduler that is advanced at every step.
        gradient_clip: Largest norm of the gradient.
        augment: Changes each input of a training batch, as a tensor.
        compressors: What makes the model smaller while it is trained; for a LightningModule they change ``self.model``.
        callbacks: Lightning's, and ``EarlyStopping``, ``ReduceLROnPlateau``, ``Distillation`` of this package.
        keep: Which weights to return: of the last epoch, or of the best by ``monitor``.
        seed: Everything random follows from it; None is 0.
        run_dir: Holds the table of runs and a folder for each.
        name: What the run is called; default the class of the model.
        notes: More hyperparameters for the table.
        resume: True takes up the newest run of this name that is unfinished, or is finished with these data and
            hyperparameters: that one goes on to more ``epochs``, or its result is returned as it is. The id of a run:
            that one, which must not be finished unless there are more epochs.
        checkpoint_steps: Write ``last.ckpt`` after so many steps too, not after each epoch alone.
        logs: Write logs for TensorBoard.
        strategy, devices, accelerator: Lightning's. ``strategy="ddp", devices=2`` trains in two processes;
            ``strategy="ray"`` inside a worker of Ray Train.
        options: Further ones of Lightning's ``Trainer``.

    Raises:
        ShapeError, InputError: The data do not fit the model or the loss.
        NotFiniteError: The loss is no longer a number.
        RunError: The run to resume is not there, or was made with other data or hyperparameters.
    """
    require_module(model)
    check_options(options, inspect.signature(fit).parameters)
    compressor, callbacks = as_compressor(compressors), as_callbacks(callbacks)
    epochs, batch_size, seed = (
        require_count(epochs, "epochs"),
        require_count(batch_size, "batch_size"),
        require_seed(seed),
    )
    learning_rate = require_number(learning_rate, "learning_rate", above=0)
    if gradient_clip is not None:
        gradient_clip = require_number(gradient_clip, "gradient_clip", above=0)
    if checkpoint_steps is not None:
        checkpoint_steps = require_count(checkpoint_steps, "checkpoint_steps")
    for value, what in ((optimizer, "optimizer"), (schedule, "schedule"), (augment, "augment")):
        if value is not None:
            require_callable(value, what)
    if keep not in ("last", "best"):
        raise InputError(f"keep is {keep!r}", hint="last or best")
    if monitor_mode not in ("min", "max"):
        raise InputError(f"monitor_mode is {monitor_mode!r}", hint="min or max")
    options = {"enable_model_summary": False, "num_sanity_val_steps": 0, "log_every_n_steps": 10, **options}
    if logs:
        with explain_missing():
            importlib.import_module("tensorboard")  # Lightning's logger wants it
    loaders = make_loaders(data, validation, batch_size, seed)
    functions = {} if isinstance(model, LightningModule) else find_metrics(metrics)
    measured = None if isinstance(model, LightningModule) else ["loss", *functions]
    check_monitors(callbacks, loaders, measured)
    if keep == "best":
        check_monitors([ModelCheckpoint(monitor=monitor)], loaders, measured)
    if not model.training:
        model.train()  # as an earlier fit left it; parts that are frozen on purpose lie in a model that is not
    parameters = sum(value.numel() for value in model.parameters())
    batch = loaders.first_batch()
    if checkpoint_steps:
        check_resumable(loaders)
    seed_all(seed, 0)
    module: LightningModule
    if isinstance(model, LightningModule):
        refuse_for_module(
            callbacks, loss=loss, metrics=metrics, optimizer=optimizer, schedule=schedule, augment=augment
        )
        module = model
        if compressors:
            compressor.on_data(split_batch(batch)[0])
            attach_compressor(module, compressor)
    else:
        if loss is None:
            raise InputError("a plain model needs a loss", hint="loss='cross_entropy', 'mse', … or a function")
        function = find_loss(loss)
        check_classes(loss, check_fit(model, function, batch), loaders)
        compressor.on_data(split_batch(batch)[0])
        make = optimizer or (lambda values: torch.optim.AdamW(values, lr=learning_rate))
        with quiet():
            prepared = compressor.apply(copy.deepcopy(model) if compressors else model)
        module = TrainTask(prepared, function, functions, compressor, make, schedule, augment)

    hyperparameters = {
        "epochs": epochs, "seed": seed, "loss": name_of(loss), "metrics": ", ".join(functions),
        "model": type(model).__name__, "parameters": parameters, "batch_size": loaders.batch_size,
        "optimizer": name_of(optimizer) or f"AdamW({learning_rate:g})", "schedule": name_of(schedule),
        "gradient_clip": gradient_clip, "augment": name_of(augment), "compressors": compressor.name,
        **compressor.hyperparameters(), **(notes or {}),
        "strategy": strategy if isinstance(strategy, str) else type(strategy).__name__, "devices": devices,
    }  # fmt: skip
    if strategy == "ray":
        strategy, devices, options = ray_options(options)
    table = RunTable(run_dir)
    run, resumed, done = join_run(table, name or type(model).__name__, describe(loaders.train), hyperparameters, resume)
    folder = table.path(run)
    ledger = Ledger(table, run if is_first_process() else None)
    best = None
    if loaders.has_validation or not monitor.startswith("val_"):
        best = _checkpoint(folder, "best", monitor=monitor, mode=monitor_mode)
    points = [_checkpoint(folder, "last", save_on_train_epoch_end=True)]
    if checkpoint_steps:
        points.append(_checkpoint(folder, "last", every_n_train_steps=checkpoint_steps))
    has_bar = any(isinstance(item, AnyProgressBar) for item in callbacks)
    with quiet(), deterministic():
        try:
            with explain_options():
                trainer = Trainer(
                    max_epochs=done or epochs,
                    callbacks=[
                        StepSeeds(seed, loaders), CompressorSteps(compressor), StopAtNaN(), *callbacks,
                        *([ProgressBar()] if progress and not has_bar else []),
                        *([WeightHistograms()] if logs else []), ledger, *([best] if best else []), *points,
                    ],
                    logger=TensorBoardLogger(folder, name="", version="logs") if logs else False,
                    enable_progress_bar=progress, gradient_clip_val=gradient_clip,
                    strategy=strategy, devices=devices, accelerator=accelerator, **options,
                )  # fmt: skip
            log_graph(trainer, module, batch)
            trainer.fit(module, loaders.train, loaders.validation, ckpt_path=resumed)
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt | SystemExit)
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            ledger.note(status=KILLED if stopped else FAILED, reason=reason)
            raise
    ledger.note(status=FINISHED, reason="")
    leave_run()
    if keep == "best" and best is not None:
        module.load_state_dict(torch.load(best.best_model_path, weights_only=False)["state_dict"])
    module = module.cpu()
    choose = {"min": min, "max": max}[monitor_mode]
    row = ledger.history[-1] if keep == "last" else choose(ledger.history, key=lambda item: item[monitor])
    final = {key: value for key, value in row.items() if key != "epoch"}
    if isinstance(module, TrainTask):
        return Fitted(compressor.convert(module.model).eval(), final, ledger.history, run, folder)
    if compressors:
        module.model = compressor.convert(module.model)
    return Fitted(module.eval(), final, ledger.history, run, folder)


def _checkpoint(folder: Path, name: str, **options: Any) -> ModelCheckpoint:
    """Writes a file of this name again and again, each time as a whole."""
    return ModelCheckpoint(dirpath=folder, filename=name, enable_version_counter=False, **options)
