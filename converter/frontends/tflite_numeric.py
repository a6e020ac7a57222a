"""TFLite's running sums, bitwise logic and normalization over channels."""

from __future__ import annotations

from collections.abc import Mapping

from microlith.dtypes import DType
from microlith.ir import Value

from .tflite_graph import Row, TfliteNode, axis_of, require


def cumsum(node: TfliteNode) -> Value:
    """CUMSUM along a constant axis."""
    options, x = node.options("CumsumOptions"), node.value(0)
    require(x.quant is None, f"quantized {x.dtype.name} is not supported")
    (axis,) = node.ints(1, "the axis")
    attrs = {"exclusive": int(options.Exclusive()), "reverse": int(options.Reverse())}
    return node.add("cumsum", [x], {"axis": axis_of(axis, len(x.shape)), **attrs})


def _bits(op: str) -> Row:
    def row(node: TfliteNode) -> Value:
        a, b = node.value(0), node.value(1)
        require(a.quant is None and b.quant is None, "quantized tensors are not supported")
        return node.add(op, [a, b])

    return row


def local_response_normalization(node: TfliteNode) -> Value:
    """LOCAL_RESPONSE_NORMALIZATION."""
    options, x = node.options("LocalResponseNormalizationOptions"), node.value(0)
    require(x.dtype is DType.f32, f"{x.dtype.name} is not supported")
    radius = options.Radius()
    require(radius >= 0, f"radius {radius} is negative")
    attrs = {
        "before": radius,
        "after": radius,
        "alpha": options.Alpha(),
        "beta": options.Beta(),
        "bias": options.Bias(),
    }
    return node.add("lrn", [x], attrs)


ROWS: Mapping[str, Row] = {
    "BITWISE_XOR": _bits("bitwise_xor"),
    "CUMSUM": cumsum,
    "LOCAL_RESPONSE_NORMALIZATION": local_response_normalization,
    "RIGHT_SHIFT": _bits("bit_shift_right"),
}
