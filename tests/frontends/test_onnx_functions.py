# SPDX-License-Identifier: Apache-2.0
"""Functions of ONNX models: how far they are expanded."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx_models import converted, make_model

from microlith.codegen.fused_layers import expanded
from microlith.converter import convert
from microlith.errors import ModelFormatError
from microlith.evaluate import evaluate

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]


def call(name: str, x: str, y: str) -> onnx.NodeProto:
    return helper.make_node(name, [x], [y], domain="own")


def function(name: str, nodes: list[onnx.NodeProto]) -> onnx.FunctionProto:
    return helper.make_function("own", name, ["x"], ["y"], nodes, OPSETS)


def levels(count: int, last: onnx.NodeProto | None = None) -> onnx.ModelProto:
    """Each function calls the next one twice: 2 ** ``count`` nodes."""
    model = make_model([call("F0", "x", "y")], {"x": (2, 3)}, ["y"], domains=["own"])
    for index in range(count):
        following = f"F{index + 1}"
        model.functions.append(function(f"F{index}", [call(following, "x", "t"), call(following, "t", "y")]))
    model.functions.append(function(f"F{count}", [last or helper.make_node("Relu", ["x"], ["y"])]))
    return model


@pytest.mark.parametrize(
    ("count", "nodes"), [(17, "131,072"), (26, "67,108,864"), *((n, "more than 1,000,000,000,000") for n in (60, 1000))]
)
def test_too_many_nodes(count: int, nodes: str) -> None:
    start = time.monotonic()
    with pytest.raises(ModelFormatError, match=rf"expanded it has {nodes} nodes, .*100,000 nodes"):
        convert(levels(count))
    assert time.monotonic() - start < 5


def test_large_functions_called_often() -> None:
    """Few nodes, but each with a constant of 1 MiB."""
    data = numpy_helper.from_array(np.zeros(1 << 18, np.float32))
    with pytest.raises(ModelFormatError, match=r"expanded it has 1,024 nodes, and 1,\d+,\d+,\d+ bytes"):
        convert(levels(10, helper.make_node("Constant", [], ["y"], value=data)))


def test_calls_in_subgraphs_count() -> None:
    model = levels(17)
    result = helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, None)
    branches = [
        helper.make_graph([node], node.op_type, [], [result])
        for node in (call("F0", "x", "z"), helper.make_node("Neg", ["x"], ["z"]))
    ]
    flag = numpy_helper.from_array(np.array(True), "flag")
    model.graph.initializer.append(flag)
    node = helper.make_node("If", ["flag"], ["y"], then_branch=branches[0], else_branch=branches[1])
    model.graph.node[0].CopyFrom(node)
    with pytest.raises(ModelFormatError, match=f"it has {2**17 + 2:,} nodes"):
        convert(model)


def test_a_circle_of_functions() -> None:
    model = make_model([call("One", "x", "y")], {"x": (2, 3)}, ["y"], domains=["own"])
    model.functions.extend([function("One", [call("Two", "x", "y")]), function("Two", [call("One", "x", "y")])])
    with pytest.raises(ModelFormatError, match=r"call each other without an end: own\.\w+ -> own\.\w+ -> own\.\w+"):
        convert(model)


def test_nested_functions_are_expanded(tmp_path: Path) -> None:
    """Three levels of two calls each are eight nodes."""
    graph = converted(levels(3, helper.make_node("Exp", ["x"], ["y"])), tmp_path)
    assert [node.op for node in expanded(graph).nodes] == ["exp"] * 8


@pytest.mark.parametrize("opset", [14, 16, 18])
def test_a_function_of_another_opset(opset: int) -> None:
    """As converters write that bring their functions with them."""
    model = make_model([call("F", "x", "y")], {"x": (2, 3)}, ["y"], domains=["own"])
    nodes = [helper.make_node("Relu", ["x"], ["t"]), helper.make_node("Neg", ["t"], ["y"])]
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    model.functions.append(helper.make_function("own", "F", ["x"], ["y"], nodes, opsets))
    x = np.array([[-1, 0, 2], [3, -4, 5]], np.float32)
    np.testing.assert_array_equal(evaluate(convert(model), {"x": x})["y"], -np.maximum(x, 0))
