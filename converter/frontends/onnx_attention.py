"""ONNX Attention, RotaryEmbedding, and the layers of linear attention."""

from __future__ import annotations

import math

import numpy as np

from ...dtypes import DType
from ...ir import Dim, Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_math import swished


def split_heads(g: Builder, x: Value, heads: int, what: str) -> Value:
    """[batch, length, heads * size] as [batch, length, heads, size]."""
    hidden = x.shape[2]
    if heads < 1 or (isinstance(hidden, int) and hidden % heads):
        raise Reject(f"{what} has {hidden} elements for {heads} heads")
    return g.reshape(x, (x.shape[0], x.shape[1], heads, hidden // heads if isinstance(hidden, int) else None))


def joined_heads(g: Builder, x: Value) -> Value:
    """[batch, length, heads, size] as [batch, length, heads * size]."""
    batch, length, heads, size = x.shape
    hidden = heads * size if isinstance(heads, int) and isinstance(size, int) else None
    return g.reshape(x, (batch, length, hidden))


def scaled_query(g: Builder, q: Value, scale: float) -> tuple[Value, float]:
    """The query [..., size] and the factor of the scores; a factor 0 stands for 1 / sqrt(size), by which the query
    itself is multiplied where the size is open."""
    size = q.shape[-1]
    if scale != 0.0 or isinstance(size, int):
        return q, scale or 1.0 / math.sqrt(int(size))
    count = g.cast(g.sizes_of(q, len(q.shape) - 1, len(q.shape)), DType.f32)
    return g.add("mul", [q, g.add("rsqrt", [count])]), 1.0


def attention(g: Builder, node: OnnxNode) -> list[Value]:
    """Attention with everything: shared heads, masks, windows, caches of keys and values, capped scores."""
    q, k, v = node.value(0), node.value(1), node.value(2)
    flat = len(q.shape) == 3
    if not len(q.shape) == len(k.shape) == len(v.shape) or len(q.shape) not in (3, 4):
        raise Reject(f"Q, K and V have the shapes {q.shape}, {k.shape} and {v.shape}")
    heads, kv_heads = node.integer("q_num_heads", 0), node.integer("kv_num_heads", 0)
    node.ignore("softmax_precision")
    if flat:
        q = split_heads(g, q, heads, "Q")
        k, v = split_heads(g, k, kv_heads, "K"), split_heads(g, v, kv_heads, "V")
    new_length, q_length = (k.shape[1], q.shape[1]) if flat else (k.shape[2], q.shape[2])
    past_k, past_v, lengths = node.optional(4), node.optional(5), node.optional(6)
    if (past_k is None) != (past_v is None):
        raise Reject("past_key and past_value must be given together")
    kv_layout = int(flat)
    if past_k is not None or node.wants(1) or node.wants(2):
        k, v = (g.transpose(value, (0, 2, 1, 3)) if flat else value for value in (k, v))
        kv_layout = 0
    if past_k is not None and past_v is not None:
        k, v = g.add("concat", [past_k, k], {"axis": 2}), g.add("concat", [past_v, v], {"axis": 2})
    q, scale = scaled_query(g, q, node.real("scale", 0.0))
    attrs: dict[str, object] = {
        "q_layout": int(flat),
        "kv_layout": kv_layout,
        "causal": int(node.integer("is_causal", 0) != 0),
        "left_window": node.integer("left_window_size", -1),
        "right_window": node.integer("right_window_size", -1),
        "offset": 0 if past_k is None else _offset(past_k.shape[2], new_length, q_length),
        "scale": scale,
        "softcap": node.real("softcap", 0.0),
        "qk_output": node.integer("qk_matmul_output_mode", 0) if node.wants(3) else -1,
    }
    outputs = g.add_all("attention", [q, k, v, node.optional(3), lengths], attrs)
    y = joined_heads(g, outputs[0]) if flat else outputs[0]
    return [y, k, v, *outputs[1:]]


def _offset(past: Dim, new: Dim, q_length: Dim) -> int:
    """The position of the first query behind ``past`` keys; -1: as many as there are more keys than queries."""
    if isinstance(past, int):
        return past
    if new == q_length:
        return -1
    raise Reject("the length of past_key is not known, and K is not as long as Q", FIX_SIZES)


def rotary_embedding(g: Builder, node: OnnxNode) -> Value:
    """RotaryEmbedding."""
    x, cosines, sines, positions = node.value(0), node.value(1), node.value(2), node.optional(3)
    heads, turned = node.integer("num_heads", 0), node.integer("rotary_embedding_dim", 0)
    flat = len(x.shape) == 3
    if flat:
        x = split_heads(g, x, heads, "the input")
    if len(x.shape) != 4:
        raise Reject(f"the input has shape {x.shape}, expected three or four dimensions")
    expected = turned or x.shape[3]
    if isinstance(expected, int) and isinstance(cosines.shape[-1], int) and cosines.shape[-1] != expected // 2:
        raise Reject(f"cos_cache has shape {cosines.shape}; {expected} elements of a head are to be turned")
    attrs = {"layout": int(flat), "interleaved": int(node.integer("interleaved", 0) != 0)}
    y = g.add("rotary_embedding", [x, cosines, sines, positions], attrs)
    return joined_heads(g, y) if flat else y


UPDATE_RULES = {"linear": (0, 0), "gated": (1, 0), "delta": (0, 1), "gated_delta": (1, 1)}
"""Attribute update_rule: whether the state decays, and whether what it holds already is subtracted."""


def linear_attention(g: Builder, node: OnnxNode) -> list[Value]:
    """LinearAttention."""
    rule = UPDATE_RULES.get(name := node.text("update_rule", "gated_delta"))
    if rule is None:
        raise Reject(f"attribute 'update_rule' is '{name}'")
    node.ignore("chunk_size")
    if node.has(4) != bool(rule[0]) or node.has(5) != bool(rule[1]):
        raise Reject(f"the update rule '{name}' does not go with the inputs decay and beta that are given")
    q = node.value(0)
    heads = node.integer("q_num_heads", 0)
    if len(q.shape) != 3 or isinstance(q.shape[2], str) or heads < 1 or q.shape[2] % heads:
        raise Reject(f"query has shape {q.shape} for {heads} heads")
    attrs = {
        "heads": heads,
        "kv_heads": node.integer("kv_num_heads", 0),
        "scale": node.real("scale", 0.0) or 1.0 / math.sqrt(q.shape[2] // heads),
    }
    return g.add_all("linear_attention", [q, node.value(1), node.value(2), *map(node.optional, range(3, 6))], attrs)


def causal_convolution(g: Builder, node: OnnxNode) -> list[Value]:
    """CausalConvWithState: a depthwise convolution over what came before and the input."""
    x, weights, bias = node.value(0), node.value(1), node.optional(2)
    activation = node.text("activation", "none")
    if activation not in ("none", "silu", "swish"):
        raise Reject(f"attribute 'activation' is '{activation}'")
    channels, kernel = x.shape[1], weights.shape[-1]
    if len(x.shape) != 3 or len(weights.shape) != 3 or isinstance(channels, str) or isinstance(kernel, str):
        raise Reject(f"the input has shape {x.shape} and the weights {weights.shape}; both must be known", FIX_SIZES)
    past = node.optional(3)
    if past is None:
        zero, rest = g.const(np.float32(0.0), "past"), g.const(np.array([channels, kernel - 1], np.int64), "rest")
        past = g.add("expand", [zero, g.add("concat", [g.sizes_of(x, 0, 1), rest], {"axis": 0})])
    padded = g.add("concat", [past, x], {"axis": 2}) if kernel > 1 else x
    rows = g.add("unsqueeze", [g.transpose(padded, (0, 2, 1))], {"axes": 2})
    w = g.reshape(g.transpose(weights, (1, 2, 0)), (1, 1, kernel, channels))
    y = g.add("depthwise_conv2d", [rows, w, bias], {"groups": channels, "stride_h": 1, "stride_w": 1})
    y = g.transpose(g.add("squeeze", [y], {"axes": 2}), (0, 2, 1))
    y = y if activation == "none" else swished(g, y, 1.0)
    if not node.wants(1):
        return [y]
    if kernel == 1:
        return [y, past]
    bounds = (1 - kernel, np.iinfo(np.int64).max, 2, 1)
    return [y, g.add("slice", [padded, *(g.const(np.array([item], np.int64), "last") for item in bounds)])]


ROWS: dict[str, Row] = {
    "Attention": attention,
    "CausalConvWithState": causal_convolution,
    "LinearAttention": linear_attention,
    "RotaryEmbedding": rotary_embedding,
}
