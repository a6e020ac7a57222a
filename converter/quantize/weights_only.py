"""Weights as small numbers, activations real: int8 with activations quantized at run time, compressed weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...dtypes import DType
from ...ir import Graph, Node, Value
from ..passes.weight_codes import COMPRESSED, replace_node, rows_of
from ..pipeline import finish
from .aim import aim_of, tell_outcome
from .calibration_data import CalibrationSet, open_calibration, samples_of
from .compress import bfloat_node, compress_node
from .moments import Moments, can_measure, measure
from .options import GROUP, QuantizeOptions
from .placement import ASKED_FOR
from .ranges import round_weights, weight_scales
from .recurrent import FIXED_FORMS
from .report import DYNAMIC, LayerReport, QuantReport
from .simulate import Rounded
from .statistics import require_finite_weights

Rewrite = Callable[[Graph, Node, QuantizeOptions, Moments | None], str | None]
"""Puts another op in the place of a node, or says why not."""


def quantize_weights(graph: Graph, options: QuantizeOptions) -> tuple[Graph, QuantReport]:
    """The finished graph and a report. Layers that ``float_layers`` names stay as they are.

    No data is needed; with some, weights of 4 and 8 bits are rounded so that each layer keeps its result.
    """
    from .static import layers_named, require_floats

    require_floats(graph)
    require_finite_weights(graph, options.scheme)
    report = QuantReport(options.scheme, options.contract)
    data = (
        None
        if options.calibrate is None
        else open_calibration(options.calibrate, graph, options.images, options.samples)
    )
    aim = None if data is None else aim_of(graph, options, data)
    if options.compute != "float32":
        report.choices["compute"] = options.compute
    report.float_bytes = sum(value.type.nbytes for value in graph.constants())
    kept = layers_named(graph, options.float_layers, "--float-layer")
    rewrite = REWRITES[options.scheme]
    found = {} if data is None else _moments(graph, options, data, report)
    short: list[str] = []
    whole: list[str] = []
    for node in list(graph.nodes):
        if node.op not in ("conv2d", "dense", "depthwise_conv2d", "conv_transpose"):
            if any(_is_large(value) for value in node.inputs):
                why = f"there is no {node.op} with weights of few bits"
                if node.op in FIXED_FORMS:
                    why += "; int8 and 16x8 make it small"
                report.layers.append(LayerReport(node.name, node.op, "float32", why, is_float=True))
            continue
        arithmetic = "" if options.compute == "float32" else " arithmetic"
        layer = LayerReport(node.name, node.op, f"{options.scheme}{arithmetic}")
        depth = depth_in_4_bits(node) if options.scheme == "weights-int4" else None
        reason = ASKED_FOR if node.name in kept else rewrite(graph, node, options, found.get(node))
        if reason is not None:
            layer = replace(layer, numbers="float32", reason=reason, is_float=True)
        elif depth is not None and is_short(depth, options.group_size):
            short.append(node.name)
            layer = replace(layer, numbers="weights-int8", reason=f"the {depth} weights of a channel are few")
        elif depth is not None and depth < options.group_size:
            whole.append(node.name)
        report.layers.append(layer)
    if short:
        report.remarks.append(
            f"8 bits for {_some(short)}: channels of fewer than {min(options.group_size, GROUP)} weights "
            "(a smaller --group gives them 4)"
        )
    if whole and options.group is not None:
        report.notes.append(f"--group {options.group}: {_some(whole)}, whose channels have fewer weights and one scale")
    finished = finish(graph)
    if data is not None:
        report.samples = sum(samples_of(feed) for feed in data)
    tell_outcome(finished, aim, data, options, report)
    return finished, report


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(name if len(name) <= 40 else name[:39] + '…' for name in names[:3])}{more}"


LARGE = 256
"""Real numbers of a constant that would be worth storing in fewer bits."""


def _is_large(value: Value | None) -> bool:
    return value is not None and value.data is not None and value.dtype is DType.f32 and value.data.size >= LARGE


def _moments(graph: Graph, options: QuantizeOptions, data: CalibrationSet, report: QuantReport) -> dict[Node, Moments]:
    """Of the layers that can be rounded adaptively."""
    if options.rounding == "nearest" or options.scheme not in ("weights-int4", "weights-int8"):
        return {}
    nodes = [node for node in graph.nodes if node.op in COMPRESSED and can_measure(node)]
    found: dict[Node, Moments] = {}
    for part in measure([node for node in nodes if node.input(1).data is not None], Rounded(graph, data, {})):
        found |= part if options.corrects_bias else {node: item.about_zero() for node, item in part.items()}
    report.choices["rounding"] = "adaptive"
    return found


def _dynamic(graph: Graph, node: Node, options: QuantizeOptions, moments: Moments | None) -> str | None:
    """int8 weights; the activations of each sample are quantized when they are known."""
    if node.op not in DYNAMIC:
        return f"there is no {node.op} with activations quantized at run time"
    data = node.input(1).data
    if data is None:
        return "its weights are not constant"
    scales = weight_scales(data, 0)
    integers = round_weights(data, scales, 0).astype(np.int8)
    name = node.input(1).name
    inputs = [
        node.input(0),
        graph.constant(f"{name}_integers", integers),
        node.optional_input(2),
        graph.constant(f"{name}_scales", scales),
    ]
    replace_node(graph, node, DYNAMIC[node.op], inputs, {**node.attrs, "asymmetric": 1})
    return None


def depth_in_4_bits(node: Node) -> int | None:
    """Weights of a channel of a layer that may have 4 bits; None for others."""
    data = node.input(1).data
    return None if node.op not in COMPRESSED or data is None else rows_of(node, data).shape[1]


def is_short(depth: int, group: int) -> bool:
    """Whether the weights of a channel are fewer than a group: such layers, above all depthwise ones, are small, and of
    4 bits they would be most of the error of a model. They have 8. Groups that are larger than usual say nothing about
    that: channels that are shorter than those, but not than usual ones, have one scale."""
    return depth < min(group, GROUP)


def _compressed(bits: int) -> Rewrite:
    def rewrite(graph: Graph, node: Node, options: QuantizeOptions, moments: Moments | None) -> str | None:
        depth = depth_in_4_bits(node) if bits == 4 else None
        enough = 8 if depth is not None and is_short(depth, options.group_size) else bits
        return compress_node(graph, node, enough, options.group_size, moments)

    return rewrite


def _bfloat(graph: Graph, node: Node, options: QuantizeOptions, moments: Moments | None) -> str | None:
    return bfloat_node(graph, node, options.compute == "bfloat16")


REWRITES: dict[str, Rewrite] = {
    "bfloat16": _bfloat,
    "dynamic": _dynamic,
    "float16": _compressed(16),
    "weights-int4": _compressed(4),
    "weights-int8": _compressed(8),
}
