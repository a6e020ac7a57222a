# SPDX-License-Identifier: Apache-2.0
"""Transformer layers of ONNX Runtime's own domain, as its transformer optimizer and its model builder write them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...dtypes import DType
from ...ir import Dim, Value
from .onnx_attention import joined_heads, scaled_query, split_heads
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row

MASK_VALUE = -10000.0


def attention(g: Builder, node: OnnxNode) -> list[Value]:
    """Attention: projections of one input, then attention, with a cache of keys and values where it is given."""
    x, weights, bias = node.value(0), node.array(1, "the weights"), node.optional_array(2, "the bias")
    heads = node.integer("num_heads", 0)
    if node.integer("do_rotary", 0):
        raise Reject("attribute 'do_rotary' is not supported")
    node.ignore("rotary_embedding_dim", "past_present_share_buffer")
    if node.has(6):
        raise Reject("a cache that is written in place is not supported")
    sizes = node.integers("qkv_hidden_sizes") or [weights.shape[1] // 3] * 3
    if weights.ndim != 2 or len(sizes) != 3 or sum(sizes) != weights.shape[1] or heads < 1:
        raise Reject(f"weights of shape {weights.shape} for sizes {sizes} and {heads} heads")
    ends = np.cumsum([0, *sizes])
    projected = []
    for first, last in pairwise(ends.tolist()):
        matrix = g.const(np.ascontiguousarray(weights[:, first:last].T), "weights")
        vector = None if bias is None else g.const(bias.reshape(-1)[first:last], "bias")
        projected.append(split_heads(g, g.add("dense", [x, matrix, vector]), heads, "the input"))
    q, k, v = projected
    k, v = (g.transpose(value, (0, 2, 1, 3)) for value in (k, v))
    past = node.optional(4)
    if past is not None:
        halves = [g.add("gather", [past, g.const(np.int64(index))], {"axis": 0}) for index in (0, 1)]
        k, v = (g.add("concat", [old, new], {"axis": 2}) for old, new in zip(halves, (k, v), strict=True))
    mask = _mask(g, node, 3, k)
    y = _attend(g, node, q, k, v, _sum(g, mask, node.optional(5)), bool(node.integer("unidirectional", 0)))
    if not node.wants(1):
        return [y]
    both = [g.add("unsqueeze", [value], {"axes": 1}) for value in (k, v)]
    return [y, g.add("concat", both, {"axis": 0})]


def multi_head_attention(g: Builder, node: OnnxNode) -> list[Value]:
    """MultiHeadAttention: of a query, keys and values that are projected already, in any of its layouts."""
    heads, query, key, value = node.integer("num_heads", 0), node.value(0), node.optional(1), node.optional(2)
    bias = node.optional(3)
    if any(node.has(index) for index in (8, 9)):
        raise Reject("a cache that is written in place is not supported")
    if len(query.shape) == 5 or (key is not None and len(key.shape) == 5):
        raise Reject("packed queries, keys and values are not supported", "export them apart")
    if key is None or value is None:
        raise Reject("keys or values are missing")
    q = split_heads(g, _with_part(g, query, bias, 0), heads, "the query")
    if len(key.shape) == 4:
        k, v = key, value
    else:
        k, v = (
            g.transpose(split_heads(g, _with_part(g, x, bias, part), heads, what), (0, 2, 1, 3))
            for part, x, what in ((1, key, "the key"), (2, value, "the value"))
        )
    if node.has(6) and node.has(7):
        k, v = (g.add("concat", [node.value(index), x], {"axis": 2}) for index, x in ((6, k), (7, v)))
    mask = _mask(g, node, 4, k)
    y = _attend(g, node, q, k, v, _sum(g, mask, node.optional(5)), bool(node.integer("unidirectional", 0)))
    return [y, k, v]


def _with_part(g: Builder, x: Value, bias: Value | None, part: int) -> Value:
    """A projection with its part of the common bias, of which that of the values may have another size."""
    if bias is None:
        return x
    size = x.shape[2]
    if bias.data is None or isinstance(size, str):
        raise Reject("the bias must be constant and the sizes known", FIX_SIZES)
    first = bias.data.size - size if part == 2 else part * size
    return g.add("add", [x, g.const(bias.data.reshape(-1)[first : first + size], "bias")])


def _attend(g: Builder, node: OnnxNode, q: Value, k: Value, v: Value, mask: Value | None, causal: bool) -> Value:
    """Of q [batch, length, heads, size] and k, v [batch, heads, length, size]; [batch, length, all heads]."""
    q, scale = scaled_query(g, q, node.real("scale", 0.0))
    attrs = {
        "q_layout": 1,
        "kv_layout": 0,
        "causal": int(causal),
        "offset": -1 if causal else 0,
        "scale": scale,
    }
    (y,) = g.add_all("attention", [q, k, v, mask], attrs)
    return joined_heads(g, y)


def _sum(g: Builder, a: Value | None, b: Value | None) -> Value | None:
    return b if a is None else a if b is None else g.add("add", [a, b])


def _mask(g: Builder, node: OnnxNode, index: int, keys: Value) -> Value | None:
    """What is added to the scores: one number per key, or per query and key; lengths become the first of these."""
    mask, value = node.optional(index), np.float32(node.real("mask_filter_value", MASK_VALUE))
    if mask is None:
        return None
    if len(mask.shape) == 1 and mask.shape != node.value(0).shape[:1]:
        raise Reject(f"a mask of {mask.shape[0]} lengths for a batch of {node.value(0).shape[0]} is not supported")
    if len(mask.shape) == 1:
        seen = g.add("less", [g.counting(keys, 2), g.add("unsqueeze", [g.cast(mask, DType.s64)], {"axes": 2})])
    elif len(mask.shape) in (2, 3):
        seen = g.add("not_equal", [mask, g.const(np.zeros((), mask.dtype.numpy), "absent")])
    else:
        raise Reject(f"a mask of shape {mask.shape} is not supported")
    zero, filler = g.const(np.float32(0.0), "seen"), g.const(value, "unseen")
    added = g.add("where", [seen, zero, filler])
    return g.add("unsqueeze", [added], {"axes": 6 if len(added.shape) == 2 else 2})


def rotary_embedding(g: Builder, node: OnnxNode) -> list[Value]:
    """RotaryEmbedding, with positions for each token, or one number at which they start."""
    x, positions, cosines, sines = node.value(0), node.value(1), node.value(2), node.value(3)
    if node.real("scale", 1.0) != 1.0 or node.integer("is_packed_batching", 0):
        raise Reject("a scale and packed batches are not supported")
    turned, rank = node.integer("rotary_embedding_dim", 0), len(x.shape)
    heads = node.integer("num_heads", 0)
    if rank == 3 and not heads:
        size = 2 * _known(cosines.shape[1])
        heads = _known(x.shape[2]) // size
    if len(positions.shape) == 1:
        axis = 1 if rank == 3 else 2
        steps = g.add("add", [g.cast(positions, DType.s64), g.counting(x, axis)])
        row = g.add("unsqueeze", [steps], {"axes": 1})
        sizes = g.add("concat", [g.sizes_of(x, 0, 1), g.sizes_of(x, axis, axis + 1)], {"axis": 0})
        positions = row if x.shape[0] == 1 else g.add("expand", [row, sizes])
    if rank == 3:
        x = split_heads(g, x, heads, "the input")
    if turned and turned != 2 * _known(cosines.shape[1]):
        raise Reject(f"cos_cache has shape {cosines.shape}; {turned} elements of a head are to be turned")
    attrs = {"layout": int(rank == 3), "interleaved": int(node.integer("interleaved", 0) != 0)}
    y = g.add("rotary_embedding", [x, cosines, sines, positions], attrs)
    return [joined_heads(g, y) if rank == 3 else y]


def _known(dim: Dim) -> int:
    if isinstance(dim, str):
        raise Reject(f"the size '{dim}' must be known", FIX_SIZES)
    return dim


def embed_layer_normalization(g: Builder, node: OnnxNode) -> list[Value]:
    """EmbedLayerNormalization: words, positions and segments looked up, added and normalized."""
    ids, segments = node.value(0), node.optional(1)
    words, places, kinds = node.value(2), node.value(3), node.optional(4)
    total = g.add("gather", [words, ids], {"axis": 0})
    if node.has(8):
        position = g.add("gather", [places, node.value(8)], {"axis": 0})
    else:
        position = g.add("gather", [places, g.counting(ids, 1)], {"axis": 0})
    total = g.add("add", [total, position])
    if segments is not None and kinds is not None:
        total = g.add("add", [total, g.add("gather", [kinds, segments], {"axis": 0})])
    attrs = {"axis": len(total.shape) - 1, "epsilon": node.real("epsilon", 1e-12)}
    y = g.add("layer_norm", [total, node.value(5), node.value(6)], attrs)
    lengths = y
    node.ignore("mask_index_type")
    if node.wants(1):
        if not node.has(7):
            raise Reject("lengths without a mask are not supported")
        lengths = g.add("reduce_sum", [g.cast(node.value(7), DType.s32)], {"axes": 2, "keep_dims": 0})
    return [y, lengths, total]


def matmul_nbits(g: Builder, node: OnnxNode) -> Value:
    """MatMulNBits: weights of 2, 4 or 8 bits with a scale for each block; they are decoded at conversion."""
    columns, rows, bits = node.integer("K", 0), node.integer("N", 0), node.integer("bits", 4)
    block = node.integer("block_size", 0)
    node.ignore("accuracy_level")
    if bits not in (2, 4, 8) or min(columns, rows) < 1 or block < 1 or node.has(4):
        raise Reject(f"K {columns}, N {rows}, {bits} bits, blocks of {block}, or an order of groups is not supported")
    blocks = -(-columns // block)
    packed = node.array(1, "the weights").reshape(rows, blocks, -1)
    scales = node.array(2, "the scales").astype(np.float32).reshape(rows, blocks, 1)
    numbers = _unpacked(packed, bits)[:, :, :block].astype(np.float32)
    zeros = node.optional_array(3, "the zero points")
    if zeros is None:
        offset: np.ndarray = np.full((rows, blocks, 1), 1 << (bits - 1), np.float32)
    elif zeros.dtype == np.uint8:
        offset = _unpacked(zeros.reshape(rows, -1), bits)[:, :blocks].reshape(rows, blocks, 1).astype(np.float32)
    else:
        offset = zeros.astype(np.float32).reshape(rows, blocks, 1)
    weights = ((numbers - offset) * scales).reshape(rows, -1)[:, :columns]
    bias = node.optional(5)
    return g.add("dense", [node.value(0), g.const(np.ascontiguousarray(weights, np.float32), "weights"), bias])


def _unpacked(packed: np.ndarray, bits: int) -> np.ndarray:
    """The numbers of several bits in each byte of the last axis, the lowest bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    numbers = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return np.asarray(numbers).reshape(*packed.shape[:-1], -1)


ROWS: dict[str, Row] = {
    "Attention": attention,
    "EmbedLayerNormalization": embed_layer_normalization,
    "MatMulNBits": matmul_nbits,
    "MultiHeadAttention": multi_head_attention,
    "RotaryEmbedding": rotary_embedding,
}
"""Of the domain com.microsoft."""
