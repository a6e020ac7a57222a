"""Recurrent layers; arithmetic in ``nnacl_kernels/rnn/rnn.h``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from . import OpDef, Sample, Tolerance, register, sampling
from .elementwise import UNARY_FLOAT64
from .shape_rules import require, require_dtype, require_equal, require_rank

Attrs = Mapping[str, Any]
Array = np.ndarray

FORWARD, REVERSE, BIDIRECTIONAL = 0, 1, 2

ACTIVATIONS = (
    "sigmoid",
    "tanh",
    "relu",
    "affine",
    "leaky_relu",
    "thresholded_relu",
    "scaled_tanh",
    "hard_sigmoid",
    "elu",
    "softsign",
    "softplus",
)
"""By their numbers in the attribute ``activations``."""

_ATTRS: dict[str, Any] = {
    "direction": FORWARD,
    "layout": 0,
    "clip": math.inf,
    "cell_clip": math.inf,
    "input_forget": 0,
    "linear_before_reset": 0,
    "activations": (0, 1, 1, 0, 1, 1),
    "alphas": (0.0,) * 6,
    "betas": (0.0,) * 6,
    "rounded_h": 0,
}

_GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def _infer(node: Node) -> list[TensorType]:
    gates, attrs = _GATES[node.op], node.attrs
    x, w, r = (node.input(index) for index in range(3))
    require(node, 0 <= attrs["direction"] <= 2, "direction must be 0, 1 or 2")
    directions = 2 if attrs["direction"] == BIDIRECTIONAL else 1
    for value in (x, w, r):
        require_dtype(node, value, DType.f32)
        require_rank(node, value, 3)
    hidden = r.shape[2]
    require(node, isinstance(hidden, int), "the hidden size must be known")
    assert isinstance(hidden, int)
    batch, steps = (x.shape[0], x.shape[1]) if attrs["layout"] else (x.shape[1], x.shape[0])
    _expect(node, 1, (directions, gates * hidden, x.shape[2]))
    _expect(node, 2, (directions, gates * hidden, hidden))
    _expect(node, 3, (directions, 2 * gates * hidden))
    state: tuple[Dim, ...] = (batch, directions, hidden) if attrs["layout"] else (directions, batch, hidden)
    _expect(node, 4, (batch,), DType.s32, DType.s64)
    _expect(node, 5, state)
    _expect(node, 6, state)
    _expect(node, 7, (directions, 3 * hidden))
    y = (batch, steps, directions, hidden) if attrs["layout"] else (steps, directions, batch, hidden)
    return [TensorType(DType.f32, y), *[TensorType(DType.f32, state)] * (2 if node.op == "lstm" else 1)]


def _expect(node: Node, index: int, shape: Sequence[Dim], *dtypes: DType) -> None:
    """Input ``index`` must have this shape, if it is there."""
    value = node.optional_input(index)
    if value is None:
        return
    require_dtype(node, value, *(dtypes or (DType.f32,)))
    for actual, expected in zip(require_rank(node, value, len(shape)), shape, strict=True):
        require_equal(node, actual, expected, f"a dimension of '{value.name}'")


def _activation(attrs: Attrs, direction: int, index: int) -> Callable[[Array], Array]:
    """Activation ``index`` (F, G, H) of a direction; the arguments of F and G are clipped."""
    position = 3 * direction + index
    name = ACTIVATIONS[attrs["activations"][position]]
    alpha, beta = (float(np.float32(attrs[key][position])) for key in ("alphas", "betas"))
    clip = math.inf if index == 2 else float(np.float32(attrs["clip"]))
    special: dict[str, Callable[[Array], Array]] = {
        "affine": lambda x: alpha * x + beta,
        "thresholded_relu": lambda x: np.where(x > alpha, x, 0.0),
        "scaled_tanh": lambda x: alpha * np.tanh(beta * x),
        "softsign": lambda x: x / (1.0 + np.abs(x)),
    }
    function = special.get(name) or (lambda x: UNARY_FLOAT64[name](x, {"alpha": alpha, "beta": beta}))
    return lambda x: np.asarray(function(np.clip(x, -clip, clip)))


State = tuple[Array, Array]
Step = Callable[[Array, Array, Array, State], State]
"""From the weighted input of one step, the recurrent weights and their bias, and (h, c) to the next (h, c)."""


def _rounded(h: Array) -> Array:
    """h in 256 levels over its range and 0."""
    low, high = (np.float32(f(h.astype(np.float32), initial=0.0)) for f in (np.min, np.max))
    scale = np.float32((high - low) / np.float32(255.0)) if high > low else np.float32(1.0)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    levels = np.clip(np.rint(h.astype(np.float32) / scale), -zero, 255 - zero)
    return levels.astype(np.float64) * np.float64(scale)


def _lstm_step(attrs: Attrs, direction: int, peepholes: Array) -> Step:
    f, g, last = (_activation(attrs, direction, index) for index in range(3))
    p_i, p_o, p_f = np.split(peepholes, 3)
    limit = float(np.float32(attrs["cell_clip"]))

    def step(inputs: Array, r: Array, r_bias: Array, state: State) -> State:
        h, c = state
        seen = _rounded(h) if attrs["rounded_h"] else h
        i, o, forget, cell = np.split(inputs + r @ seen + r_bias, 4)
        i, forget = f(i + p_i * c), f(forget + p_f * c)
        if attrs["input_forget"] == 1:
            forget = 1.0 - i
        elif attrs["input_forget"] == 2:
            i = 1.0 - forget
        c = np.clip(forget * c + i * g(cell), -limit, limit)
        return f(o + p_o * c) * last(c), c

    return step


def _gru_step(attrs: Attrs, direction: int) -> Step:
    f, g = (_activation(attrs, direction, index) for index in range(2))

    def step(inputs: Array, r: Array, r_bias: Array, state: State) -> State:
        h, c = state
        r_z, r_r, r_h = np.split(r, 3)
        b_z, b_r, b_h = np.split(r_bias, 3)
        x_z, x_r, x_h = np.split(inputs, 3)
        z, reset = f(x_z + r_z @ h + b_z), f(x_r + r_r @ h + b_r)
        if attrs["linear_before_reset"]:
            fresh = g(x_h + reset * (r_h @ h + b_h))
        else:
            fresh = g(x_h + r_h @ (reset * h) + b_h)
        return (1.0 - z) * fresh + z * h, c

    return step


def _rnn_step(attrs: Attrs, direction: int) -> Step:
    f = _activation(attrs, direction, 0)
    return lambda inputs, r, r_bias, state: (f(inputs + r @ state[0] + r_bias), state[1])


def _reference(op: str) -> Callable[[Sequence[Array | None], Attrs], list[Array]]:
    gates = _GATES[op]

    def reference(inputs: Sequence[Array | None], attrs: Attrs) -> list[Array]:
        x, w, r, bias, lengths, h0, c0, peepholes = (*inputs, *[None] * 8)[:8]
        assert x is not None and w is not None and r is not None
        hidden, directions = r.shape[2], w.shape[0]
        x = np.moveaxis(x, 1, 0) if attrs["layout"] else x
        steps, batch = x.shape[:2]
        y = np.zeros((steps, directions, batch, hidden))
        states = np.zeros((2, directions, batch, hidden))
        for index, initial in enumerate((h0, c0)):
            if initial is not None:
                states[index] = np.moveaxis(initial, 1, 0) if attrs["layout"] else initial
        for d in range(directions):
            w_bias, r_bias = np.split((np.zeros(2 * gates * hidden) if bias is None else bias[d]).astype(np.float64), 2)
            if op == "lstm":
                step = _lstm_step(attrs, d, np.zeros(3 * hidden) if peepholes is None else peepholes[d])
            else:
                step = (_gru_step if op == "gru" else _rnn_step)(attrs, d)
            for n in range(batch):
                length = steps if lengths is None else min(max(int(lengths[n]), 0), steps)
                if lengths is not None and length == 0:
                    states[:, d, n] = 0.0
                state = (states[0, d, n], states[1, d, n])
                backwards = d == 1 or attrs["direction"] == REVERSE
                for t in range(length)[:: -1 if backwards else 1]:
                    weighted = w[d].astype(np.float64) @ x[t, n] + w_bias
                    state = step(weighted, r[d].astype(np.float64), r_bias, state)
                    y[t, d, n] = state[0]
                states[0, d, n], states[1, d, n] = state
        if attrs["layout"]:
            y, states = np.moveaxis(y, 2, 0), np.moveaxis(states, 2, 1)
        results = [y, states[0], states[1]][: 3 if op == "lstm" else 2]
        return [np.ascontiguousarray(result, x.dtype) for result in results]

    return reference


def _samples(op: str) -> Callable[[np.random.Generator], Sample]:
    gates = _GATES[op]

    def draw(rng: np.random.Generator) -> Sample:
        steps, batch = sampling.size(rng, 1, 4), sampling.size(rng, 1, 3)
        size, hidden = sampling.size(rng, 1, 11), sampling.size(rng, 1, 11)
        direction, layout = int(rng.integers(3)), int(rng.integers(2))
        directions = 2 if direction == BIDIRECTIONAL else 1

        def maybe(*shape: int) -> Array | None:
            return sampling.floats(rng, shape, -0.8, 0.8) if rng.integers(2) else None

        x = sampling.floats(rng, (batch, steps, size) if layout else (steps, batch, size), -2.0, 2.0)
        weights = [sampling.floats(rng, (directions, gates * hidden, columns), -0.5, 0.5) for columns in (size, hidden)]
        lengths = None
        if rng.integers(2):
            lengths = rng.integers(0, steps, batch, endpoint=True).astype((np.int32, np.int64)[int(rng.integers(2))])
        state = (batch, directions, hidden) if layout else (directions, batch, hidden)
        inputs = [x, *weights, maybe(directions, 2 * gates * hidden), lengths, maybe(*state)]
        if op == "lstm":
            inputs += [maybe(*state), maybe(directions, 3 * hidden)]
        attrs: dict[str, Any] = {"direction": direction, "layout": layout}
        if rng.integers(2):
            attrs["activations"] = tuple(int(kind) for kind in rng.integers(0, len(ACTIVATIONS), 6))
            attrs["alphas"] = tuple(float(np.float32(v)) for v in rng.uniform(0.05, 0.5, 6))
            attrs["betas"] = tuple(float(np.float32(v)) for v in rng.uniform(0.05, 0.5, 6))
            attrs["clip"] = float(np.float32(rng.uniform(0.3, 2.0)))
        if op == "lstm" and rng.integers(2):
            attrs |= {"cell_clip": 0.5, "input_forget": int(rng.integers(3))}
        if op == "gru":
            attrs["linear_before_reset"] = int(rng.integers(2))
        return Sample(inputs, attrs)

    return draw


_DOC = {
    "lstm": "A layer of long short-term memory cells over a sequence, in one or both directions.",
    "gru": "A layer of gated recurrent units over a sequence, in one or both directions.",
    "rnn": "A plain recurrent layer over a sequence, in one or both directions.",
}


def _layer(op: str) -> OpDef:
    inputs = ("x", "w", "r", "b?", "lengths?", "h?") + (("c?", "p?") if op == "lstm" else ())
    return OpDef(
        name=op,
        inputs=inputs,
        outputs=("y", "y_h", "y_c") if op == "lstm" else ("y", "y_h"),
        infer=_infer,
        reference=_reference(op),
        samples=_samples(op),
        attrs=_ATTRS,
        tolerance=Tolerance(1e-5, 2e-6),
        doc=_DOC[op],
    )


register(*(_layer(op) for op in _GATES))
