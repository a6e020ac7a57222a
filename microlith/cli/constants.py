"""The option --constant: inputs of a model that become constants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from microlith.errors import InputError

ConstantOption = Annotated[
    list[str] | None,
    typer.Option(
        "--constant", "-c", metavar="NAME=FILE", help="Make an input a constant, from a .npy file. Repeatable."
    ),
]


def parse_constants(options: Sequence[str] | None) -> dict[str, np.ndarray]:
    """``["axes=axes.npy"]`` as ``{"axes": array}``; InputError for anything else."""
    from .console import load_inputs

    constants: dict[str, np.ndarray] = {}
    for option in options or ():
        name, separator, file = option.partition("=")
        if not separator or not name or not file:
            raise InputError(f"--constant {option}: expected NAME=FILE", hint="for instance --constant axes=axes.npy")
        if name in constants:
            raise InputError(f"--constant {option}: input '{name}' is given twice")
        arrays = load_inputs(Path(file))
        if list(arrays) != [""]:
            raise InputError("holds several arrays; one .npy file for each constant is needed", where=file)
        constants[name] = arrays[""]
    return constants
