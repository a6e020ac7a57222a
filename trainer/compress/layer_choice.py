# SPDX-License-Identifier: Apache-2.0
"""Which layers of a model a compressor works on: by type, by name pattern, by place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

import torch
from torch import nn

from microlith.errors import InputError, Unsupported, UnsupportedError

Edges = Literal["search", "float"]


def weighted_layers(model: nn.Module, kinds: tuple[type[nn.Module], ...]) -> dict[str, nn.Module]:
    """The layers of the given types by name, in the order in which the model defines them."""
    return {name: layer for name, layer in model.named_modules() if isinstance(layer, kinds)}


def choose_layers(
    model: nn.Module,
    kinds: tuple[type[nn.Module], ...],
    *,
    layers: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    keep_edges: bool = False,
    fits: Callable[[nn.Module], str] = lambda layer: "",
) -> dict[str, nn.Module]:
    """Layers by name, in the order of definition.

    :param kinds: the types that the compressor knows.
    :param layers: names or patterns (``fnmatch``); None: all of the known types.
    :param exclude: names or patterns that are left out.
    :param keep_edges: leave out the first and the last layer of the known types (in the order of definition), unless
        ``layers`` names them.
    :param fits: why a layer of a known type cannot be compressed, or "". Such a layer is left out when ``layers`` is
        None and refused when a pattern names it.
    :raises UnsupportedError: a pattern names a layer of another type or one that does not fit.
    :raises InputError: a pattern names nothing, nothing is left, or a weight is not finite.
    """
    known = weighted_layers(model, kinds)
    for pattern in (*(layers or ()), *exclude):
        if not any(fnmatchcase(name, pattern) for name, _ in model.named_modules()):
            raise InputError(
                f"no layer is called {pattern!r}", hint=f"the model has {', '.join(known) or 'no layer with weights'}"
            )
    if layers is None:
        chosen = {name: layer for name, layer in known.items() if not fits(layer)}
        if keep_edges:
            edges = {*list(known)[:1], *list(known)[-1:]}
            chosen = {name: layer for name, layer in chosen.items() if name not in edges}
    else:
        named = {
            name: layer for name, layer in model.named_modules() if any(fnmatchcase(name, item) for item in layers)
        }
        exact = {name: layer for name, layer in named.items() if name in layers}
        _refuse(exact | {name: layer for name, layer in named.items() if name in known}, known, kinds, fits)
        chosen = {name: layer for name, layer in named.items() if name in known}
    chosen = {name: layer for name, layer in chosen.items() if not any(fnmatchcase(name, item) for item in exclude)}
    if not chosen:
        raise InputError(
            "no layer is left to compress; "
            + (f"left out are {', '.join(map(repr, known))}" if known else "the model has none of a known type"),
            hint=f"known are {_names(kinds)}"
            + ("; the first and the last are kept" if keep_edges else "")
            + ("" if known else "; behind QAT there is none: it comes last"),
        )
    require_finite(chosen)
    return chosen


def _refuse(
    named: dict[str, nn.Module],
    known: dict[str, nn.Module],
    kinds: tuple[type[nn.Module], ...],
    fits: Callable[[nn.Module], str],
) -> None:
    problems = [
        Unsupported(name, type(layer).__name__, reason)
        for name, layer in named.items()
        if (reason := fits(layer) if name in known else f"not one of {_names(kinds)}")
    ]
    if problems:
        raise UnsupportedError(problems)


def _names(kinds: Iterable[type[nn.Module]]) -> str:
    return ", ".join(kind.__name__ for kind in kinds)


def require_finite(layers: dict[str, nn.Module]) -> None:
    """:raises InputError: a parameter of one of the layers holds NaN or infinity."""
    for name, layer in layers.items():
        for parameter, tensor in layer.named_parameters():
            if not bool(torch.isfinite(tensor).all()):
                raise InputError(
                    "NaN or infinity among the weights", where=f"{name}.{parameter}", hint="training has diverged"
                )


def require_share(value: float, what: str, *, low: float = 0.0, high: float = 1.0) -> float:
    """A number in ``low <= value < high``.

    :raises InputError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value < high:
        raise InputError(f"{what} is {value!r}", hint=f"a number from {low:g} to below {high:g}")
    return float(value)
