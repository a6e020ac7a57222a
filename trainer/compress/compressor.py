# SPDX-License-Identifier: Apache-2.0
"""The one interface of everything that makes a model smaller while it is trained.

A compressor prepares a model (``apply``), is told by the loop of ``trainer.fit`` where training stands (``on_step``,
``on_epoch``), may add a term to the loss (``loss``), and at the end turns the trained model into a plain one that can
be exported (``convert``). Without ``trainer.fit`` it is used in the same way from a loop of one's own::

    model = compressor.apply(model)
    for epoch in range(epochs):
        compressor.on_epoch(epoch, epochs)
        for x, y in batches:
            compressor.on_step(step, total_steps)
            loss = criterion(model(x), y)
            if (extra := compressor.loss()) is not None:
                loss = loss + extra
            ...
    model = compressor.convert(model)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn


class Compressor(ABC):
    """Base of all compressors.

    An object compresses one model. What it has to remember for a resumed run, and cannot find in the parameters and
    buffers of the model that it returned, goes through ``state_dict`` and ``load_state_dict``; a temperature that
    follows from the step does not.
    """

    @property
    def name(self) -> str:
        """What reports and the table of runs call it."""
        return type(self).__name__

    def hyperparameters(self) -> Mapping[str, Any]:
        """What the table of runs keeps: numbers, strings, booleans, and lists of them."""
        return {}

    def on_data(self, inputs: tuple[Tensor, ...]) -> None:
        """One batch of what the model will see, before ``apply``: for those that trace the model or size something."""
        del inputs

    @abstractmethod
    def apply(self, model: nn.Module) -> nn.Module:
        """Prepares a model; returns the one to train, which may be the same object, changed.

        Raises ``MicrolithError`` when the model holds nothing to compress, or what this compressor cannot handle.
        """

    def on_epoch(self, epoch: int, epochs: int) -> None:
        """Before an epoch, which counts from 0. ``epochs``: how many there will be."""
        del epoch, epochs

    def on_step(self, step: int, total_steps: int) -> None:
        """Before the forward pass of an optimizer step, which counts from 0 over all epochs.

        After a resume, the first call has the step at which the run goes on. ``total_steps``: at least ``step + 1``.
        """
        del step, total_steps

    def loss(self) -> Tensor | None:
        """A scalar to add to the loss, after the forward pass of the step; None: nothing."""
        return None

    @abstractmethod
    def convert(self, model: nn.Module) -> nn.Module:
        """Turns the trained model (what ``apply`` returned) into a plain one, in eval mode, that exports.

        The argument may be used up. Without training in between the result computes what the prepared model does in
        eval mode, but for the rounding that the method brings.
        """

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the model."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes back what ``state_dict`` gave."""
        del state


class Compose(Compressor):
    """Several compressors on one model: applied in the given order, converted in the opposite one.

    Those that mark weights (masks, searched bits) come before those that trace the whole model (quantization-aware
    training). Structured pruning, after which the model has other shapes, is best a run of its own before.
    """

    def __init__(self, compressors: Sequence[Compressor]) -> None:
        self.compressors = tuple(compressors)

    @property
    def name(self) -> str:
        return "+".join(item.name for item in self.compressors)

    def hyperparameters(self) -> Mapping[str, Any]:
        return {
            f"{item.name}.{key}": value for item in self.compressors for key, value in item.hyperparameters().items()
        }

    def on_data(self, inputs: tuple[Tensor, ...]) -> None:
        for item in self.compressors:
            item.on_data(inputs)

    def apply(self, model: nn.Module) -> nn.Module:
        for item in self.compressors:
            model = item.apply(model)
        return model

    def on_epoch(self, epoch: int, epochs: int) -> None:
        for item in self.compressors:
            item.on_epoch(epoch, epochs)

    def on_step(self, step: int, total_steps: int) -> None:
        for item in self.compressors:
            item.on_step(step, total_steps)

    def loss(self) -> Tensor | None:
        terms = [term for item in self.compressors if (term := item.loss()) is not None]
        return sum(terms[1:], terms[0]) if terms else None

    def convert(self, model: nn.Module) -> nn.Module:
        for item in reversed(self.compressors):
            model = item.convert(model)
        return model

    def state_dict(self) -> dict[str, Any]:
        return {str(index): item.state_dict() for index, item in enumerate(self.compressors)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for index, item in enumerate(self.compressors):
            item.load_state_dict(state[str(index)])
