"""Microlith: trained models on devices, as a small runtime or as C source.

The front door. Its parts are imported when they are first used.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .errors import MicrolithError
from .version import __version__

if TYPE_CHECKING:
    from .codegen import Report
    from .extensions import Extension
    from .ir import Graph
    from .runtime import Model, WeightsCache

__all__ = ["MicrolithError", "WeightsCache", "__version__", "add_ops", "convert", "generate", "load"]


def convert(model: Any, output: str | os.PathLike[str] | None = None, **options: Any) -> Graph:
    """Converts an ONNX or TFLite model (a path, bytes or an ``onnx.ModelProto``); writes a .lith file to ``output``.

    Options: see ``converter``.
    """
    from . import modelfile
    from .converter import convert as run

    graph = run(model, **options)
    if output is not None:
        modelfile.save(graph, output)
    return graph


def load(model: str | os.PathLike[str] | bytes, **options: Any) -> Model:
    """Opens a .lith file (a path or bytes) in the C runtime. Options: see ``runtime.load``."""
    from .runtime import load as run

    return run(model, **options)


def generate(
    model: str | os.PathLike[str] | Graph, target: str, output: str | os.PathLike[str], **options: Any
) -> Report:
    """Writes a standalone C project for a target. Options: see ``codegen.generate``."""
    from .codegen import generate as run

    return run(model, target, output, **options)


def add_ops(source: Extension | str | os.PathLike[str]) -> list[Extension]:
    """Makes ops from outside of the package known: an ``Extension``, or a Python file that defines some.

    See ``docs/custom-ops.md``. What an installed package offers is found without this.
    """
    from .extensions import add_ops as run

    return run(source)


def __getattr__(name: str) -> Any:
    if name == "WeightsCache":
        from .runtime import WeightsCache

        return WeightsCache
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
