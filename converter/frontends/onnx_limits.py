# SPDX-License-Identifier: Apache-2.0
"""How large an ONNX model may be, counted before its weights are read and its functions expanded."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import onnx
from onnx import TensorProto, external_data_helper, helper

from ...errors import ModelFormatError

MOST_TENSOR_BYTES = 2**31 - 1
"""Of one tensor in memory; kernels count in 32 bits."""

MOST_NODES = 100_000
"""Of a model whose functions are expanded."""

MOST_EXPANDED_BYTES = 1 << 28
"""That the bodies of functions may take, each counted once for each call."""

_HALVES = (TensorProto.FLOAT16, TensorProto.BFLOAT16)
"""Become float32."""

_Id = tuple[str, str, str]


def require_small_tensors(model: onnx.ModelProto, where: str) -> None:
    """Raises ModelFormatError for a constant of more than MOST_TENSOR_BYTES, by what the model says of it."""
    for tensor in external_data_helper._get_all_tensors(model):
        if tensor.data_type in (TensorProto.UNDEFINED, TensorProto.STRING) or min(tensor.dims, default=1) < 0:
            continue
        if tensor.data_type not in TensorProto.DataType.values():
            continue
        count = math.prod(tensor.dims)
        width = 4 if tensor.data_type in _HALVES else helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        if count * width > MOST_TENSOR_BYTES:
            raise ModelFormatError(
                f"tensor '{tensor.name}' of the shape {list(tensor.dims)} takes {count * width:,} bytes; "
                f"one tensor may take {MOST_TENSOR_BYTES:,}",
                where=where,
                hint="split it in the model into several tensors",
            )


def require_few_nodes(model: onnx.ModelProto, where: str) -> None:
    """Raises ModelFormatError when functions of a model call each other in a circle, or when it has more than
    MOST_NODES nodes, or MOST_EXPANDED_BYTES of functions, with all of them expanded. Takes a time that is linear in the
    size of the file."""
    bodies = {_id(function): function for function in model.functions}
    calls = {key: Counter(_calls(function.node, bodies)) for key, function in bodies.items()}
    try:
        order = list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        circle = " -> ".join(f"{domain}.{name}" for domain, name, _ in reversed(error.args[1]))
        raise ModelFormatError(
            f"its functions call each other without an end: {circle}", where=where, hint="export it again"
        ) from error
    nodes: dict[_Id, int] = {}
    sizes: dict[_Id, int] = {}
    for key in order:
        nodes[key] = sum(1 for _ in _nodes(bodies[key].node)) + _sum(calls[key], nodes) - calls[key].total()
        sizes[key] = bodies[key].ByteSize() + _sum(calls[key], sizes)
    top = Counter(_calls(model.graph.node, bodies))
    count = sum(1 for _ in _nodes(model.graph.node)) + _sum(top, nodes) - top.total()
    size = _sum(top, sizes)
    if count > MOST_NODES or size > MOST_EXPANDED_BYTES:
        raise ModelFormatError(
            f"with its functions expanded it has {_number(count)} nodes, and {_number(size)} bytes of them; "
            f"{MOST_NODES:,} nodes and {MOST_EXPANDED_BYTES:,} bytes are supported",
            where=where,
            hint="functions that call others several times grow with each level; export the model without them",
        )


def _number(count: int) -> str:
    """Exactly, or as a bound where nobody would read the digits."""
    return f"{count:,}" if count < 10**12 else f"more than {10**12:,}"


def _id(item: onnx.FunctionProto | onnx.NodeProto) -> _Id:
    name = item.name if isinstance(item, onnx.FunctionProto) else item.op_type
    return ("" if item.domain == "ai.onnx" else item.domain, name, item.overload)


def _calls(nodes: Sequence[onnx.NodeProto], bodies: dict[_Id, onnx.FunctionProto]) -> Iterator[_Id]:
    return (key for key in map(_id, _nodes(nodes)) if key in bodies)


def _nodes(nodes: Sequence[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """These, and those in their subgraphs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _nodes(graph.node)


def _sum(calls: Counter[_Id], amounts: dict[_Id, int]) -> int:
    return sum(number * amounts[key] for key, number in calls.items())
