"""Bits for each layer, chosen by what a layer costs and by what its rounding does to the outputs.

Measured first: the noise at the outputs when one layer alone is rounded, for each way to hold its numbers (``STATES``).
Noise of different layers adds up nearly, as bytes do; so the best combinations are found layer by layer, as those of a
knapsack: of all sums of bytes and noise those stay that no other one beats in both. Real graphs of them are then
built and run, what they miss of a budget moves the next try, and single layers of the best one are tried last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import MicrolithError
from ...ir import Graph, Node, Quant
from ..passes.weight_codes import COMPRESSED
from .compress import compress, decompressed
from .insert import Decision
from .placement import weight_axis
from .ranges import Weights
from .simulate import Simulator, all_weights
from .statistics import figures_of


class BudgetError(MicrolithError):
    """No choice of bits keeps within the budgets."""


Measure = Callable[[Decision], tuple[Graph, float, float]]
"""Builds the graph of a decision; gives its figure in decibels and its drop: noise share or lost accuracy."""

Redecide = Callable[[frozenset[str], frozenset[str]], Decision]
"""The decision in which some nodes (by name) are in floating point and some have 16-bit activations."""


STATES = ("int4", "int8", "16x8", "w8", "float16", "float")
"""int4, w8, float16: weights of so many bits with real activations; int8, 16x8: integers."""

REAL = frozenset({"int4", "w8", "float16", "float"})

COMPRESSED_AS = {"w8": (8, 0), "float16": (16, 0)}
"""Bits and group of states with compressed weights; those of int4 are an option."""

LABELS = {"int4": "int4 weights", "w8": "int8 weights"}

HALF_NOISE = 2.0**-6
"""Noise of weights in half precision by that of int8: three bits more for the largest weights, and more for others."""

LEAST_NOISE = 1e-12
"""Of an output, as a unit."""

MOST_POINTS = 500
"""Combinations that are kept from layer to layer."""

MOST_TRIES = 9
"""Graphs that are built for a budget and a set of states."""


MOST_CLIMBED = 8
"""Layers that are tried by themselves in the end."""


@dataclass
class Layer:
    """What is known of a layer with weights."""

    node: Node
    options: dict[str, tuple[int, float]]
    """By state: bytes of its constants, and the part of the power of the outputs that it adds as noise."""


@dataclass(frozen=True)
class Point:
    """States for some layers, and what they come to."""

    bytes: int
    noise: float
    states: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """A point of the search."""

    label: str
    decision: Decision
    graph: Graph
    figure: float
    drop: float
    constant_bytes: int


def constant_bytes(graph: Graph) -> int:
    return sum(value.type.nbytes for value in graph.constants())


def noise_share(decibels: float) -> float:
    """Noise by signal."""
    return float(10.0 ** (-decibels / 10.0))


def layers_of(decision: Decision, simulator: Simulator, group: int) -> list[Layer]:
    """The layers of a decision with what they do to the outputs, each alone.

    Outputs have noise of very different powers, and a layer may reach one of them alone. The noise of each counts in
    units of what all layers with int8 weights make of it; for one output that is its noise.
    """
    weights = all_weights(decision)
    found: list[tuple[Node, dict[str, tuple[int, np.ndarray]]]] = []
    for node, chosen in weights.items():
        data = node.input(1).data
        assert data is not None
        groups = [decision.placement.group_of.get(value) for value in (node.input(0), node.output)]
        quants = {id(item): decision.quants[id(item)] for item in groups if item is not None}
        bias = {node: decision.biases[node]} if node in decision.biases else None

        def noise(quants: Mapping[int, Quant], rounded: Weights, bias: Mapping[Node, np.ndarray] | None) -> np.ndarray:
            figures = figures_of(simulator.exact, simulator.run(quants, {node: rounded}, bias))  # noqa: B023
            return np.array([noise_share(figure) for figure in figures])

        channels = chosen.scales.size
        narrow = noise({}, chosen, bias)
        options = {
            "int8": (data.size + 12 * channels, noise(quants, chosen, bias)),
            "16x8": (data.size + 16 * channels, narrow),
            "float": (4 * data.size + 4 * channels, 0.0 * narrow),
        }
        if node.op in COMPRESSED:
            stored, scales, _ = compress(node, 4, group)
            size = stored.nbytes + (0 if scales is None else scales.nbytes)
            options["int4"] = (size + 4 * channels, noise({}, _int4(node, group), None))
            options["w8"] = (data.size + 8 * channels, narrow)
            options["float16"] = (2 * data.size + 4 * channels, narrow * HALF_NOISE)
        found.append((node, options))
    if not found:
        return []
    unit = np.maximum(np.sum([options["16x8"][1] for _, options in found], axis=0), LEAST_NOISE)
    scale = np.exp(np.mean(np.log(unit)))
    return [
        Layer(node, {state: (size, float(scale * np.mean(noise / unit))) for state, (size, noise) in options.items()})
        for node, options in found
    ]


def _int4(node: Node, group: int) -> Weights:
    """Weights of 4 bits as a simulator takes them: real numbers with scale 1."""
    data, axis = node.input(1).data, weight_axis(node)
    assert data is not None and axis is not None
    return Weights(decompressed(node, group), np.ones(data.shape[axis], np.float32), axis)


def best_points(layers: Sequence[Layer], allowed: Collection[str]) -> list[Point]:
    """The combinations of allowed states that no other one beats in bytes and noise; by rising bytes, falling noise.

    Of more than ``MOST_POINTS`` evenly spread ones stay.
    """
    points = [Point(0, 0.0, ())]
    for layer in layers:
        options = [(state, *layer.options[state]) for state in STATES if state in allowed and state in layer.options]
        longer = [
            Point(point.bytes + size, point.noise + noise, (*point.states, state))
            for point in points
            for state, size, noise in options
        ]
        longer.sort(key=lambda point: (point.bytes, point.noise))
        points = []
        for point in longer:
            if not points or point.noise < points[-1].noise:
                points.append(point)
        if len(points) > MOST_POINTS:
            places = np.linspace(0, len(points) - 1, MOST_POINTS).round().astype(int)
            points = [points[place] for place in places]
    return points


def _sets(
    layers: Sequence[Layer], states: Sequence[str], inside: Collection[Node], graph: Graph
) -> list[frozenset[str]]:
    """Names of the nodes in floating point, and of those with 16-bit activations. Nodes without weights follow what
    stands in front of them, the finest of it."""
    chosen = {layer.node: state for layer, state in zip(layers, states, strict=True)}
    fineness: dict[Node, int] = {}
    for node in graph.nodes:
        if node in chosen:
            fineness[node] = 2 if chosen[node] in REAL else int(chosen[node] == "16x8")
        else:
            sources = [value.producer for value in node.inputs if value is not None and value.producer is not None]
            fineness[node] = max((fineness.get(source, 0) for source in sources), default=0)
    return [frozenset(node.name for node in inside if fineness[node] == level) for level in (2, 1)]


def within_budgets(
    start: Decision,
    simulator: Simulator,
    redecide: Redecide,
    measure: Measure,
    *,
    max_flash: int | None,
    max_drop: float | None,
    group: int,
    is_integer: Callable[[Graph], bool] | None = None,
) -> Choice:
    """The choice within the budgets that keeps most of the outputs (no ``max_drop``), or is smallest (with one).

    ``max_flash``: bytes of constants; ``max_drop``: of what ``measure`` gives as drop; ``is_integer``:
    if given, only graphs of which it is true count, and no layer gets real activations. Raises BudgetError when no
    choice keeps within all of that, with the nearest ones.
    """
    layers = layers_of(start, simulator, group)
    inside = list(start.placement.integer_nodes)
    tried: dict[tuple[str, ...], Choice] = {}

    def attempt(states: tuple[str, ...]) -> Choice:
        if states not in tried:
            floats, wide = _sets(layers, states, inside, simulator.base)
            decision = redecide(floats, wide)
            packed = {
                layer.node: COMPRESSED_AS.get(state, (4, group))
                for layer, state in zip(layers, states, strict=True)
                if state in REAL and state != "float"
            }
            decision = replace(decision, compressed=packed)
            graph, figure, drop = measure(decision)
            tried[states] = Choice(_label(states), decision, graph, figure, drop, constant_bytes(graph))
        return tried[states]

    uniform = attempt(("int8",) * len(layers))
    attempt(("16x8",) * len(layers))
    fixed = uniform.constant_bytes - sum(layer.options["int8"][0] for layer in layers)
    families = [("int8", "16x8")] if is_integer is not None else [("int4", "int8", "16x8"), STATES]
    for family in families:
        points = best_points(layers, family)
        if max_flash is not None:
            _to_flash(points, attempt, max_flash, fixed)
        if max_drop is not None:
            _to_drop(points, attempt, max_drop)
    if max_flash is not None:
        able = {states: choice for states, choice in tried.items() if is_integer is None or is_integer(choice.graph)}
        _climb(layers, able, attempt, max_flash, families[-1])
    fitting = [
        choice
        for choice in tried.values()
        if (max_flash is None or choice.constant_bytes <= max_flash)
        and (max_drop is None or choice.drop <= max_drop)
        and (is_integer is None or is_integer(choice.graph))
    ]
    if not fitting:
        smallest = min(tried.values(), key=lambda choice: choice.constant_bytes)
        best = min(tried.values(), key=lambda choice: (choice.drop, -choice.figure))
        raise BudgetError(
            f"no choice of bits keeps within the budgets: the smallest has {smallest.constant_bytes} bytes of constants"
            f" at a drop of {100 * smallest.drop:.3g}%, the best {best.constant_bytes} bytes at {100 * best.drop:.3g}%",
            hint="raise --max-flash or --max-drop",
        )
    if max_drop is not None and max_flash is None:
        return min(fitting, key=lambda choice: (choice.constant_bytes, -choice.figure))
    return max(fitting, key=lambda choice: choice.figure)


def _label(states: tuple[str, ...]) -> str:
    """Such as "int4 weights in 2, int8 in 1 of 3 layers"."""
    if len(set(states)) == 1:
        return f"{LABELS.get(states[0], states[0])} in all layers"
    counts = [f"{LABELS.get(state, state)} in {states.count(state)}" for state in STATES if state in states]
    return f"{', '.join(counts)} of {len(states)} layers"


def _to_flash(points: list[Point], attempt: Callable[[tuple[str, ...]], Choice], limit: int, fixed: int) -> None:
    """The point with least noise whose real graph is within the limit; bytes besides the layers are known roughly."""
    most = limit - fixed
    for _ in range(MOST_TRIES):
        inside = [point for point in points if point.bytes <= most] or points[:1]
        choice = attempt(inside[-1].states)
        if choice.constant_bytes <= limit or len(inside) == 1:
            return
        most = inside[-1].bytes - max(1, choice.constant_bytes - limit)


def _climb(
    layers: Sequence[Layer],
    tried: Mapping[tuple[str, ...], Choice],
    attempt: Callable[[tuple[str, ...]], Choice],
    limit: int,
    allowed: Collection[str],
) -> None:
    """Finer states for one layer after the other of the best choice within the limit, the noisiest first."""
    fitting = [states for states, choice in tried.items() if choice.constant_bytes <= limit]
    if not fitting:
        return
    best = max(fitting, key=lambda states: tried[states].figure)
    top = tried[best]
    noise = [layer.options[state][1] for layer, state in zip(layers, best, strict=True)]
    for place in sorted(range(len(layers)), key=lambda place: -noise[place])[:MOST_CLIMBED]:
        options = layers[place].options
        for state in ("float", "float16", "w8", "16x8"):
            if state not in allowed or state not in options or options[state][1] >= options[best[place]][1]:
                continue
            if options[state][0] - options[best[place]][0] > limit - top.constant_bytes:
                continue
            states = (*best[:place], state, *best[place + 1 :])
            choice = attempt(states)
            if choice.constant_bytes <= limit and choice.figure > top.figure:
                best, top = states, choice
                break


def _to_drop(points: list[Point], attempt: Callable[[tuple[str, ...]], Choice], limit: float) -> None:
    """The smallest point whose real graph drops no more than the limit: bisection over all of them."""
    low, high = 0, len(points) - 1
    aim = next((place for place, point in enumerate(points) if point.noise <= limit), high)
    for _ in range(MOST_TRIES):
        if attempt(points[aim].states).drop <= limit:
            high = aim - 1
        else:
            low = aim + 1
        if low > high:
            return
        aim = (low + high) // 2
