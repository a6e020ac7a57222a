"""Half precision: layers that compute on float16, between casts where the model goes on in float32.

Layers with weights compute so wherever they stand, most others where an operand already is of halves. Weights are
rounded once; biases stay float32. How the kernels sum stands in docs/decisions/0034-half-precision-is-in-the-graph.md.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, TensorType, Value
from ...stepwise import Executor
from ..pipeline import finish
from .aim import aim_of, tell_outcome
from .calibration_data import CalibrationSet, open_calibration, samples_of
from .compress import LARGEST_HALF
from .options import QuantizeOptions
from .report import LayerReport, QuantReport
from .statistics import require_finite_weights

WEIGHTED = frozenset({"conv2d", "depthwise_conv2d", "dense"})
"""Ops that compute on halves wherever they stand: (x, weights, bias?)."""

PAIRS = frozenset("add sub mul div max min".split())

FOLLOWING = PAIRS | frozenset(
    "relu leaky_relu clip hard_sigmoid hard_swish sigmoid silu tanh gelu elu max_pool2d avg_pool2d reduce_mean".split()
)
"""Ops that compute on halves if one of their operands already is of halves."""

MOVING = {"reshape": 1, "transpose": 1, "squeeze": 1, "slice": 1, "tile": 1, "expand": 1, "gather": 1, "concat": 64}
"""Ops that move elements of any type, and how many of their first inputs are such elements."""


def quantize_half(graph: Graph, options: QuantizeOptions) -> tuple[Graph, QuantReport]:
    """The finished graph and a report. Layers that ``float_layers`` names stay in float32, and so do those whose
    weights, or whose results on calibration data if there is some, do not fit half precision."""
    from .static import layers_named

    require_finite_weights(graph, options.scheme)
    report = QuantReport(options.scheme, options.contract)
    report.choices["compute"] = "float16"
    report.float_bytes = sum(value.type.nbytes for value in graph.constants())
    kept = layers_named(graph, options.float_layers, "--float-layer")
    aim = data = None
    large: set[str] = set()
    if options.calibrate is not None:
        data = open_calibration(options.calibrate, graph, options.images, options.samples)
        aim = aim_of(graph, options, data)
        large = _large_results(graph, data, report)
    halves = _Halves(graph)
    graph.sort()
    for node in list(graph.nodes):
        if node.op in MOVING:
            halves.move(node)
            continue
        reason = _reason(node, kept, large)
        if reason is None:
            halves.convert(node)
        else:
            halves.keep(node)
        if any(value.dtype.is_float for value in node.outputs):
            numbers = "float16 arithmetic" if reason is None else "float32"
            report.layers.append(LayerReport(node.name, node.op, numbers, reason or "", is_float=reason is not None))
    halves.restore_results()
    finished = finish(graph)
    tell_outcome(finished, aim, data, options, report)
    return finished, report


def _reason(node: Node, kept: Collection[str], large: Collection[str]) -> str | None:
    """Why a layer stays in float32; None: it computes on halves."""
    if node.name in kept:
        return "asked for"
    if node.op not in WEIGHTED and node.op not in FOLLOWING:
        return f"there is no {node.op} in half precision"
    if node.output.dtype is not DType.f32 or node.output.quant is not None:
        return "it does not compute on float32"
    if node.name in large:
        return f"its results pass {LARGEST_HALF:.0f}, the largest half"
    if node.op in WEIGHTED:
        data = node.input(1).data
        if data is None:
            return "its weights are not constant"
        if not _fits(data):
            return f"its weights pass {LARGEST_HALF:.0f}, the largest half"
        return None
    operands = [value for value in node.inputs if value is not None]
    if any(value.data is not None and value.dtype is DType.f32 and not _fits(value.data) for value in operands):
        return f"a constant passes {LARGEST_HALF:.0f}, the largest half"
    if not any(value.dtype is DType.f16 for value in operands if value.producer is not None):
        return "none of its operands has half precision"
    return None


def _large_results(graph: Graph, data: CalibrationSet, report: QuantReport) -> set[str]:
    """Names of the layers whose results on calibration data do not fit half precision."""
    large: set[str] = set()

    def see(value: Value, array: np.ndarray) -> None:
        if value.producer is not None and value.dtype is DType.f32 and not _fits(array):
            large.add(value.producer.name)

    executor = Executor(graph)
    states: dict[str, np.ndarray] = {}
    for feed in data:
        executor.run(feed, see, states)
        report.samples += samples_of(feed)
    return large


def _fits(array: np.ndarray) -> bool:
    return float(np.abs(array).max(initial=0.0)) <= LARGEST_HALF


class _Halves:
    """The values of a graph, each in the precision that its users want: casts are made once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._cast: dict[tuple[Value, DType], Value] = {}
        self._retyped: set[Value] = set()

    def as_type(self, value: Value, dtype: DType, user: Node) -> Value:
        """``value`` as numbers of another precision, made in front of its first user."""
        if value.dtype is dtype:
            return value
        known = self._cast.get((value, dtype))
        if known is not None:
            return known
        name = self.graph.unique_name(f"{value.name}_{dtype.name}")
        if value.data is not None:
            made = self.graph.constant(name, value.data.astype(dtype.numpy))
        else:
            made = self.graph.add("cast", [value], {"to": dtype.value}, before=user, output_names=[name]).output
        self._cast[value, dtype] = made
        return made

    def convert(self, node: Node) -> None:
        """Makes a layer one on halves."""
        for index in range(2 if node.op in WEIGHTED or node.op in PAIRS else 1):
            node.set_input(index, self.as_type(node.input(index), DType.f16, node))
        self._retype(node)

    def move(self, node: Node) -> None:
        """Elements that are moved keep their type; those that are joined have one."""
        operands = range(min(MOVING[node.op], len(node.inputs)))
        if any(value is not None and value.dtype is DType.f16 for value in (node.inputs[index] for index in operands)):
            for index in operands:
                node.set_input(index, self.as_type(node.input(index), DType.f16, node))
            self._retype(node)

    def keep(self, node: Node) -> None:
        """A layer on float32 gets its operands so."""
        for index, value in enumerate(node.inputs):
            if value is not None and value.dtype is DType.f16 and value.producer is not None and node.op != "cast":
                node.set_input(index, self.as_type(value, DType.f32, node))

    def restore_results(self) -> None:
        """Outputs and states have the types that they had, and their names."""
        for value in list(dict.fromkeys(self.graph.results)):
            if value not in self._retyped:
                continue
            name = self.graph.unique_name(f"{value.name}_f16")
            node = self.graph.add("cast", [value], {"to": DType.f32.value}, output_names=[value.name])
            value.name = name
            node.output.origins = value.origins
            self.graph.outputs = [node.output if output is value else output for output in self.graph.outputs]
            for state in self.graph.states:
                state.output = node.output if state.output is value else state.output

    def _retype(self, node: Node) -> None:
        for value in node.outputs:
            value.type = TensorType(DType.f16, value.shape)
            self._retyped.add(value)
