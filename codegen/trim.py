"""The kernel sources of a project cut to the model: what no layer needs is known to the compiler, and parameter structs
hold only the fields that the sources read, each as narrow as its values allow.

Only for microcontrollers, where the bytes count. The library's structs are the wire format of .lith files; those of a
project are read by its own kernels alone.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..lower import Call, Program
from ..nnacl_kernels import catalogue, needs
from . import compact_exp, literals
from .ranged import varying_fields
from .view import LayerView, ModelView, ParamsView, flat_layers

NEEDS = "nnacl_needs.h"
_WIDTHS = (("uint8_t", 0, 255), ("int8_t", -128, 127), ("uint16_t", 0, 65535), ("int16_t", -32768, 32767))
"""Types from narrow to wide. Unsigned ones first: Thumb has short instructions to load them."""
_SIZES = {"uint8_t": 1, "int8_t": 1, "uint16_t": 2, "int16_t": 2, "int32_t": 4, "float": 4}
_DECLARATION = re.compile(r"^( +)(int32_t|float) ([^;]*);([^\n]*)\n", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def trim(view: ModelView, program: Program, kernels: Mapping[str, str]) -> tuple[ModelView, dict[str, str]]:
    """A view and the texts of its kernel files by path, both cut to the model."""
    texts = dict(kernels)
    texts[NEEDS] = _needs(texts[NEEDS], program)
    pairs = list(_paired(program.calls, view.layers))
    changed: dict[str, ParamsView] = {}
    for c_type in sorted({layer.params.c_type for _, layer in pairs if layer.params}):
        users = [(call, layer) for call, layer in pairs if layer.params and layer.params.c_type == c_type]
        header = catalogue.ops()[users[0][0].node.op].header
        narrowed = _narrow(texts, header, c_type, [call for call, _ in users])
        if narrowed is None:
            continue
        texts[header], kept, size = narrowed
        for call, layer in users:
            changed[layer.label] = _with_fields(layer, call, kept, size)
    layers = _with_params(view.layers, changed)
    params_size = sum(layer.params.size for layer in flat_layers(layers) if layer.params and not layer.shares_params)
    params_size += sum(table.nbytes for table in view.tables)
    return dataclasses.replace(view, layers=layers, params_size=params_size), texts


def _paired(calls: Sequence[Call], layers: Sequence[LayerView]) -> Iterator[tuple[Call, LayerView]]:
    """Every call with its layer, those of subgraphs included."""
    for call, layer in zip(calls, layers, strict=True):
        yield call, layer
        if layer.control is not None:
            for program, part in zip(call.parts, layer.control.parts, strict=True):
                yield from _paired(program.calls, part.layers)


def _with_fields(layer: LayerView, call: Call, kept: frozenset[str], size: int) -> ParamsView:
    assert layer.params is not None
    lines = literals.params_lines(call.node.op, call.fields, floats=layer.floats, kept=kept)
    changes = tuple(line for line in layer.params.changes if re.split(r"\W+", line)[1] in kept)
    return dataclasses.replace(layer.params, size=size, lines=tuple(lines), changes=changes)


def _with_params(layers: Sequence[LayerView], changed: Mapping[str, ParamsView]) -> tuple[LayerView, ...]:
    """Layers whose parameter structs, by label, are others; in subgraphs too."""
    result = []
    for layer in layers:
        control = layer.control
        if control is not None:
            parts = (dataclasses.replace(part, layers=_with_params(part.layers, changed)) for part in control.parts)
            control = dataclasses.replace(control, parts=tuple(parts))
        result.append(dataclasses.replace(layer, params=changed.get(layer.label, layer.params), control=control))
    return tuple(result)


def _needs(text: str, program: Program) -> str:
    """nnacl_needs.h with the answers of a model in place of the library's."""
    used = [(call, call.kernel) for call in program.all_calls if call.kernel is not None]
    roundings = (int(call.fields["rounding"]) for call, _ in used if "rounding" in call.fields)
    exact = any(needs.needs_exact(kernel, call.packed) for call, kernel in used)
    compact = [needs.is_compact(kernel, call.packed) for call, kernel in used if needs.reads_lines(kernel)]
    sweeps = [needs.sweeps(call.fields) for call, kernel in used if needs.may_sweep(kernel)]
    zeros = any(call.fields.get("w_zero") for call, _ in used)
    answers = {
        "PARTS": 0,
        "EXACT": int(exact),
        "WIDE": int(not all(compact)),
        "COMPACT": int(any(compact)),
        "SWEEP": int(any(sweeps)),
        "TAPS": int(not all(sweeps)),
        "W_ZERO": int(zeros),
        "BITS": sum({1 << int(call.fields["bits"]) for call, _ in used if "bits" in call.fields}),
        "PACKED_EXP": int(compact_exp.is_packed(program)),
        "EXP_POWERS": int(compact_exp.has_powers(program)),
        "ROUNDINGS": needs.needed_roundings(roundings),
    }
    for name, value in answers.items():
        text, count = re.subn(rf"(NNACL_NEEDS_{name}) = \w+", rf"\1 = {value}", text)
        assert count == 1, name
    return text


def _narrow(
    texts: Mapping[str, str], header: str, c_type: str, calls: Sequence[Call]
) -> tuple[str, frozenset[str], int] | None:
    """The header with a struct narrowed, the fields that are left of it, and its size. None: leave it alone."""
    text = texts.get(header, "")
    start = text.find(f"typedef struct {c_type} {{\n")
    if start < 0:
        return None
    end = text.index(f"}} {c_type};", start)
    code = _COMMENT.sub(" ", "".join([*(other for path, other in texts.items() if path != header), text[end:]]))
    if re.search(rf"\b{c_type}\s+\w|\({c_type}\)", code):  # a kernel makes such a struct itself
        return None
    read = set(re.findall(r"(?:->|\.)\s*(\w+)", code))
    varying = {name for call in calls for name in varying_fields(call)}  # computed as int32_t
    addressed = varying | set(re.findall(r"(?<!&)&(?!&)\s*\w+(?:->|\.)\s*(\w+)", code))
    kept: set[str] = set()
    types: list[tuple[str, int]] = []

    def declare(found: re.Match[str]) -> str:
        indent, base, names, rest = found.groups()
        fields = [name.strip() for name in names.split(",")]
        fields = [name for name in fields if name.partition("[")[0] in read]
        if not fields:
            return ""
        plain = {name.partition("[")[0] for name in fields}
        narrow = base == "int32_t" and "[" not in names and not plain & addressed
        c_name = _narrowest(call.fields[name] for call in calls for name in plain) if narrow else base
        kept.update(plain)
        types.extend((c_name, _length(name, calls)) for name in fields)
        return f"{indent}{c_name} {', '.join(fields)};{rest}\n"

    body = _DECLARATION.sub(declare, text[start:end])
    return (text[:start] + body + text[end:], frozenset(kept), _size(types)) if kept else None


def _length(declarator: str, calls: Sequence[Call]) -> int:
    name, is_array, _ = declarator.partition("[")
    return len(calls[0].fields[name]) if is_array else 1


def _narrowest(values: Iterable[object]) -> str:
    numbers = [int(str(value)) for value in values]
    for c_name, least, most in _WIDTHS:
        if least <= min(numbers) and max(numbers) <= most:
            return c_name
    return "int32_t"


def _size(types: Sequence[tuple[str, int]]) -> int:
    """Bytes of a struct of these fields (type, elements) as C lays them out."""
    at = 0
    for c_name, count in types:
        size = _SIZES[c_name]
        at = -(-at // size) * size + count * size
    widest = max(_SIZES[c_name] for c_name, _ in types)
    return -(-at // widest) * widest
