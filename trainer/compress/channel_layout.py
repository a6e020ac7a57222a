# SPDX-License-Identifier: Apache-2.0
"""Which channels of a model live and die together, found by tracing it with ``torch.fx``.

The output of a convolution or dense layer begins a *group* of channels. Batch normalization, activations, pooling and
depthwise convolutions keep it, an addition or product of two tensors makes one group of two, a concatenation puts
groups side by side, flattening makes each channel so many features. Where a group reaches something that is not
understood, or an output of the model, it is *fixed*: none of its channels can go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.instancenorm import _InstanceNorm

from microlith.errors import InputError, MicrolithError, ShapeError

from ..remarks import silent_tracing
from . import channel_rules as rules


@dataclass(frozen=True)
class Segment:
    """A run of features along the channel axis: each channel of a group ``repeat`` times in a row."""

    group: int
    channels: int
    repeat: int = 1


@dataclass(frozen=True)
class Space:
    """What lies along the channel axis ``dim`` of a tensor."""

    dim: int
    segments: tuple[Segment, ...]

    @property
    def size(self) -> int:
        return sum(item.channels * item.repeat for item in self.segments)


@dataclass(frozen=True)
class Cut:
    """What a layer has along its channels: input features or output features, as segments."""

    layer: str
    side: str
    """``in``, ``out``, or ``both`` for layers that treat each channel on its own."""
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Producer:
    """A layer whose output channels are a group, and the batch normalization that reads it directly, if any."""

    layer: str
    group: int
    norm: str | None


@dataclass
class Layout:
    """The groups of a model. Group numbers in cuts and producers go through ``root``."""

    sizes: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    why_fixed: dict[int, str] = field(default_factory=dict)
    cuts: list[Cut] = field(default_factory=list)
    producers: list[Producer] = field(default_factory=list)

    def new_group(self, channels: int, why_fixed: str = "") -> int:
        self.sizes.append(channels)
        self.parents.append(len(self.parents))
        if why_fixed:
            self.why_fixed[len(self.parents) - 1] = why_fixed
        return len(self.parents) - 1

    def root(self, group: int) -> int:
        while self.parents[group] != group:
            group = self.parents[group]
        return group

    def join(self, one: int, other: int) -> None:
        one, other = self.root(one), self.root(other)
        if one == other:
            return
        self.parents[other] = one
        if other in self.why_fixed:
            self.why_fixed.setdefault(one, self.why_fixed[other])

    def fix(self, space: Space | None, why: str) -> None:
        for segment in space.segments if space else ():
            self.why_fixed.setdefault(self.root(segment.group), why)

    def free_groups(self) -> dict[int, list[Producer]]:
        """The groups that can lose channels, with the layers that produce them, in the order of execution."""
        found: dict[int, list[Producer]] = {}
        for producer in self.producers:
            root = self.root(producer.group)
            if root not in self.why_fixed and self.sizes[root] > 1:
                found.setdefault(root, []).append(producer)
        return found

    def reasons(self) -> dict[str, str]:
        """Why the channels of a layer cannot go, for each layer that cannot lose any."""
        return {
            producer.layer: self.why_fixed[root]
            for producer in self.producers
            if (root := self.root(producer.group)) in self.why_fixed
        }


def trace_layout(model: nn.Module, inputs: Sequence[Tensor]) -> Layout:
    """The groups of a model.

    :param inputs: an example, ``[N, C, ...]`` each. The model runs once on it, in eval mode.
    :raises InputError: ``torch.fx`` cannot trace the model.
    :raises ShapeError: the example does not fit the model.
    """
    was_training = model.training
    model.eval()
    try:
        try:
            traced = fx.symbolic_trace(model)
        except Exception as error:
            raise InputError(
                f"the model cannot be traced: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
                hint="torch.fx follows no control flow that depends on tensors; compress the part without it",
            ) from error
        try:
            with torch.no_grad(), silent_tracing():
                ShapeProp(traced).propagate(*inputs)
        except MicrolithError:
            raise
        except Exception as error:
            shapes = ", ".join(str(list(item.shape)) for item in inputs)
            cause = error.__cause__ or error
            raise ShapeError(
                f"an input of shape {shapes} does not fit: {str(cause).splitlines()[0]}", where=type(model).__name__
            ) from error
        return _Reader(traced).layout
    finally:
        model.train(was_training)


class _Reader:
    """Walks the traced graph once, in the order of execution."""

    def __init__(self, traced: fx.GraphModule) -> None:
        self.modules = dict(traced.named_modules())
        self.spaces: dict[fx.Node, Space | None] = {}
        self.layout = Layout()
        calls = Counter(str(node.target) for node in traced.graph.nodes if node.op == "call_module")
        self.shared = {name for name, count in calls.items() if count > 1}
        for node in traced.graph.nodes:
            self.spaces[node] = self._read(node)

    def _read(self, node: fx.Node) -> Space | None:
        if node.op == "placeholder":
            return self._fixed(node, "an input of the model")
        if node.op == "output":
            return self._give_up(node, "an output of the model")
        if node.op == "call_module":
            return self._module(node, str(node.target))
        if node.op in ("call_function", "call_method"):
            return self._function(node, node.target)
        return None

    def _shape(self, node: Any) -> tuple[int, ...] | None:
        meta: Any = node.meta.get("tensor_meta") if isinstance(node, fx.Node) else None
        return tuple(meta.shape) if meta is not None and hasattr(meta, "shape") else None

    def _fixed(self, node: fx.Node, why: str) -> Space | None:
        shape = self._shape(node)
        if shape is None or len(shape) < 2:
            return None
        return Space(1, (Segment(self.layout.new_group(shape[1], why), shape[1]),))

    def _give_up(self, node: fx.Node, why: str) -> Space | None:
        """Fixes all that the node reads; nothing is known of its result."""
        for source in node.all_input_nodes:
            self.layout.fix(self.spaces.get(source), why)
        return None

    def _module(self, node: fx.Node, name: str) -> Space | None:
        module = self.modules[name]
        if isinstance(module, (_ConvNd, nn.Linear)):
            return self._weighted(node, name, module)
        if isinstance(module, (_BatchNorm, _InstanceNorm)) or (
            isinstance(module, nn.PReLU) and module.num_parameters > 1
        ):
            return self._per_channel(node, name)
        if isinstance(module, nn.Flatten):
            return self._flatten(node, module.start_dim, module.end_dim)
        if isinstance(module, rules.KEEPING_MODULES):
            return self._keep(node)
        if isinstance(module, rules.POOLING_MODULES):
            return self._keep(node, only_dim=1)
        return self._give_up(node, f"{name} is a {type(module).__name__}")

    def _source(self, node: fx.Node) -> Space | None:
        source = node.args[0] if node.args else node.kwargs.get("input")
        return self.spaces.get(source) if isinstance(source, fx.Node) else None

    def _keep(self, node: fx.Node, only_dim: int | None = None) -> Space | None:
        space = self._source(node)
        shape = self._shape(node)
        if space is None or shape is None or space.dim >= len(shape) or shape[space.dim] != space.size:
            return self._give_up(node, f"{node.name} changes the channels")
        if only_dim is not None and space.dim != only_dim:
            return self._give_up(node, f"{node.name} works along the channels")
        return space

    def _per_channel(self, node: fx.Node, name: str) -> Space | None:
        space = self._keep(node, only_dim=1)
        if space is not None:
            if name in self.shared:
                self.layout.fix(space, f"{name} is used more than once")
            self.layout.cuts.append(Cut(name, "both", space.segments))
        return space

    def _weighted(self, node: fx.Node, name: str, module: nn.Module) -> Space | None:
        space, shape = self._source(node), self._shape(node)
        if shape is None:
            return self._give_up(node, f"{name} has an output of unknown shape")
        dense = isinstance(module, nn.Linear)
        dim = len(shape) - 1 if dense else 1
        why = ""
        if name in self.shared:
            why = f"{name} is used more than once"
        elif getattr(module, "parametrizations", None) is not None:
            why = f"the weight of {name} is parametrized"
        elif isinstance(module, _ConvNd) and module.groups > 1:
            if module.groups == module.in_channels and space is not None and space.dim == 1:
                return self._depthwise(name, module, space)
            why = f"{name} has {module.groups} groups"
        if why or (space is not None and space.dim != dim):
            self.layout.fix(space, why or f"{name} works along another axis")
        elif space is not None:
            self.layout.cuts.append(Cut(name, "in", space.segments))
        channels = shape[dim]
        group = self.layout.new_group(channels, why)
        made = Space(dim, (Segment(group, channels),))
        self.layout.cuts.append(Cut(name, "out", made.segments))
        self.layout.producers.append(Producer(name, group, self._norm_after(node)))
        return made

    def _depthwise(self, name: str, module: _ConvNd, space: Space) -> Space:
        factor = module.out_channels // module.in_channels
        self.layout.cuts.append(Cut(name, "both", space.segments))
        return Space(1, tuple(Segment(item.group, item.channels, item.repeat * factor) for item in space.segments))

    def _norm_after(self, node: fx.Node) -> str | None:
        users = list(node.users)
        if len(users) == 1 and users[0].op == "call_module":
            module = self.modules[str(users[0].target)]
            if isinstance(module, _BatchNorm) and module.affine:
                return str(users[0].target)
        return None

    def _flatten(self, node: fx.Node, start: int, end: int) -> Space | None:
        source = node.args[0] if node.args else node.kwargs.get("input")
        space, before, after = self._source(node), self._shape(source), self._shape(node)
        if space is None or before is None or after is None:
            return self._give_up(node, f"{node.name} has an input that was not followed")
        if len(after) == len(before):
            return space
        if start % len(before) != 1 or end % len(before) != len(before) - 1 or space.dim != 1:
            return self._give_up(node, f"{node.name} flattens other axes than those behind the first")
        each = after[1] // before[1]
        return Space(1, tuple(Segment(item.group, item.channels, item.repeat * each) for item in space.segments))

    def _function(self, node: fx.Node, target: Callable[..., Any] | str) -> Space | None:
        key = target if isinstance(target, str) else getattr(target, "__name__", str(target))
        if self._shape(node) is None:
            return self._sizes(node, key)
        if key in rules.FLATTEN:
            start = node.args[1] if len(node.args) > 1 else node.kwargs.get("start_dim", 0)
            end = node.args[2] if len(node.args) > 2 else node.kwargs.get("end_dim", -1)
            return self._flatten(node, int(start), int(end))
        if key in rules.RESHAPE:
            return self._reshape(node)
        if key in rules.ARITHMETIC:
            return self._arithmetic(node)
        if key in rules.KEEPING:
            return self._keep(node)
        if key in rules.POOLING:
            return self._keep(node, only_dim=1)
        if key == "mean":
            return self._mean(node)
        if key in ("cat", "concat"):
            return self._concatenate(node)
        return self._give_up(node, f"{key} is not followed")

    def _sizes(self, node: fx.Node, key: str) -> Space | None:
        """A shape or a number: harmless, but for the number of channels."""
        if key in ("size", "getitem", "getattr"):
            return None
        return self._give_up(node, f"{key} is not followed")

    def _reshape(self, node: fx.Node) -> Space | None:
        sizes = node.args[1] if len(node.args) == 2 and isinstance(node.args[1], (tuple, list)) else node.args[1:]
        if len(sizes) == 2 and sizes[1] == -1:
            return self._flatten(node, 1, -1)
        return self._give_up(node, f"{node.name} states the number of features (flatten, or -1, follows pruning)")

    def _arithmetic(self, node: fx.Node) -> Space | None:
        sources = [item for item in node.args if isinstance(item, fx.Node)]
        shape = self._shape(node)
        spaces = [self.spaces.get(item) for item in sources]
        numbers = [item for item in sources if self._shape(item) in (None, ())]
        if len(sources) - len(numbers) == 1:
            return next(space for item, space in zip(sources, spaces, strict=True) if item not in numbers)
        first = spaces[0]
        same_rank = {len(self._shape(item) or ()) for item in sources} == {len(shape or ())}
        if any(space is None or first is None or space.dim != first.dim for space in spaces) or not same_rank:
            return self._give_up(node, f"{node.name} combines tensors that were not followed")
        widest = max((space for space in spaces if space), key=lambda space: space.size)
        for space in spaces:
            assert space is not None
            if space.size == 1 < widest.size:
                self.layout.fix(space, f"{node.name} repeats its only channel")
            elif [(item.channels, item.repeat) for item in space.segments] != [
                (item.channels, item.repeat) for item in widest.segments
            ]:
                return self._give_up(node, f"{node.name} combines channels of different origin")
            else:
                for one, other in zip(widest.segments, space.segments, strict=True):
                    self.layout.join(one.group, other.group)
        return widest

    def _mean(self, node: fx.Node) -> Space | None:
        source = node.args[0]
        space, before, after = self._source(node), self._shape(source), self._shape(node)
        dims = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
        if space is None or before is None or after is None or dims is None:
            return self._give_up(node, f"{node.name} is a mean over everything")
        taken = {int(item) % len(before) for item in (dims if isinstance(dims, (tuple, list)) else [dims])}
        if space.dim in taken or 0 in taken:
            return self._give_up(node, f"{node.name} is a mean over channels")
        gone = 0 if len(after) == len(before) else sum(1 for item in taken if item < space.dim)
        return Space(space.dim - gone, space.segments)

    def _concatenate(self, node: fx.Node) -> Space | None:
        parts: Any = node.args[0] if node.args else node.kwargs.get("tensors")
        dim: Any = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
        spaces = [self.spaces.get(item) for item in parts]
        rank = len(self._shape(node) or ())
        if any(space is None or space.dim != dim % rank for space in spaces):
            return self._give_up(node, f"{node.name} concatenates tensors that were not followed")
        return Space(dim % rank, tuple(item for space in spaces if space for item in space.segments))
