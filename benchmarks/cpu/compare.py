"""Microlith, ONNX Runtime and LiteRT on the same models in one process, their runs interleaved.

    python benchmarks/cpu/compare.py mobilenet_v2 resnet18 --int8 --threads 1 --runs 30
    python benchmarks/cpu/compare.py model.onnx model.tflite

A name is a network of nets.py; a path is an .onnx model (against ONNX Runtime) or a .tflite model (against LiteRT).
``--int8`` also measures each network quantized by ONNX Runtime (QDQ, per channel). Every round runs each engine once,
so that a disturbance hits all alike; where others use the machine the smallest time is the one to quote, and
``--cpu-time`` leaves out the time in which they had the core (one thread only). Prints the smallest and the median time
of each engine, and the largest difference of the outputs relative to the largest output.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nets
import numpy as np
import onnx

import microlith

Inputs = Mapping[str, np.ndarray]
Run = Callable[[], Sequence[np.ndarray]]


@dataclass
class Engine:
    name: str
    run: Run
    seconds: list[float] = field(default_factory=list)


def _draw(name: str, shape: Sequence[Any], dtype: np.dtype[Any]) -> np.ndarray:
    """Input of a seeded distribution; unknown sizes are 1."""
    random = np.random.default_rng(1)
    sizes = [size if isinstance(size, int) and size > 0 else 1 for size in shape]
    if np.issubdtype(dtype, np.floating):
        return random.standard_normal(sizes).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(max(info.min, -128), min(info.max, 127), sizes).astype(dtype)


def _microlith(path: Path, folder: Path, inputs: Inputs, threads: int, isa: str | None) -> Run:
    target = folder / f"{path.stem}.lith"
    microlith.convert(path, target)
    model = microlith.load(target, threads=threads, isa=isa)
    given = [inputs[spec.name] for spec in model.inputs]
    return lambda: list(model.run(*given).values())


def _onnxruntime(path: Path, threads: int) -> tuple[Run, Inputs]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    types = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8, "tensor(int64)": np.int64}
    inputs = {i.name: _draw(i.name, i.shape, np.dtype(types[i.type])) for i in session.get_inputs()}
    return lambda: session.run(None, inputs), inputs


def _litert(path: Path, threads: int) -> tuple[Run, Inputs]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=threads)
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()
    inputs = {d["name"]: _draw(d["name"], d["shape"].tolist(), np.dtype(d["dtype"])) for d in details}
    outputs = [d["index"] for d in interpreter.get_output_details()]

    def run() -> Sequence[np.ndarray]:
        for detail in details:
            interpreter.set_tensor(detail["index"], inputs[detail["name"]])
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in outputs]

    return run, inputs


def _quantized(path: Path) -> Path:
    from onnxruntime import quantization as q

    class Samples(q.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            random = np.random.default_rng(2)
            shape = (1, 3, 224, 224)
            self.left = iter([{"x": random.standard_normal(shape).astype(np.float32)} for _ in range(4)])

        def get_next(self) -> Any:
            return next(self.left, None)

    target = path.with_name(f"{path.stem}_int8.onnx")
    q.quantize_static(
        path,
        target,
        Samples(),
        quant_format=q.QuantFormat.QDQ,
        per_channel=True,
        activation_type=q.QuantType.QInt8,
        weight_type=q.QuantType.QInt8,
    )
    return target


def _difference(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> float:
    pairs = [(np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in zip(ours, theirs, strict=True)]
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in pairs)


def measure(path: Path, folder: Path, threads: int, runs: int, isa: str | None, clock: Callable[[], float]) -> str:
    """One line of the table; ``clock`` gives seconds."""
    is_onnx = path.suffix == ".onnx"
    peer_run, inputs = _onnxruntime(path, threads) if is_onnx else _litert(path, threads)
    engines = [
        Engine("Microlith", _microlith(path, folder, inputs, threads, isa)),
        Engine("ONNX Runtime" if is_onnx else "LiteRT", peer_run),
    ]
    difference = _difference(*(engine.run() for engine in engines))
    for _ in range(runs):
        for engine in engines:
            begin = clock()
            engine.run()
            engine.seconds.append(clock() - begin)
        engines.reverse()
    engines.sort(key=lambda engine: engine.name != "Microlith")
    least = [min(engine.seconds) * 1e3 for engine in engines]
    middle = [statistics.median(engine.seconds) * 1e3 for engine in engines]
    return (
        f"| {path.stem} | {engines[1].name} | {least[0]:.3f} | {least[1]:.3f} | {least[0] / least[1]:.2f} "
        f"| {middle[0]:.3f} | {middle[1]:.3f} | {middle[0] / middle[1]:.2f} | {difference:.1e} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(nets.NETS))
    parser.add_argument("--int8", action="store_true", help="also the quantized networks")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=30, help="rounds (default 30)")
    parser.add_argument("--cpu-time", action="store_true", help="time of the process instead of the wall")
    parser.add_argument("--isa", help="limit Microlith's instruction sets, as in c,avx2")
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    print(f"{platform.machine()}, {arguments.threads} thread(s), {arguments.runs} rounds, milliseconds\n")
    print("| model | peer | least | peer | ratio | median | peer | ratio | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in arguments.models:
            path = Path(model)
            paths = [path]
            if model in nets.NETS:
                paths = [folder / f"{model}.onnx"]
                onnx.save(nets.build(model), paths[0])
                paths += [_quantized(paths[0])] if arguments.int8 else []
            for each in paths:
                print(measure(each, folder, arguments.threads, arguments.runs, arguments.isa, clock), flush=True)


if __name__ == "__main__":
    main()
