"""Labels of calibration samples: what the outputs are worth when the model tells classes apart.

The class of a sample is where its first output that holds real numbers is largest.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError

Outputs = Sequence[Mapping[str, np.ndarray]]


def load_labels(source: Any) -> np.ndarray:
    """[samples] int64. ``source``: integers, or the path of a ``.npy`` file, of a ``.npz`` file (its ``labels``, or
    what NumPy calls ``arr_0``), or of a text file with a class on each line.

    Raises InputError for what cannot be read or holds no classes.
    """
    where = str(source) if isinstance(source, str | Path) else "labels"
    array = _read(Path(source), where) if isinstance(source, str | Path) else np.asarray(source)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise InputError(
            f"labels must be a list of integers; these are {array.dtype} of shape {list(array.shape)}",
            where=where,
            hint="one class for each calibration sample, counted from 0",
        )
    if array.min() < 0:
        raise InputError(f"label {int(array.min())} is negative: classes count from 0", where=where)
    return array.astype(np.int64)


def _read(path: Path, where: str) -> np.ndarray:
    if not path.is_file():
        what = "is a folder; labels are a file" if path.is_dir() else "no such file"
        raise InputError(what, where=where, hint="a .npy, .npz or text file with one class for each sample")
    try:
        if path.suffix.lower() == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        if path.suffix.lower() == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                names = archive.files
                if "labels" not in names and names != ["arr_0"]:
                    raise InputError(f"holds no array 'labels', but {', '.join(names) or 'nothing'}", where=where)
                return np.asarray(archive["labels" if "labels" in names else "arr_0"])
        return _parsed(path.read_text("utf-8"), where)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot be read as labels: {error}", where=where) from error


def _parsed(text: str, where: str) -> np.ndarray:
    """[samples] int64: the numbers of a text, one on each line; empty lines at its end do not count."""
    found = []
    for number, line in enumerate(text.rstrip().splitlines(), 1):
        try:
            found.append(int(line))
        except ValueError:
            raise InputError(
                f"line {number} is {line.strip()[:40]!r}, not a class", where=where, hint="one integer on each line"
            ) from None
    return np.asarray(found, np.int64)


def labels_for(labels: np.ndarray, outputs: Outputs, complete: bool) -> np.ndarray:
    """The labels of the samples that gave these outputs: all of them (``complete``), or the first.

    Raises InputError where labels and samples are not equally many, and for classes that the model does not have.
    """
    samples, classes = classes_of(outputs).shape
    if labels.size < samples or (complete and labels.size > samples):
        raise InputError(f"{labels.size} labels for {samples} samples", where="labels", hint="one for each sample")
    if labels.max() >= classes:
        raise InputError(f"label {int(labels.max())}, but the model tells {classes} classes apart", where="labels")
    return labels[:samples]


def classes_of(outputs: Outputs) -> np.ndarray:
    """[samples, classes]: the first output of real numbers, samples one after the other."""
    name = next((key for key, array in outputs[0].items() if array.dtype.kind == "f" and array.ndim), None)
    if name is None:
        raise InputError("labels are for a model with an output of real numbers", hint="leave --labels out")
    return np.concatenate([run[name].reshape(run[name].shape[0] if run[name].ndim > 1 else 1, -1) for run in outputs])


def accuracy(labels: np.ndarray, outputs: Outputs) -> float:
    """The share of samples, 0 to 1, whose class is found."""
    return float(np.mean(np.argmax(classes_of(outputs), axis=-1) == labels))
