# SPDX-License-Identifier: Apache-2.0
"""Batch normalization as part of the low-bit layer before it.

``gamma * (scale * (codes * x) + bias - mean) / sqrt(var + eps) + beta`` is a low-bit layer again: the factor of a
channel goes into its scale, the sign of a negative one into its codes, which are symmetric.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn.modules.batchnorm import _BatchNorm

from .lowbit_layers import _LowBit
from .state_norm import replace_modules


class _LeafTracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, _LowBit) or super().is_leaf_module(m, module_qualified_name)


@torch.no_grad()
def fold_norms(model: nn.Module) -> nn.Module:
    """Folds where the only reader of a low-bit layer is a batch normalization that reads nothing else.

    A model that ``torch.fx`` cannot trace, and a channel whose factor is zero, stay as they are.
    """
    try:
        graph = _LeafTracer().trace(model)
    except Exception:
        return model
    modules = dict(model.named_modules())
    calls: dict[str, int] = {}
    for node in graph.nodes:
        if node.op == "call_module":
            calls[str(node.target)] = calls.get(str(node.target), 0) + 1
    for node in graph.nodes:
        norm = modules.get(str(node.target)) if node.op == "call_module" else None
        if not isinstance(norm, _BatchNorm):
            continue
        source: Any = node.args[0]
        layer = modules.get(str(source.target)) if source.op == "call_module" else None
        single = len(source.users) == 1 and calls[str(node.target)] == 1 and calls.get(str(source.target)) == 1
        if isinstance(layer, _LowBit) and single and _fold(layer, norm):
            model = replace_modules(model, {str(node.target): nn.Identity()})
    return model


def _fold(layer: _LowBit, norm: _BatchNorm) -> bool:
    if norm.running_mean is None or norm.running_var is None:
        return False
    factor: Tensor = torch.rsqrt(norm.running_var.double() + norm.eps)
    shift = -norm.running_mean.double() * factor
    if norm.affine:
        factor, shift = factor * norm.weight.double(), shift * norm.weight.double() + norm.bias.double()
    scale = (layer.scale.double() * factor.abs()).float()
    if not bool((torch.isfinite(scale) & (scale > 0)).all()):
        return False
    if layer.bias is not None:
        shift = shift + layer.bias.double() * factor
    sign = torch.sign(factor).to(torch.int8).view(-1, *(1,) * (layer.codes.dim() - 1))
    layer.codes.mul_(sign)
    layer.scale.copy_(scale)
    layer.bias = nn.Parameter(shift.float())
    return True
