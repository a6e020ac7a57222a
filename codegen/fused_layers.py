"""Fused elementwise layers in generated C.

Where the C kernel would run a program step by step, a project has a loop of plain expressions instead: one function for
each program, beside the kernels and with their signature. It needs no workspace and no steps in its parameters, and it
computes with the functions of the C kernels, so that its results are theirs to the bit. Other instruction sets keep
their kernel, and the table of functions that it looks into is cut to those that the layers need.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import ops
from ..binding import BoundNode
from ..dtypes import DType
from ..ir import Graph, Node, Value
from ..lower import Call, Program, lower
from ..nnacl_kernels import catalogue
from ..ops import fused
from ..targets import Target
from . import literals
from .names import comment

LOOPS_FILE = "elementwise/fused_loops_f32_c.c"
"""The file of the printed functions, in a project."""

_TYPES = (DType.f32.value, DType.b8.value)
_SIMPLE, _MATH = "elementwise/simple_f32.h", "elementwise/math_f32.h"


@dataclass(frozen=True)
class _Text:
    """How a function is written: ``{0}`` and so on are its operands, then alpha and beta."""

    pattern: str
    header: str = ""


_TEXTS: dict[str, _Text] = {
    **{op: _Text(f"{{0}} {sign} {{1}}") for op, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))},
    "neg": _Text("-{0}"),
    "square": _Text("{0} * {0}"),
    **{
        op: _Text(f"nnacl_{op}_f32({{0}}, {{1}})", _SIMPLE)
        for op in ("max", "min", "squared_difference", "prelu", "leaky_relu")
    },
    **{
        op: _Text(f"nnacl_{op}_f32({{0}})", _SIMPLE)
        for op in ("relu", "hard_swish", "abs", "sqrt", "rsqrt", "reciprocal")
    },
    **{op: _Text(f"nnacl_{op}_f32({{0}}, {{1}}, {{2}})", _SIMPLE) for op in ("clip", "hard_sigmoid")},
    **{op: _Text(f"nnacl_{op}_f32({{0}})", _MATH) for op in ("sigmoid", "silu", "softplus", "mish")},
    **{op: _Text(f"nnacl_{op}_f32({{0}}, {{1}})", _MATH) for op in ("swish", "elu", "gelu")},
    **{op: _Text(f"nnacl_{op}f({{0}})", _MATH) for op in ("tanh", "exp", "log", "erf", "sin", "cos")},
    **{
        op: _Text(f"{{0}} {sign} {{1}}")
        for op, sign in (
            ("equal", "=="),
            ("not_equal", "!="),
            ("less", "<"),
            ("less_equal", "<="),
            ("greater", ">"),
            ("greater_equal", ">="),
            ("logical_and", "&&"),
            ("logical_or", "||"),
        )
    },
    "logical_not": _Text("!{0}"),
    "where": _Text("{0} ? {1} : {2}"),
}


def is_printed(item: BoundNode, kernel: catalogue.Kernel, structs: Sequence[bytes]) -> bool:
    """Whether a project has a loop for a node in place of its kernel, which needs no workspace: the shapes have to
    relate in one way, whichever of the parameter structs ``structs`` it has."""
    if kernel.op != fused.NAME or kernel.isa != "c":
        return False
    steps = item.node.attrs["steps"]
    shapes = {_Shape.of(catalogue.read_params(fused.NAME, params)) for params in structs}
    return len(shapes) == 1 and all(fused.decode(step).function.op in _TEXTS for step in steps)


@dataclass(frozen=True)
class _Shape:
    """What a loop depends on beside the program: how the inputs step along the dimensions."""

    rank: int
    masks: tuple[int, ...]
    byte_inputs: int

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> _Shape:
        return cls(fields["rank"], tuple(fields["masks"][: fields["n_inputs"]]), fields["byte_inputs"])


@dataclass
class _Loops:
    """The printed functions, equal ones once."""

    texts: dict[str, str] = field(default_factory=dict)
    """Symbol -> function."""
    symbols: dict[object, str] = field(default_factory=dict)
    headers: set[str] = field(default_factory=lambda: {fused.HEADER})
    calls: list[str] = field(default_factory=list)
    """The elementary functions, as often as they are called."""

    def kernel(self, call: Call) -> catalogue.Kernel:
        """The function of a call, as a kernel."""
        assert call.kernel is not None
        count = call.fields["step_count"], call.fields["constant_count"]
        constants = tuple(literals.float32(value) for value in call.fields["constants"][: count[1]])
        shape = _Shape.of(call.fields)
        key = (tuple(call.fields["steps"][: count[0]]), constants, shape)
        if key not in self.symbols:
            symbol = self.symbols[key] = f"nnacl_fused_{len(self.symbols)}_f32_c"
            self.texts[symbol] = self._function(symbol, call, shape)
        return dataclasses.replace(call.kernel, symbol=self.symbols[key], file=LOOPS_FILE)

    def _function(self, symbol: str, call: Call, shape: _Shape) -> str:
        full = (1 << shape.rank) - 1
        loops = shape.rank if any(mask not in (0, full) for mask in shape.masks) else 1
        letters = "abcdefgh"[:loops]
        lines = ["    const nnacl_fused_params *p = params;"]
        for number, mask in enumerate(shape.masks):
            is_byte = shape.byte_inputs >> number & 1
            c_type = "uint8_t" if is_byte else "float"
            if mask == 0:
                lines.append(f"    const {c_type} x{number} = *(const {c_type} *)in[{number}];")
            else:
                lines.append(f"    const {c_type} *x{number} = in[{number}];")
        lines += ["    float *y = out[0];"]
        indent = "    "
        if loops == 1:
            lines += ["    (void)ctx;", "    for (int32_t i = 0; i < p->count; i++) {"]
        else:
            lines += ["    int32_t i = 0;", "    (void)ctx;"]
            for axis, letter in enumerate(letters):
                step = ", i++" if axis == loops - 1 else ""
                head = f"for (int32_t {letter} = 0; {letter} < p->dims[{axis}]; {letter}++{step}) {{"
                lines.append(indent + head)
                indent += "    "
            indent = indent[4:]
        lines += [f"{indent}    {line}" for line in self._steps(call.fields, shape, letters if loops > 1 else "")]
        while indent:
            lines.append(indent + "}")
            indent = indent[4:]
        attrs = {"steps": call.fields["steps"], "constants": call.fields["constants"]}
        title = comment(fused.formula({**attrs, "step_count": call.fields["step_count"]}))
        head = f"void {symbol}(const nnacl_ctx *ctx, const void *params, const void *const in[], void *const out[])"
        return "\n".join([f"/* {title} */", f"NNACL_DECLARE({symbol});", head, "{", *lines, "}", ""])

    def _steps(self, fields: Mapping[str, Any], shape: _Shape, letters: str) -> Iterable[str]:
        """The statements of one element."""
        last = fields["step_count"] - 1
        full = (1 << shape.rank) - 1
        for number in range(last + 1):
            step = fused.decode(fields["steps"][number])
            words = []
            for operand in step.operands:
                if operand.kind == "constant":
                    words.append(_literal(fields["constants"][operand.index]))
                elif operand.kind == "step":
                    words.append(f"t{operand.index}")
                else:
                    mask = shape.masks[operand.index]
                    place = "" if mask == 0 else "[i]" if mask == full else f"[{_index(mask, letters)}]"
                    words.append(f"x{operand.index}{place}")
            words += [_literal(fields["constants"][place]) for place in step.attrs]
            text = _TEXTS[step.function.op]
            if text.header:
                self.headers.add(text.header)
            value = text.pattern.format(*words)
            if text.header == _MATH:
                self.calls.append(value.partition("(")[0])
            if "INFINITY" in value or "NAN" in value:
                self.headers.add(_SIMPLE)
            c_type = "bool" if step.function.gives_b8 else "float"
            yield f"y[i] = {value};" if number == last else f"const {c_type} t{number} = {value};"

    def source(self, *, small: bool) -> str:
        """The file. ``small``: an elementary function that is called more than once is not inlined."""
        functions = "\n".join(self.texts.values())
        shared = []
        for name in sorted({name for name in self.calls if small and self.calls.count(name) > 1}):
            own = name.removeprefix("nnacl_").removesuffix("_f32").removesuffix("f") + "_f32"
            takes_alpha = f"{name}({{0}}, {{1}})" in {text.pattern for text in _TEXTS.values()}
            more, given = (", float alpha", ", alpha") if takes_alpha else ("", "")
            shared += [f"static float {own}(float v{more})", "{", f"    return {name}(v{given});", "}", ""]
            functions = functions.replace(f" {name}(", f" {own}(")
        includes = [f'#include "{header}"' for header in sorted(self.headers)]
        title = "/* The elementwise layers of the model that were fused, each as one loop. */"
        return "\n".join([title, *includes, "", *shared, functions])


def _index(mask: int, letters: str) -> str:
    """Where an input that steps along the dimensions of ``mask`` is read: ``b``, ``a * p->dims[2] + c``."""
    text = ""
    for axis, letter in enumerate(letters):
        if mask >> axis & 1:
            text = letter if not text else f"{f'({text})' if '+' in text else text} * p->dims[{axis}] + {letter}"
    return text


def _literal(value: float) -> str:
    if math.isfinite(value):
        return literals.float32(value)
    return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"


def lower_for(graph: Graph, target: Target, **options: Any) -> tuple[Graph, Program]:
    """``lower.lower`` for generated code, and the graph that was lowered, in which the ops of some fused layers stand
    one after the other again: where the target has faster kernels for them than for programs; and on a board, since a
    fused layer needs all of its inputs at one time, those of all layers if that makes the arena smaller."""
    arguments = {"alignment": target.alignment, "overlap": True, "printed": is_printed, **options}
    layers = [node for node in graph.nodes if node.op == fused.NAME]
    apart = [node.name for node in layers if _is_faster_apart(node, target)]
    if apart:
        graph = expanded(graph, apart)
    program = lower(graph, target.isa, **arguments)
    if target.is_bare_metal and len(apart) < len(layers):
        other = expanded(graph)
        other_program = lower(other, target.isa, **arguments)
        if other_program.arena_size < program.arena_size:
            return other, other_program
    return graph, program


_VECTORS = ("mve", "neon", "vfp")
"""Instruction sets whose kernels beat a loop over elements even though each op goes over memory anew."""


def _is_faster_apart(node: Node, target: Target) -> bool:
    """Whether vector kernels of the target serve the op of every step, and none serves programs. (A limit belongs to
    the op before it.)"""
    rows = [row for row in catalogue.kernels() if row.isa in target.isa and row.dtype in _TYPES]
    known = {row.isa for row in rows if row.op == fused.NAME}
    served = {row.op for row in rows if row.isa in _VECTORS and row.isa not in known}
    return {fused.decode(step).function.op for step in node.attrs["steps"]} - {"clip"} <= served


def expanded(graph: Graph, names: Collection[str] | None = None) -> Graph:
    """A copy of a graph in which the ops of fused layers (all, or those of some names) stand one after the other."""
    graph = graph.copy()
    for node in [node for node in graph.nodes if node.op == fused.NAME and (names is None or node.name in names)]:
        constants = node.attrs["constants"]
        steps = [fused.decode(step) for step in node.attrs["steps"]]
        values: list[Value] = []
        for number, step in enumerate(steps):
            inputs = []
            for item in step.operands:
                if item.kind == "constant":
                    inputs.append(graph.constant(f"{node.name}_c{item.index}", np.float32(constants[item.index])))
                else:
                    inputs.append(node.input(item.index) if item.kind == "input" else values[item.index])
            given = dict(zip(("alpha", "beta"), (constants[place] for place in step.attrs), strict=False))
            if step.function.op == "clip" and (before := _unclamped(step.operands[0], steps, values)) is not None:
                before.attrs |= {"clamp_min": given["alpha"], "clamp_max": given["beta"]}
                values.append(before.output)
                continue
            attrs = {name: value for name, value in given.items() if name in ops.get(step.function.op).attrs}
            label = f"{node.name}_{number}"
            values.append(
                graph.add(step.function.op, inputs, attrs, name=label, before=node, source=node.source).output
            )
        graph.replace(node.output, values[-1])
        graph.remove(node)
    return graph


def _unclamped(operand: fused.Operand, steps: Sequence[fused.Step], values: Sequence[Value]) -> Node | None:
    """The op of a step that only one other reads, if it can limit its result by itself and does not yet."""
    readers = sum(item == operand for step in steps for item in step.operands)
    node = values[operand.index].producer if operand.kind == "step" and readers == 1 else None
    limits = None if node is None else (node.attrs.get("clamp_min"), node.attrs.get("clamp_max"))
    return node if limits == (-math.inf, math.inf) else None


@dataclass(frozen=True)
class Arranged:
    """A program whose fused layers are as a project computes them."""

    program: Program
    texts: Mapping[str, str]
    """Files that the kernel library does not have or has otherwise, by path."""
    sources: tuple[str, ...]
    """Files of the library that come along."""


def arrange(program: Program, *, small: bool) -> Arranged:
    """Prints loops, and finds what the other fused layers need. ``small``: bytes of code count more than a call."""
    loops = _Loops()
    kept: set[fused.Function] = set()
    isas: set[str] = set()

    def changed(call: Call) -> Call:
        parts = tuple(dataclasses.replace(part, calls=tuple(map(changed, part.calls))) for part in call.parts)
        call = dataclasses.replace(call, parts=parts)
        if call.kernel is None or call.node.op != fused.NAME:
            return call
        if call.workspace == 0:
            return dataclasses.replace(call, kernel=loops.kernel(call))
        kept.update(fused.decode(step).function for step in call.node.attrs["steps"])
        isas.add(call.kernel.isa)
        return call

    program = dataclasses.replace(program, calls=tuple(map(changed, program.calls)))
    texts: dict[str, str] = {}
    if loops.texts:
        texts[LOOPS_FILE] = loops.source(small=small)
    if kept:
        texts[fused.FUNCTIONS_FILE] = kept_functions(kept)
    return Arranged(program, texts, (*sorted(loops.headers if loops.texts else ()), *step_files(kept, isas)))


def kept_functions(functions: Iterable[fused.Function]) -> str:
    """The table of functions with the rows of some; with all of them where there are none, since C has no empty
    tables."""
    text = catalogue.source_path(fused.FUNCTIONS_FILE).read_text(encoding="utf-8")
    kept = {function.op for function in functions} or set(fused.BY_OP)
    head = text[: text.index("NNACL_FUNCTION(")]
    rows = [row for row in text.splitlines() if (found := _ROW.match(row)) and found[1] in kept]
    return head + "\n".join(rows) + "\n"


_ROW = re.compile(r"NNACL_FUNCTION\(\d+, (\w+),")


def step_files(functions: Iterable[fused.Function], isas: Iterable[str]) -> list[str]:
    """The sources of the kernels that steps call, where the kernels of instruction sets ``isas`` run programs."""
    wanted = {(function.op, function.best[isa]) for function in functions for isa in isas}
    return sorted({row.file for row in catalogue.kernels() if (row.op, row.isa) in wanted and row.dtype in _TYPES})
