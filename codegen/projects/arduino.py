"""An Arduino library: https://arduino.github.io/arduino-cli/latest/library-specification/ (format 1.5, recursive src/).

The Arduino build system gives a library no include path but src/ and takes no flags from it; so the includes inside are
relative, and what flags would say stands in a header.
"""

from __future__ import annotations

from ..parts import (
    Parts,
    below,
    require_architecture,
    require_own_kernels,
    require_source_weights,
    with_relative_includes,
)

TITLE = "Arduino library"
VERSION = "1.0.0"
_ARCHITECTURES = {
    "cortex-m0plus": "samd,mbed_rp2040,rp2040,stm32,renesas_uno",
    "cortex-m3": "sam,stm32",
    "cortex-m4": "mbed_nano,mbed_giga,nrf52,renesas_uno,samd,stm32,teensy",
    "cortex-m7": "mbed_portenta,mbed_giga,mbed_opta,stm32,teensy",
    "cortex-m33": "renesas_portenta,rp2040,silabs,stm32",
    "cortex-m55": "*",
    "cortex-m85": "*",
    "riscv32": "esp32",
}
"""Names of Arduino cores that have boards with such a processor."""


def library_name(parts: Parts) -> str:
    """What may stand in library.properties: letters, digits, spaces, and ``_ . -``, a letter or digit first."""
    return parts.view.name[:63]


def files(parts: Parts) -> dict[str, str]:
    """The library by path."""
    view = parts.view
    require_architecture(view, "an Arduino library", ("cortex-m", "riscv"), "take a target cortex-m… or riscv32")
    require_source_weights(view, "an Arduino library")
    require_own_kernels(parts, "an Arduino library")
    library = {**parts.model_headers(), **parts.model_sources(), **parts.kernel_files(contraction_pragma=True)}
    name = library_name(parts)
    # Kernels in plain C run everywhere, whatever core they were chosen for.
    portable = all(layer.elided or layer.isa in ("", "c") for layer in view.all_layers)
    own = {
        "name": name,
        "library_version": VERSION,
        "architectures": "*" if portable else _ARCHITECTURES[parts.target.name],
    }
    return {
        **below("src", with_relative_includes(library, ("", "kernels"))),
        "library.properties": parts.render("projects/arduino/library.properties.j2", **own),
        "keywords.txt": parts.render("projects/arduino/keywords.txt.j2"),
        f"examples/{view.name}/{view.name}.ino": parts.render("projects/arduino/example.ino.j2"),
        "examples/selftest/selftest.ino": parts.render("projects/arduino/selftest.ino.j2"),
        **below("examples/selftest", parts.selftest(function=f"{view.name}_selftest", clock_unit="us")),
        "examples/selftest/platform_arduino.cpp": parts.render("projects/arduino/platform_arduino.cpp.j2"),
        "README.md": parts.render("README.md.j2", usage="projects/arduino/arduino_usage.md.j2"),
    }


def next_step(folder: str) -> str:
    """How a user gets on."""
    return f"copy {folder} into the libraries folder of your sketchbook, then open one of its examples"
