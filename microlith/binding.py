"""Parameter structs and concrete types of a graph, as the plan halves derive them.

What decides about shapes is known in three ways. Constants are. What a model computes from shapes and constants alone
(``Shape``, ``Gather``, ``Concat`` in front of a ``Reshape``) is known as soon as the shapes of the inputs are: such
values are called early. The rest is known only while the model runs, node by node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from . import ops
from .dtypes import DType
from .errors import ShapeError, Unsupported, UnsupportedError
from .ir import Graph, Node, TensorType, Value
from .nnacl_kernels import catalogue


@dataclass(frozen=True)
class BoundNode:
    """A node with its parameter struct and the concrete types of its outputs."""

    node: Node
    params: bytes
    output_types: tuple[TensorType, ...]
    parts: tuple[Binding, ...] = ()
    """The subgraphs of the node, bound to the types of its inputs."""
    iterations: int | None = None
    """How often a loop runs; None when that is known only at run time."""


@dataclass
class Binding:
    """A graph for certain sizes."""

    nodes: list[BoundNode] = field(default_factory=list)
    """In order, without those whose results are early."""
    types: dict[Value, TensorType] = field(default_factory=dict)
    """Of every value that a node reads or makes, and of the inputs."""
    data: dict[Value, np.ndarray] = field(default_factory=dict)
    """Constants and early values."""


def bind_graph(graph: Graph, sizes: Mapping[str, int] | None = None) -> Binding:
    """Binds a graph whose symbols have the sizes ``sizes``.

    Raises ShapeError for a symbol without size and when a plan half refuses its inputs, and UnsupportedError with all
    nodes whose result has a shape that depends on data.
    """
    _require_sizes(graph, sizes or {})
    binding = Binding()
    for value in (*graph.inputs, *(state.input for state in graph.states)):
        binding.types[value] = _concrete(value.type, sizes or {})
    _bind(graph, binding)
    return binding


def sized(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """A copy of a graph whose symbols have the sizes ``sizes``, all of them. Errors: as ``bind_graph``."""
    copy = graph.copy()
    copy.ranges = {}
    types = bind_graph(copy, sizes).types
    for value in copy.values():
        value.type = types.get(value, value.type)
    return copy


def bind_part(graph: Graph, types: Sequence[TensorType], data: Mapping[int, np.ndarray]) -> Binding:
    """As ``bind_graph``, for a subgraph whose inputs have the types ``types``. ``data``: those that are constant, by
    their number."""
    binding = Binding()
    binding.types.update(zip(graph.inputs, types, strict=True))
    binding.data.update({graph.inputs[index]: array for index, array in data.items()})
    _bind(graph, binding)
    for value in graph.outputs:
        if value.data is not None:
            binding.types[value], binding.data[value] = value.type, value.data
    return binding


def _bind(graph: Graph, binding: Binding) -> None:
    """Binds the nodes of a graph whose inputs are bound."""
    early = early_values(graph)
    waiting: list[Unsupported] = []
    for node in graph.nodes:
        for source in node.inputs:
            if source is not None and source.data is not None:
                binding.types[source], binding.data[source] = source.type, source.data
        if any(source is not None and source not in binding.types for source in node.inputs):
            continue  # behind a node that waits
        if node.subgraphs:
            try:
                bound = bind_control(node, binding)
            except UnsupportedError as error:
                waiting.extend(error.items)
                continue
            binding.types.update(zip(node.outputs, bound.output_types, strict=True))
            binding.nodes.append(bound)
            continue
        inputs = [
            None if source is None else _tensor(binding.types[source], binding.data.get(source))
            for source in node.inputs
        ]
        try:
            params, outputs = catalogue.make_params(node.op, node.attrs, inputs, len(node.outputs))
        except catalogue.NeedsDataError:
            waiting.append(Unsupported(node.name, node.source, *_why(node)))
            continue
        except catalogue.PlanError as error:
            raise ShapeError(str(error), where=describe(node)) from error
        types = tuple(TensorType(DType(tensor.dtype), tensor.shape) for tensor in outputs)
        binding.types.update(zip(node.outputs, types, strict=True))
        if all(output in early for output in node.outputs):
            binding.data.update(zip(node.outputs, _computed(node, types, binding), strict=True))
        else:
            binding.nodes.append(BoundNode(node, params, types))
    if waiting:
        raise UnsupportedError(waiting)


def bind_control(node: Node, binding: Binding) -> BoundNode:
    """Binds an op with subgraphs. UnsupportedError when a shape is known only after it has run."""
    types = [binding.types[node.input(index)] for index in range(len(node.inputs))]
    data = {
        index: binding.data[value]
        for index, value in enumerate(node.inputs)
        if value in binding.data and value is not None
    }
    if node.op == "if":
        return _bind_if(node, types, data)
    return _bind_loop(node, types, data)


def _bind_if(node: Node, types: Sequence[TensorType], data: Mapping[int, np.ndarray]) -> BoundNode:
    inner = {index - 1: array for index, array in data.items() if index > 0}
    parts = tuple(bind_part(graph, types[1:], inner) for graph in node.subgraphs)
    results = [
        tuple(part.types[value] for value in graph.outputs) for graph, part in zip(node.subgraphs, parts, strict=True)
    ]
    for then, other in zip(*results, strict=True):
        if then != other:
            raise _depends(node, f"its branches give {then} and {other}")
    return BoundNode(node, b"", results[0], parts)


def _bind_loop(node: Node, types: Sequence[TensorType], data: Mapping[int, np.ndarray]) -> BoundNode:
    (body,) = node.subgraphs
    carried = node.attrs["carried"]
    scalars = [
        TensorType(value.dtype, (1,) * len(value.shape) if not value.type.is_static else value.type.static_shape)
        for value in body.inputs[:2]
    ]
    part = bind_part(
        body, [*scalars, *types[2:]], {index: array for index, array in data.items() if index >= 2 + carried}
    )
    results = [part.types[value] for value in body.outputs[1:]]
    for before, after in zip(types[2 : 2 + carried], results[:carried], strict=True):
        if before != after:
            raise _depends(node, f"a value that it carries is {before} at first and {after} later")
    count = _iterations(body, part, data)
    if count is None and len(results) > carried:
        raise _depends(node, "how often it runs, and so how much it collects, is known only at run time")
    collected = [TensorType(type.dtype, (count or 0, *type.shape)) for type in results[carried:]]
    return BoundNode(node, b"", (*results[:carried], *collected), (part,), count)


def _iterations(body: Graph, part: Binding, data: Mapping[int, np.ndarray]) -> int | None:
    """How often a loop runs, where that is certain."""
    if 1 in data and not data[1].any():
        return 0
    again = body.outputs[0]
    known = part.data.get(again)
    goes_on = again is body.inputs[1] if known is None else bool(known.any())
    if 0 not in data or 1 not in data:
        return None
    limit = max(0, int(data[0].reshape(())))
    if limit <= 1 or (known is not None and not known.any()):
        return min(limit, 1)
    return limit if goes_on else None


def _depends(node: Node, reason: str) -> UnsupportedError:
    return UnsupportedError([Unsupported(node.name, node.source, reason, "use the runtime")])


def _require_sizes(graph: Graph, sizes: Mapping[str, int]) -> None:
    for value in graph.inputs:
        missing = [dim for dim in value.shape if isinstance(dim, str) and dim not in sizes]
        if missing:
            raise ShapeError(
                f"dimension '{missing[0]}' of input '{value.name}' {value.type} has no size",
                hint="give its shape at conversion, e.g. "
                f"--input {value.name}:{','.join(str(dim) if isinstance(dim, int) else '1' for dim in value.shape)}",
            )


def _why(node: Node) -> tuple[str, str]:
    """Reason and hint for a node whose result has a shape that depends on data."""
    names = ", ".join(f"'{value.name}'" for value in ops.get(node.op).data_of(node))
    return (
        f"the shape of its result depends on the values of {names}, which are known only at run time",
        "use the runtime, or give these inputs of the model as constants (--constant NAME=FILE.npy)",
    )


def early_values(graph: Graph) -> set[Value]:
    """Values that are computed before a run, because the shape of another one depends on them."""
    known: set[Value] = set()
    for node in graph.nodes:
        sources = [value for value in node.inputs if value is not None]
        if node.subgraphs:
            continue
        if catalogue.ops()[node.op].types_only or all(value.is_constant or value in known for value in sources):
            known.update(node.outputs)
    wanted: set[Value] = set()
    for node in reversed(graph.nodes):
        wanted.update(value for value in ops.get(node.op).data_of(node) if value in known)
        is_wanted = any(output in wanted for output in node.outputs)
        if is_wanted and not node.subgraphs and not catalogue.ops()[node.op].types_only:
            wanted.update(value for value in node.inputs if value is not None and not value.is_constant)
    return {output for node in graph.nodes if any(o in wanted for o in node.outputs) for output in node.outputs}


def is_data_dependent(graph: Graph) -> bool:
    """Whether some shape of a graph is known only after a part of it has run, or it has subgraphs."""
    early = early_values(graph)
    return any(
        node.subgraphs or any(value not in early for value in ops.get(node.op).data_of(node)) for node in graph.nodes
    )


def needs_a_run(graph: Graph) -> bool:
    """Whether some shape of a graph, or of its subgraphs, is known only after a part of it has run.

    The runtime goes through a graph with subgraphs node by node in any case; generated C can do without.
    """
    early = early_values(graph)
    return any(
        any(not output.type.is_static for output in node.outputs) or any(needs_a_run(part) for part in node.subgraphs)
        if node.subgraphs
        else any(value not in early for value in ops.get(node.op).data_of(node))
        for node in graph.nodes
    )


def needs_sizes(graph: Graph) -> bool:
    """Whether generated C for one shape of each input cannot be had: some shape of a graph is not known."""
    return any(not value.type.is_static for value in graph.inputs) or needs_a_run(graph)


def is_open(graph: Graph) -> bool:
    """Whether some shape of a graph is known at run time only."""
    return any(not value.type.is_static for value in graph.inputs) or is_data_dependent(graph)


def stored_params(graph: Graph) -> list[bytes]:
    """The parameter struct of each node as a file holds it: derived fields where all shapes are known, else zeros.

    Raises ShapeError naming the node whose plan half refuses its inputs.
    """
    return [_stored(node) for node in graph.nodes]


def _stored(node: Node) -> bytes:
    if node.subgraphs:
        return b"".join(int(value).to_bytes(4, "little", signed=True) for value in node.attrs.values())
    sources = [value for value in node.inputs if value is not None]
    is_open = any(not value.type.is_static for value in (*sources, *node.outputs)) or ops.get(node.op).data_of(node)
    try:
        if is_open:
            return catalogue.raw_params(node.op, node.attrs)
        inputs = [None if value is None else _tensor(value.type, value.data) for value in node.inputs]
        params, outputs = catalogue.make_params(node.op, node.attrs, inputs, len(node.outputs))
    except catalogue.PlanError as error:
        raise ShapeError(str(error), where=describe(node)) from error
    for value, tensor in zip(node.outputs, outputs, strict=True):
        if (value.dtype.value, value.shape) != (tensor.dtype, tensor.shape):
            type = TensorType(DType(tensor.dtype), tensor.shape)
            raise ShapeError(f"'{value.name}' is {value.type}, its node makes {type}", where=describe(node))
    return params


def _tensor(type: TensorType, data: np.ndarray | None) -> catalogue.Tensor:
    return catalogue.Tensor(type.dtype.value, type.static_shape, data)


def _computed(node: Node, types: tuple[TensorType, ...], binding: Binding) -> list[np.ndarray]:
    """The outputs of a node whose inputs are all known; of an input that only gives its shape, zeros will do."""
    arrays = []
    for value in node.inputs:
        data = None if value is None else binding.data.get(value)
        if value is not None and data is None:
            type = binding.types[value]
            data = np.broadcast_to(np.zeros((), type.dtype.numpy), type.static_shape)
        arrays.append(data)
    results = ops.get(node.op).reference(arrays, node.attrs)
    return [
        np.ascontiguousarray(np.asarray(result, type.dtype.numpy)).reshape(type.static_shape)
        for result, type in zip(results, types, strict=True)
    ]


def describe(node: Node) -> str:
    """How a node is named in messages."""
    return f"{node.source} '{node.name}'" if node.source == node.op else f"{node.source} '{node.name}' ({node.op})"


def _concrete(type: TensorType, sizes: Mapping[str, int]) -> TensorType:
    return TensorType(type.dtype, tuple(dim if isinstance(dim, int) else sizes[dim] for dim in type.shape))
