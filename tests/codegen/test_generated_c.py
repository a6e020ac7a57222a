"""The generated C: what compilers say about it, and what it computes on this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import small_models
from generated_projects import STRICT, built, need, need_target, project

from microlith.codegen import execute
from microlith.codegen.project import draw_sample
from microlith.errors import InputError, ModelFormatError, ToolError
from microlith.evaluate import evaluate
from microlith.ir import Graph

MODELS = {"float": small_models.float_cnn, "int8": small_models.int8_cnn}
CROSS = (
    "arm64-linux",
    "arm64-linux-dotprod",
    "arm64-linux-i8mm",
    "arm64-linux-fp16",
    "armv7-linux",
    "cortex-m0plus",
    "cortex-m4",
    "cortex-m55",
    "cortex-m85",
    "riscv32",
)


def samples_of(graph: Graph, count: int) -> list[dict[str, np.ndarray]]:
    return [draw_sample(graph, {}, seed=seed) for seed in range(count)]


def reference(graph: Graph, samples: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    results = [evaluate(graph, sample) for sample in samples]
    return {name: np.stack([result[name] for result in results]) for name in results[0]}


@pytest.mark.parametrize("optimize", ["-O0", "-O2", "-Os"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("model", MODELS)
def test_host_compilers(model: str, compiler: str, optimize: str, tmp_path: Path) -> None:
    need("make", compiler)
    result = project(MODELS[model](), "host", tmp_path / "a")
    execute.build(result, compiler=compiler, variables={"WARNINGS": STRICT, "OPT": optimize})
    assert execute.selftest(result).endswith("PASS\n")


@pytest.mark.parametrize("target", CROSS)
@pytest.mark.parametrize("model", MODELS)
def test_cross_compilers(model: str, target: str, tmp_path: Path) -> None:
    built(MODELS[model](), target, tmp_path / "a")


@pytest.mark.parametrize("target", ["host", "arm64-linux", "cortex-m4"])
def test_cmake(target: str, tmp_path: Path) -> None:
    need("cmake", "ctest")
    need_target(target)
    project(small_models.int8_cnn(), target, tmp_path / "a")
    flags = "-DCMAKE_C_FLAGS=-Werror"
    subprocess.run(["cmake", "-S", "a", "-B", "b", flags], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "b"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ctest", "--test-dir", "b", "--no-tests=error"], cwd=tmp_path, check=True)


def test_header_is_cpp(tmp_path: Path) -> None:
    need("g++")
    project(small_models.float_cnn(), "host", tmp_path / "a")
    (tmp_path / "a" / "user.cpp").write_text('#include "float_cnn.h"\nint main() { return FLOAT_CNN_INPUTS - 1; }\n')
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["g++", *flags, "-c", "user.cpp"], cwd=tmp_path / "a", check=True)


def test_library_needs_nothing_but_memory_functions(tmp_path: Path) -> None:
    """No heap, no stdio, no mutable data."""
    need("nm", "size")
    result = built(MODELS["int8"](), "cortex-m4", tmp_path / "a")
    library = result.folder / "build" / "libint8_cnn.a"
    symbols = subprocess.run(["arm-none-eabi-nm", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = [line.split() for line in symbols.splitlines() if len(line.split()) >= 2]
    defined = {row[2] for row in rows if len(row) == 3}
    undefined = {row[1] for row in rows if row[0] == "U"} - defined
    compiler_runtime = {name for name in undefined if name.startswith("__aeabi_")}
    assert undefined - compiler_runtime <= {"memcpy", "memmove", "memset"}
    assert not [row for row in rows if len(row) == 3 and row[1] in "dDbBC"]


@pytest.mark.parametrize("contract", ["tflite-double", "single"])
def test_integers_equal_the_reference(contract: str, tmp_path: Path) -> None:
    graph = small_models.int8_cnn(contract)
    samples = samples_of(graph, 20)
    result = execute.run(built(graph, "host", tmp_path / "a"), samples)
    assert result.outputs["output"].tobytes() == reference(graph, samples)["output"].tobytes()
    assert result.nanoseconds is not None and result.nanoseconds > 0


def test_floats_are_within_tolerance_and_alike_under_all_compilers(tmp_path: Path) -> None:
    need("gcc", "clang")
    graph = small_models.float_cnn()
    samples = samples_of(graph, 20)
    wanted = reference(graph, samples)
    result = project(graph, "host", tmp_path / "a")
    seen = set()
    for compiler, optimize in (("gcc", "-O0"), ("gcc", "-O3 -march=native"), ("clang", "-O3 -march=native")):
        execute.build(result, compiler=compiler, variables={"OPT": optimize})
        outputs = execute.run(result, samples).outputs
        for name, array in outputs.items():
            np.testing.assert_allclose(array, wanted[name], rtol=1e-5, atol=1e-5)
        seen.add(b"".join(array.tobytes() for array in outputs.values()))
    assert len(seen) == 1


REENTRANCY = r"""
#include "float_cnn.h"
#include <stdio.h>
#include <string.h>

static _Alignas(FLOAT_CNN_ARENA_ALIGN) unsigned char arenas[3][FLOAT_CNN_ARENA_SIZE];

static void fill(const float_cnn_instance *model, float seed)
{
    float *x = float_cnn_input(model, 0);

    for (int i = 0; i < FLOAT_CNN_INPUT_IMAGE_COUNT; i++) {
        x[i] = seed * (float)((i * 37) % 101) - 0.5f;
    }
}

int main(void)
{
    float_cnn_instance a, b, alone;
    int status = 0;

    status |= float_cnn_init(&a, arenas[0], sizeof arenas[0]);
    status |= float_cnn_init(&b, arenas[1], sizeof arenas[1]);
    status |= float_cnn_init(&alone, arenas[2], sizeof arenas[2]);
    fill(&a, 0.01f);
    fill(&b, 0.03f);
    float_cnn_run(&a);
    float_cnn_run(&b);
    fill(&alone, 0.01f);
    float_cnn_run(&alone);
    status |= memcmp(float_cnn_output(&a, 0), float_cnn_output(&alone, 0), 4 * FLOAT_CNN_OUTPUT_FLAT_COUNT) != 0;
    status |= (memcmp(float_cnn_output(&b, 0), float_cnn_output(&alone, 0), 4 * FLOAT_CNN_OUTPUT_FLAT_COUNT) == 0) << 1;

    alone.arena = NULL;
    status |= (float_cnn_init(&alone, NULL, sizeof arenas[2]) != FLOAT_CNN_BAD_ARENA) << 2;
    status |= (float_cnn_init(&alone, arenas[2] + 4, sizeof arenas[2]) != FLOAT_CNN_BAD_ARENA) << 3;
    status |= (float_cnn_init(&alone, arenas[2], sizeof arenas[2] - 1) != FLOAT_CNN_SMALL_ARENA) << 4;
    status |= (alone.arena != NULL) << 5;
    status |= (float_cnn_input(&a, 1) != NULL || float_cnn_output(&a, -1) != NULL) << 6;
    return status;
}
"""


def test_instances_do_not_disturb_each_other_and_init_checks_its_arena(tmp_path: Path) -> None:
    result = built(small_models.float_cnn(), "host", tmp_path / "a")
    (result.folder / "user.c").write_text(REENTRANCY)
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    sources = ["user.c", "float_cnn.c", "float_cnn_weights.c", *map(str, (result.folder / "kernels").rglob("*.c"))]
    command = ["gcc", "-std=c11", "-O1", "-ffp-contract=off", *sanitize, "-I.", "-Ikernels", "-o", "user", *sources]
    subprocess.run([*command, "-lm"], cwd=result.folder, check=True)
    assert subprocess.run([result.folder / "user"], check=False).returncode == 0


def test_budget_that_is_outgrown_stops_the_build(tmp_path: Path) -> None:
    need("make", "gcc")
    result = project(small_models.int8_cnn(), "host", tmp_path / "a")
    execute.build(result, variables={"CFLAGS": "-DINT8_CNN_ARENA_BUDGET=100000"})
    with pytest.raises(ToolError, match="arena budget"):
        execute.build(result, variables={"CFLAGS": "-DINT8_CNN_ARENA_BUDGET=100"})


def test_selftest_notices_a_wrong_weight(tmp_path: Path) -> None:
    need("make", "gcc")
    result = project(small_models.int8_cnn(), "host", tmp_path / "a")
    weights = result.folder / "int8_cnn_weights.c"
    text = weights.read_text()
    start = text.index("{", text.index("int8_cnn_l2_bias[")) + 1
    end = text.index(",", start)
    weights.write_text(text[:start] + "100000" + text[end:])
    execute.build(result)
    with pytest.raises(ToolError, match=r"wrong bytes=\d+(.|\n)*FAIL"):
        execute.selftest(result)


# --- what stops it ----------------------------------------------------------------------------------------------


def test_missing_compiler_is_named(tmp_path: Path) -> None:
    need("make")
    result = project(small_models.int8_cnn(), "host", tmp_path / "a")
    with pytest.raises(ToolError, match=r"'no-such-cc' is not installed(.|\n)*apt-get install"):
        execute.build(result, compiler="no-such-cc")


def test_missing_emulator_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = project(small_models.int8_cnn(), "cortex-m4", tmp_path / "a")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match=r"'make' is not installed(.|\n)*gcc-arm-none-eabi(.|\n)*qemu-system-arm"):
        execute.build(result)


def test_a_compiler_error_is_shown(tmp_path: Path) -> None:
    need("make", "gcc")
    result = project(small_models.int8_cnn(), "host", tmp_path / "a")
    (result.folder / "int8_cnn.c").write_text("this is not C\n")
    with pytest.raises(ToolError, match=r"building int8_cnn for host: 'make' failed(.|\n)*int8_cnn\.c:1"):
        execute.build(result)


def test_running_before_building(tmp_path: Path) -> None:
    graph = small_models.int8_cnn()
    result = project(graph, "host", tmp_path / "a")
    with pytest.raises(ToolError, match="build the project first"):
        execute.run(result, samples_of(graph, 1))


def test_wrong_input(tmp_path: Path) -> None:
    graph = small_models.int8_cnn()
    result = built(graph, "host", tmp_path / "a")
    with pytest.raises(InputError, match="'input' is missing"):
        execute.run(result, [{"x": np.zeros(1, np.int8)}])
    with pytest.raises(InputError, match="'input' is float64"):
        execute.run(result, [{"input": np.zeros((1, 9, 8, 4))}])


def test_a_folder_without_project(tmp_path: Path) -> None:
    with pytest.raises(ModelFormatError, match="is no generated project"):
        execute.Project.open(tmp_path)
