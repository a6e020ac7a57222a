"""Every small model of a collection on emulated boards: does it build, is it right, how many instructions does it take.

    python benchmarks/mcu/collection.py --models FOLDER [--only TEXT] [--target cortex-m55] [--kernels] [--page PAGE]

The collection is a folder of folders of .onnx and .tflite files, each with stored inputs and outputs beside it
(``benchmarks/models/model_table.py`` says how). Models with at most 1 MiB of constants are compiled with -Werror; what
a board gives for the first case is held against the stored outputs, else against LiteRT's built-in kernels, else
against the portable kernels of the runtime: integers are equal, floats are within 1e-4 of the largest. Where all differ
by more, floats must not be further from double precision than twice what the stored ones are. Each model runs in a
process of its own. Exit code 0 when all of them are right.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import counting
import numpy as np
import tables

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))

import model_table  # noqa: E402

TARGETS = ("cortex-m4", "cortex-m55")
BEGIN, END = "<!-- bench-collection begins -->", "<!-- bench-collection ends -->"
MOST_BYTES = 1 << 20
TIMEOUT = 1800


def prepared(path: Path) -> tuple[Any, Mapping[str, Any], Any] | str:
    """Graph, facts and the first case of a model; or why it is none of those that are run here."""
    from microlith import convert
    from microlith.binding import is_open
    from microlith.errors import MicrolithError

    meta, cases = model_table.stored(path)
    try:
        graph = model_table.converted(path, cases[0][0])
        if is_open(graph):
            sizes = {value.name: np.shape(a) for value, a in zip(graph.inputs, cases[0][0], strict=True)}
            graph = convert(path, inputs=sizes)
    except MicrolithError as error:
        return str(error).splitlines()[0]
    if is_open(graph):
        return "sizes depend on data"
    if sum(value.type.nbytes for value in graph.constants()) > MOST_BYTES:
        return "large"
    return graph, meta, cases[0]


def agrees_with(path: Path, graph: Any, meta: Mapping[str, Any], case: Any, results: list[np.ndarray]) -> str:
    """Whose outputs these are; empty when nobody's."""
    if model_table.judge(meta, [results], [case[1]])["passed"]:
        return "stored"
    if path.suffix == ".tflite":
        try:
            wanted = model_table.builtin_outputs(path, meta, [case])
        except (ValueError, RuntimeError):
            wanted = []
        if wanted and model_table.judge({}, [results], wanted)["passed"]:
            return "builtin"
    with tempfile.TemporaryDirectory() as folder:
        wanted = model_table.run_cases(path, graph, meta, [case], Path(folder) / "m.lith", isa="c")
    if model_table.judge({}, [results], wanted)["passed"]:
        return "portable"
    if any(not value.dtype.is_float for value in graph.outputs):
        return ""
    ours, theirs = model_table.from_double(graph, meta, [case], [results])
    return "double precision" if ours <= 2 * theirs else ""


def layers_of(graph: Any, report: Any, count: counting.Count) -> list[list[Any]]:
    """For each kernel call: symbol, multiply-accumulates (elements of the first input, where there are none), elements
    of its outputs, instructions. Empty when the calls are not one for each layer of the report."""
    rows = [row for row in report.layer_table if row["kernel"]]
    if [row["kernel"].partition("nnacl_")[2] for row in rows] != [
        layer.symbol.partition("nnacl_")[2] for layer in count.layers
    ]:
        return []
    outputs = {node.name: sum(value.type.count for value in node.outputs) for node in graph.nodes}
    read = {node.name: node.inputs[0].type.count for node in graph.nodes if node.inputs and node.inputs[0]}
    return [
        [layer.symbol, row["macs"] or read.get(row["name"], 0), outputs.get(row["name"], 0), layer.instructions]
        for row, layer in zip(rows, count.layers, strict=True)
    ]


def examine(path: Path, target: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row: instructions by kernel, flash, RAM, and whether the outputs are right."""
    from bench import compiler_settings, static_ram

    from microlith import generate
    from microlith.codegen import execute
    from microlith.errors import MicrolithError
    from microlith.nnacl_kernels import catalogue

    found = prepared(path)
    if isinstance(found, str):
        return {"skipped": found}
    graph, meta, case = found
    feed = {value.name: np.asarray(a, value.dtype.numpy) for value, a in zip(graph.inputs, case[0], strict=True)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            report = generate(
                graph,
                target,
                folder / "project",
                name="model",
                samples=[feed],
                optimize=options.optimize,
                without=[kernel.symbol for kernel in catalogue.kernels() if kernel.isa in options.without],
            )
            project = execute.Project.open(folder / "project")
            settings = {
                "WARNINGS": "-Wall -Wextra -Wpedantic -Werror",
                **compiler_settings(project.target, options.compiler),
            }
            execute.build(project, variables=settings)
        except MicrolithError as error:
            line = str(error).splitlines()[0].split(": ")[-1]
            return {"skipped" if "of RAM" in line or "needs at least" in line else "failed": line}
        count, output = counting.count(project, feed, counting.build_plugin(folder))
        size = execute.measure_size(project)
        results, offset = [], 0
        for value in graph.outputs:
            array = np.frombuffer(output, value.dtype.numpy, value.type.count, offset)
            results.append(array.reshape(value.type.static_shape))
            offset += array.nbytes
        kernels: Counter[str] = Counter()
        for layer in count.layers:
            kernels[layer.symbol.removeprefix("nnacl_")] += layer.instructions
        return {
            "macs": report.macs,
            "instructions": count.instructions,
            "code": size.code + size.data,
            "constants": size.constants,
            "ram": static_ram(project) + count.stack,
            "agrees": agrees_with(path, graph, meta, case, results),
            "kernels": dict(kernels.most_common()),
            "layers": layers_of(graph, report, count),
        }


def in_process(path: Path, target: str, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", path, "--target", target]
    command += ["--compiler", options.compiler, "--optimize", options.optimize]
    command += [word for isa in options.without for word in ("--without", isa)]
    try:
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"took more than {TIMEOUT} s"}
    if done.returncode:
        return {"failed": f"ended with {done.returncode}: {(done.stderr.splitlines() or [''])[-1]}"}
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def print_kernels(rows: Mapping[str, Mapping[str, Any]], most: int = 8) -> None:
    """Where the instructions went: for each model the kernels that took the most."""
    for name, row in rows.items():
        if "kernels" in row:
            total = row["instructions"]
            shares = (f"{k} {100 * n / total:.0f} %" for k, n in list(row["kernels"].items())[:most])
            print(f"{name}: {total / 1e6:.3f} M, {total / max(1, row['macs']):.2f} per MAC: {', '.join(shares)}")


def table(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """Markdown: one line for each model that runs on one of the targets."""
    heads = " | ".join(f"{target}, M" for target in found)
    lines = [f"| model | MACs, M | {heads} | code | constants | RAM | agrees with |"]
    lines.append("|---|" + "---:|" * (4 + len(found)) + "---|")
    for name in next(iter(found.values())):
        rows = [found[target][name] for target in found]
        run = [row for row in rows if "instructions" in row]
        if not run:
            continue
        counts = " | ".join(f"{row['instructions'] / 1e6:.3f}" if "instructions" in row else "–" for row in rows)
        agree = ", ".join(dict.fromkeys(row["agrees"] or "**nobody**" for row in run))
        sizes = " | ".join(f"{run[0][key]:,}" for key in ("code", "constants", "ram"))
        lines.append(f"| {name} | {run[0]['macs'] / 1e6:.3f} | {counts} | {sizes} | {agree} |")
    return "\n".join(lines) + "\n"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, default=model_table.SHARED / "models")
    parser.add_argument("--only", default="", help="models whose path matches this pattern")
    parser.add_argument("--target", action="append", help=f"repeatable; default {', '.join(TARGETS)}")
    parser.add_argument("--compiler", choices=("gcc", "clang", "zig"), default="gcc")
    parser.add_argument("--optimize", choices=("speed", "balanced", "size"), default="speed")
    parser.add_argument("--without", action="append", default=[], help="an instruction set not to use; repeatable")
    parser.add_argument("--kernels", action="store_true", help="print which kernels took the instructions")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--page", type=Path, help="put the table into this page, between its marks")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = parse()
    chosen: Sequence[str] = options.target or TARGETS
    if options.one:
        print(json.dumps(examine(options.one, chosen[0], options)))
        return 0
    paths = [path for path in sorted(options.models.glob("*/*")) if Path(f"{path}.ref.npz").exists()]
    paths = [path for path in paths if re.search(options.only, str(path.relative_to(options.models)))]
    if not paths:
        raise SystemExit(f"no models with stored outputs below {options.models}")
    found: dict[str, dict[str, dict[str, Any]]] = {target: {} for target in chosen}
    for path in paths:
        name = path.relative_to(options.models).as_posix()
        for target in chosen:
            row = found[target][name] = in_process(path, target, options)
            if row.get("skipped") == "large":
                break
            shown = {key: value for key, value in row.items() if key not in ("kernels", "layers")}
            print(f"{name} on {target}: {json.dumps(shown)}", flush=True)
            if options.kernels:
                print_kernels({name: row})
            if options.json:
                options.json.write_text(json.dumps(found, indent=1) + "\n")
    rows = [row for target in found.values() for row in target.values()]
    if options.page:
        tables.write_page(options.page, BEGIN, END, table(found))
    return 1 if any("failed" in row or row.get("agrees") == "" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
