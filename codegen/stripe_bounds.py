"""Bytes below which no plan of a graph in stripes can go, from its values alone: no kernel is chosen for it."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Sequence

from ..ir import Graph, Node, Value
from ..nnacl_kernels import catalogue


def whole_bytes(graph: Graph, region: Collection[Node], *, by_rows: bool, outside: Collection[str]) -> int:
    """Bytes that lie in the arena at one time however the nodes of ``region`` are divided: the largest result behind
    them or, unless the input arrives ``by_rows``, all inputs. ``outside``: names of values that have no memory there.
    """
    behind = (value for node in graph.nodes if node not in region for value in node.outputs)
    largest = max((_nbytes(value) for value in behind if value.name not in outside), default=0)
    return largest if by_rows else max(largest, sum(map(_nbytes, graph.inputs)))


def arena_bytes(
    graph: Graph, alignment: int, *, arriving: Collection[Value] = (), outside: Collection[str] = ()
) -> int:
    """A lower bound of the arena, in bytes, with the nodes in their order: the most that lives between two of them.

    Of values that may share memory, those that slices, concatenations and views connect, the largest counts; workspaces
    do not count, nor what lives during one node only. ``arriving`` as in ``lower``; ``outside``: names of values that
    have no memory in the arena."""
    group = _groups(graph.nodes)
    last: dict[Value, int] = {}
    for step, node in enumerate(graph.nodes):
        last.update((value, step) for value in node.inputs if value is not None and not value.is_constant)
    last.update((value, len(graph.nodes)) for value in graph.outputs)
    alive: dict[Value, list[int]] = {}
    """Sizes of the live values of each group, rounded up."""
    total = 0

    def change(values: Iterable[Value], *, born: bool) -> None:
        nonlocal total
        for value in values:
            sizes = alive.setdefault(group(value), [])
            total -= max(sizes, default=0)
            size = -(-_nbytes(value) // alignment) * alignment
            if born:
                sizes.append(size)
            else:
                sizes.remove(size)
            total += max(sizes, default=0)

    waiting = set(arriving)
    change((value for value in graph.inputs if value not in waiting), born=True)
    most = total
    known = {value for value in graph.inputs if value not in waiting and value in last}
    change((value for value in graph.inputs if value not in waiting and value not in last), born=False)
    for step, node in enumerate(graph.nodes):
        sources = [value for value in dict.fromkeys(node.inputs) if value is not None]
        pieces = [value for value in sources if value in waiting]
        waiting.difference_update(pieces)
        change(pieces, born=True)
        most = max(most, total)
        known.update(pieces)
        change((value for value in sources if value in known and last[value] == step), born=False)
        made = [value for value in node.outputs if last.get(value, step) > step and value.name not in outside]
        known.update(made)
        change(made, born=True)
        most = max(most, total)
    return most


def _groups(nodes: Sequence[Node]) -> _Groups:
    groups = _Groups()
    for node in nodes:
        if _shares(node.op):
            for value in (*node.inputs, *node.outputs):
                if value is not None and not value.is_constant:
                    groups.join(value, node.outputs[0])
    return groups


class _Groups:
    """Values that may share memory; calling it gives one that stands for all of its group."""

    def __init__(self) -> None:
        self.root: dict[Value, Value] = {}

    def __call__(self, value: Value) -> Value:
        path = list(self._path(value))
        for item in path[:-1]:
            self.root[item] = path[-1]
        return path[-1]

    def _path(self, value: Value) -> Iterator[Value]:
        yield value
        while value in self.root:
            value = self.root[value]
            yield value

    def join(self, one: Value, other: Value) -> None:
        first, second = self(one), self(other)
        if first is not second:
            self.root[first] = second


@functools.cache
def _shares(op: str) -> bool:
    """Whether results may lie in inputs, or inputs in results, that live on."""
    row = catalogue.ops()[op]
    has_place = bool(row.pointer.holds) or bool(row.pointer.held)
    return op == "split" or row.alias == catalogue.ALIAS_VIEW or has_place


def _nbytes(value: Value) -> int:
    return value.type.nbytes if value.type.is_static else 0
