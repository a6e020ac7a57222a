# SPDX-License-Identifier: Apache-2.0
"""Compressors inside of ``trainer.fit``: told of every step, resumed after a kill, converted in the end."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("lightning", reason="Lightning is not installed")
from small_training import digits, train, weights  # noqa: E402
from torch import nn  # noqa: E402

from microlith import trainer  # noqa: E402
from microlith.errors import InputError  # noqa: E402
from microlith.trainer.compress.lowbit_layers import LowBitConv2d  # noqa: E402

PROGRAM = """
import os, signal, sys
import torch
from lightning.pytorch import Callback
sys.path[:0] = [sys.argv[1], sys.argv[2]]
torch.set_num_threads(1)
import test_compressors_in_fit as test

class Kill(Callback):
    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == 19:
            os.kill(os.getpid(), signal.SIGKILL)

test.run(sys.argv[3], [Kill()])
"""


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs in ((1, 8), (8, 8), (8, 12)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.MaxPool2d(4), nn.Flatten(), nn.Linear(48, 10))


def scop(share: float) -> trainer.Scop:
    images, labels = digits()
    return trainer.Scop(share, data=(torch.from_numpy(images), torch.from_numpy(labels)), steps=4)


def run(folder: str | Path, callbacks: Any = ()) -> trainer.Fitted:
    """Three epochs of twelve steps."""
    compressors = [
        scop(0.25),
        trainer.LowBitSearch(2, layers=["3", "6"]),
        trainer.MagnitudePruning(0.5, layers=["11"], every=3),
    ]
    return train(folder, network(), epochs=3, compressors=compressors, callbacks=callbacks, name="fit", resume=True)


def test_all_on_one_model_and_a_killed_run_ends_with_the_same_bits(tmp_path: Path) -> None:
    here = Path(__file__).parent
    command = [sys.executable, "-c", PROGRAM, str(here), str(here.parent), str(tmp_path / "killed")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == -signal.SIGKILL, result.stderr
    resumed, whole = run(tmp_path / "killed"), run(tmp_path / "whole")
    assert len(resumed.history) == len(whole.history) == 3
    assert weights(resumed.model) == weights(whole.model)

    model = whole.model
    assert [model[index].codes.shape[0] for index in (3, 6)] == [6, 9] and model[0].out_channels == 6
    assert isinstance(model[3], LowBitConv2d) and isinstance(model[4], nn.Identity) and model[3].bits == 2
    assert np.mean(model[11].weight.detach().numpy() == 0) == 0.5
    images, labels = digits()
    assert np.mean(model(torch.from_numpy(images)).argmax(1).numpy() == labels) > 0.5  # by chance: 0.1


def test_a_search_that_is_not_over_is_not_exported() -> None:
    search = trainer.LowBitSearch(2)
    model = search.apply(network()).eval()
    with pytest.raises(InputError, match="still searched") as raised:
        torch.export.export(model, (torch.zeros(1, 1, 8, 8),))
    assert "convert" in str(raised.value)


def test_scop_refuses_a_run_that_kept_other_channels() -> None:
    pruning = scop(0.5)
    pruning.apply(network())
    state = pruning.state_dict()
    pruning.load_state_dict(state)
    state["kept"]["0"] = [0]
    with pytest.raises(InputError, match="kept other channels"):
        pruning.load_state_dict(state)
