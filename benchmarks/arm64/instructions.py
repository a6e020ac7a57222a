"""Instructions of one inference on AArch64, as qemu-aarch64 counts them: of the runtime and of generated C.

    python benchmarks/arm64/instructions.py --models-dir DIR

DIR holds the int8 models of MLPerf Tiny under their own names, each with a NAME.npz (``input``, and what LiteRT's
built-in kernels give as ``output_builtin`` or ``output``). The runtime is cross-built; ``lith_bench`` runs 1 and 11
times, and a tenth of the difference is an inference. In generated C it is all between the call of NAME_run() and its
return. Emulated alone: instructions are not cycles. Exit code 0 when all outputs are those that are stored.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "mcu"))

import counting  # noqa: E402

from microlith import convert, targets  # noqa: E402
from microlith.codegen import execute, generate  # noqa: E402

MODELS = {"kws_ref_model": "KWS", "vww_96_int8": "VWW", "pretrainedResnet_quant": "IC", "ad01_int8": "AD"}
LITERT = {
    "cortex-a76": {"KWS": 712_364, "VWW": 1_927_580, "IC": 1_499_462, "AD": 45_737},
    "cortex-a72": {"KWS": 1_940_445, "VWW": 3_616_001, "IC": 4_321_826, "AD": 95_007},
}
"""ai-edge-litert 2.3.0 (XNNPACK), counted in the same way: without what its call from Python costs."""
TARGETS = {"cortex-a72": "arm64-linux", "cortex-a76": "arm64-linux-dotprod", "max": "arm64-linux-i8mm"}
LIBRARIES = "/usr/aarch64-linux-gnu"
MORE = 10
"""Inferences of which a run of lith_bench has more than the other."""


def cross_build(folder: Path) -> None:
    """The runtime and its tools for AArch64 in ``folder``."""
    options = ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", "-DCMAKE_BUILD_TYPE=Release"]
    options.append("-DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc")
    counting.run(["cmake", "-S", ROOT / "runtime", "-B", folder, *options])
    counting.run(["cmake", "--build", folder, "-j2"])


def emulate(cpu: str, command: Sequence[str | Path], plugin: Sequence[str] = ()) -> str:
    """What a program prints on an emulated core."""
    return counting.run(["qemu-aarch64", *plugin, "-cpu", cpu, "-L", LIBRARIES, *command])


def count_runtime(
    build: Path, model: Path, cpu: str, plugin: Path, folder: Path, options: Sequence[str] = (), more: int = MORE
) -> int:
    """Instructions of one inference of the runtime. ``options``: for lith_bench."""
    totals = []
    for repeat in (1, 1 + more):
        counts = folder / "counts"
        command = [build / "lith_bench", model, "--warmup", "1", "--repeat", str(repeat), *options]
        emulate(cpu, command, ["-plugin", f"{plugin},out={counts}"])
        totals.append(int(counts.read_text().split()[1]))
    return (totals[1] - totals[0]) // more


def runtime_output(build: Path, model: Path, cpu: str, sample: np.ndarray, folder: Path) -> bytes:
    """The bytes that the runtime computes."""
    np.save(folder / "x.npy", sample)
    emulate(cpu, [build / "lith_run", model, "--input", folder / "x.npy", "--output-dir", folder / "out"])
    (path,) = (folder / "out").iterdir()
    output: np.ndarray = np.load(path)
    path.unlink()
    return output.tobytes()


def build_project(path: Path, sample: np.ndarray, cpu: str, folder: Path) -> execute.Project:
    """The generated project of a model, compiled and linked statically: its addresses are those of the file."""
    graph = convert(path)
    name = graph.inputs[0].name
    generate(graph, TARGETS[cpu], folder, name=path.stem, samples=[{name: sample}])
    project = execute.Project.open(folder)
    execute.build(project, variables={"LDFLAGS": "-static", "WARNINGS": "-Wall -Wextra -Wpedantic -Werror"})
    return project


def share(count: int, cpu: str, model: str) -> str:
    """A cell of the table: millions, and the share of LiteRT's count."""
    other = LITERT.get(cpu, {}).get(model)
    return f"{count / 1e6:.3f} ({count / other:.2f})" if other else f"{count / 1e6:.3f}"


def measure(options: argparse.Namespace, folder: Path) -> tuple[dict[str, dict[str, str]], bool]:
    """Cells by row and model, and whether all outputs were right."""
    build = options.build or folder / "runtime"
    cross_build(build)
    plugin = counting.build_plugin(folder)
    rows: dict[str, dict[str, str]] = {}
    right = True
    chosen = {stem: name for stem, name in MODELS.items() if not options.model or name in options.model}
    for stem, name in chosen.items():
        path = options.models_dir / f"{stem}.tflite"
        with np.load(path.with_suffix(".npz")) as stored:
            sample = stored["input"]
            wanted = stored["output_builtin" if "output_builtin" in stored else "output"].tobytes()
        model = folder / f"{stem}.lith"
        convert(path, model)
        for cpu in options.cpu or list(TARGETS):
            found = count_runtime(build, model, cpu, plugin, folder)
            rows.setdefault(f"{cpu}, runtime", {})[name] = share(found, cpu, name)
            right &= runtime_output(build, model, cpu, sample, folder) == wanted
            if TARGETS[cpu] not in {target.name for target in targets.all_targets()}:
                continue
            project = build_project(path, sample, cpu, folder / f"{stem}-{cpu}")
            feed = {project.report["inputs"][0]["name"]: sample}
            count, output = counting.count(project, feed, plugin, profile=options.profile)
            rows.setdefault(f"{cpu}, generated C", {})[name] = share(count.instructions, cpu, name)
            right &= output == wanted
            if options.profile:
                for layer in count.layers:
                    print(f"  {layer.instructions:10,}  {layer.symbol}")
                for function, number in list(count.functions.items())[:16]:
                    print(f"  {number:10,}  {function}")
    return rows, right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models-dir", type=Path, required=True, help="folder with the models")
    parser.add_argument("--model", action="append", choices=list(MODELS.values()), help="only this one; repeatable")
    parser.add_argument("--cpu", action="append", choices=list(TARGETS), help="only this core; repeatable")
    parser.add_argument("--build", type=Path, help="folder for the cross build, which stays")
    parser.add_argument("--profile", action="store_true", help="instructions of layers and functions of generated C")
    parser.add_argument("--json", type=Path, help="also write the cells to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="microlith-arm64-") as folder:
        rows, right = measure(options, Path(folder))
    names = list(next(iter(rows.values())))
    compiler = counting.run(["aarch64-linux-gnu-gcc", "--version"]).splitlines()[0]
    emulator = subprocess.run(["qemu-aarch64", "--version"], capture_output=True, text=True, check=True).stdout
    print(f"{compiler}; {emulator.splitlines()[0]}\n")
    print("| | " + " | ".join(names) + " |\n|---|" + "---:|" * len(names))
    for row, cells in rows.items():
        print(f"| {row} | " + " | ".join(cells.get(name, "–") for name in names) + " |")
    print("\nall outputs are those that are stored" if right else "\nOUTPUTS DIFFER")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
