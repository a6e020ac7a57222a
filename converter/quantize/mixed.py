"""Bits for each layer, chosen by what a layer costs and by what its rounding does to the outputs.

Measured first: the noise at the outputs when one layer alone is rounded, for each way to hold its numbers (``STATES``).
Noise of different layers adds up nearly, as bytes and instructions do; so the best combinations are found layer by
layer, as those of a knapsack: of all sums of costs and noise those stay that no other one beats in both. Real graphs of
them are then built, their costs on the target asked for, and run; what they miss of a budget moves the next try, and
single layers of the best one are tried last. Memory does not add up: a layer needs what lives while it runs, and a way
to hold its numbers is left out where that is more than the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...costs import CostFunction, Costs
from ...ir import Graph, Node, Quant
from ..passes.weight_codes import COMPRESSED
from .budgets import Budgets, Choice, Pick
from .compress import compress, decompressed
from .insert import Decision
from .placement import weight_axis
from .ranges import Weights
from .simulate import Simulator, all_weights
from .statistics import CEILING, figures_of

Measure = Callable[[Graph], tuple[float, float]]
"""Runs a graph; gives its figure in decibels and its drop: noise share or lost accuracy."""

Build = Callable[[Decision], Graph]
"""The finished graph of a decision."""

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


SHARES = (1.0, 0.7, 0.4, 0.0)
"""Of flash in the cost of a layer, where instructions have a limit too."""

MOST_CLIMBED = 8
"""Layers that are tried by themselves in the end."""


class Option(NamedTuple):
    """What a layer is in one of the states."""

    bytes: int
    """Of its constants."""
    noise: float
    """The part of the power of the outputs that it adds."""
    instructions: float = 0.0
    ram: int = 0
    """Bytes that live while it runs."""


@dataclass
class Layer:
    """What is known of a layer with weights."""

    node: Node
    options: dict[str, Option]
    """By state."""


@dataclass(frozen=True)
class Point:
    """States for some layers, and what they come to."""

    bytes: int
    noise: float
    states: tuple[str, ...]
    instructions: float = 0.0
    ram: int = 0
    cost: float = 0.0
    """What was weighed against noise."""

    def longer(self, state: str, option: Option, weigh: Weigh) -> Point:
        """With one layer more."""
        return Point(
            self.bytes + option.bytes,
            self.noise + option.noise,
            (*self.states, state),
            self.instructions + option.instructions,
            max(self.ram, option.ram),
            self.cost + weigh(option),
        )


Weigh = Callable[[Option], float]
"""The costs of an option as one number."""


def bytes_only(option: Option) -> float:
    return float(option.bytes)


def instructions_only(option: Option) -> float:
    return option.instructions


def plain_costs(graph: Graph) -> Costs:
    """What is known of a graph without a target: bytes of its constants."""
    return Costs(sum(value.type.nbytes for value in graph.constants()))


def noise_share(decibels: float) -> float:
    """Noise by signal; none where results count as equal."""
    return 0.0 if decibels >= CEILING else float(10.0 ** (-decibels / 10.0))


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
        Layer(
            node,
            {state: Option(size, float(scale * np.mean(noise / unit))) for state, (size, noise) in options.items()},
        )
        for node, options in found
    ]


def _int4(node: Node, group: int) -> Weights:
    """Weights of 4 bits as a simulator takes them: real numbers with scale 1."""
    data, axis = node.input(1).data, weight_axis(node)
    assert data is not None and axis is not None
    return Weights(decompressed(node, group), np.ones(data.shape[axis], np.float32), axis)


def best_points(layers: Sequence[Layer], allowed: Collection[str], weigh: Weigh = bytes_only) -> list[Point]:
    """The combinations of allowed states that no other one beats in cost and noise; by rising cost, falling noise.

    Of more than ``MOST_POINTS`` evenly spread ones stay.
    """
    points = [Point(0, 0.0, ())]
    for layer in layers:
        options = [(state, layer.options[state]) for state in STATES if state in allowed and state in layer.options]
        longer = [point.longer(state, option, weigh) for point in points for state, option in options]
        longer.sort(key=lambda point: (point.cost, point.noise))
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


class _Search:
    """Choices that were built and run, by the states of their layers."""

    def __init__(
        self,
        layers: Sequence[Layer],
        simulator: Simulator,
        redecide: Redecide,
        build: Build,
        measure: Measure,
        costs: CostFunction,
        group: int,
        inside: Sequence[Node],
    ) -> None:
        self.layers, self.costs, self.measure, self.build = layers, costs, measure, build
        self.tried: dict[tuple[str, ...], Choice] = {}
        self._redecide, self._base, self._group, self._inside = redecide, simulator.base, group, inside

    def decision(self, states: Sequence[str]) -> Decision:
        floats, wide = _sets(self.layers, states, self._inside, self._base)
        packed = {
            layer.node: COMPRESSED_AS.get(state, (4, self._group))
            for layer, state in zip(self.layers, states, strict=True)
            if state in REAL and state != "float"
        }
        return replace(self._redecide(floats, wide), compressed=packed)

    def attempt(self, states: tuple[str, ...]) -> Choice:
        """The choice of these states, built and run once."""
        if states not in self.tried:
            decision = self.decision(states)
            graph = self.build(decision)
            figure, drop = self.measure(graph)
            picks = {
                layer.node.name: Pick(state, layer.options[state].noise, layer.options["int8"].noise)
                for layer, state in zip(self.layers, states, strict=True)
            }
            self.tried[states] = Choice(_label(states), decision, graph, figure, drop, self.costs(graph), picks)
        return self.tried[states]

    def learn_costs(self, allowed: Collection[str]) -> None:
        """What each layer costs in each state, from graphs in which all layers have the same one."""
        for state in STATES:
            if state not in allowed:
                continue
            states = [state if state in layer.options else "float" for layer in self.layers]
            known = self.costs(self.build(self.decision(states))).layers
            for layer in self.layers:
                name, op = layer.node.name, layer.node.op
                found = known.get((name, op)) or known.get((name, COMPRESSED.get(op, op)))
                if state in layer.options and found is not None:
                    option = layer.options[state]
                    layer.options[state] = Option(found.flash, option.noise, found.instructions or 0.0, found.ram)


def within_budgets(
    start: Decision,
    simulator: Simulator,
    redecide: Redecide,
    build: Build,
    measure: Measure,
    budgets: Budgets,
    *,
    group: int,
    costs: CostFunction | None = None,
    is_integer: Callable[[Graph], bool] | None = None,
) -> Choice:
    """The choice within the budgets that keeps most of the outputs, or with a limit on the drop the cheapest.

    ``costs`` are those of the target (none: bytes of constants only); ``is_integer``: if given, only graphs of which it
    is true count, and no layer gets real activations. Raises BudgetError when no choice keeps within all of that, with
    the least that each budget needs.
    """
    layers = layers_of(start, simulator, group)
    inside = list(start.placement.integer_nodes)
    search = _Search(layers, simulator, redecide, build, measure, costs or plain_costs, group, inside)
    families = [("int8", "16x8")] if is_integer is not None else [("int4", "int8", "16x8"), STATES]
    if costs is not None:
        search.learn_costs(families[-1])
    uniform = search.attempt(("int8",) * len(layers))
    search.attempt(("16x8",) * len(layers))
    fixed = Point(
        uniform.costs.flash - sum(layer.options["int8"].bytes for layer in layers),
        0.0,
        (),
        (uniform.costs.instructions or 0.0) - sum(layer.options["int8"].instructions for layer in layers),
    )
    for family in families:
        for weigh in _weights(budgets, uniform.costs):
            if budgets.any_resource:
                _to_limits(_small_enough(layers, budgets.ram, family), weigh, search.attempt, budgets, fixed)
        if budgets.drop is not None:
            for weigh in [bytes_only] if costs is None else [bytes_only, instructions_only]:
                _to_drop(best_points(layers, family, weigh), search.attempt, budgets.drop)

    def fits(choice: Choice) -> bool:
        return budgets.allow(choice) and (is_integer is None or is_integer(choice.graph))

    if budgets.any_resource and budgets.drop is None:
        _climb(search, families[-1], budgets, fits)
    fitting = [choice for choice in search.tried.values() if fits(choice)]
    if not fitting:
        _attempt_extremes(search, families[-1], budgets)
        able = [choice for choice in search.tried.values() if is_integer is None or is_integer(choice.graph)]
        raise budgets.error(able or list(search.tried.values()))
    return budgets.best(fitting)


def _weights(budgets: Budgets, uniform: Costs) -> list[Weigh]:
    """What is worth trying as the cost of a layer: bytes, instructions, and where both have a limit sums of both."""
    if budgets.instructions is None:
        return [bytes_only]
    least = max(1.0, uniform.instructions or 1.0)
    if budgets.flash is None and budgets.ram is None:
        return [instructions_only]
    per_byte, per_instruction = 1.0 / max(1, budgets.flash or uniform.flash), 1.0 / min(budgets.instructions, least)

    def mixture(share: float) -> Weigh:
        return lambda option: share * option.bytes * per_byte + (1.0 - share) * option.instructions * per_instruction

    return [mixture(share) for share in SHARES]


def _attempt_extremes(search: _Search, allowed: Collection[str], budgets: Budgets) -> None:
    """Builds what needs least of each budget, so that an error can name it."""
    if budgets.flash is not None:
        search.attempt(best_points(search.layers, allowed)[0].states)
    if budgets.instructions is not None:
        search.attempt(best_points(search.layers, allowed, instructions_only)[0].states)
    if budgets.ram is not None:
        search.attempt(best_points(_small_enough(search.layers, 0, allowed), STATES)[0].states)
    if budgets.drop is not None:
        search.attempt(("float" if "float" in allowed else "16x8",) * len(search.layers))


def _small_enough(layers: Sequence[Layer], limit: int | None, allowed: Collection[str]) -> list[Layer]:
    """The layers with the allowed states that need no more memory than the limit while they run, or else the least."""
    found = []
    for layer in layers:
        options = {state: option for state, option in layer.options.items() if state in allowed}
        if limit is not None:
            most = max(limit, min(option.ram for option in options.values()))
            options = {state: option for state, option in options.items() if option.ram <= most}
        found.append(Layer(layer.node, options))
    return found


def _to_limits(
    layers: Sequence[Layer],
    weigh: Weigh,
    attempt: Callable[[tuple[str, ...]], Choice],
    budgets: Budgets,
    fixed: Point,
) -> None:
    """The point with least noise whose real graph is within the limits; costs besides the layers are known roughly."""
    infinite = float("inf")
    most = [
        infinite if budgets.flash is None else float(budgets.flash - fixed.bytes),
        infinite if budgets.instructions is None else budgets.instructions - fixed.instructions,
        infinite,
    ]
    points = best_points(layers, STATES, weigh)
    for _ in range(MOST_TRIES):
        inside = [
            point for point in points if all(have <= limit for have, limit in zip(_sums(point), most, strict=True))
        ]
        point = inside[-1] if inside else points[0]
        excess = budgets.excess(attempt(point.states).costs)
        if not excess or point is points[0]:
            return
        for place, name in enumerate(("flash", "instructions", "ram")):
            if name in excess:
                most[place] = _sums(point)[place] - max(1.0, excess[name])


def _label(states: tuple[str, ...]) -> str:
    """Such as "int4 weights in 2, int8 in 1 of 3 layers"."""
    if len(set(states)) == 1:
        return f"{LABELS.get(states[0], states[0])} in all layers"
    counts = [f"{LABELS.get(state, state)} in {states.count(state)}" for state in STATES if state in states]
    return f"{', '.join(counts)} of {len(states)} layers"


def _sums(point: Point) -> tuple[float, float, float]:
    return float(point.bytes), point.instructions, float(point.ram)


def _climb(search: _Search, allowed: Collection[str], budgets: Budgets, fits: Callable[[Choice], bool]) -> None:
    """Finer states for one layer after the other of the best choice within the limits, the noisiest first."""
    layers = search.layers
    fitting = [states for states, choice in search.tried.items() if fits(choice)]
    if not fitting:
        return
    best = max(fitting, key=lambda states: search.tried[states].figure)
    top = search.tried[best]
    noise = [layer.options[state].noise for layer, state in zip(layers, best, strict=True)]
    for place in sorted(range(len(layers)), key=lambda place: -noise[place])[:MOST_CLIMBED]:
        options = layers[place].options
        for state in ("float", "float16", "w8", "16x8"):
            if state not in allowed or state not in options or options[state].noise >= options[best[place]].noise:
                continue
            more = Costs(
                top.costs.flash + options[state].bytes - options[best[place]].bytes,
                options[state].ram,
                (top.costs.instructions or 0.0) + options[state].instructions - options[best[place]].instructions,
            )
            if budgets.excess(more):
                continue
            states = (*best[:place], state, *best[place + 1 :])
            choice = search.attempt(states)
            if fits(choice) and choice.figure > top.figure:
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
