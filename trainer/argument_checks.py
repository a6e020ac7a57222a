# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong type or value, in one form of words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from torch import nn

from microlith.errors import InputError


def require_count(value: Any, what: str, *, low: int = 1, where: str = "") -> int:
    """A whole number, ``low`` at least; NumPy's are taken. Raises InputError."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(
            f"{what} is {value!r}; a whole number, at least {low}, is needed", where=where, hint="such as 10"
        )
    if value < low:
        raise InputError(f"{what} is {value}; at least {low} is needed", where=where)
    return int(value)


def require_number(value: Any, what: str, *, above: float = -math.inf, where: str = "") -> float:
    """A finite number above ``above``. Raises InputError."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value) or value <= above:
        bound = "" if math.isinf(above) else f" above {above:g}"
        raise InputError(f"{what} is {value!r}; it must be a number{bound}", where=where)
    return float(value)


def require_seed(value: Any, where: str = "") -> int:
    """A whole number; None means 0, the default. Raises InputError."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"seed is {value!r}; a whole number is needed", where=where, hint="such as 0")
    return int(value)


def require_names(value: Any, what: str, where: str = "") -> tuple[str, ...]:
    """Names or patterns of layers; one alone is taken as such. Raises InputError."""
    if isinstance(value, str):
        return (value,)
    names = tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{what} is {value!r}; names are needed", where=where, hint='such as ["features.0", "head*"]')
    return names


def require_callable(value: Any, what: str, where: str = "") -> None:
    """Raises InputError when it cannot be called."""
    if not callable(value):
        raise InputError(f"{what} is {value!r}, which cannot be called", where=where)


def require_module(model: Any) -> None:
    """Raises InputError for what is no module of PyTorch."""
    if isinstance(model, type) and issubclass(model, nn.Module):
        raise InputError(f"{model.__name__} is a class; a model is needed", where="model", hint=f"{model.__name__}(…)")
    if not isinstance(model, nn.Module):
        raise InputError(f"{type(model).__name__} is no module of PyTorch", where="model", hint="a torch.nn.Module")
