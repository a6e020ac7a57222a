"""Layers of one op on emulated boards: what the kernels of special instruction sets take, and what plain C takes.

    python benchmarks/mcu/kernel_layers.py [--only TEXT] [--target cortex-m4] [--json counts.json] [--page PAGE]

Each layer is a model of its own, drawn with a seed. What the board gives is held against the NumPy reference, byte for
byte. The table has instructions for each element of the output, or for each multiply-accumulate where there are any.
The file that --json writes can be given to fit_costs.py.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import counting
import numpy as np
import tables

from microlith.codegen import execute, generate
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.nnacl_kernels import catalogue
from microlith.numerics import FLOAT_EVEN, quantize_multiplier, quantize_multipliers
from microlith.ops.curves import softmax_curves

TARGETS = ("cortex-m4", "cortex-m55")
SPECIAL = ("dsp", "vfp", "mve")
BEGIN, END = "<!-- bench-kernels begins -->", "<!-- bench-kernels ends -->"

Attrs = Mapping[str, Any]


def layer(op: str, shapes: Sequence[tuple[int, ...]], attrs: Attrs, *, dtype: DType = DType.s8) -> Graph:
    """An op whose inputs are all given when it runs."""
    graph = Graph("layer")
    for index, shape in enumerate(shapes):
        graph.inputs.append(Value(f"x{index}", TensorType(dtype, shape)))
    return finished(graph, graph.add(op, graph.inputs, dict(attrs)).output)


def finished(graph: Graph, output: Value) -> Graph:
    output.name = "y"
    graph.outputs = [output]
    return graph


def scaled(factor: float, mult: str = "mult", shift: str = "shift") -> dict[str, int]:
    numbers = quantize_multiplier(factor)
    return {mult: numbers[0], shift: numbers[1]}


def mean(height: int, channels: int, dtype: DType = DType.s8) -> Graph:
    """Over height and width."""
    attrs = {"axes": 0b0110, "keep_dims": 1, **scaled(0.9), "x_zero": 3, "y_zero": -5}
    attrs |= scaled(0.9 / height**2)
    return layer("reduce_mean", [(1, height, height, channels)], attrs | limits(dtype), dtype=dtype)


def limits(dtype: DType) -> dict[str, int]:
    ends = np.iinfo(dtype.numpy)
    return {"q_min": int(ends.min), "q_max": int(ends.max)} | ({"x_zero": 0, "y_zero": 0} if dtype is DType.s16 else {})


def pool(op: str, size: int, window: int, channels: int, dtype: DType = DType.s8) -> Graph:
    attrs = {"kernel_h": window, "kernel_w": window, "stride_h": window, "stride_w": window}
    zeros = {"x_zero": 3, "y_zero": 3} if op == "avg_pool2d" else {}
    kept = {name: value for name, value in limits(dtype).items() if name in ("q_min", "q_max") or zeros}
    return layer(op, [(1, size, size, channels)], {**attrs, **zeros, **kept}, dtype=dtype)


def product(op: str, shapes: Sequence[tuple[int, ...]]) -> Graph:
    """mul or prelu of s8."""
    attrs = {"a_zero": 3, "b_zero": -7, "y_zero": 11, **scaled(0.012, "y_mult", "y_shift")}
    return layer(op, shapes, attrs | (scaled(0.9, "a_mult", "a_shift") if op == "prelu" else {}))


def total(op: str, shapes: Sequence[tuple[int, ...]]) -> Graph:
    """add or sub of s8, as TFLite scales them."""
    attrs = {"a_zero": 3, "b_zero": -7, "y_zero": 11, "left_shift": 19, **scaled(1.0, "a_mult", "a_shift")}
    attrs |= {**scaled(0.62, "b_mult", "b_shift"), **scaled(2.0**-19 * 0.7, "y_mult", "y_shift")}
    return layer(op, shapes, attrs)


def in_floats(op: str, scale: float) -> Graph:
    """add or mul of s8, rounded as ONNX rounds: by the scales of its tensors."""
    attrs = {"a_zero": 3, "b_zero": -7, "y_zero": 11, "rounding": FLOAT_EVEN}
    attrs |= {"a_scale": 0.05, "b_scale": 0.031, "y_scale": scale}
    return layer(op, [(1, 8, 8, 64), (1, 8, 8, 64)], attrs)


def softmax(rows: int, depth: int, dtype: DType = DType.s8) -> Graph:
    graph = Graph("layer")
    x = Value("x", TensorType(dtype, (rows, depth)))
    graph.inputs.append(x)
    if dtype is DType.s16:
        table, attrs = softmax_curves(), scaled(0.4)
    else:
        table, attrs = np.exp(-0.07 * np.arange(255, -1, -1, dtype=np.float64)).astype(np.float32), {}
    return finished(graph, graph.add("softmax", [x, graph.constant("table", table)], {"axis": 1, **attrs}).output)


def matmul(batch: int, m: int, k: int, n: int, transposed: bool, dtype: DType = DType.s8) -> Graph:
    attrs = {"transpose_b": int(transposed), "a_zero": 3, "b_zero": -7, "y_zero": 11, **scaled(0.0007)}
    if dtype is DType.s16:
        attrs |= {"a_zero": 0, "b_zero": 0, "y_zero": 0, "q_min": -32768, "q_max": 32767, **scaled(0.00001)}
    return layer("matmul", [(batch, m, k), (batch, n, k) if transposed else (batch, k, n)], attrs, dtype=dtype)


def transposed_conv(size: int, depth: int, channels: int, window: int) -> Graph:
    rng = np.random.default_rng(3)
    graph = Graph("layer")
    x = Value("x", TensorType(DType.s8, (1, size, size, depth)))
    graph.inputs.append(x)
    inputs = [
        x,
        graph.constant("w", rng.integers(-127, 128, (window, window, depth, channels), np.int8)),
        graph.constant("b", rng.integers(-2000, 2000, channels, np.int32)),
        graph.constant("m", quantize_multipliers(rng.uniform(0.0005, 0.002, channels))),
    ]
    pads = {"pad_before": (0, 0, 0), "pad_after": (0, window - 2, window - 2), "stride": (1, 2, 2)}
    return finished(graph, graph.add("conv_transpose", inputs, {**pads, "x_zero": 3, "y_zero": -5}).output)


def recurrent(op: str, size: int, hidden: int, steps: int, dtype: DType = DType.s8, **attrs: int) -> Graph:
    """A layer of fixed_gru or fixed_lstm; of its results y alone is read."""
    rng = np.random.default_rng(3)
    graph = Graph("layer")
    x = Value("x", TensorType(dtype, (steps, 1, size)))
    graph.inputs.append(x)
    rows = hidden * (4 if op == "fixed_lstm" else 3)
    largest = float(np.iinfo(dtype.numpy).max)
    factors = [quantize_multipliers(rng.uniform(0.5, 1.0, rows) * unit) for unit in (16.0 / largest, 16.0 / 32768.0)]
    inputs = [
        x,
        graph.constant("w", rng.integers(-127, 128, (rows, size), np.int8)),
        graph.constant("r", rng.integers(-127, 128, (rows, hidden), np.int8)),
        graph.constant("sums", rng.integers(-2000, 2000, (3, rows), np.int32)),
        graph.constant("factors", np.concatenate(factors)),
    ]
    attrs |= scaled(largest / 32768.0, "y_mult", "y_shift") | {"y_zero": 0}
    return finished(graph, graph.add(op, inputs, attrs).outputs[0])


def resize(size: int, channels: int, mode: str) -> Graph:
    attrs: dict[str, Any] = {"size": (-1, 2 * size, 2 * size, -1), "scale": (1.0,) * 4}
    if mode == "bilinear":
        attrs |= {"mode": 1, "transform": 0, "stepwise": 1, "arithmetic": 1}
    else:
        attrs |= {"mode": 0, "transform": 4, "nearest_mode": 2}
    return layer("resize", [(1, size, size, channels)], attrs)


LAYERS: Mapping[str, Callable[[], Graph]] = {
    "avg_pool2d 3x3, 12x12x16": lambda: pool("avg_pool2d", 12, 3, 16),
    "avg_pool2d 7x7, 7x7x64": lambda: pool("avg_pool2d", 7, 7, 64),
    "avg_pool2d 2x2, 12x12x16": lambda: pool("avg_pool2d", 12, 2, 16),
    "avg_pool2d 8x8, 16x16x24": lambda: pool("avg_pool2d", 16, 8, 24),
    "avg_pool2d 3x3, 12x12x16, s16": lambda: pool("avg_pool2d", 12, 3, 16, DType.s16),
    "max_pool2d 2x2, 12x12x16": lambda: pool("max_pool2d", 12, 2, 16),
    "max_pool2d 2x2, 12x12x16, s16": lambda: pool("max_pool2d", 12, 2, 16, DType.s16),
    "mean of 4x4, 64 channels": lambda: mean(4, 64),
    "mean of 7x7, 320 channels": lambda: mean(7, 320),
    "mean of 20x20, 30 channels": lambda: mean(20, 30),
    "mean of 7x7, 64 channels, s16": lambda: mean(7, 64, DType.s16),
    "mul, 4096": lambda: product("mul", [(1, 8, 8, 64), (1, 8, 8, 64)]),
    "mul by a number for each channel, 4096": lambda: product("mul", [(1, 8, 8, 64), (1, 1, 1, 64)]),
    "mul by a number for each position, 4096": lambda: product("mul", [(1, 8, 8, 64), (1, 8, 8, 1)]),
    "mul by one number, 4096": lambda: product("mul", [(1, 8, 8, 64), (1, 1, 1, 1)]),
    "prelu, 4096": lambda: product("prelu", [(1, 8, 8, 64), (1, 1, 1, 64)]),
    "add, 4096": lambda: total("add", [(1, 8, 8, 64), (1, 8, 8, 64)]),
    "add to each channel, 4096": lambda: total("add", [(1, 8, 8, 64), (1, 1, 1, 64)]),
    "add to each position, 4096": lambda: total("add", [(1, 8, 8, 64), (1, 8, 8, 1)]),
    "sub, 4096": lambda: total("sub", [(1, 8, 8, 64), (1, 8, 8, 64)]),
    "add, 4096, float-even": lambda: in_floats("add", 0.08),
    "mul, 4096, float-even": lambda: in_floats("mul", 0.17),
    "softmax of 10": lambda: softmax(1, 10),
    "softmax of 64 rows of 49": lambda: softmax(64, 49),
    "softmax of 64 rows of 49, s16": lambda: softmax(64, 49, DType.s16),
    "matmul 49x32 by 32x49 transposed": lambda: matmul(2, 49, 32, 49, True),
    "matmul 49x49 by 49x32": lambda: matmul(2, 49, 49, 32, False),
    "matmul 49x32 by 32x49 transposed, s16": lambda: matmul(2, 49, 32, 49, True, DType.s16),
    "matmul 49x49 by 49x32, s16": lambda: matmul(2, 49, 49, 32, False, DType.s16),
    "conv_transpose 2x2, 32 to 16": lambda: transposed_conv(8, 32, 16, 2),
    "conv_transpose 3x3, 16 to 8": lambda: transposed_conv(8, 16, 8, 3),
    "conv_transpose 4x4, 32 to 32": lambda: transposed_conv(6, 32, 32, 4),
    "fixed_lstm 40 to 64": lambda: recurrent("fixed_lstm", 40, 64, 4),
    "fixed_lstm 40 to 64, s16": lambda: recurrent("fixed_lstm", 40, 64, 4, DType.s16),
    "fixed_gru 40 to 64": lambda: recurrent("fixed_gru", 40, 64, 4),
    "fixed_gru 40 to 64, linear before reset": lambda: recurrent("fixed_gru", 40, 64, 4, linear_before_reset=1),
    "fixed_gru 40 to 64, s16": lambda: recurrent("fixed_gru", 40, 64, 4, DType.s16),
    "resize nearest, 8x8x32": lambda: resize(8, 32, "nearest"),
    "resize bilinear, 8x8x32": lambda: resize(8, 32, "bilinear"),
}


def drawn(rng: np.random.Generator, value: Value) -> np.ndarray:
    if value.dtype.is_float:
        return rng.uniform(-4, 4, value.type.static_shape).astype(value.dtype.numpy)
    ends = np.iinfo(value.dtype.numpy)
    return rng.integers(ends.min, ends.max, value.type.static_shape, value.dtype.numpy, endpoint=True)


PER_PRODUCT = ("matmul", "conv_transpose", "fixed_lstm", "fixed_gru")
"""Layers whose multiply-accumulates count."""


def measure(build: Callable[[], Graph], target: str, without: Sequence[str], plugin: Path) -> list[list[Any]]:
    """Symbol, multiply-accumulates or elements read, elements of the outputs and instructions of each kernel call."""
    graph = build()
    rng = np.random.default_rng(1)
    sample = {value.name: drawn(rng, value) for value in graph.inputs}
    skipped = [kernel.symbol for kernel in catalogue.kernels() if kernel.isa in without]
    with tempfile.TemporaryDirectory(prefix="microlith-layer-") as folder:
        report = generate(graph, target, Path(folder) / "project", name="layer", samples=[sample], without=skipped)
        project = execute.Project.open(Path(folder) / "project")
        execute.build(project)
        count, output = counting.count(project, sample, plugin)
    (wanted,) = evaluate(graph, sample).values()
    if output != wanted.tobytes():
        raise SystemExit(f"{graph.nodes[0].op} on {target} gives another result than the reference")
    rows = [row for row in report.layer_table if row["kernel"]]
    read = graph.inputs[0].type.count
    return [
        [one.symbol, row["macs"] or read, wanted.size, one.instructions]
        for row, one in zip(rows, count.layers, strict=True)
    ]


def cells(plain: list[Any], best: list[Any], per_product: bool) -> list[str]:
    """Instructions for each product or output, in C and with the best kernel, where there is another."""
    places = plain[1] if per_product else plain[2]
    return [f"{plain[3] / places:.2f}", f"{best[3] / places:.2f}" if best[0] != plain[0] else "–"]


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="layers whose name matches this pattern")
    parser.add_argument("--target", action="append", help=f"repeatable; default {', '.join(TARGETS)}")
    parser.add_argument("--json", type=Path, help="also write the counts to this file")
    parser.add_argument("--page", type=Path, help="put the table into this page, between its marks")
    options = parser.parse_args()
    targets = options.target or TARGETS
    found: dict[str, dict[str, dict[str, Any]]] = {target: {} for target in targets}
    lines = [
        "| layer | " + " | ".join(f"{target}, C | kernel" for target in targets) + " |",
        "|---|" + "---:|" * (2 * len(targets)),
    ]
    print("\n".join(lines))
    with tempfile.TemporaryDirectory(prefix="microlith-plugin-") as folder:
        plugin = counting.build_plugin(Path(folder))
        for name, build in LAYERS.items():
            if not re.search(options.only, name):
                continue
            row = []
            for target in targets:
                plain, best = (measure(build, target, without, plugin) for without in (SPECIAL, ()))
                found[target][name] = {"layers": plain if plain[0][0] == best[0][0] else [*plain, *best]}
                row += cells(plain[0], best[0], name.startswith(PER_PRODUCT))
            lines.append(f"| {name} | " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    if options.page:
        tables.write_page(options.page, BEGIN, END, "\n".join(lines) + "\n")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
