# SPDX-License-Identifier: Apache-2.0
"""A run that is killed goes on to the same weights, bit for bit."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback, Trainer
from small_training import digits, noisy, train, weights
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from microlith import trainer
from microlith.trainer.runs import KILLED, RunError, RunTable

PROGRAM = """
import os, signal, sys
import torch
from lightning.pytorch import Callback
sys.path.insert(0, sys.argv[1])
torch.set_num_threads(1)
import test_resume

class Kill(Callback):
    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == int(sys.argv[4]):
            os.kill(os.getpid(), signal.SIGKILL)

test_resume.run(sys.argv[2], sys.argv[3], callbacks=[Kill()])
"""
EPOCHS, STEPS = 4, 12


def loader() -> DataLoader[Any]:
    images, labels = digits()
    return DataLoader(TensorDataset(torch.from_numpy(images), torch.from_numpy(labels)), 50, shuffle=True)


def run(folder: str | Path, kind: str, callbacks: tuple[Any, ...] | list[Any] = (), **options: Any) -> trainer.Fitted:
    """Everything in a run that has a state: momentum, schedule, plateau, batch normalization, dropout, augmentation."""
    plateau = trainer.ReduceLROnPlateau("val_loss", factor=0.5, patience=0, threshold=0.5)
    images, labels = digits()
    return train(
        folder,
        data=loader() if kind == "loader" else None,
        epochs=EPOCHS,
        validation=(images[:100], labels[:100]),
        callbacks=[plateau, *callbacks],
        augment=noisy,
        checkpoint_steps=5 if kind == "steps" else None,
        resume=True,
        name="resumed",
        **options,
    )


@pytest.mark.parametrize(
    ("kind", "step"),
    [("epochs", 2 * STEPS + 3), ("steps", 2 * STEPS + 9), ("steps", STEPS), ("loader", STEPS + 5)],
)
def test_killed_run_ends_with_the_same_bits(kind: str, step: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), str(tmp_path / "killed"), kind, str(step)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == -signal.SIGKILL, result.stderr
    (killed,) = RunTable(tmp_path / "killed").all()
    assert killed.status == KILLED

    resumed, whole = run(tmp_path / "killed", kind), run(tmp_path / "whole", kind)
    assert resumed.run.id == killed.id and resumed.run.status == "finished"
    assert [row["epoch"] for row in resumed.history] == list(range(EPOCHS))
    assert weights(resumed.model) == weights(whole.model)
    assert resumed.metrics["val_loss"] == whole.metrics["val_loss"]


TWO = """
import os, signal, sys
import torch
from lightning.pytorch import Callback
from torch import nn
sys.path.insert(0, sys.argv[1])
from small_training import noisy, train
torch.set_num_threads(1)
rank = os.environ.get("LOCAL_RANK", "0")

class Kill(Callback):
    def on_train_batch_end(self, trainer, *_):
        if [str(trainer.global_step), rank] == sys.argv[3:]:
            os.kill(os.getpid(), signal.SIGKILL)

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 10))
result = train(sys.argv[2], model, epochs=3, batch_size=25, strategy="ddp", devices=2, name="two", validation=0.25,
               resume=True, augment=noisy, checkpoint_steps=4, callbacks=[Kill()])
if rank == "0":
    torch.save(result.model.state_dict(), sys.argv[2] + "/weights.pt")
"""


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_two_processes_go_on(rank: int, tmp_path: Path) -> None:
    """One of two is killed in the second epoch: the other ends too, and the program started again goes on."""

    def start(folder: str, *arguments: object) -> int:
        command = [sys.executable, "program.py", str(Path(__file__).parent), folder, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600).returncode

    (tmp_path / "program.py").write_text(TWO, "utf-8")
    assert start("killed", 12, rank) != 0
    (killed,) = RunTable(tmp_path / "killed").all()
    assert killed.status == (KILLED if rank == 0 else "failed")
    assert start("killed") == start("whole") == 0
    (resumed,) = RunTable(tmp_path / "killed").all()
    assert resumed.id == killed.id and resumed.status == "finished"
    found, wanted = (torch.load(tmp_path / folder / "weights.pt") for folder in ("killed", "whole"))
    assert all(torch.equal(found[name], value) for name, value in wanted.items())


class Fail(Callback):
    """Ends a run in the middle, in this process."""

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        if trainer.global_step == STEPS + 8:
            raise RuntimeError("enough")


def test_quantization_aware_training_goes_on(tmp_path: Path) -> None:
    """Ranges of activations, whether they are frozen, and the scales of weights are part of a checkpoint."""

    def quantized(folder: Path, *callbacks: Callback) -> trainer.Fitted:
        torch.manual_seed(7)
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.1), nn.Linear(36, 10)
        )
        compressor = trainer.QAT(freeze=0.5)
        return train(
            folder, model, compressors=compressor, callbacks=callbacks, checkpoint_steps=5, epochs=3, resume=True
        )

    with pytest.raises(RuntimeError, match="enough"):
        quantized(tmp_path / "broken", Fail())
    resumed, whole = quantized(tmp_path / "broken"), quantized(tmp_path / "whole")
    assert [run.status for run in RunTable(tmp_path / "broken").all()] == ["finished"]
    assert weights(resumed.model) == weights(whole.model)
    images = torch.from_numpy(digits()[0])
    assert torch.equal(resumed.model(images), whole.model(images))


def test_resume_refuses_other_data_and_hyperparameters(tmp_path: Path) -> None:
    table = RunTable(tmp_path)
    train(tmp_path, epochs=1, name="a")
    table.update(table.get("a-1"), status="failed")
    images, labels = digits()
    with pytest.raises(RunError, match=r"a-1 cannot go on: batch_size was 50, is 60; data\.hash was"):
        train(tmp_path, data=(images * 2, labels), epochs=2, name="a", batch_size=60, resume="a-1")


def test_a_run_that_is_alive_is_not_joined(tmp_path: Path) -> None:
    table = RunTable(tmp_path)
    train(tmp_path, epochs=1, name="a")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        table.update(table.get("a-1"), status="running", process=other.pid)
        for resume in (True, "a-1"):
            with pytest.raises(RunError, match=f"a-1 is still running, in process {other.pid}"):
                train(tmp_path, epochs=2, name="a", resume=resume)
        other.kill()
    assert train(tmp_path, epochs=2, name="a", resume=True).run.id == "a-1"


def test_more_epochs_go_on_from_a_finished_run(tmp_path: Path) -> None:
    train(tmp_path / "a", epochs=1, name="a")
    longer = train(tmp_path / "a", epochs=2, name="a", resume="a-1")
    assert weights(longer.model) == weights(train(tmp_path / "b", epochs=2).model)
    with pytest.raises(RunError, match="run a-1 is finished"):
        train(tmp_path / "a", epochs=2, name="a", resume="a-1")


def test_resume_of_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="there is no table of runs in it"):
        train(tmp_path, resume="a-1")
    first = train(tmp_path, epochs=1, resume=True, name="a")
    assert first.run.id == "a-1"
    with pytest.raises(RunError, match="there is no run 'a-7'"):
        train(tmp_path, resume="a-7")
