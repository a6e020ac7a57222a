"""Which kernels a project for a microcontroller takes when not only speed counts, and which files are compiled small.

The rows of the kernel table stand best first, and ``--optimize speed`` takes the first that accepts a layer. For
``balanced`` and ``size`` every kernel that is taken is tried without: what comes next in the table is slower, but the
model may need that anyway, or it is shorter, or wants less of its weights. Time and flash are estimated with a model
that was fitted to measured counts (``kernel_costs.py``, ``kernel_bytes.py``). Kernels with compact lines
(``needs.COMPACT``) take some time and memory to save flash; whatever is optimized, they are kept where flash shrinks by
a greater factor than time grows by.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ..lower import Call, Program
from ..nnacl_kernels import catalogue, needs
from ..nnacl_kernels.catalogue import Kernel
from ..targets import Target
from . import closure
from .kernel_bytes import CODE_BYTES
from .kernel_costs import INSTRUCTIONS

COLD = 0.05
"""The share of the instructions up to which a file is compiled for its size under ``balanced``."""

SLOWEST = 2.0
"""How much longer a run may take under ``size``."""

_UNKNOWN: Mapping[str, tuple[float, float, float]] = {
    "c": (8.0, 20.0, 200.0),
    "vfp": (3.0, 12.0, 200.0),
    "dsp": (1.5, 12.0, 200.0),
    "mve": (0.6, 5.0, 200.0),
}
"""For kernels that were not measured, by instruction set."""
_UNKNOWN_BYTES = 600
_SMALL = """\
#if defined(__GNUC__) && !defined(__clang__) /* a small part of the time: its size counts */
#pragma GCC optimize("Os")
#endif
"""


@dataclass(frozen=True)
class Estimate:
    """What a program costs."""

    instructions: Mapping[str, float]
    """By symbol of the kernel."""
    code: int
    """Bytes of the kernels' code."""
    constants: int

    @property
    def flash(self) -> int:
        return self.code + self.constants

    @property
    def time(self) -> float:
        return max(1.0, math.fsum(self.instructions.values()))


def core_of(target: Target) -> str | None:
    """The core whose measured costs stand for those of a target, or None."""
    if target.architecture != "cortex-m":
        return None
    return "cortex-m55" if "mve" in target.isa else "cortex-m4"


def estimate(program: Program, core: str) -> Estimate:
    """The costs of a program on a core of ``kernel_costs.py``."""
    instructions: dict[str, float] = defaultdict(float)
    kernels: dict[str, Kernel] = {}
    for owner, call in _calls(program):
        if call.kernel is None or call.elided:
            continue
        kernels[call.kernel.symbol] = call.kernel
        instructions[call.kernel.symbol] += _instructions(owner, call, core)
    files = closure.kernel_files({kernel.file for kernel in kernels.values() if _is_stored(kernel)}, ())
    sizes = CODE_BYTES[core]
    code = sum(sizes.get(name, _UNKNOWN_BYTES) for name in files if name.endswith(".c"))
    return Estimate(dict(instructions), code, program.constant_bytes)


def instructions_of(program: Program, call: Call, core: str) -> float:
    """Those of one call of a program, of its subgraphs too."""
    return _instructions(program, call, core) + math.fsum(
        _instructions(owner, inner, core) for part in call.parts for owner, inner in _calls(part)
    )


def _instructions(owner: Program, call: Call, core: str) -> float:
    if call.kernel is None or call.elided:
        return 0.0
    per_mac, per_output, beside = INSTRUCTIONS[core].get(call.kernel.symbol) or _UNKNOWN.get(
        call.kernel.isa, _UNKNOWN["c"]
    )
    outputs = sum(owner.tensors[index].type.count for index in call.outputs)
    first = call.inputs[0] if call.inputs else None
    read = 0 if first is None else owner.tensors[first].type.count
    return per_mac * (call.macs or read) + per_output * outputs + beside


def _calls(program: Program) -> Iterator[tuple[Program, Call]]:
    """Every call with the program that it is in, those of subgraphs included."""
    for call in program.calls:
        yield program, call
        for part in call.parts:
            yield from _calls(part)


def _is_stored(kernel: Kernel) -> bool:
    """Whether it is in the library, and not printed for the model."""
    return catalogue.source_path(kernel.file).exists()


def choose(program: Program, target: Target, optimize: str, lowered: Callable[[frozenset[str]], Program]) -> Program:
    """The program with the kernels for ``optimize``. ``lowered`` makes it again without some kernels.

    ``balanced`` gives up a kernel when flash shrinks by a greater factor than time grows by, ``size`` whenever flash
    shrinks and the whole does not take more than SLOWEST times as long as with the fastest kernels. ``speed`` gives up
    compact lines alone, by the rule of ``balanced``.
    """
    core = core_of(target)
    if core is None:
        return program
    without: frozenset[str] = frozenset()
    best = estimate(program, core)
    longest = SLOWEST * best.time
    for symbol in sorted(best.instructions, key=lambda symbol: best.instructions[symbol]):
        if symbol not in best.instructions or symbol.endswith("_c"):
            continue
        if optimize == "speed" and symbol not in needs.COMPACT:
            continue
        other = lowered(without | {symbol})
        costs = estimate(other, core)
        shrunk, grown = costs.flash / max(1, best.flash), costs.time / best.time
        if (shrunk < 1 and costs.time <= longest) if optimize == "size" else (shrunk * grown < 1):
            without, program, best = without | {symbol}, other, costs
    return program


def shorten(program: Program, target: Target, texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of kernel files, those that take little of the time with an order to gcc to make them small."""
    core = core_of(target)
    if core is None:
        return dict(texts)
    costs = estimate(program, core)
    kernels = {call.kernel.symbol: call.kernel for call in program.all_calls if call.kernel is not None}
    shares: dict[str, float] = defaultdict(float)
    for symbol, instructions in costs.instructions.items():
        if not _is_stored(kernels[symbol]):
            continue
        for name in closure.kernel_files({kernels[symbol].file}, ()):
            shares[name] += instructions / costs.time
    return {
        name: _small(text) if name.endswith(".c") and 0 < shares[name] <= COLD else text for name, text in texts.items()
    }


def _small(text: str) -> str:
    first, _, rest = text.partition("\n")
    return f"{first}\n{_SMALL}{rest}"
