# SPDX-License-Identifier: Apache-2.0
"""Which texts the inputs of an ONNX model can hold: those that it compares them with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx
from onnx import TensorProto, numpy_helper

TEXT_INPUTS: Mapping[str, tuple[int, ...] | None] = {
    "ArrayFeatureExtractor": (0,),
    "Cast": (0,),
    "Compress": (0,),
    "Concat": None,
    "Expand": (0,),
    "Flatten": (0,),
    "Gather": (0,),
    "GatherElements": (0,),
    "GatherND": (0,),
    "Identity": (0,),
    "Reshape": (0,),
    "Shape": (0,),
    "Size": (0,),
    "Slice": (0,),
    "Split": (0,),
    "Squeeze": (0,),
    "Tile": (0,),
    "Transpose": (0,),
    "Unsqueeze": (0,),
    "Where": (1, 2),
}
"""Operators that move elements of any kind: their inputs that may be texts, None for all."""

COUNTS = ("Shape", "Size")
"""Those of them whose results are numbers."""


def texts_of(tensor: TensorProto) -> list[str]:
    """The elements of a tensor of texts."""
    return [text_of(item) for item in numpy_helper.to_array(tensor).reshape(-1).tolist()]


def text_of(item: bytes | str) -> str:
    return item.decode("utf-8", "replace") if isinstance(item, bytes) else item


def words_of_inputs(graph: onnx.GraphProto, nodes: Iterable[onnx.NodeProto]) -> dict[str, list[str]]:
    """The texts that each input of texts is compared with, in the order in which they come; inputs whose values come
    together share them."""
    names = [info.name for info in graph.input if info.type.tensor_type.elem_type == TensorProto.STRING]
    if not names:
        return {}
    leaders: dict[str, str] = {}
    words: dict[str, list[str]] = {}

    def leader(name: str) -> str:
        while name in leaders:
            name = leaders[name]
        return name

    def join(members: Iterable[str]) -> None:
        first, *others = [leader(name) for name in members if name] or [""]
        for other in others:
            if (other := leader(other)) != leader(first):
                leaders[other] = leader(first)
                words.setdefault(leader(first), []).extend(words.pop(other, []))

    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.STRING:
            words[tensor.name] = texts_of(tensor)
    for node in nodes:
        places = TEXT_INPUTS.get(node.op_type, (0, 1) if node.op_type == "Equal" else ())
        moved = list(node.input) if places is None else [node.input[i] for i in places if i < len(node.input)]
        if node.op_type in TEXT_INPUTS and node.op_type not in COUNTS:
            moved += node.output
        join(moved)
        for attribute in node.attribute:
            if attribute.name in ("cats_strings", "keys_strings"):
                found = [text_of(item) for item in attribute.strings]
            elif attribute.name in ("keys_tensor", "value") and attribute.t.data_type == TensorProto.STRING:
                found = texts_of(attribute.t)
            elif attribute.name == "value_strings":
                found = [text_of(item) for item in attribute.strings]
            else:
                continue
            place = node.output[0] if node.op_type == "Constant" else node.input[0]
            words.setdefault(leader(place), []).extend(found)
    return {name: list(dict.fromkeys(words.get(leader(name), []))) for name in names}
