"""Element types: one row each, shared by the graph, the file format and the C sources."""

from __future__ import annotations

import enum

import numpy as np


class DType(enum.Enum):
    """An element type. ``value`` is its number in the file format and in ``nnacl_base.h``."""

    f32 = 0
    f16 = 1
    s8 = 2
    u8 = 3
    s16 = 4
    s32 = 5
    s64 = 6
    b8 = 7
    f64 = 8
    u16 = 9
    u32 = 10
    u64 = 11

    @property
    def numpy(self) -> np.dtype:
        """The NumPy type of one element."""
        return _NUMPY[self]

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return _NUMPY[self].itemsize

    @property
    def c_name(self) -> str:
        """The C spelling of one element's type."""
        return _C_NAME[self]

    @property
    def is_float(self) -> bool:
        return _NUMPY[self].kind == "f"

    @property
    def is_integer(self) -> bool:
        return _NUMPY[self].kind in "iu"

    @classmethod
    def from_numpy(cls, dtype: np.dtype | type) -> DType:
        """The row of a NumPy type; ``KeyError`` when there is none."""
        return _FROM_NUMPY[np.dtype(dtype)]


_NUMPY: dict[DType, np.dtype] = {
    DType.f32: np.dtype(np.float32),
    DType.f16: np.dtype(np.float16),
    DType.s8: np.dtype(np.int8),
    DType.u8: np.dtype(np.uint8),
    DType.s16: np.dtype(np.int16),
    DType.s32: np.dtype(np.int32),
    DType.s64: np.dtype(np.int64),
    DType.b8: np.dtype(np.bool_),
    DType.f64: np.dtype(np.float64),
    DType.u16: np.dtype(np.uint16),
    DType.u32: np.dtype(np.uint32),
    DType.u64: np.dtype(np.uint64),
}
_FROM_NUMPY = {numpy_type: row for row, numpy_type in _NUMPY.items()}
_C_NAME = {
    DType.f32: "float",
    DType.f16: "uint16_t",
    DType.s8: "int8_t",
    DType.u8: "uint8_t",
    DType.s16: "int16_t",
    DType.s32: "int32_t",
    DType.s64: "int64_t",
    DType.b8: "uint8_t",
    DType.f64: "double",
    DType.u16: "uint16_t",
    DType.u32: "uint32_t",
    DType.u64: "uint64_t",
}
