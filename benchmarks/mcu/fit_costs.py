"""Fits what kernels cost on a Cortex-M to counts that collection.py measured, and writes codegen/kernel_costs.py.

    python benchmarks/mcu/collection.py --json best.json
    python benchmarks/mcu/collection.py --without dsp --without vfp --target cortex-m4 --json plain.json
    python benchmarks/mcu/fit_costs.py best.json plain.json

The model: instructions = a * multiply-accumulates + b * elements of the outputs + c, none of them negative, with the
least sum of squared relative errors over the layers measured. Bytes of code are those of each source file compiled
alone for the core.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from microlith import targets
from microlith.nnacl_kernels import catalogue

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "codegen" / "kernel_costs.py"
CORES = ("cortex-m4", "cortex-m55")

_OTHER = ("plan", "pack", "cmsisnn", "sse41", "avx2", "avx512", "vnni", "neon", "dotprod", "i8mm", "fp16")
"""Ends of the names of files that no Cortex-M compiles."""

HEAD = '''"""What kernels cost on microcontrollers: written by benchmarks/mcu/fit_costs.py from measured counts."""

from __future__ import annotations

'''


def fit(samples: Sequence[tuple[int, int, int]]) -> tuple[float, float, float]:
    """(a, b, c) of the model for layers (multiply-accumulates, outputs, instructions)."""
    data = np.array(samples, np.float64)
    features = np.column_stack([data[:, 0], data[:, 1], np.ones(len(data))]) / data[:, 2:3]
    best, least = np.zeros(3), np.inf
    for size in (1, 2, 3):
        for chosen in itertools.combinations(range(3), size):
            part = features[:, chosen]
            if len(data) < size or np.linalg.matrix_rank(part) < size:
                continue
            found, *_ = np.linalg.lstsq(part, np.ones(len(data)), rcond=None)
            error = float(np.sum((part @ found - 1) ** 2))
            if found.min() >= 0 and error < least - 1e-9:
                least = error
                best = np.zeros(3)
                best[list(chosen)] = found
    return float(best[0]), float(best[1]), float(best[2])


def measured(files: Sequence[Path]) -> dict[str, dict[str, list[tuple[int, int, int]]]]:
    """By core and symbol the layers of all files: multiply-accumulates, elements of the outputs, instructions."""
    layers: dict[str, dict[str, list[tuple[int, int, int]]]] = {core: defaultdict(list) for core in CORES}
    for file in files:
        for core, models in json.loads(file.read_text()).items():
            for row in models.values():
                for symbol, macs, outputs, instructions in row.get("layers", []):
                    layers[core][symbol].append((macs, outputs, max(instructions, 1)))
    return layers


def code_bytes(core: str, folder: Path) -> dict[str, int]:
    """Bytes of code of each source file of the kernels for the instruction sets of a core."""
    row = targets.get(core)
    library = catalogue.source_path("nnacl_base.h").parent
    sizes = {}
    for path in sorted(library.glob("*/*.c")):
        suffix = path.stem.rpartition("_")[2]
        foreign = suffix in _OTHER or (suffix in ("mve", "dsp", "vfp") and suffix not in row.isa)
        if foreign or (suffix not in row.isa and path.parent.name != "common"):
            continue
        output = folder / "one.o"
        flags = ["-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", *row.flags, f"-I{library}"]
        subprocess.run([row.compiler, *flags, "-c", str(path), "-o", str(output)], check=True)
        text = subprocess.run(
            [f"{row.tool_prefix}size", str(output)], check=True, capture_output=True, text=True
        ).stdout
        sizes[path.relative_to(library).as_posix()] = int(text.splitlines()[1].split()[0])
    return sizes


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]]
    if not files:
        raise SystemExit(__doc__)
    layers = measured(files)
    lines = [HEAD]
    lines.append("INSTRUCTIONS: dict[str, dict[str, tuple[float, float, float]]] = {\n")
    for core in CORES:
        lines.append(f'    "{core}": {{\n')
        for symbol, samples in sorted(layers[core].items()):
            numbers = ", ".join(f"{number:.4g}" for number in fit(samples))
            lines.append(f'        "{symbol}": ({numbers}),\n')
        lines.append("    },\n")
    lines.append(
        '}\n"""Of a layer by core and kernel: for each multiply-accumulate, each output element, and beside."""\n'
    )
    lines.append("\nCODE_BYTES: dict[str, dict[str, int]] = {\n")
    with tempfile.TemporaryDirectory() as folder:
        for core in CORES:
            lines.append(f'    "{core}": {{\n')
            lines += [f'        "{name}": {size},\n' for name, size in code_bytes(core, Path(folder)).items()]
            lines.append("    },\n")
    lines.append('}\n"""By core and source file."""\n')
    PAGE.write_text("".join(lines))


if __name__ == "__main__":
    main()
