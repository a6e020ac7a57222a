"""Options from a TOML file. Its keys are the names of the flags without dashes; see docs/quantization.md."""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError, ToolError
from .images import LAYOUTS, ImageOptions
from .options import QuantizeOptions

TABLE = "quantize"
"""The table that holds the options; its subtable ``images`` those of pictures."""


def load_config(path: str | Path) -> dict[str, Any]:
    """The options of a file by field of ``QuantizeOptions`` (``images``: a dict), and ``target``, whose costs the
    caller knows. Raises InputError for a file that cannot be read, and for unknown keys and wrong types, naming the
    key."""
    where = str(path)
    if not Path(path).exists():
        raise InputError("no such file", where=where, hint=f"a TOML file with a table [{TABLE}]")
    if Path(path).is_dir():
        raise InputError("is a folder; options are a file", where=where, hint=f"a TOML file with a table [{TABLE}]")
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", where=where) from error
    toml = _toml()
    try:
        data = toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise InputError(f"is no TOML: {error}", where=where) from error
    unknown = set(data) - {TABLE}
    if unknown:
        raise InputError(
            f"there is no table or key '{sorted(unknown)[0]}'", where=where, hint=f"options stand in [{TABLE}]"
        )
    table = data.get(TABLE)
    if not isinstance(table, dict):
        raise InputError(f"has no table [{TABLE}]", where=where)
    options: dict[str, Any] = {}
    known = {field.name.replace("_", "-"): field.name for field in dataclasses.fields(QuantizeOptions)}
    del known["costs"]
    known["target"] = "target"
    for key, value in table.items():
        if key == "images":
            options["images"] = _images(value, where)
        elif key not in known:
            raise InputError(f"there is no option '{key}'", where=where, hint=f"known: {', '.join(sorted(known))}")
        else:
            options[known[key]] = _checked(known[key], value, where)
    return options


def make_options(values: Mapping[str, Any]) -> QuantizeOptions:
    """Options of which some are given; what is None counts as not given."""
    given = {name: value for name, value in values.items() if value is not None}
    images = ImageOptions(**given.pop("images", {}))
    return QuantizeOptions(images=images, **given)


_TYPES: dict[str, tuple[type, ...]] = {
    "percentile": (int, float),
    "smooth": (int, float),
    "max_drop": (int, float, str),
    "max_flash": (int, str),
    "max_ram": (int, str),
    "max_instructions": (int, float, str),
    **dict.fromkeys(("samples", "group", "search_samples"), (int,)),
    **dict.fromkeys(("bias_correction", "equalize", "require_int8"), (bool,)),
    **dict.fromkeys(("float_layers", "wide_layers"), (list,)),
}


_TYPE_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list of names"}


def _checked(name: str, value: Any, where: str) -> Any:
    types = _TYPES.get(name, (str,))
    fits: bool = isinstance(value, types)
    if not fits or (isinstance(value, bool) and bool not in types):
        names = " or ".join(_TYPE_NAMES[item] for item in types)
        raise InputError(f"'{name.replace('_', '-')}' is {value!r}; {names} is needed", where=where)
    if name in ("float_layers", "wide_layers"):
        if not all(isinstance(item, str) for item in value):
            raise InputError(f"'{name.replace('_', '-')}' must be a list of names", where=where)
        return tuple(value)
    return parse_limit(name, value, f"{where}: {name.replace('_', '-')}")


def parse_limit(name: str, value: Any, where: str) -> Any:
    """The value of a budget as a number; of another option as it is. Raises InputError that begins with ``where``."""
    parse = LIMITS.get(name)
    if parse is None:
        return value
    try:
        return parse(value)
    except InputError as error:
        raise InputError(error.what, where=where) from None


def parse_share(value: float | str) -> float:
    """``"0.5%"`` or ``0.005`` as 0.005; InputError for what is not between 0 and 1."""
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise InputError(f"a drop of {value}: expected a share such as 0.5% or 0.005")
    return number


def parse_bytes(value: int | str) -> int:
    """``"256KB"`` or a number as bytes, 1 KB being 1024; InputError for anything else."""
    text = str(value).strip().upper().removesuffix("IB").removesuffix("B")
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    try:
        number = float(text.rstrip("KMG")) * factor
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise InputError(f"a size of {value}: expected bytes, or a size such as 256KB")
    return int(number)


def parse_count(value: float | str) -> float:
    """``"20M"`` or a number as a count, 1 K being 1000; InputError for anything else."""
    text = str(value).strip().upper()
    factor = {"K": 1e3, "M": 1e6, "G": 1e9}.get(text[-1:], 1.0)
    try:
        number = float(text.rstrip("KMG")) * factor
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise InputError(f"a count of {value}: expected a number, or one such as 20M")
    return number


LIMITS: Mapping[str, Callable[[Any], float]] = {
    "max_drop": parse_share,
    "max_flash": parse_bytes,
    "max_ram": parse_bytes,
    "max_instructions": parse_count,
}


def _images(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("'images' must be a table", where=where)
    known = {field.name for field in dataclasses.fields(ImageOptions)}
    unknown = set(value) - known
    if unknown:
        raise InputError(
            f"there is no option '{sorted(unknown)[0]}' for images",
            where=where,
            hint=f"known: {', '.join(sorted(known))}",
        )
    result: dict[str, Any] = {}
    for key, item in value.items():
        if key in ("mean", "std"):
            result[key] = _numbers(key, item, where)
        elif key in ("resize", "crop"):
            sizes = item if isinstance(item, list) else [item, item]
            if len(sizes) != 2 or not all(isinstance(size, int) and not isinstance(size, bool) for size in sizes):
                raise InputError(f"'{key}' is {item!r}; [height, width] is needed", where=where)
            result[key] = (sizes[0], sizes[1])
        elif key == "layout":
            if item not in LAYOUTS:
                raise InputError(f"there is no layout {item!r}", where=where, hint=f"one of {', '.join(LAYOUTS)}")
            result[key] = item
        elif key == "scale" and isinstance(item, int | float) and not isinstance(item, bool):
            result[key] = float(item)
        elif key == "scale" or not isinstance(item, bool):
            wanted = "one number" if key == "scale" else "true or false"
            raise InputError(f"'{key}' is {item!r}; {wanted} is needed", where=where)
        else:
            result[key] = item
    return result


def _numbers(key: str, value: Any, where: str) -> tuple[float, ...]:
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, int | float) and not isinstance(item, bool) for item in items):
        raise InputError(f"'{key}' is {value!r}; a number or a list of numbers is needed", where=where)
    return tuple(float(item) for item in items)


def _toml() -> Any:
    """Python's own reader, from 3.11 on, or the package that it came from."""
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise ToolError("reading TOML needs Python 3.11 or the package tomli", hint="pip install tomli")
