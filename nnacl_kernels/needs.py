"""What layers need of their kernels: the answers for ``nnacl_needs.h``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from microlith.nnacl_kernels.catalogue import Kernel

_LINED = frozenset({"conv2d", "depthwise_conv2d", "dense", "conv2d_compressed", "dense_compressed"})
"""Ops whose kernels of s8 for small machines requantize along lines (common/requant_line.h)."""
_TFLITE_DOUBLE, _TFLITE_UP, _TFLITE_UP_BY_8 = 0, 3, 4
"""Numbers of ``nnacl_base.h``."""


def needs_exact(kernel: Kernel, packed: Mapping[int, bytes]) -> bool:
    """Whether a kernel with these packed inputs has to requantize exactly because there was no line. Packed weights
    begin with the shift of the lines; 0 when there are none, more than a byte when some channels have none."""
    if kernel.op not in _LINED or kernel.isa not in ("dsp", "mve"):
        return False
    return 1 not in packed or packed[1][0] == 0 or packed[1][1:4] != bytes(3)


def needed_roundings(roundings: Iterable[int]) -> int:
    """The mask of the rounding contracts that kernels meet, from the ``rounding`` fields of their parameters."""
    met = set(roundings)
    if _TFLITE_UP_BY_8 in met:  # settled channel by channel
        met |= {_TFLITE_DOUBLE, _TFLITE_UP}
    return sum(1 << rounding for rounding in met)
