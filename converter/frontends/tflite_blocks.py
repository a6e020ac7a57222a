# SPDX-License-Identifier: Apache-2.0
"""Weights with a scale for each block of their last dimension, as exporters of language models write them.

The layers that use them compute with the real numbers that they stand for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flatbuffers import number_types, table

from .tflite_verify import BLOCKWISE


@dataclass(frozen=True)
class Blocks:
    """Indices of the tensors that hold scales and zero points (-1: none), and how many elements a block has."""

    scales: int
    zero_points: int
    size: int


def blocks_of(quantization: Any) -> Blocks | None:
    """The blocks of a table QuantizationParameters, which the package ``tflite`` does not know; None without."""
    if quantization is None or quantization.DetailsType() != BLOCKWISE:
        return None
    place = quantization._tab.Offset(14)
    if not place:
        return None
    details = table.Table(bytearray(), 0)
    quantization._tab.Union(details, place)

    def field(slot: int, default: int) -> int:
        at = details.Offset(slot)
        return int(details.Get(number_types.Int32Flags, at + details.Pos)) if at else default

    return Blocks(field(4, 0), field(6, 0), field(8, 0))


def real_weights(
    data: np.ndarray, size: int, scales: np.ndarray | None, zero_points: np.ndarray | None
) -> np.ndarray | None:
    """float32 [..., n * size]: (data - zero point) * scale, each for ``size`` neighbours; None when they do not fit.

    ``scales``, and ``zero_points`` where there are any, are [..., n], in any of the types that the file allows.
    """
    if size < 1 or data.ndim < 1 or data.shape[-1] % size or scales is None or scales.dtype.kind != "f":
        return None
    blocks = (*data.shape[:-1], data.shape[-1] // size)
    if scales.size != int(np.prod(blocks)) or (zero_points is not None and zero_points.size not in (1, scales.size)):
        return None
    apart = data.reshape(*blocks, size).astype(np.float32)
    if zero_points is not None:
        apart -= np.broadcast_to(zero_points.reshape(-1), (scales.size,)).reshape(*blocks, 1).astype(np.float32)
    return np.asarray(apart * scales.reshape(*blocks, 1).astype(np.float32)).reshape(data.shape)
