"""ONNX constants, and the reasons why some well-known operators cannot be converted."""

from __future__ import annotations

import numpy as np

from ...ir import Value
from .onnx_graph import NARROW, Builder, OnnxNode, Reject, Row


def constant(g: Builder, node: OnnxNode) -> Value:
    """Constant in all its forms but sparse tensors and strings."""
    if (array := node.tensor("value")) is not None:
        value = g.computed(array)
        g.stored.add(id(value))
        if (number := node.tensor_type("value")) in NARROW:
            g.narrow[id(value)] = number
        return value
    names = node.attribute_names()
    if "value_int" in names:
        return g.computed(np.asarray(node.integer("value_int", 0), np.int64))
    if "value_float" in names:
        return g.computed(np.asarray(node.real("value_float", 0.0), np.float32))
    if (ints := node.integers("value_ints")) is not None:
        return g.computed(np.asarray(ints, np.int64))
    if (floats := node.reals("value_floats")) is not None:
        return g.computed(np.asarray(floats, np.float32))
    raise Reject(f"a constant of the form {', '.join(names) or 'none'} is not supported")


RANDOM = ("its result is random", "draw the numbers outside and make them an input")
TEXT = ("text is not supported", "do it before inference and feed numbers")

REASONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"), RANDOM),
    **dict.fromkeys(("RandomUniform", "RandomUniformLike"), RANDOM),
    **dict.fromkeys(("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"), TEXT),
    "ImageDecoder": ("it decodes files (JPEG, PNG, ...)", "decode before inference and feed pixels"),
    "MelWeightMatrix": ("its inputs are computed at run time; they must be constant", "fix them in the model"),
}
"""Why operators cannot be converted, and what to do about it."""

ROWS: dict[str, Row] = {"Constant": constant}
