"""microlith verify"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

from .codegen_command import TargetOption
from .console import (
    JsonOption,
    LithArgument,
    console,
    existing,
    load_inputs,
    noise_for,
    plural,
    print_json,
    progress_bar,
)
from .ops_option import OpsOption

if TYPE_CHECKING:
    from microlith.ir import Graph

NAME = "verify"
EXAMPLE = "microlith verify model.lith --target cortex-m4"

FLOAT_TOLERANCE = 1e-4
"""Of a float output, relative to the largest element of the reference; integers have to be equal."""


@dataclass(frozen=True)
class Comparison:
    """One output of one engine against the NumPy reference."""

    output: str
    engine: str
    equal: bool
    max_error: float
    """Largest absolute difference; in steps for integers."""
    passed: bool


def command(
    model: LithArgument,
    target: TargetOption = "host",
    inputs: Annotated[
        Path | None, typer.Option("--inputs", help="An .npz with one array for each input. Default: seeded noise.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Samples of seeded noise.")] = 3,
    ops_from: OpsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a model in the runtime, as generated C on this machine and on the target; compare all with each other.

    Exit code 1 when an output is not equal to the NumPy reference (integers) or not within 1e-4 of its largest element
    (floats; 5e-2 if the model quantizes floats that it has computed, where a difference can become a whole step), or
    when the portable C kernels do not give the same bytes in the runtime, here and on the target (where the target has
    vectors of floats, its sums are rounded in another order, and the tolerance is all that is asked of it).
    """
    from microlith import modelfile, targets
    from microlith.binding import needs_a_run
    from microlith.codegen.execute import require_tools
    from microlith.errors import InputError
    from microlith.float_layers import REQUANTIZED_TOLERANCE, requantizes

    row = targets.get(target)
    require_tools(row)
    graph = modelfile.load(existing(model))
    symbols = {dim for value in graph.inputs for dim in value.shape if isinstance(dim, str)}
    if symbols - set(graph.ranges) or needs_a_run(graph):
        raise InputError(
            "has sizes that are known at run time only, which generated C cannot have",
            where=str(model),
            hint="convert the original model again with --input NAME:DIMS, or with a range, --input SIZE:1..128",
        )
    feeds = [load_inputs(inputs)] if inputs is not None else _noise(graph, samples)
    results, alike = _run_all(model, graph, feeds, target)
    reference = results.pop("reference")
    tolerance = REQUANTIZED_TOLERANCE if requantizes(graph) else FLOAT_TOLERANCE
    comparisons = [
        _compare(name, engine, reference[name], outputs[name], tolerance)
        for engine, outputs in results.items()
        for name in reference
    ]
    groups = _equal_groups({"reference": reference, **results})
    portable = [{engine for engine in group if engine != "reference"} for group in groups]
    exact = any(alike <= group for group in portable)
    passed = exact and all(item.passed for item in comparisons)
    if as_json:
        print_json(
            {
                "passed": passed,
                "samples": len(feeds),
                "equal_bytes": groups,
                "outputs": [vars(item) for item in comparisons],
            }
        )
    else:
        table = Table(
            "output", "engine", "bytes", "largest difference", "", title=f"{model.name}, {plural(len(feeds), 'sample')}"
        )
        for item in comparisons:
            verdict = "[green]ok[/green]" if item.passed else "[bold red]differs[/bold red]"
            same = "equal" if item.equal else "not equal"
            table.add_row(item.output, item.engine, same, f"{item.max_error:.3g}", verdict)
        console.print(table)
        for group in groups:
            if len(group) > 1:
                console.print(f"the same bytes: {'; '.join(group)}", highlight=False)
        if not exact:
            console.print("[bold red]the portable C kernels do not give the same bytes everywhere[/bold red]")
    if not passed:
        raise typer.Exit(1)


def _equal_groups(results: Mapping[str, Mapping[str, np.ndarray]]) -> list[list[str]]:
    """The engines sorted into groups whose outputs have the same bytes (any NaN counts as the same)."""
    groups: dict[bytes, list[str]] = {}
    for engine, outputs in results.items():
        groups.setdefault(b"".join(_bytes(outputs[name]) for name in sorted(outputs)), []).append(engine)
    return list(groups.values())


def _bytes(array: np.ndarray) -> bytes:
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.tobytes()


def _noise(graph: Graph, samples: int) -> list[dict[str, np.ndarray]]:
    """Noise; where sizes have a range, of the largest, the smallest, and some in between."""
    feeds = []
    for sample in range(samples):
        part = (0, 4, 1, 3, 2)[sample % 5]
        sizes = {name: item.between(1 - part / 4) for name, item in graph.ranges.items()}
        inputs = [
            (
                value.name,
                [sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in value.shape],
                value.dtype.numpy,
            )
            for value in graph.inputs
        ]
        feeds.append(noise_for(inputs, None, 100 * sample))
    return feeds


def _run_all(
    model: Path, graph: Graph, feeds: Sequence[Mapping[str, np.ndarray]], target: str
) -> tuple[dict[str, dict[str, np.ndarray]], set[str]]:
    """Outputs by engine and name, those of all samples one behind another; the engines that owe the same bytes."""
    from microlith import generate, load
    from microlith.codegen import execute
    from microlith.evaluate import evaluate

    chain = ["host"] if target == "host" else ["host", target]
    results: dict[str, dict[str, np.ndarray]] = {}
    alike = {"runtime, C kernels"}
    with progress_bar("verify") as advance, tempfile.TemporaryDirectory(prefix="microlith-verify-") as folder:
        total = 2 + len(chain)
        advance(0, total, "reference")
        states: dict[str, np.ndarray] = {}
        results["reference"] = _stack([evaluate(graph, feed, states) for feed in feeds])
        advance(1, total, "runtime")
        for engine, isa in (("runtime", None), ("runtime, C kernels", "c")):
            with load(model, isa=isa) as session:
                results[engine] = _stack([session.run(feed) for feed in feeds])
        for position, name in enumerate(chain):
            advance(2 + position, total, f"generated C, {name}")
            generate(graph, name, Path(folder) / name, name="model")
            project = execute.Project.open(Path(folder) / name)
            execute.build(project)
            results[f"C on {name}"] = _stack(execute.run(project, feeds).samples)
            if not any(_is_float_vector(layer) for layer in project.report["layer_table"]):
                alike.add(f"C on {name}")
    return results, alike


def _is_float_vector(layer: Mapping[str, Any]) -> bool:
    """Whether a layer's kernel may round a sum of floats otherwise than the portable one."""
    return layer["isa"] not in ("c", "dsp", "vfp") and bool(re.search(r"_(f32|f16)_", layer["kernel"] or ""))


def _stack(runs: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The outputs of all samples by name, one behind another."""
    return {name: np.concatenate([run[name].reshape(-1) for run in runs]) for name in runs[0]}


def _compare(output: str, engine: str, reference: np.ndarray, result: np.ndarray, tolerance: float) -> Comparison:
    equal = reference.dtype == result.dtype and _bytes(reference) == _bytes(result)
    a, b = (array.astype(np.float64) for array in (reference, result))
    with np.errstate(invalid="ignore"):
        difference = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    error: Any = float(difference.max()) if difference.size else 0.0
    finite = np.abs(a[np.isfinite(a)])
    scale = float(finite.max()) if finite.size else 0.0
    passed = equal or (reference.dtype.kind == "f" and error <= tolerance * max(scale, 1e-30))
    return Comparison(output, engine, equal, error, passed)
