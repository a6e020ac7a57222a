"""Instructions of one inference of float32 networks on AArch64, as qemu-aarch64 counts them: vectors and plain C.

    python benchmarks/cpu/net_files.py FOLDER NAME ...
    python benchmarks/arm64/float_instructions.py FOLDER NAME ...

The runtime is cross-built; lith_bench runs once and twice, and the difference is an inference. Plain C is what gcc
makes of the C kernels with -O3, where it may use the same vectors. ``products``: a quarter of the multiplications, the
least instructions that multiply and add four lanes. Emulated alone: instructions are not cycles. Exit code 0 when all
outputs are those of PyTorch.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import instructions
import numpy as np

from microlith import convert

CPU = "cortex-a72"
TOLERANCE = 2e-4
"""Of the largest output: some fifty layers of float32 sums in another order."""


def right(build: Path, model: Path, net: Path, folder: Path) -> bool:
    """Whether the runtime computes what PyTorch did."""
    found = instructions.runtime_output(build, model, CPU, np.load(net / "x.npy"), folder)
    wanted = np.load(net / "y.npy").ravel()
    error = np.abs(np.frombuffer(found, np.float32) - wanted).max()
    return bool(error <= TOLERANCE * np.abs(wanted).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what net_files.py wrote")
    parser.add_argument("names", nargs="+", metavar="NAME", help="networks")
    parser.add_argument("--build", type=Path, help="folder for the cross build, which stays")
    options = parser.parse_args()
    fine = True
    print("| | products | plain C | NEON | NEON / C | products / NEON |\n|---|" + "---:|" * 5)
    with tempfile.TemporaryDirectory(prefix="microlith-arm64-") as name:
        folder = Path(name)
        build = options.build or folder / "runtime"
        instructions.cross_build(build)
        plugin = instructions.counting.build_plugin(folder)
        for net in options.names:
            source, model = options.folder / net, folder / "model.lith"
            convert(source / "f32.onnx", model)
            plain, vectors = (
                instructions.count_runtime(build, model, CPU, plugin, folder, ["--isa", isa], more=1)
                for isa in ("c", "c,neon")
            )
            least = json.loads((source / "facts.json").read_text())["macs"] / 4
            figures = f"{least / 1e6:.1f} | {plain / 1e6:.1f} | {vectors / 1e6:.1f}"
            print(f"| {net} | {figures} | {vectors / plain:.2f} | {least / vectors:.2f} |", flush=True)
            fine &= right(build, model, source, folder)
    print("\nall outputs are those of PyTorch" if fine else "\nOUTPUTS DIFFER")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
