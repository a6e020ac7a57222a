# SPDX-License-Identifier: Apache-2.0
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
HERE = "onnxruntime here"
"""The reference of a model whose stored outputs come from another kind of processor."""
FLOAT_TOLERANCE = 1e-4
"""Of a float output, relative to its range."""
TIMEOUT = 1200
MOST_C_BYTES = 40 << 20
"""Models with more constants are not compiled."""
MOST_BOARD_BYTES = 1 << 20
"""Models with more constants are not tried on a board."""
MOST_BOARD_CASES = 2
BOARDS = ("cortex-m4", "cortex-m55")
"""Emulated boards, of which the second has more memory."""


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


def onnxruntime_outputs(path: Path, cases: Sequence[Any]) -> list[list[np.ndarray]]:
    """What ONNX Runtime gives on this machine: without optimisations, one thread."""
    from reference import unoptimised_session

    session = unoptimised_session(path, threads=1)
    names = [item.name for item in session.get_inputs()]
    return [session.run(None, dict(zip(names, inputs, strict=True))) for inputs, _ in cases]


def converted(path: Path, inputs: Sequence[np.ndarray]) -> Any:
    """The graph of a model. Where the sizes of a TFLite file do not fit the inputs, they are given as ``--input``."""
    from microlith import convert
    from microlith.converter.frontends.tflite_model import read_model

    if path.suffix != ".tflite":
        return convert(path)
    subgraph = read_model(path.read_bytes(), where=str(path)).subgraphs[0]
    tensors = [subgraph.tensors[index] for index in subgraph.inputs]
    sizes = {x.name: a.shape for x, a in zip(tensors, inputs, strict=True) if x.shape != a.shape}
    return convert(path, inputs=sizes)


def examine(path: Path, with_c: bool) -> dict[str, Any]:
    """One row: what became of the model at each stage."""
    from microlith.binding import needs_sizes
    from microlith.errors import MicrolithError, UnsupportedError

    meta, cases = stored(path)
    row: dict[str, Any] = {"reference": meta.get("kernels") or "onnxruntime"}
    with tempfile.TemporaryDirectory() as folder:
        try:
            graph = converted(path, cases[0][0])
            results = run_cases(path, graph, meta, cases, Path(folder) / "m.lith")
        except UnsupportedError as error:
            return row | {"stage": "convert", "why": ", ".join(sorted({item.op for item in error.items}))}
        except MicrolithError as error:
            return row | {"stage": "convert or run", "why": str(error).splitlines()[0]}
        row |= judge(meta, results, [outputs for _, outputs in cases])
        if not row["passed"]:
            row |= explain(path, graph, meta, cases, results)
        if row["reference"] == "each layer" and (exact := as_written(path, meta, cases, Path(folder))) is not None:
            graph, same = exact
            row |= same | {"why": f"with `--qdq as-written`; else {row['difference']:.2g} off: {row['why']}"}
        row["nodes"] = len(graph.nodes)
        row["open"] = needs_sizes(graph)
        row["bytes"] = sum(value.type.nbytes for value in graph.constants())
        if with_c and row["bytes"] <= MOST_C_BYTES:
            row |= as_program(path, graph, meta, cases, Path(folder))
    return row


def as_written(path: Path, meta: Mapping[str, Any], cases: Sequence[Any], folder: Path) -> tuple[Any, Any] | None:
    """The graph and the row of an ONNX model that is computed as it is written, when all outputs are the stored ones to
    the last bit."""
    from microlith import convert

    if path.suffix != ".onnx":
        return None
    graph = convert(path, qdq="as-written")
    results = run_cases(path, graph, meta, cases, folder / "written.lith")
    row = judge(meta, results, [outputs for _, outputs in cases])
    return (graph, row | {"reference": "onnxruntime"}) if row["difference"] == 0 else None


def as_program(path: Path, graph: Any, meta: Mapping[str, Any], cases: Sequence[Any], folder: Path) -> dict[str, str]:
    """What became of a model as C; one of open sizes is converted again with those of the first case."""
    from microlith import convert
    from microlith.binding import needs_sizes
    from microlith.errors import MicrolithError, UnsupportedError

    note = ""
    if needs_sizes(graph):
        try:
            sizes = {value.name: np.shape(a) for value, a in zip(graph.inputs, cases[0][0], strict=True)}
            qdq = "as-written" if any(node.op.endswith("_ordered") for node in graph.nodes) else "integers"
            graph, note = convert(path, inputs=sizes, qdq=qdq), ", sizes fixed"
        except UnsupportedError as error:
            return {"c": ", ".join(sorted({item.op for item in error.items})) + " with fixed sizes"}
        except MicrolithError as error:
            return {"c": str(error).splitlines()[0].split(": ")[-1]}
        if needs_sizes(graph):
            return {}
    cases = [case for case in cases if [x.shape for x in case[0]] == [value.shape for value in graph.inputs]]
    portable = run_cases(path, graph, meta, cases, folder / "fixed.lith", isa="c")
    row = generated(graph, cases, meta, portable, folder)
    return {**row, "c": row["c"] + note}


def run_cases(
    path: Path, graph: Any, meta: Mapping[str, Any], cases: Sequence[Any], file: Path, isa: str | None = None
) -> list[list[Any]]:
    """The runtime's outputs for each case, by default with the kernels that are best on this machine."""
    from microlith import load, modelfile

    results: list[list[Any]] = []
    while len(results) < len(cases):
        modelfile.save(graph, file)
        names = [value.name for value in graph.inputs]
        with load(file, isa=isa) as model:
            for inputs, _ in cases[len(results) :]:
                if (
                    path.suffix == ".tflite"
                    and results
                    and [x.shape for x in inputs] != [value.shape for value in graph.inputs]
                ):
                    graph = converted(path, inputs)
                    break
                if not meta.get("stateful") and graph.states:
                    model.reset()
                arrays = {
                    name: np.asarray(array, value.dtype.numpy)
                    for name, value, array in zip(names, graph.inputs, inputs, strict=True)
                }
                results.append(list(model.run(arrays).values()))
    return results


def explain(path: Path, graph: Any, meta: Mapping[str, Any], cases: Sequence[Any], results: Any) -> dict[str, Any]:
    """What else the outputs agree with when they are not near enough to the stored ones, and why these are off.

    LiteRT's built-in kernels; ONNX Runtime here, where integers are multiplied; the same graph in double precision; or
    the reference runtime layer by layer.
    """
    from layers import compare_layers

    if path.suffix == ".tflite":
        try:
            other = judge(meta | {"sub": {}}, results, builtin_outputs(path, meta, cases))
        except (ValueError, RuntimeError):
            other = {"passed": False}
        if other["passed"]:
            return other | {"reference": "builtin"}
    elif any("integer" in node.op for node in graph.nodes):
        other = judge(meta | {"sub": {}}, results, onnxruntime_outputs(path, cases))
        if other["passed"]:
            stored_ones = judge(meta, results, [outputs for _, outputs in cases])["difference"]
            return other | {"reference": HERE, "why": f"{stored_ones:.2g} from the stored outputs"}
    if not any(node.op.startswith(("quantize", "dequantize")) or "dynamic" in node.op for node in graph.nodes):
        ours, theirs = from_double(graph, meta, cases, results)
        if ours <= max(FLOAT_TOLERANCE, 2 * theirs):
            why = f"from double precision: ours {ours:.1e}, the stored ones {theirs:.1e}"
            return {"passed": True, "reference": "double precision", "why": why}
        return {}
    layers = compare_layers(path, [inputs for inputs, _ in cases])
    if not layers.agree:
        return {"why": str(layers)}
    return {"passed": True, "reference": "each layer", "why": str(layers)}


def from_double(graph: Any, meta: Mapping[str, Any], cases: Sequence[Any], results: Any) -> tuple[float, float]:
    """How far our outputs and the stored ones are from those in double precision, relative to their largest element."""
    from microlith.evaluate import evaluate

    strides = {int(key): stride for key, stride in meta.get("sub", {}).items()}
    states: dict[str, np.ndarray] = {}
    pairs: dict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = {}
    for (inputs, outputs), own in zip(cases, results, strict=True):
        states = states if meta.get("stateful") else {}
        feed = {x.name: np.asarray(a, x.dtype.numpy) for x, a in zip(graph.inputs, inputs, strict=True)}
        exact = evaluate(graph, feed, states, double=True)
        for index, (array, ours, theirs) in enumerate(zip(exact.values(), own, outputs, strict=True)):
            stride = strides.get(index, 1)
            thinned = (np.asarray(x).reshape(-1)[::stride] for x in (array, ours))
            pairs.setdefault(index, []).append((*thinned, theirs.reshape(-1)))
    worst = [0.0, 0.0]
    for triples in pairs.values():
        scale = max(float(np.abs(exact).max(initial=0.0)) for exact, _, _ in triples) or 1.0
        for exact, *others in triples:
            for side, other in enumerate(others):
                worst[side] = max(worst[side], float(np.abs(other - exact).max(initial=0.0)) / scale)
    return worst[0], worst[1]


def judge(meta: Mapping[str, Any], results: Sequence[Any], wanted: Sequence[Any]) -> dict[str, Any]:
    """Holds all cases against the stored outputs: integers equal, floats within FLOAT_TOLERANCE of the output's largest
    element over all cases."""
    strides = {int(key): stride for key, stride in meta.get("sub", {}).items()}
    passed, worst = True, 0.0
    for index in range(len(wanted[0])):
        pairs = [(outputs[index], references[index]) for outputs, references in zip(results, wanted, strict=True)]
        difference = max(compare(actual, expected, strides.get(index, 1)) for actual, expected in pairs)
        if pairs[0][1].dtype.kind == "f":
            scale = max(float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)) for _, expected in pairs)
            difference /= scale or 1.0
            passed &= difference <= FLOAT_TOLERANCE
        else:
            passed &= difference == 0
        worst = max(worst, difference)
    return {
        "passed": passed,
        "difference": worst,
        "integer": all(expected.dtype.kind != "f" for references in wanted for expected in references),
    }


def generated(
    graph: Any, cases: Sequence[Any], meta: Mapping[str, Any], results: Sequence[Any], folder: Path
) -> dict[str, str]:
    """What became of the model as C: on this machine against the runtime's portable kernels, and on a board, where it
    is small, against this machine. All have to be the same bits, but floats of a board with MVE are within
    FLOAT_TOLERANCE."""
    from microlith import targets
    from microlith.errors import MicrolithError

    chosen = list(range(len(cases)))
    if graph.states and not meta.get("stateful"):
        chosen = chosen[:1]
    feeds = [
        {value.name: np.asarray(array, value.dtype.numpy) for value, array in zip(graph.inputs, inputs, strict=True)}
        for inputs, _ in (cases[k] for k in chosen)
    ]
    try:
        host = as_c(graph, "host", folder / "host", feeds, {"OPT": "-O1"})
    except MicrolithError as error:
        return {"c": str(error).splitlines()[0]}
    if not equal(host, [results[k] for k in chosen]):
        return {"c": f"differs by {judge({}, host, [results[k] for k in chosen])['difference']:.1e}"}
    row = {"c": "same"}
    if sum(value.type.nbytes for value in graph.constants()) > MOST_BOARD_BYTES:
        return row
    for board in BOARDS:
        try:
            outputs = as_c(graph, board, folder / board, feeds[:MOST_BOARD_CASES], {})
        except MicrolithError as error:
            row["board"] = str(error).splitlines()[0].split(": ")[-1]
            continue
        same = equal(outputs, host[: len(outputs)]) or (
            "mve" in targets.get(board).isa and judge({}, outputs, host[: len(outputs)])["passed"]
        )
        row["board"] = f"same ({board})" if same else f"differs ({board})"
        break
    return row


def equal(some: Sequence[Sequence[np.ndarray]], others: Sequence[Sequence[np.ndarray]]) -> bool:
    """Whether all arrays have the same bytes."""
    pairs = [pair for a, b in zip(some, others, strict=True) for pair in zip(a, b, strict=True)]
    return all(np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in pairs)


def as_c(
    graph: Any, target: str, folder: Path, feeds: Sequence[Mapping[str, np.ndarray]], variables: Mapping[str, str]
) -> list[list[np.ndarray]]:
    """The outputs of generated code for each of the inputs."""
    from microlith import generate
    from microlith.codegen import execute

    generate(graph, target, folder, name="model")
    project = execute.Project.open(folder)
    execute.build(project, variables=variables)
    outputs = execute.run(project, feeds).outputs
    return [[outputs[value.name][position] for value in graph.outputs] for position in range(len(feeds))]


INTRODUCTION = """\
# Real models

Generated by `make models-table`: every model of a collection, with stored inputs and outputs, converted and run.

**{agree} of {all} models run and agree.** As C on the host {same} of {static} static ones give the same bits as the
portable kernels of the runtime, and {fixed} of {open} with open sizes once these are fixed; of {boards} small ones
{on_board} do so on an emulated Cortex-M.

What a model agrees with:

* `onnxruntime`: ONNX Runtime without optimisations. `builtin`, `ref`, `xnnpack`: LiteRT's built-in kernels, its
  reference kernels, or its delegate. Integers are equal, floats within {tolerance} of the largest element. A TFLite
  model of integers equals the reference kernels where both kinds of kernels give the same, else the built-in ones
  ([decision 9](decisions/0009-tflite-rounding.md)).
* `double precision`: the same graph evaluated in float64, from which the stored outputs are off as well.
* `onnxruntime here`: the same on the machine of this table, which has VNNI. The stored outputs come from one without:
  there ONNX Runtime's products of uint8 and int8 saturate in 16 bits.
* `each layer`: the model rounds to 8 bits inside, after sums of floats. A rounding that two executions decide
  differently grows on the way to the output ([decision 13](decisions/0013-qdq-becomes-integers.md)); so each layer is
  fed with the values of the reference runtime: floats within 1e-4, at most one integer of 10 000 off, by one step. An
  ONNX model that gives the stored bytes when it is converted with `--qdq as-written` agrees with `onnxruntime`, and
  all of its row is about it converted so ([decision 43](decisions/0043-qdq-as-it-is-written.md)).

The difference is that of the whole model from the stored outputs, or, where the model agrees with `builtin` or
`onnxruntime here`, from what these give, in each row, those of `double precision` and `each layer` too. Of an output
of floats: the largest |ours - stored| of any of its elements in any case, divided by the largest finite |stored| of
the same output in all cases. Of an output of integers: the largest |ours - stored|, in steps. Of several outputs the
largest difference counts. Of large outputs only every n-th element is stored, and these are compared. In a remark,
"from double precision" is taken the same way, with the outputs in double precision in the place of the stored ones.

A TFLite file whose sizes are not those of its inputs is converted with `--input`.

| model | agrees with | difference | C on the host | C on a board | remark |
|---|---|---|---|---|---|"""


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
    static = [row for row in agree if "c" in row and not row["open"]]
    same = [row for row in static if row["c"] == "same"]
    fixed = [row for row in agree if row["open"] and row.get("c", "").startswith("same")]
    boards = [row for row in agree if row.get("board", "").startswith(("same", "differs"))]
    on_board = [row for row in boards if row["board"].startswith("same")]
    counts = {
        "agree": len(agree),
        "all": len(rows),
        "static": len(static),
        "same": len(same),
        "open": sum(row["open"] for row in agree),
        "fixed": len(fixed),
        "boards": len(boards),
        "on_board": len(on_board),
        "tolerance": f"{FLOAT_TOLERANCE:g}",
    }
    lines = [INTRODUCTION.format(**counts)]
    for name, row in rows.items():
        if "stage" in row:
            lines.append(f"| {name} | | | | | {row['stage']}: {row['why']} |")
            continue
        unit = " steps" if row["integer"] else ""
        difference = f"{row['difference']:.2g}{unit}" if row["difference"] else "none"
        good = row["reference"] if row["passed"] else "**differs**"
        c = row.get("c", "sizes depend on data" if row.get("open") else "")
        lines.append(f"| {name} | {good} | {difference} | {c} | {row.get('board', '')} | {row.get('why', '')} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
