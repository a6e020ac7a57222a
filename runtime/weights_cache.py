"""``WeightsCache``: packed weights that models of one process share."""

from __future__ import annotations

import functools
import os
import weakref
from typing import Any

from microlith.runtime._ffi import check, ffi, library

__all__ = ["WeightsCache"]


class WeightsCache:
    """Weights in the layouts of kernels, each kept once for all models that were loaded with this cache.

    ``load`` uses the one of the process unless it is given another: loading a file twice, or models with a common
    backbone, costs memory for the weights that differ. Bytes are compared, all of them, and results do not depend on a
    cache. Weights go with the last model that uses any of what was packed with them; a cache keeps nothing alive. Any
    number of threads may load with it at once.
    """

    def __init__(self) -> None:
        lib = library()
        message, result = ffi.new("lith_message *"), ffi.new("lith_weights_cache **")
        check(lib.lith_weights_cache_create(ffi.NULL, result, message), message)
        self.pointer: Any = result[0]
        """``lith_weights_cache *``"""
        self._finalizer = weakref.finalize(self, lib.lith_weights_cache_release, self.pointer)
        self._finalizer.atexit = False  # models may outlive it, and the system takes all of it anyway

    @staticmethod
    def of_process() -> WeightsCache:
        """That which ``load`` uses by itself."""
        return _of_process()

    @property
    def bytes(self) -> int:
        """Of all packed weights that are in use."""
        return int(self._info().bytes)

    @property
    def saved_bytes(self) -> int:
        """Bytes that these would take more if nobody shared them."""
        return int(self._info().saved_bytes)

    @property
    def count(self) -> int:
        """Packed constants."""
        return int(self._info().count)

    def _info(self) -> Any:
        info = ffi.new("lith_weights_info *")
        check(library().lith_weights_cache_get_info(self.pointer, info))
        return info

    def __reduce__(self) -> Any:
        raise TypeError("a WeightsCache cannot be pickled: it holds memory of the C runtime")

    def __repr__(self) -> str:
        info = self._info()
        return f"<WeightsCache of {info.count} constants, {info.bytes} bytes, {info.saved_bytes} saved>"


@functools.cache
def _of_process() -> WeightsCache:
    return WeightsCache()


_inherited: list[WeightsCache] = []


def _after_fork() -> None:
    """A child begins with a cache of its own: another thread of the parent may have been at work in the old one."""
    if _of_process.cache_info().currsize:
        _inherited.append(_of_process())
        _of_process.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
