"""Rung 1 of the ladder: the NumPy reference of our ops against the node vectors of the ONNX standard.

Only operators that map to one op of ours are here, with axes and layouts adapted; the whole suite runs through the
importer elsewhere. An adapter calls ``pytest.skip`` with the reason where one vector goes beyond our op.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from microlith import ops
from microlith.dtypes import DType
from microlith.numerics import FLOAT_EVEN
from microlith.ops.reduce import mask_of

onnx = pytest.importorskip("onnx")
node_cases = pytest.importorskip("onnx.backend.test.case.node")

Arrays = Sequence[np.ndarray]
Attrs = Mapping[str, Any]


def run(op: str, inputs: Sequence[np.ndarray | None], attrs: Attrs) -> np.ndarray:
    opdef = ops.get(op)
    return opdef.reference(inputs, opdef.complete_attrs(attrs))[0]


def nhwc(x: np.ndarray) -> np.ndarray:
    if x.ndim != 4:
        pytest.skip("not two-dimensional")
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))


def nchw(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def unary(op: str, **defaults: float) -> Callable[[Arrays, Attrs], np.ndarray]:
    """Attributes of the same name are passed on."""

    def adapt(inputs: Arrays, attrs: Attrs) -> np.ndarray:
        return run(op, [inputs[0]], {name: attrs.get(name, value) for name, value in defaults.items()})

    return adapt


def binary(op: str) -> Callable[[Arrays, Attrs], np.ndarray]:
    def adapt(inputs: Arrays, attrs: Attrs) -> np.ndarray:
        if len(inputs) != 2:
            pytest.skip("not two operands")
        if inputs[0].dtype != inputs[1].dtype:
            pytest.skip("operands of two types")
        if inputs[0].dtype in (np.int8, np.int16) and op in ("add", "sub", "mul", "div"):
            pytest.skip("narrow integers are quantized numbers here")
        return run(op, inputs, {})

    return adapt


def modulo(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    if attrs.get("fmod"):
        pytest.skip("the remainder has the sign of the dividend")
    return binary("mod")(inputs, attrs)


def gelu(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    return run("gelu", inputs, {"alpha": float(attrs.get("approximate", b"none") == b"tanh")})


def clip(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    if inputs[0].dtype != np.float32 or any(bound.size != 1 for bound in inputs[1:]):
        pytest.skip("not float, or a bound is absent")
    bounds = [float(bound) for bound in inputs[1:]]
    return run("clip", inputs[:1], dict(zip(("alpha", "beta"), bounds, strict=False)))


def softmax(op: str) -> Callable[[Arrays, Attrs], np.ndarray]:
    def adapt(inputs: Arrays, attrs: Attrs) -> np.ndarray:
        return run(op, inputs, {"axis": attrs.get("axis", -1) % inputs[0].ndim})

    return adapt


def reduction(op: str) -> Callable[[Arrays, Attrs], np.ndarray]:
    def adapt(inputs: Arrays, attrs: Attrs) -> np.ndarray:
        x = inputs[0]
        if 0 in x.shape:
            pytest.skip("an empty tensor")
        axes = list(inputs[1]) if len(inputs) > 1 else list(attrs.get("axes", []))
        if not axes and attrs.get("noop_with_empty_axes"):
            pytest.skip("does nothing")
        axes = axes or list(range(x.ndim))
        return run(op, [x], {"axes": mask_of([int(a) for a in axes], x.ndim), "keep_dims": attrs.get("keepdims", 1)})

    return adapt


def position(op: str) -> Callable[[Arrays, Attrs], np.ndarray]:
    def adapt(inputs: Arrays, attrs: Attrs) -> np.ndarray:
        named = {"keep_dims": attrs.get("keepdims", 1), "select_last": attrs.get("select_last_index", 0)}
        return run(op, inputs, {"axis": attrs.get("axis", 0) % inputs[0].ndim, **named})

    return adapt


def matmul(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    if any(x.ndim < 2 for x in inputs):
        pytest.skip("a vector")
    return run("matmul", inputs, {})


def gemm(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    if attrs.get("alpha", 1.0) != 1.0 or attrs.get("beta", 1.0) != 1.0:
        pytest.skip("scaled")
    if len(inputs) == 3 and not (inputs[2].ndim == 2 and inputs[2].shape[0] == 1):
        pytest.skip("C is not a row")
    bias = inputs[2].reshape(-1) if len(inputs) == 3 else None
    flags = {"transpose_a": attrs.get("transA", 0), "transpose_b": attrs.get("transB", 0)}
    return run("matmul", [inputs[0], inputs[1], bias], flags)


def window(attrs: Attrs, spatial: tuple[int, int], kernel: Sequence[int]) -> dict[str, int]:
    """Our window attributes; auto_pad is resolved here as the standard says."""
    strides, dilations = attrs.get("strides", [1, 1]), attrs.get("dilations", [1, 1])
    pads = list(attrs.get("pads", [0, 0, 0, 0]))
    mode = attrs.get("auto_pad", b"NOTSET")
    if mode in (b"SAME_UPPER", b"SAME_LOWER"):
        for axis in (0, 1):
            reach = (kernel[axis] - 1) * dilations[axis] + 1
            total = max(0, (-(-spatial[axis] // strides[axis]) - 1) * strides[axis] + reach - spatial[axis])
            small, large = total // 2, total - total // 2
            pads[axis], pads[axis + 2] = (small, large) if mode == b"SAME_UPPER" else (large, small)
    names = ("stride_h", "stride_w", "dilation_h", "dilation_w", "pad_top", "pad_left", "pad_bottom", "pad_right")
    return dict(zip(names, (*strides, *dilations, *pads), strict=True))


def conv(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    x, weights = nhwc(inputs[0]), np.ascontiguousarray(inputs[1].transpose(0, 2, 3, 1))
    attributes = {**window(attrs, x.shape[1:3], weights.shape[1:3]), "groups": attrs.get("group", 1)}
    return nchw(run("conv2d", [x, weights, inputs[2] if len(inputs) > 2 else None], attributes))


def qlinear_conv(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = inputs[:8]
    shift = 128 if x.dtype == np.uint8 else 0
    if w.dtype != x.dtype or w_zero.size != 1 or len(inputs) > 8:
        pytest.skip("another form")
    scale = np.broadcast_to((x_scale * w_scale / y_scale).astype(np.float32), (w.shape[0],))
    narrow = (nhwc(x).astype(np.int32) - shift).astype(np.int8), (w.astype(np.int32) - shift).astype(np.int8)
    attributes = {
        **window(attrs, x.shape[2:], w.shape[2:]),
        "groups": attrs.get("group", 1),
        "x_zero": int(x_zero) - shift,
        "w_zero": int(w_zero.reshape(-1)[0]) - shift,
        "y_zero": int(y_zero) - shift,
        "rounding": FLOAT_EVEN,
    }
    y = run("conv2d", [narrow[0], np.ascontiguousarray(narrow[1].transpose(0, 2, 3, 1)), None, scale], attributes)
    return nchw((y.astype(np.int32) + shift).astype(x.dtype))


def pool(op: str) -> Callable[[Arrays, Attrs], np.ndarray]:
    def adapt(inputs: Arrays, attrs: Attrs) -> np.ndarray:
        x, kernel = nhwc(inputs[0]), attrs["kernel_shape"]
        if attrs.get("storage_order") or x.dtype != np.float32:
            pytest.skip("column major, or not float")
        attributes = {"kernel_h": kernel[0], "kernel_w": kernel[1], **window(attrs, x.shape[1:3], kernel)}
        if op == "avg_pool2d":
            attributes["count_include_pad"] = attrs.get("count_include_pad", 0)
        if attrs.get("ceil_mode"):
            for axis, (before, after, name) in enumerate(
                (("pad_top", "pad_bottom", "extra_bottom"), ("pad_left", "pad_right", "extra_right"))
            ):
                stride, dilation = (
                    attributes[("stride_h", "stride_w")[axis]],
                    attributes[("dilation_h", "dilation_w")[axis]],
                )
                slack = x.shape[axis + 1] + attributes[before] + attributes[after] - (kernel[axis] - 1) * dilation - 1
                extra = -slack % stride
                starts_outside = (slack + extra) // stride * stride >= x.shape[axis + 1] + attributes[before]
                attributes[name] = 0 if starts_outside else extra
        return nchw(run(op, [x], attributes))

    return adapt


def global_pool(op: str) -> Callable[[Arrays, Attrs], np.ndarray]:
    return lambda inputs, attrs: nchw(run(op, [nhwc(inputs[0])], {}))


def reshape(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    if attrs.get("allowzero"):
        pytest.skip("a zero is a size")
    return run("reshape", inputs[:1], {"shape": tuple(int(dim) for dim in inputs[1])})


def transpose(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    return run("transpose", inputs, {"perm": tuple(attrs.get("perm", range(inputs[0].ndim)[::-1]))})


def slicing(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    x, starts, ends = inputs[:3]
    axes = inputs[3] if len(inputs) > 3 else np.arange(len(starts))
    steps = inputs[4] if len(inputs) > 4 else np.ones(len(starts), np.int64)
    start, size, step = [0] * x.ndim, list(x.shape), [1] * x.ndim
    for axis, first, last, stride in zip(axes, starts, ends, steps, strict=True):
        kept = range(*slice(int(first), int(last), int(stride)).indices(x.shape[axis]))
        start[axis], size[axis], step[axis] = kept.start if kept else 0, len(kept), kept.step
    return run("slice", [x], {"start": start, "size": size, "step": step})


def pad(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    modes = {b"constant": 0, b"reflect": 1, b"edge": 2}
    if attrs.get("mode", b"constant") not in modes or len(inputs) > 3 or np.any(inputs[1] < 0):
        pytest.skip("wraps, names axes or crops")
    half = len(inputs[1]) // 2
    before, after = (tuple(int(width) for width in part) for part in (inputs[1][:half], inputs[1][half:]))
    value = inputs[2] if len(inputs) > 2 else None
    return run(
        "pad", [inputs[0], value], {"before": before, "after": after, "mode": modes[attrs.get("mode", b"constant")]}
    )


def concat(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    return run("concat", inputs, {"axis": attrs["axis"] % inputs[0].ndim})


def gather(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    return run("gather", inputs, {"axis": attrs.get("axis", 0) % inputs[0].ndim})


def expand(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    return run("expand", inputs[:1], {"shape": np.broadcast_shapes(inputs[0].shape, tuple(int(d) for d in inputs[1]))})


def quantize(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    if len(inputs) < 3 or inputs[1].size != 1 or inputs[2].dtype not in (np.int8, np.uint8, np.int16):
        pytest.skip("per channel, or another type")
    to = DType.from_numpy(inputs[2].dtype).value
    scale, zero = float(inputs[1].reshape(-1)[0]), int(inputs[2].reshape(-1)[0])
    return run("quantize", inputs[:1], {"to": to, "scale": scale, "zero": zero, "rounding": FLOAT_EVEN})


def dequantize(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    x, scale = inputs[:2]
    if x.dtype not in (np.int8, np.uint8, np.int16, np.int32) or attrs.get("block_size") or scale.dtype != np.float32:
        pytest.skip("in blocks, or another type")
    zeros = inputs[2].astype(np.int32) if len(inputs) > 2 else np.zeros(scale.shape, np.int32)
    if scale.size == 1:
        return run("dequantize", [x], {"scale": float(scale.reshape(-1)[0]), "zero": int(zeros.reshape(-1)[0])})
    return run("dequantize", [x, scale, zeros], {"axis": attrs.get("axis", 1) % x.ndim})


def cast(inputs: Arrays, attrs: Attrs) -> np.ndarray:
    target = onnx.helper.tensor_dtype_to_np_dtype(attrs["to"])
    if target not in [row.numpy for row in DType] or inputs[0].dtype not in [row.numpy for row in DType]:
        pytest.skip("another type")
    return run("cast", inputs, {"to": DType.from_numpy(target).value})


ADAPTERS: dict[str, Callable[[Arrays, Attrs], np.ndarray]] = {
    **{
        name: unary(name.lower())
        for name in ["Relu", "Sigmoid", "Tanh", "Exp", "Log", "Sqrt", "Neg", "Abs", "Floor", "Ceil", "Round"]
    },
    **{name: unary(name.lower()) for name in ["Sin", "Cos", "Erf", "Softplus", "Reciprocal", "Sign"]},
    "HardSwish": unary("hard_swish"),
    "HardSigmoid": unary("hard_sigmoid", alpha=0.2, beta=0.5),
    "LeakyRelu": unary("leaky_relu", alpha=0.01),
    "Elu": unary("elu", alpha=1.0),
    "Not": unary("logical_not"),
    "Gelu": gelu,
    "Clip": clip,
    **{
        name: binary(name.lower())
        for name in ["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "PRelu", "Equal", "Less", "Greater"]
    },
    "LessOrEqual": binary("less_equal"),
    "GreaterOrEqual": binary("greater_equal"),
    "And": binary("logical_and"),
    "Or": binary("logical_or"),
    "Xor": binary("logical_xor"),
    "Mod": modulo,
    "Where": lambda inputs, attrs: run("where", inputs, {}),
    "Softmax": softmax("softmax"),
    "LogSoftmax": softmax("log_softmax"),
    **{f"Reduce{name}": reduction(f"reduce_{name.lower()}") for name in ["Mean", "Sum", "Max", "Min", "Prod"]},
    "ArgMax": position("argmax"),
    "ArgMin": position("argmin"),
    "MatMul": matmul,
    "Gemm": gemm,
    "Conv": conv,
    "QLinearConv": qlinear_conv,
    "MaxPool": pool("max_pool2d"),
    "AveragePool": pool("avg_pool2d"),
    "GlobalMaxPool": global_pool("max_pool2d"),
    "GlobalAveragePool": global_pool("avg_pool2d"),
    "Reshape": reshape,
    "Transpose": transpose,
    "Slice": slicing,
    "Pad": pad,
    "Concat": concat,
    "Gather": gather,
    "Expand": expand,
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "Cast": cast,
}

DIGITS = {"test_averagepool_2d_ceil_last_window_starts_on_pad": 1e-4}
"""Vectors that are stated to a few digits only, and their precision."""


def collect() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = node_cases.collect_testcases()
    cases = [
        case
        for case in cases
        if case.model is not None and len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in ADAPTERS
    ]
    return [pytest.param(case, id=case.name) for case in sorted(cases, key=lambda case: case.name)]


def plain(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.dtype in [row.numpy for row in DType]


@pytest.mark.parametrize("case", collect())
def test_reference_equals_the_standard(case: Any) -> None:
    node = case.model.graph.node[0]
    if case.model.graph.initializer or "" in node.input:
        pytest.skip("an input is absent or a constant of the graph")
    attrs = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    for inputs, outputs in case.data_sets:
        arrays = [np.asarray(array) for array in inputs]
        if not all(plain(array) for array in (*arrays, np.asarray(outputs[0]))):
            pytest.skip("an element type that we do not have")
        actual = ADAPTERS[node.op_type](arrays, attrs)
        expected = np.asarray(outputs[0])
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        if expected.dtype.kind == "f":
            relative = 2e-3 if expected.dtype == np.float16 else 1e-5
            np.testing.assert_allclose(actual, expected, rtol=relative, atol=DIGITS.get(case.name, 1e-6))
        else:
            np.testing.assert_array_equal(actual, expected)
