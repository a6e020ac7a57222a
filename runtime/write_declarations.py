"""Writes ``declarations_generated.py``, the parsed form of ``include/microlith.h``, when that header has changed.

    python -m microlith.runtime.write_declarations

Parsing the header takes cffi longer than everything else at the start of the runtime.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

from cffi import FFI

from microlith.nnacl_kernels.library import read_declarations

HERE = Path(__file__).parent
MODULE = "declarations_generated"


def source() -> str:
    """The text of the module."""
    ffi = FFI()
    ffi.cdef(read_declarations(HERE / "include" / "microlith.h"))
    ffi.set_source(f"microlith.runtime.{MODULE}", None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{MODULE}.py"
        with contextlib.redirect_stdout(io.StringIO()):  # it names the file
            ffi.emit_python_code(str(path))
        return path.read_text("utf-8")


if __name__ == "__main__":
    (HERE / f"{MODULE}.py").write_text(source(), "utf-8")
