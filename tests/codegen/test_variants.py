"""Which kernels a project for a microcontroller takes, and what of it is compiled small."""

from __future__ import annotations

from pathlib import Path

import generated_projects
import numpy as np
import pytest
import small_models

from microlith import targets
from microlith.codegen import closure, execute, variants
from microlith.dtypes import DType
from microlith.evaluate import evaluate
from microlith.ir import Graph, Quant, TensorType, Value
from microlith.lower import Program, lower

GRAPHS = {"float": small_models.float_cnn, "int8": small_models.int8_cnn, "residual": small_models.residual}


def lowered(graph: Graph, target: str, without: frozenset[str] = frozenset()) -> Program:
    row = targets.get(target)
    return lower(graph, row.isa, alignment=row.alignment, overlap=True, without=without)


def chosen(graph: Graph, target: str, optimize: str) -> Program:
    row = targets.get(target)
    return variants.choose(lowered(graph, target), row, optimize, lambda without: lowered(graph, target, without))


def symbols(program: Program) -> set[str]:
    return {call.kernel.symbol for call in program.all_calls if call.kernel is not None}


def test_a_kernel_that_is_not_wanted_gives_way_to_the_next() -> None:
    graph = small_models.int8_cnn()
    best = symbols(lowered(graph, "cortex-m55"))
    assert "nnacl_conv2d_s8_mve" in best
    second = symbols(lowered(graph, "cortex-m55", frozenset({"nnacl_conv2d_s8_mve"})))
    assert "nnacl_conv2d_s8_mve" not in second and second & {"nnacl_conv2d_s8_dsp", "nnacl_conv2d_s8_c"}


@pytest.mark.parametrize(("scales", "rest"), [(0, ["tensor_s8_c", "tensor_s8_c"]), (3, ["f32_c", "c"])])
def test_one_known_scale_needs_no_code_for_others(scales: int, rest: list[str]) -> None:
    """The borders of an int8 model: the kernel for any type and any scales is twelve times as long."""
    graph = Graph("border")
    x = Value("x", TensorType(DType.f32, (1, 4, 3)))
    graph.inputs.append(x)
    more = [graph.constant("scales", np.full(scales, 0.05, np.float32))] if scales else []
    axis = 2 if scales else -1
    integers = graph.add(
        "quantize",
        [x, *more],
        {"to": DType.s8.value, "scale": 0.05, "zero": 3, "axis": axis},
        quant=Quant.per_tensor(0.05, 3),
    )
    graph.outputs = [graph.add("dequantize", [integers.output, *more], {"scale": 0.05, "zero": 3, "axis": axis}).output]
    kernels = ("quantize", "dequantize")
    assert symbols(lowered(graph, "cortex-m4")) == {f"nnacl_{op}_{end}" for op, end in zip(kernels, rest, strict=True)}


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("model", GRAPHS)
def test_what_is_chosen_costs_less(model: str, target: str) -> None:
    graph, core = GRAPHS[model](), variants.core_of(targets.get(target))
    assert core is not None
    speed, balanced, size = (
        variants.estimate(chosen(graph, target, optimize), core) for optimize in ("speed", "balanced", "size")
    )
    assert size.flash <= speed.flash
    assert balanced.flash * balanced.time <= speed.flash * speed.time


def test_targets_without_measured_costs_keep_their_kernels() -> None:
    graph = small_models.int8_cnn()
    program = lowered(graph, "riscv32")
    assert variants.choose(program, targets.get("riscv32"), "size", pytest.fail) is program
    assert variants.shorten(program, targets.get("riscv32"), {"a.c": "x\n"}) == {"a.c": "x\n"}


def test_what_takes_little_of_the_time_is_compiled_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "COLD", 0.4)  # there are few layers
    row, program = targets.get("cortex-m4"), lowered(small_models.int8_cnn(pointwise=64, height=32), "cortex-m4")
    kernels = {call.kernel.symbol: call.kernel for call in program.all_calls if call.kernel is not None}
    texts = closure.kernel_files({kernel.file for kernel in kernels.values()}, ())
    shortened = variants.shorten(program, row, texts)
    small = {name for name, text in shortened.items() if "GCC optimize" in text}
    costs = variants.estimate(program, "cortex-m4")
    hottest = max(costs.instructions, key=lambda symbol: costs.instructions[symbol])
    assert kernels[hottest].file not in small
    assert small and all(name.endswith(".c") for name in small), costs.instructions
    assert all(shortened[name].replace(variants._SMALL, "") == texts[name] for name in texts)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("optimize", ["balanced", "size"])
def test_balanced_and_small_projects_give_the_same_bytes(target: str, optimize: str, tmp_path: Path) -> None:
    generated_projects.need_target(target)
    graph = small_models.int8_cnn()
    project = generated_projects.project(graph, target, tmp_path / "p", optimize=optimize)
    execute.build(project, variables={"WARNINGS": "-Wall -Wextra -Wpedantic -Werror"})
    generator = np.random.default_rng(7)
    value = graph.inputs[0]
    sample = {value.name: generator.integers(-128, 128, value.type.static_shape).astype(np.int8)}
    found = execute.run(project, [sample]).outputs
    wanted = evaluate(graph, sample)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name][0], array)
