# SPDX-License-Identifier: Apache-2.0
"""What surrounds a training run: its row in the table, the processes it is made of, and what PyTorch says aloud."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.loggers import TensorBoardLogger

from .module_modes import evaluating
from .provenance import git_revision, versions
from .remarks import only_errors
from .runs import FINISHED, RUNNING, Run, RunError, RunTable
from .train_data import split_batch

_log = logging.getLogger(__name__)

RUN_VARIABLE = "MICROLITH_TRAIN_RUN"
"""Tells processes that Lightning starts which run they belong to."""

REMARKS = (
    "does not have many workers",
    "Checkpoint directory",
    "smaller than the logging interval",
    "isinstance(treespec",
    "dataloader is not resumable",  # Lightning cannot know that loaders of arrays are
    "but have no `val_dataloader`",
)


def is_first_process() -> bool:
    """Whether this process writes checkpoints and the table of runs."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return bool(torch.distributed.get_rank() == 0)
    return int(os.environ.get("LOCAL_RANK", "0")) == 0 and int(os.environ.get("NODE_RANK", "0")) == 0


def join_run(
    table: RunTable, name: str, data: Mapping[str, Any], hyperparameters: Mapping[str, Any], resume: bool | str
) -> tuple[Run, Path | None, int]:
    """The run that this process works on, the checkpoint to go on from, and after how many epochs it has ended (0: it
    has not, there is something to train).

    The first process finds or makes it and tells the others. Raises RunError.
    """
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    id = ""
    if is_first_process():
        run = _find_run(table, name, data, hyperparameters, resume)
        id = os.environ[RUN_VARIABLE] = run.id
    if distributed:
        box = [id]
        torch.distributed.broadcast_object_list(box)
        id = box[0]
    run = table.get(id or os.environ[RUN_VARIABLE])
    last = table.path(run) / "last.ckpt"
    if not last.is_file():
        return run, None, 0
    done = epochs_in(last)
    done = done if run.status == FINISHED else 0
    if done and is_first_process():
        _log.warning("run %s is finished after %d epochs: its result is returned, nothing is trained", run.id, done)
    return run, last, done


def epochs_in(checkpoint: Path) -> int:
    """How many epochs had ended when it was written."""
    try:
        state = torch.load(checkpoint, map_location="cpu", weights_only=False)
        return int(state["loops"]["fit_loop"]["epoch_progress"]["current"]["processed"])
    except Exception as error:  # torch.load raises whatever the bytes make of it
        raise RunError(
            f"it is no checkpoint of a run: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            where=str(checkpoint),
            hint="begin a new run without resume",
        ) from error


def leave_run() -> None:
    """The run has ended; the next one of this process is another."""
    os.environ.pop(RUN_VARIABLE, None)


def _find_run(
    table: RunTable, name: str, data: Mapping[str, Any], hyperparameters: Mapping[str, Any], resume: bool | str
) -> Run:
    if re.fullmatch(r"\w[\w.+-]*", name) is None:
        raise RunError(f"{name!r} cannot be the name of a run", hint="a letter, digit or _, then also . + -")
    run = None
    if isinstance(resume, str):
        run = table.get(resume)
    elif resume and (table.folder / "runs.db").is_file():
        for row in reversed(table.all()):
            if row.name == name and (
                row.status != FINISHED
                or (
                    row.hyperparameters["epochs"] <= hyperparameters["epochs"]
                    and not _differences(row, data, hyperparameters)
                    and (table.path(row) / "last.ckpt").is_file()
                )
            ):
                run = row
                break
        if run is not None and run.status == FINISHED and run.hyperparameters["epochs"] == hyperparameters["epochs"]:
            return run
    if run is not None and run.status == RUNNING and run.process != os.getpid():
        raise RunError(
            f"run {run.id} is still running, in process {run.process} of {run.host}",
            hint="wait for it or stop it; or begin a new run without resume",
        )
    if run is None:
        return table.start(name, data, hyperparameters, git_revision(), versions())
    if run.status == FINISHED and hyperparameters["epochs"] <= run.hyperparameters["epochs"]:
        raise RunError(f"run {run.id} is finished", hint="ask for more epochs, or begin a new run without resume")
    if other := _differences(run, data, hyperparameters):
        lines = "; ".join(f"{key} was {was}, is {now}" for key, (was, now) in other.items())
        raise RunError(f"run {run.id} cannot go on: {lines}", hint="begin a new run without resume")
    table.update(
        run, status=RUNNING, process=os.getpid(), reason="", hyperparameters=dict(hyperparameters), versions=versions()
    )
    return run


def _differences(run: Run, data: Mapping[str, Any], hyperparameters: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What is not as it was, but for the number of epochs: both values by name."""
    before = {**run.hyperparameters, **{f"data.{key}": value for key, value in run.data.items()}}
    now = {**hyperparameters, **{f"data.{key}": value for key, value in data.items()}}
    return {
        key: (before.get(key), now.get(key))
        for key in {**before, **now}
        if key != "epochs" and _plain(before.get(key)) != _plain(now.get(key))
    }


def _plain(value: Any) -> Any:
    """As it comes back from the table."""
    return list(map(_plain, value)) if isinstance(value, tuple | list) else value


def ray_options(options: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """Strategy, devices and options of Lightning's Trainer inside a worker of Ray Train. Raises MissingExtraError."""
    from .extras import explain_missing

    with explain_missing():
        from ray.train.lightning import RayDDPStrategy, RayLightningEnvironment

    return RayDDPStrategy(), "auto", {**options, "plugins": [*options.get("plugins", []), RayLightningEnvironment()]}


@contextmanager
def quiet() -> Iterator[None]:
    """Without Lightning's remarks about hardware and workers, which are no news to who trains small models."""
    with only_errors("lightning.pytorch", "lightning.fabric"), warnings.catch_warnings():
        for text in REMARKS:
            warnings.filterwarnings("ignore", message=f".*{re.escape(text)}.*")
        yield


@contextmanager
def deterministic() -> Iterator[None]:
    """Algorithms that give the same bits each time, where PyTorch has them."""
    before, warn = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn)


def log_graph(trainer: Trainer, module: LightningModule, batch: Any) -> None:
    """Writes the graph of the model for TensorBoard; a model that cannot be traced has none."""
    if not is_first_process():
        return
    for logger in trainer.loggers:
        if isinstance(logger, TensorBoardLogger):
            model = getattr(module, "model", module)
            try:
                with evaluating(model), warnings.catch_warnings(), torch.no_grad(), torch.random.fork_rng():
                    warnings.simplefilter("ignore")
                    inputs = tuple(value[:1] for value in split_batch(batch)[0])
                    logger.experiment.add_graph(model, inputs, verbose=False)
            except Exception as error:
                logging.getLogger(__name__).info("no graph for TensorBoard: %s", error)
