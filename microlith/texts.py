# SPDX-License-Identifier: Apache-2.0
"""Texts that numbers stand for, in the metadata of a graph: the runtime knows numbers only.

``labels/<tensor>`` holds the texts of an input or output, one in a line. Integers of 32 or 64 bits are positions in
this list, -1 for any other text. Of other elements (real numbers, or quantized ones) it names the positions along the
last dimension, as classes name scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .dtypes import DType

PREFIX = "labels/"


def set_labels(metadata: dict[str, str], name: str, texts: Sequence[str]) -> None:
    """Notes the texts of a tensor, with spaces in place of line feeds."""
    if texts:
        # A C string ends at its first NUL.
        metadata[PREFIX + name] = "\n".join(text.replace("\n", " ").replace("\0", " ") for text in texts)


def labels_in(metadata: Mapping[str, str]) -> dict[str, list[str]]:
    """The texts of all tensors that have some, by name."""
    return {key.removeprefix(PREFIX): text.split("\n") for key, text in metadata.items() if key.startswith(PREFIX)}


def positions_of(array: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """s64: the position of each text of an array, -1 for one that is not there."""
    places = {label: index for index, label in reversed(list(enumerate(labels)))}
    found = [places.get(str(item), -1) for item in array.reshape(-1).tolist()]
    return np.asarray(found, np.int64).reshape(array.shape)


def texts_of(positions: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """The texts at some positions; behind and in front of the list a text that is not in it."""
    other = "?"
    while other in labels:
        other += "?"
    items = [labels[item] if 0 <= item < len(labels) else other for item in positions.reshape(-1).tolist()]
    return np.array(items, object).reshape(positions.shape)


def are_positions(dtype: DType) -> bool:
    """Whether elements of this type are positions in the list."""
    return dtype.is_integer and dtype.size >= 4
