# SPDX-License-Identifier: Apache-2.0
"""Samples, one at a time, and their form in another model's inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..dtypes import DType
from ..errors import InputError
from ..ir import Graph, TensorType, Value
from ..numerics import CONTRACTS, quantize_array
from ..texts import positions_of, set_labels, texts_of
from .differences import to_real
from .engines import Arrays, Port
from .matching import stem


def load_samples(
    source: str | Path, ports: Sequence[Port], limit: int | None = None, images: Mapping[str, Any] | None = None
) -> Iterable[Arrays]:
    """Samples for these inputs, from all that quantization calibrates with (docs/compare.md). ``images``: fields of
    ``ImageOptions``, what pictures become. Raises InputError."""
    from ..converter.quantize.calibration_data import open_calibration
    from ..converter.quantize.images import ImageOptions

    graph = Graph(inputs=[Value(p.name, TensorType(DType.from_numpy(p.dtype), p.shape)) for p in ports])
    for port in ports:
        set_labels(graph.metadata, port.name, port.texts)
    return open_calibration(source, graph, ImageOptions(**(images or {})), limit)


def _fits(sizes: Sequence[int], shape: Sequence[int | str]) -> bool:
    return len(sizes) == len(shape) and all(
        isinstance(dim, str) or dim == size for size, dim in zip(sizes, shape, strict=True)
    )


class InputMap:
    """Which input of ``a`` is which of ``b``, and what its numbers become there."""

    def __init__(self, a: Sequence[Port], b: Sequence[Port], where: str, contract: str = "tflite-double") -> None:
        self.rounding = CONTRACTS[contract]
        names = {port.name: port for port in a}
        stems = {stem(port.name): port for port in a}
        self.pairs: list[tuple[Port, Port]] = []
        by_name = [names.get(port.name) or stems.get(stem(port.name)) for port in b]
        if len(a) != len(b) or (None in by_name and any(item is not None for item in by_name)):
            told = " and ".join(", ".join(port.name for port in ports) or "none" for ports in (a, b))
            raise InputError(f"the models have different inputs: {told}", where=where)
        for position, port in enumerate(b):
            self.pairs.append((by_name[position] or a[position], port))

    def convert(self, feed: Mapping[str, np.ndarray]) -> Arrays:
        """A sample of ``a`` as ``b`` takes it: same axes or channels moved, quantized where ``b`` wants integers."""
        return {b.name: _convert(_renumbered(feed[a.name], a, b), a, b, self.rounding) for a, b in self.pairs}


def _renumbered(array: np.ndarray, a: Port, b: Port) -> np.ndarray:
    """Positions in the texts of ``a`` as those in the texts of ``b``, where both have texts."""
    if a.texts == b.texts or not a.texts or not b.texts:
        return array
    return positions_of(texts_of(array, a.texts), b.texts).astype(array.dtype)


def agreed_ports(a: Sequence[Port], b: Sequence[Port], given: Mapping[str, Sequence[int]], where: str) -> list[Port]:
    """The inputs of ``a`` with sizes that both models take: those that ``a`` leaves open are the ``given`` ones, by
    name of the input, or those of ``b``. Raises InputError for models with different inputs."""
    other = {port.name: twin for port, twin in InputMap(a, b, where).pairs}
    return [replace(port, shape=_agreed(port.shape, other[port.name].shape, given.get(port.name))) for port in a]


def _agreed(
    shape: tuple[int | str, ...], other: tuple[int | str, ...], given: Sequence[int] | None
) -> tuple[int | str, ...]:
    fits = len(shape) == len(other) and all(
        one == two for one, two in zip(shape, other, strict=True) if _is_known(one) and _is_known(two)
    )
    if not any(map(_is_known, shape[1:])):  # nothing tells whether their axes are in the same order
        other = (*other[:1], *shape[1:])
    wanted = given if given is not None and len(given) == len(shape) else other if fits else shape
    return tuple(one if _is_known(one) else two for one, two in zip(shape, wanted, strict=True))


def _is_known(size: int | str) -> bool:
    return isinstance(size, int) and size >= 0


def _convert(array: np.ndarray, a: Port, b: Port, rounding: int) -> np.ndarray:
    if not _fits(array.shape, b.shape):
        rank = array.ndim
        orders = [(0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))] if rank > 2 else []
        order = next((o for o in orders if _fits([array.shape[axis] for axis in o], b.shape)), None)
        if order is None:
            shapes = [f"[{', '.join(map(str, shape))}]" for shape in (array.shape, b.shape)]
            raise InputError(f"input '{a.name}' has shape {shapes[0]}, the other model's '{b.name}' {shapes[1]}")
        array = np.ascontiguousarray(array.transpose(order))
    if a.dtype == b.dtype and (a.quant == b.quant or a.dtype.kind == "f"):
        return array
    real = to_real(array, a.quant)
    if b.quant is not None and b.dtype.kind in "iu":
        return quantize_array(real.astype(np.float32), b.quant.scale, b.quant.zero_point, b.dtype, rounding)
    return real.astype(b.dtype)
