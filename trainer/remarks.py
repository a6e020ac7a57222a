# SPDX-License-Identifier: Apache-2.0
"""What libraries say aloud and no user of ``trainer`` can act on."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def only_errors(*loggers: str) -> Iterator[None]:
    """Loggers of these names say nothing below an error meanwhile."""
    before = {name: logging.getLogger(name).level for name in loggers}
    for name in loggers:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def silent_tracing() -> Iterator[None]:
    """While PyTorch traces or exports a model: where it cannot, it prints graphs and tracebacks beside the error."""
    nowhere = io.StringIO()
    loggers = only_errors("torch.onnx", "torch.fx.experimental.symbolic_shapes", "torch.export")
    with loggers, warnings.catch_warnings(), contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        warnings.simplefilter("ignore")
        yield
