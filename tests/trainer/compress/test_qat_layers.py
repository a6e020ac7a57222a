# SPDX-License-Identifier: Apache-2.0
"""Which layers quantization-aware training takes to integers: measured against PyTorch in floating point and ONNX
Runtime, which runs what was exported."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from microlith import trainer
from microlith.trainer.compress.qat import QuantizationError

ROWS = torch.randn(64, 12, generator=torch.Generator().manual_seed(1))
SERIES = torch.randn(64, 4, 16, generator=torch.Generator().manual_seed(2))
IMAGES = torch.randn(64, 4, 6, 6, generator=torch.Generator().manual_seed(3))


def settled(*layers: nn.Module, sample: Tensor) -> nn.Sequential:
    """A model whose normalizations know the statistics of the sample, with factors of either sign."""
    model = nn.Sequential(*layers)
    torch.manual_seed(4)
    for module in model.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.uniform_(module.bias, -0.5, 0.5)
            with torch.no_grad():
                module.weight[0] *= -1
    model.train()
    with torch.no_grad():
        for _ in range(60):
            model(sample)
    return model.eval()


def quantized(model: nn.Module, sample: Tensor, path: Path) -> tuple[trainer.Exported, nn.Module]:
    """Ranges are learnt, weights stay."""
    compressor = trainer.QAT(sample)
    prepared = compressor.apply(copy.deepcopy(model))
    for step in range(60):
        compressor.on_step(step, 60)
        with torch.no_grad():
            prepared(sample)
    converted = compressor.convert(prepared)
    return trainer.export(converted, sample[:8], path), converted


def noise(values: Tensor, expected: Tensor) -> float:
    """Of values, relative to what is expected."""
    return float((values - expected).norm() / expected.norm())


MODELS = {
    "conv1d": (
        [nn.Conv1d(4, 8, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 3, groups=8), nn.ReLU6(),
         nn.AvgPool1d(2), nn.Flatten(), nn.Linear(24, 5)],
        SERIES,
    ),
    "conv1d with holes": (
        [nn.Conv1d(4, 8, 3, stride=2, dilation=2, bias=False), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
         nn.Linear(8, 5)],
        SERIES,
    ),
    "conv1d, same": ([nn.Conv1d(4, 8, 4, padding="same"), nn.ReLU(), nn.Conv1d(8, 2, 3, padding="same")], SERIES),
    "conv2d, same": (
        [nn.Conv2d(4, 8, (3, 2), padding="same"), nn.ReLU(), nn.Conv2d(8, 2, 3, padding="valid")],
        IMAGES,
    ),
    "transposed over one dimension": (
        [nn.ConvTranspose1d(4, 8, 3, stride=2), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 2, 3)],
        SERIES,
    ),
    "transposed over two": (
        [nn.ConvTranspose2d(4, 8, 3, stride=2, output_padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 2, 2)],
        IMAGES,
    ),
    "linear and normalization": (
        [nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 16, bias=False), nn.BatchNorm1d(16),
         nn.Linear(16, 4)],
        ROWS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_it_becomes_integers_that_are_near_the_floats(name: str, tmp_path: Path) -> None:
    layers, sample = MODELS[name]
    model = settled(*layers, sample=sample)
    exported, converted = quantized(model, sample, tmp_path / "net.lith")
    assert exported.float_layers == ()
    computing = [node for node in exported.graph.nodes if node.op not in ("quantize", "dequantize")]
    assert {node.outputs[0].dtype.name for node in computing} == {"s8"}
    assert not any(node.op in ("mul", "add", "lut") for node in computing)
    with torch.no_grad():
        assert noise(converted(sample), model(sample)) < 0.05
    assert all(item.largest_error <= 2.01 * step(exported) for item in exported.agreement)


def step(exported: trainer.Exported) -> float:
    """Of the output."""
    (output,) = exported.graph.outputs
    assert output.producer is not None
    quant = output.producer.input(0).quant
    assert quant is not None
    return float(quant.scale[0])


@pytest.mark.parametrize("layer", [nn.ConvTranspose1d(4, 6, 3), nn.Conv1d(4, 6, 3)])
def test_each_output_channel_has_a_scale(layer: nn.Module, tmp_path: Path) -> None:
    exported, _ = quantized(settled(layer, nn.ReLU(), sample=SERIES), SERIES, tmp_path / "net.lith")
    proto = onnx.load(exported.onnx_path)
    constants = {item.name: numpy_helper.to_array(item) for item in proto.graph.initializer}
    (node,) = [node for node in proto.graph.node if node.op_type in ("Conv", "ConvTranspose")]
    (decode,) = [item for item in proto.graph.node if node.input[1] in item.output]
    weights, scales, _ = (constants[name] for name in decode.input)
    axis = next(item.i for item in decode.attribute if item.name == "axis")
    assert axis == (1 if node.op_type == "ConvTranspose" else 0) and scales.shape == (6,)
    assert (np.abs(weights.astype(int)).max(tuple(i for i in range(3) if i != axis)) == 127).all()


def test_normalized_linear_layers_train_as_without_rounding() -> None:
    """The factor that the weights were given is taken back: with fine steps the gradients are those of the model."""
    model = settled(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.Linear(16, 4), sample=ROWS)
    prepared = trainer.QAT(ROWS).apply(copy.deepcopy(model))
    for module in (model.train(), prepared.train()):
        for _ in range(2):  # the first pass of ranges that are learnt has none to go by
            module.zero_grad()
            module(ROWS).square().mean().backward()
    names = dict(prepared.named_parameters())
    for name, value in model.named_parameters():
        (twin,) = [item for key, item in names.items() if key.endswith(name)]
        if name != "0.bias":  # in front of a normalization: no gradient
            assert noise(twin.grad, value.grad) < 0.1, name


@pytest.mark.parametrize(
    ("layer", "sample"),
    [
        (nn.ConvTranspose1d(4, 4, 3, groups=2), SERIES),
        (nn.ConvTranspose2d(4, 4, 3, groups=4), IMAGES),
        (nn.Conv3d(4, 4, 1), IMAGES[:, :, None]),
    ],
)
def test_what_has_no_integer_form_is_named(layer: nn.Module, sample: Tensor, tmp_path: Path) -> None:
    model = nn.Sequential()
    model.add_module("body", layer)
    model.add_module("head", nn.Linear(sample.shape[-1] + (0 if isinstance(layer, nn.Conv3d) else 2), 3))
    with pytest.raises(QuantizationError, match=r"'body': [^$]*floating point only[^$]*QAT\(skip=\[\"body\"\]\)"):
        trainer.QAT(sample).apply(copy.deepcopy(model))
    compressor = trainer.QAT(sample, skip=["body"])
    prepared = compressor.apply(model)
    prepared(sample)
    exported = trainer.export(compressor.convert(prepared), sample[:4], tmp_path / "net.lith")
    assert len(exported.float_layers) == 1


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width), nn.MultiheadAttention(width, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        return x + self.mix(y, y, y, need_weights=False)[0]


def test_attention_shrinks(tmp_path: Path) -> None:
    """A file of integers is a quarter of the floats, and what describes it does not grow with what the flow went
    through: no op that only renames, no name of every step."""
    torch.manual_seed(0)
    sample = torch.randn(64, 8, 64)
    model = Attention(64)
    whole = trainer.export(model, sample[:2], tmp_path / "whole.lith").path.stat().st_size
    exported, _ = quantized(model, sample, tmp_path / "small.lith")
    weights = sum(value.numel() for value in model.parameters())
    assert exported.float_layers == () and whole > 4 * weights
    assert exported.path.stat().st_size < 2 * weights
    assert max(len(value.name) for value in exported.graph.values()) < 80
    nodes = exported.graph.nodes
    assert not any(node.op == "reshape" and node.inputs[0].producer in nodes
                   and node.inputs[0].producer.op == "reshape" for node in nodes)  # fmt: skip
