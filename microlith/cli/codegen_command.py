"""microlith codegen"""

from __future__ import annotations

import enum
import shlex
from pathlib import Path
from typing import Annotated

import typer

from microlith import targets

from .console import (
    JsonOption,
    ModelArgument,
    ShapeOption,
    bytes_text,
    console,
    count_text,
    open_graph,
    plural,
    print_json,
)
from .constants import ConstantOption
from .ops_option import OpsOption

NAME = "codegen"
EXAMPLE = "microlith codegen model.lith --target cortex-m4 -o firmware"


class Optimize(str, enum.Enum):
    """What generated code is compiled for."""

    speed = "speed"
    size = "size"


class Weights(str, enum.Enum):
    """How constants are written; ``auto``: as source up to 16 MiB."""

    auto = "auto"
    source = "source"
    binary = "binary"


_NAMES = [" or ".join((*target.aliases, target.name)) for target in targets.all_targets()]
TargetOption = Annotated[str, typer.Option("--target", "-t", help=f"One of {', '.join(_NAMES)}.")]


def command(
    model: ModelArgument,
    target: TargetOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the project to.")],
    name: Annotated[str | None, typer.Option(help="Prefix of files and C names. Default: the model's name.")] = None,
    shapes: ShapeOption = None,
    constants: ConstantOption = None,
    ops_from: OpsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a model as a standalone C project for a target: readable source, weights, self-test, CMake and Make."""
    from microlith import generate

    report = generate(open_graph(model, shapes, constants), target, output, name=name or model.stem)
    if as_json:
        print_json(report.as_dict())
        return
    console.print(
        f"[bold]{output}[/bold]: {plural(report.layers, 'layer')} for {target}, {count_text(report.macs)} MACs, "
        f"weights {bytes_text(report.weight_bytes)}, arena {bytes_text(report.arena_bytes)} "
        f"(lower bound {bytes_text(report.arena_lower_bound)})\n"
        f"build and test it with: make -C {shlex.quote(str(output))} run",
        highlight=False,
    )
