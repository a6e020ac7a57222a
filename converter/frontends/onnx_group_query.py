# SPDX-License-Identifier: Apache-2.0
"""GroupQueryAttention of ONNX Runtime's own domain: several queries share keys, which a cache of any size keeps.

A cache [batch, heads, rows, size] holds a prefix for each sequence of the batch; rows behind it have no meaning. The
new keys follow the prefix, the rows behind them are 0. In ONNX Runtime's terms: ``seqlens_k`` is one less than the
length of each sequence with its new tokens, ``total_sequence_length`` the greatest of these lengths; where it is the
number of new tokens, these are a prompt and the prefixes are empty. The new cache has as many rows as the old one, or
``total_sequence_length`` when that is more.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_attention import joined_heads, scaled_query, split_heads
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_shapes import cut


def group_query_attention(g: Builder, node: OnnxNode) -> list[Value]:
    """GroupQueryAttention, with queries, keys and values apart or packed, and sequences of different lengths."""
    heads, shared = node.integer("num_heads", 0), node.integer("kv_num_heads", 0)
    node.ignore("smooth_softmax", "qk_output", "k_quant_type", "v_quant_type", "kv_cache_bit_width")
    if node.integer("smooth_softmax", 0) > 0 or any(node.has(index) for index in range(11, 14)):
        raise Reject("a sink of the heads and a quantized cache are not supported")
    if any(node.wants(index) for index in range(3, len(node.output_names))):
        raise Reject("the output of scores is not supported")
    if node.has(3) != node.has(4):
        raise Reject("past_key and past_value must be given together")
    if heads < 1 or shared < 1 or heads % shared:
        raise Reject(f"{heads} heads of queries for {shared} of keys")
    q, k, v = _projections(g, node, heads, shared)
    cache = _Cache(g, node, q)
    if node.integer("do_rotary", 0):
        positions = node.optional(9) or cache.positions()
        q, k = (_turned(g, node, x, positions) for x in (q, k))
    k, v = (g.transpose(x, (0, 2, 1, 3)) for x in (k, v))
    lengths = None
    if node.has(3):
        k, v = cache.joined(node.value(3), k), cache.joined(node.value(4), v)
        lengths = None if cache.is_full else cache.lengths
    window = node.integer("local_window_size", -1)
    q, scale = scaled_query(g, q, node.real("scale", 0.0))
    attrs = {
        "q_layout": 1,
        "kv_layout": 0,
        "causal": 1,
        "offset": -1,
        "left_window": window - 1 if window > 0 else -1,
        "scale": scale,
        "softcap": node.real("softcap", 0.0),
    }
    (y,) = g.add_all("attention", [q, k, v, node.optional(10), lengths], attrs)
    return [joined_heads(g, y), k, v]


def _projections(g: Builder, node: OnnxNode, heads: int, shared: int) -> list[Value]:
    """Queries, keys and values [batch, length, heads, size]."""
    if node.has(1) != node.has(2):
        raise Reject("keys and values must be given together")
    if node.has(1):
        given = ((node.value(index), count) for index, count in enumerate((heads, shared, shared)))
        return [split_heads(g, x, count, "an input") for x, count in given]
    packed = split_heads(g, node.value(0), heads + 2 * shared, "the packed input")
    starts = (0, heads, heads + shared, heads + 2 * shared)
    return [cut(g, packed, {2: (starts[i], starts[i + 1] - starts[i], 1)}) for i in range(3)]


def _turned(g: Builder, node: OnnxNode, x: Value, positions: Value) -> Value:
    attrs = {"layout": 1, "interleaved": int(node.integer("rotary_interleaved", 0) != 0)}
    return g.add("rotary_embedding", [x, node.value(7), node.value(8), positions], attrs)


class _Cache:
    """What the lengths of the sequences say about places in a cache."""

    def __init__(self, g: Builder, node: OnnxNode, q: Value) -> None:
        self.g, self.node, self.q = g, node, q
        self.past = node.optional(3)

    @cached_property
    def is_full(self) -> bool:
        """Whether it is known that all of the old cache is prefix, in each sequence."""
        if self.past is None:
            return True
        rows, new = self.past.shape[2], self.q.shape[1]
        after, total = self.node.value(5).data, self.node.value(6).data
        if not isinstance(rows, int) or not isinstance(new, int) or after is None or total is None:
            return False
        return bool((after == rows + new - 1).all() and (total == rows + new).all())

    def _size(self, x: Value, axis: int) -> Value:
        """s64[1]."""
        size = x.shape[axis]
        if isinstance(size, int):
            return self.g.const(np.array([size], np.int64), "size")
        return self.g.sizes_of(x, axis, axis + 1)

    @cached_property
    def total(self) -> Value:
        """s64[1]: the length of the longest sequence with its new tokens."""
        return self.g.reshape(self.g.cast(self.node.value(6), DType.s64), (1,))

    @cached_property
    def prefix(self) -> Value:
        """s64[batch, 1]: rows of the old cache that each sequence has filled."""
        g, after = self.g, self.node.value(5)
        if after.type.is_static and len(after.shape) != 1:
            after = g.reshape(after, (after.type.count,))
        if len(after.shape) != 1:
            raise Reject(f"seqlens_k has shape {after.shape}, expected one number for each sequence")
        ends = g.add("add", [g.cast(after, DType.s64), g.const(np.array([1], np.int64), "one")])
        new = self._size(self.q, 1)
        kept = g.add("sub", [ends, new])
        if self.q.shape[1] != 1:
            prompt = g.add("equal", [self.total, new])
            kept = g.add("where", [prompt, g.const(np.array([0], np.int64), "none"), kept])
        return g.add("unsqueeze", [kept], {"axes": 2})

    @cached_property
    def lengths(self) -> Value:
        """s64[batch]: rows of the new cache that each sequence has filled."""
        ends = self.g.add("squeeze", [self.prefix], {"axes": 2})
        return self.g.add("add", [ends, self._size(self.q, 1)])

    def positions(self) -> Value:
        """s64[batch, length]: where the new tokens stand."""
        g, steps = self.g, self.g.counting(self.q, 1)
        if self.past is not None and not self.is_full:
            return g.add("add", [self.prefix, steps])
        if self.past is not None:
            steps = g.add("add", [steps, self._size(self.past, 2)])
        row = g.add("unsqueeze", [steps], {"axes": 1})
        return row if self.q.shape[0] == 1 else g.add("expand", [row, g.sizes_of(self.q, 0, 2)])

    @cached_property
    def _sources(self) -> Value:
        """s64[batch, 1, rows, 1]: of the old rows, the new ones and one of 0, which each row of the new cache is."""
        g, past = self.g, self.past
        assert past is not None
        zero, one = (g.const(np.asarray(number, np.int64), "step") for number in (0, 1))
        old, new = self._size(past, 2), self._size(self.q, 1)
        count = g.add("max", [old, self.total])
        row = g.add("range", [zero, g.add("squeeze", [count], {"axes": 1}), one])
        behind = g.add("sub", [row, self.prefix])
        fresh = g.add("where", [g.add("less", [behind, new]), g.add("add", [behind, old]), g.add("add", [old, new])])
        source = g.add("where", [g.add("less", [row, self.prefix]), row, fresh])
        return g.add("unsqueeze", [source], {"axes": 0b1010})

    def joined(self, past: Value, new: Value) -> Value:
        """The new cache, of the old one and new rows [batch, heads, length, size]."""
        g = self.g
        rows = g.add("concat", [past, new], {"axis": 2})
        if self.is_full:
            return rows
        heads = new.shape[1]
        if isinstance(heads, str):
            raise Reject("the number of the heads must be known", FIX_SIZES)
        rows = g.add("pad", [rows], {"before": (0, 0, 0, 0), "after": (0, 0, 1, 0), "mode": 0})
        places = self._sources if heads == 1 else g.add("concat", [self._sources] * heads, {"axis": 1})
        return g.add("gather_nd", [rows, places], {"batch_dims": 2})


ROWS: dict[str, Row] = {"GroupQueryAttention": group_query_attention}
"""Of the domain com.microsoft."""
