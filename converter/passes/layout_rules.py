"""How a permutation of axes moves through each op.

``y = transpose(x, perm)`` has ``y.shape[i] == x.shape[perm[i]]``. A rule answers for a node that reads y: which
attributes make the node compute the same from x, and which permutation of the new output gives the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...ir import Dim, Node

Perm = tuple[int, ...]


def inverse(perm: Sequence[int]) -> Perm:
    result = [0] * len(perm)
    for position, axis in enumerate(perm):
        result[axis] = position
    return tuple(result)


def compose(first: Sequence[int], second: Sequence[int]) -> Perm:
    """One permutation for ``transpose(transpose(x, first), second)``."""
    return tuple(first[axis] for axis in second)


@dataclass(frozen=True)
class Moved:
    """A node behind the move: its attributes that change, and the permutation that follows it."""

    perm: Perm
    attrs: dict[str, Any] = field(default_factory=dict)


def _keep(node: Node, perm: Perm) -> Moved | None:
    return Moved(perm)


def _permuted(*names: str) -> Callable[[Node, Perm], Moved]:
    """Attributes that have one entry for each axis."""

    def rule(node: Node, perm: Perm) -> Moved:
        back = inverse(perm)
        return Moved(perm, {name: tuple(node.attrs[name][axis] for axis in back) for name in names})

    return rule


def _axis(node: Node, perm: Perm) -> Moved | None:
    return Moved(perm, {"axis": perm[node.attrs["axis"] % len(perm)]})


def _reduce(node: Node, perm: Perm) -> Moved | None:
    mask = node.attrs["axes"]
    axes = [axis for axis in range(len(perm)) if mask >> axis & 1]
    attrs = {"axes": sum(1 << perm[axis] for axis in axes)}
    if node.attrs["keep_dims"]:
        return Moved(perm, attrs)
    return Moved(_without(perm, axes), attrs)


def _without(perm: Perm, axes: Sequence[int]) -> Perm:
    """The permutation of what is left when some axes of the output disappear."""
    kept = [source for position, source in enumerate(perm) if position not in axes]
    order = sorted(kept)
    return tuple(order.index(source) for source in kept)


def _gather(node: Node, perm: Perm) -> Moved | None:
    axis = node.attrs["axis"]
    rank = len(node.input(1).shape)
    if rank == 1:
        return Moved(perm, {"axis": perm[axis]})
    if rank == 0:
        return Moved(_without(perm, [axis]), {"axis": perm[axis]})
    return None


def _dense(node: Node, perm: Perm) -> Moved | None:
    return Moved(perm) if perm[-1] == len(perm) - 1 else None


def _last_axis(node: Node, perm: Perm) -> Moved | None:
    """A normalization over the last axis alone."""
    return _dense(node, perm) if node.attrs.get("axis", len(perm) - 1) == len(perm) - 1 else None


def _last_axes(node: Node, perm: Perm) -> Moved | None:
    """Normalizations over the axes from ``axis`` on, which must stay where they are."""
    fixed = range(node.attrs["axis"], len(perm))
    return Moved(perm) if all(perm[axis] == axis for axis in fixed) else None


def _sample_and_channel(node: Node, perm: Perm) -> Moved | None:
    """Normalizations of each sample by channels, the first and the last axis."""
    return Moved(perm) if perm[0] == 0 and perm[-1] == len(perm) - 1 else None


def _position(node: Node, perm: Perm) -> Moved | None:
    axis = node.attrs["axis"]
    return Moved(perm if node.attrs["keep_dims"] else _without(perm, [axis]), {"axis": perm[axis]})


def _expand(node: Node, perm: Perm) -> Moved | None:
    if len(node.attrs["shape"]) != len(perm):
        return None
    return _permuted("shape")(node, perm)


def _resize(node: Node, perm: Perm) -> Moved | None:
    names = ("scale", "size", "roi_begin", "roi_end")
    return _permuted(*(name for name in names if node.attrs[name]))(node, perm)


def _dequantize(node: Node, perm: Perm) -> Moved | None:
    axis = node.attrs["axis"]
    return Moved(perm, {} if axis < 0 else {"axis": perm[axis]})


def _reshape(node: Node, perm: Perm) -> Moved | None:
    swapped = swap_reshape(node.input(0).shape, node.output.shape, perm)
    return None if swapped is None else Moved(swapped[1], {"shape": swapped[0], "allow_zero": 0})


def swap_reshape(shape: Sequence[Dim], target: Sequence[Dim], perm: Perm) -> tuple[tuple[int, ...], Perm] | None:
    """For ``reshape(transpose(x, perm), target)``, where the transposed value has ``shape``: (new, order) so that it
    equals ``transpose(reshape(x, new), order)``. None when the reshape mixes axes that do not lie together in x.
    """
    symbols = sorted(dim for dim in shape if isinstance(dim, str))
    alike = symbols == sorted(dim for dim in target if isinstance(dim, str)) and len(set(symbols)) == len(symbols)
    if not alike or len(symbols) > len(_PRIMES) or 0 in shape:
        return None
    numbers = dict(zip(symbols, _PRIMES, strict=False))
    groups = _groups(*([numbers[dim] if isinstance(dim, str) else dim for dim in dims] for dims in (shape, target)))
    keyed: list[tuple[list[int], list[int]]] = []
    last: list[int] = [-1]
    for sources, targets in groups:
        places = [perm[axis] for axis in sources if shape[axis] != 1]
        if places != sorted(places) or not _are_neighbours(places, shape, perm):
            return None
        last = places[:1] or ([perm[sources[0]]] if sources else last)
        keyed.append((last, targets))
    ordered = [axis for _, targets in sorted(keyed, key=lambda item: item[0]) for axis in targets]
    new = sizes_for([shape[axis] for axis in inverse(perm)], [target[axis] for axis in ordered])
    return None if new is None else (new, inverse(ordered))


def shuffle_parts(shape: Sequence[Dim], target: Sequence[Dim], perm: Perm) -> tuple[Perm, tuple[int, ...], Perm] | None:
    """For ``reshape(transpose(x, perm), target)`` with axes that do not lie together in x: (inside, new, outside), so
    that it equals ``transpose(reshape(transpose(x, inside), new), outside)``, where ``inside`` only changes the order
    within the groups of axes that are merged. None when nothing is left for ``outside``.
    """
    if not all(isinstance(dim, int) and dim > 0 for dim in (*shape, *target)):
        return None
    groups = _groups([int(dim) for dim in shape], [int(dim) for dim in target])
    if not all(sources and targets for sources, targets in groups):
        return None
    groups.sort(key=lambda group: min(perm[axis] for axis in group[0]))
    inside = tuple(perm[axis] for sources, _ in groups for axis in sources)
    order = tuple(axis for _, targets in groups for axis in targets)
    if inside == tuple(sorted(inside)) or order == tuple(sorted(order)):
        return None
    return inside, tuple(int(target[axis]) for axis in order), inverse(order)


_PRIMES = (2**61 - 1, 2**89 - 1, 2**107 - 1, 2**127 - 1)
"""Stand for symbols, since they divide no size."""


def sizes_for(shape: Sequence[Dim], target: Sequence[Dim]) -> tuple[int, ...] | None:
    """The attribute of a reshape from ``shape`` to ``target``: a symbol keeps its place, or one is inferred."""
    sizes = [
        dim if isinstance(dim, int) else 0 if axis < len(shape) and shape[axis] == dim else -1
        for axis, dim in enumerate(target)
    ]
    return tuple(sizes) if sizes.count(-1) <= 1 else None


def _groups(shape: Sequence[int], target: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The smallest runs of axes of both shapes that hold the same number of elements."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(shape) or j < len(target):
        sources: list[int] = []
        targets: list[int] = []
        left = right = 1
        if i < len(shape):
            sources, left, i = [i], shape[i], i + 1
        if j < len(target):
            targets, right, j = [j], target[j], j + 1
        while left != right:
            if left < right and i < len(shape):
                sources.append(i)
                left, i = left * shape[i], i + 1
            elif j < len(target):
                targets.append(j)
                right, j = right * target[j], j + 1
            else:
                break
        groups.append((sources, targets))
    return groups


def _are_neighbours(places: Sequence[int], shape: Sequence[Dim], perm: Perm) -> bool:
    """Whether no other axis of more than one element lies between some axes of x."""
    if len(places) < 2:
        return True
    sizes = {source: shape[position] for position, source in enumerate(perm)}
    between = range(places[0], places[-1] + 1)
    return all(axis in places or sizes[axis] == 1 for axis in between)


# fmt: off
ELEMENTWISE = frozenset({
    "relu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "neg", "abs", "floor", "ceil", "round", "sin", "cos",
    "erf", "gelu", "softplus", "hard_sigmoid", "hard_swish", "silu", "reciprocal", "sign", "square", "leaky_relu",
    "elu", "clip", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "celu", "selu",
    "thresholded_relu", "shrink", "softsign", "mish", "swish", "is_nan", "is_inf", "lut", "cast",
    "quantize", "requantize", "logical_not",
    "bitwise_not", "sigmoid_ordered", "tanh_ordered",
})
"""Ops of one tensor that treat each element alike."""

BROADCASTING = frozenset({
    "add", "sub", "mul", "div", "max", "min", "pow", "squared_difference", "prelu", "mod", "where", "equal",
    "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bit_shift_left", "bit_shift_right",
})
"""Ops of several tensors that broadcast."""
# fmt: on

RULES: dict[str, Callable[[Node, Perm], Moved | None]] = {
    **dict.fromkeys(ELEMENTWISE, _keep),
    **dict.fromkeys(BROADCASTING, _keep),
    **dict.fromkeys(("softmax", "log_softmax", "concat"), _axis),
    **dict.fromkeys(("reduce_mean", "reduce_sum", "reduce_max", "reduce_min", "reduce_prod"), _reduce),
    **dict.fromkeys(("layer_norm", "rms_norm", "lrn"), _last_axis),
    **dict.fromkeys(("layer_norm", "rms_norm"), _last_axes),
    **dict.fromkeys(("argmax", "argmin"), _position),
    "dense": _dense,
    "dequantize": _dequantize,
    "expand": _expand,
    "gather": _gather,
    "group_norm": _sample_and_channel,
    "lrn": _dense,
    "pad": _permuted("before", "after"),
    "reshape": _reshape,
    "resize": _resize,
    "slice": _permuted("start", "size", "step"),
}
