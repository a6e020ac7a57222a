# SPDX-License-Identifier: Apache-2.0
"""What a model may cost and lose, and what choices of bits come to."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ...costs import Costs
from ...errors import MicrolithError
from ...ir import Graph
from .insert import Decision


class BudgetError(MicrolithError):
    """No choice of bits keeps within the budgets."""


@dataclass(frozen=True)
class Pick:
    """What was chosen for a layer with weights."""

    state: str
    """One of ``mixed.STATES``."""
    noise: float
    """The part of the power of the outputs that this layer alone adds as noise."""
    noise_int8: float
    """The same for int8."""


@dataclass(frozen=True)
class Choice:
    """A point of the search."""

    label: str
    decision: Decision
    graph: Graph
    figure: float
    """Decibels at the outputs."""
    drop: float
    costs: Costs
    picks: Mapping[str, Pick] = field(default_factory=dict)
    """By name of the layer."""

    @property
    def constant_bytes(self) -> int:
        return sum(value.type.nbytes for value in self.graph.constants())


@dataclass(frozen=True)
class Budgets:
    """Limits; None: there is none."""

    flash: int | None = None
    """Bytes: of ``Costs.flash``."""
    ram: int | None = None
    """Bytes: of ``Costs.ram``."""
    instructions: float | None = None
    """Of a run."""
    drop: float | None = None
    """The share of noise, or of accuracy."""

    @property
    def any_resource(self) -> bool:
        return self.flash is not None or self.ram is not None or self.instructions is not None

    def excess(self, costs: Costs) -> dict[str, float]:
        """By how much costs exceed the limits, by name of the limit; empty: they keep within all."""
        pairs = {
            "flash": (costs.flash, self.flash),
            "ram": (costs.ram, self.ram),
            "instructions": (costs.instructions, self.instructions),
        }
        return {
            name: have - most
            for name, (have, most) in pairs.items()
            if most is not None and have is not None and have > most
        }

    def allow(self, choice: Choice) -> bool:
        """Whether a choice keeps within all limits."""
        return not self.excess(choice.costs) and (self.drop is None or choice.drop <= self.drop)

    def best(self, choices: Iterable[Choice]) -> Choice:
        """The choice that keeps most of the outputs; with a limit on the drop the cheapest: least product of flash, RAM
        and instructions, as far as they are known."""
        if self.drop is None:
            return max(choices, key=lambda choice: choice.figure)
        return min(choices, key=lambda choice: (_price(choice.costs), -choice.figure))

    def error(self, tried: Collection[Choice]) -> BudgetError:
        """That none of the choices keeps within: the least that each budget needs by itself, and what it takes."""
        lines = []
        if self.flash is not None:
            best = min(tried, key=lambda choice: choice.costs.flash)
            lines.append(f"--max-flash {self.flash}: the least is {_text(best)}")
        if self.ram is not None:
            best = min(tried, key=lambda choice: choice.costs.ram or 0)
            lines.append(f"--max-ram {self.ram}: the least is {_text(best)}")
        if self.instructions is not None:
            best = min(tried, key=lambda choice: choice.costs.instructions or 0.0)
            lines.append(f"--max-instructions {self.instructions:.0f}: the least is {_text(best)}")
        if self.drop is not None:
            best = min(tried, key=lambda choice: (choice.drop, -choice.figure))
            lines.append(f"--max-drop {100 * self.drop:.3g}%: the least is {_text(best)}")
        return BudgetError(
            "no choice of bits keeps within the budgets; " + "; ".join(lines),
            hint="raise the budget that is far from its least, or reach the others with more of it",
        )


def _price(costs: Costs) -> float:
    return float(costs.flash) * float(costs.ram or 1) * float(costs.instructions or 1)


def _text(choice: Choice) -> str:
    costs = choice.costs
    parts = [f"flash {costs.flash:,} bytes"]
    if costs.ram is not None:
        parts.append(f"RAM {costs.ram:,} bytes")
    if costs.instructions is not None:
        parts.append(f"{costs.instructions:,.0f} instructions")
    parts.append(f"a drop of {100 * choice.drop:.3g}%")
    return f"{', '.join(parts)} ({choice.label})"
