"""Linear attention; arithmetic in ``nnacl_kernels/attention/attention.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import REQUIRED, OpDef, Sample, Tolerance, register, sampling
from .shape_rules import require, require_dtype, require_equal, require_rank

Attrs = Mapping[str, Any]
Array = np.ndarray


def _head_size(node: Node, index: int, heads: int) -> int:
    """The size of a head in the last dimension of an input, which must be known."""
    value = node.input(index)
    require_dtype(node, value, DType.f32)
    last = require_rank(node, value, 3)[2]
    require(node, isinstance(last, int) and last % heads == 0, f"'{value.name}' is not {heads} heads")
    assert isinstance(last, int)
    return last // heads


def _infer(node: Node) -> list[TensorType]:
    heads, kv_heads = node.attrs["heads"], node.attrs["kv_heads"]
    require(node, kv_heads >= 1 and heads >= 1 and heads % kv_heads == 0, f"{kv_heads} do not divide {heads} heads")
    size, k_size, v_size = (_head_size(node, i, n) for i, n in enumerate((heads, kv_heads, kv_heads)))
    require_equal(node, k_size, size, "the size of the heads of k")
    batch, length, _ = node.input(0).shape
    state: tuple[Dim, ...] = (batch, kv_heads, size, v_size)
    if (past := node.optional_input(3)) is not None:
        require_dtype(node, past, DType.f32)
        for actual, expected in zip(require_rank(node, past, 4), state, strict=True):
            require_equal(node, actual, expected, "a dimension of the state")
    for index, widths in ((4, (kv_heads, kv_heads * size)), (5, (kv_heads, 1))):
        if (rates := node.optional_input(index)) is not None:
            require_dtype(node, rates, DType.f32)
            require(node, require_rank(node, rates, 3)[2] in widths, f"'{rates.name}' is {rates.type}")
    return [TensorType(DType.f32, (batch, length, heads * v_size)), TensorType(DType.f32, state)]


def _reference(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    q, k, v, past, decay, beta = (*inputs, *[None] * 3)[:6]
    assert q is not None and k is not None and v is not None
    dtype = q.dtype
    batch, length, _ = q.shape
    heads, kv_heads = attrs["heads"], attrs["kv_heads"]
    q, k, v = (
        x.astype(np.float64).reshape(batch, length, n, -1) for x, n in ((q, heads), (k, kv_heads), (v, kv_heads))
    )
    state = np.zeros((batch, kv_heads, k.shape[-1], v.shape[-1])) if past is None else past.astype(np.float64)
    scale, outputs = np.float64(np.float32(attrs["scale"])), []
    for t in range(length):
        if decay is not None:
            state = state * np.exp(decay[:, t].astype(np.float64).reshape(batch, kv_heads, -1, 1))
        change = v[:, t]
        if beta is not None:
            change = beta[:, t, :, None] * (change - np.einsum("bhdm,bhd->bhm", state, k[:, t]))
        state = state + k[:, t, :, :, None] * change[:, :, None, :]
        read = np.repeat(state, heads // kv_heads, axis=1)
        outputs.append(scale * np.einsum("bhd,bhdm->bhm", q[:, t], read))
    y = np.stack(outputs, axis=1).reshape(batch, length, -1)
    return [y.astype(dtype), state.astype(dtype)]


def _samples(rng: np.random.Generator) -> Sample:
    batch, kv_heads, size, v_size = (sampling.size(rng, 1, 3) for _ in range(4))
    length, heads = sampling.size(rng, 1, 4), kv_heads * sampling.size(rng, 1, 3)

    def rows(width: int) -> Array:
        return sampling.floats(rng, (batch, length, width), -1.0, 1.0)

    inputs: list[Array | None] = [rows(heads * size), rows(kv_heads * size), rows(kv_heads * v_size)]
    inputs.append(sampling.floats(rng, (batch, kv_heads, size, v_size)) if rng.integers(2) else None)
    inputs.append(rows(kv_heads * (size if rng.integers(2) else 1)) if rng.integers(2) else None)
    inputs.append(rows(kv_heads if rng.integers(2) else 1) if rng.integers(2) else None)
    scale = float(np.float32(rng.uniform(0.2, 1.0)))
    return Sample(inputs, {"heads": heads, "kv_heads": kv_heads, "scale": scale})


register(
    OpDef(
        name="linear_attention",
        inputs=("q", "k", "v", "state?", "decay?", "beta?"),
        outputs=("y", "state"),
        infer=_infer,
        reference=_reference,
        samples=_samples,
        attrs={"heads": REQUIRED, "kv_heads": REQUIRED, "scale": 1.0},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="Attention through a state of fixed size that decays and takes in one step after the other.",
    )
)
