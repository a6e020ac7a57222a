"""The depth of the stack as worked out from the compiler's call graph, against what the emulator finds on the stack."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import small_models
from generated_projects import need, need_target

from microlith import targets
from microlith.codegen import execute
from microlith.codegen.measured import generate_measured
from microlith.codegen.stack_depth import CFLAGS, measure_stack
from microlith.errors import TargetError, ToolError

INTERRUPT = 108
"""Bytes that a Cortex-M pushes when the tick comes, at most: 26 words and one to align."""

CALLBACKS = r"""
void sink(volatile char *p);
void sink(volatile char *p) { p[0] = 1; }
static void small(void) { volatile char a[40]; sink(a); }
static void large(void) { volatile char a[400]; sink(a); }
static void unused(void) { volatile char a[4000]; sink(a); }
void (*const elsewhere[1])(void) = {small};
__attribute__((noinline)) static void twice(void (*f)(void)) { f(); f(); }
void other(void);
void other(void) { unused(); }
void kernel(int which);
void kernel(int which) { twice(which ? small : large); twice(elsewhere[0]); }
void demo_run(int which);
void demo_run(int which) { volatile char a[8]; sink(a); kernel(which); sink(a); }
"""


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m0plus", "cortex-m55", "riscv32"])
@pytest.mark.parametrize("model", ["float_cnn", "int8_cnn"])
def test_nothing_on_the_stack_lies_deeper(model: str, target: str, tmp_path: Path) -> None:
    need_target(target)
    report = generate_measured(getattr(small_models, model)(), target, tmp_path / "a", name="m")
    project = execute.Project.open(tmp_path / "a")
    execute.build(project)
    text = execute.selftest(project)
    found = max(int(figure) for figure in re.findall(r"stack=(\d+)", text))
    assert text.endswith("PASS\n")
    assert found - INTERRUPT <= report.stack_bytes <= found + 128
    layers = [layer["stack_bytes"] for layer in report.layer_table if layer["kernel"]]
    assert max(layers) == report.stack_bytes and min(layers) > 0
    header = (tmp_path / "a" / "m.h").read_text()
    assert f"#define M_STACK_SIZE {report.stack_bytes} " in header and str(report.stack_compiler) in header
    assert json.loads((tmp_path / "a" / "report.json").read_text())["stack_bytes"] == report.stack_bytes


def test_functions_that_are_called_by_pointer_count(tmp_path: Path) -> None:
    need("arm-none-eabi-gcc")
    (tmp_path / "build").mkdir()
    (tmp_path / "demo.c").write_text(CALLBACKS)
    flags = ["-O1", "-mcpu=cortex-m4", "-mthumb", "-ffunction-sections", "-fno-inline", CFLAGS]
    command = ["arm-none-eabi-gcc", *flags, "-c", "-o", "build/demo.o", "demo.c"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    depth = measure_stack(tmp_path, "demo", targets.get("cortex-m4"))
    assert 400 + 8 < depth.total < 500  # large, not unused
    assert set(depth.layers) == {"kernel", "sink"} and depth.layers["sink"] < 40 and not depth.open


def test_a_frame_without_bound_is_told(tmp_path: Path) -> None:
    need("arm-none-eabi-gcc")
    (tmp_path / "build").mkdir()
    text = "void k(int n); void k(int n) { volatile char a[n]; a[0] = 1; }\nvoid demo_run(int n); "
    text += "void demo_run(int n) { k(n); }\n"
    (tmp_path / "demo.c").write_text(text)
    command = ["arm-none-eabi-gcc", "-O1", "-mcpu=cortex-m4", "-mthumb", "-fno-inline", CFLAGS]
    command += ["-fno-optimize-sibling-calls", "-c", "-o", "build/demo.o", "demo.c"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    assert measure_stack(tmp_path, "demo", targets.get("cortex-m4")).open == ("k",)


def test_what_cannot_be_measured_is_told(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="boards"):
        generate_measured(small_models.int8_cnn(), "host", tmp_path / "a")
    with pytest.raises(ToolError, match="call graph"):
        measure_stack(tmp_path, "demo", targets.get("cortex-m4"))
    assert not (tmp_path / "a").exists()
