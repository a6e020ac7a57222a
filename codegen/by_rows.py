"""An input that arrives by rows: what templates may print of it.

The layers run in stripes (``microlith/stripes.py``), each as soon as the rows are there that it needs. So a run is cut
into stages, one behind each arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..ir import Value
from ..lower import Program, ProgramTensor
from ..stripes import Arrival
from .memory_map import arenas_of, macro_of

if TYPE_CHECKING:
    from .view import LayerView


@dataclass(frozen=True)
class Arrivals:
    """The one input of a model, and the pieces that it arrives in, which are the inputs of the program."""

    value: Value
    pieces: tuple[Arrival, ...]
    axis: int = 1
    """Of the input: along which its rows lie; all sizes in front of it are 1."""

    @property
    def tensor(self) -> ProgramTensor:
        """The whole input, which lies nowhere."""
        return ProgramTensor(self.value.name, self.value.type, self.value.quant, None, None)


@dataclass(frozen=True)
class PieceView:
    """Rows that arrive together."""

    begin: int
    rows: int
    offset: int
    """Bytes from the start of the arena, where they have to be written."""
    arena: int
    """Which one, by its number in the project."""
    room: str
    """What behind ``NAME_`` is the size of that arena."""


@dataclass(frozen=True)
class RowsView:
    """How an input arrives."""

    rows: int
    row_count: int
    """Elements of a row."""
    pieces: tuple[PieceView, ...]

    @property
    def most(self) -> int:
        """Rows of the largest piece."""
        return max(piece.rows for piece in self.pieces)

    @property
    def offset_type(self) -> str:
        """The C type of the offsets."""
        return "uint16_t" if max(piece.offset for piece in self.pieces) < 1 << 16 else "uint32_t"

    def as_dict(self, name: str) -> Mapping[str, Any]:
        """For the report."""
        return {"input": name, "rows": self.rows, "pieces": [[piece.begin, piece.rows] for piece in self.pieces]}


@dataclass(frozen=True)
class Stage:
    """The layers that can run when a piece is there."""

    arrival: str
    """For a comment."""
    layers: tuple[LayerView, ...]


def rows_view(arrivals: Arrivals, program: Program) -> RowsView:
    """``program``: whose inputs are the pieces."""
    arenas = [arena.macro for arena in arenas_of(program)]
    height, *rest = arrivals.value.type.static_shape[arrivals.axis :]
    pieces = []
    for piece, index in zip(arrivals.pieces, program.inputs, strict=True):
        tensor = program.tensors[index]
        assert tensor.offset is not None
        room = macro_of(program, tensor.region)
        pieces.append(PieceView(piece.begin, piece.end - piece.begin, tensor.offset, arenas.index(room), room))
    count = 1
    for size in rest:
        count *= size
    return RowsView(height, count, tuple(pieces))


def stages(layers: Sequence[LayerView]) -> tuple[Stage, ...]:
    """Layers cut where rows arrive; what needs no row comes with the first."""
    marks = [index for index, layer in enumerate(layers) if layer.arrives]
    ends = [*marks[1:], len(layers)]
    early = tuple(layers[: marks[0]]) if marks else ()
    return tuple(
        Stage(layers[begin].name, (early if number == 0 else ()) + tuple(layers[begin + 1 : end]))
        for number, (begin, end) in enumerate(zip(marks, ends, strict=True))
    )
