"""The figures of ``report.json``, the header and ``make size``, against what other tools count."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import small_models
from generated_projects import need_target

from microlith.codegen import execute, generate
from microlith.codegen.measured import generate_measured
from microlith.codegen.memory_map import arena_in_use
from microlith.dtypes import DType
from microlith.ir import Graph, TensorType, Value
from microlith.lower import lower


def loaded_bytes(prefix: str, paths: list[Path]) -> int:
    """What readelf lists of some objects as loaded and not written, section by section."""
    text = subprocess.run([f"{prefix}readelf", "-SW", *map(str, paths)], capture_output=True, text=True, check=True)
    rows = re.findall(r"\] (\S+)\s+\S+\s+[0-9a-f]{8} [0-9a-f]{6} ([0-9a-f]{6}) [0-9a-f]{2}\s+([A-Za-z]+) ", text.stdout)
    return sum(int(size, 16) for _, size, flags in rows if "A" in flags and "W" not in flags)


@pytest.mark.parametrize("target", ["cortex-m4", "riscv32"])
@pytest.mark.parametrize("model", ["float_cnn", "int8_cnn"])
def test_code_is_what_the_objects_hold(model: str, target: str, tmp_path: Path) -> None:
    need_target(target)
    report = generate_measured(getattr(small_models, model)(), target, tmp_path / "a", name="m")
    project = execute.Project.open(tmp_path / "a")
    execute.build(project)
    objects = [*(project.folder / "build" / "kernels").rglob("*.o"), project.folder / "build" / "m.o"]
    assert report.code_bytes is not None
    counted = loaded_bytes(project.target.tool_prefix, objects)
    assert report.code_bytes + report.params_bytes == counted
    assert report.flash_bytes == report.weight_bytes + counted == project.report["flash_bytes"]
    for layer in report.layer_table:
        assert (layer["code_bytes"] is None) == (layer["kernel"] is None)
        assert layer["kernel"] is None or 0 < layer["code_bytes"] < report.code_bytes
    header = (project.folder / "m.h").read_text()
    assert f"#define M_CODE_SIZE {report.code_bytes} " in header
    command = ["make", "-s", "-C", str(project.folder), "size"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"code {report.code_bytes}, constants {report.weight_bytes}, parameters {report.params_bytes} bytes" in told
    assert f"arena {report.arena_bytes}, stack {report.stack_bytes} bytes" in told


def test_budget_of_code(tmp_path: Path) -> None:
    need_target("cortex-m4")
    report = generate_measured(small_models.int8_cnn(), "cortex-m4", tmp_path / "a", name="m")
    for budget, status in ((report.code_bytes, 0), ((report.code_bytes or 0) - 1, 2)):
        flag = f"CFLAGS=-DM_CODE_BUDGET={budget}"
        done = subprocess.run(["make", "-s", "-C", tmp_path / "a", "lib", flag], capture_output=True, text=True)
        assert done.returncode == status and ("code budget" in done.stderr) == bool(status)


def test_code_that_nobody_counted_is_no_figure(tmp_path: Path) -> None:
    report = generate(small_models.int8_cnn(), "cortex-m4", tmp_path / "a", name="m")
    figures = report.as_dict()
    assert report.code_bytes is None and not figures["flash_has_code"]
    assert figures["flash_bytes"] == report.weight_bytes + report.params_bytes
    assert "CODE" not in (tmp_path / "a" / "m.h").read_text()
    assert "`make size` tells" in (tmp_path / "a" / "README.md").read_text()


def test_arena_of_each_layer() -> None:
    """A chain where nothing can be done in place: each layer needs its input and its output, inputs and outputs of the
    model as long as the caller may look at them."""
    graph = Graph("chain")
    x = Value("x", TensorType(DType.f32, (16,)))
    graph.inputs.append(x)
    kernels = []
    for number in range(3):
        x = graph.add("concat", [x, x], {"axis": 0}, name=f"twice{number}").output
        kernels.append(x.type.nbytes)
    graph.outputs = [x]
    program = lower(graph, ["c"], alignment=8)
    used = arena_in_use(program)
    sizes = [64, *kernels]
    assert max(used) == program.arena_size
    for step, bytes_used in enumerate(used):
        assert sizes[step] + sizes[step + 1] <= bytes_used <= program.arena_size


@pytest.mark.parametrize("options", [{}, {"input_by_rows": True}])
@pytest.mark.parametrize("model", ["int8_cnn", "residual"])
def test_most_of_the_layers_is_the_arena(model: str, options: dict[str, bool], tmp_path: Path) -> None:
    report = generate(getattr(small_models, model)(), "cortex-m4", tmp_path / "a", name="m", **options)
    assert max(layer["arena_bytes"] for layer in report.layer_table) == report.arena_bytes
    assert max(layer["workspace_bytes"] for layer in report.layer_table) == report.workspace_bytes
    assert f"#define M_WORKSPACE_SIZE {report.workspace_bytes} " in (tmp_path / "a" / "m.h").read_text()
