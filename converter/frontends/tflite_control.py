"""TFLite operators that run subgraphs, and resource variables: values that outlive a run.

A subgraph takes and gives what its operator does and sees nothing else. WHILE becomes a loop whose body computes the
condition for the next iteration; so the subgraph of the condition is converted twice, once in front of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from microlith.dtypes import DType
from microlith.errors import ModelFormatError
from microlith.ir import TensorType, Value

from .tflite_graph import Reject, Row, TfliteNode

ENDLESS = np.iinfo(np.int64).max
"""The number of iterations of a loop that ends by its condition alone."""


def while_(node: TfliteNode) -> list[Value]:
    """WHILE: carries all of its values."""
    options = node.options("WhileOptions", required=True)
    host, values = node.builder.host, node.all_values()
    body = host.nested(node, options.BodySubgraphIndex(), f"{node.label}/body")
    number, flag = (body.input(name, TensorType(dtype, ())) for name, dtype in (("i", DType.s64), ("go", DType.b8)))
    inner = body.take_inputs(values, node)
    tests, results = _each(lambda: host.inline(options.CondSubgraphIndex(), values, node), body.convert_all)
    condition = _flag(node, tests)
    _require_same(node, inner, results)
    again = _flag(node, body.inline(options.CondSubgraphIndex(), results, node))
    graph = body.finish([number, flag, *inner], [again, *results])
    limit = node.const(np.asarray(ENDLESS), suffix="iterations")
    return node.add_all(
        "loop",
        [limit, condition, *values],
        {"carried": len(values)},
        quants=[value.quant for value in results],
        subgraphs=[graph],
    )


def _each(*parts: Callable[[], list[Value]]) -> list[list[Value]]:
    """Converts several subgraphs, all of them even when one is rejected."""
    results: list[list[Value]] = []
    rejected: Reject | None = None
    for convert in parts:
        try:
            results.append(convert())
        except Reject as error:
            rejected = error
    if rejected is not None:
        raise rejected
    return results


def _flag(node: TfliteNode, results: Sequence[Value]) -> Value:
    if len(results) != 1 or results[0].dtype is not DType.b8:
        raise ModelFormatError("its condition does not give one truth value", where=node.operator.where)
    return results[0]


def _require_same(node: TfliteNode, before: Sequence[Value], after: Sequence[Value]) -> None:
    if len(before) != len(after):
        raise ModelFormatError(f"its body gives {len(after)} values, not {len(before)}", where=node.operator.where)
    for old, new in zip(before, after, strict=True):
        if old.type != new.type or old.quant != new.quant:
            raise Reject(f"'{old.name}' is {old.type} before an iteration and {new.type} after it")


def if_(node: TfliteNode) -> list[Value]:
    """IF."""
    options = node.options("IfOptions", required=True)
    condition, values = node.value(0), node.all_values()[1:]
    indices = options.ThenSubgraphIndex(), options.ElseSubgraphIndex()
    if condition.data is not None:
        return node.builder.host.inline(indices[0 if condition.data.any() else 1], values, node)
    branches = [
        node.builder.host.nested(node, index, f"{node.label}/{name}")
        for index, name in zip(indices, ("then", "else"), strict=True)
    ]
    inner = [branch.take_inputs(values, node) for branch in branches]
    results = _each(*(branch.convert_all for branch in branches))
    graphs = [part.finish(given, made) for part, given, made in zip(branches, inner, results, strict=True)]
    quants = [value.quant for value in graphs[0].outputs]
    if quants != [value.quant for value in graphs[1].outputs]:
        raise Reject("the branches give values of different scales")
    return node.add_all("if", [condition, *values], quants=quants, subgraphs=graphs)


def composite(node: TfliteNode) -> list[Value]:
    """STABLEHLO_COMPOSITE: a function that has a name, and a subgraph that says what it does."""
    options = node.options("StableHLOCompositeOptions", required=True)
    return node.builder.host.inline(options.DecompositionSubgraphIndex(), node.all_values(), node)


def var_handle(node: TfliteNode) -> None:
    """VAR_HANDLE: from now on a tensor names a variable."""
    options = node.options("VarHandleOptions")
    name = (options.Container() or b"", options.SharedName() or b"")
    node.builder.handles[node.operator.outputs[0]] = name


def read_variable(node: TfliteNode) -> Value:
    """READ_VARIABLE."""
    return node.builder.resource(_name(node), node.output_type(), node.output_quant()).output


def assign_variable(node: TfliteNode) -> list[Value]:
    """ASSIGN_VARIABLE."""
    value = node.value(1)
    state = node.builder.resource(_name(node), value.type, value.quant)
    if state.input.type != value.type:
        raise Reject(f"the variable is {state.input.type} and becomes {value.type}")
    state.output = value
    return []


def _name(node: TfliteNode) -> tuple[bytes, bytes]:
    index = node.operator.inputs[0] if node.n_inputs else -1
    if index not in node.builder.handles:
        raise Reject("its variable is not named by a VAR_HANDLE in the same subgraph")
    return node.builder.handles[index]


def call_once(node: TfliteNode) -> list[Value]:
    """CALL_ONCE: what its subgraph assigns to variables, which must be constant, is what they start with."""
    index = node.options("CallOnceOptions", required=True).InitSubgraphIndex()
    init = node.builder.host.nested(node, index, f"{node.label}/init")
    init.builder.may_assign = True
    init.convert_all()
    for name, assigned in init.builder.resources.items():
        if assigned.output.data is None:
            raise Reject("it starts a variable with a value that is computed")
        state = node.builder.resource(name, assigned.output.type, assigned.output.quant)
        if state.output is not state.input:
            raise Reject("a variable is used before it gets its start value")
        state.initial = assigned.output.data
    return []


ROWS: dict[str, Row] = {
    "ASSIGN_VARIABLE": assign_variable,
    "CALL_ONCE": call_once,
    "IF": if_,
    "READ_VARIABLE": read_variable,
    "STABLEHLO_COMPOSITE": composite,
    "VAR_HANDLE": var_handle,
    "WHILE": while_,
}
