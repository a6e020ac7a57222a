"""Attention and rotary positions; arithmetic in ``nnacl_kernels/attention/attention.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType, Value
from . import OpDef, Sample, Tolerance, register, sampling
from .shape_rules import require, require_dtype, require_equal, require_rank

Attrs = Mapping[str, Any]
Array = np.ndarray


def _heads_first(shape: Sequence[Dim], layout: int) -> tuple[Dim, ...]:
    """(batch, heads, length, size)."""
    batch, first, second, size = shape
    return (batch, second, first, size) if layout else (batch, first, second, size)


def _head_shape(node: Node, value: Value, layout: int) -> tuple[Dim, ...]:
    require_dtype(node, value, DType.f32)
    return _heads_first(require_rank(node, value, 4), layout)


def _infer_attention(node: Node) -> list[TensorType]:
    attrs = node.attrs
    batch, heads, q_length, size = _head_shape(node, node.input(0), attrs["q_layout"])
    k_batch, kv_heads, k_length, k_size = _head_shape(node, node.input(1), attrs["kv_layout"])
    v_batch, v_heads, v_length, v_size = _head_shape(node, node.input(2), attrs["kv_layout"])
    for actual, expected, what in (
        (k_batch, batch, "the batch of k"),
        (v_batch, batch, "the batch of v"),
        (v_heads, kv_heads, "the heads of v"),
        (v_length, k_length, "the length of v"),
        (k_size, size, "the size of the heads of k"),
    ):
        require_equal(node, actual, expected, what)
    if isinstance(heads, int) and isinstance(kv_heads, int):
        require(node, kv_heads >= 1 and heads % kv_heads == 0, f"{kv_heads} heads of k do not divide {heads} of q")
    mask = node.optional_input(3)
    if mask is not None:
        require_dtype(node, mask, DType.f32, DType.b8)
        require(node, 1 <= len(mask.shape) <= 4, "the mask must have 1 to 4 dimensions")
        for actual, expected in zip(mask.shape[-2::-1], (q_length, heads, batch), strict=False):
            if actual != 1:
                require_equal(node, actual, expected, "a dimension of the mask")
    lengths = node.optional_input(4)
    if lengths is not None:
        require_dtype(node, lengths, DType.s32, DType.s64)
        require_equal(node, require_rank(node, lengths, 1)[0], batch, "the number of lengths")
    outputs = [TensorType(DType.f32, _heads_first((batch, heads, q_length, v_size), attrs["q_layout"]))]
    if attrs["qk_output"] >= 0:
        outputs.append(TensorType(DType.f32, (batch, heads, q_length, k_length)))
    return outputs


def _visible(attrs: Attrs, q_length: int, k_length: int, mask: Array | None, lengths: Array | None) -> Array:
    """Which keys a query may see but for the mask: bool [batch or 1, 1, q length, k length]."""
    keys, rows = np.arange(k_length), np.arange(q_length)[:, None]
    if lengths is None:
        limit = np.full((1, 1, 1, 1), k_length)
        offset = np.asarray(k_length - q_length if attrs["offset"] < 0 else attrs["offset"])
    else:
        limit = np.clip(lengths, 0, k_length).reshape(-1, 1, 1, 1)
        offset = limit - q_length
    distance = keys - (rows + offset)
    seen = (keys < limit) & (keys < (k_length if mask is None else mask.shape[-1]))
    if attrs["causal"]:
        seen = seen & (distance <= 0)
    if attrs["left_window"] >= 0:
        seen = seen & (distance >= -attrs["left_window"])
    if attrs["right_window"] >= 0:
        seen = seen & (distance <= attrs["right_window"])
    return np.asarray(seen)


def _reference_attention(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    q, k, v, mask, lengths = (*inputs, None, None)[:5]
    assert q is not None and k is not None and v is not None
    q, k, v = (
        np.moveaxis(x, 2, 1) if layout else x
        for x, layout in ((q, attrs["q_layout"]), (k, attrs["kv_layout"]), (v, attrs["kv_layout"]))
    )
    repeats = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeats, axis=1).astype(np.float64), np.repeat(v, repeats, axis=1).astype(np.float64)
    scores = np.float64(np.float32(attrs["scale"])) * (q.astype(np.float64) @ np.swapaxes(k, -1, -2))
    shown = [scores]
    cap = np.float64(np.float32(attrs["softcap"]))
    capped = cap * np.tanh(scores / cap) if cap > 0 else scores
    shown.append(capped)
    bias = np.where(_visible(attrs, q.shape[2], k.shape[2], mask, lengths), 0.0, -np.inf)
    if mask is not None:
        added = np.where(mask, 0.0, -np.inf) if mask.dtype == np.bool_ else mask.astype(np.float64)
        widths = [(0, 0)] * (mask.ndim - 1) + [(0, k.shape[2] - mask.shape[-1])]
        bias = bias + np.pad(added, widths)
    # As ONNX defines the sum: beside a large number of the mask single precision drops digits of a score.
    masked = (capped.astype(np.float32) + bias.astype(np.float32)).astype(np.float64)
    shown.append(masked)
    top = masked.max(axis=-1, keepdims=True, initial=-np.inf)
    exponentials = np.exp(masked - np.where(np.isneginf(top), 0.0, top))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1.0, total)
    shown.append(weights)
    y = weights @ v
    y = np.moveaxis(y, 1, 2) if attrs["q_layout"] else y
    results = [y, shown[attrs["qk_output"]]] if attrs["qk_output"] >= 0 else [y]
    return [np.ascontiguousarray(result, q.dtype) for result in results]


def _draw_heads(rng: np.random.Generator, layout: int, *shape: int) -> Array:
    x = sampling.floats(rng, shape, -2.0, 2.0)
    return np.ascontiguousarray(np.moveaxis(x, 1, 2)) if layout else x


def _draw_mask(rng: np.random.Generator, full: Sequence[int]) -> Array:
    kept = full[sampling.size(rng, 0, 3) :]
    shape = (*(1 if rng.integers(3) == 0 else dim for dim in kept[:-1]), sampling.size(rng, 1, kept[-1]))
    if rng.integers(2):
        return rng.integers(0, 3, shape) > 0
    return np.where(rng.integers(0, 5, shape) == 0, -np.inf, sampling.floats(rng, shape)).astype(np.float32)


def _sample_attention(rng: np.random.Generator) -> Sample:
    batch, kv_heads, size, v_size = (sampling.size(rng, 1, 3), sampling.size(rng, 1, 2), *rng.integers(1, 12, 2))
    heads, q_length, k_length = kv_heads * sampling.size(rng, 1, 3), sampling.size(rng, 1, 6), sampling.size(rng, 1, 9)
    q_layout, kv_layout = int(rng.integers(2)), int(rng.integers(2))
    inputs: list[Array | None] = [
        _draw_heads(rng, q_layout, batch, heads, q_length, int(size)),
        _draw_heads(rng, kv_layout, batch, kv_heads, k_length, int(size)),
        _draw_heads(rng, kv_layout, batch, kv_heads, k_length, int(v_size)),
        _draw_mask(rng, (batch, heads, q_length, k_length)) if rng.integers(2) else None,
    ]
    if rng.integers(3) == 0:
        inputs.append(sampling.index_vector(rng, rng.integers(0, k_length, batch, endpoint=True)))
    attrs = {
        "q_layout": q_layout,
        "kv_layout": kv_layout,
        "causal": int(rng.integers(2)),
        "left_window": int(rng.integers(-1, 4)),
        "right_window": int(rng.integers(-1, 4)),
        "offset": int(rng.integers(-1, 4)),
        "scale": float(np.float32(rng.uniform(0.1, 1.0))),
        "softcap": float(rng.choice([0.0, 2.0])),
        "qk_output": int(rng.integers(-1, 4)),
    }
    return Sample(inputs, attrs)


def _infer_rotary(node: Node) -> list[TensorType]:
    x, cosines, sines = (node.input(index) for index in range(3))
    batch, _, length, size = _head_shape(node, x, node.attrs["layout"])
    positions = node.optional_input(3)
    for table in (cosines, sines):
        require_dtype(node, table, DType.f32)
        shape = require_rank(node, table, 3 if positions is None else 2)
        if isinstance(size, int) and isinstance(shape[-1], int):
            require(node, shape[-1] <= size // 2, f"'{table.name}' is longer than half a head of {size}")
        for actual, expected in zip(shape, cosines.shape, strict=True):
            require_equal(node, actual, expected, f"a dimension of '{table.name}'")
        if positions is None:
            require_equal(node, shape[0], batch, f"the batch of '{table.name}'")
            require_equal(node, shape[1], length, f"the length of '{table.name}'")
    if positions is not None:
        require_dtype(node, positions, DType.s32, DType.s64)
        for actual, expected in zip(require_rank(node, positions, 2), (batch, length), strict=True):
            require_equal(node, actual, expected, "a dimension of the positions")
    return [x.type]


def _reference_rotary(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    x, cosines, sines, positions = (*inputs, None)[:4]
    assert x is not None and cosines is not None and sines is not None
    x = x if attrs["layout"] else np.moveaxis(x, 1, 2)
    if positions is not None:
        rows = np.clip(positions, 0, len(cosines) - 1)
        cosines, sines = cosines[rows], sines[rows]
    cosines, sines = (table[:, :, None, :].astype(np.float64) for table in (cosines, sines))
    pairs = cosines.shape[-1]
    turned = x[..., : 2 * pairs]
    a, b = (turned[..., 0::2], turned[..., 1::2]) if attrs["interleaved"] else np.split(turned, 2, axis=-1)
    real, imaginary = cosines * a - sines * b, sines * a + cosines * b
    if attrs["interleaved"]:
        turned = np.stack([real, imaginary], axis=-1).reshape(turned.shape)
    else:
        turned = np.concatenate([real, imaginary], axis=-1)
    y = np.concatenate([turned, x[..., 2 * pairs :]], axis=-1).astype(x.dtype)
    return [np.ascontiguousarray(y if attrs["layout"] else np.moveaxis(y, 2, 1))]


def _sample_rotary(rng: np.random.Generator) -> Sample:
    batch, heads, length, pairs = (sampling.size(rng, 1, 4) for _ in range(4))
    layout = int(rng.integers(2))
    x = _draw_heads(rng, layout, batch, heads, length, 2 * pairs + sampling.size(rng, 0, 3))
    attrs = {"layout": layout, "interleaved": int(rng.integers(2))}
    if rng.integers(2):
        return Sample([x, *(sampling.floats(rng, (batch, length, pairs), -1.0, 1.0) for _ in range(2))], attrs)
    tables = [sampling.floats(rng, (7, pairs), -1.0, 1.0) for _ in range(2)]
    positions = sampling.index_vector(rng, rng.integers(0, 7, (batch, length)))
    return Sample([x, *tables, positions], attrs)


register(
    OpDef(
        name="attention",
        inputs=("q", "k", "v", "mask?", "lengths?"),
        outputs=("y", "scores"),
        infer=_infer_attention,
        reference=_reference_attention,
        samples=_sample_attention,
        attrs={
            "q_layout": 0,
            "kv_layout": 0,
            "causal": 0,
            "left_window": -1,
            "right_window": -1,
            "offset": 0,
            "scale": 1.0,
            "softcap": 0.0,
            "qk_output": -1,
        },
        tolerance=Tolerance(1e-5, 2e-6),
        doc="softmax(scale q k^T + mask) v for each head, without the scores of all queries in memory.",
    ),
    OpDef(
        name="rotary_embedding",
        inputs=("x", "cos", "sin", "positions?"),
        infer=_infer_rotary,
        reference=_reference_rotary,
        samples=_sample_rotary,
        attrs={"layout": 0, "interleaved": 0},
        tolerance=Tolerance(2e-6, 1e-6),
        doc="Pairs of elements of each head turned by the angle of their position.",
    ),
)
