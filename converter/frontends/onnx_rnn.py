"""ONNX recurrent layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...dtypes import DType
from ...ir import Value
from ...ops.rnn import ACTIVATIONS, BIDIRECTIONAL, FORWARD, REVERSE
from .onnx_graph import Builder, OnnxNode, Reject, Row

DIRECTIONS = {"forward": FORWARD, "reverse": REVERSE, "bidirectional": BIDIRECTIONAL}

# ONNX's name -> (ours, default alpha, default beta); None: the activation has no such parameter.
_ACTIVATIONS: dict[str, tuple[str, float | None, float | None]] = {
    "sigmoid": ("sigmoid", None, None),
    "tanh": ("tanh", None, None),
    "relu": ("relu", None, None),
    "affine": ("affine", 1.0, 0.0),
    "leakyrelu": ("leaky_relu", 0.01, None),
    "thresholdedrelu": ("thresholded_relu", 1.0, None),
    "scaledtanh": ("scaled_tanh", 1.0, 1.0),
    "hardsigmoid": ("hard_sigmoid", 0.2, 0.5),
    "elu": ("elu", 1.0, None),
    "softsign": ("softsign", None, None),
    "softplus": ("softplus", None, None),
}


def _activations(node: OnnxNode, defaults: Sequence[str], directions: int) -> dict[str, tuple[float, ...]]:
    """The attributes activations, alphas and betas: three entries for each direction.

    ONNX lists the parameters of those activations only that have any, in order.
    """
    names = node.texts("activations") or list(defaults) * directions
    if len(names) != len(defaults) * directions:
        raise Reject(f"attribute 'activations' names {len(names)} functions, expected {len(defaults) * directions}")
    alphas, betas = list(node.reals("activation_alpha") or ()), list(node.reals("activation_beta") or ())
    result: dict[str, list[float]] = {"activations": [0] * 6, "alphas": [0.0] * 6, "betas": [0.0] * 6}
    for index, name in enumerate(names):
        known = _ACTIVATIONS.get(name.lower())
        if known is None:
            raise Reject(f"activation '{name}' is not known")
        ours, alpha, beta = known
        position = 3 * (index // len(defaults)) + index % len(defaults)
        result["activations"][position] = ACTIVATIONS.index(ours)
        if alpha is not None:
            result["alphas"][position] = alphas.pop(0) if alphas else alpha
        if beta is not None:
            result["betas"][position] = betas.pop(0) if betas else beta
    return {name: tuple(values) for name, values in result.items()}


def _layer(op: str, gates: int, defaults: Sequence[str]) -> Row:
    def row(g: Builder, node: OnnxNode) -> list[Value]:
        direction = DIRECTIONS.get(node.text("direction", "forward"))
        if direction is None:
            raise Reject(f"attribute 'direction' is '{node.text('direction', '')}'")
        directions = 2 if direction == BIDIRECTIONAL else 1
        attrs: dict[str, object] = {
            "direction": direction,
            "layout": node.integer("layout", 0),
            "clip": node.real("clip", math.inf),
            **_activations(node, defaults, directions),
        }
        if op == "lstm":
            attrs["input_forget"] = node.integer("input_forget", 0)
        if op == "gru":
            attrs["linear_before_reset"] = int(node.integer("linear_before_reset", 0) != 0)
        r = node.value(2)
        if (hidden := node.integer("hidden_size", 0)) and len(r.shape) == 3 and r.shape[2] != hidden:
            raise Reject(f"attribute 'hidden_size' is {hidden}, the weights have shape {r.shape}")
        lengths = node.optional(4)
        if lengths is not None and lengths.dtype not in (DType.s32, DType.s64):
            lengths = g.cast(lengths, DType.s32)
        inputs = [node.value(0), node.value(1), r, node.optional(3), lengths, node.optional(5)]
        if op == "lstm":
            inputs += [node.optional(6), node.optional(7)]
        return g.add_all(op, inputs, attrs)

    row.__doc__ = f"A recurrent layer of {gates} gate{'s' if gates > 1 else ''} for each unit."
    return row


ROWS: dict[str, Row] = {
    "GRU": _layer("gru", 3, ("Sigmoid", "Tanh")),
    "LSTM": _layer("lstm", 4, ("Sigmoid", "Tanh", "Tanh")),
    "RNN": _layer("rnn", 1, ("Tanh",)),
}
