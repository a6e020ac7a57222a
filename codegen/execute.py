"""Building generated projects, and running them here or in an emulator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import targets
from ..dtypes import DType
from ..errors import InputError, ModelFormatError, ToolError
from ..size_ranges import SizeRange
from ..targets import Target
from .project import REPORT

_OUTPUT_LINES = 12
"""Of a failed tool, in messages."""


@dataclass(frozen=True)
class Size:
    """Bytes of a program. ``code`` has all read-only data but the constants of the model."""

    code: int
    constants: int
    data: int
    bss: int

    @property
    def flash(self) -> int:
        """Everything that stands in flash, the image of ``data`` included."""
        return self.code + self.constants + self.data

    @property
    def ram(self) -> int:
        """Static RAM, the arena and (on boards) the stack included."""
        return self.data + self.bss


@dataclass(frozen=True)
class RunResult:
    """What a run over some samples gave."""

    samples: Sequence[Mapping[str, np.ndarray]]
    """The outputs of each by name."""
    nanoseconds: int | None
    """Of the fastest inference; None on boards."""
    instructions: int | None
    """Of the inference with the fewest, as the emulator counts; None where nobody counts."""
    stack: int | None
    """Bytes at the deepest point of an inference; None where it cannot be measured."""

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """By name, stacked along a new first axis; all samples have the same sizes."""
        return {name: np.stack([sample[name] for sample in self.samples]) for name in self.samples[0]}


@dataclass(frozen=True)
class Project:
    """A generated project on disk."""

    folder: Path
    target: Target
    report: Mapping[str, Any]

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Project:
        """Raises ModelFormatError when the folder holds no generated project."""
        path = Path(folder).resolve()
        try:
            report = json.loads((path / REPORT).read_bytes())
            return cls(path, targets.get(report["target"]), report)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelFormatError(
                "is no generated project",
                where=str(folder),
                hint="write one with: microlith codegen MODEL --target T -o DIR",
            ) from error

    @property
    def name(self) -> str:
        return str(self.report["name"])

    def program(self, program: str) -> Path:
        """The path of ``selftest`` or ``runner`` once it is built."""
        suffix = ".elf" if self.target.is_bare_metal else ""
        return self.folder / "build" / (program + suffix)


def missing_tools(target: Target, compiler: str | None = None) -> list[str]:
    """The programs that building and running for a target needs and that this machine lacks."""
    needed = ["make", compiler or target.compiler, *target.emulator()[:1]]
    missing = [tool for tool in needed if shutil.which(tool) is None]
    return missing or [specs for specs in _specs(target) if not _knows(compiler or target.compiler, specs)]


def _specs(target: Target) -> list[str]:
    """The files of the compiler's C library that the flags of a target name."""
    flags = (*target.flags, *target.link_flags)
    return [flag.removeprefix("--specs=") for flag in flags if flag.startswith("--specs=")]


def _knows(compiler: str, specs: str) -> bool:
    """Whether a compiler finds a specs file: without the C library that brings it, gcc says its bare name."""
    done = subprocess.run([compiler, f"-print-file-name={specs}"], capture_output=True, text=True, check=False)
    return done.stdout.strip() != specs


def require_tools(target: Target, compiler: str | None = None) -> None:
    """Raises ToolError when a program is missing."""
    missing = missing_tools(target, compiler)
    if missing:
        raise ToolError(
            f"'{missing[0]}' is not installed",
            where=f"target {target.name}",
            hint=f"on Debian or Ubuntu: apt-get install {' '.join(dict.fromkeys(('make', *target.packages)))}",
        )


def build(
    project: Project, *, compiler: str | None = None, jobs: int = 2, variables: Mapping[str, str] | None = None
) -> None:
    """Compiles with make, or with CMake where there is no Makefile. ``variables`` go to make as they are (``WARNINGS``,
    ``OPT``, ...). Raises ToolError.
    """
    kind = project.report.get("project", "standalone")
    if kind not in ("standalone", "make", "cmake"):
        raise ToolError(
            f"a project for {kind} is built by the tools of its ecosystem",
            where=str(project.folder),
            hint="its README.md says how; leave out --project for one that builds and runs here",
        )
    require_tools(project.target, compiler)
    if kind == "cmake":
        _build_with_cmake(project, compiler, jobs, variables or {})
        return
    settings = {"CC": compiler} if compiler else {}
    settings.update(variables or {})
    command = [
        "make",
        "-s",
        f"-j{jobs}",
        "-C",
        str(project.folder),
        *(f"{key}={text}" for key, text in settings.items()),
    ]
    _run(command, f"building {project.name} for {project.target.name}", timeout=1800)


def _build_with_cmake(project: Project, compiler: str | None, jobs: int, variables: Mapping[str, str]) -> None:
    if shutil.which("cmake") is None:
        raise ToolError("'cmake' is not installed", where=project.name, hint="pip install cmake")
    flags = " ".join(variables[name] for name in ("WARNINGS", "OPT", "CFLAGS") if name in variables)
    what = f"building {project.name} for {project.target.name}"
    folder, build_folder = str(project.folder), str(project.folder / "build")
    chosen = [f"-DCMAKE_C_COMPILER={compiler}"] if compiler else []
    _run(["cmake", "-S", folder, "-B", build_folder, f"-DCMAKE_C_FLAGS={flags}", *chosen], what, timeout=600)
    _run(["cmake", "--build", build_folder, f"-j{jobs}"], what, timeout=1800)


def selftest(project: Project, *, timeout: float = 600) -> str:
    """Runs the self-test; returns what it printed. Raises ToolError when it fails."""
    command = [*project.target.emulator(), str(project.program("selftest"))]
    return _run(command, f"the self-test of {project.name} on {project.target.name}", timeout=timeout)


def run(project: Project, samples: Sequence[Mapping[str, np.ndarray]], *, timeout: float = 1800) -> RunResult:
    """Runs built code over some samples (arrays by input name). Raises ToolError, InputError."""
    with tempfile.TemporaryDirectory(prefix="microlith-run-") as folder:
        work = Path(folder)
        (work / "in.bin").write_bytes(b"".join(_encode(project, sample) for sample in samples))
        arguments = ["in.bin", "out.bin"]
        program = str(project.program("runner"))
        if project.target.is_bare_metal:
            command = [*project.target.emulator(["runner", *arguments]), program]
        else:
            command = [*project.target.emulator(), program, *arguments]
        text = _run(command, f"{project.name} on {project.target.name}", cwd=work, timeout=timeout)
        results = _decode(project, (work / "out.bin").read_bytes(), len(samples))
    figures = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    def figure(name: str) -> int | None:
        return int(figures[name]) if name in figures else None

    return RunResult(results, figure("ns"), figure("instructions"), figure("stack") or None)


def _encode(project: Project, sample: Mapping[str, np.ndarray]) -> bytes:
    parts = []
    sizes: dict[str, int] = {}
    for tensor in project.report["inputs"]:
        name, wanted, dtype = tensor["name"], tensor["shape"], DType[tensor["dtype"]].numpy
        if name not in sample:
            raise InputError(f"input '{name}' is missing", hint=f"given: {', '.join(sample) or 'none'}")
        array = np.asarray(sample[name])
        fits = array.ndim == len(wanted) and all(
            sizes.setdefault(dim, size) == size if isinstance(dim, str) else dim == size
            for dim, size in zip(wanted, array.shape, strict=True)
        )
        if not fits or array.dtype != dtype:
            raise InputError(
                f"input '{name}' is {array.dtype}{list(array.shape)}, the model wants {dtype}{list(wanted)}"
            )
        parts.append(np.ascontiguousarray(array).tobytes())
    if not project.report["inputs"]:
        return b"\0"
    for size in project.report["sizes"]:
        wanted, allowed = sizes[size["symbol"]], SizeRange(size["low"], size["high"], size["step"])
        if wanted not in allowed:
            raise InputError(f"the size {wanted} of '{size['name']}' is outside of its range {allowed}")
    chosen = np.array([sizes[size["symbol"]] for size in project.report["sizes"]], "<i4")
    return chosen.tobytes() + b"".join(parts)


def _decode(project: Project, data: bytes, count: int) -> list[dict[str, np.ndarray]]:
    """The outputs of each sample. Where sizes have a range, the dimensions of an output stand before it."""
    damaged = ToolError(f"the outputs of {count} samples came back damaged", where=project.name)
    samples, offset = [], 0
    for _ in range(count):
        outputs = {}
        for tensor in project.report["outputs"]:
            shape, dtype = list(tensor["shape"]), np.dtype(DType[tensor["dtype"]].numpy)
            if project.report["sizes"]:
                if offset + 4 * len(shape) > len(data):
                    raise damaged
                header = np.frombuffer(data, "<i4", len(shape), offset)
                offset += header.nbytes
                shape = header.tolist()
            elements = int(np.prod(shape, dtype=np.int64))
            if offset + elements * dtype.itemsize > len(data):
                raise damaged
            outputs[tensor["name"]] = np.frombuffer(data, dtype, elements, offset).reshape(shape)
            offset += elements * dtype.itemsize
        samples.append(outputs)
    if offset != len(data):
        raise damaged
    return samples


def measure_size(project: Project) -> Size:
    """The size of the built runner: the model, and about 2 KB of platform on boards (a C library on hosted systems)."""
    tool = f"{project.target.tool_prefix}size"
    if shutil.which(tool) is None:
        raise ToolError(f"'{tool}' is not installed", hint="it comes with the compiler (Debian: binutils)")
    text = _run([tool, "-A", str(project.program("runner"))], "measuring the size", timeout=60)
    sections: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[0].startswith(".") and words[1].isdigit():
            sections[words[0]] = int(words[1])
    data = sections.get(".data", 0)
    writable = [region["name"] for region in project.report.get("regions", ()) if "tensors" in region]
    read_only = [region["name"] for region in project.report.get("regions", ()) if "tensors" not in region]
    copied = [f".{name}_constants" for name in writable]
    arenas = [f".{name}" for name in writable]
    bss = sum(sections.get(name, 0) for name in (".bss", ".stack", *arenas, *copied))
    loaded = [".vectors", ".text", ".rodata", ".init", ".fini", ".eh_frame", ".ARM.extab", ".ARM.exidx"]
    loaded += [*copied, *(f".{name}" for name in read_only)]
    constants = int(project.report["weight_bytes"])
    code = sum(sections.get(name, 0) for name in loaded) - constants
    return Size(code=code, constants=constants, data=data, bss=bss)


def _run(command: Sequence[str], what: str, *, cwd: Path | None = None, timeout: float) -> str:
    """Standard output and error of a command that succeeded. Raises ToolError otherwise."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise ToolError(f"'{command[0]}' cannot be started", where=what, hint="build the project first") from error
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"took longer than {timeout:.0f} s and was stopped", where=what) from error
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        tail = "\n  ".join(text.strip().splitlines()[-_OUTPUT_LINES:])
        raise ToolError(f"'{Path(command[0]).name}' failed with status {done.returncode}:\n  {tail}", where=what)
    return text
