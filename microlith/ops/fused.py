"""``fused_elementwise``: a chain or tree of elementwise ops as one op, and the programs that it runs.

A program (``nnacl_kernels/elementwise/elementwise.h`` has the encoding) is a list of steps. A step applies the function
of an elementwise op to inputs of the node, constants and results of earlier steps; the result of the last step is that
of the node. The numbers of the functions stand in ``nnacl_kernels/elementwise/fused_functions.def``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..dtypes import DType
from ..ir import Dim, Node, TensorType
from ..nnacl_kernels import catalogue
from . import REQUIRED, OpDef, Sample, Tolerance, get, register, sampling
from .elementwise_pairs import broadcast_pair
from .shape_rules import broadcast_shapes, require, require_dtype

Array = np.ndarray

NAME = "fused_elementwise"
MOST_INPUTS, MOST_STEPS, MOST_CONSTANTS = 8, 16, 16
_FIRST_STEP, _FIRST_CONSTANT = 8, 32

Kind = Literal["UNARY", "BINARY", "COMPARE", "CLASSIFY", "LOGIC", "NOT", "WHERE"]
_ROW = re.compile(r"^NNACL_FUNCTION\((\d+), (\w+), (\w+), \w+, (\w+), (\w+), (\w+), \w+\)$", re.MULTILINE)
HEADER = "elementwise/elementwise.h"
FUNCTIONS_FILE = "elementwise/fused_functions.def"


@dataclass(frozen=True, eq=False)
class Function:
    """What a step can do: the function of an op."""

    number: int
    op: str
    kind: Kind
    best: Mapping[str, str]
    """The instruction set of the kernel that a step calls, by that of the kernel which runs the program."""

    @property
    def operands(self) -> int:
        """How many tensors it takes."""
        return {"BINARY": 2, "COMPARE": 2, "LOGIC": 2, "WHERE": 3}.get(self.kind, 1)

    @property
    def has_attrs(self) -> bool:
        """Whether a step has the attributes alpha and beta."""
        return self.kind in ("UNARY", "CLASSIFY", "NOT")

    @property
    def gives_b8(self) -> bool:
        return self.kind in ("COMPARE", "CLASSIFY", "LOGIC", "NOT")

    @property
    def takes_b8(self) -> tuple[bool, ...]:
        """Whether each operand is b8."""
        return {"LOGIC": (True, True), "NOT": (True,), "WHERE": (True, False, False)}.get(
            self.kind, (False,) * self.operands
        )


def _read_functions() -> dict[int, Function]:
    text = catalogue.source_path(FUNCTIONS_FILE).read_text(encoding="utf-8")
    return {
        int(number): Function(int(number), op, kind, {"c": "c", "avx2": avx2, "avx512": avx512, "neon": neon})
        for number, op, kind, avx2, avx512, neon in _ROW.findall(text)
    }


FUNCTIONS = _read_functions()
"""By number."""
BY_OP = {function.op: function for function in FUNCTIONS.values()}


@dataclass(frozen=True)
class Operand:
    """What a step reads."""

    kind: Literal["input", "step", "constant"]
    index: int


@dataclass(frozen=True)
class Step:
    """One step, decoded."""

    function: Function
    operands: tuple[Operand, ...]
    attrs: tuple[int, ...]
    """The places of alpha and beta among the constants."""


def encode(function: Function, operands: Sequence[Operand], attrs: Sequence[int] = ()) -> int:
    """A step as the parameter struct holds it."""
    first = {"input": 0, "step": _FIRST_STEP, "constant": _FIRST_CONSTANT}
    codes = [first[item.kind] + item.index for item in operands] + [_FIRST_CONSTANT + index for index in attrs]
    return function.number | sum(code << 8 * (position + 1) for position, code in enumerate(codes))


def _operand(code: int) -> Operand:
    if code >= _FIRST_CONSTANT:
        return Operand("constant", code - _FIRST_CONSTANT)
    return Operand("step", code - _FIRST_STEP) if code >= _FIRST_STEP else Operand("input", code)


def decode(step: int) -> Step:
    """A step of a program that the plan half accepts. ``KeyError`` when its function is unknown."""
    function = FUNCTIONS[step & 255]
    codes = [step >> shift & 255 for shift in (8, 16, 24)]
    attrs = codes[1:] if function.has_attrs else []
    return Step(
        function,
        tuple(_operand(code) for code in codes[: function.operands]),
        tuple(code - _FIRST_CONSTANT for code in attrs),
    )


def formula(attrs: Mapping[str, Any]) -> str:
    """A program for people: ``mul(x0, sigmoid(x1))``. A result that is used more than once is named: ``t0 = ...``."""
    steps = [decode(step) for step in attrs["steps"][: attrs["step_count"]]]
    uses = [item.index for step in steps for item in step.operands if item.kind == "step"]
    texts: list[str] = []
    named: list[str] = []
    for number, step in enumerate(steps):
        words = []
        for item in step.operands:
            if item.kind == "input":
                words.append(f"x{item.index}")
            elif item.kind == "constant":
                words.append(f"{np.float32(attrs['constants'][item.index]):.6g}")
            else:
                words.append(texts[item.index])
        defaults = get(step.function.op).attrs
        given = [attrs["constants"][place] for place in step.attrs]
        words.extend(
            f"{np.float32(value):.6g}"
            for name, value in zip(("alpha", "beta"), given, strict=False)
            if name in defaults
        )
        text = f"{step.function.op}({', '.join(words)})"
        if uses.count(number) > 1:
            named.append(f"t{len(named)} = {text}")
            text = named[-1].partition(" ")[0]
        texts.append(text)
    return "; ".join([*named, texts[-1]])


def _infer(node: Node) -> list[TensorType]:
    shapes: list[tuple[Dim, ...]] = []
    for value in node.inputs:
        require(node, value is not None, "an input is absent")
        assert value is not None
        require_dtype(node, value, DType.f32, *([] if not shapes else [DType.b8]))
        shapes.append(value.shape)
    require(node, 1 <= len(shapes) <= MOST_INPUTS, f"it has {len(shapes)} inputs; 1 to {MOST_INPUTS} are possible")
    return [TensorType(DType.f32, broadcast_shapes(node, *shapes))]


def _reference(inputs: Sequence[Array], attrs: Mapping[str, Any]) -> list[Array]:
    constants = np.asarray(attrs["constants"], np.float32)
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    results: list[Array] = []
    for number in attrs["steps"][: attrs["step_count"]]:
        step = decode(number)
        known: dict[str, Sequence[Array]] = {"input": inputs, "step": results, "constant": list(constants)}
        arrays = [np.asarray(known[item.kind][item.index]) for item in step.operands]
        opdef = get(step.function.op)
        values = dict(zip(("alpha", "beta"), (float(constants[place]) for place in step.attrs), strict=False))
        given = {name: value for name, value in values.items() if name in opdef.attrs}
        (result,) = opdef.reference(arrays, opdef.complete_attrs(given))
        results.append(np.asarray(np.broadcast_to(result, shape)))
    return [np.array(results[-1])]


_SMOOTH = "add sub mul max min relu sigmoid tanh neg abs clip silu hard_swish gelu".split()


def _sample(rng: np.random.Generator) -> Sample:
    """A random program of functions that do not magnify differences."""
    shapes = broadcast_pair(rng)[: sampling.size(rng, 1, 2)]
    inputs: list[Array] = [sampling.floats(rng, shape, -2.0, 2.0) for shape in shapes]
    constants = sorted(float(value) for value in sampling.floats(rng, (3,), -2.0, 2.0))
    steps: list[int] = []
    values = [Operand("input", index) for index in range(len(inputs))]
    unread = list(values)

    def step(op: str, *operands: Operand) -> Operand:
        function = BY_OP[op]
        steps.append(encode(function, operands, (0, 2) if function.has_attrs else ()))
        return Operand("step", len(steps) - 1)

    def any_value() -> Operand:
        return [*values, Operand("constant", 1)][int(rng.integers(len(values) + 1))]

    for _ in range(sampling.size(rng, 1, 6)):
        first = unread.pop(0) if unread else values[int(rng.integers(len(values)))]
        name = str(rng.choice([*_SMOOTH, "where"]))
        if name == "where":
            made = step("where", step("less", first, any_value()), any_value(), first)
        else:
            made = step(name, *([first, any_value()] if BY_OP[name].operands == 2 else [first]))
        values.append(made)
        unread.append(made)
    while len(unread) > 1:
        unread.append(step("add", unread.pop(0), unread.pop(0)))
    return Sample(inputs, {"steps": tuple(steps), "constants": tuple(constants)})


register(
    OpDef(
        name=NAME,
        inputs=("x*",),
        infer=_infer,
        reference=_reference,
        samples=_sample,
        attrs={"steps": REQUIRED, "constants": (), "step_count": 0, "constant_count": 0},
        lengths={"step_count": "steps", "constant_count": "constants"},
        tolerance=Tolerance(1e-5, 1e-5),
        doc="A program of elementwise functions, computed block by block.",
    )
)
