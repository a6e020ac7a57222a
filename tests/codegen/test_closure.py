"""The files that a kernel brings into generated code."""

from __future__ import annotations

import pytest

from microlith.codegen import closure
from microlith.nnacl_kernels import catalogue


@pytest.mark.parametrize("file", sorted({kernel.file for kernel in catalogue.kernels()}))
def test_a_kernel_brings_no_plan_half(file: str) -> None:
    """What answers on the host, about sizes and packing, has no business on a device: neither it nor the dispatch."""
    files = closure.kernel_files([file], ())
    assert "nnacl_kernels.h" not in files
    assert not [name for name in files if name.endswith(("_plan.c", "_pack.c"))]
