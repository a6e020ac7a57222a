"""What goes into a model and what comes out of it, where the user asks for other than the file says.

Not passes: they change inputs and outputs.
"""

from __future__ import annotations

from ..dtypes import DType
from ..errors import InputError
from ..ir import Graph, Node, Quant, TensorType, Value
from ..ops.softmax import SOFTMAX_SCALE, SOFTMAX_ZERO

HEADS = ("keep", "logits", "softmax", "argmax")
INPUT_LAYOUTS = ("keep", "nhwc")
_CHANNELS_LAST = (0, 2, 3, 1)
"""What a frontend transposes in front of a convolution or pool, if images have their channels first."""
_CHANNELS_FIRST = (0, 3, 1, 2)
_LOOK_AHEAD = 16
"""How many ops may stand in front of that transpose."""
_KEEPING = frozenset({"quantize", "dequantize", "requantize", "cast", "identity"})
"""Ops behind a softmax that leave the order of its elements."""
_SOFTMAXES = frozenset({"softmax", "log_softmax"})


def set_head(graph: Graph, head: str) -> None:
    """Changes every output of a graph, in place.

    ``logits`` takes what goes into the last softmax. ``softmax`` puts one in place of a log_softmax, and along the last
    axis behind an output that has neither; of integers it makes integers. ``argmax`` gives the position of the largest
    element along the softmax's axis (s32, without that axis), or along the last axis of an output that is no softmax.
    Softmax is monotonic, so that this is also the most probable class; where several probabilities are equal after
    rounding it is that of the largest logit. Outputs keep their names. Raises InputError for an unknown head and for an
    output that cannot have it.
    """
    if head not in HEADS:
        raise InputError(f"there is no head '{head}'", hint=f"one of {', '.join(HEADS)}")
    if head == "keep":
        return
    outputs = list(graph.outputs)
    for position, output in enumerate(outputs):
        softmax = _softmax(output)
        if softmax is None and head == "logits":
            raise InputError(
                f"output '{output.name}' is not made by a softmax", hint="choose --head keep, or --head argmax"
            )
        if softmax is not None and softmax.op == head:
            continue
        source, axis = (output, len(output.shape) - 1) if softmax is None else (softmax.input(0), softmax.attrs["axis"])
        if head != "logits" and not source.shape:
            raise InputError(f"output '{output.name}' is a single number: nothing to choose from")
        if head == "softmax":
            source = _add_softmax(graph, source, axis, output)
        elif head == "argmax":
            attrs = {"axis": axis, "keep_dims": 0, "select_last": 0, "to": DType.s32.value}
            source = graph.add("argmax", [source], attrs, name="head", output_names=[f"{output.name}_argmax"]).output
        graph.outputs[position] = source
    graph.remove_dead()
    for old, new in zip(outputs, graph.outputs, strict=True):
        if new is not old and new not in graph.inputs:
            old.name, new.name = graph.unique_name(f"{old.name}_scores"), old.name


def _add_softmax(graph: Graph, source: Value, axis: int, output: Value) -> Value:
    """The softmax of a value; integers have the scale that TFLite gives them."""
    quant = None
    if not source.dtype.is_float:
        if source.dtype not in (DType.s8, DType.s16) or source.quant is None or not source.quant.is_per_tensor:
            raise InputError(
                f"output '{output.name}' is {source.type}: a softmax wants real or quantized numbers",
                hint="choose --head keep",
            )
        is_byte = source.dtype is DType.s8
        quant = Quant.per_tensor(*((SOFTMAX_SCALE, SOFTMAX_ZERO) if is_byte else (1.0 / 32768.0, 0)))
    name = f"{output.name}_softmax"
    return graph.add("softmax", [source], {"axis": axis}, name="head", output_names=[name], quant=quant).output


def _softmax(output: Value) -> Node | None:
    """The softmax behind an output, if only rounding lies between."""
    node = output.producer
    while node is not None and node.op in _KEEPING:
        node = node.input(0).producer
    return node if node is not None and node.op in _SOFTMAXES else None


def set_integer_borders(graph: Graph) -> None:
    """Floats that only pass through a quantization become integers, in place.

    An input that nothing but quantizations of one kind read is replaced by what they give, an output that a
    dequantization makes by what that reads. Scale and zero point are then the application's to use. Other inputs and
    outputs stay as they are.
    """
    for position, value in enumerate(graph.inputs):
        readers = value.users
        if not readers or any(node.op != "quantize" for node in readers) or value in graph.results:
            continue
        first = readers[0].output
        if any(node.output.type != first.type or node.output.quant != first.quant for node in readers):
            continue
        name, value.name = value.name, graph.unique_name(f"{value.name}_real")
        integer = Value(name, first.type, quant=first.quant)
        graph.inputs[position] = integer
        for node in readers:
            graph.replace(node.output, integer)
    for position, value in enumerate(graph.outputs):
        maker = value.producer
        if maker is None or maker.op != "dequantize" or value.users or maker.input(0).is_constant:
            continue
        source = maker.input(0)
        if source in graph.inputs or any(source is other for other in graph.results):
            continue
        graph.outputs[position] = source
        value.name, source.name = source.name, value.name
    graph.remove_dead()


def set_input_layout(graph: Graph, layout: str) -> None:
    """Changes the inputs of a graph that are images, in place: ``nhwc`` makes those that have their channels first, as
    the layers read them, ones that have them last. They keep their names.

    Has to run on a graph as a frontend imports it. Raises InputError for an unknown layout, and when no input is an
    image with its channels first.
    """
    if layout not in INPUT_LAYOUTS:
        raise InputError(f"there is no input layout '{layout}'", hint=f"one of {', '.join(INPUT_LAYOUTS)}")
    if layout == "keep":
        return
    chosen = [value for value in graph.inputs if len(value.shape) == 4 and _is_channels_first(value, _LOOK_AHEAD)]
    if not chosen:
        types = ", ".join(f"'{value.name}' {value.type}" for value in graph.inputs)
        raise InputError(
            f"no input is an image with the channels first: {types}",
            hint="leave out --input-layout; inputs that have the channels last already stay as they are",
        )
    for value in chosen:
        name, value.name = value.name, graph.unique_name(f"{value.name}_channels_first")
        shape = tuple(value.shape[axis] for axis in _CHANNELS_LAST)
        turned = Value(name, TensorType(value.dtype, shape), quant=value.quant)
        graph.inputs[graph.inputs.index(value)] = turned
        first = graph.nodes[0] if graph.nodes else None
        moved = graph.add(
            "transpose", [turned], {"perm": _CHANNELS_FIRST}, name=f"{name}_layout", before=first, quant=value.quant
        )
        moved.output.name = value.name
        graph.replace(value, moved.output)


def _is_channels_first(value: Value, depth: int) -> bool:
    """Whether the first transpose that follows puts the channels last."""
    for node in value.users:
        if node.op == "transpose":
            return tuple(node.attrs["perm"]) == _CHANNELS_LAST
        results = [result for result in node.outputs if len(result.shape) == 4]
        if depth and results and any(_is_channels_first(result, depth - 1) for result in results):
            return True
    return False
