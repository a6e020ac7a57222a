"""What the commands share: consoles, option types, number formats, and opening of models."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from microlith.errors import InputError, MicrolithError
from microlith.regions import MemoryRegion, check_regions, parse_region
from microlith.size_ranges import Size, SizeRange

from .constants import parse_constants

if TYPE_CHECKING:
    from microlith.ir import Graph

_PIPE_WIDTH = 160
"""Columns where there is no terminal: enough that tables are not cut."""

console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, emoji=False)
error_console = Console(stderr=True, soft_wrap=True, emoji=False)

ForeignArgument = Annotated[Path, typer.Argument(help="The model: .onnx or .tflite.", show_default=False)]
ModelArgument = Annotated[Path, typer.Argument(help="The model: .onnx, .tflite or .lith.", show_default=False)]
LithArgument = Annotated[Path, typer.Argument(help="A .lith file.", show_default=False)]
ShapeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="NAME:DIMS",
        help="Fix an input's shape (x:1,3,224,224) or a size (batch:1), or give a range of sizes (x:1,3,32..64,32..64, "
        "seq:1..128; height:32..640:32 in steps of 32). Repeatable.",
    ),
]
RegionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--region",
        metavar="NAME:SIZE[:WORDS]",
        help="A memory of the chip, such as dtcm:64K:fast, sram:320K, flash:1M or qspi:8M:slow. Repeatable; tensors "
        "and constants lie where their accesses cost least.",
    ),
]
RunShapeOption = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", metavar="NAME:DIMS", help="Choose an input's shape where it is open. Repeatable."),
]
InputLayoutOption = Annotated[
    str,
    typer.Option(
        "--input-layout",
        metavar="LAYOUT",
        help="How inputs that are images lie in memory: keep (as in the model), nhwc (channels last, as cameras "
        "deliver them, where the model has them first).",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


_NAME_AND_SIZES = re.compile(r"(.+?):((?:\d+(?:\.\.\d+(?::\d+)?)?)(?:,\d+(?:\.\.\d+(?::\d+)?)?)*)")
"""A name, in which there may be colons as well, and sizes."""


def parse_shapes(options: Sequence[str] | None) -> dict[str, tuple[Size, ...]]:
    """``["x:1,3,1..224"]`` as ``{"x": (1, 3, SizeRange(1, 224))}``; InputError for anything else."""
    shapes: dict[str, tuple[Size, ...]] = {}
    for option in options or ():
        found = _NAME_AND_SIZES.fullmatch(option)
        name, separator, dims = (found[1], ":", found[2]) if found else option.rpartition(":")
        try:
            shape = tuple(_size(dim) for dim in dims.split(",")) if dims else ()
        except ValueError:
            shape = (-1,)
        except InputError as error:
            raise InputError(f"--input {option}: {error.what}", hint=error.hint) from error
        if ".." in name.partition(":")[2] or (shape == (-1,) and ".." in dims):
            raise InputError(
                f"--input {option}: this is no range",
                hint="a range is LOW..HIGH or LOW..HIGH:STEP, for instance --input h:32..320:32",
            )
        if not separator or not name or any(isinstance(dim, int) and dim < 0 for dim in shape):
            raise InputError(
                f"--input {option}: expected NAME:DIMS", hint="for instance --input x:1,3,224,224 or --input seq:1..128"
            )
        if name in shapes:
            raise InputError(f"--input {option}: input '{name}' is given twice")
        shapes[name] = shape
    return shapes


def parse_run_shapes(options: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """As ``parse_shapes``, for a run, which wants numbers."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, sizes in parse_shapes(options).items():
        shapes[name] = tuple(size for size in sizes if isinstance(size, int))
        if len(shapes[name]) < len(sizes):
            raise InputError(f"--input {name}: a run wants one size, not a range")
    return shapes


def _size(text: str) -> Size:
    """``"64"``, ``"1..128"`` or ``"32..640:32"``; ValueError for anything else."""
    found = SizeRange.parse(text)
    return int(text) if found is None else found


def existing(path: Path) -> Path:
    """The path, if a readable file stands there; InputError otherwise."""
    if path.is_dir():
        raise InputError("is a folder, not a file", where=str(path))
    if not path.exists():
        raise InputError("no such file", where=str(path), hint="check the path")
    try:
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    return path


def open_graph(
    path: Path,
    shapes: Sequence[str] | None = None,
    constants: Sequence[str] | None = None,
    input_layout: str = "keep",
) -> Graph:
    """A finished graph from any model file: a .lith file is read, others are converted in memory."""
    from microlith import modelfile

    if is_lith(path):
        options = {"--constant": bool(constants), "--input-layout": input_layout != "keep"}
        for option in (name for name, is_given in options.items() if is_given):
            hint = "give it to 'microlith convert' with the original model"
            raise InputError(
                f"{option} is for .onnx and .tflite models; a .lith file is finished", where=str(path), hint=hint
            )
        graph = modelfile.load(path)
        _choose_sizes(graph, parse_shapes(shapes), str(path))
        return graph
    return convert_with_progress(
        path, parse_shapes(shapes), constants=parse_constants(constants), input_layout=input_layout
    )


def _choose_sizes(graph: Graph, given: dict[str, tuple[Size, ...]], where: str) -> None:
    """Sizes and ranges for what a finished graph left open."""
    inputs = {value.name: value.shape for value in graph.inputs}
    symbols = sorted({dim for shape in inputs.values() for dim in shape if isinstance(dim, str)})
    for name, sizes in given.items():
        dims = inputs.get(name, (name,) if name in symbols else ())
        fits = len(sizes) == len(dims) and all(isinstance(a, str) or a == b for a, b in zip(dims, sizes, strict=True))
        if not fits:
            raise InputError(
                f"--input {name}:{','.join(map(str, sizes))} does not fit: the sizes that it leaves open are "
                f"{', '.join(symbols) or 'none'}",
                where=where,
                hint="convert the original model again with --input",
            )
        for dim, size in zip(dims, sizes, strict=True):
            if isinstance(dim, str):
                wanted = size if isinstance(size, SizeRange) else SizeRange(size, size)
                allowed = graph.ranges.get(dim, wanted)
                if not allowed.holds(wanted):
                    raise InputError(f"--input {name}: the model takes '{dim}' from {allowed}", where=where)
                graph.ranges[dim] = wanted


def is_lith(path: Path) -> bool:
    """Whether a file is a .lith file, by its identifier or, failing that, by its name."""
    return has_identifier(path) or path.suffix == ".lith"


def has_identifier(path: Path) -> bool:
    """Whether a file begins as a .lith file does."""
    from microlith.modelfile import IDENTIFIER

    with existing(path).open("rb") as file:
        return file.read(8)[4:] == IDENTIFIER


def convert_with_progress(path: Path, shapes: dict[str, tuple[Size, ...]], **options: Any) -> Graph:
    """Runs the converter under a progress bar."""
    from microlith import convert

    with progress_bar(f"convert {path.name}") as advance:
        return convert(existing(path), inputs=shapes or None, progress=advance, **options)


@contextmanager
def progress_bar(label: str) -> Iterator[Any]:
    """A bar on the terminal that goes away; yields ``advance(done, total, text)``."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=error_console, transient=True
    )
    with bar:
        task = bar.add_task(label, total=None)

        def advance(done: int, total: int | None = None, text: str = "") -> None:
            bar.update(task, completed=done, total=total, description=f"{label}: {text}" if text else label)

        yield advance


@contextmanager
def late_progress_bar(label: str, seconds: float = 3.0) -> Iterator[Any]:
    """``progress_bar`` for what rarely takes long: it appears at the first ``advance`` after some seconds."""
    begin = time.monotonic()
    with ExitStack() as stack:
        shown: Any = None

        def advance(done: int, total: int | None = None, text: str = "") -> None:
            nonlocal shown
            if shown is None and time.monotonic() - begin >= seconds:
                shown = stack.enter_context(progress_bar(label))
            if shown is not None:
                shown(done, total, text)

        yield advance


def print_inputs(graph: Graph) -> None:
    """What a model takes now, where an option has changed it."""
    for value in graph.inputs:
        order = " (rows, columns, channels)" if len(value.shape) == 4 else ""
        console.print(f"input '{value.name}' takes {value.type}{order}", highlight=False, markup=False)


def print_json(data: Any) -> None:
    """Strict JSON on standard output."""
    typer.echo(json.dumps(data, indent=2, default=_plain))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value)} in JSON output")


def bytes_text(size: int) -> str:
    """``1536`` as ``1.5 KiB``."""
    if size < 1024:
        return f"{size} B"
    if size < 1 << 20:
        return f"{size / 1024:.1f} KiB"
    return f"{size / (1 << 20):.2f} MiB"


def print_float_layers(layers: Sequence[dict[str, Any]], has_integers: bool) -> None:
    """What stays in floating point in a model of integers, and why; nothing for other models."""
    if has_integers and not layers:
        console.print("all layers compute in integers", highlight=False)
    if layers:
        console.print(f"{plural(len(layers), 'layer')} in floating point:", highlight=False)
        for layer in layers:
            text = f"  {layer['op']} '{layer['name']}': {layer['reason']}"
            console.print(text, highlight=False, markup=False)


def print_not_finite(found: Sequence[object]) -> None:
    """A note for constants with NaN or infinity, as ``not_finite`` finds them."""
    if found:
        shown, more = found[:3], len(found) - 3
        names = ", ".join(map(str, shown)) + (f", and {more} more" if more > 0 else "")
        text = f"[bold]note[/bold]: weights hold NaN or infinity, and so may the results: {escape(names)}"
        console.print(text, highlight=False)


def plural(count: int, noun: str) -> str:
    """``1 node``, ``2 nodes``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def count_text(count: int) -> str:
    """``1200000`` as ``1.20 M``."""
    if count < 10_000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1e3:.1f} k"
    return f"{count / 1e6:.2f} M" if count < 1_000_000_000 else f"{count / 1e9:.2f} G"


def seeded_input(shape: Sequence[int], dtype: np.dtype, seed: int) -> np.ndarray:
    """Noise for an input: standard normal floats, integers over the whole range (64-bit ones: 0 and 1)."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b" or dtype.itemsize > 2:
        return rng.integers(0, 2, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def noise_for(
    inputs: Iterable[tuple[str, Sequence[int | str], np.dtype]], options: Sequence[str] | None, seed: int
) -> dict[str, np.ndarray]:
    """Noise for inputs given as (name, shape, type). Sizes that are not numbers, or negative, come from ``--input``.

    Raises InputError for a size that is missing and for an option that fits no input.
    """
    given = parse_run_shapes(options)
    arrays: dict[str, np.ndarray] = {}
    for index, (name, shape, dtype) in enumerate(inputs):
        known = [dim if isinstance(dim, int) and dim >= 0 else None for dim in shape]
        wanted = given.pop(name, None)
        text = ",".join("?" if dim is None else str(dim) for dim in known)
        if wanted is None and None in known:
            raise InputError(
                f"input '{name}' [{text}] has sizes that are known at run time only",
                hint=f"choose them: --input {name}:{text}",
            )
        if wanted is not None:
            fits = len(wanted) == len(known) and all(a is None or a == b for a, b in zip(known, wanted, strict=True))
            if not fits:
                raise InputError(f"--input {name}:{','.join(map(str, wanted))}: the model wants [{text}]")
        arrays[name] = seeded_input(wanted if wanted is not None else [dim or 0 for dim in known], dtype, seed + index)
    if given:
        raise InputError(f"the model has no input '{next(iter(given))}'", hint=f"its inputs: {', '.join(arrays)}")
    return arrays


def load_inputs(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file (or one .npy array under the name ``""``)."""
    try:
        loaded = np.load(existing(path), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"": loaded}
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except InputError:
        raise
    except ValueError as error:
        what = "holds Python objects" if "pickle" in str(error) and _is_numpy(path) else "is not an .npz or .npy file"
        raise InputError(what, where=str(path), hint="write it with numpy.savez(file, NAME=array)") from error
    except Exception as error:  # zipfile and NumPy raise many types on a damaged archive
        raise InputError(f"is a damaged .npz or .npy file: {error}", where=str(path)) from error


def _is_numpy(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(6) in (b"\x93NUMPY", b"PK\x03\x04\x14\x00", b"PK\x03\x04-\x00")


def parse_size(option: str, text: str | None) -> int | None:
    """``"64K"`` or ``"1.5M"`` in bytes; InputError names the option."""
    if text is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise InputError(f"{option} {text}: expected a size such as 65536, 64K or 1M")
    return int(float(match[1]) * 1024 ** " KMG".index(match[2].upper() or " "))


def parse_regions(options: Sequence[str] | None) -> list[MemoryRegion]:
    """The values of ``--region``. InputError for what is none."""
    regions = [parse_region(option, parse_size) for option in options or ()]
    check_regions(regions)
    return regions


def regions_text(regions: Iterable[Mapping[str, Any]]) -> str:
    """One line for each memory of a report: what it holds and how often that is accessed."""
    lines = []
    for region in regions:
        items = [*region.get("tensors", ()), *region.get("constants", ())]
        accesses = sum(item["reads"] + item.get("writes", 0) for item in items)
        kinds = [("tensors", "tensor"), ("workspaces", "workspace"), ("constants", "constant")]
        what = ", ".join(plural(len(region[key]), noun) for key, noun in kinds if region.get(key))
        room = f"{bytes_text(region['used'])} of {bytes_text(region['size'])}"
        lines.append(
            f"{region['name']} ({region['speed']}): {room}, {what or 'nothing'}, "
            f"{count_text(accesses)} bytes read and written in a run\n"
        )
    return "".join(lines)


__all__ = [
    "ForeignArgument",
    "InputLayoutOption",
    "JsonOption",
    "LithArgument",
    "MicrolithError",
    "ModelArgument",
    "RegionOption",
    "RunShapeOption",
    "ShapeOption",
    "bytes_text",
    "console",
    "convert_with_progress",
    "count_text",
    "error_console",
    "existing",
    "has_identifier",
    "is_lith",
    "load_inputs",
    "noise_for",
    "open_graph",
    "parse_regions",
    "parse_run_shapes",
    "parse_shapes",
    "parse_size",
    "plural",
    "print_float_layers",
    "print_inputs",
    "print_json",
    "progress_bar",
    "regions_text",
    "seeded_input",
]
