"""Which files of the kernel library a set of kernels needs."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import OutputError
from ..nnacl_kernels import catalogue

_ALWAYS = ("nnacl_base.h",)


def kernel_files(sources: Iterable[str], headers: Iterable[str]) -> dict[str, str]:
    """The text of every file needed, by its path inside the kernel library, in alphabetical order.

    ``sources`` define the kernels, ``headers`` declare the parameter structs; everything that they include comes with
    them. A header with a source of the same name beside it (``common/expf.h``, ``common/expf.c``) brings that along.
    """
    waiting = [*_ALWAYS, *sources, *headers]
    files: dict[str, str] = {}
    while waiting:
        start = waiting.pop()
        for name in catalogue.source_files(start):
            if name in files:
                continue
            files[name] = _read(name)
            companion = name[: -len(".h")] + ".c"
            has_companion = name.endswith(".h") and not catalogue.is_family_header(name)
            if has_companion and catalogue.source_path(companion).exists():
                waiting.append(companion)
    return dict(sorted(files.items()))


def _read(name: str) -> str:
    try:
        return catalogue.source_path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"kernel source '{name}' cannot be read: {error.strerror}",
            hint="the installation of microlith, or of an extension, is damaged; install it again",
        ) from error
