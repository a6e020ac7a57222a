"""Calibration data: where samples come from, one at a time, so that any number of them needs constant memory.

A ``CalibrationSet`` can be read several times; each time it yields one feed after the other, a feed being an array for
each input of the model. Sources: a ``.npz`` file, a folder of ``.npy``, ``.npz``, raw or image files, or a Python
generator ``module:function``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ...errors import InputError
from ...ir import Graph, Value
from ...texts import labels_in, positions_of
from .data_remarks import DataLook
from .images import IMAGE_SUFFIXES, ImageOptions, read_image


class Feed(dict[str, np.ndarray]):
    """What the model takes in one run: an array for each input, by name."""

    samples: int = 1
    """How many samples of the data it holds."""
    is_whole: bool = False
    """Whether the data had just the shape of the first input, so that its first axis may count samples or not."""


def samples_of(feed: Mapping[str, np.ndarray]) -> int:
    return feed.samples if isinstance(feed, Feed) else 1


Arrays = dict[str, np.ndarray]
"""Arrays of one sample or several, by name of the input."""

BATCH = 16
"""Samples that are run together where the model leaves the size of the batch open."""

WANTED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
RAW_SUFFIXES = (".bin", ".raw")
ARRAY_SUFFIXES = (".npy", ".npz")


class CalibrationError(InputError):
    """Calibration data that does not fit the model, or cannot be read."""


UNNAMED = "arr_0"
"""What NumPy calls the first array of a .npz file that was saved without a name."""


@dataclass
class CalibrationSet:
    """Feeds for a graph. ``blocks`` starts reading anew and yields (where it comes from, arrays by input name); an
    array holds one sample or several, with or without the axis of the batch. Blocks in a row from one place are parts
    of the same arrays."""

    inputs: Sequence[Value]
    blocks: Callable[[], Iterator[tuple[str, Arrays]]]
    where: str
    limit: int | None = None
    """No more samples than this are read."""
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Texts, by input, of which the model takes the positions."""
    look: DataLook = field(default_factory=DataLook)
    """At the samples, when all of them were read the last time."""

    def __iter__(self) -> Iterator[Feed]:
        """Raises CalibrationError for what does not fit: names, types, shapes, NaN, infinities, no samples at all."""
        look = DataLook()
        count, before, offset, height = 0, "", 0, 0
        for place, arrays in self.blocks():
            named = self._numbers(self._named(place, arrays))
            offset = offset + height if place == before else 0
            before, height = place, max((array.shape[0] for array in named.values() if array.ndim), default=0)
            for feed in _feeds(named, self.inputs, place, offset):
                if not all(array.dtype.kind != "f" or np.all(np.isfinite(array)) for array in feed.values()):
                    _refuse_not_finite(named, self.inputs, place, offset)
                if self.limit is not None and count + feed.samples > self.limit:
                    if all(value.shape and isinstance(value.shape[0], str) for value in self.inputs):
                        feed = _first(feed, self.limit - count)
                    elif count:
                        self.look = look
                        return
                look.see(feed, feed.samples)
                yield feed
                count += feed.samples
                if self.limit is not None and count >= self.limit:
                    self.look = look
                    return
        if not count:
            raise CalibrationError("there is no calibration sample", where=self.where, hint="one is the least")
        self.look = look

    def _named(self, place: str, arrays: Arrays) -> Arrays:
        """The arrays under the names of inputs; an only one may have the name that NumPy gives arrays without one."""
        wanted = [value.name for value in self.inputs]
        if len(wanted) == 1 and list(arrays) == [UNNAMED]:
            return {wanted[0]: arrays[UNNAMED]}
        _require_inputs(wanted, arrays, arrays, place)
        return {name: arrays[name] for name in wanted}

    def _numbers(self, arrays: Arrays) -> Arrays:
        """The arrays, with positions in place of texts."""
        return {
            name: positions_of(array, self.labels[name]) if array.dtype.kind == "U" and name in self.labels else array
            for name, array in arrays.items()
        }


def _require_inputs(wanted: Sequence[str], found: Collection[str], held: Collection[str], place: object) -> None:
    missing = [name for name in wanted if name not in found]
    if missing:
        raise CalibrationError(
            f"there is no data for input '{missing[0]}'",
            where=str(place),
            hint=f"the model wants {', '.join(wanted)}; given: {', '.join(held) or 'nothing'}",
        )


def open_calibration(
    source: str | Path | Callable[[], Iterable[Any]] | Iterable[Any],
    graph: Graph,
    images: ImageOptions | None = None,
    limit: int | None = None,
) -> CalibrationSet:
    """The calibration set of a model. ``source``: a path, ``module:function``, a function that returns an iterable, or
    a list of samples. A sample of a function or list is a dict by input name, a sequence in the order of the inputs, or
    an array where the model has one input.

    Texts count as their positions in the labels of the input (``microlith/texts.py``).

    Raises CalibrationError when there is no such source; what is wrong with its data shows when it is read.
    """
    found = _opened(source, list(graph.inputs), images, limit)
    found.labels = labels_in(graph.metadata)
    return found


def _opened(
    source: str | Path | Callable[[], Iterable[Any]] | Iterable[Any],
    inputs: Sequence[Value],
    images: ImageOptions | None,
    limit: int | None,
) -> CalibrationSet:
    if isinstance(source, str) and not source.strip():
        raise CalibrationError("the name of the data is empty", hint="a .npz file, a folder, or module:function")
    if images is not None and images != ImageOptions() and not _holds_pictures(source):
        raise CalibrationError(
            "there are no pictures that --mean, --std, --resize, … could prepare",
            where=str(source) if isinstance(source, str | Path) else "samples",
            hint="arrays and raw files are taken as they are: prepare them as the model gets them later",
        )
    if callable(source):
        name = getattr(source, "__name__", "function")
        return CalibrationSet(inputs, lambda: _from_function(source, inputs, name), name, limit)
    if not isinstance(source, str | Path):
        samples = [source] if isinstance(source, np.ndarray) else list(source)
        return CalibrationSet(inputs, lambda: _from_samples(samples, inputs, "sample"), "samples", limit)
    text, path = str(source), Path(source)
    if not path.exists() and _names_function(text):
        function = _load_function(text)
        return CalibrationSet(inputs, lambda: _from_function(function, inputs, text), text, limit)
    if path.is_dir():
        return CalibrationSet(inputs, _folder(path, inputs, images or ImageOptions()), text, limit)
    if not path.exists():
        hint = "a .npz file, a folder, or module:function"
        if ".py" in text:
            hint = "a function is named by its module, as in samples:function for samples.py in this folder"
        raise CalibrationError("no such file or folder", where=text, hint=hint)
    reader = _reader(path, inputs, images or ImageOptions())
    if reader is None:
        raise CalibrationError(
            "is no calibration data",
            where=text,
            hint="a .npz or .npy file, a folder of .npy, .npz, .bin or images, or module:function",
        )
    return CalibrationSet(inputs, reader, text, limit)


def _holds_pictures(source: object) -> bool:
    """Whether a source is a picture or a folder with some; what is not there at all is told later."""
    if not isinstance(source, str | Path):
        return False
    path = Path(source)
    if path.is_dir():
        return any(file.suffix.lower() in IMAGE_SUFFIXES for file in path.rglob("*"))
    return path.suffix.lower() in IMAGE_SUFFIXES or (not path.exists() and not _names_function(str(source)))


# Functions


def _names_function(text: str) -> bool:
    module, separator, name = text.rpartition(":")
    return bool(separator) and name.isidentifier() and all(part.isidentifier() for part in module.split("."))


def _load_function(text: str) -> Callable[[], Iterable[Any]]:
    module, _, name = text.rpartition(":")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise CalibrationError(
            f"cannot import '{module}': {error}", where=text, hint=_import_hint(module, folder, error)
        ) from error
    except Exception as error:  # whatever the user's module does
        raise CalibrationError(f"'{module}' fails: {type(error).__name__}: {error}", where=text) from error
    finally:
        sys.path.remove(folder)
    function = getattr(loaded, name, None)
    if not callable(function):
        known = [key for key, item in vars(loaded).items() if inspect.isfunction(item) and item.__module__ == module]
        hint = f"it has {', '.join(known)}" if known else ""
        raise CalibrationError(f"'{module}' has no function '{name}'", where=text, hint=hint)
    if any(
        parameter.default is parameter.empty and parameter.kind in WANTED
        for parameter in inspect.signature(function).parameters.values()
    ):
        raise CalibrationError(f"'{name}' wants arguments; it is called without", where=text)
    result: Callable[[], Iterable[Any]] = function
    return result


def _import_hint(module: str, folder: str, error: ImportError) -> str:
    parts = module.split(".")
    if len(parts) > 1 and parts[-1] == "py":
        return f"write the module without .py, as in {'.'.join(parts[:-1])}:function"
    if error.name is not None and module != error.name and not module.startswith(f"{error.name}."):
        return f"'{module}' was found and wants '{error.name}': is that installed for this Python?"
    return f"there is no {'/'.join(parts)}.py in {folder}, and no installed package of that name"


def _from_function(
    function: Callable[[], Iterable[Any]], inputs: Sequence[Value], where: str
) -> Iterator[tuple[str, Arrays]]:
    """What a function returns or yields; a dict is one block of samples."""
    try:
        samples = function()
    except CalibrationError:
        raise
    except Exception as error:  # whatever the user's function does
        raise CalibrationError(f"fails: {type(error).__name__}: {error}", where=where) from error
    if isinstance(samples, Mapping) or (isinstance(samples, np.ndarray) and samples.ndim):
        samples = [samples]  # one block
    if isinstance(samples, str | bytes) or not isinstance(samples, Iterable) or getattr(samples, "ndim", 1) == 0:
        returned = "None" if samples is None else f"{samples!r:.40} of type {type(samples).__name__}"
        raise CalibrationError(f"the function returned {returned}, no samples", where=where, hint=SAMPLES_HINT)
    yield from _from_samples(samples, inputs, where)


SAMPLES_HINT = "`yield` each sample, or `return` a list of them: arrays, or dicts of arrays by input name"


def _as_array(sample: Any, place: str) -> np.ndarray:
    try:
        array = np.asarray(sample)
    except Exception as error:  # lists of unequal lengths, and what does not turn into an array
        raise CalibrationError(f"is no array: {error}", where=place, hint=SAMPLES_HINT) from error
    if array.dtype.kind not in "fiubU" or (array.dtype.kind == "U" and isinstance(sample, str)):
        raise CalibrationError(f"is {type(sample).__name__}, no array of numbers", where=place, hint=SAMPLES_HINT)
    return array


def _holds_arrays(sample: object) -> bool:
    """Whether a sample is a sequence of arrays, one for each input, and not numbers that are an array."""
    if not isinstance(sample, tuple | list):
        return False
    lists = (tuple, list) if isinstance(sample, tuple) else ()
    return any(getattr(item, "ndim", 0) or isinstance(item, lists) for item in sample)


def _from_samples(samples: Iterable[Any], inputs: Sequence[Value], where: str) -> Iterator[tuple[str, Arrays]]:
    names = [value.name for value in inputs]
    iterator = iter(samples)
    for number in range(sys.maxsize):
        place = f"{where}[{number}]"
        try:
            sample = next(iterator)
        except StopIteration:
            return
        except CalibrationError:
            raise
        except Exception as error:  # whatever the user's generator does
            raise CalibrationError(f"fails: {type(error).__name__}: {error}", where=place) from error
        if isinstance(sample, Mapping):
            yield place, {str(name): _as_array(array, place) for name, array in sample.items()}
        elif _holds_arrays(sample) or (isinstance(sample, tuple | list) and len(names) > 1):
            if len(sample) != len(names):
                raise CalibrationError(
                    f"has {len(sample)} array{'s' if len(sample) != 1 else ''}, the model has {len(names)} "
                    f"input{'s' if len(names) != 1 else ''}: {', '.join(names)}",
                    where=place,
                    hint="yield the inputs alone, without labels, and each sample by itself",
                )
            yield place, {name: _as_array(array, place) for name, array in zip(names, sample, strict=True)}
        else:
            yield place, {names[0]: _as_array(sample, place)}


# Files


def _reader(
    path: Path, inputs: Sequence[Value], images: ImageOptions
) -> Callable[[], Iterator[tuple[str, Arrays]]] | None:
    """How one file is read; None for a file that is no data."""
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return lambda: _from_npz(path, inputs)
    first = inputs[0]
    if suffix == ".npy":
        return lambda: iter([(str(path), {first.name: _load_npy(path)})])
    if suffix in RAW_SUFFIXES:
        return lambda: iter([(str(path), {first.name: _load_raw(path, first)})])
    if suffix in IMAGE_SUFFIXES:
        return lambda: iter([(str(path), {first.name: read_image(path, first, images)})])
    return None


def _folder(path: Path, inputs: Sequence[Value], images: ImageOptions) -> Callable[[], Iterator[tuple[str, Arrays]]]:
    """Files in alphabetical order; for several inputs a folder for each, with equally many files, or .npz files."""
    folders = [path / value.name.replace("/", "_") for value in inputs]
    if all(folder.is_dir() for folder in folders):
        lists = [_files(folder) for folder in folders]
        for folder, files in zip(folders, lists, strict=True):
            if len(files) != len(lists[0]):
                raise CalibrationError(
                    f"holds {len(files)} files, '{folders[0].name}' {len(lists[0])}", where=str(folder)
                )

        def side_by_side() -> Iterator[tuple[str, Arrays]]:
            for files in zip(*lists, strict=True):
                feed: Arrays = {}
                for value, file in zip(inputs, files, strict=True):
                    reader = _reader(file, [value], images)
                    assert reader is not None
                    parts = [array for _, arrays in reader() for array in arrays.values()]
                    feed[value.name] = parts[0] if len(parts) == 1 else np.concatenate(parts)
                yield str(files[0]), feed

        return side_by_side
    files = _files(path)
    if len(inputs) > 1 and any(file.suffix.lower() != ".npz" for file in files):
        missing = next(folder.name for folder in folders if not folder.is_dir())
        raise CalibrationError(
            f"the model has {len(inputs)} inputs and there is no folder '{missing}'",
            where=str(path),
            hint="one folder of files for each input, named as it is, or .npz files",
        )

    def one_by_one() -> Iterator[tuple[str, Arrays]]:
        for file in files:
            reader = _reader(file, inputs, images)
            assert reader is not None
            yield from reader()

    return one_by_one


def _files(folder: Path) -> list[Path]:
    known = (*ARRAY_SUFFIXES, *RAW_SUFFIXES, *IMAGE_SUFFIXES)
    files = sorted(
        file
        for file in folder.rglob("*")
        if file.is_file() and file.suffix.lower() in known and not file.name.startswith(".")
    )
    if not files:
        raise CalibrationError(
            "the folder holds no data", where=str(folder), hint=f"files that end in {', '.join(known)}"
        )
    return files


def _load_npy(path: Path) -> np.ndarray:
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # NumPy raises many types on a damaged file
        raise CalibrationError(npy_problem(path, error), where=str(path), hint="np.save writes such files") from error


def npy_problem(path: Path, error: Exception) -> str:
    """Why NumPy does not read a file, without its advice to unpickle what anybody may have written."""
    if path.stat().st_size == 0:
        return "is empty"
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            return "is no .npy file, whatever its name says"
    return "holds Python objects, no numbers" if "object" in str(error).lower() else f"is a damaged .npy file: {error}"


def _load_raw(path: Path, value: Value) -> np.ndarray:
    dims = [dim for dim in value.shape[1:] if isinstance(dim, int)]
    if len(dims) != len(value.shape[1:]):
        raise CalibrationError(
            f"raw files need a known shape; input '{value.name}' is {value.type}", where=str(path), hint="give --input"
        )
    data = np.fromfile(path, value.dtype.numpy)
    one = int(np.prod(dims, dtype=np.int64))
    if not data.size or path.stat().st_size % (one * value.dtype.size):
        raise CalibrationError(
            f"holds {path.stat().st_size} bytes; a sample of '{value.name}' has {one * value.dtype.size}",
            where=str(path),
        )
    return data.reshape(-1, *dims)


def _from_npz(path: Path, inputs: Sequence[Value]) -> Iterator[tuple[str, Arrays]]:
    """Some samples at a time, read from the archive as they are needed."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist()}
            wanted = [value.name for value in inputs]
            if len(wanted) > 1 or list(members) != [UNNAMED]:
                held, members = members, {name: file for name, file in members.items() if name in wanted}
                _require_inputs(wanted, members, held, path)
            streams = {name: _Member(archive, file) for name, file in members.items()}
            counts = {name: stream.shape[0] if stream.shape else 1 for name, stream in streams.items()}
            if not streams or min(counts.values()) == 0 or any(stream.whole for stream in streams.values()):
                yield str(path), {name: stream.rest() for name, stream in streams.items()}
                return
            sizes = {value.name: value.shape for value in inputs}
            complete = any(
                tuple(stream.shape) == tuple(sizes.get(name, ())) or len(stream.shape) < len(sizes.get(name, (0,)))
                for name, stream in streams.items()
            )
            if complete or len(set(counts.values())) > 1:
                yield str(path), {name: stream.rest() for name, stream in streams.items()}
                return
            fixed = [value.shape[0] for value in inputs if value.shape and isinstance(value.shape[0], int)]
            step = BATCH * max([1, *fixed])
            for _ in range(0, next(iter(counts.values())), step):
                yield str(path), {name: stream.take(step) for name, stream in streams.items()}
    except CalibrationError:
        raise
    except Exception as error:  # zipfile and NumPy raise many types on a damaged archive
        raise CalibrationError(f"is a damaged .npz file: {error}", where=str(path)) from error


class _Member:
    """An array of an archive, read from the front."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._file = archive.open(name)
        version = np.lib.format.read_magic(self._file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        self.shape, self.whole, self.dtype = read(self._file)
        if self.dtype.hasobject:
            raise ValueError("it holds Python objects")
        self._left = self.shape[0] if self.shape else 1

    def take(self, count: int) -> np.ndarray:
        count = min(count, self._left)
        self._left -= count
        shape = (count, *self.shape[1:])
        data = self._file.read(int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize)
        return np.frombuffer(data, self.dtype).reshape(shape)

    def rest(self) -> np.ndarray:
        data = np.frombuffer(self._file.read(), self.dtype)
        return data.reshape(self.shape, order="F" if self.whole else "C")


# From arrays to feeds


def _feeds(arrays: Arrays, inputs: Sequence[Value], place: str, offset: int) -> Iterator[Feed]:
    """Splits blocks of samples into what the model takes in one run; ``offset`` samples came before in the array."""
    parts = {value.name: _split(_typed(arrays[value.name], value, place), value, place, offset) for value in inputs}
    first = inputs[0]
    is_whole = _fits(arrays[first.name].shape, first.shape) and all(isinstance(dim, int) for dim in first.shape[:1])
    is_joined = not is_whole and _fits(arrays[first.name].shape[1:], first.shape[1:])
    counts = {name: len(part) for name, part in parts.items()}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"'{name}' {count}" for name, count in counts.items())
        raise CalibrationError(f"the inputs have different numbers of samples: {text}", where=place)
    for index in range(next(iter(counts.values()), 0)):
        feed = Feed({name: np.asarray(part[index], order="C") for name, part in parts.items()})
        feed.is_whole, feed.samples = is_whole, feed[first.name].shape[0] if is_joined else 1
        yield feed


def _first(feed: Feed, samples: int) -> Feed:
    cut = Feed({name: array[:samples] for name, array in feed.items()})
    cut.samples = samples
    return cut


def _fits(given: Sequence[int], wanted: Sequence[int | str]) -> bool:
    return len(given) == len(wanted) and all(
        isinstance(dim, str) or dim == size for size, dim in zip(given, wanted, strict=True)
    )


def _typed(array: np.ndarray, value: Value, place: str) -> np.ndarray:
    wanted = np.dtype(value.dtype.numpy)
    if array.dtype == wanted:
        return array
    if array.dtype.kind == wanted.kind == "f":
        return array.astype(wanted)
    if array.dtype.kind in "iub" and wanted.kind in "iu":
        converted = array.astype(wanted)
        if np.array_equal(converted, array):
            return converted
    raise CalibrationError(
        f"the data for input '{value.name}' is {array.dtype}, the model wants {wanted}",
        where=place,
        hint="prepare samples exactly as the model gets them later: same type, scale and mean",
    )


def _split(array: np.ndarray, value: Value, place: str, offset: int) -> list[np.ndarray]:
    shape = value.shape
    if _fits(array.shape, shape) and (not shape or isinstance(shape[0], int)):
        return [array]
    if shape and _fits(array.shape[1:], shape[1:]):
        size = shape[0] if isinstance(shape[0], int) else min(BATCH, max(array.shape[0], 1))
        if isinstance(shape[0], str) or array.shape[0] % size == 0:
            return [array[start : start + size] for start in range(0, array.shape[0], size)]
        raise CalibrationError(
            f"input '{value.name}' takes {size} samples at a time and there are {offset + array.shape[0]}",
            where=place,
        )
    if _fits(array.shape[1:], shape):
        return list(array)
    if shape and shape[0] in (1, *(dim for dim in shape[:1] if isinstance(dim, str))) and _fits(array.shape, shape[1:]):
        return [array[None]]
    text = ",".join(map(str, shape))
    raise CalibrationError(
        f"the data for input '{value.name}' has shape [{','.join(map(str, array.shape))}], the model wants [{text}]",
        where=place,
        hint=f"[samples,{','.join(map(str, shape[1:]))}] fits too" if len(shape) > 1 else "",
    )


def _refuse_not_finite(arrays: Arrays, inputs: Sequence[Value], place: str, offset: int) -> NoReturn:
    """Names the first NaN or infinity by its index in the whole array, which these blocks are a part of."""
    for value in inputs:
        array = _typed(arrays[value.name], value, place)
        if array.dtype.kind != "f" or np.all(np.isfinite(array)):
            continue
        first = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        kind = "NaN" if np.isnan(array[first]) else "infinity"
        index = [first[0] + offset, *first[1:]] if first else []
        raise CalibrationError(
            f"the data for input '{value.name}' holds {kind} at {index}",
            where=place,
            hint="calibration needs real numbers; the index counts in the array as it is given",
        )
    raise AssertionError("a feed of finite arrays is finite")
