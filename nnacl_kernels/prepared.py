"""Kernels that run many times from Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from microlith.nnacl_kernels.catalogue import Kernel, _blob, _Pointers, c_library, pack, workspace


class Prepared:
    """A kernel with its parameters, packed constants and workspace, ready to run many times.

    ``constants``: the inputs that stay the same, None for those that ``run`` gets.
    """

    def __init__(self, kernel: Kernel, params: bytes, constants: Sequence[np.ndarray | None]) -> None:
        if not kernel.runnable:
            raise ValueError(f"{kernel.symbol} has no code in this build")
        ffi, _ = c_library()
        self._run, self._params = kernel.pointer.run, _blob(params)
        held = [None if array is None else np.ascontiguousarray(array) for array in constants]
        packed = [pack(kernel, params, index, held) for index in range(len(held))]
        self._constants = [
            array if bytes_ is None else np.frombuffer(bytes_, np.uint8)
            for array, bytes_ in zip(held, packed, strict=True)
        ]
        size = workspace(kernel, params)
        self._scratch = ffi.new("char[]", size + 64)
        start = ffi.cast("uintptr_t", self._scratch)
        aligned = ffi.cast("void *", (int(start) + 63) // 64 * 64)
        self._context = ffi.new("nnacl_ctx *", {"workspace": aligned, "workspace_size": size, "part": 0, "parts": 1})

    def run(self, inputs: Sequence[np.ndarray | None], outputs: Sequence[np.ndarray]) -> None:
        """Runs on contiguous arrays; where a constant stands, the input is not looked at. Writes into ``outputs``."""
        arrays = [
            constant if constant is not None else None if array is None else np.ascontiguousarray(array)
            for constant, array in zip(self._constants, inputs, strict=True)
        ]
        with _Pointers(arrays) as c_inputs, _Pointers(outputs, writable=True) as c_outputs:
            self._run(self._context, self._params, c_inputs, c_outputs)
