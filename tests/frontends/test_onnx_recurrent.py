"""ONNX LSTM, GRU and RNN against ONNX Runtime: directions, lengths, states, peepholes, activations, clip, layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import check, compare, make_model, run_reference, save

import microlith
from microlith import modelfile
from microlith.converter import convert

STEPS, BATCH, SIZE, HIDDEN = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@dataclass(frozen=True)
class Layer:
    """A layer; ``extra`` names the optional inputs that it has."""

    op: str
    attrs: Mapping[str, Any] = field(default_factory=dict)
    extra: str = "b"

    def __str__(self) -> str:
        return "-".join([self.op, *(f"{key}={value}" for key, value in self.attrs.items()), self.extra])


LAYERS = [
    *(Layer(op) for op in GATES),
    *(Layer(op, {}, "") for op in GATES),
    *(Layer(op, {"direction": "reverse"}) for op in GATES),
    *(Layer(op, {"direction": "bidirectional"}, "b lengths h c") for op in GATES),
    *(Layer(op, {"direction": "reverse"}, "b lengths") for op in GATES),
    *(Layer(op, {"clip": 0.3}, "b h") for op in GATES),
    Layer("LSTM", {}, "b h c p"),
    Layer("LSTM", {"direction": "bidirectional"}, "b p"),
    Layer("LSTM", {"activations": ["HardSigmoid", "Relu", "Softsign"]}),
    Layer(
        "LSTM",
        {"activations": ["Sigmoid", "ScaledTanh", "Elu"], "activation_alpha": [0.8, 0.7], "activation_beta": [0.6]},
    ),
    Layer("LSTM", {"input_forget": 1}),
    Layer("GRU", {"linear_before_reset": 1}, "b h"),
    Layer("GRU", {"linear_before_reset": 1, "direction": "bidirectional"}, "b lengths"),
    Layer("GRU", {"activations": ["LeakyRelu", "Affine"], "activation_alpha": [0.1, 0.4], "activation_beta": [0.2]}),
    Layer("RNN", {"activations": ["ThresholdedRelu"], "activation_alpha": [0.2]}),
    Layer("RNN", {"activations": ["Softplus"]}, "b h"),
]


def model_of(layer: Layer) -> Any:
    rng = np.random.default_rng(7)
    gates = GATES[layer.op]
    directions = 2 if layer.attrs.get("direction") == "bidirectional" else 1

    def weights(*shape: int) -> np.ndarray:
        return rng.uniform(-0.6, 0.6, shape).astype(np.float32)

    constants = {
        "w": weights(directions, gates * HIDDEN, SIZE),
        "r": weights(directions, gates * HIDDEN, HIDDEN),
        "b": weights(directions, 2 * gates * HIDDEN),
        "lengths": np.array([5, 2, 3], np.int32),
        "h": weights(directions, BATCH, HIDDEN),
        "c": weights(directions, BATCH, HIDDEN),
        "p": weights(directions, 3 * HIDDEN),
    }
    present = ["w", "r", *layer.extra.split()]
    places = ["w", "r", "b", "lengths", "h"] + (["c", "p"] if layer.op == "LSTM" else [])
    names = [name if name in present else "" for name in places]
    outputs = ["y", "y_h", "y_c"] if layer.op == "LSTM" else ["y", "y_h"]
    node = helper.make_node(layer.op, ["x", *names], outputs, hidden_size=HIDDEN, **layer.attrs)
    constants = {name: array for name, array in constants.items() if name in names}
    return make_model([node], {"x": (STEPS, BATCH, SIZE)}, outputs, constants)


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_layer_equals_onnxruntime(layer: Layer, tmp_path: Path) -> None:
    check(model_of(layer), tmp_path, tolerance=1e-5)


def test_weights_and_states_at_run_time(tmp_path: Path) -> None:
    node = helper.make_node("LSTM", ["x", "w", "r", "", "n", "h"], ["y", "", "c"], hidden_size=HIDDEN)
    inputs = {
        "x": (STEPS, BATCH, SIZE),
        "w": (1, 4 * HIDDEN, SIZE),
        "r": (1, 4 * HIDDEN, HIDDEN),
        "n": (BATCH,),
        "h": (1, BATCH, HIDDEN),
    }
    model = make_model([node], inputs, ["y", "c"], types={"n": TensorProto.INT32})
    rng = np.random.default_rng(3)
    feeds = {name: rng.uniform(-0.5, 0.5, shape).astype(np.float32) for name, shape in inputs.items()}
    feeds["n"] = np.array([1, 5, 4], np.int32)
    check(model, tmp_path, feeds)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_sequences_of_no_steps(op: str, direction: str, layout: int, tmp_path: Path) -> None:
    """Their states are 0 whatever the initial ones; ONNX Runtime, which has layout 0 alone, gets its tensors turned."""
    directions = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(11)
    states = ["h", "c"] if op == "LSTM" else ["h"]
    shapes = {"x": (STEPS, BATCH, SIZE)} | dict.fromkeys(states, (directions, BATCH, HIDDEN))
    weights = {
        "w": rng.uniform(-0.6, 0.6, (directions, GATES[op] * HIDDEN, SIZE)).astype(np.float32),
        "r": rng.uniform(-0.6, 0.6, (directions, GATES[op] * HIDDEN, HIDDEN)).astype(np.float32),
    }
    outputs = ["y", *(f"y_{name}" for name in states)]

    def turned(array: np.ndarray) -> np.ndarray:
        return array if layout == 0 else np.ascontiguousarray(np.moveaxis(array, -2, 0))

    def model(shapes: Mapping[str, tuple[int, ...]], **attrs: int) -> Any:
        names = ["x", "w", "r", "", "n", *states]
        node = helper.make_node(op, names, outputs, hidden_size=HIDDEN, direction=direction, **attrs)
        return make_model([node], {**shapes, "n": (BATCH,)}, outputs, weights, types={"n": TensorProto.INT32})

    feeds = {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    ours = {name: turned(array) for name, array in feeds.items()}
    path = save(model({name: array.shape for name, array in ours.items()}, layout=layout), tmp_path)
    modelfile.save(convert(path), tmp_path / "m.lith")
    session = microlith.load(tmp_path / "m.lith")
    for lengths in ([0, 2, 5], [0, 0, 0]):
        n = {"n": np.array(lengths, np.int32)}
        expected = run_reference(model(shapes), {**feeds, **n})
        for actual, wanted in zip(session.run({**ours, **n}).values(), expected, strict=True):
            compare(actual, turned(wanted), 1e-5, "the C runtime")
