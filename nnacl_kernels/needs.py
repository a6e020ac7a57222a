"""What layers need of their kernels: the answers for ``nnacl_needs.h``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from microlith.nnacl_kernels import catalogue
from microlith.nnacl_kernels.catalogue import Kernel

_LINED = frozenset({"conv2d", "depthwise_conv2d", "dense", "conv2d_compressed", "dense_compressed"})
"""Ops whose kernels of s8 for small machines requantize along lines (common/requant_line.h)."""
_COMPACT = {
    "nnacl_conv2d_s8_compact_dsp": "nnacl_conv2d_s8_dsp",
    "nnacl_depthwise_conv2d_s8_compact_dsp": "nnacl_depthwise_conv2d_s8_dsp",
}
"""Kernels whose lines may be compact (common/compact_lines.h), and what computes the same with lines in whole words."""
COMPACT = frozenset(_COMPACT)
"""Their symbols. They unpack lines into their workspace, and need some time for it."""
_TFLITE_DOUBLE, _TFLITE_UP, _TFLITE_UP_BY_8 = 0, 3, 4
"""Numbers of ``nnacl_base.h``."""


def _has_lines(kernel: Kernel) -> bool:
    return kernel.op in _LINED and kernel.isa in ("dsp", "mve")


def _head(packed: Mapping[int, bytes]) -> int:
    return int.from_bytes(packed[1][:4], "little") if 1 in packed else 0


def reads_lines(kernel: Kernel) -> bool:
    """Whether the kernel shares its source with those of compact lines."""
    return kernel.symbol in _COMPACT or kernel.symbol in _COMPACT.values()


def is_compact(kernel: Kernel, packed: Mapping[int, bytes]) -> bool:
    """Whether the packed weights have compact lines."""
    return kernel.symbol in COMPACT and _head(packed) & 0xF == 12


def suits(kernel: Kernel, params: bytes, inputs: Sequence[np.ndarray | None]) -> bool:
    """Whether a layer with these constants has what the kernel is there for: compact lines, which not all have."""
    if kernel.symbol not in COMPACT:
        return True
    weights = catalogue.pack(kernel, params, 1, inputs)
    return weights is not None and is_compact(kernel, {1: weights})


def may_sweep(kernel: Kernel) -> bool:
    """Whether the kernel computes depthwise convolutions of 3 x 3 taps along an axis (conv/depthwise_axes.h)."""
    return kernel.op == "depthwise_conv2d" and reads_lines(kernel)


def sweeps(fields: Mapping[str, Any]) -> bool:
    """Whether a depthwise convolution with these parameters is computed so: ``nnacl_depthwise_has_sweep()``."""
    plain = all(fields[f"kernel_{axis}"] == 3 and fields[f"dilation_{axis}"] == 1 for axis in "hw")
    return plain and min(fields["stride_h"], fields["stride_w"]) <= 2


def used_bytes(kernel: Kernel, weights: bytes) -> int:
    """The bytes of packed weights that the kernel reads: with compact lines fewer than they may take at most, which the
    last word says."""
    return int.from_bytes(weights[-4:], "little") if is_compact(kernel, {1: weights}) else len(weights)


def needs_exact(kernel: Kernel, packed: Mapping[int, bytes]) -> bool:
    """Whether a kernel with these packed inputs has to requantize exactly because there was no line. Packed weights
    begin with the shift of the lines; 0 when there are none, more than a byte when some channels have none."""
    if not _has_lines(kernel) or is_compact(kernel, packed):
        return False
    return _head(packed) & 0xFF == 0 or _head(packed) > 0xFF


def needed_roundings(roundings: Iterable[int]) -> int:
    """The mask of the rounding contracts that kernels meet, from the ``rounding`` fields of their parameters."""
    met = set(roundings)
    if _TFLITE_UP_BY_8 in met:  # settled channel by channel
        met |= {_TFLITE_DOUBLE, _TFLITE_UP}
    return sum(1 << rounding for rounding in met)
