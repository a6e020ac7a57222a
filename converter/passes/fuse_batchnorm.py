"""Multiplications and additions by constants (which is what a batch normalization is) become part of the weights of
the convolution or matrix product beside them.

Behind it: each output channel is scaled and shifted. In front of it: each input channel is scaled; a shift only where
nothing is padded, because padding is zero after the shift.
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Node, Quant, Value
from ...rewrite import only_user
from .edits import is_float, is_unclamped, substitute, sweep

OUT_AXIS = {"conv2d": 0, "conv3d": 4, "conv_transpose": -1, "depthwise_conv2d": 3, "dense": 0}
"""The axis of the weights that counts the output channels (of one group: conv_transpose)."""

EVEN = frozenset({"conv2d", "depthwise_conv2d", "dense"})
"""Ops for which a constant input without padding gives a constant output."""


def run(graph: Graph) -> bool:
    return sweep(lambda: _candidates(graph), lambda node: _fuse_behind(graph, node) or _fuse_in_front(graph, node))


def _candidates(graph: Graph) -> list[Node]:
    return [
        node
        for node in graph.nodes
        if node.op in ("add", "sub", "mul", "div") and is_float(node) and is_unclamped(node)
    ]


def _fuse_behind(graph: Graph, node: Node) -> bool:
    for index in (0, 1):
        layer = node.input(index).producer
        if layer is None or not _is_open(layer) or only_user(graph, layer.output) is not node:
            continue
        channels = layer.output.shape[-1]
        affine = _affine(node, index, channels, layer.output)
        if affine is None:
            continue
        factor, summand = affine
        bias = layer.optional_input(2)
        old = np.zeros(factor.shape) if bias is None or bias.data is None else bias.data.astype(np.float64)
        _set_weights(graph, layer, _scaled(layer, factor), _scaled_origin(layer, factor))
        _set_bias(graph, layer, old * factor + summand)
        return substitute(graph, node.output, layer.output)
    return False


def _is_open(layer: Node) -> bool:
    """Whether the weights of a float layer can be changed."""
    if layer.op not in OUT_AXIS or not is_float(layer) or not is_unclamped(layer):
        return False
    bias = layer.optional_input(2)
    return layer.input(1).is_constant and (bias is None or bias.is_constant)


def _affine(node: Node, index: int, channels: object, x: Value) -> tuple[np.ndarray, np.ndarray] | None:
    """(factor, summand) in float64, one per channel, that do what the node does to its operand ``index``."""
    other = node.input(1 - index)
    if other.data is None or node.output.shape != x.shape or not isinstance(channels, int):
        return None
    shape = other.data.shape
    if any(dim != 1 for dim in shape[:-1]) or (shape and shape[-1] not in (1, channels)):
        return None
    vector = np.broadcast_to(other.data.reshape(-1).astype(np.float64), (channels,))
    one, zero = np.ones(channels), np.zeros(channels)
    if node.op == "add":
        return one, vector
    if node.op == "sub":
        return (one, -vector) if index == 0 else (-one, vector)
    if node.op == "mul":
        return vector, zero
    return (one / vector, zero) if index == 0 and np.all(vector != 0) else None


def _fuse_in_front(graph: Graph, node: Node) -> bool:
    layer = only_user(graph, node.output)
    if layer is None or not _is_open(layer) or layer.input(0) is not node.output:
        return False
    for index in (0, 1):
        x = node.input(index)
        channels = node.output.shape[-1]
        affine = None if x.is_constant else _affine(node, index, channels, x)
        if affine is None:
            continue
        factor, summand = affine
        if layer.op not in EVEN and (np.any(summand != 0) or (layer.op == "conv3d" and layer.attrs["groups"] > 1)):
            return False
        if np.any(summand != 0) and any(layer.attrs.get(f"pad_{side}") for side in ("top", "left", "bottom", "right")):
            return False
        even = bool(np.all(factor == factor[0]))
        if layer.input(1).decoded_from is not None and not even:
            return False  # the weights of a channel would have no scale in common any more
        bias = layer.optional_input(2)
        shift = _response(layer, summand)
        if bias is not None and bias.data is not None:
            shift = shift + bias.data
        origin = _scaled_origin(layer, factor[:1]) if even else None
        _set_weights(graph, layer, _scaled_inputs(layer, factor), origin)
        if bias is not None or np.any(shift != 0):
            _set_bias(graph, layer, shift)
        layer.set_input(0, x)
        graph.remove(node)
        return True
    return False


def _weights(layer: Node) -> np.ndarray:
    data = layer.input(1).data
    assert data is not None
    return data.astype(np.float64)


def _scaled(layer: Node, factor: np.ndarray) -> np.ndarray:
    weights, axis = _weights(layer), OUT_AXIS[layer.op]
    if layer.op == "conv_transpose":
        # Input channels are grouped; each group has output channels of its own.
        groups, width = layer.attrs["groups"], weights.shape[-1]
        grouped = weights.reshape(*weights.shape[:-2], groups, -1, width)
        return (grouped * factor.reshape(groups, 1, width)).reshape(weights.shape)
    return weights * factor.reshape([-1 if i == axis else 1 for i in range(weights.ndim)])


def _scaled_origin(layer: Node, factor: np.ndarray) -> Quant | None:
    """The quantization of weights whose output channels were multiplied, where that is one: the integers stay."""
    quant, axis = layer.input(1).decoded_from, OUT_AXIS[layer.op]
    if quant is None or layer.op not in EVEN or np.any(quant.zero_point):
        return None
    if quant.scale.size > 1 and quant.axis != axis:
        return None
    scale = quant.scale.astype(np.float64) * np.where(factor == 0, 1.0, np.abs(factor))
    return Quant(scale.astype(np.float32), np.zeros(scale.size, np.int64), axis if scale.size > 1 else None)


def _per_input(layer: Node, vector: np.ndarray) -> np.ndarray:
    """One number per input channel, laid out so that it broadcasts over the weights."""
    weights = layer.input(1).type.static_shape
    if layer.op == "depthwise_conv2d":
        return np.repeat(vector, weights[3] // vector.size)
    if layer.op in ("conv3d", "conv_transpose"):
        return vector.reshape(-1, 1)
    if layer.op == "conv2d" and layer.attrs["groups"] > 1:
        groups = layer.attrs["groups"]
        per_group = vector.reshape(groups, 1, weights[3])
        return np.repeat(per_group, weights[0] // groups, axis=1).reshape(weights[0], 1, 1, weights[3])
    return vector


def _scaled_inputs(layer: Node, factor: np.ndarray) -> np.ndarray:
    return _weights(layer) * _per_input(layer, factor)


def _response(layer: Node, summand: np.ndarray) -> np.ndarray:
    """What each output channel gets from a constant input."""
    weights = _weights(layer)
    product = weights * _per_input(layer, summand)
    axis = OUT_AXIS[layer.op]
    return product.sum(axis=tuple(i for i in range(weights.ndim) if i != axis))


def _set_weights(graph: Graph, layer: Node, data: np.ndarray, origin: Quant | None) -> None:
    old = layer.input(1)
    if old.data is None or not np.array_equal(old.data, data):
        made = graph.constant(old.name, data.astype(np.float32))
        made.decoded_from = origin
        layer.set_input(1, made)


def _set_bias(graph: Graph, layer: Node, data: np.ndarray) -> None:
    old = layer.optional_input(2)
    name = f"{layer.output.name}_bias" if old is None else old.name
    layer.set_input(2, graph.constant(name, data.astype(np.float32)))
