"""Takes out channels of integer layers that make no difference, without changing a bit of any output.

A channel of a convolution is constant when its filter is zero, and whenever its accumulator cannot leave one step of
the requantization, which bounds on the inputs tell. A constant channel goes into the bias of the layers that read it.
One that they multiply with zeros only is not needed either. Where a layer pads its input, the padding stands for the
zero point and not for the constant: there a constant can go only if it is the zero point itself, or if the border, too,
comes out the same. The sums are those of before modulo 2^32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ... import numerics
from ...dtypes import DType
from ...ir import Graph, Node, Quant, TensorType, Value
from ...ops.conv import finish_integer

_WEIGHTED = ("conv2d", "depthwise_conv2d", "dense")
_POOLS = ("max_pool2d", "avg_pool2d")
_PADS = ("pad_top", "pad_left", "pad_bottom", "pad_right")
_LIMIT = 2**31

Slot = tuple[int, int]
"""id of a value, channel."""


@dataclass(frozen=True)
class _Range:
    """The least and the greatest value of each channel, int64 [channels]."""

    low: np.ndarray
    high: np.ndarray

    @property
    def is_constant(self) -> np.ndarray:
        return self.low == self.high


def run(graph: Graph) -> bool:
    """One round; removals can make further channels constant or useless, so that the pass is to be repeated."""
    ranges: dict[int, _Range] = {}
    for node in graph.nodes:
        for value in node.outputs:
            if (found := _range_of(node, value, ranges)) is not None:
                ranges[id(value)] = found
    units = _Units(ranges)
    for node in graph.nodes:
        units.join(node)
    for value in (*graph.inputs, *(state.input for state in graph.states), *graph.results):
        units.keep_all(value)
    for node in graph.nodes:
        units.ask(node)
    keep = {key: mask for key, mask in units.masks(graph).items() if not mask.all()}
    if not keep:
        return False
    for node in graph.nodes:
        _shrink(graph, node, keep, ranges)
    return True


_MOST_CHANNELS = 1 << 16


def _channels(value: Value) -> int | None:
    """The length of the last dimension of an s8 activation, or None (also when it is far too many for channels)."""
    if value.dtype is not DType.s8 or value.is_constant or not value.shape or not isinstance(value.shape[-1], int):
        return None
    return value.shape[-1] if value.shape[-1] <= _MOST_CHANNELS else None


def _is_weighted(node: Node) -> bool:
    """A convolution or dense layer of s8 whose constants are all known."""
    if node.op not in _WEIGHTED or _channels(node.input(0)) is None or node.optional_input(3) is None:
        return False
    if node.op == "conv2d" and node.attrs["groups"] != 1:
        return False
    constants = [node.optional_input(index) for index in range(1, 5)]
    return all(value is None or value.is_constant for value in constants)


def _filters(node: Node) -> np.ndarray:
    """Weights less their zero points, int64 [output channels, taps, input channels]; depthwise: 1 input channel."""
    weights = _data(node, 1).astype(np.int64)
    if node.op == "depthwise_conv2d":
        filters = weights.reshape(-1, weights.shape[-1]).T[:, :, None]
    else:
        filters = weights.reshape(weights.shape[0], -1, weights.shape[-1])
    zeros = node.optional_input(4)
    shift = node.attrs["w_zero"] if zeros is None else _data(node, 4).astype(np.int64)[:, None, None]
    return np.asarray(filters - shift)


def _data(node: Node, index: int) -> np.ndarray:
    data = node.input(index).data
    assert data is not None
    return data


def _pads(node: Node) -> bool:
    return any(node.attrs.get(name, 0) for name in _PADS)


# --- what values a channel can have


def _range_of(node: Node, value: Value, ranges: Mapping[int, _Range]) -> _Range | None:
    channels = _channels(value)
    if channels is None:
        return None
    x = node.inputs[0] if node.inputs else None
    given = ranges.get(id(x)) if x is not None else None
    if _is_weighted(node):
        return _range_of_weighted(node, given or _whole_range(node.input(0)))
    if given is None:
        return None
    if node.op in _POOLS:
        return _range_of_pool(node, given)
    if _is_table(node):
        return _range_of_table(_data(node, 1), given)
    if _is_plain_reshape(node):
        return given
    return None


def _whole_range(value: Value) -> _Range:
    channels = _channels(value)
    assert channels is not None
    return _Range(np.full(channels, -128, np.int64), np.full(channels, 127, np.int64))


def _range_of_weighted(node: Node, x: _Range) -> _Range:
    filters, zero = _filters(node), node.attrs["x_zero"]
    low, high = x.low - zero, x.high - zero
    if node.op == "depthwise_conv2d":
        multiplier = filters.shape[0] // len(low)
        low, high = np.repeat(low, multiplier)[:, None, None], np.repeat(high, multiplier)[:, None, None]
    products = np.stack([filters * low, filters * high])
    if _pads(node):
        products = np.concatenate([products, np.zeros_like(products[:1])])
    bias = node.optional_input(2)
    start = np.zeros(filters.shape[0], np.int64) if bias is None else _data(node, 2).astype(np.int64)
    least = start + products.min(axis=0).sum(axis=(1, 2))
    most = start + products.max(axis=0).sum(axis=(1, 2))
    result = _Range(_requantized(node, least), _requantized(node, most))
    unsure = (least < -_LIMIT) | (most >= _LIMIT) | ((least != most) & _wraps(node, least, most))
    return _Range(np.where(unsure, node.attrs["q_min"], result.low), np.where(unsure, node.attrs["q_max"], result.high))


def _requantized(node: Node, sums: np.ndarray) -> np.ndarray:
    wrapped = numerics.wrap_int32(sums)[None]
    return finish_integer(wrapped, None, _data(node, 3), node.attrs, np.dtype(np.int8))[0].astype(np.int64)


def _wraps(node: Node, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Whether a left shift can drop bits, so that a larger sum may give a smaller value."""
    if node.attrs["rounding"] == numerics.FLOAT_EVEN:
        return np.zeros(len(least), bool)
    left = np.maximum(_data(node, 3)[1].astype(np.int64), 0)
    return (left > 0) & (np.maximum(np.abs(least), np.abs(most)) >= _LIMIT >> left)


def _range_of_pool(node: Node, x: _Range) -> _Range:
    low, high = x.low, x.high
    if node.op == "avg_pool2d":
        if node.attrs["rounding"] == numerics.FLOAT_EVEN:
            return _Range(np.full_like(low, node.attrs["q_min"]), np.full_like(high, node.attrs["q_max"]))
        if _pads(node) or node.attrs["extra_bottom"] or node.attrs["extra_right"]:
            low, high = np.minimum(low, node.attrs["x_zero"]), np.maximum(high, node.attrs["x_zero"])
    elif _pads(node) or node.attrs["extra_bottom"] or node.attrs["extra_right"]:
        low = np.minimum(low, node.attrs["q_min"])  # of a window with nothing in it
    return _Range(
        np.clip(low, node.attrs["q_min"], node.attrs["q_max"]), np.clip(high, node.attrs["q_min"], node.attrs["q_max"])
    )


def _range_of_table(table: np.ndarray, x: _Range) -> _Range:
    spans = [table[low + 128 : high + 129] for low, high in zip(x.low.tolist(), x.high.tolist(), strict=True)]
    return _Range(
        np.array([span.min() for span in spans], np.int64), np.array([span.max() for span in spans], np.int64)
    )


def _is_plain_reshape(node: Node) -> bool:
    """The channels stay the last dimension."""
    return (
        node.op == "reshape"
        and len([value for value in node.inputs if value is not None]) == 1
        and _channels(node.input(0)) is not None
        and _channels(node.input(0)) == _channels(node.output)
    )


# --- which channels can go together


@dataclass
class _Units:
    """Channels of several values that have to stay or go together, as a forest of slots."""

    ranges: Mapping[int, _Range]
    parents: dict[Slot, Slot] = field(default_factory=dict)
    needed: set[Slot] = field(default_factory=set)
    """Roots."""

    def root(self, slot: Slot) -> Slot:
        while (parent := self.parents.get(slot, slot)) != slot:
            self.parents[slot] = self.parents.get(parent, parent)
            slot = parent
        return slot

    def join(self, node: Node) -> None:
        """An op that treats each channel by itself joins those of its input and output."""
        if _passes_channels(node):
            for source, target in _pairs(node):
                self.parents[self.root((id(node.output), target))] = self.root((id(node.input(0)), source))

    def keep_all(self, value: Value) -> None:
        for channel in range(_channels(value) or 0):
            self.needed.add(self.root((id(value), channel)))

    def ask(self, node: Node) -> None:
        """Marks what a node needs of its inputs, and what it cannot help to make."""
        passes, weighted = _passes_channels(node), _is_weighted(node)
        for index, value in enumerate(node.inputs):
            channels = None if value is None else _channels(value)
            if value is None or channels is None or (passes and index == 0):
                continue
            free = (
                _can_absorb(node, self.ranges.get(id(value))) if weighted and index == 0 else np.zeros(channels, bool)
            )
            for channel in np.flatnonzero(~free).tolist():
                self.needed.add(self.root((id(value), channel)))
        if not passes and not weighted:
            for value in node.outputs:
                self.keep_all(value)

    def masks(self, graph: Graph) -> dict[int, np.ndarray]:
        """For each value the channels that stay, by id; at least one of each, and none against the rounding."""
        values = [value for value in graph.values() if _channels(value) is not None]
        while True:
            masks = {
                id(value): np.array([self.root((id(value), c)) in self.needed for c in range(_channels(value) or 0)])
                for value in values
            }
            settled = len(self.needed)
            for value in values:
                if len(masks[id(value)]) and not masks[id(value)].any():
                    self.needed.add(self.root((id(value), 0)))
            for node in graph.nodes:
                if _is_weighted(node) and _rounding(node, masks[id(node.output)]) is None:
                    self.keep_all(node.output)
            if len(self.needed) == settled:
                return masks


def _is_table(node: Node) -> bool:
    return node.op == "lut" and node.input(0).dtype is DType.s8 and node.input(1).is_constant


def _passes_channels(node: Node) -> bool:
    if node.op == "depthwise_conv2d":
        return _is_weighted(node)
    return _is_plain_reshape(node) or ((node.op in _POOLS or _is_table(node)) and _channels(node.input(0)) is not None)


def _pairs(node: Node) -> Iterator[tuple[int, int]]:
    """Input and output channels that belong together."""
    channels, made = _channels(node.input(0)), _channels(node.output)
    if channels and made:
        for target in range(made):
            yield target // (made // channels), target


def _can_absorb(node: Node, x: _Range | None) -> np.ndarray:
    """The input channels of a convolution or dense layer whose share can go into the bias, bool [channels]."""
    unused = ~_filters(node).any(axis=(0, 1))
    if x is None:
        return np.asarray(unused)
    fits = x.is_constant if not _pads(node) else x.is_constant & (x.low == node.attrs["x_zero"])
    return np.asarray(unused | fits)


def _rounding(node: Node, keep: np.ndarray) -> int | None:
    """The rounding attribute when only some output channels stay; None when there is none."""
    rounding: int = node.attrs["rounding"]
    if rounding != numerics.TFLITE_UP_BY_8 or keep.all():
        return rounding
    whole = len(keep) // 8 * 8
    up, away = int(keep[:whole].sum()), int(keep[whole:].sum())
    if away == 0:
        return numerics.TFLITE_UP
    if up == 0:
        return numerics.TFLITE_DOUBLE
    return rounding if up % 8 == 0 and away < 8 else None


# --- taking them out


def _shrink(graph: Graph, node: Node, keep: Mapping[int, np.ndarray], ranges: Mapping[int, _Range]) -> None:
    x = node.inputs[0] if node.inputs else None
    kept_in = keep.get(id(x)) if x is not None else None
    kept_out = keep.get(id(node.outputs[0])) if node.outputs else None
    if kept_in is None and kept_out is None:
        return
    if _is_weighted_now(node):
        _shrink_weighted(graph, node, kept_in, kept_out, ranges)
    elif node.op == "reshape" and kept_out is not None:
        node.attrs["shape"] = (*node.attrs["shape"][:-1], int(kept_out.sum()))
    if kept_out is not None:
        output = node.outputs[0]
        output.type = TensorType(output.dtype, (*output.shape[:-1], int(kept_out.sum())))


def _is_weighted_now(node: Node) -> bool:
    return node.op in _WEIGHTED and node.optional_input(3) is not None


def _shrink_weighted(
    graph: Graph, node: Node, kept_in: np.ndarray | None, kept_out: np.ndarray | None, ranges: Mapping[int, _Range]
) -> None:
    filters, weights = _filters(node), _data(node, 1)
    depthwise = node.op == "depthwise_conv2d"
    out = slice(None) if kept_out is None else kept_out
    bias = None if node.optional_input(2) is None else _data(node, 2).astype(np.int64)
    if kept_in is not None and not depthwise:
        x = ranges.get(id(node.input(0)))
        share = np.where(x.is_constant, x.low - node.attrs["x_zero"], 0) if x is not None else np.zeros(len(kept_in))
        moved = (filters.sum(axis=1) * np.where(kept_in, 0, share)).sum(axis=1).astype(np.int64)
        if moved.any():
            bias = numerics.wrap_int32(moved if bias is None else bias + moved)
        weights = weights[..., kept_in]
    if kept_out is not None:
        node.attrs["rounding"] = _rounding(node, kept_out)
    _replace(
        graph, node, 1, weights[..., out] if depthwise else weights[out], out, axis=weights.ndim - 1 if depthwise else 0
    )
    if bias is not None:
        _replace(graph, node, 2, bias[out].astype(np.int32), out)
    for index in (3, 4):
        if node.optional_input(index) is not None:
            _replace(graph, node, index, _data(node, index)[..., out], out)
    if depthwise:
        node.attrs["groups"] = weights.shape[-1] if kept_in is None else int(kept_in.sum())


def _replace(graph: Graph, node: Node, index: int, data: np.ndarray, out: slice | np.ndarray, axis: int = 0) -> None:
    old = node.optional_input(index)
    if old is not None and old.data is not None and old.data.shape == data.shape and np.array_equal(old.data, data):
        return
    quant = None if old is None else old.quant
    if quant is not None and quant.axis == axis:
        quant = Quant(quant.scale[out], quant.zero_point[out], quant.axis)
    name = f"{node.output.name}_bias" if old is None else old.name
    node.set_input(index, graph.constant(name, data, quant))
