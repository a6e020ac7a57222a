"""Texts of a project's files, and the folder that they are written to."""

from __future__ import annotations

import functools
import hashlib
import html
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path

import jinja2

from ..errors import OutputError
from ..files import follow_links
from ..nnacl_kernels import catalogue
from ..targets import Target
from ..version import __version__
from . import cmsis_nn, literals, projects
from .memory_map import board_map
from .parts import Parts
from .view import LayerView, ModelView

MANIFEST = "manifest.json"
GENERATOR = "microlith"
BUILD_FOLDERS = ("build", "build-cmake")
"""Left out when a folder is held against its manifest, and so is any that CMake made."""
LICENSE = "LICENSE"
_SPDX_TAG = "SPDX-License-Identifier:"
_SPDX = f"{_SPDX_TAG} Apache-2.0"
_MATH = re.compile(r"\b(?:sqrt|floor|ceil|rint|nearbyint|round|trunc|fmod|remainder|exp|log|pow|ldexp|frexp)[fl]? *\(")
"""Calls for which a compiler may need libm; absolute values and signs never do."""


@functools.cache
def template_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(str(resources.files("microlith.templates"))),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["hex"] = lambda value: f"0x{value:08X}"
    environment.filters["cell"] = lambda text: text.replace("|", "/").replace("`", "'")
    environment.filters["xml"] = html.escape
    environment.filters["counted"] = lambda count, noun: f"{count:,} {noun}{'' if count == 1 else 's'}"
    return environment


def render(view: ModelView, kernels: Mapping[str, str], *, opt: str, project: str = "standalone") -> dict[str, bytes]:
    """Every file of a project but report and manifest, by path. ``kernels`` are the texts of the kernel files,
    ``project`` is a name of ``projects.EMITTERS``.
    """
    target = view.target
    emulator = target.emulator()
    context = {
        "version": __version__,
        "project": project,
        "cmsis_nn": any(layer.isa == cmsis_nn.NAME for layer in view.all_layers if not layer.elided),
        "cmsis_nn_version": cmsis_nn.VERSION,
        "cmsis_nn_macros": [cmsis_nn.SINGLE_ROUNDING] if view.contract == "single" else [],
        "opt": opt,
        "board": target.board,
        "memory": board_map(target.board, view.arenas, view.constant_regions, view.title) if target.board else None,
        "cross": bool(target.tool_prefix),
        "processor": {"aarch64": "aarch64", "riscv": "riscv32", "x86": "x86_64"}.get(target.architecture, "arm"),
        "emulator": " ".join(emulator),
        "runner": _runner_command(target),
        "needs_libm": any(_MATH.search(_without_comments(text)) for text in kernels.values()),
        "emulator_words": emulator,
        "extensions": sorted({path.partition("/")[0] for path in kernels if not (catalogue.ROOT / path).exists()}),
        "struct_sizes": _struct_sizes(view),
        "params_sum": _sum(
            [
                *(
                    f"sizeof {layer.params.symbol}"
                    for layer in view.all_layers
                    if layer.params and not layer.shares_params
                ),
                *(f"sizeof {table.symbol}" for table in view.tables),
            ]
        ),
        "weights_sum": _sum([f"sizeof {constant.symbol}" for constant in view.constants if constant.nbytes]),
        "weights_need_math": _need_math(line for constant in view.constants for line in constant.lines),
        "data_needs_math": _need_math(
            line for sample in view.samples for lines in (*sample.inputs, *sample.outputs) for line in lines
        ),
        "output_kinds": {
            "exact": any(tensor.c_type not in ("float", "double") for tensor in view.outputs),
            "floats": sorted({tensor.c_type for tensor in view.outputs} & {"float", "double"}),
        },
        "workspace": _workspace,
    }
    emitter = projects.get(project)
    parts = Parts(view, template_environment(), kernels, context)
    texts = {path: _licensed(path, text) for path, text in emitter.files(parts).items()}
    texts[LICENSE] = (resources.files("microlith.templates") / "apache-2.0.txt").read_text(encoding="utf-8")
    files_out = {path: text.encode() for path, text in texts.items()}
    if view.binary_weights:
        files_out[f"{view.name}_weights.bin"] = _binary_weights(view)
    files_out.update(emitter.archives(parts, files_out))
    return dict(sorted(files_out.items()))


def _licensed(path: str, text: str) -> str:
    """The text of a file below a line that states its licence, which sources of the kernel library have already."""
    if path.endswith((".md", ".json", ".properties")) or _SPDX_TAG in text.partition("\n")[0]:
        return text
    if path.endswith(".pdsc"):
        head, _, rest = text.partition("\n")
        return f"{head}\n<!-- {_SPDX} -->\n{rest}"
    is_c = path.endswith((".c", ".h", ".S", ".ld", ".cpp", ".ino"))
    return f"/* {_SPDX} */\n{text}" if is_c else f"# {_SPDX}\n{text}"


def _without_comments(source: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)


def _runner_command(target: Target) -> str:
    """How the runner is started from the folder of a project."""
    if not target.is_bare_metal:
        return " ".join([*target.emulator(), "build/runner", "inputs.bin", "outputs.bin"])
    return " ".join([*target.emulator(["runner", "inputs.bin", "outputs.bin"]), "build/runner.elf"])


def _binary_weights(view: ModelView) -> bytes:
    """All constants, each at its offset."""
    data = bytearray()
    for constant in view.constants:
        data += bytes(constant.offset - len(data)) + constant.data
    return bytes(data)


def _struct_sizes(view: ModelView) -> list[tuple[str, int]]:
    used = {(layer.params.c_type, layer.params.size) for layer in view.all_layers if layer.params}
    return sorted(used)


def _sum(terms: list[str]) -> str:
    """Terms joined by ``+``, further lines indented to stand inside a static assertion."""
    signed = [f"{term} +" for term in terms[:-1]] + terms[-1:]
    return "\n".join(literals.wrap(signed, " " * 19)).strip()


def _need_math(lines: Iterable[str]) -> bool:
    return any(literals.needs_math(line) for line in lines)


def _workspace(layer: LayerView) -> str:
    if not layer.workspace:
        return "NO_WORKSPACE"
    return f"WORKSPACE({layer.workspace_arena} + {layer.workspace_offset}, {layer.workspace})"


def manifest(files: Mapping[str, bytes]) -> bytes:
    """The manifest of some files: the SHA-256 of each."""
    content = {
        "generator": GENERATOR,
        "version": __version__,
        "files": {path: hashlib.sha256(data).hexdigest() for path, data in sorted(files.items())},
    }
    return (json.dumps(content, indent=2) + "\n").encode()


def write_project(files: Mapping[str, bytes], folder: Path, *, force: bool = False) -> None:
    """Writes a project with its manifest in one step: to a temporary folder beside it, then renamed.

    A folder that exists is replaced only if it is empty, or holds a generated project and nothing else. Raises
    OutputError otherwise, and when it cannot be written; the folder is then as it was.
    """
    folder = follow_links(folder)
    if not force:
        _check_replaceable(folder)
    temporary = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        temporary.chmod(0o755)
        for path, data in {**files, MANIFEST: manifest(files)}.items():
            target = temporary / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        _replace(temporary, folder)
    except OSError as error:
        raise OutputError(
            f"cannot write the project: {error.strerror or error}",
            where=str(folder),
            hint="choose a writable folder with --output",
        ) from error
    finally:
        if temporary is not None and temporary.exists():
            shutil.rmtree(temporary, ignore_errors=True)


def _replace(new: Path, folder: Path) -> None:
    if not folder.exists():
        new.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
    folder.rename(old / folder.name)
    try:
        new.rename(folder)
    except OSError:
        (old / folder.name).rename(folder)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _check_replaceable(folder: Path) -> None:
    """Raises OutputError when replacing the folder would destroy anything that was not generated."""
    hint = "choose another folder, or remove this one"
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError("is not a folder", where=str(folder), hint=hint)
    built = {*BUILD_FOLDERS, *(path.parent.name for path in folder.glob("*/CMakeCache.txt"))}
    present = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if not path.is_dir() and path.relative_to(folder).parts[0] not in built
    }
    if not present:
        return
    known = _read_manifest(folder)
    if known is None:
        raise OutputError("the folder is not empty and holds no generated project", where=str(folder), hint=hint)
    foreign = sorted(present - set(known) - {MANIFEST})
    if foreign:
        raise OutputError(
            f"the folder also holds '{foreign[0]}', which was not generated", where=str(folder), hint=hint
        )
    for path, digest in known.items():
        file = folder / path
        if file.exists() and hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            raise OutputError(f"'{path}' was changed since it was generated", where=str(folder), hint=hint)


def _read_manifest(folder: Path) -> dict[str, str] | None:
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
        files = content["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if content.get("generator") != GENERATOR or not isinstance(files, dict):
        return None
    return files
