# SPDX-License-Identifier: Apache-2.0
"""What the commands say about texts in models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from microlith.texts import are_positions, labels_in

from .console import console

if TYPE_CHECKING:
    from microlith.ir import Graph

SHOWN = 20
"""Texts of one tensor."""


def shown_text(text: str) -> str:
    """A text in one line."""
    return "".join(character if character.isprintable() else " " for character in text)


def print_labels(graph: Graph, shown: int = SHOWN) -> None:
    """The texts that integers of inputs and outputs stand for."""
    inputs = {value.name for value in graph.inputs}
    integers = {value.name for value in (*graph.inputs, *graph.outputs) if are_positions(value.dtype)}
    for name, labels in labels_in(graph.metadata).items():
        if name in inputs:
            what = f"input {name}: integers stand for texts, -1 for any other"
        elif name in integers:
            what = f"output {name}: integers stand for texts"
        else:
            what = f"output {name}: the positions along its last dimension have names"
        texts = "; ".join(f"{index} {shown_text(label)}" for index, label in enumerate(labels[:shown]))
        more = f"; ... ({len(labels)} in all)" if len(labels) > shown else ""
        console.print(escape(f"{what}: {texts}{more}"), highlight=False)
