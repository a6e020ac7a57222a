# SPDX-License-Identifier: Apache-2.0
"""Why a tensor differs: tags with a sentence each, from what was measured.

A layer is judged by what it does to the reference's own numbers where that is known (``Isolation``), because noise that
comes in from the layers before says nothing about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import ops
from ..errors import InputError
from ..ir import Graph, Value
from ..numerics import CONTRACTS, quantize_array
from .differences import Comparison, real_range, to_real
from .engines import Arrays, Layer

RANGE_CLIPPED = "range clipped"
SCALE_MISMATCH = "scale mismatch"
ROUNDING = "rounding"
FLOAT_FALLBACK = "float fallback"
INHERITED = "inherited"
NOT_FINITE = "not finite"

CLIPPED_PART = 0.1
"""Clipping is a cause when it makes this part of the noise."""

FIT_PART = 0.5
"""A wrong scale or offset is a cause when a straight line takes away this part of the noise."""

SAME_GAIN = 0.005
"""A gain that is nearer to 1 is no wrong scale."""

STEP_NOISES = 4.0
"""Noise up to so many times that of one rounding counts as rounding."""

INHERITED_PART = 0.5
"""Noise is inherited when the layer itself makes less than this part of it."""

FLOAT_SQNR = 90.0
"""From here on two float results differ by their rounding only, in dB."""

_WEIGHTED = frozenset(
    "conv2d depthwise_conv2d conv_transpose dense matmul quantized_lstm fixed_lstm fixed_gru svdf lstm gru".split()
)


@dataclass(frozen=True)
class Cause:
    """A tag and what was measured for it."""

    tag: str
    text: str


def find_causes(
    layer: Layer, whole: Comparison, alone: Comparison | None, before: Sequence[Comparison], has_integers: bool
) -> list[Cause]:
    """The causes for one tensor, the weightiest first.

    ``alone``: the layer on the reference's numbers; ``before``: the tensors that it reads; ``has_integers``: whether
    the model computes in integers at all.
    """
    found: list[Cause] = []
    if whole.not_finite:
        found.append(Cause(NOT_FINITE, f"{whole.not_finite} elements are NaN or infinite in one of the models"))
    if has_integers and layer.computes_floats:
        found.append(Cause(FLOAT_FALLBACK, f"{layer.op} computes in floating point in a model of integers"))
    if whole.equal or whole.noise == 0.0:
        return found
    own = alone if alone is not None and alone.count else whole
    limits = real_range(layer.quant, layer.dtype)
    if limits is not None and is_clipped(whole):
        found.append(
            Cause(
                RANGE_CLIPPED,
                f"{_percent(whole.clipping)} of the elements lie outside [{limits[0]:.4g}, {limits[1]:.4g}] and make "
                f"{_percent(whole.clipped_noise / whole.noise)} of the noise",
            )
        )
    step = float(layer.quant.scale[0]) if limits is not None and layer.quant is not None else 0.0
    floor = step * step / 12.0
    gain, offset, rest = own.fitted_noise()
    mismatch = own.noise - rest > FIT_PART * own.noise and own.mean_square > STEP_NOISES * floor
    mismatch &= (abs(gain - 1) > SAME_GAIN or abs(offset) > step) and own.sqnr < FLOAT_SQNR
    if mismatch and not is_clipped(whole) and not any(is_clipped(item) for item in before):
        found.append(Cause(SCALE_MISMATCH, f"the numbers are about {gain:.4g} times the reference, plus {offset:.3g}"))
    inherited = _is_inherited(own, whole, alone, before)
    known = own is not whole or not inherited
    if known and own.noise > 0 and not any(cause.tag in (RANGE_CLIPPED, SCALE_MISMATCH) for cause in found):
        found.append(Cause(ROUNDING, _rounding_text(layer, own, floor)))
    if inherited:
        found.append(Cause(INHERITED, "most of the noise comes in from the layers before"))
    return found


def is_clipped(numbers: Comparison) -> bool:
    """Whether a range that is too small makes a good part of the noise."""
    return numbers.clipped > 0 and numbers.clipped_noise > CLIPPED_PART * numbers.noise


def _is_inherited(own: Comparison, whole: Comparison, alone: Comparison | None, before: Sequence[Comparison]) -> bool:
    if alone is not None and alone.count:
        return own.mean_square < INHERITED_PART * whole.mean_square
    noisy = [item.sqnr for item in before if item.count and not item.equal]
    return bool(noisy) and min(noisy) <= whole.sqnr + 3.0


def _rounding_text(layer: Layer, own: Comparison, floor: float) -> str:
    if floor == 0.0:
        return "rounding of floating point" if own.sqnr >= FLOAT_SQNR else "the layer rounds or computes otherwise"
    ratio = own.mean_square / floor
    if ratio <= STEP_NOISES:
        return f"{ratio:.2g} times the noise of one rounding to its step"
    what = "rounding of the weights" if layer.op in _WEIGHTED else "the layer rounds or computes otherwise"
    return f"{what}: {ratio:.3g} times the noise of one rounding to its step"


def _percent(part: float) -> str:
    return f"{100 * part:.3g} %"


class Isolation:
    """Runs each layer of a graph on the reference's numbers instead of those that the layers before gave."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.found: dict[str, Comparison] = {}

    def add(self, inputs: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> None:
        """One sample: the inputs of the graph, and for tensors by name the reference's real numbers in their shape."""
        rounding = CONTRACTS[self.graph.contract]
        ideal: dict[Value, np.ndarray] = {value: inputs[value.name] for value in self.graph.inputs}
        ideal |= {state.input: state.start() for state in self.graph.states}
        ideal |= {value: value.data for value in self.graph.constants() if value.data is not None}
        for node in self.graph.nodes:
            opdef = ops.get(node.op)
            operands = [None if value is None else ideal.get(value) for value in node.inputs]
            known = all(value is None or array is not None for value, array in zip(node.inputs, operands, strict=True))
            results: Sequence[np.ndarray | None] = [None] * len(node.outputs)
            if known and not opdef.subgraphs:
                with np.errstate(all="ignore"):
                    results = opdef.reference(operands, node.attrs)
            for value, result in zip(node.outputs, results, strict=True):
                real = wanted.get(value.name)
                if result is not None:
                    result = np.asarray(result, value.dtype.numpy)
                    if real is not None and real.shape == result.shape:
                        known_so_far = self.found.setdefault(value.name, Comparison())
                        known_so_far.add(real, to_real(result, value.quant), result, value.quant)
                if real is not None:
                    result = _stored(real, value, rounding)
                if result is not None:
                    ideal[value] = result


def _stored(real: np.ndarray, value: Value, rounding: int) -> np.ndarray:
    """Real numbers in the type of a tensor."""
    if value.quant is None or value.dtype.is_float:
        return real.astype(value.dtype.numpy)
    shape = [1] * real.ndim
    if value.quant.axis is not None:
        shape[value.quant.axis] = -1
    scale, zero = (item.reshape(shape) for item in (value.quant.scale, value.quant.zero_point))
    return quantize_array(real.astype(np.float32), scale, zero, value.dtype.numpy, rounding)


def model_inputs(graph: Graph, feed: Arrays) -> Arrays:
    """The inputs of a graph out of a sample. Raises InputError."""
    missing = [value.name for value in graph.inputs if value.name not in feed]
    if missing:
        raise InputError(f"input '{missing[0]}' is missing")
    return {value.name: feed[value.name] for value in graph.inputs}
