"""microlith check"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from microlith.size_ranges import SizeRange

from .codegen_command import TargetOption
from .console import (
    JsonOption,
    ModelArgument,
    RegionOption,
    ShapeOption,
    bytes_text,
    console,
    count_text,
    open_graph,
    parse_regions,
    parse_size,
    print_float_layers,
    print_json,
    print_not_finite,
    progress_bar,
    regions_text,
)
from .constants import ConstantOption
from .ops_option import OpsOption

if TYPE_CHECKING:
    from microlith.codegen.execute import Size
    from microlith.codegen.stack_depth import StackDepth
    from microlith.ir import Graph
    from microlith.lower import Program
    from microlith.optimum import Optimum
    from microlith.regions import MemoryRegion

NAME = "check"
EXAMPLE = "microlith check model.tflite --target cortex-m4"


def command(
    model: ModelArgument,
    target: TargetOption = "host",
    shapes: ShapeOption = None,
    constants: ConstantOption = None,
    ram: Annotated[
        str | None, typer.Option(metavar="SIZE", help="RAM of your chip, as in 64K. Default: the emulated board's.")
    ] = None,
    flash: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Flash of your chip, as in 1M. Default: the emulated board's.")
    ] = None,
    region: RegionOption = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Compile in a temporary folder to know code and stack too.")
    ] = False,
    prove: Annotated[
        bool,
        typer.Option("--prove", help="Find out whether any placement needs a smaller arena (extra: microlith[plan])."),
    ] = False,
    ops_from: OpsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell before anything is written whether a model runs on a target: every op, MACs, parameters, RAM and flash.

    Exit code 1 when something is unsupported or does not fit, 2 when that could not be told.
    """
    from microlith.codegen.fused_layers import is_printed, lower_for
    from microlith.errors import UnsupportedError
    from microlith.finite import not_finite
    from microlith.float_layers import float_layers, has_integers
    from microlith.ir import all_graphs
    from microlith.lower import lower
    from microlith.targets import get

    row = get(target)
    budgets = {"ram": parse_size("--ram", ram), "flash": parse_size("--flash", flash)}
    try:
        graph = open_graph(model, shapes, constants)
        graph, program = lower_for(graph, row)
    except UnsupportedError as error:
        _report_unsupported(error, target, as_json)
        raise typer.Exit(1) from None
    optimum = _optimum(program) if prove else None
    regions = parse_regions(region)
    placement = _placement(graph, target, regions) if regions else ()
    size, stack = _measured(graph, target) if measure else (None, None)
    layers: list[dict[str, Any]] = [
        {
            "op": call.node.op,
            "name": call.node.name,
            "source": call.node.source,
            "supported": True,
            "kernel": None if call.elided or call.kernel is None else call.kernel.symbol,
            "elided": call.elided,
            "macs": call.macs,
            "stack_bytes": None if stack is None or call.kernel is None else stack.layers.get(call.kernel.symbol),
        }
        for call in program.calls
    ]
    floats = float_layers(graph)
    doubtful = [item for part in all_graphs(graph) for item in not_finite(part)]
    report: dict[str, Any] = {
        "model": str(model),
        "target": target,
        "supported": True,
        "macs": program.macs,
        "parameters": sum(tensor.type.count for tensor in program.tensors if tensor.data is not None),
        "arena_bytes": program.arena_size,
        "arena_lower_bound": program.arena_lower_bound,
        "arena_least": None if optimum is None else optimum.bound,
        "activation_bytes": sum(tensor.nbytes for tensor in program.tensors if tensor.data is None),
        "by_lifetime_bytes": lower(graph, row.isa, alignment=row.alignment, printed=is_printed).arena_size,
        "ordering": None if program.ordering is None else dataclasses.asdict(program.ordering),
        "weight_bytes": program.constant_bytes,
        "code_bytes": None if size is None else size.code,
        "stack_bytes": None if stack is None else stack.total,
        "ram_bytes": program.arena_size if size is None else size.ram,
        "flash_bytes": program.constant_bytes if size is None else size.flash,
        "ram_available": budgets["ram"] or row.ram_bytes,
        "flash_available": budgets["flash"] or row.flash_bytes,
        "ranges": {name: item.as_list() for name, item in program.ranges.items()},
        "regions": placement,
        "layers": layers,
        "integers": has_integers(graph),
        "not_finite": [dataclasses.asdict(item) for item in doubtful],
        "in_float": [{"op": x.node.op, "name": x.name, "reason": x.reason} for x in floats],
    }
    problems = [
        f"{bytes_text(report[f'{kind}_bytes'])} of {label} are more than the {bytes_text(available)} there are"
        for kind, label in (("ram", "RAM"), ("flash", "flash"))
        if (available := report[f"{kind}_available"]) and report[f"{kind}_bytes"] > available
    ]
    report["problems"] = problems
    if as_json:
        print_json(report)
    else:
        _print(report, model.name, "the emulated board" if not any(budgets.values()) else "your chip")
        print_not_finite(doubtful)
    if problems:
        raise typer.Exit(1)


def _optimum(program: Program) -> Optimum:
    """Whether a smaller arena is possible; known without a search where it is as small as what lives at one time."""
    from microlith.optimum import Optimum, prove

    if program.arena_size <= program.arena_lower_bound or program.planned is None:
        return Optimum(program.arena_lower_bound, program.arena_size)
    with progress_bar("prove the arena"):
        found = prove(program.planned, program.arena_size)
    return Optimum(max(found.bound, program.arena_lower_bound), program.arena_size)


def _placement(graph: Graph, target: str, regions: Sequence[MemoryRegion]) -> tuple[Mapping[str, Any], ...]:
    """What lies in which memory of the chip, as a project would have it."""
    from microlith import generate

    with tempfile.TemporaryDirectory(prefix="microlith-check-") as folder:
        return generate(graph, target, Path(folder) / "project", name="model", regions=regions).regions


def _measured(graph: Graph, target: str) -> tuple[Size, StackDepth | None]:
    """Generates and compiles in a folder that goes away."""
    from microlith import generate, targets
    from microlith.codegen import execute
    from microlith.codegen.measured import build_and_measure
    from microlith.codegen.stack_depth import can_measure

    execute.require_tools(targets.get(target))
    with progress_bar(f"compile for {target}"), tempfile.TemporaryDirectory(prefix="microlith-check-") as folder:
        generate(graph, target, Path(folder) / "project", name="model")
        project = execute.Project.open(Path(folder) / "project")
        stack = None
        if can_measure(project.target):
            stack = build_and_measure(project).stack
        else:
            execute.build(project)
        return execute.measure_size(project), stack


def _print(report: dict[str, Any], name: str, board: str) -> None:
    table = Table("op", "name", "supported", "kernel", "MACs", title=f"{name} on {report['target']}")
    for layer in report["layers"]:
        macs = count_text(layer["macs"]) if layer["macs"] else ""
        table.add_row(
            layer["op"],
            layer["name"],
            "yes",
            layer["kernel"] or ("view, no code" if layer["elided"] else "subgraphs"),
            macs,
        )
    console.print(table)
    measured = report["code_bytes"] is not None
    ram = "arena, stack and variables" if measured else "arena; --measure adds stack and variables"
    flash = "weights and code" if measured else "weights; --measure adds the code"
    console.print(
        f"{count_text(report['macs'])} MACs, {count_text(report['parameters'])} parameters\n"
        f"RAM {bytes_text(report['ram_bytes'])} ({ram}; lower bound of the arena "
        f"{bytes_text(report['arena_lower_bound'])}), flash {bytes_text(report['flash_bytes'])} ({flash})",
        highlight=False,
    )
    if (least := report["arena_least"]) is not None:
        proof = "no placement needs less" if least >= report["arena_bytes"] else f"the least may be {bytes_text(least)}"
        console.print(f"arena of {report['arena_bytes']:,} bytes: {proof}", highlight=False)
    if report["stack_bytes"] is not None:
        deepest = [f"{x['op']}, {x['kernel']}" for x in report["layers"] if x["stack_bytes"] == report["stack_bytes"]]
        where = f" ({deepest[0]})" if deepest else ""
        console.print(
            f"stack of a run: {report['stack_bytes']:,} bytes{where}, interrupts not counted", highlight=False
        )
    if report["ordering"] and (saved := report["ordering"]["given_arena_size"] - report["arena_bytes"]) > 0:
        proof = "no order needs less" if report["ordering"]["optimal"] else "not proved to be the best"
        console.print(f"the order of the layers saves {bytes_text(saved)} of RAM ({proof})", highlight=False)
    for size, limits in report["ranges"].items():
        console.print(
            f"size {size}: {SizeRange(*limits).spelled}; the figures are those of the largest", highlight=False
        )
    if report["ram_available"]:
        console.print(
            f"{board}: {bytes_text(report['ram_available'])} of RAM, {bytes_text(report['flash_available'])} of flash"
            + ("" if board == "your chip" else "; name your chip's with --ram and --flash"),
            highlight=False,
        )
    console.print(regions_text(report["regions"]), highlight=False, end="")
    print_float_layers(report["in_float"], report["integers"])
    for problem in report["problems"]:
        console.print(f"[bold red]does not fit:[/bold red] {problem}", highlight=False)


def _report_unsupported(error: Any, target: str, as_json: bool) -> None:
    rows = [
        {
            "op": item.op,
            "name": item.node,
            "supported": False,
            "attribute": item.attribute,
            "reason": item.reason,
            "hint": item.hint,
        }
        for item in error.items
    ]
    if as_json:
        print_json({"target": target, "supported": False, "layers": rows})
        return
    table = Table("op", "name", "attribute", "why", "what to do", title=f"{len(rows)} unsupported on {target}")
    for row in rows:
        table.add_row(str(row["op"]), str(row["name"]), str(row["attribute"]), str(row["reason"]), str(row["hint"]))
    console.print(table)
