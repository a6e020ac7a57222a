"""The table of exponentials of a quantized softmax in fewer bytes.

The table holds exp of 0 to 255 steps below the maximum, as float32, of arguments that were rounded to float32. For few
elements its entries are computed where they are wanted, as powers of the one for a step (``softmax/exp_powers.h``): 20
bytes. Else each is the product of one of 16 coarse and one of 16 fine entries, rounded, and some units in the last
place: 32 floats and 256 bytes. Either is taken only if it gives all 256 entries.
For microcontrollers, whose copies of the kernels are told by ``nnacl_needs.h``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Collection
from fractions import Fraction

import numpy as np

from ..binding import Binding, BoundNode
from ..dtypes import DType
from ..ir import Graph, Node
from ..lower import Program, Substitute
from ..nnacl_kernels import catalogue

_READERS = frozenset({"softmax", "log_softmax"})
_ISAS = ("mve", "dsp", "c")
"""Instruction sets whose kernels know packed tables; powers take so long that plain C serves them as well."""
_Find = Callable[[BoundNode, Binding], Substitute | None]
_MOST_POWERS = 64
"""Elements of a result up to which powers do not take long."""
_POWERS = struct.Struct("<IIiIi")
_ONES = (1 << 64) - 1


def pack_exp(table: np.ndarray) -> bytes | None:
    """``table``: float32 [256], the last entry for 0 steps. None when it is not made of products like that."""
    wanted = np.ascontiguousarray(table[::-1], np.float32)
    high, low = wanted[::16], wanted[:16]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        products = np.multiply.outer(high, low).astype(np.float32).reshape(256)
    steps = wanted.view(np.int32).astype(np.int64) - products.view(np.int32).astype(np.int64)
    if not np.isfinite(wanted).all() or steps.min() < -128 or steps.max() > 127:
        return None
    return high.tobytes() + low.tobytes() + steps.astype(np.int8).tobytes()


def exp_powers(table: np.ndarray, scale: float) -> bytes | None:
    """The bytes of a ``nnacl_exp_powers`` that gives ``table``, float32 [256] with the last entry for 0 steps, the
    others ``scale`` apart. None when it does not."""
    mantissa, exponent = math.frexp(float(np.float32(scale)))
    place = 24 - exponent
    if not 0 < scale < 64 or not 9 <= place <= 64:
        return None
    real, right = _exp(Fraction(float(np.float32(scale)))), 0
    while real < Fraction(1, 2):
        real, right = 2 * real, right + 1
    step = min(int(real * (1 << 64)), _ONES)
    numbers = (step & 0xFFFFFFFF, step >> 32, right, int(mantissa * (1 << 24)), place)
    found = np.array([_power(step, right, numbers[3], place, below) for below in range(255, -1, -1)], np.uint32)
    return _POWERS.pack(*numbers) if found.tobytes() == np.ascontiguousarray(table, np.float32).tobytes() else None


def _exp(x: Fraction) -> Fraction:
    """exp(-x) within 2^-80, x below 64."""
    halvings = 10
    term = total = Fraction(1)
    part = Fraction(round(-x * (1 << 120)), 1 << (120 + halvings))
    for i in range(1, 16):
        term = term * part / i
        total += term
    for _ in range(halvings):
        total = Fraction(round(total * total * (1 << 220)), 1 << 220)
    return total


def _multiply(a: int, a_right: int, b: int, b_right: int) -> tuple[int, int]:
    """``multiply`` of ``softmax/exp_powers.c``."""
    a_high, a_low, b_high, b_low = a >> 32, a & 0xFFFFFFFF, b >> 32, b & 0xFFFFFFFF
    product = a_high * b_high + (a_high * b_low >> 32) + (a_low * b_high >> 32)
    return (product, a_right + b_right) if product >> 63 else (product << 1, a_right + b_right + 1)


def _power(power: int, right: int, scale: int, place: int, steps: int) -> int:
    """The bits of ``nnacl_exp_power``; 0 when they are not those of a normal number."""
    value, value_right, left = _ONES, 0, steps
    while left:
        if left & 1:
            value, value_right = _multiply(value, value_right, power, right)
        power, right = _multiply(power, right, power, right)
        left >>= 1
    argument = scale * steps
    added = int(np.float32(argument)) - argument
    more = abs(added) << (64 - place)
    factor = ((more >> 1) | 1 << 63, -1) if added < 0 else (_ONES - more, 0)
    value, value_right = _multiply(value, value_right, *factor)
    if value_right > 125:
        return 0
    return ((125 - value_right) << 23) + (value >> 40) + (value >> 39 & 1)


def substitute(graph: Graph, other: _Find | None, isa: Collection[str], without: Collection[str] = ()) -> _Find | None:
    """What ``lower`` asks for each node: its kernel among the instruction sets ``isa``, but those ``without``, with
    its table packed, if every table of the graph can be, in the shortest way that serves all (vectors look products
    up); for nodes of other kinds what ``other`` says."""
    readers = [node for node in graph.nodes if node.op in _READERS and node.input(0).dtype is DType.s8]
    if not readers or any(node.op != "softmax" for node in readers) or graph.ranges:
        return other
    if any(node.subgraphs for node in graph.nodes):
        return other
    ways = [_products_of] if "mve" in isa else [_powers_of, _products_of]
    pack = next((pack for pack in ways if all(pack(node) for node in readers)), None)
    if pack is None:
        return other

    def find(item: BoundNode, binding: Binding) -> Substitute | None:
        if item.node.op == "softmax" and binding.types[item.node.input(0)].dtype is DType.s8:
            known = [name for name in _ISAS if name in isa] if pack is _products_of else ["c"]
            kernels = catalogue.candidates("softmax", DType.s8.value, known)
            accepting = (kernel for kernel in kernels if catalogue.accepts(kernel, item.params))
            kernel = next((kernel for kernel in accepting if kernel.symbol not in without), None)
            data = pack(item.node)
            assert kernel is not None and data is not None
            return Substitute(kernel, catalogue.workspace(kernel, item.params), {1: data})
        return None if other is None else other(item, binding)

    return find


def _products_of(node: Node) -> bytes | None:
    table = node.optional_input(1)
    return None if table is None or table.data is None else pack_exp(table.data)


def _powers_of(node: Node) -> bytes | None:
    table, x = node.optional_input(1), node.input(0)
    known = all(isinstance(size, int) for size in x.shape)
    if table is None or table.data is None or x.quant is None or not known or x.type.count > _MOST_POWERS:
        return None
    scale = np.float32(np.ravel(x.quant.scale)[0]) * np.float32(node.attrs.get("beta", 1.0))
    return exp_powers(table.data, float(scale))


def _sizes(program: Program) -> list[int]:
    return [len(call.packed[1]) for call in program.calls if call.node.op == "softmax" and 1 in call.packed]


def is_packed(program: Program) -> bool:
    """Whether the tables of a program are products: all are, or none."""
    return any(size > _POWERS.size for size in _sizes(program))


def has_powers(program: Program) -> bool:
    """Whether powers stand in place of the tables of a program: of all, or of none."""
    return _POWERS.size in _sizes(program)
