# SPDX-License-Identifier: Apache-2.0
"""Quantization-aware training: the model learns with the rounding that integers will bring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx import GraphModule
from torch.nn import functional

from microlith.errors import InputError, MicrolithError

from ..argument_checks import require_names, require_number
from ..remarks import silent_tracing
from .bias_rounding import BIASED, round_biases
from .compressor import Compressor
from .linear_norms import fold_norms_of_linears
from .needless_pairs import remove_needless_pairs
from .op_quantizer import MOVERS, OpQuantizer, is_for_weights
from .pt2e import FakeQuantize, convert_pt2e, prepare_qat_pt2e

MODE_FLAGS = {
    torch.ops.aten.dropout.default: 2,
    torch.ops.aten.dropout_.default: 2,
    torch.ops.aten.feature_dropout.default: 2,
    torch.ops.aten.batch_norm.default: 5,
}
"""Operations that depend on the mode of the model -> position of the argument that says it."""


class QuantizationError(MicrolithError):
    """A model cannot be prepared for integers."""


class QAT(Compressor):
    """Quantization-aware training through torchao's PT2E flow, by the rules of Microlith's ops.

    The converted model holds int8 weights and quantize/dequantize pairs; ``trainer.export`` makes an ONNX QDQ model of
    it, which ``microlith.convert`` imports as integers. Begin with a trained model and a small learning rate: a few
    epochs are enough.

    Args:
        sample: Inputs of the model, a batch of at least 2; ``trainer.fit`` gives one by itself.
        freeze: Share of the steps after which ranges of activations and statistics of batch normalizations stay as
            they are, so that the weights settle.
        skip: Names of modules (``"head"``, ``"blocks.3"``) that stay in floating point.
    """

    def __init__(
        self, sample: Tensor | Sequence[Tensor] | None = None, *, freeze: float = 0.75, skip: Sequence[str] = ()
    ) -> None:
        if not 0 <= require_number(freeze, "freeze", where="QAT") <= 1:
            raise InputError(f"freeze is {freeze}; it is a share from 0 to 1", where="QAT")
        self.freeze, self.skip = freeze, require_names(skip, "skip", "QAT")
        self.sample: tuple[Tensor, ...] | None = None
        if sample is not None:
            items = tuple(sample) if isinstance(sample, tuple | list) else (sample,)
            if not items or not all(isinstance(item, Tensor) and item.ndim and len(item) for item in items):
                kinds = ", ".join(type(item).__name__ for item in items) or "nothing"
                raise InputError(
                    f"sample is {kinds}; a batch as a tensor is needed, or one for each input",
                    where="QAT",
                    hint="QAT(sample=torch.from_numpy(x[:2])); trainer.fit gives one by itself",
                )
            self.sample = items
        self._model: ModeModule | None = None

    def hyperparameters(self) -> Mapping[str, Any]:
        return {"freeze": self.freeze, "skip": ", ".join(self.skip)}

    def on_data(self, inputs: tuple[Tensor, ...]) -> None:
        if self.sample is None:
            self.sample = tuple(value[:2] for value in inputs)

    def apply(self, model: nn.Module) -> nn.Module:
        if self.sample is None:
            raise InputError("QAT needs a sample of the inputs", hint="QAT(sample=x[:2])")
        if any(isinstance(module, ModeModule) for module in model.modules()):
            raise InputError("the model is quantized already", where="QAT", hint="begin with the model before QAT")
        names = {name for name, _ in model.named_modules()}
        for name in self.skip:
            if name not in names:
                raise InputError(f"QAT(skip=…): there is no module {name!r}", where=type(model).__name__)
        quantizer = OpQuantizer(self.skip)
        graph = trace(model.train(), self.sample)
        with silent_tracing():
            prepared = prepare_qat_pt2e(graph, quantizer)
        if quantizer.refused:
            refused = ", ".join(f'"{item.node}"' for item in quantizer.refused)
            lines = [f"  {item.op} '{item.node}': {item.reason}" for item in quantizer.refused]
            raise QuantizationError(
                "\n".join(["no integer form:", *lines]),
                where=type(model).__name__,
                hint=f"QAT(skip=[{refused}]) leaves them in floating point",
            )
        if not quantizer.weighted:
            raise QuantizationError(
                "there is no layer with weights that has an integer form",
                where=type(model).__name__,
                hint="convolutions and linear layers have one; is everything skipped?",
            )
        self._model = ModeModule(prepared)
        return self._model

    def on_step(self, step: int, total_steps: int) -> None:
        if self._model is not None:
            self._model.freeze(step >= self.freeze * total_steps)

    def convert(self, model: nn.Module) -> nn.Module:
        if not isinstance(model, ModeModule) or model.fixed:
            raise InputError(f"QAT.convert takes what QAT.apply gave, not {type(model).__name__}")
        if self.sample is not None:
            with torch.no_grad():
                model.eval()(*self.sample)  # the scales of the weights as they are now
        fold_norms_of_linears(model.graph_module)
        with silent_tracing():
            converted = convert_pt2e(model.graph_module)
        round_biases(converted)
        remove_needless_pairs(converted, MOVERS, BIASED)
        return ModeModule(converted, fixed=True).eval()


class ModeModule(nn.Module):
    """A traced graph that follows ``train()`` and ``eval()``: dropout and batch normalization change with the mode.

    ``fixed``: the graph is that of eval mode and stays so.
    """

    def __init__(self, graph_module: GraphModule, fixed: bool = False) -> None:
        super().__init__()
        self.graph_module, self.fixed = graph_module, fixed
        self._trains: bool | None = None
        self._frozen = False
        if fixed:
            self._set_mode(False)

    def train(self, mode: bool = True) -> ModeModule:
        # The traced graph refuses train() and eval() of its own; those of the fake quantizers have no meaning.
        self.training = mode
        return self

    def forward(self, *inputs: Tensor) -> Any:
        # Lightning sets `training` without a call of train().
        if not self.fixed and self._trains != self.training:
            self._set_mode(self.training)
        return self.graph_module(*inputs)

    def freeze(self, frozen: bool) -> None:
        """Whether the ranges of activations stay as they are while it trains."""
        if frozen != self._frozen:
            self._frozen = frozen
            self._trains = None

    def _set_mode(self, training: bool) -> None:
        """Changes the flag of each operation that has one. (torchao's own function forgets the rate of dropout.)"""
        for node in self.graph_module.graph.nodes:
            if node.target in MODE_FLAGS:
                position = MODE_FLAGS[node.target]
                node.args = (*node.args[:position], training, *node.args[position + 1 :])
        self.graph_module.recompile()
        for module in self.graph_module.modules():
            if isinstance(module, FakeQuantize):
                # The range of weights is known at any time; that of activations is learnt.
                learns = training and not self._frozen
                module.enable_observer(learns or is_for_weights(module))
        self._trains = training


def trace(model: nn.Module, sample: tuple[Tensor, ...]) -> GraphModule:
    """The operations of a model as a graph, for any size of the first axis. Raises QuantizationError."""
    if any(len(value) < 2 for value in sample):
        sample = tuple(torch.cat([value, value]) if len(value) < 2 else value for value in sample)
    try:
        with plain_attention(), silent_tracing():
            program = torch.export.export(
                model, sample, dynamic_shapes=tuple({0: torch.export.Dim.AUTO} for _ in sample), strict=False
            )
        return program.module(check_guards=False)
    except MicrolithError:
        raise
    except Exception as error:
        raise QuantizationError(
            f"cannot be traced: {(str(error) or type(error).__name__).strip().splitlines()[0]}",
            where=type(model).__name__,
            hint="QAT sees a model as torch.export does: no `if` or `for` over values of tensors",
        ) from error


@contextmanager
def plain_attention() -> Iterator[None]:
    """Attention as matrix products and a softmax, which have integer forms."""
    original: Callable[..., Tensor] = functional.scaled_dot_product_attention

    def attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        if enable_gqa:
            return original(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=True)
        factor = query.shape[-1] ** -0.5 if scale is None else scale
        scores = torch.matmul(query * factor, key.transpose(-2, -1))
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        if attn_mask is not None:
            hidden = torch.zeros(attn_mask.shape).masked_fill(~attn_mask, -1e4)
            scores = scores + (hidden if attn_mask.dtype == torch.bool else attn_mask)
        weights = torch.softmax(scores, -1)
        return torch.matmul(functional.dropout(weights, dropout_p) if dropout_p else weights, value)

    functional.scaled_dot_product_attention = attention
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = original
