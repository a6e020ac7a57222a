"""microlith crop"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import JsonOption, console, open_graph, plural, print_json
from .ops_option import OpsOption

NAME = "crop"
EXAMPLE = "microlith crop model.lith -o small-runtime"


def command(
    models: Annotated[list[Path], typer.Argument(help="The models: .onnx, .tflite or .lith.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the sources to.")],
    isa: Annotated[
        str | None, typer.Option(help="Instruction sets beside portable C, as in avx2,avx512. Default: all.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder whatever it holds.")] = False,
    ops_from: OpsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the C sources of a runtime that has only what some models need: a folder that CMake builds alone."""
    import microlith.runtime
    from microlith.codegen.crop import crop

    runtime = Path(microlith.runtime.__file__).parent
    names = None if isa is None else [name.strip() for name in isa.split(",") if name.strip()]
    cropped = crop([open_graph(model) for model in models], runtime, output, isa=names, force=force)
    if as_json:
        print_json({"output": str(output), "ops": cropped.ops, "kernels": cropped.kernels})
        return
    build = f"cmake -S {output} -B {output}/build -DCMAKE_BUILD_TYPE=Release && cmake --build {output}/build"
    console.print(
        f"wrote [bold]{output}[/bold]: {plural(len(cropped.ops), 'op')}, {plural(len(cropped.kernels), 'kernel')}",
        f"next: [bold]{build}[/bold]",
        sep="\n",
        soft_wrap=True,
    )
