"""ONNX operators on sequences of tokens."""

from __future__ import annotations

import numpy as np

from ...dtypes import DType
from ...ir import Value
from .onnx_graph import FIX_SIZES, Builder, OnnxNode, Reject, Row
from .onnx_reduce import reduced
from .onnx_shapes import cut

MODES = ("TF", "IDF", "TFIDF")
MOST_COLUMNS = 1 << 20


def tf_idf(g: Builder, node: OnnxNode) -> Value:
    """TfIdfVectorizer of integers: how often each n-gram of a pool occurs, by comparison with all windows."""
    x = node.value(0)
    shape = x.shape
    if len(shape) not in (1, 2) or isinstance(shape[-1], str):
        raise Reject(f"the tokens have shape {shape}, expected [C] or [N, C] with C known", FIX_SIZES)
    x = g.cast(g.reshape(x, (1, *shape)) if len(shape) == 1 else x, DType.s64)
    columns = node.integers("ngram_indexes") or []
    if not columns or min(columns) < 0 or max(columns) >= MOST_COLUMNS:
        raise Reject("attribute 'ngram_indexes' is empty or out of range")
    pools = _pools(node, len(columns))
    shortest, longest = node.integer("min_gram_length", 1), node.integer("max_gram_length", 1)
    counts = []
    for length, pool in enumerate(pools, start=1):
        skips = node.integer("max_skip_count", 0) if length > 1 else 0
        if len(pool) == 0:
            continue
        total = g.const(np.zeros((1, len(pool)), np.float32), "none")
        if shortest <= length <= longest:
            for distance in range(1, skips + 2):
                if (found := _occurrences(g, x, pool, distance)) is not None:
                    total = g.add("add", [total, found])
        counts.append(total)
    if not counts:
        raise Reject("the pool holds no n-grams")
    y = counts[0] if len(counts) == 1 else _side_by_side(g, counts, shape[0] if len(shape) == 2 else 1)
    y = _weighted(g, node, y, len(columns))
    target = np.zeros((len(columns), max(columns) + 1), np.float32)
    target[np.arange(len(columns)), columns] = 1
    y = g.add("matmul", [y, g.const(target, "columns")])
    return g.reshape(y, target.shape[1:]) if len(shape) == 1 else y


def _pools(node: OnnxNode, count: int) -> list[np.ndarray]:
    """The n-grams of each length, [number, length]."""
    items, starts = node.integers("pool_int64s"), node.integers("ngram_counts") or []
    if items is None:
        raise Reject("a pool of strings is not supported")
    stops = [*starts[1:], len(items)]
    pools = []
    for length, (start, stop) in enumerate(zip(starts, stops, strict=True), start=1):
        if not 0 <= start <= stop <= len(items) or (stop - start) % length:
            raise Reject(f"attribute 'ngram_counts' is {starts}")
        pools.append(np.asarray(items[start:stop], np.int64).reshape(-1, length))
    if sum(len(pool) for pool in pools) != count:
        raise Reject(f"attribute 'ngram_indexes' has {count} elements for {sum(map(len, pools))} n-grams")
    return pools


def _occurrences(g: Builder, x: Value, pool: np.ndarray, distance: int) -> Value | None:
    """[N, n-grams]: how often each occurs with its tokens so far apart; None where not even one fits."""
    length = pool.shape[1]
    windows = int(x.shape[1]) - (length - 1) * distance
    if windows < 1:
        return None
    matches: Value | None = None
    for position in range(length):
        tokens = cut(g, x, {1: (position * distance, windows, 1)})
        column = g.const(pool[:, position].reshape(1, 1, -1), "pool")
        equal = g.add("equal", [g.reshape(tokens, (*tokens.shape, 1)), column])
        matches = equal if matches is None else g.add("logical_and", [matches, equal])
    assert matches is not None
    return reduced(g, "reduce_sum", g.cast(matches, DType.f32), [1], keep_dims=False)


def _side_by_side(g: Builder, counts: list[Value], batch: int | str) -> Value:
    """The counts of all lengths; where none was counted, for the whole batch."""
    if any(value.data is not None for value in counts):
        if isinstance(batch, str):
            raise Reject("the batch must be known", FIX_SIZES)
        shapes = [(batch, int(value.shape[1])) for value in counts]
        counts = [
            g.add("expand", [value], {"shape": shape}) if value.data is not None else value
            for value, shape in zip(counts, shapes, strict=True)
        ]
    return g.add("concat", counts, {"axis": 1})


def _weighted(g: Builder, node: OnnxNode, counts: Value, grams: int) -> Value:
    """The counts as the mode says."""
    mode, weights = node.text("mode", ""), node.reals("weights")
    if mode not in MODES or (weights is not None and len(weights) != grams):
        raise Reject(f"attribute 'mode' is '{mode}' with {len(weights or ())} weights for {grams} n-grams")
    if mode == "IDF":
        counts = g.cast(g.add("greater", [counts, g.const(np.float32(0))]), DType.f32)
    if mode == "TF" or weights is None:
        return counts
    return g.add("mul", [counts, g.const(np.asarray(weights, np.float32), "weights")])


ROWS: dict[str, Row] = {"TfIdfVectorizer": tf_idf}
