# SPDX-License-Identifier: Apache-2.0
"""What the examples share: train a model, make it small, export it, run it as C on an emulated microcontroller.

Each example says what its data, its model and its score are (``Example``); ``main`` does the rest and prints a table
that holds the same score for every form of the model.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn

import microlith
from microlith import targets, trainer
from microlith.codegen import execute

console = Console(highlight=False)


@dataclass(frozen=True)
class Data:
    """Arrays, first axis the sample."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    """What the score takes; need not be what the model is trained on."""


@dataclass(frozen=True)
class Example:
    """One example."""

    name: str
    title: str
    data: Callable[[], Data]
    model: Callable[[], nn.Module]
    score: Callable[[np.ndarray, Data], float]
    """From the outputs for ``test_x`` to a number, larger is better."""
    score_name: str
    epochs: int
    loss: str = "cross_entropy"
    learning_rate: float = 3e-3
    batch_size: int = 64
    compress_epochs: int = 4
    compress_rate: float = 5e-4
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further ones of ``trainer.fit`` for the first training."""


METHODS: Mapping[str, Callable[[Data], trainer.Compressor]] = {
    "qat": lambda data: trainer.QAT(),
    "slb-4": lambda data: trainer.LowBitSearch(4, edges="search"),
    "slb-2": lambda data: trainer.LowBitSearch(2, edges="search"),
    "slb-1": lambda data: trainer.LowBitSearch(1, edges="search"),
    "scop": lambda data: trainer.Scop(0.45, data=(torch.from_numpy(data.train_x), torch.from_numpy(data.train_y))),
    "magnitude": lambda data: trainer.MagnitudePruning(0.8),
    "2-of-4": lambda data: trainer.MagnitudePruning(pattern=(2, 4)),
}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    form: str
    score: float
    file: str = ""
    flash: str = ""
    ram: str = ""
    instructions: str = ""
    agreement: str = ""


def accuracy(outputs: np.ndarray, data: Data) -> float:
    """Share of right classes."""
    return float((outputs.argmax(1) == data.test_y).mean())


def one_cycle(rate: float) -> Callable[[torch.optim.Optimizer, int], Any]:
    """A learning rate that rises and falls once."""
    return lambda optimizer, steps: torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Prints what was done and how long it took."""
    start = time.perf_counter()
    yield
    console.print(f"[green]✓[/green] {text} [dim]{time.perf_counter() - start:.1f} s[/dim]")


def in_pytorch(model: nn.Module, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return torch.cat([model(part) for part in torch.from_numpy(x).split(500)]).numpy()


def in_runtime(path: Path, x: np.ndarray) -> np.ndarray:
    """All rows in the runtime with the portable kernels, whose bytes are those of generated C."""
    with microlith.load(path, isa="c") as model:
        name = model.inputs[0].name
        return np.concatenate([next(iter(model.run({name: row[None]}).values())) for row in x])


def on_board(exported: trainer.Exported, board: str, folder: Path, x: np.ndarray, runtime: np.ndarray) -> Row:
    """Generates C, compiles it for the board, runs rows in the emulator and holds them against the runtime's bytes."""
    name = exported.graph.inputs[0].name
    microlith.generate(exported.path, board, folder, samples=[{name: x[:1]}], force=True)
    project = execute.Project.open(folder)
    execute.build(project)
    execute.selftest(project)
    result = execute.run(project, [{name: row[None]} for row in x])
    outputs = np.concatenate(list(result.outputs.values())).reshape(runtime.shape)
    size = execute.measure_size(project)
    ram = int(project.report["arena_bytes"]) + (result.stack or 0)
    same = outputs.tobytes() == runtime.tobytes()
    return Row(
        "", 0, "", f"{size.flash / 1000:.1f} kB", f"{ram / 1000:.1f} kB", f"{(result.instructions or 0) / 1000:.0f}k",
        f"same bytes as runtime, {len(x)} rows" if same else "DIFFERS from the runtime",
    )  # fmt: skip


def to_device(
    example: Example, form: str, model: nn.Module, data: Data, board: str, folder: Path, rows: int
) -> list[Row]:
    """Exports a model, scores it in the runtime, runs it on the board."""
    with step(f"{form}: export, with a look at the numbers"):
        exported = trainer.export(model, data.test_x[:16], folder / f"{form.split()[0]}.lith")
    console.print(f"  {exported}".replace("\n", "\n  "), style="dim", markup=False)
    with step(f"{form}: run {len(data.test_x)} test samples in the runtime"):
        outputs = in_runtime(exported.path, data.test_x)
    with step(f"{form}: generate C for {board}, compile, run {rows} of them in QEMU"):
        device = on_board(exported, board, folder / form.split()[0], data.test_x[:rows], outputs[:rows])
    size = f"{exported.path.stat().st_size / 1000:.1f} kB"
    return [
        Row(f"{form}, PyTorch", example.score(in_pytorch(model, data.test_x), data)),
        Row(f"{form}, {board}", example.score(outputs, data), size, device.flash, device.ram,
            device.instructions, device.agreement),
    ]  # fmt: skip


def show(example: Example, rows: Sequence[Row]) -> None:
    table = Table("", example.score_name, ".lith", "flash", "RAM", "instructions", "generated C")
    for row in rows:
        score = f"{row.score:.2%}" if 0 <= row.score <= 1 else f"{row.score:.3f}"
        table.add_row(row.form, score, row.file, row.flash, row.ram, row.instructions, row.agreement)
    console.print(table)
    console.print(
        "Scores over the whole test set, which training never saw; on the board they are those of the runtime, whose\n"
        "bytes generated C gave for the rows that ran in QEMU. flash: code, weights and the program around it.",
        style="dim",
    )


def compress(
    example: Example, method: str, model: nn.Module, data: Data, common: Mapping[str, Any], quick: bool
) -> nn.Module:
    """Trains a model on, with one method that makes it smaller. Integers need few epochs, the others as many again."""
    epochs = example.compress_epochs if method == "qat" else example.epochs
    rate = example.compress_rate if method == "qat" else example.learning_rate * 0.3
    options: dict[str, Any] = {"learning_rate": rate} if method == "qat" else {"schedule": one_cycle(rate)}
    with step(f"compress: {method}, {1 if quick else epochs} epochs"):
        return trainer.fit(
            model, (data.train_x, data.train_y), epochs=1 if quick else epochs, name=f"{example.name}-{method}",
            compressors=METHODS[method](data), augment=example.options.get("augment"), **common, **options,
        ).model  # fmt: skip


def run(example: Example, ways: Sequence[str], folder: Path, board: str, rows: int, quick: bool) -> int:
    """Exit code 0 when the generated C gave the bytes of the runtime."""
    console.print(f"[bold]{example.title}[/bold]")
    data = example.data()
    console.print(f"{len(data.train_x)} samples to train on, {len(data.test_x)} to test, each {data.test_x.shape[1:]}")
    torch.manual_seed(1)
    common: dict[str, Any] = {
        "loss": example.loss, "batch_size": example.batch_size, "run_dir": folder / "runs", "progress": False,
        "metrics": "accuracy" if example.loss == "cross_entropy" else None, "seed": 1,
    }  # fmt: skip
    pair = (data.train_x, data.train_y)
    with step(f"train for {1 if quick else example.epochs} epochs"):
        whole = trainer.fit(
            example.model(), pair, epochs=1 if quick else example.epochs, name=example.name,
            schedule=one_cycle(example.learning_rate), **common, **example.options,
        )  # fmt: skip
    found = to_device(example, "float", whole.model, data, board, folder, rows)
    for chosen in ways:
        small = copy.deepcopy(whole.model)
        for method in chosen.split("+"):
            small = compress(example, method, small, data, common, quick)
        found += to_device(example, chosen, small, data, board, folder, rows)
    show(example, found)
    console.print(f"runs: microlith train runs --dir {folder / 'runs'}", style="dim")
    return 1 if any("DIFFERS" in row.agreement for row in found) else 0


def way(text: str) -> str:
    """An argument of --compress."""
    unknown = [name for name in text.split("+") if name not in METHODS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}; {', '.join(METHODS)}")
    return text


def main(example: Example) -> int:
    parser = argparse.ArgumentParser(description=example.title)
    here = Path(__file__).resolve().parent
    parser.add_argument(
        "--output", type=Path, default=here / "out" / example.name, help="folder for all that is written"
    )
    boards = [target.name for target in targets.all_targets() if target.is_bare_metal]
    parser.add_argument("--board", default="cortex-m4", choices=boards, help="what to emulate")
    text = f"how the model is made small: {', '.join(METHODS)}, or several after each other: scop+qat"
    parser.add_argument("--compress", default=["qat"], nargs="+", type=way, metavar="WAY", help=text)
    parser.add_argument("--rows", type=int, default=20, help="test samples that run in the emulator")
    parser.add_argument("--quick", action="store_true", help="one epoch each: to see that it works")
    given = parser.parse_args()
    try:
        return run(example, given.compress, given.output, given.board, given.rows, given.quick)
    except microlith.MicrolithError as error:
        console.print(f"[red]{type(error).__name__}[/red]:", end=" ")
        console.print(str(error), markup=False)
        return error.exit_code


if __name__ == "__main__":
    sys.exit("run one of the examples beside this file")
