"""Labels of calibration samples: what the outputs are worth when the model tells classes apart.

The class of a sample is where its first output that holds real numbers is largest. An output that tells classes at
several positions (steps of a sequence, pixels) needs a label for each of them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from .calibration_data import Feed, npy_problem

Outputs = Sequence[Mapping[str, np.ndarray]]


def load_labels(source: Any) -> np.ndarray:
    """[samples] or [samples, positions, ...] int64. ``source``: integers, or the path of a ``.npy`` file, of a ``.npz``
    file (its ``labels``, or what NumPy calls ``arr_0``), or of a text file with a class on each line.

    Raises InputError for what cannot be read or holds no classes.
    """
    where = str(source) if isinstance(source, str | Path) else "labels"
    array = _read(Path(source), where) if isinstance(source, str | Path) else np.asarray(source)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim > 1:
        array = array.reshape(array.shape[0], *(size for size in array.shape[1:] if size != 1))
    if array.ndim < 1 or array.size == 0 or array.dtype.kind not in "iu":
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
            return _read_npy(path, where)
        if path.suffix.lower() == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                names = archive.files
                if "labels" not in names and names != ["arr_0"]:
                    raise InputError(f"holds no array 'labels', but {', '.join(names) or 'nothing'}", where=where)
                return np.asarray(archive["labels" if "labels" in names else "arr_0"])
        return _parsed(path.read_text("utf-8"), where)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot be read as labels: {error}", where=where) from error


def _read_npy(path: Path, where: str) -> np.ndarray:
    try:
        with path.open("rb") as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except Exception as error:  # NumPy raises many types on a damaged file
        raise InputError(npy_problem(path, error), where=where, hint="np.save writes such files") from error


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


@dataclass(frozen=True)
class Labelled:
    """The labels of the samples that some feeds hold."""

    labels: np.ndarray
    """[samples] or [samples, positions, ...] int64."""
    counts: Sequence[int]
    """Samples of each feed."""

    def accuracy(self, outputs: Outputs, moved: int = 0) -> float:
        """The share of samples (or of their positions), 0 to 1, whose class is found; ``moved`` is added to labels."""
        right, start = 0, 0
        for run, count in zip(outputs, self.counts, strict=True):
            wanted = self.labels[start : start + count]
            found = _scores(_told(run), count, wanted.shape[1:]).argmax(axis=-1)
            right, start = right + int(np.sum(found == wanted + moved)), start + count
        return right / max(self.labels[:start].size, 1)

    def remark(self, outputs: Outputs) -> str | None:
        """What is wrong with labels that the model in floating point, which gave these outputs, finds no better than
        by chance."""
        share = self.accuracy(outputs)
        first = _scores(_told(outputs[0]), self.counts[0], self.labels.shape[1:])
        if share > 1.0 / first.shape[-1]:
            return None
        text = f"the model in floating point finds {100 * share:.3g}% of the labels"
        better, moved = max((self.accuracy(outputs, moved), moved) for moved in (-1, 1))
        if better > max(0.5, share):
            return f"{text}, and {100 * better:.3g}% of them with {moved:+d}: classes count from 0"
        return f"{text}, no more than chance: are they of these samples, in their order, and of the model's classes?"


def labels_for(labels: np.ndarray, outputs: Outputs, feeds: Sequence[Feed], complete: bool) -> Labelled:
    """The labels of the samples in some feeds, which gave these outputs: all of them (``complete``), or the first.

    Samples are those of the data: a feed has several where the model takes a batch. Raises InputError where labels and
    samples are not equally many, for outputs that tell no class for each of them, and for classes that the model does
    not have.
    """
    told = [_told(run) for run in outputs]
    counts = [_count(feed, array, labels.ndim == 1) for feed, array in zip(feeds, told, strict=True)]
    samples = sum(counts)
    if len(labels) < samples or (complete and len(labels) > samples):
        raise InputError(f"{len(labels)} labels for {samples} samples", where="labels", hint="one for each sample")
    classes = min(_scores(a, count, labels.shape[1:]).shape[-1] for a, count in zip(told, counts, strict=True))
    if labels.max() >= classes:
        raise InputError(f"label {int(labels.max())}, but the model tells {classes} classes apart", where="labels")
    return Labelled(labels[:samples], counts)


def _told(run: Mapping[str, np.ndarray]) -> np.ndarray:
    """The first output of real numbers."""
    array = next((array for array in run.values() if array.dtype.kind == "f" and array.ndim), None)
    if array is None:
        raise InputError("labels are for a model with an output of real numbers", hint="leave --labels out")
    return array


def _count(feed: Feed, array: np.ndarray, is_flat: bool) -> int:
    """How many samples a feed holds. The data says so; where it was one array of just the model's shape the output
    does: a row for each, or one for all."""
    rows = array.shape[0]
    if feed.samples > 1 and rows == 1:
        return 1
    if feed.is_whole and is_flat and rows == next(iter(feed.values())).shape[0]:
        return rows
    return feed.samples


def _scores(array: np.ndarray, count: int, positions: tuple[int, ...]) -> np.ndarray:
    """[count, positions, ..., classes] of an output for so many samples."""
    if count > 1 and array.shape[0] != count:
        raise InputError(
            f"the output has shape {list(array.shape)} for {count} samples: its first axis must count them",
            where="labels",
        )
    whole = (array if count > 1 or array.shape[0] == 1 else array[None]).shape[1:]
    sizes = tuple(size for size in whole if size != 1) or (1,)
    scores = array.reshape(count, *sizes)
    if sizes[:-1] == positions:
        return scores
    if sizes[1:] == positions:
        return np.moveaxis(scores, 1, -1)
    if not positions:
        raise InputError(
            f"the output has shape {list(array.shape)}: it tells classes at several positions of a sample",
            where="labels",
            hint=f"labels of shape [samples,{','.join(map(str, sizes[:-1]))}], or an output of one row for each sample",
        )
    raise InputError(
        f"labels of shape [samples,{','.join(map(str, positions))}] do not fit an output of {list(array.shape)}",
        where="labels",
    )
