"""Names of kernel functions, put behind that of the model so that several models can be linked into one program."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..nnacl_kernels import catalogue

NAMES_HEADER = "nnacl_names.h"
"""A file of the kernel library, empty there, which each project has in its own form."""
_DECLARED = re.compile(r"^NNACL_DECLARE\((nnacl_\w+)\);", re.MULTILINE)
_DEFINED = re.compile(r"^(?!static\b|typedef\b|extern\b)\w[\w \t*]*?\b(nnacl_\w+)(?:\(|\[[^\]]*\] = )", re.MULTILINE)
_INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_IN_ASSEMBLY = re.compile(r'\(\s*"(nnacl_\w+)"')


def external_symbols(files: Mapping[str, str]) -> list[str]:
    """The functions and tables that the C sources among some kernel files define for others, in alphabetical order.

    Kernels stand in their table. For other functions the style of the kernel library is relied upon: a definition
    begins in the first column and has its name in its first line; what is not ``static`` is external.
    """
    found = {kernel.symbol for kernel in catalogue.kernels() if kernel.file in files}
    for path, text in files.items():
        if path.endswith(".c"):
            found.update(_DECLARED.findall(text))
            found.update(_IN_ASSEMBLY.findall(text))
            found.update(_DEFINED.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))
    return sorted(found)


def own_sources(files: Mapping[str, str]) -> dict[str, str]:
    """The C sources among some kernel files that are not as in the library, or include something that is not."""
    own = {path for path, text in files.items() if path != NAMES_HEADER and text != _in_library(path)}
    size = -1
    while size != len(own):
        size = len(own)
        own.update(path for path, text in files.items() if own & set(_INCLUDED.findall(text)))
    return {path: text for path, text in files.items() if path in own and path.endswith(".c")}


def _in_library(path: str) -> str | None:
    source = catalogue.source_path(path)
    return source.read_text(encoding="utf-8") if source.is_file() else None
