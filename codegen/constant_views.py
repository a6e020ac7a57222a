"""The constant arrays of a project: one for each content, with a name, a title and the lines that define it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..dtypes import DType
from ..lower import ProgramTensor
from . import literals
from .names import UniqueNames


@dataclass(frozen=True)
class ConstantView:
    """An array in the weights file."""

    symbol: str
    c_type: str
    count: int
    nbytes: int
    title: str
    lines: tuple[str, ...]
    """Of an initialiser; none when the constants stand in a binary file."""
    data: bytes
    offset: int
    """Bytes from the start of that binary file."""
    section: str = ""
    """``NAME_`` and this puts it into its memory; empty: where the linker likes."""


@dataclass
class Constants:
    """The constant arrays in order of first use, equal ones once."""

    prefix: str
    alignment: int
    binary: bool
    names: UniqueNames = field(default_factory=UniqueNames)
    end: int = 0
    views: list[ConstantView] = field(default_factory=list)
    reads: dict[str, int] = field(default_factory=dict)
    """Bytes of each that a run reads, by symbol."""
    _symbols: dict[object, str] = field(default_factory=dict)

    def symbol(
        self, tensor: ProgramTensor, packed: bytes | None, base: str, title: str, reads: int = 0
    ) -> tuple[str, int]:
        """The name of the array that holds a constant, and its bytes if this is its first use (else 0). ``reads``:
        bytes of it that a run reads at this place."""
        assert tensor.data is not None
        content = tensor.data.tobytes() if packed is None else packed
        dtype = tensor.type.dtype
        key = (content, dtype if packed is None else "packed")
        if key in self._symbols:
            self.reads[self._symbols[key]] += reads
            return self._symbols[key], 0
        symbol = self.names.take(f"{self.prefix}_{base}")
        self._symbols[key] = symbol
        self.reads[symbol] = reads
        view = _constant(symbol, tensor, packed, title, self.end, self.binary)
        self.views.append(view)
        self.end += -(-view.nbytes // self.alignment) * self.alignment
        return symbol, len(content)

    def sizes(self) -> list[tuple[str, int, int]]:
        """Symbol, bytes, and bytes that a run reads."""
        return [(view.symbol, view.nbytes, self.reads[view.symbol]) for view in self.views]


def _constant(
    symbol: str, tensor: ProgramTensor, packed: bytes | None, title: str, offset: int, binary: bool
) -> ConstantView:
    dtype = tensor.type.dtype
    assert tensor.data is not None
    array = np.asarray(tensor.data)
    if packed is not None:
        dtype = dtype if len(packed) % dtype.size == 0 else DType.u8
        array = np.frombuffer(packed, dtype.numpy)
        if dtype.is_float and not np.isfinite(array).all():
            dtype, array = DType.u32, np.frombuffer(packed, np.uint32)
        title += ", packed for its kernel"
    return ConstantView(
        symbol=symbol,
        c_type=dtype.c_name,
        count=max(1, array.size),
        nbytes=array.nbytes,
        title=title,
        lines=() if binary else tuple(literals.array_lines(array, dtype)),
        data=array.tobytes(),
        offset=offset,
    )
