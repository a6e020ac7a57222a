# SPDX-License-Identifier: Apache-2.0
"""SCOP: knockoffs with the moments they promise, scores that find useless channels, plans that can be repeated."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import torch.nn.functional as F  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from microlith.errors import InputError, ShapeError  # noqa: E402
from microlith.trainer.compress.knockoffs import GaussianKnockoffs  # noqa: E402
from microlith.trainer.compress.scop import Scop, choose_channels  # noqa: E402


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_knockoffs_keep_means_and_covariances(correlation: float) -> None:
    draw = np.random.default_rng(0)
    mixing = draw.standard_normal((6, 6))
    x = draw.standard_normal((40_000, 6)) @ mixing + np.arange(6)
    knockoffs = GaussianKnockoffs(correlation)
    knockoffs.fit(torch.tensor(x))
    other = knockoffs.draw(torch.tensor(x), torch.Generator().manual_seed(0)).numpy()
    covariance = mixing.T @ mixing
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    joint = np.cov(x.T, other.T)
    np.testing.assert_allclose(other.mean(0), np.arange(6), atol=0.05 * np.sqrt(np.diag(covariance)).max())
    assert np.abs(joint[6:, 6:] - covariance).max() < 0.03 * scale.max()
    assert np.abs(joint[:6, 6:] - correlation * covariance).max() < 0.03 * scale.max()


def test_swapping_components_keeps_all_second_moments() -> None:
    draw = np.random.default_rng(1)
    x = draw.standard_normal((40_000, 4)) @ draw.standard_normal((4, 4))
    knockoffs = GaussianKnockoffs(0.6)
    knockoffs.fit(torch.tensor(x))
    other = knockoffs.draw(torch.tensor(x), torch.Generator().manual_seed(2)).numpy()
    basis = np.linalg.svd(x - x.mean(0), full_matrices=False)[2]
    a, b = (x - x.mean(0)) @ basis.T, (other - x.mean(0)) @ basis.T
    swapped = (np.where([1, 0, 1, 0], b, a), np.where([1, 0, 1, 0], a, b))
    before, after = np.cov(a.T, b.T), np.cov(swapped[0].T, swapped[1].T)
    assert np.abs(before - after).max() < 0.03 * np.diag(before).max()


def test_few_components_keep_the_total_variance() -> None:
    x = torch.randn(2000, 1, 5, 5, generator=torch.Generator().manual_seed(0))
    knockoffs = GaussianKnockoffs(0.5, components=4)
    knockoffs.fit(x)
    other = knockoffs.draw(x, torch.Generator().manual_seed(0))
    assert other.shape == x.shape and other.dtype == x.dtype
    assert float(other.var(0).sum()) == pytest.approx(float(x.var(0).sum()), rel=0.03)


def task(count: int = 512) -> tuple[Tensor, Tensor]:
    """Two features decide the class, six are noise."""
    x = torch.randn(count, 8, generator=torch.Generator().manual_seed(0))
    return x, (x[:, 0] + x[:, 1] > 0).long()


def half_useless() -> nn.Sequential:
    """Eight hidden channels of equal spread: the even ones carry the class, the odd ones noise that is read too."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Identity(), nn.Linear(8, 2))
    with torch.no_grad():
        model[0].weight.zero_()
        model[0].bias.zero_()
        for channel in range(8):
            model[0].weight[channel, channel % 2 * 2 : channel % 2 * 2 + 2] = 1.0
        model[2].weight.copy_(torch.tensor([[-1.0, 0.3] * 4, [1.0, -0.3] * 4]))
    return model


def test_scores_find_the_channels_that_carry_the_class() -> None:
    scop = Scop(0.5, data=task(), steps=60, learning_rate=0.02)
    model = half_useless()
    before = copy.deepcopy(model.state_dict())
    pruned = scop.apply(model)
    (group,) = scop.pruned
    assert (group.layers, group.before, group.kept) == (("0",), 8, (0, 2, 4, 6))
    assert min(group.scores[0::2]) > max(group.scores[1::2])
    assert torch.equal(pruned[0].weight, before["0.weight"][::2]) and pruned[2].in_features == 4
    assert scop.kept_by_layer == {"2": "an output of the model"}


def test_training_the_mixture_changes_nothing_of_the_model() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(96, 2)).train()
    model[4].bias.requires_grad_(False)
    before = copy.deepcopy(model.state_dict())
    x = torch.randn(64, 1, 6, 6)
    pruned = Scop(0.0, data=[(x[:32], torch.arange(32) % 2), (x[32:], torch.arange(32) % 2)], steps=5).apply(model)
    assert all(torch.equal(tensor, before[name]) for name, tensor in pruned.state_dict().items())
    assert pruned.training and pruned[0].weight.requires_grad and not pruned[4].bias.requires_grad
    assert not any(module._forward_hooks for module in pruned.modules())


def conv_net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 10, 3), nn.BatchNorm2d(10), nn.ReLU(), nn.Conv2d(10, 20, 3), nn.BatchNorm2d(20), nn.ReLU(),
        nn.Flatten(), nn.Linear(80, 2),
    )  # fmt: skip


def images() -> tuple[Tensor, Tensor]:
    x = torch.randn(64, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    return x, (x.mean((1, 2, 3)) > 0).long()


@pytest.mark.parametrize(
    ("ratio", "more", "left"),
    [
        (0.45, {}, [6, 11]),  # round(4.5) is 4
        ({"0": 0.3, "*": 0.5}, {}, [7, 10]),
        ({"3": 0.5}, {}, [10, 10]),
        (0.45, {"exclude": ["0"]}, [10, 11]),
        (0.99, {}, [1, 1]),
        (0.0, {}, [10, 20]),
    ],
)
def test_share_of_channels(ratio: Any, more: dict[str, Any], left: list[int]) -> None:
    pruned = Scop(ratio, data=images(), steps=2, batch_size=16, **more).apply(conv_net())
    assert [pruned[0].out_channels, pruned[3].out_channels] == left


def test_global_share() -> None:
    scores = {0: torch.tensor([0.1, 0.2, 0.3, 0.4]), 5: torch.tensor([0.5, 0.15, 0.7, 0.8, 0.9, 1.0])}
    kept = choose_channels(scores, {0: 0.0, 5: 0.0}, 0.4)
    # Relative to the mean of the group: 0.4, 0.8, 1.2, 1.6 and 0.74, 0.22, 1.04, 1.19, 1.33, 1.48.
    assert {root: indices.tolist() for root, indices in kept.items()} == {0: [2, 3], 5: [2, 3, 4, 5]}
    pruned = Scop(0.5, data=images(), steps=2, batch_size=16, scope="global").apply(conv_net())
    assert pruned[0].out_channels + pruned[3].out_channels == 15


def test_same_seed_same_channels_and_a_stored_plan_repeats_them() -> None:
    runs = [Scop(0.5, data=images(), steps=4, batch_size=16, seed=3) for _ in range(2)]
    models = [run.apply(conv_net()) for run in runs]
    assert runs[0].pruned == runs[1].pruned
    resumed = Scop(0.5)
    resumed.on_data((images()[0][:2],))
    resumed.load_state_dict(runs[0].state_dict())
    again = resumed.apply(conv_net())
    again.load_state_dict(models[0].state_dict())
    x = images()[0]
    assert torch.equal(resumed.convert(again)(x), models[0].eval()(x))
    assert resumed.state_dict() == runs[0].state_dict()


def test_mistakes_are_named() -> None:
    for ratio in (1.0, -0.1, math.nan, "half"):
        with pytest.raises(InputError, match="share of channels to prune is"):
            Scop(ratio)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs data"):
        Scop(0.5).apply(conv_net())
    with pytest.raises(InputError, match="no layer is called 'stem'"):
        Scop({"stem": 0.5}, data=images()).apply(conv_net())
    with pytest.raises(InputError, match="no layer can lose channels"):
        Scop(0.5, data=task()).apply(nn.Sequential(nn.Linear(8, 2)))
    with pytest.raises(InputError, match="are empty, or can be gone through only once"):
        Scop(0.5, data=[]).apply(conv_net())
    x, y = images()
    with pytest.raises(ShapeError, match="does not fit"):
        Scop(0.5, data=(x.flatten(1), y)).apply(conv_net())
    with pytest.raises(InputError, match="64 inputs and 3 targets"):
        Scop(0.5, data=(x, y[:3])).apply(conv_net())
    with pytest.raises(InputError, match="loss is nan"):
        Scop(0.5, data=(x, y), criterion=lambda a, b: F.cross_entropy(a, b) * math.nan).apply(conv_net())
    with pytest.raises(InputError, match="all finite"):
        Scop(0.5, data=(x * math.nan, y)).apply(conv_net())
    two = Scop(0.5, data=(x, y))
    two.on_data((x, x))
    with pytest.raises(InputError, match="a model of 2 inputs"):
        two.apply(conv_net())
    with pytest.raises(InputError, match="correlation of knockoffs"):
        GaussianKnockoffs(1.0)
    knockoffs = GaussianKnockoffs()
    knockoffs.fit(x)
    with pytest.raises(ShapeError, match="4 features; 36"):
        knockoffs.draw(x[:, :, :2, :2], torch.Generator())
