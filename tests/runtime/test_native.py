"""The C side as its users meet it: the tools, the installed library, and the header."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lith_models import Case
from native_build import ROOT, build, execute, require_tools

from microlith import modelfile, runtime
from microlith.dtypes import DType
from microlith.ir import Graph, TensorType, Value
from microlith.texts import set_labels

CLIENT = Path(__file__).parent / "c_client.c"
CPP_CLIENT = Path(__file__).parent / "cpp_client.cpp"


def test_lith_run(case: Case, tmp_path: Path) -> None:
    program = build("release") / "lith_run"
    words: list[str | Path] = [program, case.path, "--output-dir", tmp_path, "--threads", "2"]
    for index, (name, array) in enumerate(case.inputs.items()):
        path = tmp_path / (f"{name}.npy" if index == 0 else f"{name}.bin")
        if index == 0:
            np.save(path, array)
        else:
            path.write_bytes(array.tobytes())
        words += ["--input", f"{name}={path}"]
        if any(isinstance(size, str) for value in case.graph.inputs for size in value.shape):
            words += ["--shape", f"{name}={','.join(map(str, array.shape))}"]
    output = execute(words)
    for index, (name, expected) in enumerate(case.expected.items()):
        result = np.load(tmp_path / f"{index}_{name}.npy")
        assert result.shape == expected.shape and result.dtype == expected.dtype
        atol = 1e-5 * np.abs(expected).max() if expected.dtype.kind == "f" else 0
        np.testing.assert_allclose(result.astype(np.float64), expected, rtol=1e-5, atol=atol)
        assert f"{name} " in output


def test_lith_run_refuses(cases: dict[str, Case], tmp_path: Path) -> None:
    program = build("release") / "lith_run"
    mlp = cases["mlp"].path
    wrong = tmp_path / "wrong.npy"
    np.save(wrong, np.zeros((24, 2), np.float32))
    short = tmp_path / "short.bin"
    short.write_bytes(b"123")
    (tmp_path / "file").write_bytes(b"")
    for words, expected in (
        ([], "usage"),
        (["--frobnicate"], "unknown option"),
        ([mlp, mlp], "more than one model"),
        ([mlp, "--input"], "needs an argument"),
        ([mlp, "--input", f"z={short}"], "names no input"),
        ([mlp, "--threads", "0"], "a number from 1"),
        ([mlp, "--isa", "mmx"], "no instruction set 'mmx'; there are all, c, sse41"),
        ([mlp, "--shape", "x"], "NAME=1,3,224,224"),
        ([cases["dynamic"].path], "shape of input 'x' open: give it, e.g. --shape x=1,10"),
    ):
        assert expected in execute([program, *words], code=2)
    for words, expected in (
        ([tmp_path / "no.lith"], "no.lith: the file cannot be read"),
        ([wrong], "`microlith convert` makes one"),
        ([mlp, "--input", f"x={short}"], "3 bytes, input 'x' wants 192"),
        ([mlp, "--input", wrong], "(24, 2)"),
        ([mlp, "--shape", "x=2,25"], "node 0"),
        ([mlp, "--output-dir", tmp_path / "file" / "out"], "cannot make the folder"),
        ([mlp, "--output-dir", tmp_path / "file"], "cannot write"),
    ):
        assert expected in execute([program, *words], code=1)
    execute([program, mlp, "--output-dir", tmp_path / "made"])
    assert np.load(tmp_path / "made" / "0_scores.npy").shape == (2, 5)


def test_lith_bench(cases: dict[str, Case]) -> None:
    program = build("release") / "lith_bench"
    report = json.loads(execute([program, cases["cnn"].path, "--json", "--repeat", "3", "--threads", "2"]))
    assert report["repeat"] == 3 and report["threads"] == 2 and report["arena_bytes"] > 0
    assert report["min_ns"] <= report["median_ns"] <= report["p90_ns"]
    output = execute([program, cases["dynamic"].path, "--shape", "x=5,10", "--profile", "--repeat", "2", "--isa", "c"])
    assert "nnacl_dense_f32_c" in output
    assert "--shape x=1,10" in execute([program, cases["dynamic"].path], code=2)
    assert "unknown option" in execute([program, "--frobnicate"], code=2)


def check_client(program: Path, case: Case) -> None:
    check_client_output(execute([program, case.path]), case)


def check_client_output(output: str, case: Case) -> None:
    """What the clients print: the scores of numbers that they all make."""
    printed = np.array(output.split(), np.float32).reshape(2, 5)
    x = (np.arange(48, dtype=np.float32) / 48).reshape(2, 24)
    expected = Case(case.graph, case.path, {"x": x}).expected["scores"]
    np.testing.assert_allclose(printed, expected, rtol=1e-5, atol=1e-6)


def test_installed_library(cases: dict[str, Case], tmp_path: Path) -> None:
    """find_package(microlith) and pkg-config, shared and static."""
    prefix, project = tmp_path / "prefix", tmp_path / "project"
    execute(["cmake", "--install", build("release"), "--prefix", prefix])
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(client C CXX)\nset(CMAKE_CXX_STANDARD 17)\n"
        "find_package(microlith 0.1 REQUIRED)\n"
        f'foreach(kind microlith microlith_static)\nadd_executable(client_${{kind}} "{CLIENT}")\n'
        f'add_executable(cpp_client_${{kind}} "{CPP_CLIENT}")\n'
        "target_link_libraries(client_${kind} microlith::${kind})\n"
        "target_link_libraries(cpp_client_${kind} microlith::${kind})\nendforeach()\n"
    )
    execute(["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    execute(["cmake", "--build", project / "build"])
    for kind in ("microlith", "microlith_static"):
        check_client(project / "build" / f"client_{kind}", cases["mlp"])
        check_client(project / "build" / f"cpp_client_{kind}", cases["mlp"])
    execute([prefix / "bin" / "lith_run", cases["mlp"].path])


def test_pkg_config(cases: dict[str, Case], tmp_path: Path) -> None:
    require_tools("pkg-config")
    prefix = tmp_path / "prefix"
    execute(["cmake", "--install", build("release"), "--prefix", prefix])
    (description,) = prefix.rglob("microlith.pc")
    query = ["pkg-config", "--cflags", "--libs", str(description)]
    flags = execute(query).split()
    execute(["cc", CLIENT, *flags, f"-Wl,-rpath,{description.parents[1]}", "-o", tmp_path / "client"])
    check_client(tmp_path / "client", cases["mlp"])


@pytest.mark.parametrize("libraries", ["lib", "lib64", "lib/x86_64-linux-gnu"])
def test_pkg_config_finds_the_prefix(libraries: str, tmp_path: Path) -> None:
    """From the folder that the file lies in, however deep."""
    require_tools("cmake", "pkg-config")
    options = ["-DMICROLITH_BUILD_TOOLS=OFF", f"-DCMAKE_INSTALL_LIBDIR={libraries}"]
    execute(["cmake", "-S", ROOT / "runtime", "-B", tmp_path / "build", *options])
    description = tmp_path / "prefix" / libraries / "pkgconfig" / "microlith.pc"
    description.parent.mkdir(parents=True)
    description.write_text((tmp_path / "build" / "microlith.pc").read_text())
    for variable, folder in (("prefix", ""), ("libdir", libraries), ("includedir", "include")):
        found = execute(["pkg-config", f"--variable={variable}", str(description)]).strip()
        assert Path(found).resolve() == (tmp_path / "prefix" / folder).resolve()


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_header_is_c_and_cpp(compiler: str, tmp_path: Path) -> None:
    require_tools(compiler)
    source = tmp_path / ("use.cpp" if "++" in compiler else "use.c")
    source.write_text(
        f'#include "microlith.{"hpp" if "++" in compiler else "h"}"\n'
        "lith_model_options model_options = LITH_MODEL_OPTIONS_INIT;\n"
        "lith_session_options session_options = LITH_SESSION_OPTIONS_INIT;\n"
    )
    standard = "-std=c++17" if "++" in compiler else "-std=c11"
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
    include = f"-I{ROOT / 'runtime' / 'include'}"
    execute([compiler, standard, *warnings, include, "-c", source, "-o", tmp_path / "use.o"])


def test_lith_run_names_what_numbers_stand_for(tmp_path: Path) -> None:
    graph = Graph("names")
    x = Value("x", TensorType(DType.f32, (2, 3)))
    graph.inputs.append(x)
    best = graph.add("argmax", [x], {"axis": 1, "keep_dims": 0, "to": DType.s64.value})
    twice = graph.add("add", [x, x])
    best.output.name, twice.output.name = "best", "twice"
    graph.outputs += [best.output, twice.output]
    set_labels(graph.metadata, "best", ["cat", "dog"])
    set_labels(graph.metadata, "twice", ["a", "b", "c"])
    path = tmp_path / "names.lith"
    modelfile.save(graph, path)
    np.save(tmp_path / "x.npy", np.array([[0, 1, 0], [0, 0, 1]], np.float32))
    program = build("release") / "lith_run"
    lines = execute([program, path, "--input", f"x={tmp_path / 'x.npy'}"]).splitlines()
    assert "best s64[2]: 1 (dog) 2" in lines
    assert "twice f32[2,3]: 0 (a) 2 (b) 0 (c) 0 (a) 0 (b) 2 (c)" in lines
    assert runtime.load(path).labels == {"best": ["cat", "dog"], "twice": ["a", "b", "c"]}
