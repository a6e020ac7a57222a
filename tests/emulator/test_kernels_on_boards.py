"""checkasm on the boards that QEMU emulates: the kernels for the DSP extension and for MVE against those in C."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from microlith import targets
from microlith.targets import Target

CHECKASM = Path(__file__).parents[1] / "checkasm"
SEED = os.environ.get("MICROLITH_CHECKASM_SEED", "20")
CASES = os.environ.get("MICROLITH_CHECKASM_CASES", "25")

LINK_SCRIPT = """
MEMORY
{{
    VECTORS (rx) : ORIGIN = {vectors.origin:#x}, LENGTH = {vectors.length:#x}
    FLASH (rx) : ORIGIN = {flash.origin:#x}, LENGTH = {flash.length:#x}
    RAM (rwx) : ORIGIN = {ram.origin:#x}, LENGTH = {ram.length:#x}
}}
ENTRY(reset_handler)
SECTIONS
{{
    .vectors : {{ KEEP(*(.vectors)) }} > VECTORS
    .text : {{ *(.text .text.* .rodata .rodata.* .init .fini) }} > FLASH
    .ARM.exidx : {{ *(.ARM.exidx* .ARM.extab*) }} > FLASH
    .data : {{ *(.data .data.* .got .got.*) }} > RAM
    .bss (NOLOAD) : {{ *(.bss .bss.* COMMON) . = ALIGN(8); end = .; }} > RAM
    link_stack_top = ORIGIN(RAM) + LENGTH(RAM);
}}
"""
"""QEMU loads everything where it runs, so that nothing has to be copied at the start."""


def build(target: Target, folder: Path) -> Path:
    """Builds checkasm for a board and returns the program."""
    for tool in ("cmake", target.compiler, "qemu-system-arm"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    assert target.board is not None
    board = target.board
    script = folder / "link.ld"
    script.write_text(LINK_SCRIPT.format(vectors=board.vectors, flash=board.flash, ram=board.ram))
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    options = [
        "-DCMAKE_SYSTEM_NAME=Generic",
        f"-DCMAKE_SYSTEM_PROCESSOR={target.name}",
        f"-DCMAKE_C_COMPILER={target.compiler}",
        f"-DCMAKE_C_FLAGS={' '.join(target.flags)}",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
        f"-DCHECKASM_LINK_SCRIPT={script}",
    ]
    subprocess.run(["cmake", "-S", CHECKASM, "-B", folder, *generator, *options], check=True, capture_output=True)
    result = subprocess.run(["cmake", "--build", folder, "-j2"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / "checkasm"


def run(target: Target, program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    arguments = [option.replace(",", ",,") for option in ("checkasm", *options)]  # QEMU's way to write a comma
    command = [*target.emulator(arguments), str(program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=1800, stdin=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [target.name for target in targets.all_targets() if target.board and {"dsp", "mve"} & set(target.isa)]
)
def test_variants_agree_with_c(name: str, tmp_path: Path) -> None:
    target = targets.get(name)
    program = build(target, tmp_path)
    isa = ",".join(isa for isa in target.isa if isa != "c")
    result = run(target, program, "--seed", SEED, "--cases", CASES, "--isa", isa)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 failed" in result.stdout
