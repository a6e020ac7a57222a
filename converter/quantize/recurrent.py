# SPDX-License-Identifier: Apache-2.0
"""``gru`` and ``lstm`` as ``fixed_gru`` and ``fixed_lstm``: weights of 8 bits, states of 16, x and y as other layers.

Both directions of a layer become a node each, whose results are joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, Quant, Value
from ...numerics import quantize_multiplier
from ...ops.rnn import ACTIVATIONS, BIDIRECTIONAL, REVERSE
from .recurrent_steps import BIAS, LENGTHS, PEEPHOLES, C, H, R, W, X
from .recurrent_weights import Direction, nearest_directions

if TYPE_CHECKING:
    from .insert import Decision

FIXED_FORMS = {"gru": "fixed_gru", "lstm": "fixed_lstm"}
"""Recurrent ops with a form on integers."""

STATE = Quant.per_tensor(2.0**-15, 0)
"""Of h, 16 bits: -1 … 1."""

GATE = 2.0**-12
"""A unit of the gates."""

MOST_GATE = 8.0
"""Where gates saturate, the functions of them being as good as constant."""

HEADROOM = 2.0
"""A cell holds so many times what was seen."""


def why_float(node: Node) -> str | None:
    """None for a layer with a form on integers."""
    attrs = node.attrs
    count, functions = (2 if attrs["direction"] == BIDIRECTIONAL else 1), 3 if node.op == "lstm" else 2
    places = [3 * direction + place for direction in range(count) for place in range(functions)]
    if any(ACTIVATIONS[attrs["activations"][place]] != ("tanh" if place % 3 else "sigmoid") for place in places):
        return "its activations are others than sigmoid and tanh"
    if attrs["clip"] < MOST_GATE:
        return "its gates are clipped"
    if attrs["input_forget"] or attrs["rounded_h"] or node.optional_input(PEEPHOLES) is not None:
        return "its gates depend on each other or on the cell"
    if node.optional_input(LENGTHS) is not None:
        return "its sequences have lengths of their own"
    weights = [node.optional_input(index) for index in (W, R, BIAS)]
    if any(value is not None and value.data is None for value in weights):
        return "its weights are not constant"
    if not all(np.all(np.isfinite(value.data)) for value in weights if value is not None and value.data is not None):
        return "its weights hold NaN or infinity"
    return None


def put_fixed(graph: Graph, node: Node, copy: Node, decision: Decision) -> None:
    """Replaces a layer. Its input is the result of a dequantize node; its results become those of such."""
    x, dtype = copy.input(X), decision.placement.integer_nodes[node]
    x_quant, y_quant = decision.read_quant(node, node.input(X)), decision.quant_of(node.outputs[0])
    maker = _Maker(graph, copy)
    integers = maker.quantized(x, dtype, x_quant)
    y_mult, y_shift = quantize_multiplier(2.0**-15 / float(y_quant.scale[0]))
    limit = HEADROOM * decision.cells.get(node, 1.0)
    exponent = int(np.clip(np.ceil(np.log2(max(limit, 2.0**-20) / 32767.0)), -15, -9))
    quants = [y_quant, STATE, Quant.per_tensor(2.0**exponent, 0)][: len(node.outputs)]
    largest = largest_input(x_quant)
    directions = decision.recurrent.get(node, [])
    if not directions or directions[0].largest < largest:
        directions = nearest_directions(node, largest)
    results: list[list[Value]] = []
    for direction, weights in enumerate(directions):
        attrs = {
            "layout": node.attrs["layout"],
            "reverse": int(direction == 1 or node.attrs["direction"] == REVERSE),
            "y_mult": y_mult,
            "y_shift": y_shift,
            "y_zero": int(y_quant.zero_point[0]),
        }
        if node.op == "lstm":
            attrs |= {"cell_exponent": exponent, "cell_clip": _clip(node, exponent)}
        attrs |= {"linear_before_reset": node.attrs["linear_before_reset"]} if node.op == "gru" else {}
        states = [
            maker.state(copy.optional_input(index), direction, len(directions), quant)
            for index, quant in zip((H, C), quants[1:], strict=False)
        ]
        inputs = [
            integers,
            *_weights(graph, node, direction, weights, x_quant),
            *states,
        ]
        results.append(maker.add(FIXED_FORMS[node.op], inputs, attrs, quants, named=direction == 0))
    layout = node.attrs["layout"]
    for place, (old, quant) in enumerate(zip(copy.outputs, quants, strict=True)):
        parts = [made[place] for made in results]
        joined = (
            parts[0] if len(parts) == 1 else maker.joined(parts, (2 if layout else 1) if place == 0 else layout, quant)
        )
        maker.give(old, joined)
    graph.remove(copy)


def _clip(node: Node, exponent: int) -> int:
    """The limit of the cells in their units; 0 for none that they could reach."""
    units = float(node.attrs["cell_clip"]) / 2.0**exponent
    return max(1, round(units)) if units <= 32767 else 0


def largest_input(quant: Quant) -> float:
    """The largest integer that weights are multiplied with, for sums that fit into 32 bits."""
    return 32768.0 if int(quant.zero_point[0]) == 0 else 256.0


def _weights(graph: Graph, node: Node, direction: int, made: Direction, x_quant: Quant) -> list[Value]:
    """w, r, sums and factors of one direction."""
    zero = int(x_quant.zero_point[0])
    sums = [-zero * made.w.astype(np.int64).sum(axis=1), *np.rint(made.biases / GATE)]
    factors: list[Sequence[int]] = []
    for scales, unit in ((made.w_scales, float(x_quant.scale[0])), (made.r_scales, 2.0**-15)):
        pairs = [quantize_multiplier(float(scale) * unit / GATE) for scale in scales]
        factors += [[mult for mult, _ in pairs], [shift for _, shift in pairs]]
    stem = node.outputs[0].name + ("" if direction == 0 else "_reverse")
    arrays = {
        "weights": made.w,
        "recurrent": made.r,
        "sums": np.clip(np.stack(sums), -(2**31), 2**31 - 1).astype(np.int32),
        "factors": np.array(factors, np.int32),
    }
    return [graph.constant(f"{stem}_{name}", array) for name, array in arrays.items()]


class _Maker:
    """Adds nodes in front of a layer, with its name and place."""

    def __init__(self, graph: Graph, layer: Node) -> None:
        self._graph, self._layer = graph, layer
        self._stem = layer.outputs[0].name

    def quantized(self, value: Value, dtype: DType, quant: Quant) -> Value:
        node = value.producer
        if node is not None and node.op == "dequantize" and node.input(0).quant == quant:
            return node.input(0)
        name = self._graph.unique_name(f"{value.name}_state" if dtype is DType.s16 else f"{value.name}_integers")
        made = self._graph.add(
            "quantize", [value], {"to": dtype.value}, output_names=[name], before=self._layer, quant=quant
        )
        return made.output

    def state(self, value: Value | None, direction: int, count: int, quant: Quant) -> Value | None:
        """An initial state of one direction; None where it is 0."""
        if value is None or (value.data is not None and not np.any(value.data)):
            return None
        axis = 1 if self._layer.attrs["layout"] else 0
        if value.data is not None:
            part = np.take(value.data, [direction], axis=axis).astype(np.float64) / float(quant.scale[0])
            return self._graph.constant(
                f"{value.name}_{direction}", np.clip(np.rint(part), -32768, 32767).astype(np.int16), quant
            )
        integers = self.quantized(value, DType.s16, quant)
        if count == 1:
            return integers
        name = self._graph.unique_name(f"{value.name}_{direction}")
        places = [
            self._graph.constant(f"{name}_{what}", np.array([number], np.int64))
            for what, number in (("start", direction), ("end", direction + 1), ("axis", axis))
        ]
        made = self._graph.add("slice", [integers, *places], output_names=[name], before=self._layer, quant=quant)
        return made.output

    def add(
        self, op: str, inputs: Sequence[Value | None], attrs: Mapping[str, int], quants: Sequence[Quant], named: bool
    ) -> list[Value]:
        names = [self._graph.unique_name(f"{value.name}_integers") for value in self._layer.outputs]
        name = self._layer.name if named else f"{self._layer.name}_reverse"
        made = self._graph.add(
            op, inputs, attrs, name=name, output_names=names, before=self._layer, source=self._layer.source
        )
        for value, quant in zip(made.outputs, quants, strict=True):
            value.quant = quant
        return list(made.outputs)

    def joined(self, parts: Sequence[Value], axis: int, quant: Quant) -> Value:
        name = self._graph.unique_name(f"{self._stem}_both")
        made = self._graph.add("concat", parts, {"axis": axis}, output_names=[name], before=self._layer, quant=quant)
        return made.output

    def give(self, old: Value, integers: Value) -> None:
        """All that reads a result reads the integers made real."""
        if not old.uses and old not in self._graph.results:
            return
        name = self._graph.unique_name(f"{old.name}_real")
        real = self._graph.add("dequantize", [integers], output_names=[name], before=self._layer).output
        self._graph.replace(old, real)
