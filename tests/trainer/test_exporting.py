# SPDX-License-Identifier: Apache-2.0
"""``trainer.export``: PyTorch, ONNX Runtime and Microlith agree, and what does not is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from small_training import digits, small_model
from torch import Tensor, nn

import microlith
from microlith import trainer
from microlith.errors import InputError

IMAGES = digits()[0][:6]


class Doubled(nn.Module):
    """Other numbers when it is exported than when it is run."""

    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if torch.compiler.is_compiling() else x


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if float(x.sum()) > 0 else x - 1


class TwoByTwo(nn.Module):
    def forward(self, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        return left + right, left * right


def test_three_engines_agree(tmp_path: Path) -> None:
    model = small_model()
    model.train()
    exported = trainer.export(model, IMAGES, tmp_path / "net.lith")
    assert model.training and model[5].training
    with torch.no_grad():
        expected = model.eval()(torch.from_numpy(IMAGES)).numpy()
    with microlith.load(tmp_path / "net.lith") as loaded:
        ours = np.concatenate([loaded.run({"input": row[None]})["output"] for row in IMAGES])
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)
    assert [item.engines for item in exported.agreement] == [
        ("ONNX Runtime", "PyTorch"),
        ("Microlith", "ONNX Runtime"),
        ("Microlith", "PyTorch"),
    ]
    last = exported.agreement[-1]
    assert last.largest_error == pytest.approx(np.abs(ours - expected).max(), rel=1e-6)
    assert last.largest_value == pytest.approx(np.abs(expected).max()) and last.sqnr > 100
    assert "Microlith against PyTorch: largest error" in str(exported) and exported.float_layers == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.lith", "net.onnx"]


def test_onnx_holds_no_path_of_this_machine(tmp_path: Path) -> None:
    trainer.export(small_model(), IMAGES, tmp_path / "net.lith")
    data = (tmp_path / "net.onnx").read_bytes()
    assert b".py" not in data
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)


def test_dynamic_batch(tmp_path: Path) -> None:
    model = small_model().eval()
    exported = trainer.export(model, IMAGES, tmp_path / "net.lith", dynamic_batch=True)
    assert isinstance(exported.graph.inputs[0].shape[0], str) or exported.graph.inputs[0].shape[0] != 1
    with microlith.load(tmp_path / "net.lith") as loaded, torch.no_grad():
        for count in (1, 5):
            ours = loaded.run({"input": IMAGES[:count]})["output"]
            np.testing.assert_allclose(ours, model(torch.from_numpy(IMAGES[:count])), rtol=1e-4, atol=1e-5)


def test_several_inputs_and_outputs_have_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=(3, 4)).astype(np.float32) for _ in range(2))
    trainer.export(TwoByTwo(), (left, right), tmp_path / "a.lith")
    with microlith.load(tmp_path / "a.lith") as loaded:
        outputs = loaded.run({"left": left[:1], "right": right[:1]})
    assert list(outputs) == ["output_0", "output_1"]
    np.testing.assert_array_equal(outputs["output_1"], left[:1] * right[:1])
    exported = trainer.export(
        TwoByTwo(), (left, right), tmp_path / "a.lith", input_names=["p", "q"], output_names=["sum", "product"]
    )
    assert [value.name for value in exported.graph.inputs] == ["p", "q"]
    assert [value.name for value in exported.graph.outputs] == ["sum", "product"]


@pytest.mark.parametrize(
    ("model", "sample", "options", "error", "message"),
    [
        (Doubled(), IMAGES, {}, trainer.ExportError, r"ONNX Runtime against PyTorch: .* 20 dB are wanted"),
        (Branching(), IMAGES, {}, trainer.ExportError, "PyTorch cannot export it"),
        (nn.Identity(), IMAGES[:0], {}, InputError, "at least one row"),
        (TwoByTwo(), (IMAGES, IMAGES), {"input_names": ["a"]}, InputError, "1 input names for 2 inputs"),
        (TwoByTwo(), (IMAGES, IMAGES), {"output_names": ["a"]}, InputError, "1 output names for 2 outputs"),
    ],
)
def test_what_fails_leaves_no_file(
    model: nn.Module, sample: Any, options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        trainer.export(model, sample, tmp_path / "net.lith", **options)
    assert not list(tmp_path.iterdir())


def test_the_name_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.lith"):
        trainer.export(small_model(), IMAGES, tmp_path / "net.onnx")


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.GRU(8, 12, batch_first=True), nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layer(x)[0][:, -1])


def test_recurrent_layers_that_training_leaves_real(tmp_path: Path) -> None:
    """They are named, with the way to integers (which tests/quantize/test_recurrent.py goes)."""
    x = torch.randn(8, 5, 8, generator=torch.Generator().manual_seed(0))
    compressor = trainer.QAT(sample=x[:2])
    model = compressor.apply(Recurrent())
    model(x)
    learned = trainer.export(compressor.convert(model), x[:4], tmp_path / "learned.lith")
    [layer] = learned.float_layers
    assert layer.startswith("gru ") and "export the model without QAT" in str(learned)
    assert "hint" not in str(replace(learned, float_layers=()))
