"""microlith codegen"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microlith import targets

from .console import (
    InputLayoutOption,
    JsonOption,
    ModelArgument,
    RegionOption,
    ShapeOption,
    bytes_text,
    console,
    count_text,
    late_progress_bar,
    open_graph,
    parse_regions,
    parse_size,
    plural,
    print_inputs,
    print_json,
    regions_text,
)
from .constants import ConstantOption
from .ops_option import OpsOption

if TYPE_CHECKING:
    from microlith.codegen import Report

NAME = "codegen"
EXAMPLE = "microlith codegen model.lith --target cortex-m4 -o firmware"


class Optimize(str, enum.Enum):
    """What generated code is compiled for."""

    speed = "speed"
    balanced = "balanced"
    size = "size"


class Weights(str, enum.Enum):
    """How constants are written; ``auto``: as source up to 16 MiB."""

    auto = "auto"
    source = "source"
    binary = "binary"


class ProjectKind(str, enum.Enum):
    """What a generated folder is laid out for: the names of ``codegen.projects.EMITTERS``."""

    standalone = "standalone"
    cmake = "cmake"
    make = "make"
    arduino = "arduino"
    platformio = "platformio"
    zephyr = "zephyr"
    cmsis_pack = "cmsis-pack"


class Kernels(str, enum.Enum):
    """Whose kernels compute the layers."""

    own = "own"
    cmsis_nn = "cmsis-nn"


_NAMES = [" or ".join((*target.aliases, target.name)) for target in targets.all_targets()]
TargetOption = Annotated[str, typer.Option("--target", "-t", help=f"One of {', '.join(_NAMES)}.")]


def command(
    model: ModelArgument,
    target: TargetOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the project to.")],
    name: Annotated[str | None, typer.Option(help="Prefix of files and C names. Default: the model's name.")] = None,
    project: Annotated[
        ProjectKind,
        typer.Option(help="What the folder is for: CMake and Make (standalone), one of them, or an ecosystem."),
    ] = ProjectKind.standalone,
    kernels: Annotated[
        Kernels, typer.Option(help="Our own, or calls of Arm's CMSIS-NN where it has the layer (Cortex-M).")
    ] = Kernels.own,
    optimize: Annotated[Optimize, typer.Option(help="What generated code is compiled for.")] = Optimize.speed,
    weights: Annotated[
        Weights, typer.Option(help="Constants as C source or in a binary file; auto: source up to 16 MiB.")
    ] = Weights.auto,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder whatever it holds.")] = False,
    shapes: ShapeOption = None,
    constants: ConstantOption = None,
    ops_from: OpsOption = None,
    ram_limit: Annotated[
        str | None,
        typer.Option(
            "--ram-limit", help="Most bytes of arena and stack, such as 24K: layers run in stripes if need be."
        ),
    ] = None,
    input_by_rows: Annotated[
        bool,
        typer.Option(
            "--input-by-rows",
            help="The input never lies in memory as a whole: its rows are handed over as they come, as from a camera.",
        ),
    ] = False,
    input_layout: InputLayoutOption = "keep",
    region: RegionOption = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            "--measure-stack",
            help="Compile first, and state the exact depth of the stack and the size of the code (boards, gcc).",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print a model as a standalone C project for a target: readable source, weights, self-test, build files."""
    from microlith import generate
    from microlith.codegen import next_step
    from microlith.codegen.measured import generate_measured

    limit = parse_size("--ram-limit", ram_limit)
    graph = open_graph(model, shapes, constants, input_layout)
    with late_progress_bar("divide into stripes") as advance:
        report = (generate_measured if measure else generate)(
            graph,
            target,
            output,
            name=name or model.stem,
            project=project.value,
            kernels=kernels.value,
            optimize=optimize.value,
            weights=weights.value,
            ram_limit=limit,
            input_by_rows=input_by_rows,
            regions=parse_regions(region),
            force=force,
            progress=advance,
        )
    if as_json:
        print_json(report.as_dict())
        return
    if input_layout != "keep":
        print_inputs(graph)
    console.print(
        f"[bold]{output}[/bold]: {plural(report.layers, 'layer')} for {target}, {count_text(report.macs)} MACs, "
        f"weights {bytes_text(report.weight_bytes)}, arena {bytes_text(report.arena_bytes)} "
        f"(lower bound {bytes_text(report.arena_lower_bound)}){_compiled_text(report)}\n"
        f"{_stripes_text(report)}{regions_text(report.regions)}"
        f"{next_step(report, str(output))}",
        highlight=False,
    )


def _compiled_text(report: Report) -> str:
    if report.code_bytes is None:
        return "; code and exact stack: --measure" if targets.get(report.target).is_bare_metal else ""
    return f", code {bytes_text(report.code_bytes)}, stack {bytes_text(report.stack_bytes)} ({report.stack_compiler})"


def _stripes_text(report: Report) -> str:
    stripes = report.stripes
    if stripes is None:
        return ""
    return (
        f"the first {plural(stripes.layers, 'layer')} run in {plural(stripes.stripes, 'stripe')} to keep to the limit: "
        f"{plural(stripes.more_calls, 'more call')}, {bytes_text(stripes.copied_bytes)} copied in a run, "
        f"{count_text(stripes.recomputed_macs)} MACs done again\n"
    )
