# SPDX-License-Identifier: Apache-2.0
"""TFLite's operators on complex numbers, as speech and audio models use them: a transform, and what is done with it.

A tensor of complex64 is held as a float32 value with one more dimension at the end, which holds the real and the
imaginary part. Operators that only give it another shape keep that dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_data import expanded, part, reshaped, squeezed
from .tflite_graph import Row, TfliteNode, require


def rfft_2d(node: TfliteNode) -> Value:
    """RFFT2D: over the last two dimensions, of which the file gives the lengths; the last one keeps half the bins."""
    x = node.value(0)
    require(x.dtype is DType.f32 and len(x.shape) >= 2, f"{x.type} is not supported")
    lengths = node.ints(1, "the lengths of the transform")
    require(len(lengths) == 2 and min(lengths) >= 1, f"the lengths of the transform are {lengths}")
    rank = len(x.shape)
    numbers = node.reshape(x, (*x.type.static_shape, 1))
    # LiteRT transforms what lies within the lengths, and takes what lies outside of the input as zeros.
    y = node.add("dft", [numbers], {"axis": rank - 1, "length": lengths[1], "onesided": 1})
    if lengths[0] == 1 and x.shape[-2] == 1:
        return y
    return node.add("dft", [y], {"axis": rank - 2, "length": lengths[0]})


def _component(index: int) -> Row:
    """The real (0) or imaginary (1) part."""

    def row(node: TfliteNode) -> Value:
        x = node.complex_value(0)
        shape = x.type.static_shape
        return node.reshape(part(node, x, len(shape) - 1, index, 1), shape[:-1])

    return row


def complex_abs(node: TfliteNode) -> Value:
    """COMPLEX_ABS."""
    x = node.complex_value(0)
    rank = len(x.shape)
    power = node.add("reduce_sum", [node.add("square", [x])], {"axes": 1 << (rank - 1), "keep_dims": 0})
    return node.add("sqrt", [power])


def _reshaped(sizes: Callable[[TfliteNode, Sequence[int]], Sequence[int]]) -> Row:
    def row(node: TfliteNode) -> Value:
        x = node.complex_value(0)
        return node.reshape(x, (*sizes(node, x.type.static_shape[:-1]), 2))

    return row


ROWS: Mapping[str, Row] = {
    "COMPLEX_ABS": complex_abs,
    "EXPAND_DIMS": _reshaped(expanded),
    "IMAG": _component(1),
    "REAL": _component(0),
    "RESHAPE": _reshaped(reshaped),
    "RFFT2D": rfft_2d,
    "SQUEEZE": _reshaped(squeezed),
}
"""What takes or gives complex numbers."""
