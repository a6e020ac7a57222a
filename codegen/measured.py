"""A project that states figures which only a compiler knows."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import modelfile, targets
from ..errors import TargetError, ToolError
from ..ir import Graph
from . import execute
from .code_size import Measured, measure_code
from .project import Report, generate
from .ramlimit import RamLimitError
from .stack_depth import CFLAGS, can_measure, measure_stack


def build_and_measure(project: execute.Project) -> Measured:
    """Builds a project, finds the deepest stack of a run, and counts the code. Raises ToolError, also when a frame has
    no bound."""
    execute.build(project, variables={"CFLAGS": CFLAGS})
    depth = measure_stack(project.folder, project.name, project.target)
    if depth.open:
        raise ToolError(f"the stack of {', '.join(depth.open)} has no bound", where=project.name)
    compiler = project.target.compiler
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout
    code = measure_code(project.folder, project.name, project.target, project.report["params_bytes"])
    return Measured(depth, code, f"{compiler} {version.strip()}")


def generate_measured(
    model: str | os.PathLike[str] | Graph, target: str, output: str | os.PathLike[str], **options: Any
) -> Report:
    """``generate``, with the exact depth of the stack and the size of the code in the header, and for each layer in the
    report, as this machine's compiler makes them. A limit of RAM holds for the measured stack: where the estimate of
    ``generate`` is too large for it, the smallest program is built and judged. Raises TargetError for a target where
    code outside of the project runs too, ToolError without compiler, and what ``generate`` raises."""
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
        try:
            generate(graph, target, Path(folder) / "project", **first)
            measured = build_and_measure(execute.Project.open(Path(folder) / "project"))
        except RamLimitError as refused:
            measured = _smallest(graph, target, Path(folder) / "smallest", first, refused)
            options = {**options, "ram_limit": refused.need}
    return generate(graph, target, output, measured=measured, **options)


def _smallest(graph: Graph, target: str, folder: Path, options: Mapping[str, Any], refused: RamLimitError) -> Measured:
    """Of the smallest program, which is too large by the estimate. Raises RamLimitError when it is by measure, too."""
    limit = options["ram_limit"]
    if refused.need - refused.stack >= limit:
        raise refused
    report = generate(graph, target, folder, **{**options, "ram_limit": refused.need})
    measured = build_and_measure(execute.Project.open(folder))
    need = report.arena_bytes + measured.stack.total
    if need > limit:
        what = f"the model needs {need:,} bytes of arena and stack at least, as measured; the limit is {limit:,}"
        hint = "use a smaller input or fewer channels (inputs and outputs lie in the arena too), or a larger limit"
        raise RamLimitError(what, where=refused.where, hint=hint, need=need, stack=0) from refused
    return measured
