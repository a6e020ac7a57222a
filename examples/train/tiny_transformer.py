# SPDX-License-Identifier: Apache-2.0
"""A transformer of two layers that reads a digit of scikit-learn's digits row by row: 8 tokens of 8 pixels."""

from __future__ import annotations

import sys

import torch
from digits_cnn import data
from torch import Tensor, nn
from train_driver import Example, accuracy, main


class Layer(nn.Module):
    """Attention and a small network, each behind a normalization and around a shortcut."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before_attention, self.before_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.before_attention(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.feed(self.before_feed(x))


class Transformer(nn.Module):
    """f32 [n, 1, 8, 8] -> f32 [n, 10], scores."""

    def __init__(self, width: int = 32, heads: int = 2) -> None:
        super().__init__()
        self.embed = nn.Linear(8, width)
        self.places = nn.Parameter(torch.randn(1, 8, width) * 0.1)
        self.layers = nn.Sequential(Layer(width, heads), Layer(width, heads))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layers(self.embed(x.squeeze(1)) + self.places)
        return self.head(self.norm(x).mean(1))


EXAMPLE = Example(
    "transformer", "Digits row by row, a tiny transformer", data, Transformer, accuracy, "accuracy", epochs=40,
    learning_rate=4e-3, compress_epochs=6,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(EXAMPLE))
