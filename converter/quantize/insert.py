"""Writes a decision about scales into a graph: quantize and dequantize nodes, weights that are multiples of a scale.

The passes behind it (``pipeline.INTEGER_PASSES``) make integer ops of that, as they do of an imported QDQ model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, Quant, Value
from ..passes.move_quantization import KEEP_ORDER
from ..pipeline import finish
from .compress import compress_node
from .placement import WEIGHTED, Group, Placement, data_values, is_function, weight_axis
from .ranges import SMALLEST_SCALE, Weights, activation_quant, along, round_weights, weight_scales
from .recurrent import FIXED_FORMS, put_fixed
from .recurrent_weights import Direction
from .zero_ranges import scales_of_empty

MOST_BIAS = 2.0**30
"""A bias is at most so many units of input scale times weight scale, so that sums stay within 32 bits."""


WIDENED = 64.0
"""Steps of 16 bits that a step of 8 bits becomes, exactly, without a zero point."""


@dataclass
class Decision:
    """All that is decided about a graph of real numbers."""

    placement: Placement
    quants: dict[int, Quant]
    """By the identity of the group."""
    weights: dict[Node, Weights] = field(default_factory=dict)
    """Where they are not the nearest integers."""
    biases: dict[Node, np.ndarray] = field(default_factory=dict)
    """float64 [channels], where it is not the bias of the node."""
    compressed: dict[Node, tuple[int, int]] = field(default_factory=dict)
    """Nodes in floating point whose weights are stored with few bits: (bits, group)."""
    recurrent: dict[Node, list[Direction]] = field(default_factory=dict)
    """Weights of recurrent layers where they are not the nearest integers."""
    cells: dict[Node, float] = field(default_factory=dict)
    """The largest magnitude of the cells of recurrent layers."""
    contract: str = "single"

    def quant_of(self, value: Value) -> Quant:
        return self.quants[id(self.placement.group_of[value])]

    def read_quant(self, node: Node, value: Value) -> Quant:
        """As a node on integers reads a value: of the type that the node computes in."""
        group = self.placement.group_of[value]
        known, dtype = self.quants[id(group)], self.placement.integer_nodes.get(node, group.dtype)
        if dtype is group.dtype:
            return known
        if dtype is DType.s16:
            return Quant.per_tensor(float(known.scale[0]) / WIDENED, 0)
        assert group.narrow is not None
        return self.quants[id(group.narrow)]


def nearest_weights(node: Node, x_scale: float, bias: np.ndarray | None) -> Weights:
    """The weights of a node, rounded. Scales are large enough for its bias to fit into 32 bits."""
    data, axis = node.input(1).data, weight_axis(node)
    assert data is not None and axis is not None
    scales = weight_scales(data, axis)
    if bias is not None:
        scales = fit_bias(scales_of_empty(scales, data, axis, x_scale, bias), x_scale, bias)
    return Weights(round_weights(data, scales, axis), scales, axis)


def fit_bias(scales: np.ndarray, x_scale: float, bias: np.ndarray) -> np.ndarray:
    """Weight scales, enlarged where the bias would be more than ``MOST_BIAS`` units."""
    least = np.abs(bias) / (x_scale * MOST_BIAS)
    return np.maximum(scales, least + SMALLEST_SCALE).astype(np.float32)


def bias_of(node: Node) -> np.ndarray | None:
    """float64 [channels], or None."""
    bias = node.optional_input(2)
    return None if bias is None or bias.data is None else bias.data.astype(np.float64).reshape(-1)


def apply(graph: Graph, decision: Decision) -> Graph:
    """The finished integer graph; ``graph`` stays as it is."""
    twin, made = graph.copied()
    twin.contract = decision.contract
    placement = decision.placement
    copies = dict(zip(graph.nodes, twin.nodes, strict=True))
    for node, copy in copies.items():
        if node in placement.integer_nodes:
            if node.op in WEIGHTED:
                _set_weights(twin, node, copy, decision)
            elif not is_function(node) and node.op not in FIXED_FORMS:
                _set_constants(twin, node, copy, decision)
        elif node.op == "gather" and node.output in placement.group_of:
            _set_table(twin, copy, decision.quant_of(node.output))
    for value in list(graph.values()):
        group = placement.group_of.get(value)
        if group is not None and not _follows(value, placement, group):
            _quantize(twin, made[value], decision.quants[id(group)], group.dtype)
    _bridge(twin, copies, decision)
    for node, copy in copies.items():
        if node.op in FIXED_FORMS and node in placement.integer_nodes:
            put_fixed(twin, node, copy, decision)
    for node, (bits, size) in decision.compressed.items():
        known = (decision.weights[node], decision.biases.get(node)) if bits == 8 and node in decision.weights else None
        compress_node(twin, copies[node], bits, size, known=known)
    return finish(twin)


def _set_weights(graph: Graph, node: Node, copy: Node, decision: Decision) -> None:
    x_scale = float(decision.read_quant(node, node.input(0)).scale[0])
    bias = decision.biases.get(node, bias_of(node))
    weights = decision.weights.get(node)
    if weights is None:
        weights = nearest_weights(node, x_scale, bias)
    scales = weights.scales.astype(np.float64)
    real = weights.integers * along(scales, weights.axis, weights.integers.ndim)
    source = copy.input(1)
    value = graph.constant(source.name, real.astype(np.float32))
    value.decoded_from = Quant(weights.scales, np.zeros(weights.scales.size, np.int64), weights.axis)
    copy.set_input(1, value)
    if bias is None:
        return
    unit = x_scale * scales
    old = copy.optional_input(2)
    name = f"{copy.outputs[0].name}_bias" if old is None else old.name
    made = graph.constant(name, (np.rint(bias / unit) * unit).astype(np.float32))
    made.decoded_from = Quant(unit.astype(np.float32), np.zeros(unit.size, np.int64), 0)
    copy.set_input(2, made)


def _set_constants(graph: Graph, node: Node, copy: Node, decision: Decision) -> None:
    """Constant operands get a scale for the whole tensor; of zeros that of the result."""
    dtype = decision.placement.integer_nodes[node]
    for index, value in enumerate(copy.inputs):
        if value is None or value.data is None or value.dtype is not DType.f32:
            continue
        if np.any(value.data) or node.outputs[0] not in decision.placement.group_of:
            quant = activation_quant(float(value.data.min()), float(value.data.max()), dtype)
        else:
            quant = Quant.per_tensor(float(decision.quant_of(node.outputs[0]).scale[0]), 0)
        fresh = graph.constant(value.name, value.data)
        fresh.decoded_from = quant
        copy.set_input(index, fresh)


def _set_table(graph: Graph, copy: Node, quant: Quant) -> None:
    """A table of rows is stored in the quantization that its rows have later."""
    table = copy.input(0)
    if table.data is not None and table.dtype is DType.f32:
        fresh = graph.constant(table.name, table.data)
        fresh.decoded_from = quant
        copy.set_input(0, fresh)


def _follows(value: Value, placement: Placement, group: Group) -> bool:
    """Whether a value has its integers from the op in front of it, which only moves or picks those of its input."""
    node = value.producer
    if node is None:
        return False
    moves = node not in placement.integer_nodes or node.op in KEEP_ORDER
    sources = [source for source in node.inputs if source is not None and source.data is None]
    sources = [source for source in sources if source.dtype is DType.f32]
    return moves and bool(sources) and all(placement.group_of.get(source) is group for source in sources)


def _bridge(graph: Graph, copies: Mapping[Node, Node], decision: Decision) -> None:
    """Between layers of 8 and of 16 bits values change their type."""
    placement, made = decision.placement, dict[tuple[Value, DType], Value]()
    for node, dtype in placement.integer_nodes.items():
        for value in dict.fromkeys(data_values(node)):
            group = placement.group_of.get(value)
            if group is None or group.dtype is dtype:
                continue
            for index, item in enumerate(node.inputs):
                if item is value:
                    real = copies[node].input(index)
                    if (real, dtype) not in made:
                        made[real, dtype] = _pair(graph, real, decision.read_quant(node, value), dtype, dtype.name)
                    copies[node].set_input(index, made[real, dtype])


def _quantize(graph: Graph, value: Value, quant: Quant, dtype: DType) -> None:
    """Puts quantize and dequantize behind a value, in front of all that read it."""
    uses = list(value.uses)
    real = _pair(graph, value, quant, dtype)
    for node, index in uses:
        node.set_input(index, real)
    for index, output in enumerate(graph.outputs):
        if output is value and value.producer is not None:
            graph.outputs[index] = real
            value.name, real.name = real.name, value.name
    for state in graph.states:
        if state.output is value and value.producer is not None:
            state.output = real


def _pair(graph: Graph, value: Value, quant: Quant, dtype: DType, suffix: str = "") -> Value:
    """The result of dequantize behind quantize."""
    position = 0 if value.producer is None else graph.nodes.index(value.producer) + 1
    before = graph.nodes[position] if position < len(graph.nodes) else None
    stem = f"{value.name}_{suffix}" if suffix else value.name
    quantize = graph.add(
        "quantize",
        [value],
        {"to": dtype.value},
        name=f"{stem}_quantize",
        output_names=[f"{stem}_integers"],
        before=before,
        quant=quant,
    )
    real = graph.add(
        "dequantize", [quantize.output], name=f"{stem}_dequantize", output_names=[f"{stem}_real"], before=before
    ).output
    quantize.output.origins = real.origins = value.origins
    return real
