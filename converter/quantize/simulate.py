"""What single decisions cost at the outputs: the graph of real numbers, with some values rounded as integers would be.

Much cheaper than to build an integer graph for each question, and within a fraction of a decibel of its figure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, Quant, Value
from ...stepwise import Executor
from .calibration_data import Feed
from .insert import Decision, bias_of, nearest_weights
from .placement import WEIGHTED, Placement
from .ranges import Weights, along


@dataclass
class Rounded:
    """A graph of real numbers, feeds for it, and the values that are rounded while it runs."""

    graph: Graph
    feeds: Iterable[Feed]
    values: dict[Value, tuple[Quant, DType]]

    def visit(self, value: Value, array: np.ndarray) -> np.ndarray | None:
        known = self.values.get(value)
        return None if known is None else fake_quantized(array, *known)


def rounded_values(
    placement: Placement, quants: Mapping[int, Quant], wide: Collection[int] = ()
) -> dict[Value, tuple[Quant, DType]]:
    """The values of the groups in ``quants`` (by identity); those in ``wide`` have 16 bits."""
    return {
        value: (quants[id(group)], DType.s16 if id(group) in wide else group.dtype)
        for value, group in placement.group_of.items()
        if id(group) in quants and value.data is None
    }


class Simulator:
    """Runs a graph of real numbers in which chosen values and weights carry rounding errors."""

    def __init__(self, base: Graph, placement: Placement, feeds: list[Feed]) -> None:
        self.base, self.placement, self.feeds = base, placement, feeds
        self.exact = self.run({}, {})

    def run(
        self,
        quants: Mapping[int, Quant],
        weights: Mapping[Node, Weights],
        biases: Mapping[Node, np.ndarray] | None = None,
        wide: Collection[int] = (),
    ) -> list[dict[str, np.ndarray]]:
        """The outputs for each feed. ``quants``: by identity of the groups whose values are rounded; ``wide``: which of
        these groups have 16 bits; ``weights``: of the nodes whose weights are rounded."""
        graph = self.base
        values = rounded_values(self.placement, quants, wide)
        if weights or biases:
            graph, made = self.base.copied()
            values = {made[value]: known for value, known in values.items()}
            for node, copy in zip(self.base.nodes, graph.nodes, strict=True):
                if node in weights:
                    _put_weights(graph, copy, weights[node])
                if biases is not None and node in biases:
                    old = copy.optional_input(2)
                    name = f"{copy.name}_bias" if old is None else old.name
                    copy.set_input(2, graph.constant(name, biases[node].astype(np.float32)))
        rounded = Rounded(graph, self.feeds, values)
        executor = Executor(graph)
        states: dict[str, np.ndarray] = {}
        return [executor.run(feed, rounded.visit, states) for feed in self.feeds]


def fake_quantized(array: np.ndarray, quant: Quant, dtype: DType) -> np.ndarray:
    """float32: to integers and back."""
    scale, zero = np.float32(quant.scale[0]), np.float32(quant.zero_point[0])
    info = np.iinfo(dtype.numpy)
    whole = np.clip(np.rint(array / scale) + zero, np.float32(info.min), np.float32(info.max))
    return ((whole - zero) * scale).astype(np.float32, copy=False)


def _put_weights(graph: Graph, copy: Node, weights: Weights) -> None:
    real = weights.integers * along(weights.scales.astype(np.float64), weights.axis, weights.integers.ndim)
    copy.set_input(1, graph.constant(copy.input(1).name, real.astype(np.float32)))


def all_weights(decision: Decision) -> dict[Node, Weights]:
    """The integer weights of every integer node of a decision."""
    found: dict[Node, Weights] = {}
    for node in decision.placement.integer_nodes:
        if node.op in WEIGHTED:
            known = decision.weights.get(node)
            x_scale = float(decision.read_quant(node, node.input(0)).scale[0])
            found[node] = known or nearest_weights(node, x_scale, decision.biases.get(node, bias_of(node)))
    return found
