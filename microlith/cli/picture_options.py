# SPDX-License-Identifier: Apache-2.0
"""The options that say what pictures become as inputs of a model, for every command that reads samples."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from microlith.errors import InputError

PANEL = "Pictures"


def _option(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=PANEL)


Mean = Annotated[str | None, _option("--mean", help="Of pictures, in their own units: 127.5 or 123.7,116.3,103.5.")]
Std = Annotated[str | None, _option("--std", help="Divisor of pictures: 127.5 or 58.4,57.1,57.4.")]
PixelScale = Annotated[
    float | None, _option("--pixel-scale", help="Factor of pixels before mean and std, as 0.00392157.")
]
Resize = Annotated[str | None, _option("--resize", metavar="H,W", help="Size that pictures get first.")]
Crop = Annotated[str | None, _option("--crop", metavar="H,W", help="Size that is cut out of their middle.")]
Layout = Annotated[str | None, _option("--layout", help="nchw or nhwc. Default: as the input's shape says.")]
Bgr = Annotated[bool | None, _option("--bgr/--rgb", help="Order of colours.")]

FIELDS = ("mean", "std", "scale", "resize", "crop", "layout", "bgr")


def take_picture_flags(given: dict[str, Any]) -> dict[str, Any]:
    """Fields of ``ImageOptions`` from the flags that are set; removes them from ``given``. Raises InputError."""
    from microlith.converter.quantize.images import LAYOUTS

    images = {name: given.pop(name) for name in FIELDS if given.get(name) is not None}
    for name in ("mean", "std"):
        if name in images:
            images[name] = _numbers(f"--{name}", images[name])
    for name in ("resize", "crop"):
        if name in images:
            images[name] = _size(f"--{name}", images[name])
    if images.get("layout", "nchw") not in LAYOUTS:
        raise InputError(f"--layout {images['layout']}: one of {', '.join(LAYOUTS)}")
    return images


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(item) for item in text.split(","))
    except ValueError:
        raise InputError(f"{option} {text}: expected numbers with commas between them") from None


def _size(option: str, text: str) -> tuple[int, int]:
    parts = text.replace("x", ",").split(",")
    try:
        sizes = [int(part) for part in parts]
    except ValueError:
        sizes = []
    if len(sizes) not in (1, 2):
        raise InputError(f"{option} {text}: expected HEIGHT,WIDTH, such as 224,224, or one number for both")
    return sizes[0], sizes[-1]
