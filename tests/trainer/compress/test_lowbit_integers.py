# SPDX-License-Identifier: Apache-2.0
"""Searched weights and integer activations: the codes reach ONNX as they are, between QuantizeLinear pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchao", reason="torchao is not installed")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
from torch import nn  # noqa: E402

from microlith import trainer  # noqa: E402
from microlith.trainer.compress.lowbit_layers import LowBitConv2d, LowBitLinear  # noqa: E402


def codes(bits: int, *shape: int) -> torch.Tensor:
    return 2 * torch.randint(0, 2**bits, shape) - (2**bits - 1)


def test_activations_become_integers_and_codes_stay(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        LowBitConv2d(codes(1, 6, 2, 3, 3), torch.rand(6) / 10 + 0.1, torch.randn(6), padding=1),
        nn.ReLU(),
        LowBitConv2d(codes(2, 4, 6, 3, 3), torch.rand(4) / 20 + 0.02, torch.randn(4)),
        nn.ReLU(),
        nn.Flatten(),
        LowBitLinear(codes(4, 5, 64), torch.rand(5) / 100 + 0.01, torch.randn(5)),
    )
    kept = [layer.codes.clone() for layer in (model[0], model[2], model[5])]
    x = torch.randn(64, 2, 6, 6)
    wanted = model(x).detach()
    quantization = trainer.QAT(sample=x[:2])
    trained = quantization.apply(model).train()
    for step in range(200):
        quantization.on_step(step, 200)
        trained(x)
    plain = quantization.convert(trained)
    with torch.no_grad():
        noise = float((plain(x) - wanted).pow(2).mean() / wanted.pow(2).mean())
    assert noise < 1e-3  # 8 bits: 30 dB are far below what rounding of activations costs

    torch.onnx.export(plain, (x[:1],), tmp_path / "integers.onnx", dynamo=True, verbose=False)
    proto = onnx.load(tmp_path / "integers.onnx")
    stored = {item.name: onnx.numpy_helper.to_array(item) for item in proto.graph.initializer}
    makers = {name: node for node in proto.graph.node for name in node.output}
    layers = [node for node in proto.graph.node if node.op_type in ("Conv", "Gemm")]
    assert len(layers) == 3
    for node, wanted_codes in zip(layers, kept, strict=True):
        weight = makers[node.input[1]]
        assert weight.op_type == makers[node.input[0]].op_type == "DequantizeLinear"
        np.testing.assert_array_equal(stored[weight.input[0]], wanted_codes.numpy())
    session = onnxruntime.InferenceSession(tmp_path / "integers.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {proto.graph.input[0].name: x[:1].numpy()})
    step = stored[makers[proto.graph.output[0].name].input[1]]
    np.testing.assert_allclose(found, plain(x[:1]).detach().numpy(), atol=1.01 * float(step))
