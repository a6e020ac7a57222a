"""Numbers and arrays as C source: exact, and laid out to be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ..dtypes import DType
from ..nnacl_kernels import catalogue

_LINE = 116
_INDENT = "    "


def float32(value: float) -> str:
    """The shortest C literal that reads back as the same float32."""
    return _float_texts(np.array([value], np.float32), "f")[0]


def array_lines(array: np.ndarray, dtype: DType) -> Iterator[str]:
    """The elements of an array in C order as lines of an initialiser, columns aligned.

    An empty array gives one zero, since C has no arrays of size 0.
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    texts = _texts(flat, dtype) if flat.size else ["0"]
    width = max(map(len, texts))
    per_line = _per_line(array.shape, width)
    for start in range(0, len(texts), per_line):
        yield _INDENT + ", ".join(text.rjust(width) for text in texts[start : start + per_line]) + ","


def _per_line(shape: tuple[int, ...], width: int) -> int:
    """Elements on a line: one row of the last dimension if it fits, else a whole power of two or ten that does."""
    fitting = max(1, (_LINE - len(_INDENT)) // (width + 2))
    if shape and 4 <= shape[-1] <= fitting:
        return shape[-1] * (fitting // shape[-1])
    return max(size for size in (1, 2, 4, 8, 10, 16, 20) if size <= fitting)


def _texts(flat: np.ndarray, dtype: DType) -> list[str]:
    if dtype is DType.f32:
        return _float_texts(flat, "f")
    if dtype is DType.f64:
        return _float_texts(flat, "")
    if dtype is DType.f16:
        return [f"0x{bits:04x}" for bits in flat.view(np.uint16).tolist()]
    if dtype is DType.b8:
        return ["1" if value else "0" for value in flat.tolist()]
    suffix = {DType.u32: "u", DType.s64: "LL", DType.u64: "ULL"}.get(dtype, "")
    return [_integer(value, suffix) for value in flat.tolist()]


def _integer(value: int, suffix: str) -> str:
    """The most negative values have no literal of their own type in C."""
    if value in (-(2**31), -(2**63)):
        return f"{value + 1}{suffix} - 1"
    return f"{value}{suffix}"


def _float_texts(flat: np.ndarray, suffix: str) -> list[str]:
    texts: list[str] = flat.astype("U32").tolist()
    return [_float(text, suffix) for text in texts]


def _float(text: str, suffix: str) -> str:
    if text.endswith("inf"):
        return text.replace("inf", "INFINITY")
    if text.endswith("nan"):
        return "NAN"
    return text + suffix


def needs_math(text: str) -> bool:
    """Whether a piece of source uses a macro of ``<math.h>``."""
    return "INFINITY" in text or "NAN" in text


_FLOAT_LIMITS = frozenset({"clamp_min", "clamp_max"})
_INTEGER_LIMITS = frozenset({"q_min", "q_max"})


def params_lines(
    op: str, values: Mapping[str, object], *, floats: bool, kept: frozenset[str] | None = None
) -> list[str]:
    """The fields of a parameter struct as lines of designated initialisers. Arrays end at their last non-zero entry.

    Where a struct has limits for floats and for integers, only those stand that count: ``floats`` says which. ``kept``
    names the fields that the struct has left; None: all.
    """
    fields = catalogue.fields(op)
    unused: frozenset[str] = frozenset()
    if {field.name for field in fields} >= _FLOAT_LIMITS | _INTEGER_LIMITS:
        unused = _INTEGER_LIMITS if floats else _FLOAT_LIMITS
    items = []
    for field in fields:
        if field.name in unused or (kept is not None and field.name not in kept):
            continue
        value = values[field.name]
        if isinstance(value, list):
            while value and not value[-1]:
                value = value[:-1]
            if value:
                items.append(f".{field.name} = {{{', '.join(_scalar(field.c_type, entry) for entry in value)}}}")
        else:
            items.append(f".{field.name} = {_scalar(field.c_type, value)}")
    return wrap([item + "," for item in items])


def _scalar(c_type: str, value: object) -> str:
    if c_type == "float":
        assert isinstance(value, float)
        return float32(value) if math.isfinite(value) else _float(str(value), "f")
    assert isinstance(value, int)
    return _integer(value, "")


def string(text: str) -> str:
    """A text as a string literal in UTF-8, in plain characters only."""
    unsafe = b'"\\?'
    pieces = [chr(b) if 32 <= b < 127 and b not in unsafe else f"\\{b:03o}" for b in text.encode()]
    return '"' + "".join(pieces) + '"'


def wrap(items: list[str], indent: str = _INDENT) -> list[str]:
    """Joins items with spaces into indented lines of at most 116 characters."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + 1 + len(item) <= _LINE:
            lines[-1] += " " + item
        else:
            lines.append(indent + item)
    return lines
