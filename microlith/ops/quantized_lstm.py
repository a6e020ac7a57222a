"""LSTM of int8 with an int16 cell; arithmetic in ``nnacl_kernels/rnn/rnn.h``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import REQUIRED, OpDef, Sample, fixed_point, register, sampling
from .shape_rules import require, require_dtype, require_inputs, require_rank

Attrs = Mapping[str, Any]
Array = np.ndarray


def _infer(node: Node) -> list[TensorType]:
    x, r = node.input(0), node.input(2)
    require_dtype(node, x, DType.s8)
    first, second, size = require_rank(node, x, 3)
    hidden = require_rank(node, r, 2)[1]
    require(node, isinstance(hidden, int), "the hidden size must be known")
    assert isinstance(hidden, int)
    batch: Dim = first if node.attrs["layout"] else second
    expected: dict[int, tuple[DType, tuple[Dim, ...]]] = {
        1: (DType.s8, (4 * hidden, size)),
        2: (DType.s8, (4 * hidden, hidden)),
        3: (DType.s32, (2, 4 * hidden)),
        4: (DType.s8, (batch, hidden)),
        5: (DType.s16, (batch, hidden)),
    }
    require_inputs(node, expected)
    require(node, -15 <= node.attrs["cell_exponent"] <= -9, "cell_exponent is outside -15 .. -9")
    state = TensorType(DType.s8, (batch, hidden)), TensorType(DType.s16, (batch, hidden))
    return [TensorType(DType.s8, (first, second, hidden)), *state]


def _gates(x: Array, weights: Array, bias: Array, mults: Sequence[int], shifts: Sequence[int]) -> Array:
    """The requantized sums of the four gates."""
    sums = x.astype(np.int64) @ weights.astype(np.int64).T + bias
    parts = np.split(sums, 4, axis=-1)
    scaled = [
        numerics.requantize(part, mult, shift, numerics.TFLITE_DOUBLE)
        for part, mult, shift in zip(parts, mults, shifts, strict=True)
    ]
    return np.concatenate(scaled, axis=-1)


def _reference(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
    x, w, r, biases, h0, c0 = (*inputs, None, None)[:6]
    assert x is not None and w is not None and r is not None and biases is not None
    x = np.moveaxis(x, 1, 0) if attrs["layout"] else x
    shape, exponent = (x.shape[1], r.shape[1]), attrs["cell_exponent"]
    h = np.full(shape, attrs["y_zero"], np.int64) if h0 is None else h0.astype(np.int64)
    c = np.zeros(shape, np.int64) if c0 is None else c0.astype(np.int64)
    y = []
    for step in x:
        gates = fixed_point.saturate(_gates(step, w, biases[0], attrs["x_mults"], attrs["x_shifts"]))
        gates = fixed_point.saturate(gates + _gates(h, r, biases[1], attrs["h_mults"], attrs["h_shifts"]))
        i, o, f, g = np.split(gates, 4, axis=-1)
        kept = fixed_point.round_shift(fixed_point.logistic(f) * c, 15)
        added = fixed_point.round_shift(fixed_point.logistic(i) * fixed_point.tanh(g, 3), 30 + exponent)
        c = fixed_point.saturate(kept + fixed_point.wrap(added))
        if attrs["cell_clip"] > 0:
            c = np.clip(c, -attrs["cell_clip"], attrs["cell_clip"])
        product = fixed_point.logistic(o) * fixed_point.tanh(c, 15 + exponent)
        scaled = numerics.requantize(product, attrs["y_mult"], attrs["y_shift"], numerics.TFLITE_DOUBLE)
        h = np.clip(scaled + attrs["y_zero"], -128, 127)
        y.append(h)
    sequence = np.stack(y, axis=1 if attrs["layout"] else 0)
    return [sequence.astype(np.int8), h.astype(np.int8), c.astype(np.int16)]


def _samples(rng: np.random.Generator) -> Sample:
    steps, batch, size, hidden = (sampling.size(rng, 1, 4), sampling.size(rng, 1, 3), *rng.integers(1, 12, 2))
    layout = int(rng.integers(2))
    spread = 64.0 * 64.0 * float(size + hidden) ** 0.5

    def multipliers(factor: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
        pairs = [numerics.quantize_multiplier(factor * 2.0 ** rng.uniform(-2, 1)) for _ in range(4)]
        return tuple(mult for mult, _ in pairs), tuple(shift for _, shift in pairs)

    x_mults, x_shifts = multipliers(8192.0 / spread)
    h_mults, h_shifts = multipliers(8192.0 / spread)
    y_mult, y_shift = numerics.quantize_multiplier(2.0**-23 * float(rng.uniform(0.5, 2.0)))
    attrs = {
        "layout": layout,
        "x_mults": x_mults,
        "x_shifts": x_shifts,
        "h_mults": h_mults,
        "h_shifts": h_shifts,
        "y_mult": y_mult,
        "y_shift": y_shift,
        "y_zero": sampling.zero_point(rng),
        "cell_exponent": int(rng.integers(-15, -8)),
        "cell_clip": int(rng.choice([0, 20000])),
    }
    inputs: list[Array | None] = [
        sampling.integers(rng, (batch, steps, int(size)) if layout else (steps, batch, int(size))),
        sampling.integers(rng, (4 * int(hidden), int(size))),
        sampling.integers(rng, (4 * int(hidden), int(hidden))),
        rng.integers(-20000, 20000, (2, 4 * int(hidden))).astype(np.int32),
        sampling.integers(rng, (batch, int(hidden))) if rng.integers(2) else None,
        sampling.integers(rng, (batch, int(hidden)), np.int16) if rng.integers(2) else None,
    ]
    return Sample(inputs, attrs)


register(
    OpDef(
        name="quantized_lstm",
        inputs=("x", "w", "r", "biases", "h?", "c?"),
        outputs=("y", "y_h", "y_c"),
        infer=_infer,
        reference=_reference,
        samples=_samples,
        attrs={
            "layout": 0,
            **dict.fromkeys(("x_mults", "x_shifts", "h_mults", "h_shifts"), REQUIRED),
            **dict.fromkeys(("y_mult", "y_shift", "y_zero", "cell_exponent"), REQUIRED),
            "cell_clip": 0,
        },
        doc="An int8 layer of long short-term memory cells with an int16 cell state, as LiteRT computes it.",
    )
)
