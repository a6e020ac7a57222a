"""Bits for each layer, chosen by what a layer costs and by what its rounding does to the outputs.

Measured first: the noise at the outputs when one layer alone is rounded. Layers are then ranked by noise removed, or by
noise added for each byte saved, and the shortest prefix of that ranking is searched for which real integer graphs keep
within the budgets. Noise of different layers adds up nearly, so the ranking is good and the search decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...errors import MicrolithError
from ...ir import Graph, Node
from .compress import COMPRESSED, compress, decompressed
from .insert import Decision
from .placement import weight_axis
from .ranges import Weights
from .simulate import Simulator, all_weights
from .statistics import sqnr

Measure = Callable[[Decision], tuple[Graph, float]]
"""Builds the graph of a decision and gives its figure in decibels."""

Redecide = Callable[[frozenset[str], frozenset[str]], Decision]
"""The decision in which some nodes (by name) are in floating point and some have 16-bit activations."""


@dataclass
class Layer:
    """What is known of a layer with weights."""

    node: Node
    noise: float
    """Part of the power of the outputs that int8 adds as noise, of weights and activations."""
    noise_int4: float
    """That of weights of 4 bits with real activations."""
    saved: int
    """Bytes that 4 bits save."""


@dataclass(frozen=True)
class Choice:
    """A point of the search."""

    label: str
    decision: Decision
    graph: Graph
    figure: float
    constant_bytes: int


def constant_bytes(graph: Graph) -> int:
    return sum(value.type.nbytes for value in graph.constants())


def noise_share(decibels: float) -> float:
    """Noise by signal."""
    return float(10.0 ** (-decibels / 10.0))


def layers_of(decision: Decision, simulator: Simulator, group: int) -> list[Layer]:
    """The layers of a decision with what they do to the outputs, each alone."""
    weights = all_weights(decision)
    layers = []
    for node, chosen in weights.items():
        groups = [decision.placement.group_of.get(value) for value in (node.input(0), node.output)]
        quants = {id(item): decision.quants[id(item)] for item in groups if item is not None}
        figure = sqnr(simulator.exact, simulator.run(quants, {node: chosen}))
        if node.op in COMPRESSED:
            small = _int4(node, group)
            figure4 = sqnr(simulator.exact, simulator.run({}, {node: small}))
            stored, scales, _ = compress(node, 4, group)
            saved = chosen.integers.size - stored.nbytes - (0 if scales is None else scales.nbytes)
        else:
            figure4, saved = -math.inf, 0
        layers.append(Layer(node, noise_share(figure), noise_share(figure4), saved))
    return layers


def _int4(node: Node, group: int) -> Weights:
    """Weights of 4 bits as a simulator takes them: real numbers with scale 1."""
    data, axis = node.input(1).data, weight_axis(node)
    assert data is not None and axis is not None
    return Weights(decompressed(node, group), np.ones(data.shape[axis], np.float32), axis)


def within_budgets(
    start: Decision,
    simulator: Simulator,
    redecide: Redecide,
    measure: Measure,
    *,
    max_flash: int | None,
    max_drop: float | None,
    group: int,
) -> Choice:
    """The choice within the budgets that keeps most of the outputs (no ``max_drop``), or is smallest (with one).

    ``max_flash``: bytes of constants; ``max_drop``: part of the power of the outputs that may be noise. Raises
    MicrolithError when no choice keeps within both, with the nearest one.
    """
    layers = layers_of(start, simulator, group)
    tried: list[Choice] = []

    def attempt(label: str, decision: Decision) -> Choice:
        graph, figure = measure(decision)
        tried.append(Choice(label, decision, graph, figure, constant_bytes(graph)))
        return tried[-1]

    base = attempt("int8", start)
    if max_flash is not None and base.constant_bytes > max_flash:
        _shrink(layers, redecide, attempt, lambda choice: choice.constant_bytes <= max_flash, group)
    elif max_drop is not None and noise_share(base.figure) <= max_drop and max_flash is None:
        _shrink(layers, redecide, attempt, lambda choice: noise_share(choice.figure) > max_drop, group)
    else:
        everything = frozenset(node.name for node in start.placement.integer_nodes)
        _widen(layers, everything, redecide, attempt, max_drop)
        able = [layer.node for layer in layers if layer.node.op in COMPRESSED]
        real = redecide(frozenset(node.name for node in able), frozenset())
        attempt("int8 weights, real activations", replace(real, compressed=dict.fromkeys(able, (8, 0))))
    fitting = [
        choice
        for choice in tried
        if (max_flash is None or choice.constant_bytes <= max_flash)
        and (max_drop is None or noise_share(choice.figure) <= max_drop)
    ]
    if not fitting:
        smallest = min(tried, key=lambda choice: choice.constant_bytes)
        best = max(tried, key=lambda choice: choice.figure)
        raise MicrolithError(
            f"no choice of bits keeps within the budgets: the smallest has {smallest.constant_bytes} bytes of constants"
            f" at {100 * noise_share(smallest.figure):.3g}% noise, the best {best.constant_bytes} bytes "
            f"at {100 * noise_share(best.figure):.3g}%",
            hint="raise --max-flash or --max-drop",
        )
    if max_drop is not None and max_flash is None:
        return min(fitting, key=lambda choice: (choice.constant_bytes, -choice.figure))
    return max(fitting, key=lambda choice: choice.figure)


def _widen(
    layers: list[Layer],
    everything: frozenset[str],
    redecide: Redecide,
    attempt: Callable[[str, Decision], Choice],
    max_drop: float | None,
) -> None:
    """Activations of 16 bits for the layers with most noise; then floats for them. Without a limit, some shares.

    Where all layers are chosen, all that stands between them is too.
    """
    ranked = [layer.node.name for layer in sorted(layers, key=lambda layer: -layer.noise)]

    def first(count: int) -> frozenset[str]:
        return everything if count >= len(ranked) else frozenset(ranked[:count])

    if max_drop is None:
        for part in (0.25, 0.5, 1.0):
            count = max(1, round(part * len(ranked)))
            attempt(f"16x8 in {count} of {len(ranked)} layers", redecide(frozenset(), first(count)))
        return
    for kind in ("16x8", "float"):
        low, high = 1, len(ranked) + 1
        while low < high:  # the shortest prefix that suffices
            middle = (low + high) // 2
            floats, wide = (frozenset[str](), first(middle)) if kind == "16x8" else (first(middle), everything)
            choice = attempt(f"{kind} in {middle} of {len(ranked)} layers", redecide(floats, wide))
            if noise_share(choice.figure) <= max_drop:
                high = middle
            else:
                low = middle + 1
        if high <= len(ranked):
            return


def _shrink(
    layers: list[Layer],
    redecide: Redecide,
    attempt: Callable[[str, Decision], Choice],
    is_enough: Callable[[Choice], bool],
    group: int,
) -> None:
    """Weights of 4 bits where they save most for their noise: looks for the first number of layers that is enough."""
    able = [layer for layer in layers if layer.saved > 0]
    ranked = sorted(able, key=lambda layer: layer.noise_int4 / layer.saved)
    low, high = 1, len(ranked)
    while low <= high:
        middle = (low + high) // 2
        nodes = [layer.node for layer in ranked[:middle]]
        decision = redecide(frozenset(node.name for node in nodes), frozenset())
        decision = replace(decision, compressed=dict.fromkeys(nodes, (4, group)))
        if is_enough(attempt(f"int4 weights in {middle} of {len(layers)} layers", decision)):
            high = middle - 1
        else:
            low = middle + 1
