"""What Winograd's algorithm gains and rounds on convolutions of 3 x 3 of float32, one thread.

    python benchmarks/cpu/winograd.py layers             # by layer: time with and without it, error of both
    python benchmarks/cpu/winograd.py nets NET.lith ...  # whole networks

Errors are the largest of all outputs, against sums in float64, as a multiple of the standard deviation of a sum (inputs
and weights are normal with variance 1).
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import microlith
from microlith import modelfile
from microlith.dtypes import DType
from microlith.ir import Graph, TensorType, Value

LAYERS = [(112, 16), (56, 16), (56, 32), (56, 64), (28, 64), (28, 128), (14, 128), (14, 256), (7, 256), (7, 512)]
"""Height and width, channels in and out."""


def _layer(size: int, channels: int, path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Writes a convolution; its weights and an input."""
    rng = np.random.default_rng(size * 1000 + channels)
    weights = rng.standard_normal((channels, 3, 3, channels)).astype(np.float32)
    graph = Graph("layer")
    graph.inputs = [Value("x", TensorType(DType.f32, (1, size, size, channels)))]
    pads = {"pad_top": 1, "pad_left": 1, "pad_bottom": 1, "pad_right": 1}
    node = graph.add("conv2d", [graph.inputs[0], graph.constant("w", weights)], pads, output_names=["y"])
    graph.outputs = [node.output]
    modelfile.save(graph, path)
    return weights, rng.standard_normal((1, size, size, channels)).astype(np.float32)


def _exact(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    size, wide = x.shape[1], weights.astype(np.float64)
    return sum(padded[:, y : y + size, x : x + size] @ wide[:, y, x].T for y in range(3) for x in range(3))  # type: ignore[return-value]


def _times(models: list[microlith.Model], x: np.ndarray, seconds: float) -> list[float]:
    """Median microseconds of each, in turn."""
    runs: list[list[float]] = [[] for _ in models]
    outputs = []
    for model in models:
        outputs.append(model.run(x)[model.outputs[0].name])
        model.bind(model.inputs[0].name, x)
        model.bind(model.outputs[0].name, outputs[-1])
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for model, times in zip(models, runs, strict=True):
            begin = time.perf_counter_ns()
            model.invoke()
            times.append((time.perf_counter_ns() - begin) / 1e3)
    return [statistics.median(times) for times in runs]


def layers(seconds: float) -> None:
    print("| rows and columns | channels | direct, us | by Winograd, us | ratio | error, direct | error, Winograd |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for size, channels in LAYERS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "layer.lith"
            weights, x = _layer(size, channels, path)
            models = [microlith.load(path, winograd=False), microlith.load(path)]
            exact, deviation = _exact(x, weights), np.sqrt(9 * channels)
            errors = [np.abs(model.run(x)["y"] - exact).max() / deviation for model in models]
            used = "winograd" in models[1].profile(x)[0].kernel
            direct, other = _times(models, x, seconds)
        last = (
            f"{other:.1f} | {other / direct:.2f} | {errors[0]:.1e} | {errors[1]:.1e}"
            if used
            else f"– | – | {errors[0]:.1e} | –"
        )
        print(f"| {size} | {channels} | {direct:.1f} | {last} |", flush=True)


def nets(paths: list[Path], seconds: float) -> None:
    print("| network | direct, us | with Winograd, us | ratio | packed weights, MiB | then |")
    print("|---|---:|---:|---:|---:|---:|")
    for path in paths:
        models = [microlith.load(path, winograd=False), microlith.load(path)]
        x = np.random.default_rng(0).standard_normal(models[0].inputs[0].shape).astype(np.float32)
        direct, other = _times(models, x, seconds)
        packed = [f"{model.memory.packed / 2**20:.1f}" for model in models]
        print(
            f"| {path.parent.name} | {direct:.1f} | {other:.1f} | {other / direct:.2f} | {packed[0]} | {packed[1]} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("layers", "nets"))
    parser.add_argument("paths", nargs="*", type=Path, help=".lith files (nets)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each line")
    options = parser.parse_args()
    if options.what == "layers":
        layers(options.seconds)
    else:
        nets(options.paths, options.seconds)


if __name__ == "__main__":
    main()
