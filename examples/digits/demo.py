"""Recognises handwritten digits with one model in five ways, and compares what they say.

ONNX's own reference, the runtime with this CPU's kernels and with the portable ones, generated C on this machine, and
generated C on an emulated microcontroller. Exit code 0 when the last three agree in every bit (a board with MVE:
within 1e-5) and all recognise at least 98 % of the images.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx.reference
from rich.console import Console
from rich.table import Table

import microlith
from microlith import targets
from microlith.codegen import execute

HERE = Path(__file__).resolve().parent
ONNX = HERE / "digits.onnx"
NEAR = 1e-5
"""How far probabilities of a board with MVE may be from those of the portable kernels."""
GOOD = 0.98
SHADES = " ░▒▓█"

console = Console(highlight=False)


@dataclass(frozen=True)
class Result:
    """What one engine made of the test images."""

    engine: str
    probabilities: np.ndarray
    """f32 [images, 10]"""
    cost: str = ""
    """Of one image."""
    flash: str = ""
    ram: str = ""

    @property
    def predicted(self) -> np.ndarray:
        return self.probabilities.argmax(1)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Shows that something is going on, then how long it took."""
    start = time.perf_counter()
    with console.status(text):
        yield
    console.print(f"[green]✓[/green] {text} [dim]{time.perf_counter() - start:.1f} s[/dim]")


def kilobytes(size: int) -> str:
    return f"{size / 1000:.1f} kB"


def run_onnx(images: np.ndarray) -> Result:
    """The evaluator of the onnx package: NumPy, written by others."""
    session = onnx.reference.ReferenceEvaluator(str(ONNX))
    return Result("ONNX reference", np.concatenate([session.run(None, {"image": image})[0] for image in images]))


def run_runtime(engine: str, path: Path, images: np.ndarray, isa: str | None) -> Result:
    with microlith.load(path, isa=isa) as model:
        rows, fastest = [], float("inf")
        for image in images:
            start = time.perf_counter()
            outputs = model.run({"image": image})
            fastest = min(fastest, time.perf_counter() - start)
            rows.append(outputs["probabilities"][0])
    return Result(engine, np.stack(rows), f"{fastest * 1e6:.0f} µs")


def run_generated(engine: str, path: Path, target: str, folder: Path, images: np.ndarray) -> Result:
    """Writes C for a target, compiles it, runs its self-test and then all images."""
    microlith.generate(path, target, folder, samples=[{"image": images[0]}], force=True)
    project = execute.Project.open(folder)
    execute.build(project)
    execute.selftest(project)
    result = execute.run(project, [{"image": image} for image in images])
    probabilities = result.outputs["probabilities"].reshape(len(images), -1)
    if result.instructions is None:
        return Result(engine, probabilities, f"{(result.nanoseconds or 0) / 1000:.0f} µs")
    size = execute.measure_size(project)
    ram = int(project.report["arena_bytes"]) + (result.stack or 0)
    cost = f"{result.instructions / 1000:.0f}k instr."
    return Result(engine, probabilities, cost, kilobytes(size.flash), kilobytes(ram))


def print_table(results: Sequence[Result], labels: np.ndarray, bits: Result) -> None:
    table = Table("engine", "right", "bits", "flash", "RAM", "one image")
    for result in results:
        right = int((result.predicted == labels).sum())
        if result is bits:
            agreement = "measure"
        elif result.probabilities.tobytes() == bits.probabilities.tobytes():
            agreement = "same"
        else:
            agreement = f"± {np.abs(result.probabilities - bits.probabilities).max():.0e}"
        table.add_row(
            result.engine, f"{right} ({right / len(labels):.1%})", agreement, result.flash, result.ram, result.cost
        )
    console.print(table)


def draw(images: np.ndarray, captions: Sequence[str]) -> None:
    """Draws 8x8 images of values 0 to 16 side by side."""
    for row in range(8):
        lines = ("".join(SHADES[-(-int(pixel) * 4 // 16)] * 2 for pixel in image[row]) for image in images)
        console.print("  ".join(lines), markup=False)
    console.print("  ".join(f"{caption:<16}" for caption in captions), markup=False)
    console.print()


def show_digits(pixels: np.ndarray, labels: np.ndarray, result: Result) -> None:
    right = np.flatnonzero(result.predicted == labels)[:4]
    wrong = np.flatnonzero(result.predicted != labels)[:4]
    sure = result.probabilities.max(1)

    def caption(index: int) -> str:
        return f"{result.predicted[index]} ({sure[index]:.0%})"

    console.print(f"\nAs generated {result.engine} sees them:\n")
    draw(pixels[right], [caption(index) for index in right])
    if len(wrong):
        console.print("What it got wrong:\n")
        draw(pixels[wrong], [f"{caption(index)}, is {labels[index]}" for index in wrong])


def demo(folder: Path, board: targets.Target) -> int:
    with np.load(HERE / "digits_test.npz") as data:
        pixels, labels = data["images"], data["labels"]
    images = pixels.astype(np.float32)[:, None, None] / 16
    path = folder / "digits.lith"
    folder.mkdir(parents=True, exist_ok=True)

    with step("convert digits.onnx"):
        microlith.convert(ONNX, path)
    jobs: dict[str, Callable[[], Result]] = {
        f"run {len(images)} images in ONNX's reference evaluator": lambda: run_onnx(images),
        "run them in the runtime": lambda: run_runtime("runtime, this CPU", path, images, None),
        "run them in the runtime, portable C kernels only": lambda: run_runtime("runtime, portable", path, images, "c"),
        "generate C for this machine, compile, run": lambda: run_generated(
            "C on this machine", path, "host", folder / "host", images
        ),
        f"generate C for a {board.title}, cross-compile, run in QEMU": lambda: run_generated(
            f"C on a {board.title}", path, board.name, folder / board.name, images
        ),
    }
    results = []
    for text, job in jobs.items():
        with step(text):
            results.append(job())
    _, _, portable, host, emulated = results

    console.print(
        f"\ndigits.onnx {kilobytes(ONNX.stat().st_size)} → digits.lith {kilobytes(path.stat().st_size)}; "
        f"generated C in {folder}\n"
    )
    print_table(results, labels, portable)
    console.print(
        f"right: of {len(images)} images that training never saw. bits: of all probabilities, "
        "against the portable kernels.\n"
        "flash: code, weights and the program that feeds the images. RAM: working memory and deepest stack.\n"
        "one image: the fastest; the runtime called from Python. QEMU counts instructions, it does not tell time."
    )
    show_digits(pixels, labels, emulated)

    # Float kernels for MVE do not round products before they add them.
    exact = "mve" not in board.isa
    same = {result.probabilities.tobytes() for result in (portable, host, *([emulated] if exact else []))}
    near = bool(np.all(np.abs(emulated.probabilities - portable.probabilities) <= NEAR))
    accurate = all((result.predicted == labels).mean() >= GOOD for result in results)
    agree = len(same) == 1 and near
    if not agree or not accurate:
        console.print("[red]Poor accuracy.[/red]" if agree else "[bold red]The engines do not agree.[/bold red]")
        return 1
    places = f"generated C here and on the {board.title}" if exact else "generated C here"
    more = "" if exact else f", and the {board.title} was within {NEAR:g}"
    console.print(
        f"Runtime (C kernels), {places} gave the same {portable.probabilities.nbytes} bytes for {len(images)} images"
        f"{more}."
    )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=HERE / "out", help="folder for the model and the generated C")
    boards = [target.name for target in targets.all_targets() if target.is_bare_metal]
    parser.add_argument("--board", default="cortex-m4", choices=boards, help="what to emulate")
    arguments = parser.parse_args()
    try:
        return demo(arguments.output, targets.get(arguments.board))
    except microlith.MicrolithError as error:
        console.print(f"[red]{type(error).__name__}[/red]: {error}", markup=True)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
