# SPDX-License-Identifier: Apache-2.0
"""State batch normalization: statistics for discrete weights beside those for expected ones.

Source: Yang et al., "Searching for Low-Bit Weights in Quantized Neural Networks", NeurIPS 2020, section 3.3. While
weights are searched, a layer computes with their expectation, and batch normalization collects means and variances of
that; deployed are the discrete weights, which have others. The second set is collected in a pass of its own: before
each training pass over a batch the model runs once without gradients, all searched weights discrete, dropout off
(the *state pass*). So the statistics are those of the deployed model, down to the input of each layer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd


class StateBatchNorm(nn.Module):
    """A batch normalization with a second set of statistics. Weight and bias serve both.

    Training uses and updates the first set as the wrapped module does; in a state pass and in evaluation it is the
    second. ``[N, C]`` or ``[N, C, ...]`` in and out.
    """

    state_mean: Tensor
    state_var: Tensor
    state_batches: Tensor

    def __init__(self, norm: _BatchNorm) -> None:
        super().__init__()
        assert norm.running_mean is not None and norm.running_var is not None
        self.norm = norm
        self.state_pass = False
        self.register_buffer("state_mean", norm.running_mean.clone())
        self.register_buffer("state_var", norm.running_var.clone())
        self.register_buffer("state_batches", torch.zeros((), dtype=torch.long))

    def forward(self, x: Tensor) -> Tensor:
        norm = self.norm
        if self.training and not self.state_pass:
            return norm(x)
        momentum = norm.momentum
        if self.training:
            self.state_batches += 1
            if momentum is None:
                momentum = 1 / float(self.state_batches)
        return F.batch_norm(
            x, self.state_mean, self.state_var, norm.weight, norm.bias, self.training, momentum or 0.0, norm.eps
        )

    def plain(self) -> _BatchNorm:
        """The wrapped module with the statistics of the discrete weights."""
        norm = self.norm
        assert norm.running_mean is not None and norm.running_var is not None
        norm.running_mean.copy_(self.state_mean)
        norm.running_var.copy_(self.state_var)
        return norm


def replace_modules(model: nn.Module, new: dict[str, nn.Module]) -> nn.Module:
    """Puts modules in the place of those of the given names; the model itself has the name ""."""
    for name, module in new.items():
        if not name:
            return module
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, module)
    return model


def add_state_norms(model: nn.Module) -> nn.Module:
    """Wraps every batch normalization that keeps statistics."""
    norms = {
        name: StateBatchNorm(module)
        for name, module in model.named_modules()
        if isinstance(module, _BatchNorm) and module.running_mean is not None
    }
    return replace_modules(model, dict(norms))


def remove_state_norms(model: nn.Module) -> nn.Module:
    """The opposite: plain batch normalizations with the statistics of the discrete weights."""
    norms = {name: module for name, module in model.named_modules() if isinstance(module, StateBatchNorm)}
    return replace_modules(model, {name: module.plain() for name, module in norms.items()})


@contextmanager
def state_mode(model: nn.Module) -> Iterator[None]:
    """While it lasts, modules with an attribute ``state_pass`` are in a state pass, and dropout is off."""
    marked = [module for module in model.modules() if hasattr(module, "state_pass")]
    dropouts = [module for module in model.modules() if isinstance(module, _DropoutNd) and module.training]
    for module in marked:
        setattr(module, "state_pass", True)  # noqa: B010 (mypy knows no such attribute of nn.Module)
    for dropout in dropouts:
        dropout.training = False
    try:
        yield
    finally:
        for module in marked:
            setattr(module, "state_pass", False)  # noqa: B010
        for dropout in dropouts:
            dropout.training = True


class StatePass:
    """A forward pre-hook of the whole model: the state pass before each training pass."""

    def __init__(self) -> None:
        self.running = False

    def __call__(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.running or not model.training or not torch.is_grad_enabled():
            return
        self.running = True
        try:
            with torch.no_grad(), state_mode(model):
                model(*args, **kwargs)
        finally:
            self.running = False


def remove_state_pass(model: nn.Module) -> None:
    """Takes the hook away."""
    for key, hook in list(model._forward_pre_hooks.items()):
        if isinstance(hook, StatePass):
            del model._forward_pre_hooks[key]
            model._forward_pre_hooks_with_kwargs.pop(key, None)
