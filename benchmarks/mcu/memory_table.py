"""The part of docs/benchmarks.md about memory on the Cortex-M4: limits of RAM, and what constants take in flash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tables

from microlith.ir import Graph

if TYPE_CHECKING:
    from bench import Row

BEGIN, END = "<!-- bench-mcu-memory begins -->", "<!-- bench-mcu-memory ends -->"


@dataclass(frozen=True)
class Limit:
    """What a model is generated with, beside the plain project."""

    ram: int
    """Bytes of arena and stack, the latter as estimated before compiling."""
    by_rows: bool

    @property
    def options(self) -> str:
        return f"--ram-limit {self.ram}" + (" --input-by-rows" if self.by_rows else "")


LIMITS = {
    "kws_ref_model": Limit(10_000, False),
    "vww_96_int8": Limit(27_000, True),
    "pretrainedResnet_quant": Limit(23_000, False),
    "mcunet_vww_int8": Limit(60_000, True),
    "mcunet_person_det_int8": Limit(110_000, True),
}
TFLM_ARENAS = {"mcunet_vww_int8": 224_976, "mcunet_person_det_int8": 386_272}
"""Bytes that ``tflite_micro.runtime.Interpreter`` (PyPI, 0.dev20261023182759, 64 bits) reports."""


def weights_and_biases(graph: Graph) -> int:
    """Bytes of the weights and biases of a converted graph, as they stand in its file."""
    layers = [node for node in graph.nodes if node.op in ("conv2d", "depthwise_conv2d", "dense")]
    values = {value for node in layers for value in node.inputs[1:3] if value is not None and value.data is not None}
    return sum(value.type.nbytes for value in values)


def text(rows: Sequence[Row], limited: Mapping[str, Row]) -> str:
    """The tables in Markdown, of rows of the Cortex-M4 and of those with a limit by model."""
    found = {row.model: row for row in rows if row.target == "cortex-m4"}
    names = {**tables.INT8, **{model: f"`{model}`" for model in LIMITS}}
    names.update(tables.INT8)
    parts = []
    lines = []
    for model, small in limited.items():
        whole = found[model]
        more = 100 * (small.count.instructions / whole.count.instructions - 1)
        cells = [
            f"`{LIMITS[model].options}`",
            f"{whole.ram:,}",
            f"{small.ram:,}",
            f"{whole.count.instructions / 1e6:.3f}",
            f"{small.count.instructions / 1e6:.3f} ({more:+.1f} %)",
            f"{whole.code:,}",
            f"{small.code:,}",
            f"{TFLM_ARENAS[model]:,}" if model in TFLM_ARENAS else "",
        ]
        lines.append((names[model], cells))
    columns = ["with", "RAM", "then", "instructions (M)", "then", "code", "then", "arena of TFLM"]
    if lines:
        parts.append(tables.markdown("Cortex-M4F, bytes", columns, lines))
    exact = [model for model in tables.INT8 if model in found]
    if exact:
        plain = {model: found[model].weights_and_biases for model in exact}
        share = {model: found[model].constants / plain[model] - 1 for model in exact}
        measures = [
            ("weights and biases", [f"{plain[model]:,}" for model in exact]),
            ("constants of the generated code", [f"{found[model].constants:,}" for model in exact]),
            ("more", [f"{100 * share[model]:.1f} %" for model in exact]),
        ]
        parts.append(tables.markdown("flash, bytes", [tables.INT8[model] for model in exact], measures))
    return "\n".join(parts)
