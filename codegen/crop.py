"""The sources of a runtime that has the ops and kernels of some models, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..dtypes import DType
from ..errors import InputError
from ..ir import Graph, Node
from ..nnacl_kernels import catalogue
from ..ops import fused
from ..version import __version__
from . import emit
from .closure import kernel_files
from .fused_layers import kept_functions

_RUNTIME_FILES = (
    "CMakeLists.txt",
    "README.md",
    "cmake/*.in",
    "include/*.h",
    "include/*.hpp",
    "src/*.[ch]",
    "tools/*.[ch]",
)
_KERNEL_FILES = ("CMakeLists.txt",)
_CORE = ("nnacl_*.[ch]", "plan/*.c")
"""What the runtime calls beside the rows."""
_ROW = re.compile(r"NNACL_KERNEL\((\w+), *(\w+), *(\w+), *(\w+), *(\w+), *\"([^\"]+)\"\)")


@dataclass(frozen=True)
class Cropped:
    """What a cropped runtime keeps."""

    ops: tuple[str, ...]
    """Names, in alphabetical order."""
    kernels: tuple[str, ...]
    """C functions, in the order of the table."""
    extensions: tuple[str, ...]
    """Extensions whose ops the models use; their sources are the application's to link."""


def crop(
    graphs: Sequence[Graph],
    runtime: Path,
    output: Path,
    *,
    isa: Sequence[str] | None = None,
    force: bool = False,
) -> Cropped:
    """Writes a folder with the C sources of the runtime, cut down to what ``graphs`` need, and its CMake files.

    ``runtime`` is the folder of the runtime's own sources. For each op and element type of the models every kernel of
    the instruction sets ``isa`` (default: all that there are) stays, because sizes may change at run time (those by
    Winograd only where a convolution has 3 x 3 taps); portable C always does. The folder is written at once or not at
    all. Raises InputError for an unknown instruction set and OutputError when the folder cannot be written.
    """
    wanted = {*(isa if isa is not None else _all_isas()), "c"}
    unknown = sorted(wanted - {*_all_isas(), "c"})
    if unknown:
        raise InputError(
            f"there is no instruction set '{unknown[0]}'", where="--isa", hint=f"there are {', '.join(_all_isas())}"
        )
    pairs = {pair for graph in graphs for node in _nodes(graph) for pair in _needs(node)}
    own = {(op, dtype) for op, dtype in pairs if catalogue.ops()[op].extension is None}
    extensions = sorted({op.partition(".")[0] for op, _ in pairs - own})
    ops = sorted({op for op, _ in own})
    rows = [row for row in _rows() if row.isa in wanted and any(row.serves(op, dtype) for op, dtype in own)]
    if not any(_suits_winograd(node) for graph in graphs for node in _nodes(graph)):
        rows = [row for row in rows if "_winograd_" not in row.symbol]

    headers = {catalogue.ops()[op].header for op in ops}
    kernel_sources = {kernel.file for kernel in catalogue.kernels()}
    plans = [
        name
        for header in headers
        for name in _sources(f"{Path(header).parent.as_posix()}/*.c")
        if name not in kernel_sources  # the plan half of a family, and what packs its weights
    ]
    core = [name for pattern in _CORE for name in _sources(pattern)]
    # The table names every family's header; those stay, for the parameter structs that they declare.
    files = {
        f"nnacl_kernels/{name}": text.encode()
        for name, text in kernel_files([*core, *plans, *(row.file for row in rows)], sorted(headers)).items()
    }
    files = {path: data for path, data in files.items() if not path.endswith(".def")}
    lines = ["/* The kernels of this library, best first within an op and type. */", *(row.text for row in rows)]
    files["nnacl_kernels/kernels.def"] = ("\n".join(lines) + "\n").encode()
    lines = ["/* The ops of this library. */", *(f"NNACL_OP({op})" for op in ops)]
    files["nnacl_kernels/ops.def"] = ("\n".join(lines) + "\n").encode()
    functions = {function for graph in graphs for node in _nodes(graph) for function in _functions(node)}
    if f"nnacl_kernels/{fused.HEADER}" in files:
        files[f"nnacl_kernels/{fused.FUNCTIONS_FILE}"] = kept_functions(functions).encode()
    files |= _copies(catalogue.ROOT, _KERNEL_FILES, "nnacl_kernels")
    files |= _copies(runtime, _RUNTIME_FILES, "runtime")
    result = Cropped(tuple(ops), tuple(row.symbol for row in rows), tuple(extensions))
    for path, name in (("CMakeLists.txt", "cropped.cmake.j2"), ("README.md", "cropped_readme.md.j2")):
        template = emit.template_environment().get_template(f"crop/{name}")
        files[path] = template.render(cropped=result, version=__version__, names=[g.name for g in graphs]).encode()
    emit.write_project(files, output, force=force)
    return result


@dataclass(frozen=True)
class _Row:
    """A line of a ``kernels.def``."""

    text: str
    op: str
    dtype: str
    isa: str
    symbol: str
    file: str

    def serves(self, op: str, dtype: int) -> bool:
        return self.op == op and self.dtype in ("any", catalogue.dtype_name(dtype))


def _rows() -> Iterator[_Row]:
    for family in re.findall(r'#include "([^"]+)"', (catalogue.ROOT / "kernels.def").read_text(encoding="utf-8")):
        for match in _ROW.finditer((catalogue.ROOT / family).read_text(encoding="utf-8")):
            op, dtype, isa, symbol, _, file = match.groups()
            yield _Row(match.group(), op, dtype, isa, symbol, file)


def _all_isas() -> list[str]:
    return sorted({kernel.isa for kernel in catalogue.kernels()})


def _suits_winograd(node: Node) -> bool:
    """Whether the weights and attributes of a node are such that a kernel by Winograd might serve."""
    given = [value for value in node.inputs[:2] if value is not None]
    if node.op != "conv2d" or given[0].dtype != DType.f32:
        return False
    attributes = [node.attrs.get(name, 1) for name in ("stride_h", "stride_w", "dilation_h", "dilation_w", "groups")]
    return given[1].type.shape[1:3] == (3, 3) and attributes == [1] * 5


def _nodes(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        for part in node.subgraphs:
            yield from _nodes(part)


def _needs(node: Node) -> Iterator[tuple[str, int]]:
    """Op and element type of the kernel that runs a node; nothing for control flow, which the runtime runs itself."""
    if node.op in catalogue.ops():
        yield node.op, node.input(0).dtype.value
    for function in _functions(node):
        yield function.op, (DType.b8 if function.takes_b8[0] else DType.f32).value


def _functions(node: Node) -> set[fused.Function]:
    """What the steps of a fused node compute with."""
    return {fused.decode(step).function for step in node.attrs["steps"]} if node.op == fused.NAME else set()


def _sources(pattern: str) -> list[str]:
    """Files of the kernel library, by their paths inside of it."""
    return [path.relative_to(catalogue.ROOT).as_posix() for path in sorted(catalogue.ROOT.glob(pattern))]


def _copies(folder: Path, patterns: Sequence[str], place: str) -> Mapping[str, bytes]:
    return {
        f"{place}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for pattern in patterns
        for path in sorted(folder.glob(pattern))
    }
