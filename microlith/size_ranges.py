"""Ranges of the sizes that are known only at run time: what ``seq:1..128`` and ``height:32..640:32`` mean."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import InputError

LARGEST = 2**31 - 1
"""Of a dimension."""

_RANGE = re.compile(r"(\d+)\.\.(\d+)(?::(\d+))?")


@dataclass(frozen=True)
class SizeRange:
    """The sizes ``low``, ``low + step``, ... ``high``. InputError when there are none, when one is out of bounds, and
    when ``high`` is none of them."""

    low: int
    high: int
    step: int = 1

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise InputError(f"the range {self} is empty", hint=f"the smaller size first: {self.high}..{self.low}")
        if self.low < 1 or self.high > LARGEST:
            raise InputError(f"the range {self} is out of bounds", hint=f"sizes are from 1 to {LARGEST}")
        if self.step < 1:
            raise InputError(f"the range {self} has no steps", hint=f"for example {self.low}..{self.high}:1")
        if rest := (self.high - self.low) % self.step:
            low, last = self.low, self.high - rest
            fitting = SizeRange(low, last, self.step) if last > low else SizeRange(low, self.high)
            raise InputError(f"the range {self} has no step that ends at {self.high}", hint=f"for example {fitting}")

    def __str__(self) -> str:
        return f"{self.low}..{self.high}" + (f":{self.step}" if self.step != 1 else "")

    def __contains__(self, size: int) -> bool:
        return size in self.sizes

    @property
    def sizes(self) -> range:
        """All of them, the smallest first."""
        return range(self.low, self.high + 1, self.step)

    @property
    def count(self) -> int:
        return len(self.sizes)

    @property
    def spelled(self) -> str:
        """For people."""
        return f"{self.low} to {self.high}" + (f" in steps of {self.step}" if self.step != 1 else "")

    def between(self, part: float) -> int:
        """A size: with 0 the smallest, with 1 the largest, with what lies between one between."""
        return self.sizes[round(part * (self.count - 1))]

    def holds(self, other: SizeRange) -> bool:
        """Whether all sizes of another range are among these."""
        steps_fit = other.count == 1 or other.step % self.step == 0
        return other.low in self and other.high in self and steps_fit

    def as_list(self) -> list[int]:
        """Low and high, and the step where it is not 1."""
        return [self.low, self.high] if self.step == 1 else [self.low, self.high, self.step]

    @classmethod
    def parse(cls, text: str) -> SizeRange | None:
        """``"1..128"`` or ``"32..640:32"`` as a range; None when the text is no range."""
        match = _RANGE.fullmatch(text.strip())
        return None if match is None else cls(int(match[1]), int(match[2]), int(match[3] or 1))


Size = int | SizeRange
"""A size that is chosen, or the range that it will come from."""


def split(sizes: Mapping[str, Size]) -> tuple[dict[str, int], dict[str, SizeRange]]:
    """What is fixed and what has a range. A range of one size is one that is fixed."""
    fixed: dict[str, int] = {}
    ranges: dict[str, SizeRange] = {}
    for name, size in sizes.items():
        if isinstance(size, int):
            fixed[name] = size
        elif size.low == size.high:
            fixed[name] = size.low
        else:
            ranges[name] = size
    return fixed, ranges


def checked_shapes(shapes: Mapping[str, Sequence[Size]] | None) -> dict[str, list[Size]]:
    """Shapes that a caller gives, by name, each a list of numbers and ranges. InputError for anything else, negative
    sizes among it."""
    checked: dict[str, list[Size]] = {}
    for name, shape in (shapes or {}).items():
        try:
            sizes = None if isinstance(shape, str | bytes) else [_checked_size(size) for size in shape]
        except TypeError:
            sizes = None
        if sizes is None or any(isinstance(size, int) and not 0 <= size <= LARGEST for size in sizes):
            raise InputError(
                f"'{name}' is given {shape!r}, which is no sequence of sizes",
                hint=f'sizes are numbers or ranges, such as inputs={{"{name}": (1, SizeRange(1, 128))}}',
            )
        checked[name] = sizes
    return checked


def _checked_size(size: Size) -> Size:
    return size if isinstance(size, SizeRange) else operator.index(size)
