"""Half precision beside float32 on AArch64 and on a Cortex-M55: instructions of one inference, and what is lost.

    python benchmarks/models/half_precision.py [--net NAME] [--target NAME] [--profile]
    python benchmarks/models/half_precision.py --accuracy

The nets are those of ``benchmarks/cpu/nets.py`` (seeded weights); each is generated as C in float32 and with
``--quantize float16 --compute float16``, compiled, and run in QEMU, which counts instructions (not cycles). Both
results are held against those of ONNX Runtime for the float32 model. With ``--accuracy`` the models of
``benchmarks/quantization/accuracy.py`` classify their test samples with the kernels of AArch64 that compute on halves.
Needs PyTorch, ONNX Runtime and scikit-learn.
"""

from __future__ import annotations

import argparse
import io
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("mcu", "cpu", "quantization")]

import accuracy  # noqa: E402
import counting  # noqa: E402
import nets  # noqa: E402

from microlith import targets  # noqa: E402
from microlith.codegen import execute, generate  # noqa: E402
from microlith.converter import convert  # noqa: E402
from microlith.converter.quantize import QuantizeOptions  # noqa: E402

NETS = ("mlp10", "autoenc_640", "dscnn_kws", "resnet8_cifar", "mobilenet_v1_025_96", "mobilenet_v2")
TARGETS = ("arm64-linux-fp16", "cortex-m55")
FORMS = {"float32": None, "float16": QuantizeOptions("float16", compute="float16")}


def exported(name: str) -> tuple[bytes, np.ndarray]:
    """A net as ONNX, and its input."""
    module, x = nets.build(name)
    stream = io.BytesIO()
    torch.onnx.export(module, (x,), stream, input_names=["x"], output_names=["y"], dynamo=False)
    return stream.getvalue(), x.numpy()


def decibels(wanted: np.ndarray, got: np.ndarray) -> float:
    """Signal to noise."""
    noise = float(((wanted.astype(np.float64) - got) ** 2).sum())
    return math.inf if noise == 0 else 10 * math.log10(float((wanted.astype(np.float64) ** 2).sum()) / noise)


def measure(name: str, target: str, folder: Path, plugin: Path, profile: bool) -> str | None:
    """A row of the table, or None for a net that does not fit the board."""
    model, x = exported(name)
    (wanted,) = onnxruntime.InferenceSession(model).run(None, {"x": x})
    cells, counts, wide = [], [], []
    for form, options in FORMS.items():
        graph = convert(model, quantization=options)
        constants = sum(value.type.nbytes for value in graph.constants())
        chosen = targets.get(target)
        if chosen.board is not None and constants > chosen.board.flash.length - (1 << 18):
            cells.append(f"{constants / 2**20:.1f} MiB of constants: too large")
            continue
        path = folder / f"{name}-{target}-{form}"
        generate(graph, target, path, name="net", samples=[{"x": x}])
        project = execute.Project.open(path)
        warnings = "-Wall -Wextra -Wpedantic -Werror"
        execute.build(project, variables={"WARNINGS": warnings} | ({} if chosen.board else {"LDFLAGS": "-static"}))
        count, output = counting.count(project, {"x": x}, plugin, profile=profile)
        counts.append(count.instructions)
        noise = decibels(wanted, np.frombuffer(output, np.float32)[: wanted.size].reshape(wanted.shape))
        cells.append(f"{count.instructions / 1e6:.3f} M, {constants / 1024:.0f} KiB, {noise:.0f} dB")
        wide.append(form)
        if profile:
            for layer in count.layers:
                print(f"  {layer.instructions:10,}  {layer.symbol}")
            for function, number in list(count.functions.items())[:12]:
                print(f"  {number:10,}  {function}")
    ratio = f"{counts[1] / counts[0]:.2f}" if len(counts) == 2 else ""
    return f"| {name} | {target} | {' | '.join(cells)} | {ratio} |"


def found(task: accuracy.Task, options: QuantizeOptions | None, folder: Path) -> int:
    """How many of the test samples generated C for AArch64 with half-precision arithmetic classifies rightly."""
    name = task.model.graph.input[0].name
    graph = convert(task.model, inputs={name: (1, *task.inputs.shape[1:])}, quantization=options)
    generate(graph, TARGETS[0], folder, name="net")
    project = execute.Project.open(folder)
    execute.build(project, variables={"LDFLAGS": "-static"})
    samples = [{name: x[None]} for x in task.inputs]
    scores = np.concatenate([next(iter(result.values())) for result in execute.run(project, samples).samples])
    predicted = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return int(np.sum(predicted == task.labels))


def accuracies(folder: Path) -> None:
    """Prints what half precision loses."""
    print("| model | test samples | float32 | float16, lost |\n|---|---:|---:|---:|")
    for name, make in accuracy.tasks().items():
        task = make(0, 0)
        assert task is not None
        right = [found(task, options, folder / f"{name}-{form}") for form, options in FORMS.items()]
        whole, half = (100 * count / len(task.labels) for count in right)
        print(f"| {name} | {len(task.labels)} | {whole:.2f} | {whole - half:+.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", action="append", help="only this one; repeatable")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only this one; repeatable")
    parser.add_argument("--profile", action="store_true", help="instructions of layers and functions")
    parser.add_argument("--accuracy", action="store_true", help="of trained models, in place of instructions")
    options = parser.parse_args()
    if options.accuracy:
        with tempfile.TemporaryDirectory(prefix="microlith-half-") as folder:
            accuracies(Path(folder))
        return
    print("| net | target | float32 | float16 | ratio |\n|---|---|---|---|---:|")
    with tempfile.TemporaryDirectory(prefix="microlith-half-") as folder:
        plugin = counting.build_plugin(Path(folder))
        for name in options.net or NETS:
            for target in options.target or TARGETS:
                print(measure(name, target, Path(folder), plugin, options.profile), flush=True)


if __name__ == "__main__":
    main()
