"""microlith ops"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from .console import JsonOption, console, print_json
from .ops_option import OpsOption

NAME = "ops"
EXAMPLE = "microlith ops"


def command(
    ops_from: OpsOption = None,
    test: Annotated[
        bool, typer.Option("--test", help="Hold the kernels of --ops against their references instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the supported ops: which element types and instruction sets have kernels, which foreign operators map."""
    if test:
        _test()
        return
    from microlith import ops
    from microlith.converter import supported_operators
    from microlith.nnacl_kernels import catalogue

    rows: list[dict[str, Any]] = []
    for opdef in ops.all_ops():
        variants: dict[str, list[str]] = {}
        for kernel in catalogue.kernels():
            if kernel.op == opdef.name:
                variants.setdefault(catalogue.dtype_name(kernel.dtype), []).append(kernel.isa)
        rows.append(
            {"op": opdef.name, "kernels": variants, "inputs": list(opdef.inputs), "attributes": dict(opdef.attrs)}
        )
    for opdef in ops.control_ops():
        rows.append({"op": opdef.name, "kernels": {}, "inputs": list(opdef.inputs), "attributes": dict(opdef.attrs)})
    foreign = supported_operators()
    if as_json:
        for row in rows:
            row["attributes"] = {name: str(value) for name, value in row["attributes"].items()}
        print_json({"ops": rows, "frontends": foreign})
        return
    table = Table("op", "inputs", "kernels (type: instruction sets, best first)", title="Ops")
    for row in rows:
        kernels = ", ".join(f"{dtype}: {' '.join(isas)}" for dtype, isas in row["kernels"].items())
        kernels = kernels or "runs subgraphs; in the runtime only"
        table.add_row(row["op"], " ".join(row["inputs"]), kernels)
    console.print(table)
    for frontend, names in foreign.items():
        console.print(f"[bold]{frontend}[/bold] ({len(names)}): {', '.join(names)}", highlight=False)


def _test() -> None:
    from microlith import extensions
    from microlith.errors import InputError
    from microlith.extension_checks import check_extension

    if not extensions.active():
        raise InputError("--test needs ops to test", hint="microlith ops --ops FILE --test")
    for extension in extensions.active():
        runs = check_extension(extension)
        console.print(f"[bold]{extension.name}[/bold]: {len(extension.ops)} ops, {runs} samples agree", highlight=False)
