"""The plan halves refuse what a kernel could not run safely, with a sentence; what they accept passes ``check``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from microlith.dtypes import DType
from microlith.nnacl_kernels import catalogue
from microlith.nnacl_kernels.catalogue import PlanError, Tensor

F32, S8, S32, F16 = DType.f32.value, DType.s8.value, DType.s32.value, DType.f16.value

WINDOW = {"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1}
CLAMP = {"clamp_min": -math.inf, "clamp_max": math.inf}
RANGE = {"q_min": -128, "q_max": 127}
CONV = {**WINDOW, **CLAMP, **RANGE, "groups": 1}
CONV_DYNAMIC = {**WINDOW, **CLAMP, "groups": 1}
POOL = {**WINDOW, **CLAMP, **RANGE, "kernel_h": 2, "kernel_w": 2}
DENSE = {**CLAMP, **RANGE}


def f32(*shape: int) -> Tensor:
    return Tensor(F32, shape)


def s8(*shape: int) -> Tensor:
    return Tensor(S8, shape)


def requant(multiplier: int = 1 << 30, shift: int = 0, channels: int = 4) -> Tensor:
    data = np.array([[multiplier] * channels, [shift] * channels], np.int32)
    return Tensor(S32, data.shape, data)


X, W = f32(1, 8, 8, 3), f32(4, 3, 3, 3)
X8, W8 = s8(1, 8, 8, 3), s8(4, 3, 3, 3)

Refusal = tuple[str, Mapping[str, Any], list[Tensor | None], str]

REFUSALS: list[Refusal] = [
    ("conv2d", {**CONV, "stride_h": 0}, [X, W], "stride"),
    ("conv2d", {**CONV, "stride_w": -1}, [X, W], "stride"),
    ("conv2d", {**CONV, "dilation_w": 0}, [X, W], "dilation"),
    ("conv2d", {**CONV, "pad_left": -1}, [X, W], "padding"),
    ("conv2d", {**CONV, "pad_bottom": 2**31 - 1, "pad_top": 2**31 - 1}, [X, W], "too large"),
    ("conv2d", {**CONV, "groups": 0}, [X, W], "groups"),
    ("conv2d", {**CONV, "groups": 2}, [X, W], "groups"),
    ("conv2d", {**CONV, "clamp_min": math.nan}, [X, W], "clamp_min"),
    ("conv2d", {**CONV, "clamp_min": 2.0, "clamp_max": 1.0}, [X, W], "clamp_min"),
    ("conv2d", CONV, [X, f32(4, 9, 9, 3)], "kernel is larger"),
    ("conv2d", {**CONV, "dilation_h": 2**30}, [X, W], "kernel is larger"),
    ("conv2d", CONV, [X, f32(4, 3, 3, 2)], "weights"),
    ("conv2d", CONV, [X, W8], "weights"),
    ("conv2d", CONV, [X, f32(4, 3, 3)], "weights"),
    ("conv2d", CONV, [f32(8, 8, 3), W], "x must be"),
    ("conv2d", CONV, [Tensor(S32, (1, 8, 8, 3)), W], "x must be"),
    ("conv2d", CONV, [f32(1, 0, 8, 3), W], "dimension"),
    ("conv2d", CONV, [X, W, f32(5)], "bias"),
    ("conv2d", CONV, [X, W, Tensor(S32, (4,))], "bias"),
    ("conv2d", CONV, [X, W, None, requant()], "requant"),
    ("conv2d", CONV, [f32(1, 40000, 40000, 1), f32(4, 3, 3, 1)], "too many elements"),
    ("conv2d", CONV, [f32(1, 40000, 40000, 1), f32(65536, 1, 1, 1)], "too many elements"),
    ("conv2d", CONV, [X8, W8], "requant must be"),
    ("conv2d", CONV, [X8, W8, None, requant(channels=3)], "requant must be"),
    ("conv2d", CONV, [X8, W8, None, f32(4)], "requant must be"),
    ("conv2d", {**CONV, "rounding": 2}, [X8, W8, None, requant()], "requant must be"),
    ("conv2d", CONV, [X8, W8, None, requant(shift=31)], "shift"),
    ("conv2d", CONV, [X8, W8, None, requant(shift=-63)], "shift"),
    ("conv2d", CONV, [X8, W8, None, requant(multiplier=-1)], "multiplier"),
    ("conv2d", {**CONV, "rounding": 99}, [X8, W8, None, requant()], "rounding"),
    ("conv2d", {**CONV, "x_zero": 128}, [X8, W8, None, requant()], "zero point"),
    ("conv2d", {**CONV, "q_min": 5, "q_max": 4}, [X8, W8, None, requant()], "q_min"),
    ("conv2d", {**CONV, "q_max": 128}, [X8, W8, None, requant()], "q_min"),
    ("depthwise_conv2d", CONV, [X, f32(1, 3, 3, 4)], "multiplier"),
    ("depthwise_conv2d", CONV, [X, f32(3, 3, 3, 3)], "multiplier"),
    ("dense", DENSE, [f32(2, 5), f32(4, 6)], "depth"),
    ("dense", DENSE, [f32(), f32(4, 6)], "dimension"),
    ("dense", DENSE, [f32(2, 6), f32(4, 6), f32(6)], "bias"),
    ("dense", DENSE, [f32(2**16, 1), f32(2**16, 1)], "too many elements"),
    ("dense", {**DENSE, "w_zero": -129}, [s8(2, 6), s8(4, 6), None, requant()], "zero point"),
    ("matmul", CLAMP, [f32(2, 3), f32(4, 5)], "inner"),
    ("matmul", CLAMP, [f32(3), f32(3, 5)], "two dimensions"),
    ("matmul", CLAMP, [f32(2, 2, 3), f32(3, 3, 5)], "broadcast"),
    ("matmul", {**CLAMP, "transpose_a": 2}, [f32(2, 3), f32(3, 5)], "transpose"),
    ("matmul", CLAMP, [f32(2**16, 1), f32(1, 2**16)], "too many elements"),
    ("max_pool2d", {**POOL, "kernel_h": -1}, [X], "kernel"),
    ("max_pool2d", {**POOL, "kernel_h": 9}, [X], "kernel is larger"),
    ("max_pool2d", {**POOL, "extra_right": -1}, [X], "padding"),
    ("avg_pool2d", {**POOL, "stride_h": 0}, [X], "stride"),
    ("avg_pool2d", {**POOL, "count_include_pad": 2}, [X], "count_include_pad"),
    ("avg_pool2d", {**POOL, "kernel_h": 4000, "kernel_w": 4000}, [s8(1, 4000, 4000, 1)], "kernel is too large"),
    ("quantize", {"to": S32, "scale": 1.0}, [f32(3)], "y must be"),
    ("quantize", {"to": S8, "scale": 0.0}, [f32(3)], "scale"),
    ("quantize", {"to": S8, "scale": math.nan}, [f32(3)], "scale"),
    ("quantize", {"to": S8, "scale": 1.0, "zero": 200}, [f32(3)], "zero point"),
    ("dequantize", {"scale": 1.0, "axis": 1}, [s8(3)], "axis"),
    ("dequantize", {"axis": 0}, [s8(3), f32(2)], "scales"),
    ("requantize", {**RANGE, "to": S8, "mult": 1, "shift": 31}, [s8(3)], "shift"),
    ("requantize", {**RANGE, "to": F32}, [s8(3)], "s8, u8, s16 or s32"),
    ("conv2d_dynamic", {**CONV_DYNAMIC, "asymmetric": 2}, [X, W8, None, f32(4)], "asymmetric"),
    ("conv2d_dynamic", CONV_DYNAMIC, [X, W8, None, f32(3)], "w_scales"),
    ("dense_dynamic", CLAMP, [f32(2, 5), s8(4, 6), None, f32(4)], "depth"),
]


@pytest.mark.parametrize("op,attrs,inputs,word", REFUSALS, ids=[f"{row[0]}-{i}" for i, row in enumerate(REFUSALS)])
def test_refused(op: str, attrs: Mapping[str, Any], inputs: list[Tensor | None], word: str) -> None:
    with pytest.raises(PlanError, match=word):
        catalogue.make_params(op, attrs, inputs)


ACCEPTED: list[tuple[str, Mapping[str, Any], list[Tensor | None], tuple[int, ...]]] = [
    ("conv2d", CONV, [X, W], (1, 6, 6, 4)),
    ("conv2d", {**CONV, "stride_h": 2, "pad_top": 1}, [X8, W8, None, requant(shift=-62)], (1, 4, 6, 4)),
    ("conv2d", CONV, [f32(0, 8, 8, 3), W], (0, 6, 6, 4)),
    ("depthwise_conv2d", CONV, [X, f32(1, 3, 3, 6)], (1, 6, 6, 6)),
    ("dense", DENSE, [f32(2, 3, 6), f32(4, 6), f32(4)], (2, 3, 4)),
    ("matmul", {**CLAMP, "transpose_b": 1}, [f32(5, 1, 2, 3), f32(4, 7, 3)], (5, 4, 2, 7)),
    ("avg_pool2d", {**POOL, "kernel_h": 0, "kernel_w": 0}, [X], (1, 1, 1, 3)),
    ("max_pool2d", {**POOL, "stride_h": 3, "extra_bottom": 1}, [X], (1, 3, 7, 3)),
]


@pytest.mark.parametrize("op,attrs,inputs,shape", ACCEPTED, ids=[f"{row[0]}-{i}" for i, row in enumerate(ACCEPTED)])
def test_accepted(op: str, attrs: Mapping[str, Any], inputs: list[Tensor | None], shape: tuple[int, ...]) -> None:
    params, outputs = catalogue.make_params(op, attrs, inputs)
    assert [tensor.shape for tensor in outputs] == [shape]
    assert catalogue.check(op, params, inputs, outputs) is None


def test_check_refuses_any_other_parameter_byte() -> None:
    """Of a shape field, because it does not follow; of the type of an output too."""
    params, outputs = catalogue.make_params("conv2d", CONV, [X, W])
    fields = catalogue.fields("conv2d")
    for index in range(next(i for i, field in enumerate(fields) if field.name == "batch"), len(fields)):
        damaged = bytearray(params)
        damaged[4 * index] ^= 1
        message = catalogue.check("conv2d", bytes(damaged), [X, W], outputs)
        assert message is not None, fields[index].name
    assert catalogue.check("conv2d", params, [X, W], [f32(1, 6, 6, 5)]) is not None
    assert catalogue.check("conv2d", params, [X, W], [s8(1, 6, 6, 4)]) is not None
