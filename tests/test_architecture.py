"""The rules of the tree, as tests: who may import whom, and what every file has to keep to.

The table ``RULES`` is the table "Who may know whom" of docs/architecture.md; change both together.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("converter", "runtime", "codegen", "nnacl_kernels", "templates", "trainer")
ISAS = (
    "sse41",
    "avx2",
    "avx512",
    "vnni",
    "vbmi",
    "avxvnni",
    "avx512bf16",
    "neon",
    "dotprod",
    "i8mm",
    "fp16",
    "bf16",
    "dsp",
    "mve",
    "vfp",
)


@dataclass(frozen=True)
class Rule:
    """What the Python modules of one part may import: our own modules by dotted prefix, others by their first name."""

    ours: tuple[str, ...]
    others: tuple[str, ...]
    lazily: tuple[str, ...] = ()
    """What may be imported inside functions only."""


SPINE = tuple(
    f"microlith.{path.stem}"
    for path in sorted((ROOT / "microlith").iterdir())
    if path.stem not in ("cli", "compare", "__init__")
)
FRONT_DOOR = (
    "microlith.add_ops",
    "microlith.convert",
    "microlith.load",
    "microlith.generate",
    "microlith.__version__",
)
HALVES = ("microlith.converter", "microlith.codegen", "microlith.runtime")

# Folder or file (the longest that fits counts) -> rule.
RULES = {
    "nnacl_kernels": Rule(("microlith.nnacl_kernels",), ("cffi", "numpy")),
    "microlith": Rule((*SPINE, "microlith.nnacl_kernels"), ("numpy", "flatbuffers"), lazily=HALVES),
    "microlith/__main__.py": Rule(("microlith.cli",), ()),
    "microlith/cli": Rule(
        ("microlith.cli", "microlith.nnacl_kernels", *SPINE),
        ("numpy", "rich", "typer", "click"),
        lazily=(*HALVES, *FRONT_DOOR, "microlith.compare", "microlith.trainer"),
    ),
    "microlith/compare": Rule(
        ("microlith.compare", *SPINE),
        ("numpy", "jinja2"),
        lazily=(*HALVES, *FRONT_DOOR, "onnx", "onnxruntime", "tflite", "ai_edge_litert"),
    ),
    "converter": Rule(
        ("microlith.converter", "microlith.nnacl_kernels", *SPINE),
        ("numpy", "onnx", "tflite", "flatbuffers", "google", "ml_dtypes", "PIL"),
    ),
    "codegen": Rule(
        ("microlith.codegen", "microlith.nnacl_kernels", "microlith.templates", *SPINE), ("numpy", "jinja2")
    ),
    "runtime": Rule(
        (
            "microlith.runtime",
            "microlith.nnacl_kernels.library",
            "microlith.nnacl_kernels.extension_tables",
            "microlith.errors",
        ),
        ("cffi", "_cffi_backend", "numpy"),
    ),
    "runtime/backends": Rule(("microlith.runtime.backends", *SPINE), ("cffi", "_cffi_backend", "numpy")),
    "templates": Rule((), ()),
    "trainer": Rule(
        ("microlith.trainer", *SPINE),
        ("numpy", "onnx", "torch", "lightning", "torchao"),
        lazily=(*FRONT_DOOR, "onnxruntime", "ray", "rich", "tensorboard"),
    ),
}


def tracked_files() -> list[PurePosixPath]:
    """The files of the project, relative to its root: what git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the rules of the tree are checked in a git checkout only")
    return [PurePosixPath(line) for line in sorted(set(listing)) if (ROOT / line).is_file()]


def read(path: PurePosixPath) -> str:
    return (ROOT / path).read_text("utf-8")


def sources(*suffixes: str, under: tuple[str, ...] = ()) -> list[PurePosixPath]:
    return [path for path in tracked_files() if path.suffix in suffixes and (not under or path.parts[0] in under)]


def without_comments(text: str) -> str:
    """C text with comments blanked, line numbers kept."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", lambda match: "\n" * match.group().count("\n"), text, flags=re.DOTALL)


# --- Python imports ---------------------------------------------------------------------------------------------


def dotted_package(path: PurePosixPath) -> list[str]:
    """The installed package that holds a module: converter/passes/x.py -> microlith.converter.passes."""
    folders = list(path.parent.parts)
    return folders if folders[0] == "microlith" else ["microlith", *folders]


@dataclass(frozen=True)
class Import:
    module: str
    """``microlith.converter.pipeline``, or the full name of a module that is not ours."""
    line: int
    lazy: bool
    """Stands inside a function, or under ``if TYPE_CHECKING``."""


def imports_of(path: PurePosixPath) -> Iterator[Import]:
    """Every import of a module, each imported name on its own (``from . import x`` gives ``<package>.x``)."""

    def visit(node: ast.AST, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, lazy)
        elif isinstance(node, ast.ImportFrom):
            package = dotted_package(path)
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield Import(f"{module}.{alias.name}" if module.startswith("microlith") else module, node.lineno, lazy)
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_type_checking(node)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    yield from visit(ast.parse(read(path)), False)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def rule_for(path: PurePosixPath) -> Rule:
    for folder in (path, *path.parents):
        if str(folder) in RULES:
            return RULES[str(folder)]
    raise AssertionError(f"no rule for {path}")


def begins_with(module: str, prefixes: tuple[str, ...]) -> bool:
    return any(module == prefix or module.startswith(f"{prefix}.") for prefix in prefixes)


def test_imports_keep_to_the_table() -> None:
    wrong = []
    for path in sources(".py", under=("microlith", *PARTS)):
        rule = rule_for(path)
        for item in imports_of(path):
            top = item.module.split(".")[0]
            if top == "microlith":
                allowed = begins_with(item.module, rule.ours) or (item.lazy and begins_with(item.module, rule.lazily))
            else:
                allowed = top in rule.others or top in sys.stdlib_module_names or (item.lazy and top in rule.lazily)
            if not allowed:
                wrong.append(f"{path}:{item.line}: may not import {item.module}")
    assert not wrong, "\n".join(wrong)


def test_nobody_imports_a_root_folder_by_its_bare_name() -> None:
    wrong = [
        f"{path}:{item.line}: import microlith.{item.module}"
        for path in sources(".py")
        for item in imports_of(path)
        if item.module.split(".")[0] in PARTS
    ]
    assert not wrong, "\n".join(wrong)


def test_converter_knows_no_target() -> None:
    from microlith.targets import all_targets

    names = [f'"{target.name}"' for target in all_targets()]
    wrong = [
        f"{path}: names target {name}"
        for path in sources(".py", under=("converter",))
        for name in names
        if name in read(path)
    ]
    wrong += [
        f"{path}:{item.line}: imports the targets"
        for path in sources(".py", under=("converter",))
        for item in imports_of(path)
        if begins_with(item.module, ("microlith.targets",))
    ]
    assert not wrong, "\n".join(wrong)


# --- C sources --------------------------------------------------------------------------------------------------

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
INTRINSICS = re.compile(r"\w*mmintrin\.h|immintrin\.h|x86intrin\.h|arm_(neon|mve|acle|fp16|sve)\.h")
ISA_SUFFIX = re.compile(rf"_({'|'.join(ISAS)})\.[ch]$")
# Vector helpers that several ISA files share carry the family in their name.
SIMD_HELPER = re.compile(r"^simd_\w+\.h$")


def is_isa_file(path: PurePosixPath) -> bool:
    return bool(ISA_SUFFIX.search(path.name) or SIMD_HELPER.match(path.name))


def test_kernels_include_only_libc_and_themselves() -> None:
    wrong = []
    for path in sources(".c", ".h", under=("nnacl_kernels",)):
        for bracket, name in INCLUDE.findall(read(path)):
            own = (ROOT / "nnacl_kernels" / name).is_file() or (ROOT / path.parent / name).is_file()
            if bracket == '"' and not own:
                wrong.append(f"{path}: includes {name}")
    assert not wrong, "\n".join(wrong)


def test_runtime_includes_only_the_kernels_and_itself() -> None:
    folders = ("runtime/include", "runtime/src", "nnacl_kernels")
    wrong = []
    for path in sources(".c", ".h", under=("runtime",)):
        if "backends" in path.parts or "java" in path.parts:
            continue
        for bracket, name in INCLUDE.findall(read(path)):
            places = [*(ROOT / folder / name for folder in folders), ROOT / path.parent / name]
            if bracket == '"' and not any(place.is_file() for place in places):
                wrong.append(f"{path}: includes {name}")
    assert not wrong, "\n".join(wrong)


def test_intrinsics_stand_only_in_files_with_an_isa_suffix() -> None:
    wrong = [
        f"{path}: includes {name}"
        for path in sources(".c", ".h", under=("nnacl_kernels", "runtime"))
        for _, name in INCLUDE.findall(read(path))
        if INTRINSICS.fullmatch(name) and not is_isa_file(path)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_kernel_body_chooses_its_instruction_set_by_macro() -> None:
    """Reference and contender meet in one binary: #if on an ISA may stand in its own files and the tables only."""
    macro = re.compile(r"^\s*#.*\b(__AVX\w*|__SSE\w*|__ARM_NEON\w*|__ARM_FEATURE_\w+|NNACL_HAVE_\w+)", re.MULTILINE)
    wrong = [
        f"{path}: {match.group().strip()}"
        for path in sources(".c", ".h", under=("nnacl_kernels",))
        if path.parent != PurePosixPath("nnacl_kernels") and not is_isa_file(path)
        for match in macro.finditer(without_comments(read(path)))
    ]
    assert not wrong, "\n".join(wrong)


def test_only_alloc_c_allocates() -> None:
    call = re.compile(r"\b(malloc|calloc|realloc|aligned_alloc|posix_memalign|alloca|strdup)\s*\(")
    wrong = [
        f"{path}: {match.group(1)}"
        for path in sources(".c", ".h", ".j2", under=("nnacl_kernels", "runtime", "templates"))
        if path != PurePosixPath("runtime/src/alloc.c") and not {"tools", "backends", "java"} & set(path.parts)
        for match in call.finditer(without_comments(read(path)))
    ]
    assert not wrong, "\n".join(wrong)


ROW = re.compile(r'^NNACL_KERNEL\(\s*(\w+),\s*(\w+),\s*(\w+),\s*(\w+),\s*(\w+),\s*"([^"]+)"\s*\)', re.MULTILINE)


def with_headers(source: PurePosixPath) -> str:
    """A kernel source and the headers that it includes, whose macros may make its symbols."""
    text = read(source)
    names = re.findall(r'#include "([^"]+)"', text)
    headers = (folder / name for name in names for folder in (source.parent, PurePosixPath("nnacl_kernels")))
    return "\n".join([text, *(read(header) for header in headers if (ROOT / header).is_file())])


def test_kernel_rows_say_the_same_thing_everywhere() -> None:
    """The ISA of a row is the suffix of its symbol and of its file; the file is in the folder of its family."""
    wrong = []
    for path in tracked_files():
        if path.name != "kernels.def" or path.parent.parent.name != "nnacl_kernels":
            continue
        for op, dtype, isa, symbol, _, file in ROW.findall(read(path)):
            source = PurePosixPath("nnacl_kernels") / file
            if not (ROOT / source).is_file():
                wrong.append(f"{path}: {symbol}: there is no {file}")
            elif not re.search(rf"\b{symbol}\b|##", with_headers(source)):
                wrong.append(f"{path}: {symbol} is not in {file}")
            # Between op and ISA: the type (i32: s32 and u32; none: several) and what makes a variant special.
            if not re.fullmatch(rf"nnacl_{op}_(\w+_)?{isa}", symbol):
                wrong.append(f"{path}: {symbol} should be nnacl_{op}_{dtype}_{isa}")
            if not file.endswith(f"_{isa}.c"):
                wrong.append(f"{path}: {file} should end in _{isa}.c")
            if source.parent != path.parent:
                wrong.append(f"{path}: {file} belongs to another family")
    assert not wrong, "\n".join(wrong)


def is_interface(path: PurePosixPath) -> bool:
    """Headers that users of the C libraries and of generated code include; the others hold bodies of kernels, in C."""
    interfaces = ("nnacl_kernels", "nnacl_kernels/plan", "runtime/include")
    return str(path.parent) in interfaces or path.stem == path.parent.name


@pytest.mark.parametrize(
    ("compiler", "language", "standard"),
    [("gcc", "c", "c11"), ("clang", "c", "c11"), ("g++", "c++", "c++17")],
    ids=["gcc", "clang", "g++"],
)
def test_headers_compile_alone(compiler: str, language: str, standard: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    headers = [
        path
        for path in sources(".h", under=("nnacl_kernels", "runtime"))
        if not is_isa_file(path) and not {"backends", "java", "tools"} & set(path.parts)
    ]
    assert headers
    wrong = []
    for path in headers:
        if language == "c++" and not is_interface(path):
            continue
        command = [
            compiler, f"-std={standard}", f"-x{language}", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
            "-Wno-unused-function", "-Innacl_kernels", "-Iruntime/include", "-include", str(path), "/dev/null",
        ]  # fmt: skip
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if result.returncode != 0:
            wrong.append(f"{path}:\n{result.stderr}")
    assert not wrong, "\n".join(wrong)


# --- files ------------------------------------------------------------------------------------------------------

REPEATED_NAMES = {
    "__init__.py",
    "CMakeLists.txt",
    "pyproject.toml",
    "README.md",
    "conftest.py",
    "kernels.def",
    "ops.def",
    ".gitignore",
}
TEXT = {
    ".py",
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".def",
    ".j2",
    ".md",
    ".toml",
    ".fbs",
    ".cmake",
    ".java",
    ".txt",
    ".sh",
    ".yaml",
}


def is_snapshot(path: PurePosixPath) -> bool:
    """Generated projects that tests compare with: they have the file names and lengths of a generated project."""
    return "snapshots" in path.parts


def test_file_names_are_unique() -> None:
    names = [path.name for path in tracked_files() if path.name not in REPEATED_NAMES and not is_snapshot(path)]
    assert not [name for name, count in Counter(names).items() if count > 1]


LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def test_links_lead_somewhere() -> None:
    pages = [path for path in tracked_files() if path.suffix == ".md"]
    broken = [
        f"{page}: {target}"
        for page in pages
        for target in LINK.findall(read(page))
        if not (ROOT / page.parent / target).exists()
    ]
    assert pages and not broken


def test_decisions_are_numbered() -> None:
    """Each number once, and the one that the title says."""
    decisions = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(path.name[:4]) for path in decisions]
    assert numbers == list(range(1, len(numbers) + 1))
    titles = [path.read_text(encoding="utf-8").split(".")[0] for path in decisions]
    assert titles == [f"# {number}" for number in numbers]


def is_generated(path: PurePosixPath) -> bool:
    """Written by flatc, or by the command that lists the operators."""
    return path.name.endswith("_generated.py") or path == PurePosixPath("docs/operators.md")


def test_no_file_is_longer_than_600_lines() -> None:
    lines = {
        str(path): read(path).count("\n")
        for path in tracked_files()
        if path.suffix in TEXT - {".txt"} and not is_snapshot(path) and not is_generated(path)
    }
    assert not {path: count for path, count in lines.items() if count > 600}


def test_no_file_names_a_place_on_one_machine() -> None:
    place = re.compile(rb"(?<![\w./])/(work|home|root|opt|Users)/\w")
    wrong = [
        f"{path}: {match.group().decode()}"
        for path in tracked_files()
        for match in place.finditer((ROOT / path).read_bytes())
        if path.suffix in TEXT | {".onnx", ".tflite", ".lith", ".json", ""}
    ]
    assert not wrong, "\n".join(wrong)
