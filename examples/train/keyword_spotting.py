# SPDX-License-Identifier: Apache-2.0
"""Keyword spotting with a DS-CNN, on SYNTHETIC audio.

No speech: each of six "words" is a sequence of three gliding tones with overtones, spoken by voices of other pitch and
speed, under noise. It shows the path of a keyword spotter (features, depthwise separable convolutions, a board); the
accuracy says nothing about real words. The layout is that of the model in MLPerf Tiny (Zhang et al., "Hello Edge",
2017, arXiv:1711.07128), with fewer channels: 49 frames of 10 features.
"""

from __future__ import annotations

import sys

import numpy as np
from torch import nn
from train_driver import Data, Example, accuracy, main

RATE, FRAME, HOP, FEATURES = 8000, 320, 160, 10
"""Samples per second; 40 ms windows every 20 ms; mel bands."""

WORDS = ((300, 700, 400), (700, 300, 600), (400, 400, 900), (900, 500, 300), (500, 900, 900), (800, 350, 800))
"""Hz at the middle of each third."""


def speak(word: int, rng: np.random.Generator) -> np.ndarray:
    """One second of a word, f64 [8000]."""
    pitch, length, start = rng.uniform(0.85, 1.18), rng.uniform(0.55, 0.8), rng.uniform(0.02, 0.18)
    steps = np.clip((np.arange(RATE) / RATE - start) / length, 0, 1)
    frequency = np.interp(steps, [1 / 6, 1 / 2, 5 / 6], np.array(WORDS[word]) * rng.uniform(0.93, 1.07, 3)) * pitch
    phase = 2 * np.pi * np.cumsum(frequency) / RATE
    tone = sum(rng.uniform(0.3, 1) / (k + 1) * np.sin((k + 1) * phase + rng.uniform(0, 6)) for k in range(3))
    loud = np.where((steps > 0) & (steps < 1), np.sin(np.pi * steps) ** 0.5, 0)
    return rng.uniform(0.3, 1) * loud * tone + rng.uniform(0.05, 0.6) * rng.standard_normal(RATE)


def mel_bands() -> np.ndarray:
    """Triangles between 20 Hz and 4 kHz, f64 [FRAME // 2 + 1, FEATURES]."""
    mel = np.linspace(*(2595 * np.log10(1 + np.array([20, RATE / 2]) / 700)), FEATURES + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    bins = np.arange(FRAME // 2 + 1)[:, None] * RATE / FRAME
    rise = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    return np.clip(np.minimum(rise, fall), 0, None)


def features(sound: np.ndarray) -> np.ndarray:
    """Logarithmic mel spectrum, f32 [49, 10]."""
    frames = np.lib.stride_tricks.sliding_window_view(sound, FRAME)[::HOP][:49] * np.hanning(FRAME)
    power = np.abs(np.fft.rfft(frames)) ** 2 @ mel_bands()
    return (np.log(power + 1e-3) / 4).astype(np.float32)


def data() -> Data:
    """f32 [n, 1, 49, 10]; 1,800 utterances to train on, 600 to test."""
    rng = np.random.default_rng(1)
    labels = np.arange(2400) % len(WORDS)
    sounds = np.stack([features(speak(word, rng)) for word in labels])[:, None]
    mean = sounds[:1800].mean()
    return Data(sounds[:1800] - mean, labels[:1800], sounds[1800:] - mean, labels[1800:])


def separable(channels: int) -> nn.Sequential:
    """A depthwise convolution of 3x3 and a pointwise one."""
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
        nn.Conv2d(channels, channels, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
    )  # fmt: skip


def model() -> nn.Module:
    """DS-CNN with 24 channels."""
    first = nn.Sequential(nn.Conv2d(1, 24, (10, 4), 2, (4, 1), bias=False), nn.BatchNorm2d(24), nn.ReLU())
    return nn.Sequential(
        first, *(separable(24) for _ in range(3)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
        nn.Linear(24, len(WORDS)),
    )  # fmt: skip


EXAMPLE = Example(
    "keywords", "Keyword spotting, a DS-CNN on synthetic audio", data, model, accuracy, "accuracy", epochs=12,
    learning_rate=0.01,
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(EXAMPLE))
