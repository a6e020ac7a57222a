"""What can be asked of a model: inputs and outputs, layers of a profile, memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._ffi import check, ffi, library, text

_NUMPY: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "s8": np.int8,
    "u8": np.uint8,
    "s16": np.int16,
    "s32": np.int32,
    "s64": np.int64,
    "b8": np.bool_,
    "f64": np.float64,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}


@dataclass(frozen=True, eq=False)
class Quantization:
    """real = scale * (q - zero_point)."""

    scale: np.ndarray
    """float32 [1], or one for each slice along ``axis``."""
    zero_point: np.ndarray
    """int32, as long as ``scale``."""
    axis: int | None


def read_labels(model: Any, name: str) -> list[str]:
    """The texts that the integers of an input or output, or the positions along its last dimension, stand for."""
    labels: list[str] = []
    lib, length = library(), ffi.new("size_t *")
    while (label := lib.lith_model_label(model, name.encode(), len(labels), length)) != ffi.NULL:
        labels.append(bytes(ffi.buffer(label, length[0])).decode("utf-8", "replace"))
    return labels


def positions_of(array: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """The position of each text of an array, -1 for one that is not there."""
    places = {label: index for index, label in reversed(list(enumerate(labels)))}
    found = [places.get(str(item), -1) for item in array.reshape(-1).tolist()]
    return np.asarray(found, np.int64).reshape(array.shape)


@dataclass(frozen=True, eq=False)
class TensorSpec:
    """An input or output."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """-1: known at run time only."""
    symbols: tuple[str, ...]
    """The name of each size that is known at run time only, "" for the others."""
    quantization: Quantization | None

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}{self.with_sizes(self.shape)}"

    def with_sizes(self, shape: Sequence[int]) -> str:
        """Some shape as text, with the names of sizes that are not known (-1)."""
        sizes = ((symbol or "?") if size < 0 else str(size) for size, symbol in zip(shape, self.symbols, strict=True))
        return f"[{', '.join(sizes)}]"


@dataclass(frozen=True)
class Prepacked:
    """Weights that a file holds in the layout of kernels (``microlith convert --prepack``).

    ``used`` of ``count`` constants are read from the file. The others are for kernels that this machine or this build
    has not, or of another version: what they stand for was packed when the model was opened.
    """

    target: str
    count: int
    used: int


@dataclass(frozen=True)
class Layer:
    """One node of a profiled run."""

    name: str
    op: str
    kernel: str
    """The C function that ran."""
    ns: int
    """Nanoseconds; 0 when the result is a view of the input and no code ran. Of layers that run together by rows: the
    share of their time that the processors spent here."""
    macs: int
    parts: int
    """Into how many parts the work was split."""


@dataclass(frozen=True)
class Memory:
    """Bytes that a model takes."""

    arena: int
    """Activations and scratch."""
    arena_lower_bound: int
    """The largest set that lives at once: no plan needs less."""
    constants: int
    """Weights and tables in the file, which is mapped."""
    packed: int
    """Copies of weights in the layout of a kernel; other models may share them (``WeightsCache``)."""
    overhead: int
    """Tables of the session."""


def read_spec(ask: Any, model: Any, index: int) -> TensorSpec:
    """What a function of microlith.h says about input or output ``index`` of a ``lith_model``."""
    info = ffi.new("lith_tensor_info *")
    check(ask(model, index, info))
    rank = info.rank
    quantization = None
    if info.quant_count > 0:
        scale = np.frombuffer(ffi.buffer(info.scales, 4 * info.quant_count), np.float32).copy()
        zero_point = np.frombuffer(ffi.buffer(info.zero_points, 4 * info.quant_count), np.int32).copy()
        quantization = Quantization(scale, zero_point, None if info.quant_axis < 0 else info.quant_axis)
    return TensorSpec(
        name=text(info.name),
        dtype=np.dtype(_NUMPY[text(library().lith_dtype_name(info.dtype))]),
        shape=tuple(info.dims[axis] for axis in range(rank)),
        symbols=tuple(text(info.symbols[axis]) for axis in range(rank)),
        quantization=quantization,
    )
