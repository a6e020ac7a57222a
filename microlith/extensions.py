"""Ops from outside of the package: an op definition in Python, a plan half and kernels in C, rows for the importers.

An ``Extension`` names these. It becomes active through an entry point of the group ``microlith.ops`` when a model asks
for one of its ops, through ``--ops`` on the command line, or through ``add_ops``. From then on its ops are ops like any
other. ``docs/custom-ops.md`` has a worked example.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import ops
from .errors import ExtensionError, MicrolithError
from .extension_build import build
from .nnacl_kernels import catalogue, extension_tables
from .nnacl_kernels.extension_tables import TableError
from .ops import OpDef

_NAME = re.compile(r"[a-z][a-z0-9_]*")

HOW_TO_ADD = "install the package that brings it, or name its file with --ops; docs/custom-ops.md says how to write one"

Row = Callable[..., Any]
"""The conversion of one operator: ``row(g, node)`` for ONNX, ``row(node)`` for TFLite, as those of the importers."""


@dataclass(frozen=True)
class Extension:
    """Some ops and what belongs to them."""

    name: str
    """Small letters, digits and underscores. The names of all its ops begin with it and a dot."""
    folder: Path
    """The folder of its C sources, which has the same name."""
    ops: Sequence[OpDef]
    onnx: Mapping[tuple[str, str], Row] = field(default_factory=dict)
    """Conversions of ONNX operators, by domain and name."""
    tflite: Mapping[str, Row] = field(default_factory=dict)
    """Conversions of TFLite's custom operators, by name."""
    library: Path | None = None
    """The shared library, where it was built elsewhere. None: it is compiled when it is first needed."""

    def activate(self) -> None:
        """Builds and loads the kernels, and makes ops and conversions known. Does nothing when that was done before.

        Raises ExtensionError when something is missing, taken or does not fit together, and ToolError when the
        sources cannot be compiled.
        """
        current = _active.get(self.name)
        if current is not None:
            if current.folder.resolve() != Path(self.folder).resolve():
                raise ExtensionError(f"there is an extension of this name already, in {current.folder}", where=self._at)
            return
        self._check_names()
        library = self.library if self.library is not None else build(self.name, Path(self.folder))
        try:
            extension_tables.attach(self.name, Path(self.folder), library)
        except TableError as error:
            raise ExtensionError(str(error), where=self._at, hint="see docs/custom-ops.md") from error
        try:
            self._check_tables()
            ops.register(*self.ops)
        except BaseException:
            extension_tables.detach(self.name)
            raise
        _active[self.name] = self

    def deactivate(self) -> None:
        """Takes ops and conversions out again. Graphs and models that use them must not be used any more."""
        if _active.pop(self.name, None) is not None:
            ops.unregister(*(opdef.name for opdef in self.ops))
            extension_tables.detach(self.name)

    @property
    def _at(self) -> str:
        return f"extension '{self.name}'"

    def _fail(self, what: str, hint: str = "") -> ExtensionError:
        return ExtensionError(what, where=self._at, hint=hint)

    def _check_names(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise self._fail("its name is not made of small letters, digits and underscores, a letter first")
        if (catalogue.ROOT / self.name).exists():
            raise self._fail("microlith has a folder of kernels with this name", "choose another one")
        folder = Path(self.folder)
        if folder.name != self.name:
            raise self._fail(f"the folder of its sources is '{folder.name}'", f"rename it to '{self.name}'")
        if not self.ops:
            raise self._fail("it has no ops")
        for opdef in self.ops:
            if not isinstance(opdef, OpDef):
                raise self._fail(f"{opdef!r} among its ops is no OpDef")
            if opdef.name.partition(".")[0] != self.name or "." not in opdef.name:
                raise self._fail(f"op '{opdef.name}' is not named after it", f"call it '{self.name}.{opdef.name}'")
            if [other.name for other in self.ops].count(opdef.name) > 1:
                raise self._fail(f"it has two ops '{opdef.name}'")
            if opdef.subgraphs:
                raise self._fail(f"op '{opdef.name}' has subgraphs, which the runtime itself would have to run")
        for other in _active.values():
            taken = [" ".join(filter(None, key)) for key in self.onnx if key in other.onnx]
            taken += [name for name in self.tflite if name in other.tflite]
            if taken:
                raise self._fail(f"the extension '{other.name}' converts the operator {taken[0]} already")

    def _check_tables(self) -> None:
        """Holds the Python half against the C half."""
        try:
            table = {
                name: op for name, op in catalogue.ops().items() if op.extension and op.extension.name == self.name
            }
        except Exception as error:  # cffi's, of many types
            text = " ".join(str(error).split())
            raise self._fail(
                f"{self.name}.h cannot be read: {text}",
                "it declares plain structs of int32_t, float and arrays of these",
            ) from error
        names = [opdef.name for opdef in self.ops]
        missing = [f"op '{name}' has an OpDef, but stands not in ops.def" for name in names if name not in table]
        missing += [f"op '{name}' stands in ops.def, but has no OpDef" for name in table if name not in names]
        if missing:
            raise self._fail("; ".join(missing))
        for opdef in self.ops:
            self._check_params(opdef, table[opdef.name])

    def _check_params(self, opdef: OpDef, row: catalogue.Op) -> None:
        try:
            size = catalogue.struct_size(opdef.name)
        except KeyError:
            raise self._fail(f"op '{opdef.name}': {self.name}.h does not declare {row.params_name}") from None
        header = f"{self.name}/{self.name}.h"
        if row.header != header:
            raise self._fail(f"op '{opdef.name}' says that '{row.header}' declares its parameters", f"it is {header}")
        if size != row.params_size:
            raise self._fail(
                f"op '{opdef.name}': {row.params_name} has {size} bytes, the plan half says {row.params_size}",
                f"write .params_size = sizeof({row.params_name})",
            )
        fields = catalogue.fields(opdef.name)
        for item in fields:
            if item.c_type not in ("int32_t", "float"):
                raise self._fail(f"op '{opdef.name}': field '{item.name}' is {item.c_type}", "use int32_t or float")
        unknown = sorted(set(opdef.attrs) - {item.name for item in fields})
        if unknown:
            raise self._fail(
                f"op '{opdef.name}': attribute '{unknown[0]}' is no field of {row.params_name}",
                f"its fields: {', '.join(item.name for item in fields)}",
            )
        if row.data_inputs != sum(1 << position for position in opdef.data_positions):
            raise self._fail(f"op '{opdef.name}': data_inputs differ between the OpDef and the plan half")


_active: dict[str, Extension] = {}


def active() -> tuple[Extension, ...]:
    """The extensions whose ops are known now."""
    return tuple(_active.values())


# Where extensions come from.


def add_ops(source: Extension | str | os.PathLike[str]) -> list[Extension]:
    """Activates extensions: one that is given, or all that a Python file, or the package in a folder, defines.

    Raises ExtensionError when there are none or one is not sound, and ToolError when C sources cannot be compiled.
    """
    found = [source] if isinstance(source, Extension) else _from_file(Path(source))
    for extension in found:
        extension.activate()
    return found


def _from_file(path: Path) -> list[Extension]:
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise ExtensionError(
            "no such file" if path.suffix == ".py" else "is neither a Python file nor the folder of a package",
            where=str(path),
            hint="name a file that defines a microlith.extensions.Extension",
        )
    file = file.resolve()
    name = f"microlith_ops_{file.parent.name if path.is_dir() else file.stem}_{abs(hash(str(file))):x}"
    module = sys.modules.get(name)
    if module is None:
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ExtensionError("is not a Python file", where=str(path))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[name]
            if isinstance(error, MicrolithError) or not isinstance(error, Exception):
                raise
            raise ExtensionError(f"its code fails: {_last_line(error)}", where=_line_of(error, file)) from error
    found = [value for value in vars(module).values() if isinstance(value, Extension)]
    if not found:
        raise ExtensionError(
            "defines no Extension", where=str(path), hint="NAME = microlith.extensions.Extension(...); see the docs"
        )
    return found


def _last_line(error: Exception) -> str:
    return traceback.format_exception_only(type(error), error)[-1].strip()


def _line_of(error: Exception, file: Path) -> str:
    """The place in a file at which an error came up."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines.append(error.lineno or 1)
    return f"{file}:{lines[-1]}" if lines else str(file)


def installed(name: str | None = None) -> Iterator[Extension]:
    """The extensions that installed packages offer, or the one of a name. Raises ExtensionError for a broken one."""
    for key, entry in extension_tables.installed().items():
        if name is not None and key != name:
            continue
        where = f"entry point '{key}' of the group {extension_tables.GROUP}"
        try:
            found = entry.load()
        except Exception as error:
            raise ExtensionError(f"cannot be loaded: {_last_line(error)}", where=where) from error
        if not isinstance(found, Extension) or found.name != key:
            what = f"the extension '{found.name}'" if isinstance(found, Extension) else f"{type(found).__name__}"
            raise ExtensionError(
                f"{entry.value} is {what}", where=where, hint=f"it has to be an Extension with the name '{key}'"
            )
        yield found


def activate_installed(name: str) -> bool:
    """Activates the installed extension of a name; False when there is none."""
    found = list(installed(name))
    for extension in found:
        extension.activate()
    return bool(found)


def onnx_row(domain: str, operator: str) -> Row | None:
    """The conversion of an ONNX operator by an extension, which becomes active."""
    return _row(lambda extension: extension.onnx.get((domain, operator)))


def tflite_row(operator: str) -> Row | None:
    """The conversion of a custom operator of TFLite by an extension, which becomes active."""
    return _row(lambda extension: extension.tflite.get(operator))


def _row(find: Callable[[Extension], Row | None]) -> Row | None:
    for extension in (*active(), *installed()):
        row = find(extension)
        if row is not None:
            extension.activate()
            return row
    return None
