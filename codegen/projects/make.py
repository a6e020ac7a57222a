"""A folder that builds with Make. Also the layout that the folder for CMake shares."""

from __future__ import annotations

import shlex

from ..parts import Parts, below

TITLE = "Make"
_FAMILIES = {"cortex-m": "cortex_m", "riscv": "riscv"}


def platform_files(parts: Parts) -> dict[str, str]:
    """What the self-test and the runner need of an operating system, or of a board of QEMU."""
    if not parts.target.is_bare_metal:
        return {"main/platform_hosted.c": parts.render("main/platform_hosted.c.j2")}
    family = _FAMILIES[parts.target.architecture]
    own = {f"platform/{name}": f"bare_metal/{name}.j2" for name in ("semihosting.c", "semihosting.h", "link.ld")}
    names = (f"startup_{family}.c", f"platform_{family}.c")
    own.update({f"platform/{name}": f"{family}/{name}.j2" for name in names})
    return {path: parts.render(template) for path, template in own.items()}


def program(parts: Parts) -> dict[str, str]:
    """Everything but build files and README: model, kernels, self-test, runner, platform."""
    return {
        **parts.model_headers(),
        **parts.model_sources(),
        **parts.kernel_files(),
        **below("main", parts.selftest()),
        "main/runner.c": parts.render("main/runner.c.j2"),
        **platform_files(parts),
    }


def sources(parts: Parts) -> dict[str, list[str]]:
    """What templates of build files list: the sources of the kernels and those of the platform."""
    return {
        "kernel_sources": [path for path in parts.kernel_files() if path.endswith(".c")],
        "platform_sources": sorted(path for path in platform_files(parts) if path.endswith(".c")),
    }


def build_files(parts: Parts) -> dict[str, str]:
    """The Makefile."""
    return {"Makefile": parts.render("Makefile.j2", **sources(parts))}


def files(parts: Parts) -> dict[str, str]:
    """The project by path."""
    return {
        **program(parts),
        **build_files(parts),
        "README.md": parts.render("README.md.j2", usage="projects/make.md.j2"),
    }


def next_step(folder: str) -> str:
    """The command that builds the project and runs its self-test."""
    return f"build and test it with: make -C {shlex.quote(folder)} run"
