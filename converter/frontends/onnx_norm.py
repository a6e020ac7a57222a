"""ONNX normalizations. Those over channels become ops with channels last, between two transposes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import Dim, Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_math import axis_of, checked_axis, implied_by_broadcast
from .onnx_reduce import reduced


def batch_normalization(g: Builder, node: OnnxNode) -> Value | list[Value]:
    """BatchNormalization: in inference one factor and one summand per channel, in training with running statistics."""
    x = node.value(0)
    if len(x.shape) < 2:
        raise Reject(f"the input has shape {x.shape}, expected at least two dimensions")
    if node.opset < 9 and node.integer("spatial", 1) != 1:
        return _of_each_element(g, node, x)
    for index, name in enumerate(("scale", "B", "mean", "var"), start=1):
        if not _fits(node.value(index), (x.shape[1],)):
            raise Reject(f"input '{name}' has shape {node.value(index).shape}, the input has {x.shape[1]} channels")
    scale, offset, mean, variance = (node.value(index) for index in range(1, 5))
    for vector in (scale, offset, mean, variance):
        g.implies(x, 1, vector.shape[0])
    epsilon = node.real("epsilon", 1e-5)
    if node.integer("training_mode", 0):
        return _training(g, node, x, epsilon)
    if any(node.wants(index) for index in range(1, 5)):
        raise Reject("saved statistics are not supported", "export the model in evaluation mode")
    arrays = [value.data for value in (scale, offset, mean, variance)]
    if all(array is not None for array in arrays):
        wide = [np.asarray(array, np.float64) for array in arrays]
        factor = wide[0] / np.sqrt(wide[3] + epsilon)
        summand = g.const((wide[1] - wide[2] * factor).astype(np.float32), "summand")
        y = g.add("mul", [x, _per_channel(g, g.const(factor.astype(np.float32), "factor"), x)])
        return g.add("add", [y, _per_channel(g, summand, x)])
    return _batch_affine(g, x, (scale, offset, mean, variance), epsilon)


def _of_each_element(g: Builder, node: OnnxNode, x: Value) -> Value:
    """Opsets before 9 with ``spatial`` 0: statistics of each element, not of each channel."""
    parameters = [node.value(index) for index in range(1, 5)]
    for value, name in zip(parameters, ("scale", "B", "mean", "var"), strict=True):
        if not _fits(value, x.shape[1:]):
            raise Reject(f"input '{name}' has shape {value.shape}, each of the batch has {x.shape[1:]}")
        for axis, size in enumerate(value.shape, start=1):
            g.implies(x, axis, size)
    scale, offset, mean, variance = parameters
    epsilon = g.const(np.float32(node.real("epsilon", 1e-5)), "epsilon")
    factor = g.add("mul", [scale, g.add("rsqrt", [g.add("add", [variance, epsilon])])])
    return g.add("add", [g.add("mul", [g.add("sub", [x, mean]), factor]), offset])


def _batch_affine(g: Builder, x: Value, parameters: Sequence[Value], epsilon: float) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset, with vectors of one number per channel."""
    scale, offset, mean, variance = parameters
    inverse = g.add("rsqrt", [g.add("add", [variance, g.const(np.float32(epsilon), "epsilon")])])
    centred = g.add("sub", [x, _per_channel(g, mean, x)])
    y = g.add("mul", [centred, _per_channel(g, g.add("mul", [inverse, scale]), x)])
    return g.add("add", [y, _per_channel(g, offset, x)])


def _training(g: Builder, node: OnnxNode, x: Value, epsilon: float) -> list[Value]:
    """The statistics of the batch, and the running ones moved towards them."""
    axes = [axis for axis in range(len(x.shape)) if axis != 1]
    scale, offset, running_mean, running_variance = (node.value(index) for index in range(1, 5))
    mean = reduced(g, "reduce_mean", x, axes, keep_dims=False)
    centred = g.add("sub", [x, _per_channel(g, mean, x)])
    variance = reduced(g, "reduce_mean", g.add("square", [centred]), axes, keep_dims=False)
    y = _batch_affine(g, x, (scale, offset, mean, variance), epsilon)
    momentum = node.real("momentum", 0.9)

    def moved(old: Value, new: Value) -> Value:
        kept = g.add("mul", [old, g.const(np.float32(momentum), "momentum")])
        return g.add("add", [kept, g.add("mul", [new, g.const(np.float32(1.0 - momentum), "rest")])])

    return [y, moved(running_mean, mean), moved(running_variance, variance)]


def _fits(value: Value, shape: Sequence[Dim]) -> bool:
    """Whether a value has this shape as far as both are known."""
    return len(value.shape) == len(shape) and all(
        isinstance(a, str) or isinstance(b, str) or a == b for a, b in zip(value.shape, shape, strict=True)
    )


def _per_channel(g: Builder, vector: Value, x: Value) -> Value:
    """[c, 1, ...], which broadcasts over the channels-first ``x``."""
    return g.reshape(vector, (vector.shape[0], *[1] * (len(x.shape) - 2)))


def _channels_last(g: Builder, x: Value) -> Value:
    return g.transpose(x, (0, *range(2, len(x.shape)), 1))


def _channels_first(g: Builder, x: Value) -> Value:
    rank = len(x.shape)
    return g.transpose(x, (0, rank - 1, *range(1, rank - 1)))


def instance_normalization(g: Builder, node: OnnxNode) -> Value:
    """InstanceNormalization over the spatial dimensions: every channel is a group."""
    x = node.value(0)
    if len(x.shape) < 3:
        raise Reject(f"the input has shape {x.shape}, expected spatial dimensions")
    return _grouped(g, x, _channels(x, node.value(1)), node.value(1), node.value(2), node.real("epsilon", 1e-5))


def group_normalization(g: Builder, node: OnnxNode) -> Value:
    """GroupNormalization; scale and bias per group before opset 21, per channel since."""
    x, scale, offset = node.value(0), node.value(1), node.value(2)
    groups, epsilon = node.integer("num_groups", 0), node.real("epsilon", 1e-5)
    if node.opset < 21 and len(x.shape) > 1 and isinstance(x.shape[1], str) and groups > 0:
        flat = _grouped(g, g.reshape(x, (x.shape[0], groups, None)), groups, scale, offset, epsilon)
        y = g.add("reshape", [flat, g.sizes_of(x, 0, len(x.shape))])
        return g.known(y, x.shape)
    channels = _channels(x, None if node.opset < 21 else scale)
    if groups < 1 or channels % groups:
        raise Reject(f"attribute 'num_groups' is {groups}, the input has {channels} channels")
    if node.opset < 21:
        scale, offset = (_for_each_channel(g, vector, groups, channels) for vector in (scale, offset))
    return _grouped(g, x, groups, scale, offset, epsilon)


def _channels(x: Value, weights: Value | None) -> int:
    """The number of channels of the input; where it is open, that of the weights."""
    if len(x.shape) < 2:
        raise Reject(f"the input has shape {x.shape}, expected channels")
    number = weights.shape[0] if weights is not None and isinstance(x.shape[1], str) else x.shape[1]
    if isinstance(number, str):
        raise Reject(f"the input has shape {x.shape}; the number of channels must be known", FIX_SIZES)
    return number


def _for_each_channel(g: Builder, vector: Value, groups: int, channels: int) -> Value:
    """A vector of one number per group as one of one number per channel."""
    spread = g.add("expand", [g.reshape(vector, (groups, 1))], {"shape": (groups, channels // groups)})
    return g.reshape(spread, (channels,))


def _grouped(g: Builder, x: Value, groups: int, scale: Value, offset: Value, epsilon: float) -> Value:
    inputs = [_channels_last(g, x), scale, offset]
    return _channels_first(g, g.add("group_norm", inputs, {"groups": groups, "epsilon": epsilon}))


def layer_normalization(g: Builder, node: OnnxNode) -> list[Value]:
    """LayerNormalization over the axes from ``axis``; the outputs Mean and InvStdDev where they are wanted."""
    x, scale, bias = node.value(0), node.value(1), node.optional(2)
    axis = axis_of(node, "axis", -1, len(x.shape))
    attrs = {
        "axis": axis,
        "epsilon": node.real("epsilon", 1e-5),
        "with_statistics": int(node.wants(1) or node.wants(2)),
    }
    for value in (scale, bias):
        implied_by_broadcast(g, x, value)
    fused = [value if value is not None and value.shape == x.shape[axis:] else None for value in (scale, bias)]
    if fused[0] is None:
        fused[1] = None
    outputs = g.add_all("layer_norm", [x, *fused], attrs)
    if fused[0] is None:
        outputs[0] = g.add("mul", [outputs[0], scale])
    if bias is not None and fused[1] is None:
        outputs[0] = g.add("add", [outputs[0], bias])
    return outputs


def rms_normalization(g: Builder, node: OnnxNode) -> Value:
    """RMSNormalization over the axes from ``axis``."""
    x, scale = node.value(0), node.value(1)
    axis = axis_of(node, "axis", -1, len(x.shape))
    attrs = {"axis": axis, "epsilon": node.real("epsilon", 1e-5)}
    implied_by_broadcast(g, x, scale)
    if scale.shape == x.shape[axis:]:
        return g.add("rms_norm", [x, scale], attrs)
    return g.add("mul", [g.add("rms_norm", [x], attrs), scale])


def simplified_layer_normalization(g: Builder, node: OnnxNode) -> Value:
    """SimplifiedLayerNormalization, under which name ONNX Runtime writes RMSNormalization into ONNX's own domain."""
    if node.wants(1):
        raise Reject("the output of the deviation is not supported")
    return rms_normalization(g, node)


def mean_variance_normalization(g: Builder, node: OnnxNode) -> Value:
    """MeanVarianceNormalization."""
    x = node.value(0)
    rank = len(x.shape)
    # ONNX states no rank beside the default axes; ONNX Runtime takes those that there are, whoever gives them.
    axes = [checked_axis(axis, rank, "an axis") for axis in node.integers("axes") or [0, 2, 3] if axis < rank]
    if not axes:
        raise Reject(f"an input of shape {x.shape} has none of the axes")
    centred = g.add("sub", [x, reduced(g, "reduce_mean", x, axes)])
    deviation = g.add("sqrt", [reduced(g, "reduce_mean", g.add("square", [centred]), axes)])
    return g.add("div", [centred, g.add("add", [deviation, g.const(np.float32(1e-9), "epsilon")])])


def lp_normalization(g: Builder, node: OnnxNode) -> Value:
    """LpNormalization with p 1 or 2; what has norm 0 stays 0."""
    x = node.value(0)
    axis, p = axis_of(node, "axis", -1, len(x.shape)), node.integer("p", 2)
    if p not in (1, 2):
        raise Reject(f"attribute 'p' is {p}, expected 1 or 2")
    norm = reduced(g, "reduce_sum", g.add("abs" if p == 1 else "square", [x]), [axis])
    norm = norm if p == 1 else g.add("sqrt", [norm])
    return g.add("div", [x, g.add("max", [norm, g.const(np.float32(1e-38), "tiny")])])


def local_response_normalization(g: Builder, node: OnnxNode) -> Value:
    """LRN over neighbouring channels."""
    x, size = node.value(0), node.integer("size", 0)
    if len(x.shape) < 2 or size < 1:
        raise Reject(f"attribute 'size' is {size} and the input has shape {x.shape}")
    attrs = {
        "before": (size - 1) // 2,
        "after": size // 2,
        "alpha": node.real("alpha", 1e-4) / size,
        "beta": node.real("beta", 0.75),
        "bias": node.real("bias", 1.0),
    }
    return _channels_first(g, g.add("lrn", [_channels_last(g, x)], attrs))


ROWS: dict[str, Row] = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "InstanceNormalization": instance_normalization,
    "LRN": local_response_normalization,
    "LayerNormalization": layer_normalization,
    "LpNormalization": lp_normalization,
    "MeanVarianceNormalization": mean_variance_normalization,
    "RMSNormalization": rms_normalization,
    "SimplifiedLayerNormalization": simplified_layer_normalization,
}
