# SPDX-License-Identifier: Apache-2.0
"""Texts that numbers stand for, in the metadata of a graph: the runtime knows numbers only.

``labels/<tensor>`` holds the texts of an input or output, one in a line. Integers of 32 or 64 bits are positions in
this list, -1 for any other text. Of other elements (real numbers, or quantized ones) it names the positions along the
last dimension, as classes name scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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


def are_positions(dtype: DType) -> bool:
    """Whether elements of this type are positions in the list."""
    return dtype.is_integer and dtype.size >= 4
