"""Exact instruction counts of generated projects on emulated boards, with the QEMU plugin ``count_plugin.c``."""

from __future__ import annotations

import bisect
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from microlith.codegen.execute import Project

HERE = Path(__file__).resolve().parent
PLUGIN_SOURCE = HERE / "count_plugin.c"

BEGIN = "{name}_run"
END = "platform_clock_stop"
SKIPPED = ("main", "tick_handler", "platform_clock_start", "platform_stack_start")
"""Functions that may run between the beginning and the end of an inference but are none of its own."""


@dataclass(frozen=True)
class Layer:
    """A kernel call: the symbol, and the instructions from this call to the next."""

    symbol: str
    instructions: int


@dataclass(frozen=True)
class Count:
    """What one inference executed. ``runs``: the instructions of each inference of the program."""

    runs: tuple[int, ...]
    layers: tuple[Layer, ...]
    functions: Mapping[str, int] = field(default_factory=dict)
    """Instructions by function; with a profile only."""
    mnemonics: Mapping[str, int] = field(default_factory=dict)
    cycles: int | None = None
    """A rough figure for a Cortex-M4 without wait states; with a profile only."""
    stack: int = 0
    """Bytes at the deepest point."""

    @property
    def instructions(self) -> int:
        """Of the first inference."""
        return self.runs[0]


def run(command: Sequence[str | Path], cwd: Path | None = None) -> str:
    """Standard output of a command; its standard error is shown when it fails."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    if done.returncode != 0:
        raise SystemExit(
            f"{command[0]} failed with status {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    return done.stdout + done.stderr


def build_plugin(folder: Path) -> Path:
    """The compiled plugin in ``folder``."""
    library = folder / "libcount.so"
    compiler = os.environ.get("HOSTCC", "gcc")
    run([compiler, "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden", "-o", library, PLUGIN_SOURCE])
    return library


@dataclass(frozen=True)
class Symbol:
    """A function of a program: where it begins and its size in bytes."""

    name: str
    address: int
    size: int


def read_symbols(program: Path, prefix: str) -> dict[str, Symbol]:
    """The functions of a program by name."""
    symbols = {}
    for line in run([f"{prefix}readelf", "-sW", program]).splitlines():
        words = line.split()
        if len(words) == 8 and words[3] == "FUNC":
            symbols[words[7]] = Symbol(words[7], int(words[1], 16) & ~1, int(words[2], 0))
    return symbols


@dataclass(frozen=True)
class Instruction:
    """A line of a disassembly."""

    address: int
    mnemonic: str
    operands: str


def disassemble(program: Path, prefix: str, options: Sequence[str] = ()) -> list[Instruction]:
    """The instructions of a program in the order of their addresses."""
    lines = run([f"{prefix}objdump", "-d", "--no-show-raw-insn", *options, program]).splitlines()
    found = (re.match(r"\s*([0-9a-f]+):\t(\S+)(?:\s+(.*))?$", line) for line in lines)
    return [Instruction(int(hit[1], 16), hit[2], (hit[3] or "").strip()) for hit in found if hit]


def count(
    project: Project, sample: Mapping[str, np.ndarray], plugin: Path, *, profile: bool = False
) -> tuple[Count, bytes]:
    """Runs the built runner of a project on one sample, twice; the counts and the output bytes of the first run."""
    prefix = project.target.tool_prefix
    program = project.program("runner")
    symbols = read_symbols(program, prefix)
    options = ["-m", "armv8.1-m.main"] if project.target.name in ("cortex-m55", "cortex-m85") else []
    listing = disassemble(program, prefix, options)
    model = symbols[BEGIN.format(name=project.name)]
    calls = _calls(listing, symbols.get(f"{project.name}_push_rows", model))
    skips = [symbols[name] for name in SKIPPED if name in symbols]
    with tempfile.TemporaryDirectory(prefix="microlith-count-") as folder:
        work = Path(folder)
        data = b"".join(np.ascontiguousarray(sample[tensor["name"]]).tobytes() for tensor in project.report["inputs"])
        (work / "in.bin").write_bytes(data * 2)
        arguments = [
            f"{plugin},begin={model.address:#x},end={symbols[END].address:#x},out=counts",
            *(f"skip={skip.address:#x}-{skip.address + skip.size:#x}" for skip in skips),
            *(f"mark={address:#x}" for address in calls),
            *(["profile=on"] if profile else []),
        ]
        emulator = project.target.emulator(["runner", "in.bin", "out.bin"])
        given = [] if project.target.is_bare_metal else ["in.bin", "out.bin"]
        text = run([emulator[0], "-plugin", ",".join(arguments), *emulator[1:], program, *given], cwd=work)
        lines = (work / "counts").read_text().splitlines()
        output = (work / "out.bin").read_bytes()
    found = re.search(r"^stack=(\d+)$", text, re.MULTILINE)
    runs = [int(line.split()[1]) for line in lines if line.startswith("run ")]
    first = lines[: next(index for index, line in enumerate(lines) if line.startswith("run "))]
    at = {int(line.split()[1], 16): int(line.split()[2]) for line in lines if line.startswith("at ")}
    functions, mnemonics, cycles = _profile(listing, symbols, at) if profile else ({}, {}, None)
    result = Count(
        runs=tuple(runs),
        layers=tuple(_layers(first, runs[0], calls)),
        functions=functions,
        mnemonics=mnemonics,
        cycles=cycles if project.target.name in ("cortex-m3", "cortex-m4") else None,
        stack=int(found[1]) if found else 0,
    )
    return result, output[: len(output) // 2]


def _calls(listing: Sequence[Instruction], model: Symbol) -> dict[int, str]:
    """The calls of kernels in the function that runs the model: address of the call and symbol."""
    calls = {}
    for instruction in listing:
        inside = model.address <= instruction.address < model.address + model.size
        target = re.search(r"<([\w.]+)>$", instruction.operands)
        kernel = target and re.search(r"nnacl_\w+$", target[1])  # behind the name of the model
        if inside and kernel and instruction.mnemonic in ("bl", "b.w", "b"):
            calls[instruction.address] = kernel[0]
    return calls


def _layers(lines: Sequence[str], total: int, calls: Mapping[int, str]) -> list[Layer]:
    marks = [(int(line.split()[1], 16), int(line.split()[2])) for line in lines if line.startswith("mark ")]
    ends = [count for _, count in marks[1:]] + [total]
    return [Layer(calls[address], end - begin) for (address, begin), end in zip(marks, ends, strict=True)]


def _profile(
    listing: Sequence[Instruction], symbols: Mapping[str, Symbol], at: Mapping[int, int]
) -> tuple[dict[str, int], dict[str, int], int]:
    """Instructions by function and by mnemonic, and cycles, from the counts by address."""
    ordered = sorted(symbols.values(), key=lambda symbol: symbol.address)
    starts = [symbol.address for symbol in ordered]
    functions: Counter[str] = Counter()
    mnemonics: Counter[str] = Counter()
    cycles = 0
    previous: Instruction | None = None
    for index, instruction in enumerate(listing):
        number = at.get(instruction.address, 0)
        if number:
            position = bisect.bisect_right(starts, instruction.address) - 1
            functions[ordered[position].name] += number
            mnemonics[re.sub(r"\.[nw]$", "", instruction.mnemonic)] += number
            following = at.get(listing[index + 1].address, 0) if index + 1 < len(listing) else 0
            cycles += _m4_cycles(instruction, number, following, previous)
        previous = instruction
    return dict(functions.most_common()), dict(mnemonics.most_common()), cycles


_CONDITIONS = "eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|hs|lo"
_REFILL = 2
"""Cycles that a taken branch costs beside its own."""


def _m4_cycles(instruction: Instruction, count: int, following: int, previous: Instruction | None) -> int:
    """Cycles of an instruction that was executed ``count`` times, by the table of the Cortex-M4's reference manual.

    ``following``: how often the next one was executed, from which the taken branches follow.
    """
    mnemonic, operands = instruction.mnemonic.split(".")[0], instruction.operands
    to_pc = "pc" in re.split(r"\W+", operands.partition("[")[0] if mnemonic.startswith("ldr") else operands)
    if re.fullmatch(f"b({_CONDITIONS})|cbn?z", mnemonic):
        return count + max(0, count - following) * _REFILL
    if mnemonic in ("b", "bl", "bx", "blx"):
        return count * (1 + _REFILL)
    if mnemonic in ("tbb", "tbh"):
        return count * (2 + _REFILL)
    if mnemonic.startswith(("ldm", "stm", "push", "pop", "vldm", "vstm", "vpush", "vpop")):
        return count * (1 + _registers(operands) + (_REFILL if to_pc else 0))
    if mnemonic.startswith(("ldrd", "strd")):
        return count * 3
    if mnemonic.startswith("ldr"):
        pipelined = previous is not None and previous.mnemonic.startswith(("ldr", "str"))
        return count * ((2 + _REFILL) if to_pc else 1 if pipelined else 2)
    for start, cost in (("str", 1), ("vldr", 2), ("vstr", 2), ("sdiv", 7), ("udiv", 7), ("vdiv", 14), ("vsqrt", 14)):
        if mnemonic.startswith(start):
            return count * cost
    if mnemonic.startswith(("vfma", "vfms", "vmla", "vmls", "vnmla")):
        return count * 3
    return count


def _registers(operands: str) -> int:
    """How many registers a list such as ``{r4, r6-r8}`` names."""
    total = 0
    for part in operands.partition("{")[2].partition("}")[0].split(","):
        ends = re.findall(r"[rsd](\d+)", part)
        total += int(ends[1]) - int(ends[0]) + 1 if len(ends) == 2 else 1
    return total
