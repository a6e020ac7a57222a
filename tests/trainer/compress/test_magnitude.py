# SPDX-License-Identifier: Apache-2.0
"""Magnitude pruning: the right weights go, at the right time, and stay away."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402

from microlith.errors import InputError, UnsupportedError  # noqa: E402
from microlith.trainer.compress.lowbit_search import LowBitSearch  # noqa: E402
from microlith.trainer.compress.magnitude import MagnitudePruning, ramp, smallest  # noqa: E402


def net(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(32, 16), nn.Linear(16, 2)
    )


def train(model: nn.Module, pruning: MagnitudePruning, steps: range, total: int) -> list[float]:
    """Share of zeros after each step; momentum and weight decay try to bring weights back."""
    optimizer, shares = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=0.01), []
    for step in steps:
        x = torch.randn(4, 1, 6, 6, generator=torch.Generator().manual_seed(step))
        pruning.on_step(step, total)
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()
        shares.append(pruning.zeros())
    return shares


def weights(model: nn.Module) -> dict[str, np.ndarray]:
    return {
        name: layer.weight.detach().numpy()
        for name, layer in model.named_modules()
        if isinstance(layer, (nn.Conv2d, nn.Linear))
    }


def test_smallest_weights_go() -> None:
    weight = torch.tensor([[0.5, -0.1, 0.3], [-0.2, 0.9, -0.4]])
    assert smallest(weight, 0.5).tolist() == [[True, False, False], [False, True, True]]
    assert smallest(torch.ones(4), 0.5).tolist() == [False, False, True, True]


@pytest.mark.parametrize("scope", ["layer", "global"])
def test_sparsity_is_reached_and_kept(scope: str) -> None:
    model = net()
    pruning = MagnitudePruning(0.75, scope=scope, begin=0.2, end=0.8, every=2)  # type: ignore[arg-type]
    shares = train(pruning.apply(model), pruning, range(20), 20)
    assert shares[3] == 0 < shares[4] < shares[10] and shares == sorted(shares)
    total = sum(item.size for item in weights(model).values())
    assert shares[15:] == [pytest.approx(0.75, abs=2 / total)] * 5
    x = torch.randn(3, 1, 6, 6)
    wanted = model.eval()(x)
    plain = pruning.convert(model)
    assert torch.equal(plain(x), wanted)
    zeros = {name: (item == 0).mean() for name, item in weights(plain).items()}
    if scope == "layer":
        assert all(share == pytest.approx(0.75, abs=0.03) for share in zeros.values())
    else:
        assert max(zeros.values()) - min(zeros.values()) > 0.1
    assert not any("parametrizations" in name for name in plain.state_dict())


def test_cubic_ramp() -> None:
    assert [ramp(item) for item in (-1, 0, 0.5, 1, 2)] == [0, 0, 0.875, 1, 1]


@pytest.mark.parametrize("pattern", [(2, 4), (4, 8), (1, 4)])
def test_patterns_are_exact(pattern: tuple[int, int]) -> None:
    n, m = pattern
    pruning = MagnitudePruning(pattern=pattern)
    model = pruning.apply(net())
    before = {name: item.copy() for name, item in weights(model).items()}
    pruning.prune()
    plain = weights(pruning.convert(model))
    assert (plain["0"] != 0).all()  # one input channel: no group of m
    for name in ("2", "4", "5"):
        rows = np.moveaxis(plain[name], 1, -1).reshape(-1, m)
        whole = np.moveaxis(before[name], 1, -1).reshape(-1, m)
        assert ((rows != 0).sum(1) == n).all()
        kept = np.sort(np.abs(rows), 1)[:, m - n :]
        np.testing.assert_array_equal(kept, np.sort(np.abs(whole), 1)[:, m - n :])


def test_masks_resume_from_a_state_dict() -> None:
    straight, whole = net(), MagnitudePruning(0.5, every=3)
    train(whole.apply(straight), whole, range(8), 20)
    model, first = net(), MagnitudePruning(0.5, every=3)
    train(first.apply(model), first, range(8), 20)
    saved = copy.deepcopy(model.state_dict())
    resumed, second = net(seed=1), MagnitudePruning(0.5, every=3)
    second.apply(resumed).load_state_dict(saved)
    assert second.zeros() == first.zeros() > 0
    train(straight, whole, range(8, 12), 20)
    train(resumed, second, range(8, 12), 20)
    masks = [name for name in straight.state_dict() if name.endswith("mask")]
    assert masks and all(torch.equal(straight.state_dict()[name], resumed.state_dict()[name]) for name in masks)


def test_without_training_the_masks_are_set_in_the_end() -> None:
    pruning = MagnitudePruning(0.5)
    assert all((item == 0).mean() == 0.5 for item in weights(pruning.convert(pruning.apply(net()))).values())


def test_training_that_ends_early_ends_with_all_that_was_asked_for() -> None:
    model, pruning = net(), MagnitudePruning(0.8)
    train(pruning.apply(model), pruning, range(4), 20)
    assert 0 < pruning.zeros() < 0.5
    with pytest.warns(UserWarning, match="training ended with"):
        converted = pruning.convert(model)
    assert all((item == 0).mean() == pytest.approx(0.8, abs=0.02) for item in weights(converted).values())


def test_weights_that_are_searched_cannot_be_masked() -> None:
    search = LowBitSearch(2, layers=["2"])
    model = search.apply(net())
    with pytest.raises(UnsupportedError, match="parametrized already"):
        MagnitudePruning(0.5, layers=["2"]).apply(model)
    pruning = MagnitudePruning(0.5)  # takes the others
    pruning.apply(model)
    search.calibrate(model, [torch.randn(2, 1, 6, 6)])
    plain = search.convert(pruning.convert(model))
    assert plain[2].bits <= 2 and float((plain[4].weight == 0).float().mean()) == 0.5


def test_mistakes_are_named() -> None:
    for sparsity in (1.0, -0.5, math.nan, True):
        with pytest.raises(InputError, match="sparsity is"):
            MagnitudePruning(sparsity)
    with pytest.raises(InputError, match="one of both"):
        MagnitudePruning()
    with pytest.raises(InputError, match="one of both"):
        MagnitudePruning(0.5, pattern=(2, 4))
    for pattern in ((4, 4), (0, 4), (5, 4)):
        with pytest.raises(InputError, match="pattern"):
            MagnitudePruning(pattern=pattern)
    with pytest.raises(InputError, match="holds in each layer"):
        MagnitudePruning(pattern=(2, 4), scope="global")
    with pytest.raises(InputError, match="end of pruning is"):
        MagnitudePruning(0.5, begin=0.7, end=0.5)
    with pytest.raises(UnsupportedError, match="1 input channels are no multiple of 4"):
        MagnitudePruning(pattern=(2, 4), layers=["0"]).apply(net())
    with pytest.raises(UnsupportedError, match="ReLU '1'"):
        MagnitudePruning(0.5, layers=["1"]).apply(net())
    broken = net()
    broken[2].weight.data[0] = math.inf
    with pytest.raises(InputError, match="NaN or infinity"):
        MagnitudePruning(0.5).apply(broken)
