"""A folder that builds with CMake and with Make: library, self-test, runner. The default."""

from __future__ import annotations

from ..parts import Parts
from . import cmake, make

TITLE = "CMake and Make"


def files(parts: Parts) -> dict[str, str]:
    """All that both emitters write."""
    return {
        **cmake.build_files(parts),
        **make.build_files(parts),
        **make.program(parts),
        "README.md": parts.render("README.md.j2", usage="projects/standalone.md.j2"),
    }


def next_step(folder: str) -> str:
    """The command that builds the project and runs its self-test."""
    return make.next_step(folder)
