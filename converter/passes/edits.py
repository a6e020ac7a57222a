"""Small edits that several passes share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...ir import Dim, Graph, Node, Quant, Value
from ...rewrite import is_output


def can_substitute(graph: Graph, old: Value, new: Value) -> bool:
    """Whether ``new`` may take the place of ``old``: a graph output needs a value of its own, made by a node."""
    return not is_output(graph, old) or (new.producer is not None and not is_output(graph, new))


def nodes_of(graph: Graph, *op_names: str) -> list[Node]:
    """The nodes of some ops, in order."""
    return [node for node in graph.nodes if node.op in op_names]


def sweep(candidates: Callable[[], Sequence[Node]], change: Callable[[Node], bool]) -> bool:
    """Calls ``change`` for all candidates that are still in the graph, again and again until it changes none.

    Every candidate gets its turn before the next round: a round for each change would be quadratic in large models.
    """
    changed, again = False, True
    while again:
        again = False
        for node in candidates():
            if not is_removed(node):
                again |= change(node)
        changed |= again
    return changed


def is_removed(node: Node) -> bool:
    """Whether a node with inputs has been taken out of its graph."""
    return all(value is None for value in node.inputs)


def substitute(graph: Graph, old: Value, new: Value) -> bool:
    """Every use of ``old`` becomes a use of ``new`` and the node behind ``old`` goes; False when that cannot be."""
    if not can_substitute(graph, old, new):
        return False
    graph.replace(old, new)
    if old.producer is not None:
        graph.remove(old.producer)
    return True


def rebuild(
    graph: Graph,
    node: Node,
    op: str,
    inputs: Sequence[Value | None],
    attrs: Mapping[str, Any],
    *,
    quant_from: Value | None = None,
) -> Value:
    """A new node in front of ``node``, known by the same name and source; its output."""
    quant = None if quant_from is None else quant_from.quant
    base = node.outputs[0].name
    made = graph.add(
        op, inputs, attrs, name=node.name, output_names=[f"{base}_{op}"], before=node, source=node.source, quant=quant
    )
    return made.output


def carry_decoded(node: Node, folded: Value) -> None:
    """Tells the constant that a node was computed to where its numbers come from, if the node only moves them."""
    quant = node.inputs[0].decoded_from if node.inputs and node.inputs[0] is not None else None
    if quant is None or node.op not in ("transpose", "reshape", "squeeze", "unsqueeze"):
        return
    if quant.axis is None or quant.scale.size == 1:
        folded.decoded_from = Quant(quant.scale, quant.zero_point)
        return
    before, after = node.input(0).type.static_shape, folded.type.static_shape
    if node.op == "transpose":
        folded.decoded_from = moved_quant(quant, node.attrs["perm"])
        return
    # The axis is still there when as many elements lie in front of it and behind it.
    outer = math.prod(before[: quant.axis])
    for axis, dim in enumerate(after):
        if dim == before[quant.axis] and math.prod(after[:axis]) == outer:
            folded.decoded_from = Quant(quant.scale, quant.zero_point, axis)
            return


def moved_quant(quant: Quant | None, perm: Sequence[int]) -> Quant | None:
    """The quantization of the transpose of a tensor."""
    if quant is None or quant.axis is None or quant.axis >= len(perm):
        return quant
    return Quant(quant.scale, quant.zero_point, list(perm).index(quant.axis))


def reshape_to(x: Value, shape: Sequence[Dim]) -> tuple[int, ...] | None:
    """The ``shape`` attribute that gives ``x`` these sizes, of which at most one symbol can be inferred; else None."""
    if 0 in shape:
        return None
    wanted = [
        dim if isinstance(dim, int) else 0 if axis < len(x.shape) and x.shape[axis] == dim else -1
        for axis, dim in enumerate(shape)
    ]
    return tuple(wanted) if wanted.count(-1) <= 1 else None


def takes_data(node: Node) -> bool:
    """Whether inputs of a node stand for its attributes, so that these say nothing."""
    return ops.get(node.op).takes_data(node)


def is_float(node: Node) -> bool:
    """Whether a node computes in floating point."""
    return bool(node.inputs) and node.inputs[0] is not None and node.inputs[0].dtype.is_float


def has_clamp(node: Node) -> bool:
    """Whether the op has a fused activation that is still open for another."""
    return "clamp_min" in node.attrs


def is_unclamped(node: Node) -> bool:
    """Whether no activation is fused into a node."""
    return bool(node.attrs["clamp_min"] == -np.inf and node.attrs["clamp_max"] == np.inf)
