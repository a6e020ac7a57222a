"""TFLite's operators that move or reshape data."""

from __future__ import annotations

from collections.abc import Mapping

from ...ir import Value
from .tflite_graph import Reject, Row, TfliteNode


def reshape(node: TfliteNode) -> Value:
    x = node.value(0)
    if node.has(1) and node.value(1).is_constant:
        shape = node.ints(1, "the new shape")
    elif not node.has(1):
        options = node.options("ReshapeOptions")
        shape = [int(dim) for dim in options.NewShapeAsNumpy()] if options.NewShapeLength() else []
    else:
        raise Reject("the new shape is computed at run time")
    count = x.type.count
    if shape == [0] and count == 1:
        shape = []  # how old converters wrote a scalar
    known = 1
    for dim in shape:
        known *= dim if dim != -1 else 1
    if -1 in shape:
        if shape.count(-1) > 1 or known <= 0 or count % known:
            raise Reject(f"{count} elements do not fit shape {shape}")
        shape = [count // known if dim == -1 else dim for dim in shape]
    elif known != count or min(shape, default=0) < 0:
        raise Reject(f"{count} elements do not fit shape {shape}")
    return node.add("reshape", [x], {"shape": tuple(shape)}, quant=x.quant)


ROWS: Mapping[str, Row] = {
    "RESHAPE": reshape,
}
