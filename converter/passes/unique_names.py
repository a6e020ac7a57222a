"""Names of values: the graph's inputs and outputs keep theirs, the others give way."""

from __future__ import annotations

from ...ir import Graph, unique_name


def make_names_unique(graph: Graph) -> None:
    """Appends a number to a name that another value has already."""
    taken = {value.name for value in (*graph.inputs, *graph.outputs)}
    public = {id(value) for value in (*graph.inputs, *graph.outputs)}
    for value in graph.values():
        if id(value) in public:
            continue
        value.name = unique_name(value.name or "value", taken)
        taken.add(value.name)
