"""Instructions, flash and RAM of generated C on emulated Cortex-M boards, beside stored figures of other engines.

    python benchmarks/mcu/bench.py --models-dir DIR --target cortex-m4

DIR holds .tflite or .onnx models, those of MLPerf Tiny under their own names (kws_ref_model.tflite, ...); a NAME.npz
beside a model has its input as `input` and the output to compare with as `output_builtin` or `output`. Without
--models-dir the model of examples/digits is measured. What is not compared with a stored output is compared with the
NumPy reference. Exit code 0 when every model gave the right bytes (floats: within the tolerance of their ops) and the
same count twice.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import counting
import memory_table
import numpy as np
import tables

from microlith import convert, targets
from microlith.codegen import execute, generate
from microlith.codegen.samples import tolerances
from microlith.evaluate import evaluate
from microlith.ir import Graph, Value
from microlith.lower import lower

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parents[1] / "examples" / "digits" / "digits.onnx"
MLPERF_TINY = tables.INT8 | tables.FLOAT
"""File name without suffix: what the model is called in tables, which list them in this order."""


BOARDS = [target.name for target in targets.all_targets() if target.architecture == "cortex-m"]


@dataclass(frozen=True)
class Row:
    """One model on one target."""

    model: str
    target: str
    macs: int
    count: counting.Count
    code: int
    """Bytes of flash but the constants of the model: code, parameters of the layers, the program around them."""
    constants: int
    weights_and_biases: int
    """Bytes of those among the constants, as in the model's file."""
    ram: int
    """Bytes: arena, variables and the deepest stack."""
    arena: int
    right: bool

    @property
    def steady(self) -> bool:
        return len(set(self.count.runs)) == 1


def draw(value: Value) -> np.ndarray:
    """The top bytes of a linear congruential generator, as int8, or for floats divided by 128."""
    state, data = 12345, np.empty(value.type.count, np.int8)
    for index in range(data.size):
        state = (state * 1664525 + 1013904223) % 2**32
        data[index] = np.uint8(state >> 24).astype(np.int8)
    scaled = data / np.float32(128) if value.dtype.is_float else data
    return scaled.astype(value.dtype.numpy).reshape(value.type.static_shape)


def expected(path: Path, graph: Graph, sample: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs that are right: those stored beside the model, else the reference's."""
    stored = path.with_suffix(".npz")
    if stored.exists() and len(graph.outputs) == 1:
        with np.load(stored) as arrays:
            if "input" in arrays and np.array_equal(arrays["input"].ravel(), next(iter(sample.values())).ravel()):
                return [arrays["output_builtin" if "output_builtin" in arrays else "output"]]
    outputs = evaluate(graph, sample)
    return [outputs[value.name] for value in graph.outputs]


def agree(output: bytes, graph: Graph, wanted: Sequence[np.ndarray], tolerance: tuple[float, float]) -> bool:
    """Whether the bytes that a run wrote are the outputs wanted."""
    offset = 0
    for value, array in zip(graph.outputs, wanted, strict=True):
        got = np.frombuffer(output, value.dtype.numpy, array.size, offset)
        offset += got.nbytes
        right = array.astype(value.dtype.numpy).ravel()
        if value.dtype.is_float:
            allowed = tolerance[0] * np.abs(right).max(initial=0) + tolerance[1]
            if not np.all(np.abs(got - right) <= allowed):
                return False
        elif got.tobytes() != right.tobytes():
            return False
    return True


def clang_settings(target: targets.Target) -> dict[str, str]:
    """Compiles with clang, with the C library's headers of the target's gcc, which links."""
    listing = subprocess.run(
        [target.compiler, "-M", "-xc", "-"], input="#include <string.h>", capture_output=True, text=True, check=True
    ).stdout
    headers = next(word for word in listing.split() if word.endswith("/string.h")).removesuffix("/string.h")
    return {"CC": f"clang --target=arm-none-eabi -isystem {headers}", "LINK": target.compiler}


def compiler_settings(target: targets.Target, compiler: str) -> dict[str, str]:
    """The variables of a generated Makefile for ``gcc``, ``clang`` or ``zig`` (the clang of the package ziglang)."""
    if compiler == "zig":
        return {"ZIG": f"{sys.executable} -m ziglang"}
    return clang_settings(target) if compiler == "clang" else {}


def measure(path: Path, target: str, folder: Path, plugin: Path, options: argparse.Namespace) -> Row:
    """Converts, generates, compiles and runs one model. ``folder`` gets the project."""
    graph = convert(path)
    sample = {value.name: draw(value) for value in graph.inputs}
    report = generate(
        graph,
        target,
        folder,
        name=path.stem,
        samples=[sample],
        optimize=options.optimize,
        kernels=options.kernels,
        ram_limit=options.ram_limit,
        input_by_rows=options.input_by_rows,
    )
    project = execute.Project.open(folder)
    settings = {"WARNINGS": "-Wall -Wextra -Wpedantic -Werror"}
    if options.opt:
        settings["OPT"] = options.opt
    settings |= compiler_settings(project.target, options.compiler)
    if options.kernels == "cmsis-nn":
        settings["CMSIS_NN_DIR"] = os.environ["CMSIS_NN_DIR"]
    execute.build(project, variables=settings)
    profile = options.profile or (options.page is not None and target == "cortex-m4")
    count, output = counting.count(project, sample, plugin, profile=profile)
    size = execute.measure_size(project)
    row = targets.get(target)
    tolerance = tolerances(lower(graph, row.isa, alignment=row.alignment), graph)
    return Row(
        model=path.stem,
        target=target,
        macs=report.macs,
        count=count,
        code=size.code + size.data,
        constants=size.constants,
        weights_and_biases=memory_table.weights_and_biases(graph),
        ram=static_ram(project) + count.stack,
        arena=report.arena_bytes,
        right=agree(output, graph, expected(path, graph, sample), tolerance),
    )


def measure_limited(path: Path, target: str, folder: Path, plugin: Path, options: argparse.Namespace) -> Row:
    """The same with the limit of RAM of the tables."""
    limit = memory_table.LIMITS[path.stem]
    own = argparse.Namespace(**{**vars(options), "ram_limit": limit.ram, "input_by_rows": limit.by_rows})
    row = measure(path, target, folder / path.stem, plugin, own)
    print(f"  {path.stem} with {limit.options}: {row.count.instructions:,} instructions, {row.ram:,} bytes", flush=True)
    return row


def static_ram(project: execute.Project) -> int:
    """Bytes of .data and .bss, in which the arena stands."""
    text = counting.run([f"{project.target.tool_prefix}size", "-A", project.program("runner")])
    return sum(int(size) for size in re.findall(r"^\.(?:data|bss)\s+(\d+)", text, re.MULTILINE))


def millions(number: int) -> str:
    return f"{number / 1e6:.3f}" if number < 10_000_000 else f"{number / 1e6:.2f}"


def print_table(rows: Sequence[Row], baselines: Mapping[str, Any]) -> None:
    """A table in Markdown for each target."""
    for target in dict.fromkeys(row.target for row in rows):
        print(f"\n### {targets.get(target).title}\n")
        print(
            "| model | MACs | instructions (M) | per MAC | other (M) | ratio | code | weights | RAM | arena | right |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
        for row in (row for row in rows if row.target == target):
            other = baselines["models"].get(row.model, {}).get(target)
            beside = f"{millions(other['instructions'])} {other['engine']}" if other else "–"
            ratio = f"{row.count.instructions / other['instructions']:.3f}" if other else "–"
            cells = [
                MLPERF_TINY.get(row.model, row.model),
                f"{row.macs:,}",
                millions(row.count.instructions),
                f"{row.count.instructions / max(1, row.macs):.2f}",
                beside,
                ratio,
                f"{row.code:,}",
                f"{row.constants:,}",
                f"{row.ram:,}",
                f"{row.arena:,}",
                "yes" if row.right and row.steady else "NO" if not row.right else "UNSTEADY",
            ]
            print("| " + " | ".join(cells) + " |")


def print_profile(row: Row, options: argparse.Namespace) -> None:
    """Where the instructions of a row went."""
    if options.layers:
        print(f"\n{row.model} on {row.target}, by layer:")
        for index, layer in enumerate(row.count.layers):
            print(f"  {index:3} {layer.instructions:12,}  {layer.symbol}")
    if options.profile:
        total = row.count.instructions
        print(f"\n{row.model} on {row.target}, by function and by instruction:")
        if row.count.cycles is not None:
            print(f"  about {row.count.cycles:,} cycles of a Cortex-M4 without wait states")
        for names in (row.count.functions, row.count.mnemonics):
            for name, number in list(names.items())[:20]:
                print(f"  {number:12,} {100 * number / total:5.1f} %  {name}")


def as_dict(row: Row) -> dict[str, Any]:
    """For JSON."""
    return {
        "model": row.model,
        "target": row.target,
        "macs": row.macs,
        "instructions": row.count.instructions,
        "cycles_m4": row.count.cycles,
        "code": row.code,
        "constants": row.constants,
        "ram": row.ram,
        "arena": row.arena,
        "stack": row.count.stack,
        "right": row.right,
        "steady": row.steady,
        "layers": [[layer.symbol, layer.instructions] for layer in row.count.layers],
    }


def find_models(folders: Sequence[Path], wanted: Sequence[str]) -> list[Path]:
    """The models of some folders, those of MLPerf Tiny first; all that have one of the names if names are given."""
    if not folders:
        return [DIGITS]
    files = [path for folder in folders for path in sorted(folder.iterdir())]
    known = {path.stem: path for path in files if path.suffix in (".tflite", ".onnx")}
    names = [*(name for name in MLPERF_TINY if name in known), *(name for name in known if name not in MLPERF_TINY)]
    short = {name: MLPERF_TINY.get(name, name) for name in names}
    chosen = [name for name in names if not wanted or name in wanted or short[name] in wanted]
    return [known[name] for name in chosen]


def versions(target: str) -> str:
    """What compiled and ran, for the head of a table."""
    compiler = counting.run([targets.get(target).compiler, "--version"]).splitlines()[0]
    emulator = counting.run(["qemu-system-arm", "--version"]).splitlines()[0]
    return f"{compiler}; {emulator}"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--models-dir",
        type=Path,
        action="append",
        default=[],
        help="folder with models; without it the digits example; repeatable",
    )
    parser.add_argument(
        "--model", action="append", default=[], help="only this one (file name or KWS, VWW, ...); repeatable"
    )
    parser.add_argument("--target", action="append", choices=BOARDS, help="repeatable; default cortex-m4")
    parser.add_argument(
        "--optimize", choices=("speed", "balanced", "size"), default="speed", help="of the generated project"
    )
    parser.add_argument(
        "--kernels",
        choices=("own", "cmsis-nn"),
        default="own",
        help="cmsis-nn: calls of Arm's library, a copy of which the environment variable CMSIS_NN_DIR names",
    )
    parser.add_argument("--opt", help="the compiler's level, such as -O3; default: the project's own")
    parser.add_argument(
        "--compiler",
        choices=("gcc", "clang", "zig"),
        default="gcc",
        help="clang: Debian's, for cores without MVE; zig: the clang of the Python package ziglang",
    )
    parser.add_argument("--ram-limit", type=int, help="most bytes of arena and stack of the generated project")
    parser.add_argument("--input-by-rows", action="store_true", help="the input is handed over by rows")
    parser.add_argument("--layers", action="store_true", help="instructions of each layer")
    parser.add_argument(
        "--profile", action="store_true", help="instructions by function and mnemonic, estimated cycles"
    )
    parser.add_argument(
        "--page", type=Path, help="put the tables of MLPerf Tiny into this page; default of --target: all"
    )
    parser.add_argument(
        "--memory-page", type=Path, help="put the tables about memory into this page (Cortex-M4); --page does so too"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--keep", type=Path, help="leave the generated projects in this folder")
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.kernels == "cmsis-nn" and not os.environ.get("CMSIS_NN_DIR"):
        raise SystemExit("CMSIS_NN_DIR has to name a copy of https://github.com/ARM-software/CMSIS-NN")
    pages = options.page or options.memory_page
    listed = [*MLPERF_TINY, *memory_table.LIMITS] if pages and not options.model else options.model
    models = find_models(options.models_dir, listed if options.models_dir else [])
    if not models:
        raise SystemExit(f"no model in {', '.join(map(str, options.models_dir))}")
    baselines = json.loads((HERE / "baselines.json").read_text())
    rows, limited = [], {}
    with tempfile.TemporaryDirectory(prefix="microlith-bench-") as temporary:
        plugin = counting.build_plugin(Path(temporary))
        for target in options.target or (BOARDS if options.page else ["cortex-m4"]):
            print(f"{targets.get(target).title}: {versions(target)}", flush=True)
            for path in models:
                if pages and path.stem not in MLPERF_TINY and path != DIGITS and target != "cortex-m4":
                    continue  # of these only the tables about memory speak
                folder = (options.keep or Path(temporary)) / target / path.stem
                if folder.exists():
                    shutil.rmtree(folder)
                row = measure(path, target, folder, plugin, options)
                rows.append(row)
                print(f"  {path.stem}: {row.count.instructions:,} instructions", flush=True)
                print_profile(row, options)
                if pages and target == "cortex-m4" and path.stem in memory_table.LIMITS:
                    limited[path.stem] = measure_limited(path, target, Path(temporary) / "limited", plugin, options)
    print_table(rows, baselines)
    if options.page:
        text = tables.tables(rows, baselines, versions("cortex-m4"))
        tables.write_page(options.page, tables.BEGIN, tables.END, text)
    if pages and any(row.target == "cortex-m4" for row in rows):
        text = memory_table.text(rows, limited)
        tables.write_page(pages, memory_table.BEGIN, memory_table.END, text)
    if options.json:
        options.json.write_text(json.dumps([as_dict(row) for row in rows], indent=2) + "\n")
    return 0 if all(row.right and row.steady for row in (*rows, *limited.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
