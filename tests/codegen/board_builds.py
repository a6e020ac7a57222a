"""Compiling what was generated for an ecosystem with the bare compiler, and running it on an emulated board."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from generated_projects import need
from small_models import int8_cnn

from microlith import targets
from microlith.codegen import generate

STUBS = Path(__file__).parent / "stub_boards"
STRICT = ("-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Wundef")


def platform_of(target: str, folder: Path) -> Path:
    """Start-up code, semihosting and linker script of a board: those of a project for Make."""
    generate(int8_cnn(), target, folder, project="make")
    return folder / "platform"


def link_and_run(
    target: str, sources: Sequence[Path], includes: Sequence[Path], platform: Path, flags: Sequence[str] = ()
) -> str:
    """Compiles sources (.cpp and .ino as C++), links them with the platform of a board and runs the program.

    ``flags`` are those of the ecosystem. Returns what the program printed; it must end well.
    """
    row = targets.get(target)
    need(row.compiler, f"{row.tool_prefix}g++", row.emulator()[0])
    common = [*row.flags, *flags, *STRICT, "-ffunction-sections", "-fdata-sections"]
    include = [f"-I{path}" for path in (*includes, platform)]
    objects = []
    work = platform.parent / "objects"
    work.mkdir(exist_ok=True)
    for number, source in enumerate([*sources, *sorted(platform.glob("startup_*.c")), platform / "semihosting.c"]):
        is_cpp = source.suffix in (".cpp", ".ino")
        language = ["-x", "c++", "-std=gnu++17", "-fno-exceptions", "-fno-rtti"] if is_cpp else ["-std=gnu11"]
        more = ["-include", "Arduino.h"] if source.suffix == ".ino" else []
        compiler = f"{row.tool_prefix}g++" if is_cpp else row.compiler
        output = work / f"{number}.o"
        run([compiler, *language, *common, *include, *more, "-c", source, "-o", output])
        objects.append(output)
    program = work / "program.elf"
    script = f"-T{platform / 'link.ld'}"
    linker = [row.compiler, *row.flags, "-nostartfiles", *row.link_flags, "-Wl,--gc-sections", script]
    run([*linker, *objects, "-lm", "-o", program])
    return run([*row.emulator(), program])


def run(command: Sequence[object], cwd: Path | None = None) -> str:
    """What a command that has to succeed prints; QEMU takes standard error for semihosting."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr
