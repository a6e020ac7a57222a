"""What the comparisons of our int8 with that of another quantizer share: cases, calibration data, SQNR, the table.

The models stand below ``models/`` in the folder that ``MICROLITH_SHARED`` names, or ``../shared``; their stored inputs
are the calibration data (of pictures also mirrored) and the test. A script brings the other quantizer.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from microlith.converter import convert
from microlith.converter.quantize import QuantizeOptions
from microlith.stepwise import Executor

ROOT = Path(os.environ.get("MICROLITH_SHARED", Path(__file__).resolve().parents[2] / ".." / "shared")) / "models"

Feed = dict[str, np.ndarray]
Results = list[list[np.ndarray]]


def cases_of(path: Path, names: Sequence[str]) -> list[Feed]:
    """The stored inputs of a model by name; ``names`` in the order of its inputs."""
    with np.load(f"{path}.ref.npz") as stored:
        numbers = sorted({key.split("_")[0] for key in stored.files if key.startswith("c") and "_in" in key})
        return [{name: stored[f"{number}_in{index}"] for index, name in enumerate(names)} for number in numbers]


def calibration_of(cases: list[Feed]) -> list[Feed]:
    """The cases of one shape, that with most elements, and their mirror images where they are pictures."""
    largest = max(cases, key=lambda feed: sum(array.size for array in feed.values()))
    shapes = {name: array.shape for name, array in largest.items()}
    same = [feed for feed in cases if {name: array.shape for name, array in feed.items()} == shapes]
    if not all(len(shape) == 4 and shape[1] in (1, 3) for shape in shapes.values()):
        return same
    mirrored = [{name: np.ascontiguousarray(array[..., ::-1]) for name, array in feed.items()} for feed in same]
    return [*same, *mirrored]


def ours(path: Path, feeds: list[Feed], **options: Any) -> tuple[Any, Any]:
    reports: list[Any] = []
    shapes = {name: array.shape for name, array in feeds[0].items()}
    graph = convert(
        path, inputs=shapes, quantization=QuantizeOptions(calibrate=feeds, **options), report=reports.append
    )
    return graph, reports[0]


def sqnr(wanted: Results, got: Results) -> float:
    """Decibels: for each output over all cases, then the mean of the outputs of real numbers; at most 120."""
    figures = []
    for index, first in enumerate(wanted[0]):
        if first.dtype.kind != "f":
            continue
        x = np.concatenate([np.ravel(case[index]).astype(np.float64) for case in wanted])
        y = np.concatenate([np.ravel(case[index]).astype(np.float64) for case in got])
        noise = np.sum((x - y) ** 2)
        figures.append(120.0 if noise == 0 else min(120.0, 10 * np.log10(max(np.sum(x**2), 1e-30) / noise)))
    return float(np.mean(figures))


def compare(
    path: Path,
    names: Sequence[str],
    reference: Callable[[list[Feed]], Results],
    theirs: Callable[[list[Feed], list[Feed]], Results],
    **options: Any,
) -> dict[str, Any]:
    """The row of one model.

    ``reference(tests)`` runs it in float, ``theirs(calibration, tests)`` quantizes it and runs the result.
    """
    cases = cases_of(path, names)
    feeds = calibration_of(cases)
    tests = [feed for feed in cases if all(feed[key].shape == feeds[0][key].shape for key in feed)]
    wanted = reference(tests)
    row: dict[str, Any] = {"model": path.stem, "samples": len(feeds)}
    try:
        row["theirs"] = sqnr(wanted, theirs(feeds, tests))
    except Exception as error:
        row["error of theirs"] = f"{type(error).__name__}: {error}"[:160]
        print(row["error of theirs"], file=sys.stderr)
    start = time.time()
    graph, report = ours(path, feeds, **options)
    executor = Executor(graph)
    got = []
    for feed in tests:
        made = executor.run(feed)
        got.append([made[value.name] for value in graph.outputs])
    row |= {"ours": sqnr(wanted, got), "choices": report.choices, "seconds": round(time.time() - start, 1)}
    row["float layers"] = [f"{layer.op} '{layer.name}'" for layer in report.floats]
    return row


def main(
    description: str | None, models: Sequence[str], other: str, compare_one: Callable[[Path], dict[str, Any]]
) -> None:
    """Command line of a comparison: one line per model, then the mean gain."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", action="append", help="a part of a model's name")
    parser.add_argument("--json", type=Path, help="write all figures here")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = []
    print(f"{'model':40} {other:>12} {'ours':>7} {'gain':>6}  floats  seconds")
    for name in models:
        if arguments.only and not any(part in name for part in arguments.only):
            continue
        if not (ROOT / name).exists():
            print(f"{name:40} not there")
            continue
        row = compare_one(ROOT / name)
        rows.append(row)
        theirs = row.get("theirs", float("nan"))
        print(
            f"{name:40} {theirs:12.2f} {row['ours']:7.2f} {row['ours'] - theirs:6.2f}"
            f"  {len(row['float layers']):6} {row['seconds']:8}",
            flush=True,
        )
    gains = [row["ours"] - row["theirs"] for row in rows if "theirs" in row]
    if gains:
        print(f"mean gain {np.mean(gains):.2f} dB over {len(gains)} models, smallest {min(gains):.2f} dB")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2))
