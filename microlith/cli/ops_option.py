"""The option --ops: ops from outside of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _add(paths: list[Path] | None) -> list[Path] | None:
    """Runs while the command line is read, so that the ops are known when the command begins."""
    from microlith import add_ops

    for path in paths or ():
        add_ops(path)
    return paths


OpsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--ops",
        metavar="FILE",
        help="A Python file, or the folder of a package, that defines ops of your own (docs/custom-ops.md). "
        "Repeatable. Those of installed packages are found without it.",
        callback=_add,
    ),
]
