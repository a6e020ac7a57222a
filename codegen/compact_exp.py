"""The table of exponentials of a quantized softmax in three eighths of its bytes.

The table holds exp of 0 to 255 steps below the maximum, as float32. Each is the product of one of 16 coarse and one of
16 fine entries, rounded, and some units in the last place (the arguments were rounded too): so 32 floats and 256 bytes
say it exactly.
For microcontrollers, whose copies of the kernels are told by ``nnacl_needs.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from ..binding import Binding, BoundNode
from ..dtypes import DType
from ..ir import Graph
from ..lower import Program, Substitute
from ..nnacl_kernels import catalogue

_READERS = frozenset({"softmax", "log_softmax"})
_ISAS = ("mve", "c")
"""Instruction sets whose kernels know packed tables."""
_Find = Callable[[BoundNode, Binding], Substitute | None]


def pack_exp(table: np.ndarray) -> bytes | None:
    """``table``: float32 [256], the last entry for 0 steps. None when it is not made of products like that."""
    wanted = np.ascontiguousarray(table[::-1], np.float32)
    high, low = wanted[::16], wanted[:16]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        products = np.multiply.outer(high, low).astype(np.float32).reshape(256)
    steps = wanted.view(np.int32).astype(np.int64) - products.view(np.int32).astype(np.int64)
    if not np.isfinite(wanted).all() or steps.min() < -128 or steps.max() > 127:
        return None
    return high.tobytes() + low.tobytes() + steps.astype(np.int8).tobytes()


def substitute(graph: Graph, other: _Find | None, isa: Collection[str], without: Collection[str] = ()) -> _Find | None:
    """What ``lower`` asks for each node: its kernel among the instruction sets ``isa``, but those ``without``, with
    its table packed, if every table of the graph can be; for nodes of other kinds what ``other`` says."""
    readers = [node for node in graph.nodes if node.op in _READERS and node.input(0).dtype is DType.s8]
    tables = [node.optional_input(1) for node in readers]
    fits = not any(node.subgraphs for node in graph.nodes) and all(
        node.op == "softmax" and table is not None and table.data is not None and pack_exp(table.data) is not None
        for node, table in zip(readers, tables, strict=True)
    )
    if not readers or not fits or graph.ranges:
        return other

    def find(item: BoundNode, binding: Binding) -> Substitute | None:
        if item.node.op == "softmax" and binding.types[item.node.input(0)].dtype is DType.s8:
            table = item.node.input(1).data
            kernels = catalogue.candidates("softmax", DType.s8.value, [name for name in _ISAS if name in isa])
            accepting = (kernel for kernel in kernels if catalogue.accepts(kernel, item.params))
            kernel = next((kernel for kernel in accepting if kernel.symbol not in without), None)
            packed = None if table is None else pack_exp(table)
            assert kernel is not None and packed is not None
            return Substitute(kernel, catalogue.workspace(kernel, item.params), {1: packed})
        return None if other is None else other(item, binding)

    return find


def is_packed(program: Program) -> bool:
    """Whether the tables of a program are packed: all are, or none."""
    return any(call.node.op == "softmax" and 1 in call.packed for call in program.calls)
