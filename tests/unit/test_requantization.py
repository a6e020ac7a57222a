"""Where the least difference of a float can become a whole step of an integer."""

from __future__ import annotations

import pytest

from microlith.dtypes import DType
from microlith.float_layers import requantizes
from microlith.ir import Graph, TensorType, Value


def graph_of(*ops: str) -> Graph:
    """The ops one behind another, each on the first result of the one before."""
    graph = Graph("chain")
    value = Value("x", TensorType(DType.f32, (2, 3)))
    graph.inputs = [value]
    for op in ops:
        value = graph.add(op, [value]).outputs[0]
    graph.outputs = [value]
    return graph


@pytest.mark.parametrize(
    ("ops", "answer"),
    [
        (("quantize_dynamic",), False),
        (("quantize",), False),
        (("relu", "sqrt"), False),
        (("tanh", "quantize_dynamic"), True),
        (("tanh", "quantize"), True),
        (("quantize", "dequantize", "tanh"), False),
        (("quantize", "dequantize", "tanh", "quantize"), True),
    ],
)
def test_computed_floats_that_are_quantized(ops: tuple[str, ...], answer: bool) -> None:
    assert requantizes(graph_of(*ops)) is answer


def test_what_a_state_keeps_was_computed() -> None:
    graph = graph_of("quantize_dynamic")
    x = graph.inputs.pop()
    assert x.uses
    assert requantizes(graph)
