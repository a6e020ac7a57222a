# SPDX-License-Identifier: Apache-2.0
"""Pictures as samples: all kinds that cameras and editors write, against the same steps with NumPy."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from microlith.cli import app
from microlith.converter.quantize.calibration_data import open_calibration
from microlith.converter.quantize.config import load_config, make_options
from microlith.converter.quantize.images import ImageOptions, read_image
from microlith.dtypes import DType
from microlith.errors import InputError
from microlith.ir import Graph, TensorType, Value

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (6, 8, 4), np.uint8)


def value(*shape: int, dtype: DType = DType.f32) -> Value:
    return Value("x", TensorType(dtype, shape))


def read(path: Path, wanted: Value, **options: Any) -> np.ndarray:
    return read_image(path, wanted, ImageOptions(**options))[0]


@pytest.mark.parametrize("suffix", ["png", "bmp", "ppm", "tif"])
def test_colours(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"p.{suffix}"
    Image.fromarray(COLOUR[..., :3]).save(path)
    np.testing.assert_array_equal(read(path, value(1, 6, 8, 3)), COLOUR[..., :3])
    np.testing.assert_array_equal(read(path, value(1, 3, 6, 8)), COLOUR[..., :3].transpose(2, 0, 1))
    np.testing.assert_array_equal(read(path, value(1, 6, 8, 3), bgr=True), COLOUR[..., 2::-1])
    weights = np.array([299, 587, 114]) / 1000  # ITU-R 601
    assert np.abs(read(path, value(1, 6, 8, 1))[..., 0] - COLOUR[..., :3] @ weights).max() <= 1.0


def test_grey_and_alpha(tmp_path: Path) -> None:
    grey, both = COLOUR[..., 0], COLOUR[..., :2]
    for name, mode, array in (("l", "L", grey), ("la", "LA", both), ("rgba", "RGBA", COLOUR)):
        Image.fromarray(array, mode).save(tmp_path / f"{name}.png")
    threes = np.repeat(grey[..., None], 3, axis=2)
    for name in ("l", "la"):
        np.testing.assert_array_equal(read(tmp_path / f"{name}.png", value(1, 6, 8, 1)), grey[..., None])
        np.testing.assert_array_equal(read(tmp_path / f"{name}.png", value(1, 6, 8, 3)), threes)
    np.testing.assert_array_equal(read(tmp_path / "rgba.png", value(1, 6, 8, 4)), COLOUR)
    np.testing.assert_array_equal(read(tmp_path / "rgba.png", value(1, 6, 8, 3)), COLOUR[..., :3])
    np.testing.assert_array_equal(read(tmp_path / "l.png", value(1, 6, 8, 4))[..., 3], 255)


def test_sixteen_bits_and_palettes(tmp_path: Path) -> None:
    deep = RNG.integers(0, 65536, (6, 8)).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    assert np.abs(read(tmp_path / "deep.png", value(1, 6, 8, 1))[..., 0] - deep / 257.0).max() <= 0.5
    few = Image.fromarray(COLOUR[..., :3]).quantize(7)
    few.save(tmp_path / "few.png")
    np.testing.assert_array_equal(read(tmp_path / "few.png", value(1, 6, 8, 3)), np.asarray(few.convert("RGB")))
    Image.fromarray(RNG.standard_normal((6, 8)).astype(np.float32)).save(tmp_path / "real.tif")
    with pytest.raises(InputError, match="numbers of type 'F', not pixels"):
        read(tmp_path / "real.tif", value(1, 6, 8, 1))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_stand_upright(tmp_path: Path, orientation: int) -> None:
    """EXIF, orientation: how the rows and columns of what is stored lie in the scene."""
    upright = np.zeros((16, 24), np.uint8)
    upright[:8, :8] = 255  # the corner that is top left in the scene
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.T,
        6: upright.T[::-1],
        7: upright.T[::-1, ::-1],
        8: upright.T[:, ::-1],
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(np.ascontiguousarray(stored)).save(tmp_path / "p.jpg", exif=exif, quality=100)
    found = read(tmp_path / "p.jpg", value(1, 16, 24, 1))[..., 0]
    assert np.abs(found - upright).max() < 8


def test_sizes(tmp_path: Path) -> None:
    """Crops come out of the picture as it is, or behind ``resize``; means of blocks are what halving gives."""
    Image.fromarray(COLOUR[..., :3]).save(tmp_path / "p.png")
    np.testing.assert_array_equal(read(tmp_path / "p.png", value(1, 4, 4, 3), crop=(4, 4)), COLOUR[1:5, 2:6, :3])
    smooth = np.repeat(np.repeat(RNG.integers(0, 256, (5, 6, 3)).astype(np.uint8), 16, axis=0), 16, axis=1)
    Image.fromarray(smooth).save(tmp_path / "s.png")
    halved = read(tmp_path / "s.png", value(1, 40, 48, 3))
    blocks = smooth.reshape(40, 2, 48, 2, 3).mean(axis=(1, 3))
    inside = np.abs(halved - blocks).reshape(5, 8, 6, 8, 3)[:, 2:6, :, 2:6]
    assert inside.max() <= 1.0
    with pytest.raises(InputError, match="a crop of 9x9 is larger than the picture of 6x8"):
        read(tmp_path / "p.png", value(1, 9, 9, 3), crop=(9, 9))


def test_values(tmp_path: Path) -> None:
    """value = (pixel * scale - mean) / std, for each channel in its order; integers are rounded and must fit."""
    Image.fromarray(COLOUR[..., :3]).save(tmp_path / "p.png")
    numbers = {"scale": 1 / 255, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
    wanted = (COLOUR[..., :3] / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(read(tmp_path / "p.png", value(1, 6, 8, 3), **numbers), wanted, rtol=1e-5, atol=1e-6)
    signed = read(tmp_path / "p.png", value(1, 6, 8, 3, dtype=DType.s8), mean=(128.0,))
    np.testing.assert_array_equal(signed, COLOUR[..., :3].astype(np.int16) - 128)
    with pytest.raises(InputError, match=r"(?s)pixels become .* is int8.*--mean 128"):
        read(tmp_path / "p.png", value(1, 6, 8, 3, dtype=DType.s8))


def test_folders(tmp_path: Path) -> None:
    """In alphabetical order, of all kinds at once, hidden files left out; a damaged one is named."""
    for name, level in (("b/2.jpg", 50), ("a.png", 10), ("c.BMP", 90)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), level, np.uint8)).save(tmp_path / name)
    (tmp_path / "._a.png").write_bytes(b"left by a file manager")
    (tmp_path / "notes.txt").write_text("no picture")
    graph = Graph(inputs=[value(1, 3, 8, 8)])
    feeds = [feed["x"] for feed in open_calibration(tmp_path, graph, ImageOptions(mean=(10.0,)))]
    assert [round(float(feed.mean())) for feed in feeds] == [0, 40, 80]
    whole = (tmp_path / "b/2.jpg").read_bytes()
    for bad in (whole[: len(whole) // 2], b"", b"GIF89a"):
        (tmp_path / "b/2.jpg").write_bytes(bad)
        with pytest.raises(InputError, match="cannot be read as a picture") as caught:
            list(open_calibration(tmp_path, graph))
        assert "2.jpg" in str(caught.value)
    with pytest.raises(InputError, match=r"shape \[1,3,4,4\], the model wants \[1,3,8,8\]"):
        list(open_calibration(tmp_path / "a.png", graph, ImageOptions(crop=(4, 4))))


def test_a_folder_for_each_input(tmp_path: Path) -> None:
    """Pictures for one input and arrays for the other, of which a file may hold many samples."""
    for name in ("x", "level"):
        (tmp_path / name).mkdir()
    Image.fromarray(COLOUR[..., :3]).save(tmp_path / "x/0.png")
    np.savez(tmp_path / "level/0.npz", np.full((1, 2), 3.0, np.float32))
    other = Value("level", TensorType(DType.f32, (1, 2)))
    (feed,) = open_calibration(tmp_path, Graph(inputs=[value(1, 6, 8, 3), other]))
    assert feed["x"].shape == (1, 6, 8, 3) and feed["level"].tolist() == [[3.0, 3.0]]
    (tmp_path / "x/0.png").unlink()
    rows = np.arange(80, dtype=np.float32).reshape(40, 2)
    np.save(tmp_path / "x/0.npy", rows)
    np.savez(tmp_path / "level/0.npz", rows)
    two = [Value(name, TensorType(DType.f32, (1, 2))) for name in ("x", "level")]
    feeds = list(open_calibration(tmp_path, Graph(inputs=two)))
    assert len(feeds) == 40
    np.testing.assert_array_equal(np.concatenate([feed["level"] for feed in feeds]), rows)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scale": 0.0}, "--pixel-scale 0: 0 is not possible, all pictures would become the same"),
        ({"scale": math.nan}, "--pixel-scale nan: finite numbers are needed"),
        ({"mean": (math.nan,)}, "--mean nan: finite numbers are needed"),
        ({"mean": (1.0, math.inf, 2.0)}, "--mean 1,inf,2: finite"),
        ({"std": (1.0, 0.0, 2.0)}, "--std 1,0,2: 0 is not possible, pictures are divided by it"),
        ({"resize": (0, 32)}, "--resize 0,32: height and width are at least 1"),
        ({"crop": (8, -1)}, "--crop 8,-1: height and width are at least 1"),
    ],
)
def test_options_that_no_picture_survives(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    """In Python, on the command line, and in a TOML file, before anything is read."""
    with pytest.raises(InputError, match=words):
        ImageOptions(**options)
    names = {"scale": "--pixel-scale"}
    [(name, value)] = options.items()
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    (tmp_path / "m.onnx").write_bytes(b"no model")
    tail = [str(tmp_path / "m.onnx"), "-q", "int8", "--calibrate", "none"]
    done = CliRunner().invoke(app, ["convert", *tail, f"{names.get(name, '--' + name)}={text}"])
    assert re.match(words, str(done.exception)), done.exception
    items = f"[{text}]" if isinstance(value, tuple) else text
    (tmp_path / "q.toml").write_text(f"[quantize]\nscheme = 'int8'\n[quantize.images]\n{name} = {items}\n")
    with pytest.raises(InputError, match=words):
        make_options(load_config(tmp_path / "q.toml"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scale = 'x'", "'scale' is 'x'; one number is needed"),
        ("scale = [1, 2]", r"'scale' is \[1, 2\]; one number"),
        ("bgr = 3", "'bgr' is 3; true or false"),
        ("mean = true", "'mean' is True; a number or a list"),
        ("resize = [8, true]", r"'resize' is \[8, True\]"),
    ],
)
def test_types_in_a_file(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(f"[quantize]\n[quantize.images]\n{text}\n")
    with pytest.raises(InputError, match=words):
        load_config(tmp_path / "q.toml")
