"""An open .lith file, which models that were cloned from one share."""

from __future__ import annotations

import operator
import os
import weakref
from collections.abc import Sequence
from typing import Any

from microlith.errors import InputError, MicrolithError
from microlith.nnacl_kernels.extension_tables import activate_installed, attached, installed
from microlith.runtime._ffi import check, ffi, library, text
from microlith.runtime.weights_cache import WeightsCache


class ModelFile:
    """A ``lith_model``, shared by the models that were cloned from one."""

    def __init__(
        self,
        source: str | os.PathLike[str] | bytes,
        isa: str | Sequence[str] | None,
        packed_limit: int,
        winograd: bool,
        cache: WeightsCache,
    ) -> None:
        lib = library()
        message = ffi.new("lith_message *")
        options = ffi.new("lith_model_options *", {"struct_size": ffi.sizeof("lith_model_options")})
        try:
            options.packed_limit = operator.index(packed_limit)
        except (TypeError, OverflowError):
            raise InputError(
                f"packed_limit={packed_limit!r} is no number of bytes", hint="0 stands for 1 GiB"
            ) from None
        options.no_winograd = int(not winograd)
        if not isinstance(cache, WeightsCache):
            raise InputError(f"{cache!r} is no WeightsCache", hint="weights_cache=microlith.WeightsCache()")
        options.weights_cache = cache.pointer
        if isa is not None:
            mask = ffi.new("uint32_t *")
            words = [isa] if isinstance(isa, str) else isa
            if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
                raise InputError(f"instruction sets are named by text, not {isa!r}", hint='for example isa="c,avx2"')
            names = ",".join(words)
            check(lib.lith_isa_parse(names.encode(), mask, message), message)
            options.isa_mask = mask[0]
        self.keep: Any = None
        if not isinstance(source, (str, bytes, bytearray, memoryview, os.PathLike)):
            raise InputError(
                f"a model is the path of a .lith file or its bytes, not {type(source).__name__}",
                hint="microlith.load('model.lith')",
            )
        if isinstance(source, (bytes, bytearray, memoryview)):
            self.where = "model"
            self.keep = ffi.from_buffer(bytes(source))
        else:
            self.where = os.fspath(source)
        self.pointer = self._open(source, options, message)
        weakref.finalize(self, lib.lith_model_close, self.pointer)

    def _open(self, source: Any, options: Any, message: Any) -> Any:
        """The model, with ops of extensions if need be: those that are loaded, then all that are installed."""
        lib = library()
        result = ffi.new("lith_model **")

        def attempt() -> int:
            self.extensions = ffi.new(
                "lith_extension *[]", [ffi.cast("lith_extension *", item.address) for item in attached()] or [ffi.NULL]
            )
            options.extensions, options.extension_count = self.extensions, len(attached())
            if self.keep is not None:
                return int(lib.lith_model_open_memory(self.keep, len(self.keep), options, result, message))
            return int(lib.lith_model_open(os.fsencode(source), options, result, message))

        status = attempt()
        if status == lib.LITH_ERROR_UNSUPPORTED and (waiting := installed().keys() - {e.name for e in attached()}):
            problems = activate_installed()
            if waiting - problems.keys():
                status = attempt()
            if status == lib.LITH_ERROR_UNSUPPORTED and problems:
                failures = "; ".join(f"extension '{name}' cannot be used: {why}" for name, why in problems.items())
                raise MicrolithError(f"{text(message.text)}; {failures}", where=self.where)
        check(status, message, where=self.where)
        return result[0]


class ClosedFile:
    """What a model that was closed has instead: nothing holds the file open for it."""

    def __init__(self, where: str) -> None:
        self.where = where

    @property
    def pointer(self) -> Any:
        raise MicrolithError("the model was closed", where=self.where)
