"""TFLite's recurrent layers. Their states are variables, which live from one run to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from microlith.dtypes import DType
from microlith.ir import Quant, Value
from microlith.numerics import quantize_multiplier
from microlith.ops.rnn import ACTIVATIONS, FORWARD, REVERSE

from .tflite_data import part
from .tflite_graph import Reject, Row, TfliteNode, require


@dataclass(frozen=True)
class _Places:
    """Where the inputs of one direction stand among those of the operator; gates in the order i f c o."""

    first: int = 1
    """Of the weights: those of the input, of the state, peepholes (i f o), biases, those of the projection."""
    hidden: int = 18
    cell: int = 19

    @property
    def input_weights(self) -> range:
        return range(self.first, self.first + 4)

    @property
    def recurrent_weights(self) -> range:
        return range(self.first + 4, self.first + 8)

    @property
    def peepholes(self) -> range:
        return range(self.first + 8, self.first + 11)

    @property
    def biases(self) -> range:
        return range(self.first + 11, self.first + 15)

    @property
    def projection(self) -> range:
        return range(self.first + 15, self.first + 17)


_ONLY = _Places()
_LAYER_NORM = range(20, 24)

_ACTIVATIONS = {0: ("affine", 1.0), 1: ("relu", 0.0), 4: ("tanh", 0.0)}
"""Fused activation -> (ours, alpha)."""

_GATE_SCALE = np.float32(2.0**-12)
"""Of the gates before their activation in the int8 form: Q3.12."""


@dataclass
class _Weights:
    """Constants of the four gates, i o f c; a coupled layer has no i."""

    x: list[Value | None]
    h: list[Value | None]
    bias: list[Value | None]

    @property
    def hidden(self) -> int:
        return self._some(self.h).type.static_shape[0]

    @property
    def is_coupled(self) -> bool:
        return self.x[0] is None

    @staticmethod
    def _some(values: Sequence[Value | None]) -> Value:
        value = values[1]
        assert value is not None
        return value


def _weights(node: TfliteNode, places: _Places = _ONLY) -> _Weights:
    def gates(places: Sequence[int], what: str) -> list[Value | None]:
        i, f, c, o = (node.optional(place) for place in places)
        for value in (f, c, o):
            require(value is not None, f"{what} are missing")
        for value in (i, f, c, o):
            require(value is None or value.is_constant, f"{what} must be constant")
        return [i, o, f, c]

    return _Weights(
        gates(places.input_weights, "weights of the input"),
        gates(places.recurrent_weights, "weights of the state"),
        gates(places.biases, "biases"),
    )


def unidirectional_lstm(node: TfliteNode) -> Value:
    """UNIDIRECTIONAL_SEQUENCE_LSTM in float, with weights of 8 bits (used as real numbers), and in int8."""
    options = node.options("UnidirectionalSequenceLSTMOptions")
    return _lstm(node, node.value(0), int(not options.TimeMajor()), options)


def lstm(node: TfliteNode) -> Value | list[Value]:
    """LSTM: one step of the same layer, or of the simpler one of the first TFLite converters."""
    options, x = node.options("LSTMOptions"), node.value(0)
    require(len(x.shape) == 2, f"the input has {len(x.shape)} dimensions")
    if options.KernelType() == 1:
        return _basic_lstm(node, x)
    batch, size = x.type.static_shape
    y = _lstm(node, node.reshape(x, (1, batch, size)), 0, options)
    return node.reshape(y, (batch, y.type.static_shape[2]))


def _lstm(node: TfliteNode, x: Value, layout: int, options: Any) -> Value:
    require(not any(node.has(place) for place in _LAYER_NORM), "layer normalization inside of it is not supported")
    _require_plain(node, _ONLY, options)
    require(len(x.shape) == 3, f"the input has {len(x.shape)} dimensions")
    if x.dtype is DType.s8:
        return _integer(node, x, layout, options.CellClip(), options.FusedActivationFunction())
    require(x.dtype is DType.f32, f"{x.dtype.name} is not supported")
    return _float(node, x, layout, options, _ONLY)


def _require_plain(node: TfliteNode, places: _Places, options: Any) -> None:
    require(not any(node.has(place) for place in places.projection), "a projection of its output is not supported")
    require(options.ProjClip() == 0.0, "a clipped projection is not supported")


def bidirectional_lstm(node: TfliteNode) -> list[Value]:
    """BIDIRECTIONAL_SEQUENCE_LSTM in float."""
    options, x = node.options("BidirectionalSequenceLSTMOptions"), node.value(0)
    require(len(x.shape) == 3 and x.dtype is DType.f32, f"{x.type} is not supported")
    require(not any(node.has(place) for place in range(39, 48)), "auxiliary inputs are not supported")
    layout = int(not options.TimeMajor())
    both = []
    for places, direction in ((_Places(1, 35, 36), FORWARD), (_Places(18, 37, 38), REVERSE)):
        _require_plain(node, places, options)
        both.append(_float(node, x, layout, options, places, direction))
    return _merged(node, both, options.MergeOutputs())


def _merged(node: TfliteNode, both: Sequence[Value], merge: bool) -> list[Value]:
    return [node.add("concat", both, {"axis": 2})] if merge else list(both)


def _basic_lstm(node: TfliteNode, x: Value) -> list[Value]:
    """Inputs: 1 last output, 2 weights of all gates over both, 3 biases, 4 state; gates in the order i c f o."""
    last, weights, bias, state = (node.value(index) for index in range(1, 5))
    require(x.dtype is DType.f32, f"{x.dtype.name} is not supported")
    both = node.add("concat", [x, last], {"axis": 1})
    gates = node.add("dense", [both, weights, bias])
    hidden = state.type.static_shape[1]
    i, c, f, o = (part(node, gates, 1, index * hidden, hidden) for index in range(4))
    new = node.add("mul", [node.add("sigmoid", [i]), node.add("tanh", [c])])
    cell = node.add("add", [new, node.add("mul", [node.add("sigmoid", [f]), state])])
    y = node.add("mul", [node.add("sigmoid", [o]), node.add("tanh", [cell])])
    return [y, cell, both, gates]


def _float(node: TfliteNode, x: Value, layout: int, options: Any, places: _Places, direction: int = FORWARD) -> Value:
    weights = _weights(node, places)
    hidden, batch = weights.hidden, x.type.static_shape[1 - layout]
    activation, cell_clip = options.FusedActivationFunction(), options.CellClip()
    if activation not in _ACTIVATIONS:
        raise Reject(f"activation number {activation} is not supported")
    name, alpha = _ACTIVATIONS[activation]
    state = (batch, 1, hidden) if layout else (1, batch, hidden)
    inputs = [
        x,
        node.const(_stacked(weights.x, hidden)[None], suffix="weights"),
        node.const(_stacked(weights.h, hidden)[None], suffix="recurrent"),
        node.const(
            np.concatenate([_stacked(weights.bias, hidden), np.zeros(4 * hidden, np.float32)])[None], suffix="bias"
        ),
        None,
        node.reshape(node.variable(places.hidden), state),
        node.reshape(node.variable(places.cell), state),
        _peepholes(node, hidden, places),
    ]
    attrs = {
        "layout": layout,
        "direction": direction,
        "cell_clip": cell_clip if cell_clip > 0 else math.inf,
        "input_forget": 2 if weights.is_coupled else 0,
        "activations": (0, ACTIVATIONS.index(name), ACTIVATIONS.index(name), 0, 1, 1),
        "alphas": (0.0, alpha, alpha, 0.0, 0.0, 0.0),
    }
    y, h, c = node.add_all("lstm", inputs, attrs)
    for place, value in ((places.hidden, h), (places.cell, c)):
        node.assign(place, node.reshape(value, node.variable(place).type.static_shape))
    first, second = x.type.static_shape[:2]
    return node.reshape(y, (first, second, hidden))


def _real(value: Value) -> np.ndarray:
    """The real numbers of a constant."""
    assert value.data is not None
    if value.dtype is DType.f32:
        return value.data
    require(value.dtype is DType.s8 and value.quant is not None, f"weights of {value.dtype.name} are not supported")
    assert value.quant is not None
    require(value.quant.is_per_tensor, "weights with several scales are not supported")
    return (value.data.astype(np.float32) - np.float32(value.quant.zero_point[0])) * value.quant.scale[0]


def _stacked(gates: Sequence[Value | None], hidden: int) -> np.ndarray:
    """The gates one behind the other; zeros for the missing one."""
    shape = next(value.type.static_shape for value in gates if value is not None)
    require(shape[0] == hidden, "the weights differ in size")
    return np.concatenate([np.zeros(shape, np.float32) if value is None else _real(value) for value in gates])


def _peepholes(node: TfliteNode, hidden: int, places: _Places) -> Value | None:
    i, f, o = (node.optional(place) for place in places.peepholes)
    if f is None and o is None:
        return None
    require(all(value is None or value.is_constant for value in (i, f, o)), "the peepholes must be constant")
    parts = [np.zeros(hidden, np.float32) if value is None else _real(value) for value in (i, o, f)]
    return node.const(np.concatenate(parts)[None], suffix="peepholes")


def sequence_rnn(node: TfliteNode) -> Value:
    """UNIDIRECTIONAL_SEQUENCE_RNN in float, with weights of 8 bits used as real numbers."""
    options, x = node.options("SequenceRNNOptions"), node.value(0)
    require(len(x.shape) == 3, f"the input has {len(x.shape)} dimensions")
    return _plain_rnn(node, x, int(not options.TimeMajor()), options.FusedActivationFunction())


def rnn_step(node: TfliteNode) -> Value:
    """RNN: one step of a plain recurrent layer."""
    x = node.value(0)
    require(len(x.shape) == 2, f"the input has {len(x.shape)} dimensions")
    batch, size = x.type.static_shape
    y = _plain_rnn(node, node.reshape(x, (1, batch, size)), 0, node.options("RNNOptions").FusedActivationFunction())
    return node.reshape(y, (batch, y.type.static_shape[2]))


def bidirectional_rnn(node: TfliteNode) -> list[Value]:
    """BIDIRECTIONAL_SEQUENCE_RNN in float."""
    options, x = node.options("BidirectionalSequenceRNNOptions"), node.value(0)
    require(len(x.shape) == 3, f"the input has {len(x.shape)} dimensions")
    require(not any(node.has(place) for place in (9, 10, 11)), "auxiliary inputs are not supported")
    layout, activation = int(not options.TimeMajor()), options.FusedActivationFunction()
    both = [_plain_rnn(node, x, layout, activation, first, way) for first, way in ((1, FORWARD), (5, REVERSE))]
    return _merged(node, both, options.MergeOutputs())


def _plain_rnn(
    node: TfliteNode, x: Value, layout: int, activation: int, first: int = 1, direction: int = FORWARD
) -> Value:
    """Inputs from ``first``: weights, recurrent weights, bias, state."""
    places = range(first, first + 3)
    require(x.dtype is DType.f32, f"{x.dtype.name} is not supported")
    require(all(node.value(place).is_constant for place in places), "the weights must be constant")
    if activation not in _ACTIVATIONS:
        raise Reject(f"activation number {activation} is not supported")
    name, alpha = _ACTIVATIONS[activation]
    w, r, bias = (_real(node.value(place)) for place in places)
    hidden, batch = w.shape[0], x.type.static_shape[1 - layout]
    inputs = [
        x,
        node.const(w[None], suffix="weights"),
        node.const(r[None], suffix="recurrent"),
        node.const(np.concatenate([bias, np.zeros(hidden, np.float32)])[None], suffix="bias"),
        None,
        node.reshape(node.variable(first + 3), (batch, 1, hidden) if layout else (1, batch, hidden)),
    ]
    number = ACTIVATIONS.index(name)
    attrs = {
        "layout": layout,
        "direction": direction,
        "activations": (number, 1, 1, 0, 1, 1),
        "alphas": (alpha, 0.0, 0.0, 0.0, 0.0, 0.0),
    }
    y, h = node.add_all("rnn", inputs, attrs)
    node.assign(first + 3, node.reshape(h, node.variable(first + 3).type.static_shape))
    return node.reshape(y, (*x.type.static_shape[:2], hidden))


# int8 with int16 cells


def _scale(quant: Quant | None, what: str) -> np.float32:
    require(quant is not None and quant.is_per_tensor, f"{what} has no scale")
    assert quant is not None
    return np.float32(quant.scale[0])


def _zero(value: Value) -> int:
    assert value.quant is not None
    return int(value.quant.zero_point[0])


def _integer(node: TfliteNode, x: Value, layout: int, cell_clip: float, activation: int) -> Value:
    require(activation == 4, f"activation number {activation} is not supported in int8")
    require(not any(node.has(place) for place in _ONLY.peepholes), "peepholes are not supported in int8")
    weights = _weights(node)
    require(not weights.is_coupled, "coupled gates are not supported in int8")
    h, c = node.variable(_ONLY.hidden), node.variable(_ONLY.cell)
    require(h.dtype is DType.s8 and c.dtype is DType.s16, "the states must be int8 and int16")
    x_scale, h_scale = _scale(x.quant, "the input"), _scale(h.quant, "the state")
    c_scale = _scale(c.quant, "the cell")
    exponent = round(math.log2(float(c_scale)))
    require(float(c_scale) == 2.0**exponent and -15 <= exponent <= -9, "the scale of the cell is no power of two")
    hidden_quant = node.intermediate_quant(4)
    y_scale = np.float32(np.float32(2.0**-15) / _scale(hidden_quant, "the hidden state") * np.float32(2.0**-15))
    assert hidden_quant is not None
    y_mult, y_shift = quantize_multiplier(float(y_scale))
    attrs: dict[str, object] = {
        "layout": layout,
        **_multipliers("x", weights.x, x_scale),
        **_multipliers("h", weights.h, h_scale),
        "y_mult": y_mult,
        "y_shift": y_shift,
        "y_zero": int(hidden_quant.zero_point[0]),
        "cell_exponent": exponent,
        "cell_clip": int(min(np.float32(cell_clip) / c_scale, 32767)) if cell_clip > 0 else 0,
    }
    biases = np.stack([_bias(weights.x, weights.bias, _zero(x)), _bias(weights.h, None, _zero(h))])
    inputs = [
        x,
        node.const(_integers(weights.x), suffix="weights"),
        node.const(_integers(weights.h), suffix="recurrent"),
        node.const(biases.astype(np.int32), suffix="biases"),
        h,
        c,
    ]
    y, next_h, next_c = node.add_all("quantized_lstm", inputs, attrs, quants=[node.output_quant(), h.quant, c.quant])
    node.assign(_ONLY.hidden, next_h)
    node.assign(_ONLY.cell, next_c)
    return y


def _integers(gates: Sequence[Value | None]) -> np.ndarray:
    arrays = [value.data for value in gates if value is not None and value.data is not None]
    require(all(array.dtype == np.int8 for array in arrays), "the weights must be int8")
    return np.concatenate(arrays)


def _multipliers(name: str, gates: Sequence[Value | None], scale: np.float32) -> dict[str, tuple[int, ...]]:
    """Attributes that bring the sums of each gate to Q3.12; the factors are float32, as in LiteRT."""
    pairs = []
    for value in gates:
        assert value is not None
        factor = np.float32(_scale(value.quant, "a weight") * scale / _GATE_SCALE)
        require(
            value.quant is not None and not value.quant.zero_point.any(), "weights with a zero point are not supported"
        )
        pairs.append(quantize_multiplier(float(factor)))
    return {f"{name}_mults": tuple(mult for mult, _ in pairs), f"{name}_shifts": tuple(shift for _, shift in pairs)}


def _bias(gates: Sequence[Value | None], biases: Sequence[Value | None] | None, zero: int) -> np.ndarray:
    """What is added to the sums of products with numbers that still hold their zero point."""
    total = -zero * _integers(gates).astype(np.int64).sum(axis=1)
    if biases is not None:
        total = total + np.concatenate([value.data for value in biases if value is not None and value.data is not None])
    return np.asarray(total)


ROWS: Mapping[str, Row] = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": bidirectional_lstm,
    "BIDIRECTIONAL_SEQUENCE_RNN": bidirectional_rnn,
    "LSTM": lstm,
    "RNN": rnn_step,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": unidirectional_lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN": sequence_rnn,
}
