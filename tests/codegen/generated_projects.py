"""Generating and building projects in tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from microlith.codegen import execute, generate
from microlith.ir import Graph

STRICT = "-Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wmissing-prototypes -Wundef"


def need(*tools: str) -> None:
    """Skips the test when a tool is missing; under CI=true that is a failure."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if not missing:
        return
    message = f"{', '.join(missing)} not installed"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


def need_target(target: str) -> None:
    """Skips the test when a target's compiler or emulator is missing."""
    from microlith import targets

    row = targets.get(target)
    need("make", row.compiler, *row.emulator()[:1])
    if missing := execute.missing_tools(row):
        message = f"{missing[0]} of {row.compiler} not installed"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)


def project(graph: Graph, target: str, folder: Path, **options: Any) -> execute.Project:
    """A generated project, not built."""
    generate(graph, target, folder, **options)
    return execute.Project.open(folder)


def built(graph: Graph, target: str, folder: Path, **options: Any) -> execute.Project:
    """A generated project, built under strict warnings."""
    need_target(target)
    result = project(graph, target, folder, **options)
    execute.build(result, variables={"WARNINGS": STRICT})
    return result
