"""``microlith.load`` and ``Model``: what a caller of the Python side sees."""

from __future__ import annotations

import asyncio
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lith_models import Build, Case, inputs_for

import microlith
from microlith import modelfile
from microlith.errors import InputError, MicrolithError, ModelFormatError, ShapeError
from microlith.ir import Quant


def check(case: Case, results: dict[str, np.ndarray], expected: dict[str, np.ndarray] | None = None) -> None:
    """Integers exactly, floats within what a float32 sum of a few hundred terms loses."""
    expected = case.expected if expected is None else expected
    assert list(results) == list(expected)
    for name, array in expected.items():
        assert results[name].dtype == array.dtype and results[name].shape == array.shape
        if array.dtype.kind == "f":
            np.testing.assert_allclose(results[name], array, rtol=1e-5, atol=1e-5 * np.abs(array).max())
        else:
            np.testing.assert_array_equal(results[name], array)


def test_runs_as_the_reference(case: Case) -> None:
    with microlith.load(case.path) as model:
        check(case, model.run(case.inputs))
        check(case, model.run(case.inputs))


def test_from_bytes(case: Case) -> None:
    data = case.path.read_bytes()
    check(case, microlith.load(data).run(case.inputs))
    check(case, microlith.load(memoryview(b"x" + data)[1:]).run(case.inputs))


def test_inputs_by_position_list_and_name(cases: dict[str, Case]) -> None:
    case = cases["branches"]
    model = microlith.load(case.path)
    arrays = list(case.inputs.values())
    check(case, model.run(*arrays))
    check(case, model.run(arrays))
    check(case, model(dict(reversed(case.inputs.items()))))


def test_layouts_of_arrays(cases: dict[str, Case]) -> None:
    case = cases["mlp"]
    model = microlith.load(case.path)
    x = case.inputs["x"]
    strided = np.zeros((2, 48), np.float32)
    strided[:, ::2] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    for given in (np.asfortranarray(x), strided[:, ::2], read_only, {"x": x.tolist()}):
        check(case, model.run(given))


class Tensor:
    """A tensor of another library: nothing but the DLPack protocol."""

    def __init__(self, array: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        if self.device != (1, 0):
            raise BufferError("the tensor lies on another device")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


def test_tensors_of_other_libraries(cases: dict[str, Case]) -> None:
    case = cases["mlp"]
    model = microlith.load(case.path)
    (x,) = case.inputs.values()
    result = model.run(Tensor(x))["scores"]
    np.testing.assert_allclose(result, case.expected["scores"], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(model.run({"x": Tensor(np.asfortranarray(x))})["scores"], result)
    np.testing.assert_array_equal(np.from_dlpack(result), result)
    for tensor, words in (
        (Tensor(x.astype(np.float64)), "float64, the model wants float32"),
        (Tensor(x, (2, 0)), "lies on another device"),
    ):
        with pytest.raises(InputError, match=words):
            model.run(tensor)


def test_runs_beside_an_event_loop(cases: dict[str, Case]) -> None:
    """Runs in threads do not hold up coroutines, and each clone runs for itself."""
    case = cases["cnn"]
    (x,) = case.inputs.values()
    first = microlith.load(case.path)

    async def serve() -> list[dict[str, np.ndarray]]:
        models = [first, first.clone(), first.clone()]
        return await asyncio.gather(*(asyncio.to_thread(model.run, x) for model in models))

    results = asyncio.run(serve())
    for name, expected in results[0].items():
        for other in results[1:]:
            np.testing.assert_array_equal(other[name], expected)


def test_specs(cases: dict[str, Case]) -> None:
    model = microlith.load(cases["dynamic"].path)
    (x,) = model.inputs
    assert (x.name, x.dtype, x.shape, x.symbols) == ("x", np.float32, (-1, 10), ("batch", ""))
    assert str(x) == "x: float32[batch, 10]"
    assert [spec.name for spec in microlith.load(cases["cnn"].path).outputs] == ["scores", "features"]


def test_facts(tmp_path: Path) -> None:
    b = Build("facts")
    x = b.input("x", (1, 4))
    x.quant = Quant(np.array([0.5, 0.25, 1, 2], np.float32), np.array([0, 1, -2, 3]), 1)
    graph = b.outputs(b.op("dense", x, b.noise(3, 4), None, output="y"))
    graph.contract = "float-even"
    graph.metadata = {"source": "a test", "empty": ""}
    modelfile.save(graph, tmp_path / "facts.lith")
    model = microlith.load(tmp_path / "facts.lith")
    assert model.name == "facts" and model.producer.startswith("microlith ") and model.contract == "float-even"
    assert model.metadata == graph.metadata
    assert model.macs == 12
    quantization = model.inputs[0].quantization
    assert quantization is not None and quantization.axis == 1
    np.testing.assert_array_equal(quantization.scale, x.quant.scale)
    np.testing.assert_array_equal(quantization.zero_point, x.quant.zero_point)
    assert model.outputs[0].quantization is None
    memory = model.memory
    assert memory.constants == 48 and memory.arena == model.arena_bytes >= memory.arena_lower_bound > 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["'x' is missing", "x: float32[2, 24]"]),
        ({"x": np.zeros((2, 24), np.float32), "z": 0}, ["no input 'z'", "x: float32[2, 24]"]),
        ({"x": np.zeros((2, 24))}, ["float64", "wants float32"]),
        ({"x": np.zeros((24, 2), np.float32)}, ["[24, 2]", "wants [2, 24]"]),
        ({"x": np.zeros(48, np.float32)}, ["[48]", "wants [2, 24]"]),
        ({"x": ["a"]}, ["wants float32"]),
        ([], ["0 inputs were given, the model has 1"]),
        ([1, 2], ["2 inputs were given, the model has 1"]),
        ({"x": None}, ["'x' is None", "x: float32[2, 24]"]),
        ([None], ["'x' is None"]),
        ([[1.0], [1.0, 2.0]], ["2 inputs"]),
        ({"x": [[1.0], [1.0, 2.0]]}, ["'x' is no array"]),
    ],
)
def test_wrong_inputs(cases: dict[str, Case], given: object, words: list[str]) -> None:
    model = microlith.load(cases["mlp"].path)
    with pytest.raises(InputError) as info:
        model.run(given)  # type: ignore[arg-type]
    assert all(word in str(info.value) for word in words), info.value
    check(cases["mlp"], model.run(cases["mlp"].inputs))


def test_integers_are_not_cut(cases: dict[str, Case]) -> None:
    model = microlith.load(cases["integer"].path)
    values = np.zeros((1, 9, 9, 4), int).tolist()
    model.run({"x": values})
    values[0][0][0][0] = 128
    with pytest.raises(InputError, match="int64, the model wants int8"):
        model.run({"x": values})


def test_dynamic_sizes_follow_the_arrays(cases: dict[str, Case]) -> None:
    case = cases["dynamic"]
    model = microlith.load(case.path)
    for batch in (1, 5, 2, 40, 0, 3):
        given = inputs_for(case.graph, seed=batch, batch=batch)
        if batch:
            check(case, model.run(given), microlith.load(case.path).run(given))
            sized = Case(case.graph, case.path, given)
            check(sized, model.run(given))
        else:
            assert model.run(given)["y"].shape == (0, 4)
    assert model.inputs[0].shape == (-1, 10)
    model.run(np.zeros((0, 10), np.float32))
    with pytest.raises(InputError, match=r"shape \[3\], the model wants \[batch, 10\]"):
        model.run(np.zeros(3, np.float32))


def test_open_sizes_have_no_value_before_they_are_given(cases: dict[str, Case]) -> None:
    case = cases["dynamic"]
    with microlith.load(case.path) as model:
        with pytest.raises(InputError, match=r"not known yet(.|\n)*resize"):
            model.bind("x", np.zeros((1, 10), np.float32))
        with pytest.raises(ShapeError, match=r"not known yet: \[batch, 10\]"):
            model.resize({})
        with pytest.raises(ShapeError, match="lith_session_resize"):
            model._run()
        check(case, model.run(case.inputs))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": None}, "not NoneType"),
        ({"model": 5}, "not int"),
        ({"threads": "a"}, "'a' is no number of threads"),
        ({"threads": 1.5}, "1.5 is no number of threads"),
        ({"threads": 0}, "0 threads"),
        ({"isa": 3}, "named by text"),
        ({"isa": [3]}, "named by text"),
        ({"isa": "foo"}, "no instruction set 'foo'; there are all, c, sse41, avx2"),
    ],
)
def test_wrong_arguments_of_load(cases: dict[str, Case], arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as info:
        microlith.load(**{"model": cases["mlp"].path, **arguments})  # type: ignore[arg-type]
    assert words in str(info.value)


@pytest.mark.filterwarnings("error")
def test_values_that_are_not_finite_give_no_warnings(cases: dict[str, Case]) -> None:
    case = cases["mlp"]
    x = case.inputs["x"].copy()
    x[0, :4] = np.nan, np.inf, -np.inf, 3e38
    results = microlith.load(case.path).run({"x": x.tolist()})
    assert np.isnan(results["scores"][0]).all() and np.isfinite(results["scores"][1]).all()
    assert np.isnan(Case(case.graph, case.path, {"x": x}).expected["scores"][0]).all()
    with pytest.raises(InputError, match="wants int8"):
        microlith.load(cases["integer"].path).run({"x": np.full((1, 9, 9, 4), np.nan).tolist()})


def test_resize_of_fixed_shapes(cases: dict[str, Case]) -> None:
    case = cases["mlp"]
    model = microlith.load(case.path)
    x = np.random.default_rng(3).normal(size=(7, 24)).astype(np.float32)
    with pytest.raises(InputError, match=r"wants \[2, 24\]"):
        model.run(x)
    model.resize({"x": (7, 24)})
    rows = model.run(x)["scores"]
    assert rows.shape == (7, 5)
    with pytest.raises(ShapeError, match="dense"):
        model.resize({"x": (7, 23)})
    with pytest.raises(InputError, match="no input 'z'"):
        model.resize({"z": (7, 24)})
    with pytest.raises(InputError, match="cannot have shape"):
        model.resize({"x": (7, 24, 1)})
    with pytest.raises(ShapeError):
        model.resize({"x": (-1, 24)})
    np.testing.assert_array_equal(model.run(x)["scores"], rows)
    model.resize({"x": (2, 24)})
    check(case, model.run(case.inputs))


def test_bound_buffers(case: Case) -> None:
    model = microlith.load(case.path)
    if not all(size > 0 for spec in model.inputs for size in spec.shape):
        model.resize({name: array.shape for name, array in case.inputs.items()})
    arena = model.arena_bytes
    plain = model.run(case.inputs)
    for name, array in case.inputs.items():
        array.flags.writeable = False
        model.bind(name, array)
    buffers = {name: np.zeros_like(array) for name, array in plain.items()}
    for name, buffer in buffers.items():
        model.bind(name, buffer)
    assert model.arena_bytes <= arena
    for _ in range(2):  # inputs that are bound stay as they are
        results = model.run()
        assert all(results[name] is buffers[name] for name in buffers)
        for name in plain:
            np.testing.assert_array_equal(results[name], plain[name])
    for buffer in buffers.values():
        buffer[...] = 0
    model.invoke()
    for name in plain:
        np.testing.assert_array_equal(buffers[name], plain[name])
    for name in (*case.inputs, *buffers):
        model.bind(name, None)
    with pytest.raises(InputError, match=f"input '{next(iter(case.inputs))}' is not bound"):
        model.invoke()
    assert model.arena_bytes == arena
    for buffer in buffers.values():
        buffer[...] = 0
    np.testing.assert_equal(model.run(case.inputs), plain)
    assert not any(buffer.any() for buffer in buffers.values())


def test_buffers_that_do_not_fit(cases: dict[str, Case]) -> None:
    model = microlith.load(cases["mlp"].path)
    for array in (np.zeros((2, 24)), np.zeros((24, 2), np.float32), np.zeros((2, 48), np.float32)[:, ::2]):
        with pytest.raises(InputError, match="contiguous"):
            model.bind("x", array)
    read_only = np.zeros((2, 5), np.float32)
    read_only.flags.writeable = False
    with pytest.raises(InputError, match="contiguous"):
        model.bind("scores", read_only)
    with pytest.raises(InputError, match="no input or output 'z'"):
        model.bind("z", None)
    crooked = np.frombuffer(bytearray(2 * 24 * 4 + 1), np.uint8)[1:].view(np.float32).reshape(2, 24)
    with pytest.raises(InputError, match="aligned"):
        model.bind("x", crooked)
    check(cases["mlp"], model.run(cases["mlp"].inputs))


def test_profile(cases: dict[str, Case]) -> None:
    case = cases["cnn"]
    model = microlith.load(case.path)
    layers = model.profile(case.inputs)
    assert [layer.op for layer in layers] == [node.op for node in case.graph.nodes]
    assert [layer.name for layer in layers] == [node.name for node in case.graph.nodes]
    assert all(layer.kernel.startswith(f"nnacl_{layer.op}_") for layer in layers)
    assert sum(layer.macs for layer in layers) == model.macs == 12 * 12 * 8 * 27 + 4 * 4 * 8 * 9 + 128 * 10
    assert all((layer.ns == 0) == (layer.op == "reshape") for layer in layers)


def test_isa_is_a_choice(cases: dict[str, Case]) -> None:
    path = cases["mlp"].path
    assert microlith.load(path, isa="c").isa == ("c",)
    assert "c" in microlith.load(path, isa=["c", "sse41"]).isa
    assert microlith.load(path).isa == microlith.load(path, isa="all").isa
    with pytest.raises(InputError, match="no instruction set 'avx3'"):
        microlith.load(path, isa="avx3")


def test_number_of_threads(cases: dict[str, Case]) -> None:
    assert microlith.load(cases["mlp"].path, threads=3).threads == 3
    for threads in (0, -1, 100000):
        with pytest.raises(InputError, match="threads"):
            microlith.load(cases["mlp"].path, threads=threads)


def test_closed_models(cases: dict[str, Case]) -> None:
    case = cases["mlp"]
    with microlith.load(case.path) as model:
        copy = model.clone()
        spec = model.inputs[0]
    with pytest.raises(MicrolithError, match="closed"):
        model.run(case.inputs)
    with pytest.raises(MicrolithError, match="closed"):
        model.cancel()
    model.close()
    assert model.inputs[0] is spec
    check(case, copy.run(case.inputs))


def test_pickling_is_refused(cases: dict[str, Case]) -> None:
    with pytest.raises(TypeError, match="load the file in each process"):
        pickle.dumps(microlith.load(cases["mlp"].path))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_process_gets_an_error_instead_of_a_hang(cases: dict[str, Case]) -> None:
    case = cases["mlp"]
    model = microlith.load(case.path, threads=2)
    child = os.fork()
    if child == 0:
        try:
            model.run(case.inputs)
        except MicrolithError:
            os._exit(7)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


def test_files_that_are_not_models(tmp_path: Path, cases: dict[str, Case]) -> None:
    data = cases["mlp"].path.read_bytes()
    bad = {
        "missing.lith": None,
        "empty.lith": b"",
        "text.lith": b"certainly not a model",
        "cut.lith": data[: len(data) // 2],
        "short.lith": data[:10],
    }
    for name, content in bad.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ModelFormatError) as info:
            microlith.load(path)
        assert name in str(info.value)
    with pytest.raises(ModelFormatError, match="`microlith convert` makes one") as info:
        microlith.load(tmp_path / "text.lith")
    assert "again" not in str(info.value)
    with pytest.raises(ModelFormatError, match="not a regular file"):
        microlith.load(tmp_path)
    with pytest.raises(ModelFormatError):
        microlith.load(b"")


def test_tensors_of_other_libraries_are_bound_in_place(cases: dict[str, Case]) -> None:
    case = cases["mlp"]
    x, scores = np.zeros((2, 24), np.float32), np.zeros((2, 5), np.float32)
    with microlith.load(case.path) as model:
        model.bind("x", Tensor(x))
        model.bind("scores", Tensor(scores))
        x[:] = case.inputs["x"]
        model.invoke()
        np.testing.assert_allclose(scores, case.expected["scores"], rtol=1e-5, atol=1e-6)


def test_what_cannot_be_bound(cases: dict[str, Case]) -> None:
    model = microlith.load(cases["mlp"].path)
    for name, value, reason in (
        ("x", [1.0], "no array"),
        ("x", Tensor(np.zeros((2, 24))), "not float64"),
        ("x", np.zeros((2, 23), np.float32), r"not float32 \[2, 23\]"),
        ("x", np.zeros((24, 2), np.float32).T, "gaps"),
        ("scores", memoryview(b"\0" * 40).cast("f", (2, 5)), "no array|read-only"),
    ):
        with pytest.raises(InputError, match=reason):
            model.bind(name, value)


@pytest.mark.parametrize("shape", ["abc", 24, (2.5, 24), None])
def test_what_is_no_shape(cases: dict[str, Case], shape: Any) -> None:
    model = microlith.load(cases["mlp"].path)
    with pytest.raises(InputError, match="no shape for input 'x'"):
        model.resize({"x": shape})


@pytest.mark.parametrize("limit", [-1, "1M", 2**70])
def test_an_impossible_packed_limit_is_refused(limit: Any, cases: dict[str, Case]) -> None:
    with pytest.raises(InputError, match="is no number of bytes"):
        microlith.load(cases["mlp"].path, packed_limit=limit)


def test_resize_wants_shapes_by_name(cases: dict[str, Case]) -> None:
    model = microlith.load(cases["dynamic"].path)
    for shapes in (None, [(2, 10)]):
        with pytest.raises(InputError, match="which input gets which shape"):
            model.resize(shapes)  # type: ignore[arg-type]
