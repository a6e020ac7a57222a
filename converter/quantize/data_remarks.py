# SPDX-License-Identifier: Apache-2.0
"""Calibration data that fits a model and hardly is what the model gets later: all zero, constant, the same, huge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

LARGE = 1e6
"""Magnitude beyond which an input is remarked upon: neither pixels, nor sound, nor what is normalized gets there."""

OUTLIER = 1e3
"""How many times the median of the samples the largest number of one may be before it is remarked upon."""


@dataclass
class InputLook:
    """What is known of one input."""

    is_real: bool = True
    low: float = np.inf
    high: float = -np.inf
    largest: list[float] = field(default_factory=list)
    """The largest magnitude of each sample."""
    first: np.ndarray | None = None
    is_repeated: bool = True
    """Whether all samples are the same numbers."""

    def see(self, array: np.ndarray) -> None:
        if not array.size:
            return
        low, high = float(array.min()), float(array.max())
        self.is_real = array.dtype.kind == "f"
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.largest.append(max(abs(low), abs(high)))
        if self.first is None:
            self.first = array.copy()
        elif self.is_repeated:
            self.is_repeated = np.array_equal(self.first, array)

    def remark(self, name: str) -> str | None:
        """What looks wrong, the worst of it."""
        count = len(self.largest)
        if not count:
            return None
        if self.low == self.high:
            return f"input '{name}' is {self.low:g} everywhere in the data: ranges from it say nothing about real data"
        if count > 1 and self.is_repeated:
            return f"input '{name}' is the same in all {count} samples of the data"
        median = float(np.median(self.largest))
        place = int(np.argmax(self.largest))
        if count > 2 and median > 0 and self.largest[place] > OUTLIER * median:
            return (
                f"input '{name}' reaches {self.largest[place]:.3g} in sample {place}, {median:.3g} in the median one: "
                "is that sample broken?"
            )
        if self.largest[place] > LARGE:
            return f"input '{name}' reaches {self.largest[place]:.3g}: is the data scaled as the model gets it later?"
        return None


class DataLook:
    """What samples look like, told one run after the other; keeps one sample of each input."""

    def __init__(self) -> None:
        self.inputs: dict[str, InputLook] = {}

    def see(self, feed: Mapping[str, np.ndarray], samples: int) -> None:
        """``samples``: how many of them the feed holds."""
        for name, array in feed.items():
            look = self.inputs.setdefault(name, InputLook())
            for part in array if samples > 1 and array.shape[:1] == (samples,) else (array,):
                look.see(part)

    def remarks(self) -> list[str]:
        """For people. Constant integers, such as masks of ones, are remarked upon where no other input changes."""
        found = {name: look.remark(name) for name, look in self.inputs.items()}
        varies = [name for name, look in self.inputs.items() if not (look.low == look.high or look.is_repeated)]
        return [text for name, text in found.items() if text and (self.inputs[name].is_real or not varies)]
