# SPDX-License-Identifier: Apache-2.0
"""What to say when a package of an extra is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from microlith.errors import MicrolithError


class MissingExtraError(MicrolithError):
    """A package is needed that only an extra of microlith installs."""


EXTRAS = {
    "torch": "train",
    "torchao": "train",
    "lightning": "train",
    "onnxscript": "train",
    "tensorboard": "train",
    "onnxruntime": "train",
    "sklearn": "train",
    "ray": "ray",
}
"""First name of a module -> the extra that brings it."""


@contextmanager
def explain_missing() -> Iterator[None]:
    """Turns the failed import of a package that an extra brings into one line that names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if package not in EXTRAS:
            raise
        extra = EXTRAS[package]
        raise MissingExtraError(
            f"the training side needs the package {package}, which is not installed",
            hint=f"pip install 'microlith[{extra}]'",
        ) from error
