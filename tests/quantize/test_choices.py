"""Mixed precision within budgets, equalization, compressed weights, the configuration file, the command line."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from typer.testing import CliRunner

from microlith import generate, modelfile
from microlith.cli import app
from microlith.codegen.graph_costs import costs_on
from microlith.converter import convert, import_model
from microlith.converter.pipeline import FLOAT_PASSES, optimize
from microlith.converter.quantize import QuantizeOptions, QuantReport
from microlith.converter.quantize.config import load_config, make_options, parse_bytes, parse_share
from microlith.converter.quantize.equalize import equalized
from microlith.converter.quantize.insert import Decision
from microlith.converter.quantize.mixed import Layer, Option, best_points, layers_of, noise_share
from microlith.converter.quantize.placement import place
from microlith.converter.quantize.simulate import Simulator, all_weights
from microlith.converter.quantize.statistics import sqnr
from microlith.dtypes import DType
from microlith.errors import InputError, MicrolithError
from microlith.evaluate import evaluate
from microlith.ir import Quant
from microlith.ops.compressed import decode_rows, pack_rows
from microlith.stepwise import Executor

from . import onnx_nets
from .test_static import images, quantized


@pytest.fixture(scope="module")
def cnn() -> onnx.ModelProto:
    return onnx_nets.small_cnn(np.random.default_rng(0), channels=32)


def test_flash_budget(cnn: onnx.ModelProto) -> None:
    _, plain = quantized(cnn, images(8))
    budget = int(plain.constant_bytes * 0.6)
    graph, report = quantized(cnn, images(8), max_flash=budget)
    assert sum(value.type.nbytes for value in graph.constants()) <= budget
    assert "int4" in report.choices["bits"]


def test_more_of_the_outputs_at_the_flash_of_int8(cnn: onnx.ModelProto) -> None:
    _, plain = quantized(cnn, images(8))
    _, mixed = quantized(cnn, images(8), max_flash=plain.constant_bytes)
    assert mixed.constant_bytes <= plain.constant_bytes
    assert plain.sqnr is not None and mixed.sqnr is not None and mixed.sqnr > plain.sqnr


def test_less_flash_at_the_noise_of_16x8(cnn: onnx.ModelProto) -> None:
    _, wide = quantized(cnn, images(8), scheme="16x8")
    assert wide.sqnr is not None
    _, mixed = quantized(cnn, images(8), max_drop=noise_share(wide.sqnr))
    assert mixed.constant_bytes < wide.constant_bytes
    assert mixed.sqnr is not None and mixed.sqnr >= wide.sqnr


def test_budgets_with_integers_alone(cnn: onnx.ModelProto) -> None:
    """The second model has a form on 16 bits for each of its ops; the first has not, and keeps int8."""
    rng = np.random.default_rng(2)
    pools = onnx_nets.two_convolutions(rng, pool=True)
    samples = [rng.standard_normal((1, 4, 6, 6)).astype(np.float32) for _ in range(8)]
    for model, data, gain in ((cnn, images(8), 0.0), (pools, samples, 3.0)):
        _, plain = quantized(model, data)
        _, mixed = quantized(model, data, max_flash=int(plain.constant_bytes * 1.3), require_int8=True)
        assert {layer.numbers for layer in mixed.layers} <= {"int8", "16x8", "int16", "integers"}
        assert plain.sqnr is not None and mixed.sqnr is not None and mixed.sqnr >= plain.sqnr + gain


def test_best_points_are_those_of_all_combinations(cnn: onnx.ModelProto) -> None:
    rng = np.random.default_rng(8)
    states = ("int4", "int8", "float16")
    node = optimize(import_model(cnn), passes=FLOAT_PASSES).nodes[0]
    layers = [
        Layer(node, {state: Option(int(rng.integers(1, 50)), float(rng.random())) for state in states})
        for _ in range(5)
    ]
    sums = [
        (sum(item[0] for item in chosen), sum(item[1] for item in chosen))
        for chosen in itertools.product(*(layer.options.values() for layer in layers))
    ]
    wanted = [
        one for one in sums if not any(other != one and other[0] <= one[0] and other[1] <= one[1] for other in sums)
    ]
    found = [(point.bytes, point.noise) for point in best_points(layers, states)]
    np.testing.assert_allclose(found, sorted(set(wanted)))


def test_drop_budget(cnn: onnx.ModelProto) -> None:
    _, plain = quantized(cnn, images(8))
    assert plain.sqnr is not None
    wanted = noise_share(plain.sqnr + 2.0)
    _, report = quantized(cnn, images(8), max_drop=wanted)
    assert report.sqnr is not None and noise_share(report.sqnr) <= wanted


def test_labels_make_the_drop_one_of_accuracy(cnn: onnx.ModelProto, tmp_path: Path) -> None:
    """Half of the labels are what the model in floats finds, the others are wrong: its accuracy is known."""
    data = images(40)
    session = onnxruntime.InferenceSession(cnn.SerializeToString(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    scores = np.concatenate([session.run(None, {name: feed})[0].reshape(1, -1) for feed in data])
    labels = np.argmax(scores, axis=1)
    labels[::2] = (labels[::2] + 1) % scores.shape[1]
    np.savez(tmp_path / "labels.npz", labels=labels, other=np.zeros(3))
    (tmp_path / "labels.txt").write_text("\n".join(map(str, labels)))
    _, plain = quantized(cnn, data, labels=labels)
    assert plain.float_accuracy == 0.5 and plain.accuracy is not None
    graph, mixed = quantized(cnn, data, labels=tmp_path / "labels.npz", max_drop=0.03)
    assert mixed.accuracy is not None and mixed.accuracy >= 0.5 - 0.03
    assert mixed.constant_bytes < plain.constant_bytes, "accuracy of one sample in 40 lets weights be coarse"
    got = [Executor(graph).run({graph.inputs[0].name: feed})[graph.outputs[0].name].reshape(-1) for feed in data]
    assert mixed.accuracy == pytest.approx(float(np.mean(np.argmax(got, axis=1) == labels)))
    few: list[QuantReport] = []
    convert(cnn, quantization=QuantizeOptions(calibrate=data, labels=labels, samples=20), report=few.append)
    assert few[0].samples == 20 and few[0].float_accuracy == 0.5
    with pytest.raises(InputError, match="39 labels for 40 samples"):
        quantized(cnn, data, labels=labels[1:])
    with pytest.raises(InputError, match="classes apart"):
        quantized(cnn, data, labels=labels + 1000)
    for bad, message in (
        ("absent.npy", "no such file"),
        ("/", "is a folder"),
        (labels / 2, "list of integers"),
        (-labels - 1, "negative"),
    ):
        with pytest.raises(InputError, match=message):
            quantized(cnn, data, labels=bad)
    (tmp_path / "words.txt").write_text("3\n1\ncat\n")
    with pytest.raises(InputError, match="line 3 is 'cat', not a class"):
        quantized(cnn, data, labels=tmp_path / "words.txt")
    np.savez(tmp_path / "other.npz", classes=labels)
    with pytest.raises(InputError, match="holds no array 'labels', but classes"):
        quantized(cnn, data, labels=tmp_path / "other.npz")
    for scheme in ("dynamic", "float16"):
        _, other = quantized(cnn, data, labels=tmp_path / "labels.txt", scheme=scheme)
        assert other.float_accuracy == 0.5 and other.accuracy is not None and other.sqnr is not None


def test_budgets_that_cannot_be_kept(cnn: onnx.ModelProto) -> None:
    with pytest.raises(MicrolithError, match=r"--max-flash 100: the least is flash .* bytes, .*int4 weights in all"):
        quantized(cnn, images(8), max_flash=100)


@pytest.fixture(scope="module")
def on_m4(cnn: onnx.ModelProto) -> tuple[Any, Any, Any]:
    """Costs on a Cortex-M4, and the reports of uniform int8 and 16x8 there."""
    costs = costs_on("cortex-m4")
    return costs, *(quantized(cnn, images(8), scheme=scheme, costs=costs)[1] for scheme in ("int8", "16x8"))


def test_costs_are_those_of_the_project(cnn: onnx.ModelProto, on_m4: tuple[Any, Any, Any], tmp_path: Path) -> None:
    graph, report = quantized(cnn, images(8), costs=on_m4[0])
    project = generate(graph, "cortex-m4", tmp_path / "project", name="net")
    assert report.ram == project.arena_bytes
    assert report.flash is not None and report.flash > project.weight_bytes
    assert report.instructions is not None and report.instructions > project.macs / 2


@pytest.mark.parametrize("budget", ["max_ram", "max_instructions", "max_flash"])
def test_budgets_on_a_target(cnn: onnx.ModelProto, on_m4: tuple[Any, Any, Any], budget: str) -> None:
    """A little above what int8 takes something better than int8 is found, and the report says why."""
    costs, narrow, _ = on_m4
    name = budget.removeprefix("max_")
    limit = int(1.15 * getattr(narrow, name))
    _, mixed = quantized(cnn, images(8), costs=costs, **{budget: limit})
    assert getattr(mixed, name) <= limit
    assert mixed.sqnr >= narrow.sqnr and mixed.budgets == {name: limit}
    chosen = [layer for layer in mixed.layers if layer.noise is not None]
    assert len(chosen) == 3 and all(layer.reason.startswith("chosen: ") for layer in chosen)
    assert all(layer.instructions and layer.ram and layer.constant_bytes for layer in chosen)
    assert not any(layer.reason == "asked for" for layer in mixed.layers)


def test_all_budgets_together(cnn: onnx.ModelProto, on_m4: tuple[Any, Any, Any]) -> None:
    costs, narrow, _ = on_m4
    limits = {
        "max_flash": int(1.2 * narrow.flash),
        "max_ram": int(1.3 * narrow.ram),
        "max_instructions": 1.3 * narrow.instructions,
        "max_drop": noise_share(narrow.sqnr),
    }
    _, mixed = quantized(cnn, images(8), costs=costs, **limits)
    assert mixed.flash <= limits["max_flash"] and mixed.ram <= limits["max_ram"]
    assert mixed.instructions <= limits["max_instructions"] and noise_share(mixed.sqnr) <= limits["max_drop"]


@pytest.mark.parametrize("limit", [{"max_ram": 64}, {"max_instructions": 1000}, {"max_ram": 10**6, "max_drop": 1e-13}])
def test_budgets_on_a_target_that_cannot_be_kept(
    cnn: onnx.ModelProto, on_m4: tuple[Any, Any, Any], limit: dict[str, Any]
) -> None:
    *_, last = (f"--{name.replace('_', '-')}" for name in limit)
    with pytest.raises(MicrolithError, match=rf"{last} .*: the least is flash [\d,]+ bytes, RAM [\d,]+ bytes, "):
        quantized(cnn, images(8), costs=on_m4[0], require_int8="max_drop" in limit, **limit)


def test_choices_that_say_nothing(cnn: onnx.ModelProto) -> None:
    for options, message in (
        ({"max_ram": 1000}, "--max-ram says nothing without a machine"),
        ({"max_instructions": 1000}, "--max-instructions says nothing without a machine"),
        ({"max_flash": 0}, "more than 0"),
        ({"group": 32}, "one scale for each output channel"),
        ({"scheme": "weights-int4", "group": -1}, "0 .a whole channel. or more"),
        ({"scheme": "dynamic", "max_flash": 1000}, "has the same for all"),
    ):
        with pytest.raises(InputError, match=message):
            quantized(cnn, images(2), **options)


def test_equalization_keeps_the_meaning_and_levels_ranges() -> None:
    """Two convolutions with a ReLU between them, one channel a thousand times larger."""
    rng = np.random.default_rng(5)
    model = onnx_nets.two_convolutions(rng)
    graph = optimize(import_model(model), passes=FLOAT_PASSES)
    feeds = [{"x": rng.standard_normal((1, 4, 6, 6)).astype(np.float32)} for _ in range(4)]
    moved, places = equalized(graph, feeds, 0.5)
    assert places == 1
    for feed in feeds:
        before, after = evaluate(graph, feed)["y"], evaluate(moved, feed)["y"]
        np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-4 * np.abs(before).max())
    _, plain = quantized(model, [feed["x"] for feed in feeds], equalize=False, rounding="nearest")
    _, better = quantized(model, [feed["x"] for feed in feeds], equalize=True, rounding="nearest")
    assert plain.sqnr is not None and better.sqnr is not None and better.sqnr > plain.sqnr + 3


def test_packed_rows() -> None:
    """Against a loop."""
    integers = np.random.default_rng(0).integers(-8, 8, (3, 7))
    packed = pack_rows(integers)
    assert packed.shape == (3, 4)
    for row in range(3):
        for column in range(7):
            byte = int(packed[row, column // 2])
            assert (byte >> 4 if column % 2 else byte & 15) - 8 == integers[row, column]
    scales = np.array([[0.5, 2.0]] * 3, np.float32)
    decoded = decode_rows(packed, scales, {"bits": 4, "group": 4}, 7)
    np.testing.assert_array_equal(decoded, integers * np.array([0.5] * 4 + [2.0] * 3, np.float32))


def test_data_helps_4_bit_weights() -> None:
    rng = np.random.default_rng(6)
    model = onnx_nets.dense(rng, inputs=64, units=16)
    mixing = rng.standard_normal((6, 64))

    def samples(count: int) -> list[np.ndarray]:
        return [(rng.standard_normal((1, 6)) @ mixing).astype(np.float32) for _ in range(count)]

    from .test_static import sqnr_to_onnxruntime

    data, held_out = samples(200), samples(50)
    plain, _ = quantized(model, None, scheme="weights-int4")
    adapted, _ = quantized(model, data, scheme="weights-int4")
    assert sqnr_to_onnxruntime(model, adapted, held_out) > sqnr_to_onnxruntime(model, plain, held_out) + 3


def test_channels_shorter_than_a_group_keep_8_bits(cnn: onnx.ModelProto) -> None:
    """The second convolution of the model is depthwise, with 9 weights for a channel."""
    fine, report = quantized(cnn, images(8), scheme="weights-int4", group=32)
    coarse, other = quantized(cnn, images(8), scheme="weights-int4", group=8)
    kinds = {layer.op: layer.numbers for layer in report.layers}
    assert kinds["depthwise_conv2d"] == "weights-int8" and kinds["dense"] == "weights-int4"
    assert {layer.numbers for layer in other.layers} == {"weights-int4"}
    assert {node.attrs["bits"] for node in fine.nodes if "bits" in node.attrs} == {4, 8}
    assert {node.attrs["bits"] for node in coarse.nodes if "bits" in node.attrs} == {4}


def test_noise_of_layers_adds_up_with_several_outputs() -> None:
    """Each head reaches one output alone: what the layers add one by one is what all of them do."""
    rng = np.random.default_rng(9)
    nodes = [onnx.helper.make_node("MatMul", ["x", f"w{index}"], [f"y{index}"]) for index in range(3)]
    weights = {f"w{index}": rng.standard_normal((32, 8)).astype(np.float32) for index in range(3)}
    model = onnx_nets.model(nodes, {"x": (1, 32)}, {f"y{index}": (1, 8) for index in range(3)}, weights)
    graph = optimize(import_model(model), passes=FLOAT_PASSES)
    feeds = [{"x": rng.uniform(-1, 1, (1, 32)).astype(np.float32)} for _ in range(16)]
    placement = place(graph, frozenset(), frozenset(), DType.s8, True)
    decision = Decision(placement, {id(group): Quant.per_tensor(0.25, 0) for group in placement.groups})
    simulator = Simulator(graph, placement, feeds)
    together = noise_share(sqnr(simulator.exact, simulator.run({}, all_weights(decision))))
    layers = layers_of(decision, simulator, 32)
    assert len(layers) == 3
    np.testing.assert_allclose(sum(layer.options["w8"][1] for layer in layers), together, rtol=0.05)


# The configuration file


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_config(tmp_path: Path) -> None:
    file = write(
        tmp_path / "q.toml",
        '[quantize]\nscheme = "16x8"\nsamples = 7\nmax-drop = "0.5%"\nmax-flash = "256KB"\nfloat-layers = ["a*"]\n'
        'max-ram = "1.5KB"\nmax-instructions = "2M"\ntarget = "x"\n'
        "[quantize.images]\nmean = [1.0, 2.0, 3.0]\nresize = 64\nbgr = true\n",
    )
    values = load_config(file)
    assert values.pop("target") == "x", "for the caller, who knows what it costs"
    options = make_options(values)
    assert (options.max_ram, options.max_instructions) == (1536, 2e6)
    assert (options.scheme, options.samples, options.max_drop, options.max_flash) == ("16x8", 7, 0.005, 256 << 10)
    assert options.float_layers == ("a*",)
    assert (options.images.mean, options.images.resize, options.images.bgr) == ((1.0, 2.0, 3.0), (64, 64), True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scheme =", "is no TOML"),
        ("[other]\n", "no table or key 'other'"),
        ("[quantize]\nsheme = 1\n", "no option 'sheme'"),
        ("[quantize]\nsamples = 'x'\n", "'samples' is 'x'; a whole number is needed"),
        ("[quantize]\nrequire-int8 = 1\n", "'require-int8' is 1; true or false is needed"),
        ("[quantize]\nmax-drop = '200%'\n", "max-drop: a drop of 200%"),
        ("[quantize]\nmax-flash = 'much'\n", "max-flash: a size of much"),
        ("[quantize.images]\nlayout = 'hwc'\n", "no layout 'hwc'"),
        ("[quantize.images]\nsize = 3\n", "no option 'size' for images"),
        ("", r"has no table \[quantize\]"),
    ],
)
def test_config_mistakes(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_config(write(tmp_path / "q.toml", text))


def test_sizes_and_shares() -> None:
    assert [parse_bytes(text) for text in ("256KB", "1MiB", "100", 5)] == [256 << 10, 1 << 20, 100, 5]
    assert [parse_share(text) for text in ("0.5%", 0.25, "1")] == [0.005, 0.25, 1.0]


# The command line


@pytest.fixture
def files(tmp_path: Path, cnn: onnx.ModelProto) -> tuple[Path, Path]:
    onnx.save(cnn, tmp_path / "m.onnx")
    np.savez(tmp_path / "d.npz", image=np.concatenate(images(6)))
    return tmp_path / "m.onnx", tmp_path / "d.npz"


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["convert", *map(str, arguments)])


def test_command(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    out, report = tmp_path / "m.lith", tmp_path / "r.json"
    result = run(model, "--quantize", "int8", "--calibrate", data, "-o", out, "--report", report, "--require-int8")
    assert result.exit_code == 0, result.output
    assert "int8, contract single" in result.output
    summary = json.loads(report.read_text())
    assert summary["samples"] == 6 and summary["sqnr"] > 20 and summary["candidates"]
    assert modelfile.load(out).contract == "single"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--quantize", "int8"], "needs calibration data"),
        *[
            (["--quantize", scheme, "--require-int8"], f"--require-int8 contradicts '{scheme}'")
            for scheme in ("float16", "weights-int4", "weights-int8", "dynamic")
        ],
        (["--quantize-config", "absent.toml"], "no such file"),
        (["--quantize-config", "/"], "is a folder"),
        (["--observer", "mse"], "is for quantization"),
        (["--report", "r.json"], "is for quantization"),
        (["--quantize", "int8", "--calibrate", "nowhere"], "no such file"),
        (["--quantize", "int8", "--calibrate", "x", "--mean", "a,b"], "expected numbers"),
        (["--quantize", "int8", "--calibrate", "x", "--resize", "0"], "height and width are at least 1"),
        (["--quantize", "int8", "--calibrate", "x", "--max-drop", "2"], "--max-drop: a drop of 2"),
    ],
)
def test_command_mistakes(files: tuple[Path, Path], options: list[str], words: str) -> None:
    result = run(files[0], "-o", files[0].with_suffix(".lith"), *options)
    assert isinstance(result.exception, MicrolithError) and words in str(result.exception)
    assert not files[0].with_suffix(".lith").exists()
