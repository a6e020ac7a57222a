# SPDX-License-Identifier: Apache-2.0
"""What fused elementwise ops are worth: every model of a collection with and without the pass, in the runtime.

    python benchmarks/models/fusing.py [--models FOLDER] [--only TEXT] [--seconds S] [--isa LIST]
    python benchmarks/models/fusing.py --target cortex-m4 [--models FOLDER] [--only TEXT]

Both forms of a model run in turn in one process, for S seconds (1), on its first stored case; what counts is the
processor time of one thread, of each form the lowest tenth. Results have to be the same to the bit. Models without such
ops are left out. With ``--target``: as generated C on a board, in instructions that its emulator counts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from model_table import SHARED, stored

import microlith
from microlith import modelfile
from microlith.codegen import execute
from microlith.errors import MicrolithError
from microlith.ir import Graph, all_graphs
from microlith.ops import fused


def count(graph: Graph) -> int:
    return sum(len(part.nodes) for part in all_graphs(graph))


def programs(graph: Graph) -> int:
    return sum(node.op == fused.NAME for part in all_graphs(graph) for node in part.nodes)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def both_ways(path: Path) -> tuple[Graph, Graph, dict[str, np.ndarray]] | None:
    """The model with its ops apart and together, and the inputs of its first stored case; None: nothing is fused."""
    together = microlith.convert(path)
    if not programs(together):
        return None
    apart = microlith.convert(path, skip_passes=["fuse_elementwise"])
    _, cases = stored(path)
    return apart, together, {value.name: array for value, array in zip(together.inputs, cases[0][0], strict=True)}


def measure(path: Path, seconds: float, isa: str | None, folder: Path) -> str:
    """A row of the table; empty when nothing is fused."""
    found = both_ways(path)
    if found is None:
        return ""
    apart, together, feeds = found
    models = []
    for number, graph in enumerate((apart, together)):
        modelfile.save(graph, folder / f"{number}.lith")
        models.append(microlith.load(folder / f"{number}.lith", isa=isa))
    before, after = (dict(model.run(feeds)) for model in models)
    equal = all(same(np.asarray(after[name]), np.asarray(array)) for name, array in before.items())
    times: list[list[float]] = [[], []]
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(times[0]) < 5:
        for model, spent in zip(models, times, strict=True):
            start = time.process_time()
            model.run(feeds)
            spent.append(time.process_time() - start)
    slow, fast = (sorted(spent)[len(spent) // 10] * 1e3 for spent in times)
    remark = "" if equal else "DIFFERENT RESULTS"
    nodes = f"{count(apart)} -> {count(together)}"
    return f"| {path.name} | {nodes} | {programs(together)} | {slow:.3f} | {fast:.3f} | {fast / slow:.2f} | {remark} |"


def on_board(path: Path, target: str, folder: Path) -> str:
    """A row of the table for a board; empty when nothing is fused."""
    found = both_ways(path)
    if found is None:
        return ""
    apart, together, feeds = found
    cells, results, counts = [], [], []
    for number, graph in enumerate((apart, together)):
        report = microlith.generate(graph, target, folder / f"{path.stem}_{number}", name="model")
        project = execute.Project.open(folder / f"{path.stem}_{number}")
        execute.build(project)
        run = execute.run(project, [feeds])
        results.append(run.samples[0])
        counts.append(run.instructions or 0)
        cells += [f"{report.arena_bytes}", f"{report.params_bytes}", f"{counts[-1]}"]
    equal = all(same(results[1][name], array) for name, array in results[0].items())
    return (
        f"| {path.name} | {' | '.join(cells)} | {counts[1] / counts[0]:.2f} | {'' if equal else 'DIFFERENT RESULTS'} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=Path, default=SHARED / "models")
    parser.add_argument("--only", default="", help="models whose path holds this text")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--isa", help="instruction sets, as in c,avx2; default: all of this machine")
    parser.add_argument("--target", help="a board")
    options = parser.parse_args()
    if not options.models.is_dir():
        sys.exit(f"{options.models} is no folder; name one with --models")
    if options.target:
        print("| model | arena apart | params | instructions | arena fused | params | instructions | ratio | |")
        print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
    else:
        print("| model | nodes | programs | ms apart | ms fused | ratio | |\n|---|---|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(options.models.rglob("*")):
            if path.suffix not in (".onnx", ".tflite") or options.only not in os.fspath(path):
                continue
            try:
                if options.target:
                    row = on_board(path, options.target, Path(folder))
                else:
                    row = measure(path, options.seconds, options.isa, Path(folder))
            except MicrolithError as error:
                row = f"| {path.name} | | | | | | {str(error).splitlines()[0]} |"
            if row:
                print(row, flush=True)


if __name__ == "__main__":
    main()
