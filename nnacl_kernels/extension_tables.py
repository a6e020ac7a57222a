"""Extensions in this process: shared libraries that hold the tables of ``nnacl_extension.h``, and who brings them.

The op catalogue and the runtime look here for what is not in our own library. A package offers an extension by an entry
point of the group ``microlith.ops`` that has the name of the extension.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from microlith.nnacl_kernels.library import find_library

if TYPE_CHECKING:
    from importlib import metadata

GROUP = "microlith.ops"
"""Of entry points."""


class TableError(ValueError):
    """A shared library is no extension, or its tables are not sound; the text says why."""


@dataclass(frozen=True)
class Attached:
    """An extension that is loaded."""

    name: str
    folder: Path
    """Of its C sources; its name is that of the extension."""
    library: Path
    address: int
    """Of its ``nnacl_extension``."""


_attached: dict[str, Attached] = {}
_libraries: list[ctypes.CDLL] = []
"""Loaded once and for all: nothing may be unloaded while a model uses it."""


def attach(name: str, folder: Path, library: Path) -> Attached:
    """Loads an extension. Raises TableError when it cannot be loaded, or its tables are not sound."""
    own = ctypes.CDLL(str(find_library()))
    try:
        loaded = ctypes.CDLL(str(library))
        address = ctypes.addressof(ctypes.c_char.in_dll(loaded, f"nnacl_{name}_extension"))
    except OSError as error:
        raise TableError(f"it cannot be loaded: {error}") from error
    except ValueError as error:
        raise TableError(f"it does not define nnacl_{name}_extension") from error
    _libraries.append(loaded)
    own.nnacl_extension_check.restype = ctypes.c_char_p
    own.nnacl_extension_check.argtypes = [ctypes.c_void_p]
    message = own.nnacl_extension_check(address)
    if message is not None:
        raise TableError(message.decode())
    _attached[name] = Attached(name, folder, library, address)
    return _attached[name]


def detach(name: str) -> None:
    """Takes an extension out again; models that are open keep it."""
    _attached.pop(name, None)


def attached() -> tuple[Attached, ...]:
    """The extensions that are loaded, in the order in which they came."""
    return tuple(_attached.values())


def installed() -> dict[str, metadata.EntryPoint]:
    """The entry points of installed packages that offer extensions, by name of the extension."""
    from importlib import metadata  # slow, and most models have no need of it

    return {entry.name: entry for entry in metadata.entry_points(group=GROUP)}


def activate_installed() -> dict[str, str]:
    """Loads every installed extension that is not loaded yet; what went wrong, by name.

    What an entry point stands for has a method ``activate()``, which calls ``attach``.
    """
    problems: dict[str, str] = {}
    for name, entry in installed().items():
        if name in _attached:
            continue
        try:
            entry.load().activate()
        except Exception as error:  # whatever the code of another package raises
            problems[name] = " ".join(str(error).split()) or type(error).__name__
    return problems
