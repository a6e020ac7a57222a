"""Every allocation of models that allocate while they run fails once."""

from __future__ import annotations

from pathlib import Path

import pytest
from lith_models import Build
from native_build import execute, sanitized_program
from test_control import growing, nested, powers
from test_states import streaming

from microlith import modelfile
from microlith.dtypes import DType
from microlith.ir import Graph

HERE = Path(__file__).parent


def picked() -> Graph:
    """Elements that are not zero, with weights behind them."""
    b = Build("picked")
    x = b.input("x", (6, 4))
    where = b.op("non_zero", x)
    count = b.op("shape", where, start=1, end=2)
    rows = b.op("reshape", b.op("tile", x, b.op("concat", count, count, axis=0)), shape=(-1, 4))
    return b.outputs(b.op("relu", b.op("dense", rows, b.noise(5, 4), b.noise(5)), output="y"), where)


def after_shapes() -> Graph:
    """A value that follows from shapes alone."""
    b = Build("after_shapes")
    x = b.input("x", ("n", 4))
    size = b.op("cast", b.op("shape", x, start=0, end=1), to=DType.s32.value)
    return b.outputs(b.op("relu", b.op("expand", b.op("reduce_sum", x, axes=3, keep_dims=0), size), output="y"))


@pytest.mark.parametrize(
    "make", [growing, nested, powers, streaming, picked, after_shapes], ids=lambda make: make.__name__
)
def test_every_allocation_fails_once(make: object, tmp_path: Path) -> None:
    graph = make(True) if make is streaming else make()  # type: ignore[operator]
    modelfile.save(graph, tmp_path / "m.lith")
    output = execute([sanitized_program(HERE / "alloc_check.c"), tmp_path / "m.lith"])
    assert output.count("allocations") == 4
