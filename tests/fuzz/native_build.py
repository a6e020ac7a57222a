"""Builds the C library and the programs of this folder with sanitizers, once for all tests and workers."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "sanitized"
SANITIZE = "-fsanitize=address,undefined"
STRICT = ("-g", "-O1", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def require_tools(*names: str) -> None:
    """Skips the test when a program is missing."""
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


def execute(command: Sequence[str | Path], timeout: float = 600) -> str:
    """Runs a program; its output. Fails the test, with what it said, when it fails."""
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=timeout, cwd=BUILD, errors="replace"
    )
    if result.returncode != 0:
        words = " ".join(str(word) for word in command)
        pytest.fail(f"{words[:500]}\nended with {result.returncode}\n{(result.stdout + result.stderr)[-6000:]}")
    return result.stdout


def static_library() -> Path:
    """libmicrolith.a with the address and undefined-behaviour sanitizers."""
    require_tools("cmake", "cc")
    with _locked():
        if not (BUILD / "lib" / "CMakeCache.txt").is_file():
            execute(
                ["cmake", "-S", ROOT / "runtime", "-B", BUILD / "lib", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                 "-DMICROLITH_SANITIZE=address,undefined", "-DMICROLITH_BUILD_TOOLS=OFF"]
            )  # fmt: skip
        execute(["cmake", "--build", BUILD / "lib", "--parallel", "2"])
    return BUILD / "lib" / "libmicrolith.a"


def c_program(name: str) -> Path:
    """Compiles ``<name>.c`` of this folder against the sanitized library."""
    library = static_library()
    with _locked():
        program = BUILD / name
        execute(
            ["cc", "-std=c11", SANITIZE, *STRICT, f"-I{ROOT / 'runtime' / 'include'}", HERE / f"{name}.c", library,
             "-lm", "-lpthread", "-o", program]
        )  # fmt: skip
    return program
