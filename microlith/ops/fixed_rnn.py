# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers on integers with 16-bit states; arithmetic in ``nnacl_kernels/rnn/rnn.h``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import numerics
from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import REQUIRED, OpDef, Sample, fixed_point, register, sampling
from .shape_rules import require, require_dtype, require_inputs, require_rank

Attrs = Mapping[str, Any]
Array = np.ndarray

GATES = {"fixed_lstm": 4, "fixed_gru": 3}


def _infer(node: Node) -> list[TensorType]:
    x, r, gates = node.input(0), node.input(2), GATES[node.op]
    require_dtype(node, x, DType.s8, DType.s16)
    first, second, size = require_rank(node, x, 3)
    hidden = require_rank(node, r, 2)[1]
    require(node, isinstance(hidden, int), "the hidden size must be known")
    assert isinstance(hidden, int)
    layout = node.attrs["layout"]
    batch: Dim = first if layout else second
    state: tuple[Dim, ...] = (batch, 1, hidden) if layout else (1, batch, hidden)
    expected: dict[int, tuple[DType, tuple[Dim, ...]]] = {
        1: (DType.s8, (gates * hidden, size)),
        2: (DType.s8, (gates * hidden, hidden)),
        3: (DType.s32, (3, gates * hidden)),
        4: (DType.s32, (4, gates * hidden)),
        5: (DType.s16, state),
        6: (DType.s16, state),
    }
    require_inputs(node, expected)
    require(node, -15 <= node.attrs["cell_exponent"] <= -9, "cell_exponent is outside -15 .. -9")
    y = (first, second, 1, hidden) if layout else (first, 1, second, hidden)
    return [TensorType(x.dtype, y), *[TensorType(DType.s16, state)] * (2 if node.op == "fixed_lstm" else 1)]


class _Weights:
    """What a step needs of the inputs 1 to 4."""

    def __init__(self, inputs: Sequence[Array | None]) -> None:
        w, r, sums, factors = (array for array in inputs[1:5] if array is not None)
        self._w, self._r = w.astype(np.int64).T, r.astype(np.int64).T
        self._offset, self.x_bias, self.h_bias = sums.astype(np.int64)
        self._mults = np.maximum(factors[[0, 2]].astype(np.int64), 0)
        self._shifts = np.clip(factors[[1, 3]].astype(np.int64), -62, 30)

    def of_x(self, x: Array) -> Array:
        """[batch, gates * hidden] in Q3.12, without the bias."""
        sums = numerics.wrap_int32(x.astype(np.int64) @ self._w + self._offset)
        return numerics.requantize(sums, self._mults[0], self._shifts[0], numerics.SINGLE)

    def of_h(self, h: Array, rows: slice = slice(None)) -> Array:
        sums = numerics.wrap_int32(h @ self._r[:, rows])
        return numerics.requantize(sums, self._mults[1][rows], self._shifts[1][rows], numerics.SINGLE)


def _gru_step(weights: _Weights, x: Array, h: Array, attrs: Attrs) -> Array:
    hidden = h.shape[-1]
    fresh, both = slice(2 * hidden, None), slice(0, 2 * hidden)
    x_part = weights.of_x(x) + weights.x_bias
    gates = fixed_point.saturate(x_part[:, both] + weights.of_h(h, both) + weights.h_bias[both])
    update, reset = np.split(fixed_point.logistic(gates), 2, axis=-1)
    if attrs["linear_before_reset"]:
        recurrent = fixed_point.saturate(weights.of_h(h, fresh) + weights.h_bias[fresh])
        recurrent = fixed_point.round_shift(reset * recurrent, 15)
    else:
        recurrent = weights.of_h(fixed_point.round_shift(reset * h, 15), fresh) + weights.h_bias[fresh]
    candidate = fixed_point.tanh(fixed_point.saturate(x_part[:, fresh] + recurrent), 3)
    return fixed_point.saturate(fixed_point.round_shift((32768 - update) * candidate + update * h, 15))


def _lstm_step(weights: _Weights, x: Array, h: Array, c: Array, attrs: Attrs) -> tuple[Array, Array]:
    exponent, limit = attrs["cell_exponent"], attrs["cell_clip"] or 32768
    gates = fixed_point.saturate(weights.of_x(x) + weights.x_bias + weights.of_h(h) + weights.h_bias)
    i, o, f, g = np.split(gates, 4, axis=-1)
    kept = fixed_point.round_shift(fixed_point.logistic(f) * c, 15)
    added = fixed_point.round_shift(fixed_point.logistic(i) * fixed_point.tanh(g, 3), 30 + exponent)
    c = np.clip(fixed_point.saturate(kept + added), -limit, limit)
    product = fixed_point.logistic(o) * fixed_point.tanh(c, 15 + exponent)
    return fixed_point.saturate(fixed_point.round_shift(product, 15)), c


def _reference(op: str) -> Callable[[Sequence[Array | None], Attrs], list[Array]]:
    def reference(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
        x, _, r, _, _, h0, c0 = (*inputs, None, None)[:7]
        assert x is not None and r is not None
        steps = np.moveaxis(x, 1, 0) if attrs["layout"] else x
        shape = (steps.shape[1], r.shape[1])
        h, c = (
            np.zeros(shape, np.int64) if state is None else state.astype(np.int64).reshape(shape) for state in (h0, c0)
        )
        weights, info = _Weights(inputs), np.iinfo(x.dtype)
        y = np.zeros((steps.shape[0], *shape), np.int64)
        for t in range(len(steps))[:: -1 if attrs["reverse"] else 1]:
            if op == "fixed_gru":
                h = _gru_step(weights, steps[t], h, attrs)
            else:
                h, c = _lstm_step(weights, steps[t], h, c, attrs)
            scaled = numerics.requantize(h, attrs["y_mult"], attrs["y_shift"], numerics.SINGLE)
            y[t] = np.clip(scaled + attrs["y_zero"], info.min, info.max)
        sequence = np.moveaxis(y, 0, 1)[:, :, None] if attrs["layout"] else y[:, None]
        states = [np.expand_dims(state, 1 if attrs["layout"] else 0).astype(np.int16) for state in (h, c)]
        return [np.ascontiguousarray(sequence, x.dtype), *states[: 2 if op == "fixed_lstm" else 1]]

    return reference


def _samples(op: str) -> Callable[[np.random.Generator], Sample]:
    gates = GATES[op]

    def draw(rng: np.random.Generator) -> Sample:
        steps, batch, size, hidden = (sampling.size(rng, 1, 6), sampling.size(rng, 1, 3), *rng.integers(1, 24, 2))
        layout, rows, dtype = int(rng.integers(2)), gates * int(hidden), np.int8 if rng.integers(2) else np.int16
        spread = 64.0 * float(np.iinfo(dtype).max) / 2.0 * float(size) ** 0.5

        def factors(largest: float) -> tuple[list[int], list[int]]:
            pairs = [numerics.quantize_multiplier(4096.0 / largest * 2.0 ** rng.uniform(-4, 4)) for _ in range(rows)]
            return [mult for mult, _ in pairs], [shift for _, shift in pairs]

        y_mult, y_shift = numerics.quantize_multiplier(np.iinfo(dtype).max / 32768.0 * float(2.0 ** rng.uniform(-1, 2)))
        zero = int(rng.choice([np.iinfo(dtype).min, 0, np.iinfo(dtype).max, int(rng.integers(-100, 100))]))
        attrs = {
            "layout": layout,
            "reverse": int(rng.integers(2)),
            "y_mult": y_mult,
            "y_shift": y_shift,
            "y_zero": zero,
        }
        if op == "fixed_gru":
            attrs["linear_before_reset"] = int(rng.integers(2))
        else:
            attrs |= {"cell_exponent": int(rng.integers(-15, -8)), "cell_clip": int(rng.choice([0, 9000]))}
        state = (batch, 1, int(hidden)) if layout else (1, batch, int(hidden))
        sums = [rng.integers(-int(spread), int(spread) + 1, rows), *rng.integers(-20000, 20000, (2, rows))]
        inputs: list[Array | None] = [
            sampling.integers(rng, (batch, steps, int(size)) if layout else (steps, batch, int(size)), dtype),
            sampling.integers(rng, (rows, int(size))),
            sampling.integers(rng, (rows, int(hidden))),
            np.stack(sums).astype(np.int32),
            np.array([*factors(spread), *factors(64.0 * 16384.0 * float(hidden) ** 0.5)], np.int32),
        ]
        for _ in range(2 if op == "fixed_lstm" else 1):
            inputs.append(sampling.integers(rng, state, np.int16) if rng.integers(2) else None)
        return Sample(inputs, attrs)

    return draw


_DOC = {
    "fixed_gru": "A layer of gated recurrent units on integers: x and y s8 or s16, weights s8, the state s16.",
    "fixed_lstm": "A layer of long short-term memory cells on integers: x and y s8 or s16, weights s8, states s16.",
}

register(
    *(
        OpDef(
            name=op,
            inputs=("x", "w", "r", "sums", "factors", "h?", *(("c?",) if op == "fixed_lstm" else ())),
            outputs=("y", "y_h", *(("y_c",) if op == "fixed_lstm" else ())),
            infer=_infer,
            reference=_reference(op),
            samples=_samples(op),
            attrs={
                "layout": 0,
                "reverse": 0,
                "linear_before_reset": 0,
                **dict.fromkeys(("y_mult", "y_shift", "y_zero"), REQUIRED),
                "cell_exponent": -11,
                "cell_clip": 0,
            },
            doc=_DOC[op],
        )
        for op in GATES
    )
)
