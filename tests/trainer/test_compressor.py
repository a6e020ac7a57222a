# SPDX-License-Identifier: Apache-2.0
"""The interface of compressors, and several of them on one model."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import Tensor, nn  # noqa: E402

from microlith import trainer  # noqa: E402


class Noting(trainer.Compressor):
    """Writes down who was called with what."""

    def __init__(self, label: str, log: list[tuple[Any, ...]], extra: float | None = None) -> None:
        self.label, self.log, self.extra = label, log, extra

    @property
    def name(self) -> str:
        return self.label

    def hyperparameters(self) -> Mapping[str, Any]:
        return {"extra": self.extra}

    def apply(self, model: nn.Module) -> nn.Module:
        self.log.append((self.label, "apply"))
        return nn.Sequential(model, nn.Identity())

    def on_step(self, step: int, total_steps: int) -> None:
        self.log.append((self.label, step, total_steps))

    def loss(self) -> Tensor | None:
        return None if self.extra is None else torch.tensor(self.extra)

    def convert(self, model: nn.Module) -> nn.Module:
        self.log.append((self.label, "convert"))
        return next(model.children())

    def state_dict(self) -> dict[str, Any]:
        return {"extra": self.extra}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.extra = state["extra"]


def test_compose_applies_in_order_and_converts_in_the_opposite_one() -> None:
    log: list[tuple[Any, ...]] = []
    both = trainer.Compose([Noting("a", log, 1.0), Noting("b", log, 2.5)])
    inner = nn.Linear(2, 2)
    model = both.apply(inner)
    both.on_step(3, 10)
    assert both.convert(model) is inner
    assert log == [("a", "apply"), ("b", "apply"), ("a", 3, 10), ("b", 3, 10), ("b", "convert"), ("a", "convert")]
    assert both.name == "a+b"
    assert both.hyperparameters() == {"a.extra": 1.0, "b.extra": 2.5}


def test_compose_adds_the_losses_that_there_are() -> None:
    def loss(*extras: float | None) -> Tensor | None:
        return trainer.Compose([Noting(str(extra), [], extra) for extra in extras]).loss()

    assert loss(None, None) is None
    assert loss(None, 2.0) == 2.0
    assert loss(1.0, None, 2.0) == 3.0


def test_compose_keeps_the_state_of_each() -> None:
    first = trainer.Compose([Noting("a", [], 1.0), Noting("a", [], 2.0)])
    second = trainer.Compose([Noting("a", []), Noting("a", [])])
    second.load_state_dict(first.state_dict())
    assert [item.state_dict() for item in second.compressors] == [{"extra": 1.0}, {"extra": 2.0}]


def test_without_torch_one_line_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from microlith import trainer\n"
        "from microlith.errors import MicrolithError\n"
        "try: trainer.Compressor\n"
        "except MicrolithError as error: print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "needs the package torch" in result.stdout and "pip install 'microlith[train]'" in result.stdout


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = trainer.nonsense
