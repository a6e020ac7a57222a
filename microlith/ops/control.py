"""Ops that run subgraphs. ``runtime/src/control.h`` says the same for the C side.

A subgraph is a graph of its own: everything that it reads from around it is an input of the node. Subgraphs of nodes
hold no states.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..dtypes import DType
from ..ir import Dim, Graph, Node, TensorType, Value
from . import OpDef, register
from .shape_rules import fresh_dim, multiply_dims, require, require_dtype


def _none(*_: Any) -> NoReturn:
    raise NotImplementedError("an op with subgraphs is run by the graph's own evaluator")


def _require_single(node: Node, value: Value, dtype: DType, what: str) -> None:
    require_dtype(node, value, dtype)
    require(node, multiply_dims(value.shape) == 1 or not value.type.is_static, f"{what} must be one element")


def _require_kind(node: Node, value: Value, other: Value, what: str) -> None:
    """The same element type and rank, and no sizes that contradict each other."""
    same = value.dtype is other.dtype and len(value.shape) == len(other.shape)
    require(node, same, f"{what} is {other.type}, '{value.name}' is {value.type}")


def _require_taken(node: Node, graph: Graph, values: list[Value], role: str) -> None:
    require(node, len(graph.inputs) == len(values), f"the {role} has {len(graph.inputs)} inputs, not {len(values)}")
    for value, inner in zip(values, graph.inputs, strict=True):
        _require_kind(node, value, inner, f"input '{inner.name}' of the {role}")


def merged_type(first: TensorType, second: TensorType) -> TensorType:
    """A type that says of both what they have in common; element type and rank are the same."""
    dims = zip(first.shape, second.shape, strict=True)
    return TensorType(first.dtype, tuple(a if a == b else fresh_dim() for a, b in dims))


def _infer_if(node: Node) -> list[TensorType]:
    require(node, len(node.subgraphs) == 2, "it needs two subgraphs")
    condition, *values = [node.input(index) for index in range(len(node.inputs))]
    _require_single(node, condition, DType.b8, "the condition")
    then, other = node.subgraphs
    for graph, role in ((then, "then branch"), (other, "else branch")):
        _require_taken(node, graph, values, role)
    require(node, len(then.outputs) == len(other.outputs), "the branches have different numbers of outputs")
    for left, right in zip(then.outputs, other.outputs, strict=True):
        _require_kind(node, left, right, f"output '{right.name}' of the else branch")
    return [merged_type(a.type, b.type) for a, b in zip(then.outputs, other.outputs, strict=True)]


def _infer_loop(node: Node) -> list[TensorType]:
    require(node, len(node.subgraphs) == 1, "it needs one subgraph")
    (body,) = node.subgraphs
    values = [node.input(index) for index in range(len(node.inputs))]
    carried = node.attrs["carried"]
    require(node, 0 <= carried <= len(values) - 2, f"{carried} values are carried of {len(values) - 2}")
    _require_single(node, values[0], DType.s64, "the number of iterations")
    _require_single(node, values[1], DType.b8, "the condition")
    require(node, len(body.inputs) == len(values), f"the body has {len(body.inputs)} inputs, not {len(values)}")
    _require_single(node, body.inputs[0], DType.s64, "the number of the iteration")
    _require_single(node, body.inputs[1], DType.b8, "the condition of the body")
    require(node, len(body.outputs) > carried, f"the body has {len(body.outputs)} outputs")
    _require_single(node, body.outputs[0], DType.b8, "the next condition")
    for value, inner in zip(values[2:], body.inputs[2:], strict=True):
        _require_kind(node, value, inner, f"input '{inner.name}' of the body")
    types = []
    for value, result in zip(values[2 : 2 + carried], body.outputs[1 : 1 + carried], strict=True):
        _require_kind(node, value, result, f"output '{result.name}' of the body")
        types.append(merged_type(value.type, result.type))
    count = known_iterations(node)
    for result in body.outputs[1 + carried :]:
        length: Dim = fresh_dim() if count is None else count
        types.append(TensorType(result.dtype, (length, *result.shape)))
    return types


def known_iterations(node: Node) -> int | None:
    """How often a ``loop`` runs its body, where that is constant and nothing ends it before."""
    (body,) = node.subgraphs
    limit, start, again = node.input(0).data, node.input(1).data, body.outputs[0]
    if limit is None or start is None:
        return None
    if not start.any():
        return 0
    goes_on = again is body.inputs[1] or (again.data is not None and again.data.all())
    return max(0, int(limit.reshape(()))) if goes_on else None


register(
    OpDef(
        name="if",
        inputs=("condition", "x*"),
        outputs=("y*",),
        infer=_infer_if,
        reference=_none,
        samples=_none,
        subgraphs=("then", "else"),
        doc="The results of one of two subgraphs, which take all inputs but the condition.",
    ),
    OpDef(
        name="loop",
        inputs=("iterations", "condition", "x*"),
        outputs=("y*",),
        infer=_infer_loop,
        reference=_none,
        samples=_none,
        attrs={"carried": 0},
        subgraphs=("body",),
        doc="A subgraph again and again. It takes the number of the iteration, the condition, `carried` values that it "
        "gives anew, and others; it gives the next condition, these values, and what is collected along a new axis.",
    ),
)
