# SPDX-License-Identifier: Apache-2.0
"""Magnitude pruning: small weights become zero and stay so, anywhere or N of every M.

Sources: Zhu and Gupta, "To prune, or not to prune", 2017 (the cubic schedule); Mishra et al., "Accelerating Sparse Deep
Neural Networks", 2021 (N:M). A mask is a parametrization of the weight: what it hides gets no gradient, comes back
unchanged should the mask let go of it, and is zero in every forward pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvTransposeNd
from torch.nn.utils import parametrize

from microlith.errors import InputError

from ..argument_checks import require_count, require_names
from .compressor import Compressor
from .layer_choice import choose_layers, require_share

PRUNABLE = (nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, nn.Linear)


class Mask(nn.Module):
    """A parametrization: the weight where ``mask`` is true, zero elsewhere."""

    mask: Tensor

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", torch.ones_like(weight, dtype=torch.bool))

    def forward(self, weight: Tensor) -> Tensor:
        return weight * self.mask


def smallest(weight: Tensor, share: float) -> Tensor:
    """A mask that hides ``round(share * weights)`` weights, those of least magnitude; ties: the later ones stay."""
    mask = torch.ones(weight.numel(), dtype=torch.bool, device=weight.device)
    mask[torch.argsort(weight.abs().flatten(), stable=True)[: round(share * weight.numel())]] = False
    return mask.view_as(weight)


def n_of_m(weight: Tensor, n: int, m: int) -> Tensor:
    """A mask that keeps the ``n`` largest of every ``m`` weights along the input channels.

    :param weight: ``[out, in, ...]``; ``in`` a multiple of m. Groups are input channels 0 to m - 1, m to 2 m - 1, ...
        of one output channel at one position of the kernel, as sparse matrix units expect it.
    """
    last = weight.abs().movedim(1, -1)
    groups = last.reshape(-1, m)
    kept = torch.topk(groups, n, dim=1).indices
    mask = torch.zeros_like(groups, dtype=torch.bool).scatter_(1, kept, True)
    return mask.view(last.shape).movedim(-1, 1)


def ramp(progress: float) -> float:
    """The share of the final sparsity when ``progress`` (0 to 1) of the ramp is done: ``1 - (1 - progress)³``."""
    return 1 - (1 - min(max(progress, 0.0), 1.0)) ** 3


class MagnitudePruning(Compressor):
    """Hides the weights of least magnitude, more and more of them, while the model is trained.

    :param sparsity: the share of weights that are zero in the end, from 0 to below 1; or
    :param pattern: ``(n, m)``: of every m weights along the input channels at most n stay, as (2, 4) and (4, 8).
    :param layers: names or patterns; None: all convolutions and dense layers that fit (for a pattern: input channels of
        a group a multiple of m).
    :param exclude: names or patterns of layers that keep their weights.
    :param scope: "layer": the share of each layer; "global": of all weights together.
    :param begin: share of the training before the first weight goes.
    :param end: share of the training when the last weight has gone; from then on masks are fixed.
    :param every: steps between changes of the masks.
    """

    def __init__(
        self,
        sparsity: float | None = None,
        *,
        pattern: tuple[int, int] | None = None,
        layers: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        scope: Literal["layer", "global"] = "layer",
        begin: float = 0.0,
        end: float = 0.6,
        every: int = 20,
    ) -> None:
        if (sparsity is None) == (pattern is None):
            raise InputError("magnitude pruning takes a sparsity or a pattern, one of both")
        if pattern is not None and not (
            isinstance(pattern, tuple | list)
            and len(pattern) == 2
            and all(isinstance(count, int) and not isinstance(count, bool) for count in pattern)
            and 0 < pattern[0] < pattern[1]
        ):
            raise InputError(f"pattern {pattern!r}", hint="(n, m) with 0 < n < m, as (2, 4)")
        if scope not in ("layer", "global"):
            raise InputError(f"scope {scope!r}", hint='"layer" or "global"')
        if pattern is not None and scope == "global":
            raise InputError("a pattern holds in each layer", hint='scope="layer"')
        self.every = require_count(every, "every", where="MagnitudePruning")
        self.layers = None if layers is None else require_names(layers, "layers", "MagnitudePruning")
        self.exclude = require_names(exclude, "exclude", "MagnitudePruning")
        self.sparsity = None if sparsity is None else require_share(sparsity, "sparsity")
        self.begin = require_share(begin, "the beginning of pruning")
        self.end = require_share(end, "the end of pruning", low=self.begin, high=1.0 + 1e-9)
        self.pattern, self.scope = pattern, scope
        self._masked: list[tuple[Mask, nn.Parameter]] = []

    def hyperparameters(self) -> Mapping[str, Any]:
        goal = {"sparsity": self.sparsity} if self.pattern is None else {"pattern": "{}:{}".format(*self.pattern)}
        return {**goal, "scope": self.scope, "begin": self.begin, "end": self.end}

    def apply(self, model: nn.Module) -> nn.Module:
        """Puts masks on weights, in the same model object; nothing is hidden before the first step.

        :raises UnsupportedError: a pattern of names hits a layer that cannot be pruned so.
        :raises InputError: nothing to prune, or weights that are not finite.
        """
        chosen = choose_layers(model, PRUNABLE, layers=self.layers, exclude=self.exclude, fits=self._misfit)
        self._masked = []
        for layer in chosen.values():
            weight: Any = layer.weight
            mask = Mask(weight)
            parametrize.register_parametrization(layer, "weight", mask)
            parameter: Any = layer.parametrizations["weight"].original
            self._masked.append((mask, parameter))
        return model

    def _misfit(self, layer: nn.Module) -> str:
        if parametrize.is_parametrized(layer, "weight"):
            return "its weight is parametrized already"
        if self.pattern is None:
            return ""
        weight: Any = layer.weight
        if isinstance(layer, _ConvTransposeNd):
            return "patterns are not for transposed convolutions"
        if weight.shape[1] % self.pattern[1]:
            return f"{weight.shape[1]} input channels are no multiple of {self.pattern[1]}"
        return ""

    @torch.no_grad()
    def on_step(self, step: int, total_steps: int) -> None:
        """Changes the masks every few steps, until the last weight has gone."""
        first, last = int(self.begin * total_steps), max(int(self.end * total_steps) - 1, 0)
        if step < first or step > last or not ((step - first) % self.every == 0 or step == last):
            return
        self.prune(ramp((step - first + 1) / (last - first + 1)))

    @torch.no_grad()
    def prune(self, progress: float = 1.0) -> None:
        """Sets the masks for a share of the final sparsity; a pattern is whole from the first step on.

        :raises InputError: a weight is not finite.
        """
        for _, weight in self._masked:
            if not bool(torch.isfinite(weight).all()):
                raise InputError("NaN or infinity among the weights", hint="training has diverged")
        if self.pattern is not None:
            for mask, weight in self._masked:
                mask.mask.copy_(n_of_m(weight, *self.pattern))
            return
        assert self.sparsity is not None
        share = self.sparsity * progress
        if self.scope == "layer":
            masks = [smallest(weight, share) for _, weight in self._masked]
        else:
            together = smallest(torch.cat([weight.flatten() for _, weight in self._masked]), share)
            parts = together.split([weight.numel() for _, weight in self._masked])
            masks = [part.view_as(weight) for part, (_, weight) in zip(parts, self._masked, strict=True)]
        for (mask, _), new in zip(self._masked, masks, strict=True):
            mask.mask.copy_(new)

    def zeros(self) -> float:
        """The share of masked weights among those of the pruned layers."""
        hidden = sum(int((~mask.mask).sum()) for mask, _ in self._masked)
        return hidden / max(1, sum(mask.mask.numel() for mask, _ in self._masked))

    @torch.no_grad()
    def convert(self, model: nn.Module) -> nn.Module:
        """The masked weights as plain ones. Masks that no step has set, or that hide less than was asked for because
        training ended before its last planned step, are set now; of the latter a warning tells."""
        if self._masked and all(bool(mask.mask.all()) for mask, _ in self._masked):
            self.prune()
        elif self._masked and self.sparsity is not None and self.zeros() < 0.99 * self.sparsity:
            warnings.warn(
                f"training ended with {self.zeros():.1%} of the weights hidden: the rest of {self.sparsity:.1%} goes "
                "without training after it (end=… of MagnitudePruning lets masks be whole earlier)",
                stacklevel=2,
            )
            self.prune()
        for layer in model.modules():
            if parametrize.is_parametrized(layer, "weight") and isinstance(layer.parametrizations["weight"][0], Mask):
                parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
        self._masked = []
        return model.eval()
