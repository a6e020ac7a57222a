"""Writing files so that no partial one is ever left behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import numpy as np

from .errors import OutputError

SMALLEST_OUTSIDE = 8 << 20
"""Bytes; smaller arrays stay in memory."""


def out_of_memory(array: np.ndarray) -> np.ndarray:
    """A large array as a read-only view of a temporary file, which goes with the last view of it.

    So the weights of a model may be larger than memory while they change their layout. Where there is no room for the
    file the array stays as it is.
    """
    if array.nbytes < SMALLEST_OUTSIDE or array.dtype.hasobject:
        return array
    try:
        with tempfile.TemporaryFile() as file:
            array.tofile(file)
            file.flush()
            return np.memmap(file, array.dtype, mode="r", shape=array.shape).view(np.ndarray)
    except OSError:
        return array


def follow_links(path: str | os.PathLike[str]) -> Path:
    """The absolute path that is written to in place of ``path``: where symbolic links lead. Raises OutputError."""
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise OutputError(
            "cannot write: the links lead nowhere", where=str(path), hint="choose another path"
        ) from error


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raises OutputError for a file that could not be written, before what it will hold is computed."""
    target = Path(path)
    folder = target.parent
    if target.is_dir():
        raise OutputError("cannot write: it is a folder", where=str(target), hint="name a file")
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise OutputError("cannot write: its folder is missing or write-protected", where=str(target))


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> int:
    """Calls ``write`` on a temporary file beside ``path``, then renames it; returns the bytes written. A symbolic link
    stays one: the file that it leads to is written.

    Raises OutputError when the file cannot be written; ``path`` is then as it was.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "a device or pipe"
        raise OutputError(f"cannot write: it is {kind}", where=str(target), hint="name a file")
    temporary: Path | None = None
    try:
        place = follow_links(target)
        handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            write(file)
            size = file.tell()
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(place)
    except OSError as error:
        raise OutputError(
            f"cannot write: {error.strerror or error}", where=str(target), hint="choose a writable folder"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return size
