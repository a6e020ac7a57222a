"""Fits what kernels cost on a Cortex-M to counts that collection.py measured, and writes codegen/kernel_costs.py and
codegen/kernel_bytes.py.

    python benchmarks/mcu/collection.py --json best.json
    python benchmarks/mcu/collection.py --without dsp --without vfp --target cortex-m4 --json plain.json
    python benchmarks/mcu/fit_costs.py best.json plain.json

    python benchmarks/mcu/kernel_layers.py --json layers.json
    python benchmarks/mcu/fit_costs.py --keep --sources 'conv_transpose|columns' layers.json

With ``--keep`` the instructions of kernels that the files do not have stay as they are in the page; with ``--sources``
only source files that match, or are new, are compiled.

The model: instructions = a * multiply-accumulates + b * elements of the outputs + c, none of them negative, with the
least sum of squared relative errors over the layers measured. Where there are no multiply-accumulates, the elements of
the first input stand for them. Bytes of code are those of each source file compiled alone for the core.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from microlith import targets
from microlith.codegen.kernel_bytes import CODE_BYTES
from microlith.codegen.kernel_costs import INSTRUCTIONS
from microlith.nnacl_kernels import catalogue

ROOT = Path(__file__).resolve().parents[2]
COSTS_PAGE = ROOT / "codegen" / "kernel_costs.py"
BYTES_PAGE = ROOT / "codegen" / "kernel_bytes.py"
CORES = ("cortex-m4", "cortex-m55")

_OTHER = (
    "plan",
    "pack",
    "cmsisnn",
    "sse41",
    "avx2",
    "avx512",
    "vnni",
    "avxvnni",
    "avx512bf16",
    "neon",
    "dotprod",
    "i8mm",
    "fp16",
    "bf16",
)
"""Ends of the names of files that no Cortex-M compiles."""

HEAD = '"""{}"""\n\nfrom __future__ import annotations\n\n'


def fit(samples: Sequence[tuple[int, int, int]]) -> tuple[float, float, float]:
    """(a, b, c) of the model for layers (multiply-accumulates or elements read, outputs, instructions)."""
    data = np.array(samples, np.float64)
    features = np.column_stack([data[:, 0], data[:, 1], np.ones(len(data))]) / data[:, 2:3]
    best, least = np.zeros(3), np.inf
    order = (1, 0, 2) if np.array_equal(data[:, 0], data[:, 1]) else (0, 1, 2)
    for size in (1, 2, 3):
        for chosen in itertools.combinations(order, size):
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
    """By core and symbol the layers of all files: multiply-accumulates or elements read, elements of the outputs,
    instructions."""
    layers: dict[str, dict[str, list[tuple[int, int, int]]]] = {core: defaultdict(list) for core in CORES}
    for file in files:
        for core, models in json.loads(file.read_text()).items():
            for row in models.values():
                for symbol, macs, outputs, instructions in row.get("layers", []):
                    layers[core][symbol].append((macs, outputs, max(instructions, 1)))
    return layers


def code_bytes(core: str, folder: Path, sources: str = "") -> dict[str, int]:
    """Bytes of code of each source file of the kernels for the instruction sets of a core; of files that do not match
    ``sources`` those of the page."""
    row = targets.get(core)
    library = catalogue.source_path("nnacl_base.h").parent
    sizes = {}
    for path in sorted(library.glob("*/*.c")):
        suffix = path.stem.rpartition("_")[2]
        foreign = suffix in _OTHER or (suffix in ("mve", "dsp", "vfp") and suffix not in row.isa)
        if foreign or (suffix not in row.isa and path.parent.name != "common"):
            continue
        name = path.relative_to(library).as_posix()
        if name in CODE_BYTES[core] and not re.search(sources, name):
            sizes[name] = CODE_BYTES[core][name]
            continue
        output = folder / "one.o"
        flags = ["-std=c11", "-O2", "-ffp-contract=off", "-fno-math-errno", *row.flags, f"-I{library}"]
        subprocess.run([row.compiler, *flags, "-c", str(path), "-o", str(output)], check=True)
        text = subprocess.run(
            [f"{row.tool_prefix}size", str(output)], check=True, capture_output=True, text=True
        ).stdout
        sizes[name] = int(text.splitlines()[1].split()[0])
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep what the files do not have")
    parser.add_argument("--sources", default="", help="a pattern of source files that are compiled anew; default all")
    options = parser.parse_args()
    layers = measured(options.files)
    lines = [
        HEAD.format(
            "What kernels cost on microcontrollers: written by benchmarks/mcu/fit_costs.py from measured counts."
        )
    ]
    lines.append("INSTRUCTIONS: dict[str, dict[str, tuple[float, float, float]]] = {\n")
    for core in CORES:
        lines.append(f'    "{core}": {{\n')
        rows = dict(INSTRUCTIONS[core]) if options.keep else {}
        rows |= {symbol: fit(samples) for symbol, samples in layers[core].items()}
        for symbol, row in sorted(rows.items()):
            numbers = ", ".join(f"{number:.4g}" for number in row)
            lines.append(f'        "{symbol}": ({numbers}),\n')
        lines.append("    },\n")
    lines.append(
        '}\n"""Of a layer by core and kernel: for each multiply-accumulate (or element read), output, and beside."""\n'
    )
    COSTS_PAGE.write_text("".join(lines))
    lines = [
        HEAD.format("How long the code of kernels is on microcontrollers: written by benchmarks/mcu/fit_costs.py.")
    ]
    lines.append("CODE_BYTES: dict[str, dict[str, int]] = {\n")
    with tempfile.TemporaryDirectory() as folder:
        for core in CORES:
            lines.append(f'    "{core}": {{\n')
            sizes = code_bytes(core, Path(folder), options.sources)
            lines += [f'        "{name}": {size},\n' for name, size in sizes.items()]
            lines.append("    },\n")
    lines.append('}\n"""By core and source file."""\n')
    BYTES_PAGE.write_text("".join(lines))


if __name__ == "__main__":
    main()
