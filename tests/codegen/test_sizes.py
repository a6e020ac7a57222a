"""Sizes with a range: generated C gives the runtime's bytes for every size within, and ONNX Runtime's numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
import ranged_models
from generated_projects import built, project

import microlith
from microlith import modelfile
from microlith.cli.console import parse_shapes
from microlith.codegen import execute
from microlith.converter import convert
from microlith.dtypes import DType
from microlith.errors import InputError, ShapeError, ToolError, UnsupportedError
from microlith.ir import Graph, TensorType, Value
from microlith.size_ranges import SizeRange

Sizes = Mapping[str, int]


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def _tokens(sizes: Sizes) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(sizes["seq"])
    shape = sizes["batch"], sizes["seq"]
    mask = np.ones(shape, np.int64)
    mask[:, sizes["seq"] // 2 + 1 :] = 0
    return {"ids": rng.integers(0, 50, shape), "mask": mask}


CASES: dict[
    str, tuple[Callable[[], onnx.ModelProto], dict[str, SizeRange], Callable[[Sizes], dict[str, np.ndarray]]]
] = {
    "audio": (
        ranged_models.audio,
        {"frames": SizeRange(1, 128)},
        lambda sizes: {"x": _floats(1, 3, sizes["frames"])},
    ),
    "image": (
        ranged_models.image,
        {"h": SizeRange(3, 14), "w": SizeRange(5, 12)},
        lambda sizes: {"x": _floats(1, 3, sizes["h"], sizes["w"])},
    ),
    "pyramid": (
        ranged_models.pyramid,
        {"h": SizeRange(8, 64, 8), "w": SizeRange(16, 40, 8)},
        lambda sizes: {"x": _floats(1, 3, sizes["h"], sizes["w"])},
    ),
    "transformer": (ranged_models.transformer, {"batch": SizeRange(1, 3), "seq": SizeRange(1, 40)}, _tokens),
}


@pytest.mark.parametrize("name", CASES)
def test_every_size_equals_the_runtime(name: str, tmp_path: Path) -> None:
    import onnxruntime

    make, ranges, draw = CASES[name]
    model = make()
    graph = convert(model, inputs={symbol: (item,) for symbol, item in ranges.items()})
    modelfile.save(graph, tmp_path / "m.lith")
    result = built(graph, "host", tmp_path / "a", name="model")
    execute.selftest(result)
    choices = itertools.product(*(item.sizes for item in ranges.values()))
    samples = [draw(dict(zip(ranges, sizes, strict=True))) for sizes in choices]
    actual = execute.run(result, samples).samples
    session = onnxruntime.InferenceSession(model.SerializeToString())
    with microlith.load(tmp_path / "m.lith", isa="c") as runtime:
        for sample, outputs in zip(samples, actual, strict=True):
            for output, array in runtime.run(sample).items():
                assert outputs[output].shape == array.shape
                assert outputs[output].tobytes() == array.tobytes()
    for sample, outputs in list(zip(samples, actual, strict=True))[::7]:
        for value, wanted in zip(graph.outputs, session.run(None, sample), strict=True):
            np.testing.assert_allclose(outputs[value.name], wanted, rtol=1e-4, atol=1e-5)


def test_sizes_in_c(tmp_path: Path) -> None:
    """What the header promises, as a caller sees it."""
    make, ranges, _ = CASES["audio"]
    graph = convert(make(), inputs={symbol: (item,) for symbol, item in ranges.items()})
    result = built(graph, "host", tmp_path / "a", name="model")
    main = r"""
#include "model.h"
#include <stdio.h>
#include <string.h>

static _Alignas(MODEL_ARENA_ALIGN) unsigned char arena[MODEL_ARENA_SIZE];

int main(void)
{
    model_instance model;
    int32_t dims[8];
    const float *input;

    if (model_init(&model, arena, sizeof arena) != MODEL_OK) return 1;
    if (model_input_shape(&model, 0, dims) != 3 || dims[2] != MODEL_FRAMES_MAX) return 2;
    if (model_resize(&model, 0) != MODEL_BAD_SIZE || model_resize(&model, 129) != MODEL_BAD_SIZE) return 3;
    if (model_resize(&model, -5) != MODEL_BAD_SIZE) return 4;
    if (model_input_shape(&model, 0, dims) != 3 || dims[2] != 128) return 5; /* as it was */
    input = model_input(&model, MODEL_INPUT_X);
    if (model_resize(&model, 7) != MODEL_OK || input != model_input(&model, MODEL_INPUT_X)) return 6;
    if (model_output_shape(&model, MODEL_OUTPUT_SCORES, dims) != 3) return 7;
    if (dims[0] != 1 || dims[1] != 4 || dims[2] != 4) return 7;
    if (model_output_shape(&model, 2, dims) != -1 || model_output_shape(&model, -1, dims) != -1) return 8;
    model_run(&model);
    return 0;
}
"""
    (result.folder / "main" / "selftest.c").write_text(main)
    execute.build(result)
    execute.selftest(result)


def test_on_a_board(tmp_path: Path) -> None:
    make, ranges, draw = CASES["audio"]
    graph = convert(make(), inputs={symbol: (item,) for symbol, item in ranges.items()})
    modelfile.save(graph, tmp_path / "m.lith")
    result = built(graph, "cortex-m4", tmp_path / "a", name="model")
    assert "PASS" in execute.selftest(result)
    samples = [draw({"frames": frames}) for frames in (1, 2, 3, 17, 64, 127, 128)]
    with microlith.load(tmp_path / "m.lith", isa="c") as runtime:
        for sample, outputs in zip(samples, execute.run(result, samples).samples, strict=True):
            for output, array in runtime.run(sample).items():
                assert outputs[output].tobytes() == array.tobytes()


def test_the_arena_is_that_of_the_largest_sizes(tmp_path: Path) -> None:
    graph = convert(ranged_models.audio())
    ranged = microlith.generate(graph, "host", tmp_path / "a", sizes={"frames": SizeRange(1, 128)})
    fixed = microlith.generate(graph, "host", tmp_path / "b", sizes={"frames": 128})
    assert ranged.arena_bytes == fixed.arena_bytes
    assert ranged.sizes == ({"name": "frames", "symbol": "frames", "low": 1, "high": 128, "step": 1},)
    assert list(ranged.inputs[0]["shape"]) == [1, 3, "frames"]


def test_a_range_where_the_model_cannot_run(tmp_path: Path) -> None:
    model = ranged_models.image()
    with pytest.raises(ShapeError, match=r"with w = 1 the model cannot run: .*kernel is larger"):
        convert(model, inputs={"h": (9,), "w": (SizeRange(1, 12),)})
    with pytest.raises(ShapeError, match=r"hint: w:3..12 would do"):
        convert(model, inputs={"h": (9,), "w": (SizeRange(1, 12),)})
    graph = convert(model, inputs={"h": (9,)})
    with pytest.raises(ShapeError, match=r"hint: w:3..12 would do"):
        project(graph, "host", tmp_path / "a", sizes={"w": SizeRange(1, 12)})
    with pytest.raises(ShapeError, match=r"no size in the range does"):
        project(graph, "host", tmp_path / "a", sizes={"w": SizeRange(1, 2)})
    assert not (tmp_path / "a").exists()


def test_a_model_that_wants_multiples(tmp_path: Path) -> None:
    model = ranged_models.pyramid()
    with pytest.raises(ShapeError, match=r"with h = 9(.|\n)*hint: h:8..64:8 would do"):
        convert(model, inputs={"h": (SizeRange(8, 67),), "w": (24,)})
    with pytest.raises(ShapeError, match=r"hint: h:8..64:8 with w:8..32:8 would do"):
        convert(model, inputs={"h": (SizeRange(8, 64),), "w": (SizeRange(8, 32),)})
    graph = convert(model, inputs={"w": (24,)})
    with pytest.raises(ShapeError, match=r"hint: h:8..64:8 would do"):
        project(graph, "host", tmp_path / "a", sizes={"h": SizeRange(4, 64, 4)})


def test_sizes_in_steps(tmp_path: Path) -> None:
    """Kept in the file, enforced by the runtime and by generated code, which says so in its header."""
    graph = convert(ranged_models.pyramid(), inputs={"h": (SizeRange(8, 32, 8),), "w": (SizeRange(16, 40, 8),)})
    modelfile.save(graph, tmp_path / "m.lith")
    assert modelfile.load(tmp_path / "m.lith").ranges == graph.ranges
    with microlith.load(tmp_path / "m.lith") as model:
        assert (model.size_range("h"), model.size_step("h"), model.size_step("w")) == ((8, 32), 8, 8)
        assert model.size_step("other") == 1
        with pytest.raises(ShapeError, match=r"is 20; the model takes sizes 'h' from 8 to 32 in steps of 8"):
            model.run({"x": _floats(1, 3, 20, 16)})
        assert model.run({"x": _floats(1, 3, 24, 40)})["map"].shape == (1, 2, 12, 20)
    result = built(graph, "host", tmp_path / "a", name="model")
    assert next(iter(result.report["sizes"])) == {"name": "h", "symbol": "h", "low": 8, "high": 32, "step": 8}
    header = (result.folder / "model.h").read_text()
    assert 'Size "h": 8 to 32 in steps of 8' in header
    assert "#define MODEL_H_STEP 8" in header
    with pytest.raises(InputError, match=r"the size 20 of 'h' is outside of its range 8..32:8"):
        execute.run(result, [{"x": _floats(1, 3, 20, 16)}])
    data = np.array([20, 16], "<i4").tobytes() + _floats(1, 3, 20, 16).tobytes()
    (tmp_path / "in.bin").write_bytes(data)
    with pytest.raises(ToolError, match="outside of its range"):
        execute._run([str(result.program("runner")), str(tmp_path / "in.bin"), str(tmp_path / "o")], "run", timeout=60)


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the range 9..5 is empty"):
        SizeRange(9, 5)
    with pytest.raises(InputError, match=r"the range 0..5 is out of bounds"):
        SizeRange(0, 5)
    with pytest.raises(InputError, match=r"32..100:32 has no step that ends at 100\n  hint: for example 32..96:32"):
        SizeRange(32, 100, 32)
    with pytest.raises(InputError, match=r"32..320:1000 has no step that ends at 320\n  hint: for example 32..320$"):
        SizeRange(32, 320, 1000)
    for text in ("h:32..320:", "h:..320:32", "x:0:32..", "h:32..320:32:2"):
        with pytest.raises(InputError, match=r"this is no range\n  hint: a range is LOW..HIGH or LOW..HIGH:STEP"):
            parse_shapes([text])
    with pytest.raises(InputError, match=r"the range 5..9:0 has no steps"):
        SizeRange(5, 9, 0)
    model = ranged_models.audio()
    with pytest.raises(InputError, match=r"no input and no size 'frame'\n  hint: did you mean 'frames'"):
        convert(model, inputs={"frame": (SizeRange(1, 5),)})
    with pytest.raises(InputError, match=r"'frames' is both 1..5 and 7"):
        convert(model, inputs={"frames": (SizeRange(1, 5),), "x": (1, 3, 7)})
    graph = convert(model)
    with pytest.raises(ShapeError, match=r"'frames' of input 'x'(.|\n)*--input frames:1..128"):
        project(graph, "host", tmp_path / "a")
    with pytest.raises(ShapeError, match=r"no size 'f'\n  hint: its sizes: frames"):
        project(graph, "host", tmp_path / "a", sizes={"f": SizeRange(1, 5)})
    with pytest.raises(ShapeError, match=r"combinations of sizes; at most 16,384"):
        project(convert(ranged_models.image()), "host", tmp_path / "a", sizes={s: SizeRange(8, 900) for s in "hw"})


def test_a_run_outside_of_the_range(tmp_path: Path) -> None:
    graph = convert(ranged_models.audio(), inputs={"frames": (SizeRange(4, 8),)})
    result = built(graph, "host", tmp_path / "a")
    with pytest.raises(InputError, match=r"the size 9 of 'frames' is outside of its range 4..8"):
        execute.run(result, [{"x": _floats(1, 3, 9)}])
    (tmp_path / "in.bin").write_bytes(np.array([9], "<i4").tobytes() + _floats(1, 3, 9).tobytes())
    with pytest.raises(ToolError, match="outside of its range"):
        execute._run([str(result.program("runner")), str(tmp_path / "in.bin"), str(tmp_path / "o")], "run", timeout=60)


def test_data_that_decides_about_shapes_is_refused(tmp_path: Path) -> None:
    graph = Graph("nonzero")
    x = Value("x", TensorType(DType.f32, ("n",)))
    graph.inputs.append(x)
    graph.outputs = [graph.add("non_zero", [x]).output]
    with pytest.raises(UnsupportedError, match="depends on the values of 'x'"):
        project(graph, "host", tmp_path / "a", sizes={"n": SizeRange(1, 9)})


def test_names_that_c_or_the_project_uses(tmp_path: Path) -> None:
    graph = Graph("names")
    names = ("arena", "p0", "int", "p", "3 é*/", "instance")
    x = Value("x", TensorType(DType.f32, names))
    graph.inputs.append(x)
    relu = graph.add("relu", [x])
    graph.outputs = [graph.add("transpose", [relu.output], {"perm": [1, 0, 2, 3, 4, 5]}).output]
    result = built(graph, "host", tmp_path / "a", sizes={name: SizeRange(1, 2) for name in names})
    execute.selftest(result)
    sample = {"x": _floats(2, 1, 2, 2, 1, 2)}
    actual = execute.run(result, [sample]).outputs[graph.outputs[0].name][0]
    np.testing.assert_array_equal(actual, np.maximum(sample["x"], 0).transpose(1, 0, 2, 3, 4, 5))
