# SPDX-License-Identifier: Apache-2.0
"""Where a run comes from: the revision of the code and the versions of what computes."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from microlith.version import __version__

PACKAGES = ("torch", "lightning", "torchao", "numpy")


def git_revision(folder: Path | None = None) -> str:
    """The commit that a folder (default: that of the program, else the current one) is at, with ``+`` when files that
    git tracks were changed; "" where there is no repository or no git.
    """
    place = folder or _program_folder()

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(place), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        revision = git("rev-parse", "HEAD")
        return revision + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _program_folder() -> Path:
    program = Path(sys.argv[0]) if sys.argv and sys.argv[0] else None
    return program.resolve().parent if program and program.is_file() else Path.cwd()


def versions() -> dict[str, str]:
    """Python, Microlith and the packages that training computes with."""
    found = {"python": platform.python_version(), "microlith": __version__}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
