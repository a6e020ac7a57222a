"""The parts of a generated project that are the same whatever build system or ecosystem it is for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jinja2

from ..errors import TargetError
from ..targets import Target
from .symbols import NAMES_HEADER, external_symbols, own_sources
from .view import ModelView

_INCLUDE = re.compile(r'^(#include ")([^"\n]+)(")', re.MULTILINE)
_GUARDS = {
    "dsp": ("__ARM_FEATURE_DSP", "the DSP extension"),
    "vfp": ("__ARM_FP", "a floating-point unit"),
    "mve": ("__ARM_FEATURE_MVE", "the vector extension (MVE)"),
    "neon": ("__ARM_NEON", "NEON"),
    "avx2": ("__AVX2__", "AVX2"),
}
"""Instruction set -> what a compiler defines when it may use it, and how people call it."""


@dataclass(frozen=True)
class Parts:
    """A model, its templates, and the kernels that it needs."""

    view: ModelView
    environment: jinja2.Environment
    kernels: Mapping[str, str]
    """Text by path inside the kernel library."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """What templates may use beside ``m``, the view."""

    @property
    def target(self) -> Target:
        return self.view.target

    def render(self, template: str, **more: Any) -> str:
        """The text that a template gives."""
        return self.environment.get_template(template).render({"m": self.view, **self.context, **more})

    def model_headers(self) -> dict[str, str]:
        """What users include."""
        return {f"{self.view.name}.h": self.render("model.h.j2")}

    def model_sources(self) -> dict[str, str]:
        """The model and its constants but for a binary file."""
        name = self.view.name
        suffix = ".S" if self.view.binary_weights else ".c"
        return {
            f"{name}.c": self.render("model.c.j2"),
            f"{name}_weights.h": self.render("weights.h.j2"),
            f"{name}_weights{suffix}": self.render(f"weights{suffix}.j2"),
        }

    def kernel_files(self, *, contraction_pragma: bool = False) -> dict[str, str]:
        """The kernels below ``kernels/``, with the header that gives their functions the name of the model.

        ``contraction_pragma`` puts into it what the flag -ffp-contract=off says, for build systems without flags.
        """
        used = {layer.isa for layer in self.view.all_layers if not layer.elided}
        own = set() if self.view.target.is_bare_metal else set(external_symbols(own_sources(self.kernels)))
        names = self.render(
            "nnacl_names.h.j2",
            symbols=[symbol for symbol in external_symbols(self.kernels) if symbol not in own],
            own_symbols=sorted(own),
            guards=[{"macro": macro, "what": what} for isa, (macro, what) in _GUARDS.items() if isa in used],
            contraction_pragma=contraction_pragma,
        )
        texts = {**self.kernels, NAMES_HEADER: names}
        return {f"kernels/{path}": text for path, text in sorted(texts.items())}

    def selftest(self, *, function: str = "main", clock_unit: str = "") -> dict[str, str]:
        """The self-test and the header of the platform that it runs on. ``function`` runs it, in place of main();
        ``clock_unit``: what the platform's clock counts, unless it is that of the stand-alone project."""
        more = {"selftest_function": function, "clock_unit": clock_unit}
        return {
            "selftest.c": self.render("main/selftest.c.j2", **more),
            "selftest_data.h": self.render("main/selftest_data.h.j2"),
            "platform.h": self.render("main/platform.h.j2", **more),
            "print.h": self.render("main/print.h.j2"),
        }


def below(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    """The same files inside a folder."""
    return {f"{folder}/{path}": text for path, text in files.items()}


def c_sources(files: Mapping[str, str]) -> list[str]:
    """The files that a compiler is called for, in alphabetical order."""
    return sorted(path for path in files if path.endswith((".c", ".S")))


def with_relative_includes(files: Mapping[str, str], folders: Sequence[str]) -> dict[str, str]:
    """Files whose includes of each other need no include path: each is written relative to the file that it stands in.

    ``folders`` are the include paths that the files were written for.
    """

    def rewrite(path: str, text: str) -> str:
        own = posixpath.dirname(path)

        def replace(found: re.Match[str]) -> str:
            for folder in (own, *folders):
                candidate = posixpath.normpath(posixpath.join(folder, found[2]))
                if candidate in files:
                    return found[1] + posixpath.relpath(candidate, own or ".") + found[3]
            return found[0]

        return _INCLUDE.sub(replace, text)

    return {path: rewrite(path, text) if path.endswith((".c", ".h")) else text for path, text in files.items()}


def require_source_weights(view: ModelView, what: str) -> None:
    """Raises TargetError where the constants of a project stand in a binary file."""
    if view.binary_weights:
        raise TargetError(
            f"{what} holds constants as C source only",
            where=view.title,
            hint="leave out weights='binary'; above 16 MiB of constants take --project make or cmake",
        )


def require_own_kernels(parts: Parts, what: str) -> None:
    """Raises TargetError where a project would need CMSIS-NN and its ecosystem has no such library."""
    if parts.context["cmsis_nn"]:
        raise TargetError(
            f"{what} cannot depend on CMSIS-NN",
            where=parts.view.title,
            hint="leave out --kernels, or take --project make, cmake, zephyr or cmsis-pack",
        )


def require_architecture(view: ModelView, what: str, allowed: Sequence[str], hint: str) -> None:
    """Raises TargetError where an ecosystem has nothing to do with a target."""
    if view.target.architecture not in allowed:
        raise TargetError(f"{what} cannot be for {view.target.title}", where=view.title, hint=hint)
