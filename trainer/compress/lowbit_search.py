# SPDX-License-Identifier: Apache-2.0
"""SLB: weights of 1, 2 or 4 bits, searched by gradient descent.

Source: Yang et al., "Searching for Low-Bit Weights in Quantized Neural Networks", NeurIPS 2020. Each weight has a
distribution over its possible values, ``softmax(logits / temperature)``; training computes with the expected weight,
whose gradient is exact (no straight-through estimate), while the temperature falls until the distribution has
collapsed onto its likeliest value. Evaluation and the converted model use that value.

What the paper leaves open is decided so: the values are the odd integers of ``lowbit_layers.code_values`` times a
learned scale per output channel (the paper has values in [-1, 1] and relies on batch normalization for the scale);
logits start as a discretised normal distribution around the weight that the model brings, so that a trained model is
searched from where it stands; during the last share of the training (``settle``) weights are discrete and fixed, and
scales, biases and batch normalizations adapt to them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from microlith.errors import InputError

from ..argument_checks import require_names, require_number
from .compressor import Compressor
from .fold_norms import fold_norms
from .layer_choice import Edges, choose_layers, require_share
from .lowbit_layers import CONVERTED, code_values, low_bit, plain_type
from .state_norm import (
    StateBatchNorm,
    StatePass,
    add_state_norms,
    remove_state_norms,
    remove_state_pass,
    replace_modules,
    state_mode,
)

Curve = Literal["exponential", "linear", "cosine"]
SPREAD = 0.5
"""Standard deviation of the first distributions, in steps between neighbouring codes."""


@dataclass(frozen=True)
class Temperature:
    """How the temperature falls: from ``start`` to ``end`` over the search."""

    start: float = 1.0
    end: float = 0.01
    curve: Curve = "exponential"

    def __post_init__(self) -> None:
        for value in (self.start, self.end):
            require_number(value, "a temperature")
        if not (math.isfinite(self.start) and 0 < self.end <= self.start):
            raise InputError(
                f"a temperature from {self.start!r} to {self.end!r}", hint="it falls from start to end, both above 0"
            )
        if self.curve not in ("exponential", "linear", "cosine"):
            raise InputError(f"temperature curve {self.curve!r}", hint="exponential, linear or cosine")

    def at(self, progress: float) -> float:
        """The temperature when ``progress`` (0 to 1) of the search is done."""
        progress = min(max(progress, 0.0), 1.0)
        if self.curve == "exponential":
            return self.start * (self.end / self.start) ** progress
        if self.curve == "cosine":
            progress = (1 - math.cos(math.pi * progress)) / 2
        return self.start + (self.end - self.start) * progress


class SearchedWeight(nn.Module):
    """A parametrization (``torch.nn.utils.parametrize``) of a weight by logits ``[values, *weight.shape]``.

    ``temperature`` 0 means that the search is over: the likeliest value is used in training too.
    """

    values: Tensor

    def __init__(self, weight: Tensor, bits: int, per_channel: bool, temperature: float) -> None:
        super().__init__()
        codes = code_values(bits)
        self.bits, self.temperature, self.state_pass = bits, temperature, False
        self.register_buffer("values", torch.tensor(codes, dtype=weight.dtype), persistent=False)
        self.log_scale = nn.Parameter(fitting_scale(weight.detach(), codes, per_channel).log())

    def get_extra_state(self) -> Tensor:
        return torch.tensor(self.temperature, dtype=torch.float64)

    def set_extra_state(self, state: Tensor) -> None:
        self.temperature = float(state)

    def right_inverse(self, weight: Tensor) -> Tensor:
        """Logits of a distribution whose mode is the code next to the weight, and whose mean is close to the weight."""
        position = weight / self.scale
        distance = (position.unsqueeze(0) - self._values(weight.dim())) / 2
        return -(distance**2) / (2 * SPREAD**2)

    def forward(self, logits: Tensor) -> Tensor:
        if getattr(torch.compiler, "is_exporting", bool)():
            raise InputError(
                "a weight that is still searched cannot be exported or traced", hint="LowBitSearch.convert(model) first"
            )
        if not self.training or self.state_pass:
            return self.codes(logits) * self.scale
        if self.temperature == 0:
            # The zero keeps the logits part of the graph, which data-parallel training asks of every parameter.
            return self.codes(logits) * self.scale + 0.0 * logits.sum()
        share = torch.softmax(logits / self.temperature, dim=0)
        return (share * self._values(logits.dim() - 1)).sum(0) * self.scale

    @property
    def scale(self) -> Tensor:
        return self.log_scale.exp()

    def codes(self, logits: Tensor) -> Tensor:
        """The likeliest value of each weight, as float."""
        return self.values[logits.argmax(0)]

    def collapse(self, logits: Tensor) -> None:
        """Ends the search: the distributions become certain, in place, so that nothing can change them any more."""
        certain = torch.full_like(logits, -CERTAIN).scatter_(0, logits.argmax(0, keepdim=True), CERTAIN)
        logits.copy_(certain)
        self.temperature = 0.0

    def _values(self, dimensions: int) -> Tensor:
        return self.values.view(-1, *(1,) * dimensions)


CERTAIN = 1e4
"""A logit that no momentum of an optimizer moves across another of the opposite sign."""


def fitting_scale(weight: Tensor, codes: Sequence[int], per_channel: bool) -> Tensor:
    """The scales that round a weight to codes with the least squared error, among 64 candidates for each.

    :param weight: ``[out, ...]``.
    :param codes: equidistant, symmetric around zero, ascending.
    :return: ``[out, 1, ...]``, or ``[1, 1, ...]`` for one scale; positive.
    """
    rows = weight.reshape(weight.shape[0] if per_channel else 1, -1)
    top = codes[-1]
    largest = rows.abs().amax(1, keepdim=True).clamp_min(torch.finfo(weight.dtype).tiny * 1e8)
    best = largest / top
    least = torch.full_like(best, math.inf)
    for share in torch.linspace(0.02, 1.2, 64):
        scale = largest * share / top
        code = (2 * torch.round((rows / scale - 1) / 2) + 1).clamp(-top, top)
        error = ((code * scale - rows) ** 2).sum(1, keepdim=True)
        best, least = torch.where(error < least, scale, best), torch.minimum(error, least)
    return best.reshape(-1, *(1,) * (weight.dim() - 1))


class LowBitSearch(Compressor):
    """SLB: searches weights of 1, 2 or 4 bits while the model is trained.

    :param bits: for all layers, or by name pattern (the first that fits; without the pattern "*" others stay float).
    :param layers: names or patterns; None: every ``Conv1d``, ``Conv2d`` and ``Linear``, or those that ``bits`` names.
    :param exclude: names or patterns of layers that stay float.
    :param edges: "float" leaves the first and the last layer (in the order of definition) float, as is usual for
        networks of few bits and done in the paper, unless they are named; "search" searches them too, which makes small
        networks smallest.
    :param per_channel: a scale for each output channel; else one for each layer.
    :param temperature: how it falls during the search.
    :param settle: share of the training after the search, with weights discrete and fixed.
    :param fold: let batch normalization that follows a searched layer become part of its scale and bias in ``convert``.
    """

    def __init__(
        self,
        bits: int | Mapping[str, int] = 4,
        *,
        layers: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        edges: Edges = "float",
        per_channel: bool = True,
        temperature: Temperature | None = None,
        settle: float = 0.15,
        fold: bool = True,
    ) -> None:
        by_pattern = dict(bits) if isinstance(bits, Mapping) else {"*": bits}
        if not by_pattern:
            raise InputError("bits is empty", where="LowBitSearch", hint='4, or {"features.*": 2, "*": 4}')
        require_names(by_pattern, "bits", "LowBitSearch")
        for count in by_pattern.values():
            code_values(count)
        if edges not in ("float", "search"):
            raise InputError(f"edges {edges!r}", hint='"float" or "search"')
        self.bits = by_pattern
        self.layers = list(by_pattern) if layers is None and "*" not in by_pattern else layers
        if self.layers is not None:
            self.layers = require_names(self.layers, "layers", "LowBitSearch")
        self.exclude = require_names(exclude, "exclude", "LowBitSearch")
        self.edges, self.per_channel, self.fold = edges, per_channel, fold
        if temperature is not None and not isinstance(temperature, Temperature):
            raise InputError(
                f"temperature is {temperature!r}", where="LowBitSearch", hint="Temperature(start=1.0, end=0.01)"
            )
        self.temperature = temperature or Temperature()
        self.settle = require_share(settle, "settle")
        self._searched: list[tuple[SearchedWeight, nn.Parameter]] = []

    def hyperparameters(self) -> Mapping[str, Any]:
        return {
            "bits": ",".join(f"{pattern}:{count}" for pattern, count in self.bits.items()),
            "edges": self.edges,
            "per_channel": self.per_channel,
            "temperature_start": self.temperature.start,
            "temperature_end": self.temperature.end,
            "temperature_curve": self.temperature.curve,
            "settle": self.settle,
        }

    def apply(self, model: nn.Module) -> nn.Module:
        """Puts distributions in the place of weights, in the same model object.

        :raises UnsupportedError: a pattern names a layer that has no low-bit form.
        :raises InputError: nothing to search, or weights that are not finite.
        """
        chosen = choose_layers(
            model,
            tuple(CONVERTED),
            layers=self.layers,
            exclude=self.exclude,
            keep_edges=self.edges == "float",
            fits=_misfit,
        )
        self._searched = []
        for name, layer in chosen.items():
            weight: Any = layer.weight
            search = SearchedWeight(weight, self._bits(name), self.per_channel, self.temperature.start).to(
                weight.device
            )
            parametrize.register_parametrization(layer, "weight", search, unsafe=True)
            search.train(layer.training)
        model = add_state_norms(model)
        model.register_forward_pre_hook(StatePass(), with_kwargs=True)
        self._searched = [(search, logits) for _, search, logits in searched_layers(model)]
        return model

    def _bits(self, name: str) -> int:
        return next((count for pattern, count in self.bits.items() if fnmatchcase(name, pattern)), 4)

    @torch.no_grad()
    def on_step(self, step: int, total_steps: int) -> None:
        """Sets the temperature; ends the search when its share of the steps is over."""
        search_steps = max(1, round(total_steps * (1 - self.settle)))
        if self.settle and step >= search_steps:
            for search, logits in self._searched:
                if search.temperature:
                    search.collapse(logits)
            return
        temperature = self.temperature.at(step / max(1, search_steps - 1))
        for search, _ in self._searched:
            search.temperature = temperature

    def certainty(self) -> float:
        """The mean probability of the likeliest value, over all weights: 1 when the search is over."""
        total = weights = 0.0
        with torch.no_grad():
            for search, logits in self._searched:
                likeliest = torch.softmax(logits / (search.temperature or self.temperature.end), 0).amax(0)
                total, weights = total + float(likeliest.sum()), weights + likeliest.numel()
        return total / max(weights, 1)

    def calibrate(self, model: nn.Module, batches: Iterable[Any]) -> None:
        """Collects the statistics of batch normalization for discrete weights, without training.

        :param batches: inputs of the model, or tuples and lists whose first member is one.
        """
        was_training = model.training
        model.train()
        with torch.no_grad(), state_mode(model):
            for batch in batches:
                model(batch[0] if isinstance(batch, (tuple, list)) else batch)
        model.train(was_training)

    @torch.no_grad()
    def convert(self, model: nn.Module) -> nn.Module:
        """Low-bit layers (``lowbit_layers``) with the likeliest codes, and plain batch normalizations.

        :raises InputError: logits are not finite, or no training pass has run, so that the statistics of batch
            normalization are not those of the discrete weights.
        """
        if any(isinstance(m, StateBatchNorm) and not int(m.state_batches) for m in model.modules()):
            raise InputError(
                "batch normalization has seen no batch with discrete weights",
                hint="train by calling the model itself, not its parts, or run LowBitSearch.calibrate first",
            )
        model.eval()
        new: dict[str, nn.Module] = {}
        for name, search, logits in searched_layers(model):
            if not bool(torch.isfinite(logits).all() and torch.isfinite(search.log_scale).all()):
                raise InputError("NaN or infinity in the searched weight", where=name, hint="training has diverged")
            layer = model.get_submodule(name)
            codes = search.codes(logits).to(torch.int8)
            new[name] = low_bit(layer, codes, search.scale.flatten())
        model = replace_modules(model, new)
        model = remove_state_norms(model)
        remove_state_pass(model)
        self._searched = []
        return fold_norms(model) if self.fold else model


def _misfit(layer: nn.Module) -> str:
    if plain_type(layer) not in CONVERTED:
        return f"a {type(layer).__name__} is more than a plain layer"
    if hasattr(layer, "parametrizations") and "weight" in layer.parametrizations:
        return "its weight is parametrized already"
    if getattr(layer, "padding_mode", "zeros") != "zeros":
        return f"padding mode {layer.padding_mode!r}"
    return ""


def searched_layers(model: nn.Module) -> Iterable[tuple[str, SearchedWeight, nn.Parameter]]:
    """Name, parametrization and logits of every searched layer."""
    for name, layer in model.named_modules():
        if not parametrize.is_parametrized(layer, "weight"):
            continue
        chain: Any = layer.parametrizations["weight"]
        if isinstance(chain[0], SearchedWeight):
            yield name, chain[0], chain.original
