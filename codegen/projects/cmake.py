"""A folder that builds with CMake, by itself or as a part of another project."""

from __future__ import annotations

import shlex

from ..parts import Parts
from . import make

TITLE = "CMake"


def build_files(parts: Parts) -> dict[str, str]:
    """CMakeLists.txt, presets, and for foreign targets the toolchain file."""
    texts = {
        "CMakeLists.txt": parts.render("CMakeLists.txt.j2", **make.sources(parts)),
        "CMakePresets.json": parts.render("CMakePresets.json.j2"),
    }
    if parts.target.tool_prefix:
        texts["toolchain.cmake"] = parts.render("toolchain.cmake.j2")
    return texts


def files(parts: Parts) -> dict[str, str]:
    """The project by path."""
    return {
        **make.program(parts),
        **build_files(parts),
        "README.md": parts.render("README.md.j2", usage="projects/cmake.md.j2"),
    }


def next_step(folder: str) -> str:
    """The command that builds the project and runs its self-test."""
    return f"build and test it with: cd {shlex.quote(folder)} && cmake --workflow --preset selftest"
