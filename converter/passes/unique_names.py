"""Names of values: the graph's inputs and outputs keep theirs, the others give way."""

from __future__ import annotations

from ...ir import Graph


def make_names_unique(graph: Graph) -> None:
    """Appends a number to a name that another value has already."""
    taken = {value.name for value in (*graph.inputs, *graph.outputs)}
    public = {id(value) for value in (*graph.inputs, *graph.outputs)}
    for value in graph.values():
        if id(value) in public:
            continue
        base, number = value.name or "value", 2
        name = base
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        value.name = name
        taken.add(name)
