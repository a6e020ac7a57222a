"""Holds an extension to its own definitions: the plan half against ``infer``, every kernel against ``reference``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .dtypes import DType
from .errors import ExtensionError, ShapeError
from .extensions import Extension
from .ir import Graph, TensorType, Value
from .nnacl_kernels import catalogue
from .ops import OpDef, Sample, Tolerance

_MOST_PROBLEMS = 20


def check_extension(extension: Extension, *, samples: int = 100, seed: int = 0) -> int:
    """Draws samples of every op and runs them through both halves; the number of kernel runs.

    An extension that is not active yet becomes so. Raises ExtensionError with what does not agree (integers have to be
    equal, floats within the tolerance of the op), and with rows of kernels.def that no sample reached.
    """
    extension.activate()
    problems: list[str] = []
    runs = 0
    for opdef in extension.ops:
        reached: set[str] = set()
        for number in range(samples):
            found = list(_differences(opdef, seed + number, reached))
            problems += [f"{opdef.name}, sample {seed + number}: {text}" for text in found]
            runs += 1
        rows = [row for row in catalogue.kernels() if row.op == opdef.name and row.runnable]
        detected = catalogue.detected_isa()
        problems += [
            f"{opdef.name}: no sample reached {row.symbol} ({catalogue.dtype_name(row.dtype)})"
            for row in rows
            if row.isa in detected and row.symbol not in reached
        ]
    if problems:
        more = len(problems) - _MOST_PROBLEMS
        lines = problems[:_MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])
        raise ExtensionError("its halves do not agree:\n  " + "\n  ".join(lines), where=f"extension '{extension.name}'")
    return runs


def _differences(opdef: OpDef, seed: int, reached: set[str]) -> Iterator[str]:
    sample = opdef.samples(np.random.default_rng(seed))
    attrs = opdef.complete_attrs(sample.attrs)
    expected = [np.asarray(array) for array in opdef.reference(sample.inputs, attrs)]
    tensors = [None if array is None else _tensor(array) for array in sample.inputs]
    try:
        params, types = catalogue.make_params(opdef.name, attrs, tensors, len(expected))
        inferred = [value.type for value in Graph().add(opdef.name, _values(sample), sample.attrs).outputs]
    except catalogue.PlanError as error:
        yield f"resize() refuses it: {error}"
        return
    except ShapeError as error:
        yield f"infer() refuses it: {error.what}"
        return
    planned = [TensorType(DType(tensor.dtype), tensor.shape) for tensor in types]
    if planned != inferred:
        yield f"resize() gives {_listed(planned)}, infer() {_listed(inferred)}"
        return
    if [(array.dtype, array.shape) for array in expected] != [(type.dtype.numpy, type.shape) for type in inferred]:
        yield f"reference() gives {', '.join(f'{a.dtype}{list(a.shape)}' for a in expected)}, not {_listed(inferred)}"
        return
    first = next((array for array in sample.inputs if array is not None), expected[0])
    for isa in catalogue.detected_isa():
        kernel = catalogue.find_kernel(opdef.name, DType.from_numpy(first.dtype).value, params, [isa], runnable=True)
        if kernel is None:
            if isa == "c":
                yield f"there is no kernel in portable C for {first.dtype}"
            continue
        reached.add(kernel.symbol)
        outputs = [np.full(type.static_shape, 77).astype(type.dtype.numpy) for type in inferred]
        catalogue.run(kernel, params, sample.inputs, outputs)
        for position, (actual, wanted) in enumerate(zip(outputs, expected, strict=True)):
            difference = _largest(actual, wanted, opdef.tolerance_of(inferred[position].dtype))
            if difference is not None:
                yield f"{kernel.symbol}, output {position}: the largest difference is {difference:.3g}"


def _listed(types: list[TensorType]) -> str:
    return ", ".join(map(str, types))


def _tensor(array: np.ndarray) -> catalogue.Tensor:
    return catalogue.Tensor(DType.from_numpy(array.dtype).value, array.shape, array)


def _values(sample: Sample) -> list[Value | None]:
    def constant(array: np.ndarray, name: str) -> Value:
        type = TensorType(DType.from_numpy(array.dtype), array.shape)
        return Value(name, type, data=np.ascontiguousarray(array))

    return [None if array is None else constant(array, f"i{index}") for index, array in enumerate(sample.inputs)]


def _largest(actual: np.ndarray, wanted: np.ndarray, tolerance: Tolerance) -> float | None:
    """The largest difference when it is too large."""
    if actual.dtype.kind != "f":
        different = actual != wanted
        return float(np.abs(actual.astype(float) - wanted.astype(float)).max()) if different.any() else None
    same = (actual == wanted) | (np.isnan(actual) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(actual.astype(np.float64) - wanted.astype(np.float64)))
    finite = np.abs(wanted[np.isfinite(wanted)])
    limit = tolerance.absolute + tolerance.relative * (float(finite.max()) if finite.size else 0.0)
    largest = float(difference.max()) if difference.size else 0.0
    return None if largest <= limit else largest
