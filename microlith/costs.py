# SPDX-License-Identifier: Apache-2.0
"""What a graph costs on a machine, for those who choose between graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .ir import Graph


@dataclass(frozen=True)
class LayerCosts:
    """What one node costs."""

    flash: int
    """Bytes of its constants as its kernel wants them."""
    ram: int
    """Bytes that live while it runs: its inputs, outputs and workspace, and what later nodes still read."""
    instructions: float | None = None
    """Estimated; None where no costs are known for the machine."""


@dataclass(frozen=True)
class Costs:
    """What a graph costs."""

    flash: int
    """Bytes of constants and, where it is known, of the kernels' code."""
    ram: int | None = None
    """Bytes of the arena; None where no machine is known."""
    instructions: float | None = None
    """Of a run, estimated; None where no costs are known for the machine."""
    layers: Mapping[tuple[str, str], LayerCosts] = field(default_factory=dict)
    """By name and op of the node."""


CostFunction = Callable[[Graph], Costs]
