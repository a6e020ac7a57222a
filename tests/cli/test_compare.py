# SPDX-License-Identifier: Apache-2.0
"""microlith compare: what it measures against NumPy, which layers it finds, the causes it names, and its page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from microlith.compare.differences import Comparison
from microlith.ir import Quant

from .conftest import Cli, Outcome

CHANNELS, SIZE = 4, 8


class Pair:
    """A float model of two convolutions, a sum and a sigmoid, and the same with quantize and dequantize between."""

    def __init__(self, **changes: float) -> None:
        rng = np.random.default_rng(5)
        self.changes = changes
        self.weights = {
            name: rng.integers(-127, 128, (CHANNELS, CHANNELS, 3, 3)).astype(np.int8) for name in ("w0", "w1")
        }
        self.scale = 0.003
        self.inputs = rng.uniform(-1, 1, (8, 1, CHANNELS, SIZE, SIZE)).astype(np.float32)

    def float_model(self) -> onnx.ModelProto:
        constants = {name: (data * np.float32(self.scale)).astype(np.float32) for name, data in self.weights.items()}
        nodes = [
            helper.make_node("Conv", ["x", "w0"], ["c0"], name="conv0", pads=[1] * 4),
            helper.make_node("Relu", ["c0"], ["r0"], name="relu0"),
            helper.make_node("Conv", ["r0", "w1"], ["c1"], name="conv1", pads=[1] * 4),
            helper.make_node("Add", ["c1", "r0"], ["s"], name="sum"),
            *self._end("s"),
        ]
        return self._model(nodes, constants)

    def _end(self, name: str) -> list[Any]:
        if "norm" in self.changes:  # an op that has no integer form
            return [helper.make_node("LpNormalization", [name], ["y"], name="end", axis=1)]
        return [helper.make_node("Identity", [name], ["y"], name="end")]

    def quantized_model(self) -> onnx.ModelProto:
        """Every range fits, unless ``changes`` names another scale for a tensor or the weights."""
        scales = {"x": 1 / 127, "r0": 0.035, "c1": 0.05, "s": 0.06, **self.changes}
        constants: dict[str, np.ndarray] = {"zero": np.array(0, np.int8)}
        nodes = []

        def decoded(name: str, source: str, scale: float) -> None:
            constants[f"{name}_scale"] = np.array(scale, np.float32)
            nodes.append(
                helper.make_node(
                    "DequantizeLinear", [source, f"{name}_scale", "zero"], [f"{name}_DequantizeLinear_Output"]
                )
            )

        def quantized(name: str) -> str:
            constants[f"{name}_scale"] = np.array(scales[name], np.float32)
            nodes.append(
                helper.make_node("QuantizeLinear", [name, f"{name}_scale", "zero"], [f"{name}_QuantizeLinear_Output"])
            )
            decoded(name, f"{name}_QuantizeLinear_Output", scales[name])
            return f"{name}_DequantizeLinear_Output"

        for name, data in self.weights.items():
            constants[f"{name}_q"] = data
            decoded(name, f"{name}_q", scales.get(name, self.scale))
        x = quantized("x")
        nodes.append(helper.make_node("Conv", [x, "w0_DequantizeLinear_Output"], ["c0"], name="conv0", pads=[1] * 4))
        nodes.append(helper.make_node("Relu", ["c0"], ["r0"], name="relu0"))
        r0 = quantized("r0")
        nodes.append(helper.make_node("Conv", [r0, "w1_DequantizeLinear_Output"], ["c1"], name="conv1", pads=[1] * 4))
        nodes.append(helper.make_node("Add", [quantized("c1"), r0], ["s"], name="sum"))
        nodes += self._end(quantized("s"))
        return self._model(nodes, constants)

    def _model(self, nodes: list[Any], constants: dict[str, np.ndarray]) -> onnx.ModelProto:
        shape = [1, CHANNELS, SIZE, SIZE]
        graph = helper.make_graph(
            nodes,
            "pair",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(array, name) for name, array in constants.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    def write(self, folder: Path) -> tuple[Path, Path, Path]:
        paths = folder / "float.onnx", folder / "int8.onnx", folder / "samples.npz"
        onnx.save(self.float_model(), paths[0])
        onnx.save(self.quantized_model(), paths[1])
        np.savez(paths[2], x=self.inputs[:, 0])
        return paths


def compared(cli: Cli, *arguments: object) -> dict[str, Any]:
    outcome = cli("compare", *arguments, "--json")
    assert outcome.code in (0, 1), outcome.err
    data: dict[str, Any] = json.loads(outcome.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    return data


def tags(report: dict[str, Any], reference: str) -> list[str]:
    rows = [row for row in report["layers"] if row["reference"] == reference]
    assert rows, [row["reference"] for row in report["layers"]]
    return [cause["tag"] for row in rows for cause in row["causes"]]


def run_onnx(path: Path, samples: np.ndarray) -> np.ndarray:
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options)
    return np.stack([session.run(None, {"x": sample})[0] for sample in samples])


def test_figures_are_those_of_numpy(cli: Cli, tmp_path: Path) -> None:
    pair = Pair()
    first, second, data = pair.write(tmp_path)
    a, b = (run_onnx(path, pair.inputs).astype(np.float64) for path in (first, second))
    report = compared(cli, first, second, "--data", data)
    assert report["samples"] == len(pair.inputs)
    (row,) = [row for row in report["layers"] if row["output"]]
    assert row["sqnr_db"] == pytest.approx(10 * np.log10((a**2).sum() / ((a - b) ** 2).sum()), abs=1e-9)
    assert row["cosine"] == pytest.approx((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()), abs=1e-12)
    assert row["max_error"] == pytest.approx(np.abs(a - b).max(), abs=1e-12)
    assert row["range"] == [b.min(), b.max()]
    assert row["reference_range"] == [a.min(), a.max()]
    assert row["elements"] == a.size


def test_statistics_of_known_numbers() -> None:
    rng = np.random.default_rng(3)
    quant, sums = Quant.per_tensor(0.5, 10), Comparison()
    stored = [rng.integers(-128, 128, 500).astype(np.int8) for _ in range(3)]
    stored[1][:7], stored[2][:4] = 127, -128
    real = [(0.5 * (item.astype(np.float64) - 10)) for item in stored]
    reference = [2.0 * item + 3.0 for item in real]
    for a, b, q in zip(reference, real, stored, strict=True):
        sums.add(a, b, q, quant)
    everything = np.concatenate(stored)
    assert sums.saturation == np.isin(everything, (-128, 127)).mean()
    outside = (np.concatenate(reference) > 58.5 + 0.25) | (np.concatenate(reference) < -69 - 0.25)
    assert sums.clipping == outside.mean()
    gain, offset, rest = sums.fitted_noise()
    assert (gain, offset) == (pytest.approx(0.5), pytest.approx(-1.5))
    assert rest < 1e-6 * sums.noise
    for histogram, numbers in ((sums.a_histogram, reference), (sums.b_histogram, real)):
        edges = histogram.low + histogram.width * np.arange(65)
        assert histogram.counts.sum() == 1500
        assert np.abs(np.histogram(np.concatenate(numbers), edges)[0] - histogram.counts).sum() <= 4  # at the edges


def test_numbers_that_are_not_finite() -> None:
    sums = Comparison()
    a = np.array([1.0, np.nan, np.inf, 2.0])
    sums.add(a, a.copy(), a, None)
    assert (sums.equal, sums.not_finite, sums.count) == (True, 2, 2)
    sums.add(a, np.array([1.0, 0.0, np.inf, 2.0]), a, None)
    assert not sums.equal and (sums.sqnr, sums.max_error) == (-np.inf, np.inf)


def test_layers_are_found_although_passes_fuse_and_move_them(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair().write(tmp_path)
    assert cli("convert", second, "-o", tmp_path / "int8.lith").code == 0
    report = compared(cli, first, tmp_path / "int8.lith", "--data", data)
    found = {row["reference"]: row for row in report["layers"]}
    # c0 is gone: the convolution computes the Relu behind it. c1 is there, channels last.
    assert {"x", "r0", "c1", "y"} <= set(found) and "c0" not in found
    assert found["r0"]["op"] == "conv2d" and found["r0"]["type"] == "int8"
    assert found["c1"]["sqnr_db"] > 25
    assert all(row["matched_by"] in ("origin", "name") for row in report["layers"])


def _channels(path: Path, gain: np.ndarray) -> Path:
    """Two convolutions whose channels in between have ranges far apart, flattened into a dense layer."""
    rng = np.random.default_rng(3)
    constants = {
        "w0": rng.normal(size=(4, 1, 3, 3)) * gain.reshape(-1, 1, 1, 1),
        "w1": rng.normal(size=(4, 4, 3, 3)) / gain.reshape(1, -1, 1, 1),
        "w2": rng.normal(size=(4 * 9, 5)),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["c0"], pads=[1] * 4),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1"], ["c1"], pads=[1] * 4),
        helper.make_node("MaxPool", ["c1"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["flat"]),
        helper.make_node("MatMul", ["flat", "w2"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(data.astype(np.float32), name) for name, data in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_order_and_scale_of_channels_are_not_taken_for_noise(cli: Cli, tmp_path: Path) -> None:
    """Channels last are flattened in another order; a tensor with moved scale has other numbers, and is left out."""
    model = _channels(tmp_path / "m.onnx", np.array([0.3, 1.0, 2.0, 6.0]))
    data = tmp_path / "d.npz"
    np.savez(data, x=np.random.default_rng(4).uniform(-1, 1, (24, 1, 1, 6, 6)).astype(np.float32))
    for flag in ("--equalize", "--no-equalize"):
        lith = tmp_path / f"{flag}.lith"
        assert cli("convert", model, "-q", "int8", "--calibrate", data, flag, "-o", lith).code == 0
        result = cli("compare", model, lith, "--data", data, "--json")
        assert result.code == 0, result.err
        report = json.loads(result.out)
        names = {layer["reference"] for layer in report["layers"]}
        assert all(layer["sqnr_db"] > 20 for layer in report["layers"]), report["layers"]
        assert bool(report["left_out"]) == (flag == "--equalize") == ("r0" not in names), names
        assert any("moved scale" in reason for reason in report["left_out"].values()) == (flag == "--equalize")
        assert "flat" in names, names
    lith = tmp_path / "--equalize.lith"
    both = json.loads(cli("compare", lith, f"{lith}@reference", "--data", data, "--json").out)
    assert not both["left_out"] and all(layer["equal"] for layer in both["layers"])


def test_rounding_alone_is_named_so(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair().write(tmp_path)
    report = compared(cli, first, f"{second}@runtime", "--data", data)
    for reference in ("x", "r0", "c1"):
        assert "rounding" in tags(report, reference), reference
        assert not {"range clipped", "scale mismatch", "float fallback"} & set(tags(report, reference))


def test_clipped_range_is_named_where_it_is(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair(r0=0.004).write(tmp_path)
    report = compared(cli, first, f"{second}@runtime", "--data", data)
    assert "range clipped" in tags(report, "r0")
    assert "range clipped" not in tags(report, "x")
    assert "range clipped" not in tags(report, "c1")
    assert "inherited" in tags(report, "c1")
    (row,) = [row for row in report["layers"] if row["reference"] == "r0"]
    reference = Pair().float_model()
    reference.graph.output.append(onnx.ValueInfoProto(name="r0"))
    onnx.save(reference, tmp_path / "taps.onnx")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = onnxruntime.InferenceSession(str(tmp_path / "taps.onnx"))
    values = np.stack([session.run(["r0"], {"x": sample})[0] for sample in Pair().inputs])
    assert row["clipped"] == pytest.approx((values > 127 * 0.004 + 0.002).mean(), abs=2e-4)


def test_wrong_scale_is_named_where_it_is(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair(w1=0.003 * 1.25).write(tmp_path)
    report = compared(cli, first, f"{second}@runtime", "--data", data)
    assert "scale mismatch" in tags(report, "c1")
    assert "scale mismatch" not in tags(report, "r0") + tags(report, "x")
    (row,) = [row for row in report["layers"] if row["reference"] == "c1"]
    (text,) = [cause["text"] for cause in row["causes"] if cause["tag"] == "scale mismatch"]
    words = re.search(r"about ([\d.]+) times", text)
    assert words and float(words[1]) == pytest.approx(1.25, rel=0.01)


def test_float_fallback_is_named(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair(norm=1).write(tmp_path)
    report = compared(cli, first, f"{second}@runtime", "--data", data)
    assert "float fallback" in tags(report, "y")
    assert "float fallback" not in tags(report, "c1")


def test_runtime_and_generated_code_are_equal(cli: Cli, tmp_path: Path) -> None:
    _, second, data = Pair().write(tmp_path)
    assert cli("convert", second, "-o", tmp_path / "m.lith").code == 0
    outcome = cli("compare", tmp_path / "m.lith", f"{tmp_path / 'm.lith'}@c", "--data", data, "--max-error", "*=0")
    assert outcome.code == 0, outcome.err + outcome.out
    report = compared(cli, f"{tmp_path / 'm.lith'}@reference", f"{tmp_path / 'm.lith'}@runtime-c", "--data", data)
    assert all(row["equal"] for row in report["layers"])


def test_the_emulator_is_one_of_the_engines(cli: Cli, tmp_path: Path) -> None:
    from microlith import targets
    from microlith.codegen.execute import missing_tools

    missing = missing_tools(targets.get("cortex-m4"))
    if missing:
        pytest.skip(f"{missing[0]} is not installed")
    _, second, data = Pair().write(tmp_path)
    report = compared(cli, f"{second}@runtime", f"{second}@cortex-m4", "--data", data, "--samples", 2)
    assert report["samples"] == 2 and len(report["layers"]) > 3
    assert all(row["equal"] for row in report["layers"])


def test_tflite_original_against_runtime(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    from tflite_builder import TfliteBuilder

    rng, builder = np.random.default_rng(1), TfliteBuilder()
    x = builder.input((1, 6), "int8", name="x", scale=0.05, zero_point=3)
    w = builder.constant(rng.integers(-127, 128, (5, 6)).astype(np.int8), name="w", scale=0.01, zero_point=0)
    hidden = builder.tensor((1, 5), "int8", name="hidden", scale=0.04, zero_point=-7)
    y = builder.output((1, 5), "int8", name="y", scale=1 / 256, zero_point=-128)
    builder.operator("FULLY_CONNECTED", [x, w], [hidden], "FullyConnectedOptions")
    builder.operator("LOGISTIC", [hidden], [y])
    path = tmp_path / "small.tflite"
    path.write_bytes(builder.build())
    report = compared(cli, path, f"{path}@runtime", "--samples", 5)
    assert [row["reference"] for row in report["layers"]] == ["hidden", "y"]
    assert all(row["equal"] for row in report["layers"])


@pytest.mark.parametrize(("sizes", "given"), [((1, 8), []), (("n", 8), []), (("n", "k"), ["--input", "x:1,8"])])
def test_sizes_that_one_model_leaves_open(
    cli: Cli, tmp_path: Path, sizes: tuple[int | str, ...], given: list[str]
) -> None:
    """They are those of the other: four samples in a file are four runs, in whatever order the models stand."""
    weights = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)]
    infos.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, [sizes[0], 4]))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], [numpy_helper.from_array(weights, "w")])
    path, fixed = tmp_path / "m.onnx", tmp_path / "m.lith"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    assert cli("convert", path, "-o", fixed, "--input", "x:1,8").code == 0
    np.savez(tmp_path / "x.npz", x=np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32))
    for pair in ((path, fixed), (fixed, path)):
        report = compared(cli, *pair, "--data", tmp_path / "x.npz", *given)
        assert report["samples"] == 4 and report["layers"][-1]["max_error"] < 1e-5
        assert compared(cli, *pair, *given)["samples"] == 3


# Thresholds


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--min-sqnr", "20"], 0),
        (["--min-sqnr", "80"], 1),
        (["--min-sqnr", "c1=20", "--min-sqnr", "r*=20"], 0),
        (["--min-sqnr", "c1=80"], 1),
        (["--min-cosine", "0.99"], 0),
        (["--min-cosine", "0.9999999"], 1),
        (["--max-error", "1"], 0),
        (["--max-error", "1e-6"], 1),
        (["--max-saturation", "*=0.5"], 0),
        (["--min-cosine", "1"], 1),
    ],
)
def test_exit_code_follows_the_thresholds(cli: Cli, tmp_path: Path, arguments: list[str], code: int) -> None:
    first, second, data = Pair().write(tmp_path)
    outcome = cli("compare", first, f"{second}@runtime", "--data", data, "--isolate", 0, *arguments)
    assert outcome.code == code, outcome.out + outcome.err
    assert ("not kept" in outcome.out) == bool(code)
    report = compared(cli, first, f"{second}@runtime", "--data", data, "--isolate", 0, *arguments)
    assert report["passed"] == (code == 0) and bool(report["breaches"]) == bool(code)


# The page


class Page(HTMLParser):
    """Collects what a page refers to, and holds its tags to be closed."""

    VOID = frozenset({"meta", "link", "br", "img", "path", "rect", "line", "polyline"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []
        self.rows = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        self.loads += [given[key] for key in ("src", "srcset", "data", "action") if key in given]
        self.rows += tag == "tr"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_page_stands_alone(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair(r0=0.004).write(tmp_path)
    html = tmp_path / "report.html"
    arguments = ("compare", first, f"{second}@runtime", "--data", data, "--html", html, "--min-sqnr", "90")
    assert cli(*arguments).code == 1
    text = html.read_text("utf-8")
    page = Page(text)
    assert not page.open and not page.loads
    assert len(page.ids) == len(set(page.ids))
    assert page.links and all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert not re.search(r"@import|url\(|<link|<script[^>]+src", text)
    assert "default-src 'none'" in text and '<html lang="en">' in text
    report = compared(cli, first, f"{second}@runtime", "--data", data)
    assert page.rows == 1 + len(report["layers"])
    for word in ("range clipped", "Thresholds: not kept", 'scope="col"', 'scope="row"', 'role="img"'):
        assert word in text
    before = html.read_bytes()
    cli(*arguments)
    assert html.read_bytes() == before
    assert sorted(item.name for item in tmp_path.iterdir()) == ["float.onnx", "int8.onnx", "report.html", "samples.npz"]


def test_names_on_the_page_are_escaped(cli: Cli, tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    nodes = [helper.make_node("Relu", ["x"], [name]), helper.make_node("Softmax", [name], ["y"])]
    infos = [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, 3]) for value in ("x", "y")]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    assert cli("compare", path, f"{path}@runtime", "--html", tmp_path / "r.html").code == 0
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "alert(1)" in text and name not in text


# Mistakes


def assert_clear(outcome: Outcome, *words: str) -> None:
    text = " ".join((outcome.err + outcome.out).split())
    assert outcome.code == 2, text
    assert "Traceback" not in text and "internal error" not in text
    for word in words:
        assert word in text, text


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("--min-cosine", "1.01", "a cosine is from -1 to 1"),
        ("--min-cosine", "r*=-2", "a cosine is from -1 to 1"),
        ("--max-error", "-0.1", "a largest error is 0 or more"),
        ("--max-saturation", "-1", "a saturation rate is from 0 to 1"),
        ("--max-saturation", "50", "a saturation rate is from 0 to 1"),
        ("--min-sqnr", "nan", "expected a number"),
    ],
)
def test_thresholds_that_judge_nothing(cli: Cli, tmp_path: Path, option: str, text: str, words: str) -> None:
    """They would be breached, or kept, whatever the models are."""
    first, second, data = Pair().write(tmp_path)
    assert_clear(cli("compare", first, second, "--data", data, f"{option}={text}"), option, words)


def test_a_mistake_is_no_breach(cli: Cli, tmp_path: Path) -> None:
    """2, as wrong usage has, where nothing could be compared; 1 is left to thresholds."""
    first, second, data = Pair().write(tmp_path)
    keep = ("--data", data, "--min-sqnr", "80")
    assert cli("compare", first, f"{second}@runtime", *keep).code == 1
    for wrong in (
        (first, tmp_path / "none.onnx", *keep),
        (first, second, "--data", "", "--min-sqnr", "80"),
        (first, second, *keep, "--max-error", "nothing=1"),
        (first, f"{second}@nowhere", *keep),
        (first, second, *keep, "--nonsense"),
    ):
        assert cli("compare", *wrong).code == 2, wrong


def test_models_that_have_nothing_to_do_with_each_other(cli: Cli, tmp_path: Path, onnx_file: Path) -> None:
    first, _, data = Pair().write(tmp_path)
    assert_clear(cli("compare", first, onnx_file, "--data", data), "input 'x'", "[1, 3, 8, 8]")
    two = helper.make_graph(
        [helper.make_node("Add", ["p", "q"], ["y"])],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in ("p", "q")],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3])],
    )
    onnx.save(helper.make_model(two, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "two.onnx")
    assert_clear(cli("compare", first, tmp_path / "two.onnx"), "different inputs", "p, q")


@pytest.mark.parametrize("text", ["abc", "=5", "c1=", "c1=nan", ""])
def test_thresholds_that_are_none(cli: Cli, tmp_path: Path, text: str) -> None:
    first, second, data = Pair().write(tmp_path)
    assert_clear(cli("compare", first, second, "--data", data, "--min-sqnr", text), "--min-sqnr", "NAME=NUMBER")


def test_threshold_of_a_layer_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair().write(tmp_path)
    assert_clear(
        cli("compare", first, second, "--data", data, "--min-sqnr", "nowhere=3"), "nowhere", "no compared layer"
    )


def test_data_that_does_not_fit(cli: Cli, tmp_path: Path) -> None:
    first, second, _ = Pair().write(tmp_path)
    good = Pair().inputs[0]
    cases: dict[str, tuple[dict[str, np.ndarray], tuple[str, ...]]] = {
        "name": ({"other": good, "more": good}, ("no data for input 'x'",)),
        "shape": ({"x": good[..., :5]}, ("[1,4,8,5]", "[1,4,8,8]")),
        "type": ({"x": good.astype(np.int32)}, ("int32", "float32")),
        "nan": ({"x": np.full_like(good, np.nan)}, ("NaN",)),
        "empty": ({"x": good[:0]}, ("sample",)),
    }
    for name, (arrays, words) in cases.items():
        path = tmp_path / f"{name}.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        assert_clear(cli("compare", first, second, "--data", path), path.name, *words)
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not an archive")
    assert_clear(cli("compare", first, second, "--data", tmp_path / "bad.npz"), "bad.npz", "damaged")
    assert_clear(cli("compare", first, second, "--data", tmp_path / "absent.npz"), "absent.npz")
    (tmp_path / "folder").mkdir()
    assert_clear(cli("compare", first, second, "--data", tmp_path / "folder"), "folder")


def test_data_in_all_its_forms(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair().write(tmp_path)
    inputs = Pair().inputs
    expected = compared(cli, first, second, "--data", data, "--isolate", 0)["layers"]
    files, named = tmp_path / "files", tmp_path / "named"
    files.mkdir()
    (named / "x").mkdir(parents=True)
    for index, sample in enumerate(inputs):
        np.save(files / f"{index}.npy", sample[0])
        np.save(named / "x" / f"{index}.npy", sample.astype(np.float64))
    np.save(tmp_path / "all.npy", inputs)
    for place in (files, named, tmp_path / "all.npy"):
        report = compared(cli, first, second, "--data", place, "--isolate", 0)
        assert report["samples"] == len(inputs) and report["layers"] == expected


def test_pictures_become_what_the_options_say(cli: Cli, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    first, second, _ = Pair().write(tmp_path)
    pixels = np.random.default_rng(8).integers(0, 256, (3, SIZE, SIZE, CHANNELS), np.uint8)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for index, picture in enumerate(pixels):
        image.fromarray(picture, "RGBA").save(folder / f"{index}.png")
    means, deviations = np.array([0.5, 0.4, 0.3, 0.2]), np.array([0.5, 0.5, 0.25, 0.25])
    real = ((pixels / 255 - means) / deviations).astype(np.float32).transpose(0, 3, 1, 2)
    np.savez(tmp_path / "real.npz", x=real)
    expected = compared(cli, first, second, "--data", tmp_path / "real.npz", "--isolate", 0)["layers"]
    options = ("--pixel-scale", 1 / 255, "--mean", "0.5,0.4,0.3,0.2", "--std", "0.5,0.5,0.25,0.25")
    got = compared(cli, first, second, "--data", folder, "--isolate", 0, *options)["layers"]
    for mine, wanted in zip(got, expected, strict=True):
        assert mine["reference"] == wanted["reference"] and mine["sqnr_db"] == pytest.approx(
            wanted["sqnr_db"], abs=0.05
        )
    assert_clear(cli("compare", first, second, *options), "--data")
    assert_clear(cli("compare", first, second, "--data", folder, "--std", "a"), "--std a")


def test_page_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    first, second, data = Pair().write(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert_clear(cli("compare", first, second, "--html", tmp_path / "no" / "r.html"), "r.html", "cannot write")
    assert_clear(cli("compare", first, second, "--data", data, "--html", tmp_path), "folder")
    for path, what in ((first, "model A"), (second, "model B"), (data, "data")):
        result = cli("compare", first, f"{second}@runtime", "--data", data, "--html", path)
        assert_clear(result, f"the page would replace the {what}")
    assert sorted(tmp_path.rglob("*")) == before


def test_engines_that_are_none(cli: Cli, tmp_path: Path, lith_file: Path) -> None:
    first, _, _ = Pair().write(tmp_path)
    assert_clear(cli("compare", first, f"{first}@gpu"), "'gpu' is no engine", "runtime-c")
    assert_clear(cli("compare", f"{lith_file}@original", first), "no original engine")
    assert_clear(cli("compare", first, tmp_path / "absent.lith"), "absent.lith", "no such file")
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x07 not a model")
    assert_clear(cli("compare", tmp_path / "broken.onnx", first), "broken.onnx")
