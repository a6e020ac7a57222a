"""How deep the stack of generated code gets at most, from what the compiler says about its functions.

gcc writes the frame of each function and its calls beside the object (``-fcallgraph-info=su``). Functions that are
called by pointer are those whose address the functions on the way take, as the relocations of their sections tell; no
function of ours calls itself, so none counts twice on a way. Functions of libraries, about which nothing was written,
are disassembled, and all that they push counts at once. What an interrupt needs comes on top.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ToolError
from ..targets import Target

CFLAGS = "-fcallgraph-info=su"
"""What a project has to be built with."""

_NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "[^"]*?(?:\\n(\d+) bytes \(([a-z,]+)\))?"', re.MULTILINE)
_EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', re.MULTILINE)
_RELOCATION = re.compile(r"^[0-9a-f]+\s+(R_\w+)\s+([^\s+-]+)")
_POINTER = "__indirect_call"
_WORD = 4


@dataclass(frozen=True)
class StackDepth:
    """Bytes of stack."""

    total: int
    """Of ``NAME_run()``, with everything that it calls; not the function of the caller that brings rows of an input."""
    layers: Mapping[str, int]
    """The same for each kernel that it calls, by the symbol of the kernel: what is needed while such a layer runs."""
    open: tuple[str, ...]
    """Functions whose frame has no bound that the compiler knows."""


@dataclass
class _Function:
    frame: int = 0
    calls: set[str] = field(default_factory=set)
    takes: set[str] = field(default_factory=set)
    """Functions whose address it takes."""
    open: bool = False


def can_measure(target: Target) -> bool:
    """Whether all code of a project is there to look at: it is for a board, and compiled by gcc."""
    return target.is_bare_metal and target.compiler.endswith("gcc")


def measure_stack(folder: Path, name: str, target: Target) -> StackDepth:
    """The deepest stack of ``NAME_run()`` of a project that was built with ``CFLAGS`` in ``folder``. Raises ToolError
    when it was not."""
    built = folder / "build"
    functions: dict[str, _Function] = {}
    units = sorted(built.rglob("*.ci"))
    for unit in units:
        _read_unit(unit, functions)
    start = f"{name}_run"
    if start not in functions:
        raise ToolError("there is no call graph", where=str(built), hint=f"build it with CFLAGS={CFLAGS}")
    for unit in units:
        _read_addresses(unit, target.tool_prefix, functions)
    missing = {found for item in functions.values() for found in (*item.calls, *item.takes)} - {*functions, _POINTER}
    if missing:
        _read_library(built / "runner.elf", target.tool_prefix, missing, functions)
    frame, calls = functions[start].frame, functions[start].calls - {_POINTER}
    if (pusher := f"{name}_push_rows") in calls:  # an input that arrives by rows
        frame += functions[pusher].frame
        calls = (calls - {pusher}) | functions[pusher].calls
    layers, unbounded = {}, set()
    for callee in sorted(calls):
        tree = _reached(callee, functions)
        unbounded |= {found for found in tree if functions[found].open}
        depth = _depth(callee, functions, {name for item in tree for name in functions[item].takes}, (), {})
        layers[callee.removeprefix(f"{name}_")] = frame + depth
    return StackDepth(max(layers.values(), default=frame), layers, tuple(sorted(unbounded)))


def _read_unit(unit: Path, functions: dict[str, _Function]) -> None:
    text = unit.read_text()
    for name, size, kind in _NODE.findall(text):
        if size:
            functions[name] = _Function(int(size), open=kind == "dynamic")
    for caller, callee in _EDGE.findall(text):
        if caller in functions:
            functions[caller].calls.add(callee)


def _read_addresses(unit: Path, prefix: str, functions: dict[str, _Function]) -> None:
    """Which functions of a unit take the address of which."""
    local = {name.rsplit(":", 1)[1]: name for name in _titles(unit) if ":" in name}

    def title(symbol: str) -> str | None:
        symbol = symbol.removeprefix(".text.")
        for name in (symbol, symbol.split(".")[0]):
            if (found := local.get(name, name)) in functions:
                return found
        return None

    own = [functions[name] for name in _titles(unit) if name in functions]
    takers: Sequence[_Function] = own
    for line in _run([f"{prefix}objdump", "-r", str(unit.with_suffix(".o"))]).splitlines():
        if line.startswith("RELOCATION RECORDS FOR ["):
            section = line.split("[", 1)[1].split("]", 1)[0]
            if section.startswith((".debug", ".ARM.ex", ".eh_frame")):
                takers = ()
            else:
                inside = title(section) if section.startswith(".text.") else None
                takers = own if inside is None else (functions[inside],)
        elif (hit := _RELOCATION.match(line)) and not re.search(r"CALL|JUMP|BRANCH|JMP|RVC|PREL31|NONE", hit[1]):
            target = title(hit[2])
            for taker in takers if target is not None else ():
                taker.takes.add(str(target))


def _titles(unit: Path) -> list[str]:
    return [name for name, size, _ in _NODE.findall(unit.read_text()) if size]


def _read_library(program: Path, prefix: str, names: set[str], functions: dict[str, _Function]) -> None:
    """Adds functions that only the program has, with those that they call."""
    text = _run([f"{prefix}objdump", "-d", "--no-show-raw-insn", str(program)])
    found = re.finditer(r"^([0-9a-f]+) <[^>]+>:\n((?:.+\n?)*)", text, re.MULTILINE)
    by_address = {int(match[1], 16): match[2] for match in found}
    symbols = (line.split() for line in _run([f"{prefix}nm", "--defined-only", str(program)]).splitlines())
    bodies = {name: by_address.get(int(address, 16) & ~1) for address, _, name in symbols}  # some have several names
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        functions[name] = item = _Function(open=bodies.get(name) is None)
        for line in (bodies.get(name) or "").splitlines():
            words = line.split("\t")
            if len(words) < 2:
                continue
            mnemonic, operands = words[1].strip(), words[2].split(";")[0].strip() if len(words) > 2 else ""
            item.frame += _pushed(mnemonic, operands)
            called = re.search(r"<([^>+]+)>$", operands)
            if called and re.match(r"(b|bl|b\.n|b\.w|blx|jal|j|call|tail)$", mnemonic) and called[1] != name:
                item.calls.add(called[1])
            elif re.match(r"(blx|jalr)$", mnemonic) and not called:
                item.open = True
        waiting |= item.calls - functions.keys()


def _pushed(mnemonic: str, operands: str) -> int:
    """The bytes by which an instruction makes the stack deeper (Arm, RISC-V)."""
    base = mnemonic.split(".")[0]
    if base in ("push", "vpush") or (base in ("stmdb", "vstmdb") and operands.startswith("sp!")):
        inside = operands[operands.index("{") + 1 : operands.index("}")]
        count = 0
        for part in inside.split(","):
            ends = [int(digits) for digits in re.findall(r"\d+", part)]
            count += ends[1] - ends[0] + 1 if len(ends) == 2 else 1
        return count * (2 * _WORD if base.startswith("v") and "d" in inside else _WORD)
    if base in ("sub", "subw") and (hit := re.match(r"sp, (?:sp, )?#(\d+)", operands)):
        return int(hit[1])
    if base in ("add", "addi") and (hit := re.match(r"sp,sp,-(\d+)", operands)):
        return int(hit[1])
    if hit := re.search(r"\[sp, #-(\d+)\]!", operands):
        return int(hit[1])
    return 0


def _reached(start: str, functions: Mapping[str, _Function]) -> set[str]:
    """Every function that may run because of a call."""
    found, waiting = set(), {start}
    while waiting:
        name = waiting.pop()
        found.add(name)
        item = functions[name]
        # Whoever takes an address may hand it to somebody who calls it.
        waiting |= (item.calls | item.takes) - found - {_POINTER}
    return found


def _depth(
    name: str, functions: Mapping[str, _Function], pointers: set[str], path: tuple[str, ...], known: dict[str, int]
) -> int:
    """The deepest stack of a function that may call ``pointers`` by their address."""
    if name in known:
        return known[name]
    item = functions[name]
    callees = (item.calls - {_POINTER}) | (pointers if _POINTER in item.calls else set())
    path = (*path, name)
    below = [_depth(callee, functions, pointers, path, known) for callee in sorted(callees) if callee not in path]
    depth = item.frame + max(below, default=0)
    if not any(_POINTER in functions[reached].calls for reached in _reached(name, functions)):
        known[name] = depth
    return depth


def _run(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"'{command[0]}' failed", where=command[-1]) from error
