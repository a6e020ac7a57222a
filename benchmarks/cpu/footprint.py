"""What else a runtime costs: start, memory, a call from C, a core that somebody else uses, sizes.

    python benchmarks/cpu/net_files.py nets mobilenet_v2 mlp10
    python benchmarks/cpu/compare.py nets mobilenet_v2 --out results.jsonl
    python benchmarks/cpu/footprint.py nets --results results.jsonl

Start and memory are those that compare.py saw. The runtime is built as users build it, whole and cut to MobileNetV2,
and stripped; ``--install`` also installs the package with what it depends on into an empty folder, and prints the size
with and without NumPy.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import microlith

ROOT = Path(__file__).resolve().parents[2]
BUSY = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass\n"


def call(*words: str | Path) -> str:
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout


def start_and_memory(results: Path) -> None:
    """Seconds from the import of an engine to the first output of MobileNetV2, and the peak of resident memory."""
    found: dict[str, Any] = {}
    for line in results.read_text().splitlines():
        record = json.loads(line)
        if (record["net"], record["kind"], record["threads"], record["isa"]) == ("mobilenet_v2", "f32", 1, None):
            found = record["engines"]
    if not found:
        print("start and memory: the results have no MobileNetV2 of float32 on one thread")
        return
    print("MobileNetV2, float32: from the import of the engine to the first output; resident memory at most\n")
    print("| engine | seconds | MiB |\n|---|---:|---:|")
    for name, facts in found.items():
        seconds = facts["import_s"] + facts["load_s"] + facts["first_s"]
        print(f"| {name} | {seconds:.3f} | {facts['peak_mib']:.0f} |")


def model_in(folder: Path, net: str, work: Path) -> Path:
    path = work / f"{net}.lith"
    microlith.convert(folder / net / "f32.onnx", path)
    return path


def median_ns(model: Any, seconds: float) -> float:
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter_ns()
        model.invoke()
        times.append(time.perf_counter_ns() - begin)
    return statistics.median(times)


def stolen_core(path: Path, x: np.ndarray) -> None:
    """Two threads of which one shares its core with a busy loop, against one thread."""
    cores = sorted(os.sched_getaffinity(0))[-2:]
    if len(cores) < 2:
        print("a stolen core: this machine has one core")
        return
    os.sched_setaffinity(0, {cores[0]})
    models = []
    for threads in (1, 2):
        model = microlith.load(path, threads=threads, cores=cores)
        name = model.inputs[0].name
        model.bind(name, np.ascontiguousarray(x))
        models.append(model)
    busy = subprocess.Popen([sys.executable, "-c", BUSY, str(cores[1])])
    try:
        time.sleep(0.3)
        ratios = []
        for _ in range(7):
            one, two = (median_ns(model, 0.3) for model in models)
            ratios.append(two / one)
    finally:
        busy.kill()
        busy.wait()
    print(f"two threads, a busy loop on the second core: {statistics.median(ratios):.2f} of the time of one thread")


def stripped(library: Path, work: Path) -> int:
    copy = work / "stripped.so"
    shutil.copy(library.resolve(), copy)
    call("strip", copy)
    return copy.stat().st_size


def build(source: Path, folder: Path) -> Path:
    call("cmake", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release")
    call("cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1))
    (library,) = [path for path in folder.rglob("libmicrolith.so") if path.exists()]
    return library


def installed_sizes(folder: Path) -> dict[str, int]:
    """Bytes of each package below a folder that pip installed into, without what Python compiles by itself."""
    sizes: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            first = path.relative_to(folder).parts[0]
            package = first.split("-")[0] if first.endswith(".dist-info") else first.removesuffix(".libs")
            sizes[package] = sizes.get(package, 0) + path.stat().st_size
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="that net_files.py wrote, with mobilenet_v2 and mlp10")
    parser.add_argument("--results", type=Path, help="what compare.py wrote with --out")
    parser.add_argument("--build", type=Path, help="folder for the builds, which stay")
    parser.add_argument("--install", action="store_true", help="install the package, to see how large it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="microlith-bench-") as name:
        work = Path(name)
        builds = options.build or work
        if options.results:
            start_and_memory(options.results)
            print()
        mobilenet, mlp = (model_in(options.folder, net, work) for net in ("mobilenet_v2", "mlp10"))
        stolen_core(mobilenet, np.load(options.folder / "mobilenet_v2" / "x.npy"))
        library = build(ROOT / "runtime", builds / "whole")
        report = json.loads(
            call(library.parent / "lith_bench", mlp, "--json", "--warmup", "1000", "--repeat", "100000")
        )
        print(f"mlp10, a call from C: {report['median_ns']} ns")
        call(sys.executable, "-m", "microlith", "crop", mobilenet, "-o", work / "cropped")
        cropped = build(work / "cropped", builds / "cropped")
        print(f"the library, stripped: {stripped(library, work):,} bytes; ", end="")
        print(f"cut to MobileNetV2: {stripped(cropped, work):,}")
        if options.install:
            call(sys.executable, "-m", "pip", "install", "--quiet", "--target", work / "installed", ROOT)
            sizes = installed_sizes(work / "installed")
            everything, numpy = sum(sizes.values()), sizes.pop("numpy")
            print(f"the installed package with all that it depends on: {everything / 1e6:.1f} MB, of that ", end="")
            print(f"NumPy {numpy / 1e6:.1f}; without it, as packages of peers are counted: ", end="")
            largest = sorted(sizes.items(), key=lambda item: -item[1])[:4]
            parts = ", ".join(f"{package} {size / 1e6:.1f}" for package, size in largest)
            print(f"{(everything - numpy) / 1e6:.1f} MB ({parts})")


if __name__ == "__main__":
    main()
