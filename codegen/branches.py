"""Ops that run subgraphs, as templates print them: what is copied in, what is called, what is copied out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..lower import Call, Program, ProgramTensor

if TYPE_CHECKING:
    from .view import LayerView

FRAME = 256
"""Bytes of stack of a function that runs a subgraph, at most."""

Address = Callable[[ProgramTensor], str]
"""The C expression for a tensor over ``arena``."""


@dataclass(frozen=True)
class CopyView:
    """A ``memcpy``."""

    to: str
    source: str
    nbytes: int


@dataclass(frozen=True)
class PartView:
    """A subgraph: a function over an arena of its own, which lies in the arena of its caller."""

    function: str
    title: str
    layers: tuple[LayerView, ...]
    inputs: tuple[CopyView, ...]
    """What a call needs, from the caller's tensors to its own."""
    outputs: tuple[CopyView, ...]
    """What a branch gives; the carried values of a loop."""


@dataclass(frozen=True)
class ControlView:
    """A node with subgraphs."""

    condition: str
    parts: tuple[PartView, ...]
    limit: str = ""
    """Of iterations; empty for a branch."""
    start: tuple[CopyView, ...] = ()
    """The first values of what a loop carries."""
    number: str = ""
    """Where a body finds the number of its iteration; empty when it does not ask."""
    flag: str = ""
    """Where a body finds the condition; empty when it does not ask."""
    again: str = ""
    """Where a body leaves the condition."""
    collected: tuple[CopyView, ...] = ()
    """What each iteration adds to the results; ``to`` is the place of the first."""


def branches(
    call: Call,
    program: Program,
    label: str,
    arguments: Sequence[str],
    parts: Sequence[Sequence[LayerView]],
    names: Sequence[str],
    inner: Sequence[Address],
) -> ControlView:
    """An ``if``. ``arguments`` are its inputs in C, ``inner`` gives the addresses of the tensors of each part."""
    views = []
    for part, layers, name, address, role in zip(call.parts, parts, names, inner, ("then", "else"), strict=True):
        outer = [_arena(program.tensors[index]) for index in call.outputs]
        views.append(
            PartView(
                function=name,
                title=f"Layer {label}, {role} branch",
                layers=tuple(layers),
                inputs=_copies_in(part, part.inputs, arguments[1:], address),
                outputs=_copies_out(part, part.outputs, outer, address),
            )
        )
    return ControlView(condition=f"FLAG({arguments[0]})", parts=tuple(views))


def loop(
    call: Call,
    program: Program,
    label: str,
    arguments: Sequence[str],
    layers: Sequence[LayerView],
    name: str,
    address: Address,
) -> ControlView:
    """A ``loop``. What it carries lives in its outputs from one iteration to the next."""
    (part,) = call.parts
    fields: Mapping[str, int] = call.fields
    carried = fields["carried"]
    results = [program.tensors[index] for index in call.outputs]
    places = [_arena(tensor) for tensor in results]
    sources = [*places[:carried], *arguments[2 + carried :]]
    number, flag = (part.tensors[index] for index in part.inputs[:2])
    collected = []
    for index, place in zip(part.outputs[1 + carried :], places[carried:], strict=True):
        tensor = part.tensors[index]
        if tensor.nbytes:
            collected.append(CopyView(place, address(tensor), tensor.nbytes))
    return ControlView(
        condition=f"FLAG({arguments[1]})",
        limit=f"S64({arguments[0]})",
        start=tuple(
            CopyView(place, argument, tensor.nbytes)
            for place, argument, tensor in zip(places[:carried], arguments[2 : 2 + carried], results, strict=False)
            if tensor.nbytes
        ),
        number="" if number.offset is None else address(number),
        flag="" if flag.offset is None else address(flag),
        again=f"FLAG({address(part.tensors[part.outputs[0]])})",
        parts=(
            PartView(
                function=name,
                title=f"Layer {label}, body",
                layers=tuple(layers),
                inputs=_copies_in(part, part.inputs[2:], sources, address),
                outputs=_copies_out(part, part.outputs[1 : 1 + carried], places[:carried], address),
            ),
        ),
        collected=tuple(collected),
    )


def _arena(tensor: ProgramTensor) -> str:
    return f"arena + {tensor.offset}"


def _copies_in(part: Program, indices: Sequence[int], sources: Sequence[str], address: Address) -> tuple[CopyView, ...]:
    tensors = [part.tensors[index] for index in indices]
    return tuple(
        CopyView(address(tensor), source, tensor.nbytes)
        for tensor, source in zip(tensors, sources, strict=True)
        if tensor.offset is not None and tensor.nbytes
    )


def _copies_out(part: Program, indices: Sequence[int], places: Sequence[str], address: Address) -> tuple[CopyView, ...]:
    tensors = [part.tensors[index] for index in indices]
    return tuple(
        CopyView(place, address(tensor), tensor.nbytes)
        for tensor, place in zip(tensors, places, strict=True)
        if tensor.nbytes
    )
