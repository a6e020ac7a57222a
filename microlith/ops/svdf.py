"""One step of an int8 layer with a memory for each filter; arithmetic in ``nnacl_kernels/rnn/rnn.h``."""

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


def _infer(node: Node) -> list[TensorType]:
    x, times = node.input(0), node.input(2)
    require_dtype(node, x, DType.s8)
    batch, size = require_rank(node, x, 2)
    filters, memory = require_rank(node, times, 2)
    require(node, isinstance(filters, int) and isinstance(memory, int), "the sizes of the weights must be known")
    assert isinstance(filters, int) and isinstance(memory, int)
    rank = node.attrs["rank"]
    require(node, rank >= 1 and filters >= 1 and memory >= 1 and filters % rank == 0, "rank must divide the filters")
    state: tuple[Dim, ...] = (batch, filters * memory)
    expected: dict[int, tuple[DType, tuple[Dim, ...]]] = {
        1: (DType.s8, (filters, size)),
        2: (DType.s16, (filters, memory)),
        3: (DType.s32, (filters // rank,)),
        4: (DType.s16, state),
    }
    require_inputs(node, expected)
    return [TensorType(DType.s8, (batch, filters // rank)), TensorType(DType.s16, state)]


def _reference(inputs: Sequence[np.ndarray | None], attrs: Attrs) -> list[np.ndarray]:
    x, features, times, bias, state = inputs
    assert x is not None and features is not None and times is not None and state is not None
    sums = (x.astype(np.int64) - attrs["x_zero"]) @ features.astype(np.int64).T
    scaled = numerics.requantize(sums, attrs["state_mult"], attrs["state_shift"], numerics.TFLITE_DOUBLE)
    memories = state.reshape(len(x), *times.shape).astype(np.int64)
    memories = np.concatenate([memories[..., 1:], fixed_point.saturate(scaled)[..., None]], axis=-1)
    totals = (memories * times.astype(np.int64)).sum(axis=-1).reshape(len(x), -1, attrs["rank"]).sum(axis=-1)
    totals = numerics.wrap_int32(totals if bias is None else totals + bias)
    y = numerics.requantize(totals, attrs["y_mult"], attrs["y_shift"], numerics.TFLITE_DOUBLE) + attrs["y_zero"]
    return [
        np.clip(y, attrs["q_min"], attrs["q_max"]).astype(np.int8),
        memories.reshape(state.shape).astype(np.int16),
    ]


def _samples(rng: np.random.Generator) -> Sample:
    batch, size, rank, units, memory = (int(number) for number in rng.integers(1, (4, 24, 4, 8, 12)))
    filters = rank * units
    state_mult, state_shift = numerics.quantize_multiplier(2.0 ** rng.uniform(-2, 3))
    y_mult, y_shift = numerics.quantize_multiplier(2.0 ** rng.uniform(-24, -16))
    attrs = {
        "rank": rank,
        "x_zero": sampling.zero_point(rng),
        "y_zero": sampling.zero_point(rng),
        "state_mult": state_mult,
        "state_shift": state_shift,
        "y_mult": y_mult,
        "y_shift": y_shift,
        **sampling.integer_clamp(rng),
    }
    inputs: list[np.ndarray | None] = [
        sampling.integers(rng, (batch, size)),
        sampling.integers(rng, (filters, size)),
        rng.integers(-3000, 3000, (filters, memory)).astype(np.int16),
        rng.integers(-20000, 20000, units).astype(np.int32) if rng.integers(2) else None,
        sampling.integers(rng, (batch, filters * memory), np.int16),
    ]
    return Sample(inputs, attrs)


register(
    OpDef(
        name="svdf",
        inputs=("x", "features", "times", "bias?", "state"),
        outputs=("y", "next_state"),
        infer=_infer,
        reference=_reference,
        samples=_samples,
        attrs={
            **dict.fromkeys(("rank", "x_zero", "y_zero", "state_mult", "state_shift", "y_mult", "y_shift"), REQUIRED),
            "q_min": -128,
            "q_max": 127,
        },
        doc="One step of an int8 layer that weighs the last results of its filters, as LiteRT computes it.",
    )
)
