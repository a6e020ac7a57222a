"""Gives lasting names to the sizes that nothing but a run can tell: that of the value where they appear first."""

from __future__ import annotations

import re

from ...ir import Dim, Graph, TensorType, all_graphs, unique_name
from ...ops.shape_rules import FRESH

_SYMBOL = re.compile(re.escape(FRESH) + r"\d+")


def run(graph: Graph) -> bool:
    graphs = list(all_graphs(graph))
    values = [value for part in graphs for value in part.values()]
    taken = {dim for value in values for dim in value.shape if isinstance(dim, str)}
    names: dict[str, str] = {}
    for value in values:
        for axis, dim in enumerate(value.shape):
            if isinstance(dim, str) and _SYMBOL.fullmatch(dim) and dim not in names:
                names[dim] = _unique(re.sub(r"\W", "_", f"{value.name}_dim{axis}"), taken)
    for value in values:
        for dim in value.shape:
            for symbol in _SYMBOL.findall(dim) if isinstance(dim, str) else ():
                if symbol not in names:
                    names[symbol] = _unique("size", taken)
    for value in values:
        if not value.type.is_static:
            value.type = TensorType(value.dtype, tuple(_renamed(dim, names) for dim in value.shape))
    return bool(names)


def _unique(base: str, taken: set[str]) -> str:
    name = unique_name(base, taken)
    taken.add(name)
    return name


def _renamed(dim: Dim, names: dict[str, str]) -> Dim:
    return dim if isinstance(dim, int) else _SYMBOL.sub(lambda match: names[match.group()], dim)
