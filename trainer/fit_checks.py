# SPDX-License-Identifier: Apache-2.0
"""What is looked at before anything is trained, so that a mistake shows in the first second."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from lightning.pytorch import Callback, LightningDataModule, Trainer
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from torch import Tensor, nn

from microlith.errors import InputError, MicrolithError, ShapeError

from .compress.compressor import Compose, Compressor
from .module_modes import evaluating
from .objectives import Objective, class_problem, describe_tensor
from .train_data import ArrayLoader, Loaders, split_batch
from .train_task import ChangesLoss


def as_callbacks(callbacks: Any) -> list[Callback]:
    """Callbacks as a list; one alone is taken as such. Raises InputError for what is none."""
    items: list[Any] = [callbacks] if isinstance(callbacks, Callback | type) else _as_list(callbacks, "callbacks")
    for item in items:
        _refuse_class(item, Callback, "callbacks")
        if not isinstance(item, Callback):
            raise InputError(
                f"{item!r} is no callback", where="callbacks", hint="EarlyStopping(), … or a subclass of Callback"
            )
    return items


def as_compressor(compressors: Any) -> Compressor:
    """One compressor, or several as one. Raises InputError for what is none."""
    if isinstance(compressors, Compressor):
        return compressors
    items: list[Any] = [compressors] if isinstance(compressors, type) else _as_list(compressors, "compressors")
    for item in items:
        _refuse_class(item, Compressor, "compressors")
        if not isinstance(item, Compressor):
            raise InputError(f"{item!r} is no compressor", where="compressors", hint="QAT(), LowBitSearch(), …")
    return Compose(items)


OWN_WORDS = {
    "max_epochs": "epochs",
    "logger": "logs, and callbacks for loggers of your own",
    "enable_progress_bar": "progress",
    "gradient_clip_val": "gradient_clip",
    "default_root_dir": "run_dir",
    "enable_checkpointing": "checkpoint_steps; last.ckpt is always written",
}
"""Options of Lightning's Trainer that ``fit`` sets itself -> what says the same here."""


def check_options(options: Mapping[str, Any], arguments: Collection[str]) -> None:
    """Raises InputError for an option that Lightning's Trainer has not, or that an argument of ``fit`` stands for."""
    known = set(inspect.signature(Trainer).parameters)
    for name in options:
        if name in OWN_WORDS:
            raise InputError(f"fit has no option {name}", hint=f"its own word for it is {OWN_WORDS[name]}")
        if name not in known:
            near = difflib.get_close_matches(name, [*arguments, *known], 1)
            raise InputError(
                f"neither fit nor Lightning's Trainer has an option {name}",
                hint=f"did you mean {near[0]}?" if near else "help(trainer.fit) lists what there is",
            )


@contextmanager
def explain_options() -> Iterator[None]:
    """Turns what Lightning says of options that it cannot follow (a device that is not there) into InputError."""
    try:
        yield
    except (MisconfigurationException, ValueError, TypeError) as error:
        raise InputError(
            f"Lightning's Trainer refuses them: {first_line(error)}",
            where="options of fit",
            hint="strategy, devices, accelerator and further options are Lightning's",
        ) from error


def _as_list(value: Any, where: str) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"{value!r} is no list", where=where, hint=f"{where}=[…]")
    return list(value)


def _refuse_class(item: Any, base: type, where: str) -> None:
    if isinstance(item, type) and issubclass(item, base):
        raise InputError(
            f"{item.__name__} is a class; an object of it is needed", where=where, hint=f"{item.__name__}(…)"
        )


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
            hint=_hint_on_inputs(inputs),
        ) from error
    if not isinstance(value, Tensor) or value.numel() != 1:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ShapeError(f"the loss gives {shape}; one number is needed", hint="take the mean over the batch")
    return prediction


def _hint_on_inputs(inputs: tuple[Any, ...]) -> str:
    if any(isinstance(value, Tensor) and not value.is_floating_point() for value in inputs):
        return (
            "layers compute with floats, these are integers: scale images with x.astype('float32') / 255; "
            "only an embedding takes integers"
        )
    return "the first axis is the sample; images are [n, channels, height, width]"


def _loss_of(loss: Objective, prediction: Any, target: Any) -> Tensor:
    try:
        return loss(prediction, target)
    except Exception as error:
        if (problem := class_problem(prediction, target)) and isinstance(error, IndexError):
            raise InputError(problem, where="targets", hint="classes count from 0") from error
        raise ShapeError(
            f"the loss does not take predictions {describe_tensor(prediction)} and targets {describe_tensor(target)}: "
            f"{first_line(error)}",
            hint="cross_entropy wants scores f32 [n, classes] and class numbers i64 [n]; the others want equal shapes",
        ) from error


def first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]


def check_classes(loss: str | Objective, prediction: Any, loaders: Loaders) -> None:
    """Class numbers that the model has no output for, and what is no probability for ``bce``. Raises InputError."""
    if loss not in ("cross_entropy", "bce"):
        return
    for loader, name in ((loaders.train, "data"), (loaders.validation, "validation")):
        if not isinstance(loader, ArrayLoader):
            continue
        target = loader.dataset.tensors[-1]
        if loss == "bce" and not bool(((target >= 0) & (target <= 1)).all()):
            low, high = float(target.min()), float(target.max())
            raise InputError(
                f"targets go from {low:g} to {high:g}; bce wants 0, 1 or what is between",
                where=name,
                hint="classes by their number go with cross_entropy",
            )
        if loss == "cross_entropy" and (problem := class_problem(prediction, target)):
            raise InputError(problem, where=name, hint="classes count from 0")


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
