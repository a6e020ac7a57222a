# SPDX-License-Identifier: Apache-2.0
"""Channels really go: a pruned model computes what the whole one does when nobody reads the channels that went."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from microlith.errors import InputError, ShapeError  # noqa: E402
from microlith.trainer.compress.channel_layout import trace_layout  # noqa: E402
from microlith.trainer.compress.channel_surgery import remove_channels  # noqa: E402


def block(inputs: int, outputs: int, **more: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False, **more), nn.BatchNorm2d(outputs), nn.SiLU()
    )


class Plain(nn.Module):
    """Convolutions, a flattened map and two dense layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = block(3, 6), block(6, 8)
        self.hidden, self.last = nn.Linear(8 * 16, 10), nn.Linear(10, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(self.second(self.first(x)), 2)
        return self.last(torch.sigmoid(self.hidden(x.view(x.size(0), -1))))


class Residual(nn.Module):
    """Two additions that share one group of channels, a bottleneck of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.reduce, self.expand, self.more = block(3, 8), block(8, 5), block(5, 8), block(8, 8)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = x + self.expand(self.reduce(x))
        x = torch.relu(self.more(x) + x)
        return self.head(x.mean((2, 3)))


class Separable(nn.Module):
    """Depthwise (also with two outputs per channel), PReLU per channel, a gate, a concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.depth, self.wide = block(3, 6), block(6, 6, groups=6), block(6, 12, groups=6)
        self.prelu = nn.PReLU(6)
        self.squeeze, self.excite = nn.Conv2d(6, 3, 1), nn.Conv2d(3, 6, 1)
        self.side, self.point = nn.Conv2d(6, 5, 1), nn.Conv2d(17, 7, 1)
        self.pool, self.head = nn.AdaptiveAvgPool2d(2), nn.Linear(28, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.prelu(self.depth(self.stem(x)))
        gate = torch.sigmoid(self.excite(F.relu(self.squeeze(x.mean((2, 3), keepdim=True)))))
        x = x * gate
        x = torch.cat([self.side(x), self.wide(x)], dim=1)
        return self.head(torch.flatten(self.pool(F.hardswish(self.point(x))), 1))


class Hourglass(nn.Module):
    """Down and up again: transposed convolutions, one of them depthwise, and a bridge that concatenates."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.low = block(3, 6, stride=2), nn.Conv2d(6, 8, 1)
        self.up, self.norm = nn.ConvTranspose2d(8, 5, 2, 2), nn.BatchNorm2d(5)
        self.wide = nn.ConvTranspose2d(5, 10, 3, padding=1, groups=5)
        self.bridge, self.last = nn.Conv2d(3, 4, 1), nn.ConvTranspose2d(14, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm(self.up(torch.relu(self.low(self.down(x))))))
        return self.last(torch.cat([self.bridge(x), torch.tanh(self.wide(y))], 1))


class Signal(nn.Module):
    """One dimension; dense layers on ``[N, T, C]``."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 6, 3), nn.BatchNorm1d(6)
        self.dense, self.up, self.down = nn.Linear(6, 6), nn.Linear(6, 9), nn.Linear(9, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = F.avg_pool1d(F.leaky_relu(self.norm(self.conv(x))), 2).flatten(2).mean(-1)
        x = x + self.dense(x)
        return self.down(F.gelu(self.up(x)))


# Model, shape of an input, and for each prunable group its producers and the (layer, first input, channels, repeat)
# that read it: written down by hand.
CASES = [
    (
        Plain,
        (3, 8, 8),
        {
            "first.0": [("second.0", 0, 6, 1)],
            "second.0": [("hidden", 0, 8, 16)],
            "hidden": [("last", 0, 10, 1)],
        },
    ),
    (
        Residual,
        (3, 6, 6),
        {
            "stem.0 expand.0 more.0": [("reduce.0", 0, 8, 1), ("more.0", 0, 8, 1), ("head", 0, 8, 1)],
            "reduce.0": [("expand.0", 0, 5, 1)],
        },
    ),
    (
        Separable,
        (3, 6, 6),
        {
            "stem.0 excite": [("squeeze", 0, 6, 1), ("side", 0, 6, 1), ("point", 5, 6, 2)],
            "squeeze": [("excite", 0, 3, 1)],
            "side": [("point", 0, 5, 1)],
            "point": [("head", 0, 7, 4)],
        },
    ),
    (
        Hourglass,
        (3, 6, 6),
        {
            "down.0": [("low", 0, 6, 1)],
            "low": [("up", 0, 8, 1)],
            "up": [("last", 4, 5, 2)],
            "bridge": [("last", 0, 4, 1)],
        },
    ),
    (Signal, (3, 12), {"conv dense": [("dense", 0, 6, 1), ("up", 0, 6, 1)], "up": [("down", 0, 9, 1)]}),
]


def randomized(model: nn.Module) -> nn.Module:
    """Statistics and factors of normalization that are no zeros and ones; weights that do not fade with depth."""
    for module in model.modules():
        if isinstance(module, (nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
            module.weight.data.mul_(2)
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            for tensor in (module.weight.data, module.bias.data, module.running_mean, module.running_var):
                tensor.copy_(torch.rand_like(tensor) + 0.5)
    return model.eval()


@pytest.mark.parametrize(("kind", "shape", "groups"), CASES, ids=lambda item: getattr(item, "__name__", ""))
def test_pruned_model_is_the_masked_one(
    kind: type[nn.Module], shape: Sequence[int], groups: dict[str, list[tuple[str, int, int, int]]]
) -> None:
    torch.manual_seed(0)
    model = randomized(kind())
    x = torch.randn(2, *shape)
    layout = trace_layout(model, (x,))
    found = {root: " ".join(item.layer for item in members) for root, members in layout.free_groups().items()}
    assert sorted(found.values()) == sorted(groups)
    for chosen in [*groups, None]:
        masked, pruned, kept = copy.deepcopy(model), copy.deepcopy(model), {}
        for root, members in found.items():
            if chosen not in (None, members):
                continue
            size = layout.sizes[root]
            gone = torch.randperm(size, generator=torch.Generator().manual_seed(root))[: size // 2]
            kept[root] = torch.tensor(sorted(set(range(size)) - set(gone.tolist())))
            for reader, first, channels, repeat in groups[members]:
                assert channels == size
                layer = masked.get_submodule(reader)
                weights = layer.weight.data  # inputs of a transposed convolution are its first axis
                by_input = weights if isinstance(layer, nn.ConvTranspose2d) else weights.transpose(0, 1)
                for channel in gone.tolist():
                    start = first + channel * repeat
                    by_input[start : start + repeat] = 0
        remove_channels(pruned, layout, kept)
        assert torch.allclose(pruned(x), masked(x), rtol=1e-4, atol=1e-5)
        assert not torch.allclose(pruned(x), model(x), atol=1e-3)
        smaller = sum(parameter.numel() for parameter in pruned.parameters())
        assert smaller < sum(parameter.numel() for parameter in model.parameters())
        pruned.train()(x).sum().backward()
        assert all(parameter.grad is not None for parameter in pruned.parameters())
        again = trace_layout(pruned, (x,))
        assert len(again.sizes) == len(layout.sizes)


def test_layers_know_their_new_sizes() -> None:
    model = randomized(Separable())
    layout = trace_layout(model, (torch.randn(1, 3, 6, 6),))
    root = next(root for root, members in layout.free_groups().items() if members[0].layer == "stem.0")
    remove_channels(model, layout, {root: torch.tensor([1, 4])})
    assert (model.stem[0].out_channels, model.stem[1].num_features) == (2, 2)
    assert (model.depth[0].groups, model.depth[0].in_channels, model.depth[0].out_channels) == (2, 2, 2)
    assert (model.wide[0].groups, model.wide[0].in_channels, model.wide[0].out_channels) == (2, 2, 4)
    assert (model.point.in_channels, model.prelu.num_parameters, model.squeeze.in_channels) == (9, 2, 2)


class Odd(nn.Module):
    """What is not followed: a reshape with numbers, grouped convolution, a layer used twice, channels read singly."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Conv2d(4, 4, 1) for _ in range(4))
        self.grouped, self.free, self.last = nn.Conv2d(4, 4, 1, groups=2), nn.Conv2d(4, 6, 1), nn.Conv2d(6, 4, 1)
        self.head = nn.Linear(16, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.grouped(self.a(x))
        x = self.b(self.b(x)) + self.c(x)[:, :1]
        x = self.last(self.free(self.d(x).softmax(1)))
        return self.head(x.reshape(-1, 16))


def test_groups_that_are_not_understood_stay() -> None:
    layout = trace_layout(Odd().eval(), (torch.randn(2, 4, 2, 2),))
    assert [item.layer for members in layout.free_groups().values() for item in members] == ["free"]
    reasons = layout.reasons()
    assert "grouped has 2 groups" in reasons["a"] and "used more than once" in reasons["b"]
    assert "getitem" in reasons["c"] and "softmax" in reasons["d"] and "states the number" in reasons["last"]
    assert reasons["head"] == "an output of the model"


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="cannot be traced"):
        trace_layout(Branching(), (torch.randn(1, 2),))
    with pytest.raises(ShapeError, match=r"\[1, 4, 8, 8\] does not fit"):
        trace_layout(Plain(), (torch.randn(1, 4, 8, 8),))
    model = Plain()
    layout = trace_layout(model, (torch.randn(1, 3, 8, 8),))
    root = next(iter(layout.free_groups()))
    for kept in ([], [0, 6], [1, 0], [-1, 2]):
        with pytest.raises(InputError, match="kept channels"):
            remove_channels(model, layout, {root: torch.tensor(kept, dtype=torch.long)})
    with pytest.raises(InputError, match="cannot go"):
        remove_channels(model, layout, {0: torch.tensor([0])})


def test_channels_are_gone_from_the_exported_graph(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    torch.manual_seed(0)
    model, x = randomized(Separable()), torch.randn(1, 3, 6, 6)
    layout = trace_layout(model, (x,))
    remove_channels(model, layout, {root: torch.arange(layout.sizes[root] // 2) for root in layout.free_groups()})
    wanted = model(x).detach().numpy()
    torch.onnx.export(model, (x,), tmp_path / "small.onnx", dynamo=True, verbose=False)
    proto = onnx.load(tmp_path / "small.onnx")
    shapes = {item.name: list(item.dims) for item in proto.graph.initializer}
    assert [shapes[f"{name}.weight"] for name in ("stem.0", "squeeze", "excite", "point", "head")] == [
        [3, 3, 3, 3],
        [1, 3, 1, 1],
        [3, 1, 1, 1],
        [3, 2 + 2 * 3, 1, 1],
        [4, 3 * 4],
    ]
    session = onnxruntime.InferenceSession(tmp_path / "small.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {proto.graph.input[0].name: x.numpy()})
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
