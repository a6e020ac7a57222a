"""``input_by_rows``: generated C that is handed the rows of its input as they come, and never holds it as a whole."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from generated_projects import STRICT, built, need, need_target
from small_models import int8_cnn, residual

from microlith.codegen import execute, generate
from microlith.codegen.measured import build_and_measure
from microlith.codegen.project import draw_sample
from microlith.dtypes import DType
from microlith.errors import TargetError
from microlith.evaluate import evaluate
from microlith.ir import Graph, TensorType, Value
from microlith.stripes import can_arrive, stripe_arriving


def samples_of(graph: Graph, count: int) -> list[dict[str, np.ndarray]]:
    """Random inputs, floats as whole numbers, so that sums are exact in any order."""
    drawn = [draw_sample(graph, {}, seed) for seed in range(count)]
    return [{name: np.rint(x) if x.dtype.kind == "f" else x for name, x in sample.items()} for sample in drawn]


def assert_right(graph: Graph, samples: list[dict[str, np.ndarray]], outputs: list[dict[str, np.ndarray]]) -> None:
    for sample, output in zip(samples, outputs, strict=True):
        for name, wanted in evaluate(graph, sample).items():
            np.testing.assert_array_equal(np.asarray(output[name]).reshape(wanted.shape), wanted)


@pytest.mark.parametrize("height", [9, 16, 23])
def test_pieces_cover_the_input_and_give_the_same_numbers(height: int) -> None:
    graph = residual(height)
    image = np.random.default_rng(4).integers(-3, 4, (1, height, 8, 2)).astype(np.float32)
    wanted = evaluate(graph, {"image": image})
    for length in range(1, len(graph.nodes) + 1):
        for count in (2, 3, 5):
            striped, arrivals = stripe_arriving(graph, length, count)
            assert striped.inputs == [arrival.piece for arrival in arrivals]
            edges = [arrival.begin for arrival in arrivals] + [height]
            assert edges[0] == 0 and [arrival.end for arrival in arrivals] == edges[1:]
            got = evaluate(striped, {a.piece.name: image[:, a.begin : a.end] for a in arrivals})
            for name, array in wanted.items():
                np.testing.assert_array_equal(got[name], array)


def test_rows_that_no_layer_reads_arrive_too() -> None:
    graph = Graph("last row unused")
    x = Value("x", TensorType(DType.f32, (1, 8, 4, 1)))
    graph.inputs.append(x)
    pooled = graph.add("max_pool2d", [x], {"kernel_h": 3, "kernel_w": 2, "stride_h": 2, "stride_w": 2}, name="pool")
    graph.outputs = [graph.add("relu", [pooled.output], name="relu").output]
    _, arrivals = stripe_arriving(graph, 2, 3)
    assert arrivals[-1].end == 8


@pytest.mark.parametrize("target", ["host", "cortex-m4", "cortex-m55", "riscv32"])
@pytest.mark.parametrize("model", ["int8", "float"])
def test_runs_with_the_right_bytes(model: str, target: str, tmp_path: Path) -> None:
    if model == "float" and target in ("cortex-m55", "riscv32"):
        pytest.skip("one kind of numbers is enough there")
    graph = int8_cnn(height=23) if model == "int8" else residual(31)
    project = built(graph, target, tmp_path / "a", input_by_rows=True)
    assert execute.selftest(project).endswith("PASS\n")
    samples = samples_of(graph, 3)
    assert_right(graph, samples, list(execute.run(project, samples).samples))


def test_arena_holds_no_whole_input(tmp_path: Path) -> None:
    graph = int8_cnn(height=200)
    whole = generate(graph, "cortex-m4", tmp_path / "whole")
    report = generate(graph, "cortex-m4", tmp_path / "rows", input_by_rows=True, ram_limit=7200)
    least = graph.inputs[0].type.nbytes + graph.outputs[0].type.nbytes
    assert report.arena_bytes + report.stack_bytes <= 7200 < least and report.arena_bytes < whole.arena_bytes
    assert report.input_rows is not None and report.input_rows["rows"] == 200
    assert sum(rows for _, rows in report.input_rows["pieces"]) == 200
    assert report.macs == whole.macs


PUSHING = """#include "rows.h"
#include <stdio.h>
#include <string.h>

static _Alignas(ROWS_ARENA_ALIGN) unsigned char arena[ROWS_ARENA_SIZE];
static int8_t image[ROWS_INPUT_INPUT_COUNT];

int main(void)
{
    rows_instance model;

    if (rows_init(&model, arena, sizeof arena) != ROWS_OK || fread(image, 1, sizeof image, stdin) != sizeof image) {
        return 2;
    }
    for (int row = 0; row < ROWS_INPUT_INPUT_ROWS / 2; row++) { /* an image that breaks off */
        if (rows_push_row(&model, image + row * ROWS_INPUT_INPUT_ROW_COUNT)) {
            return 3;
        }
    }
    rows_restart(&model);
    for (int turn = 0; turn < 2; turn++) { /* line by line, and again without a word between */
        for (int row = 0; row < ROWS_INPUT_INPUT_ROWS; row++) {
            if (rows_push_row(&model, image + row * ROWS_INPUT_INPUT_ROW_COUNT) != (row == ROWS_INPUT_INPUT_ROWS - 1)) {
                return 4;
            }
        }
        fwrite(rows_output(&model, ROWS_OUTPUT_OUTPUT), 1, ROWS_OUTPUT_OUTPUT_COUNT, stdout);
    }
    for (int done = 0; !done;) { /* piece by piece */
        int32_t first;
        int32_t count;
        int8_t *const to = rows_next_rows(&model, &first, &count);

        memcpy(to, image + first * ROWS_INPUT_INPUT_ROW_COUNT, (size_t)(count * ROWS_INPUT_INPUT_ROW_COUNT));
        done = rows_push_rows(&model);
    }
    fwrite(rows_output(&model, ROWS_OUTPUT_OUTPUT), 1, ROWS_OUTPUT_OUTPUT_COUNT, stdout);
    return 0;
}
"""


def test_lines_are_pushed_as_they_come(tmp_path: Path) -> None:
    need("gcc")
    graph = int8_cnn(height=23)
    generate(graph, "host", tmp_path / "a", name="rows", input_by_rows=True)
    (tmp_path / "main.c").write_text(PUSHING)
    sources = [*(tmp_path / "a").glob("rows*.c"), *(tmp_path / "a" / "kernels").rglob("*.c"), tmp_path / "main.c"]
    command = ["gcc", "-std=c11", "-O1", *STRICT.split(), f"-I{tmp_path / 'a'}", f"-I{tmp_path / 'a' / 'kernels'}"]
    subprocess.run([*command, *map(str, sources), "-o", str(tmp_path / "push")], check=True)
    (sample,) = samples_of(graph, 1)
    data = sample["input"].tobytes()
    output = subprocess.run([tmp_path / "push"], input=data, capture_output=True, check=True).stdout
    assert output == evaluate(graph, sample)["output"].tobytes() * 3


def test_stack_is_measured_through_the_pieces(tmp_path: Path) -> None:
    need_target("cortex-m4")
    generate(int8_cnn(height=23), "cortex-m4", tmp_path / "a", input_by_rows=True)
    depth = build_and_measure(execute.Project.open(tmp_path / "a")).stack
    assert "nnacl_conv2d_s8_dsp" in depth.layers and depth.total == max(depth.layers.values())


def test_inputs_that_end_inside_a_sample_are_refused(tmp_path: Path) -> None:
    project = built(int8_cnn(height=23), "host", tmp_path / "a", input_by_rows=True)
    for size in (5, 23 * 8 * 4 - 1):
        (tmp_path / "in.bin").write_bytes(bytes(size))
        command = [str(project.program("runner")), str(tmp_path / "in.bin"), str(tmp_path / "out.bin")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and "not a whole number of samples" in done.stdout + done.stderr


def two_inputs() -> Graph:
    graph = Graph("two")
    a, b = (Value(name, TensorType(DType.f32, (1, 8, 8, 1))) for name in "ab")
    graph.inputs += [a, b]
    graph.outputs = [graph.add("add", [a, b], name="sum").output]
    return graph


def a_global_pool() -> Graph:
    graph = Graph("global")
    x = Value("x", TensorType(DType.f32, (1, 8, 8, 1)))
    graph.inputs.append(x)
    graph.outputs = [graph.add("avg_pool2d", [x], {"kernel_h": 0, "kernel_w": 0}, name="pool").output]
    return graph


@pytest.mark.parametrize(
    ("graph", "reason"), [(two_inputs(), "the model has 2 inputs"), (a_global_pool(), "its first layer is none")]
)
def test_other_models_are_refused(graph: Graph, reason: str, tmp_path: Path) -> None:
    assert reason in can_arrive(graph)
    with pytest.raises(TargetError, match=reason) as error:
        generate(graph, "host", tmp_path / "a", input_by_rows=True)
    assert error.value.hint and not (tmp_path / "a").exists()


def test_a_limit_that_only_rows_can_keep_says_so(tmp_path: Path) -> None:
    with pytest.raises(TargetError) as error:
        generate(int8_cnn(height=64), "cortex-m4", tmp_path / "a", ram_limit=3600)
    assert "with --input-by-rows" in str(error.value.hint) and "suffice" in str(error.value.hint)


def test_a_limit_that_rows_cannot_keep(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="the least that stripes"):
        generate(int8_cnn(height=200), "cortex-m4", tmp_path / "a", ram_limit=100, input_by_rows=True)
