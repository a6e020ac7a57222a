# SPDX-License-Identifier: Apache-2.0
"""SCOP: structured pruning with knockoff features as a control group.

Source: Tang et al., "SCOP: Scientific Control for Reliable Neural Network Pruning", NeurIPS 2020. The trained network
sees the data and their knockoffs (``knockoffs``: alike in distribution, made without the labels). In each layer a
channel is mixed with its knockoff, ``beta a + (1 - beta) a~``, and only the ``beta`` in [0, 1] are trained on the task,
from 1/2. A channel that matters prefers its real feature; one whose knockoff serves as well does not. Its score is the
paper's ``|gamma| (beta - (1 - beta))``, gamma the factor of the batch normalization that follows; without one, the
standard deviation of the channel over the data, which is what gamma is behind a normalization. Channels with the
smallest scores are taken out of the model (``channel_surgery``); fine-tuning is up to whoever asked.

Channels that have to go together (residual additions, gates) have the mean of the scores of their layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from microlith.errors import InputError

from ..argument_checks import require_callable, require_count, require_names, require_number, require_seed
from ..objectives import class_problem
from ..train_data import as_tensor
from .channel_layout import Layout, Producer, trace_layout
from .channel_surgery import norm_weight, remove_channels
from .compressor import Compressor
from .knockoffs import GaussianKnockoffs, Knockoffs
from .layer_choice import require_finite, require_share


@dataclass(frozen=True)
class PrunedGroup:
    """What happened to the channels that some layers share."""

    layers: tuple[str, ...]
    before: int
    kept: tuple[int, ...]
    scores: tuple[float, ...]


class Scop(Compressor):
    """Takes a share of the channels out of a trained model, by their SCOP score.

    ``apply`` trains the mixing factors and returns the smaller model, to be fine-tuned; ``convert`` has nothing to add.

    :param ratio: the share of channels that goes, from 0 to below 1; or one for each layer whose name fits a pattern
        (the first that fits; others keep theirs). At least one channel of a layer stays.
    :param data: inputs and targets, as two arrays or tensors, or an iterable of such batches that can be gone through
        again.
    :param criterion: loss of outputs and targets.
    :param scope: "layer", as in the paper: the share of each layer; "global": of all channels together, so that layers
        full of useless channels lose more.
    :param exclude: names or patterns of layers that keep their channels.
    :param knockoffs: how knockoffs are drawn; default :class:`GaussianKnockoffs`.
    :param steps: of training the mixing factors.
    :param batch_size: inputs in each of these steps, as many knockoffs beside them; for ``data`` of two tensors.
    :param learning_rate: of the mixing factors (Adam).
    :param seed: of batches and knockoffs.
    """

    def __init__(
        self,
        ratio: float | Mapping[str, float] = 0.45,
        *,
        data: tuple[Any, Any] | Iterable[Sequence[Tensor]] | None = None,
        criterion: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy,
        scope: Literal["layer", "global"] = "layer",
        exclude: Sequence[str] = (),
        knockoffs: Knockoffs | None = None,
        steps: int = 200,
        batch_size: int = 64,
        learning_rate: float = 0.02,
        seed: int | None = 0,
    ) -> None:
        by_pattern = dict(ratio) if isinstance(ratio, Mapping) else {"*": ratio}
        if not by_pattern:
            raise InputError("ratio is empty", where="Scop", hint='0.45, or {"features.*": 0.5}')
        require_names(by_pattern, "ratio", "Scop")
        require_callable(criterion, "criterion", "Scop")
        self.steps = require_count(steps, "steps", where="Scop")
        self.batch_size = require_count(batch_size, "batch_size", where="Scop")
        self.learning_rate = require_number(learning_rate, "learning_rate", above=0, where="Scop")
        self.seed, self.exclude = require_seed(seed, "Scop"), require_names(exclude, "exclude", "Scop")
        self.ratio = {key: require_share(value, "the share of channels to prune") for key, value in by_pattern.items()}
        if scope not in ("layer", "global"):
            raise InputError(f"scope {scope!r}", hint='"layer" or "global"')
        if scope == "global" and isinstance(ratio, Mapping):
            raise InputError("shares by layer and a global share exclude each other")
        if knockoffs is not None and not isinstance(knockoffs, Knockoffs):
            raise InputError(f"{knockoffs!r} draws no knockoffs", where="Scop", hint="GaussianKnockoffs()")
        if data is not None and not isinstance(data, Iterable):
            raise InputError(f"data is {type(data).__name__}", where="Scop", hint="data=(inputs, targets) or a loader")
        if isinstance(data, tuple) and len(data) == 2 and all(hasattr(part, "__array__") for part in data):
            data = as_tensor(data[0], "inputs of SCOP"), as_tensor(data[1], "targets of SCOP")
        self.data, self.criterion, self.scope = data, criterion, scope
        self.knockoffs = knockoffs if knockoffs is not None else GaussianKnockoffs()
        self.pruned: tuple[PrunedGroup, ...] = ()
        """What the last ``apply`` did."""
        self.kept_by_layer: dict[str, str] = {}
        """Why layers could not lose channels, by name."""
        self._example: tuple[Tensor, ...] | None = None
        self._plan: dict[str, list[int]] | None = None

    def hyperparameters(self) -> Mapping[str, Any]:
        return {
            "ratio": ",".join(f"{pattern}:{share}" for pattern, share in self.ratio.items()),
            "scope": self.scope,
            "steps": self.steps,
            "learning_rate": self.learning_rate,
        }

    def on_data(self, inputs: tuple[Tensor, ...]) -> None:
        self._example = inputs

    def apply(self, model: nn.Module) -> nn.Module:
        """The model with fewer channels; the same object, changed.

        After ``load_state_dict`` the channels of that run go, and nothing is trained.

        :raises InputError: no data, nothing that can lose channels, NaN in weights or loss, a model that cannot be
            traced.
        """
        require_finite({name: layer for name, layer in model.named_modules() if not list(layer.children())})
        batches = None if self._plan is not None and self._example is not None else Batches(self)
        if self._example is not None and len(self._example) != 1:
            raise InputError(f"a model of {len(self._example)} inputs", hint="SCOP draws knockoffs of one input")
        example = batches.example() if batches else tuple(item[:2] for item in self._example or ())
        layout = trace_layout(model, example)
        groups = self._groups(layout)
        if self._plan is not None:
            self._apply_plan(model, layout, groups, self._plan)
            return model
        assert batches is not None
        scores = control_scores(model, groups, batches, self)
        shares = {root: self._share(root, producers) for root, producers in groups.items()}
        kept = choose_channels(scores, shares, self.ratio["*"] if self.scope == "global" else None)
        self._record(groups, scores, kept)
        remove_channels(model, layout, kept)
        return model

    def convert(self, model: nn.Module) -> nn.Module:
        """The model itself: its channels have gone already."""
        return model.eval()

    def state_dict(self) -> dict[str, Any]:
        """Which channels stayed, by the first layer of each group."""
        return {"kept": {group.layers[0]: list(group.kept) for group in self.pruned}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Before ``apply``: that cut is repeated. After it: the cut has to be the same.

        :raises InputError: it is another.
        """
        self._plan = {str(name): [int(index) for index in kept] for name, kept in state["kept"].items()}
        if self.pruned and self._plan != self.state_dict()["kept"]:
            raise InputError(
                "the stored run kept other channels", hint="begin with the same weights, data and seed as that run"
            )

    def _groups(self, layout: Layout) -> dict[int, list[Producer]]:
        self.kept_by_layer = layout.reasons()
        names = [producer.layer for producer in layout.producers]
        for pattern in (*self.exclude, *self.ratio):
            if not any(fnmatchcase(name, pattern) for name in names):
                raise InputError(f"no layer is called {pattern!r}", hint=f"the model has {', '.join(names)}")
        groups = {}
        for root, producers in layout.free_groups().items():
            if any(fnmatchcase(item.layer, pattern) for item in producers for pattern in self.exclude):
                self.kept_by_layer |= {item.layer: "excluded" for item in producers}
            elif any(fnmatchcase(item.layer, pattern) for item in producers for pattern in self.ratio):
                groups[root] = producers
        if not groups:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.kept_by_layer.items())
            raise InputError("no layer can lose channels", hint=reasons)
        return groups

    def _share(self, root: int, producers: Sequence[Producer]) -> float:
        """The smallest share that a pattern gives to one of the layers."""
        found = [
            next(share for pattern, share in self.ratio.items() if fnmatchcase(item.layer, pattern))
            for item in producers
            if any(fnmatchcase(item.layer, pattern) for pattern in self.ratio)
        ]
        return min(found)

    def _record(
        self, groups: Mapping[int, list[Producer]], scores: Mapping[int, Tensor], kept: Mapping[int, Tensor]
    ) -> None:
        self.pruned = tuple(
            PrunedGroup(
                tuple(item.layer for item in producers),
                len(scores[root]),
                tuple(kept[root].tolist()),
                tuple(scores[root].tolist()),
            )
            for root, producers in groups.items()
        )

    def _apply_plan(
        self, model: nn.Module, layout: Layout, groups: Mapping[int, list[Producer]], plan: Mapping[str, list[int]]
    ) -> None:
        first = {producers[0].layer: root for root, producers in groups.items()}
        if set(plan) - set(first):
            raise InputError(
                f"the stored run pruned {', '.join(sorted(set(plan) - set(first)))}", hint="this is another model"
            )
        kept = {first[name]: torch.tensor(indices) for name, indices in plan.items()}
        scores = {root: torch.zeros(layout.sizes[root]) for root in kept}
        self._record({root: groups[root] for root in kept}, scores, kept)
        remove_channels(model, layout, kept)


class Batches:
    """The data of a :class:`Scop`: batches of inputs and targets, without end, the same for the same seed."""

    def __init__(self, scop: Scop) -> None:
        if scop.data is None:
            raise InputError("SCOP needs data", hint="Scop(ratio, data=(inputs, targets)) or data=loader")
        self.data, self.size = scop.data, scop.batch_size
        self.generator = torch.Generator().manual_seed(scop.seed)

    def _whole(self) -> tuple[Tensor, Tensor] | None:
        if isinstance(self.data, tuple) and len(self.data) == 2 and all(isinstance(x, Tensor) for x in self.data):
            inputs, targets = self.data
            if len(inputs) != len(targets) or not len(inputs):
                raise InputError(f"{len(inputs)} inputs and {len(targets)} targets")
            return inputs, targets
        return None

    def example(self) -> tuple[Tensor, ...]:
        whole = self._whole()
        inputs = whole[0] if whole else next(iter(self))[0]
        return (inputs[:2],)

    def inputs(self, most: int) -> Tensor:
        """Up to so many inputs."""
        whole = self._whole()
        if whole is not None:
            return whole[0][torch.randperm(len(whole[0]), generator=self.generator)[:most]]
        parts: list[Tensor] = []
        for batch in self.data:
            parts.append(batch[0])
            if sum(len(part) for part in parts) >= most:
                break
        return torch.cat(parts)[:most] if parts else torch.empty(0)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        whole = self._whole()
        while True:
            seen = False
            if whole is not None:
                order = torch.randperm(len(whole[0]), generator=self.generator)
                for chosen in order.split(self.size):
                    seen = True
                    yield whole[0][chosen], whole[1][chosen]
            else:
                for batch in self.data:
                    seen = True
                    yield batch[0], batch[1]
            if not seen:
                raise InputError("the data for SCOP are empty, or can be gone through only once")


SEEN_BY_KNOCKOFFS = 4096
"""Inputs from which the distribution of knockoffs is estimated."""


class _Mixer:
    """A forward hook: mixes the real half of the batch with its knockoff half, channel by channel."""

    def __init__(self, channels: int, dim: int, device: torch.device) -> None:
        self.beta = nn.Parameter(torch.full((channels,), 0.5, device=device))
        self.dim = dim

    def __call__(self, module: nn.Module, args: Any, out: Tensor) -> Tensor:
        real, knockoff = out.chunk(2)
        beta = self.beta.view(*(-1 if axis == self.dim % out.dim() else 1 for axis in range(out.dim())))
        return torch.cat([beta * real + (1 - beta) * knockoff, knockoff])


def _loss(criterion: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, targets: Tensor, where: str) -> Tensor:
    """One number. Raises InputError for targets that do not go with the outputs."""
    try:
        loss = criterion(outputs, targets)
    except Exception as error:
        problem = class_problem(outputs, targets) if isinstance(error, IndexError) else ""
        shapes = f"outputs {list(outputs.shape)} and targets {str(targets.dtype)[6:]} {list(targets.shape)}"
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            problem or f"the criterion does not take {shapes}: {reason}",
            where=where,
            hint="classes count from 0"
            if problem
            else "cross entropy wants class numbers i64 [n]; criterion=… is free",
        ) from error
    if not isinstance(loss, Tensor) or loss.numel() != 1:
        raise InputError("the criterion must give one number", where=where, hint="take the mean over the batch")
    return loss


def control_scores(
    model: nn.Module, groups: Mapping[int, list[Producer]], batches: Batches, scop: Scop
) -> dict[int, Tensor]:
    """Scores ``[channels]`` of each group. The model's own parameters and statistics do not change.

    :raises InputError: the loss is NaN or infinite.
    """
    device = next(model.parameters()).device
    seen = batches.inputs(SEEN_BY_KNOCKOFFS)
    scop.knockoffs.fit(seen)
    was_training = model.training
    model.eval()
    producers = [item for members in groups.values() for item in members]
    factors = {item.layer: _factor(model, item, seen[:256].to(device)) for item in producers}
    mixers: dict[str, _Mixer] = {}
    handles = []
    for item in producers:
        layer = model.get_submodule(item.layer)
        mixers[item.layer] = _Mixer(len(factors[item.layer]), -1 if isinstance(layer, nn.Linear) else 1, device)
        handles.append(layer.register_forward_hook(mixers[item.layer]))
    betas = [mixer.beta for mixer in mixers.values()]
    optimizer = torch.optim.Adam(betas, lr=scop.learning_rate)
    frozen = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in frozen:
        parameter.requires_grad_(False)
    try:
        for step, (inputs, targets) in zip(range(scop.steps), batches, strict=False):
            knockoffs = scop.knockoffs.draw(inputs, batches.generator)
            outputs = model(torch.cat([inputs, knockoffs]).to(device))
            loss = _loss(scop.criterion, outputs[: len(inputs)], targets.to(device), f"step {step} of SCOP")
            if not bool(torch.isfinite(loss)):
                raise InputError(f"the loss is {loss.item()} in step {step} of SCOP", hint="check data and model")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for beta in betas:
                    beta.clamp_(0, 1)
    finally:
        for handle in handles:
            handle.remove()
        for parameter in frozen:
            parameter.requires_grad_(True)
        model.train(was_training)
    scores = {}
    for root, members in groups.items():
        each = [factors[item.layer] * (2 * mixers[item.layer].beta.detach() - 1) for item in members]
        scores[root] = torch.stack(each).mean(0).cpu()
    return scores


@torch.no_grad()
def _factor(model: nn.Module, producer: Producer, inputs: Tensor) -> Tensor:
    """|gamma| of the normalization behind a layer; without one, the standard deviation of each channel."""
    if producer.norm is not None:
        return norm_weight(model, producer.norm).abs()
    layer, found = model.get_submodule(producer.layer), []
    handle = layer.register_forward_hook(lambda module, args, out: found.append(out))
    try:
        model(inputs)
    finally:
        handle.remove()
    dim = found[0].dim() - 1 if isinstance(layer, nn.Linear) else 1
    return found[0].transpose(0, dim).flatten(1).std(1)


def choose_channels(
    scores: Mapping[int, Tensor], shares: Mapping[int, float], overall: float | None
) -> dict[int, Tensor]:
    """Ascending indices of the channels that stay; at least one of each group.

    :param overall: a share of all channels together, in place of ``shares``; scores are then relative to the mean of
        their group, since factors of different layers mean different things.
    """
    removed = {root: round(shares[root] * len(each)) for root, each in scores.items()}
    if overall is not None:
        everything = torch.cat([each / each.abs().mean().clamp_min(1e-12) for each in scores.values()])
        lowest = torch.argsort(everything, stable=True)[: round(overall * len(everything))]
        owner = torch.cat([torch.full((len(each),), root) for root, each in scores.items()])
        removed = {root: int((owner[lowest] == root).sum()) for root in scores}
    return {
        root: torch.argsort(each, descending=True, stable=True)[: max(1, len(each) - removed[root])].sort().values
        for root, each in scores.items()
    }
