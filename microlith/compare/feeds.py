# SPDX-License-Identifier: Apache-2.0
"""Samples from .npz files and folders of arrays, one at a time, and their form in another model's inputs."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..numerics import CONTRACTS, quantize_array
from .differences import to_real
from .engines import Arrays, Port
from .matching import stem


def load_samples(path: Path, ports: Sequence[Port]) -> Iterator[Arrays]:
    """Samples for these inputs. Raises InputError, which names what is wrong, when the data does not fit.

    ``path`` is an .npz file with an array for each input, an .npy file for a model with one input, or a folder: of such
    files, or with a folder of .npy files for each input. An array is one sample, or several along its first axis, or
    along a new one in front.
    """
    if not path.exists():
        raise InputError("no such file or folder", where=str(path), hint="check the path")
    if path.is_file():
        yield from _samples_of(path, ports)
        return
    folders = {port.name: path / port.name for port in ports}
    if all(folder.is_dir() for folder in folders.values()):
        yield from _from_folders(folders, ports)
        return
    files = sorted(item for item in path.iterdir() if item.suffix in (".npz", ".npy"))
    if not files:
        raise InputError("has no .npz or .npy file", where=str(path), hint="see docs/compare.md for what data can be")
    for file in files:
        yield from _samples_of(file, ports)


def _from_folders(folders: Mapping[str, Path], ports: Sequence[Port]) -> Iterator[Arrays]:
    lists = {name: sorted(folder.glob("*.npy")) for name, folder in folders.items()}
    counts = {len(files) for files in lists.values()}
    if len(counts) != 1 or counts == {0}:
        told = ", ".join(f"{name}: {len(files)}" for name, files in lists.items())
        raise InputError(
            f"as many .npy files are needed for each input ({told})", where=str(next(iter(folders.values())).parent)
        )
    for position in range(counts.pop()):
        arrays = {name: _read(files[position]) for name, files in lists.items()}
        where = str(lists[ports[0].name][position])
        yield from _split({n: a[""] for n, a in arrays.items()}, ports, where)


def _samples_of(file: Path, ports: Sequence[Port]) -> Iterator[Arrays]:
    arrays = _read(file)
    if list(arrays) == [""] or (len(ports) == 1 and len(arrays) == 1):
        if len(ports) != 1:
            names = ", ".join(port.name for port in ports)
            raise InputError(f"is one array, the model has {len(ports)} inputs ({names})", where=str(file))
        arrays = {ports[0].name: next(iter(arrays.values()))}
    yield from _split(arrays, ports, str(file))


def _read(file: Path) -> Arrays:
    """The arrays of a file by name; the one of an .npy file is called ``""``."""
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"is no readable .npz or .npy file: {error}", where=str(file), hint="write it with numpy.savez"
        ) from error


def _split(arrays: Mapping[str, np.ndarray], ports: Sequence[Port], where: str) -> Iterator[Arrays]:
    """The samples in some arrays."""
    parts: dict[str, list[np.ndarray]] = {}
    for port in ports:
        if port.name not in arrays:
            given = ", ".join(arrays) or "none"
            raise InputError(f"input '{port.name}' is missing", where=where, hint=f"arrays in the file: {given}")
        parts[port.name] = _parts(arrays[port.name], port, where)
    counts = {name: len(items) for name, items in parts.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise InputError(f"the arrays hold different numbers of samples ({told})", where=where)
    for position in range(min(counts.values(), default=0)):
        yield {name: items[position] for name, items in parts.items()}


def _parts(array: np.ndarray, port: Port, where: str) -> list[np.ndarray]:
    """One array as samples of an input."""
    wanted = f"{port.dtype}[{', '.join(map(str, port.shape))}]"
    if array.dtype.kind not in "fiub" or (array.dtype != port.dtype and not _is_lossless(array.dtype, port.dtype)):
        raise InputError(f"input '{port.name}' is {array.dtype}, the model wants {wanted}", where=where)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"input '{port.name}' holds NaN or infinity", where=where)
    if array.size == 0 and 0 not in port.shape:
        raise InputError(f"input '{port.name}' is empty", where=where)
    array = array.astype(port.dtype)
    if _fits(array.shape, port.shape):
        return [array]
    if array.ndim == len(port.shape) + 1 and _fits(array.shape[1:], port.shape):
        return list(array)
    batch = port.shape[0] if port.shape else 0
    same_rank = array.ndim == len(port.shape) and _fits(array.shape[1:], port.shape[1:])
    if same_rank and isinstance(batch, int) and batch > 0 and array.shape[0] % batch == 0:
        return list(array.reshape(-1, batch, *array.shape[1:]))
    if array.ndim == len(port.shape) - 1 and _fits((1, *array.shape), port.shape):
        return [array[None]]
    shape = ", ".join(map(str, array.shape))
    raise InputError(f"input '{port.name}' has shape [{shape}], the model wants {wanted}", where=where)


def _is_lossless(given: np.dtype, wanted: np.dtype) -> bool:
    """float64 for float32 and integers that are wider than wanted; not integers for floats, whose scale is unknown."""
    return given.kind == wanted.kind == "f" or (given.kind in "iu" and wanted.kind in "iu" and wanted.itemsize >= 4)


def _fits(sizes: Sequence[int], shape: Sequence[int | str]) -> bool:
    return len(sizes) == len(shape) and all(
        isinstance(dim, str) or dim == size for size, dim in zip(sizes, shape, strict=True)
    )


class InputMap:
    """Which input of ``a`` is which of ``b``, and what its numbers become there."""

    def __init__(self, a: Sequence[Port], b: Sequence[Port], where: str, contract: str = "tflite-double") -> None:
        self.rounding = CONTRACTS[contract]
        names = {port.name: port for port in a}
        stems = {stem(port.name): port for port in a}
        self.pairs: list[tuple[Port, Port]] = []
        by_name = [names.get(port.name) or stems.get(stem(port.name)) for port in b]
        if len(a) != len(b) or (None in by_name and any(item is not None for item in by_name)):
            told = " and ".join(", ".join(port.name for port in ports) or "none" for ports in (a, b))
            raise InputError(f"the models have different inputs: {told}", where=where)
        for position, port in enumerate(b):
            self.pairs.append((by_name[position] or a[position], port))

    def convert(self, feed: Mapping[str, np.ndarray]) -> Arrays:
        """A sample of ``a`` as ``b`` takes it: same axes or channels moved, quantized where ``b`` wants integers."""
        return {b.name: _convert(feed[a.name], a, b, self.rounding) for a, b in self.pairs}


def _convert(array: np.ndarray, a: Port, b: Port, rounding: int) -> np.ndarray:
    if not _fits(array.shape, b.shape):
        rank = array.ndim
        orders = [(0, *range(2, rank), 1), (0, rank - 1, *range(1, rank - 1))] if rank > 2 else []
        order = next((o for o in orders if _fits([array.shape[axis] for axis in o], b.shape)), None)
        if order is None:
            shapes = [f"[{', '.join(map(str, shape))}]" for shape in (array.shape, b.shape)]
            raise InputError(f"input '{a.name}' has shape {shapes[0]}, the other model's '{b.name}' {shapes[1]}")
        array = np.ascontiguousarray(array.transpose(order))
    if a.dtype == b.dtype and (a.quant == b.quant or a.dtype.kind == "f"):
        return array
    real = to_real(array, a.quant)
    if b.quant is not None and b.dtype.kind in "iu":
        return quantize_array(real.astype(np.float32), b.quant.scale, b.quant.zero_point, b.dtype, rounding)
    return real.astype(b.dtype)
