"""How many bytes of code a project has, as a compiler made them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ToolError
from ..targets import Target
from .stack_depth import StackDepth


@dataclass(frozen=True)
class CodeSize:
    """Bytes of code and of tables of the kernels, before a linker drops what nobody calls; without the constants and
    parameters of the model, the C library and the program around the model."""

    total: int
    files: Mapping[str, int]
    """Of each kernel file, by its path inside ``kernels/``."""


@dataclass(frozen=True)
class Measured:
    """What a compiler has made of a project."""

    stack: StackDepth
    code: CodeSize
    compiler: str
    """Its name and version."""


def measure_code(folder: Path, name: str, target: Target, params_bytes: int) -> CodeSize:
    """The code of a built project, in whose model file ``params_bytes`` are no code. Raises ToolError when there are no
    objects."""
    built = folder / "build"
    model, *kernels = [built / f"{name}.o", *sorted((built / "kernels").rglob("*.o"))]
    command = [f"{target.tool_prefix}size", "-B", str(model), *map(str, kernels)]
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"'{command[0]}' failed", where=str(built)) from error
    sizes = [int(line.split()[0]) for line in text.splitlines()[1:]]
    paths = [str(path.relative_to(built / "kernels").with_suffix(".c")) for path in kernels]
    return CodeSize(sum(sizes) - params_bytes, dict(zip(paths, sizes[1:], strict=True)))
