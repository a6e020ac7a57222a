"""Every float and data operator of the TFLite importer against LiteRT: one small model each, converted and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from litert_rung import compare
from tflite_builder import TfliteBuilder

Case = Callable[[TfliteBuilder, np.random.Generator], None]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def unary(name: str, table: str | None = None, positive: bool = False, **options: Any) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        x = b.input((2, 3, 5))
        if positive:
            squared = b.tensor((2, 3, 5))
            b.operator("SQUARE", [x], [squared])
            shifted = b.tensor((2, 3, 5))
            b.operator("ADD", [squared, b.constant(np.array([0.1], np.float32))], [shifted], "AddOptions")
            x = shifted
        b.operator(name, [x], [b.output((2, 3, 5))], table, **options)

    return build


for _name in ("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6"):
    CASES[_name.lower()] = unary(_name)
for _name in ("RELU_0_TO_1", "RELU_N1_TO_1", "ROUND", "SIGN", "SIN", "SQUARE", "TANH"):
    CASES[_name.lower()] = unary(_name)
for _name in ("LOG", "SQRT", "RSQRT"):
    CASES[_name.lower()] = unary(_name, positive=True)
CASES["leaky_relu"] = unary("LEAKY_RELU", "LeakyReluOptions", Alpha=0.2)
CASES["softmax"] = unary("SOFTMAX", "SoftmaxOptions", Beta=1.5)
CASES["log_softmax"] = unary("LOG_SOFTMAX", "LogSoftmaxOptions")
CASES["l2_normalization"] = unary("L2_NORMALIZATION", "L2NormOptions")


def binary(
    name: str,
    table: str | None,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    result: str = "float32",
    **options: Any,
) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        out = np.broadcast_shapes(*shapes)
        b.operator(name, [b.input(shapes[0]), b.input(shapes[1])], [b.output(out, result)], table, **options)

    return build


_SHAPES = (((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((1, 3, 1), (2, 1, 4)))
for _index, _shapes in enumerate(_SHAPES):
    for _name, _table in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions"), ("DIV", "DivOptions")):
        CASES[f"{_name.lower()}_{_index}"] = binary(_name, _table, _shapes, FusedActivationFunction=_index)
    for _name in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"):
        CASES[f"{_name.lower()}_{_index}"] = binary(_name, None, _shapes)
    for _name in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        CASES[f"{_name.lower()}_{_index}"] = binary(_name, None, _shapes, "bool")
CASES["floor_div"] = binary("FLOOR_DIV", None, _SHAPES[0])


@case
def power(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x = b.input((3, 4))
    positive = b.tensor((3, 4))
    b.operator("EXP", [x], [positive])
    exponent = b.constant(np.array([2.5, -1.0, 0.0, 0.3], np.float32))
    b.operator("POW", [positive, exponent], [b.output((3, 4))], "PowOptions")


@case
def logic(b: TfliteBuilder, rng: np.random.Generator) -> None:
    p, q = b.input((3, 5), "bool"), b.input((3, 5), "bool")
    both, either = b.tensor((3, 5), "bool"), b.tensor((3, 5), "bool")
    b.operator("LOGICAL_AND", [p, q], [both], "LogicalAndOptions")
    b.operator("LOGICAL_OR", [p, q], [either], "LogicalOrOptions")
    inverse = b.output((3, 5), "bool")
    b.operator("LOGICAL_NOT", [both], [inverse], "LogicalNotOptions")
    b.operator("SELECT_V2", [either, b.input((3, 5)), b.input((5,))], [b.output((3, 5))], "SelectV2Options")


@case
def select_rows(b: TfliteBuilder, rng: np.random.Generator) -> None:
    operands = [b.input((4,), "bool"), b.input((4, 3)), b.input((4, 3))]
    b.operator("SELECT", operands, [b.output((4, 3))], "SelectOptions")


@case
def prelu(b: TfliteBuilder, rng: np.random.Generator) -> None:
    alpha = b.constant(rng.uniform(-0.5, 0.5, (1, 1, 6)).astype(np.float32))
    b.operator("PRELU", [b.input((1, 4, 5, 6)), alpha], [b.output((1, 4, 5, 6))])


@case
def add_n(b: TfliteBuilder, rng: np.random.Generator) -> None:
    b.operator("ADD_N", [b.input((3, 4)) for _ in range(3)], [b.output((3, 4))], "AddNOptions")


def reduction(name: str, axes: tuple[int, ...], keep: bool) -> Case:
    shape = (2, 3, 4, 5)
    picked = {axis % 4 for axis in axes}

    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        out = [1 if axis in picked else dim for axis, dim in enumerate(shape) if keep or axis not in picked]
        y = b.output(out)
        b.operator(name, [b.input(shape), b.constant(ints(*axes))], [y], "ReducerOptions", KeepDims=keep)

    return build


for _name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
    CASES[f"{_name.lower()}_hw"] = reduction(_name, (1, 2), True)
    CASES[f"{_name.lower()}_last"] = reduction(_name, (-1,), False)
    CASES[f"{_name.lower()}_all"] = reduction(_name, (0, 1, 2, 3), False)


@pytest.mark.parametrize("seed", range(12))
def test_float_conv2d(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    b = TfliteBuilder()
    h, w, c, out = (int(v) for v in rng.integers(3, 12, 4))
    kh, kw = (int(v) for v in rng.integers(1, 4, 2))
    stride_h, stride_w = (int(v) for v in rng.integers(1, 3, 2))
    dilation = int(rng.integers(1, 3)) if stride_h == stride_w == 1 else 1
    padding, activation, depthwise = int(rng.integers(2)), int(rng.integers(4)), bool(seed % 2)
    if padding == 1 and ((kh - 1) * dilation >= h or (kw - 1) * dilation >= w):
        padding = 0
    channels = c * int(rng.integers(1, 3)) if depthwise else out
    filters = rng.standard_normal((1, kh, kw, channels) if depthwise else (channels, kh, kw, c)).astype(np.float32)
    bias = b.constant(rng.standard_normal(channels).astype(np.float32))
    sizes = [
        -(-size // stride) if padding == 0 else -(-(size - (kernel - 1) * dilation) // stride)
        for size, kernel, stride in ((h, kh, stride_h), (w, kw, stride_w))
    ]
    operands = [b.input((2, h, w, c)), b.constant(filters), bias]
    options: dict[str, Any] = {"Padding": padding, "StrideH": stride_h, "StrideW": stride_w}
    options |= {"DilationHFactor": dilation, "DilationWFactor": dilation, "FusedActivationFunction": activation}
    y = b.output((2, *sizes, channels))
    if depthwise:
        b.operator(
            "DEPTHWISE_CONV_2D", operands, [y], "DepthwiseConv2DOptions", DepthMultiplier=channels // c, **options
        )
    else:
        b.operator("CONV_2D", operands, [y], "Conv2DOptions", **options)
    compare(b.build(), tmp_path, rng, kinds=(0, 1))


def dense(depth: int, shape: tuple[int, ...], result: tuple[int, ...], keep: bool, with_bias: bool) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        weights = b.constant(rng.standard_normal((result[-1], depth)).astype(np.float32))
        bias = b.constant(rng.standard_normal(result[-1]).astype(np.float32)) if with_bias else -1
        operands = [b.input(shape), weights, bias]
        b.operator("FULLY_CONNECTED", operands, [b.output(result)], "FullyConnectedOptions", KeepNumDims=keep)

    return build


CASES["fully_connected"] = dense(7, (3, 7), (3, 4), False, True)
CASES["fully_connected_flattens"] = dense(12, (2, 3, 4), (2, 5), False, False)
CASES["fully_connected_keeps_dims"] = dense(4, (2, 3, 4), (2, 3, 5), True, True)


def pool(name: str, padding: int) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        out = (1, 4, 3, 5) if padding == 0 else (1, 3, 2, 5)
        options = {"Padding": padding, "StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 2}
        b.operator(name, [b.input((1, 7, 5, 5))], [b.output(out)], "Pool2DOptions", **options)

    return build


for _name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
    CASES[f"{_name.lower()}_same"] = pool(_name, 0)
    CASES[f"{_name.lower()}_valid"] = pool(_name, 1)


def matmul(a: tuple[int, ...], c: tuple[int, ...], out: tuple[int, ...], adj_x: bool, adj_y: bool) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        options = {"AdjX": adj_x, "AdjY": adj_y}
        b.operator("BATCH_MATMUL", [b.input(a), b.input(c)], [b.output(out)], "BatchMatMulOptions", **options)

    return build


CASES["batch_matmul"] = matmul((2, 3, 4), (2, 4, 5), (2, 3, 5), False, False)
CASES["batch_matmul_broadcast"] = matmul((2, 3, 4), (1, 5, 4), (2, 3, 5), False, True)
CASES["batch_matmul_adjoint_x"] = matmul((2, 4, 3), (2, 4, 5), (2, 3, 5), True, False)


@case
def reshape(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x = b.input((2, 6))
    b.operator("RESHAPE", [x, b.constant(ints(3, -1))], [b.output((3, 4))], "ReshapeOptions", NewShape=[3, -1])
    b.operator("RESHAPE", [x], [b.output((12,))], "ReshapeOptions", NewShape=[12])


@case
def squeeze_and_expand(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x = b.input((1, 3, 1, 2))
    b.operator("SQUEEZE", [x], [b.output((3, 1, 2))], "SqueezeOptions", SqueezeDims=[0])
    b.operator("SQUEEZE", [x], [b.output((3, 2))], "SqueezeOptions")
    b.operator("EXPAND_DIMS", [x, b.constant(ints(-1))], [b.output((1, 3, 1, 2, 1))], "ExpandDimsOptions")


@case
def transpose(b: TfliteBuilder, rng: np.random.Generator) -> None:
    operands = [b.input((2, 3, 4, 5)), b.constant(ints(0, 3, 1, 2))]
    b.operator("TRANSPOSE", operands, [b.output((2, 5, 3, 4))], "TransposeOptions")


@case
def concatenation(b: TfliteBuilder, rng: np.random.Generator) -> None:
    operands = [b.input((2, 3, 4)), b.input((2, 1, 4)), b.constant(rng.standard_normal((2, 2, 4)).astype(np.float32))]
    b.operator("CONCATENATION", operands, [b.output((2, 6, 4))], "ConcatenationOptions", Axis=-2)


@case
def pack_and_unpack(b: TfliteBuilder, rng: np.random.Generator) -> None:
    packed = b.output((3, 2, 4))
    b.operator("PACK", [b.input((3, 4)), b.input((3, 4))], [packed], "PackOptions", ValuesCount=2, Axis=1)
    parts = [b.output((2, 4)) for _ in range(3)]
    b.operator("UNPACK", [packed], parts, "UnpackOptions", Num=3, Axis=0)


@case
def split(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x = b.input((2, 6))
    b.operator("SPLIT", [b.constant(ints(1)), x], [b.output((2, 2)) for _ in range(3)], "SplitOptions", NumSplits=3)
    sizes, axis = b.constant(ints(1, -1, 2)), b.constant(ints(-1))
    parts = [b.output((2, size)) for size in (1, 3, 2)]
    b.operator("SPLIT_V", [x, sizes, axis], parts, "SplitVOptions", NumSplits=3)


@case
def slice_of_a_tensor(b: TfliteBuilder, rng: np.random.Generator) -> None:
    operands = [b.input((4, 5, 6)), b.constant(ints(1, 0, 2)), b.constant(ints(2, -1, 3))]
    b.operator("SLICE", operands, [b.output((2, 5, 3))], "SliceOptions")


def strided(begin: list[int], end: list[int], step: list[int], out: tuple[int, ...], **masks: int) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        operands = [b.input((4, 5, 6)), *(b.constant(ints(*values)) for values in (begin, end, step))]
        b.operator("STRIDED_SLICE", operands, [b.output(out)], "StridedSliceOptions", **masks)

    return build


CASES["strided_slice"] = strided([1, 0, -1], [3, 5, -5], [1, 2, -2], (2, 3, 2))
CASES["strided_slice_masks"] = strided([1, 2, 3], [2, 3, 4], [1, 1, -1], (2, 5, 4), BeginMask=1, EndMask=6)
CASES["strided_slice_shrinks"] = strided([-1, 1, 2], [0, 9, 9], [1, 1, 1], (4, 4), ShrinkAxisMask=1)
CASES["strided_slice_ellipsis"] = strided([0, 1], [0, 3], [1, 1], (4, 5, 2), EllipsisMask=1)
CASES["strided_slice_new_axis"] = strided([0, 0, 1], [9, 0, 3], [1, 1, 1], (4, 1, 2, 6), NewAxisMask=2)
CASES["strided_slice_prefix"] = strided([1], [3], [1], (2, 5, 6))
CASES["strided_slice_beyond"] = strided([2, -9, 0], [99, 99, 6], [1, 1, 5], (2, 5, 2))


@case
def reverse(b: TfliteBuilder, rng: np.random.Generator) -> None:
    b.operator("REVERSE_V2", [b.input((2, 3, 4)), b.constant(ints(1))], [b.output((2, 3, 4))], "ReverseV2Options")


@case
def pads(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x = b.input((2, 3, 4))
    widths = b.constant(np.array([[0, 0], [1, 2], [3, 0]], np.int32))
    b.operator("PAD", [x, widths], [b.output((2, 6, 7))], "PadOptions")
    value = b.constant(np.array([-1.5], np.float32))
    b.operator("PADV2", [x, widths, value], [b.output((2, 6, 7))], "PadV2Options")
    mirrored = b.constant(np.array([[0, 0], [1, 2], [2, 3]], np.int32))
    b.operator("MIRROR_PAD", [x, mirrored], [b.output((2, 6, 9))], "MirrorPadOptions", Mode=0)
    b.operator("MIRROR_PAD", [x, mirrored], [b.output((2, 6, 9))], "MirrorPadOptions", Mode=1)


@case
def gathers(b: TfliteBuilder, rng: np.random.Generator) -> None:
    indices = b.constant(np.array([[3, 0], [2, 2]], np.int32))
    b.operator("GATHER", [b.input((2, 4, 3)), indices], [b.output((2, 2, 2, 3))], "GatherOptions", Axis=1)
    table = b.constant(rng.standard_normal((5, 6)).astype(np.float32))
    b.operator("GATHER", [table, b.input((4,), "int32")], [b.output((4, 6))], "GatherOptions")
    b.operator("EMBEDDING_LOOKUP", [b.input((3,), "int32"), table], [b.output((3, 6))])


@case
def repeats(b: TfliteBuilder, rng: np.random.Generator) -> None:
    b.operator("TILE", [b.input((2, 3, 4)), b.constant(ints(2, 1, 3))], [b.output((4, 3, 12))], "TileOptions")
    operands = [b.input((3, 1)), b.constant(ints(2, 3, 4))]
    b.operator("BROADCAST_TO", operands, [b.output((2, 3, 4))], "BroadcastToOptions")


@case
def shape_arithmetic(b: TfliteBuilder, rng: np.random.Generator) -> None:
    """The chain that flattens an image: SHAPE, STRIDED_SLICE, PACK, RESHAPE; all but the last is folded."""
    x = b.input((2, 3, 4))
    shape, batch, target = b.tensor((3,), "int32"), b.tensor((), "int32"), b.tensor((2,), "int32")
    b.operator("SHAPE", [x], [shape], "ShapeOptions", OutType=2)
    bounds = [b.constant(ints(value)) for value in (0, 1, 1)]
    b.operator("STRIDED_SLICE", [shape, *bounds], [batch], "StridedSliceOptions", ShrinkAxisMask=1)
    rest = b.constant(np.array(-1, np.int32))
    b.operator("PACK", [batch, rest], [target], "PackOptions", ValuesCount=2, Axis=0)
    b.operator("RESHAPE", [x, target], [b.output((2, 12))], "ReshapeOptions")


@case
def constants_only(b: TfliteBuilder, rng: np.random.Generator) -> None:
    filled, zeros = b.tensor((2, 3)), b.tensor((2, 3))
    b.operator("FILL", [b.constant(ints(2, 3)), b.constant(np.array(1.25, np.float32))], [filled], "FillOptions")
    x = b.input((2, 3))
    b.operator("ZEROS_LIKE", [x], [zeros], "ZerosLikeOptions")
    total = b.tensor((2, 3))
    b.operator("ADD", [x, filled], [total], "AddOptions")
    b.operator("ADD", [total, zeros], [b.output((2, 3))], "AddOptions")
    b.operator("RANK", [x], [b.output((), "int32")], "RankOptions")


@case
def space_and_depth(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x = b.input((2, 4, 6, 8))
    b.operator("SPACE_TO_DEPTH", [x], [b.output((2, 2, 3, 32))], "SpaceToDepthOptions", BlockSize=2)
    b.operator("DEPTH_TO_SPACE", [x], [b.output((2, 8, 12, 2))], "DepthToSpaceOptions", BlockSize=2)


@case
def space_and_batch(b: TfliteBuilder, rng: np.random.Generator) -> None:
    blocks, pads_ = b.constant(ints(2, 3)), b.constant(np.array([[0, 1], [2, 1]], np.int32))
    apart = b.output((12, 2, 3, 5))
    b.operator("SPACE_TO_BATCH_ND", [b.input((2, 3, 6, 5)), blocks, pads_], [apart], "SpaceToBatchNDOptions")
    b.operator("BATCH_TO_SPACE_ND", [apart, blocks, pads_], [b.output((2, 3, 6, 5))], "BatchToSpaceNDOptions")


def nearest(size: tuple[int, int], **options: bool) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        operands = [b.input((1, 4, 5, 3)), b.constant(ints(*size))]
        b.operator(
            "RESIZE_NEAREST_NEIGHBOR", operands, [b.output((1, *size, 3))], "ResizeNearestNeighborOptions", **options
        )

    return build


CASES["resize_nearest"] = nearest((8, 10))
CASES["resize_nearest_down"] = nearest((3, 2))
CASES["resize_nearest_corners"] = nearest((7, 9), AlignCorners=True)
CASES["resize_nearest_centers"] = nearest((6, 11), HalfPixelCenters=True)


@case
def casts(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x, small = b.input((3, 4)), b.input((3, 4), "int32")
    types = {"int32": 2, "int64": 4, "bool": 6, "float32": 0}
    for name in ("int32", "int64", "bool"):
        b.operator("CAST", [x], [b.output((3, 4), name)], "CastOptions", InDataType=0, OutDataType=types[name])
    b.operator("CAST", [small], [b.output((3, 4))], "CastOptions", InDataType=2, OutDataType=0)


@case
def integers(b: TfliteBuilder, rng: np.random.Generator) -> None:
    p, q = b.input((2, 3), "int32"), b.input((3,), "int32")
    for name, table in (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")):
        b.operator(name, [p, q], [b.output((2, 3), "int32")], table)
    b.operator("MAXIMUM", [p, q], [b.output((2, 3), "int32")], "MaximumMinimumOptions")


@case
def half_precision_weights(b: TfliteBuilder, rng: np.random.Generator) -> None:
    half = b.constant(rng.standard_normal((4, 6)).astype(np.float16))
    weights = b.tensor((4, 6))
    b.operator("DEQUANTIZE", [half], [weights], "DequantizeOptions")
    b.operator("FULLY_CONNECTED", [b.input((2, 6)), weights, -1], [b.output((2, 4))], "FullyConnectedOptions")


@case
def positions(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x = b.input((2, 5, 3))
    for name in ("Max", "Min"):
        operands = [x, b.constant(np.array(-1 if name == "Max" else 1, np.int32))]
        out = b.output((2, 5) if name == "Max" else (2, 3), "int64" if name == "Max" else "int32")
        output_type = {"OutputType": 4 if name == "Max" else 2}
        b.operator(f"ARG_{name.upper()}", operands, [out], f"Arg{name}Options", **output_type)


@case
def gather_tuples(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x = b.input((3, 4, 5))
    pairs = b.constant(np.array([[0, 3], [2, 1]], np.int32))
    b.operator("GATHER_ND", [x, pairs], [b.output((2, 5))], "GatherNdOptions")
    b.operator("GATHER_ND", [x, b.input((2, 3), "int32")], [b.output((2,))], "GatherNdOptions")


@case
def one_hot(b: TfliteBuilder, rng: np.random.Generator) -> None:
    indices, depth = b.input((2, 3), "int32"), b.constant(np.array(4, np.int32))
    on, off = b.constant(np.array(5.0, np.float32)), b.constant(np.array(-1.0, np.float32))
    b.operator("ONE_HOT", [indices, depth, on, off], [b.output((2, 3, 4))], "OneHotOptions", Axis=-1)
    b.operator("ONE_HOT", [indices, depth, on, off], [b.output((4, 2, 3))], "OneHotOptions", Axis=0)


@case
def divisions_of_integers(b: TfliteBuilder, rng: np.random.Generator) -> None:
    shifted = b.tensor((4, 5), "int32")
    five = b.constant(np.array([5, -7, 2, 100, 0], np.int32))
    b.operator("SUB", [b.input((4, 5), "int32"), five], [shifted], "SubOptions")
    divisor = b.constant(np.array([3, -3, 2, -7, 5], np.int32))
    b.operator("FLOOR_DIV", [shifted, divisor], [b.output((4, 5), "int32")], "FloorDivOptions")
    b.operator("FLOOR_MOD", [shifted, divisor], [b.output((4, 5), "int32")], "FloorModOptions")


@case
def logical_reductions(b: TfliteBuilder, rng: np.random.Generator) -> None:
    x, axes = b.input((3, 4, 2), "bool"), b.constant(ints(1))
    b.operator("REDUCE_ANY", [x, axes], [b.output((3, 2), "bool")], "ReducerOptions")
    b.operator("REDUCE_ALL", [x, axes], [b.output((3, 1, 2), "bool")], "ReducerOptions", KeepDims=True)


@case
def range_of_constants(b: TfliteBuilder, rng: np.random.Generator) -> None:
    numbers = b.tensor((5,), "int32")
    b.operator("RANGE", [b.constant(np.array(v, np.int32)) for v in (2, 12, 2)], [numbers], "RangeOptions")
    b.operator("ADD", [b.input((5,), "int32"), numbers], [b.output((5,), "int32")], "AddOptions")


def bilinear(size: tuple[int, int], **options: bool) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        operands = [b.input((2, 4, 5, 3)), b.constant(ints(*size))]
        b.operator("RESIZE_BILINEAR", operands, [b.output((2, *size, 3))], "ResizeBilinearOptions", **options)

    return build


CASES["resize_bilinear"] = bilinear((8, 10))
CASES["resize_bilinear_down"] = bilinear((3, 2))
CASES["resize_bilinear_corners"] = bilinear((7, 9), AlignCorners=True)
CASES["resize_bilinear_centers"] = bilinear((6, 11), HalfPixelCenters=True)


def transposed(padding: int, stride: int, kernel: tuple[int, int], size: tuple[int, int], bias: bool) -> Case:
    def build(b: TfliteBuilder, rng: np.random.Generator) -> None:
        filters = b.constant(rng.standard_normal((3, *kernel, 2)).astype(np.float32))
        operands = [b.constant(ints(1, *size, 3)), filters, b.input((1, 4, 5, 2))]
        operands += [b.constant(rng.standard_normal(3).astype(np.float32))] if bias else []
        options = {"Padding": padding, "StrideH": stride, "StrideW": stride}
        b.operator("TRANSPOSE_CONV", operands, [b.output((1, *size, 3))], "TransposeConvOptions", **options)

    return build


CASES["transpose_conv_same"] = transposed(0, 2, (3, 3), (8, 10), False)
CASES["transpose_conv_odd"] = transposed(0, 2, (3, 2), (7, 9), False)
CASES["transpose_conv_valid"] = transposed(1, 2, (3, 3), (9, 11), True)
CASES["transpose_conv_stride_1"] = transposed(0, 1, (3, 3), (4, 5), True)
CASES["transpose_conv_wide_stride"] = transposed(1, 3, (2, 2), (11, 14), False)


@pytest.mark.parametrize("name", sorted(CASES))
def test_operator(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(len(name))
    builder = TfliteBuilder()
    CASES[name](builder, rng)
    compare(builder.build(), tmp_path, rng, kinds=(0, 1, 2))
