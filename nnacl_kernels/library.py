"""Finding ``libmicrolith`` (kernels and runtime in one shared library) and reading our C headers for cffi."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ENVIRONMENT_VARIABLE = "MICROLITH_LIBRARY"
"""Names the environment variable that overrides the search: the path of the shared library itself."""


class LibraryNotFoundError(FileNotFoundError):
    """The shared library is nowhere to be found, or the environment variable names a file that does not exist."""

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(f"{what}\n  hint: {hint}" if hint else what)


error: type[LibraryNotFoundError] = LibraryNotFoundError
"""What is raised. A package with errors of a kind of its own puts a subclass in its place."""


def library_filename() -> str:
    """What the shared library is called on this platform."""
    if sys.platform == "win32":
        return "microlith.dll"
    return "libmicrolith.dylib" if sys.platform == "darwin" else "libmicrolith.so"


def find_library() -> Path:
    """The path of the shared library.

    ``MICROLITH_LIBRARY`` comes first; then every folder that makes up this package (of an editable install, the
    checkout and the folder that the build installed to). Raises ``LibraryNotFoundError``.
    """
    given = os.environ.get(ENVIRONMENT_VARIABLE)
    if given:
        path = Path(given)
        if not path.is_file():
            raise error(
                f"{ENVIRONMENT_VARIABLE} names '{given}', which is not a file",
                hint=f"set it to the path of {library_filename()}, or unset it",
            )
        return path.resolve()
    folders = list(_folders())
    for folder in folders:
        path = folder / library_filename()
        if path.is_file():
            return path
    searched = ", ".join(str(folder) for folder in folders)
    raise error(
        f"{library_filename()} was not found in {searched}",
        hint="install the package (pip install .), or build it with cmake -S runtime -B build && cmake --build build "
        f"and set {ENVIRONMENT_VARIABLE}=build/{library_filename()}",
    )


def _folders() -> Iterator[Path]:
    """The folders of this package, the one that holds this file first, each once."""
    here = Path(__file__).resolve().parent
    yield here
    package = sys.modules.get(__package__ or "")
    for entry in getattr(package, "__path__", ()):
        if Path(entry).resolve() != here:
            yield Path(entry)
    # The folder that an editable install builds into: site-packages/microlith/nnacl_kernels.
    for entry in sys.path:
        folder = Path(entry) / "microlith" / "nnacl_kernels"
        if folder.resolve() != here and folder.is_dir():
            yield folder


def kernel_folder() -> Path:
    """The folder of the kernel sources and headers."""
    return Path(__file__).resolve().parent


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b(.*)")
_CONSTANT = re.compile(r"\s*#\s*define\s+(\w+)\s+\(?(-?(?:0[xX][0-9a-fA-F]+|\d+))[uUlL]*\)?\s*$")
_MARKERS = re.compile(r"\b(?:LITH_API|NNACL_API)\b\s*")


def read_declarations(*headers: Path) -> str:
    """The declarations of some of our headers, in order, as cffi's ``cdef`` takes them.

    Comments, includes and everything under ``#ifdef __cplusplus`` are dropped; of the macros only those that are
    plain integers stay. Nothing is expanded, so a header has to be given after those that it includes.
    """
    return "\n".join(line for header in headers for line in _declaration_lines(header.read_text("utf-8")))


def _declaration_lines(text: str) -> Iterator[str]:
    text = _COMMENT.sub(" ", text).replace("\\\n", " ")
    hidden: list[bool] = []
    for line in text.splitlines():
        condition = _CONDITION.match(line)
        if condition:
            word, rest = condition.groups()
            if word.startswith("if"):
                # Include guards are transparent; every other branch of ours is for C++ or a compiler's extensions.
                hidden.append(not (word == "ifndef" and rest.strip().endswith("_H")))
            elif word == "endif":
                hidden.pop()
        elif not any(hidden) and line.strip():
            constant = _CONSTANT.match(line)
            if constant:
                yield f"#define {constant.group(1)} {constant.group(2)}"
            elif not line.lstrip().startswith("#"):
                yield _MARKERS.sub("", line)
