"""What a project with sizes chosen at run time prints: shapes, fields of parameter structs and small arrays as C."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import Unsupported, UnsupportedError
from ..lower import Call, Program, ProgramTensor
from ..nnacl_kernels import catalogue
from ..size_ranges import SizeRange
from . import literals
from .formulas import Formulas
from .names import UniqueNames, comment, identifier

_TAKEN = ("arena", "instance", "dims", "index", "p", "part", "again", "limit", "i")
_GENERATED = re.compile(r"[a-z]+_?\d+.*|in|out|layer|workspace|null")
_MOST_EARLY_ENTRIES = 64


def varying_fields(call: Call) -> set[str]:
    """The fields of a call's parameter struct that depend on sizes."""
    if call.variation is None:
        return set()
    columns = (call.variation != call.variation[-1]).any(axis=0)
    names, word = set(), 0
    for item in catalogue.fields(call.node.op):
        words = item.length or 1
        if columns[word : word + words].any():
            names.add(item.name)
        word += words
    return names


@dataclass(frozen=True)
class SizeView:
    """A size that is chosen at run time."""

    name: str
    """In C."""
    macro: str
    title: str
    """As in the model, fit for a comment."""
    key: str
    low: int
    high: int
    step: int


@dataclass(frozen=True)
class TableView:
    """An array that a formula reads."""

    symbol: str
    c_type: str
    count: int
    nbytes: int
    lines: tuple[str, ...]


def size_views(ranges: Mapping[str, SizeRange]) -> tuple[SizeView, ...]:
    names = UniqueNames()
    for word in _TAKEN:
        names.take(word)
    views = []
    for symbol, item in ranges.items():
        name = identifier(symbol, fallback="size")
        name = names.take(f"size_{name}" if _GENERATED.fullmatch(name) else name)
        views.append(SizeView(name, name.upper(), comment(symbol), symbol, item.low, item.high, item.step))
    return tuple(views)


class SizeTexts:
    """C texts for everything in a program that depends on its sizes. All are constant where there are none."""

    def __init__(self, program: Program, prefix: str) -> None:
        self.views = size_views(program.ranges)
        names = iter(range(1 << 30))
        self._formulas = Formulas(
            names=[view.name for view in self.views],
            lows=[view.low for view in self.views],
            steps=[view.step for view in self.views],
            grid=tuple(item.count for item in program.ranges.values()),
            table_name=lambda: f"table_{next(names)}",
        )
        self._prefix = prefix
        for tensor in program.tensors:
            if tensor.shapes is not None:
                self.dims(tensor)

    def dims(self, tensor: ProgramTensor) -> tuple[str, ...]:
        """The dimensions of a tensor."""
        if tensor.shapes is None:
            return tuple(str(dim) for dim in tensor.type.static_shape)
        return tuple(self._formulas.text(column) for column in tensor.shapes.T)

    def type_text(self, tensor: ProgramTensor) -> str:
        """A type for people, as in ``f32[1,seq,64]``."""
        if tensor.shapes is None:
            return str(tensor.type)
        return f"{tensor.type.dtype.name}[{','.join(self.dims(tensor))}]"

    def count(self, tensor: ProgramTensor) -> str:
        """The number of elements."""
        if tensor.shapes is None:
            return str(tensor.type.count)
        return self._formulas.text(tensor.shapes.prod(axis=1))

    def changes(self, call: Call) -> tuple[str, ...]:
        """Assignments to the fields of ``p``, a copy of a parameter struct, that depend on sizes."""
        if call.variation is None:
            return ()
        lines, word = [], 0
        try:
            for item in catalogue.fields(call.node.op):
                for entry in range(item.length or 1):
                    column = call.variation[:, word]
                    word += 1
                    if (column == column[-1]).all():
                        continue
                    place = f"p.{item.name}[{entry}]" if item.length else f"p.{item.name}"
                    is_float = item.c_type == "float"
                    text = (
                        self._formulas.table(np.ascontiguousarray(column).view(np.float32))
                        if is_float
                        else self._formulas.text(column.astype(np.int64))
                    )
                    lines.append(f"{place} = {text};")
        except OverflowError:
            raise self._refused(call, "a parameter of it follows no rule that could be printed") from None
        return tuple(lines)

    def array(self, call: Call, tensor: ProgramTensor, symbol: str) -> str:
        """The declaration of an array of integers that are computed from sizes."""
        assert tensor.variants is not None
        first = tensor.variants[0]
        if tensor.shapes is not None or first.size > _MOST_EARLY_ENTRIES or first.dtype.kind not in "iub":
            raise self._refused(call, f"'{tensor.name}' is an array that the sizes of the inputs decide about")
        columns = np.stack([array.reshape(-1) for array in tensor.variants]).astype(np.int64)
        entries = [self._formulas.text(column) for column in columns.T]
        return f"const {tensor.type.dtype.c_name} {symbol}[] = {{{', '.join(entries)}}};"

    def _refused(self, call: Call, reason: str) -> UnsupportedError:
        return UnsupportedError([Unsupported(call.node.name, call.node.source, reason, "fix the size")])

    @property
    def tables(self) -> tuple[TableView, ...]:
        """The tables that all texts so far read."""
        views = []
        for symbol, entries in self._formulas.tables.values():
            if entries.dtype.kind == "f":
                texts = [_float(float(entry)) for entry in entries]
                kind, size = "float", 4
            else:
                kind, size = _smallest(entries)
                texts = [str(int(entry)) for entry in entries]
            lines = tuple(literals.wrap([f"{text}," for text in texts]))
            views.append(TableView(symbol, kind, len(entries), size * len(entries), lines))
        return tuple(views)


def _float(value: float) -> str:
    return literals.float32(value) if math.isfinite(value) else ("NAN" if value != value else "INFINITY")


def _smallest(entries: np.ndarray) -> tuple[str, int]:
    """The smallest C type that holds some integers."""
    low, high = int(entries.min()), int(entries.max())
    choices: Sequence[tuple[str, int, int, int]] = (
        ("uint8_t", 1, 0, 255),
        ("int16_t", 2, -(2**15), 2**15 - 1),
        ("int32_t", 4, -(2**31), 2**31 - 1),
    )
    return next((kind, size) for kind, size, least, most in choices if least <= low and high <= most)
