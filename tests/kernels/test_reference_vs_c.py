"""Rung 2 of the ladder: the kernels against the NumPy reference, and `resize` against `infer`, on random samples.

The portable C row of every op must be reached; rows of other instruction sets run where this machine has them.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microlith import ops
from microlith.dtypes import DType
from microlith.ir import Graph, TensorType, Value
from microlith.nnacl_kernels import catalogue

EXAMPLES = int(os.environ.get("MICROLITH_KERNEL_EXAMPLES", "60"))
"""Samples drawn for each op."""

SEEDS = st.integers(0, 2**32 - 1)


def draw(opdef: ops.OpDef, seed: int) -> tuple[ops.Sample, dict[str, object]]:
    sample = opdef.samples(np.random.default_rng(seed))
    return sample, opdef.complete_attrs(sample.attrs)


def tensors_of(sample: ops.Sample) -> list[catalogue.Tensor | None]:
    return [
        None if array is None else catalogue.Tensor(DType.from_numpy(array.dtype).value, array.shape, array)
        for array in sample.inputs
    ]


def values_of(sample: ops.Sample) -> list[Value | None]:
    return [
        None
        if array is None
        else Value(f"i{index}", TensorType(DType.from_numpy(array.dtype), array.shape), data=array)
        for index, array in enumerate(sample.inputs)
    ]


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: ops.Tolerance, what: str) -> None:
    """Integers exactly, floats within the tolerance of the op."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape, what
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite], err_msg=what)
    largest = float(np.abs(expected[finite]).max(initial=0.0))
    limit = tolerance.absolute + tolerance.relative * largest
    error = np.abs(actual[finite].astype(np.float64) - expected[finite].astype(np.float64)).max(initial=0.0)
    assert error <= limit, f"{what}: error {error:.3g}, limit {limit:.3g}"


def run_kernel(
    kernel: catalogue.Kernel, params: bytes, sample: ops.Sample, types: list[catalogue.Tensor]
) -> list[np.ndarray]:
    """The outputs, which hold junk before."""
    outputs = [np.empty(type.shape, DType(type.dtype).numpy) for type in types]
    for output in outputs:
        output.view(np.uint8 if output.ndim else output.dtype).fill(0x5A)
    catalogue.run(kernel, params, sample.inputs, outputs)
    return outputs


OPS = {opdef.name: opdef for opdef in ops.all_ops()}
ISAS = catalogue.detected_isa()
KERNELS = [kernel for kernel in catalogue.kernels() if kernel.isa == "c"]


def test_every_op_has_a_plan_half_and_every_plan_half_an_op() -> None:
    assert set(OPS) == set(catalogue.ops())


@pytest.mark.parametrize("name", sorted(set(OPS) & set(catalogue.ops())))
def test_attributes_are_fields(name: str) -> None:
    assert set(OPS[name].attrs) <= {field.name for field in catalogue.fields(name)}


@pytest.mark.parametrize("name", sorted(set(OPS) & set(catalogue.ops())))
def test_both_sides_read_the_same_inputs(name: str) -> None:
    """The inputs whose values decide about shapes, in the OpDef and in the plan half."""
    assert catalogue.ops()[name].data_inputs == sum(1 << index for index in OPS[name].data_positions)


@pytest.mark.parametrize("name", sorted(set(OPS) & set(catalogue.ops())))
def test_kernel_equals_reference(name: str) -> None:
    opdef = OPS[name]
    visited: set[int] = set()

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
    @given(seed=SEEDS)
    def check(seed: int) -> None:
        sample, attrs = draw(opdef, seed)
        expected = opdef.reference(sample.inputs, attrs)
        inputs = tensors_of(sample)
        params, types = catalogue.make_params(name, attrs, inputs, len(expected))
        inferred = [output.type for output in Graph().add(name, values_of(sample), sample.attrs).outputs]
        assert [(DType(t.dtype), t.shape) for t in types] == [(t.dtype, t.shape) for t in inferred], f"seed {seed}"
        assert catalogue.check(name, params, inputs, types) is None
        first = inputs[0]
        assert first is not None
        for isa in ISAS:
            kernel = catalogue.find_kernel(name, first.dtype, params, [isa], runnable=True)
            if kernel is None:
                assert isa != "c", f"no kernel of {name} for {DType(first.dtype).name}"
                continue
            if isa == "c":
                visited.add(kernel.dtype)
            for actual, wanted in zip(run_kernel(kernel, params, sample, types), expected, strict=True):
                tolerance = opdef.tolerance_of(DType.from_numpy(wanted.dtype))
                assert_close(actual, wanted, tolerance, f"{kernel.symbol} seed {seed} {sample.attrs}")

    check()
    rows = {kernel.dtype for kernel in KERNELS if kernel.op == name}
    missing = [catalogue.dtype_name(dtype) for dtype in rows - visited]
    assert not missing, f"no sample of {name} reached its rows for {missing}"
