"""TFLite's WHILE and IF, and resource variables, against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from litert_rung import assert_close, compare, converted, interpreter, run_interpreter
from tflite_builder import TfliteBuilder

import microlith
from microlith import modelfile
from microlith.converter.frontends.tflite import import_tflite
from microlith.errors import ModelFormatError, UnsupportedError
from microlith.evaluate import evaluate

SHAPE = (2, 3)


def while_model(limit: int = 5, body_number: int = 2) -> bytes:
    """i < limit: total = total * x, i = i + 1; carries i, total and x."""
    b = TfliteBuilder()
    x = b.input(SHAPE)
    start, one = b.constant(np.zeros((), np.int32)), b.constant(np.ones(SHAPE, np.float32))
    count, total, kept = b.tensor((), "int32"), b.output(SHAPE), b.tensor(SHAPE)
    _, condition = b.subgraph()
    i, _total, _x = condition.input((), "int32"), condition.input(SHAPE), condition.input(SHAPE)
    bound = condition.constant(np.full((), limit, np.int32))
    condition.operator("LESS", [i, bound], [condition.output((), "bool")], "LessOptions")
    _, body = b.subgraph()
    i, product, factor = body.input((), "int32"), body.input(SHAPE), body.input(SHAPE)
    step = body.constant(np.ones((), np.int32))
    body.operator("ADD", [i, step], [body.output((), "int32")], "AddOptions")
    body.operator("MUL", [product, factor], [body.output(SHAPE)], "MulOptions")
    body.outputs.append(factor)
    b.operator(
        "WHILE",
        [start, one, x],
        [count, total, kept],
        "WhileOptions",
        CondSubgraphIndex=1,
        BodySubgraphIndex=body_number,
    )
    b.outputs.append(count)
    return b.build()


def if_model() -> bytes:
    b = TfliteBuilder()
    flag, x = b.input((), "bool"), b.input(SHAPE)
    for name in ("NEG", "EXP"):
        _, branch = b.subgraph()
        branch.operator(name, [branch.input(SHAPE)], [branch.output(SHAPE)])
    b.operator("IF", [flag, x], [b.output(SHAPE)], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    return b.build()


def variable_model(initial: Sequence[float] | None = (1, 2, 3), init_number: int = 1) -> bytes:
    """total (a resource) is read, x is added, and the sum is written; gives both."""
    b = TfliteBuilder()
    x = b.input((1, 3))
    _, init = b.subgraph()
    handle = init.tensor((), "resource")
    init.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName="total")
    data = np.asarray(initial if initial is not None else (0, 0, 0), np.float32).reshape(1, 3)
    init.operator("ASSIGN_VARIABLE", [handle, init.constant(data)], [], "AssignVariableOptions")
    b.operator("CALL_ONCE", [], [], "CallOnceOptions", InitSubgraphIndex=init_number)
    handle = b.tensor((), "resource")
    b.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName="total")
    before, after = b.output((1, 3)), b.output((1, 3))
    b.operator("READ_VARIABLE", [handle], [before], "ReadVariableOptions")
    b.operator("ADD", [before, x], [after], "AddOptions")
    b.operator("ASSIGN_VARIABLE", [handle, after], [], "AssignVariableOptions")
    return b.build()


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


@pytest.mark.parametrize("limit", [5, 1, 0])
def test_while(limit: int, tmp_path: Path) -> None:
    compare(while_model(limit), tmp_path, rng())
    graph = converted(while_model(limit))
    (loop,) = (node for node in graph.nodes if node.op == "loop")
    assert loop.attrs["carried"] == 2  # x does not change, so it is only read


def test_if(tmp_path: Path) -> None:
    for flag in (True, False):
        compare(if_model(), tmp_path, rng(), arrays=[np.array(flag), rng().normal(size=SHAPE).astype(np.float32)])


def test_variables_live_from_run_to_run(tmp_path: Path) -> None:
    data = variable_model()
    engine, graph = interpreter(data), converted(data)
    modelfile.save(graph, tmp_path / "m.lith")
    model = microlith.load(tmp_path / "m.lith")
    states: dict[str, np.ndarray] = {}
    for step in range(4):
        x = np.full((1, 3), step, np.float32)
        expected = run_interpreter(engine, [x])
        named = {graph.inputs[0].name: x}
        for results in (evaluate(graph, named, states), model.run(named)):
            for value, wanted in zip(graph.outputs, expected, strict=True):
                assert_close(np.asarray(results[value.name]), wanted, f"{value.name}, step {step}")
    model.reset()
    first = model.run({graph.inputs[0].name: np.zeros((1, 3), np.float32)})
    np.testing.assert_array_equal(first[graph.outputs[0].name], [[1, 2, 3]])


@pytest.mark.parametrize("number", [0, 3, -1])
def test_subgraphs_that_are_not_there(number: int) -> None:
    with pytest.raises(ModelFormatError, match=rf"runs subgraph {number} of 3"):
        import_tflite(while_model(body_number=number))
    with pytest.raises(ModelFormatError, match=rf"runs subgraph {number} of 2"):
        import_tflite(variable_model(init_number=number))


def test_a_condition_that_is_none() -> None:
    with pytest.raises((ModelFormatError, UnsupportedError)):
        import_tflite(while_model(body_number=1))


def test_a_subgraph_that_contains_itself() -> None:
    b = TfliteBuilder()
    flag, x = b.input((), "bool"), b.input(SHAPE)
    number, branch = b.subgraph()
    inner_flag, inner = branch.input((), "bool"), branch.input(SHAPE)
    branch.operator(
        "IF",
        [inner_flag, inner_flag, inner],
        [branch.output(SHAPE)],
        "IfOptions",
        ThenSubgraphIndex=number,
        ElseSubgraphIndex=number,
    )
    b.operator(
        "IF",
        [flag, flag, x],
        [b.output(SHAPE)],
        "IfOptions",
        ThenSubgraphIndex=number,
        ElseSubgraphIndex=number,
    )
    with pytest.raises(ModelFormatError, match="contains itself"):
        import_tflite(b.build())


def test_nested_subgraphs_cannot_explode() -> None:
    """Each level runs the next one twice; forty levels would be a million million conversions."""
    b = TfliteBuilder()
    flag, x = b.input((), "bool"), b.input(SHAPE)
    b.operator("IF", [flag, flag, x], [b.output(SHAPE)], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=1)
    for level in range(1, 40):
        number, part = b.subgraph()
        p, y = part.input((), "bool"), part.input(SHAPE)
        if level < 39:
            part.operator(
                "IF",
                [p, p, y],
                [part.output(SHAPE)],
                "IfOptions",
                ThenSubgraphIndex=number + 1,
                ElseSubgraphIndex=number + 1,
            )
        else:
            part.operator("NEG", [y], [part.output(SHAPE)])
    with pytest.raises(UnsupportedError):
        import_tflite(b.build())


def test_variables_stay_out_of_subgraphs() -> None:
    b = TfliteBuilder()
    flag = b.input((), "bool")
    for _ in range(2):
        _, branch = b.subgraph()
        handle = branch.tensor((), "resource")
        branch.operator("VAR_HANDLE", [], [handle], "VarHandleOptions", SharedName="v")
        branch.operator("READ_VARIABLE", [handle], [branch.output((1, 3))], "ReadVariableOptions")
    b.operator("IF", [flag], [b.output((1, 3))], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    with pytest.raises(UnsupportedError, match="a variable inside of a subgraph"):
        import_tflite(b.build())


def test_if_without_a_condition() -> None:
    b = TfliteBuilder()
    for _ in range(2):
        b.subgraph()
    b.operator("IF", [], [b.output(SHAPE)], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    with pytest.raises(ModelFormatError, match="input 0 is missing"):
        import_tflite(b.build())
