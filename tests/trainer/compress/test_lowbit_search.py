# SPDX-License-Identifier: Apache-2.0
"""SLB: distributions over codes, their gradients, their collapse, what is left of them in the converted model."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from microlith import trainer  # noqa: E402
from microlith.errors import InputError, UnsupportedError  # noqa: E402
from microlith.trainer.compress.lowbit_layers import LowBitConv2d, LowBitLinear, bits_of, code_values  # noqa: E402
from microlith.trainer.compress.lowbit_search import (  # noqa: E402
    LowBitSearch,
    SearchedWeight,
    Temperature,
    fitting_scale,
    searched_layers,
)
from microlith.trainer.compress.state_norm import StateBatchNorm  # noqa: E402

BITS = (1, 2, 4)


def small_net(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Conv2d(4, 4, 3, padding=1, groups=4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4 * 5 * 5, 3),
    )


def train(model: nn.Module, search: trainer.Compressor, steps: int, start: int = 0, total: int | None = None) -> None:
    """A few steps on random data, the same for the same step."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model.train()
    for step in range(start, steps):
        draw = torch.Generator().manual_seed(step)
        x = torch.randn(8, 2, 5, 5, generator=draw)
        search.on_step(step, total or steps)
        optimizer.zero_grad()
        F.cross_entropy(model(x), (x[:, 0].mean((1, 2)) > 0).long()).backward()
        optimizer.step()


@pytest.mark.parametrize("bits", BITS)
def test_expected_weight_is_the_mean_of_the_distribution(bits: int) -> None:
    weight = torch.randn(3, 2, 2, dtype=torch.double)
    search = SearchedWeight(weight, bits, per_channel=True, temperature=0.7).train()
    logits = torch.randn(2**bits, 3, 2, 2, dtype=torch.double)
    codes = np.arange(1 - 2**bits, 2**bits, 2)
    e = np.exp(logits.numpy() / 0.7)
    expected = np.einsum("v...,v->...", e / e.sum(0), codes) * np.exp(search.log_scale.detach().numpy())
    np.testing.assert_allclose(search(logits).detach().numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("bits", BITS)
def test_gradients_against_finite_differences(bits: int) -> None:
    torch.manual_seed(bits)
    search = SearchedWeight(torch.randn(2, 3, dtype=torch.double), bits, True, 0.5).train()
    logits = torch.randn(2**bits, 2, 3, dtype=torch.double)
    factors = torch.randn(2, 3, dtype=torch.double)

    def value() -> float:
        with torch.no_grad():
            return float((search(logits) ** 2 * factors).sum())

    variable = logits.requires_grad_()
    (search(variable) ** 2 * factors).sum().backward()
    for tensor in (variable, search.log_scale):
        data, step = tensor.data.view(-1), 1e-6
        for index in range(0, data.numel(), 5):
            data[index] += step
            above = value()
            data[index] -= 2 * step
            below = value()
            data[index] += step
            assert tensor.grad.view(-1)[index] == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("bits", BITS)
def test_distribution_collapses_to_the_likeliest_code(bits: int) -> None:
    torch.manual_seed(0)
    search = SearchedWeight(torch.randn(4, 5), bits, True, 1.0).train()
    logits = torch.randn(2**bits, 4, 5)
    distances = []
    for temperature in (1.0, 0.1, 0.01, 0.0001):
        search.temperature = temperature
        distances.append(float((search(logits) - search.eval()(logits)).abs().max().detach()))
        search.train()
    assert distances == sorted(distances, reverse=True) and distances[-1] < 1e-5 < distances[0]
    likeliest = np.arange(1 - 2**bits, 2**bits, 2)[logits.numpy().argmax(0)]
    np.testing.assert_array_equal(search.codes(logits).numpy(), likeliest)


@pytest.mark.parametrize("bits", BITS)
def test_search_begins_at_the_weights_of_the_model(bits: int) -> None:
    torch.manual_seed(1)
    weight = torch.randn(6, 40) * torch.linspace(0.01, 3, 6).unsqueeze(1)
    search = SearchedWeight(weight, bits, True, 1.0)
    logits = search.right_inverse(weight)
    scale = search.scale.detach().numpy()
    codes = np.array(code_values(bits))
    nearest = codes[np.abs(weight.numpy()[..., None] / scale[..., None] - codes).argmin(-1)]
    np.testing.assert_array_equal(search.codes(logits).numpy(), nearest)
    inside = np.abs(weight.numpy() / scale) < codes[-1] - 1
    off = np.abs(search.train()(logits).detach().numpy() - weight.numpy()) / scale
    assert off[inside].max(initial=0.0) < 0.3  # of two, the step between codes


@pytest.mark.parametrize("bits", BITS)
def test_fitting_scale_is_close_to_the_best_of_an_exhaustive_search(bits: int) -> None:
    weight = np.random.default_rng(0).standard_normal(200)
    codes = np.array(code_values(bits))

    def error(scale: float) -> float:
        return float(((codes * scale - weight[:, None]) ** 2).min(1).sum())

    best = min(error(scale) for scale in np.linspace(0.01, 4, 4000))
    found = float(fitting_scale(torch.tensor(weight).view(1, -1), code_values(bits), True))
    assert error(found) < best * 1.05


@pytest.mark.parametrize("curve", ["exponential", "linear", "cosine"])
def test_temperature_falls_from_start_to_end(curve: str) -> None:
    schedule = Temperature(2.0, 0.5, curve)  # type: ignore[arg-type]
    steps = [schedule.at(progress) for progress in np.linspace(0, 1, 11)]
    assert (steps[0], steps[-1]) == (pytest.approx(2.0), pytest.approx(0.5))
    assert all(after < before for before, after in itertools.pairwise(steps))
    middle = {"exponential": 1.0, "linear": 1.25, "cosine": 1.25}[curve]
    assert steps[5] == pytest.approx(middle)


@pytest.mark.parametrize(("bits", "edges"), [(1, "search"), (2, "search"), (4, "float")])
def test_converted_weights_are_scale_times_code_and_give_the_same_output(bits: int, edges: str) -> None:
    search = LowBitSearch(bits, edges=edges)  # type: ignore[arg-type]
    model = search.apply(small_net())
    train(model, search, 12)
    x = torch.randn(4, 2, 5, 5)
    wanted = model.eval()(x)
    plain = search.convert(model)
    assert torch.allclose(plain(x), wanted, rtol=1e-4, atol=1e-5)
    low = [layer for layer in plain.modules() if isinstance(layer, (LowBitConv2d, LowBitLinear))]
    assert len(low) == (3 if edges == "search" else 1)
    for layer in low:
        assert set(layer.codes.unique().tolist()) <= set(range(1 - 2**bits, 2**bits, 2)) and layer.bits <= bits
        product = layer.codes.numpy().astype(np.float32) * layer.scale.numpy().reshape(
            -1, *[1] * (layer.codes.dim() - 1)
        )
        np.testing.assert_array_equal(layer.weight.numpy(), product)
    assert not any(isinstance(module, (StateBatchNorm, SearchedWeight)) for module in plain.modules())
    assert not any(module._forward_pre_hooks for module in plain.modules())


def test_normalization_becomes_part_of_scale_and_bias() -> None:
    results = []
    for fold in (True, False):
        search = LowBitSearch(2, edges="search", fold=fold)
        model = search.apply(small_net())
        train(model, search, 10)
        with torch.no_grad():
            model[1].norm.weight[1] = -0.5  # a negative factor has to turn the codes
        results.append(search.convert(model))
    folded, unfolded = results
    assert isinstance(folded[1], nn.Identity) and isinstance(unfolded[1], nn.BatchNorm2d)
    assert bits_of(folded[0].codes) == 2 and bool((folded[0].scale > 0).all())
    x = torch.randn(4, 2, 5, 5)
    assert torch.allclose(folded(x), unfolded(x), rtol=1e-4, atol=1e-5)


def test_state_statistics_are_those_of_the_discrete_weights() -> None:
    search = LowBitSearch(1, edges="search")
    model = search.apply(small_net())
    norm = model[1]
    norm.norm.momentum = None  # statistics are plain means over the batches
    x = torch.randn(16, 2, 5, 5)
    model.train()
    model(x)
    weight = model.eval()[0].weight.detach()
    discrete = F.conv2d(x, weight, padding=1)
    assert torch.allclose(norm.state_mean, discrete.mean((0, 2, 3)), atol=1e-5)
    assert torch.allclose(norm.state_var, discrete.transpose(0, 1).flatten(1).var(1), atol=1e-4)
    assert not torch.allclose(norm.state_var, norm.norm.running_var, rtol=0.05)


def test_settled_weights_do_not_change_any_more() -> None:
    search = LowBitSearch(2, edges="search", settle=0.5)
    model = search.apply(small_net())
    train(model, search, 10, total=20)
    assert search.certainty() < 1
    train(model, search, 11, start=10, total=20)
    assert search.certainty() == 1
    before = {name: found.codes(logits).clone() for name, found, logits in searched_layers(model)}
    bias = model[6].bias.detach().clone()
    train(model, search, 20, start=11, total=20)
    for name, found, logits in searched_layers(model):
        assert torch.equal(found.codes(logits), before[name])
        assert torch.equal(model.get_submodule(name).train().weight, model.get_submodule(name).eval().weight)
    assert not torch.equal(model[6].bias, bias)


def test_resumes_from_a_state_dict_to_the_same_bits() -> None:
    whole = LowBitSearch(2)
    straight = whole.apply(small_net())
    train(straight, whole, 12, total=16)
    first = LowBitSearch(2)
    model = first.apply(small_net())
    train(model, first, 7, total=16)
    saved = copy.deepcopy(model.state_dict())
    second = LowBitSearch(2)
    resumed = second.apply(small_net(seed=5))
    resumed.load_state_dict(saved)
    assert [item.temperature for item, _ in second._searched] == [item.temperature for item, _ in first._searched]
    train(resumed, second, 12, start=7, total=16)
    for name, tensor in straight.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_bits_by_pattern_and_one_scale_for_a_layer() -> None:
    others = LowBitSearch({"6": 4, "*": 1}).apply(small_net())
    assert {name: found.bits for name, found, _ in searched_layers(others)} == {"3": 1}  # first and last stay float
    search = LowBitSearch({"0": 4, "6": 1}, per_channel=False)
    model = search.apply(small_net())
    assert {name: found.bits for name, found, _ in searched_layers(model)} == {"0": 4, "6": 1}
    search.calibrate(model, [torch.randn(8, 2, 5, 5)])
    plain = search.convert(model)
    assert plain[0].bits <= 4 and plain[6].bits == 1 and isinstance(plain[3], nn.Conv2d)
    assert len(plain[6].scale.unique()) == 1


class Scaled(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


def test_mistakes_are_named() -> None:
    for bits in (0, 3, 8, True, 2.5):
        with pytest.raises(InputError, match="bits"):
            LowBitSearch(bits)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="temperature"):
        Temperature(0.1, 1.0)
    with pytest.raises(InputError, match="temperature"):
        Temperature(math.nan, 1.0)
    with pytest.raises(InputError, match=r"settle is 1\.0"):
        LowBitSearch(2, settle=1.0)
    with pytest.raises(UnsupportedError, match="BatchNorm2d '1'"):
        LowBitSearch(2, layers=["1"]).apply(small_net())
    with pytest.raises(UnsupportedError, match="Scaled '0'"):
        LowBitSearch(2, layers=["0"]).apply(nn.Sequential(Scaled(2, 2), nn.Linear(2, 2)))
    with pytest.raises(InputError, match="no layer is called 'stem'"):
        LowBitSearch(2, layers=["stem"]).apply(small_net())
    with pytest.raises(InputError, match="no layer is left"):
        LowBitSearch(2).apply(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))
    broken = small_net()
    broken[0].weight.data[0, 0, 0, 0] = math.nan
    with pytest.raises(InputError, match="NaN") as raised:
        LowBitSearch(2, edges="search").apply(broken)
    assert "0.weight" in str(raised.value)


def test_convert_refuses_what_was_not_trained_or_diverged() -> None:
    search = LowBitSearch(2, edges="search")
    with pytest.raises(InputError, match="no batch with discrete weights"):
        search.convert(search.apply(small_net()))
    model = search.apply(small_net())
    train(model, search, 2)
    next(searched_layers(model))[2].data[0] = math.nan  # type: ignore[call-overload]
    with pytest.raises(InputError, match="NaN"):
        search.convert(model)
