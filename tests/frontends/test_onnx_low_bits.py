"""Weights of 8, 4 and 2 bits in ONNX models: layers read them packed, results are those of NumPy and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import ort

import microlith
from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.errors import UnsupportedError
from microlith.ir import Graph

TYPES = {
    "int8": (TensorProto.INT8, -127, 128),
    "int4": (TensorProto.INT4, -8, 8),
    "uint4": (TensorProto.UINT4, 0, 16),
    "int2": (TensorProto.INT2, -2, 2),
    "uint2": (TensorProto.UINT2, 0, 4),
}
"""ONNX element type, the least code, the end of the codes."""

BITS = {"int8": 8, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2}


def integers(name: str, array: np.ndarray, kind: str) -> onnx.TensorProto:
    return helper.make_tensor(name, TYPES[kind][0], array.shape, array.reshape(-1).tolist())


def floats(name: str, array: Any) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(array, np.float32), name)


def model_of(
    nodes: Sequence[onnx.NodeProto], constants: Sequence[onnx.TensorProto], shape: Sequence[int], **types: int
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "bits",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info("y", types.get("y", TensorProto.FLOAT), None)],
        list(constants),
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


def draw(shape: tuple[int, ...], kind: str, channels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, a scale for each channel, input of 16 x the depth."""
    rng = np.random.default_rng(seed)
    _, low, end = TYPES[kind]
    return rng.integers(low, end, shape), rng.uniform(0.01, 0.05, channels).astype(np.float32), rng.uniform(-1, 1, 4)


def layer_of(graph: Graph) -> Any:
    (node,) = [node for node in graph.nodes if node.op.endswith("_compressed")]
    return node


def run(model: onnx.ModelProto, x: np.ndarray, folder: Path) -> tuple[Any, np.ndarray, int]:
    """The layer, what the runtime makes of x, and the size of the file."""
    graph = convert(model)
    path = folder / "model.lith"
    modelfile.save(graph, path)
    return layer_of(graph), runtime.load(path).run({"x": x})["y"], path.stat().st_size


@pytest.mark.parametrize("zero", ["absent", "zero", "in the middle"])
@pytest.mark.parametrize("kind", TYPES)
def test_gemm(kind: str, zero: str, tmp_path: Path) -> None:
    codes, scales, _ = draw((24, 70), kind, 24)
    points = np.full(24, 0 if zero != "in the middle" else (TYPES[kind][1] + TYPES[kind][2]) // 2)
    bias = np.linspace(-1, 1, 24)
    constants = [integers("w", codes, kind), floats("s", scales), floats("b", bias)]
    if zero != "absent":
        constants.append(integers("z", points, kind))
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s", *(["z"] if zero != "absent" else [])], ["wd"], axis=0),
        helper.make_node("Gemm", ["x", "wd", "b"], ["y"], transB=1),
    ]
    x = np.random.default_rng(1).uniform(-1, 1, (5, 70)).astype(np.float32)
    layer, y, size = run(model_of(nodes, constants, x.shape), x, tmp_path)
    assert layer.attrs["bits"] == BITS[kind]
    assert layer.input(1).type.nbytes == 24 * -(-70 * BITS[kind] // 8)
    wanted = x.astype(np.float64) @ ((codes - points[:, None]) * scales[:, None].astype(np.float64)).T + bias
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)
    assert size < 24 * 70 * BITS[kind] // 8 + 1800


@pytest.mark.parametrize("form", ["columns", "transposed", "transposed before", "reshaped", "squeezed"])
@pytest.mark.parametrize("kind", ["int8", "int4", "int2"])
def test_forms_of_matmul(kind: str, form: str, tmp_path: Path) -> None:
    """Weights [depth, units] at the end, however they come to it."""
    codes, scales, _ = draw((70, 24), kind, 24)
    stored, axis, after = codes, 1, []
    if form == "transposed":
        stored, axis, after = codes.T, 0, [helper.make_node("Transpose", ["wd"], ["wm"], perm=[1, 0])]
    elif form == "reshaped":
        stored, axis, after = codes.reshape(7, 10, 24), 2, [helper.make_node("Reshape", ["wd", "sh"], ["wm"])]
    elif form == "squeezed":
        stored, axis, after = codes[None], 2, [helper.make_node("Squeeze", ["wd", "ax"], ["wm"])]
    elif form == "transposed before":
        stored = codes.T
    nodes = [
        helper.make_node("DequantizeLinear", ["wt" if form == "transposed before" else "w", "s"], ["wd"], axis=axis),
        *after,
        helper.make_node("MatMul", ["x", "wm" if after else "wd"], ["y"]),
    ]
    if form == "transposed before":
        nodes.insert(0, helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]))
    constants = [
        integers("w", stored, kind),
        floats("s", scales),
        numpy_helper.from_array(np.array([70, 24]), "sh"),
        numpy_helper.from_array(np.array([0]), "ax"),
    ]
    x = np.random.default_rng(1).uniform(-1, 1, (2, 3, 70)).astype(np.float32)
    layer, y, _ = run(model_of(nodes, constants, x.shape), x, tmp_path)
    assert (layer.op, layer.attrs["bits"]) == ("dense_compressed", BITS[kind])
    np.testing.assert_allclose(y, x.astype(np.float64) @ (codes * scales.astype(np.float64)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 16], ids=["one group", "two groups", "depthwise"])
@pytest.mark.parametrize("kind", ["int8", "int4", "uint2"])
def test_conv_with_normalization(kind: str, groups: int, tmp_path: Path) -> None:
    codes, scales, _ = draw((32, 16 // groups, 3, 3), kind, 32)
    rng = np.random.default_rng(2)
    factors = {name: rng.uniform(0.5, 1.5, 32) for name in ("g", "b", "m", "v")}
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["wd"], axis=0),
        helper.make_node("Conv", ["x", "wd"], ["c"], pads=[1] * 4, group=groups),
        helper.make_node("BatchNormalization", ["c", *factors], ["n"]),
        helper.make_node("Relu", ["n"], ["y"]),
    ]
    constants = [integers("w", codes, kind), floats("s", scales), *(floats(*item) for item in factors.items())]
    x = rng.uniform(-1, 1, (1, 16, 7, 9)).astype(np.float32)
    model = model_of(nodes, constants, x.shape)
    graph = convert(model)
    modelfile.save(graph, tmp_path / "model.lith")
    y = runtime.load(tmp_path / "model.lith").run({"x": x})["y"]
    if (kind, groups) == ("int8", 16):  # a depthwise layer has few weights, and its kernels of floats are much faster
        assert [node.op for node in graph.nodes if "conv" in node.op] == ["depthwise_conv2d"]
    else:
        layer = layer_of(graph)
        assert (layer.op, layer.attrs["bits"]) == ("conv2d_compressed", BITS[kind])
    real = model_of(nodes[1:], [floats("wd", codes * scales[:, None, None, None]), *constants[2:]], x.shape)
    real.opset_import[0].version, real.ir_version = 17, 9
    wanted = ort().InferenceSession(real.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(y, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["int4", "uint4", "int2"])
def test_blocks(kind: str, tmp_path: Path) -> None:
    codes, _, _ = draw((64, 24), kind, 24)
    scales = np.random.default_rng(3).uniform(0.01, 0.05, (4, 24)).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["wd"], axis=0, block_size=16),
        helper.make_node("MatMul", ["x", "wd"], ["y"]),
    ]
    x = np.random.default_rng(1).uniform(-1, 1, (3, 64)).astype(np.float32)
    layer, y, _ = run(model_of(nodes, [integers("w", codes, kind), floats("s", scales)], x.shape), x, tmp_path)
    assert (layer.attrs["bits"], layer.attrs["group"]) == (BITS[kind], 16)
    np.testing.assert_allclose(y, x @ (codes * np.repeat(scales, 16, 0)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bits", [2, 4])
def test_matmul_n_bits(bits: int, tmp_path: Path) -> None:
    """The contrib operator of ONNX Runtime, which runs it as well."""
    rng = np.random.default_rng(bits)
    rows, depth, block = 24, 96, 32
    codes = rng.integers(0, 1 << bits, (rows, depth // block, block)).astype(np.uint8)
    packed = np.zeros((rows, depth // block, block * bits // 8), np.uint8)
    for index in range(8 // bits):
        packed |= codes[:, :, index :: 8 // bits] << np.uint8(index * bits)
    scales = rng.uniform(0.01, 0.05, (rows, depth // block)).astype(np.float32)
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=depth, N=rows, bits=bits, block_size=block
    )
    constants = [numpy_helper.from_array(packed, "w"), floats("s", scales.reshape(-1) if bits == 4 else scales)]
    model = model_of([node], constants, (2, depth))
    model.opset_import[0].version, model.ir_version = 21, 10
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    x = rng.uniform(-1, 1, (2, depth)).astype(np.float32)
    layer, y, _ = run(model, x, tmp_path)
    assert (layer.attrs["bits"], layer.attrs["group"]) == (bits, block)
    real = (codes.astype(np.float64) - (1 << (bits - 1))) * scales[:, :, None].astype(np.float64)
    np.testing.assert_allclose(y, x @ real.reshape(rows, depth).T, rtol=1e-4, atol=1e-5)
    if bits == 4:
        expected = ort().InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
        np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-4)


# Between quantized activations


def quantized_model(kind: str, values: Sequence[int], op: str, groups: int = 1) -> tuple[onnx.ModelProto, np.ndarray]:
    """QDQ around one layer, the weights drawn from ``values``; and an input."""
    rng = np.random.default_rng(len(values))
    shape = (24, 16 // groups, 3, 3) if op == "Conv" else (24, 70)
    codes = rng.choice(values, (16 * 2, 1, 3, 3) if groups == 16 else shape)
    scales = rng.uniform(0.005, 0.02, len(codes)).astype(np.float32)
    x = rng.uniform(-3, 3, (1, 16, 7, 9) if op == "Conv" else (3, 70)).astype(np.float32)
    attrs: dict[str, Any] = {"pads": [1] * 4, "group": groups} if op == "Conv" else {"transB": 1}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "xs", "xz"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "s"], ["wd"], axis=0),
        helper.make_node(op, ["xd", "wd"], ["f"], **attrs),
        helper.make_node("QuantizeLinear", ["f", "ys", "yz"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "ys", "yz"], ["y"]),
    ]
    constants = [
        integers("w", codes, kind),
        floats("s", scales),
        floats("xs", 0.025),
        floats("ys", 0.05),
        numpy_helper.from_array(np.int8(-7), "xz"),
        numpy_helper.from_array(np.int8(11), "yz"),
    ]
    return model_of(nodes, constants, x.shape), x


@pytest.mark.parametrize(("op", "groups"), [("Gemm", 1), ("Conv", 1), ("Conv", 2), ("Conv", 16)])
@pytest.mark.parametrize(
    ("kind", "values", "bits"),
    [
        ("int4", list(range(-8, 8)), 4),
        ("int2", [-2, -1, 0, 1], 2),
        ("int8", [-127, 127], 1),
        ("int8", [-1, 0, 1], 2),
        ("int8", [-90, -30, 30, 90], 2),
        ("int4", [-1, 1], 1),
    ],
)
def test_integer_layers(kind: str, values: list[int], bits: int, op: str, groups: int, tmp_path: Path) -> None:
    """int8 activations and weights of few values: the integers of ONNX Runtime, from packed weights."""
    model, x = quantized_model(kind, values, op, groups)
    layer, y, _ = run(model, x, tmp_path)
    assert layer.attrs["bits"] == bits and layer.input(0).dtype is microlith.dtypes.DType.s8
    as_bytes = onnx.ModelProto()
    as_bytes.CopyFrom(model)
    as_bytes.opset_import[0].version, as_bytes.ir_version = 17, 9
    codes = numpy_helper.to_array(model.graph.initializer[0]).astype(np.int8)
    as_bytes.graph.initializer[0].CopyFrom(numpy_helper.from_array(codes, "w"))
    options = ort().SessionOptions()
    options.graph_optimization_level = ort().GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = ort().InferenceSession(as_bytes.SerializeToString(), options).run(None, {"x": x})[0]
    steps = np.rint((y - wanted) / np.float32(0.05))
    assert np.abs(steps).max() <= 1 and np.count_nonzero(steps) <= 0.01 * steps.size  # ORT sums real numbers here


# Other operators on 4 and 2 bits


@pytest.mark.parametrize("kind", ["int4", "uint4", "int2", "uint2"])
def test_activations_are_clamped_to_their_type(kind: str, tmp_path: Path) -> None:
    number, low, end = TYPES[kind]
    zero = (low + end) // 2
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    x = np.linspace(-9, 9, 101, dtype=np.float32).reshape(1, -1)
    model = model_of(nodes, [floats("s", 0.5), helper.make_tensor("z", number, [], [zero])], x.shape)
    path = tmp_path / "m.lith"
    modelfile.save(convert(model), path)
    wanted = (np.clip(np.rint(x / 0.5) + zero, low, end - 1) - zero) * 0.5
    np.testing.assert_array_equal(runtime.load(path).run({"x": x})["y"], wanted.astype(np.float32))


def test_casts_to_4_bits_are_refused() -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT4)
    with pytest.raises(UnsupportedError, match="element type INT4 is not supported"):
        convert(model_of([node], [], (3,), y=TensorProto.INT4))
    like = helper.make_node("CastLike", ["x", "t"], ["y"])
    constants = [helper.make_tensor("t", TensorProto.UINT2, [1], [0])]
    with pytest.raises(UnsupportedError, match="element type UINT2 is not supported"):
        convert(model_of([like], constants, (3,), y=TensorProto.UINT2))
