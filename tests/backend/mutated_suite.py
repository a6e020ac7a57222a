"""Damages models of the ONNX suite and converts and runs them; anything but success or a MicrolithError is a failure.

    python tests/backend/mutated_suite.py SEED COUNT FOLDER

Prints the failures, and the peak of memory in MiB. A model that fails is left in FOLDER, and so is the one that was
being tried when the process died.
"""

from __future__ import annotations

import math
import random
import resource
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx_suite import KINDS, cases

from microlith import modelfile, runtime
from microlith.converter import convert
from microlith.converter.frontends.onnx import ROWS
from microlith.errors import MicrolithError
from microlith.ir import Value

SECONDS = 20
"""The longest time that one model may take."""

ADDRESS_SPACE = 4 << 30
MOST_BYTES = 1 << 16
"""Models with larger tensors are converted, not run."""

ODD = (0, -1, 1, 2, 3, 7, -2, 255, 65536, 1_000_000, 2**31 - 1, -(2**31), 2**62, -(2**63))
ODD_REALS = (float("nan"), float("inf"), -1e30, 0.0, 1e30)


def main() -> None:
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    warnings.simplefilter("ignore")
    models = [case.model for kind in KINDS for case in cases(kind) if case.model.ByteSize() < 200_000]
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    signal.signal(signal.SIGALRM, _too_long)
    failures = 0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        data = _damaged(rng.choice(models), rng)
        path = folder / f"model_{seed}_{number}.onnx"
        path.write_bytes(data)
        signal.alarm(SECONDS)
        try:
            _try(data, path.with_suffix(".lith"))
        except MicrolithError:
            pass
        except Exception as error:
            failures += 1
            print(f"{path}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            continue
        finally:
            signal.alarm(0)
        path.unlink()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{failures} failures, {peak} MiB")


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def _try(data: bytes, path: Path) -> None:
    """Converts, and runs with small numbers."""
    graph = convert(data)
    if any(_least_bytes(value) > MOST_BYTES for value in graph.values()):
        return
    modelfile.save(graph, path)
    try:
        model = runtime.load(path.read_bytes())
    finally:
        path.unlink()
    shapes = [tuple(size if size >= 0 else 2 for size in spec.shape) for spec in model.inputs]
    rng = np.random.default_rng(0)
    model.run([rng.integers(-3, 4, shape).astype(spec.dtype) for spec, shape in zip(model.inputs, shapes, strict=True)])


def _least_bytes(value: Value) -> int:
    """Of a tensor whose open sizes are 2."""
    return math.prod(size if isinstance(size, int) else 2 for size in value.shape) * value.dtype.size


def _damaged(model: onnx.ModelProto, rng: random.Random) -> bytes:
    """Bytes exchanged, or changes after which the file can still be read."""
    if rng.randrange(4) == 0:
        data = bytearray(model.SerializeToString())
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    for _ in range(rng.randrange(1, 4)):
        try:
            _change(changed, rng)
        except (ValueError, TypeError):  # what protobuf does not take
            continue
    return changed.SerializeToString()


def _change(model: onnx.ModelProto, rng: random.Random) -> None:
    graph = model.graph
    node = rng.choice(graph.node)
    attribute = rng.choice(node.attribute) if node.attribute else None
    info = rng.choice(graph.input) if graph.input else None
    match rng.randrange(11):
        case 0 | 1 | 2 if attribute is not None:
            _change_attribute(attribute, rng)
        case 3 if attribute is not None:
            node.attribute.remove(attribute)
        case 4 if node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(["", *(item.name for item in graph.input)])
        case 5:
            node.op_type = rng.choice(sorted(ROWS))
        case 6 | 7 if info is not None and info.type.HasField("tensor_type"):
            dims = info.type.tensor_type.shape.dim
            (rng.choice(dims) if dims else dims.add()).dim_value = rng.choice(ODD)
        case 8 if info is not None:
            info.type.tensor_type.elem_type = rng.randrange(24)
        case 9 if info is not None and info.type.tensor_type.elem_type == TensorProto.INT64:
            shape = [min(max(dim.dim_value, 0), 8) for dim in info.type.tensor_type.shape.dim]
            array = np.array([rng.choice(ODD) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
            graph.initializer.append(numpy_helper.from_array(array, info.name))
            graph.input.remove(info)
        case _:
            model.opset_import[0].version = rng.randrange(1, 29)


def _change_attribute(attribute: AttributeProto, rng: random.Random) -> None:
    attribute.i, attribute.f = rng.choice(ODD), rng.choice(ODD_REALS)
    attribute.s = rng.choice([b"\xff?", b"constant", b"linear", b"SAME_UPPER", b"mean"])
    if attribute.floats:
        attribute.floats[rng.randrange(len(attribute.floats))] = rng.choice(ODD_REALS)
    if attribute.ints:
        attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(ODD)
    if attribute.HasField("t") and attribute.t.dims:
        attribute.t.dims[rng.randrange(len(attribute.t.dims))] = rng.choice(ODD)
    if rng.randrange(8) == 0:
        attribute.type = rng.randrange(15)


if __name__ == "__main__":
    main()
