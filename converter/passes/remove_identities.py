"""Takes out ops that change nothing and joins chains of reshapes and of casts."""

from __future__ import annotations

from ...dtypes import DType
from ...ir import Graph, Node, Value
from .edits import reshape_to, substitute, takes_data


def run(graph: Graph) -> bool:
    changed = False
    for node in list(graph.nodes):
        if not node.outputs or node.inputs[:1] in ((), (None,)) or takes_data(node):
            continue
        if _is_identity(node):
            changed |= substitute(graph, node.output, node.input(0))
        elif node.op == "reshape" and (x := _before_reshapes(node)) is not node.input(0):
            shape = reshape_to(x, node.output.shape)
            assert shape is not None
            node.attrs |= {"shape": shape, "rank": len(shape), "allow_zero": 0}
            node.set_input(0, x)
            changed = True
        elif node.op == "cast" and (wide := _before_cast(node)) is not None:
            node.set_input(0, wide)
            changed = True
    return changed | graph.remove_dead()


def _is_identity(node: Node) -> bool:
    x, y = node.input(0), node.outputs[0]
    if x.type != y.type or x.quant != y.quant:
        return False
    if node.op == "pad":
        return not takes_data(node) and not any((*node.attrs["before"], *node.attrs["after"]))
    if node.op in ("reshape", "cast", "expand", "slice"):
        return node.op != "slice" or all(step == 1 for step in node.attrs["step"])
    if node.op == "transpose":
        return list(node.attrs["perm"]) == sorted(node.attrs["perm"])
    if node.op == "concat":
        return len(node.inputs) == 1
    if node.op == "clip":
        return bool(node.attrs["alpha"] == float("-inf") and node.attrs["beta"] == float("inf"))
    return False


def _before_reshapes(node: Node) -> Value:
    """The value that a chain of reshapes starts from, as far back as this reshape can be written in one step."""
    x = node.input(0)
    while x.producer is not None and x.producer.op == "reshape" and x.quant == x.producer.input(0).quant:
        if reshape_to(x.producer.input(0), node.output.shape) is None:
            break
        x = x.producer.input(0)
    return x


def _before_cast(node: Node) -> Value | None:
    """The input of a cast in front of this one that loses nothing."""
    inner = node.input(0).producer
    if inner is not None and inner.op == "cast" and (inner.input(0).dtype, inner.output.dtype) in _LOSSLESS:
        return inner.input(0)
    return None


_LOSSLESS = {
    (DType.s8, DType.s32),
    (DType.s8, DType.s64),
    (DType.u8, DType.s32),
    (DType.u8, DType.s64),
    (DType.s32, DType.s64),
    (DType.b8, DType.s32),
    (DType.b8, DType.s64),
    (DType.b8, DType.f32),
    (DType.s8, DType.f32),
    (DType.u8, DType.f32),
}
