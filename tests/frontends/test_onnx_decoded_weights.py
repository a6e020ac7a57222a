# SPDX-License-Identifier: Apache-2.0
"""ONNX models whose weights are integers of 8 bits that Cast, Sub and Mul or Div decode: they stay of 8 bits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper
from onnx_models import check, compare, make_model, numbers, run_reference, save

import microlith
from microlith import modelfile
from microlith.converter import convert
from microlith.ir import Graph

Constants = dict[str, np.ndarray]

RNG = np.random.default_rng(5)


def node(op: str, inputs: list[str], output: str, **attrs: object) -> NodeProto:
    return helper.make_node(op, inputs, [output], name=f"the_{output}", **attrs)


def decoding(form: str, shape: tuple[int, ...], axis: int, constants: Constants) -> list[NodeProto]:
    """Nodes that make the real numbers ``w`` of the stored integers ``q``, with a scale for each place on ``axis``."""
    unsigned = form == "zero point"
    spread = [1] * len(shape)
    spread[axis] = shape[axis]
    constants["q"] = (
        RNG.integers(0, 256, shape).astype(np.uint8) if unsigned else RNG.integers(-127, 128, shape).astype(np.int8)
    )
    constants["s"] = RNG.uniform(0.002, 0.02, spread).astype(np.float32)
    nodes = [node("Cast", ["q"], "f", to=TensorProto.FLOAT)]
    if form == "one scale":
        constants["s"] = np.array(0.01, np.float32)
    elif form == "negative scale":
        constants["s"] = -constants["s"]
    elif form == "scales of two axes":
        constants["s"] = RNG.uniform(0.002, 0.02, (*shape[:2], *[1] * (len(shape) - 2))).astype(np.float32)
    if form == "zero point":
        constants["z"] = np.array(128, np.float32)
        return [*nodes, node("Sub", ["f", "z"], "c"), node("Mul", ["c", "s"], "w")]
    if form == "quotient":
        constants["s"] = (1 / constants["s"]).astype(np.float32)
        return [*nodes, node("Div", ["f", "s"], "w")]
    return [*nodes, node("Mul", ["s", "f"] if form == "scale first" else ["f", "s"], "w")]


def layer(op: str, form: str) -> tuple[onnx.ModelProto, Constants]:
    shape, axis = {"MatMul": ((48, 32), 1), "Gemm": ((32, 48), 0), "Conv": ((12, 8, 3, 3), 0)}[op]
    constants: Constants = {}
    nodes = decoding(form, shape, axis, constants)
    attrs = {"transB": 1} if op == "Gemm" else {}
    x = (2, 8, 9, 9) if op == "Conv" else (5, 48)
    return make_model([*nodes, node(op, ["x", "w"], "y", **attrs)], {"x": x}, ["y"], constants), constants


def stored_bytes(graph: Graph) -> int:
    return sum(value.type.nbytes for value in graph.constants())


def run(graph: Graph, feeds: Mapping[str, np.ndarray], folder: Path) -> np.ndarray:
    modelfile.save(graph, folder / "m.lith")
    return next(iter(microlith.load(folder / "m.lith").run(feeds).values()))


@pytest.mark.parametrize("form", ["scale last", "scale first", "one scale", "zero point", "quotient"])
@pytest.mark.parametrize("op", ["MatMul", "Gemm", "Conv"])
def test_weights_stay_of_8_bits(op: str, form: str, tmp_path: Path) -> None:
    model, constants = layer(op, form)
    feeds = {"x": numbers(*model_shape(model))}
    graph = check(model, tmp_path, feeds)
    assert stored_bytes(graph) < constants["q"].size + 40 * 12
    (expected,) = run_reference(model, feeds)
    compare(run(graph, feeds, tmp_path), expected, 1e-5, "the C runtime")


@pytest.mark.parametrize("form", ["negative scale", "scales of two axes"])
def test_what_no_scale_of_a_channel_says_is_decoded(form: str, tmp_path: Path) -> None:
    model, constants = layer("MatMul", form)
    graph = check(model, tmp_path, {"x": numbers(5, 48)})
    assert stored_bytes(graph) >= 4 * constants["q"].size


def model_shape(model: onnx.ModelProto) -> list[int]:
    return [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]


@pytest.mark.parametrize("form", ["scale last", "zero point", "one scale"])
def test_rows_of_a_table_have_scales_of_their_own(form: str, tmp_path: Path) -> None:
    """As embeddings of words are stored; only the rows that are read are decoded."""
    constants: Constants = {}
    nodes = [*decoding(form, (100, 16), 0, constants), node("Gather", ["w", "ids"], "y", axis=0)]
    model = make_model(nodes, {"ids": ("batch", "length")}, ["y"], constants, types={"ids": TensorProto.INT64})
    graph = convert(save(model, tmp_path))
    assert stored_bytes(graph) <= 100 * 16 + 4 * 100 + 64
    for shape in ((1, 7), (3, 2)):
        feeds = {"ids": np.random.default_rng(1).integers(-100, 100, shape)}
        (expected,) = run_reference(model, feeds)
        np.testing.assert_array_equal(run(graph, feeds, tmp_path), expected)


def test_a_layer_whose_input_has_an_unknown_last_size(tmp_path: Path) -> None:
    """As exporters write the merged heads of attention: Reshape to [batch, length, -1]."""
    constants: Constants = {"last": np.array([-1])}
    nodes = [
        *decoding("scale last", (48, 32), 1, constants),
        node("Shape", ["ids"], "sizes"),
        node("Concat", ["sizes", "last"], "target", axis=0),
        node("Reshape", ["x", "target"], "merged"),
        node("MatMul", ["merged", "w"], "y"),
    ]
    inputs = {"x": ("batch", "length", 4, 12), "ids": ("batch", "length")}
    model = make_model(nodes, inputs, ["y"], constants, types={"ids": TensorProto.INT64})
    graph = convert(save(model, tmp_path))
    assert "dense_compressed" in [item.op for item in graph.nodes]
    for batch, length in ((1, 3), (2, 5)):
        feeds = {"x": numbers(batch, length, 4, 12), "ids": np.zeros((batch, length), np.int64)}
        (expected,) = run_reference(model, feeds)
        compare(run(graph, feeds, tmp_path), expected, 1e-5, "the C runtime")
