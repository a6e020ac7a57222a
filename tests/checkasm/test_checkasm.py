"""Rung 3 of the ladder: builds and runs checkasm, which compares every kernel with the ``c`` kernel of its op.

A failure prints the command that repeats it. ``MICROLITH_CHECKASM_SEED`` and ``MICROLITH_CHECKASM_CASES`` draw other
cases than the usual ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from microlith.nnacl_kernels import catalogue

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "nnacl_kernels"
SEED = os.environ.get("MICROLITH_CHECKASM_SEED", "20")
CASES = os.environ.get("MICROLITH_CHECKASM_CASES", "100")

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")

CROSS = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"),
    "armv7l": ("arm-linux-gnueabihf-gcc", "qemu-arm", "/usr/arm-linux-gnueabihf"),
}
"""Processor: compiler, emulator, the folder of its libraries."""
CORES = {"aarch64": ("cortex-a72", "cortex-a76", "max"), "armv7l": ("max",)}
"""Emulated cores, from few instruction sets to all."""


def build(folder: Path, *options: str, source: Path = HERE) -> Path:
    """Builds checkasm in ``folder`` and returns the program."""
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", source, "-B", folder, *generator, *options], check=True, capture_output=True)
    result = subprocess.run(["cmake", "--build", folder, "-j2"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / "checkasm"


def run(command: Sequence[str | Path], *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1"}
    return subprocess.run([*command, *options], capture_output=True, text=True, env=environment, timeout=900)


def digest(command: Sequence[str | Path]) -> str:
    """What the C kernels compute, as checkasm condenses it."""
    result = run(command, "--seed", "3", "--cases", "20", "--isa", "c")
    assert result.returncode == 0, result.stdout + result.stderr
    found = re.search(r"digest ([0-9a-f]{16})", result.stdout)
    assert found
    return found.group(1)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """checkasm for this machine, without a warning of the compiler."""
    return build(tmp_path_factory.mktemp("checkasm"), "-DNNACL_WERROR=ON")


def test_all_kernels_agree(program: Path) -> None:
    result = run([program], "--seed", SEED, "--cases", CASES)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_single_kernel_can_be_chosen(program: Path) -> None:
    result = run([program], "--seed", "1", "--cases", "2", "--op", "softmax", "--isa", "c", "--bench")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"softmax +s8 .* c \d+ ns", result.stdout)
    assert "relu" not in result.stdout


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_every_row_is_visited_however_few_the_cases(program: Path, seed: str) -> None:
    result = run([program], "--seed", seed, "--cases", "1")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("options", [["--isa", "z80"], ["--seed", "x"], ["--op"], ["--nonsense"]])
def test_wrong_usage_has_an_exit_code_of_its_own(program: Path, options: list[str]) -> None:
    result = run([program], *options)
    assert result.returncode == 2
    assert result.stderr.startswith("checkasm: ")


def test_an_unknown_op_is_a_failure(program: Path) -> None:
    assert run([program], "--op", "no_such_op").returncode == 1


def replace(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


MUTATIONS = {
    "a wrong result of a variant": (
        "add",
        "nnacl_kernels/elementwise/binary_s8_avx2.c",
        replace("_mm256_set1_epi32(p->q_max - p->y_zero)", "_mm256_set1_epi32(p->q_max - p->y_zero - 1)"),
        "expected",
    ),
    "a write behind the output": (
        "pad",
        "nnacl_kernels/data/pad_any_c.c",
        replace("x, (size_t)inner.kept * block)", "x, (size_t)inner.kept * block + 1)"),
        "touched memory",
    ),
    "an element that is not written": (
        "lut",
        "nnacl_kernels/elementwise/lut_s8_c.c",
        replace("i < share.end", "i < share.end - 1"),
        "expected",
    ),
    "a write to the input": (
        "concat",
        "nnacl_kernels/data/concat_any_c.c",
        replace("size_t block = 0;", "size_t block = 0;\n    ((char *)(size_t)in[0])[0] = 1;"),
        "wrote to an input",
    ),
    "a check that is missing in the plan half": (
        "slice",
        "nnacl_kernels/data/data_plan.c",
        replace("last >= 0 && last < dim", "last < dim"),
        "touched memory",
    ),
    "a part that does too little": (
        "reduce_sum",
        "nnacl_kernels/reduce/reduce_walk.h",
        replace("output < share.end; output += n", "output < share.end - (ctx->parts > 1); output += n"),
        "split",
    ),
    "an endless loop": (
        "expand",
        "nnacl_kernels/data/strided_copy.h",
        replace("row < share.end; row++", "row < share.end; row += ctx->parts == 1 && rows == 3 ? 0 : 1"),
        "did not come to an end",
    ),
    "a convolution whose input may begin too early": (
        "conv2d",
        "nnacl_kernels/conv/conv_plan.c",
        replace("return conv_window_lead(p, size, size, 1);", "return conv_window_lead(p, size, size, 0);"),
        "over an input",
    ),
    "a pool whose input may begin too early": (
        "max_pool2d",
        "nnacl_kernels/pool/pool_plan.c",
        replace(".ahead = 1", ".ahead = 0"),
        "over an input",
    ),
    "an operand that is read after it was written over": (
        "mul",
        "nnacl_kernels/elementwise/elementwise_plan.c",
        replace("return rank == 1 && strides[0] == 1;", "return strides[rank - 1] == 1;"),
        "over an input",
    ),
    "a row that no draw fits": (
        "cast",
        "nnacl_kernels/data/data_plan.c",
        replace("p->from == NNACL_F32 && p->to == NNACL_F16", "p->from == NNACL_F32 && p->to == 255"),
        "no case visited",
    ),
    "a kernel without a check": (
        "where",
        "tests/checkasm/check_elementwise.c",
        replace('{"where", draw_where}', '{"nowhere", draw_where}'),
        "no case visited",
    ),
}
"""What goes wrong: op, file, change, words of the report."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", MUTATIONS)
def test_a_fault_is_noticed(tmp_path_factory: pytest.TempPathFactory, fault: str) -> None:
    op, file, change, words = MUTATIONS[fault]
    if file.endswith("_avx2.c") and "avx2" not in catalogue.detected_isa():
        pytest.skip("this machine has no AVX2")
    root = tmp_path_factory.getbasetemp() / "mutant"
    pristine = root / "pristine"
    if not root.exists():
        shutil.copytree(KERNELS, pristine / "nnacl_kernels", ignore=shutil.ignore_patterns("*.py", "*.so"))
        shutil.copytree(HERE, pristine / "tests/checkasm")
        shutil.copytree(pristine, root / "tree")
    source = root / "tree/tests/checkasm"
    (root / "tree" / file).write_text(change((pristine / file).read_text()))
    try:
        result = run([build(root / "build", source=source)], "--seed", "1", "--cases", "100", "--op", op)
    finally:
        (root / "tree" / file).write_text((pristine / file).read_text())
    assert result.returncode == 1, result.stdout
    assert words in result.stderr
    if words != "no case visited":
        assert f"checkasm --op {op} --seed 1 --case" in result.stderr


@pytest.mark.slow
def test_no_undefined_behaviour(tmp_path: Path) -> None:
    program = build(tmp_path, "-DCHECKASM_SANITIZE=undefined", "-DCMAKE_BUILD_TYPE=RelWithDebInfo")
    result = run([program], "--seed", SEED, "--cases", CASES)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_clang_computes_the_same(program: Path, tmp_path: Path) -> None:
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")
    other = build(tmp_path, "-DCMAKE_C_COMPILER=clang", "-DNNACL_WERROR=ON")
    assert digest([other]) == digest([program])


@pytest.mark.slow
@pytest.mark.parametrize("processor", CROSS)
def test_other_processors_compute_the_same(program: Path, tmp_path: Path, processor: str) -> None:
    compiler, emulator, libraries = CROSS[processor]
    for tool in (compiler, emulator):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    other = build(
        tmp_path,
        "-DCMAKE_SYSTEM_NAME=Linux",
        f"-DCMAKE_SYSTEM_PROCESSOR={processor}",
        f"-DCMAKE_C_COMPILER={compiler}",
        "-DNNACL_WERROR=ON",
    )
    assert digest([emulator, "-L", libraries, other]) == digest([program])
    for core in CORES[processor]:
        result = run([emulator, "-cpu", core, "-L", libraries, other], "--seed", SEED, "--cases", "20")
        assert result.returncode == 0, result.stdout + result.stderr
