# SPDX-License-Identifier: Apache-2.0
"""The data of an ONNX model that lies in files beside it: mapped, so that a model may be larger than memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper

SMALLEST_MAPPED = 1 << 16
"""Bytes; smaller tensors are read into the model."""

TYPES: dict[int, np.dtype[Any]] = {
    TensorProto.FLOAT: np.dtype("<f4"),
    TensorProto.DOUBLE: np.dtype("<f8"),
    TensorProto.FLOAT16: np.dtype("<f2"),
    TensorProto.INT8: np.dtype("i1"),
    TensorProto.UINT8: np.dtype("u1"),
    TensorProto.INT16: np.dtype("<i2"),
    TensorProto.UINT16: np.dtype("<u2"),
    TensorProto.INT32: np.dtype("<i4"),
    TensorProto.INT64: np.dtype("<i8"),
}
"""Element types whose bytes in a file are an array as it is."""


def read_small_data(model: onnx.ModelProto, folder: Path, *, everything: bool = False) -> None:
    """Reads into a model what lies in files of ``folder``, but for the large initializers of its graph.

    Raises ValueError or OSError, as onnx does, for a file that is missing, too short or outside of the folder.
    """
    kept = set() if everything else {_place(tensor) for tensor in _large(model)}
    for tensor in external_data_helper._get_all_tensors(model):
        if external_data_helper.uses_external_data(tensor) and _place(tensor) not in kept:
            external_data_helper.load_external_data_for_tensor(tensor, str(folder))


def _place(tensor: TensorProto) -> tuple[str, ...]:
    """What tells a tensor from others: its name, and where its data is."""
    return (tensor.name, *(f"{entry.key}={entry.value}" for entry in tensor.external_data))


def map_large_data(model: onnx.ModelProto, folder: Path) -> dict[str, np.ndarray]:
    """Read-only views of files in ``folder`` for the large initializers of the graph, by name.

    Raises ValueError or OSError as ``read_small_data``.
    """
    files: dict[Path, np.ndarray] = {}
    return {tensor.name: _view(tensor, folder, files) for tensor in _large(model)}


def _large(model: onnx.ModelProto) -> Iterator[TensorProto]:
    for tensor in model.graph.initializer:
        if external_data_helper.uses_external_data(tensor) and tensor.data_type in TYPES:
            size = math.prod(tensor.dims) * TYPES[tensor.data_type].itemsize
            if min(tensor.dims, default=1) >= 0 and size >= SMALLEST_MAPPED:
                yield tensor


def _view(tensor: TensorProto, folder: Path, files: dict[Path, np.ndarray]) -> np.ndarray:
    info = external_data_helper.ExternalDataInfo(tensor)
    path = _inside(folder, info.location, tensor.name)
    if path not in files:
        files[path] = np.memmap(path, np.uint8, mode="r")
    dtype, first = TYPES[tensor.data_type], info.offset or 0
    size = math.prod(tensor.dims) * dtype.itemsize
    if info.length not in (None, size) or first + size > files[path].size:
        raise ValueError(f"tensor '{tensor.name}' takes {size} bytes from byte {first} of '{info.location}'")
    data = files[path].view(np.ndarray)[first : first + size]
    array = data.view(dtype) if first % dtype.itemsize == 0 else np.frombuffer(data.tobytes(), dtype)
    return array.reshape(tuple(tensor.dims))


def _inside(folder: Path, location: str, name: str) -> Path:
    """The file of a location, which must be a plain one below the folder of the model."""
    parts = PurePosixPath(location)
    path = folder / location
    if not location or parts.is_absolute() or ".." in parts.parts:
        raise ValueError(f"the data of tensor '{name}' lies outside of the model's folder: '{location}'")
    if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"the data of tensor '{name}' lies behind a link: '{location}'")
    if not path.is_file():
        raise ValueError(f"the data of tensor '{name}' is missing: there is no file '{location}'")
    return path
