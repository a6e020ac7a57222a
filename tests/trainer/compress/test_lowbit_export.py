# SPDX-License-Identifier: Apache-2.0
"""Low-bit layers in ONNX: integers behind DequantizeLinear, and the outputs of ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
from torch import nn  # noqa: E402

from microlith.errors import InputError  # noqa: E402
from microlith.trainer.compress.lowbit_layers import LowBitConv1d, LowBitConv2d, LowBitLinear, low_bit  # noqa: E402


def codes(bits: int, *shape: int) -> torch.Tensor:
    return 2 * torch.randint(0, 2**bits, shape) - (2**bits - 1)


def net() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(
        LowBitConv2d(codes(1, 6, 1, 3, 3), torch.rand(6) + 0.1, torch.randn(6), padding=1),
        nn.ReLU(),
        LowBitConv2d(codes(2, 6, 1, 3, 3), torch.rand(6) + 0.1, stride=2, groups=6),
        nn.ReLU(),
        nn.Flatten(),
        LowBitLinear(codes(4, 5, 54), torch.tensor(0.02), torch.randn(5)),
    ).eval()


@pytest.mark.parametrize("before", [False, True], ids=["module", "exported program"])
def test_onnx_holds_integers_and_scales(tmp_path: Path, before: bool) -> None:
    model, x = net(), torch.randn(2, 1, 8, 8)
    subject = torch.export.export(model, (x,)) if before else model
    torch.onnx.export(subject, (x,), tmp_path / "low.onnx", dynamo=True, verbose=False)
    proto = onnx.load(tmp_path / "low.onnx")
    stored = {item.name: onnx.numpy_helper.to_array(item) for item in proto.graph.initializer}
    dequantized = [node for node in proto.graph.node if node.op_type == "DequantizeLinear"]
    assert len(dequantized) == 3
    for node, layer in zip(dequantized, (model[0], model[2], model[5]), strict=True):
        assert stored[node.input[0]].dtype == np.int8
        np.testing.assert_array_equal(stored[node.input[0]], layer.codes.numpy())
        np.testing.assert_array_equal(stored[node.input[1]], layer.scale.numpy())
        assert not stored[node.input[2]].any()
        assert [attribute.i for attribute in node.attribute if attribute.name == "axis"] == [0]
    session = onnxruntime.InferenceSession(tmp_path / "low.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {proto.graph.input[0].name: x.numpy()})
    np.testing.assert_allclose(found, model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_layers_compute_what_plain_layers_compute() -> None:
    torch.manual_seed(0)
    for plain, x in (
        (nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), torch.randn(2, 4, 11)),
        (nn.Conv2d(4, 6, (3, 5), padding="same"), torch.randn(2, 4, 7, 7)),
        (nn.Linear(4, 6, bias=False), torch.randn(2, 3, 4)),
    ):
        scale, code = torch.rand(6) + 0.1, codes(2, *plain.weight.shape)
        plain.weight.data = code * scale.view(-1, *[1] * (plain.weight.dim() - 1))
        made = low_bit(plain, code, scale)
        assert made.bits == 2 and torch.allclose(made(x), plain(x), rtol=1e-6, atol=1e-6)


def test_states_can_be_stored() -> None:
    model, other = net(), net()
    other[0].codes.neg_()
    other.load_state_dict(model.state_dict())
    x = torch.randn(2, 1, 8, 8)
    assert torch.equal(other(x), model(x))


def test_what_cannot_be() -> None:
    with pytest.raises(InputError, match="no low-bit form"):
        low_bit(nn.ConvTranspose2d(2, 2, 3), codes(1, 2, 2, 3, 3), torch.ones(2))
    with pytest.raises(InputError, match="scale is not positive"):
        LowBitLinear(codes(1, 2, 3), torch.tensor([1.0, -1.0]), None)
    with pytest.raises(InputError, match="scales for 2 output channels"):
        LowBitLinear(codes(1, 2, 3), torch.ones(3), None)
    with pytest.raises(InputError, match="codes of type"):
        LowBitConv1d(torch.ones(2, 2, 3), torch.ones(2))
    with pytest.raises(InputError, match="padding mode 'reflect'"):
        LowBitConv1d(codes(1, 2, 2, 3), torch.ones(2), padding_mode="reflect")
