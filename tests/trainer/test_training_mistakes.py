# SPDX-License-Identifier: Apache-2.0
"""Mistakes in arguments, data and samples: an error of ours that names them, before or at their first occurrence."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_training import digits, small_model, train, weights
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from microlith import trainer
from microlith.errors import InputError, MicrolithError, ShapeError
from microlith.trainer.compress.lowbit_search import Temperature
from microlith.trainer.exporting import agreement
from microlith.trainer.runs import RunError, RunTable


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 1.5}, r"epochs is 1\.5; a whole number"),
        ({"epochs": True}, "epochs is True"),
        ({"epochs": "3"}, "epochs is '3'"),
        ({"batch_size": 2.5}, r"batch_size is 2\.5"),
        ({"seed": 0.5}, r"seed is 0\.5"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"learning_rate": -1.0}, r"learning_rate is -1\.0"),
        ({"checkpoint_steps": 1.5}, "checkpoint_steps is"),
        ({"gradient_clip": -1}, "gradient_clip is -1; it must be a number above 0"),
        ({"monitor_mode": "best"}, "monitor_mode is 'best'"),
        ({"max_epochs": 3}, r"no option max_epochs[^$]*its own word for it is epochs"),
        ({"validation": 1.5}, r"1\.5 of \d+ samples cannot be held back[^$]*between 0 and 1"),
        ({"learning_rat": 0.1}, r"has an option learning_rat[^$]*did you mean learning_rate\?"),
        ({"name": ".."}, r"'\.\.' cannot be the name of a run"),
        ({"quantum": 1}, r"has an option quantum[^$]*help\(trainer\.fit\)"),
        ({"optimizer": "adam"}, "optimizer is 'adam', which cannot be called"),
        ({"callbacks": trainer.EarlyStopping}, r"callbacks: EarlyStopping is a class[^$]*hint: EarlyStopping\("),
        ({"callbacks": [trainer.EarlyStopping]}, "EarlyStopping is a class"),
        ({"callbacks": "stop"}, "callbacks: 'stop' is no list"),
        ({"callbacks": [3]}, "3 is no callback"),
        ({"compressors": trainer.QAT}, "compressors: QAT is a class"),
        ({"compressors": [3]}, "3 is no compressor"),
        ({"model": nn.ReLU}, "model: ReLU is a class"),
        ({"model": print}, "is no module of PyTorch"),
        ({"data": ((digits()[0] * 255).astype(np.uint8), digits()[1])}, r"int64 .*[^$]*scale images .* / 255"),
    ],
)
def test_arguments_of_fit(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, RunError, ShapeError), match=message):
        train(tmp_path, **change)
    assert not (tmp_path / "runs.db").exists()


@pytest.mark.parametrize("change", [{"accelerator": "gpu"}, {"devices": 0}, {"strategy": "magic"}])
def test_what_lightning_refuses(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"options of fit: Lightning's Trainer refuses them: [^$]*hint: strategy, devices"
    ):
        train(tmp_path, **change)


def test_lists_of_numbers_are_arrays(tmp_path: Path) -> None:
    x, y = (part[:64] for part in digits())
    results = [train(tmp_path, data=data, epochs=1).metrics for data in ((x, y), (x.tolist(), y.tolist()))]
    assert results[0] == results[1]


def test_a_checkpoint_that_is_none(tmp_path: Path) -> None:
    fitted = train(tmp_path, epochs=1, name="net")
    (fitted.folder / "last.ckpt").write_bytes(b"junk")
    with pytest.raises(RunError, match=r"last\.ckpt: it is no checkpoint of a run[^$]*begin a new run"):
        train(tmp_path, epochs=2, name="net", resume=True)


def test_what_a_step_makes_infinite(tmp_path: Path) -> None:
    """One step for each epoch, whose weights no loss sees any more; with logs, whose histograms do."""
    x, y = (part[:32] for part in digits())
    with pytest.raises(trainer.NotFiniteError, match=r"no longer finite|the loss is"):
        train(tmp_path, data=(x, y), epochs=2, logs=True, optimizer=lambda weights: torch.optim.SGD(weights, lr=1e30))


def test_targets_of_bce(tmp_path: Path) -> None:
    x, y = digits()
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 1))
    with pytest.raises(InputError, match=r"targets go from 0 to 9; bce wants 0, 1"):
        train(tmp_path, model, (x, y[:, None].astype(np.float32)), loss="bce", metrics=None)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MicrolithError, match=r"nowhere/net\.lith: its folder is not there[^$]*make .*nowhere first"):
        trainer.export(nn.Linear(3, 2), np.zeros((2, 3), np.float32), tmp_path / "nowhere" / "net.lith")


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    ("model", "sample", "message"),
    [
        ("net.pt", np.zeros((2, 3)), "model: str is no module of PyTorch"),
        (nn.Linear(3, 2), np.full((2, 3), np.nan), "sample: NaN or infinity"),
        (
            Branching(),
            np.zeros((2, 3)),
            r"PyTorch cannot export it: [^$]*data-dependent[^$]*hint: torch\.export wants no `if`",
        ),
    ],
)
def test_mistakes_of_export(
    model: Any, sample: Any, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MicrolithError, match=message):
        trainer.export(model, sample, tmp_path / "net.lith")
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())


def test_mistakes_of_compressors(tmp_path: Path) -> None:
    x, y = digits()
    with pytest.raises(ShapeError, match="does not fit"):
        train(tmp_path, compressors=trainer.Scop(0.5, data=(torch.from_numpy(x[:, :, :3]), torch.from_numpy(y))))
    done = train(tmp_path, epochs=1, compressors=trainer.QAT()).model
    with pytest.raises(InputError, match="QAT: the model is quantized already"):
        train(tmp_path, model=done, compressors=trainer.QAT())
    with pytest.raises(InputError, match=r"still searched[^$]*LowBitSearch\.convert"):
        train(tmp_path, compressors=[trainer.LowBitSearch(2, edges="search"), trainer.QAT()])


def test_no_seed_is_the_default_and_one_callback_needs_no_list(tmp_path: Path) -> None:
    stop = trainer.EarlyStopping("loss", patience=0, min_delta=1e9)
    fitted = train(tmp_path, epochs=5, seed=None, callbacks=stop)
    assert len(fitted.history) == 2 and fitted.run.hyperparameters["seed"] == 0


@pytest.mark.parametrize("wrong", [10, -1])
def test_a_label_out_of_range_is_named_in_its_batch(wrong: int, tmp_path: Path) -> None:
    images, labels = (torch.from_numpy(part[:200].copy()) for part in digits())
    labels[130] = wrong
    with pytest.raises(InputError, match=r"batch 2 of epoch 0: targets go from .* scores for 10 classes"):
        train(tmp_path, data=DataLoader(TensorDataset(images, labels), 50))
    labels[0] = wrong
    with pytest.raises(InputError, match="targets: targets go from"):
        train(tmp_path, data=DataLoader(TensorDataset(images, labels), 50))
    good = tuple(part[:100] for part in digits())
    with pytest.raises(InputError, match="batch 0 of validation: targets go from"):
        train(tmp_path, data=good, validation=DataLoader(TensorDataset(images, labels), 50))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: trainer.QAT(freeze="half"), "QAT: freeze is 'half'"),
        (lambda: trainer.QAT(sample=3), "QAT: sample is int"),
        (lambda: trainer.QAT(sample=digits()[0]), "QAT: sample is ndarray"),
        (lambda: trainer.QAT(skip=[3]), r"QAT: skip is \[3\]"),
        (lambda: trainer.LowBitSearch(1.0), r"weights of 1\.0 bits"),
        (lambda: trainer.LowBitSearch("4"), "weights of '4' bits"),
        (lambda: trainer.LowBitSearch(None), "weights of None bits"),
        (lambda: trainer.LowBitSearch({}), "bits is empty"),
        (lambda: trainer.LowBitSearch(layers=3), "LowBitSearch: layers is 3"),
        (lambda: trainer.LowBitSearch(temperature=0.5), r"LowBitSearch: temperature is 0\.5"),
        (lambda: Temperature("1", 0.1), "a temperature is '1'"),
        (lambda: trainer.Scop("half"), "the share of channels to prune is 'half'"),
        (lambda: trainer.Scop({}), "ratio is empty"),
        (lambda: trainer.Scop(steps=1.5), r"Scop: steps is 1\.5"),
        (lambda: trainer.Scop(batch_size=0), "Scop: batch_size is 0"),
        (lambda: trainer.Scop(learning_rate=-1), "Scop: learning_rate is -1"),
        (lambda: trainer.Scop(criterion="mse"), "Scop: criterion is 'mse'"),
        (lambda: trainer.Scop(data=3), "Scop: data is int"),
        (lambda: trainer.Scop(knockoffs=3), "Scop: 3 draws no knockoffs"),
        (lambda: trainer.Scop(seed="x"), "Scop: seed is 'x'"),
        (lambda: trainer.MagnitudePruning("half"), "sparsity is 'half'"),
        (lambda: trainer.MagnitudePruning(pattern=2), "pattern 2"),
        (lambda: trainer.MagnitudePruning(pattern=(2.0, 4)), r"pattern \(2\.0, 4\)"),
        (lambda: trainer.MagnitudePruning(0.5, every=1.5), r"MagnitudePruning: every is 1\.5"),
        (lambda: trainer.MagnitudePruning(0.5, exclude=None), "MagnitudePruning: exclude is None"),
        (lambda: trainer.Distillation("net"), "the teacher is 'net'"),
        (lambda: trainer.Distillation(nn.Identity(), weight="1"), "Distillation: weight is '1'"),
        (lambda: trainer.Distillation(nn.Identity(), temperature=None), "Distillation: temperature is None"),
    ],
)
def test_arguments_of_compressors(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_teacher_that_takes_other_inputs(tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=r"the teacher cannot take inputs float32 \[50, 1, 8, 8\]"):
        train(tmp_path, callbacks=[trainer.Distillation(nn.Linear(3, 10))])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (digits()[1] + 1, "step 0 of SCOP: targets go from 1 to 10"),
        (digits()[1].astype(np.float32), "step 0 of SCOP: the criterion does not take outputs .* targets float32"),
    ],
)
def test_labels_of_scop(labels: np.ndarray, message: str) -> None:
    model = small_model()
    before = weights(model)
    with pytest.raises(InputError, match=message):
        trainer.Scop(0.5, data=(digits()[0], labels), steps=2, batch_size=600).apply(model)
    assert weights(model) == before


class Halves(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x, x * 1000


@pytest.mark.parametrize(
    ("model", "sample", "message"),
    [
        (small_model(), digits()[0][0, 0], r"sample: Sequential does not take float32 \[1, 8\]"),
        (small_model(), digits()[0][:2, :, :4], r"does not take float32 \[1, 1, 4, 8\]"),
        (small_model(), (digits()[0][:2] * 255).astype(np.uint8), "does not take uint8[^$]*scale integers"),
        (small_model(), (digits()[0][:2], digits()[0][:2]), "does not take"),
        (Halves(), (digits()[0][:2], digits()[0][:3]), "different numbers of rows"),
        (small_model(), "x", "sample: str is no tensor"),
        (small_model(), None, "sample: NoneType is no tensor"),
        (small_model(), np.array(["a"]), "sample: an array of <U1"),
    ],
)
def test_samples_of_export(model: nn.Module, sample: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(MicrolithError, match=message):
        trainer.export(model, sample, tmp_path / "net.lith")
    assert not list(tmp_path.iterdir())


def test_agreement_is_that_of_each_output() -> None:
    """A small output that is all wrong is not lost behind a large one that is right."""
    large, small = np.full(100, 1000.0, np.float32), np.full(4, 0.1, np.float32)
    fine = agreement("a", [large, small * 1.01], "b", [large, small], 20, ["large", "small"])
    assert [item.output for item in fine.outputs] == ["large", "small"]
    assert fine.sqnr == pytest.approx(40, abs=0.01) and fine.output == "small" and "(output small)" in str(fine)
    assert fine.outputs[0].sqnr == np.inf
    with pytest.raises(trainer.ExportError, match=r"0\.0 dB \(output small\); 20 dB are wanted"):
        agreement("a", [large, small * 0], "b", [large, small], 20, ["large", "small"])
    with pytest.raises(trainer.ExportError, match="output large"):
        agreement("a", [large * np.nan, small], "b", [large, small], 20, ["large", "small"])
    assert agreement("a", [small * 0 + 1e-9], "b", [small * 0], 20).sqnr == pytest.approx(80)
    with pytest.raises(trainer.ExportError):
        agreement("a", [small], "b", [small * 0], 20)


def test_resume_of_a_finished_run_gives_its_result(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = train(tmp_path / "a", validation=0.2, keep="best", resume=True)
    with caplog.at_level(logging.WARNING):
        again = train(tmp_path / "a", validation=0.2, keep="best", resume=True)
    assert f"run {first.run.id} is finished after 2 epochs" in caplog.text
    assert again.run.id == first.run.id and again.run.status == "finished"
    assert weights(again.model) == weights(first.model)
    assert again.history == first.history and again.metrics == first.metrics
    longer = train(tmp_path / "a", epochs=3, validation=0.2, resume=True)
    assert longer.run.id == first.run.id and len(longer.history) == 3
    assert weights(longer.model) == weights(train(tmp_path / "b", epochs=3, validation=0.2).model)
    other = train(tmp_path / "a", epochs=1, validation=0.2, batch_size=60, resume=True)
    assert other.run.id != first.run.id and len(RunTable(tmp_path / "a").all()) == 2


def test_resume_of_a_run_that_stopped_early_or_was_compressed(tmp_path: Path) -> None:
    def run() -> trainer.Fitted:
        stop = trainer.EarlyStopping("loss", patience=0, min_delta=1e9)
        return train(
            tmp_path, epochs=5, callbacks=stop, compressors=trainer.LowBitSearch(4, edges="search"), resume=True
        )

    first, again = run(), run()
    assert len(first.history) == 2 and again.history == first.history and again.run.id == first.run.id
    assert weights(again.model) == weights(first.model)
