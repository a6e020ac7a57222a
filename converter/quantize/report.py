"""What quantization did, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ...costs import Costs
from ...dtypes import DType
from ...ir import Graph, Node
from ...ops.compressed import weight_bits
from ..passes.weight_codes import COMPRESSED
from .recurrent import FIXED_FORMS


@dataclass
class LayerReport:
    """One layer of the model."""

    name: str
    op: str
    numbers: str
    """``int8``, ``16x8``, ``float32``, …; see ``numbers_of``."""
    reason: str = ""
    """Why it computes on real numbers, or why its bits were chosen; empty for integers without a choice."""
    constant_bytes: int = 0
    """Of its weights, bias, scales and tables, as the file holds them."""
    weight_bits: int | None = None
    """Of each weight; None for a layer without constant ones."""
    instructions: float | None = None
    """Of a run on the target, estimated; None without one."""
    ram: int | None = None
    """Bytes that live while it runs on the target; None without one."""
    noise: float | None = None
    """The part of the outputs' power that its rounding alone adds as noise, where bits were chosen."""
    scale: float | None = None
    zero_point: int | None = None
    low: float | None = None
    """The range that its result can hold."""
    high: float | None = None
    seen_low: float | None = None
    """The range that calibration saw."""
    seen_high: float | None = None
    is_float: bool = False
    """Whether it computes on real numbers; with weights of few bits as well, unless the scheme wants just that. Nodes
    that only move real numbers (reshape, transpose, …) do not compute."""


@dataclass
class QuantReport:
    """The outcome of a quantization."""

    scheme: str
    contract: str
    samples: int = 0
    """Of calibration data."""
    choices: dict[str, Any] = field(default_factory=dict)
    """What was chosen, by option."""
    sqnr: float | None = None
    """Decibels at the outputs, against the model in floating point, on the feeds of the search."""
    float_accuracy: float | None = None
    accuracy: float | None = None
    """Share of the labelled samples whose class is found, before and after; None without labels."""
    notes: list[str] = field(default_factory=list)
    """What was asked for and had nothing to act on."""
    remarks: list[str] = field(default_factory=list)
    """What looks wrong about the data, and what was not asked for."""
    candidates: list[dict[str, Any]] = field(default_factory=list)
    """What was tried, in order, with its figure."""
    layers: list[LayerReport] = field(default_factory=list)
    budgets: dict[str, float] = field(default_factory=dict)
    """Those that bits were chosen for: ``flash``, ``ram``, ``instructions``, ``drop``."""
    flash: int | None = None
    ram: int | None = None
    instructions: float | None = None
    """What the target takes: bytes of constants and code, of the arena, and instructions of a run; None without one."""
    float_bytes: int = 0
    constant_bytes: int = 0
    """Bytes of constants before and after."""

    @property
    def floats(self) -> list[LayerReport]:
        """The layers that compute in floating point, though integers are the aim."""
        return [layer for layer in self.layers if layer.is_float]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


DYNAMIC = {"conv2d": "conv2d_dynamic", "dense": "dense_dynamic"}
"""Ops whose activations are quantized while they run, by those in whose place they stand."""


def numbers_of(node: Node) -> str:
    """What a node of a finished graph computes on, or moves.

    ``int8``; ``int16``, and ``16x8`` with weights of 8 bits; ``8x4``, ``8x2``, ``8x1``: int8 with packed weights;
    ``weights-int8``, ``weights-int4``, …, ``float16``: real numbers with such weights; ``dynamic``; ``float32``;
    ``float16 arithmetic``; ``integers``: others, such as indices.
    """
    types = {value.dtype for value in (*node.inputs[:1], *node.outputs) if value is not None}
    if node.op in COMPRESSED.values():
        bits = node.attrs["bits"]
        if DType.s8 in types:
            return f"8x{bits}"
        return "float16" if bits == 16 else f"weights-int{bits}"
    if node.op in DYNAMIC.values():
        return "dynamic"
    if node.op in FIXED_FORMS.values():
        return "int8" if node.input(0).dtype is DType.s8 else "16x8"
    if DType.s16 in types:
        return "16x8" if node.op in ("conv2d", "dense", "depthwise_conv2d", "conv_transpose") else "int16"
    for dtype, name in ((DType.s8, "int8"), (DType.f16, "float16 arithmetic"), (DType.f32, "float32")):
        if dtype in types:
            return name
    return "integers"


def add_figures(layers: Sequence[LayerReport], finished: Graph, costs: Costs | None) -> None:
    """What the nodes of a finished graph take goes to the layers of the same name."""
    nodes: dict[str, list[Node]] = {}
    for node in finished.nodes:
        nodes.setdefault(node.name, []).append(node)
    for layer in layers:
        found = nodes.get(layer.name, [])
        layer.constant_bytes = sum(map(constant_bytes, found))
        layer.weight_bits = next((bits for bits in map(weight_bits, found) if bits is not None), None)
        known = [item for item in (costs.layers.get((n.name, n.op)) for n in found) if item] if costs else []
        if known:
            counts = [item.instructions for item in known if item.instructions is not None]
            layer.instructions = sum(counts) if counts else None
            layer.ram = max(item.ram for item in known)


def constant_bytes(node: Node) -> int:
    """Of the constants that a node reads."""
    return sum(value.type.nbytes for value in node.inputs if value is not None and value.is_constant)
