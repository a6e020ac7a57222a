# SPDX-License-Identifier: Apache-2.0
"""Layers whose weights are small integers times a scale, and how such layers reach ONNX.

A weight is ``scale × code``: ``codes`` an int8 buffer in PyTorch's own weight layout (``[out, in/groups, k...]`` for
convolutions, ``[out, in]`` for dense layers), ``scale`` a float32 buffer ``[out]``. The forward pass dequantizes with
the operator that PyTorch's quantization flow uses, so that ``torch.onnx.export(..., dynamo=True)`` prints

    DequantizeLinear(int8 initializer, scale[out], zero point 0, axis=0) -> Conv | Gemm | MatMul

without a flag or a hook. Whoever reads the file sees in the integers how many bits they need: {-1, 1} is one bit,
{-3, -1, 1, 3} two, the odd numbers from -15 to 15 four.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from microlith.errors import InputError

BITS = (1, 2, 4)


def code_values(bits: int) -> tuple[int, ...]:
    """The codes of a weight of ``bits`` bits: 2**bits odd integers, equidistant and symmetric around zero.

    :raises InputError: ``bits`` is none of 1, 2, 4.
    """
    if isinstance(bits, bool) or not isinstance(bits, int) or bits not in BITS:
        raise InputError(f"weights of {bits!r} bits", hint=f"bits are one of {', '.join(map(str, BITS))}")
    count = 1 << bits
    return tuple(range(1 - count, count, 2))


def bits_of(codes: Tensor) -> int:
    """The fewest bits (1, 2, 4; else 8) whose :func:`code_values` hold all of ``codes``."""
    found = set(torch.unique(codes).tolist())
    return next((bits for bits in BITS if found <= set(code_values(bits))), 8)


def _dequantize() -> Callable[..., Tensor]:
    """PyTorch's ``quantized_decomposed::dequantize_per_channel``; importing the module registers the operator."""
    for module in ("torch.ao.quantization.fx._decomposed", "microlith.trainer.compress.pt2e"):
        try:
            importlib.import_module(module)
            operator: Callable[..., Tensor] = torch.ops.quantized_decomposed.dequantize_per_channel.default
        except (ImportError, AttributeError):
            continue
        return operator
    raise InputError(
        "this PyTorch has no quantized_decomposed operators", hint="install torchao, or PyTorch 2.6 to 2.13"
    )


class _LowBit(nn.Module):
    """What the layers share: ``codes``, ``scale``, ``bias``, and the float32 weight that they mean."""

    codes: Tensor
    scale: Tensor
    zero_point: Tensor

    def __init__(self, codes: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        if codes.is_floating_point() or codes.numel() == 0 or codes.abs().max() > 127:
            raise InputError(f"codes of type {codes.dtype} and shape {list(codes.shape)}", hint="integers in ±127")
        if scale.shape not in ((), (1,), codes.shape[:1]):
            raise InputError(
                f"{list(scale.shape)} scales for {codes.shape[0]} output channels", hint="one for each, or one for all"
            )
        if not bool((torch.isfinite(scale) & (scale > 0)).all()):
            raise InputError("a scale is not positive and finite")
        self._dequantize = _dequantize()
        self.register_buffer("codes", codes.to(torch.int8))
        self.register_buffer("scale", scale.detach().float().expand(codes.shape[0]).clone())
        self.register_buffer("zero_point", torch.zeros(codes.shape[0], dtype=torch.int8), persistent=False)
        self.bias = None if bias is None else nn.Parameter(bias.detach().float().clone())

    @property
    def bits(self) -> int:
        """How many bits a weight takes when packed: 1, 2, 4, or 8 when the codes are others."""
        return bits_of(self.codes)

    @property
    def weight(self) -> Tensor:
        """float32, in PyTorch's layout: ``scale × code`` exactly (one product per weight)."""
        return self._dequantize(self.codes, self.scale, self.zero_point, 0, -127, 127, torch.int8)

    def extra_repr(self) -> str:
        return f"{self.bits} bits, weight {list(self.codes.shape)}, bias={self.bias is not None}"


class LowBitLinear(_LowBit):
    """``nn.Linear`` with codes: ``[..., in] -> [..., out]``."""

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class _LowBitConv(_LowBit):
    def __init__(
        self,
        codes: Tensor,
        scale: Tensor,
        bias: Tensor | None = None,
        *,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__(codes, scale, bias)
        if padding_mode != "zeros":
            raise InputError(f"padding mode {padding_mode!r}", hint="low-bit convolutions pad with zeros")
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, stride={self.stride}, padding={self.padding}, groups={self.groups}"


class LowBitConv1d(_LowBitConv):
    """``nn.Conv1d`` with codes: ``[N, in, L] -> [N, out, L']``."""

    def forward(self, x: Tensor) -> Tensor:
        return F.conv1d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class LowBitConv2d(_LowBitConv):
    """``nn.Conv2d`` with codes: ``[N, in, H, W] -> [N, out, H', W']``."""

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


CONVERTED: dict[type[nn.Module], type[_LowBit]] = {
    nn.Conv1d: LowBitConv1d,
    nn.Conv2d: LowBitConv2d,
    nn.Linear: LowBitLinear,
}
"""Which layers have a low-bit form; subclasses count as the class itself only when they are parametrized."""


def plain_type(layer: nn.Module) -> type[nn.Module]:
    """The class of a layer, seen through ``torch.nn.utils.parametrize``."""
    kind = type(layer)
    return kind.__bases__[0] if hasattr(layer, "parametrizations") else kind


def low_bit(layer: nn.Module, codes: Tensor, scale: Tensor) -> _LowBit:
    """The low-bit form of a layer: its geometry and bias with the given codes (of its weight's shape) and scales.

    :raises InputError: the layer has no low-bit form, or codes and scales do not fit it.
    """
    kind = CONVERTED.get(plain_type(layer))
    if kind is None:
        raise InputError(f"a layer of type {plain_type(layer).__name__} has no low-bit form", hint=known_layers())
    bias = layer.bias if isinstance(layer.bias, Tensor) else None
    if not issubclass(kind, _LowBitConv):
        made: _LowBit = kind(codes, scale, bias)
    else:
        names = ("stride", "padding", "dilation", "groups", "padding_mode")
        made = kind(codes, scale, bias, **{name: getattr(layer, name) for name in names})
    return made.train(layer.training)


def known_layers() -> str:
    """For hints: the layers that can have low-bit weights."""
    return f"low-bit weights are for {', '.join(kind.__name__ for kind in CONVERTED)}"
