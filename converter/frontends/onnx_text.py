# SPDX-License-Identifier: Apache-2.0
"""Texts in ONNX models: tensors of integers, which are positions in a list of words.

What a model does with texts is to move them, to compare them, and to look them up; all of this works on the positions.
A text that is in no list has the position -1, which is that of the last row of every table here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import onnx

from ...dtypes import DType
from ...ir import Value
from .onnx_data import dtype_of
from .onnx_graph import Builder, Entry, OnnxNode, Reject, Row, Text, constant
from .onnx_words import COUNTS, TEXT_INPUTS, text_of, texts_of

HINT = "use numbers in place of texts"


def text_constant(tensor: onnx.TensorProto) -> Text:
    """A tensor of texts that stands in the model."""
    shape = tuple(tensor.dims)
    texts = texts_of(tensor)
    words = list(dict.fromkeys(texts))
    places = {word: index for index, word in enumerate(words)}
    positions = np.asarray([places[text] for text in texts], np.int64).reshape(shape)
    return Text(constant(positions, tensor.name), tuple(words))


def _constant_of(node: OnnxNode) -> Text | None:
    """What a node Constant holds, if these are texts."""
    if node.op != "Constant":
        return None
    for attribute in node.proto.attribute:
        if attribute.name == "value" and attribute.t.data_type == onnx.TensorProto.STRING:
            return text_constant(attribute.t)
        if attribute.name in ("value_string", "value_strings"):
            texts = [attribute.s] if attribute.name == "value_string" else list(attribute.strings)
            array = np.asarray([text_of(item) for item in texts], object)
            array = array.reshape(()) if attribute.name == "value_string" else array
            return text_constant(onnx.numpy_helper.from_array(array, node.name))
    return None


def is_about_text(node: OnnxNode) -> bool:
    """Whether a node has texts among its inputs, or is a constant that holds some."""
    return any(isinstance(entry, Text) for entry in node.entries) or _constant_of(node) is not None


def convert(g: Builder, node: OnnxNode, run: Callable[[OnnxNode], Sequence[Entry]]) -> Sequence[Entry]:
    """The outputs of a node that ``is_about_text``; ``run`` converts one on numbers."""
    if (known := _constant_of(node)) is not None:
        return [known]
    if (row := _ROWS.get(node.op)) is not None:
        return row(g, node)
    if node.op not in TEXT_INPUTS:
        raise Reject("its input is text", HINT, certain=True)
    texts = [entry for entry in node.entries if isinstance(entry, Text)]
    allowed = TEXT_INPUTS[node.op]
    if allowed is not None and any(isinstance(e, Text) and i not in allowed for i, e in enumerate(node.entries)):
        raise Reject("its input is text", HINT, certain=True)
    if allowed is None and len(texts) != len(node.entries):
        raise Reject("some of its inputs are texts, others are numbers", HINT, certain=True)
    values, words = unified(g, texts)
    rest = iter(values)
    entries: list[Entry] = [next(rest) if isinstance(entry, Text) else entry for entry in node.entries]
    results = run(OnnxNode(node.proto, entries, node.opset, node.name))
    if node.op in COUNTS:
        return results
    return [Text(result, words) if isinstance(result, Value) else result for result in results]


def unified(g: Builder, texts: Sequence[Text]) -> tuple[list[Value], tuple[str, ...]]:
    """The positions of tensors of texts in one list of words for all of them."""
    if all(text.words == texts[0].words for text in texts):
        return [text.value for text in texts], texts[0].words
    words = tuple(dict.fromkeys(word for text in texts for word in text.words))
    places = {word: index for index, word in enumerate(words)}
    return [looked_up(g, text, [places[word] for word in text.words], -1) for text in texts], words


def looked_up(g: Builder, text: Text, entries: Sequence[object], default: object, dtype: type = np.int64) -> Value:
    """For each text the entry of its word, or the default."""
    table = g.const(np.asarray([*entries, default], dtype), "table")
    return g.add("gather", [table, text.value], {"axis": 0})


def named(g: Builder, positions: Value, texts: Sequence[str]) -> Text:
    """The texts at some positions of a list."""
    return Text(g.cast(positions, DType.s64), tuple(texts))


# Operators that look at texts.


def _cast(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    text = node.entries[0]
    assert isinstance(text, Text)
    to = node.integer("to", 0)
    if to == onnx.TensorProto.STRING:
        return [text]
    dtype = dtype_of(to)
    try:
        numbers = [dtype.numpy.type(float(word)) for word in text.words]
    except (ValueError, OverflowError):
        raise Reject("it reads numbers from texts that are none", HINT, certain=True) from None
    return [looked_up(g, text, numbers, 0, dtype.numpy.type)]


def _equal(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    texts = [entry for entry in node.entries if isinstance(entry, Text)]
    if len(texts) != 2:
        raise Reject("it compares texts with numbers", certain=True)
    values, _ = unified(g, texts)
    return [g.add("equal", values)]


def _one_hot(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    text, categories = node.entries[0], node.texts("cats_strings")
    assert isinstance(text, Text)
    node.ignore("zeros")
    if categories is None:
        raise Reject("its input is text, its categories are numbers", certain=True)
    rows = np.asarray([[word == category for category in categories] for word in text.words], np.float32)
    rows = np.concatenate([rows.reshape(-1, len(categories)), np.zeros((1, len(categories)), np.float32)])
    return [g.add("gather", [g.const(rows, "categories"), text.value], {"axis": 0})]


def _label_encoder(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    text = node.entries[0]
    assert isinstance(text, Text)
    classes = node.texts("classes_strings")
    if classes is not None:
        places = {word: index for index, word in reversed(list(enumerate(classes)))}
        default = node.integer("default_int64", -1)
        return [looked_up(g, text, [places.get(word, default) for word in text.words], default)]
    keys = label_texts(node, "keys")
    if keys is None:
        raise Reject("its input is text, its table is of numbers", certain=True)
    if (values := label_texts(node, "values")) is not None:
        words, numbered = label_words(values, label_default(node))
        pairs, missing = _pairs(keys, numbered[:-1]), numbered[-1]
        return [Text(looked_up(g, text, [pairs.get(word, missing) for word in text.words], missing), tuple(words))]
    numbers, default_number = label_numbers(node)
    table = _pairs(keys, numbers.tolist())
    entries = [table.get(word, default_number) for word in text.words]
    return [looked_up(g, text, entries, default_number, numbers.dtype.type)]


def _category_mapper(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    text = node.entries[0]
    assert isinstance(text, Text)
    node.ignore("default_string")
    pairs = _pairs(node.texts("cats_strings") or [], node.integers("cats_int64s") or [])
    default = node.integer("default_int64", -1)
    return [looked_up(g, text, [pairs.get(word, default) for word in text.words], default)]


def _pairs(keys: Sequence[str], values: Sequence[object]) -> dict[str, object]:
    """A table, of which the last of several values for a key counts."""
    if len(keys) != len(values):
        raise Reject(f"its table has {len(keys)} keys and {len(values)} values")
    return dict(zip(keys, values, strict=True))


_ROWS: dict[str, Callable[[Builder, OnnxNode], Sequence[Entry]]] = {
    "Cast": _cast,
    "CategoryMapper": _category_mapper,
    "Equal": _equal,
    "LabelEncoder": _label_encoder,
    "OneHotEncoder": _one_hot,
}


# The table of a LabelEncoder.


def label_texts(node: OnnxNode, name: str) -> list[str] | None:
    """Its keys or values, if they are texts."""
    if node.tensor_type(f"{name}_tensor") == onnx.TensorProto.STRING:
        return node.text_tensor(f"{name}_tensor")
    return node.texts(f"{name}_strings")


def label_default(node: OnnxNode) -> str:
    """The text for what is not in its table."""
    if node.tensor_type("default_tensor") == onnx.TensorProto.STRING:
        return (node.text_tensor("default_tensor") or [""])[0]
    return node.text("default_string", "_Unused")


def label_words(values: Sequence[str], default: str) -> tuple[list[str], list[int]]:
    """The different texts of a table, the default last; the positions of its values and of the default in them."""
    words = list(dict.fromkeys([*values, default]))
    places = {word: index for index, word in enumerate(words)}
    return words, [places[word] for word in [*values, default]]


def label_numbers(node: OnnxNode) -> tuple[np.ndarray, object]:
    """Its values, if they are numbers, and the number for what is not in its table."""
    values = node.tensor("values_tensor")
    if values is None and (ints := node.integers("values_int64s")) is not None:
        values = np.asarray(ints, np.int64)
    if values is None:
        values = np.asarray(node.reals("values_floats") or [], np.float32)
    given = node.tensor("default_tensor")
    default = {"i": node.integer("default_int64", -1), "f": node.real("default_float", -0.0)}.get(values.dtype.kind, 0)
    node.ignore("default_string")
    return values.reshape(-1), default if given is None else given.reshape(-1)[0]


def _text_from_numbers(g: Builder, node: OnnxNode) -> Sequence[Entry]:
    """CategoryMapper from integers to texts."""
    keys, words = node.integers("cats_int64s") or [], node.texts("cats_strings") or []
    default = node.text("default_string", "_Unused")
    node.ignore("default_int64")
    if len(keys) != len(words) or not keys:
        raise Reject(f"its table has {len(keys)} keys and {len(words)} values")
    return [numbers_to_text(g, node.value(0), np.asarray(keys, np.int64), words, default)]


def numbers_to_text(g: Builder, x: Value, keys: np.ndarray, texts: Sequence[str], default: str) -> Text:
    """The text of each number of a table."""
    words, places = label_words(texts, default)
    y = g.const(np.asarray(places[-1], np.int64))
    for key, place in zip(keys, places, strict=False):
        is_key = g.add("is_nan", [x]) if key != key else g.add("equal", [x, g.const(np.asarray(key, x.dtype.numpy))])
        y = g.add("where", [is_key, g.const(np.asarray(place, np.int64)), y])
    return Text(y, tuple(words))


ROWS: dict[str, Row] = {"CategoryMapper": cast(Row, _text_from_numbers)}
