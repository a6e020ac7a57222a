# SPDX-License-Identifier: Apache-2.0
"""Which tensor of one model is which of another: by origin, by name, and by order between those that are known.

Passes fuse, rename and remove layers. A tensor of a converted model knows the tensors of the original model that it
stands for (``Value.origins``); what was fused away has no counterpart and is not compared.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from ..float_layers import MOVES
from ..ir import KEEPS_NUMBERS
from .engines import Layer

_SUFFIX = re.compile(
    r"(_(QuantizeLinear|DequantizeLinear)_(Output|Input)|_(quantized|dequantized|integers|int8|uint8))+(_\d+)?$|:0$"
)
"""What converters and quantizers append to the name of a tensor."""


@dataclass(frozen=True)
class Match:
    """Two tensors that mean the same."""

    a: Layer
    b: Layer
    by: str
    """``origin``, ``output`` (the position among the outputs), ``name`` (up to a suffix) or ``order``."""


def match_layers(a: Sequence[Layer], b: Sequence[Layer]) -> list[Match]:
    """Pairs in the order of ``b``; no tensor of ``b`` stands in two."""
    found: dict[str, Match] = {}
    order = {layer.name: position for position, layer in enumerate(a)}
    by_key = _index(a, _keys)
    for layer in b:
        found |= _best(layer, [c for key in _keys(layer) for c in by_key.get(key, ())], order, "origin")
    outs_a, outs_b = ([layer for layer in layers if layer.is_output] for layers in (a, b))
    if len(outs_a) == len(outs_b):
        for one, other in zip(outs_a, outs_b, strict=True):
            found.setdefault(other.name, Match(one, other, "output"))
    by_stem = _index(a, lambda layer: {stem(name) for name in _keys(layer)})
    for layer in b:
        if layer.name not in found:
            names = {stem(name) for name in _keys(layer)}
            found |= _best(layer, [c for name in names for c in by_stem.get(name, ())], order, "name")
    by_name = {layer.name: layer for layer in b}
    for layer in reversed(b):  # in front of a layer that only gives numbers another form stand the same numbers
        if layer.op in KEEPS_NUMBERS and layer.name in found and layer.inputs:
            source = by_name.get(layer.inputs[0])
            if source is not None and source.name not in found:
                found[source.name] = Match(found[layer.name].a, source, found[layer.name].by)
    _by_order(a, b, found)
    return [found[layer.name] for layer in b if layer.name in found]


def _keys(layer: Layer) -> tuple[str, ...]:
    """The names of a tensor in the original model; its own is one only where nothing else is known."""
    return layer.origins or (layer.name,)


def stem(name: str) -> str:
    """A tensor's name without what quantizers append to it."""
    return _SUFFIX.sub("", name) or name


def _index(layers: Iterable[Layer], keys: Callable[[Layer], Iterable[str]]) -> dict[str, list[Layer]]:
    table: dict[str, list[Layer]] = {}
    for layer in layers:
        for key in keys(layer):
            table.setdefault(key, []).append(layer)
    return table


def _best(layer: Layer, candidates: Sequence[Layer], order: dict[str, int], by: str) -> dict[str, Match]:
    """The last candidate, those of the same sizes and quantization first: it is nearest to what later layers read."""
    if not candidates:
        return {}
    shaped = [item for item in candidates if _sizes(item) == _sizes(layer)]
    candidates = shaped or candidates
    fits = [item for item in candidates if item.quant is not None and item.quant == layer.quant]
    decoded = [item for item in candidates if item.op == "DequantizeLinear"] if layer.quant is not None else []
    pool = fits or decoded or candidates
    return {layer.name: Match(max(pool, key=lambda item: order[item.name]), layer, by)}


_KINDS = {"convolution": "conv", "fullyconnected": "dense", "gemm": "dense", "matmul": "dense", "batchmatmul": "dense"}


def _signature(layer: Layer) -> tuple[str, tuple[int, ...]]:
    """What kind of layer it is, and its sizes in any order of axes."""
    kind = re.sub(r"[^a-z]", "", layer.op.lower()).replace("depthwise", "").replace("qlinear", "")
    kind = next((short for short in ("conv", "pool", "mean") if short in kind), _KINDS.get(kind, kind))
    return kind, _sizes(layer)


def _sizes(layer: Layer) -> tuple[int, ...]:
    """The sizes in any order of axes."""
    return tuple(sorted(dim for dim in layer.shape if isinstance(dim, int) and dim > 1))


def _may_follow(layer: Layer, found: dict[str, Match]) -> bool:
    """Whether a tensor may be matched by its place; one whose numbers are only put in another order may not."""
    return layer.name not in found and bool(layer.shape) and layer.op not in MOVES


def _by_order(a: Sequence[Layer], b: Sequence[Layer], found: dict[str, Match]) -> None:
    """Pairs what is left by kind and sizes, between the pairs that are known on both sides."""
    taken = {match.a.name for match in found.values()}
    place = {layer.name: position for position, layer in enumerate(a)}
    start_a = start_b = 0
    anchors = [(place[found[layer.name].a.name], position) for position, layer in enumerate(b) if layer.name in found]
    for end_a, end_b in [*anchors, (len(a), len(b))]:
        left = [layer for layer in a[start_a:end_a] if layer.name not in taken and layer.shape]
        right = [layer for layer in b[start_b:end_b] if _may_follow(layer, found)]
        matcher = difflib.SequenceMatcher(None, [_signature(x) for x in left], [_signature(x) for x in right], False)
        for block in matcher.get_matching_blocks():
            for step in range(block.size):
                one, other = left[block.a + step], right[block.b + step]
                if _signature(one)[1]:
                    found[other.name] = Match(one, other, "order")
                    taken.add(one.name)
        start_a, start_b = max(start_a, end_a + 1), max(start_b, end_b + 1)


class Alignment:
    """How the axes of ``a`` have to be put to stand as those of ``b``; found at the first sample."""

    def __init__(self) -> None:
        self.perm: tuple[int, ...] | None = None

    def apply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
        """``a`` in the shape of ``b``; None when it has another number of elements."""
        if a.size != b.size:
            return None
        if self.perm is None or len(self.perm) != a.ndim:
            self.perm = _best_order(a, b)
        return a.transpose(self.perm).reshape(b.shape)


def _best_order(a: np.ndarray, b: np.ndarray) -> tuple[int, ...]:
    """The order of axes that fits the sizes; of several the one whose numbers agree best."""
    identity = tuple(range(a.ndim))
    wanted = [dim for dim in b.shape if dim != 1]
    orders = [identity]
    if a.ndim > 2 and a.ndim == b.ndim:
        orders += [(0, *range(2, a.ndim), 1), (0, a.ndim - 1, *range(1, a.ndim - 1))]
    fitting = [order for order in orders if [a.shape[axis] for axis in order if a.shape[axis] != 1] == wanted]
    if not fitting and a.ndim <= 5:
        fitting = [
            order
            for order in permutations(range(a.ndim))
            if [a.shape[axis] for axis in order if a.shape[axis] != 1] == wanted
        ]
    fitting = fitting or [identity]
    if len(fitting) == 1:
        return fitting[0]
    flat = _comparable(b).reshape(-1)
    return max(fitting, key=lambda order: float(_comparable(a).transpose(order).reshape(-1) @ flat))


def _comparable(array: np.ndarray) -> np.ndarray:
    """Without NaN and infinity, and small enough to be multiplied."""
    return np.clip(np.nan_to_num(array.astype(np.float64)), -1e100, 1e100)
