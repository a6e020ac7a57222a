"""Builds the C library outside of the package: once for all tests and workers, under build/ of the checkout."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "native"
SANITIZE = "-fsanitize=address,undefined"
STRICT = ("-g", "-O1", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Wpedantic", "-Werror")

_OPTIONS = {
    "sanitized": ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DMICROLITH_SANITIZE=address,undefined"),
    "threads": ("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DMICROLITH_SANITIZE=thread"),
    "java": ("-DCMAKE_BUILD_TYPE=Release", "-DMICROLITH_BUILD_JAVA=ON", "-DMICROLITH_BUILD_TOOLS=OFF"),
    "release": ("-DCMAKE_BUILD_TYPE=Release", "-DMICROLITH_WERROR=ON"),
}


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


def execute(command: Sequence[str | Path], *, timeout: float = 600, code: int = 0) -> str:
    """Runs a program; what it wrote. Fails the test when it ends with another code."""
    BUILD.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    result = subprocess.run(words, capture_output=True, text=True, timeout=timeout, cwd=BUILD, errors="replace")
    output = result.stdout + result.stderr
    if result.returncode != code:
        pytest.fail(f"{' '.join(words)[:500]}\nended with {result.returncode}, not {code}\n{output[-6000:]}")
    return output


def build(kind: str) -> Path:
    """The build folder of libmicrolith and the tools: a key of ``_OPTIONS`` (``threads``: with its sanitizer)."""
    require_tools("cmake", "cc")
    folder = BUILD / kind
    with _locked():
        if not (folder / "CMakeCache.txt").is_file():
            execute(["cmake", "-S", ROOT / "runtime", "-B", folder, *_OPTIONS[kind]])
        execute(["cmake", "--build", folder, "--parallel", "2"], timeout=3600)  # a busy machine may need it
    return folder


def sanitized_program(source: Path) -> Path:
    """Compiles a C program against the sanitized library."""
    library = build("sanitized") / "libmicrolith.a"
    program = BUILD / source.stem
    with _locked():
        execute(
            ["cc", "-std=c11", SANITIZE, *STRICT, f"-I{ROOT / 'runtime' / 'include'}", source, library,
             "-lm", "-lpthread", "-o", program]
        )  # fmt: skip
    return program
