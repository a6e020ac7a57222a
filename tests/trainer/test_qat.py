# SPDX-License-Identifier: Apache-2.0
"""Quantization-aware training: by the rules of the ops, to integers without a float layer."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from small_training import digits, train
from torch import Tensor, nn

from microlith import ops, trainer
from microlith.errors import InputError
from microlith.trainer.compress.qat import QuantizationError


class Attention(nn.Module):
    """One block of a transformer over 8 tokens of 8 numbers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.embed, self.norm = nn.Linear(8, 16), nn.LayerNorm(16)
        self.mix = nn.MultiheadAttention(16, 2, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x.flatten(1, 2))
        y = self.norm(x)
        x = x + self.mix(y, y, y, need_weights=False)[0]
        x = x + self.feed(x)
        return self.head(x.mean(1))


def plain(*layers: nn.Module) -> nn.Sequential:
    """A model of its own, the same for the same layers, whatever was drawn when they were made."""
    made = nn.Sequential(*copy.deepcopy(layers))
    torch.manual_seed(2)
    for module in made.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    return made


def steps(compressor: trainer.QAT, model: nn.Module, sample: Tensor, count: int = 12) -> nn.Module:
    """A few steps of training on noise, so that ranges are seen."""
    prepared = compressor.apply(model)
    optimizer = torch.optim.SGD(prepared.parameters(), 0.01)
    for step in range(count):
        compressor.on_step(step, count)
        optimizer.zero_grad()
        prepared(sample).square().mean().backward()
        optimizer.step()
    return prepared


def integer_model(model: nn.Module, folder: Path, **options: Any) -> tuple[trainer.Exported, nn.Module]:
    torch.manual_seed(0)
    sample = torch.from_numpy(digits()[0][:64])
    compressor = trainer.QAT(sample, **options)
    converted = compressor.convert(steps(compressor, model, sample))
    return trainer.export(converted, sample[:8], folder / "net.lith"), converted


def layers(exported: trainer.Exported) -> dict[str, str]:
    """The ops that compute, and the type that they compute in."""
    return {node.op: node.outputs[0].dtype.name for node in exported.graph.nodes}


CONVOLUTIONS = (
    nn.Conv2d(1, 6, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(6, 6, 3, padding=1, groups=6),
    nn.ReLU6(),
    nn.AvgPool2d(2),
    nn.Flatten(),
    nn.Linear(24, 10),
    nn.Softmax(1),
)


def test_convolutions_become_integers(tmp_path: Path) -> None:
    exported, _ = integer_model(plain(*CONVOLUTIONS), tmp_path)
    assert exported.float_layers == ()
    assert {"conv2d": "s8", "depthwise_conv2d": "s8", "dense": "s8", "softmax": "s8"}.items() <= layers(
        exported
    ).items()
    assert exported.agreement[-1].largest_error <= 2 / 256


def test_scales_are_those_of_the_rules(tmp_path: Path) -> None:
    exported, _ = integer_model(plain(*CONVOLUTIONS), tmp_path)
    proto = onnx.load(exported.onnx_path)
    constants = {item.name: numpy_helper.to_array(item) for item in proto.graph.initializer}
    producers = {name: node for node in proto.graph.node for name in node.output}
    (softmax,) = [node for node in proto.graph.node if node.op_type == "Softmax"]
    (quantize,) = [node for node in proto.graph.node if softmax.output[0] in node.input]
    rule = ops.get("softmax").quant
    assert rule is not None and rule.fixed is not None
    assert (float(constants[quantize.input[1]]), int(constants[quantize.input[2]])) == rule.fixed
    weighted = [node for node in proto.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
    assert len(weighted) == 3
    for node in weighted:
        decode = producers[node.input[1]]
        if decode.op_type == "Transpose":
            decode = producers[decode.input[0]]
        weights, scales, zeros = (constants[name] for name in decode.input)
        assert weights.dtype == np.int8 and weights.min() >= -127 and not zeros.any()
        assert scales.shape == (weights.shape[0],) and np.abs(weights).reshape(len(weights), -1).max(1).min() == 127
    pool = next(node for node in proto.graph.node if node.op_type == "MaxPool")
    before = producers[pool.input[0]]
    after = next(node for node in proto.graph.node if pool.output[0] in node.input)
    assert constants[before.input[1]] == constants[after.input[1]]


def test_biases_are_whole_in_their_units(tmp_path: Path) -> None:
    """A layer whose results are small beside its inputs: a bias of other units would not be rounded unseen."""
    torch.manual_seed(5)
    first = nn.Linear(2, 4)
    with torch.no_grad():
        first.weight.mul_(0.02).add_(torch.tensor([1.0, -1.0]))
    sample = torch.rand(64, 1) * 8 + torch.randn(64, 2) * 0.01
    compressor = trainer.QAT(sample)
    converted = compressor.convert(steps(compressor, nn.Sequential(first, nn.ReLU(), nn.Linear(4, 2)), sample))
    exported = trainer.export(converted, sample[:8], tmp_path / "net.lith")
    assert exported.float_layers == ()
    proto = onnx.load(exported.onnx_path)
    constants = {item.name: numpy_helper.to_array(item) for item in proto.graph.initializer}
    producers = {name: node for node in proto.graph.node for name in node.output}
    layers = [node for node in proto.graph.node if node.op_type == "Gemm"]
    for node in layers:
        scales = [constants[producers[name].input[1]].astype(np.float64) for name in node.input[:2]]
        whole = constants[node.input[2]] / (scales[0] * scales[1])
        np.testing.assert_allclose(whole, np.rint(whole), atol=1e-3)
    assert len(layers) == 2


def test_a_transformer_becomes_integers(tmp_path: Path) -> None:
    exported, _ = integer_model(Attention(), tmp_path)
    assert exported.float_layers == ()
    assert {"matmul": "s8", "softmax": "s8", "layer_norm": "s8", "lut": "s8"}.items() <= layers(exported).items()


def test_converting_changes_no_result_by_more_than_a_step() -> None:
    """The prepared model in eval mode and the converted one differ in ties and in biases, which become whole."""
    sample = torch.from_numpy(digits()[0][:64])
    compressor = trainer.QAT(sample)
    prepared = steps(compressor, plain(*CONVOLUTIONS[:-1]), sample)
    prepared.eval()
    with torch.no_grad():
        before = prepared(sample)
        after = compressor.convert(prepared)(sample)
    step = float((before[before != before[0, 0]] - before[0, 0]).abs().min())
    assert float((after - before).abs().max()) <= 1.01 * step


def test_dropout_and_batch_statistics_follow_the_mode() -> None:
    sample = torch.from_numpy(digits()[0][:64])
    model = plain(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.Linear(144, 10))
    prepared = trainer.QAT(sample).apply(model)
    prepared(sample)
    prepared.eval()
    assert torch.equal(prepared(sample), prepared(sample)) and torch.equal(prepared(sample)[:5], prepared(sample[:5]))
    prepared.train()
    assert not torch.equal(prepared(sample), prepared(sample))
    (dropout,) = [node for node in prepared.graph_module.graph.nodes if "dropout" in str(node.target)]
    assert dropout.args[1:] == (0.1, True)


def test_training_with_it_keeps_the_accuracy(tmp_path: Path) -> None:
    images, labels = digits()
    data, validation = (images[:500], labels[:500]), (images[500:], labels[500:])
    model = plain(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10)
    )
    options: dict[str, Any] = {"data": data, "validation": validation}
    whole = train(tmp_path, model, epochs=8, **options)
    small = train(tmp_path, whole.model, epochs=2, learning_rate=1e-3, compressors=trainer.QAT(), **options)
    assert small.metrics["val_accuracy"] >= whole.metrics["val_accuracy"] - 0.02
    exported = trainer.export(small.model, images[500:510], tmp_path / "net.lith")
    assert exported.float_layers == () and layers(exported)["conv2d"] == "s8"
    with torch.no_grad():
        accuracy = float((small.model(torch.from_numpy(images[500:])).argmax(1).numpy() == labels[500:]).mean())
    assert accuracy >= whole.metrics["val_accuracy"] - 0.02


def test_ranges_are_frozen_at_the_end() -> None:
    sample = torch.from_numpy(digits()[0][:64])
    compressor = trainer.QAT(sample, freeze=0.5)
    prepared = compressor.apply(plain(*CONVOLUTIONS[:-1]))
    scales = []
    for step in range(4):
        compressor.on_step(step, 4)
        prepared(sample * (step + 1))
        scales.append({name: value.clone() for name, value in prepared.named_buffers() if name.endswith("_0.scale")})
    assert any(not torch.equal(scales[0][name], scales[1][name]) for name in scales[0])
    assert all(torch.equal(scales[1][name], scales[3][name]) for name in scales[0])


def test_skipped_modules_stay_in_floating_point(tmp_path: Path) -> None:
    model = nn.Sequential()
    torch.manual_seed(1)
    model.add_module("body", nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten()))
    model.add_module("head", nn.Linear(144, 10))
    exported, _ = integer_model(model, tmp_path, skip=["head"])
    assert layers(exported)["conv2d"] == "s8" and layers(exported)["dense"] == "f32"
    assert len(exported.float_layers) == 1 and exported.float_layers[0].startswith("dense")


def test_mistakes() -> None:
    sample = torch.zeros(2, 4)
    with pytest.raises(InputError, match="needs a sample"):
        trainer.QAT().apply(nn.Linear(4, 4))
    with pytest.raises(InputError, match="there is no module 'tail'"):
        trainer.QAT(sample, skip=["tail"]).apply(nn.Linear(4, 4))
    with pytest.raises(InputError, match="freeze is 2"):
        trainer.QAT(sample, freeze=2)
    with pytest.raises(QuantizationError, match="no layer with weights"):
        trainer.QAT(sample).apply(nn.ReLU())
    with pytest.raises(InputError, match=r"takes what QAT\.apply gave"):
        trainer.QAT(sample).convert(nn.ReLU())

    class Branching(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + 1 if float(x.sum()) > 0 else x

    with pytest.raises(QuantizationError, match="cannot be traced"):
        trainer.QAT(sample).apply(Branching())


def test_nothing_is_said_on_import() -> None:
    """torchao tells of libraries for other processors, PyTorch of torchao; in a process that has imported neither."""
    program = "from microlith import trainer; trainer.QAT()"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
