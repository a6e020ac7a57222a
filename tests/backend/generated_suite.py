"""The tests of the ONNX suite as generated C on this machine, many of them in one library.

Generated code has fixed shapes. So inputs that decide about shapes (axes, sizes, positions, ...) are stored in the
model with the values that the test gives them, as one would do for such a model; open sizes are those of its arrays.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx_suite import (
    DIFFERS,
    FAILS,
    REFUSED,
    Case,
    Outcome,
    arrays_of,
    compare,
    input_names,
    one_line,
    reasons_of,
    with_positions,
    with_texts,
)

from microlith import ops
from microlith.codegen import execute, generate
from microlith.codegen.symbols import own_sources
from microlith.converter import convert, import_model
from microlith.errors import MicrolithError, UnsupportedError
from microlith.ir import Graph, Value
from microlith.texts import labels_in

FLAGS = (
    "-std=c11",
    "-O1",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-DNNACL_SHARED_NAMES",
)

MOST_ROUNDS = 4
"""How often inputs may turn out to decide about shapes, once others are known."""


@dataclass
class Program:
    """A data set of a test as a generated project. ``outcome``: why there is none, or what became of it."""

    case: Case
    inputs: Sequence[Any]
    expected: Sequence[Any]
    project: execute.Project | None = None
    outcome: Outcome | None = None
    labels: dict[str, list[str]] = field(default_factory=dict)
    """The texts that integers of inputs and outputs stand for."""

    @property
    def given(self) -> dict[str, np.ndarray]:
        """The inputs by name, texts as the integers that stand for them."""
        arrays = zip(input_names(self.case.model), self.inputs, strict=False)
        return {name: with_positions(array, self.labels.get(name)) for name, array in arrays}

    def fail(self, status: str, reason: str) -> None:
        self.outcome = Outcome(status, reason)


def programs(cases: Sequence[Case], folder: Path) -> list[Program]:
    """Generates a project for every data set of every test."""
    result = []
    for case in cases:
        for inputs, outputs in case.data_sets:
            program = Program(case, arrays_of(inputs), arrays_of(outputs))
            name = f"program_{len(result)}"  # names of projects are short; those of tests are not
            try:
                _generate(program, name, folder / name)
            except UnsupportedError as error:
                program.fail(REFUSED, reasons_of(error))
            except MicrolithError as error:
                program.fail(REFUSED, one_line(Exception(error.what)))
            except Exception as error:
                program.fail(FAILS, f"{type(error).__name__}: {one_line(error)}")
            result.append(program)
    return result


def _generate(program: Program, name: str, folder: Path) -> None:
    graph = static_graph(program.case.model, program.inputs)
    program.labels = labels_in(graph.metadata)
    given = program.given
    sample = {value.name: given[value.name] for value in graph.inputs}
    with np.errstate(all="ignore"):
        generate(graph, "host", folder, name=name, samples=[sample])
    program.project = execute.Project.open(folder)


def static_graph(model: onnx.ModelProto, inputs: Sequence[Any]) -> Graph:
    """The graph of a test with every size known: inputs that decide about shapes are constants."""
    arrays = dict(zip(input_names(model), inputs, strict=False))
    stored: set[str] = set()
    for _ in range(MOST_ROUNDS):
        fixed = _with_constants(model, {name: arrays[name] for name in stored})
        shapes = {name: arrays[name].shape for name in input_names(fixed)}
        deciding = _deciding_inputs(import_model(fixed, inputs=shapes))
        if not deciding - stored:
            return convert(fixed, inputs=shapes)
        stored |= deciding
    raise AssertionError("the inputs that decide about shapes could not be found")


def _with_constants(model: onnx.ModelProto, values: dict[str, np.ndarray]) -> onnx.ModelProto:
    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    for name, array in values.items():
        fixed.graph.initializer.append(numpy_helper.from_array(array, name))
    kept = [info for info in fixed.graph.input if info.name not in values]
    del fixed.graph.input[:]
    fixed.graph.input.extend(kept)
    return fixed


def _deciding_inputs(graph: Graph) -> set[str]:
    """The graph inputs that the data inputs of some node come from, and how often a loop runs whose shapes depend on
    that."""
    waiting: list[Value] = []
    for node in graph.nodes:
        waiting.extend(ops.get(node.op).data_of(node))
        collects = node.op == "loop" and len(node.outputs) > node.attrs["carried"]
        inner = [value for part in node.subgraphs for item in part.nodes for value in ops.get(item.op).data_of(item)]
        if collects or (node.op == "loop" and inner):
            waiting.extend(value for value in node.inputs[:2] if value is not None)
    seen: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value.producer is not None and value.producer.op not in ("shape", "size"):
            waiting.extend(source for source in value.producer.inputs if source is not None)
    return {value.name for value in graph.inputs if value in seen}


def build(made: Sequence[Program], folder: Path, jobs: int = 2) -> ctypes.CDLL:
    """One library of all projects; each kernel that they share is compiled once. A project that does not compile is
    noted."""
    objects: list[Path] = []
    kernels: dict[tuple[str, str], Path] = {}
    for program in made:
        if program.project is not None:
            root = program.project.folder / "kernels"
            files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
            own = own_sources({name: path.read_text(encoding="utf-8") for name, path in files.items()})
            for name, path in files.items():
                if path.suffix == ".c":
                    kernels[name, program.project.name if name in own else "shared"] = path
    (folder / "objects").mkdir()

    def compile_kernel(item: tuple[tuple[str, str], Path]) -> Path:
        (name, owner), path = item
        target = folder / "objects" / f"kernel_{owner}_{name.replace('/', '_')}.o"
        _compile(path, target, [path.parents[name.count("/")]])
        return target

    def compile_model(program: Program) -> list[Path]:
        assert program.project is not None
        root = program.project.folder
        targets = []
        for source in sorted(root.glob("*.c")):
            target = folder / "objects" / f"{source.stem}.o"
            try:
                _compile(source, target, [root, root / "kernels"], optimize="-O0")
            except subprocess.CalledProcessError as error:
                program.fail(FAILS, f"compiler: {' '.join(error.stderr.split())[:300]}")
                return []
            targets.append(target)
        return targets

    with ThreadPoolExecutor(jobs) as pool:
        objects.extend(pool.map(compile_kernel, sorted(kernels.items())))
        for some in pool.map(compile_model, [program for program in made if program.project is not None]):
            objects.extend(some)
    (folder / "objects.txt").write_text("\n".join(map(str, objects)))
    library = folder / "suite.so"
    subprocess.run(
        [_compiler(), "-shared", "-o", str(library), f"@{folder / 'objects.txt'}", "-lm"], check=True, timeout=600
    )
    return ctypes.CDLL(str(library))


def _compiler() -> str:
    return shutil.which("gcc") or shutil.which("cc") or "cc"


def _compile(source: Path, target: Path, includes: Sequence[Path], optimize: str = "-O1") -> None:
    flags = [flag if flag != "-O1" else optimize for flag in FLAGS]
    command = [_compiler(), *flags, *(f"-I{path}" for path in includes), "-c", "-o", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)


def run(program: Program, library: ctypes.CDLL) -> Outcome:
    """Runs one project; its outcome."""
    if program.outcome is not None:
        return program.outcome
    assert program.project is not None
    name, report = program.project.name, program.project.report
    given = program.given
    arena = _aligned(report["arena_bytes"])
    instance = (ctypes.c_void_p * 1)()
    status = _function(library, f"{name}_init", ctypes.c_int)(
        instance, arena.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(arena.nbytes)
    )
    if status != 0:
        return Outcome(FAILS, f"init: {status}")
    for index, tensor in enumerate(report["inputs"]):
        address = _function(library, f"{name}_input", ctypes.c_void_p)(instance, index)
        array = np.ascontiguousarray(given[tensor["name"]])
        if address is not None:
            ctypes.memmove(address, array.ctypes.data, array.nbytes)
    _function(library, f"{name}_run", None)(instance)
    actual = list(_outputs(program, library, instance))
    return compare(program.case, actual, program.expected)


def _outputs(program: Program, library: ctypes.CDLL, instance: Any) -> Iterator[np.ndarray]:
    assert program.project is not None
    name, report = program.project.name, program.project.report
    for index, tensor in enumerate(report["outputs"]):
        address = _function(library, f"{name}_output", ctypes.c_void_p)(instance, index)
        array = np.empty(tensor["shape"], execute.DType[tensor["dtype"]].numpy)
        if array.nbytes:
            ctypes.memmove(array.ctypes.data, address, array.nbytes)
        yield with_texts(array, program.labels.get(tensor["name"]))


def _function(library: ctypes.CDLL, name: str, result: Any) -> Any:
    function = library[name]
    function.restype = result
    return function


def _aligned(size: int) -> np.ndarray:
    """``size`` bytes that begin at a multiple of 64."""
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size]


__all__ = ["DIFFERS", "Program", "build", "programs", "run"]
