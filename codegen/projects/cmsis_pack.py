"""A CMSIS-Pack: https://open-cmsis-pack.github.io/Open-CMSIS-Pack-Spec/main/html/packFormat.html

The folder holds the contents of the pack, and the pack itself: a zip archive of them.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from ..parts import (
    Parts,
    below,
    c_sources,
    require_architecture,
    require_source_weights,
    with_relative_includes,
)
from .arduino import VERSION

TITLE = "CMSIS-Pack"
VENDOR = "Microlith"
_CORES = {
    "cortex-m0plus": ("Cortex-M0+", "Cortex-M3", "Cortex-M4", "Cortex-M7", "Cortex-M23", "Cortex-M33"),
    "cortex-m3": ("Cortex-M3", "Cortex-M4", "Cortex-M7", "Cortex-M33"),
    "cortex-m4": ("Cortex-M4", "Cortex-M7", "Cortex-M33"),
    "cortex-m7": ("Cortex-M7", "Cortex-M4", "Cortex-M33"),
    "cortex-m33": ("Cortex-M33", "Cortex-M4", "Cortex-M7"),
    "cortex-m55": ("Cortex-M55", "Cortex-M85"),
    "cortex-m85": ("Cortex-M85", "Cortex-M55"),
}
"""The core that the code is for, and others that run it."""
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def pack_name(parts: Parts) -> str:
    """Vendor, name and version, as tools expect the file to be called."""
    return f"{VENDOR}.{parts.view.name}.{VERSION}.pack"


def files(parts: Parts) -> dict[str, str]:
    """The contents of the pack by path."""
    view = parts.view
    require_architecture(view, "a CMSIS-Pack", ("cortex-m",), "take a target cortex-m…")
    require_source_weights(view, "a CMSIS-Pack")
    sources = {**parts.model_sources(), **parts.kernel_files(contraction_pragma=True)}
    library = {**below("include", parts.model_headers()), **below("src", sources)}
    own = {
        "vendor": VENDOR,
        "library_version": VERSION,
        "cores": _CORES[parts.target.name],
        "needs_dsp": any(layer.isa == "dsp" for layer in view.all_layers if not layer.elided),
        "needs_mve": any(layer.isa == "mve" for layer in view.all_layers if not layer.elided),
        "pack_headers": ["include/" + path for path in parts.model_headers()],
        "pack_sources": c_sources(library),
        "pack_file": pack_name(parts),
    }
    return {
        **with_relative_includes(library, ("include", "src", "src/kernels")),
        **below("selftest", parts.selftest(function=f"{view.name}_selftest", clock_unit="ticks")),
        f"template/{view.name}_example.c": parts.render("projects/cmsis_pack/example.c.j2", **own),
        "template/platform_retarget.c": parts.render("projects/cmsis_pack/platform_retarget.c.j2", **own),
        f"{VENDOR}.{view.name}.pdsc": parts.render("projects/cmsis_pack/pack.pdsc.j2", **own),
        "README.md": parts.render("README.md.j2", usage="projects/cmsis_pack/cmsis_pack_usage.md.j2", **own),
    }


def archives(parts: Parts, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The pack. Its files are stored as they are: what compresses them differs from machine to machine."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for path, data in sorted(contents.items()):
            info = zipfile.ZipInfo(path, date_time=_ZIP_TIME)
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return {pack_name(parts): stream.getvalue()}


def next_step(folder: str) -> str:
    """How a user gets on."""
    return f"install the pack with: cpackget add {folder}/{VENDOR}.*.pack"
