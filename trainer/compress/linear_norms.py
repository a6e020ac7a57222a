# SPDX-License-Identifier: Apache-2.0
"""Batch normalization behind linear layers, as part of their weights while integers are learnt.

torchao does so for convolutions; here is the same for ``linear`` (Krishnamoorthi, 2018, arXiv:1806.08342): the weights
are rounded as the folded layer will have them, times ``gamma / sqrt(running_var + eps)``, and what that
factor did to the result is taken back before the normalization, which goes on with the statistics of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Node

aten = torch.ops.aten
MARK = "normalized_linear"
"""In ``Node.meta``: what belongs to a layer that this module made."""


def _norm_behind(node: Node) -> Node | None:
    """The batch normalization over the columns of a linear layer [n, columns] that is the only reader of it."""
    if node.target != aten.linear.default or len(node.users) != 1 or node.meta["val"].ndim != 2:
        return None
    if any(value is not None and value.op != "get_attr" for value in node.args[1:]):
        return None
    (user,) = node.users
    if user.target != aten.batch_norm.default or any(not isinstance(value, Node) for value in user.args[1:5]):
        return None
    return user


def split_norms(model: GraphModule, skipped: Callable[[Node], bool]) -> int:
    """Rewrites each pair for training, in place, but for those that are ``skipped``; returns how many there were."""
    pairs = [
        (node, norm)
        for node in model.graph.nodes
        if (norm := _norm_behind(node)) is not None and not skipped(node) and not skipped(norm)
    ]
    for linear, norm in pairs:
        x, weight, bias = (*linear.args, None)[:3]
        gamma, variance, eps = norm.args[1], norm.args[4], norm.args[7]

        def call(target: Any, *args: Any, like: Node) -> Node:
            made: Node = model.graph.call_function(target, args)
            made.meta = {**like.meta, MARK: True}
            return made

        with model.graph.inserting_before(linear):
            shifted = call(aten.add.Tensor, variance, eps, like=gamma)
            factor = call(aten.div.Tensor, gamma, call(aten.sqrt.default, shifted, like=gamma), like=gamma)
            rows = call(aten.unsqueeze.default, factor, 1, like=weight)
            scaled = call(aten.mul.Tensor, weight, rows, like=weight)
        with model.graph.inserting_before(norm):
            plain = call(aten.div.Tensor, linear, factor, like=linear)
            if bias is not None:
                plain = call(aten.add.Tensor, plain, bias, like=linear)
        linear.args = (x, scaled)
        norm.args = (plain, *norm.args[1:])
        linear.meta[MARK] = norm.meta[MARK] = True
    model.recompile()
    return len(pairs)


def norm_of(linear: Node) -> Node | None:
    """The normalization of a linear layer that was split."""
    node = linear
    while MARK in node.meta and len(node.users) == 1:
        (node,) = node.users
        if node.target == aten.batch_norm.default:
            return node
    return None


def is_part(node: Node) -> bool:
    """Whether a node computes inside of a pair, where nothing is rounded."""
    return MARK in node.meta and node.target not in (aten.linear.default, aten.batch_norm.default)


@torch.no_grad()
def fold_norms_of_linears(model: GraphModule) -> int:
    """The opposite, for the trained graph with its fake quantizers: one linear layer of what was a pair, in place.

    Returns how many there were.
    """
    folded = 0
    for linear, norm in list(_pairs(model)):
        weight, bias = _parameters(linear, norm)
        gamma, beta, mean, variance = (_constant(model, value) for value in norm.args[1:5])
        factor = gamma.double() / torch.sqrt(variance.double() + norm.args[7])
        old = torch.zeros_like(mean) if bias is None else _constant(model, bias)
        summand = (old.double() - mean.double()) * factor + beta.double()
        quantizer, rows = linear.args[1], _constant(model, weight).double()
        names = f"_folded_weight_{folded}", f"_folded_bias_{folded}"
        for name, value in zip(names, (rows * factor[:, None], summand), strict=True):
            model.register_parameter(name, nn.Parameter(value.float()))
        with model.graph.inserting_before(quantizer):
            made = [model.graph.get_attr(name) for name in names]
        for node, like in zip(made, (weight, norm.args[2]), strict=True):
            node.meta = dict(like.meta)
        quantizer.args = (made[0], *quantizer.args[1:])
        linear.args = (linear.args[0], quantizer, made[1])
        norm.replace_all_uses_with(linear)
        linear.meta = {**linear.meta, "val": norm.meta["val"]}
        model.graph.erase_node(norm)
        folded += 1
    model.graph.eliminate_dead_code()
    model.recompile()
    return folded


def _pairs(model: GraphModule) -> Iterator[tuple[Node, Node]]:
    for node in model.graph.nodes:
        if node.target == aten.linear.default and (norm := norm_of(node)) is not None:
            yield node, norm


def _parameters(linear: Node, norm: Node) -> tuple[Node, Node | None]:
    """Weights and bias of a pair as they are trained."""
    scaled = linear.args[1].args[0]
    behind: Any = norm.args[0]
    return scaled.args[0], behind.args[1] if behind.target == aten.add.Tensor else None


def _constant(model: GraphModule, node: Any) -> Tensor:
    value: Any = model
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value
