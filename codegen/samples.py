"""Stored samples of a self-test, and how far a result may be from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .. import ops
from ..float_layers import REQUANTIZED_TOLERANCE, requantizes
from ..ir import Graph
from ..lower import Program
from . import literals
from .view import ModelView, SampleView


def tolerances(program: Program, graph: Graph) -> tuple[float, float]:
    """How far a float output of the whole model may be from the reference: (relative to its largest value, absolute).

    The tolerances of the ops along the way add up. Where a computed float is quantized again, the least difference can
    become a whole step of 1/127, so that much more has to be allowed.
    """
    used = [call.node for call in program.all_calls if call.kernel is not None]
    # What writes to a state has no output; it copies.
    allowed = [ops.get(node.op).tolerance_of(node.outputs[0].dtype) for node in used if node.outputs]
    relative = min(1e-2, max(1e-5, sum(tolerance.relative for tolerance in allowed)))
    absolute = max(1e-6, max((tolerance.absolute for tolerance in allowed), default=0.0))
    if requantizes(graph):
        relative = REQUANTIZED_TOLERANCE
    return relative, absolute


def sample_view(
    view: ModelView,
    program: Program,
    graph: Graph,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    sizes: Sequence[int] = (),
) -> SampleView:
    """A stored sample for the self-test."""
    relative, absolute = tolerances(program, graph)
    allowed = []
    for tensor in view.outputs:
        if not tensor.dtype.is_float:
            allowed.append("0.0f")
            continue
        values = outputs[tensor.key]
        largest = float(np.max(np.abs(values[np.isfinite(values)]), initial=0))
        allowed.append(literals.float32(relative * largest + absolute))
    return SampleView(
        inputs=tuple(tuple(literals.array_lines(inputs[tensor.key], tensor.dtype)) for tensor in view.inputs),
        outputs=tuple(tuple(literals.array_lines(outputs[tensor.key], tensor.dtype)) for tensor in view.outputs),
        tolerances=tuple(allowed),
        sizes=tuple(sizes),
        input_counts=tuple(inputs[tensor.key].size for tensor in view.inputs),
        output_counts=tuple(outputs[tensor.key].size for tensor in view.outputs),
    )
