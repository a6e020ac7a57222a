"""Decodes TFLite's sparse constants to dense arrays.

A sparse tensor is stored level by level: each level is one (block) dimension, either dense or a list of the indices
that are present (CSR). Blocked dimensions have a second, inner level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tflite

from microlith.errors import ModelFormatError

_INDEX_TABLES = {
    tflite.SparseIndexVector.Int32Vector: tflite.Int32Vector,
    tflite.SparseIndexVector.Uint16Vector: tflite.Uint16Vector,
    tflite.SparseIndexVector.Uint8Vector: tflite.Uint8Vector,
}


def densify(
    raw: np.ndarray,
    dtype: np.dtype,
    shape: tuple[int, ...],
    sparsity: Any,
    fail: Callable[[str], ModelFormatError],
) -> np.ndarray:
    """The dense array of ``shape`` and ``dtype`` for the stored bytes ``raw`` and a ``SparsityParameters`` table.

    Raises ``fail(reason)`` when the description does not fit the shape or the bytes.
    """
    if raw.size % dtype.itemsize:
        raise fail(f"its buffer has {raw.size} bytes, no multiple of {dtype.itemsize}")
    values = np.frombuffer(raw.tobytes(), dtype)
    order = _ints(sparsity, "TraversalOrder")
    block_map = _ints(sparsity, "BlockMap")
    levels = len(shape) + len(block_map)
    if sorted(order) != list(range(levels)) or sparsity.DimMetadataLength() != levels:
        raise fail("its sparsity does not describe every dimension once")
    if any(not 0 <= dim < len(shape) for dim in block_map):
        raise fail("its sparsity has a block of a dimension that does not exist")

    dense_count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    positions = np.zeros(1, np.int64)
    coordinates: dict[int, np.ndarray] = {}
    sizes: dict[int, int] = {}
    for level, dim in enumerate(order):
        metadata = sparsity.DimMetadata(level)
        if metadata.Format() == tflite.DimensionType.DENSE:
            size = metadata.DenseSize()
            if size < 0 or len(positions) * size > dense_count:
                raise fail(f"level {level} of its sparsity has {size} entries, too many for shape {list(shape)}")
            parent = np.repeat(np.arange(len(positions)), size)
            index = np.tile(np.arange(size, dtype=np.int64), len(positions))
            positions = positions[parent] * size + index
        else:
            segments = _index_vector(metadata, "ArraySegments", level, fail)
            indices = _index_vector(metadata, "ArrayIndices", level, fail)
            size = int(indices.max()) + 1 if indices.size else 0
            steps = np.diff(segments)
            if (
                not segments.size
                or (positions.size and positions.max() + 1 >= segments.size)
                or segments[0] < 0
                or segments[-1] > indices.size
                or np.any(steps < 0)
                or np.any(indices < 0)
                or indices.size > dense_count
            ):
                raise fail(f"level {level} of its sparsity has segments that do not fit its indices")
            counts = steps[positions]
            parent = np.repeat(np.arange(len(positions)), counts)
            starts = np.cumsum(counts) - counts
            positions = segments[positions][parent] + np.arange(parent.size) - starts[parent]
            index = indices[positions]
        coordinates = {known: values_[parent] for known, values_ in coordinates.items()}
        coordinates[dim] = index
        sizes[dim] = size
    if positions.size and positions.max() >= values.size:
        raise fail(f"its sparsity needs {int(positions.max()) + 1} values, its buffer holds {values.size}")

    place = []
    for dim, extent in enumerate(shape):
        where = coordinates[dim]
        for block, blocked in enumerate(block_map):
            if blocked == dim:
                where = where * sizes[len(shape) + block] + coordinates[len(shape) + block]
        if where.size and where.max() >= extent:
            raise fail(f"its sparsity has index {int(where.max())} in dimension {dim} of size {extent}")
        place.append(where)
    dense = np.zeros(shape, dtype)
    dense[tuple(place)] = values[positions] if shape else values[:1]
    return dense


def _ints(table: Any, which: str) -> list[int]:
    if not getattr(table, f"{which}Length")():
        return []
    return [int(value) for value in getattr(table, f"{which}AsNumpy")()]


def _index_vector(metadata: Any, which: str, level: int, fail: Callable[[str], ModelFormatError]) -> np.ndarray:
    kind = _INDEX_TABLES.get(getattr(metadata, f"{which}Type")())
    raw = getattr(metadata, which)()
    if kind is None or raw is None:
        raise fail(f"level {level} of its sparsity is sparse but has no {which}")
    table = kind()
    table.Init(raw.Bytes, raw.Pos)
    return np.array(table.ValuesAsNumpy(), np.int64) if table.ValuesLength() else np.zeros(0, np.int64)
