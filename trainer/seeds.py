# SPDX-License-Identifier: Apache-2.0
"""Seeds that follow from where training stands."""

from __future__ import annotations

import functools
import random

import numpy as np
import torch


def mix(*numbers: int) -> int:
    """A 63-bit seed from several numbers; neighbours give unrelated seeds."""
    high, low = np.random.SeedSequence([number & 0xFFFFFFFF for number in numbers]).generate_state(2)
    return (int(high) << 31) ^ int(low)


@functools.cache
def _has_accelerator() -> bool:
    return bool(torch.accelerator.is_available())


def seed_all(*numbers: int) -> None:
    """Seeds PyTorch, NumPy and Python with a mix of the numbers."""
    seed = mix(*numbers)
    if _has_accelerator():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)  # a hundredth of the time
    np.random.seed(seed & 0xFFFFFFFF)
    random.seed(seed)
