# SPDX-License-Identifier: Apache-2.0
"""Knowledge distillation: the loss is that of the paper, and a teacher teaches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from small_training import digits, small_model, train
from torch import nn

from microlith import trainer
from microlith.errors import InputError, ShapeError


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_loss_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    student, teacher = rng.normal(size=(5, 7)) * 3, rng.normal(size=(5, 7)) * 3
    p, q = softmax(teacher / 2.5), softmax(student / 2.5)
    expected = 0.7 * 1.5 + 0.3 * 2.5**2 * (p * np.log(p / q)).sum(1).mean()

    class Fixed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(teacher)

    callback = trainer.Distillation(Fixed(), weight=0.3, temperature=2.5)
    loss = callback.change_loss(torch.tensor(1.5), (torch.zeros(5),), torch.from_numpy(student), None)
    assert float(loss) == pytest.approx(expected)
    squares = trainer.Distillation(Fixed(), weight=0.3, kind="mse")
    loss = squares.change_loss(torch.tensor(1.5), (torch.zeros(5),), torch.from_numpy(student), None)
    assert float(loss) == pytest.approx(0.7 * 1.5 + 0.3 * np.square(student - teacher).mean())


def test_a_student_learns_from_the_teacher_alone(tmp_path: Path) -> None:
    """The labels are wrong; only the teacher knows better."""
    images, labels = digits()
    teacher = train(tmp_path, epochs=8).model
    wrong = (images, (labels + 1) % 10)
    student = train(
        tmp_path, small_model(), wrong, epochs=8, callbacks=[trainer.Distillation(teacher, weight=1.0)]
    ).model
    with torch.no_grad():
        assert float((student(torch.from_numpy(images)).argmax(1).numpy() == labels).mean()) > 0.85


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="weight is 2"):
        trainer.Distillation(nn.Identity(), weight=2)
    with pytest.raises(InputError, match="temperature is 0"):
        trainer.Distillation(nn.Identity(), temperature=0)
    with pytest.raises(ShapeError, match=r"the teacher gives \[50, 1, 8, 8\], the model \[50, 10\]"):
        train(tmp_path, callbacks=[trainer.Distillation(nn.Identity())])
