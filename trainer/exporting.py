# SPDX-License-Identifier: Apache-2.0
"""``export``: a trained model to ONNX and on to a .lith file, with what each step changed in numbers."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from microlith.errors import InputError, MicrolithError, OutputError
from microlith.files import write_atomically
from microlith.float_layers import float_layers
from microlith.ir import Graph

from .argument_checks import require_module
from .extras import explain_missing
from .module_modes import evaluating
from .remarks import silent_tracing


class ExportError(MicrolithError):
    """A model cannot be exported, or the exported one computes something else."""


@dataclass(frozen=True)
class Agreement:
    """How far two engines are apart over all samples, in the output in which they are furthest apart."""

    engines: tuple[str, str]
    """Who is compared with whom; the second is the measure."""
    largest_error: float
    largest_value: float
    """Of the measure."""
    sqnr: float
    """Signal to noise in dB; infinite when all bits are the same."""
    output: str = ""
    """Which output these numbers are of."""
    outputs: tuple[Agreement, ...] = ()
    """Of each output, when there are several."""

    def __str__(self) -> str:
        noise = "the same bits" if self.sqnr == math.inf else f"{self.sqnr:.1f} dB"
        of = f" (output {self.output})" if self.outputs else ""
        return f"{self.engines[0]} against {self.engines[1]}: largest error {self.largest_error:.2g}, {noise}{of}"


RECURRENT = ("lstm ", "gru ")

RECURRENT_HINT = (
    "  hint: training with QAT leaves LSTM and GRU in floating point; export the model without QAT, and "
    "`microlith convert --quantize int8 --calibrate …` makes integers of all of it"
)


@dataclass(frozen=True)
class Exported:
    """What ``export`` wrote. ``print`` shows it."""

    path: Path
    onnx_path: Path
    graph: Graph
    agreement: tuple[Agreement, ...]
    """ONNX Runtime against PyTorch, Microlith against ONNX Runtime, Microlith against PyTorch."""
    float_layers: tuple[str, ...]
    """Layers of an integer model that stayed in floating point, with the reason."""

    def __str__(self) -> str:
        sizes = f"{self.onnx_path.stat().st_size / 1000:.1f} kB ONNX, {self.path.stat().st_size / 1000:.1f} kB .lith"
        lines = [f"{self.path}: {sizes}", *map(str, self.agreement)]
        lines += [f"in floating point: {layer}" for layer in self.float_layers]
        if any(layer.startswith(RECURRENT) for layer in self.float_layers):
            lines.append(RECURRENT_HINT)
        return "\n".join(lines)


def export(
    model: nn.Module,
    sample: Tensor | np.ndarray | Sequence[Tensor | np.ndarray],
    path: str | os.PathLike[str],
    *,
    dynamic_batch: bool = False,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    min_sqnr: float = 20.0,
    **options: Any,
) -> Exported:
    """Writes ``path`` (.lith) and the ONNX model beside it, runs both, and compares them with PyTorch.

    Args:
        model: A plain module in any mode; what ``fit`` gave as ``model``.
        sample: Inputs of the model, a batch: a tensor or array, or a sequence of them for several inputs. Every row is
            run in all three engines. The exported model takes one row at a time, unless ``dynamic_batch``.
        dynamic_batch: Leave the size of the first axis open (``batch``); generated C needs it chosen then.
        input_names, output_names: Default: the parameters of ``forward``, and ``output`` (``output_0``, … for several).
        min_sqnr: Signal to noise in dB that each step must keep.
        options: Of ``microlith.convert``, such as ``integer_borders=True``.

    Raises:
        ExportError: PyTorch cannot export the model, or an engine does not agree with the one before; nothing is
            written then.
        UnsupportedError: Microlith cannot convert an op of it.
    """
    target = Path(path)
    if target.suffix != ".lith":
        raise InputError(
            f"the name of the file must end in .lith, not {target.suffix!r}", where=str(target), hint="net.lith"
        )
    if not target.parent.is_dir():
        raise OutputError("its folder is not there", where=str(target), hint=f"make {target.parent} first")
    require_module(model)
    inputs = as_inputs(sample)
    names = list(input_names or parameter_names(model, len(inputs)))
    if len(names) != len(inputs):
        raise InputError(f"{len(names)} input names for {len(inputs)} inputs", where="input_names")
    with evaluating(model), torch.no_grad():
        expected = run_rows(lambda row: _call(model, row), inputs, dynamic_batch)
        proto = to_onnx(model, inputs, names, output_names, len(expected), dynamic_batch)

    from microlith import convert, load, modelfile

    with explain_missing():
        import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    feeds = lambda row: {name: value.numpy() for name, value in zip(names, row, strict=True)}  # noqa: E731
    by_onnx = run_rows(lambda row: session.run(None, feeds(row)), inputs, dynamic_batch)
    outputs = [value.name for value in proto.graph.output]
    steps = [agreement("ONNX Runtime", by_onnx, "PyTorch", expected, min_sqnr, outputs)]

    graph = convert(proto, **options)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    onnx_path = target.with_suffix(".onnx")
    try:
        modelfile.save(graph, fresh)
        if all(value.dtype.is_float for value in graph.inputs) or not options.get("integer_borders"):
            with load(fresh) as loaded:
                by_us = run_rows(lambda row: list(loaded.run(feeds(row)).values()), inputs, dynamic_batch)
            if not options.get("head"):
                steps.append(agreement("Microlith", by_us, "ONNX Runtime", by_onnx, min_sqnr, outputs))
                steps.append(agreement("Microlith", by_us, "PyTorch", expected, min_sqnr, outputs))
        write_atomically(onnx_path, lambda file: file.write(proto.SerializeToString()))
        write_atomically(target, lambda file: file.write(fresh.read_bytes()))
    finally:
        fresh.unlink(missing_ok=True)
    layers = tuple(f"{layer.node.op} '{layer.name}': {layer.reason}" for layer in float_layers(graph))
    return Exported(target, onnx_path, graph, tuple(steps), layers)


def _call(model: nn.Module, row: tuple[Tensor, ...]) -> Any:
    """What PyTorch gives. Raises InputError when the model does not take the sample."""
    try:
        return model(*row)
    except MicrolithError:
        raise
    except Exception as error:
        shapes = ", ".join(f"{str(value.dtype).split('.')[-1]} {list(value.shape)}" for value in row)
        reason = (str(error) or type(error).__name__).strip().splitlines()[0]
        integers = any(not value.is_floating_point() for value in row)
        raise InputError(
            f"{type(model).__name__} does not take {shapes}: {reason}",
            where="sample",
            hint="scale integers to floats as in training"
            if integers
            else "a sample is a batch, as x[:8]: its first axis is that of the rows; several inputs are (a, b)",
        ) from error


def as_inputs(sample: Any) -> tuple[Tensor, ...]:
    """A sample as tensors on the CPU. Raises InputError when there is no row."""
    items = tuple(sample) if isinstance(sample, tuple | list) else (sample,)
    for item in items:
        if not isinstance(item, Tensor) and (not isinstance(item, np.ndarray) or item.dtype.kind not in "fiub"):
            kind = f"an array of {item.dtype}" if isinstance(item, np.ndarray) else type(item).__name__
            raise InputError(f"{kind} is no tensor or array of numbers", where="sample", hint="x[:8]")
    tensors = tuple(
        item if isinstance(item, Tensor) else torch.from_numpy(np.ascontiguousarray(item)) for item in items
    )
    tensors = tuple(value.float() if value.dtype == torch.float64 else value for value in tensors)
    if not tensors or any(value.ndim == 0 or not len(value) for value in tensors):
        raise InputError("a sample is a batch of at least one row", where="sample", hint="x[:8]")
    if len({len(value) for value in tensors}) > 1:
        shapes = " and ".join(str(list(value.shape)) for value in tensors)
        raise InputError(f"inputs of shapes {shapes} have different numbers of rows", where="sample", hint="x[:8]")
    if any(value.is_floating_point() and not bool(torch.isfinite(value).all()) for value in tensors):
        raise InputError(
            "NaN or infinity in it: the engines cannot be compared by it", where="sample", hint="real samples, as x[:8]"
        )
    return tensors


def parameter_names(model: nn.Module, count: int) -> list[str]:
    """The names of the first parameters of ``forward``; ``input_0``, … where it has none of its own."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [name for name, item in inspect.signature(model.forward).parameters.items() if item.kind in kinds]
    if len(found) >= count:
        return found[:count]
    return ["input"] if count == 1 else [f"input_{index}" for index in range(count)]


def run_rows(call: Any, inputs: tuple[Tensor, ...], whole: bool) -> list[np.ndarray]:
    """The outputs of an engine for all rows, one at a time unless it takes them as a whole."""
    count = len(inputs[0])
    rows = [inputs] if whole else [tuple(value[i : i + 1] for value in inputs) for i in range(count)]
    results = []
    for row in rows:
        outputs = call(row)
        leaves = outputs if isinstance(outputs, list) else torch.utils._pytree.tree_leaves(outputs)
        results.append([value.numpy() if isinstance(value, Tensor) else value for value in leaves])
    return [np.concatenate([np.atleast_1d(result[i]) for result in results]) for i in range(len(results[0]))]


def agreement(
    engine: str,
    values: list[np.ndarray],
    measure: str,
    expected: list[np.ndarray],
    min_sqnr: float,
    names: Sequence[str] = (),
) -> Agreement:
    """Compares two engines output by output: a small one is not lost behind a large one. Raises ExportError when they
    are further apart than ``min_sqnr`` in any."""
    if [value.shape for value in values] != [value.shape for value in expected]:
        shapes = [list(value.shape) for value in values], [list(value.shape) for value in expected]
        raise ExportError(f"{engine} gives outputs of shapes {shapes[0]}, {measure} {shapes[1]}")
    names = list(names) if names else [str(index) for index in range(len(values))]
    each = tuple(
        _agreement((engine, measure), left.astype(np.float64), right.astype(np.float64), name)
        for left, right, name in zip(values, expected, names, strict=True)
    )
    result = min(each, key=lambda item: -math.inf if math.isnan(item.sqnr) else item.sqnr)
    if len(each) > 1:
        result = replace(result, outputs=each)
    if math.isnan(result.sqnr) or result.sqnr < min_sqnr:
        raise ExportError(
            f"{result}; {min_sqnr:g} dB are wanted",
            hint="does the model draw random numbers, or decide by values of tensors? min_sqnr=… accepts less",
        )
    return result


FLOOR = 1e-5
"""What the signal of an output that is zero everywhere counts as (root mean square)."""


def _agreement(engines: tuple[str, str], left: np.ndarray, right: np.ndarray, output: str) -> Agreement:
    noise, signal = float(np.square(left - right).sum()), float(np.square(right).sum())
    sqnr = math.inf if noise == 0 else 10 * math.log10((signal or right.size * FLOOR**2) / noise)
    error = float(np.abs(left - right).max(initial=0))
    return Agreement(engines, error, float(np.abs(right).max(initial=0)), sqnr, output)


def to_onnx(
    model: nn.Module,
    inputs: tuple[Tensor, ...],
    input_names: Sequence[str],
    output_names: Sequence[str] | None,
    outputs: int,
    dynamic_batch: bool,
) -> onnx.ModelProto:
    """The ONNX model by the dynamo exporter, without its notes, which hold paths of this machine."""
    names = list(output_names or (["output"] if outputs == 1 else [f"output_{index}" for index in range(outputs)]))
    if len(names) != outputs:
        raise InputError(f"{len(names)} output names for {outputs} outputs", where="output_names")
    batch = torch.export.Dim("batch")
    example = tuple(torch.cat([value, value])[:2] for value in inputs) if dynamic_batch else None
    shapes: Mapping[str, Any] = {"dynamic_shapes": tuple({0: batch} for _ in inputs)} if dynamic_batch else {}
    try:
        with silent_tracing(), explain_missing():
            program = torch.onnx.export(
                model,
                example or tuple(value[:1] for value in inputs),
                dynamo=True,
                input_names=list(input_names),
                output_names=names,
                verbose=False,
                **shapes,
            )
    except MicrolithError:
        raise
    except Exception as error:
        text = (str(error.__cause__ or error) or type(error).__name__).strip().splitlines()[0]
        raise ExportError(
            f"PyTorch cannot export it: {text}",
            where=type(model).__name__,
            hint="torch.export wants no `if` or `for` over values of tensors"
            if "data-dependent" in text
            else "torch.onnx.export(model, args, dynamo=True, verbose=True) says at which operation it fails",
        ) from error
    proto = program.model_proto
    for item in (proto, proto.graph, *proto.graph.node, *proto.graph.value_info, *proto.graph.initializer):
        item.ClearField("metadata_props")
    for item in (*proto.graph.input, *proto.graph.output):
        item.ClearField("metadata_props")
    return proto
