"""What quantization did, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class LayerReport:
    """One layer of the model."""

    name: str
    op: str
    numbers: str
    """``int8``, ``16x8``, ``float32``, …"""
    reason: str = ""
    """Why it computes on real numbers, or why its bits were chosen; empty for integers without a choice."""
    constant_bytes: int = 0
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
    """Whether it computes on real numbers; with weights of few bits as well, unless the scheme wants just that."""


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
