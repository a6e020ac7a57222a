"""microlith run"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from .console import (
    JsonOption,
    LithArgument,
    RunShapeOption,
    console,
    existing,
    load_inputs,
    noise_for,
    print_json,
)
from .label_notes import shown_text
from .ops_option import OpsOption

NAME = "run"
EXAMPLE = "microlith run model.lith --inputs x.npz --outputs y.npz"


def command(
    model: LithArgument,
    inputs: Annotated[
        Path | None, typer.Option("--inputs", help="An .npz with one array for each input (or one .npy).")
    ] = None,
    outputs: Annotated[Path | None, typer.Option("--outputs", help="The .npz file to write the outputs to.")] = None,
    random: Annotated[
        int | None,
        typer.Option("--random", metavar="SEED", min=0, help="Use seeded noise as inputs instead of a file."),
    ] = None,
    shapes: RunShapeOption = None,
    threads: Annotated[int, typer.Option(min=1, max=256, help="Threads.")] = 1,
    isa: Annotated[str | None, typer.Option(help="Use only these instruction sets, as in c or c,avx2.")] = None,
    winograd: Annotated[
        bool, typer.Option("--winograd/--no-winograd", help="Let float32 convolutions use Winograd's algorithm.")
    ] = True,
    ops_from: OpsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a .lith model once in the C runtime."""
    from microlith import load
    from microlith.errors import InputError
    from microlith.files import write_atomically

    if (inputs is None) == (random is None):
        raise InputError("give either --inputs FILE or --random SEED")
    if inputs is not None and shapes:
        raise InputError("--input chooses sizes for --random; the arrays of --inputs have theirs")
    with load(existing(model), threads=threads, isa=isa, winograd=winograd) as session:
        if inputs is not None:
            arrays = load_inputs(inputs)
            if list(arrays) == [""] and len(session.inputs) == 1:
                arrays = {session.inputs[0].name: arrays[""]}
        else:
            assert random is not None
            arrays = noise_for(((spec.name, spec.shape, spec.dtype) for spec in session.inputs), shapes, random)
        results = session.run(arrays)
        labels = session.labels
    if outputs is not None:
        buffer = io.BytesIO()
        np.savez(buffer, **dict[str, Any](results))
        write_atomically(outputs, lambda file: file.write(buffer.getvalue()))
    if as_json:
        print_json({name: {"shape": list(array.shape), "values": array} for name, array in results.items()})
        return
    table = Table("output", "type", "min", "max", "mean", "first values")
    for name, array in results.items():
        shape = ",".join(map(str, array.shape))
        flat = array.reshape(-1)
        first = " ".join(_named(array, index, labels.get(name)) for index in range(min(flat.size, 6)))
        first += " ..." if flat.size > 6 else ""
        low, high, mean = (flat.min(), flat.max(), flat.mean()) if flat.size else (0, 0, 0)
        table.add_row(name, f"{array.dtype}[{shape}]", f"{low:.6g}", f"{high:.6g}", f"{mean:.6g}", first)
    console.print(table)


def _named(array: np.ndarray, index: int, labels: Sequence[str] | None) -> str:
    """An element, and the text that it or its position stands for."""
    value = array.reshape(-1)[index].item()
    number = f"{value:.6g}"
    if labels is None:
        return number
    place = (
        value
        if array.dtype.kind in "iu" and array.dtype.itemsize >= 4
        else index % array.shape[-1]
        if array.ndim
        else 0
    )
    return f"{number} ({escape(shown_text(labels[place]))})" if 0 <= place < len(labels) else number
