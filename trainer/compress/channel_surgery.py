# SPDX-License-Identifier: Apache-2.0
"""Takes channels out of a model: smaller weights, smaller layers, the same code around them."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from microlith.errors import InputError

from .channel_layout import Cut, Layout, Segment


@torch.no_grad()
def remove_channels(model: nn.Module, layout: Layout, kept: Mapping[int, Tensor]) -> None:
    """Keeps, of each group named, the channels of the given ascending indices; changes the model in place.

    What remains computes what the model would with the inputs of later layers that belong to removed channels set to
    zero weight.

    :raises InputError: a group is fixed, or indices are empty, out of range or not ascending.
    """
    for group, indices in kept.items():
        if layout.root(group) != group or group in layout.why_fixed:
            raise InputError(f"the channels of group {group} cannot go", hint=layout.why_fixed.get(group, ""))
        ascending = indices.dim() == 1 and len(indices) and bool((indices[1:] > indices[:-1]).all())
        if not ascending or int(indices[0]) < 0 or int(indices[-1]) >= layout.sizes[group]:
            raise InputError(f"kept channels {indices.tolist()} of {layout.sizes[group]}")
    for cut in layout.cuts:
        if any(layout.root(item.group) in kept for item in cut.segments):
            _cut(model.get_submodule(cut.layer), cut, features_kept(layout, cut.segments, kept))


def features_kept(layout: Layout, segments: tuple[Segment, ...], kept: Mapping[int, Tensor]) -> Tensor:
    """Indices along a channel axis that stay, int64."""
    start, parts = 0, []
    for item in segments:
        indices = kept.get(layout.root(item.group), torch.arange(item.channels))
        features = (indices.unsqueeze(1) * item.repeat + torch.arange(item.repeat)).flatten()
        parts.append(start + features)
        start += item.channels * item.repeat
    return torch.cat(parts)


def _cut(layer: nn.Module, cut: Cut, features: Tensor) -> None:
    inputs, outputs = (0, 1) if isinstance(layer, _ConvTransposeNd) else (1, 0)  # axes of the weight
    if isinstance(layer, _ConvNd) and cut.side == "both":
        factor = layer.out_channels // layer.in_channels
        made = (features.unsqueeze(1) * factor + torch.arange(factor)).flatten()
        _keep(layer, ("weight",), features if isinstance(layer, _ConvTransposeNd) else made, 0)
        _keep(layer, ("bias",), made, 0)
        layer.in_channels = layer.groups = len(features)
        layer.out_channels = len(made)
    elif cut.side == "both":
        _keep(layer, ("weight", "bias", "running_mean", "running_var"), features, 0)
        attribute = "num_parameters" if isinstance(layer, nn.PReLU) else "num_features"
        setattr(layer, attribute, len(features))
    elif cut.side == "out":
        _keep(layer, ("weight",), features, outputs)
        _keep(layer, ("bias",), features, 0)
        setattr(layer, "out_channels" if isinstance(layer, _ConvNd) else "out_features", len(features))
    else:
        _keep(layer, ("weight",), features, inputs)
        setattr(layer, "in_channels" if isinstance(layer, _ConvNd) else "in_features", len(features))


def _keep(layer: nn.Module, names: tuple[str, ...], indices: Tensor, dim: int) -> None:
    for name in names:
        tensor = getattr(layer, name, None)
        if not isinstance(tensor, Tensor):
            continue
        smaller = tensor.detach().index_select(dim, indices.to(tensor.device)).clone()
        if isinstance(tensor, nn.Parameter):
            setattr(layer, name, nn.Parameter(smaller, requires_grad=tensor.requires_grad))
        else:
            setattr(layer, name, smaller)


def norm_weight(model: nn.Module, name: str) -> Tensor:
    """The factors (gamma) of a batch normalization, ``[C]``."""
    norm = model.get_submodule(name)
    assert isinstance(norm, _BatchNorm)
    return norm.weight.detach()
