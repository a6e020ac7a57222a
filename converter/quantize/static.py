"""Full integer quantization, int8 or 16x8: candidates are tried and the one that keeps most of the outputs is taken."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from ...dtypes import DType
from ...errors import InputError, MicrolithError, Unsupported, UnsupportedError
from ...ir import Graph, Node, Quant, Value
from ...ops.compressed import weight_bits
from ..passes.unsigned_bytes import is_mover
from ..passes.weight_codes import COMPRESSED
from .aim import Aim, aim_of, remarks_on
from .budgets import BudgetError, Budgets, Choice, Pick
from .calibration_data import CalibrationSet, Feed, open_calibration
from .equalize import equalized
from .insert import Decision, apply, bias_of, nearest_weights
from .labels import Labelled
from .mixed import LABELS, noise_share, within_budgets
from .moments import can_measure, measure
from .observers import OBSERVERS, PERCENTILE, TensorStats, percentile
from .options import QuantizeOptions
from .placement import ASKED_FOR, WEIGHTED, Placement, place
from .ranges import activation_quant
from .reconstruct import mean_error, reconstruct
from .recurrent import FIXED_FORMS, largest_input
from .recurrent_steps import cell_limits
from .recurrent_weights import Direction, measure_steps, rounded_directions
from .recurrent_weights import can_measure as can_measure_steps
from .report import LayerReport, QuantReport, constant_bytes, numbers_of
from .simulate import Rounded, Simulator, rounded_values
from .statistics import Progress, collect, record, require_finite_weights, sqnr
from .zero_ranges import settle

QUANTIZATION_OPS = ("quantize", "dequantize", "requantize")


@dataclass
class Candidate:
    """A decision, the graph that it gives, and its figure."""

    label: dict[str, object]
    decision: Decision
    graph: Graph
    figure: float
    drop: float = 0.0
    """What ``max_drop`` limits."""
    choice: Choice | None = None
    """How bits were chosen for each layer, if they were."""


@dataclass
class Search:
    """What candidates are made from and measured with."""

    base: Graph
    options: QuantizeOptions
    placement: Placement
    stats: dict[Value, TensorStats]
    feeds: list[Feed]
    wanted: list[dict[str, np.ndarray]]
    labels: Labelled | None = None
    """Of the feeds, if they are known."""
    cells: dict[Node, float] = field(default_factory=dict)
    """See ``Decision.cells``."""
    tried: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """See ``QuantReport.notes``."""

    def measure(self, decision: Decision, **label: object) -> Candidate:
        """Builds and runs a candidate."""
        graph = apply(self.base, decision)
        figure, drop = self.run(graph, **label)
        return Candidate(label, decision, graph, figure, drop)

    def run(self, graph: Graph, **label: object) -> tuple[float, float]:
        """Decibels at the outputs of a finished graph, and its drop."""
        got = record(graph, self.feeds)
        figure = sqnr(self.wanted, got)
        drop, told = noise_share(figure), {}
        if self.labels is not None:
            found = self.labels.accuracy(got)
            drop, told = self.labels.accuracy(self.wanted) - found, {"accuracy": round(found, 5)}
        self.tried.append({**label, "sqnr": round(figure, 3), **told})
        return figure, drop


def quantize_static(
    graph: Graph, options: QuantizeOptions, progress: Progress | None = None
) -> tuple[Graph, QuantReport]:
    """See ``quantize``."""
    require_finite_weights(graph, options.scheme)
    require_floats(graph)
    real = layers_named(graph, options.float_layers, "--float-layer")
    if both := real & layers_named(graph, options.wide_layers, "--wide-layer"):
        raise InputError(
            f"layer '{min(both)}' shall be in floating point and have 16-bit activations",
            hint="--float-layer and --wide-layer must name different layers",
        )
    data = open_calibration(options.calibrate, graph, options.images, options.samples)
    aim = aim_of(graph, options, data)
    if options.is_mixed:
        options = replace(options, scheme="int8")  # 16x8 is tried too, whichever was named
    search, best, count = _uniform(graph, options, data, aim, progress)
    if options.is_mixed:
        search, best = _mixed(search, best, _uniform(graph, replace(options, scheme="16x8"), data, aim, progress)[:2])
    report = _report(search, best, count, real)
    report.remarks += remarks_on(aim, data)
    if options.require_int8:
        _require_integers(report)
    return best.graph, report


def _uniform(
    graph: Graph, options: QuantizeOptions, data: CalibrationSet, aim: Aim, progress: Progress | None
) -> tuple[Search, Candidate, int]:
    """The best of the scheme that the options name, what it was found with, and the number of all feeds."""
    search, count = _search(graph, options, data, aim, progress)
    best = choose_weights(search, choose_ranges(search), data)
    for move in _moves(options):
        moved, places = equalized(graph, data, move.exponent, move.kinds)
        if not places:
            if move.forced:
                search.notes.append(f"{move.option}: there is no place in the model where scale could be moved")
            continue
        other, _ = _search(moved, options, data, aim, progress)
        other.tried, other.notes = search.tried, search.notes
        label = {"scales moved": places}
        found = choose_weights(other, choose_ranges(other, [str(best.label["observer"])], label), data)
        if found.figure > best.figure or move.forced:
            search, best, graph = other, found, moved
    return search, best, count


EXPONENT = 0.5
"""Of SmoothQuant, unless told otherwise, and of equalization."""


@dataclass(frozen=True)
class Move:
    """A way to move scale between layers."""

    option: str
    kinds: frozenset[str]
    """The ops that scale is moved from."""
    exponent: float
    forced: bool
    """Whether it was asked for, and is not only taken if it helps."""


def _moves(options: QuantizeOptions) -> list[Move]:
    """From layers with a ReLU or nothing behind them, and from normalizations."""
    moves = []
    if options.equalize is not False:
        kinds = frozenset({"conv2d", "depthwise_conv2d", "dense"})
        moves.append(Move("--equalize", kinds, EXPONENT, bool(options.equalize)))
    if options.smooth != 0.0:
        kinds = frozenset({"layer_norm", "rms_norm"})
        moves.append(Move("--smooth", kinds, options.smooth or EXPONENT, options.smooth is not None))
    return moves


def _search(
    graph: Graph, options: QuantizeOptions, data: CalibrationSet, aim: Aim, progress: Progress | None
) -> tuple[Search, int]:
    """Where integers go, the statistics of what they hold, and the number of all feeds."""
    placement = place(
        graph,
        layers_named(graph, options.float_layers, "--float-layer"),
        layers_named(graph, options.wide_layers, "--wide-layer"),
        DType.s16 if options.scheme == "16x8" else DType.s8,
        keep_tail=not options.require_int8,
    )
    values = [value for value in graph.values() if value in placement.group_of]
    if options.is_mixed:  # other placements will come
        values = [value for value in graph.values() if value.dtype is DType.f32 and not value.is_constant]
    stats, count = collect(graph, values, data, progress)
    cells = cell_limits(graph, placement.integer_nodes, aim.feeds)
    return Search(graph, options, placement, stats, aim.feeds, aim.wanted, aim.labels, cells), count


def _mixed(search: Search, best: Candidate, wide: tuple[Search, Candidate]) -> tuple[Search, Candidate]:
    """Bits for each layer within the budgets: from the best weights for int8, and from those for 16x8, ``wide``, which
    other layers have that are not int8."""
    wide[0].options = search.options
    found: list[tuple[Search, Choice, Candidate]] = []
    failures: list[MicrolithError] = []
    for start in ((search, best), wide):
        try:
            found.append((start[0], _within_budgets(*start), start[1]))
        except BudgetError as error:
            failures.append(error)
    if not found:
        raise failures[0]
    best_choice = budgets_of(search.options).best([choice for _, choice, _ in found])
    chosen, choice, base = next(item for item in found if item[1] is best_choice)
    chosen.placement, chosen.tried = choice.decision.placement, search.tried + wide[0].tried
    label = {**base.label, "bits": choice.label}
    return chosen, Candidate(label, choice.decision, choice.graph, choice.figure, choice.drop, choice)


def budgets_of(options: QuantizeOptions) -> Budgets:
    return Budgets(options.max_flash, options.max_ram, options.max_instructions, options.max_drop)


def _within_budgets(search: Search, best: Candidate) -> Choice:
    """With the weights of one candidate."""
    options = search.options
    observer = str(best.label["observer"])
    real = layers_named(search.base, options.float_layers, "--float-layer")
    wide_always = layers_named(search.base, options.wide_layers, "--wide-layer")

    def redecide(floats: frozenset[str], wide: frozenset[str]) -> Decision:
        placement = place(search.base, floats | real, wide | wide_always, DType.s8, not options.require_int8)
        decision = replace(best.decision, placement=placement, quants={})
        decision.quants = quants_of(replace(search, placement=placement), observer)
        return decision

    start = redecide(frozenset(), frozenset())
    return within_budgets(
        start,
        Simulator(search.base, start.placement, search.feeds),
        redecide,
        lambda decision: apply(search.base, decision),
        lambda graph: search.run(graph, observer=observer, bits="mixed"),
        budgets_of(options),
        group=options.group_size,
        costs=options.costs,
        is_integer=(lambda graph: not float_layers(graph)) if options.require_int8 else None,
    )


def choose_ranges(
    search: Search, observers: Sequence[str] = (), label: Mapping[str, object] | None = None
) -> Candidate:
    """The best observer for the whole graph, of all or of some."""
    options = search.options
    names = list(observers or OBSERVERS) if options.observer == "auto" else [options.observer]
    if search.options.scheme == "16x8" and options.observer == "auto":
        names = ["min-max"]  # 65,536 steps need no clipping
    candidates = []
    for name in names:
        decision = Decision(search.placement, quants_of(search, name), cells=search.cells, contract=options.contract)
        candidates.append(search.measure(decision, **{"observer": name, **(label or {})}))
    return max(candidates, key=lambda candidate: candidate.figure)


def choose_weights(search: Search, best: Candidate, data: CalibrationSet) -> Candidate:
    """Bias correction and adaptive rounding, if they keep more of the outputs."""
    options = search.options
    if options.rounding == "nearest" and not options.corrects_bias:
        return best
    decision = best.decision
    nodes = [node for node in decision.placement.integer_nodes if node.op in WEIGHTED and can_measure(node)]
    rounded = Rounded(search.base, data, rounded_values(search.placement, decision.quants))
    corrected, adapted = (
        replace(decision, weights=dict(decision.weights), biases=dict(decision.biases)) for _ in range(2)
    )
    for part in measure(nodes, rounded):
        for node, moments in part.items():
            bias = bias_of(node)
            start = nearest_weights(node, float(decision.read_quant(node, node.input(0)).scale[0]), bias)
            bias = np.zeros(start.scales.size) if bias is None else bias
            if not options.corrects_bias:
                moments = moments.about_zero()
            else:
                corrected.biases[node] = bias + mean_error(node, start, moments)
            corrected.weights[node] = start
            if options.rounding != "nearest":
                adapted.weights[node], shift = reconstruct(node, start, moments)
                adapted.biases[node] = bias + shift
    if options.rounding != "nearest":
        adapted.recurrent = _round_recurrent(search, rounded, decision)
    found = [best] if options.rounding != "adaptive" else []
    if options.corrects_bias and options.rounding != "adaptive":
        found.append(search.measure(corrected, **{**best.label, "rounding": "nearest", "bias": "corrected"}))
    if options.rounding != "nearest":
        found.append(search.measure(adapted, **{**best.label, "rounding": "adaptive"}))
        if adapted.recurrent:  # the rounding of h is fed back, which reconstruction does not see
            simple = replace(adapted, recurrent={})
            found.append(search.measure(simple, **{**best.label, "rounding": "adaptive", "recurrent": "nearest"}))
    return max(found, key=lambda candidate: candidate.figure)


def _round_recurrent(search: Search, rounded: Rounded, decision: Decision) -> dict[Node, list[Direction]]:
    """Better weights of recurrent layers."""
    nodes = [node for node in decision.placement.integer_nodes if node.op in FIXED_FORMS and can_measure_steps(node)]
    found = {}
    for node, measured in measure_steps(nodes, replace(rounded, feeds=search.feeds)).items():
        if not search.options.corrects_bias:
            measured = [[(rows, part.about_zero()) for rows, part in parts] for parts in measured]
        found[node] = rounded_directions(node, measured, largest_input(decision.read_quant(node, node.input(0))))
    return found


HEADROOM = 2.0
"""16 bits hold so many times what was seen: new data goes beyond, and one bit of 16 is little beside 8-bit weights."""


def quants_of(search: Search, observer: str) -> dict[int, Quant]:
    """Scale and zero point of each group: its range holds those of all that decide about it."""
    result = {}
    zeros = set()
    for group in search.placement.groups:
        if group.fixed is not None:
            result[id(group)] = Quant.per_tensor(*group.fixed)
            continue
        levels = 65536 if group.dtype is DType.s16 else 256
        ranges = [_range(search, search.stats[value], observer, levels) for value in group.members]
        tables = [
            value.producer.input(0).data if value.producer else None for value in group.members if _is_lookup(value)
        ]
        ranges += [(float(table.min()), float(table.max())) for table in tables if table is not None]
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        if group.dtype is DType.s16:
            low, high = HEADROOM * low, HEADROOM * high
        result[id(group)] = activation_quant(low, high, group.dtype)
        if low == high == 0.0:
            zeros.add(id(group))
    settle(search.placement, result, zeros)
    return result


def _is_lookup(value: Value) -> bool:
    """Whether a value is rows of a constant table, all of which must be in its range."""
    node = value.producer
    return node is not None and node.op == "gather" and node.input(0).data is not None


def _range(search: Search, stats: TensorStats, observer: str, levels: int) -> tuple[float, float]:
    if observer == "percentile":
        return percentile(stats, levels, search.options.percentile or PERCENTILE)
    return OBSERVERS[observer](stats, levels)


def require_floats(graph: Graph) -> None:
    for node in graph.nodes:
        if node.op in QUANTIZATION_OPS or any(value.quant is not None for value in node.outputs):
            raise MicrolithError(
                "the model is quantized already", hint="it stays as it is without --quantize; or take the float model"
            )


def layers_named(graph: Graph, patterns: tuple[str, ...], option: str) -> frozenset[str]:
    """Names of the nodes that patterns name, by their own name, that of a result, or their operator."""
    names = set()
    for pattern in patterns:
        found = {
            node.name
            for node in graph.nodes
            if any(
                fnmatch.fnmatchcase(text, pattern)
                for text in (node.name, node.source, *(value.name for value in node.outputs))
            )
        }
        if not found:
            raise MicrolithError(f"{option}: no layer is named '{pattern}'", hint="microlith inspect lists the layers")
        names |= found
    return frozenset(names)


def float_layers(graph: Graph) -> list[Node]:
    """The nodes of a finished graph that compute on real numbers or join such; what only moves those of another node,
    and changes between them and integers, do not count."""
    return [
        node
        for node in graph.nodes
        if node.op not in QUANTIZATION_OPS
        and any(value.dtype.is_float for value in node.outputs)
        and (node.op == "concat" or not is_mover(node))
    ]


def _report(search: Search, best: Candidate, count: int, named: frozenset[str]) -> QuantReport:
    options, placement = search.options, search.placement
    report = QuantReport(options.scheme, options.contract, count)
    report.choices, report.candidates, report.notes = dict(best.label), search.tried, search.notes
    report.sqnr = best.figure
    if search.labels is not None:
        report.float_accuracy = search.labels.accuracy(search.wanted)
        report.accuracy = report.float_accuracy - best.drop
    report.float_bytes = sum(value.type.nbytes for value in search.base.constants())
    report.constant_bytes = sum(value.type.nbytes for value in best.graph.constants())
    budgets = asdict(budgets_of(options))
    report.budgets = {name: limit for name, limit in budgets.items() if limit is not None}
    costs = None
    if options.costs is not None:
        costs = best.choice.costs if best.choice is not None else options.costs(best.graph)
        report.flash, report.ram, report.instructions = costs.flash, costs.ram, costs.instructions
    reasons = {node.name: reason for node, reason in placement.reasons.items()}
    picks = {} if best.choice is None else best.choice.picks
    seen = {value.name: stats for value, stats in search.stats.items()}
    stay = set(float_layers(best.graph))
    for node in best.graph.nodes:
        layer = _layer(node, node in stay and node.op not in COMPRESSED.values(), reasons, seen)
        layer.is_float, layer.constant_bytes, layer.weight_bits = node in stay, constant_bytes(node), weight_bits(node)
        known = None if costs is None else costs.layers.get((node.name, node.op))
        if known is not None:
            layer.instructions, layer.ram = known.instructions, known.ram
        pick = picks.get(node.name) if node.op in WEIGHTED or node.op in COMPRESSED.values() else None
        if pick is not None:
            layer.reason, layer.noise = _chosen(pick), pick.noise
        elif layer.reason == ASKED_FOR and layer.name not in named:
            layer.reason = "it follows layers that the search gave real numbers"
        report.layers.append(layer)
    return report


def _layer(node: Node, is_float: bool, reasons: Mapping[str, str], seen: Mapping[str, TensorStats]) -> LayerReport:
    if is_float:
        return LayerReport(node.name, node.op, "float32", reasons.get(node.name, _reason(node)))
    layer, output = LayerReport(node.name, node.op, numbers_of(node)), node.outputs[0]
    quant = output.quant
    if quant is None or not quant.is_per_tensor or not output.dtype.is_integer:
        return layer
    scale, zero = float(quant.scale[0]), int(quant.zero_point[0])
    info = np.iinfo(output.dtype.numpy)
    layer = replace(layer, scale=scale, zero_point=zero, low=scale * (info.min - zero), high=scale * (info.max - zero))
    stats = seen.get(output.name)
    if stats is not None:
        layer.seen_low, layer.seen_high = stats.low, stats.high
    return layer


def _chosen(pick: Pick) -> str:
    """Why a layer has its bits, from what the search measured."""
    text = f"chosen: {LABELS.get(pick.state, pick.state)}"
    if pick.state == "int8":
        return f"{text} adds {_noise(pick.noise)} to the outputs"
    return f"{text} adds {_noise(pick.noise)} to the outputs, int8 {_noise(pick.noise_int8)}"


def _noise(share: float) -> str:
    return "no noise" if share <= 0 else f"noise of {10 * np.log10(share):.0f} dB"


def _reason(node: Node) -> str:
    if is_mover(node):
        return "it moves what is floating point"
    return f"no form of {node.op} on integers fits here"


def _require_integers(report: QuantReport) -> None:
    items = [Unsupported(layer.name, layer.op, layer.reason) for layer in report.floats]
    if items:
        raise UnsupportedError(items, where="--require-int8")


__all__ = ["CalibrationSet", "choose_ranges", "quantize_static"]
