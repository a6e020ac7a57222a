"""Layers that Arm's CMSIS-NN computes in place of our kernels, and the buffers that it wants.

After the sources and documentation of CMSIS-NN 7.0.0 (https://github.com/ARM-software/CMSIS-NN): which arguments its
functions take, and the sizes that arm_*_get_buffer_size_dsp and _mve give. Sizes are in bytes.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..binding import Binding, BoundNode, bind_graph
from ..dtypes import DType
from ..errors import TargetError
from ..ir import Graph
from ..lower import Substitute
from ..nnacl_kernels import catalogue
from ..targets import Target

NAME = "cmsis-nn"
VERSION = "7.0.0"
SINGLE_ROUNDING = "CMSIS_NN_USE_SINGLE_ROUNDING"
"""The macro by which CMSIS-NN rounds once, as the contract ``single`` wants, and not twice."""
_TFLITE_DOUBLE, _SINGLE, _FLOAT_EVEN = 0, 1, 2
_CHANNELS_IN_BLOCK_MVE = 124
_SMALL_DEPTHWISE_MVE = 8
"""With one input channel and more outputs than that, MVE runs a depthwise convolution as a convolution."""
Rule = Callable[[BoundNode, Mapping[str, Any], Binding, str], "tuple[str, str, int] | None"]
"""From a node, its parameters and the core (``c``, ``dsp``, ``mve``) to symbol, file and buffer, or None."""


def core_of(target: Target) -> str:
    """How CMSIS-NN is built for a target: for ``mve``, ``dsp``, or in plain ``c``. Raises TargetError for others than
    Cortex-M."""
    if target.architecture != "cortex-m":
        raise TargetError(
            f"CMSIS-NN is for Cortex-M, not for {target.title}", hint="leave out --kernels, or take a target cortex-m…"
        )
    return next(isa for isa in ("mve", "dsp", "c") if isa in target.isa)


def prepared(graph: Graph, core: str, sizes: Mapping[str, int] | None) -> Graph:
    """A copy of a graph in which the layers that CMSIS-NN serves round as it does.

    LiteRT rounds some layers otherwise where a sum lies exactly between two steps. The reference that a self-test
    compares with has to do what the code does.
    """
    result = copy.deepcopy(graph)
    binding = bind_graph(result, sizes)
    for item in binding.nodes:
        if _rule(item, binding, core) is not None and item.node.attrs.get("rounding", 0) != _SINGLE:
            if "rounding" in catalogue.read_params(item.node.op, item.params):
                item.node.attrs["rounding"] = _TFLITE_DOUBLE
            if item.node.op == "avg_pool2d":
                item.node.attrs["halves_up"] = 0
    return result


def substitute(core: str) -> Callable[[BoundNode, Binding], Substitute | None]:
    """What ``lower`` asks for each node: the call of CMSIS-NN that serves it."""

    def find(item: BoundNode, binding: Binding) -> Substitute | None:
        found = _rule(item, binding, core)
        if found is None:
            return None
        symbol, file, workspace = found
        dtype = binding.types[item.node.input(0)].dtype
        plain = catalogue.find_kernel(item.node.op, dtype.value, item.params, ["c"])
        assert plain is not None
        kernel = dataclasses.replace(plain, symbol=symbol, file=f"cmsis_nn/{file}", isa=NAME)
        packed = {2: _sums(item, binding)} if item.node.op == "dense" and core == "mve" else {}
        return Substitute(kernel, workspace, packed)

    return find


def _rule(item: BoundNode, binding: Binding, core: str) -> tuple[str, str, int] | None:
    if not item.node.inputs or item.node.inputs[0] is None:
        return None
    dtype = binding.types[item.node.input(0)].dtype
    rule = _RULES.get((item.node.op, dtype))
    if rule is None:
        return None
    fields = catalogue.read_params(item.node.op, item.params)
    if fields.get("rounding", _TFLITE_DOUBLE) == _FLOAT_EVEN:
        return None
    return rule(item, fields, binding, core)


def _is_constant(item: BoundNode, binding: Binding, index: int) -> bool:
    return index < len(item.node.inputs) and item.node.inputs[index] in binding.data


def _pads_as_tflite(p: Mapping[str, Any]) -> bool:
    """Whether padding is what CMSIS-NN concludes from that at the top and left: the smaller half."""
    for inner, outer, kernel, stride, dilation, pad in (
        ("in_h", "out_h", "kernel_h", "stride_h", "dilation_h", "pad_top"),
        ("in_w", "out_w", "kernel_w", "stride_w", "dilation_w", "pad_left"),
    ):
        total = max(0, (p[outer] - 1) * p[stride] + (p[kernel] - 1) * p[dilation] + 1 - p[inner])
        if p[pad] != total // 2:
            return False
    return True


def _is_plain_conv(item: BoundNode, p: Mapping[str, Any], binding: Binding, bias: tuple[int, ...]) -> bool:
    constants = all(_is_constant(item, binding, index) for index in (1, 2, 3))
    return constants and p["w_zero"] == 0 and p["has_w_zeros"] == 0 and p["has_bias"] in bias and _pads_as_tflite(p)


def _conv2d_s8(item: BoundNode, p: Mapping[str, Any], binding: Binding, core: str) -> tuple[str, str, int] | None:
    if p["groups"] != 1 or not _is_plain_conv(item, p, binding, (1,)):
        return None
    return "nnacl_conv2d_s8_cmsisnn", "conv2d_s8_cmsisnn.c", conv_buffer(p, core)


def conv_buffer(p: Mapping[str, Any], core: str) -> int:
    """arm_convolve_wrapper_s8_get_buffer_size: none for 1 x 1; else columns of some positions."""
    no_dilation = p["dilation_h"] == 1 and p["dilation_w"] == 1
    if p["kernel_h"] == p["kernel_w"] == 1 and p["pad_top"] == p["pad_left"] == 0 and no_dilation:
        return 0
    depth = p["kernel_h"] * p["kernel_w"] * p["in_c"]
    if core != "mve":
        return 2 * _up(depth, 4) * 2  # two columns of int16
    along_a_row = p["in_h"] == p["kernel_h"] == 1 and p["dilation_w"] == 1 and p["stride_w"] * p["in_c"] % 4 == 0
    columns = 4 * _up(depth, 16)
    return _row_buffer_mve(p, columns) if along_a_row else columns


def _row_buffer_mve(p: Mapping[str, Any], columns: int) -> int:
    """arm_convolve_1_x_n_s8_get_buffer_size_mve: the windows at both ends of a row with their padding, or columns where
    the windows in the padding are not those at the ends."""
    stride, left, channels = p["stride_w"], p["pad_left"], p["in_c"]
    odd = int(math.fmod((p["out_w"] - 1) * stride + p["kernel_w"] - p["in_w"], 2))
    right_windows = max(1, (left + odd + stride - 1) // stride) if left + odd != 0 else 0
    left_windows = max(1, (left + stride - 1) // stride) if left != 0 else 0
    inner_windows = max(p["out_w"] - right_windows - left_windows, 0)
    if left_windows + inner_windows + right_windows != p["out_w"]:
        return columns
    pad_right = right_windows * channels if odd else left * channels
    window = p["kernel_w"] * channels
    return int(max(window + left * channels, window - channels + pad_right))


def _depthwise_s8(item: BoundNode, p: Mapping[str, Any], binding: Binding, core: str) -> tuple[str, str, int] | None:
    if not _is_plain_conv(item, p, binding, (1,)):
        return None
    return "nnacl_depthwise_conv2d_s8_cmsisnn", "depthwise_conv2d_s8_cmsisnn.c", depthwise_buffer(p, core)


def depthwise_buffer(p: Mapping[str, Any], core: str) -> int:
    """arm_depthwise_conv_wrapper_s8_get_buffer_size."""
    taps = p["kernel_h"] * p["kernel_w"]
    single = p["in_c"] == p["out_c"] and p["batch"] == 1 and p["dilation_h"] == p["dilation_w"] == 1
    size = 0
    if core == "mve":
        if p["in_c"] == 1 and p["out_c"] > _SMALL_DEPTHWISE_MVE:
            size = conv_buffer(p, core) + taps * p["out_c"]
        elif single:
            size = 4 * _CHANNELS_IN_BLOCK_MVE * taps
    elif core == "dsp" and single:
        fixed = p["kernel_h"] == p["kernel_w"] == 3 and p["pad_top"] <= 1 and p["pad_left"] <= 1
        size = 0 if fixed else p["in_c"] * taps * 2
    return int(size)


def _conv2d_s16(item: BoundNode, p: Mapping[str, Any], binding: Binding, core: str) -> tuple[str, str, int] | None:
    if p["groups"] != 1 or not _is_plain_conv(item, p, binding, (1, 2)):
        return None
    return "nnacl_conv2d_s16_cmsisnn", "conv2d_s16_cmsisnn.c", wide_conv_buffer(p, core)


def wide_conv_buffer(p: Mapping[str, Any], core: str) -> int:
    """arm_convolve_wrapper_s16_get_buffer_size: columns of some positions."""
    depth = p["kernel_h"] * p["kernel_w"] * p["in_c"]
    return 4 * _up(depth, 8) * 2 if core == "mve" else 2 * depth * 2


def _dense_s8(item: BoundNode, p: Mapping[str, Any], binding: Binding, core: str) -> tuple[str, str, int] | None:
    constants = all(_is_constant(item, binding, index) for index in (1, 2, 3))
    if not constants or p["w_zero"] != 0 or p["has_w_zeros"] != 0 or p["has_bias"] != 1:
        return None
    requant = np.asarray(binding.data[item.node.input(3)])
    uniform = all(len(set(row.tolist())) == 1 for row in requant)
    name = "nnacl_dense_s8_cmsisnn" if uniform else "nnacl_dense_channels_s8_cmsisnn"
    return name, "dense_s8_cmsisnn.c", 0


def _sums(item: BoundNode, binding: Binding) -> bytes:
    """What arm_vector_sum_s8 computes: bias - x_zero * (the sum of the weights of a unit), as int32."""
    fields = catalogue.read_params(item.node.op, item.params)
    weights, bias = (np.asarray(binding.data[item.node.input(index)]).astype(np.int64) for index in (1, 2))
    sums = bias - fields["x_zero"] * weights.reshape(bias.size, -1).sum(axis=1)
    return sums.astype(np.int32).tobytes()


def _pools(p: Mapping[str, Any]) -> bool:
    plain = p["dilation_h"] == p["dilation_w"] == 1 and p["extra_bottom"] == p["extra_right"] == 0
    return plain and p["kernel_h"] > 0 and p["kernel_w"] > 0 and _pads_as_tflite(p)


def _avg_pool2d_s8(item: BoundNode, p: Mapping[str, Any], binding: Binding, core: str) -> tuple[str, str, int] | None:
    padded = any(p[side] for side in ("pad_top", "pad_left", "pad_bottom", "pad_right"))
    if not _pools(p) or (p["count_include_pad"] and padded):
        return None
    return "nnacl_avg_pool2d_s8_cmsisnn", "avg_pool2d_s8_cmsisnn.c", average_buffer(p, core)


def average_buffer(p: Mapping[str, Any], core: str) -> int:
    """arm_avgpool_s8_get_buffer_size: sums of a pixel, with DSP alone."""
    return p["channels"] * 4 if core == "dsp" else 0


def _max_pool2d_s8(item: BoundNode, p: Mapping[str, Any], binding: Binding, core: str) -> tuple[str, str, int] | None:
    return ("nnacl_max_pool2d_s8_cmsisnn", "max_pool2d_s8_cmsisnn.c", 0) if _pools(p) else None


def _binary_s8(item: BoundNode, p: Mapping[str, Any], binding: Binding, core: str) -> tuple[str, str, int] | None:
    a, b = (binding.types[value].static_shape for value in item.node.inputs[:2] if value is not None)
    return (f"nnacl_{item.node.op}_s8_cmsisnn", "binary_s8_cmsisnn.c", 0) if a == b else None


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


_RULES: Mapping[tuple[str, DType], Rule] = {
    ("conv2d", DType.s8): _conv2d_s8,
    ("depthwise_conv2d", DType.s8): _depthwise_s8,
    ("conv2d", DType.s16): _conv2d_s16,
    ("dense", DType.s8): _dense_s8,
    ("avg_pool2d", DType.s8): _avg_pool2d_s8,
    ("max_pool2d", DType.s8): _max_pool2d_s8,
    ("add", DType.s8): _binary_s8,
    ("mul", DType.s8): _binary_s8,
}
