"""Splits whose results lie in their input one behind the other, as slices: the memory planner takes these for views."""

from __future__ import annotations

import dataclasses

from .binding import Binding, BoundNode
from .ir import Node, TensorType
from .nnacl_kernels import catalogue


def with_slices(binding: Binding, alignment: int) -> Binding:
    """A binding in which each split that need not move anything is one slice for each of its results."""
    nodes: list[BoundNode] = []
    for item in binding.nodes:
        nodes.extend(_slices(item, binding, alignment) or [item])
    return dataclasses.replace(binding, nodes=nodes)


def _slices(item: BoundNode, binding: Binding, alignment: int) -> list[BoundNode]:
    node = item.node
    if node.op != "split" or node.input(0) in binding.data:
        return []
    x = binding.types[node.input(0)]
    shape = x.static_shape
    axis = int(node.attrs["axis"]) % max(1, len(shape))
    start = 0
    slices: list[Node] = []
    for result, type in zip(node.outputs, item.output_types, strict=True):
        attrs = {
            "start": tuple(start if dim == axis else 0 for dim in range(len(shape))),
            "size": type.static_shape,
            "step": (1,) * len(shape),
        }
        start += type.static_shape[axis]
        piece = _slice(node, len(slices), attrs, x, alignment)
        if piece is None:
            return []
        piece.outputs.append(result)
        slices.append(piece)
    return [BoundNode(piece, _params(piece, x), (type,)) for piece, type in zip(slices, item.output_types, strict=True)]


def _slice(node: Node, number: int, attrs: dict[str, tuple[int, ...]], x: TensorType, alignment: int) -> Node | None:
    """The slice that gives a result, as a node of no graph; None if that is no run of bytes that may begin there."""
    piece = Node.loose("slice", f"{node.name} {number}", attrs, node.source, [node.input(0)])
    held = catalogue.held("slice", _params(piece, x))
    return piece if held >= 0 and held % alignment == 0 and 0 not in attrs["size"] else None


def _params(piece: Node, x: TensorType) -> bytes:
    return catalogue.make_params("slice", piece.attrs, [catalogue.Tensor(x.dtype.value, x.static_shape)], 1)[0]
