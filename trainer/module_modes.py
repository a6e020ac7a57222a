# SPDX-License-Identifier: Apache-2.0
"""Looking at a model in eval mode without a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """In eval mode inside; afterwards each module is in the mode that it was in, frozen parts too."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
