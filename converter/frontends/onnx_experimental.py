"""Experimental operators of ONNX 1.0, which converters of Core ML and Caffe2 wrote, and ONNX Runtime still knows.

They were taken out of ONNX with opset 10; their definition is in its docs/Operators.md of release 1.2, under
"experimental". A few of them stand in front of many networks of that time, to take pixels to real numbers.
"""

from __future__ import annotations

import numpy as np
import onnx

from ...ir import Value
from . import onnx_shapes
from .onnx_graph import Builder, OnnxNode, Reject, Row
from .onnx_math import linear

END = 2**31 - 1
"""Behind the last element of any dimension."""


def affine(g: Builder, node: OnnxNode) -> Value:
    """Affine: alpha * x + beta."""
    return linear(g, node.value(0), node.real("alpha", 1.0), node.real("beta", 0.0))


def image_scaler(g: Builder, node: OnnxNode) -> Value:
    """ImageScaler: the pixels times one factor, plus a number for each channel."""
    x, bias = node.value(0), node.reals("bias")
    if len(x.shape) != 4:
        raise Reject(f"input of shape {x.shape} is no batch of images")
    if bias is not None and isinstance(x.shape[1], int) and len(bias) != x.shape[1]:
        raise Reject(f"attribute 'bias' has {len(bias)} numbers for {x.shape[1]} channels")
    y = linear(g, x, node.real("scale", 1.0))
    return y if bias is None else g.add("add", [y, g.const(np.array(bias, np.float32).reshape(-1, 1, 1))])


def crop(g: Builder, node: OnnxNode) -> Value:
    """Crop: the inner part of images, without borders, or from a corner with a given height and width."""
    x, border, size = node.value(0), node.integers("border"), node.integers("scale")
    if len(x.shape) != 4 or border is None or len(border) != 4 or min(border) < 0:
        raise Reject(
            f"attribute 'border' is {border} for an input of shape {x.shape}, expected four numbers and images"
        )
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise Reject(f"attribute 'scale' is {size}, expected a height and a width")
    left, top, right, bottom = border
    ends = [-bottom or END, -right or END] if size is None else [top + size[0], left + size[1]]
    parts = [g.const(np.array(part, np.int64)) for part in ([top, left], ends, [2, 3])]
    proto = onnx.NodeProto(op_type="Slice", name=node.name, output=node.output_names)
    return onnx_shapes.slice_(g, OnnxNode(proto, [x, *parts], 13, node.name))


def parametric_softplus(g: Builder, node: OnnxNode) -> Value:
    """ParametricSoftplus: alpha * log(1 + exp(beta * x))."""
    y = g.add("softplus", [linear(g, node.value(0), node.real("beta", 1.0))])
    return linear(g, y, node.real("alpha", 1.0))


def scaled_tanh(g: Builder, node: OnnxNode) -> Value:
    """ScaledTanh: alpha * tanh(beta * x)."""
    y = g.add("tanh", [linear(g, node.value(0), node.real("beta", 1.0))])
    return linear(g, y, node.real("alpha", 1.0))


def scale(g: Builder, node: OnnxNode) -> Value:
    """Scale: a factor times x."""
    return linear(g, node.value(0), node.real("scale", 1.0))


ROWS: dict[str, Row] = {
    "Affine": affine,
    "Crop": crop,
    "ImageScaler": image_scaler,
    "ParametricSoftplus": parametric_softplus,
    "Scale": scale,
    "ScaledTanh": scaled_tanh,
}
