"""Compiles the C sources of an extension into a shared library, once, with the compiler of the system."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .errors import ExtensionError, ToolError
from .nnacl_kernels import catalogue
from .nnacl_kernels.library import find_library
from .version import __version__

CACHE_VARIABLE = "MICROLITH_CACHE"
"""Names the environment variable for the folder that holds compiled extensions."""

_REQUIRED = ("ops.def", "kernels.def")
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = (
    "-std=c11 -O3 -fPIC -ffp-contract=off -fno-math-errno "
    "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror"
).split()
_AVX512 = ["-mavx2", "-mfma", "-mf16c", "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl"]
_X86 = {
    "sse41": ["-msse4.1"],
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": _AVX512,
    "vnni": [*_AVX512, "-mavx512vnni"],
    "avxvnni": ["-mavx2", "-mfma", "-mf16c", "-mavxvnni"],
    "avx512bf16": [*_AVX512, "-mavx512bf16"],
    "vbmi": [*_AVX512, "-mavx512vbmi"],
}
_ARM64 = {
    "neon": list[str](),
    "dotprod": ["-march=armv8.2-a+dotprod"],
    "i8mm": ["-march=armv8.2-a+dotprod+i8mm"],
    "fp16": ["-march=armv8.2-a+fp16"],
    "bf16": ["-march=armv8.2-a+bf16"],
}
_OTHER_ISAS = ("dsp", "mve")
_SPDX = "SPDX-License-Identifier:"
_MOST_LINES = 12
"""Of what a compiler says, in messages."""


def check_sources(name: str, folder: Path) -> None:
    """Raises ExtensionError when a file that an extension needs is not in its folder."""
    if not folder.is_dir():
        raise ExtensionError("the folder with its C sources is not there", where=str(folder), hint=_layout(name))
    for file in (f"{name}.h", f"{name}.c", *_REQUIRED):
        if not (folder / file).is_file():
            raise ExtensionError(f"'{file}' is missing", where=str(folder), hint=_layout(name))
    for path in sorted([*folder.glob("*.c"), *folder.glob("*.h")]):
        first = path.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        if _SPDX not in first:
            raise ExtensionError(
                "its first line does not state its licence",
                where=str(path),
                hint="sources are copied into generated projects; begin with, for instance, "
                "/* SPDX-License-Identifier: Apache-2.0 */",
            )


def _layout(name: str) -> str:
    return (
        f"a folder '{name}' holds {name}.h (parameter structs), {name}.c (the tables), {', '.join(_REQUIRED)} and the "
        "sources of plan halves and kernels; see docs/custom-ops.md"
    )


def build(name: str, folder: Path) -> Path:
    """The shared library of an extension: from the cache, or compiled now.

    Raises ExtensionError when a source is missing, and ToolError when there is no compiler or it refuses the sources.
    """
    check_sources(name, folder)
    compiler = _compiler(name)
    isas = _isa_flags()
    sources = [path for path in sorted(folder.glob("*.c")) if _isa_of(path) in (None, *isas)]
    library = _cache_folder() / f"{name}-{_key(compiler, isas, folder)}{_suffix()}"
    if library.is_file():
        return library
    with tempfile.TemporaryDirectory(prefix="microlith-ops-") as work:
        objects = []
        for source in sources:
            target = Path(work) / f"{source.stem}.o"
            definitions = [f"-DNNACL_BUILD_{isa.upper()}" for isa in isas]
            includes = [f"-I{catalogue.ROOT}", f"-I{folder.parent}"]
            flags = [*_FLAGS, *isas.get(_isa_of(source) or "", []), *definitions, *includes]
            _call([*compiler, *flags, "-c", "-o", str(target), str(source)], f"compiling {source}")
            objects.append(str(target))
        made = Path(work) / library.name
        undefined = [] if sys.platform == "darwin" else ["-Wl,--no-undefined"]
        _call(
            [*compiler, "-shared", *undefined, "-o", str(made), *objects, str(find_library()), "-lm"],
            f"linking the extension '{name}'",
        )
        _put(made, library)
    return library


def _put(made: Path, library: Path) -> None:
    """Copies a file to its place in one step, because another process may be doing the same."""
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=library.parent, delete=False) as file:
            file.write(made.read_bytes())
        Path(file.name).chmod(0o755)
        Path(file.name).replace(library)
    except OSError as error:
        raise ToolError(
            f"a compiled extension cannot be kept: {error.strerror or error}",
            where=str(library.parent),
            hint=f"name a writable folder with the environment variable {CACHE_VARIABLE}",
        ) from error


def _cache_folder() -> Path:
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "microlith"


def _compiler(name: str) -> list[str]:
    given = shlex.split(os.environ.get("CC", ""))
    found = [[command] for command in _COMPILERS if shutil.which(command)]
    if given and shutil.which(given[0]) is None:
        raise ToolError(f"CC names '{given[0]}', which is not installed", where=f"extension '{name}'", hint="unset CC")
    if not given and not found:
        raise ToolError(
            "there is no C compiler to build it with",
            where=f"extension '{name}'",
            hint="install one (Debian: gcc), name it with CC, or give the extension a library that was built elsewhere",
        )
    return given or found[0]


def _isa_flags() -> dict[str, list[str]]:
    """The flags of every instruction set that files of this machine's architecture may be compiled for."""
    machine = platform.machine().lower()
    return _X86 if machine in ("x86_64", "amd64") else _ARM64 if machine in ("aarch64", "arm64") else {}


def _isa_of(path: Path) -> str | None:
    """The instruction set that the name of a source ends in; None: portable."""
    last = path.stem.rpartition("_")[2]
    return last if last in {*_X86, *_ARM64, *_OTHER_ISAS} else None


def _suffix() -> str:
    return ".dylib" if sys.platform == "darwin" else ".so"


def _key(compiler: Sequence[str], isas: dict[str, list[str]], folder: Path) -> str:
    """Changes with everything that goes into a library."""
    digest = hashlib.sha256()
    for part in (__version__, str(find_library()), *compiler, *_FLAGS, *isas, platform.machine(), str(folder)):
        digest.update(part.encode() + b"\0")
    for header in sorted(catalogue.ROOT.glob("*.h")):
        digest.update(header.read_bytes())
    for path in sorted(path for path in folder.iterdir() if path.suffix in (".c", ".h", ".def")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def _call(command: Sequence[str], what: str) -> None:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"'{command[0]}' cannot be run: {error}", where=what) from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        text = "\n  ".join(lines[:_MOST_LINES])
        raise ToolError(f"'{Path(command[0]).name}' refuses it:\n  {text}", where=what)
