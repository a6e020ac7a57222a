"""Threads, instruction sets, several sessions at once, cancelling, and state that outlives a run."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from lith_models import Build, Case, inputs_for
from native_build import ROOT, STRICT, build, execute, require_tools

import microlith
from microlith import model_generated as fb
from microlith import modelfile
from microlith.dtypes import DType
from microlith.errors import InputError
from microlith.ir import Graph
from microlith.runtime import RunCancelledError


def wide() -> Graph:
    """Large enough for its work to be split."""
    b = Build("wide")
    x = b.input("x", (1, 40, 40, 8))
    y = b.op("conv2d", x, b.noise(32, 3, 3, 8), b.noise(32), pad_top=1, pad_left=1)
    y = b.op("sigmoid", b.op("depthwise_conv2d", y, b.noise(1, 3, 3, 32), None, groups=32))
    y = b.op("avg_pool2d", y, kernel_h=4, kernel_w=4, stride_h=4, stride_w=4)
    flat = b.op("reshape", y, shape=[1, -1])
    (size,) = (dim for dim in flat.shape if dim != 1)
    return b.outputs(b.op("dense", flat, b.noise(200, int(size)), b.noise(200), output="y"))


@pytest.fixture(scope="module")
def wide_case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    graph = wide()
    path = tmp_path_factory.mktemp("wide") / "wide.lith"
    modelfile.save(graph, path)
    return Case(graph, path, inputs_for(graph))


def test_thread_counts_give_equal_bytes(wide_case: Case) -> None:
    single = microlith.load(wide_case.path).run(wide_case.inputs)["y"]
    scale = np.abs(wide_case.expected["y"]).max()
    np.testing.assert_allclose(single, wide_case.expected["y"], rtol=1e-4, atol=1e-5 * scale)
    for threads in (2, 3, 7):
        model = microlith.load(wide_case.path, threads=threads)
        assert max(layer.parts for layer in model.profile(wide_case.inputs)) > 1
        for _ in range(5):
            assert model.run(wide_case.inputs)["y"].tobytes() == single.tobytes()


def matmul() -> Graph:
    b = Build("matmul")
    return b.outputs(b.op("matmul", b.input("a", (3, 37, 128)), b.input("b", (3, 128, 61)), output="y"))


def attention() -> Graph:
    b = Build("attention")
    q, k, v = (b.input(name, (1, 2, 55, 24)) for name in "qkv")
    return b.outputs(b.op("attention", q, k, v, scale=0.2, output="y"))


@pytest.mark.parametrize("graph", [matmul(), attention(), wide()], ids=lambda graph: graph.name)
def test_sums_do_not_depend_on_how_rows_are_split(graph: Graph, tmp_path: Path) -> None:
    """Also where a part ends with a single row, for which kernels may have a way of their own."""
    path = tmp_path / "model.lith"
    modelfile.save(graph, path)
    inputs = inputs_for(graph)
    for isa in microlith.load(path).isa:
        single = microlith.load(path, isa=isa).run(inputs)["y"]
        for threads in (2, 3, 4, 5, 7):
            model = microlith.load(path, isa=isa, threads=threads)
            assert max(layer.parts for layer in model.profile(inputs)) > 1
            np.testing.assert_array_equal(model.run(inputs)["y"], single, err_msg=f"{isa}, {threads} threads")


@pytest.mark.slow
def test_no_data_races(wide_case: Case) -> None:
    """Under the thread sanitizer, whose memory layout does not stand address randomization everywhere."""
    require_tools("setarch")
    program = build("threads") / "lith_run"
    execute(["setarch", "-R", program, wide_case.path, "--threads", "4", "--repeat", "30"])


def test_threads_on_every_model(case: Case) -> None:
    expected = microlith.load(case.path).run(case.inputs)
    np.testing.assert_equal(microlith.load(case.path, threads=4).run(case.inputs), expected)


def test_isa_masks_give_equal_integers(cases: dict[str, Case]) -> None:
    case = cases["integer"]
    for name in microlith.load(case.path).isa:
        for threads in (1, 3):
            model = microlith.load(case.path, isa=name, threads=threads)
            assert set(model.isa) == {"c", name}
            np.testing.assert_array_equal(model.run(case.inputs)["y"], case.expected["y"])


def test_sessions_in_parallel(wide_case: Case) -> None:
    """Clones share the model; each thread sees its own inputs."""
    original = microlith.load(wide_case.path)
    given = [inputs_for(wide_case.graph, seed=seed) for seed in range(6)]
    expected = [original.run(arrays)["y"] for arrays in given]

    def work(index: int) -> bool:
        model = original.clone(threads=1 + index % 2)
        return all(np.array_equal(model.run(given[index])["y"], expected[index]) for _ in range(4))

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


def test_one_model_in_several_threads(wide_case: Case) -> None:
    """Runs of one Model wait for each other."""
    model = microlith.load(wide_case.path)
    given = [inputs_for(wide_case.graph, seed=seed) for seed in range(4)]
    expected = [model.run(arrays)["y"] for arrays in given]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda index: model.run(given[index % 4])["y"], range(16)))
    assert all(np.array_equal(result, expected[index % 4]) for index, result in enumerate(results))


def test_clones_outlive_the_first(wide_case: Case) -> None:
    model = microlith.load(wide_case.path)
    copy = model.clone()
    expected = model.run(wide_case.inputs)["y"]
    model.close()
    del model
    np.testing.assert_array_equal(copy.run(wide_case.inputs)["y"], expected)


def test_cancel(wide_case: Case) -> None:
    model = microlith.load(wide_case.path)
    expected = model.run(wide_case.inputs)["y"]
    model.cancel()
    with pytest.raises(RunCancelledError):
        model.run(wide_case.inputs)
    np.testing.assert_array_equal(model.run(wide_case.inputs)["y"], expected)


def test_cancel_from_another_thread(wide_case: Case) -> None:
    model = microlith.load(wide_case.path)
    stopped = threading.Event()

    def work() -> None:
        try:
            while not stopped.is_set():
                model.run(wide_case.inputs)
        except RunCancelledError:
            stopped.set()

    thread = threading.Thread(target=work)
    thread.start()
    model.cancel()
    assert stopped.wait(20)
    thread.join()


def streaming_model(path: Path) -> None:
    """total += x; y = 2 * total, with total kept between runs. Made from a graph in which total is an input."""
    b = Build("streaming")
    total, x = b.input("total", (3,)), b.input("x", (3,))
    two = b.graph.constant("two", np.array([2, 2, 2], np.float32))
    added = b.op("add", total, x, output="added")
    modelfile.save(b.outputs(b.op("mul", added, two, output="y")), path)
    data = path.read_bytes()
    model = fb.ModelT.InitFromObj(fb.Model.GetRootAs(data, 0))
    graph = model.graphs[0]
    names = [tensor.name for tensor in graph.tensors]
    state, old = names.index(b"total"), names.index(b"added")
    graph.tensors[state].variable = True
    graph.inputs = [names.index(b"x")]
    graph.nodes[0].outputs = [state]
    graph.nodes[1].inputs = [state if index == old else index for index in graph.nodes[1].inputs]
    constants = data[model.dataOffset :]
    model.dataOffset = 4096
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"LITH")
    path.write_bytes(bytes(builder.Output()).ljust(model.dataOffset, b"\0") + constants)


def test_state_outlives_runs_and_resets(tmp_path: Path) -> None:
    streaming_model(tmp_path / "s.lith")
    model = microlith.load(tmp_path / "s.lith")
    assert [spec.name for spec in model.inputs] == ["x"]
    x = np.array([1, 2, 3], np.float32)
    for step in (1, 2, 3):
        np.testing.assert_array_equal(model.run(x)["y"], 2 * step * x)
    other = model.clone()
    np.testing.assert_array_equal(other.run(x)["y"], 2 * x)
    out = np.zeros(3, np.float32)
    model.bind("y", out)  # plans the memory anew; the state comes along
    model.run(x)
    np.testing.assert_array_equal(out, 8 * x)
    model.resize({"x": (3,)})
    np.testing.assert_array_equal(model.run(x)["y"], 10 * x)
    model.reset()
    np.testing.assert_array_equal(model.run(x)["y"], 2 * x)


def test_large_constants_are_mapped_and_not_copied(tmp_path: Path) -> None:
    """Weights of 64 MB that a run touches nothing of: opening must not read them."""
    b = Build("large")
    x = b.input("x", (1,), DType.s32)
    table = b.graph.constant("table", np.zeros((1 << 18, 64), np.float32))
    modelfile.save(b.outputs(b.op("gather", table, x, axis=0, output="y")), tmp_path / "large.lith")
    model = microlith.load(tmp_path / "large.lith")
    memory = model.memory
    assert memory.constants == 1 << 26 and memory.packed == 0 and memory.arena < 4096
    assert model.run(np.array([5], np.int32))["y"].shape == (1, 64)


@pytest.mark.parametrize("pauses", [False, True], ids=["as it is", "paused before atomic operations"])
def test_pool_does_all_work_once(tmp_path: Path, pauses: bool) -> None:
    """Whatever the number of threads and parts, and however late a worker is; the thread sanitizer watches."""
    require_tools("cc", "setarch")
    folder, source = Path(__file__).parent, ROOT / "runtime" / "src"
    folders = [f"-I{ROOT / name}" for name in ("runtime/src", "runtime/include", "nnacl_kernels")]
    flags = ["-std=c11", *STRICT, "-fsanitize=thread", "-pthread", *folders]
    between = ["-include", folder / "pool_pauses.h"] if pauses else []
    execute(["cc", *flags, *between, "-c", source / "threads.c", "-o", tmp_path / "threads.o"])
    rest = [folder / "pool_check.c", source / "clock.c", source / "alloc.c", tmp_path / "threads.o"]
    execute(["cc", *flags, *rest, "-o", tmp_path / "pool_check"])
    for _ in range(12 if pauses else 1):
        assert "all work was done once" in execute(["setarch", "-R", tmp_path / "pool_check"])


def test_packed_weights_do_not_stay_in_memory_twice(tmp_path: Path) -> None:
    """What a kernel has packed is not kept from the file as well."""
    b = Build("dense")
    graph = b.outputs(b.op("dense", b.input("x", (1, 1024)), b.noise(2048, 1024), b.noise(2048), output="y"))
    path = tmp_path / "dense.lith"
    modelfile.save(graph, path)
    model = microlith.load(path)
    y = model.run(inputs_for(graph))["y"]
    resident = 0
    lines = Path("/proc/self/smaps").read_text().splitlines()
    for number, line in enumerate(lines):
        if line.endswith(str(path)):
            resident += next(int(text.split()[1]) for text in lines[number:] if text.startswith("Rss:"))
    assert 0 < resident < 1024  # kB, of 8192
    np.testing.assert_array_equal(model.clone().run(inputs_for(graph))["y"], y)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system cannot bind threads to cores")
def test_threads_stay_on_their_cores(tmp_path: Path) -> None:
    b = Build("dense")
    graph = b.outputs(b.op("dense", b.input("x", (1, 8)), b.noise(8, 8), b.noise(8), output="y"))
    modelfile.save(graph, tmp_path / "m")
    core = max(os.sched_getaffinity(0))
    before, own = set(Path("/proc/self/task").iterdir()), os.sched_getaffinity(0)
    model = microlith.load(tmp_path / "m", threads=3, cores=[min(own), core])
    started = sorted(int(thread.name) for thread in set(Path("/proc/self/task").iterdir()) - before)
    assert [os.sched_getaffinity(thread) for thread in started] == [{core}, {min(own)}]
    assert os.sched_getaffinity(0) == own
    assert model.clone(threads=1).threads == 1
    with pytest.raises(InputError, match="core 4000 of this machine"):
        microlith.load(tmp_path / "m", threads=2, cores=[0, 4000])
    for wrong in ([-1], [5000], ["a"]):
        with pytest.raises(InputError, match="cores"):
            microlith.load(tmp_path / "m", threads=2, cores=wrong)  # type: ignore[arg-type]
