"""microlith codegen"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import (
    JsonOption,
    ModelArgument,
    ShapeOption,
    bytes_text,
    console,
    count_text,
    open_graph,
    print_json,
)

NAME = "codegen"
EXAMPLE = "microlith codegen model.lith --target cortex-m4 -o firmware"

TargetOption = Annotated[
    str,
    typer.Option("--target", "-t", help="host, arm64-linux, armv7-linux, cortex-m0plus, -m3, -m4, -m7, -m33, -m55."),
]


def command(
    model: ModelArgument,
    target: TargetOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the project to.")],
    name: Annotated[str | None, typer.Option(help="Prefix of files and C names. Default: the model's name.")] = None,
    shapes: ShapeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a model as a standalone C project for a target: readable source, weights, self-test, CMake and Make."""
    from microlith import generate

    report = generate(open_graph(model, shapes), target, output, name=name or model.stem)
    if as_json:
        print_json(report.as_dict())
        return
    console.print(
        f"[bold]{output}[/bold]: {report.layers} layers for {target}, {count_text(report.macs)} MACs, "
        f"weights {bytes_text(report.weight_bytes)}, arena {bytes_text(report.arena_bytes)} "
        f"(lower bound {bytes_text(report.arena_lower_bound)})\n"
        f"build and test it with: make -C {output} run",
        highlight=False,
    )
