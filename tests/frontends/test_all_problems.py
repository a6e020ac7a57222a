"""Everything that a model has unsupported is reported in one go, with a name, a reason and something to do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import make_model
from tflite_builder import TfliteBuilder

from microlith.converter import convert
from microlith.errors import Unsupported, UnsupportedError

Maker = Callable[[str, str, str], onnx.NodeProto]

KINDS: dict[str, tuple[Maker, str, str]] = {
    "unknown operator": (lambda name, x, y: helper.make_node("Frobnicate", [x], [y], name), "Frobnicate", ""),
    "foreign domain": (
        lambda name, x, y: helper.make_node("Foo", [x], [y], name, domain="org.nowhere"),
        "org.nowhere.Foo",
        "",
    ),
    "attribute that does not exist": (
        lambda name, x, y: helper.make_node("Relu", [x], [y], name, leak=0.5),
        "Relu",
        "leak",
    ),
    "value of an attribute": (
        lambda name, x, y: helper.make_node("Pad", [x, "pads"], [y], name, mode="twisted"),
        "Pad",
        "mode",
    ),
    "type of an attribute": (
        lambda name, x, y: helper.make_node("Softmax", [x], [y], name, axis=0.5),
        "Softmax",
        "axis",
    ),
    "element type": (
        lambda name, x, y: helper.make_node("Cast", [x], [y], name, to=TensorProto.STRING),
        "Cast",
        "",
    ),
    "string": (lambda name, x, y: helper.make_node("StringConcat", [x, x], [y], name), "StringConcat", ""),
    "random": (
        lambda name, x, y: helper.make_node("RandomNormalLike", [x], [y], name),
        "RandomNormalLike",
        "",
    ),
}
CONSTANTS = {"pads": np.array([0, 0, 0, 1])}
DOMAINS = ("org.nowhere",)


def problems(model: onnx.ModelProto | bytes) -> list[Unsupported]:
    with pytest.raises(UnsupportedError) as caught:
        convert(model)
    items = list(caught.value.items)
    assert str(caught.value).count("\n") >= len(items)
    assert all(item.node and item.op and item.reason and item.hint for item in items)
    return items


def chain(count: int) -> onnx.ModelProto:
    """``count`` unsupported nodes, each behind the one before it; the model states no types inside."""
    kinds = list(KINDS.values())
    nodes, x = [], "x"
    for index in range(count):
        nodes.append(kinds[index % len(kinds)][0](f"n{index}", x, f"t{index}"))
        nodes.append(helper.make_node("Neg", [f"t{index}"], [f"u{index}"], f"fine{index}"))
        x = f"u{index}"
    return make_model(nodes, {"x": (2, 3)}, [x], CONSTANTS, domains=DOMAINS)


def test_two_hundred_in_a_chain() -> None:
    items = problems(chain(200))
    assert [item.node for item in items] == [f"n{index}" for index in range(200)]
    for index, item in enumerate(items):
        _, op, attribute = list(KINDS.values())[index % len(KINDS)]
        assert (item.op, item.attribute) == (op, attribute)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_alone(kind: str) -> None:
    make, op, attribute = KINDS[kind]
    (item,) = problems(make_model([make("n", "x", "y")], {"x": (2, 3)}, ["y"], CONSTANTS, domains=DOMAINS))
    assert (item.node, item.op, item.attribute) == ("n", op, attribute)


def test_check_lists_them_all(tmp_path: Path) -> None:
    onnx.save(chain(200), tmp_path / "many.onnx")
    command = [sys.executable, "-c", "from microlith.cli import main; main()", "check", "many.onnx"]
    table = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert table.returncode == 1 and "200 unsupported" in table.stdout
    data = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True)
    layers = json.loads(data.stdout)["layers"]
    assert data.returncode == 1 and len(layers) == 200
    assert all(layer["name"] and layer["op"] and layer["reason"] and layer["hint"] for layer in layers)
    assert layers[2]["attribute"] == "leak"


def test_what_follows_from_a_problem_is_no_problem() -> None:
    """Nodes that are fine are not blamed for the type that is not known in front of them."""
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], "bad"),
        helper.make_node("Conv", ["a", "w"], ["b"], "conv"),  # a has no rank that fits
        helper.make_node("Shape", ["b"], ["s"], "shape"),
        helper.make_node("Reshape", ["a", "s"], ["c"], "reshape"),
        helper.make_node("Concat", ["c", "x"], ["d"], "concat", axis=3),
        helper.make_node("Relu", ["d"], ["y"], "relu"),
    ]
    model = make_model(nodes, {"x": (2, 3)}, ["y"], {"w": np.zeros((4, 3, 3, 3), np.float32)})
    assert [item.node for item in problems(model)] == ["bad"]


def test_types_that_the_model_states_are_used() -> None:
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], "bad"),
        helper.make_node("MatMul", ["a", "x"], ["y"], "matmul"),
    ]
    model = make_model(nodes, {"x": (2, 3)}, ["y"])
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 5]))
    assert [item.node for item in problems(model)] == ["bad", "matmul"]
    model.graph.value_info[0].CopyFrom(helper.make_tensor_value_info("a", TensorProto.FLOAT, [5, 2]))
    assert [item.node for item in problems(model)] == ["bad"]


def branch(name: str, x: str) -> onnx.GraphProto:
    nodes = [make(f"{name}{index}", x, f"{name}_t{index}") for index, (make, _, _) in enumerate(KINDS.values())]
    nodes.append(helper.make_node("Neg", [x], [f"{name}_y"]))
    return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)])


@pytest.mark.parametrize("behind", ["x", "bad"])
def test_branches_of_an_if(behind: str) -> None:
    """Also where what they read is not known."""
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["bad"], "first"),
        helper.make_node("If", ["c"], ["y"], "if", then_branch=branch("then", behind), else_branch=branch("else", "x")),
    ]
    types = {"c": TensorProto.BOOL}
    model = make_model(nodes, {"x": (2, 3), "c": ()}, ["y", "bad"], CONSTANTS, types=types, domains=DOMAINS)
    names = [item.node for item in problems(model)]
    assert names == ["first", *(f"{name}{index}" for name in ("then", "else") for index in range(len(KINDS)))]


def test_body_of_a_loop() -> None:
    """Once each, though the body is read several times until its sizes settle."""
    body = helper.make_graph(
        [
            helper.make_node("Frobnicate", ["v"], ["f"], "inside1"),
            helper.make_node("Relu", ["v"], ["r"], "inside2", leak=1.0),
            helper.make_node("Concat", ["v", "v"], ["v_out"], "grow", axis=0),
            helper.make_node("Identity", ["c"], ["c_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("c_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v_out", TensorProto.FLOAT, None),
        ],
    )
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["y"], "loop", body=body)]
    model = make_model(nodes, {"x": (2, 3), "n": ()}, ["y"], types={"n": TensorProto.INT64})
    assert sorted(item.node for item in problems(model)) == ["inside1", "inside2"]


def test_body_behind_a_value_that_nobody_knows() -> None:
    """A body that cannot be read at all is searched for operators that are not known."""
    inner = branch("inner", "z")
    nodes = [
        helper.make_node("Frobnicate", ["s"], ["c"], "first"),
        helper.make_node("If", ["c"], ["y"], "if", then_branch=inner, else_branch=inner),
    ]
    model = make_model(nodes, {"z": (2, 3)}, ["y"], {**CONSTANTS, "s": CONSTANTS["pads"]}, domains=DOMAINS)
    found = Counter(item.op for item in problems(model))
    assert found["Frobnicate"] == 2 and found["org.nowhere.Foo"] == 1


def test_inside_of_a_function() -> None:
    """Functions of the model are inlined, once for each call."""
    body = [
        helper.make_node("Frobnicate", ["a"], ["b"], "one"),
        helper.make_node("Relu", ["b"], ["c"], "two", leak=1.0),
    ]
    opsets = [helper.make_opsetid("", 17)]
    function = helper.make_function("own", "Twice", ["a"], ["c"], body, opsets)
    nodes = [
        helper.make_node("Twice", ["x"], ["t"], "call1", domain="own"),
        helper.make_node("Twice", ["t"], ["y"], "call2", domain="own"),
    ]
    model = make_model(nodes, {"x": (2, 3)}, ["y"], domains=["own"])
    model.functions.append(function)
    assert Counter(item.op for item in problems(model)) == {"Frobnicate": 2, "Relu": 2}


# TFLite: the file states all types, so that nothing hides behind anything.


def tflite_chain(b: TfliteBuilder, x: int, count: int) -> int:
    """Unsupported operators of five kinds, each behind the one before it."""
    for index in range(count):
        y = b.tensor((1, 4), name=f"n{index}_{len(b.tensors)}")
        kind = index % 5
        if kind == 0:
            b.custom("Frobnicate", [x], [y])
        elif kind == 1:
            b.operator("HASHTABLE_FIND", [x], [y])
        elif kind == 2:
            b.operator("ADD", [x, x], [y], "AddOptions", FusedActivationFunction=4)
        elif kind == 3:
            b.operator("CONCATENATION", [x], [y], "ConcatenationOptions", FusedActivationFunction=1)
        else:
            odd = b.tensor((1, 4), "complex64", name=f"odd{index}_{len(b.tensors)}")
            b.operator("NEG", [odd], [y])
            b.inputs.append(odd)
        x = y
    return x


def test_tflite_two_hundred() -> None:
    b = TfliteBuilder()
    b.outputs.append(tflite_chain(b, b.input((1, 4)), 200))
    items = [item for item in problems(b.build()) if item.op != "input"]
    assert Counter(item.op for item in items) == {
        "Frobnicate": 40, "HASHTABLE_FIND": 40, "ADD": 40, "CONCATENATION": 40, "NEG": 40,
    }  # fmt: skip
    assert {item.attribute for item in items if item.op in ("ADD", "CONCATENATION")} == {"fused_activation_function"}


def test_tflite_subgraphs() -> None:
    """Both branches of an IF, condition and body of a WHILE, each operator once."""
    b = TfliteBuilder()
    flag, x = b.input((), "bool"), b.input((1, 4))
    for name in ("A", "B", "C", "D"):
        _, part = b.subgraph()
        y = part.tensor((1, 4), name=f"{name}_out")
        part.custom(name, [part.input((1, 4))], [y])
        if name == "C":
            part.operator("LESS", [y, y], [part.output((), "bool")], "LessOptions")
        else:
            part.outputs.append(y)
    middle = b.tensor((1, 4))
    b.operator("IF", [flag, x], [middle], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    b.operator("WHILE", [middle], [b.output((1, 4))], "WhileOptions", CondSubgraphIndex=3, BodySubgraphIndex=4)
    found = Counter(item.op for item in problems(b.build()))
    assert {name: found[name] for name in "ABCD"} == dict.fromkeys("ABCD", 1)
