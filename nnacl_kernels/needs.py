"""What layers need of their kernels: the answers for ``nnacl_needs.h``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from microlith.nnacl_kernels.catalogue import Kernel

_LINED = frozenset({"conv2d", "depthwise_conv2d", "dense", "conv2d_compressed", "dense_compressed"})
"""Ops whose kernels of s8 for small machines requantize along lines (common/requant_line.h)."""
_COMPACT = frozenset({"conv2d", "depthwise_conv2d"})
"""Those of them whose lines may be compact, with the DSP extension."""
_TFLITE_DOUBLE, _TFLITE_UP, _TFLITE_UP_BY_8 = 0, 3, 4
"""Numbers of ``nnacl_base.h``."""


def _has_lines(kernel: Kernel) -> bool:
    return kernel.op in _LINED and kernel.isa in ("dsp", "mve")


def _head(packed: Mapping[int, bytes]) -> int:
    return int.from_bytes(packed[1][:4], "little") if 1 in packed else 0


def may_be_compact(kernel: Kernel) -> bool:
    """Whether the kernel reads compact lines (common/compact_lines.h) as well as those in whole words."""
    return kernel.op in _COMPACT and kernel.symbol.endswith("_s8_dsp")


def is_compact(kernel: Kernel, packed: Mapping[int, bytes]) -> bool:
    """Whether the packed weights have compact lines."""
    return may_be_compact(kernel) and bool(_head(packed) & 0x200)


def used_bytes(kernel: Kernel, weights: bytes) -> int:
    """The bytes of packed weights that the kernel reads: with compact lines fewer than they may take at most."""
    return int.from_bytes(weights[4:8], "little") if is_compact(kernel, {1: weights}) else len(weights)


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
