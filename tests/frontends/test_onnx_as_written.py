# SPDX-License-Identifier: Apache-2.0
"""``--qdq as-written``: the bytes of ONNX Runtime without optimizations, with one thread."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_models import make_model, run_reference
from onnx_runs import ELEMENT_TYPES

import microlith
from microlith.converter import convert
from microlith.converter.as_written import of_their_own
from microlith.errors import InputError
from microlith.ir import Graph
from microlith.nnacl_kernels import catalogue

SHARED = Path(os.environ.get("MICROLITH_SHARED", Path(__file__).resolve().parents[3] / "shared"))
Arrays = Mapping[str, np.ndarray]

has_its_order = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or "avx2" not in catalogue.detected_isa(),
    reason="ONNX Runtime adds in the order in question on x86-64 with AVX2 only",
)


def ours(graph: Graph, inputs: Arrays, folder: Path) -> list[np.ndarray]:
    from microlith import modelfile

    modelfile.save(graph, folder / "m.lith")
    with microlith.load(folder / "m.lith") as model:
        return list(model.run(dict(inputs)).values())


def model_of(
    nodes: Sequence[onnx.NodeProto], inputs: Arrays, constants: Arrays, outputs: Sequence[str] = ("y",), opset: int = 17
) -> onnx.ModelProto:
    types = {name: ELEMENT_TYPES[array.dtype] for name, array in inputs.items()}
    shapes = {name: array.shape for name, array in inputs.items()}
    return make_model(nodes, shapes, outputs, constants, opset, types)


def assert_same(model: onnx.ModelProto, inputs: Arrays, folder: Path, own: Mapping[str, int] | None = None) -> Graph:
    graph = convert(model, qdq="as-written")
    assert of_their_own(graph) == (own or {})
    for actual, expected in zip(ours(graph, inputs, folder), run_reference(model, inputs, threads=1), strict=True):
        assert np.array_equal(actual, expected), f"{np.sum(actual != expected)} of {expected.size} elements differ"
    return graph


def floats(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "first layer": ((1, 3, 17, 17), (24, 3, 3, 3), {"strides": [2, 2], "pads": [0, 0, 1, 1]}),
    "pointwise": ((2, 40, 9, 9), (24, 40, 1, 1), {}),
    "pointwise of many channels": ((1, 300, 5, 5), (24, 300, 1, 1), {}),
    "pointwise of very many channels": ((1, 1100, 2, 2), (8, 1100, 1, 1), {}),
    "one position": ((1, 200, 1, 1), (27, 200, 1, 1), {}),
    "one filter": ((1, 150, 6, 6), (1, 150, 1, 1), {}),
    "one filter and position": ((1, 150, 1, 1), (1, 150, 1, 1), {}),
    "window": ((1, 33, 13, 13), (17, 33, 3, 3), {"pads": [1, 1, 1, 1]}),
    "window with more filters than positions": ((1, 33, 5, 5), (64, 33, 3, 3), {"strides": [2, 2]}),
    "window of few positions": ((1, 60, 6, 6), (20, 60, 3, 3), {"pads": [1, 1, 1, 1]}),
    "depthwise": ((1, 20, 15, 15), (20, 1, 3, 3), {"group": 20, "pads": [1, 1, 1, 1]}),
    "depthwise of one row": ((1, 20, 7, 5), (20, 1, 3, 5), {"group": 20}),
    "depthwise of the whole plane": ((1, 20, 5, 5), (20, 1, 5, 5), {"group": 20}),
    "depthwise of columns": ((1, 20, 7, 5), (20, 1, 7, 1), {"group": 20}),
    "depthwise with two results": ((1, 20, 15, 15), (40, 1, 5, 5), {"group": 20, "pads": [2, 2, 2, 2]}),
    "filters of one row": ((1, 1, 9, 7), (10, 1, 3, 7), {}),
    "groups": ((1, 48, 9, 9), (12, 12, 3, 3), {"group": 4, "dilations": [2, 2]}),
    "one dimension": ((1, 30, 50), (16, 30, 9), {"pads": [4, 4]}),
    "one dimension, depthwise": ((1, 30, 50), (30, 1, 9), {"group": 30}),
}


@has_its_order
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str, bias: bool, tmp_path: Path) -> None:
    x, w, attrs = CONVOLUTIONS[name]
    constants = {"w": floats(1, *w), **({"b": floats(2, w[0])} if bias else {})}
    node = helper.make_node("Conv", ["x", *constants], ["y"], **attrs)
    inputs = {"x": floats(0, *x)}
    assert_same(model_of([node], inputs, constants), inputs, tmp_path)


@has_its_order
@pytest.mark.parametrize(
    "x, w, attrs",
    [
        ((1, 8, 9, 9), (8, 4, 2, 2), {"strides": [2, 2]}),
        ((1, 200, 5, 5), (200, 8, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 150, 1, 1), (150, 9, 3, 3), {}),
        ((1, 30, 5, 5), (30, 1, 1, 1), {}),
        ((1, 30, 5, 7), (30, 1, 4, 3), {"dilations": [2, 1], "strides": [1, 3]}),
    ],
    ids=str,
)
def test_transposed_convolutions(x: tuple[int, ...], w: tuple[int, ...], attrs: dict[str, Any], tmp_path: Path) -> None:
    inputs = {"x": floats(0, *x), "w": floats(1, *w)}
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], **attrs)
    assert_same(model_of([node], inputs, {"b": floats(2, w[1])}), inputs, tmp_path)


@has_its_order
@pytest.mark.parametrize("stored", [False, True], ids=["computed", "constant"])
@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("m, n, k", [(1, 23, 150), (5, 1, 150), (1, 1, 150), (4, 15, 1100), (3, 40, 300), (2, 90, 300)])
def test_gemm(m: int, n: int, k: int, transposed: int, stored: bool, tmp_path: Path) -> None:
    b = {"b": floats(1, *((n, k) if transposed else (k, n)))}
    constants = {"c": floats(2, n)}
    inputs = {"a": floats(0, m, k), **({} if stored else b)}
    node = helper.make_node("Gemm", ["a", "b", "c"], ["y"], transB=transposed)
    assert_same(model_of([node], inputs, constants | (b if stored else {})), inputs, tmp_path)


@has_its_order
@pytest.mark.parametrize(
    "a, b, stored",
    [
        ((3, 5, 70), (70, 9), False),
        ((1, 1, 200), (200, 9), False),
        ((200,), (200, 9), False),
        ((6, 200), (200,), False),
        ((2, 3, 5, 150), (2, 3, 150, 8), False),
        ((2, 1, 150), (2, 150, 8), False),
        ((3, 5, 300), (300, 9), True),
        ((1, 1, 300), (300, 9), True),
        ((300,), (300, 9), True),
        ((6, 300), (300,), True),
    ],
    ids=str,
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...], stored: bool, tmp_path: Path) -> None:
    inputs, constant = {"a": floats(0, *a)}, {"b": floats(1, *b)}
    node = helper.make_node("MatMul", ["a", "b"], ["y"])
    model = model_of([node], inputs | ({} if stored else constant), constant if stored else {})
    assert_same(model, inputs | ({} if stored else constant), tmp_path)


MEANS: dict[str, tuple[tuple[int, ...], str, dict[str, Any]]] = {
    "global": ((2, 9, 7, 6), "GlobalAveragePool", {}),
    "global of three": ((1, 9, 1, 3), "GlobalAveragePool", {}),
    "plane": ((1, 9, 7, 7), "ReduceMean", {"axes": [2, 3]}),
    "rows": ((1, 9, 7, 21), "ReduceMean", {"axes": [-1], "keepdims": 0}),
    "rows of two": ((1, 9, 7, 2), "ReduceMean", {"axes": [3]}),
    "rows of thirteen": ((1, 9, 7, 13), "ReduceMean", {"axes": [3]}),
    "pool": ((1, 9, 12, 12), "AveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "pool with padding": ((1, 9, 12, 12), "AveragePool", {"kernel_shape": [2, 3], "count_include_pad": 1}),
    "pool of long strides": ((1, 9, 12, 12), "AveragePool", {"kernel_shape": [3, 3], "strides": [3, 3]}),
    "pool of large windows": ((1, 3, 40, 9), "AveragePool", {"kernel_shape": [33, 2]}),
    "pool of the plane": ((1, 9, 7, 7), "AveragePool", {"kernel_shape": [7, 7]}),
}


@has_its_order
@pytest.mark.parametrize("name", MEANS)
def test_means(name: str, tmp_path: Path) -> None:
    shape, op, attrs = MEANS[name]
    inputs = {"x": floats(0, *shape)}
    assert_same(model_of([helper.make_node(op, ["x"], ["y"], **attrs)], inputs, {}), inputs, tmp_path)


@has_its_order
@pytest.mark.parametrize("opset", [18, 19, 22])
@pytest.mark.parametrize("name", [name for name in MEANS if MEANS[name][1] == "AveragePool"])
def test_pools_of_newer_opsets(name: str, opset: int, tmp_path: Path) -> None:
    shape, op, attrs = MEANS[name]
    inputs = {"x": floats(0, *shape)}
    node = helper.make_node(op, ["x"], ["y"], **attrs)
    assert_same(model_of([node], inputs, {}, opset=opset), inputs, tmp_path)


@has_its_order
@pytest.mark.parametrize("op", ["Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu"])
def test_functions(op: str, tmp_path: Path) -> None:
    inputs = {"x": np.linspace(-20, 20, 4001, dtype=np.float32)}
    assert_same(model_of([helper.make_node(op, ["x"], ["y"])], inputs, {}), inputs, tmp_path)


@has_its_order
@pytest.mark.parametrize("transform", ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize(
    "how",
    [{"scales": (2.0, 2.0)}, {"scales": (1.5, 0.5)}, {"scales": (1.0, 2.7)}, {"sizes": (20, 31)}, {"sizes": (1, 9)}],
    ids=str,
)
def test_resize(how: Mapping[str, Sequence[float]], transform: str, tmp_path: Path) -> None:
    inputs = {"x": floats(0, 2, 4, 7, 12)}
    constants = {
        "scales": lambda: np.array([1, 1, *how["scales"]], np.float32),
        "sizes": lambda: np.array([2, 4, *how["sizes"]], np.int64),
    }
    (kind,) = how
    names = ["x", "", "scales"] if kind == "scales" else ["x", "", "", "sizes"]
    node = helper.make_node("Resize", names, ["y"], mode="linear", coordinate_transformation_mode=transform)
    assert_same(model_of([node], inputs, {kind: constants[kind]()}), inputs, tmp_path)


@has_its_order
@pytest.mark.parametrize("scales", [(1.0793028, 1.4799496), (2.4499145, 1.6444491)], ids=str)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest_between_aligned_corners(rounding: str, scales: tuple[float, float], tmp_path: Path) -> None:
    inputs = {"x": floats(0, 1, 3, 13, 11)}
    attrs = {"mode": "nearest", "coordinate_transformation_mode": "align_corners", "nearest_mode": rounding}
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **attrs)
    constants = {"scales": np.array([1, 1, *scales], np.float32)}
    assert_same(model_of([node], inputs, constants), inputs, tmp_path)


def quantized_net(seed: int, signed: bool) -> tuple[onnx.ModelProto, Arrays]:
    """A small net of inverted bottlenecks with QuantizeLinear and DequantizeLinear around every layer."""
    rng = np.random.default_rng(seed)
    kind = np.int8 if signed else np.uint8
    nodes: list[onnx.NodeProto] = []
    constants: dict[str, np.ndarray] = {}

    def quantized(x: str, scale: float) -> str:
        constants[f"{x}_s"] = np.array(scale * rng.uniform(0.9, 1.1), np.float32)
        constants[f"{x}_z"] = np.array(rng.integers(-9, 9) + (0 if signed else 128), kind)
        nodes.append(helper.make_node("QuantizeLinear", [x, f"{x}_s", f"{x}_z"], [f"{x}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{x}_q", f"{x}_s", f"{x}_z"], [f"{x}_d"]))
        return f"{x}_d"

    def weights(name: str, shape: Sequence[int]) -> str:
        constants[f"{name}_q"] = rng.integers(-127, 128, shape).astype(np.int8)
        constants[f"{name}_s"] = rng.uniform(0.5, 1.5, shape[0]).astype(np.float32) / np.float32(
            40 * np.prod(shape[1:]) ** 0.5
        )
        constants[f"{name}_z"] = np.zeros(shape[0], np.int8)
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", f"{name}_s", f"{name}_z"], [name], axis=0))
        return name

    def layer(x: str, name: str, shape: Sequence[int], **attrs: Any) -> str:
        constants[f"{name}_b"] = rng.normal(size=shape[0]).astype(np.float32)
        nodes.append(helper.make_node("Conv", [x, weights(f"{name}_w", shape), f"{name}_b"], [name], **attrs))
        return quantized(name, 0.02)

    def function(op: str, x: str, scale: float) -> str:
        nodes.append(helper.make_node(op, [x], [f"{x}_{op}"]))
        return quantized(f"{x}_{op}", scale)

    x = layer(quantized("x", 0.02), "first", (24, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    x = function("HardSwish", x, 0.015)
    wide = function("Relu", layer(x, "expand", (144, 24, 1, 1)), 0.01)
    wide = function("Relu", layer(wide, "deep", (144, 1, 3, 3), group=144, pads=[1, 1, 1, 1]), 0.01)
    gate = function("GlobalAveragePool", wide, 0.005)
    gate = function("Sigmoid", layer(gate, "squeeze", (144, 144, 1, 1)), 0.004)
    nodes.append(helper.make_node("Mul", [wide, gate], ["gated"]))
    narrow = layer(quantized("gated", 0.01), "project", (24, 144, 1, 1))
    nodes.append(helper.make_node("Add", [x, narrow], ["sum"]))
    nodes.append(helper.make_node("ReduceMean", [quantized("sum", 0.02)], ["mean"], axes=[2, 3], keepdims=0))
    constants["c"] = rng.normal(size=10).astype(np.float32)
    nodes.append(
        helper.make_node("Gemm", [quantized("mean", 0.01), weights("head", (10, 24)), "c"], ["logits"], transB=1)
    )
    nodes.append(helper.make_node("Identity", [quantized("logits", 0.02)], ["y"]))
    inputs = {"x": rng.normal(size=(1, 3, 33, 33)).astype(np.float32)}
    return model_of(nodes, inputs, constants), inputs


@has_its_order
@pytest.mark.parametrize("signed", [True, False], ids=["s8", "u8"])
@pytest.mark.parametrize("seed", range(6))
def test_quantized_nets(seed: int, signed: bool, tmp_path: Path) -> None:
    model, inputs = quantized_net(seed, signed)
    graph = assert_same(model, inputs, tmp_path)
    assert {node.op for node in graph.nodes} >= {"conv2d_ordered", "matmul_ordered", "mean_ordered", "lut"}


def test_generated_code_gives_the_same_bytes(tmp_path: Path) -> None:
    from microlith import generate
    from microlith.codegen import execute

    model, inputs = quantized_net(0, signed=True)
    graph = convert(model, qdq="as-written")
    generate(graph, "host", tmp_path / "c", name="model")
    project = execute.Project.open(tmp_path / "c")
    execute.build(project)
    (name,) = (value.name for value in graph.outputs)
    made = execute.run(project, [inputs]).outputs[name][0]
    assert np.array_equal(made, ours(graph, inputs, tmp_path)[0])


def test_operators_on_integers_stay_so() -> None:
    rng = np.random.default_rng(0)
    scale, zero = np.array(0.02, np.float32), np.array(0, np.int8)
    constants = {"s": scale, "z": zero, "w": rng.integers(-99, 99, (8, 4, 3, 3)).astype(np.int8)}
    nodes = [
        helper.make_node("QLinearConv", ["x", "s", "z", "w", "s", "z", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    inputs = {"x": rng.integers(-99, 99, (1, 4, 9, 9)).astype(np.int8)}
    graph = convert(model_of(nodes, inputs, constants), qdq="as-written")
    assert [node.op for node in graph.nodes if node.op.startswith("conv")] == ["conv2d"]
    assert next(node for node in graph.nodes if node.op == "conv2d").input(0).dtype.is_integer


def test_what_has_no_known_steps_is_told() -> None:
    inputs = {"x": floats(0, 1, 4, 6, 6)}
    nodes = [
        helper.make_node("InstanceNormalization", ["x", "s", "s"], ["t"]),
        helper.make_node("Softmax", ["t"], ["y"]),
    ]
    graph = convert(model_of(nodes, inputs, {"s": floats(1, 4)}), qdq="as-written")
    assert of_their_own(graph) == {"InstanceNormalization": 1, "Softmax": 1}


def test_mistakes() -> None:
    from microlith.converter.quantize import QuantizeOptions

    model, _ = quantized_net(0, signed=True)
    with pytest.raises(InputError, match="cannot be computed 'exact'"):
        convert(model, qdq="exact")
    with pytest.raises(InputError, match="not computed as it is written"):
        convert(model, qdq="as-written", quantization=QuantizeOptions(scheme="int8"))
    with pytest.raises(InputError, match="for ONNX models"):
        convert(b"\x1c\0\0\0TFL3" + bytes(64), qdq="as-written")


@pytest.mark.parametrize("name", ["detection/yunet_n_320_qdq_int8", "classification/efficientnet_lite0_qdq_int8"])
def test_stored_outputs_of_real_models(name: str, tmp_path: Path) -> None:
    path = SHARED / "models" / f"{name}.onnx"
    if not path.exists():
        pytest.skip("the collection of models is not there (MICROLITH_SHARED)")
    with np.load(f"{path}.ref.npz", allow_pickle=False) as stored:
        meta = json.loads(str(stored["meta"]))
        inputs = {key: stored[f"c0_in{j}"] for j, key in enumerate(meta["inputs"])}
        expected = [stored[f"c0_out{j}"] for j in range(len(meta["outputs"]))]
    results = ours(convert(path, qdq="as-written"), inputs, tmp_path)
    for index, (actual, wanted) in enumerate(zip(results, expected, strict=True)):
        stride = meta["sub"].get(str(index), 1)
        assert np.array_equal(actual.reshape(-1)[::stride], wanted.reshape(-1))
