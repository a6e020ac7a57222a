"""A project that states figures which only a compiler knows."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from .. import modelfile, targets
from ..errors import TargetError, ToolError
from ..ir import Graph
from . import execute
from .project import Report, generate
from .stack_depth import CFLAGS, StackDepth, can_measure, measure_stack


def build_and_measure(project: execute.Project) -> StackDepth:
    """Builds a project and finds the deepest stack of a run. Raises ToolError, also when a frame has no bound."""
    execute.build(project, variables={"CFLAGS": CFLAGS})
    depth = measure_stack(project.folder, project.name, project.target)
    if depth.open:
        raise ToolError(f"the stack of {', '.join(depth.open)} has no bound", where=project.name)
    compiler = project.target.compiler
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
    return dataclasses.replace(depth, compiler=f"{compiler} {version.strip()}")


def generate_measured(
    model: str | os.PathLike[str] | Graph, target: str, output: str | os.PathLike[str], **options: Any
) -> Report:
    """``generate``, with the exact depth of the stack in the header and for each layer in the report, as this machine's
    compiler makes it. Raises TargetError for a target where code outside of the project runs too, ToolError without
    compiler, and what ``generate`` raises."""
    row = targets.get(target)
    if not can_measure(row):
        hint = "leave the measuring out: the estimate that then stands there is on the safe side"
        raise TargetError("the stack can only be measured for boards that gcc compiles for", where=target, hint=hint)
    execute.require_tools(row)
    graph = model if isinstance(model, Graph) else modelfile.load(os.fspath(model))
    if not isinstance(model, Graph):
        options = {"name": Path(model).stem, **options}
    with tempfile.TemporaryDirectory(prefix="microlith-measure-") as folder:
        first = {**options, "project": "standalone", "force": False}
        generate(graph, target, Path(folder) / "project", **first)
        stack = build_and_measure(execute.Project.open(Path(folder) / "project"))
    return generate(graph, target, output, stack=stack, **options)
