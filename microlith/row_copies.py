# SPDX-License-Identifier: Apache-2.0
"""The copy of a graph whose first layers run on some of their rows at a time: in stripes, or in steps of a stream."""

from __future__ import annotations

from collections.abc import Sequence

from .ir import Graph, Node, Value
from .row_rules import RowPrefix


def with_size(sizes: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    """The sizes with another one along an axis."""
    return (*sizes[:axis], size, *sizes[axis + 1 :])


class RowCopy:
    """A copy while it is made. ``copies`` are the whole values of the copy, by those of the old graph."""

    def __init__(self, graph: Graph, prefix: RowPrefix) -> None:
        self.old, self.prefix = graph, prefix
        self.new = Graph(graph.name, contract=graph.contract, metadata=dict(graph.metadata))
        self.copies: dict[Value, Value] = {}

    def slice_rows(self, value: Value, begin: int, end: int, origin: Value) -> Value:
        """The rows ``begin`` .. ``end`` - 1 of a value of the copy, which holds rows of ``origin``."""
        shape, axis = value.type.static_shape, self.prefix.axes[origin]
        attrs = {
            "start": with_size((0,) * len(shape), axis, begin),
            "size": with_size(shape, axis, end - begin),
            "step": (1,) * len(shape),
        }
        return self.new.add("slice", [value], attrs, name=f"rows of {origin.name}", quant=origin.quant).output

    def constant(self, value: Value) -> Value:
        """The copy of a constant."""
        if value not in self.copies:
            assert value.data is not None
            self.copies[value] = Value(value.name, value.type, data=value.data, quant=value.quant)
        return self.copies[value]

    def copy_node(self, node: Node) -> None:
        """Copies a layer that runs as a whole."""
        inputs = [
            None if value is None else self.constant(value) if value.is_constant else self.copies[value]
            for value in node.inputs
        ]
        names = [value.name for value in node.outputs]
        made = self.new.add(node.op, inputs, node.attrs, name=node.name, source=node.source, output_names=names)
        for old, new in zip(node.outputs, made.outputs, strict=True):
            new.quant = old.quant
            self.copies[old] = new
