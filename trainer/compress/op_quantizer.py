# SPDX-License-Identifier: Apache-2.0
"""Where fake quantization goes: a quantizer for torchao's PT2E flow whose rules are those of ``OpDef.quant``.

Each operation of PyTorch that becomes an op with an integer form gets what that op says: weights symmetric from -127 to
127 with one scale per output channel, activations int8 over 255 steps with a zero point, results that share the scale
of their input, results with a scale that is fixed. An activation between a layer and its clamp is not quantized,
because the converter makes one layer of both. Everything else stays in floating point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from microlith import ops
from microlith.errors import Unsupported
from microlith.ops import QuantRule

from .linear_norms import is_part, norm_of, split_norms
from .plain_convolutions import spell_out_padding
from .pt2e import (
    FakeQuantize,
    FixedQParamsQuantizationSpec,
    FusedMovingAvgObsFakeQuantize,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)

aten = torch.ops.aten

SMALLEST_SCALE = 2**-16
OPS: dict[Any, str] = {
    aten.conv1d.default: "conv2d",
    aten.conv2d.default: "conv2d",
    aten.conv_transpose1d.default: "conv_transpose",
    aten.conv_transpose2d.input: "conv_transpose",
    aten.conv_transpose3d.input: "conv_transpose",
    aten.linear.default: "dense",
    aten.matmul.default: "matmul",
    aten.bmm.default: "matmul",
    aten.add.Tensor: "add",
    aten.add_.Tensor: "add",
    aten.sub.Tensor: "sub",
    aten.mul.Tensor: "mul",
    aten.mul_.Tensor: "mul",
    aten.div.Tensor: "div",
    aten.relu.default: "relu",
    aten.relu_.default: "relu",
    aten.relu6.default: "clip",
    aten.hardtanh.default: "clip",
    aten.hardtanh_.default: "clip",
    aten.clamp.default: "clip",
    aten.leaky_relu.default: "leaky_relu",
    aten.leaky_relu_.default: "leaky_relu",
    aten.elu.default: "elu",
    aten.gelu.default: "gelu",
    aten.silu.default: "silu",
    aten.silu_.default: "silu",
    aten.mish.default: "mish",
    aten.hardswish.default: "hard_swish",
    aten.hardswish_.default: "hard_swish",
    aten.hardsigmoid.default: "hard_sigmoid",
    aten.softplus.default: "softplus",
    aten.sigmoid.default: "sigmoid",
    aten.tanh.default: "tanh",
    aten.softmax.int: "softmax",
    aten.log_softmax.int: "log_softmax",
    aten.layer_norm.default: "layer_norm",
    aten.max_pool2d.default: "max_pool2d",
    aten.max_pool1d.default: "max_pool2d",
    aten.avg_pool2d.default: "avg_pool2d",
    aten.avg_pool1d.default: "avg_pool2d",
    aten.adaptive_avg_pool2d.default: "reduce_mean",
    aten.adaptive_avg_pool1d.default: "reduce_mean",
    aten.mean.dim: "reduce_mean",
    aten.mean.default: "reduce_mean",
    aten.sum.dim_IntList: "reduce_sum",
    aten.amax.default: "reduce_max",
    aten.amin.default: "reduce_min",
    aten.cat.default: "concat",
    aten.flatten.using_ints: "reshape",
    aten.view.default: "reshape",
    aten.reshape.default: "reshape",
    aten.unflatten.int: "reshape",
    aten.permute.default: "transpose",
    aten.transpose.int: "transpose",
    aten.t.default: "transpose",
    aten.squeeze.default: "squeeze",
    aten.squeeze.dim: "squeeze",
    aten.squeeze.dims: "squeeze",
    aten.unsqueeze.default: "unsqueeze",
    aten.slice.Tensor: "slice",
    aten.select.int: "slice",
    aten.expand.default: "expand",
    aten.contiguous.default: "reshape",
    aten.clone.default: "reshape",
    aten.dropout.default: "reshape",
    aten.dropout_.default: "reshape",
    aten.pad.default: "pad",
    aten.embedding.default: "gather",
    aten.upsample_nearest2d.vec: "resize",
    aten.upsample_bilinear2d.vec: "resize",
}
"""Operation of PyTorch -> op whose rule it follows. What only moves numbers follows ``reshape``."""

MOVERS = frozenset(
    target for target, name in OPS.items() if name in "reshape transpose squeeze unsqueeze slice expand".split()
)
"""What gives elements of its input, each as it is."""

CLAMPS = ("relu", "clip")
THREE_DIMENSIONAL = (aten.conv3d.default, aten.conv3d.padding)
NORMS = (aten.batch_norm.default,)
CHANNEL_AXIS = {"conv2d": 0, "dense": 0, "conv_transpose": 1}
"""Of weights as PyTorch lays them out; where ``OpDef.quant.weight_axis`` lies in Microlith's layout."""


def _activation() -> QuantizationSpec:
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=-128,
        quant_max=127,
        qscheme=torch.per_tensor_affine,
        observer_or_fake_quant_ctr=FusedMovingAvgObsFakeQuantize.with_args(
            observer=MovingAverageMinMaxObserver, averaging_constant=0.01, eps=SMALLEST_SCALE
        ),
    )


def _weights(axis: int | None) -> QuantizationSpec:
    """Symmetric; along ``axis``, or with one scale for all."""
    observer = MovingAverageMinMaxObserver if axis is None else MovingAveragePerChannelMinMaxObserver
    module = FakeQuantize if axis else FusedMovingAvgObsFakeQuantize  # which knows axis 0 only
    return QuantizationSpec(
        dtype=torch.int8,
        quant_min=-127,
        quant_max=127,
        qscheme=torch.per_tensor_symmetric if axis is None else torch.per_channel_symmetric,
        ch_axis=axis,
        # Weights are known, so their range is that of now.
        observer_or_fake_quant_ctr=module.with_args(
            observer=observer, averaging_constant=1.0, eps=SMALLEST_SCALE, **({} if axis is None else {"ch_axis": axis})
        ),
    )


def is_for_weights(module: FakeQuantize) -> bool:
    """Whether a fake quantizer is one of weights."""
    return int(module.quant_min) == -127


def is_float(node: Node) -> bool:
    """Whether a node gives one tensor of real numbers."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def float_inputs(node: Node) -> list[Node]:
    """The tensors of real numbers among the arguments, lists of them included."""
    found: list[Node] = []
    for argument in node.args:
        for item in argument if isinstance(argument, list | tuple) else (argument,):
            if isinstance(item, Node) and is_float(item):
                found.append(item)
    return found


class OpQuantizer(Quantizer):
    """Annotates a graph by the rules of the ops. ``skip``: names of modules that stay in floating point."""

    def __init__(self, skip: Sequence[str] = ()) -> None:
        self.skip = tuple(skip)
        self.activation = _activation()
        self.weighted: list[str] = []
        """Names of the nodes with weights that were annotated."""
        self.refused: list[Unsupported] = []
        """Convolutions that have no integer form."""

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Numbers in sums become constants that can be quantized; padding and normalizations get a form with rules."""
        spell_out_padding(model)
        split_norms(model, self._is_skipped)
        for node in list(model.graph.nodes):
            if OPS.get(node.target) not in ("add", "sub", "mul", "div") or not is_float(node):
                continue
            for position, argument in enumerate(node.args[:2]):
                if isinstance(argument, int | float) and not is_part(node):
                    name = f"_number_{node.name}"
                    model.register_buffer(name, torch.tensor(float(argument)))
                    with model.graph.inserting_before(node):
                        constant = model.graph.get_attr(name)
                    constant.meta["val"] = torch.tensor(float(argument))
                    node.args = (*node.args[:position], constant, *node.args[position + 1 :])
        model.recompile()
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        for node in model.graph.nodes:
            if not is_float(node) or self._is_skipped(node):
                continue
            reason = _why_not(node)
            if reason:
                self.refused.append(Unsupported(_module_of(node) or node.name, str(node.target), reason))
            name = OPS.get(node.target)
            if name is None or is_part(node) or reason:
                continue
            rule = ops.get(name).quant
            if rule is not None and not _only_counts(node):
                self._annotate(node, name, rule)
        return model

    def validate(self, model: GraphModule) -> None:
        pass

    def _is_skipped(self, node: Node) -> bool:
        return any(path == name or path.startswith(f"{name}.") for path in _modules_of(node) for name in self.skip)

    def _annotate(self, node: Node, name: str, rule: QuantRule) -> None:
        inputs = float_inputs(node)
        weights = CHANNEL_AXIS.get(name) if rule.weight_axis is not None else None
        # What is quantized where it is made needs no second rounding here.
        fresh = [value for value in inputs if not _is_quantized(value)]
        specs: dict[Node, Any] = {}
        if weights is not None:
            # torchao wants to be told about the input of a convolution even where nothing is to be done.
            known = SharedQuantizationSpec(inputs[0]) if _is_quantized(inputs[0]) else self.activation
            specs = {inputs[0]: known}
            if not _is_made_of_codes(inputs[1]):
                specs[inputs[1]] = _weights(weights)
            self.weighted.append(node.name)
        elif name == "layer_norm":
            specs = {value: self.activation for value in fresh if value is inputs[0]}
        elif name == "concat":
            specs = {inputs[0]: self.activation}
            specs.update({other: SharedQuantizationSpec((inputs[0], node)) for other in inputs[1:]})
        else:
            specs = dict.fromkeys(fresh, self.activation)
        last = self._end_of_layer(node, name)
        output: Any = None
        if last is node:
            if rule.output == "fixed" and rule.fixed is not None:
                scale, zero = rule.fixed
                output = FixedQParamsQuantizationSpec(torch.int8, scale, zero, -128, 127, torch.per_tensor_affine)
            elif rule.output == "same":
                output = SharedQuantizationSpec((inputs[0], node) if inputs[0] in specs else inputs[0])
            else:
                output = self.activation
        # The input of a clamp that belongs to a layer is inside of that layer.
        if name in CLAMPS and self._is_inside(inputs[0]):
            specs = {}
        node.meta["quantization_annotation"] = QuantizationAnnotation(
            input_qspec_map=specs, output_qspec=output, _annotated=True
        )
        for inner in self._norms_after(node, name):
            end = self._end_of_layer(node, name)
            inner.meta["quantization_annotation"] = QuantizationAnnotation(
                output_qspec=self.activation if end is inner else None, _annotated=True
            )

    def _norms_after(self, node: Node, name: str) -> Iterable[Node]:
        """The batch normalization that a layer is folded with."""
        if name == "dense":
            norm = norm_of(node)
            return () if norm is None else (norm,)
        if name in ("conv2d", "conv_transpose") and len(node.users) == 1:
            (user,) = node.users
            if user.target in NORMS:
                return (user,)
        return ()

    def _end_of_layer(self, node: Node, name: str) -> Node:
        """The node that gives the result of the layer that begins here: itself, its normalization, or its clamp."""
        last = node
        for norm in self._norms_after(node, name):
            last = norm
        if name in ("conv2d", "conv_transpose", "dense", "add", "sub", "mul") and len(last.users) == 1:
            (user,) = last.users
            if OPS.get(user.target) in CLAMPS and not self._is_skipped(user):
                return user
        return last

    def _is_inside(self, node: Node) -> bool:
        """Whether a value lies within a layer, so that it is not quantized."""
        annotation = node.meta.get("quantization_annotation")
        return annotation is not None and annotation._annotated and annotation.output_qspec is None


def _modules_of(node: Node) -> list[str]:
    """The names of the modules that a node comes from, outermost first."""
    stack = (node.meta.get("nn_module_stack") or {}).values()
    return [str(path).removeprefix("L['self'].").removeprefix("L['self']") for path, _ in stack]


def _module_of(node: Node) -> str:
    return next((path for path in reversed(_modules_of(node)) if path), "")


def _why_not(node: Node) -> str:
    """Why a convolution has no integer form; "": it has one, or is none."""
    if node.target in THREE_DIMENSIONAL:
        return "convolutions over three dimensions run in floating point only"
    if OPS.get(node.target) == "conv_transpose" and len(node.args) > 6 and node.args[6] != 1:
        return "transposed convolutions of several groups run in floating point only"
    return ""


def _is_quantized(node: Node) -> bool:
    """Whether the result of a node is quantized where it is made."""
    annotation = node.meta.get("quantization_annotation")
    return annotation is not None and annotation.output_qspec is not None


def _is_made_of_codes(node: Node) -> bool:
    """Whether weights are integers already, times a scale (``lowbit_layers``), which no rounding may touch."""
    return node.op == "call_function" and str(node.target).startswith("quantized_decomposed.dequantize")


def _only_counts(node: Node) -> bool:
    """Whether it works on counters (those of batch normalization), not on data."""
    return not float_inputs(node)
