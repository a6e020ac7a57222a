"""cffi over ``include/microlith.h``: the library, opened once, and statuses as exceptions."""

from __future__ import annotations

import functools
from typing import Any

from microlith.errors import InputError, MicrolithError, ModelFormatError, ShapeError, ToolError
from microlith.nnacl_kernels.library import LibraryNotFoundError, find_library
from microlith.runtime.declarations_generated import ffi as _declarations


class RunCancelledError(MicrolithError):
    """``Model.cancel`` stopped the run."""


_ERRORS: dict[str, type[MicrolithError]] = {
    "LITH_ERROR_ARGUMENT": InputError,
    "LITH_ERROR_IO": ModelFormatError,
    "LITH_ERROR_FORMAT": ModelFormatError,
    "LITH_ERROR_VERSION": ModelFormatError,
    "LITH_ERROR_SHAPE": ShapeError,
    "LITH_CANCELLED": RunCancelledError,
}

_HINTS = {
    "LITH_ERROR_FORMAT": "convert the model again",
    "LITH_ERROR_VERSION": "use a newer microlith",
    "LITH_ERROR_UNSUPPORTED": "use a build of microlith that has it, or convert the model again",
}

ffi: Any = _declarations
"""What ``include/microlith.h`` declares, as cffi keeps it for programs that shall not parse it at each start."""


@functools.cache
def library() -> Any:
    """The shared library. Raises LibraryNotFoundError when it is not there, and ToolError when it cannot be loaded."""
    try:
        return ffi.dlopen(str(find_library()))
    except LibraryNotFoundError:
        raise
    except OSError as error:
        raise ToolError(f"the C library cannot be loaded: {error}", hint="install the package again") from error


def text(pointer: Any) -> str:
    """A string of C; "" for NULL."""
    return "" if pointer == ffi.NULL else bytes(ffi.string(pointer)).decode(errors="replace")


def check(status: int, message: Any = None, *, where: str = "") -> None:
    """Raises what a status stands for. ``message`` is the ``lith_message`` that the call filled."""
    lib = library()
    if status == lib.LITH_OK:
        return
    name = ffi.typeof("lith_status").elements.get(status, "")
    what = text(message.text) if message is not None else text(lib.lith_status_text(status))
    hint = "" if "microlith convert" in what else _HINTS.get(name, "")
    if name == "LITH_ERROR_UNSUPPORTED" and "of the extension" in what:
        hint = "install the package that brings it, or name its file with --ops (microlith.add_ops in Python)"
    raise _ERRORS.get(name, MicrolithError)(what, where=where, hint=hint)
