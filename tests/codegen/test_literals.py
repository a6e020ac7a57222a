"""Arrays printed as C are read back by a compiler, bit for bit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from generated_projects import need

from microlith.codegen import literals
from microlith.dtypes import DType


def special(dtype: np.dtype) -> np.ndarray:
    """Values at the edges of a type, and random bit patterns."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, 64 * dtype.itemsize, np.uint8).view(dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        edges = [0.0, -0.0, np.inf, -np.inf, info.max, info.min, info.tiny, info.smallest_subnormal, info.eps, 1 / 3]
        return np.concatenate([np.array(edges, dtype), noise[~np.isnan(noise)]])
    if dtype.kind == "b":
        return np.array([True, False, True])
    info_int = np.iinfo(dtype)
    return np.concatenate([np.array([info_int.min, info_int.max, 0, 1], dtype), noise])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_compilers_read_back_the_same_bits(compiler: str, tmp_path: Path) -> None:
    need(compiler)
    arrays = {dtype: special(dtype.numpy) for dtype in DType}
    source = ["#include <math.h>", "#include <stdint.h>", "#include <stdio.h>", ""]
    for dtype, array in arrays.items():
        source += [f"static const {dtype.c_name} {dtype.name}[] = {{", *literals.array_lines(array, dtype), "};"]
    source += ["int main(void)", "{"]
    source += [f"    fwrite({dtype.name}, 1, sizeof {dtype.name}, stdout);" for dtype in arrays]
    source += ["    return 0;", "}", ""]
    (tmp_path / "a.c").write_text("\n".join(source))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([compiler, *flags, "-o", "a", "a.c"], cwd=tmp_path, check=True)
    output = subprocess.run([tmp_path / "a"], stdout=subprocess.PIPE, check=True).stdout
    assert output == b"".join(array.tobytes() for array in arrays.values())


def test_nan() -> None:
    assert "".join(literals.array_lines(np.array([np.nan], np.float32), DType.f32)).strip() == "NAN,"


def test_lines_are_aligned_and_short() -> None:
    array = np.arange(-500, 500, dtype=np.int16).reshape(10, 100)
    lines = list(literals.array_lines(array, DType.s16))
    assert all(len(line) <= 120 for line in lines)
    assert len({len(line) for line in lines[:-1]}) == 1


def test_a_short_row_is_a_line() -> None:
    lines = list(literals.array_lines(np.zeros((3, 2, 5), np.int32), DType.s32))
    assert [line.count("0") % 5 for line in lines] == [0] * len(lines)


def test_an_empty_array_has_one_element_in_c() -> None:
    assert [line.strip() for line in literals.array_lines(np.zeros((0, 3), np.int8), DType.s8)] == ["0,"]
