"""Accuracy before and after quantization, of models that are trained here on data that comes with scikit-learn.

    python benchmarks/quantization/accuracy.py [--only NAME] [--json FILE]

Needs PyTorch and scikit-learn. Everything is seeded, and one thread trains, since sums depend on their number. Two-fold
cross-validation with two seeds, so four trainings of each model: one half of the data trains, 200 of these samples
calibrate, the other half is the test; then the halves change places. (A sample or two in a thousand lie so close to the
border of two classes that any rounding moves them, to either side.) The model of ``examples/digits`` is read as it is;
its own test images are held out.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from torch import nn

from microlith.converter import convert
from microlith.converter.quantize import QuantizeOptions
from microlith.stepwise import Executor

ROOT = Path(__file__).resolve().parents[2]
SCHEMES = ("int8", "16x8", "weights-int4", "weights-int8", "dynamic", "float16")
TRAININGS = ((0, 0), (0, 1), (1, 0), (1, 1))
"""Seed, and which half is the test."""
BOUNDS = {"int8": 0.3, "16x8": 0.1, "weights-int4": 0.5}
"""Points of accuracy that a scheme may lose."""
CALIBRATION = 200


@dataclass
class Task:
    """A trained model and its data."""

    name: str
    model: onnx.ModelProto
    calibration: np.ndarray
    inputs: np.ndarray
    labels: np.ndarray


def digits(flat: bool) -> tuple[np.ndarray, np.ndarray]:
    data = load_digits()
    images = (data.images / 16).astype(np.float32)
    return (images.reshape(-1, 64) if flat else images[:, None]), data.target


def halves(x: np.ndarray, labels: np.ndarray, fold: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test samples, training and test labels."""
    one, other, one_labels, other_labels = train_test_split(x, labels, test_size=0.5, random_state=0, stratify=labels)
    return (other, one, other_labels, one_labels) if fold else (one, other, one_labels, other_labels)


def digits_cnn(seed: int, fold: int) -> Task | None:
    """The model of ``examples/digits``; calibration on images that its test set does not hold. It is trained."""
    if seed or fold:
        return None
    with np.load(ROOT / "examples" / "digits" / "digits_test.npz") as test:
        inputs = (test["images"].astype(np.float32) / 16)[:, None]
        labels = test["labels"].astype(np.int64)
    x, _ = digits(flat=False)
    held_out = {image.tobytes() for image in inputs}
    rest = np.stack([image for image in x if image.tobytes() not in held_out])
    model = onnx.load(ROOT / "examples" / "digits" / "digits.onnx")
    return Task("digits CNN", model, rest[:CALIBRATION], inputs, labels)


def mlp(name: str, x: np.ndarray, labels: np.ndarray, hidden: tuple[int, ...], seed: int, fold: int) -> Task:
    """A perceptron by scikit-learn, its weights written as Gemm nodes."""
    train, test, train_labels, test_labels = halves(x, labels, fold)
    mean, std = train.mean(axis=0), train.std(axis=0) + 1e-6
    train, test = ((part - mean) / std for part in (train, test))
    net = MLPClassifier(hidden, random_state=seed, max_iter=600, alpha=1e-3).fit(train, train_labels)
    nodes, weights, value = [], [], "x"
    for index, (matrix, bias) in enumerate(zip(net.coefs_, net.intercepts_, strict=True)):
        weights += [
            numpy_helper.from_array(matrix.astype(np.float32), f"w{index}"),
            numpy_helper.from_array(bias.astype(np.float32), f"b{index}"),
        ]
        last = index == len(net.coefs_) - 1
        nodes.append(helper.make_node("Gemm", [value, f"w{index}", f"b{index}"], ["y" if last else f"h{index}"]))
        value = f"r{index}"
        if not last:
            nodes.append(helper.make_node("Relu", [f"h{index}"], [value]))
    units = net.intercepts_[-1].size
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", x.shape[1]))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("n", units))],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    calibration = train[:CALIBRATION].astype(np.float32)
    return Task(name, model, calibration, test.astype(np.float32), test_labels)


def ds_cnn() -> nn.Module:
    """Depthwise separable convolutions, as in keyword spotting."""

    def block(inside: int, out: int, stride: int) -> list[nn.Module]:
        return [
            nn.Conv2d(inside, inside, 3, stride, 1, groups=inside, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU6(),
            nn.Conv2d(inside, out, 1, bias=False),
            nn.BatchNorm2d(out),
            nn.ReLU6(),
        ]

    stem = [nn.Conv2d(1, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU6()]
    body = [*block(24, 48, 2), *block(48, 48, 1), *block(48, 64, 2)]
    return nn.Sequential(*stem, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class Transformer(nn.Module):
    """Two encoder layers over the rows of an image."""

    def __init__(self, size: int = 32, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Linear(8, size)
        self.place = nn.Parameter(torch.randn(1, 8, size) * 0.1)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": nn.LayerNorm(size),
                    "qkv": nn.Linear(size, 3 * size),
                    "out": nn.Linear(size, size),
                    "norm2": nn.LayerNorm(size),
                    "up": nn.Linear(size, 2 * size),
                    "down": nn.Linear(2 * size, size),
                }
            )
            for _ in range(2)
        )
        self.last = nn.Linear(size, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x.reshape(-1, 8, 8)) + self.place
        for layer in self.layers:
            h = layer["norm1"](x)
            q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in layer["qkv"](h).chunk(3, dim=2))
            weights = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).softmax(dim=-1)
            x = x + layer["out"]((weights @ v).transpose(1, 2).flatten(2))
            x = x + layer["down"](nn.functional.gelu(layer["up"](layer["norm2"](x))))
        return self.last(x.mean(dim=1))


def trained(name: str, make: Callable[[], nn.Module], seed: int, fold: int, epochs: int = 60) -> Task:
    """A PyTorch model of the digits, exported for one image at a time."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    x, labels = digits(flat=False)
    train, test, train_labels, test_labels = halves(x, labels, fold)
    net = make()
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    images, targets = torch.tensor(train), torch.tensor(train_labels)
    for _ in range(epochs):
        for batch in torch.randperm(len(images)).split(64):
            loss = nn.functional.cross_entropy(net(images[batch]), targets[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    net.eval()
    file = io.BytesIO()
    torch.onnx.export(net, (torch.zeros(1, 1, 8, 8),), file, dynamo=False, opset_version=17, input_names=["x"])
    return Task(name, onnx.load_from_string(file.getvalue()), train[:CALIBRATION], test, test_labels)


def tasks() -> dict[str, Callable[[int, int], Task | None]]:
    wine, cancer = load_wine(), load_breast_cancer()
    return {
        "digits CNN": digits_cnn,
        "digits MLP": lambda seed, fold: mlp("digits MLP", *digits(flat=True), (64, 32), seed, fold),
        "wine MLP": lambda seed, fold: mlp("wine MLP", wine.data, wine.target, (32,), seed, fold),
        "breast cancer MLP": lambda seed, fold: mlp(
            "breast cancer MLP", cancer.data, cancer.target, (32, 16), seed, fold
        ),
        "digits DS-CNN": lambda seed, fold: trained("digits DS-CNN", ds_cnn, seed, fold),
        "digits transformer": lambda seed, fold: trained("digits transformer", Transformer, seed, fold),
    }


def right(graph: Any, task: Task) -> int:
    """How many of the test samples."""
    executor = Executor(graph)
    name, output = graph.inputs[0].name, graph.outputs[0].name
    size = graph.inputs[0].shape[0]
    step = size if isinstance(size, int) else 64
    scores = [
        executor.run({name: task.inputs[start : start + step]})[output] for start in range(0, len(task.inputs), step)
    ]
    found = np.concatenate(scores)
    predicted = (found[:, 0] > 0).astype(np.int64) if found.shape[1] == 1 else found.argmax(axis=1)
    return int(np.sum(predicted == task.labels))


def measure(folds: Sequence[Task]) -> dict[str, Any]:
    """Per cent of the test samples of all folds."""
    counts = dict.fromkeys(("float", *SCHEMES), 0)
    for task in folds:
        counts["float"] += right(convert(task.model), task)
        for scheme in SCHEMES:
            options = QuantizeOptions(scheme=scheme, calibrate=list(task.calibration))
            counts[scheme] += right(convert(task.model, quantization=options), task)
    samples = sum(len(task.labels) for task in folds)
    return {"model": folds[0].name, "test": samples, **{name: 100 * count / samples for name, count in counts.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a part of a name")
    parser.add_argument("--json", type=Path, help="write all figures here")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    print(f"{'model':20} {'test':>5} {'float':>7} " + " ".join(f"{scheme:>13}" for scheme in SCHEMES))
    rows, failed = [], []
    for name, make in tasks().items():
        if arguments.only and arguments.only not in name:
            continue
        row = measure([task for training in TRAININGS if (task := make(*training)) is not None])
        rows.append(row)
        cells = " ".join(f"{row[scheme]:6.2f} {row[scheme] - row['float']:+6.2f}" for scheme in SCHEMES)
        print(f"{name:20} {row['test']:5} {row['float']:7.2f} {cells}", flush=True)
        failed += [(name, scheme) for scheme, most in BOUNDS.items() if row["float"] - row[scheme] > most + 1e-9]
    for name, scheme in failed:
        print(f"{name}: {scheme} loses more than {BOUNDS[scheme]} points")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
