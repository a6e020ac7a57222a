"""The backend test suite of the ONNX project, through ``convert`` and the C runtime.

``MicrolithBackend`` has the interface of ``onnx.backend.base``, so that ``onnx.backend.test.BackendTest`` can drive it.
``cases`` and ``run_case`` do the same without unittest, count in the slices of docs/operators.md, and tell a refusal
with its reasons from a wrong result. Comparison and tolerances are those of ``onnx.backend.test.runner``.
"""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.errors import MicrolithError, UnsupportedError
from microlith.ir import Graph
from microlith.runtime.facts import positions_of

DEFAULT_DOMAIN = ("", "ai.onnx")

PLAIN_TYPES = frozenset(
    (TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.UINT8, TensorProto.INT8)
)
WIDE_TYPES = PLAIN_TYPES | {
    TensorProto.FLOAT16,
    TensorProto.DOUBLE,
    TensorProto.INT16,
    TensorProto.UINT16,
    TensorProto.UINT32,
    TensorProto.UINT64,
}

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
"""Folders of the suite with small models; ``real`` has large ones."""

PASSES, REFUSED, DIFFERS, FAILS = "passes", "refused", "differs", "fails"
"""The right result; ``convert`` names what it does not support; another result; any other error."""


@dataclass(frozen=True, eq=False)
class Case:
    """One test of the suite."""

    name: str
    kind: str
    op: str
    """The operator that it is about; with its domain when that is not ONNX's own."""
    model: onnx.ModelProto
    data_sets: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    relative: float
    absolute: float

    @property
    def is_plain(self) -> bool:
        """Of the narrow slice: the op itself, on the element types that inference uses most."""
        return self.is_wide and "_expanded" not in self.name and element_types(self.model) <= PLAIN_TYPES

    @property
    def is_wide(self) -> bool:
        """Of the wide slice: everything of ONNX's own domain on tensors of whole bytes."""
        domains = {node.domain for node in self.model.graph.node}
        return self.kind == "node" and domains <= set(DEFAULT_DOMAIN) and element_types(self.model) <= WIDE_TYPES


@dataclass(frozen=True)
class Outcome:
    """What became of a test: one of the words above and, unless it passes, why in one line."""

    status: str
    reason: str = ""


def element_types(model: onnx.ModelProto) -> set[int | str]:
    """Element types of the inputs and outputs; the kind of those that are no tensors."""
    types: set[int | str] = set()
    for info in (*model.graph.input, *model.graph.output):
        kind = info.type.WhichOneof("value")
        types.add(info.type.tensor_type.elem_type if kind == "tensor_type" else str(kind))
    return types


@functools.cache
def cases(kind: str) -> tuple[Case, ...]:
    """The tests of one folder of the suite, in alphabetical order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind=kind)
    return tuple(sorted((_case(test) for test in tests), key=lambda case: case.name))


def _case(test: Any) -> Case:
    model, data_sets = test.model, test.data_sets
    if model is None:
        folder = Path(test.model_dir)
        model = onnx.load(str(folder / "model.onnx"))
        data_sets = list(_stored_data(folder, model))
    return Case(test.name, test.kind, _operator_of(test.name, model), model, data_sets, test.rtol, test.atol)


def _operator_of(name: str, model: onnx.ModelProto) -> str:
    """The operator of the first node; an expanded test counts for the operator whose name it begins with."""
    first = model.graph.node[0] if model.graph.node else onnx.NodeProto(op_type="none")
    if "_expanded" in name:
        origin = _origins().get(name.split("_expanded")[0])
        if origin is not None:
            return origin
    return first.op_type if first.domain in DEFAULT_DOMAIN else f"{first.domain}:{first.op_type}"


@functools.cache
def _origins() -> Mapping[str, str]:
    """The operator of each node test that is not expanded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    return {test.name: _operator_of(test.name, test.model) for test in tests if "_expanded" not in test.name}


def _stored_data(folder: Path, model: onnx.ModelProto) -> Iterator[tuple[list[Any], list[Any]]]:
    """The arrays of each data set that lies beside a model."""
    for data in sorted(folder.glob("test_data_set_*")):
        yield (
            [_stored(data / f"input_{index}.pb", info) for index, info in enumerate(model.graph.input)
             if (data / f"input_{index}.pb").exists()],
            [_stored(data / f"output_{index}.pb", info) for index, info in enumerate(model.graph.output)],
        )  # fmt: skip


def _stored(path: Path, info: onnx.ValueInfoProto) -> Any:
    readers: dict[str, tuple[Any, Any]] = {
        "tensor_type": (onnx.TensorProto, numpy_helper.to_array),
        "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
        "optional_type": (onnx.OptionalProto, numpy_helper.to_optional),
    }
    message, decode = readers[str(info.type.WhichOneof("value"))]
    return decode(message.FromString(path.read_bytes()))


class Prepared(BackendRep):  # type: ignore[misc]
    """A converted model in the C runtime."""

    def __init__(self, graph: Graph) -> None:
        with tempfile.TemporaryDirectory(prefix="microlith-backend-") as folder:
            path = Path(folder) / "model.lith"
            modelfile.save(graph, path)
            self.model = runtime.load(path.read_bytes())

    def run(self, inputs: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
        """The outputs in the order of the model."""
        with np.errstate(all="ignore"):
            results = self.model.run([np.asarray(item) for item in inputs])
        return tuple(with_texts(results[spec.name], self.model.labels.get(spec.name)) for spec in self.model.outputs)


def with_texts(result: np.ndarray, labels: Sequence[str] | None) -> np.ndarray:
    """An output with the texts that its integers stand for."""
    return result if labels is None or result.dtype.kind != "i" else np.asarray(labels, object)[result]


def with_positions(array: np.ndarray, labels: Sequence[str] | None) -> np.ndarray:
    """An input with the integers that stand for its texts."""
    return array if labels is None else positions_of(array, labels)


class MicrolithBackend(Backend):  # type: ignore[misc]
    """Converts in memory and runs in the C runtime."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        return Prepared(convert(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return bool(device == "CPU")


def input_names(model: onnx.ModelProto) -> list[str]:
    """The inputs that a test gives: old models list their weights among the inputs as well."""
    stored = {tensor.name for tensor in model.graph.initializer}
    return [info.name for info in model.graph.input if info.name not in stored]


def arrays_of(items: Sequence[Any]) -> list[Any]:
    """Inputs or outputs of a data set as arrays (lists for sequences)."""
    plain = [numpy_helper.to_array(item) if isinstance(item, TensorProto) else item for item in items]
    arrays = [np.asarray(item) if isinstance(item, np.generic) else item for item in plain]
    return [_in_bytes(item) if isinstance(item, np.ndarray) else item for item in arrays]


def _in_bytes(array: np.ndarray) -> np.ndarray:
    """Numbers of 4 and 2 bits as the int8 or uint8 that NumPy itself knows."""
    if array.dtype.name not in ("int4", "int2", "uint4", "uint2"):
        return array
    return array.astype(np.int8 if array.dtype.name.startswith("int") else np.uint8)


def run_case(case: Case) -> Outcome:
    """Converts and runs one test."""
    try:
        prepared = MicrolithBackend.prepare(case.model)
    except UnsupportedError as error:
        return Outcome(REFUSED, reasons_of(error))
    except MicrolithError as error:
        return Outcome(FAILS, f"convert: {one_line(error)}")
    except Exception as error:
        return Outcome(FAILS, f"convert: {type(error).__name__}: {one_line(error)}")
    for inputs, outputs in case.data_sets:
        expected = arrays_of(outputs)
        try:
            actual = prepared.run(arrays_of(inputs))
        except Exception as error:
            return Outcome(FAILS, f"run: {type(error).__name__}: {one_line(error)}")
        if (outcome := compare(case, actual, expected)).status != PASSES:
            return outcome
    return Outcome(PASSES)


def reasons_of(error: UnsupportedError) -> str:
    """Every reason once, in one line."""
    return "; ".join(dict.fromkeys(f"{item.op}: {item.reason}" for item in error.items))


def compare(case: Case, actual: Sequence[np.ndarray], expected: Sequence[Any]) -> Outcome:
    """Holds the outputs of one run against the expected ones."""
    try:
        with np.errstate(all="ignore"):
            Runner.assert_similar_outputs(expected, actual, case.relative, case.absolute)
    except AssertionError as error:
        return Outcome(DIFFERS, one_line(error))
    return Outcome(PASSES)


def one_line(error: Exception) -> str:
    """The beginning of a message."""
    return " ".join(str(error).split())[:300]
