"""Projects for build systems and ecosystems: each compiled, run on an emulated board, and held against its rules.

The rules that the tests state are those of the documents that the emitters name.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import small_models
from board_builds import STUBS, link_and_run, platform_of, run
from generated_projects import need, need_target

from microlith import targets
from microlith.codegen import execute, generate
from microlith.codegen.projects import EMITTERS
from microlith.converter.passes import fuse_elementwise
from microlith.dtypes import DType
from microlith.errors import TargetError, ToolError
from microlith.ir import Graph, TensorType, Value

MODELS = {"int8_cnn": small_models.int8_cnn, "float_cnn": small_models.float_cnn, "rows_cnn": small_models.int8_cnn}
"""``rows_cnn`` is generated so that its input arrives by rows."""
SEMANTIC_VERSION = re.compile(r"\d+\.\d+\.\d+")


def generated(name: str, kind: str, folder: Path, target: str = "cortex-m4") -> Path:
    generate(MODELS[name](), target, folder, project=kind, name=name, input_by_rows=name == "rows_cnn")
    return folder


def c_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.c"))


def tool(name: str) -> str:
    """A program of PyPI, perhaps beside the interpreter."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} not installed (pip install '.[test]')")
    return found


# --- Make and CMake -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "kind"), [("int8_cnn", "make"), ("int8_cnn", "cmake"), ("float_cnn", "cmake")])
def test_one_build_system_alone(model: str, kind: str, tmp_path: Path) -> None:
    need_target("cortex-m4")
    need("cmake")
    project = execute.Project.open(generated(model, kind, tmp_path / "a"))
    assert (project.folder / "Makefile").exists() == (kind == "make")
    assert (project.folder / "CMakeLists.txt").exists() == (kind == "cmake")
    execute.build(project, variables={"WARNINGS": "-Wall -Wextra -Wpedantic -Werror"})
    text = execute.selftest(project)
    assert text.endswith("PASS\n") and "instructions=" in text


def test_presets_of_cmake(tmp_path: Path) -> None:
    need_target("cortex-m4")
    need("cmake", "ctest")
    folder = generated("int8_cnn", "cmake", tmp_path / "a")
    run(["cmake", "--workflow", "--preset", "selftest"], cwd=folder)
    assert "PASS" in run(["cmake", "--build", "build-cmake", "--target", "run"], cwd=folder)
    assert "runner.elf" in run(["cmake", "--build", "build-cmake", "--target", "size"], cwd=folder)
    generated("int8_cnn", "cmake", tmp_path / "a")  # the build folder is no work of the user


def test_model_as_a_part_of_a_project_of_cmake(tmp_path: Path) -> None:
    need("cmake", "g++")
    for number, name in enumerate(("first", "second")):
        generate(small_models.int8_cnn(pointwise=5 + number), "host", tmp_path / name, name=name, project="cmake")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(user CXX)\nenable_language(C)\n"
        "add_subdirectory(first)\nadd_subdirectory(second)\nadd_executable(user user.cpp)\n"
        "target_link_libraries(user first second)\n"
    )
    (tmp_path / "user.cpp").write_text(
        '#include "first.h"\n#include "second.h"\n'
        "alignas(64) static unsigned char a[FIRST_ARENA_SIZE], b[SECOND_ARENA_SIZE];\n"
        "int main() {\n    first_instance x; second_instance y;\n"
        "    int bad = first_init(&x, a, sizeof a) | second_init(&y, b, sizeof b);\n"
        "    first_run(&x); second_run(&y);\n    return bad;\n}\n"
    )
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "out"])
    run(["cmake", "--build", tmp_path / "out"])
    run([tmp_path / "out" / "user"])


# --- Arduino ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "target"),
    [("int8_cnn", "cortex-m4"), ("float_cnn", "cortex-m4"), ("int8_cnn", "cortex-m55"), ("rows_cnn", "cortex-m4")],
)
def test_arduino_selftest_and_example(model: str, target: str, tmp_path: Path) -> None:
    library = generated(model, "arduino", tmp_path / "library", target)
    platform = platform_of(target, tmp_path / "board")
    stub = STUBS / "arduino"
    includes = [library / "src", stub]
    for example, wanted in (("selftest", "PASS\n"), (model, "microseconds: 10\n")):
        folder = library / "examples" / example
        sources = [*c_files(library / "src"), *sorted(path for path in folder.iterdir() if path.suffix != ".h")]
        text = link_and_run(target, [*sources, stub / "stub_arduino.cpp"], includes, platform, ["-Os"])
        assert text.endswith(wanted)


def properties(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m33", "riscv32"])
def test_arduino_metadata(target: str, tmp_path: Path) -> None:
    library = generated("int8_cnn", "arduino", tmp_path / "a", target)
    values = properties(library / "library.properties")
    required = ("name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures")
    assert all(values[key] for key in required)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.\-]{0,62}", values["name"])
    assert SEMANTIC_VERSION.fullmatch(values["version"])
    categories = "Display|Communication|Signal Input/Output|Sensors|Device Control|Timing|Data Storage|Data Processing"
    assert values["category"] in categories.split("|")
    assert values["sentence"].endswith(".")
    assert (library / "src" / values["includes"]).exists()
    assert (values["architectures"] == "*") == (target == "riscv32")  # nothing but plain C
    for sketch in (library / "examples").iterdir():
        assert (sketch / f"{sketch.name}.ino").exists()
    fields = [line.split("\t") for line in (library / "keywords.txt").read_text().splitlines()[1:]]
    assert {kind for _, kind in fields} == {"KEYWORD1", "KEYWORD2", "LITERAL1"}


def test_arduino_floats_are_not_contracted(tmp_path: Path) -> None:
    need("arm-none-eabi-gcc", "arm-none-eabi-objdump")
    library = generated("float_cnn", "arduino", tmp_path / "a")
    flags = [*targets.get("cortex-m4").flags, "-std=gnu11", "-O3", "-c"]
    for source in c_files(library / "src"):
        run(["arm-none-eabi-gcc", *flags, source, "-o", tmp_path / "x.o"])
        assert not re.search(r"\bvfn?m[as]\b", run(["arm-none-eabi-objdump", "-d", tmp_path / "x.o"]))


# --- PlatformIO ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_platformio_selftest(model: str, tmp_path: Path) -> None:
    library = generated(model, "platformio", tmp_path / "library")
    manifest = json.loads((library / "library.json").read_text())
    platform = platform_of("cortex-m4", tmp_path / "board")
    stub, example = STUBS / "arduino", library / "examples" / "selftest" / "src"
    build = manifest["build"]
    sources = [*c_files(library / build["srcDir"]), *sorted(p for p in example.iterdir() if p.suffix != ".h")]
    includes = [library / build["includeDir"], library / build["srcDir"], stub]
    text = link_and_run("cortex-m4", [*sources, stub / "stub_arduino.cpp"], includes, platform, build["flags"])
    assert text.endswith("PASS\n")


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "riscv32"])
def test_platformio_metadata(target: str, tmp_path: Path) -> None:
    library = generated("int8_cnn", "platformio", tmp_path / "a", target)
    manifest = json.loads((library / "library.json").read_text())
    assert re.fullmatch(r"[a-z0-9_\-.]+", manifest["name"])
    assert SEMANTIC_VERSION.fullmatch(manifest["version"])
    assert (library / "include" / manifest["headers"]).exists()
    for example in manifest["examples"]:
        assert all((library / example["base"] / file).exists() for file in example["files"])
    ini = configparser.ConfigParser()
    ini.read(library / "examples" / "selftest" / "platformio.ini")
    (section,) = ini.sections()
    assert section.startswith("env:") and ini[section]["framework"] == "arduino"
    assert ini[section]["lib_deps"].endswith("symlink://../..")


def test_platformio_packs_it(tmp_path: Path) -> None:
    """`pio pkg pack` refuses a manifest that its schema does not allow. It looks licences up in the net: not here."""
    pio = tool("pio")
    library = generated("int8_cnn", "platformio", tmp_path / "a")
    settings = {"PLATFORMIO_CORE_DIR": str(tmp_path / "core"), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no"}
    manifest = json.loads((library / "library.json").read_text())
    assert manifest.pop("license") == "Apache-2.0"
    for changes, good in (({}, True), ({"version": "no version"}, False), ({"platforms": 7}, False)):
        (library / "library.json").write_text(json.dumps({**manifest, **changes}))
        packed = tmp_path / f"packed{good}.tar.gz"
        command = [pio, "pkg", "pack", str(library), "-o", str(packed)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **settings})
        assert (done.returncode == 0) == good, done.stdout + done.stderr
    assert (tmp_path / "packedTrue.tar.gz").stat().st_size > 0


# --- Zephyr -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_zephyr_module_and_sample(model: str, tmp_path: Path) -> None:
    need("cmake")
    need_target("cortex-m4")
    module = generated(model, "zephyr", tmp_path / "module")
    platform = platform_of("cortex-m4", tmp_path / "board")
    sample = module / "samples" / model
    options = dict(
        line.split("=") for line in (sample / "prj.conf").read_text().splitlines() if line.startswith("CONFIG_")
    )
    assert options[f"CONFIG_MICROLITH_{model.upper()}"] == "y"
    row = targets.get("cortex-m4")
    definitions = {
        "CMAKE_SYSTEM_NAME": "Generic",
        "CMAKE_C_COMPILER": row.compiler,
        "MODULE_DIR": module,
        "SAMPLE_DIR": sample,
        "PLATFORM_DIR": platform,
        "STUB_CONFIG": ";".join(key for key, value in options.items() if value == "y"),
        "STUB_FLAGS": " ".join(row.flags),
    }
    build = tmp_path / "build"
    run(["cmake", "-S", STUBS / "zephyr", "-B", build, *(f"-D{key}={value}" for key, value in definitions.items())])
    run(["cmake", "--build", build])
    assert run([*row.emulator(), build / "app"]).endswith("PASS\n")


def test_zephyr_files(tmp_path: Path) -> None:
    module = generated("int8_cnn", "zephyr", tmp_path / "a")
    text = (module / "zephyr" / "module.yml").read_text()
    values = dict(re.findall(r"^ *(\w+): (\S+)$", text, re.MULTILINE))
    assert values["name"] == "int8_cnn"
    assert (module / values["cmake"] / "CMakeLists.txt").exists()
    assert (module / values["kconfig"]).exists()
    assert "samples:\n  - samples\n" in text
    for name in ("CMakeLists.txt", "prj.conf", "sample.yaml", "src/main.c"):
        assert (module / "samples" / "int8_cnn" / name).exists()


def test_zephyr_kconfig_is_read_by_kconfiglib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kconfiglib = pytest.importorskip("kconfiglib", reason="kconfiglib not installed (pip install '.[test]')")
    for target, core in (("cortex-m4", "CPU_CORTEX_M4"), ("cortex-m55", "ARMV8_1_M_MVEI"), ("riscv32", "RISCV")):
        module = generated("float_cnn" if target == "riscv32" else "int8_cnn", "zephyr", tmp_path / target, target)
        monkeypatch.chdir(module)
        for present in (True, False):
            head = "".join(
                f'config {name}\n\tbool "x"\n\tdefault {"y" if present else "n"}\n'
                for name in (core, "REQUIRES_FULL_LIBC")
            )
            Path("Kconfig.test").write_text(f'{head}source "zephyr/Kconfig"\n')
            config = kconfiglib.Kconfig("Kconfig.test", warn_to_stderr=False)
            symbol = config.syms["MICROLITH_FLOAT_CNN" if target == "riscv32" else "MICROLITH_INT8_CNN"]
            symbol.set_value("y")
            assert symbol.str_value == ("y" if present else "n")


def test_west_takes_the_manifest_of_the_readme(tmp_path: Path) -> None:
    west = tool("west")
    module = generated("int8_cnn", "zephyr", tmp_path / "module")
    found = re.search(r"```yaml\n(manifest:.*?)```", (module / "README.md").read_text(), re.DOTALL)
    assert found
    for index, text in enumerate((found[1], found[1].replace("projects", "project"))):
        workspace = tmp_path / f"workspace{index}"
        (workspace / "app").mkdir(parents=True)
        (workspace / "app" / "west.yml").write_text(text)
        made = subprocess.run([west, "init", "-l", "app"], cwd=workspace, capture_output=True, text=True)
        done = subprocess.run([west, "manifest", "--validate"], cwd=workspace, capture_output=True, text=True)
        assert (made.returncode == 0 and done.returncode == 0) == (index == 0), made.stderr + done.stderr


# --- CMSIS-Pack ---------------------------------------------------------------------------------------------------


def pack_files(description: ElementTree.Element) -> list[Mapping[str, str]]:
    return [file.attrib for file in description.iter("file")]


PACK_MAIN = r"""
#include "platform.h"
#include "semihosting.h"
#include <stdio.h>

int main(void);
int {model}_example_start(void);
void {model}_example_run(void);

/* Standard output of the board. */
int fputs(const char *restrict text, FILE *restrict file)
{{
    (void)file;
    semihosting_print(text);
    return 0;
}}

int main(void)
{{
    int bad = {model}_example_start();

    {model}_example_run();
    return bad | {model}_selftest();
}}
"""


@pytest.mark.parametrize(
    ("model", "target"), [("float_cnn", "cortex-m4"), ("int8_cnn", "cortex-m55"), ("rows_cnn", "cortex-m4")]
)
def test_cmsis_pack_compiles_from_its_description(model: str, target: str, tmp_path: Path) -> None:
    folder = generated(model, "cmsis-pack", tmp_path / "a", target)
    files = pack_files(ElementTree.parse(folder / f"Microlith.{model}.pdsc").getroot())
    sources = [folder / file["name"] for file in files if file["category"] == "source"]
    includes = [folder / file["name"] for file in files if file["category"] == "include"]
    includes += [(folder / file["name"]).parent for file in files if file["category"] == "header"]
    platform = platform_of(target, tmp_path / "board")
    main = tmp_path / "main.c"
    main.write_text(PACK_MAIN.format(model=model))
    text = link_and_run(target, [*sources, main], includes, platform, ["-O2"])
    assert text.endswith("PASS\n")


@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m4", "cortex-m33", "cortex-m55"])
def test_cmsis_pack_description(target: str, tmp_path: Path) -> None:
    folder = generated("int8_cnn", "cmsis-pack", tmp_path / "a", target)
    path = folder / "Microlith.int8_cnn.pdsc"
    root = ElementTree.parse(path).getroot()
    text = {key: root.findtext(key) for key in ("vendor", "name", "description", "license")}
    assert all(text.values())
    assert path.name == f"{text['vendor']}.{text['name']}.pdsc"
    assert (folder / str(text["license"])).exists()
    versions = [release.attrib["version"] for release in root.iter("release")]
    assert all(SEMANTIC_VERSION.fullmatch(version) for version in versions)
    conditions = {condition.attrib["id"] for condition in root.iter("condition")}
    used = {element.attrib["condition"] for element in root.iter() if "condition" in element.attrib}
    assert used <= conditions
    cores = {element.attrib["Dcore"] for element in root.iter("accept") if "Dcore" in element.attrib}
    assert targets.get(target).title.removesuffix("F") in cores
    named = {file["name"] for file in pack_files(root)}
    assert all((folder / name).exists() for name in named)
    assert {f"src/{p.relative_to(folder / 'src').as_posix()}" for p in c_files(folder / "src")} <= named
    with zipfile.ZipFile(folder / f"Microlith.int8_cnn.{versions[0]}.pack") as archive:
        assert archive.testzip() is None
        assert set(archive.namelist()) >= named - {"include/"} | {path.name, "LICENSE"}
        assert archive.read(path.name) == path.read_bytes()


def test_cmsis_pack_is_well_formed_xml(tmp_path: Path) -> None:
    """With CMSIS_PACK_SCHEMA set to a copy of Open-CMSIS-Pack's PACK.xsd also valid by that."""
    need("xmllint")
    schema = os.environ.get("CMSIS_PACK_SCHEMA")
    for target in ("cortex-m0plus", "cortex-m33", "cortex-m55"):
        folder = generated("int8_cnn", "cmsis-pack", tmp_path / target, target)
        run(["xmllint", "--noout", *(["--schema", schema] if schema else []), folder / "Microlith.int8_cnn.pdsc"])


# --- all of them --------------------------------------------------------------------------------------------------


def test_two_models_in_one_firmware(tmp_path: Path) -> None:
    """All objects linked directly: no archive that could hide a clash. The models share kernels and have others."""
    libraries = []
    graphs: dict[str, Graph] = {
        "first": small_models.int8_cnn(),
        "second": small_models.int8_cnn(pointwise=5),
        "third": small_models.float_cnn(),
    }
    for name, graph in graphs.items():
        generate(graph, "cortex-m4", tmp_path / name, name=name, project="arduino")
        libraries.append(tmp_path / name)
    sources = [path for library in libraries for path in c_files(library / "src")]
    sources += [library / "examples" / "selftest" / "selftest.c" for library in libraries]
    sources += [libraries[0] / "examples" / "selftest" / "platform_arduino.cpp", STUBS / "arduino" / "stub_arduino.cpp"]
    main = tmp_path / "main.ino"
    calls = "".join(f"    {name}_selftest();\n" for name in graphs)
    declared = "".join(f'extern "C" int {name}_selftest(void);\n' for name in graphs)
    main.write_text(f"{declared}void setup()\n{{\n{calls}}}\nvoid loop()\n{{\n}}\n")
    includes = [*(library / "src" for library in libraries), STUBS / "arduino"]
    text = link_and_run("cortex-m4", [*sources, main], includes, platform_of("cortex-m4", tmp_path / "board"), ["-O2"])
    assert text.count("PASS\n") == 3 and "FAIL" not in text


@pytest.mark.parametrize("target", ["host", "cortex-m4", "cortex-m55"])
def test_every_external_name_begins_with_that_of_the_model(target: str, tmp_path: Path) -> None:
    need_target(target)
    row = targets.get(target)
    for name in MODELS:
        project = execute.Project.open(generated(name, "make", tmp_path / name, target))
        execute.build(project)
        library = project.folder / "build" / f"lib{name}.a"
        lines = run([f"{row.tool_prefix}nm", "--defined-only", "-g", library]).splitlines()
        symbols = [line.split()[2] for line in lines if len(line.split()) == 3]
        assert symbols and all(symbol.startswith(f"{name}_") for symbol in symbols)


def test_models_can_share_kernels(tmp_path: Path) -> None:
    need("make", "gcc")
    project = execute.Project.open(generated("int8_cnn", "make", tmp_path / "a", "host"))
    execute.build(project, variables={"CFLAGS": "-DNNACL_SHARED_NAMES"})
    assert execute.selftest(project).endswith("PASS\n")
    assert " nnacl_conv2d_s8_c\n" in run(["nm", "-g", project.folder / "build" / "libint8_cnn.a"])


def test_fused_layers_are_not_shared(tmp_path: Path) -> None:
    """Two models with other loops under the same names of files, in one program that shares the rest."""
    need("make", "gcc")
    archives = []
    for name, op in (("one", "exp"), ("other", "tanh")):
        graph = Graph(name)
        graph.inputs = [Value("x", TensorType(DType.f32, (2, 3)))]
        inner = graph.add(op, graph.inputs).output
        graph.outputs = [graph.add("mul", [inner, graph.inputs[0]]).output]
        graph.outputs[0].name = "y"
        fuse_elementwise.run(graph)
        generate(graph, "host", tmp_path / name, project="make", name=name)
        project = execute.Project.open(tmp_path / name)
        execute.build(project, variables={"CFLAGS": "-DNNACL_SHARED_NAMES"})
        assert execute.selftest(project).endswith("PASS\n")
        archives.append(project.folder / "build" / f"lib{name}.a")
        assert f" {name}_nnacl_fused_0_f32_c\n" in run(["nm", "-g", archives[-1]])
    main = tmp_path / "main.c"
    main.write_text(
        "int one_run(void *);\nint other_run(void *);\n"
        "int main(int argc, char **argv) { return argc > 9 ? one_run(argv) + other_run(argv) : 0; }\n"
    )
    run(["gcc", "-o", tmp_path / "both", main, *archives, "-lm"])


def test_wrong_core_is_told_by_the_compiler(tmp_path: Path) -> None:
    need("make", "arm-none-eabi-gcc")
    project = execute.Project.open(generated("int8_cnn", "make", tmp_path / "a"))
    with pytest.raises(ToolError, match=r"generated for Cortex-M4F(.|\n)*DSP extension"):
        execute.build(project, variables={"TARGET_FLAGS": "-mcpu=cortex-m3 -mthumb"})


@pytest.mark.parametrize("kind", EMITTERS)
def test_same_bytes_and_a_complete_manifest(kind: str, tmp_path: Path) -> None:
    for place in ("a", "b"):
        generated("int8_cnn", kind, tmp_path / place)
    files = {path.relative_to(tmp_path / "a"): path for path in (tmp_path / "a").rglob("*") if path.is_file()}
    assert all((tmp_path / "b" / path).read_bytes() == file.read_bytes() for path, file in files.items())
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())["files"]
    assert {path.as_posix() for path in files} == {*manifest, "manifest.json"}
    report = json.loads((tmp_path / "a" / "report.json").read_text())
    assert report["project"] == kind
    readme = (tmp_path / "a" / "README.md").read_text()
    assert "## Use it" in readme and "| arena" in readme
    for path in files:
        if path.suffix in (".c", ".h", ".cpp", ".ino"):
            assert "SPDX-License-Identifier: Apache-2.0" in (tmp_path / "a" / path).read_text().split("\n")[0]


@pytest.mark.parametrize(
    ("kind", "target", "message"),
    [
        ("arduino", "host", r"an Arduino library cannot be for x86-64(.|\n)*cortex-m"),
        ("arduino", "arm64", "an Arduino library cannot be for AArch64"),
        ("cmsis-pack", "riscv32", r"a CMSIS-Pack cannot be for RISC-V(.|\n)*cortex-m"),
        ("platformio", "cortex-m55", r"PlatformIO has no board with Cortex-M55(.|\n)*cortex-m4"),
        ("platformio", "host", "PlatformIO has no board with x86-64"),
        ("keil", "cortex-m4", r"no project 'keil'(.|\n)*arduino.*cmsis-pack"),
    ],
)
def test_refused(kind: str, target: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=message):
        generated("int8_cnn", kind, tmp_path / "a", target)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["arduino", "platformio", "zephyr", "cmsis-pack"])
def test_binary_weights_are_refused_in_ecosystems(kind: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="holds constants as C source only"):
        generate(small_models.int8_cnn(), "cortex-m4", tmp_path / "a", project=kind, weights="binary")


def test_other_tools_build_other_projects(tmp_path: Path) -> None:
    project = execute.Project.open(generated("int8_cnn", "zephyr", tmp_path / "a"))
    with pytest.raises(ToolError, match=r"built by the tools of its ecosystem(.|\n)*README"):
        execute.build(project)
