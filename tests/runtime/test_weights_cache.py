"""Packed weights that models share: which are the same, how much memory that takes, and many threads at once."""

from __future__ import annotations

import gc
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from lith_models import Build
from native_build import ROOT, STRICT, build, execute, require_tools

import microlith
from microlith import WeightsCache, modelfile
from microlith.errors import InputError, MicrolithError
from microlith.ir import Graph

HERE = Path(__file__).parent


def dense(weights: np.ndarray, *more: np.ndarray, **attrs: object) -> Graph:
    """x [1, n] through layers of weights [m, n]."""
    b = Build("dense")
    y = b.input("x", (1, weights.shape[1]))
    for index, array in enumerate((weights, *more)):
        y = b.op("dense", y, b.graph.constant(f"w{index}", array), None, **attrs)
    return b.outputs(y)


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def save(graph: Graph, path: Path) -> Path:
    modelfile.save(graph, path)
    return path


def result(model: microlith.runtime.Model, x: np.ndarray) -> np.ndarray:
    (y,) = model.run(x).values()
    return y


def hold(model: microlith.runtime.Model, *weights: np.ndarray, seed: int = 9) -> None:
    """The model computes with these weights and no others."""
    x = noise(1, weights[0].shape[1], seed=seed)
    expected = x.astype(np.float64)
    for array in weights:
        expected = expected @ array.astype(np.float64).T
    np.testing.assert_allclose(result(model, x), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def anonymous_memory() -> int:
    """Bytes of this process that are no file's."""
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def test_one_file_opened_often(tmp_path: Path) -> None:
    weights = noise(1024, 2048)  # 8 MiB
    path = save(dense(weights), tmp_path / "m.lith")
    content = path.read_bytes()
    cache = WeightsCache()
    first = microlith.load(path, weights_cache=cache)
    packed = first.memory.packed
    assert packed >= weights.nbytes and (cache.bytes, cache.saved_bytes, cache.count) == (packed, 0, 1)
    before = anonymous_memory()
    others = [microlith.load(path, weights_cache=cache) for _ in range(4)]
    others.append(microlith.load(content, weights_cache=cache))
    assert anonymous_memory() - before < packed / 4
    assert (cache.bytes, cache.saved_bytes, cache.count) == (packed, 5 * packed, 1)
    apart = microlith.load(path, weights_cache=WeightsCache())
    assert anonymous_memory() - before > 3 / 4 * packed
    for model in (first, *others, apart):
        hold(model, weights)


def test_weights_go_with_their_last_user(tmp_path: Path) -> None:
    weights = noise(1024, 2048)
    path = save(dense(weights), tmp_path / "m.lith")
    cache = WeightsCache()
    before = anonymous_memory()
    first, second = (microlith.load(path, weights_cache=cache) for _ in range(2))
    third = second.clone()
    assert anonymous_memory() - before > 3 / 4 * weights.nbytes
    first.close()
    second.close()
    assert cache.bytes > 0 and cache.saved_bytes == 0
    result(third, noise(1, 2048))
    third.close()
    assert (cache.bytes, cache.count) == (0, 0)
    assert anonymous_memory() - before < weights.nbytes / 4
    with microlith.load(path, weights_cache=cache) as again:  # a cache can be used again, and does not outlive its use
        del cache
        hold(again, weights)


@pytest.mark.parametrize("place", [0, 1, 65536, 100001, 131070, 131071])
def test_one_number_is_a_difference(tmp_path: Path, place: int) -> None:
    """Wherever it is: no sample of the bytes decides."""
    weights = noise(256, 512)
    other = weights.copy()
    other.reshape(-1)[place] = 1000
    cache = WeightsCache()
    models = [
        microlith.load(save(dense(array), tmp_path / f"{index}.lith"), weights_cache=cache)
        for index, array in enumerate((weights, other, weights))
    ]
    assert cache.count == 2 and cache.saved_bytes * 2 == cache.bytes
    for model, array in zip(models, (weights, other, weights), strict=True):
        hold(model, array)


def test_many_that_differ_in_one_number(tmp_path: Path) -> None:
    """More than are compared: at worst weights are kept twice, never the wrong ones used."""
    cache = WeightsCache()
    models, arrays = [], []
    for place in range(7):
        weights = noise(64, 256)
        weights[32, 129 + place] = 50
        models.append(microlith.load(save(dense(weights), tmp_path / f"{place}.lith"), weights_cache=cache))
        arrays.append(weights)
    for model, weights in zip(models, arrays, strict=True):
        hold(model, weights)
    assert cache.count == 7


def test_a_common_backbone(tmp_path: Path) -> None:
    backbone = noise(512, 512), noise(512, 512, seed=1)
    heads = [noise(16 + 16 * index, 512, seed=2 + index) for index in range(3)]
    cache = WeightsCache()
    models = [
        microlith.load(save(dense(*backbone, head), tmp_path / f"{index}.lith"), weights_cache=cache)
        for index, head in enumerate(heads)
    ]
    assert cache.saved_bytes >= 2 * sum(array.nbytes for array in backbone)
    models.pop(0).close()
    models.append(microlith.load(tmp_path / "0.lith", weights_cache=cache))
    for model, head in zip(models, (*heads[1:], heads[0]), strict=True):
        hold(model, *backbone, head)


def test_what_else_makes_a_difference(tmp_path: Path) -> None:
    """Attributes and instruction sets."""
    weights = noise(64, 64)
    cache = WeightsCache()
    plain = microlith.load(save(dense(weights), tmp_path / "plain.lith"), weights_cache=cache)
    portable = microlith.load(tmp_path / "plain.lith", isa="c", weights_cache=cache)
    relu = microlith.load(save(dense(weights, clamp_min=0.0), tmp_path / "relu.lith"), weights_cache=cache)
    x = noise(1, 64)
    expected = x.astype(np.float64) @ weights.T
    for model, values in ((plain, expected), (portable, expected), (relu, np.maximum(expected, 0))):
        np.testing.assert_allclose(result(model, x), values, rtol=1e-4, atol=1e-4)


def test_a_layer_used_twice_is_kept_once(tmp_path: Path) -> None:
    weights = noise(512, 512)
    path = save(dense(weights, weights, weights), tmp_path / "m.lith")
    cache = WeightsCache()
    model = microlith.load(path, weights_cache=cache)
    assert cache.count == 1 and model.memory.packed == cache.bytes == cache.saved_bytes / 2
    hold(model, weights, weights, weights)


def test_sessions_of_a_dynamic_model(tmp_path: Path) -> None:
    """Its kernels are bound while it runs: clones share what they pack then."""
    weights = noise(256, 256)
    b = Build("dynamic")
    x = b.input("x", (8, 256))
    kept = b.op("compress", x, b.input("keep", (8,), microlith.dtypes.DType.b8), axis=0)
    path = save(
        b.outputs(b.op("dense", kept, b.graph.constant("w", weights), None, output="y")), tmp_path / "dynamic.lith"
    )
    cache = WeightsCache()
    model = microlith.load(path, weights_cache=cache)
    assert model.is_dynamic
    models = [model, model.clone(), microlith.load(path, weights_cache=cache)]
    rows = noise(8, 256, seed=3)
    for count, each in enumerate(models, 3):
        keep = np.arange(8) < count
        y = each.run({"x": rows, "keep": keep})["y"]
        np.testing.assert_allclose(y, rows[:count].astype(np.float64) @ weights.T, rtol=1e-4, atol=1e-3)
    assert cache.count >= 1 and cache.saved_bytes >= cache.bytes


def test_resized_sessions_count_what_the_model_has_not(tmp_path: Path) -> None:
    weights = noise(128, 128)
    b = Build("open")
    x = b.input("x", ("n", 128))
    path = save(b.outputs(b.op("dense", x, b.graph.constant("w", weights), None, output="y")), tmp_path / "open.lith")
    cache = WeightsCache()
    model = microlith.load(path, weights_cache=cache)
    for rows in (1, 5, 64, 5, 1):
        values = noise(rows, 128)
        y = model.run(values)["y"]
        np.testing.assert_allclose(y, values.astype(np.float64) @ weights.T, rtol=1e-4, atol=1e-3)
        assert model.memory.packed == cache.bytes


def test_many_threads(tmp_path: Path) -> None:
    """All open and close the same files at once, with the cache of the process."""
    arrays = [noise(64, 128, seed=seed) for seed in range(3)]
    backbone = noise(128, 128, seed=7)
    paths = [save(dense(backbone, array), tmp_path / f"{index}.lith") for index, array in enumerate(arrays)]
    gc.collect()
    before = WeightsCache.of_process().count

    def work(number: int) -> None:
        for turn in range(12):
            index = (number + turn) % 3
            with microlith.load(paths[index]) as model:
                hold(model, backbone, arrays[index], seed=number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert WeightsCache.of_process().count == before


def test_a_child_has_a_cache_of_its_own(tmp_path: Path) -> None:
    if not hasattr(os, "fork"):
        pytest.skip("the system cannot fork")
    weights = noise(64, 64)
    path = save(dense(weights), tmp_path / "m.lith")
    model = microlith.load(path)
    of_parent = WeightsCache.of_process()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            hold(model, weights)
            hold(microlith.load(path), weights)
            status = 0 if WeightsCache.of_process() is not of_parent else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_mistakes(tmp_path: Path) -> None:
    path = save(dense(noise(4, 4)), tmp_path / "m.lith")
    with pytest.raises(InputError, match="WeightsCache"):
        microlith.load(path, weights_cache="a.bin")
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(WeightsCache())
    assert "bytes" in repr(WeightsCache())


def test_a_closed_model_holds_nothing(tmp_path: Path) -> None:
    path = save(dense(noise(4, 4)), tmp_path / "m.lith")
    with microlith.load(path) as model:
        pass
    assert str(path) not in Path("/proc/self/maps").read_text()
    assert model.name == "dense" and model.macs == 16 and "x" in repr(model)
    for call in (lambda: model.size_range("n"), lambda: model.clone(), lambda: model.memory, lambda: model.prepacked):
        with pytest.raises(MicrolithError, match="was closed"):
            call()


def check_models(tmp_path: Path) -> list[Path]:
    backbone = noise(256, 256)
    return [save(dense(backbone, noise(32, 256, seed=seed)), tmp_path / f"{seed}.lith") for seed in (1, 2)]


def test_no_data_races(tmp_path: Path) -> None:
    """Threads that open, run and close at once, some without memory, under the thread sanitizer."""
    require_tools("cc", "setarch")
    kernels = sorted((build("release") / "nnacl_kernels").rglob("*.o"))
    folders = [f"-I{ROOT / name}" for name in ("runtime/include", "nnacl_kernels")]
    sources = [*sorted((ROOT / "runtime" / "src").glob("*.c")), HERE / "weights_check.c"]
    flags = ["-std=c11", *STRICT, "-fsanitize=thread", '-DLITH_VERSION="0"']
    program = tmp_path / "weights_check"
    execute(["cc", *flags, *folders, *sources, *kernels, "-pthread", "-lm", "-o", program])
    assert "nothing is left" in execute(["setarch", "-R", program, *check_models(tmp_path)])
