"""Python's view of the kernel library: the op and kernel tables, parameter structs, plan halves and the planner.

Everything is asked of the C library through cffi, so that a number is computed in one place for the converter, the
runtime and generated code. Element types are the numbers of ``nnacl_base.h``; instruction sets are named as there.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI, CDefError

from microlith.nnacl_kernels import extension_tables
from microlith.nnacl_kernels.extension_tables import Attached
from microlith.nnacl_kernels.library import find_library, read_declarations

ROOT = Path(__file__).parent
"""The folder of the kernel sources."""

ANY_DTYPE = 255
PACKED_LAYOUT = 1
"""NNACL_PACKED_LAYOUT: grows whenever a kernel wants packed inputs in another layout."""
ALIAS_NONE, ALIAS_IN_PLACE, ALIAS_VIEW = 0, 1, 2
LEAD_NONE, LEAD_FROM, LEAD_AT = 0, 1, 2
PACKED_ELSEWHERE = 2 ** (8 * struct.calcsize("P")) - 1


class PlanError(ValueError):
    """The plan half of an op refused its attributes or inputs; the text says why."""


class NeedsDataError(PlanError):
    """The plan half lacks the values of an input that decides about shapes."""


@dataclass(frozen=True)
class Tensor:
    """What a plan half knows of a tensor: element type (a number), shape, and its values if it is a constant."""

    dtype: int
    shape: tuple[int, ...]
    data: np.ndarray | None = None


@dataclass(frozen=True)
class Field:
    """One field of a parameter struct. ``length`` 0: a scalar, else an array."""

    name: str
    c_type: str
    length: int


@dataclass(frozen=True)
class Op:
    """A row of the op table."""

    name: str
    params_name: str
    header: str
    params_size: int
    alias: int
    data_inputs: int
    """Bit i: the values of input i decide about shapes."""
    types_only: bool
    """What the op computes follows from the types of its inputs alone."""
    pointer: Any
    extension: Attached | None = None
    """Who brings it; None: this library."""


@dataclass(frozen=True)
class Kernel:
    """A row of the kernel table. ``runnable``: this build has its code."""

    op: str
    symbol: str
    file: str
    dtype: int
    isa: str
    runnable: bool
    pointer: Any


@dataclass(frozen=True)
class Lead:
    """How the memory of an input may overlap that of the first output (``nnacl_lead``): bytes, and one of the LEAD_
    values."""

    bytes: int = 0
    kind: int = LEAD_NONE


def is_family_header(name: str) -> bool:
    """Whether a header declares the parameter structs of its folder. (The tables of an extension stand beside it.)"""
    path = Path(name)
    return path.suffix == ".h" and path.stem == path.parent.name


def _family_headers() -> list[Path]:
    return sorted(path for path in ROOT.glob("*/*.h") if is_family_header(path.as_posix()))


@functools.cache
def c_library() -> tuple[FFI, Any]:
    """The cffi instance and the loaded library."""
    ffi = FFI()
    names = ("nnacl_base.h", "nnacl_isa.h", "nnacl_kernels.h", "nnacl_extension.h", "plan/arena.h")
    ffi.cdef(read_declarations(*(ROOT / name for name in names), *_family_headers()))
    return ffi, ffi.dlopen(str(find_library()))


def _text(pointer: Any) -> str:
    ffi, _ = c_library()
    return bytes(ffi.string(pointer)).decode()


class _Tables:
    """Both tables, those of the extensions that are attached after our own."""

    def __init__(self) -> None:
        ffi, lib = c_library()
        self.ops: dict[str, Op] = {}
        self.kernels: list[Kernel] = []
        self.extensions: tuple[Attached, ...] = ()
        self.types: dict[str, FFI] = {}
        """The declarations of each extension, which may change while it is being written."""
        while (row := lib.nnacl_op_at(len(self.ops))) != ffi.NULL:
            self._add_op(row, None)
        while (kernel := lib.nnacl_kernel_at(len(self.kernels))) != ffi.NULL:
            self.kernels.append(_kernel(kernel))
        self._own = len(self.kernels)

    def _add_op(self, row: Any, extension: Attached | None) -> None:
        op = Op(
            name=_text(row.name),
            params_name=_text(row.params_name),
            header=_text(row.header),
            params_size=row.params_size,
            alias=row.alias,
            data_inputs=row.data_inputs,
            types_only=bool(row.types_only),
            pointer=row,
            extension=extension,
        )
        self.ops[op.name] = op

    def follow(self) -> _Tables:
        """The tables with the extensions that are attached now."""
        present = extension_tables.attached()
        if present == self.extensions:
            return self
        fields.cache_clear()
        self.ops = {name: op for name, op in self.ops.items() if op.extension is None}
        del self.kernels[self._own :]
        for extension in present:
            header = extension.folder / f"{extension.name}.h"
            if extension not in self.extensions:
                self.types[extension.name] = _declared(header)
            table = _extension(extension)
            for index in range(table.n_ops):
                self._add_op(table.ops[index], extension)
            self.kernels.extend(_kernel(table.kernels + index) for index in range(table.n_kernels))
        self.extensions = present
        return self


def _declared(header: Path) -> FFI:
    """What a header of an extension declares, beside our own declarations."""
    ffi = FFI()
    ffi.include(c_library()[0])
    ffi.cdef(read_declarations(header))
    return ffi


def _types(op: str) -> FFI:
    """Who knows the parameter struct of an op."""
    extension = ops()[op].extension
    return c_library()[0] if extension is None else _tables().types[extension.name]


@functools.cache
def _tables() -> _Tables:
    return _Tables()


def _extension(extension: Attached) -> Any:
    ffi, _ = c_library()
    return ffi.cast("nnacl_extension *", extension.address)


def ops() -> Mapping[str, Op]:
    """The op table by name."""
    return _tables().follow().ops


def kernels() -> Sequence[Kernel]:
    """The kernel table, best row first within an op and type."""
    return _tables().follow().kernels


def struct_size(op: str) -> int:
    """Bytes of the parameter struct of an op as its header declares it; KeyError when it does not."""
    ffi = _types(op)
    try:
        return int(ffi.sizeof(ops()[op].params_name))
    except CDefError as error:
        raise KeyError(ops()[op].params_name) from error


def _kernel(row: Any) -> Kernel:
    ffi, lib = c_library()
    return Kernel(
        op=_text(row.op),
        symbol=_text(row.symbol),
        file=_text(row.file),
        dtype=row.dtype,
        isa=_text(lib.nnacl_isa_name(row.isa)),
        runnable=row.run != ffi.NULL,
        pointer=row,
    )


def detected_isa() -> tuple[str, ...]:
    """Names of the instruction sets of this machine."""
    _, lib = c_library()
    mask = lib.nnacl_isa_detect()
    return tuple(_text(lib.nnacl_isa_name(1 << bit)) for bit in range(32) if mask >> bit & 1)


def dtype_name(dtype: int) -> str:
    """``"f32"``, ``"s8"``, ... or ``"any"``."""
    _, lib = c_library()
    return "any" if dtype == ANY_DTYPE else _text(lib.nnacl_dtype_name(dtype))


@functools.cache
def fields(op: str) -> tuple[Field, ...]:
    """The fields of an op's parameter struct, in order."""
    result = []
    for name, field in _types(op).typeof(ops()[op].params_name).fields:
        is_array = field.type.kind == "array"
        item = field.type.item if is_array else field.type
        result.append(Field(name, item.cname, field.type.length if is_array else 0))
    return tuple(result)


def _fill(target: Any, tensor: Tensor | None, keep: list[Any]) -> None:
    """Writes a tensor into a C ``nnacl_tensor``. ``keep`` holds what must outlive the call."""
    ffi, _ = c_library()
    if tensor is None:
        target.dtype = -1
        return
    if len(tensor.shape) > len(target.dims):
        raise PlanError(f"rank {len(tensor.shape)} is more than {len(target.dims)}")
    target.dtype, target.rank = tensor.dtype, len(tensor.shape)
    for index, dim in enumerate(tensor.shape):
        if not 0 <= dim < 2**31:
            raise PlanError(f"dimension {dim} is out of range")
        target.dims[index] = dim
    if tensor.data is not None and tensor.data.size:
        pointer = ffi.from_buffer(np.ascontiguousarray(tensor.data))
        keep.append(pointer)
        target.data = pointer


def make_params(
    op: str, attrs: Mapping[str, Any], inputs: Sequence[Tensor | None], n_outputs: int = 1
) -> tuple[bytes, list[Tensor]]:
    """The parameter struct of an op for given attributes and inputs, and the output tensors that follow.

    Raises PlanError when the op refuses them (NeedsDataError when it lacks the values of an input), and KeyError for an
    attribute that is not a field.
    """
    return _resized(ops()[op], _filled(op, attrs), inputs, n_outputs)


def raw_params(op: str, attrs: Mapping[str, Any]) -> bytes:
    """The parameter struct of an op whose shapes are not known: the derived fields are zero."""
    ffi, _ = c_library()
    return bytes(ffi.buffer(_filled(op, attrs), ops()[op].params_size))


def _filled(op: str, attrs: Mapping[str, Any]) -> Any:
    """A new parameter struct with its attributes set."""
    row = ops()[op]
    params = _types(op).new(f"{row.params_name} *")
    known = {field.name: field for field in fields(op)}
    for name, value in attrs.items():
        field = known[name]
        if not field.length:
            setattr(params, name, _scalar(field, value))
            continue
        if len(value) > field.length:
            raise PlanError(f"{name} has {len(value)} entries, at most {field.length} fit")
        array = getattr(params, name)
        for index, item in enumerate(value):
            array[index] = _scalar(field, item)
    return params


def _resized(row: Op, params: Any, inputs: Sequence[Tensor | None], n_outputs: int) -> tuple[bytes, list[Tensor]]:
    ffi, lib = c_library()
    keep: list[Any] = []
    c_inputs = ffi.new("nnacl_tensor[]", max(1, len(inputs)))
    for index, tensor in enumerate(inputs):
        _fill(c_inputs[index], tensor, keep)
    c_outputs = ffi.new("nnacl_tensor[]", max(1, n_outputs))
    message = row.pointer.resize(params, c_inputs, len(inputs), c_outputs, n_outputs)
    if message == lib.nnacl_needs_data:
        raise NeedsDataError(_text(message))
    if message != ffi.NULL:
        raise PlanError(_text(message))
    outputs = [
        Tensor(c_outputs[index].dtype, tuple(c_outputs[index].dims[0 : c_outputs[index].rank]))
        for index in range(n_outputs)
    ]
    return bytes(ffi.buffer(params, row.params_size)), outputs


def _scalar(field: Field, value: Any) -> Any:
    if field.c_type == "float":
        return float(np.float32(value))
    if isinstance(value, float) and not value.is_integer():
        raise PlanError(f"{field.name} must be an integer, not {value}")
    if not -(2**31) <= int(value) < 2**31:
        raise PlanError(f"{field.name} = {value} does not fit 32 bits")
    return int(value)


def read_params(op: str, params: bytes) -> dict[str, int | float | list[Any]]:
    """All fields of a parameter struct. A shorter blob is zero-extended; ValueError when it is longer."""
    ffi = _types(op)
    struct = ffi.new(f"{ops()[op].params_name} *")
    if len(params) > ops()[op].params_size:
        raise ValueError(f"{len(params)} bytes of parameters, {op} has {ops()[op].params_size}")
    ffi.memmove(struct, params, len(params))
    values: dict[str, int | float | list[Any]] = {}
    for field in fields(op):
        value = getattr(struct, field.name)
        values[field.name] = list(value) if field.length else value
    return values


def check(op: str, params: bytes, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> str | None:
    """None when parameters, inputs and outputs agree exactly, else what is wrong."""
    ffi, lib = c_library()
    keep: list[Any] = []
    c_inputs = ffi.new("nnacl_tensor[]", max(1, len(inputs)))
    c_outputs = ffi.new("nnacl_tensor[]", max(1, len(outputs)))
    try:
        for index, tensor in enumerate(inputs):
            _fill(c_inputs[index], tensor, keep)
        for index, tensor in enumerate(outputs):
            _fill(c_outputs[index], tensor, keep)
    except PlanError as error:
        return str(error)
    message = lib.nnacl_check(ops()[op].pointer, _blob(params), c_inputs, len(inputs), c_outputs, len(outputs))
    return None if message == ffi.NULL else _text(message)


def _blob(params: bytes) -> Any:
    """The bytes of a parameter struct, aligned as C wants them."""
    ffi, _ = c_library()
    blob = ffi.new("int32_t[]", max(1, math.ceil(len(params) / 4)))
    ffi.memmove(blob, params, len(params))
    return blob


def find_kernel(
    op: str, dtype: int, params: bytes, isa_names: Sequence[str], *, runnable: bool = False
) -> Kernel | None:
    """The best kernel for the parameters among the instruction sets, or None."""
    choices = candidates(op, dtype, isa_names, runnable=runnable)
    return next((kernel for kernel in choices if accepts(kernel, params)), None)


def candidates(op: str, dtype: int, isa_names: Sequence[str], *, runnable: bool = False) -> list[Kernel]:
    """The kernels for an op and an element type among some instruction sets, best first.

    Without those by Winograd, whose weights take several times the memory: they are for the runtime.
    """
    return [
        kernel
        for kernel in kernels()
        if kernel.op == op
        and kernel.dtype in (dtype, ANY_DTYPE)
        and kernel.isa in isa_names
        and not c_library()[1].nnacl_kernel_is_winograd(kernel.pointer)
        and (kernel.runnable or not runnable)
    ]


def accepts(kernel: Kernel, params: bytes) -> bool:
    """Whether a kernel runs for these parameters."""
    function = kernel.pointer.accepts
    return bool(function == c_library()[0].NULL or function(_blob(params)))


def workspace(kernel: Kernel, params: bytes) -> int:
    """Bytes of scratch memory that one part of the work needs."""
    ffi, _ = c_library()
    function = ops()[kernel.op].pointer.workspace
    return 0 if function == ffi.NULL else int(function(_blob(params), kernel.pointer))


def parts(kernel: Kernel, params: bytes) -> int:
    """The most parts that the work can be split into."""
    ffi, _ = c_library()
    function = ops()[kernel.op].pointer.parts
    return 1 if function == ffi.NULL else int(function(_blob(params), kernel.pointer))


def lead(kernel: Kernel, params: bytes, index: int) -> Lead:
    """How input ``index`` may overlap the first output when one part does all the work."""
    ffi, _ = c_library()
    function = ops()[kernel.op].pointer.lead
    if function == ffi.NULL:
        return Lead()
    result = function(_blob(params), kernel.pointer, index)
    return Lead(result.bytes, result.kind)


def holds(op: str, params: bytes, count: int) -> tuple[int, ...] | None:
    """For each of ``count`` inputs where in the first output it lies as one run of bytes; None: not all do."""
    ffi, _ = c_library()
    function = ops()[op].pointer.holds
    if function == ffi.NULL:
        return None
    offsets = tuple(int(function(_blob(params), index)) for index in range(count))
    return None if min(offsets, default=-1) < 0 else offsets


def held(op: str, params: bytes) -> int:
    """Where in the first input the first output lies as one run of bytes, -1: not as one."""
    ffi, _ = c_library()
    function = ops()[op].pointer.held
    return -1 if function == ffi.NULL else int(function(_blob(params)))


def macs(op: str, params: bytes) -> int:
    """Multiply-accumulates of one run."""
    ffi, _ = c_library()
    function = ops()[op].pointer.macs
    return 0 if function == ffi.NULL else int(function(_blob(params)))


def packed_size(kernel: Kernel, params: bytes, index: int) -> int:
    """Bytes of input ``index`` in the layout that the kernel wants; 0: it wants it as it is; PACKED_ELSEWHERE: not at
    all, because what it says is packed into another input.

    Only a constant can be packed: a kernel that packs an input which is not constant cannot serve.
    """
    ffi, _ = c_library()
    function = ops()[kernel.op].pointer.packed_size
    return 0 if function == ffi.NULL else int(function(_blob(params), kernel.pointer, index))


def pack(kernel: Kernel, params: bytes, index: int, inputs: Sequence[np.ndarray | None]) -> bytes | None:
    """Constant input ``index`` in the layout that the kernel wants; None when it wants it as it is, or not at all."""
    ffi, _ = c_library()
    op = ops()[kernel.op].pointer
    size = packed_size(kernel, params, index)
    if size in (0, PACKED_ELSEWHERE):
        return None
    blob = _blob(params)
    packed = ffi.new("char[]", size)
    with _Pointers(inputs) as pointers:
        op.pack(blob, kernel.pointer, index, pointers, packed)
    return bytes(ffi.buffer(packed, size))


class _Pointers:
    """A C array of pointers to NumPy arrays, valid inside the ``with`` block."""

    def __init__(self, arrays: Sequence[np.ndarray | None], writable: bool = False) -> None:
        ffi, _ = c_library()
        self._buffers = [
            ffi.NULL if array is None else ffi.from_buffer("char[]", array, require_writable=writable)
            for array in arrays
        ]
        self._array = ffi.new("void *[]", max(1, len(arrays)))
        for index, buffer in enumerate(self._buffers):
            self._array[index] = buffer

    def __enter__(self) -> Any:
        ffi, _ = c_library()
        return ffi.cast("void **", self._array)

    def __exit__(self, *_: object) -> None:
        self._buffers.clear()


def run(
    kernel: Kernel, params: bytes, inputs: Sequence[np.ndarray | None], outputs: Sequence[np.ndarray]
) -> None:  # fmt: skip
    """Runs a kernel on contiguous arrays. Constant inputs are packed on the way. Writes into ``outputs``."""
    ffi, _ = c_library()
    if not kernel.runnable:
        raise ValueError(f"{kernel.symbol} has no code in this build")
    arrays = [None if array is None else np.ascontiguousarray(array) for array in inputs]
    for index in range(len(arrays)):
        packed = pack(kernel, params, index, arrays)
        if packed is not None:
            arrays[index] = np.frombuffer(packed, np.uint8)
    size = workspace(kernel, params)
    scratch = ffi.new("char[]", size + 64)
    start = ffi.cast("uintptr_t", scratch)
    aligned = ffi.cast("void *", (int(start) + 63) // 64 * 64)
    context = ffi.new("nnacl_ctx *", {"workspace": aligned, "workspace_size": size, "part": 0, "parts": 1})
    with _Pointers(arrays) as c_inputs, _Pointers(outputs, writable=True) as c_outputs:
        kernel.pointer.run(context, _blob(params), c_inputs, c_outputs)


def source_path(name: str) -> Path:
    """Where a file of the kernel library, or of an extension (``acme/acme.h``), lies."""
    family = name.partition("/")[0]
    for extension in extension_tables.attached():
        if extension.name == family:
            return extension.folder.parent / name
    return ROOT / name


def source_files(start: str) -> Iterator[str]:
    """A kernel source and every header of the library that it includes, directly or not, relative to ``ROOT`` or to the
    folder that holds the extension's."""
    waiting, seen = [start], {start}
    while waiting:
        name = waiting.pop(0)
        yield name
        for line in source_path(name).read_text(encoding="utf-8").splitlines():
            if line.startswith('#include "'):
                target = line.split('"')[1]
                beside = (Path(name).parent / target).as_posix()
                found = beside if source_path(beside).exists() else target
                if found not in seen:
                    seen.add(found)
                    waiting.append(found)
