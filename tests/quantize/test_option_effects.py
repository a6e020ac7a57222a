# SPDX-License-Identifier: Apache-2.0
"""Every option has an effect, or is refused by name; nothing that a user says is silently passed over."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from typer.testing import CliRunner

from microlith.cli import app
from microlith.converter.quantize import QuantizeOptions
from microlith.converter.quantize.config import load_config, make_options
from microlith.converter.quantize.images import ImageOptions
from microlith.converter.quantize.options import ALIASES, SCHEMES
from microlith.costs import Costs
from microlith.errors import InputError, MicrolithError, OutputError

from . import onnx_nets
from .test_static import images, quantized

DATA = [np.zeros((1, 16), np.float32)]
STATIC = ("int8", "16x8")
ROUNDED = (*STATIC, "weights-int8", "weights-int4")

COSTS = lambda graph: Costs(0, 0, 0.0, {})  # noqa: E731

EFFECTS: dict[str, tuple[Any, tuple[str, ...], dict[str, Any]]] = {
    # a value, the schemes that do something with it, what has to be given beside it
    "calibrate": (DATA, SCHEMES, {}),
    "samples": (3, SCHEMES, {}),
    "images": (ImageOptions(mean=(1.0,)), SCHEMES, {}),
    "search_samples": (2, SCHEMES, {}),
    "labels": ([0], SCHEMES, {}),
    "float_layers": (("a*",), SCHEMES, {}),
    "costs": (COSTS, SCHEMES, {}),
    "compute": ("float16", ("float16",), {}),
    "observer": ("mse", STATIC, {}),
    "percentile": (99.0, ("int8",), {}),
    "rounding": ("adaptive", ROUNDED, {}),
    "bias_correction": (True, ROUNDED, {}),
    "equalize": (True, STATIC, {}),
    "smooth": (0.5, STATIC, {}),
    "wide_layers": (("a*",), ("int8",), {}),
    "require_int8": (True, STATIC, {}),
    "contract": ("float-even", STATIC, {}),
    "group": (64, ("weights-int4",), {}),
    "max_flash": (1000, STATIC, {}),
    "max_ram": (1000, STATIC, {"costs": COSTS}),
    "max_instructions": (1e6, STATIC, {"costs": COSTS}),
    "max_drop": (0.1, STATIC, {}),
}


def test_the_table_knows_every_option() -> None:
    assert set(EFFECTS) == {field.name for field in dataclasses.fields(QuantizeOptions)} - {"scheme"}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", EFFECTS)
def test_options_work_or_are_refused(name: str, scheme: str) -> None:
    value, works, others = EFFECTS[name]
    options = QuantizeOptions(**{"scheme": scheme, "calibrate": DATA, **others, name: value})
    if scheme in works:
        options.check()
        return
    with pytest.raises(InputError) as caught:
        options.check()
    flag = name.replace("_", "-").removesuffix("s")
    assert flag in str(caught.value), "it is named"


@pytest.mark.parametrize("name", ["samples", "search_samples", "labels", "images", "rounding", "bias_correction"])
def test_options_of_data_without_data(name: str) -> None:
    with pytest.raises(InputError, match="would change nothing: it is for calibration data"):
        QuantizeOptions(scheme="weights-int8", **{name: EFFECTS[name][0]}).check()


@pytest.mark.parametrize(
    "given", [{"rounding": "nearest"}, {"bias_correction": False}, {"equalize": False}, {"smooth": 0.0}]
)
def test_what_is_off_anyway_may_be_switched_off(given: dict[str, Any]) -> None:
    for scheme in SCHEMES:
        QuantizeOptions(scheme=scheme, calibrate=DATA, **given).check()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"percentile": 99.0, "observer": "mse"}, "the observer is 'mse'"),
        ({"percentile": 99.0, "scheme": "16x8"}, "the observer is 'min-max'"),
        ({"require_int8": True, "float_layers": ("a",)}, "--require-int8 contradicts --float-layer a"),
    ],
)
def test_options_that_contradict_each_other(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        QuantizeOptions(calibrate=DATA, **given).check()
    if "percentile" in given:
        QuantizeOptions(calibrate=DATA, **{**given, "observer": "percentile"}).check()


def test_names_of_other_tools(tmp_path: Path) -> None:
    names = ("int16x8", "INT16", "16X8", "fp16", "half", "dynamic_range", "weight-only", "int4", "W8A8", "int8")
    wanted = ["16x8"] * 3 + ["float16"] * 2 + ["dynamic", "weights-int8", "weights-int4", "int8", "int8"]
    assert [QuantizeOptions(name).scheme for name in names] == wanted
    assert set(ALIASES.values()) <= set(SCHEMES) and not set(ALIASES) & set(SCHEMES)
    file = tmp_path / "q.toml"
    file.write_text('[quantize]\nscheme = "fp16"\n')
    assert make_options(load_config(file)).scheme == "float16"
    with pytest.raises(InputError, match=r"(?s)no scheme 'int88'.*did you mean 'int8'\? one of int8, 16x8"):
        QuantizeOptions("int88").check()
    with pytest.raises(InputError, match=r"(?s)no observer 'minmax'.*did you mean 'min-max'\?"):
        QuantizeOptions(observer="minmax", calibrate=DATA).check()


def test_a_layer_cannot_be_both() -> None:
    cnn = onnx_nets.small_cnn(np.random.default_rng(0))
    with pytest.raises(InputError, match="layer 'first' shall be in floating point and have 16-bit activations"):
        quantized(cnn, images(2), float_layers=("f*",), wide_layers=("first", "last"))


def test_moves_without_a_place_are_told() -> None:
    model = onnx_nets.dense(np.random.default_rng(0))
    _, report = quantized(model, DATA, equalize=True, smooth=0.7)
    assert [note.partition(":")[0] for note in report.notes] == ["--equalize", "--smooth"]
    _, report = quantized(model, DATA)
    assert not report.notes


def test_each_move_is_forced_by_its_own_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exponent of SmoothQuant has no say between convolutions, and --equalize none behind normalizations."""
    from microlith.converter.quantize import static

    asked: list[tuple[frozenset[str], float]] = []
    real = static.equalized

    def spy(graph: Any, feeds: Any, alpha: float, kinds: frozenset[str]) -> Any:
        asked.append((kinds, alpha))
        return real(graph, feeds, alpha, kinds)

    monkeypatch.setattr(static, "equalized", spy)
    model = onnx_nets.two_convolutions(np.random.default_rng(0))
    samples = [np.random.default_rng(i).standard_normal((1, 4, 6, 6)).astype(np.float32) for i in range(4)]
    quantized(model, samples, smooth=0.9, rounding="nearest")
    assert {alpha for kinds, alpha in asked if "conv2d" in kinds} == {0.5}
    assert {alpha for kinds, alpha in asked if "layer_norm" in kinds} == {0.9}


def test_a_drop_of_nothing() -> None:
    """Floating point loses nothing, and is then what remains."""
    cnn = onnx_nets.small_cnn(np.random.default_rng(0))
    graph, report = quantized(cnn, images(4), max_drop=0.0)
    feed = images(1, seed=9)[0]
    from microlith.evaluate import evaluate

    from .test_static import sqnr_to_onnxruntime

    assert evaluate(graph, {"image": feed})["scores"].shape == (1, 5)
    assert sqnr_to_onnxruntime(cnn, graph, [feed]) > 110
    assert report.floats


def test_no_bias_correction_leaves_biases_alone() -> None:
    """Also where weights are rounded adaptively, which otherwise brings a mean error with it."""
    model = onnx_nets.dense(np.random.default_rng(0), inputs=64)
    samples = [np.random.default_rng(i).standard_normal((1, 64)).astype(np.float32) + 2 for i in range(16)]
    for scheme in ("int8", "weights-int4"):
        biases = []
        for corrects in (True, False):
            graph, _ = quantized(model, samples, scheme=scheme, rounding="adaptive", bias_correction=corrects)
            layer = next(node for node in graph.nodes if node.op.startswith("dense"))
            bias = layer.input(2).data.astype(np.float64)
            if scheme == "int8":
                bias = bias * float(layer.input(0).quant.scale[0]) * layer.input(1).quant.scale
            biases.append(bias)
        wanted = onnx.numpy_helper.to_array(model.graph.initializer[1])
        assert np.abs(biases[1] - wanted).max() < 1e-3 < np.abs(biases[0] - wanted).max()


def test_weights_alone_tell_what_they_cost_in_accuracy_and_what_stays() -> None:
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((1, 64, 16)).astype(np.float32),
        "r": rng.standard_normal((1, 64, 16)).astype(np.float32),
        "v": rng.standard_normal((16, 8)).astype(np.float32),
    }
    nodes = [
        helper.make_node("LSTM", ["x", "w", "r"], ["h", "", ""], hidden_size=16, name="memory"),
        helper.make_node("MatMul", ["h", "v"], ["y"], name="last"),
    ]
    model = onnx_nets.model(nodes, {"x": (5, 1, 16)}, {"y": (5, 1, 1, 8)}, weights)
    samples = [rng.standard_normal((5, 1, 16)).astype(np.float32) for _ in range(4)]
    _, report = quantized(model, samples, scheme="float16", compute="float16", labels=np.zeros((4, 5), np.int64))
    assert report.sqnr is not None and report.sqnr > 50 and report.accuracy is not None
    for scheme, least in (("float16", 60.0), ("weights-int8", 35.0), ("weights-int4", 12.0), ("dynamic", 30.0)):
        _, report = quantized(model, samples, scheme=scheme)
        assert report.samples == 4 and report.sqnr is not None and report.sqnr > least
        assert {layer.op: layer.numbers for layer in report.floats} == {"lstm": "float32"}


# The command line


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["convert", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    onnx.save(onnx_nets.small_cnn(np.random.default_rng(0)), tmp_path / "m.onnx")
    np.savez(tmp_path / "d.npz", image=np.concatenate(images(6)))
    np.save(tmp_path / "d.npy", np.concatenate(images(6)))
    (tmp_path / "raw").mkdir()
    images(1)[0].tofile(tmp_path / "raw" / "0.bin")
    return tmp_path / "m.onnx", tmp_path / "d.npz"


@pytest.mark.parametrize("option", ["--mean=1", "--std=2", "--resize=8", "--crop=4", "--layout=nhwc", "--bgr"])
@pytest.mark.parametrize("data", ["d.npz", "d.npy", "raw"])
def test_options_of_pictures_without_pictures(files: tuple[Path, Path], option: str, data: str) -> None:
    result = run(files[0], "-q", "int8", "--calibrate", files[0].parent / data, option)
    assert isinstance(result.exception, InputError)
    assert "no pictures that --mean" in str(result.exception)
    if data == "d.npz":
        command = ["compare", str(files[0]), str(files[0]), "--data", str(files[1]), option]
        assert "no pictures that --mean" in str(CliRunner().invoke(app, command).exception)


@pytest.mark.parametrize("scheme", ["float16", "int8"])
def test_what_is_said_of_weights_that_are_no_numbers(tmp_path: Path, scheme: str) -> None:
    model = onnx_nets.dense(np.random.default_rng(0))
    weights = onnx.numpy_helper.to_array(model.graph.initializer[0]).copy()
    weights[0, 0] = np.nan
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    with pytest.raises(MicrolithError, match="weights hold NaN or infinity: 'w'") as caught:
        quantized(model, DATA, scheme=scheme)
    assert ("integers" in str(caught.value)) <= (scheme == "int8")


def test_reports_go_where_they_can(files: tuple[Path, Path], tmp_path: Path) -> None:
    """What cannot be written is said before anything is computed."""
    model, data = files
    given = (model, "-q", "int8", "--calibrate", data, "-o")
    for out, report, words in (
        ("m.lith", "m.lith", "the report would replace the output"),
        ("m.lith", "m.onnx", "the report would replace the model"),
        ("m.lith", "d.npz", "the report would replace the calibration data"),
        ("m.lith", "absent/r.json", "its folder is missing"),
        ("absent/m.lith", "r.json", "its folder is missing"),
        ("raw", "r.json", "it is a folder"),
    ):
        result = run(*given, tmp_path / out, "--report", tmp_path / report)
        assert isinstance(result.exception, InputError | OutputError) and words in str(result.exception)
        assert not (tmp_path / "m.lith").exists() and not (tmp_path / "r.json").exists()
    assert run(*given, tmp_path / "m.lith", "--report", tmp_path / "r.json").exit_code == 0
    assert json.loads((tmp_path / "r.json").read_text())["scheme"] == "int8"
