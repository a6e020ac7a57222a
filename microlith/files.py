"""Writing files so that no partial one is ever left behind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from .errors import OutputError


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> int:
    """Calls ``write`` on a temporary file beside ``path``, then renames it; returns the bytes written.

    Raises OutputError when the file cannot be written; ``path`` is then as it was.
    """
    target = Path(path)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            write(file)
            size = file.tell()
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise OutputError(
            f"cannot write: {error.strerror or error}", where=str(target), hint="choose a writable folder with --output"
        ) from error
    except BaseException:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise
    return size
