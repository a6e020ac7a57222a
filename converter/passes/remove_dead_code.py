"""Takes out every node that no graph output needs."""

from __future__ import annotations

from ...ir import Graph


def run(graph: Graph) -> bool:
    return graph.remove_dead()
