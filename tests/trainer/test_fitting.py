# SPDX-License-Identifier: Apache-2.0
"""``trainer.fit``: what it accepts, what it refuses, what it leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.pytorch import Callback, LightningDataModule, LightningModule, Trainer
from small_training import digits, small_model, train, weights
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from microlith import trainer
from microlith.errors import InputError, MicrolithError, ShapeError
from microlith.trainer.runs import RunError, RunTable

ROOT = Path(__file__).resolve().parents[2]


class Plain(LightningModule):
    """A user's own module, with a NaN on demand."""

    def __init__(self, bad_step: int = -1) -> None:
        super().__init__()
        self.model, self.bad_step = small_model(), bad_step

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x)

    def training_step(self, batch: Any, batch_idx: int) -> Tensor:
        loss = functional.cross_entropy(self(batch[0]), batch[1])
        self.log("loss", loss, on_epoch=True)
        return loss * float("nan") if self.global_step == self.bad_step else loss

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=0.01)


class DigitsModule(LightningDataModule):
    def train_dataloader(self) -> DataLoader[Any]:
        images, labels = digits()
        return DataLoader(TensorDataset(torch.from_numpy(images), torch.from_numpy(labels)), 50, shuffle=True)

    def val_dataloader(self) -> DataLoader[Any]:
        return self.train_dataloader()


class Halve(trainer.Compressor):
    """Counts its calls, adds 100 to the loss, and halves all weights at the end."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int]] = []
        self.epochs: list[tuple[int, int]] = []
        self.seen: tuple[int, ...] = ()

    def on_data(self, inputs: tuple[Tensor, ...]) -> None:
        self.seen = tuple(inputs[0].shape)

    def apply(self, model: nn.Module) -> nn.Module:
        return nn.Sequential(model)

    def on_epoch(self, epoch: int, epochs: int) -> None:
        self.epochs.append((epoch, epochs))

    def on_step(self, step: int, total_steps: int) -> None:
        self.steps.append((step, total_steps))

    def loss(self) -> Tensor | None:
        return torch.tensor(100.0)

    def convert(self, model: nn.Module) -> nn.Module:
        (inner,) = model.children()
        with torch.no_grad():
            for value in inner.parameters():
                value.mul_(0.5)
        return inner


def test_it_learns_and_the_same_seed_gives_the_same_bits(tmp_path: Path) -> None:
    images, labels = digits()
    data, validation = (images[:500], labels[:500]), (images[500:], labels[500:])
    first = train(tmp_path, data=data, validation=validation, epochs=8)
    assert first.metrics["val_accuracy"] > 0.85
    with torch.no_grad():
        scores = first.model(torch.from_numpy(validation[0]))
    assert float((scores.argmax(1).numpy() == validation[1]).mean()) == pytest.approx(first.metrics["val_accuracy"])
    assert not first.model.training and len(first.history) == 8
    torch.randn(5)
    again = train(tmp_path, data=data, validation=validation, epochs=8)
    assert weights(again.model) == weights(first.model)
    assert weights(train(tmp_path, data=data, epochs=8, seed=1).model) != weights(first.model)


def test_the_loop_is_that_of_pytorch(tmp_path: Path) -> None:
    """Whole batches without shuffling or noise: the weights are those of a loop written by hand."""
    images, labels = (torch.from_numpy(part) for part in digits())
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    other = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    other.load_state_dict(model.state_dict())
    result = train(
        tmp_path,
        model,
        DataLoader(TensorDataset(images, labels), 100),
        epochs=3,
        optimizer=lambda values: torch.optim.SGD(values, 0.5),
        schedule=lambda optimizer, steps: torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, steps),
        gradient_clip=0.5,
    )
    steps = 18
    for step in range(steps):
        part = slice(step % 6 * 100, step % 6 * 100 + 100)
        other.zero_grad()
        functional.cross_entropy(other(images[part]), labels[part]).backward()
        nn.utils.clip_grad_norm_(other.parameters(), 0.5)
        with torch.no_grad():
            for value in other.parameters():
                value -= 0.5 * (1 - step / steps) * value.grad
    for name, value in other.state_dict().items():
        torch.testing.assert_close(result.model.state_dict()[name], value)


def test_data_in_every_form(tmp_path: Path) -> None:
    images, labels = digits()
    module = DigitsModule()
    for data in ((images.astype(np.float64), labels.astype(np.uint8)), module.train_dataloader(), module):
        assert np.isfinite(train(tmp_path, data=data, epochs=1).metrics["loss"])
    held_back = train(tmp_path, validation=0.25, epochs=1)
    assert "val_loss" in held_back.metrics and held_back.run.data["samples"] == 450


def test_several_inputs(tmp_path: Path) -> None:
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(3, 1), nn.Linear(2, 1)

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            return self.left(a) + self.right(b)

    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    y = a.sum(1, keepdims=True) - b.sum(1, keepdims=True)
    result = train(tmp_path, Sum(), ((a, b), y), loss="mse", metrics="mae", epochs=40, learning_rate=0.05)
    assert result.metrics["mae"] < 0.05
    np.testing.assert_allclose(result.model.left.weight.detach(), np.ones((1, 3)), atol=0.05)


def test_lightning_module_with_compressor(tmp_path: Path) -> None:
    module, compressor = Plain(), Halve()
    result = train(tmp_path, module, loss=None, metrics=None, epochs=2, compressors=compressor)
    assert result.model is module and isinstance(module.model[0], nn.Conv2d)
    assert compressor.steps == [(step, 24) for step in range(24)]
    assert compressor.epochs == [(0, 2), (1, 2)]
    assert compressor.seen == (50, 1, 8, 8)


def test_compressor_of_a_plain_model(tmp_path: Path) -> None:
    compressor = Halve()
    result = train(tmp_path, epochs=1, compressors=[compressor])
    plain = train(tmp_path, epochs=1)
    assert result.metrics["loss"] == pytest.approx(plain.metrics["loss"] + 100, rel=1e-5)
    torch.testing.assert_close(result.model[0].weight, plain.model[0].weight / 2)
    assert result.run.hyperparameters["compressors"] == "Halve"


def test_modes_of_the_model(tmp_path: Path) -> None:
    """A model as an earlier fit left it is trained again; a part in eval mode on purpose stays so."""
    model = train(tmp_path, epochs=1).model
    statistics = model[1].running_mean.clone()
    again = train(tmp_path, model, epochs=1).model
    assert not torch.equal(again[1].running_mean, statistics)
    frozen = small_model()
    frozen[1].eval()
    assert not train(tmp_path, frozen, epochs=1).model[1].running_mean.any()


def test_early_stopping_and_best_weights(tmp_path: Path) -> None:
    images, labels = digits()
    wrong = (images[:100], (labels[:100] + 1) % 10)
    stop = trainer.EarlyStopping("val_loss", patience=1)
    result = train(tmp_path, validation=wrong, epochs=20, callbacks=[stop], keep="best")
    assert len(result.history) < 20
    best = min(result.history, key=lambda row: row["val_loss"])
    with torch.no_grad():
        loss = functional.cross_entropy(result.model(torch.from_numpy(wrong[0])), torch.from_numpy(wrong[1]))
    assert float(loss) == pytest.approx(best["val_loss"], rel=1e-5) == result.metrics["val_loss"]


def test_learning_rate_falls_on_a_plateau(tmp_path: Path) -> None:
    plateau = trainer.ReduceLROnPlateau("loss", factor=0.1, patience=0, threshold=10.0, threshold_mode="abs")
    train(tmp_path, epochs=3, callbacks=[plateau])
    assert plateau.schedulers[0].optimizer.param_groups[0]["lr"] == pytest.approx(0.01 * 0.1**2)


def test_logs_for_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    result = train(tmp_path, epochs=2, validation=0.2, logs=True)
    events = EventAccumulator(str(result.folder / "logs"), size_guidance={"histograms": 0})
    events.Reload()
    tags = events.Tags()
    assert {"loss", "val_loss", "accuracy", "val_accuracy"} <= set(tags["scalars"])
    assert {"model.0.weight", "model.6.bias"} <= set(tags["histograms"]) and tags["graph"]
    last = events.Scalars("val_loss")[-1].value
    assert last == pytest.approx(result.history[-1]["val_loss"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((600, 3, 8, 8), np.float32)}, r"cannot take inputs float32 \[2, 3, 8, 8\]"),
        ({"x": np.zeros((500, 1, 8, 8), np.float32)}, r"\(500, 1, 8, 8\) and \(600,\)"),
        ({"y": np.zeros((600, 3), np.float32)}, r"predictions float32 \[2, 10\] and targets float32 \[2, 3\]"),
        ({"y": np.arange(600) % 11}, r"from 0 to 10, but the model has scores for 10 classes"),
        ({"x": np.full((600, 1, 8, 8), np.nan)}, r"x holds NaN or infinity, first in sample 0"),
        ({"y": np.array(["a"] * 600)}, r"targets hold <U1, not numbers"),
        ({"x": np.zeros((0, 1, 8, 8)), "y": np.zeros(0)}, "there is no sample"),
        ({"loss": "cross"}, "no loss 'cross'"),
        ({"loss": None}, "a plain model needs a loss"),
        ({"loss": lambda p, y: functional.cross_entropy(p, y, reduction="none")}, "one number is needed"),
        ({"metrics": ["acuracy"]}, "no metric 'acuracy'"),
        ({"validation": 1.5}, "1.5 of 600 samples"),
        ({"epochs": 0}, "at least 1"),
        ({"batch_size": 0}, "at least 1"),
        ({"callbacks": [trainer.EarlyStopping()]}, "EarlyStopping watches 'val_loss', but there is no validation"),
        ({"keep": "best"}, "watches 'val_loss', but there is no validation"),
        ({"keep": "worst"}, "keep is 'worst'"),
        (
            {"callbacks": [trainer.EarlyStopping(monitor="val_f1")], "validation": 0.2},
            "'val_f1', which is not measured",
        ),
        ({"keep": "best", "monitor": "val_acc", "validation": 0.2}, "watches 'val_acc', which is not measured"),
        ({"name": "a b"}, "cannot be the name of a run"),
    ],
)
def test_mistakes_show_before_training(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    images, labels = digits()
    data = (change.pop("x", images), change.pop("y", labels))
    with pytest.raises((InputError, ShapeError, RunError), match=message):
        train(tmp_path, data=data, **change)
    assert not (tmp_path / "runs.db").exists()


def test_what_only_plain_models_have(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="loss was given, but a LightningModule decides"):
        train(tmp_path, Plain())
    for data in (DigitsModule(), DigitsModule().train_dataloader()):
        with pytest.raises(InputError, match="a DataLoader cannot be taken up in the middle"):
            train(tmp_path, data=data, checkpoint_steps=2)
    bare = nn.Linear(1, 1)
    with pytest.raises(InputError, match="expected a pair"):
        train(tmp_path, bare, data=np.zeros(3))


def test_without_tensorboard_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MicrolithError, match=r"needs the package tensorboard[^$]*pip install 'microlith\[train\]'"):
        train(tmp_path, logs=True)
    assert not (tmp_path / "runs.db").exists()


def test_a_failure_before_the_first_step_is_in_the_table(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        train(tmp_path, devices=0)
    (run,) = RunTable(tmp_path).all()
    assert run.status == "failed" and "devices=0" in run.reason


@pytest.mark.parametrize("how", ["scop", "search"])
def test_compression_leaves_the_given_model_as_it_is(how: str, tmp_path: Path) -> None:
    """So it can be the teacher. SCOP takes arrays of NumPy, as ``fit`` does."""
    whole = small_model()
    before = weights(whole)
    compressor = trainer.Scop(0.5, data=digits(), steps=2) if how == "scop" else trainer.LowBitSearch(2, edges="search")
    small = train(tmp_path, whole, epochs=1, compressors=compressor, callbacks=[trainer.Distillation(whole)])
    assert weights(whole) == before and small.model is not whole
    with torch.no_grad():
        assert whole(torch.zeros(2, 1, 8, 8)).shape == (2, 10)


def test_without_ray_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "ray"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MicrolithError, match=r"needs the package ray[^$]*pip install 'microlith\[ray\]'"):
        train(tmp_path, strategy="ray")
    assert not (tmp_path / "runs.db").exists()


def test_nan_names_the_step(tmp_path: Path) -> None:
    with pytest.raises(trainer.NotFiniteError, match=r"step 15 \(epoch 1, batch 3\): the loss is nan[^$]*0\.01"):
        train(tmp_path, Plain(bad_step=15), loss=None, metrics=None)
    (run,) = RunTable(tmp_path).all()
    assert run.status == "failed" and "step 15" in run.reason
    images, labels = digits()
    bad = torch.from_numpy(images.copy())
    bad[120, 0, 0, 0] = float("nan")
    loader = DataLoader(TensorDataset(bad, torch.from_numpy(labels)), 50)
    with pytest.raises(trainer.NotFiniteError, match=r"step 2 .*the batch holds NaN"):
        train(tmp_path, data=loader)
    with pytest.raises(trainer.NotFiniteError, match=r"hint: use a smaller learning rate \(now 1e\+30\)"):
        train(tmp_path, optimizer=lambda values: torch.optim.SGD(values, 1e30), loss=lambda p, y: (p**2).mean())


def test_progress_bar_shows_losses_and_no_version_of_the_logger(tmp_path: Path) -> None:
    shown: dict[str, Any] = {}

    class Look(Callback):
        def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
            assert trainer.progress_bar_callback is not None
            shown.update(trainer.progress_bar_callback.get_metrics(trainer, pl_module))

    train(tmp_path, epochs=1, validation=0.25, logs=True, progress=True, callbacks=[Look()])
    assert set(shown) == {"loss", "accuracy", "val_loss", "val_accuracy"}


def test_two_processes_end_where_one_does(tmp_path: Path) -> None:
    """Twice batches of 25 are batches of 50; without dropout and batch statistics nothing differs."""
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import torch
from small_training import train
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
result = train(sys.argv[1], model, epochs=2, batch_size=25, strategy="ddp", devices=2, name="two", validation=0.25)
import os
if os.environ.get("LOCAL_RANK", "0") == "0":
    torch.save(result.model.state_dict(), sys.argv[2])
"""
    script = tmp_path / "program.py"
    script.write_text(program, "utf-8")
    command = [sys.executable, str(script), str(tmp_path / "runs"), str(tmp_path / "weights.pt")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
    one = train(tmp_path / "one", model, epochs=2, batch_size=50, validation=0.25)
    (run,) = RunTable(tmp_path / "runs").all()
    assert run.status == "finished" and run.hyperparameters["devices"] == 2
    assert run.metrics["val_loss"] == pytest.approx(one.metrics["val_loss"], rel=1e-4)
    for name, value in torch.load(tmp_path / "weights.pt").items():
        torch.testing.assert_close(value, one.model.state_dict()[name], rtol=1e-4, atol=1e-5)
