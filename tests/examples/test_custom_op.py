"""The example of docs/custom-ops.md: an op from outside of the package, everywhere where ops can be used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from flatbuffers import flexbuffers
from onnx import TensorProto, helper, numpy_helper
from tflite_builder import TfliteBuilder

import microlith
from microlith import extensions, modelfile, ops
from microlith.codegen import execute
from microlith.errors import MicrolithError, UnsupportedError
from microlith.evaluate import evaluate
from microlith.extension_checks import check_extension
from microlith.ir import Graph
from microlith.nnacl_kernels.library import find_library
from microlith.runtime import Model

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "custom_op"
STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Werror"
ALPHA = np.array([0.5, 1.0, 2.0, 3.0], np.float32)


def snake(x: np.ndarray, alpha: np.ndarray, axis: int) -> np.ndarray:
    """The formula of the paper (Ziyin et al. 2020), x - cos(2 a x) / (2 a) + 1 / (2 a): equal to the op's own."""
    a = alpha.astype(np.float64).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    wide = x.astype(np.float64)
    return wide - np.cos(2 * a * wide) / (2 * a) + 1 / (2 * a)


def onnx_model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("Snake", ["r", "alpha"], ["y"], "snake_1", domain="com.acme"),
    ]
    graph = helper.make_graph(
        nodes,
        "snake",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 3, 5])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 3, 5])],
        [numpy_helper.from_array(ALPHA, "alpha")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


X = np.random.default_rng(0).uniform(-3, 3, (1, 4, 3, 5)).astype(np.float32)
EXPECTED = snake(np.maximum(X, 0), ALPHA, 1)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compiled extensions go to a folder of the tests."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MICROLITH_CACHE", str(folder))
        yield folder


@pytest.fixture
def acme(cache: Path) -> Iterator[extensions.Extension]:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    (extension,) = microlith.add_ops(EXAMPLE / "acme_ops")
    yield extension
    extension.deactivate()


def loaded(graph: Graph, folder: Path) -> Model:
    """A graph in the runtime, by way of a file."""
    modelfile.save(graph, folder / "model.lith")
    return microlith.load(folder / "model.lith")


def test_halves_of_the_example_agree(acme: extensions.Extension) -> None:
    assert check_extension(acme, samples=50) == 50


def test_onnx_everywhere(acme: extensions.Extension, tmp_path: Path) -> None:
    graph = microlith.convert(onnx_model(), tmp_path / "snake.lith")
    assert [node.op for node in graph.nodes] == ["relu", "acme.snake"]
    np.testing.assert_allclose(evaluate(graph, {"x": X})["y"], EXPECTED, rtol=1e-5, atol=1e-6)
    read = modelfile.load(tmp_path / "snake.lith")
    np.testing.assert_allclose(evaluate(read, {"x": X})["y"], EXPECTED, rtol=1e-5, atol=1e-6)
    (runtime,) = microlith.load(tmp_path / "snake.lith").run({"x": X}).values()
    np.testing.assert_allclose(runtime, EXPECTED, rtol=1e-5, atol=1e-6)

    microlith.generate(tmp_path / "snake.lith", "host", tmp_path / "c")
    kernel = (tmp_path / "c" / "kernels" / "acme" / "snake_f32_c.c").read_text()
    assert kernel == (EXAMPLE / "acme_ops" / "acme" / "snake_f32_c.c").read_text()
    assert kernel.startswith("/* SPDX-License-Identifier: Apache-2.0 */")
    assert not (tmp_path / "c" / "kernels" / "acme" / "acme.c").exists()
    assert "`kernels/acme/` under the licence" in (tmp_path / "c" / "README.md").read_text()
    project = execute.Project.open(tmp_path / "c")
    execute.build(project, variables={"WARNINGS": STRICT})
    assert "PASS" in execute.selftest(project)
    generated = execute.run(project, [{"x": X}]).outputs["y"][0]
    assert generated.tobytes() == microlith.load(tmp_path / "snake.lith", isa="c").run({"x": X})["y"].tobytes()


@pytest.mark.parametrize("as_option", [False, True])
def test_tflite_custom_operator(acme: extensions.Extension, as_option: bool, tmp_path: Path) -> None:
    builder = TfliteBuilder()
    x = builder.tensor((1, 3, 4), name="x")
    alpha = builder.tensor((4,), data=ALPHA, name="alpha")
    y = builder.tensor((1, 3, 4), name="y")
    options = flexbuffers.Dumps({"alpha": 2.0}) if as_option else b""
    builder.custom("AcmeSnake", [x] if as_option else [x, alpha], [y], bytes(options))
    builder.inputs, builder.outputs = [x], [y]
    graph = microlith.convert(builder.build())
    sample = np.random.default_rng(1).standard_normal((1, 3, 4)).astype(np.float32)
    expected = snake(sample, np.full(4, 2, np.float32) if as_option else ALPHA, 2)
    model = loaded(graph, tmp_path)
    (result,) = model.run({graph.inputs[0].name: sample}).values()
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_sizes_known_at_run_time_only(acme: extensions.Extension, tmp_path: Path) -> None:
    proto = onnx_model()
    for info in (proto.graph.input[0], proto.graph.output[0]):
        info.type.tensor_type.shape.dim[2].dim_param = "rows"
    model = loaded(microlith.convert(proto), tmp_path)
    for rows in (1, 7):
        x = np.random.default_rng(rows).standard_normal((1, 4, rows, 5)).astype(np.float32)
        np.testing.assert_allclose(model.run({"x": x})["y"], snake(np.maximum(x, 0), ALPHA, 1), rtol=1e-5, atol=1e-6)


def test_who_lacks_the_op_says_so(acme: extensions.Extension, tmp_path: Path) -> None:
    path = tmp_path / "snake.lith"
    microlith.convert(onnx_model(), path)
    acme.deactivate()
    with pytest.raises(UnsupportedError, match=r"com\.acme\.Snake 'snake_1'.*--ops"):
        microlith.convert(onnx_model())
    with pytest.raises(MicrolithError, match=r"'snake_1' needs the op 'acme\.snake' of the extension 'acme'[^$]*--ops"):
        microlith.load(path)
    with pytest.raises(UnsupportedError, match=r"acme\.snake 'snake_1'.*extension 'acme'.*--ops") as caught:
        modelfile.load(path)
    assert len(caught.value.items) == 1
    builder = TfliteBuilder()
    x, y = builder.tensor((1, 4), name="x"), builder.tensor((1, 4), name="y")
    builder.custom("AcmeSnake", [x], [y])
    builder.inputs, builder.outputs = [x], [y]
    with pytest.raises(UnsupportedError, match=r"AcmeSnake 'y': .*--ops"):
        microlith.convert(builder.build())


# The command line, in processes of their own.


def call(*words: object, cwd: Path, code: int = 0, **variables: str) -> str:
    """Runs a program with variables of ours; what it wrote."""
    environment = {**os.environ, **variables}
    done = subprocess.run(list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


CLI = (sys.executable, "-c", "from microlith.cli import main; main()")


def test_command_line(cache: Path, tmp_path: Path) -> None:
    onnx.save(onnx_model(), tmp_path / "snake.onnx")
    given = ("--ops", EXAMPLE / "acme_ops")
    call(*CLI, "convert", "snake.onnx", *given, cwd=tmp_path)
    assert "acme.snake" in call(*CLI, "check", "snake.onnx", "--target", "cortex-m4", *given, cwd=tmp_path)
    np.save(tmp_path / "x.npy", X)
    call(*CLI, "run", "snake.lith", "--inputs", "x.npy", "--outputs", "y.npz", *given, cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["y"], EXPECTED, rtol=1e-5, atol=1e-6)
    assert "C on host" in call(*CLI, "verify", "snake.lith", *given, cwd=tmp_path)
    assert "acme.snake" in call(*CLI, "ops", *given, cwd=tmp_path)
    assert "samples agree" in call(*CLI, "ops", "--test", *given, cwd=tmp_path)
    assert "of the extension 'acme'" in call(*CLI, "run", "snake.lith", "--random", "1", cwd=tmp_path, code=2)
    assert "com.acme.Snake 'snake_1'" in call(*CLI, "convert", "snake.onnx", cwd=tmp_path, code=2)


def test_installed_package_is_found(cache: Path, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", reason="setuptools, which builds the example, is not installed")
    shutil.copytree(EXAMPLE, tmp_path / "source")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    call(*pip, "--target", tmp_path / "site", tmp_path / "source", cwd=tmp_path)
    shutil.rmtree(tmp_path / "source")
    site = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])}
    onnx.save(onnx_model(), tmp_path / "snake.onnx")
    call(*CLI, "convert", "snake.onnx", cwd=tmp_path, **site)
    np.save(tmp_path / "x.npy", X)
    call(*CLI, "run", "snake.lith", "--inputs", "x.npy", "--outputs", "y.npz", cwd=tmp_path, **site)
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["y"], EXPECTED, rtol=1e-5, atol=1e-6)
    assert "acme.snake" in call(*CLI, "inspect", "snake.lith", "--text", cwd=tmp_path, **site)
    # A package that is broken is named, and harms nobody who does not need it.
    broken = tmp_path / "site" / "acme_ops" / "acme" / "snake_f32_c.c"
    broken.write_text(broken.read_text() + "int\n")
    text = call(*CLI, "run", "snake.lith", "--random", "1", cwd=tmp_path, code=2, **site)
    assert "extension 'acme' cannot be used" in text and "snake_f32_c.c" in text
    other = onnx_model()
    other.graph.node[1].CopyFrom(helper.make_node("Neg", ["r"], ["y"]))
    onnx.save(other, tmp_path / "neg.onnx")
    call(*CLI, "convert", "neg.onnx", cwd=tmp_path, **site)
    call(*CLI, "run", "neg.lith", "--random", "1", cwd=tmp_path, **site)


def test_c_program(acme: extensions.Extension, tmp_path: Path) -> None:
    microlith.convert(onnx_model(), tmp_path / "snake.lith")
    sources = sorted((EXAMPLE / "acme_ops" / "acme").glob("*.c"))
    library = find_library()
    includes = [f"-I{ROOT / folder}" for folder in ("runtime/include", "nnacl_kernels", "examples/custom_op/acme_ops")]
    link = [str(library), f"-Wl,-rpath,{library.parent}", "-lm"]
    call("cc", "-std=c11", *STRICT.split(), EXAMPLE / "app.c", *sources, *includes, *link, "-o", "app", cwd=tmp_path)
    output = np.array(call(tmp_path / "app", "snake.lith", cwd=tmp_path).split(), np.float64)
    x = (np.arange(1, 61, dtype=np.float32) / np.float32(100)).reshape(1, 4, 3, 5)
    np.testing.assert_allclose(output.reshape(x.shape), snake(x, ALPHA, 1), rtol=1e-5)
    # The same program without the table refuses the model.
    plain = (EXAMPLE / "app.c").read_text().replace("options.extension_count = 1;", "")
    (tmp_path / "plain.c").write_text(plain)
    call("cc", "-std=c11", "plain.c", *sources, *includes, *link, "-o", "plain", cwd=tmp_path)
    text = call(tmp_path / "plain", "snake.lith", cwd=tmp_path, code=1)
    assert "needs the op 'acme.snake' of the extension 'acme', which was not given" in text


def test_demo_runs(cache: Path, tmp_path: Path) -> None:
    text = call(sys.executable, EXAMPLE / "snake_demo.py", "--output", tmp_path / "out", cwd=tmp_path)
    assert "self-test: PASS" in text and "kernels/acme/snake_f32_c.c" in text


# Mistakes.


@pytest.fixture
def copy(cache: Path, tmp_path: Path) -> Path:
    """A copy of the package, to be broken."""
    return Path(shutil.copytree(EXAMPLE / "acme_ops", tmp_path / "acme_ops"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


MISTAKES = {
    "source missing": (
        "acme/kernels.def",
        None,
        "",
        r"'kernels\.def' is missing[^$]*hint: a folder 'acme' holds acme\.h",
    ),
    "kernel missing": ("acme/snake_f32_c.c", None, "", r"linking the extension 'acme'[^$]*acme_snake_f32_c"),
    "compile error": ("acme/snake_f32_c.c", "float s =", "floot s =", r"compiling .*snake_f32_c\.c: [^$]*floot"),
    "warning": ("acme/snake_f32_c.c", "(void)ctx;", "", r"snake_f32_c\.c[^$]*unused parameter"),
    "no licence": ("acme/snake_plan.c", "SPDX-License", "License", "does not state its licence"),
    "op named otherwise": ("__init__.py", 'name="acme.snake"', 'name="snake"', "call it 'acme.snake'"),
    "no such op in C": ("__init__.py", 'name="acme.snake"', 'name="acme.viper"', "'acme.viper' has an OpDef, but"),
    "row without op": ("acme/kernels.def", "KERNEL(snake,", "KERNEL(viper,", "has no row in kernels.def"),
    "extension named otherwise": ("__init__.py", 'name="acme"', 'name="emca"', "rename it to 'emca'"),
    "name is taken": ("__init__.py", 'name="acme"', 'name="conv"', "microlith has a folder of kernels with this name"),
    "name is odd": ("__init__.py", 'name="acme"', 'name="Acme-2"', "not made of small letters"),
    "attribute is no field": (
        "__init__.py",
        'attrs={"axis": REQUIRED}',
        'attrs={"axis": REQUIRED, "beta": 0}',
        "attribute 'beta' is no field of acme_snake_params[^$]*axis, outer",
    ),
    "size of the struct": (
        "acme/snake_plan.c",
        "sizeof(acme_snake_params)",
        "2 * sizeof(acme_snake_params)",
        "has 16 bytes, the plan half says 32",
    ),
    "field of another type": ("acme/acme.h", "/* shapes, derived */", "uint32_t spare;", "'spare' is uint32_t"),
    "struct is not declared": ("acme/snake_plan.c", '"acme_snake_params"', '"acme_params"', "does not declare"),
    "data inputs": ("__init__.py", 'attrs={"axis"', 'data_inputs=("alpha",), attrs={"axis"', "data_inputs differ"),
    "no extension": ("__init__.py", "ACME = Extension(", "ACME = dict(", "defines no Extension"),
    "code fails": ("__init__.py", "SNAKE = OpDef(", "SNAKE = OpDeff(", r"__init__\.py:\d+: its code fails: NameError"),
    "syntax": ("__init__.py", "SNAKE = OpDef(", "SNAKE = = OpDef(", r"__init__\.py:\d+: its code fails: SyntaxError"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name: str, copy: Path) -> None:
    file, old, new, message = MISTAKES[name]
    if old is None:
        (copy / file).unlink()
    else:
        edit(copy / file, old, new)
    before = {opdef.name for opdef in ops.all_ops()}
    with pytest.raises(MicrolithError, match=message):
        microlith.add_ops(copy)
    assert not extensions.active() and {opdef.name for opdef in ops.all_ops()} == before


def test_taken_names(acme: extensions.Extension, copy: Path) -> None:
    with pytest.raises(MicrolithError, match="there is an extension of this name already"):
        microlith.add_ops(copy)
    other = copy.rename(copy.parent / "other_ops")
    (other / "acme").rename(other / "emca")
    edit(other / "__init__.py", '"acme.snake"', '"emca.snake"')
    edit(other / "__init__.py", 'name="acme"', 'name="emca"')
    edit(other / "__init__.py", '/ "acme"', '/ "emca"')
    with pytest.raises(MicrolithError, match=r"'acme' converts the operator com\.acme Snake already"):
        microlith.add_ops(other)


def test_wrong_kernel_is_found(copy: Path) -> None:
    edit(copy / "acme" / "snake_f32_c.c", "s * s / a", "s * s * a")
    (extension,) = microlith.add_ops(copy)
    try:
        with pytest.raises(MicrolithError, match=r"acme_snake_f32_c, output 0: the largest difference is"):
            check_extension(extension, samples=5)
    finally:
        extension.deactivate()


def test_no_compiler(copy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    edit(copy / "acme" / "acme.c", "*/", "again */")  # so that it is not in the cache
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(MicrolithError, match=r"there is no C compiler[^$]*hint: install one"):
        microlith.add_ops(copy)
    monkeypatch.setenv("CC", "acc")
    with pytest.raises(MicrolithError, match="CC names 'acc', which is not installed"):
        microlith.add_ops(copy)


def test_library_that_was_built_elsewhere(copy: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from microlith.extension_build import build

    library = shutil.copy2(build("acme", copy / "acme"), tmp_path / "acme_prebuilt.so")
    edit(copy / "__init__.py", "ops=[SNAKE],", f"ops=[SNAKE], library=Path({str(library)!r}),")
    monkeypatch.setenv("PATH", str(tmp_path))
    (extension,) = microlith.add_ops(copy)
    try:
        graph = microlith.convert(onnx_model())
        result = loaded(graph, tmp_path).run({"x": X})["y"]
        np.testing.assert_allclose(result, EXPECTED, rtol=1e-5, atol=1e-6)
    finally:
        extension.deactivate()


@pytest.mark.parametrize(
    ("what", "message"), [("nothing.py", "no such file"), ("nothing", "neither a Python file nor")]
)
def test_no_such_file(what: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(MicrolithError, match=message):
        microlith.add_ops(tmp_path / what)
