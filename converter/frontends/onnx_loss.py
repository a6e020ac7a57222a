"""ONNX losses, made of reductions and a comparison with the labels."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_reduce import reduced

REDUCTIONS = ("none", "mean", "sum")


def negative_log_likelihood(g: Builder, node: OnnxNode) -> Value:
    """NegativeLogLikelihoodLoss of log probabilities [N, C, ...] and labels [N, ...]."""
    return _loss(g, node, node.value(0))


def softmax_cross_entropy(g: Builder, node: OnnxNode) -> list[Value]:
    """SoftmaxCrossEntropyLoss, and the log probabilities as its second output."""
    x = node.real_value(0)
    if len(x.shape) < 2:
        raise Reject(f"the scores have shape {x.shape}, expected [N, C, ...]")
    logarithms = g.add("log_softmax", [x], {"axis": 1})
    return [_loss(g, node, logarithms), logarithms]


def _loss(g: Builder, node: OnnxNode, x: Value) -> Value:
    """The negative log probability of each label, weighted and reduced as the node says."""
    labels, weights = node.value(1), node.optional(2)
    reduction = node.text("reduction", "mean")
    if reduction not in REDUCTIONS:
        raise Reject(f"attribute 'reduction' is '{reduction}'")
    if len(x.shape) < 2 or len(labels.shape) != len(x.shape) - 1:
        raise Reject(f"scores of shape {x.shape} and labels of shape {labels.shape} do not fit")
    ignored = "ignore_index" in node.attribute_names()
    ignore_index = node.integer("ignore_index", 0)
    classes = x.shape[1]
    if isinstance(classes, str):
        raise Reject("the number of classes must be known", FIX_SIZES)
    rank = len(x.shape)
    batch, *rest = labels.shape
    column = g.reshape(labels, (batch, 1, *rest))
    limits = [g.const(np.asarray(number, labels.dtype.numpy), "classes") for number in (0, classes, 1)]
    numbers = g.reshape(g.add("range", limits), (classes, *[1] * (rank - 2)))
    is_label = g.add("equal", [column, numbers])
    loss = g.add("neg", [_picked(g, is_label, x)])
    weight = None
    if weights is not None:
        weight = _picked(g, is_label, g.reshape(weights, (classes, *[1] * (rank - 2))))
    if ignored:
        kept = g.add("not_equal", [labels, g.const(np.asarray(ignore_index, labels.dtype.numpy), "ignored")])
        weight = g.cast(kept, DType.f32) if weight is None else g.add("where", [kept, weight, g.const(np.float32(0))])
        loss = g.add("where", [kept, loss, g.const(np.float32(0), "zero")])
    if weights is not None and weight is not None:
        loss = g.add("mul", [loss, weight])
    if reduction == "none":
        return loss
    axes = list(range(rank - 1))
    if reduction == "mean" and weight is None:
        return reduced(g, "reduce_mean", loss, axes, keep_dims=False)
    total = reduced(g, "reduce_sum", loss, axes, keep_dims=False)
    if reduction == "sum" or weight is None:
        return total
    return g.add("div", [total, reduced(g, "reduce_sum", weight, axes, keep_dims=False)])


def _picked(g: Builder, is_label: Value, x: Value) -> Value:
    """Of each position, the element of the class that is its label; 0 where the label is no class."""
    return reduced(g, "reduce_sum", g.add("where", [is_label, x, g.const(np.float32(0), "zero")]), [1], keep_dims=False)


ROWS: dict[str, Row] = {
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
}
