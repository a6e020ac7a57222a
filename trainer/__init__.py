# SPDX-License-Identifier: Apache-2.0
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
    from .compress.knockoffs import GaussianKnockoffs
    from .compress.lowbit_search import LowBitSearch, Temperature
    from .compress.magnitude import MagnitudePruning
    from .compress.qat import QAT
    from .compress.scop import Scop
    from .distill import Distillation
    from .exporting import Agreement, Exported, ExportError, export
    from .fit_callbacks import EarlyStopping, NotFiniteError, ReduceLROnPlateau
    from .fitting import Fitted, fit
    from .runs import Run, RunTable

__all__ = [
    "QAT",
    "Agreement",
    "Compose",
    "Compressor",
    "Distillation",
    "EarlyStopping",
    "ExportError",
    "Exported",
    "Fitted",
    "GaussianKnockoffs",
    "LowBitSearch",
    "MagnitudePruning",
    "NotFiniteError",
    "ReduceLROnPlateau",
    "Run",
    "RunTable",
    "Scop",
    "Temperature",
    "export",
    "fit",
]

_PLACES = {
    "Agreement": "exporting",
    "Compose": "compress.compressor",
    "Compressor": "compress.compressor",
    "Distillation": "distill",
    "EarlyStopping": "fit_callbacks",
    "ExportError": "exporting",
    "Exported": "exporting",
    "Fitted": "fitting",
    "GaussianKnockoffs": "compress.knockoffs",
    "LowBitSearch": "compress.lowbit_search",
    "MagnitudePruning": "compress.magnitude",
    "NotFiniteError": "fit_callbacks",
    "QAT": "compress.qat",
    "ReduceLROnPlateau": "fit_callbacks",
    "Run": "runs",
    "RunTable": "runs",
    "Scop": "compress.scop",
    "Temperature": "compress.lowbit_search",
    "export": "exporting",
    "fit": "fitting",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with explain_missing():
        return getattr(importlib.import_module(f".{_PLACES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
