"""microlith check"""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from .codegen_command import TargetOption
from .console import JsonOption, ModelArgument, ShapeOption, bytes_text, console, count_text, open_graph, print_json

NAME = "check"
EXAMPLE = "microlith check model.tflite --target cortex-m4"


def command(
    model: ModelArgument, target: TargetOption = "host", shapes: ShapeOption = None, as_json: JsonOption = False
) -> None:
    """Tell before anything is written whether a model runs on a target: every op, MACs, parameters, RAM and flash.

    Exit code 1 when something is unsupported or does not fit.
    """
    from microlith.errors import UnsupportedError
    from microlith.lower import lower
    from microlith.targets import get

    row = get(target)
    try:
        graph = open_graph(model, shapes)
        program = lower(graph, row.isa, alignment=row.alignment)
    except UnsupportedError as error:
        _report_unsupported(error, target, as_json)
        raise typer.Exit(1) from None
    layers: list[dict[str, Any]] = [
        {
            "op": call.node.op,
            "name": call.node.name,
            "source": call.node.source,
            "supported": True,
            "kernel": None if call.elided else call.kernel.symbol,
            "macs": call.macs,
        }
        for call in program.calls
    ]
    report: dict[str, Any] = {
        "model": str(model),
        "target": target,
        "supported": True,
        "macs": program.macs,
        "parameters": sum(tensor.type.count for tensor in program.tensors if tensor.data is not None),
        "arena_bytes": program.arena_size,
        "arena_lower_bound": program.arena_lower_bound,
        "weight_bytes": program.constant_bytes,
        "ram_available": row.ram_bytes,
        "flash_available": row.flash_bytes,
        "layers": layers,
    }
    problems = []
    if row.ram_bytes and program.arena_size > row.ram_bytes:
        problems.append(
            f"the arena of {bytes_text(program.arena_size)} is more than {bytes_text(row.ram_bytes)} of RAM"
        )
    if row.flash_bytes and program.constant_bytes > row.flash_bytes:
        problems.append(
            f"weights of {bytes_text(program.constant_bytes)} are more than {bytes_text(row.flash_bytes)} of flash"
        )
    report["problems"] = problems
    if as_json:
        print_json(report)
    else:
        table = Table("op", "name", "supported", "kernel", "MACs", title=f"{model.name} on {target}")
        for layer in layers:
            macs = count_text(layer["macs"]) if layer["macs"] else ""
            table.add_row(layer["op"], layer["name"], "yes", layer["kernel"] or "view, no code", macs)
        console.print(table)
        console.print(
            f"{count_text(program.macs)} MACs, {count_text(report['parameters'])} parameters, "
            f"peak RAM {bytes_text(program.arena_size)} (arena; lower bound {bytes_text(program.arena_lower_bound)}), "
            f"flash {bytes_text(program.constant_bytes)} of weights besides the code",
            highlight=False,
        )
        for problem in problems:
            console.print(f"[bold red]does not fit:[/bold red] {problem}")
    if problems:
        raise typer.Exit(1)


def _report_unsupported(error: Any, target: str, as_json: bool) -> None:
    rows = [
        {"op": item.op, "name": item.node, "supported": False, "reason": item.reason, "hint": item.hint}
        for item in error.items
    ]
    if as_json:
        print_json({"target": target, "supported": False, "layers": rows})
        return
    table = Table("op", "name", "supported", "why", "what to do", title=f"{len(rows)} unsupported on {target}")
    for row in rows:
        table.add_row(str(row["op"]), str(row["name"]), "[red]no[/red]", str(row["reason"]), str(row["hint"]))
    console.print(table)
