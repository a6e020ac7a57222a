"""Instructions and flash of layers with weights of 8, 4, 2 and 1 bits on an emulated Cortex-M.

    python benchmarks/mcu/low_bits.py [--target cortex-m4] [--real] [--json FILE]

Each layer is an ONNX model of its own: int8 activations (quantize, layer, quantize), or with ``--real`` float32 ones.
The output of the emulated board is held against the NumPy reference. ``fit_costs.py --keep`` reads the file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import counting
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from microlith.codegen import execute, generate
from microlith.converter import convert
from microlith.evaluate import evaluate

CODES: Mapping[int, tuple[int, int, int]] = {8: (-127, 128, 1), 4: (-8, 8, 1), 2: (-2, 2, 1), 1: (-1, 2, 2)}
"""Bits: the least weight, the end of the weights, their distance."""


@dataclass(frozen=True)
class LayerShape:
    """One layer: its operator, the shapes of its input and weights, and the number of its products."""

    name: str
    op: str
    x: tuple[int, ...]
    weights: tuple[int, ...]
    groups: int = 1

    @property
    def macs(self) -> int:
        return self.places * int(np.prod(self.weights))

    @property
    def outputs(self) -> int:
        return self.places * self.weights[0]

    @property
    def places(self) -> int:
        return self.x[2] * self.x[3] if self.op == "Conv" else 1


LAYERS = (
    LayerShape("conv 3x3, 16 to 32 channels, 16x16", "Conv", (1, 16, 16, 16), (32, 16, 3, 3)),
    LayerShape("conv 1x1, 64 to 64 channels, 8x8", "Conv", (1, 64, 8, 8), (64, 64, 1, 1)),
    LayerShape("depthwise 3x3, 64 channels, 8x8", "Conv", (1, 64, 8, 8), (64, 1, 3, 3), 64),
    LayerShape("dense, 1024 to 64", "Gemm", (1, 1024), (64, 1024)),
)


def model_of(layer: LayerShape, bits: int, real: bool) -> onnx.ModelProto:
    """The layer between quantizations, with random weights of so many bits and a scale for each channel."""
    rng = np.random.default_rng(bits)
    low, end, step = CODES[bits]
    weights = rng.choice(np.arange(low, end, step), layer.weights).astype(np.int8)
    depth = int(np.prod(layer.weights[1:]))
    spread = float(np.abs(weights).mean()) * np.sqrt(depth)
    constants: dict[str, np.ndarray] = {
        "w": weights,
        "ws": rng.uniform(0.5, 1.0, layer.weights[0]).astype(np.float32) / np.float32(spread),
        "xs": np.float32(0.02),
        "z": np.int8(3),
        "ys": np.float32(0.03),
    }
    nodes = [helper.make_node("DequantizeLinear", ["w", "ws"], ["wd"], axis=0)]
    x = "x"
    if not real:
        nodes += [
            helper.make_node("QuantizeLinear", ["x", "xs", "z"], ["xq"]),
            helper.make_node("DequantizeLinear", ["xq", "xs", "z"], ["xd"]),
        ]
        x = "xd"
    if layer.op == "Conv":
        edge = layer.weights[2] // 2
        nodes.append(helper.make_node("Conv", [x, "wd"], ["yf"], pads=[edge] * 4, group=layer.groups))
    else:
        nodes.append(helper.make_node("Gemm", [x, "wd"], ["yf"], transB=1))
    if not real:
        nodes += [
            helper.make_node("QuantizeLinear", ["yf", "ys", "z"], ["yq"]),
            helper.make_node("DequantizeLinear", ["yq", "ys", "z"], ["yd"]),
        ]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, layer.x)],
        [helper.make_tensor_value_info("yf" if real else "yd", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


Row = tuple[str, int, int, int]
"""The kernel of a layer, its products, the elements of its output, instructions."""


def measure(layer: LayerShape, bits: int, target: str, real: bool, plugin: Path) -> tuple[str, Row]:
    """A cell of the table: instructions for each product, bytes of constants, bytes of code; and a row for the fit."""
    graph = convert(model_of(layer, bits, real))
    sample = {"x": np.random.default_rng(1).uniform(-2, 2, layer.x).astype(np.float32)}
    with tempfile.TemporaryDirectory(prefix="microlith-bits-") as folder:
        generate(graph, target, Path(folder) / "project", name="layer", samples=[sample])
        project = execute.Project.open(Path(folder) / "project")
        execute.build(project)
        result, output = counting.count(project, sample, plugin)
        size = execute.measure_size(project)
    wanted = evaluate(graph, sample)
    (name,) = wanted
    got = np.frombuffer(output, np.float32).reshape(wanted[name].shape)
    if not np.allclose(got, wanted[name], rtol=1e-4 if real else 0, atol=1e-4 if real else 0):
        raise SystemExit(f"{layer.name} with {bits} bits gives another result than the reference")
    part = next(item for item in result.layers if any(word in item.symbol for word in ("conv2d", "depthwise", "dense")))
    cell = f"{part.instructions / layer.macs:.2f} / {size.constants:,} / {size.code:,}"
    return cell, (part.symbol, layer.macs, layer.outputs, part.instructions)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="cortex-m4")
    parser.add_argument("--real", action="store_true", help="float32 activations")
    parser.add_argument("--json", type=Path, help="also write the layers to this file")
    options = parser.parse_args()
    measured: dict[str, dict[str, list[Row]]] = {}
    with tempfile.TemporaryDirectory(prefix="microlith-plugin-") as folder:
        plugin = counting.build_plugin(Path(folder))
        print("| layer | " + " | ".join(f"{bits} bits" for bits in CODES) + " |")
        print("|---" * (len(CODES) + 1) + "|")
        for layer in LAYERS:
            cells = [measure(layer, bits, options.target, options.real, plugin) for bits in CODES]
            print(f"| {layer.name} | " + " | ".join(text for text, _ in cells) + " |", flush=True)
            measured[layer.name] = {"layers": [row for (_, row), bits in zip(cells, CODES, strict=True) if bits < 8]}
    if options.json:
        options.json.write_text(json.dumps({options.target: measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
