"""C expressions that compute, from the sizes of a model, what its plan halves say for every one of them.

A column of numbers, one for each combination of sizes, is tried against a few forms: lines, divisions as strided
windows make them, products, two pieces. An expression is taken only if it gives exactly the column, without a step
that passes 32 bits. A column that fits no form becomes a table. So nothing is assumed about what a number means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

_LIMIT = 2**31 - 1
_SUM, _PRODUCT, _ATOM = 1, 2, 3
"""How tightly the outermost operator of a text binds."""
_LONGEST_PERIOD = 64
_FIRST_PIECES = 8
_MOST_FACTORS = 3
_MOST_ENTRIES = 1 << 16


@dataclass(frozen=True)
class Expr:
    """A C expression of type int32_t and its value for each combination of sizes."""

    text: str
    values: np.ndarray
    binds: int = _ATOM

    def inside(self, binds: int) -> str:
        """The text as an operand of an operator that binds so tightly."""
        return self.text if self.binds >= binds else f"({self.text})"


class _Misfit(Exception):
    """A step of an expression passes 32 bits, or divides what is negative."""


def _checked(text: str, values: np.ndarray, binds: int) -> Expr:
    if values.size and (values.max() > _LIMIT or values.min() < -_LIMIT):
        raise _Misfit
    return Expr(text, values, binds)


def _number(value: int, like: np.ndarray) -> Expr:
    return _checked(str(value), np.full(like.shape, value, np.int64), _ATOM if value >= 0 else _SUM)


def _add(a: Expr, constant: int) -> Expr:
    if constant == 0:
        return a
    sign = "+" if constant > 0 else "-"
    return _checked(f"{a.inside(_SUM)} {sign} {abs(constant)}", a.values + constant, _SUM)


def _scale(a: Expr, factor: int) -> Expr:
    if factor == 1:
        return a
    if factor < 0:
        return _checked(f"-{_scale(a, -factor).inside(_ATOM)}", a.values * factor, _SUM)
    return _checked(f"{factor} * {a.inside(_ATOM)}", a.values * factor, _PRODUCT)


def _line(a: Expr, factor: int, constant: int) -> Expr:
    """``factor * a + constant``."""
    if factor < 0:
        scaled = _scale(a, -factor)
        return _checked(f"{constant} - {scaled.inside(_PRODUCT)}", constant - scaled.values, _SUM)
    return _add(_scale(a, factor), constant)


def _divide(a: Expr, divisor: int) -> Expr:
    if divisor == 1:
        return a
    if a.values.size and a.values.min() < 0:
        raise _Misfit
    return _checked(f"{a.inside(_PRODUCT)} / {divisor}", a.values // divisor, _PRODUCT)


def _times(a: Expr, b: Expr) -> Expr:
    return _checked(f"{a.inside(_PRODUCT)} * {b.inside(_ATOM)}", a.values * b.values, _PRODUCT)


@dataclass
class Formulas:
    """Finds expressions over the sizes ``names`` (C variables), whose values are ``low``, ``low + step``, ...; as many
    as ``grid`` says."""

    names: Sequence[str]
    lows: Sequence[int]
    grid: tuple[int, ...]
    table_name: Callable[[], str]
    """Gives the name of a new table."""
    steps: Sequence[int] = ()
    """1 where none is given."""
    tables: dict[bytes, tuple[str, np.ndarray]] = field(default_factory=dict)
    """Those that the expressions read: name and entries."""
    _known: dict[bytes, str] = field(default_factory=dict)
    _factors: dict[bytes, tuple[tuple[int, ...], Expr]] = field(default_factory=dict)

    def text(self, column: np.ndarray) -> str:
        """The expression for a column of integers, in the order of ``itertools.product``."""
        key = np.ascontiguousarray(column, np.int64).tobytes()
        if key not in self._known:
            self._known[key] = self._find(np.frombuffer(key, np.int64).reshape(self.grid)).text
        return self._known[key]

    def table(self, column: np.ndarray) -> str:
        """The expression for a column of any numbers: an entry of a table."""
        return self._table(np.asarray(column).reshape(self.grid)).text

    def note(self, column: np.ndarray) -> None:
        """A size of a tensor, of which others may be products."""
        self.text(column)

    def _axis(self, axis: int) -> Expr:
        size = np.arange(self.grid[axis], dtype=np.int64) * self._step(axis) + self.lows[axis]
        return Expr(self.names[axis], size)

    def _step(self, axis: int) -> int:
        return self.steps[axis] if self.steps else 1

    def _place(self, axis: int) -> str:
        """The number of a size among those of its axis."""
        low, step = self.lows[axis], self._step(axis)
        place = f"{self.names[axis]} - {low}" if low else self.names[axis]
        return place if step == 1 else f"({place}) / {step}"

    def _find(self, values: np.ndarray) -> Expr:
        axes = [axis for axis in range(values.ndim) if (values != values.take([0], axis)).any()]
        if not axes:
            return _number(int(values.flat[0]), values)
        if len(axes) == 1:
            (axis,) = axes
            index = tuple(slice(None) if other == axis else 0 for other in range(values.ndim))
            return self._one(values[index], axis)
        found = self._split(values, axes)
        return self._table(values) if found is None else found

    def _split(self, values: np.ndarray, axes: Sequence[int]) -> Expr | None:
        """A product or a sum of expressions over one size each."""
        last = tuple(size - 1 for size in values.shape)
        columns = [
            values[tuple(slice(None) if other == axis else last[other] for other in range(values.ndim))]
            for axis in axes
        ]
        corner = int(values[last])

        def spread(column: np.ndarray, axis: int) -> np.ndarray:
            return column.reshape([-1 if other == axis else 1 for other in range(values.ndim)])

        reduced = [column // max(1, int(np.gcd.reduce(column))) for column in columns]
        product = np.ones(values.shape, np.int64)
        for column, axis in zip(reduced, axes, strict=True):
            product = product * spread(column, axis)
        if (
            product[last]
            and corner % product[last] == 0
            and np.array_equal(product * (corner // product[last]), values)
        ):
            try:
                factors = [self._one(column, axis) for column, axis in zip(reduced, axes, strict=True)]
                text = factors[0]
                factor = corner // int(product[last])
                spreads = [Expr(f.text, spread(f.values, axis), f.binds) for f, axis in zip(factors, axes, strict=True)]
                text = _scale(spreads[0], factor)
                for other in spreads[1:]:
                    text = _times(text, other)
                return text
            except _Misfit:
                return None
        total = sum((spread(column, axis) for column, axis in zip(columns, axes, strict=True)), np.zeros((), np.int64))
        excess = corner * (len(axes) - 1)
        if np.array_equal(np.broadcast_to(total - excess, values.shape), values):
            try:
                first, *others = (self._one(column, axis) for column, axis in zip(columns, axes, strict=True))
                for other in others:
                    first = Expr(f"{first.inside(_SUM)} + {other.inside(_PRODUCT)}", np.zeros(0), _SUM)
                return Expr(f"{first.text} - {excess}" if excess else first.text, values, _SUM)
            except _Misfit:
                return None
        return None

    def _one(self, values: np.ndarray, axis: int) -> Expr:
        """An expression over one size."""
        size = self._axis(axis)
        for form in (self._simple, self._product, self._pieces):
            try:
                found = form(values, size)
            except _Misfit:
                continue
            if found is not None and np.array_equal(found.values, values):
                self._remember(found, axis)
                return found
        return self._entry(values, axis)

    def _remember(self, found: Expr, axis: int) -> None:
        if found.values.min() > 0:
            self._factors.setdefault(found.values.tobytes() + bytes([axis]), ((axis,), found))

    def _simple(self, values: np.ndarray, size: Expr) -> Expr | None:
        """A line, or a line divided: what windows with strides make of a size."""
        if values.size == 1 or (values == values[0]).all():
            return _number(int(values[0]), values)
        common = int(np.gcd.reduce(values))
        line = self._line_of(values, size)
        if line is not None and "/" not in line.text:
            return line
        if common > 1:
            try:
                inner = self._simple(values // common, size)
            except _Misfit:
                inner = None
            return None if inner is None else _scale(inner, common)
        return self._quotient(values, size) if line is None else line

    @staticmethod
    def _line_of(values: np.ndarray, size: Expr) -> Expr | None:
        rise, step = int(values[1] - values[0]), int(size.values[1] - size.values[0])
        first = int(size.values[0])
        if (np.diff(values) != rise).any():
            return None
        if rise % step == 0:
            return _line(size, rise // step, int(values[0]) - rise // step * first)
        # A part of the size, which is a whole number for each where the steps are multiples.
        divisor = step // int(np.gcd(rise, step))
        factor = rise * divisor // step
        if first % divisor == 0:
            return _line(_divide(size, divisor), factor, int(values[0]) - factor * (first // divisor))
        return None

    @staticmethod
    def _quotient(values: np.ndarray, size: Expr) -> Expr | None:
        n = size.values
        step = int(n[1] - n[0])
        first, last = (2, values.size - 1) if step == 1 else (1, values.size // 2)
        for period in range(first, min(_LONGEST_PERIOD, last) + 1):
            rises = values[period:] - values[:-period]
            factor = int(rises[0])
            if (rises != factor).any() or factor <= 0:
                continue
            divisor = period * step
            lowest = int((divisor * values - factor * n).max())
            highest = int((divisor * values - factor * n).min()) + divisor - 1
            if lowest > highest:
                return None
            shift = max(0, -((factor * int(n[0]) + lowest) // divisor))
            return _add(_divide(_line(size, factor, lowest + shift * divisor), divisor), -shift)
        return None

    def _product(self, values: np.ndarray, size: Expr) -> Expr | None:
        """A number times some sizes of tensors that were noted."""
        if values.min() <= 0:
            return None
        factors = [found for _, found in self._factors.values() if found.values.shape == values.shape]
        factors = [found for found in factors if size.text in found.text]
        return _factored(values, [size, *factors], _MOST_FACTORS)

    def _pieces(self, values: np.ndarray, size: Expr) -> Expr | None:
        """One form for the first sizes, another one for the rest."""
        bends = np.flatnonzero(np.diff(values, 2))
        places = dict.fromkeys(
            [*range(1, min(_FIRST_PIECES, values.size - 2) + 1), *(int(bend) + 1 for bend in bends[-2:])]
        )
        for place in places:
            if not 0 < place < values.size - 1:
                continue
            try:
                before = self._simple(values[:place], Expr(size.text, size.values[:place]))
                after = self._simple(values[place:], Expr(size.text, size.values[place:]))
                if after is None:
                    after = self._product(values[place:], Expr(size.text, size.values[place:]))
            except _Misfit:
                continue
            if before is not None and after is not None:
                text = f"{size.text} < {int(size.values[place])} ? {before.text} : {after.text}"
                return Expr(text, np.concatenate([before.values, after.values]), 0)
        return None

    def _entry(self, values: np.ndarray, axis: int) -> Expr:
        """A table over one size, or over its remainder where it repeats."""
        for period in range(2, min(_LONGEST_PERIOD, values.size // 2) + 1):
            if np.array_equal(values[period:], values[:-period]):
                if self._step(axis) > 1:
                    return Expr(f"{self._stored(values[:period])}[{self._place(axis)} % {period}]", values)
                start = -self.lows[axis] % period
                row = np.roll(values[:period], -start)
                return Expr(f"{self._stored(row)}[{self.names[axis]} % {period}]", values)
        return Expr(f"{self._stored(values)}[{self._place(axis)}]", values)

    def _table(self, values: np.ndarray) -> Expr:
        if values.size > _MOST_ENTRIES:
            raise OverflowError("a table of this size is none that anybody wants in a program")
        axes = [axis for axis in range(values.ndim) if (values != values.take([0], axis)).any()]
        if len(axes) == 1:
            (axis,) = axes
            index = tuple(slice(None) if other == axis else 0 for other in range(values.ndim))
            return self._entry(values[index], axis)
        place = ""
        for axis in range(len(self.names)):
            term = self._place(axis)
            term = f"({term})" if " " in term else term
            place = f"({place}) * {self.grid[axis]} + {term}" if place else term
        return Expr(f"{self._stored(values.reshape(-1))}[{place}]", values)

    def _stored(self, entries: np.ndarray) -> str:
        entries = np.ascontiguousarray(entries)
        key = entries.dtype.str.encode() + entries.tobytes()
        if key not in self.tables:
            self.tables[key] = (self.table_name(), entries)
        return self.tables[key][0]


def _factored(values: np.ndarray, factors: Iterable[Expr], depth: int) -> Expr | None:
    choices = list(factors)
    for found in choices:
        if (values % found.values).any():
            continue
        rest = values // found.values
        if (rest == rest[0]).all():
            return _scale(found, int(rest[0]))
        if depth > 1:
            inner = _factored(rest, choices, depth - 1)
            if inner is not None:
                try:
                    return _times(inner, found)
                except _Misfit:
                    continue
    return None
