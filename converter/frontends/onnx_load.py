"""An ONNX model before it is imported: parsed, with its external data, its functions inlined, its opset a known one."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]
from onnx import external_data_helper, inliner, version_converter

from ...errors import InputError, ModelFormatError
from .onnx_external import map_large_data, read_small_data
from .onnx_limits import require_few_nodes, require_small_tensors

OLDEST_OPSET = 7

DEFAULT_DOMAIN = ("", "ai.onnx")

KEPT = ("Bernoulli", "Range", "SequenceMap")
"""Operators that stay as they are: their definitions run step by step, or draw random numbers."""


@dataclass(frozen=True)
class LoadedModel:
    """A model with no functions of its own, and an opset that the tables know."""

    proto: onnx.ModelProto
    mapped: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Initializers of the graph whose data lies in files, by name; all other data is in ``proto``."""


def load_model(source: str | Path | bytes | onnx.ModelProto, where: str) -> LoadedModel:
    """Raises ModelFormatError when there is no sound model in ``source``, and InputError for a file that cannot be
    read."""
    model = _parsed(source, where)
    require_small_tensors(model, where)
    if isinstance(source, str | Path):
        folder = Path(source).parent
        with _external_data(where):
            read_small_data(model, folder, everything=opset_of(model) < OLDEST_OPSET)
        model = _modern(_without_local_functions(model, where), where)
        with _external_data(where):
            return LoadedModel(model, map_large_data(model, folder))
    if any(external_data_helper.uses_external_data(tensor) for tensor in model.graph.initializer):
        raise ModelFormatError("its weights lie in other files", where=where, hint="convert it from its file")
    return LoadedModel(_modern(_without_local_functions(model, where), where))


def _parsed(source: str | Path | bytes | onnx.ModelProto, where: str) -> onnx.ModelProto:
    try:
        if isinstance(source, onnx.ModelProto):
            model = source
        elif isinstance(source, bytes):
            model = onnx.load_from_string(source)
        else:
            model = onnx.load(str(source), format="protobuf", load_external_data=False)
    except (DecodeError, ValueError, RuntimeError) as error:
        raise ModelFormatError(
            f"not an ONNX model, or a damaged one ({one_line(error)})", where=where, hint="export it again"
        ) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=where) from error
    if (damaged := _damaged_text(model)) is not None:
        raise ModelFormatError(f"a damaged ONNX model: {damaged} is no UTF-8 text", where=where, hint="export it again")
    if not model.HasField("graph") or not model.graph.output:
        raise ModelFormatError("not an ONNX model: it has no graph with outputs", where=where)
    return model


def _damaged_text(model: Message) -> str | None:
    """The first text of a message that is no UTF-8: protobuf hands it out as bytes, where all who read expect str."""
    messages = [model]
    while messages:
        message = messages.pop()
        for entry, value in message.ListFields():
            if entry.type not in (entry.TYPE_STRING, entry.TYPE_MESSAGE):
                continue
            items = [value] if isinstance(value, str | bytes | Message) else value
            if entry.type == entry.TYPE_MESSAGE:
                messages.extend(items)
            elif (bad := next((item for item in items if isinstance(item, bytes)), None)) is not None:
                return f"{message.DESCRIPTOR.name}.{entry.name} {bad[:40]!r}"
    return None


@contextmanager
def _external_data(where: str) -> Iterator[None]:
    """What goes wrong with the files beside a model is an error of ours."""
    try:
        yield
    except Exception as error:  # a missing or short file, or a path that leaves the folder
        raise ModelFormatError(
            f"its external data cannot be read: {one_line(error)}",
            where=where,
            hint="keep the data file beside the model, under the name that the exporter gave it",
        ) from error


def one_line(error: Exception) -> str:
    """The beginning of a message, without line breaks."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def _without_local_functions(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """The model with calls of its own functions replaced by their bodies."""
    if not model.functions:
        return model
    require_few_nodes(model, where)
    try:
        inlined = inliner.inline_local_functions(model)
        # Functions of another opset are left alone, though few operators differ from one to the next.
        return inlined if not inlined.functions else inliner.inline_local_functions(_of_one_opset(model))
    except Exception as error:  # a C++ exception of the onnx package
        raise ModelFormatError(f"its functions cannot be inlined: {one_line(error)}", where=where) from error


def _of_one_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with functions that state its own opsets."""
    same = onnx.ModelProto()
    same.CopyFrom(model)
    versions = {item.domain: item.version for item in model.opset_import}
    for function in same.functions:
        for item in function.opset_import:
            item.version = versions.get(item.domain, item.version)
    return same


def _modern(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """The model in an opset that the tables know; very old ones are brought up by onnx itself."""
    opset = opset_of(model)
    newest = onnx.defs.onnx_opset_version()
    if opset > newest:
        raise ModelFormatError(
            f"it uses opset {opset}; {OLDEST_OPSET} to {newest} are supported",
            where=where,
            hint="convert it with onnx.version_converter, or update the package onnx",
        )
    own = (node.domain in DEFAULT_DOMAIN for node in all_nodes(model.graph))
    if opset >= OLDEST_OPSET or not any(own):  # the converter crashes on some attributes of other domains
        return model
    try:
        return _brought_up(model)
    except Exception as error:  # a C++ exception of the onnx package
        raise ModelFormatError(
            f"it uses opset {opset}, and onnx cannot bring it to {OLDEST_OPSET}: {one_line(error)}",
            where=where,
            hint="export it again with a newer opset",
        ) from error


def _brought_up(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in the oldest opset that the tables know. onnx passes over operators of other domains; those of its own
    that it has no definition of are put there meanwhile."""
    lent = onnx.ModelProto()
    lent.CopyFrom(model)
    elsewhere = {node.domain for node in all_nodes(model.graph)} - set(DEFAULT_DOMAIN)
    for node in all_nodes(lent.graph):
        if node.domain in DEFAULT_DOMAIN and not onnx.defs.has(node.op_type):
            node.domain = UNDEFINED
            elsewhere.add(UNDEFINED)
    for domain in sorted(elsewhere - {item.domain for item in model.opset_import}):
        lent.opset_import.add(domain=domain, version=1)
    brought = version_converter.convert_version(lent, OLDEST_OPSET)
    for node in all_nodes(brought.graph):
        if node.domain == UNDEFINED:
            node.domain = ""
    return brought


UNDEFINED = "microlith.undefined"
"""Where operators without a definition stand while onnx's converter runs."""


def opset_of(model: onnx.ModelProto) -> int:
    """The opset of ONNX's own domain that a model uses. Where it states none it is the newest, as for ONNX Runtime;
    before IR version 3 a model could not state one."""
    versions = [item.version for item in model.opset_import if item.domain in DEFAULT_DOMAIN]
    used = any(node.domain in DEFAULT_DOMAIN for node in model.graph.node)
    return max(versions, default=1 if used and model.ir_version < 3 else onnx.defs.onnx_opset_version())


def nodes_of(model: onnx.ModelProto, known: Container[str]) -> Sequence[onnx.NodeProto]:
    """The nodes of a model; operators that are not ``known``, but defined by others, are replaced by these."""
    opset = opset_of(model)
    names = sorted(
        {
            node.op_type
            for node in all_nodes(model.graph)
            if node.op_type not in known and is_defined_by_others(node, opset)
        }
    )
    if not names:
        return model.graph.node
    # The inliner works on serialized models, so large weights are left out of what it gets.
    skeleton = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    skeleton.graph.name = model.graph.name
    skeleton.graph.node.extend(model.graph.node)
    for node in all_nodes(skeleton.graph):
        if node.op_type in names and node.domain in DEFAULT_DOMAIN:
            _state_defaults(node, opset)
    skeleton.graph.output.extend(model.graph.output)
    skeleton.graph.value_info.extend(model.graph.value_info)
    inputs = {info.name: info for info in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.ByteSize() <= 1024 and not external_data_helper.uses_external_data(tensor):
            skeleton.graph.initializer.append(tensor)
        elif tensor.name not in inputs:
            inputs[tensor.name] = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
    skeleton.graph.input.extend(inputs.values())
    try:
        ids = [("", name) for name in names]
        return inliner.inline_selected_functions(skeleton, ids, inline_schema_functions=True).graph.node
    except Exception:  # a C++ exception of the onnx package; the operators are then reported as unknown
        return model.graph.node


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """The nodes of a graph and of its subgraphs."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_nodes(attribute.g)


def _state_defaults(node: onnx.NodeProto, opset: int) -> None:
    """Adds the attributes that are left out with their defaults, which the inliner would not know."""
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in onnx.defs.get_schema(node.op_type, opset, "").attributes.items():
        if name not in given and attribute.default_value.name:
            node.attribute.append(attribute.default_value)


def is_defined_by_others(node: onnx.NodeProto, opset: int) -> bool:
    """Whether ONNX defines an operator by a graph of others."""
    if node.domain not in DEFAULT_DOMAIN or node.op_type in KEPT:
        return False
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, "")
    except Exception:  # onnx.defs.SchemaError, which is a C++ exception
        return False
    # The stubs of onnx lack both.
    return any(getattr(schema, name) for name in ("has_function", "has_context_dependent_function"))
