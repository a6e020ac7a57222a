"""Whole ONNX models against ONNX Runtime: networks in the shape of well-known ones, exports, symbolic sizes."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_models import check, compare, converted, feeds_for, make_model, numbers, run_reference, save

from microlith.codegen.fused_layers import expanded
from microlith.converter import convert
from microlith.evaluate import evaluate

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("MICROLITH_SHARED", ROOT.parent / "shared"))


class Network:
    """Builds a convolutional network with seeded weights, as an exporter without any fusion writes it."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray] = {}
        self.rng = np.random.default_rng(0)

    def add(self, op: str, inputs: list[str], **attrs: object) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{len(self.nodes)}", **attrs))
        return name

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = array
        return name

    def normal(self, *shape: int, scale: float = 1.0) -> str:
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def uniform(self, *shape: int) -> str:
        return self.constant(self.rng.uniform(0.5, 1.5, shape).astype(np.float32))

    def conv(self, x: str, in_c: int, out_c: int, kernel: int, stride: int = 1, groups: int = 1) -> str:
        weights = self.normal(out_c, in_c // groups, kernel, kernel, scale=(in_c // groups * kernel * kernel) ** -0.5)
        pads = [kernel // 2] * 4
        return self.add("Conv", [x, weights], strides=[stride, stride], pads=pads, group=groups)

    def batch_norm(self, x: str, channels: int) -> str:
        scale, offset, mean, variance = (
            self.uniform(channels),
            self.normal(channels, scale=0.1),
            self.normal(channels, scale=0.1),
            self.uniform(channels),
        )
        return self.add("BatchNormalization", [x, scale, offset, mean, variance])

    def relu6(self, x: str) -> str:
        return self.add("Clip", [x, self.constant(np.float32(0)), self.constant(np.float32(6))])

    def inverted_residual(self, x: str, in_c: int, out_c: int, stride: int, expansion: int) -> str:
        hidden, y = in_c * expansion, x
        if expansion != 1:
            y = self.relu6(self.batch_norm(self.conv(y, in_c, hidden, 1), hidden))
        y = self.relu6(self.batch_norm(self.conv(y, hidden, hidden, 3, stride, hidden), hidden))
        y = self.batch_norm(self.conv(y, hidden, out_c, 1), out_c)
        return self.add("Add", [x, y]) if stride == 1 and in_c == out_c else y

    def model(self, shape: tuple[object, ...], opset: int = 13) -> onnx.ModelProto:
        """What was added last is the output ``y``."""
        self.nodes[-1].output[0] = "y"
        return make_model(self.nodes, {"x": shape}, ["y"], self.constants, opset)


def mobilenet_v2(width: float, size: int, classes: int) -> onnx.ModelProto:
    """The layers of MobileNetV2 with seeded weights."""
    network = Network()
    channels = int(32 * width)
    x = network.relu6(network.batch_norm(network.conv("x", 3, channels, 3, 2), channels))
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, wanted, count, first_stride in stages:
        out_c = int(wanted * width)
        for index in range(count):
            x = network.inverted_residual(x, channels, out_c, first_stride if index == 0 else 1, expansion)
            channels = out_c
    x = network.relu6(network.batch_norm(network.conv(x, channels, 320, 1), 320))
    x = network.add("Flatten", [network.add("GlobalAveragePool", [x])])
    network.add("Gemm", [x, network.normal(classes, 320, scale=0.05), network.normal(classes)], transB=1)
    return network.model((1, 3, size, size))


def test_mobilenet_v2(tmp_path: Path) -> None:
    graph = check(mobilenet_v2(0.35, 64, 50), tmp_path, tolerance=1e-4)
    assert Counter(node.op for node in graph.nodes) == {
        "transpose": 1,
        "conv2d": 35,
        "depthwise_conv2d": 17,
        "add": 10,
        "reduce_mean": 1,
        "reshape": 1,
        "dense": 1,
    }


def test_mobilenet_v2_of_unknown_batch(tmp_path: Path) -> None:
    model = mobilenet_v2(0.35, 32, 10)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    graph = check(model, tmp_path, tolerance=1e-4)
    assert graph.outputs[0].shape == ("batch", 10)
    fixed = converted(model, tmp_path, inputs={"x": (3, 3, 32, 32)})
    assert fixed.outputs[0].shape == (3, 10)
    feeds = feeds_for(model, symbol=3)
    compare(evaluate(fixed, feeds)["y"], run_reference(model, feeds)[0], 1e-4, "y")


def test_squeeze_and_excitation(tmp_path: Path) -> None:
    network = Network()
    x = network.conv("x", 3, 8, 3, 2)
    three, six = network.constant(np.float32(3)), network.constant(np.float32(6))
    shifted = network.add("Clip", [network.add("Add", [x, three]), network.constant(np.float32(0)), six])
    x = network.add("Div", [network.add("Mul", [x, shifted]), six])
    gate = network.add("GlobalAveragePool", [x])
    gate = network.add("HardSigmoid", [network.conv(network.add("Relu", [network.conv(gate, 8, 4, 1)]), 4, 8, 1)])
    network.conv(network.add("Mul", [x, gate]), 8, 5, 1)
    graph = check(network.model((1, 3, 16, 16)), tmp_path)
    counts = Counter(node.op for node in graph.nodes)
    assert counts["transpose"] == 2, "one at each end"
    assert counts["hard_swish"] == 1


def test_digits_network(tmp_path: Path) -> None:
    network = Network()
    x = network.add("Relu", [network.conv("x", 1, 8, 3)])
    x = network.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = network.add("Relu", [network.conv(x, 8, 16, 3)])
    x = network.add("Flatten", [network.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])])
    network.add("Gemm", [x, network.normal(10, 784, scale=0.03), network.normal(10)], transB=1)
    graph = check(network.model((1, 1, 28, 28)), tmp_path)
    assert [node.op for node in graph.nodes] == "reshape conv2d max_pool2d conv2d max_pool2d reshape dense".split()


def test_trained_digits_model() -> None:
    path = ROOT / "examples" / "digits" / "digits.onnx"
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    model = onnx.load(path)
    feeds = feeds_for(model, low=0.0, high=1.0, symbol=1)
    graph = convert(path)
    expected = run_reference(model, feeds)
    for info, array in zip(model.graph.output, expected, strict=True):
        compare(evaluate(graph, feeds)[info.name], array, 1e-5, info.name)


@pytest.mark.parametrize("dynamo", [False, True])
def test_torch_exports(dynamo: bool, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch, which writes the model, is not installed")
    if dynamo:
        pytest.importorskip("onnxscript", reason="onnxscript, which the dynamo exporter needs, is not installed")
    torch.manual_seed(0)
    layers = torch.nn
    net = layers.Sequential(
        layers.Conv2d(3, 8, 3, stride=2, padding=1, bias=False),
        layers.BatchNorm2d(8),
        layers.Hardswish(),
        layers.Conv2d(8, 8, 3, groups=8),
        layers.SiLU(),
        layers.AdaptiveAvgPool2d(1),
        layers.Flatten(),
        layers.Linear(8, 6),
        layers.GELU(),
        layers.LayerNorm(6),
        layers.Softmax(-1),
    ).eval()
    path = tmp_path / "model.onnx"
    example = (torch.randn(1, 3, 20, 20),)
    options = {"verbose": False, "external_data": False} if dynamo else {"opset_version": 17}
    torch.onnx.export(net, example, str(path), dynamo=dynamo, input_names=["x"], output_names=["y"], **options)
    model = onnx.load(path)
    check(model, tmp_path)


def test_sizes_computed_by_the_model(tmp_path: Path) -> None:
    """What exporters write for ``x.view(x.size(0), -1)`` with an unknown batch."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["batch"]),
        helper.make_node("Unsqueeze", ["batch", "axis"], ["batch_1d"]),
        helper.make_node("Concat", ["batch_1d", "minus_one"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["flat"]),
        helper.make_node("Relu", ["flat"], ["y"]),
    ]
    constants = {"zero": np.array(0), "axis": np.array([0]), "minus_one": np.array([-1])}
    graph = check(make_model(nodes, {"x": ("n", 3, 4)}, ["y"], constants), tmp_path)
    assert graph.outputs[0].shape == ("n", 12)
    assert [node.op for node in graph.nodes] == ["reshape", "relu"]


def test_constants_computed_by_the_model(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Constant", [], ["two"], value_float=2.0),
        helper.make_node("Constant", [], ["list"], value_ints=[2, 3]),
        helper.make_node("ConstantOfShape", ["list"], ["ones"], value=numpy_helper.from_array(np.float32([1]))),
        helper.make_node("Mul", ["ones", "two"], ["twos"]),
        helper.make_node("Range", ["start", "limit", "delta"], ["range"]),
        helper.make_node("Add", ["twos", "range"], ["sum"]),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    constants = {"start": np.float32(0), "limit": np.float32(3), "delta": np.float32(1)}
    graph = check(make_model(nodes, {"x": (2, 3)}, ["y"], constants), tmp_path)
    assert [node.op for node in graph.nodes] == ["add"]


def test_initializers_listed_as_inputs(tmp_path: Path) -> None:
    model = make_model([helper.make_node("Add", ["x", "c"], ["y"])], {"x": (2, 3), "c": (3,)}, ["y"], {"c": numbers(3)})
    graph = converted(model, tmp_path)
    assert [value.name for value in graph.inputs] == ["x"]


def test_nodes_in_any_order(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["t"], ["y"]), helper.make_node("Neg", ["x"], ["t"])]
    graph = converted(make_model(nodes, {"x": (2,)}, ["y"]), tmp_path)
    assert [node.op for node in expanded(graph).nodes] == ["neg", "relu"]


def test_one_value_under_several_output_names(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Identity", ["x"], ["same"]),
    ]
    check(make_model(nodes, {"x": (2, 3)}, ["a", "b", "same"]), tmp_path)


def test_functions_are_inlined(tmp_path: Path) -> None:
    body = [helper.make_node("Relu", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])]
    function = helper.make_function("local", "Negated", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    model = make_model(
        [helper.make_node("Negated", ["x"], ["y"], domain="local")], {"x": (2, 3)}, ["y"], domains=["local"]
    )
    model.functions.append(function)
    check(model, tmp_path)


@pytest.mark.parametrize("condition", [True, False])
def test_a_constant_condition_picks_a_branch(condition: bool, tmp_path: Path) -> None:
    def branch(op: str) -> onnx.GraphProto:
        result = helper.make_tensor_value_info(f"{op}_y", TensorProto.FLOAT, None)
        nodes = [helper.make_node("Add", ["x", f"{op}_c"], [f"{op}_t"]), helper.make_node(op, [f"{op}_t"], [f"{op}_y"])]
        return helper.make_graph(nodes, op, [], [result], [numpy_helper.from_array(numbers(3), f"{op}_c")])

    nodes = [
        helper.make_node("If", ["c"], ["t"], then_branch=branch("Neg"), else_branch=branch("Abs")),
        helper.make_node("Exp", ["t"], ["y"]),
    ]
    graph = check(make_model(nodes, {"x": (2, 3)}, ["y"], {"c": np.array(condition)}), tmp_path)
    assert [node.op for node in expanded(graph).nodes] == ["add", "neg" if condition else "abs", "exp"]


def test_external_data(tmp_path: Path) -> None:
    model = make_model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": (2, 64)}, ["y"], {"w": numbers(64, 64)})
    feeds = feeds_for(model)
    expected = run_reference(model, feeds)[0]
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").exists()
    compare(evaluate(convert(path), feeds)["y"], expected, 1e-5, "y")


def test_quantized_as_written(tmp_path: Path) -> None:
    """QuantizeLinear and DequantizeLinear around a layer: computed in floats, rounded where the model says so."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "sx", "zx"], ["xr"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["wr"], axis=0),
        helper.make_node("Conv", ["xr", "wr"], ["t"]),
        helper.make_node("QuantizeLinear", ["t", "sy", "zy"], ["yq"]),
        helper.make_node("DequantizeLinear", ["yq", "sy", "zy"], ["y"]),
    ]
    constants = {
        "sx": np.float32(0.02),
        "zx": np.array(-3, np.int8),
        "w": np.random.default_rng(0).integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
        "sw": np.float32([0.01, 0.02, 0.005, 0.01]),
        "zw": np.zeros(4, np.int8),
        "sy": np.float32(0.1),
        "zy": np.array(120, np.uint8),
    }
    model = make_model(nodes, {"x": (1, 3, 8, 8)}, ["y"], constants)
    path = save(model, tmp_path)
    feeds = feeds_for(model)
    (expected,) = run_reference(model, feeds)
    actual = evaluate(convert(path), feeds)["y"]
    steps = np.rint(np.abs(actual - expected) / 0.1)
    assert steps.max() <= 1, "sums of floats in another order may fall on the other side of a rounding"
    assert np.mean(steps == 0) > 0.99


SHARED_MODELS = [
    "audio-feature/speech_embedding_onnx.onnx",
    "audio-quality/dnsmos_p808.onnx",
    "classification/mnist_cntk.onnx",
    "classification/mnist_rten.onnx",
    "classification/pplcnet_orientation.onnx",
    "detection/ultraface_rfb_320.onnx",
    "detection/yunet_n_320.onnx",
    "enhancement/super_resolution_ort.onnx",
    "recommender/widedeep_a.onnx",
    "text/attacut_c.onnx",
    "timeseries/espdl_streaming.onnx",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED_MODELS)
def test_shared_models(name: str) -> None:
    path = SHARED / "models" / name
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    model = onnx.load(path)
    with np.load(f"{path}.ref.npz") as stored:
        feeds = {
            info.name: stored[f"c0_in{index}"]
            for index, info in enumerate(
                info for info in model.graph.input if info.name not in {t.name for t in model.graph.initializer}
            )
        }
    results = evaluate(convert(path), feeds)
    for info, expected in zip(model.graph.output, run_reference(model, feeds), strict=True):
        limit = max(1e-4 * float(np.ptp(expected)), 2e-6)
        np.testing.assert_allclose(results[info.name], expected, rtol=0, atol=limit)


def test_integer_inputs_keep_their_type(tmp_path: Path) -> None:
    nodes = [helper.make_node("Gather", ["table", "ids"], ["y"])]
    model = make_model(nodes, {"ids": (2, 3)}, ["y"], {"table": numbers(10, 4)}, types={"ids": TensorProto.INT64})
    check(model, tmp_path, feeds_for(model, low=0, high=9))
