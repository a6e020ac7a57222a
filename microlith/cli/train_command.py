# SPDX-License-Identifier: Apache-2.0
"""microlith train: what was trained. Training itself is a Python program (docs/training.md)."""

from __future__ import annotations

import datetime
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from .console import JsonOption, console, print_json

if TYPE_CHECKING:
    from microlith.trainer.runs import Run, RunTable

NAME = "train"
app = typer.Typer(name=NAME, help="The runs of trainer.fit (docs/training.md).", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `runs` a command of its own."""


@app.command("runs", epilog="Example: [bold]microlith train runs --sort val_accuracy[/bold]")
def runs(
    folder: Annotated[Path, typer.Option("--dir", "-d", help="The run_dir of trainer.fit.")] = Path("runs"),
    sort: Annotated[
        str | None, typer.Option("--sort", help="A metric or hyperparameter, largest first (val_accuracy, seconds, …).")
    ] = None,
    ascending: Annotated[bool, typer.Option("--ascending", help="Smallest first.")] = False,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option("--compare", metavar="A B", help="Show what differs between two runs: data, numbers, results."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List training runs with their data, hyperparameters, metrics and revision, or compare two of them."""
    from microlith.trainer.runs import RunTable, sort_runs

    table = RunTable(folder)
    if compare is not None:
        _compare(table, *compare, as_json)
        return
    rows = table.all()
    if sort is not None:
        rows = sort_runs(rows, sort, not ascending)
    if as_json:
        print_json([asdict(run) for run in rows])
    else:
        _list(rows, sort)


def _list(rows: list[Run], sort: str | None) -> None:
    metrics = list(dict.fromkeys(name for run in rows for name in run.metrics))
    columns = ["run", "status", "started", "time", "epochs", "compressors", *metrics, "data", "revision"]
    if sort is not None and sort.split(".")[-1] not in (*metrics, "seconds", "started", "status"):
        columns.append(sort)
    table = Table(*columns)
    for run in rows:
        cells = [run.id, run.status, _time(run.started), f"{run.seconds:.0f} s"]
        cells += [_text(run.hyperparameters.get(key, "")) for key in ("epochs", "compressors")]
        cells += [_text(run.metrics.get(name, "")) for name in metrics]
        cells += [str(run.data.get("hash", ""))[:8], run.revision[:8] + "+" * run.revision.endswith("+")]
        table.add_row(*cells, *([_text(run.get(sort))] if sort and columns[-1] == sort else []))
    console.print(table)
    for run in rows:
        if run.reason:
            console.print(f"{run.id}: {run.reason}", markup=False, highlight=False)


def _compare(table: RunTable, first: str, second: str, as_json: bool) -> None:
    from microlith.trainer.runs import differences

    found = differences(table.get(first), table.get(second))
    if as_json:
        print_json({name: list(values) for name, values in found.items()})
        return
    grid = Table("", first, second, "difference")
    for name, (left, right) in found.items():
        numbers = all(isinstance(value, int | float) for value in (left, right))
        difference = f"{right - left:+.4g}" if numbers and name != "started" else ""
        text = _time if name == "started" else _text
        grid.add_row(name, text(left), text(right), difference)
    console.print(grid)


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
