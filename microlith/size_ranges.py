"""Ranges of the sizes that are known only at run time: what ``seq:1..128`` means."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .errors import InputError

LARGEST = 2**31 - 1
"""Of a dimension."""

_RANGE = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(frozen=True)
class SizeRange:
    """The sizes ``low`` to ``high``, both included. InputError when it is empty or out of bounds."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise InputError(f"the range {self} is empty", hint=f"the smaller size first: {self.high}..{self.low}")
        if self.low < 1 or self.high > LARGEST:
            raise InputError(f"the range {self} is out of bounds", hint=f"sizes are from 1 to {LARGEST}")

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"

    def __contains__(self, size: int) -> bool:
        return self.low <= size <= self.high

    @property
    def count(self) -> int:
        return self.high - self.low + 1

    @classmethod
    def parse(cls, text: str) -> SizeRange | None:
        """``"1..128"`` as a range; None when the text is no range."""
        match = _RANGE.fullmatch(text.strip())
        return None if match is None else cls(int(match[1]), int(match[2]))


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
