"""Pictures as samples: resized, cropped, normalized, in the layout of the model. Needs Pillow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError, ToolError
from ...ir import Value

IMAGE_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".pgm", ".tif", ".tiff", ".webp")

LAYOUTS = ("nchw", "nhwc")


@dataclass(frozen=True)
class ImageOptions:
    """value = (pixel * scale - mean) / std, pixels from 0 to 255."""

    mean: Sequence[float] = (0.0,)
    """One number, or one for each channel."""
    std: Sequence[float] = (1.0,)
    scale: float = 1.0
    """1/255 takes pixels to 0 … 1 before the mean is subtracted."""
    resize: tuple[int, int] | None = None
    """Height and width that pictures get first, bilinear with antialiasing. None: those of the model; with ``crop``
    their own."""
    crop: tuple[int, int] | None = None
    """Height and width that are cut out of the middle."""
    layout: str | None = None
    """``nchw`` or ``nhwc``. None: as the shape of the input says."""
    bgr: bool = False
    """Blue first."""

    def __post_init__(self) -> None:
        """Raises InputError for numbers of which pictures become nothing, and for sizes that are none."""
        for name, numbers in (("mean", self.mean), ("std", self.std), ("pixel-scale", (self.scale,))):
            if not numbers or not all(math.isfinite(number) for number in numbers):
                raise InputError(f"--{name} {_spelled(numbers)}: finite numbers are needed")
            if name != "mean" and 0 in numbers:
                why = "pictures are divided by it" if name == "std" else "all pictures would become the same"
                raise InputError(f"--{name} {_spelled(numbers)}: 0 is not possible, {why}")
        for name, sizes in (("resize", self.resize), ("crop", self.crop)):
            if sizes is not None and min(sizes) < 1:
                raise InputError(f"--{name} {_spelled(sizes)}: height and width are at least 1")


def _spelled(numbers: Sequence[float]) -> str:
    return ",".join(f"{number:g}" for number in numbers)


def read_image(path: Path, value: Value, options: ImageOptions) -> np.ndarray:
    """[1, c, h, w] or [1, h, w, c], of the type of the input. A picture stands as its EXIF data says; of one that moves
    it is the first frame; alpha counts for inputs of four channels only; 16 bits become 8.

    Raises InputError for what cannot be read or does not fit, ToolError without Pillow.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ToolError("reading pictures needs Pillow", hint="pip install 'microlith[images]'") from error
    layout, channels, size = _geometry(value, options, path)
    try:
        with Image.open(path) as picture:
            upright = ImageOps.exif_transpose(picture)
            if upright.mode.startswith("I;16"):  # Pillow would clip them
                upright = Image.fromarray((np.asarray(upright, np.float64) / 257.0).round().astype(np.uint8))
            is_real = upright.mode in ("I", "F")
            image = upright.convert("L" if channels == 1 else "RGB" if channels == 3 else "RGBA")
    except Exception as error:  # Pillow raises many types on a damaged file
        raise InputError(f"cannot be read as a picture: {error}", where=str(path)) from error
    if is_real:
        raise InputError(
            f"holds numbers of type '{upright.mode}', not pixels from 0 to 255",
            where=str(path),
            hint="save such data as .npy",
        )
    height, width = options.resize or ((image.height, image.width) if options.crop else size)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(image, np.float64).reshape(height, width, channels)
    if options.crop is not None:
        rows, columns = options.crop
        if rows > height or columns > width:
            raise InputError(
                f"a crop of {rows}x{columns} is larger than the picture of {height}x{width}", where=str(path)
            )
        top, left = (height - rows) // 2, (width - columns) // 2
        pixels = pixels[top : top + rows, left : left + columns]
    if options.bgr:
        pixels = pixels[..., ::-1]
    real = (pixels * options.scale - np.asarray(options.mean)) / np.asarray(options.std)
    dtype = np.dtype(value.dtype.numpy)
    if dtype.kind in "iu":
        real, limits = np.rint(real), np.iinfo(dtype)
        if real.min(initial=0) < limits.min or real.max(initial=0) > limits.max:
            raise InputError(
                f"pixels become {real.min():g} to {real.max():g}, and input '{value.name}' is {dtype}",
                where=str(path),
                hint=f"--mean 128 brings them to {limits.min} … {limits.max}" if dtype == np.int8 else "",
            )
    return np.ascontiguousarray(real.transpose(2, 0, 1) if layout == "nchw" else real).astype(dtype)[None]


def _geometry(value: Value, options: ImageOptions, path: Path) -> tuple[str, int, tuple[int, int]]:
    """Layout, channels, and (height, width) of the model."""
    shape = value.shape
    if len(shape) != 4:
        raise InputError(f"input '{value.name}' is {value.type}, which takes no pictures", where=str(path))
    guesses = [name for wanted in (3, 1, 4) for name, axis in (("nchw", 1), ("nhwc", 3)) if shape[axis] == wanted]
    layout = options.layout or next(iter(guesses), "nhwc")
    channels = shape[1] if layout == "nchw" else shape[3]
    height, width = shape[2:] if layout == "nchw" else shape[1:3]
    if channels not in (1, 3, 4):
        raise InputError(
            f"input '{value.name}' {value.type} has {channels} channels in layout {layout}",
            where=str(path),
            hint="pictures have 1, 3 or 4; choose --layout",
        )
    for name, numbers in (("mean", options.mean), ("std", options.std)):
        if len(numbers) not in (1, channels):
            raise InputError(f"--{name} has {len(numbers)} numbers, pictures {channels} channels")
    if not isinstance(height, int) or not isinstance(width, int):
        if options.resize is None and options.crop is None:
            raise InputError(f"input '{value.name}' {value.type} leaves the size open", hint="choose it with --resize")
        height, width = options.crop or options.resize or (0, 0)
    return layout, int(channels), (height, width)
