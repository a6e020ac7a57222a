"""Shape arithmetic over sizes that may be symbols, and the checks that ``infer`` functions share.

A symbol that follows from another one is spelled as the expression that computes it (``"(h-3)//2+1"``), so that two
branches of equal geometry get the same symbol.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from ..dtypes import DType
from ..errors import ShapeError
from ..ir import Dim, Node, TensorType, Value
from ..size_ranges import SizeRange

MAX_RANK = 8
"""NNACL_MAX_RANK."""

FRESH = "?"
"""First character of a symbol that stands for one size only and has no name yet; no model's own symbol starts so."""

_CLAMPED = re.compile(r"min\((\d+),(.+)\)")
"""How ``smaller_dim`` spells a symbol that a number limits."""

_numbers = itertools.count()


def fresh_dim() -> str:
    """A new symbol, for a size that is known only after the op has run. A pass gives it a lasting name in the end."""
    return f"{FRESH}{next(_numbers)}"


def fail(node: Node, what: str) -> NoReturn:
    """Raises ShapeError that names the node."""
    raise ShapeError(what, where=f"{node.op} '{node.name}'")


def require(node: Node, condition: bool, what: str) -> None:
    """Raises ShapeError that names the node unless the condition holds."""
    if not condition:
        fail(node, what)


def require_dtype(node: Node, value: Value, *dtypes: DType) -> DType:
    """The dtype of ``value``, which must be one of those given."""
    if value.dtype not in dtypes:
        fail(node, f"'{value.name}' is {value.dtype.name}; {' or '.join(d.name for d in dtypes)} is needed")
    return value.dtype


def require_rank(node: Node, value: Value, rank: int) -> tuple[Dim, ...]:
    """The shape of ``value``, which must have this rank."""
    require(node, len(value.shape) == rank, f"'{value.name}' has rank {len(value.shape)}; {rank} is needed")
    return value.shape


def static_shape(node: Node, value: Value) -> tuple[int, ...]:
    """The shape of ``value``, which must have no symbol."""
    require(node, value.type.is_static, f"'{value.name}' needs a known shape, not {value.type}")
    return value.type.static_shape


def integers_of(value: Value | None) -> list[int] | None:
    """The elements of a constant of integers; None when it is absent or not constant."""
    return None if value is None or value.data is None else [int(item) for item in value.data.reshape(-1)]


def data_input(node: Node, index: int) -> Value | None:
    """Optional input ``index``, which holds sizes, axes or positions: s32 or s64 of rank 0 or 1, of a known length."""
    value = node.optional_input(index)
    if value is not None:
        require_dtype(node, value, DType.s32, DType.s64)
        require(node, len(value.shape) <= 1, f"'{value.name}' has rank {len(value.shape)}; at most 1 is possible")
    return value


def length_of(node: Node, value: Value) -> int:
    """How many elements an input of sizes, axes or positions has: it decides about the rank of the result."""
    if not value.type.is_static:
        raise ShapeError(
            f"the rank of the result depends on the length of '{value.name}', which is not known",
            where=f"{node.op} '{node.name}'",
            hint="fix it: give the shape of the input, or the input itself as a constant",
        )
    return value.type.count


def require_equal(node: Node, actual: Dim, expected: Dim, what: str) -> None:
    """Two sizes must be equal, as far as both are known; the known one of two is what the other one has to be."""
    if isinstance(actual, str) and isinstance(expected, int):
        node.implied.setdefault(actual, expected)
    elif isinstance(actual, int) and isinstance(expected, str):
        node.implied.setdefault(expected, actual)
    elif isinstance(actual, int) and actual != expected:
        fail(node, f"{what} is {actual}, not {expected}")


def require_inputs(node: Node, expected: Mapping[int, tuple[DType, Sequence[Dim]]]) -> None:
    """Types and shapes of inputs by index; those that are absent may be so."""
    for index, (dtype, shape) in expected.items():
        value = node.optional_input(index)
        if value is not None:
            require_dtype(node, value, dtype)
            for actual, wanted in zip(require_rank(node, value, len(shape)), shape, strict=True):
                require_equal(node, actual, wanted, f"a dimension of '{value.name}'")


def normal_axis(node: Node, axis: int, rank: int) -> int:
    """An axis counted from the start; ShapeError when it is out of range."""
    require(node, -rank <= axis < rank, f"axis {axis} is out of range for rank {rank}")
    return axis % rank


def grouped(dim: Dim) -> str:
    """A size as an operand of any operator: an expression stands in brackets."""
    text = str(dim)
    return text if text.isidentifier() or text.isdecimal() else f"({text})"


def add_dims(left: Dim, right: Dim) -> Dim:
    """Their sum."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if right == 0:
        return left
    if left == 0:
        return right
    return f"{left}{right}" if isinstance(right, int) and right < 0 else f"{left}+{right}"


def rest_of_sum(total: Dim, part: Dim) -> Dim | None:
    """What ``part`` lacks of a sum that begins or ends with it; None when the total is not such a sum."""
    if part == 0 or (isinstance(total, int) and isinstance(part, int)):
        return total if part == 0 else max(int(total) - int(part), 0)
    if not isinstance(total, str) or not isinstance(part, str):
        return None
    if total == part:
        return 0
    if not part.isidentifier():
        return None
    rest = None
    if total.startswith(f"{part}+"):
        rest = total[len(part) + 1 :]
    elif total.endswith(f"+{part}"):
        rest = total[: -len(part) - 1]
    return int(rest) if rest is not None and rest.isdecimal() else rest


def multiply_dims(dims: Sequence[Dim]) -> Dim:
    """Their product."""
    number = 1
    symbols: list[str] = []
    for dim in dims:
        if isinstance(dim, int):
            number *= dim
        else:
            symbols.append(dim)
    if len(symbols) == 1 and number == 1:
        return symbols[0]
    if not symbols or number == 0:
        return number
    return "*".join([grouped(symbol) for symbol in sorted(symbols)] + ([str(number)] if number != 1 else []))


def smaller_dim(left: Dim, right: Dim) -> Dim:
    """The smaller one: ``min(512,seq)`` of a number and a symbol, a new symbol for two different ones."""
    if left == right:
        return left
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return fresh_dim()
    number, symbol = (left, right) if isinstance(left, int) else (right, left)
    return f"min({number},{symbol})"


def within_ranges(shape: Sequence[Dim], ranges: Mapping[str, SizeRange]) -> tuple[Dim, ...]:
    """The shape with ``min(512,seq)`` settled where the range of ``seq`` says which one is smaller."""
    result: list[Dim] = []
    for dim in shape:
        clamped = _CLAMPED.fullmatch(dim) if isinstance(dim, str) else None
        known = ranges.get(clamped[2]) if clamped is not None else None
        if clamped is not None and known is not None and known.high <= int(clamped[1]):
            dim = clamped[2]
        elif clamped is not None and known is not None and known.low >= int(clamped[1]):
            dim = int(clamped[1])
        result.append(dim)
    return tuple(result)


def window_dim(
    node: Node, size: Dim, kernel: int, stride: int, pad_before: int, pad_after: int, dilation: int, extra: int = 0
) -> Dim:
    """Number of positions of a sliding window. ``extra`` positions past the padding may also be covered."""
    require(node, kernel >= 1 and stride >= 1 and dilation >= 1, "kernel, stride and dilation must be at least 1")
    require(node, pad_before >= 0 and pad_after >= 0 and extra >= 0, "padding must not be negative")
    slack = pad_before + pad_after + extra - ((kernel - 1) * dilation + 1)
    if isinstance(size, int):
        require(node, size + slack >= 0, f"a window of {kernel} with dilation {dilation} does not fit size {size}")
        return (size + slack) // stride + 1
    if stride == 1:
        return add_dims(size, slack + 1)
    return f"({size}{slack:+d})//{stride}+1" if slack else f"{grouped(size)}//{stride}+1"


def broadcast_dims(node: Node, left: Dim, right: Dim) -> Dim:
    """The size of a dimension under NumPy's broadcasting."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    if isinstance(left, int) and isinstance(right, int):
        fail(node, f"sizes {left} and {right} do not broadcast")
    if isinstance(left, int):
        return left
    if isinstance(right, int):
        return right
    for part, whole in ((left, right), (right, left)):
        clamped = _CLAMPED.fullmatch(part)
        if clamped is not None and clamped[2] == whole and int(clamped[1]) > 1:
            return whole  # where the smaller one is another number, the two do not broadcast
    return f"max({min(left, right)},{max(left, right)})"


def broadcast_shapes(node: Node, *shapes: Sequence[Dim]) -> tuple[Dim, ...]:
    """The shape that NumPy's broadcasting gives."""
    rank = max(len(shape) for shape in shapes)
    result: list[Dim] = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for index, dim in enumerate(shape):
            result[offset + index] = broadcast_dims(node, result[offset + index], dim)
    return tuple(result)


def same_type(node: Node) -> list[TensorType]:
    """The output is like input 0."""
    return [node.input(0).type]
