"""The training side: make a model ready for devices with PyTorch and Lightning.

Install it with ``pip install 'microlith[train]'``; ``docs/training.md`` shows how it is used. Nothing heavy is imported
before the first name is used, so the table of runs can be read without PyTorch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .extras import explain_missing

if TYPE_CHECKING:
    from .compress.compressor import Compose, Compressor

__all__ = ["Compose", "Compressor"]

_PLACES = {
    "Compose": "compress.compressor",
    "Compressor": "compress.compressor",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with explain_missing():
        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
