"""What the templates may print: every value computed, every name chosen, every line of numbers laid out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ops
from ..dtypes import DType
from ..errors import TargetError, Unsupported, UnsupportedError
from ..ir import TensorType
from ..lower import Call, Program, ProgramTensor
from ..nnacl_kernels import catalogue
from ..ops import fused
from ..ops.compressed import weight_bits
from ..regions import MemoryRegion
from ..targets import Target
from . import literals
from .branches import FRAME, Address, ControlView, PartView, branches, loop
from .by_rows import Arrivals, RowsView, Stage, rows_view, stages
from .constant_views import Constants, ConstantView
from .memory_map import (
    ArenaView,
    ConstantRegionView,
    arena_in_use,
    arenas_of,
    macro_of,
    place_constants,
    placement_report,
    variable_of,
)
from .names import UniqueNames, comment, identifier, short_comment
from .ranged import SizeTexts, SizeView, TableView

STACK_BASE = 1024
"""Bytes of stack that a run may use beside the pointer arrays of its widest call; self-tests on boards measure it."""


@dataclass(frozen=True)
class TensorView:
    """An input or output of the model."""

    index: int
    name: str
    """As in the model, fit for a comment or a string literal."""
    key: str
    """As in the model, unchanged; for the report."""
    macro: str
    c_type: str
    dtype: DType
    type: TensorType
    type_text: str
    """For people; sizes that are chosen at run time by their names."""
    dims: tuple[str, ...]
    """The shape in C."""
    count: int
    """Of elements, at most."""
    count_text: str
    """Of elements, in C."""
    nbytes: int
    address: str
    """A C expression over ``instance->arena``; ``NULL`` for an input that the model does not use, empty for one that
    arrives by rows."""
    end: int
    """Bytes from the start of the arena to its end; 0 outside of the arena."""
    room: str
    """``NAME_`` and this is the size of that arena."""
    quant: str
    """For people: ``"real = 0.5 * (q - 3)"``; empty without quantization."""
    scale: str
    zero_point: str
    labels: tuple[str, ...] = ()
    """String literals: the texts that its integers, or the positions along its last dimension, stand for."""


@dataclass(frozen=True)
class ParamsView:
    """A parameter struct."""

    symbol: str
    c_type: str
    size: int
    lines: tuple[str, ...]
    changes: tuple[str, ...] = ()
    """Assignments to the fields of a copy of it, ``p``, that depend on sizes chosen at run time."""


@dataclass(frozen=True)
class LayerView:
    """One call, or a view that needs none."""

    index: int
    label: str
    """The index, behind those of the layers whose subgraph it is in."""
    op: str
    name: str
    """As in the model, fit for a comment."""
    key: str
    """As in the model, unchanged; for the report."""
    title: tuple[str, ...]
    kernel: str
    kernel_file: str
    """Its path inside ``kernels/``."""
    isa: str
    params: ParamsView | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    workspace: int
    workspace_offset: int
    workspace_arena: str
    """The name of the arena that it lies in."""
    workspace_room: str
    macs: int
    constant_bytes: int
    weight_bits: int | None
    output_types: tuple[str, ...]
    elided: bool
    floats: bool
    """Whether a result holds floats."""
    arrays: tuple[str, ...] = ()
    """Declarations of small inputs that are computed from sizes."""
    control: ControlView | None = None
    """For an op with subgraphs, which has no kernel."""
    shares_params: bool = False
    """An earlier layer has the same parameters."""
    arrives: bool = False
    """No call: rows of the input are written."""
    arena_used: int | None = None
    """Up to where the arenas hold something while it runs, bytes; None inside of subgraphs."""


@dataclass(frozen=True)
class StateView:
    """A tensor that outlives a run, and how it starts."""

    name: str
    type: TensorType
    address: str
    nbytes: int
    byte: str
    """All of its bytes at the start; empty when they differ."""
    symbol: str
    """The array that holds its start; empty when one byte does."""


@dataclass(frozen=True)
class SampleView:
    """One stored input with its expected output: for each tensor the lines of an initialiser."""

    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[tuple[str, ...], ...]
    tolerances: tuple[str, ...]
    """For each output the largest difference that is right, as a C literal; 0 for integers."""
    sizes: tuple[int, ...] = ()
    """In the order of those of the model."""
    input_counts: tuple[int, ...] = ()
    output_counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class ModelView:
    """A generated project."""

    name: str
    upper: str
    title: str
    contract: str
    target: Target
    inputs: tuple[TensorView, ...]
    outputs: tuple[TensorView, ...]
    layers: tuple[LayerView, ...]
    constants: tuple[ConstantView, ...]
    arena_size: int
    arena_lower_bound: int
    weights_size: int
    params_size: int
    stack_size: int
    macs: int
    headers: tuple[str, ...]
    kernels: tuple[str, ...]
    sources: tuple[str, ...]
    """Kernel sources, paths inside ``kernels/``."""
    binary_weights: bool
    """The constants stand in a binary file that the assembler includes, not in C."""
    states: tuple[StateView, ...] = ()
    samples: tuple[SampleView, ...] = ()
    needs_math: bool = False
    largest_workspace: int = field(default=0)
    sizes: tuple[SizeView, ...] = ()
    tables: tuple[TableView, ...] = ()
    stack_compiler: str = ""
    """For whose code the stack size is exact; empty: an estimate on the safe side."""
    code_size: int | None = None
    """Of the code that this compiler makes."""
    rows: RowsView | None = None
    """How the one input arrives by rows."""
    arenas: tuple[ArenaView, ...] = ()
    constant_regions: tuple[ConstantRegionView, ...] = ()
    placement: tuple[Mapping[str, Any], ...] = ()
    """For the report: what lies in which memory."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The layers between the arrivals of rows."""
        return stages(self.layers)

    @property
    def all_layers(self) -> tuple[LayerView, ...]:
        """Those of subgraphs included, each behind the layer that it belongs to."""
        return tuple(flat_layers(self.layers))

    @property
    def parts(self) -> tuple[PartView, ...]:
        """The subgraphs, inner ones first."""
        return tuple(
            part for layer in reversed(self.all_layers) if layer.control is not None for part in layer.control.parts
        )

    @property
    def has_loop(self) -> bool:
        return any(layer.control is not None and layer.control.limit for layer in self.all_layers)

    @property
    def program_stack(self) -> int:
        """Bytes of stack of the self-test and the runner on a board."""
        return 2 * self.stack_size + 4096


def flat_layers(layers: Iterable[LayerView]) -> Iterator[LayerView]:
    for layer in layers:
        yield layer
        if layer.control is not None:
            for part in layer.control.parts:
                yield from flat_layers(part.layers)


def build_view(
    program: Program,
    target: Target,
    *,
    name: str,
    title: str,
    contract: str,
    binary_weights: bool,
    arrivals: Arrivals | None = None,
    regions: Sequence[MemoryRegion] = (),
    labels: Mapping[str, Sequence[str]] | None = None,
) -> ModelView:
    """Everything about a project but its files' texts. ``arrivals``: what the inputs of the program are pieces of;
    ``regions``: the memories of the chip, which the program was lowered for. ``labels``: of inputs and
    outputs, by name.
    Raises TargetError when the target's memory cannot hold it."""
    constants = Constants(name, target.alignment, binary_weights)
    scope = _Scope(program, constants, SizeTexts(program, name), labels=labels or {})
    used_bytes = arena_in_use(program)
    layers = tuple(
        dataclasses.replace(_layer(index, call, scope), arena_used=used_bytes[index])
        for index, call in enumerate(program.calls)
    )
    rows = None if arrivals is None else rows_view(arrivals, program)
    inputs = _io([scope.tensor(i) for i in program.inputs] if arrivals is None else [arrivals.tensor], "input", scope)
    if rows is not None:
        inputs = (dataclasses.replace(inputs[0], address=""),)
    outputs = _io([scope.tensor(index) for index in program.outputs], "output", scope)
    states = _states(program, constants, scope)
    arenas = arenas_of(program)
    placed, constant_regions = place_constants(constants.sizes(), regions, arenas, target.alignment, title)
    layers = _shared_params(layers)
    every = list(flat_layers(layers))
    params = [layer.params for layer in every if layer.params is not None and not layer.shares_params]
    tables = scope.sizes.tables
    used = [call for call in program.all_calls if call.kernel is not None]
    copied = max((struct.size for struct in params if struct.changes), default=0)
    view = ModelView(
        name=name,
        upper=name.upper(),
        title=comment(title),
        contract=contract,
        target=target,
        inputs=inputs,
        outputs=outputs,
        layers=layers,
        constants=tuple(
            dataclasses.replace(item, section=placed[item.symbol].section) if item.symbol in placed else item
            for item in constants.views
        ),
        arena_size=max(program.arena_size, 1),  # C knows no arrays of size 0
        arena_lower_bound=program.arena_lower_bound,
        weights_size=sum(constant.nbytes for constant in constants.views),
        params_size=sum(item.size for item in params) + sum(table.nbytes for table in tables),
        stack_size=stack_bytes(program) + copied + FRAME * _depth(layers),
        macs=program.macs,
        headers=tuple(sorted({catalogue.ops()[call.node.op].header for call in used})),
        kernels=tuple(sorted({call.kernel.symbol for call in used if call.kernel})),
        sources=tuple(sorted({call.kernel.file for call in used if call.kernel})),
        binary_weights=binary_weights,
        states=states,
        needs_math=any(
            literals.needs_math(line)
            for lines in (*(p.lines for p in params), *(t.lines for t in tables))
            for line in lines
        ),
        largest_workspace=max((call.workspace for call in used), default=0),
        sizes=scope.sizes.views,
        tables=tables,
        rows=rows,
        arenas=arenas,
        constant_regions=constant_regions,
        placement=placement_report(program, constants.sizes(), placed) if regions else (),
    )
    _check_memory(view)
    return view


def stack_bytes(program: Program) -> int:
    """Bytes of stack that a run may use beside subgraphs and parameters that are changed."""
    used = [call for call in program.all_calls if call.kernel is not None]
    return STACK_BASE + 8 * max((len(call.inputs) + len(call.outputs) for call in used), default=0)


def _shared_params(layers: Sequence[LayerView]) -> tuple[LayerView, ...]:
    """The layers, where equal parameters stand once."""
    first: dict[tuple[str, tuple[str, ...]], ParamsView] = {}
    shared = []
    for layer in layers:
        params = layer.params
        if params is not None and not params.changes:
            known = first.setdefault((params.c_type, params.lines), params)
            layer = dataclasses.replace(layer, params=known, shares_params=known is not params)
        shared.append(layer)
    return tuple(shared)


def _depth(layers: Iterable[LayerView]) -> int:
    """How deep subgraphs lie in each other."""
    parts = [part for layer in layers if layer.control is not None for part in layer.control.parts]
    return max((1 + _depth(part.layers) for part in parts), default=0)


@dataclass(frozen=True)
class _Scope:
    """A program whose layers are printed, and what its texts share with others."""

    program: Program
    constants: Constants
    sizes: SizeTexts
    label: str = ""
    """Of the layer that this is a subgraph of, with a ``_`` behind it."""
    arena: str = "arena"
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Of inputs and outputs, by name."""

    def tensor(self, index: int) -> ProgramTensor:
        return self.program.tensors[index]


def _check_memory(view: ModelView) -> None:
    """What is certain before compiling; the linker has the last word."""
    board = view.target.board
    if board is None:
        return
    flash = view.weights_size + view.params_size
    ram = view.arena_size + view.stack_size
    for what, need, room in (("flash", flash, board.flash.length), ("RAM", ram, board.ram.length)):
        if need > room:
            raise TargetError(
                f"the model needs at least {need:,} bytes of {what}; {board.machine} has {room:,}",
                where=view.title,
                hint="quantize the model to int8, shrink its input, or choose a target with more memory",
            )


def _layer(index: int, call: Call, scope: _Scope) -> LayerView:
    node = call.node
    label = f"{scope.label}{index}"
    arguments, constant_bytes, arrays = _arguments(label, call, scope)
    while arguments and arguments[-1] == "NULL":
        arguments.pop()
    return LayerView(
        index=index,
        label=label,
        op=node.op,
        name=short_comment(node.name),
        key=node.name,
        title=tuple(_title(label, call, scope)),
        kernel="" if call.kernel is None else call.kernel.symbol,
        kernel_file="" if call.kernel is None else call.kernel.file,
        isa="" if call.kernel is None else call.kernel.isa,
        params=None if call.elided or call.kernel is None else _params(label, call, scope),
        inputs=tuple(arguments),
        outputs=tuple(_address(scope.tensor(output), scope) for output in call.outputs),
        workspace=call.workspace,
        workspace_offset=call.workspace_offset,
        workspace_arena=variable_of(scope.program, call.workspace_region),
        workspace_room=macro_of(scope.program, call.workspace_region),
        macs=call.macs,
        constant_bytes=constant_bytes,
        weight_bits=None if call.arrives else weight_bits(call.node),
        output_types=tuple(scope.sizes.type_text(scope.tensor(output)) for output in call.outputs),
        elided=call.elided,
        floats=_gives_floats(call, scope),
        arrays=tuple(arrays),
        control=_control(label, call, arguments, scope) if call.parts else None,
        arrives=call.arrives,
    )


def _arguments(label: str, call: Call, scope: _Scope) -> tuple[list[str], int, list[str]]:
    """The inputs of a call in C, the bytes of constants that are used here first, and arrays to declare before."""
    roles = ops.get(call.node.op).inputs if call.inputs else ()
    arguments: list[str] = []
    arrays: list[str] = []
    constant_bytes = 0
    for position, tensor_index in enumerate(() if call.elided else call.inputs):
        tensor = None if tensor_index is None else scope.tensor(tensor_index)
        if tensor is None or tensor.data is None:
            arguments.append("NULL" if tensor is None else _address(tensor, scope))
            continue
        role = _role(roles, position)
        if tensor.variants is not None:
            arrays.append(scope.sizes.array(call, tensor, role))
            arguments.append(role)
            continue
        title = f'layer {label} {call.node.op}: {role} {tensor.type} "{short_comment(tensor.name)}"'
        reads = call.reads[position] if position < len(call.reads) else 0
        symbol, nbytes = scope.constants.symbol(tensor, call.packed.get(position), f"l{label}_{role}", title, reads)
        arguments.append(symbol)
        constant_bytes += nbytes
    return arguments, constant_bytes, arrays


def _control(label: str, call: Call, arguments: Sequence[str], scope: _Scope) -> ControlView:
    roles = ("then", "else") if call.node.op == "if" else ("body",)
    scopes = [
        _Scope(part, scope.constants, SizeTexts(part, scope.constants.prefix), f"{label}_{role}_")
        for part, role in zip(call.parts, roles, strict=True)
    ]
    names = [f"{scope.constants.prefix}_l{label}_{role}" for role in roles]
    layers = [[_layer(index, inner, part) for index, inner in enumerate(part.program.calls)] for part in scopes]

    def address_in(part: _Scope) -> Address:
        def address(tensor: ProgramTensor) -> str:
            if tensor.data is not None:
                title = f'layer {label}: result "{short_comment(tensor.name)}", a constant'
                return part.constants.symbol(tensor, None, f"l{label}_result", title)[0]
            return f"part + {tensor.offset}"

        return address

    addresses = [address_in(part) for part in scopes]
    if call.node.op == "if":
        return branches(call, scope.program, label, arguments, layers, names, addresses)
    return loop(call, scope.program, label, arguments, layers[0], names[0], addresses[0])


def _role(roles: Sequence[str], position: int) -> str:
    role = roles[min(position, len(roles) - 1)]
    name = role.rstrip("?*")
    return f"{name}{position}" if role.endswith("*") else name


def _title(label: str, call: Call, scope: _Scope) -> list[str]:
    """The comment above a call: what it is, what goes in and out, what it costs."""
    node = call.node
    source = "" if node.source == node.op else f" ({comment(node.source)})"
    name = f' "{short_comment(node.name)}"' if node.name else ""
    ins = [scope.tensor(i) for i in call.inputs if i is not None and scope.tensor(i).data is None]
    outs = [scope.tensor(i) for i in call.outputs]
    given, results = (", ".join(scope.sizes.type_text(tensor) for tensor in tensors) for tensors in (ins, outs))
    costs = []
    if call.elided:
        costs.append("same bytes, no code")
    if call.arrives:
        return [f"{label}: input{name} arrives", ", ".join(scope.sizes.type_text(tensor) for tensor in outs)]
    if call.macs:
        costs.append(f"{call.macs} MACs")
    if call.workspace:
        costs.append(f"{call.workspace} bytes of workspace")
    shapes = f"{given or 'constants'} -> {results}"
    what = comment(fused.formula(node.attrs)) if node.op == fused.NAME else node.op
    return [f"{label}: {what}{name}{source}", shapes + "".join(f", {cost}" for cost in costs)]


def _gives_floats(call: Call, scope: _Scope) -> bool:
    return any(scope.tensor(output).type.dtype.is_float for output in call.outputs)


def _params(label: str, call: Call, scope: _Scope) -> ParamsView:
    floats = _gives_floats(call, scope)
    op = catalogue.ops()[call.node.op]
    return ParamsView(
        symbol=f"p{label}",
        c_type=op.params_name,
        size=op.params_size,
        lines=tuple(literals.params_lines(call.node.op, call.fields, floats=floats)),
        changes=scope.sizes.changes(call),
    )


def _address(tensor: ProgramTensor, scope: _Scope) -> str:
    return "NULL" if tensor.offset is None else f"{variable_of(scope.program, tensor.region)} + {tensor.offset}"


def _io(tensors: Sequence[ProgramTensor], role: str, scope: _Scope) -> tuple[TensorView, ...]:
    names = UniqueNames(("_COUNT", "_SCALE", "_ZERO_POINT", "_LABELS"))
    views = []
    for position, tensor in enumerate(tensors):
        address = _address(tensor, scope)
        if tensor.variants is not None:
            reason = "it is computed from sizes that are chosen at run time"
            raise UnsupportedError([Unsupported(tensor.name, role, reason, "fix the sizes")])
        if tensor.data is not None:
            address, _ = scope.constants.symbol(tensor, None, f"{role}_{position}", f"{role} {position}, a constant")
        quant = tensor.quant if tensor.quant is not None and tensor.quant.is_per_tensor else None
        scale = "" if quant is None else literals.float32(float(quant.scale[0]))
        zero = "" if quant is None else str(int(quant.zero_point[0]))
        views.append(
            TensorView(
                index=position,
                name=short_comment(tensor.name),
                key=tensor.name,
                macro=names.take(identifier(tensor.name, fallback=role).upper()),
                c_type=tensor.type.dtype.c_name,
                dtype=tensor.type.dtype,
                type=tensor.type,
                type_text=scope.sizes.type_text(tensor),
                dims=scope.sizes.dims(tensor),
                count=tensor.nbytes // tensor.type.dtype.size,
                count_text=scope.sizes.count(tensor),
                nbytes=tensor.nbytes,
                address=address,
                end=0 if tensor.offset is None else tensor.offset + tensor.nbytes,
                room=macro_of(scope.program, tensor.region),
                quant="" if quant is None else f"real = {scale.rstrip('f')} * (q - {zero})",
                scale=scale,
                zero_point=f"({zero})" if zero.startswith("-") else zero,
                labels=tuple(map(literals.string, scope.labels.get(tensor.name, ()))),
            )
        )
    return tuple(views)


def _states(program: Program, constants: Constants, scope: _Scope) -> tuple[StateView, ...]:
    views = []
    for position, state in enumerate(program.states):
        tensor = program.tensors[state.tensor]
        start = np.ascontiguousarray(state.start)
        values = set(start.tobytes())
        symbol = ""
        if len(values) > 1:
            constant = dataclasses.replace(tensor, data=start)
            label = f'start of the state {tensor.type} "{short_comment(tensor.name)}"'
            symbol, _ = constants.symbol(constant, None, f"state_{position}", label)
        views.append(
            StateView(
                name=short_comment(tensor.name),
                type=tensor.type,
                address=_address(tensor, scope),
                nbytes=tensor.nbytes,
                byte=str(min(values, default=0)) if len(values) <= 1 else "",
                symbol=symbol,
            )
        )
    return tuple(view for view in views if view.nbytes)
