"""The errors that a user can cause. Each says what is wrong, where, why, and what to do about it.

The command line prints ``str(error)`` and exits with ``error.exit_code``; no traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .nnacl_kernels import library


class MicrolithError(Exception):
    """Base of all errors that name a user's mistake. ``where`` and ``hint`` become part of the text."""

    exit_code = 2
    """Of the command line; 1 is left to commands that judge, such as ``compare``, for a verdict of no."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(what)

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class ModelFormatError(MicrolithError):
    """The bytes are not a well-formed model (truncated, corrupt, of another format or version)."""


@dataclass(frozen=True)
class Unsupported:
    """One thing in a model that cannot be converted."""

    node: str
    op: str
    reason: str
    hint: str = ""
    attribute: str = ""
    """The attribute that it is about; "": none in particular."""


class UnsupportedError(MicrolithError):
    """One or more nodes cannot be converted. Collects ALL of them."""

    def __init__(self, items: Sequence[Unsupported], *, where: str = "") -> None:
        self.items = tuple(items)
        lines = [f"{len(self.items)} unsupported node{'s' if len(self.items) != 1 else ''}:"]
        for item in self.items:
            lines.append(f"  {item.op} '{item.node}': {item.reason}" + (f" ({item.hint})" if item.hint else ""))
        super().__init__("\n".join(lines), where=where)


class ShapeError(MicrolithError):
    """Shapes do not fit, or a shape must be known and is not."""


class OpenShapeError(ShapeError, ValueError):
    """A shape must be known, and has sizes that are not."""


class InputError(MicrolithError):
    """A caller gave an input with a wrong name, shape or type."""


class TargetError(MicrolithError):
    """An unknown target, or a model that the target cannot hold."""


class ToolError(MicrolithError):
    """A program that is needed (a compiler, an emulator) is missing or failed."""


class LibraryNotFoundError(ToolError, library.LibraryNotFoundError):
    """The C library is nowhere to be found."""


library.error = LibraryNotFoundError


class ExtensionError(MicrolithError):
    """Ops from outside of the package are incomplete, or do not fit together."""


class OutputError(MicrolithError):
    """An output cannot be written."""
