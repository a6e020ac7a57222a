"""Rung 1 of the ladder for ``float-even``: materialized s8 nodes against ONNX Runtime without graph optimizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from microlith import ops
from microlith.dtypes import DType
from microlith.ir import Graph, Quant, TensorType, Value

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

SEEDS = range(10)


def run_onnx(nodes: Sequence[Any], feeds: dict[str, np.ndarray], constants: dict[str, np.ndarray]) -> np.ndarray:
    """The value ``y`` of a graph of a few nodes."""
    helper = onnx.helper
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()],
        [helper.make_tensor_value_info("y", onnx.TensorProto.INT8, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (result,) = session.run(["y"], feeds)
    return np.asarray(result)


def run_node(
    op: str,
    inputs: Sequence[tuple[np.ndarray, Quant | None]],
    output: Quant | None,
    attrs: dict[str, Any] | None = None,
    contract: str = "float-even",
) -> np.ndarray:
    """The materialized node, through its reference."""
    graph = Graph(contract=contract)
    values = [
        Value(f"v{index}", TensorType(DType.from_numpy(array.dtype), array.shape), data=array, quant=quant)
        for index, (array, quant) in enumerate(inputs)
    ]
    node = graph.add(op, values, attrs, quant=output)
    opdef = ops.get(op)
    assert opdef.quant is not None and opdef.quant.materialize is not None
    set_attrs, constants = opdef.quant.materialize(node, contract)
    operands: list[np.ndarray | None] = [array for array, _ in inputs]
    for index, array in constants.items():
        operands += [None] * (index + 1 - len(operands))
        operands[index] = array
    return opdef.reference(operands, opdef.complete_attrs({**node.attrs, **set_attrs}))[0]


def random_quant(rng: np.random.Generator, low: float = -7.0, high: float = 0.0) -> Quant:
    return Quant.per_tensor(float(np.float32(2.0 ** rng.uniform(low, high))), int(rng.integers(-128, 128)))


def quant_constants(name: str, quant: Quant) -> dict[str, np.ndarray]:
    scalar = quant.scale.size == 1
    scale = quant.scale.reshape(()) if scalar else quant.scale
    zero = quant.zero_point.astype(np.int8)
    return {f"{name}_scale": scale, f"{name}_zero": zero.reshape(()) if scalar else zero}


def weights_of(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, Quant]:
    """Weights of 7 bits, whose products ONNX Runtime can sum in 16 bits on every machine."""
    scale = (2.0 ** rng.uniform(-9, -4, shape[0])).astype(np.float32)
    return rng.integers(-63, 64, shape).astype(np.int8), Quant(scale, np.zeros(shape[0], np.int64), 0)


def output_for(rng: np.random.Generator, x: Quant, w: Quant, depth: int) -> Quant:
    spread = float(x.scale[0] * w.scale.mean()) * 74.0 * 37.0 * depth**0.5
    return Quant.per_tensor(spread / 60.0, int(rng.integers(-128, 128)))


@pytest.mark.parametrize("seed", SEEDS)
def test_conv2d(seed: int) -> None:
    rng = np.random.default_rng(seed)
    in_c, out_c = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    x_quant = random_quant(rng)
    x = rng.integers(-128, 128, (1, in_c, 7, 8)).astype(np.int8)
    weights, w_quant = weights_of(rng, (out_c, in_c, 3, 3))
    bias = rng.integers(-2000, 2000, out_c).astype(np.int32)
    y_quant = output_for(rng, x_quant, w_quant, in_c * 9)
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias"]
    node = onnx.helper.make_node("QLinearConv", names, ["y"], pads=[1, 1, 1, 1])
    constants = {"w": weights, "bias": bias}
    for name, quant in (("x", x_quant), ("w", w_quant), ("y", y_quant)):
        constants |= quant_constants(name, quant)
    expected = run_onnx([node], {"x": x}, constants)
    operands = [
        (np.ascontiguousarray(x.transpose(0, 2, 3, 1)), x_quant),
        (np.ascontiguousarray(weights.transpose(0, 2, 3, 1)), w_quant),
        (bias, None),
    ]
    pads = dict.fromkeys(("pad_top", "pad_left", "pad_bottom", "pad_right"), 1)
    actual = run_node("conv2d", operands, y_quant, pads)
    np.testing.assert_array_equal(actual.transpose(0, 3, 1, 2), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_dense(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth, units = int(rng.integers(1, 60)), int(rng.integers(1, 20))
    x_quant = random_quant(rng)
    x = rng.integers(-128, 128, (5, depth)).astype(np.int8)
    weights, w_quant = weights_of(rng, (units, depth))
    y_quant = output_for(rng, x_quant, w_quant, depth)
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"]
    constants = {"w": np.ascontiguousarray(weights.T)}
    for name, quant in (("x", x_quant), ("w", w_quant), ("y", y_quant)):
        constants |= quant_constants(name, quant)
    expected = run_onnx([onnx.helper.make_node("QLinearMatMul", names, ["y"])], {"x": x}, constants)
    np.testing.assert_array_equal(run_node("dense", [(x, x_quant), (weights, w_quant)], y_quant), expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("op", "onnx_op"), [("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("prelu", "PRelu")])
def test_binary(op: str, onnx_op: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    quants = {"a": random_quant(rng), "b": random_quant(rng)}
    scales = [float(quant.scale[0]) for quant in quants.values()]
    spread = scales[0] * scales[1] * 40 if op in ("mul", "prelu") else max(scales)
    quants["y"] = Quant.per_tensor(float(np.float32(spread * 2.0 ** rng.uniform(0, 2))), int(rng.integers(-128, 128)))
    arrays = {name: rng.integers(-128, 128, (4, 33)).astype(np.int8) for name in "ab"}
    make = onnx.helper.make_node
    nodes = [make("DequantizeLinear", [n, f"{n}_scale", f"{n}_zero"], [f"real_{n}"]) for n in "ab"]
    nodes += [
        make(onnx_op, ["real_a", "real_b"], ["real"]),
        make("QuantizeLinear", ["real", "y_scale", "y_zero"], ["y"]),
    ]
    constants: dict[str, np.ndarray] = {}
    for name, quant in quants.items():
        constants |= quant_constants(name, quant)
    expected = run_onnx(nodes, arrays, constants)
    np.testing.assert_array_equal(run_node(op, [(arrays[n], quants[n]) for n in "ab"], quants["y"]), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_quantize(seed: int) -> None:
    rng = np.random.default_rng(seed)
    quant = random_quant(rng)
    ties = (rng.integers(-150, 150, (3, 40)) + 0.5).astype(np.float32) * quant.scale[0]
    node = onnx.helper.make_node("QuantizeLinear", ["x", "y_scale", "y_zero"], ["y"])
    expected = run_onnx([node], {"x": ties}, quant_constants("y", quant))
    np.testing.assert_array_equal(run_node("quantize", [(ties, None)], quant), expected)


@pytest.mark.parametrize("contract", ["tflite-double", "single", "float-even"])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_contract_is_near_to_the_real_numbers(contract: str, seed: int) -> None:
    """Whatever the rounding, a result is at most one step from the exact product, rounded."""
    rng = np.random.default_rng(seed)
    x_quant = random_quant(rng)
    x = rng.integers(-128, 128, (5, 40)).astype(np.int8)
    weights, w_quant = weights_of(rng, (9, 40))
    y_quant = output_for(rng, x_quant, w_quant, 40)
    actual = run_node("dense", [(x, x_quant), (weights, w_quant)], y_quant, contract=contract)
    real_x = (x.astype(np.float64) - x_quant.zero_point[0]) * np.float64(x_quant.scale[0])
    real = real_x @ (weights.astype(np.float64) * w_quant.scale[:, None].astype(np.float64)).T
    exact = np.clip(np.rint(real / np.float64(y_quant.scale[0])) + y_quant.zero_point[0], -128, 127)
    assert np.abs(actual - exact).max() <= 1
