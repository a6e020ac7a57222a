"""Trains the digits model and writes ``digits.onnx`` and ``digits_test.npz`` beside this file.

Run once by us (``pip install torch onnx onnxscript scikit-learn``, then ``python train.py``); the demo only reads
what it wrote. Everything is seeded: on one machine a second run gives the same model.

The 1797 images of scikit-learn's digits (8x8 pixels, values 0 to 16) are split once, stratified by label: 1433 to
train on, 364 to test on. The test images are looked at a single time, after the last epoch.
"""

from __future__ import annotations

import pathlib

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
SEED = 1
EPOCHS = 60
BATCH = 64
TEST_IMAGES = 364


def make_model() -> nn.Module:
    """Three 3x3 convolutions and one dense layer: f32 [N, 1, 8, 8], values 0 to 1 -> f32 [N, 10], logits."""

    def block(in_channels: int, out_channels: int) -> list[nn.Module]:
        conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        return [conv, nn.BatchNorm2d(out_channels), nn.ReLU()]

    return nn.Sequential(
        *block(1, 8),
        *block(8, 16),
        nn.MaxPool2d(2),
        *block(16, 32),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(128, 10),
    )


def shift(images: torch.Tensor) -> torch.Tensor:
    """Moves each image by -1, 0 or 1 pixels in both directions, zeros enter. [N, 1, 8, 8] -> the same shape."""
    padded = functional.pad(images, (1, 1, 1, 1))
    offsets = torch.randint(0, 3, (len(images), 2)).tolist()
    return torch.stack([padded[i, :, y : y + 8, x : x + 8] for i, (y, x) in enumerate(offsets)])


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    """Adam with a learning rate that rises and falls once (one cycle), cross entropy."""
    steps = EPOCHS * -(-len(images) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=steps)
    model.train()
    for epoch in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            loss = functional.cross_entropy(model(shift(images[batch])), labels[batch], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        print(f"epoch {epoch + 1:2}/{EPOCHS}  loss {total / len(images):.4f}")


def export(model: nn.Module, path: pathlib.Path) -> None:
    """Writes ONNX for one image at a time, without the exporter's notes (which hold paths of this machine)."""
    program = torch.onnx.export(
        model, (torch.zeros(1, 1, 8, 8),), dynamo=True, input_names=["image"], output_names=["probabilities"]
    )
    proto = program.model_proto
    for item in (proto, proto.graph, *proto.graph.node, *proto.graph.value_info, *proto.graph.initializer):
        item.ClearField("metadata_props")
    for item in (*proto.graph.input, *proto.graph.output):
        item.ClearField("metadata_props")
    onnx.checker.check_model(proto, full_check=True)
    onnx.save(proto, path)


def main() -> None:
    torch.manual_seed(SEED)
    torch.use_deterministic_algorithms(True)

    digits = load_digits()
    pixels = digits.images.astype(np.uint8)
    train_pixels, test_pixels, train_labels, test_labels = train_test_split(
        pixels, digits.target.astype(np.uint8), test_size=TEST_IMAGES, stratify=digits.target, random_state=SEED
    )

    def to_tensor(images: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(images.astype(np.float32) / 16).unsqueeze(1)

    model = make_model()
    train(model, to_tensor(train_pixels), torch.from_numpy(train_labels.astype(np.int64)))

    model.eval()
    with torch.no_grad():
        predicted = model(to_tensor(test_pixels)).argmax(1).numpy()
    correct = int((predicted == test_labels).sum())
    print(f"test accuracy {correct}/{len(test_labels)} = {correct / len(test_labels):.2%}")

    export(nn.Sequential(model, nn.Softmax(dim=1)).eval(), HERE / "digits.onnx")
    np.savez_compressed(HERE / "digits_test.npz", images=test_pixels, labels=test_labels)


if __name__ == "__main__":
    main()
