# SPDX-License-Identifier: Apache-2.0
"""Texts that positions stand for, in the metadata of a graph: the runtime knows numbers only.

A model that takes or gives texts has integers there instead. Those of tensor ``t`` are positions in a list of texts, of
which number ``i`` is the value of ``labels/t/i``. For a tensor of real numbers the list names the positions along its
last dimension, as classes name scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

PREFIX = "labels/"


def set_labels(metadata: dict[str, str], name: str, texts: Sequence[str]) -> None:
    """Notes the texts of a tensor."""
    # A C string ends at its first NUL.
    metadata.update({f"{PREFIX}{name}/{index}": text.replace("\0", " ") for index, text in enumerate(texts)})


def labels_in(metadata: Mapping[str, str]) -> dict[str, list[str]]:
    """The texts of all tensors that have some, by name."""
    found: dict[str, dict[int, str]] = {}
    for key, text in metadata.items():
        name, _, index = key.removeprefix(PREFIX).rpartition("/")
        if key.startswith(PREFIX) and index.isdecimal():
            found.setdefault(name, {})[int(index)] = text
    return {
        name: [texts[index] for index in range(len(texts))]
        for name, texts in found.items()
        if sorted(texts) == list(range(len(texts)))
    }
