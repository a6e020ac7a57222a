"""Experimental operators of the first versions of ONNX, and models of these versions, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import compare, make_model, numbers, ort, run_reference, save

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.errors import UnsupportedError

CASES: list[tuple[str, dict[str, Any]]] = [
    ("Affine", {"alpha": 2.0, "beta": 1.5}),
    ("Affine", {}),
    ("Crop", {"border": [1, 2, 0, 1]}),
    ("Crop", {"border": [0, 0, 0, 0]}),
    ("Crop", {"border": [1, 2, 1, 1], "scale": [2, 3]}),
    ("ImageScaler", {"scale": 2.0, "bias": [1.0, -2.0]}),
    ("ImageScaler", {"scale": 0.0078125, "bias": [0.0, 0.0]}),
    ("ParametricSoftplus", {"alpha": 2.0, "beta": 3.0}),
    ("Scale", {"scale": 3.0}),
    ("ScaledTanh", {"alpha": 2.0, "beta": 0.5}),
]


@pytest.mark.parametrize("opset", [1, 6, 7, 9])
@pytest.mark.parametrize("op,attrs", CASES, ids=str)
def test_operators(op: str, attrs: dict[str, Any], opset: int, tmp_path: Path) -> None:
    """Behind a Neg, as opset 1 writes it, which is brought up to opset 7, from which the expected values are."""
    x = numbers(2, 2, 6, 7, low=-3, high=3)

    def model_of(size: str | int, opset: int) -> onnx.ModelProto:
        old = {"consumed_inputs": [0]} if opset == 1 else {}
        nodes = [helper.make_node("Neg", ["x"], ["r"], **old), helper.make_node(op, ["r"], ["y"], **attrs)]
        model = make_model(nodes, {"x": (size, 2, 6, 7)}, ["y"], opset=opset)
        model.ir_version = 3
        return model

    expected = run_reference(model_of(2, max(opset, 7)), {"x": x})[0]
    for size in ("n", 2):
        model = model_of(size, opset)
        modelfile.save(convert(save(model, tmp_path)), tmp_path / "m.lith")
        with runtime.load(tmp_path / "m.lith") as session:
            compare(session.run({"x": x})["y"], expected, 1e-6, op)


def test_impossible_ones_are_listed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ImageScaler", ["x"], ["a"], bias=[1.0, 2.0, 3.0]),
        helper.make_node("Crop", ["x"], ["b"], border=[1, 2, 3]),
        helper.make_node("GivenTensorFill", ["x"], ["c"]),
    ]
    model = make_model(nodes, {"x": (1, 2, 6, 7)}, ["a", "b", "c"], opset=6)
    with pytest.raises(UnsupportedError) as error:
        convert(save(model, tmp_path))
    assert [item.op for item in error.value.items] == ["ImageScaler", "Crop", "GivenTensorFill"]


def test_a_model_that_states_no_opset(tmp_path: Path) -> None:
    """It is read in the newest one, as ONNX Runtime reads it; the axes of Squeeze have been an input since 13."""
    model = make_model(
        [helper.make_node("Squeeze", ["x", "axes"], ["y"])], {"x": (1, 3, 1)}, ["y"], {"axes": np.array([2])}
    )
    del model.opset_import[:]
    model.opset_import.add(domain="acme", version=1)
    x = numbers(1, 3, 1)
    expected = ort().InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    modelfile.save(convert(save(model, tmp_path)), tmp_path / "m.lith")
    with runtime.load(tmp_path / "m.lith") as session:
        np.testing.assert_array_equal(session.run({"x": x})["y"], expected)


def test_an_old_model_with_an_operator_of_another_domain(tmp_path: Path) -> None:
    """That operator is named, and so is an input of texts, with what to do; the model forgets to state the domain."""
    node = helper.make_node("StringLower", ["x"], ["s"], domain="ai.onnx.contrib")
    graph = helper.make_graph(
        [node, helper.make_node("Identity", ["s"], ["y"])],
        "old",
        [helper.make_tensor_value_info("x", TensorProto.STRING, [2])],
        [helper.make_tensor_value_info("y", TensorProto.STRING, [2])],
    )
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 5)], ir_version=3)
    with pytest.raises(UnsupportedError) as error:
        convert(save(model, tmp_path))
    assert [item.op for item in error.value.items] == ["input", "ai.onnx.contrib.StringLower"]
    assert all("onnx.utils.extract_model" in item.hint for item in error.value.items)
