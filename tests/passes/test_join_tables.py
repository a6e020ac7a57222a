"""Functions of one int8 tensor become one table, with the results that ONNX Runtime has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import microlith


def _model(path: Path, gates: int) -> None:
    """x * sigmoid(x), ``gates`` times one behind the other, quantized in between as ONNX Runtime's tools do it."""
    nodes: list[onnx.NodeProto] = []
    constants = [
        numpy_helper.from_array(np.array(value, kind), name)
        for name, value, kind in (
            ("s", 0.05, np.float32),
            ("z", 3, np.int8),
            ("gate_s", 1 / 256, np.float32),
            ("gate_z", -128, np.int8),
        )
    ]

    def quantized(value: str, kind: str = "") -> str:
        names = [f"{kind}s", f"{kind}z"]
        nodes.append(helper.make_node("QuantizeLinear", [value, *names], [f"{value}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{value}_q", *names], [f"{value}_d"]))
        return f"{value}_d"

    current = quantized("x")
    for index in range(gates):
        nodes.append(helper.make_node("Sigmoid", [current], [f"sigmoid{index}"]))
        gate = quantized(f"sigmoid{index}", "gate_")
        nodes.append(helper.make_node("Mul", [current, gate], [f"product{index}"]))
        current = quantized(f"product{index}")
    nodes[-1].output[0] = "y"
    graph = helper.make_graph(
        nodes,
        "silu",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1024])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1024])],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def test_products_with_their_own_gates_are_one_table(tmp_path: Path) -> None:
    for gates in (1, 2):
        _model(tmp_path / "m.onnx", gates)
        graph = microlith.convert(tmp_path / "m.onnx", tmp_path / "m.lith")
        assert [node.op for node in graph.nodes] == ["quantize", "lut", "dequantize"]
        x = np.linspace(-7, 7, 1024, dtype=np.float32)[None]
        session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
        (expected,) = session.run(None, {"x": x})
        with microlith.load(tmp_path / "m.lith") as model:
            result = model.run(x)["y"]
        # A step of 0.05, where the sigmoid of either falls on the other side of a half.
        assert np.abs(result - expected).max() < 0.051
        assert np.mean(result != expected) < 0.01
