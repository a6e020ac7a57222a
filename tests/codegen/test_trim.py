"""Kernel sources cut to the model: parameter structs and nnacl_needs.h of a project for a board."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import small_models

from microlith import targets
from microlith.codegen import closure, trim
from microlith.codegen.view import build_view
from microlith.ir import Graph
from microlith.lower import lower

STRUCT = re.compile(r"typedef struct nnacl_conv2d_params \{\n(.*?)\} nnacl_conv2d_params;", re.DOTALL)


def trimmed(graph: Graph, target: str = "cortex-m4") -> tuple[object, dict[str, str]]:
    row = targets.get(target)
    program = lower(graph, row.isa, alignment=row.alignment)
    view = build_view(program, row, name="m", title="m", contract=graph.contract, binary_weights=False)
    return trim.trim(view, program, closure.kernel_files(view.sources, view.headers))


def declared(text: str) -> dict[str, str]:
    """Field: type."""
    found = STRUCT.search(text)
    assert found is not None
    body = re.sub(r"/\*.*?\*/", "", found[1], flags=re.DOTALL)
    return {name.strip(): c_type for c_type, names in re.findall(r"(\w+) ([^;]+);", body) for name in names.split(",")}


def test_fields_are_as_narrow_as_their_values_and_unread_ones_are_gone() -> None:
    view, texts = trimmed(small_models.int8_cnn())
    fields = declared(texts["conv/conv.h"])
    assert fields["stride_h"] == "uint8_t" and fields["y_zero"] == "int8_t"
    assert "clamp_min" not in fields  # for floats
    for layer in view.layers:
        if layer.params and layer.params.c_type == "nnacl_conv2d_params":
            named = set(re.findall(r"\.(\w+) =", "".join(layer.params.lines)))
            assert named == set(fields)


@pytest.mark.parametrize(
    ("values", "c_type"),
    [
        ((0, 255), "uint8_t"),
        ((-1, 127), "int8_t"),
        ((-1, 128), "int16_t"),
        ((256,), "uint16_t"),
        ((-32769,), "int32_t"),
    ],
)
def test_narrowest_type_holds_all_values(values: tuple[int, ...], c_type: str) -> None:
    assert trim._narrowest(values) == c_type


def test_size_is_the_compilers(tmp_path: Path) -> None:
    view, texts = trimmed(small_models.int8_cnn(), "cortex-m4")
    size = next(layer.params.size for layer in view.layers if layer.params)
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    source = tmp_path / "size.c"
    source.write_text(f'#include "conv/conv.h"\n_Static_assert(sizeof(nnacl_conv2d_params) == {size}, "");\n')
    subprocess.run(["gcc", "-std=c11", "-I", tmp_path, "-fsyntax-only", source], check=True)


@pytest.mark.parametrize(("contract", "roundings"), [("tflite-double", 0b1), ("single", 0b10)])
def test_needs_are_those_of_the_model(contract: str, roundings: int) -> None:
    _, texts = trimmed(small_models.int8_cnn(contract))
    found = {name: int(value) for name, value in re.findall(r"NNACL_NEEDS_(\w+) = (\w+)", texts["nnacl_needs.h"])}
    assert found["PARTS"] == 0 and found["ROUNDINGS"] == roundings


@pytest.mark.parametrize("shift", [-8, 2])
def test_layer_without_a_line_needs_the_exact_ends(shift: int) -> None:
    """A left shift drops high bits, so that there is no line; with this shift to the right there is one."""
    graph = small_models.int8_cnn("single")
    for node in graph.nodes:
        requant = node.inputs[3]
        assert requant is not None and requant.data is not None
        requant.data = np.stack([np.full_like(requant.data[0], 1518500250), np.full_like(requant.data[1], shift)])
    _, texts = trimmed(graph)
    assert f"NNACL_NEEDS_EXACT = {int(shift > 0)}" in texts["nnacl_needs.h"]


def test_struct_that_a_kernel_makes_is_left_alone() -> None:
    header = "typedef struct s_params {\n    int32_t a;\n} s_params;\n"
    calls: list[object] = []
    texts = {"f/f.h": header, "f/k.c": "void k(void) { s_params mine = {.a = 300}; use(mine.a); }"}
    assert trim._narrow(texts, "f/f.h", "s_params", calls) is None  # type: ignore[arg-type]
