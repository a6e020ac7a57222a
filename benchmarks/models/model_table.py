"""Runs every model of a collection and writes docs/models.md: does it convert, run, agree, and become C.

    python benchmarks/models/model_table.py [--models FOLDER] [--only TEXT] [--no-c]

The collection is a folder of .onnx and .tflite files, each with stored inputs and outputs in FILE.ref.npz beside it
(keys ``c<case>_in<j>``, ``c<case>_out<j>`` and a JSON text ``meta``). Each model runs in a process of its own: a fault
or a timeout is a row of the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "models.md"
SHARED = Path(os.environ.get("MICROLITH_SHARED", ROOT.parent / "shared"))
FLOAT_TOLERANCE = 1e-4
"""Of a float output, relative to its range."""
MOST_NOISE = 2e-3
"""Of a float output: more than this between two executions of the reference runtime is no float noise."""
TIMEOUT = 600
MOST_C_BYTES = 40 << 20
"""Models with more constants are not compiled."""


def stored(path: Path) -> tuple[dict[str, Any], list[tuple[list[np.ndarray], list[np.ndarray]]]]:
    """What lies beside a model: facts, and (inputs, outputs) of each case."""
    with np.load(f"{path}.ref.npz", allow_pickle=False) as arrays:
        meta = json.loads(str(arrays["meta"]))
        cases = []
        for case in range(len(meta["cases"])):
            inputs = [arrays[f"c{case}_in{j}"] for j in range(len(meta["inputs"]))]
            outputs = [arrays[f"c{case}_out{j}"] for j in range(len(meta["outputs"]))]
            cases.append((inputs, outputs))
    return meta, cases


def compare(actual: np.ndarray, expected: np.ndarray, stride: int) -> float:
    """The largest difference; infinite for another shape. Only every ``stride``-th element is stored of large ones."""
    flat = np.asarray(actual).reshape(-1)[::stride].astype(np.float64)
    wanted = expected.reshape(-1).astype(np.float64)
    if flat.shape != wanted.shape:
        return float("inf")
    with np.errstate(invalid="ignore"):
        same = (flat == wanted) | (np.isnan(flat) & np.isnan(wanted))
        difference = np.where(same, 0.0, np.abs(flat - wanted))
    return float(difference.max(initial=0.0))


def builtin_outputs(path: Path, meta: Mapping[str, Any], cases: Sequence[Any]) -> list[list[np.ndarray]]:
    """What LiteRT's built-in kernels without delegate give; raises when they cannot run the model."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    engine = Interpreter(
        str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, num_threads=1
    )
    results = []
    for case, (inputs, _) in enumerate(cases):
        for detail, array in zip(engine.get_input_details(), inputs, strict=True):
            if list(detail["shape"]) != list(array.shape):
                engine.resize_tensor_input(detail["index"], array.shape)
        if case == 0 or not meta.get("stateful"):
            engine.allocate_tensors()
            engine.reset_all_variables()
        for detail, array in zip(engine.get_input_details(), inputs, strict=True):
            engine.set_tensor(detail["index"], array.astype(detail["dtype"]))
        engine.invoke()
        results.append([engine.get_tensor(detail["index"]).copy() for detail in engine.get_output_details()])
    return results


def examine(path: Path, with_c: bool) -> dict[str, Any]:
    """One row: what became of the model at each stage."""
    from microlith import convert, load, modelfile
    from microlith.binding import is_open
    from microlith.errors import MicrolithError, UnsupportedError

    meta, cases = stored(path)
    row: dict[str, Any] = {"reference": meta.get("kernels") or "onnxruntime"}
    with tempfile.TemporaryDirectory() as folder:
        try:
            graph = convert(path)
            modelfile.save(graph, Path(folder) / "m.lith")
        except UnsupportedError as error:
            return row | {"stage": "convert", "why": ", ".join(sorted({item.op for item in error.items}))}
        except MicrolithError as error:
            return row | {"stage": "convert", "why": str(error).splitlines()[0]}
        row["nodes"] = len(graph.nodes)
        names = [value.name for value in graph.inputs]
        try:
            with load(Path(folder) / "m.lith") as model:
                results = []
                for inputs, _ in cases:
                    if not meta.get("stateful") and graph.states:
                        model.reset()
                    arrays = {
                        name: np.asarray(array, value.dtype.numpy)
                        for name, value, array in zip(names, graph.inputs, inputs, strict=True)
                    }
                    results.append(list(model.run(arrays).values()))
        except MicrolithError as error:
            return row | {"stage": "run", "why": str(error).splitlines()[0]}
        row |= judge(meta, results, [outputs for _, outputs in cases])
        if not row["passed"] and path.suffix == ".tflite":
            try:
                other = judge(meta | {"sub": {}}, results, builtin_outputs(path, meta, cases))
            except (ValueError, RuntimeError):
                other = {"passed": False}
            if other["passed"]:
                row |= other | {"reference": "builtin"}
        row["open"] = is_open(graph)
        size = sum(value.type.nbytes for value in graph.constants())
        if with_c and not row["open"] and size <= MOST_C_BYTES:
            row["c"] = generated(graph, cases, meta, results, Path(folder) / "c")
    return row


def judge(meta: Mapping[str, Any], results: Sequence[Any], wanted: Sequence[Any]) -> dict[str, Any]:
    """Holds all cases against the stored outputs.

    Integers have to be equal. Floats may be off by FLOAT_TOLERANCE of the output's largest element over all cases, or
    by what the reference runtime's other executions are off from it, but not by more than MOST_NOISE.
    """
    strides = {int(key): stride for key, stride in meta.get("sub", {}).items()}
    own = [spread for spread in meta.get("spread", {}).values() if spread]
    passed, worst = True, 0.0
    for index in range(len(wanted[0])):
        pairs = [(outputs[index], references[index]) for outputs, references in zip(results, wanted, strict=True)]
        difference = max(compare(actual, expected, strides.get(index, 1)) for actual, expected in pairs)
        if pairs[0][1].dtype.kind == "f":
            scale = max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)) for _, expected in pairs)
            scale = scale or 1.0
            noise = max([spread[index] for spread in own if index < len(spread)], default=0.0)
            allowed = max(FLOAT_TOLERANCE * scale, min(noise, MOST_NOISE * scale))
            passed &= difference <= allowed
            difference /= scale
        else:
            passed &= difference == 0
        worst = max(worst, difference)
    return {
        "passed": passed,
        "difference": worst,
        "integer": all(expected.dtype.kind != "f" for references in wanted for expected in references),
    }


def generated(graph: Any, cases: Sequence[Any], meta: Mapping[str, Any], results: Sequence[Any], folder: Path) -> str:
    """What became of the model as C on this machine, against the runtime's outputs."""
    from microlith import generate
    from microlith.codegen import execute
    from microlith.errors import MicrolithError

    shapes = [value.type.static_shape for value in graph.inputs]
    chosen = [k for k, (inputs, _) in enumerate(cases) if [x.shape for x in inputs] == shapes]
    if graph.states and not meta.get("stateful"):
        chosen = chosen[:1]
    if not chosen:
        return "other sizes"
    try:
        generate(graph, "host", folder, name="model")
        project = execute.Project.open(folder)
        execute.build(project, variables={"OPT": "-O1"})
        feeds = [
            {
                value.name: np.asarray(array, value.dtype.numpy)
                for value, array in zip(graph.inputs, cases[k][0], strict=True)
            }
            for k in chosen
        ]
        outputs = execute.run(project, feeds).outputs
    except MicrolithError as error:
        return str(error).splitlines()[0]
    stacked = [[outputs[value.name][position] for value in graph.outputs] for position in range(len(chosen))]
    verdict = judge({}, stacked, [results[k] for k in chosen])
    return "same" if verdict["passed"] else f"differs by {verdict['difference']:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=Path, default=SHARED / "models")
    parser.add_argument("--only", default="", help="models whose path holds this text; prints, writes no page")
    parser.add_argument("--no-c", action="store_true", help="do not generate and compile C")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(examine(options.one, not options.no_c)))
        return
    paths = [path for path in sorted(options.models.glob("*/*")) if Path(f"{path}.ref.npz").exists()]
    paths = [path for path in paths if options.only in str(path)]
    if not paths:
        sys.exit(f"no models with stored outputs below {options.models}")
    rows = {}
    for path in paths:
        name = path.relative_to(options.models).as_posix()
        rows[name] = in_process(path, options.no_c)
        print(name, json.dumps(rows[name]), flush=True)
    if not options.only:
        PAGE.write_text(page(rows))


def in_process(path: Path, no_c: bool) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", str(path), *(["--no-c"] if no_c else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return {"stage": "run", "why": f"took more than {TIMEOUT} s"}
    if done.returncode:
        return {"stage": "run", "why": f"ended with {done.returncode}: {(done.stderr.splitlines() or [''])[-1]}"}
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def page(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of docs/models.md."""
    agree = [row for row in rows.values() if row.get("passed")]
    static = [row for row in agree if "c" in row and row["c"] != "other sizes"]
    same = [row for row in static if row["c"] == "same"]
    lines = [
        "# Real models",
        "",
        "Generated by `python benchmarks/models/model_table.py`, against stored outputs of ONNX Runtime without",
        f"optimisations and of LiteRT: integers equal, floats within {FLOAT_TOLERANCE:g} of the largest element (or",
        f"of what the same runtime's optimised execution is off, up to {MOST_NOISE:g}).",
        "",
        f"**{len(agree)} of {len(rows)} models run and agree.** Of {len(static)} static ones {len(same)} do so as C.",
        "",
        "| model | agrees with | difference | as C on the host | what is in the way |",
        "|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        if "stage" in row:
            lines.append(f"| {name} | | | | {row['stage']}: {row['why']} |")
            continue
        unit = " steps" if row["integer"] else ""
        difference = f"{row['difference']:.2g}{unit}" if row["difference"] else "none"
        good = row["reference"] if row["passed"] else ""
        c = row.get("c", "sizes at run time" if row.get("open") else "")
        lines.append(f"| {name} | {good} | {difference} | {c} | {'' if row['passed'] else 'outputs differ'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
